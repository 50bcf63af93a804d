//! The master's half of request and answer: one request at a time, repeated until it is answered.

/// Numbers requests, repeats them after a timeout and recognises their answers.
///
/// A repeat keeps its tag, so an answer to either copy will do; an answer to an earlier request is not taken for one
/// to this. Ticks are the caller's (milliseconds, say) and may wrap around.
#[derive(Clone, Debug)]
pub struct Exchange {
    tag: u32,
    timeout: u32,
    state: State,
    repeats: u32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Closed,
    Due,
    Sent { at: u32 },
}

impl Exchange {
    /// No request open. `first_tag` should differ from run to run, so that an answer to a station's former life is not
    /// taken for one to this; `timeout` is in ticks.
    pub const fn new(first_tag: u32, timeout: u32) -> Self {
        Self { tag: first_tag, timeout, state: State::Closed, repeats: 0 }
    }

    /// Whether a request waits for its answer.
    pub fn is_open(&self) -> bool {
        self.state != State::Closed
    }

    /// How often the open request was repeated.
    pub fn repeats(&self) -> u32 {
        self.repeats
    }

    /// Opens a new request, due at once.
    pub fn open(&mut self) {
        self.tag = self.tag.wrapping_add(1);
        self.state = State::Due;
        self.repeats = 0;
    }

    /// The tag with which to send the open request now, if its time has come; counts as sent.
    pub fn transmit(&mut self, now: u32) -> Option<u32> {
        match self.state {
            State::Closed => return None,
            State::Sent { at } if now.wrapping_sub(at) < self.timeout => return None,
            State::Sent { .. } => self.repeats = self.repeats.saturating_add(1),
            State::Due => {}
        }
        self.state = State::Sent { at: now };
        Some(self.tag)
    }

    /// Whether an answer with this tag is that to the open request, which is then closed.
    pub fn accept(&mut self, tag: u32) -> bool {
        let ours = matches!(self.state, State::Sent { .. }) && tag == self.tag;
        if ours {
            self.state = State::Closed;
        }
        ours
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeats_with_the_same_tag_until_answered() {
        let mut exchange = Exchange::new(41, 10);
        assert_eq!(exchange.transmit(0), None);
        exchange.open();
        assert_eq!(exchange.transmit(u32::MAX), Some(42));
        assert_eq!(exchange.transmit(8), None);
        assert_eq!(exchange.transmit(9), Some(42));
        assert_eq!(exchange.repeats(), 1);
        assert!(exchange.accept(42));
        assert!(!exchange.accept(42), "the answer to the repeat comes too late");
        assert_eq!(exchange.transmit(99), None);
    }

    #[test]
    fn ignores_answers_to_other_requests_and_to_none() {
        let mut exchange = Exchange::new(0, 10);
        assert!(!exchange.accept(0));
        exchange.open();
        assert!(!exchange.accept(1), "not sent yet");
        exchange.transmit(0);
        assert!(!exchange.accept(0));
        assert!(exchange.accept(1));
    }
}

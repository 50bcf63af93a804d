//! The status on three lamps, over `embedded-hal` pins.

use embedded_hal::digital::{OutputPin, PinState};

use crate::board::Status;

/// Three lamps that light when their pin is high.
///
/// | status   | green | yellow | red |
/// |----------|-------|--------|-----|
/// | idle     | on    |        |     |
/// | dropped  | on    |        | on  |
/// | thinking |       | on     |     |
/// | waiting  | on    | on     |     |
/// | fault    |       |        | on  |
pub struct Lamps<G, Y, R> {
    /// The green lamp.
    pub green: G,
    /// The yellow lamp.
    pub yellow: Y,
    /// The red lamp.
    pub red: R,
}

impl<G: OutputPin, Y: OutputPin, R: OutputPin> Lamps<G, Y, R> {
    /// Lights the lamps for a status. A pin that refuses is left alone: a lamp is no reason to stop tuning.
    pub fn show(&mut self, status: Status) {
        let (green, yellow, red) = match status {
            Status::Idle => (true, false, false),
            Status::Dropped => (true, false, true),
            Status::Thinking => (false, true, false),
            Status::Waiting => (true, true, false),
            Status::Fault => (false, false, true),
        };
        self.green.set_state(PinState::from(green)).ok();
        self.yellow.set_state(PinState::from(yellow)).ok();
        self.red.set_state(PinState::from(red)).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::convert::Infallible;
    use embedded_hal::digital::ErrorType;

    struct Pin(bool);

    impl ErrorType for Pin {
        type Error = Infallible;
    }

    impl OutputPin for Pin {
        fn set_low(&mut self) -> Result<(), Infallible> {
            self.0 = false;
            Ok(())
        }
        fn set_high(&mut self) -> Result<(), Infallible> {
            self.0 = true;
            Ok(())
        }
    }

    #[test]
    fn every_status_looks_different() {
        let mut lamps = Lamps { green: Pin(false), yellow: Pin(false), red: Pin(true) };
        let mut seen =
            [Status::Idle, Status::Dropped, Status::Thinking, Status::Waiting, Status::Fault].map(|status| {
                lamps.show(status);
                (lamps.green.0, lamps.yellow.0, lamps.red.0)
            });
        seen.sort();
        assert!(seen.windows(2).all(|pair| pair[0] != pair[1]), "{seen:?}");
    }

    #[test]
    fn red_means_fault_alone() {
        let mut lamps = Lamps { green: Pin(true), yellow: Pin(true), red: Pin(false) };
        lamps.show(Status::Fault);
        assert!(lamps.red.0 && !lamps.green.0 && !lamps.yellow.0);
        lamps.show(Status::Waiting);
        assert!(!lamps.red.0);
    }
}

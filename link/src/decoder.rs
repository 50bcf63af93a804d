//! Finds frames in a stream of bytes, one byte at a time.

use crate::frame::{CRC_BYTES, Directed, MAX_SEALED, crc32};
use crate::message::LineCounters;
use cobs::{DecodeResult, DecoderState};
use core::ops::Range;
use serde::Deserialize;

/// Byte-wise state machine: takes anything, hands out bodies with a right CRC, counts and drops the rest.
///
/// After any garbage it is in step again with the next zero byte. `N` is the longest body with its CRC that it can
/// hold; [`Decoder::<LARGEST>`](LARGEST) holds every message.
#[derive(Debug)]
pub struct Decoder<const N: usize = LARGEST> {
    state: DecoderState,
    buffer: [u8; N],
    /// Bytes of the current frame, counted on beyond `N`.
    length: usize,
    counters: LineCounters,
}

/// Room for the longest body, sealed, and its CRC.
pub const LARGEST: usize = MAX_SEALED;

impl<const N: usize> Decoder<N> {
    /// A decoder between two frames.
    pub const fn new() -> Self {
        const { assert!(N > CRC_BYTES) }
        let counters = LineCounters { good: 0, broken: 0, oversize: 0, unknown: 0 };
        Self { state: DecoderState::Idle, buffer: [0; N], length: 0, counters }
    }

    /// What came over the line so far.
    pub fn counters(&self) -> LineCounters {
        self.counters
    }

    /// Takes a byte; if it ends a sound frame, returns the frame's body.
    pub fn push(&mut self, byte: u8) -> Option<&[u8]> {
        match self.state.feed(byte) {
            Ok(DecodeResult::NoData) => None,
            Ok(DecodeResult::DataContinue(byte)) => {
                self.store(byte);
                None
            }
            Ok(DecodeResult::DataComplete) => self.complete(),
            Err(_) => {
                self.length = 0;
                bump(&mut self.counters.broken);
                None
            }
        }
    }

    /// Like [`push`](Self::push), and reads the message; one that cannot be read is counted and dropped.
    pub fn receive<'a, M: Directed + Deserialize<'a>>(&'a mut self, byte: u8) -> Option<(u32, M)> {
        let length = self.push(byte)?.len();
        let read = crate::parse(self.buffer.get(..length)?);
        if read.is_err() {
            bump(&mut self.counters.unknown);
        }
        read.ok()
    }

    /// A part of the body that [`push`](Self::push) returned last.
    pub(crate) fn part(&self, range: Range<usize>) -> &[u8] {
        self.buffer.get(range).unwrap_or_default()
    }

    /// Counts a body that was of no use.
    pub(crate) fn count_unknown(&mut self) {
        bump(&mut self.counters.unknown);
    }

    fn store(&mut self, byte: u8) {
        if let Some(place) = self.buffer.get_mut(self.length) {
            *place = byte;
        }
        self.length = self.length.saturating_add(1);
    }

    fn complete(&mut self) -> Option<&[u8]> {
        let length = core::mem::take(&mut self.length);
        let Some(frame) = self.buffer.get(..length) else {
            bump(&mut self.counters.oversize);
            return None;
        };
        match frame.split_last_chunk::<CRC_BYTES>() {
            Some((body, crc)) if crc32(body) == u32::from_le_bytes(*crc) => {
                bump(&mut self.counters.good);
                Some(body)
            }
            _ => {
                bump(&mut self.counters.broken);
                None
            }
        }
    }
}

impl<const N: usize> Default for Decoder<N> {
    fn default() -> Self {
        Self::new()
    }
}

fn bump(counter: &mut u32) {
    *counter = counter.saturating_add(1);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Request;
    use crate::{MAX_CHUNK, MAX_FRAME, encode};
    use std::vec::Vec;

    fn frame_of(request: &Request) -> Vec<u8> {
        encode(3, request, &mut [0; MAX_FRAME]).unwrap().to_vec()
    }

    fn feed<const N: usize>(decoder: &mut Decoder<N>, bytes: &[u8]) -> usize {
        bytes.iter().filter(|&&byte| decoder.receive::<Request>(byte).is_some()).count()
    }

    #[test]
    fn chunks_of_every_length_and_content_survive() {
        for fill in [0x00, 0x01, 0xFF] {
            for length in 0..=MAX_CHUNK {
                let data = std::vec![fill; length];
                let request = Request::Write { crc: 9, offset: 5, data: &data };
                let mut decoder = Decoder::<LARGEST>::new();
                let frame = frame_of(&request);
                let (last, head) = frame.split_last().unwrap();
                assert_eq!(feed(&mut decoder, head), 0);
                assert_eq!(decoder.receive(*last), Some((3, request)), "{length} times {fill}");
            }
        }
    }

    #[test]
    fn is_in_step_again_after_the_next_zero() {
        let frame = frame_of(&Request::Status);
        for cut in 1..frame.len() - 1 {
            let mut decoder = Decoder::<LARGEST>::new();
            feed(&mut decoder, &frame[..cut]);
            assert_eq!(feed(&mut decoder, &frame), 1, "cut at {cut}");
        }
    }

    #[test]
    fn a_frame_that_lost_its_last_zero_is_ended_by_the_next() {
        let frame = frame_of(&Request::Status);
        let mut decoder = Decoder::<LARGEST>::new();
        assert_eq!(feed(&mut decoder, &frame[..frame.len() - 1]), 0);
        assert_eq!(feed(&mut decoder, &frame), 2);
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        let frame = frame_of(&Request::Hello { version: 1 });
        for bit in 8..8 * (frame.len() - 1) {
            let mut bad = frame.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            let mut decoder = Decoder::<LARGEST>::new();
            assert_eq!(feed(&mut decoder, &bad), 0, "bit {bit}");
            assert!(decoder.counters().broken >= 1, "bit {bit}");
        }
    }

    #[test]
    fn a_frame_beyond_the_buffer_is_counted_and_the_next_one_heard() {
        let data = [7; 64];
        let mut decoder = Decoder::<16>::new();
        assert_eq!(feed(&mut decoder, &frame_of(&Request::Write { crc: 1, offset: 0, data: &data })), 0);
        assert_eq!(feed(&mut decoder, &frame_of(&Request::Status)), 1);
        assert_eq!(decoder.counters(), LineCounters { good: 1, oversize: 1, ..Default::default() });
    }

    #[test]
    fn a_sound_frame_that_is_no_request_is_counted_as_unknown() {
        let mut echo = [0; MAX_FRAME];
        let echo = encode(3, &crate::Response::Begun { task: 1 }, &mut echo).unwrap();
        let mut decoder = Decoder::<LARGEST>::new();
        assert_eq!(feed(&mut decoder, echo), 0);
        assert_eq!(decoder.counters(), LineCounters { good: 1, unknown: 1, ..Default::default() });
    }

    #[test]
    fn zeros_alone_are_no_frames() {
        let mut decoder = Decoder::<LARGEST>::new();
        assert_eq!(feed(&mut decoder, &[0; 100]), 0);
        assert_eq!(decoder.counters(), LineCounters::default());
    }
}

//! One message as bytes on the line: `00 COBS(body, CRC-32) 00`.
//!
//! Body: direction mark, tag, message, the latter two as `postcard` writes them. The tag is the master's number of
//! the request, which the answer repeats. The CRC is that of Ethernet and zip (CRC-32/ISO-HDLC), little endian.
//! The leading zero ends whatever noise came before, at the price of one byte.

use crate::message::{Request, Response};
use crate::seal::{BEFORE, Lock, Opener, SEAL};
use foretune_core::snapshot::Crc;
use serde::{Deserialize, Serialize};

/// Longest body of a frame, without its CRC.
pub const MAX_BODY: usize = 300;

/// Longest frame with both its zeros, sealed: one COBS byte, and one more for each full run of 254.
pub const MAX_FRAME: usize = 2 + MAX_SEALED + 1 + MAX_SEALED / 254;

/// Longest sealed body with its CRC.
pub(crate) const MAX_SEALED: usize = MAX_BODY + SEAL + CRC_BYTES;

/// Bytes of the checksum.
pub(crate) const CRC_BYTES: usize = 4;

/// Why a message could not be written or read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum FrameError {
    /// The buffer does not hold the frame.
    NoRoom,
    /// The message is longer than [`MAX_BODY`].
    TooLong,
    /// The bytes are no message of this direction and version.
    Unknown,
}

impl core::fmt::Display for FrameError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::NoRoom => "the buffer does not hold the frame",
            Self::TooLong => "the message is too long for a frame",
            Self::Unknown => "no message of this direction and version",
        })
    }
}

impl core::error::Error for FrameError {}

/// A message that goes one way only, so that an echoing line cannot make a tuner answer itself.
pub trait Directed {
    /// First byte of the body.
    const MARK: u8;
}

impl Directed for Request<'_> {
    const MARK: u8 = b'>';
}

impl Directed for Response<'_> {
    const MARK: u8 = b'<';
}

/// CRC-32 of some bytes, by the core's [`Crc`]: the checksum of frames, of offered knowledge and of the device's storage.
pub fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.value()
}

/// Writes a message as a frame and returns the frame; [`MAX_FRAME`] bytes of room are always enough.
pub fn encode<'b, M: Directed + Serialize>(
    tag: u32,
    message: &M,
    out: &'b mut [u8],
) -> Result<&'b [u8], FrameError> {
    encode_sealed(tag, message, None, out)
}

/// Who seals.
pub(crate) enum Sealer<'s> {
    Tuner(&'s Lock),
    Station(&'s mut Opener),
}

/// The same, sealed if somebody seals.
pub(crate) fn encode_sealed<'b, M: Directed + Serialize>(
    tag: u32,
    message: &M,
    sealer: Option<Sealer<'_>>,
    out: &'b mut [u8],
) -> Result<&'b [u8], FrameError> {
    let mut body = [0; MAX_SEALED];
    let length = write_body(tag, message, sealer, &mut body)?;
    let body = body.get(..length).ok_or(FrameError::TooLong)?;
    let (first, rest) = out.split_first_mut().ok_or(FrameError::NoRoom)?;
    *first = 0;
    let coded = cobs::try_encode(body, rest).map_err(|_| FrameError::NoRoom)?;
    *rest.get_mut(coded).ok_or(FrameError::NoRoom)? = 0;
    out.get(..coded + 2).ok_or(FrameError::NoRoom)
}

/// Body and checksum; returns their length.
fn write_body<M: Directed + Serialize>(
    tag: u32,
    message: &M,
    sealer: Option<Sealer<'_>>,
    out: &mut [u8; MAX_SEALED],
) -> Result<usize, FrameError> {
    let start = if sealer.is_some() { BEFORE } else { 0 };
    let body = postcard::to_slice(&(M::MARK, tag, message), &mut out[start..start + MAX_BODY])
        .map_err(|_| FrameError::TooLong)?;
    let length = body.len();
    let length = match sealer {
        None => Some(length),
        Some(Sealer::Tuner(lock)) => lock.seal(out, length),
        Some(Sealer::Station(opener)) => opener.seal(out, length),
    };
    let length = length.ok_or(FrameError::TooLong)?;
    let crc = crc32(out.get(..length).ok_or(FrameError::TooLong)?);
    out.get_mut(length..length + CRC_BYTES).ok_or(FrameError::TooLong)?.copy_from_slice(&crc.to_le_bytes());
    Ok(length + CRC_BYTES)
}

/// Reads tag and message from the body of a frame, as a [`crate::Decoder`] hands it out.
pub fn parse<'a, M: Directed + Deserialize<'a>>(body: &'a [u8]) -> Result<(u32, M), FrameError> {
    match postcard::take_from_bytes::<(u8, u32, M)>(body) {
        Ok(((mark, tag, message), [])) if mark == M::MARK => Ok((tag, message)),
        _ => Err(FrameError::Unknown),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::*;
    use crate::{MAX_CHUNK, MAX_DIMENSIONS, MAX_GUARDS, MAX_TEXT};

    #[test]
    fn the_checksum_is_the_common_one() {
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
    }

    #[test]
    fn a_hello_looks_as_documented() {
        let mut out = [0; MAX_FRAME];
        let frame = encode(7, &Request::Hello { version: 1 }, &mut out).unwrap();
        let crc = crc32(&[b'>', 7, 0, 1]).to_le_bytes();
        assert_eq!(frame[..6], [0, 3, b'>', 7, 6, 1]);
        assert_eq!(frame[6..10], crc);
        assert_eq!(frame[10..], [0]);
    }

    fn largest_responses<'a>(text: &'a str, data: &'a [u8], point: &Point) -> [Response<'a>; 6] {
        let (n, point) = (u32::MAX, || point.clone());
        let identity = Identity {
            firmware: text,
            profile: text,
            problem: n,
            dimensions: 255,
            fidelities: 255,
            tries: 255,
        };
        let knowledge = Knowledge { sequence: n, total: n, crc: n };
        let (ticket, progress) = (Ticket { task: n, step: n }, Progress { done: n, total: n });
        let line = LineCounters { good: n, broken: n, oversize: n, unknown: n };
        let reports = ReportCounters { counted: n, repeated: n, failed: n, given_up: n };
        let health = Health { stack_free: n, restarts: n, fault: u16::MAX, below: n };
        let (version, phase, reason, task, step) = (u16::MAX, Phase::Fault, Reason::Stopped, n, n);
        let (attempt, fidelity, cost) = (255, 255, 1.0);
        let numbers = core::iter::repeat_n(cost, MAX_DIMENSIONS + MAX_GUARDS).collect();
        let answer = Answer { fidelity, value: Some(cost), numbers };
        [
            Response::Greeting(Greeting { version, identity, phase, task, step, knowledge }),
            Response::Query(Query { ticket, attempt, fidelity, samples: n, cost, point: point() }),
            Response::Finished(Recommendation {
                task,
                reason,
                queries: n,
                spent: cost,
                mean: cost,
                point: point(),
                assured: true,
            }),
            Response::Status(Status { phase, task, step, progress, line, reports, health }),
            Response::Chunk { offset: n, data },
            Response::Recalled { ticket, answer },
        ]
    }

    #[test]
    fn the_largest_messages_fit_a_frame() {
        assert_eq!(MAX_FRAME, 337, "as documented");
        let text = core::str::from_utf8(&[b'x'; MAX_TEXT]).unwrap();
        let data = [0xA5; MAX_CHUNK];
        let point = Point::from_slice(&[Coordinate::Unit(0.1); MAX_DIMENSIONS]).unwrap();
        let mut out = [0; MAX_FRAME];
        for response in largest_responses(text, &data, &point) {
            encode(u32::MAX, &response, &mut out).unwrap();
        }
        let write = Request::Write { crc: u32::MAX, offset: u32::MAX, data: &data };
        encode(u32::MAX, &write, &mut out).unwrap();
    }

    #[test]
    fn a_message_that_is_too_long_or_finds_no_room_is_an_error() {
        let data = [1; MAX_BODY];
        let long = Request::Write { crc: 1, offset: 0, data: &data };
        assert_eq!(encode(1, &long, &mut [0; 1000]), Err(FrameError::TooLong));
        for room in 0..11 {
            let mut out = std::vec![0; room];
            assert_eq!(
                encode(7, &Request::Hello { version: 1 }, &mut out),
                Err(FrameError::NoRoom),
                "{room}"
            );
        }
    }

    #[test]
    fn the_other_direction_trailing_bytes_and_unknown_variants_are_no_message() {
        assert!(parse::<Request>(&[b'>', 7, 6]).is_ok());
        assert_eq!(parse::<Request>(&[b'<', 7, 6]), Err(FrameError::Unknown));
        assert_eq!(parse::<Request>(&[b'>', 7, 6, 0]), Err(FrameError::Unknown));
        assert_eq!(parse::<Request>(&[b'>', 7, 13]), Err(FrameError::Unknown));
        assert_eq!(parse::<Request>(&[]), Err(FrameError::Unknown));
    }
}

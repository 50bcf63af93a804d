//! Messages and frames between the tuner and its base station.
//!
//! The base station is the master: it sends a [`Request`], the tuner answers each with exactly one [`Response`] and
//! never speaks unasked. Every request may be repeated without harm, so that whoever hears nothing just asks
//! again; a report is counted once, because its query carries a [`Ticket`] that no other query of the device's life
//! has. The bytes are described in `docs/protocol.md`.
//!
//! | module | what it is |
//! |---|---|
//! | [`message`] | what is said |
//! | [`frame`], [`decoder`] | how it looks on the line: COBS, CRC-32 |
//! | [`seal`] | an optional key: frames that cannot be forged or played again |
//! | [`tuner`] | the device's side: which query is open, which reports count |
//! | [`station`], [`exchange`] | the master's side: what to send when, repeats |
//! | [`problem`] | what is tuned, as bytes |
//! | [`transfer`] | the master's side of what travels in pieces |
//!
//! Everything here is free of I/O, clocks and allocation: bytes and ticks come in, bytes go out.
#![no_std]

#[cfg(test)]
extern crate std;

pub mod message;
pub mod problem;
pub mod frame;
pub mod decoder;
pub mod seal;
pub mod tuner;
pub mod exchange;
pub mod station;
pub mod transfer;

pub use decoder::Decoder;
pub use frame::{FrameError, MAX_BODY, MAX_FRAME, crc32, encode, parse};
pub use message::{
    Answer, Begin, Blob, Coordinate, DropReason, Greeting, Health, Identity, Knowledge, Kpis, LineCounters,
    Misfit, Outcome, Part, Phase, Point, Progress, Query, Reading, Reason, Recommendation, Refusal, Report,
    ReportCounters, Request, Response, Retry, Status, Ticket,
};
pub use problem::MAX_PROBLEM;
pub use station::{Pace, Station, StationEvent};
pub use transfer::{Download, Upload};
pub use tuner::{Application, Event, Proposal, Tuner};

/// Version of the protocol that this crate speaks, exchanged in `Hello` and `Greeting`.
pub const VERSION: u16 = 5;

/// Most dimensions that a query can have.
pub const MAX_DIMENSIONS: usize = 16;

/// Most limits of a problem.
pub const MAX_LIMITS: usize = 8;

/// Most guards of a problem.
pub const MAX_GUARDS: usize = 4;

/// Most bytes of knowledge or of a problem in one message.
pub const MAX_CHUNK: usize = 256;

/// Most bytes of each text in a greeting; longer ones are cut.
pub const MAX_TEXT: usize = 32;

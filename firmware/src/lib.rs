//! The tuning application, generic over a board.
//!
//! Without a board's feature this is a plain library: it compiles on any host, and most of its behaviour is tested
//! there. With one, the programs in `src/bin` are built for that board.
#![cfg_attr(not(test), no_std)]

pub mod board;
pub mod ecc_flash;
pub mod leds;
pub mod log;

#[cfg(feature = "board")]
pub mod boards;

pub mod storage;

pub mod scratch;

pub mod room;
pub mod profile;
pub mod drive;
#[cfg(any(test, feature = "sim"))]
pub mod reference;

pub mod app;

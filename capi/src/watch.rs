//! The setting in use, watched: a watch in C is its saved bytes, so that keeping them keeps it.
//!
//! The caller's promise is that of `calls`.
#![allow(clippy::missing_safety_doc, reason = "it is said once, in `calls`")]

use core::slice;

use foretune_core::{Change, MAX_GUARDS, Reading, Watch};

use crate::calls::{Outcome, number};
use crate::error::foretune_error::{self, *};
use crate::pointer::{array, input, output};

/// Bytes of a watch.
pub const FORETUNE_WATCH_BYTES: usize = 244;
const _: () = assert!(FORETUNE_WATCH_BYTES == Watch::BYTES);

/// Most numbers that are watched together: the objective, and a KPI for each guard.
const MOST: usize = MAX_GUARDS + 1;

/// A watch: bytes that may be copied, stored and read back at any time. They go on bit for bit, and damage is found.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct foretune_watch {
    /// What foretune_watch_start wrote and foretune_watch_tell keeps up to date.
    pub bytes: [u8; FORETUNE_WATCH_BYTES],
}

/// In which way readings change.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum foretune_change {
    /// They are lower.
    FORETUNE_DOWN = 0,
    /// They are higher.
    FORETUNE_UP = 1,
    /// They spread more.
    FORETUNE_WIDER = 2,
    /// They spread less.
    FORETUNE_NARROWER = 3,
}

/// How a watch stands.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct foretune_watch_status {
    /// Readings since the start.
    pub readings: u32,
    /// What is usual: the median of the first 13 readings; NaN before.
    pub centre: f32,
    /// Their standard deviation, a multiple of the one told with each; NaN before.
    pub deviation: f32,
    /// What speaks for a change, from 0 to 1: changed.
    pub evidence: f32,
    /// The foretune_change that most speaks for; of no meaning while there is little evidence.
    pub change: u32,
}

/// Starts a watch that gives a false alarm in so many readings on average, from 10 to 1e9, or starts it anew, for instance after
/// a task. With several watches, one for each KPI, give each this number times their count.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foretune_watch_start(watch: *mut foretune_watch, run_length: f32) -> foretune_error {
    let start = || {
        // SAFETY: the caller's promise.
        let out = unsafe { output(watch) }?;
        out.write(foretune_watch { bytes: Watch::new(run_length)?.save() });
        Ok(())
    };
    number(start())
}

/// Takes a reading of the setting in use for each watch, and writes whether one of them has changed: 0 or 1. `deviation` is the
/// standard deviation of such a reading relative to others, for instance the root of its fidelity's noise; 1 if all are alike.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foretune_watch_tell(
    watches: *mut foretune_watch,
    count: usize,
    readings: *const f32,
    deviation: f32,
    changed: *mut u32,
) -> foretune_error {
    let tell = || -> Outcome {
        // SAFETY: the caller's promise.
        let (stored, readings, out) =
            unsafe { (array(watches, count)?, array(readings, count)?, output(changed)?) };
        let mut room = [Watch::new(10.0)?; MOST];
        let loaded = room.get_mut(..count).ok_or(FORETUNE_KPIS)?;
        for (watch, stored) in loaded.iter_mut().zip(stored) {
            *watch = load(stored)?;
        }
        let reading = Watch::tell_all(loaded, readings, deviation)?;
        if count > 0 {
            // SAFETY: the caller's promise; what was borrowed of it above is not used any more.
            let stored = unsafe { slice::from_raw_parts_mut(watches, count) };
            stored.iter_mut().zip(loaded).for_each(|(stored, watch)| stored.bytes = watch.save());
        }
        out.write(u32::from(reading == Reading::Changed));
        Ok(())
    };
    number(tell())
}

/// Writes how a watch stands.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn foretune_watch_status(
    watch: *const foretune_watch,
    status: *mut foretune_watch_status,
) -> foretune_error {
    let look = || -> Outcome {
        // SAFETY: the caller's promise.
        let (stored, out) = unsafe { (input(watch)?, output(status)?) };
        let status = load(stored)?.status();
        let change = match status.change {
            Change::Down => foretune_change::FORETUNE_DOWN,
            Change::Up => foretune_change::FORETUNE_UP,
            Change::Wider => foretune_change::FORETUNE_WIDER,
            Change::Narrower => foretune_change::FORETUNE_NARROWER,
        };
        out.write(foretune_watch_status {
            readings: status.readings,
            centre: status.baseline.map_or(f32::NAN, |baseline| baseline.centre),
            deviation: status.baseline.map_or(f32::NAN, |baseline| baseline.deviation),
            evidence: status.evidence,
            change: change as u32,
        });
        Ok(())
    };
    number(look())
}

fn load(stored: &foretune_watch) -> Result<Watch, foretune_error> {
    Ok(Watch::load(&stored.bytes).map_err(foretune_core::Error::Snapshot)?)
}

//! Why a call did nothing: a number, and a text for each.

use core::ffi::{CStr, c_char};

use foretune_core::{Error, SnapshotError};

/// Why a call did nothing. Whatever the error, nothing has changed.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum foretune_error {
    /// All is well.
    FORETUNE_OK = 0,
    /// A pointer is null.
    FORETUNE_NULL = 1,
    /// A pointer is not aligned as its type, or the memory not by FORETUNE_COMPACT_ALIGN.
    FORETUNE_MISALIGNED = 2,
    /// The memory or the buffer is too small.
    FORETUNE_TOO_SMALL = 3,
    /// There is no tuner: foretune_start was not called or has failed, or the memory was moved or overwritten.
    FORETUNE_NOT_STARTED = 4,
    /// A field of the settings is out of its range; foretune_check says which.
    FORETUNE_SETTING = 5,
    /// A dimension of the problem is malformed; foretune_check says which and how.
    FORETUNE_DIMENSION = 6,
    /// A fidelity of the problem is malformed; foretune_check says which and how.
    FORETUNE_FIDELITY = 7,
    /// The budget is negative or not finite.
    FORETUNE_BUDGET = 8,
    /// Point in use, floor, risk, tolerance, limits or guards make no sense; foretune_check says what is wrong. Of foretune_deploy and
    /// foretune_add_past: the point lies outside ranges or limits (between two levels the nearest counts), or there is no such fidelity.
    FORETUNE_LIVE = 9,
    /// There are not enough slots for observations, or too many fidelities for remembered values.
    FORETUNE_CAPACITY = 10,
    /// An observation is NaN or infinite; a KPI or a past measurement is, or lies beyond 1e30.
    FORETUNE_NOT_FINITE = 11,
    /// An observation lies more than a million standard deviations from the others, or beyond 1e30.
    FORETUNE_OUTLIER = 12,
    /// What a measurement cost is negative or not finite.
    FORETUNE_COST = 13,
    /// The query answered is not the one that was asked last.
    FORETUNE_UNKNOWN_QUERY = 14,
    /// The call does not fit what the tuner is doing now.
    FORETUNE_OUT_OF_TURN = 15,
    /// The task has ended without any observation, so that there is no recommendation.
    FORETUNE_NOTHING_OBSERVED = 16,
    /// Saved bytes: fewer than they should be.
    FORETUNE_TRUNCATED = 17,
    /// Saved bytes: not ours.
    FORETUNE_FOREIGN = 18,
    /// Saved bytes: written by a newer version of this library.
    FORETUNE_NEWER = 19,
    /// Saved bytes: written by a version of this library that is too old.
    FORETUNE_OLDER = 20,
    /// Saved bytes: damaged.
    FORETUNE_CHECKSUM = 21,
    /// Saved bytes: taken with another model or number of particles.
    FORETUNE_OTHER_MODEL = 22,
    /// Saved bytes: learnt on another problem.
    FORETUNE_OTHER_PROBLEM = 23,
    /// Saved bytes: taken within a task with other settings or another problem.
    FORETUNE_OTHER_SETTINGS = 24,
    /// Saved bytes: they contradict each other.
    FORETUNE_CONTENTS = 25,
    /// Anything else.
    FORETUNE_INTERNAL = 26,
    /// An answer does not have one KPI for every guard of the problem.
    FORETUNE_KPIS = 27,
    /// The conditions are not as many as the problem has, out of their ranges, or others than those that the query which waits
    /// was asked under.
    FORETUNE_CONDITIONS = 28,
}

use foretune_error::*;

/// All errors, by their numbers.
const TEXTS: [(foretune_error, &CStr); 29] = [
    (FORETUNE_OK, c"all is well"),
    (FORETUNE_NULL, c"a pointer is null"),
    (FORETUNE_MISALIGNED, c"a pointer is not aligned"),
    (FORETUNE_TOO_SMALL, c"the memory or the buffer is too small"),
    (FORETUNE_NOT_STARTED, c"there is no tuner here"),
    (FORETUNE_SETTING, c"a setting is out of its range"),
    (FORETUNE_DIMENSION, c"a dimension is malformed"),
    (FORETUNE_FIDELITY, c"a fidelity is malformed"),
    (FORETUNE_BUDGET, c"the budget is negative or not finite"),
    (
        FORETUNE_LIVE,
        c"point in use, past measurement, floor, risk, tolerance, limits or guards make no sense",
    ),
    (FORETUNE_CAPACITY, c"observations or fidelities do not fit"),
    (FORETUNE_NOT_FINITE, c"the observation or a KPI is not a finite number"),
    (
        FORETUNE_OUTLIER,
        c"the observation lies over a million standard deviations away from the others, or beyond 1e30",
    ),
    (FORETUNE_COST, c"what a measurement cost must be 0 or more, and finite"),
    (FORETUNE_UNKNOWN_QUERY, c"the query is not the one asked last"),
    (FORETUNE_OUT_OF_TURN, c"the call does not fit what the tuner is doing now"),
    (FORETUNE_NOTHING_OBSERVED, c"nothing was observed, so nothing is recommended"),
    (FORETUNE_TRUNCATED, c"saved bytes: truncated"),
    (FORETUNE_FOREIGN, c"saved bytes: not ours"),
    (FORETUNE_NEWER, c"saved bytes: written by a newer version"),
    (FORETUNE_OLDER, c"saved bytes: written by too old a version"),
    (FORETUNE_CHECKSUM, c"saved bytes: damaged"),
    (FORETUNE_OTHER_MODEL, c"saved bytes: taken with another model or number of particles"),
    (FORETUNE_OTHER_PROBLEM, c"saved bytes: learnt on another problem"),
    (FORETUNE_OTHER_SETTINGS, c"saved bytes: taken within a task with other settings or another problem"),
    (FORETUNE_CONTENTS, c"saved bytes: contents contradict each other"),
    (FORETUNE_INTERNAL, c"an error of the library"),
    (FORETUNE_KPIS, c"an answer needs `kpis`, one for each guard of the problem"),
    (
        FORETUNE_CONDITIONS,
        c"conditions must be as many as the problem has, in range, and those of the query that waits",
    ),
];

/// An error in words, for ever valid; "unknown error" for any other number.
#[unsafe(no_mangle)]
pub extern "C" fn foretune_error_text(error: u32) -> *const c_char {
    let known = TEXTS.iter().find(|(known, _)| *known as u32 == error);
    known.map_or(c"unknown error", |(_, text)| text).as_ptr()
}

impl From<Error> for foretune_error {
    fn from(error: Error) -> Self {
        match error {
            Error::Setting { .. } => FORETUNE_SETTING,
            Error::Dimension { .. } => FORETUNE_DIMENSION,
            Error::Fidelity { .. } => FORETUNE_FIDELITY,
            Error::Budget => FORETUNE_BUDGET,
            Error::Live(_) => FORETUNE_LIVE,
            Error::Condition(_) => FORETUNE_CONDITIONS,
            Error::Capacity { .. } => FORETUNE_CAPACITY,
            Error::Kpis { .. } => FORETUNE_KPIS,
            Error::NotFinite => FORETUNE_NOT_FINITE,
            Error::Outlier => FORETUNE_OUTLIER,
            Error::Cost => FORETUNE_COST,
            Error::UnknownQuery => FORETUNE_UNKNOWN_QUERY,
            Error::OutOfTurn => FORETUNE_OUT_OF_TURN,
            Error::Snapshot(why) | Error::Fleet(why) => of_snapshot(why),
            _ => FORETUNE_INTERNAL,
        }
    }
}

fn of_snapshot(why: SnapshotError) -> foretune_error {
    match why {
        SnapshotError::Truncated => FORETUNE_TRUNCATED,
        SnapshotError::Foreign => FORETUNE_FOREIGN,
        SnapshotError::Newer { .. } => FORETUNE_NEWER,
        SnapshotError::Older { .. } => FORETUNE_OLDER,
        SnapshotError::Checksum => FORETUNE_CHECKSUM,
        SnapshotError::Model => FORETUNE_OTHER_MODEL,
        SnapshotError::Problem(_) => FORETUNE_OTHER_PROBLEM,
        SnapshotError::Settings => FORETUNE_OTHER_SETTINGS,
        SnapshotError::Contents => FORETUNE_CONTENTS,
        _ => FORETUNE_INTERNAL,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(number: usize) -> &'static CStr {
        // SAFETY: texts are constants that end with a zero.
        unsafe { CStr::from_ptr(foretune_error_text(number as u32)) }
    }

    #[test]
    fn every_error_has_its_own_text_at_its_number() {
        for (index, (error, text)) in TEXTS.iter().enumerate() {
            assert_eq!(*error as usize, index);
            assert!(!text.is_empty() && TEXTS[..index].iter().all(|(_, other)| other != text), "{text:?}");
            assert_eq!(said(index), *text);
        }
        assert_eq!(said(TEXTS.len()), c"unknown error");
    }
}

//! What can go wrong, as data. On every error the state is unchanged.

use core::fmt;

/// Why a call was refused. Nothing has changed when one of these is returned.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Error {
    /// A field of [`Settings`](crate::Settings) is out of its range.
    Setting {
        /// Name of the field.
        name: &'static str,
        /// What it may be.
        allowed: &'static str,
    },
    /// A dimension of the problem is malformed.
    Dimension {
        /// Index of the dimension.
        index: usize,
        /// What is wrong with it.
        what: &'static str,
    },
    /// A fidelity of the problem is malformed.
    Fidelity {
        /// Index of the fidelity.
        index: usize,
        /// What is wrong with it.
        what: &'static str,
    },
    /// The budget is negative or not finite.
    Budget,
    /// What a measurement cost is negative or not finite.
    Cost,
    /// Point in use, floor, tolerance or limits of the problem make no sense.
    Live(
        /// What is wrong.
        &'static str,
    ),
    /// The conditions given are not those of the problem, or cannot be given now.
    Condition(
        /// What is wrong.
        &'static str,
    ),
    /// Something does not fit the memory.
    Capacity {
        /// What does not fit.
        what: &'static str,
        /// How much the problem and settings need.
        needed: usize,
        /// How much the memory has room for.
        available: usize,
    },
    /// An answer does not have one KPI for every guard of the problem.
    Kpis {
        /// Guards of the problem.
        wanted: usize,
        /// KPIs of the answer.
        given: usize,
    },
    /// An observation is NaN or infinite; one from before the task, or beyond ±10³⁰.
    NotFinite,
    /// An observation lies more than a million standard deviations from the others, or beyond ±10³⁰: no measurement
    /// does.
    Outlier,
    /// The query answered is not the one that was asked last.
    UnknownQuery,
    /// The call does not fit what the optimizer is doing now (for example the next task before this one has ended).
    OutOfTurn,
    /// A covariance matrix is not positive definite, even with the counted jitter.
    NotPositiveDefinite {
        /// Row at which the factorisation failed.
        row: usize,
    },
    /// Saved bytes cannot be restored.
    Snapshot(SnapshotError),
    /// A fleet's bytes cannot be used.
    Fleet(SnapshotError),
}

/// Why saved bytes were refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum SnapshotError {
    /// Fewer bytes than the header says.
    Truncated,
    /// Not a snapshot of ours.
    Foreign,
    /// Written by a newer version of this library.
    Newer {
        /// The version found.
        version: u16,
    },
    /// Written by an older version of this library, whose format says too little to be taken over safely.
    Older {
        /// The version found.
        version: u16,
    },
    /// The checksum does not match: damaged.
    Checksum,
    /// Taken with another model: feature map, dimensions, fidelities or number of particles differ.
    Model,
    /// Learnt on another problem: this part of it differs.
    Problem(ProblemPart),
    /// Taken in the middle of a task with other settings or another problem: it could not continue bit for bit.
    Settings,
    /// The contents contradict each other, although the checksum matches.
    Contents,
}

/// The parts of a problem that knowledge is bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum ProblemPart {
    /// The parameters to tune: their ranges and levels.
    Parameters,
    /// The fidelities: their number, costs and noise.
    Fidelities,
    /// Whether to maximise or to minimise.
    Goal,
}

impl fmt::Display for ProblemPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ProblemPart::Parameters => "parameters",
            ProblemPart::Fidelities => "fidelities (number, costs or noise)",
            ProblemPart::Goal => "goal",
        })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Error::Setting { name, allowed } => write!(f, "setting `{name}` must be {allowed}"),
            Error::Dimension { index, what } => write!(f, "dimension {index} (from 0): {what}"),
            Error::Fidelity { index, what } => write!(f, "fidelity {index} (from 0): {what}"),
            Error::Budget => write!(f, "the budget is negative or not finite"),
            Error::Cost => write!(f, "what a measurement cost must be 0 or more, and finite"),
            Error::Live(what) | Error::Condition(what) => f.write_str(what),
            Error::Capacity { what, needed, available } => {
                write!(f, "{what}: {needed} needed, but the memory has room for {available}")
            }
            Error::Kpis { wanted, given } => {
                write!(f, "an answer needs {wanted} KPIs, one for each guard, and has {given}")
            }
            Error::NotFinite => write!(f, "the observation is not a finite number"),
            Error::Outlier => {
                write!(f, "the observation lies over a million standard deviations away from the others")
            }
            Error::UnknownQuery => write!(f, "the query is not the one asked last"),
            Error::OutOfTurn => write!(f, "the call does not fit what the optimizer is doing now"),
            Error::NotPositiveDefinite { row } => {
                write!(f, "the covariance matrix is not positive definite at row {row}")
            }
            Error::Snapshot(why) => write!(f, "snapshot refused: {why}"),
            Error::Fleet(why) => write!(f, "fleet file refused: {why}"),
        }
    }
}

impl fmt::Display for SnapshotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            SnapshotError::Truncated => write!(f, "truncated"),
            SnapshotError::Foreign => write!(f, "not written by foretune"),
            SnapshotError::Newer { version } => write!(f, "written by a newer version (format {version})"),
            SnapshotError::Older { version } => {
                write!(
                    f,
                    "written by an older version (format {version}), which says too little of its problem"
                )
            }
            SnapshotError::Problem(part) => write!(f, "learnt on a problem that differs in its {part}"),
            SnapshotError::Checksum => write!(f, "damaged (checksum does not match)"),
            SnapshotError::Model => write!(f, "taken with another model or number of particles"),
            SnapshotError::Settings => write!(f, "taken mid-task with other settings or another problem"),
            SnapshotError::Contents => write!(f, "contents contradict each other"),
        }
    }
}

impl core::error::Error for Error {}
impl core::error::Error for SnapshotError {}

impl From<SnapshotError> for Error {
    fn from(why: SnapshotError) -> Self {
        Error::Snapshot(why)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::string::ToString;

    #[test]
    fn every_error_names_its_cause() {
        let full = Error::Capacity { what: "particles", needed: 12, available: 10 };
        for (error, words) in [
            (Error::Setting { name: "beta", allowed: "0 or more" }, "setting `beta` must be 0 or more"),
            (
                Error::Dimension { index: 3, what: "`low` must be below `high`" },
                "dimension 3 (from 0): `low` must be below `high`",
            ),
            (full, "particles: 12 needed, but the memory has room for 10"),
            (Error::Kpis { wanted: 2, given: 0 }, "an answer needs 2 KPIs, one for each guard, and has 0"),
            (Error::NotFinite, "the observation is not a finite number"),
            (
                SnapshotError::Newer { version: 9 }.into(),
                "snapshot refused: written by a newer version (format 9)",
            ),
            (
                SnapshotError::Problem(ProblemPart::Fidelities).into(),
                "snapshot refused: learnt on a problem that differs in its fidelities (number, costs or noise)",
            ),
            (SnapshotError::Checksum.into(), "snapshot refused: damaged (checksum does not match)"),
        ] {
            assert_eq!(error.to_string(), words);
        }
    }
}

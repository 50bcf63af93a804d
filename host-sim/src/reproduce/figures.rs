//! The paper's figures as data: problem, length, and the curves or the grid.

use crate::runner::Method;

/// Weight β of MFT-MES.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Beta {
    /// The method has none.
    None,
    /// Ours, half of what the paper prints, whatever the preset: a point of a grid.
    Grid(f32),
    /// Ours, half of what the paper prints, with the paper's preset; another preset brings its own.
    Paper(f32),
}

/// One curve of a figure, or one line of its grid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// The method.
    pub method: Method,
    /// Particles V.
    pub particles: usize,
    /// Weight of the transfer term.
    pub beta: Beta,
    /// Share of queries for the current task, where the method has one.
    pub c: Option<f32>,
}

/// A figure of the paper.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// Name of the study.
    pub name: &'static str,
    /// What it shows, in a line.
    pub shows: &'static str,
    /// The problem.
    pub problem: &'static str,
    /// Tasks in the paper's sequences.
    pub tasks: u32,
    /// What is compared.
    pub lines: &'static [Line],
}

const fn line(method: Method, particles: usize) -> Line {
    Line { method, particles, beta: Beta::None, c: None }
}

const fn mft(particles: usize, beta: Beta) -> Line {
    Line { beta, ..line(Method::MftMes, particles) }
}

const fn share(method: Method, c: f32) -> Line {
    Line { c: Some(c), ..line(method, 10) }
}

const MF: Line = line(Method::MfMes, 1);
const CONTINUAL: Line = line(Method::Continual, 10);

/// All figures with experiments.
pub const FIGURES: &[Figure] = &[
    Figure {
        name: "fig3",
        shows: "Hartmann-6: regret by task, 5 and 10 particles",
        problem: "hartmann6",
        tasks: 10,
        lines: &[
            MF,
            line(Method::Continual, 5),
            CONTINUAL,
            mft(5, Beta::Paper(0.6)),
            mft(10, Beta::Paper(0.6)),
        ],
    },
    Figure {
        name: "fig4",
        shows: "Hartmann-6: regret by β and task",
        problem: "hartmann6",
        tasks: 10,
        lines: &[
            MF,
            CONTINUAL,
            mft(10, Beta::Grid(0.2)),
            mft(10, Beta::Grid(0.4)),
            mft(10, Beta::Grid(0.6)),
            mft(10, Beta::Grid(0.9)),
            mft(10, Beta::Grid(1.2)),
        ],
    },
    Figure {
        name: "fig5",
        shows: "radio resource management: share of the optimum by task",
        problem: "rrm",
        tasks: 40,
        lines: &[MF, CONTINUAL, mft(10, Beta::Paper(0.8))],
    },
    Figure {
        name: "fig6",
        shows: "radio resource management: share of the optimum by β",
        problem: "rrm",
        tasks: 40,
        lines: &[
            MF,
            CONTINUAL,
            mft(10, Beta::Grid(0.2)),
            mft(10, Beta::Grid(0.4)),
            mft(10, Beta::Grid(0.6)),
            mft(10, Beta::Grid(0.8)),
            mft(10, Beta::Grid(1.0)),
            mft(10, Beta::Grid(1.2)),
        ],
    },
    Figure {
        name: "fig7",
        shows: "Hartmann-6: the simplified variants of MFT-MES",
        problem: "hartmann6",
        tasks: 10,
        lines: &[
            MF,
            CONTINUAL,
            mft(10, Beta::Paper(0.75)),
            share(Method::Separation, 0.6),
            share(Method::Myopic, 0.6),
            share(Method::TwoPhase, 0.6),
        ],
    },
    Figure {
        name: "fig8",
        shows: "Hartmann-6: regret of two-phase MFT-MES by 1 − c and task",
        problem: "hartmann6",
        tasks: 10,
        lines: &[
            MF,
            CONTINUAL,
            share(Method::TwoPhase, 1.0),
            share(Method::TwoPhase, 0.8),
            share(Method::TwoPhase, 0.6),
            share(Method::TwoPhase, 0.4),
            share(Method::TwoPhase, 0.2),
        ],
    },
    Figure {
        name: "fig9",
        shows: "gas source: regret by task",
        problem: "gas",
        tasks: 17,
        lines: &[MF, CONTINUAL, mft(10, Beta::Paper(0.75))],
    },
    Figure {
        name: "fig10",
        shows: "gas source: regret by β",
        problem: "gas",
        tasks: 17,
        lines: &[
            MF,
            CONTINUAL,
            mft(10, Beta::Grid(0.25)),
            mft(10, Beta::Grid(0.5)),
            mft(10, Beta::Grid(0.75)),
            mft(10, Beta::Grid(1.0)),
            mft(10, Beta::Grid(1.25)),
        ],
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problems::Problem;
    use crate::report::claims::{CLAIMS, Test};

    #[test]
    fn figures_are_the_papers_problems_and_lengths() {
        for figure in FIGURES {
            let spec = figure.problem.parse::<Problem>().unwrap().spec();
            assert_eq!(figure.tasks as usize, spec.tasks, "{}", figure.name);
            assert_eq!(figure.lines[0], MF);
        }
    }

    /// What the paper claims of a value of β can only be judged if that value is run.
    #[test]
    fn grids_have_the_values_that_the_claims_name() {
        for claim in CLAIMS {
            let figure = FIGURES.iter().find(|figure| figure.name == claim.study).expect(claim.study);
            if let Test::BestAt(crate::report::Sweep::Beta, beta, _) = claim.test
                && beta > 0.0
            {
                let has =
                    |line: &Line| matches!(line.beta, Beta::Grid(b) if (f64::from(b) - beta).abs() < 1e-6);
                assert!(figure.lines.iter().any(has), "{} {beta}", figure.name);
            }
        }
    }
}

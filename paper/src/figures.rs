//! The paper's figures as data: what is run, what the paper did, and how it is drawn.
//!
//! The one table of them: [`reproduce`](crate::reproduce) runs them, [`page`](crate::page) shows them.

use foretune_report::{Sweep, View};
use host_sim::method::Method;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Beta {
    None,
    /// Ours, half of what the paper prints, whatever the preset: a point of a grid.
    Grid(f32),
    /// Ours, half of what the paper prints, with the paper's preset; another preset brings its own.
    Paper(f32),
}

/// One curve of a figure, or one line of its grid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    pub method: Method,
    pub particles: usize,
    pub beta: Beta,
    /// Share of queries for the current task, where the method has one.
    pub c: Option<f32>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    pub name: &'static str,
    /// As the paper numbers it.
    pub number: u32,
    pub title: &'static str,
    /// What the paper did, in our β.
    pub about: &'static str,
    pub problem: &'static str,
    pub tasks: u32,
    pub lines: &'static [Line],
    pub view: View,
}

impl Figure {
    /// The figure of a name such as `fig3`.
    pub fn named(name: &str) -> Option<&'static Self> {
        FIGURES.iter().find(|figure| figure.name == name)
    }

    /// Whether the figure itself says what a setting is, so that setting it changes nothing.
    pub fn fixes(&self, key: &str) -> bool {
        match key {
            "particles" | "c" => true,
            "beta" => !self.lines.iter().any(|line| matches!(line.beta, Beta::Paper(_))),
            _ => false,
        }
    }
}

const fn line(method: Method, particles: usize) -> Line {
    Line { method, particles, beta: Beta::None, c: None }
}

const fn mft(particles: usize, beta: Beta) -> Line {
    Line { beta, ..line(Method::MftMes, particles) }
}

/// MFT-MES with the weight that the paper has in this figure.
const fn paper(beta: f32) -> Line {
    mft(10, Beta::Paper(beta))
}

/// MFT-MES at a point of a grid.
const fn grid(beta: f32) -> Line {
    mft(10, Beta::Grid(beta))
}

const fn share(method: Method, c: f32) -> Line {
    Line { c: Some(c), ..line(method, 10) }
}

const fn two_phase(c: f32) -> Line {
    share(Method::TwoPhase, c)
}

const MF: Line = line(Method::MfMes, 1);
const CONTINUAL: Line = line(Method::Continual, 10);

pub const FIGURES: &[Figure] = &[
    Figure {
        name: "fig3",
        number: 3,
        title: "Hartmann-6: regret by task",
        about: "MF-MES, Continual MF-MES and MFT-MES (β = 0.6, printed 1.2), the latter two with 5 and with 10 particles.",
        problem: "hartmann6",
        tasks: 10,
        lines: &[MF, line(Method::Continual, 5), CONTINUAL, mft(5, Beta::Paper(0.6)), paper(0.6)],
        view: View::Lines,
    },
    Figure {
        name: "fig4",
        number: 4,
        title: "Hartmann-6: which β is best after how many tasks",
        about: "Regret for each weight β of the transfer term and each task, with 10 particles. Stars mark the best β of a task.",
        problem: "hartmann6",
        tasks: 10,
        lines: &[MF, CONTINUAL, grid(0.2), grid(0.4), grid(0.6), grid(0.9), grid(1.2)],
        view: View::Surface(Sweep::Beta),
    },
    Figure {
        name: "fig5",
        number: 5,
        title: "Radio resource management: optimality ratio by task",
        about: "MF-MES, Continual MF-MES and MFT-MES (β = 0.8, printed 1.6), with 10 particles.",
        problem: "rrm",
        tasks: 40,
        lines: &[MF, CONTINUAL, paper(0.8)],
        view: View::Lines,
    },
    Figure {
        name: "fig6",
        number: 6,
        title: "Radio resource management: the effect of β",
        about: "Optimality ratio against β after 20 and after 40 tasks (after half and all of them where there are fewer), with 10 particles.",
        problem: "rrm",
        tasks: 40,
        lines: &[MF, CONTINUAL, grid(0.2), grid(0.4), grid(0.6), grid(0.8), grid(1.0), grid(1.2)],
        view: View::Slices(Sweep::Beta, [20, 40]),
    },
    Figure {
        name: "fig7",
        number: 7,
        title: "Hartmann-6: simplified variants",
        about: "MFT-MES (β = 0.75, printed 1.5) and its successive simplifications with c = 0.6, with 10 particles.",
        problem: "hartmann6",
        tasks: 10,
        lines: &[
            MF,
            CONTINUAL,
            paper(0.75),
            share(Method::Separation, 0.6),
            share(Method::Myopic, 0.6),
            two_phase(0.6),
        ],
        view: View::Lines,
    },
    Figure {
        name: "fig8",
        number: 8,
        title: "Hartmann-6: which share 1 − c is best after how many tasks",
        about: "Regret of two-phase MFT-MES for each share 1 − c of queries spent on transferable knowledge, and each task.",
        problem: "hartmann6",
        tasks: 10,
        lines: &[
            MF,
            CONTINUAL,
            two_phase(1.0),
            two_phase(0.8),
            two_phase(0.6),
            two_phase(0.4),
            two_phase(0.2),
        ],
        view: View::Surface(Sweep::Share),
    },
    Figure {
        name: "fig9",
        number: 9,
        title: "Gas emission source: regret by task",
        about: "MF-MES, Continual MF-MES and MFT-MES (β = 0.75, printed 1.5), with 10 particles.",
        problem: "gas",
        tasks: 17,
        lines: &[MF, CONTINUAL, paper(0.75)],
        view: View::Lines,
    },
    Figure {
        name: "fig10",
        number: 10,
        title: "Gas emission source: the effect of β",
        about: "Regret against β after 7 and after 17 tasks, with 10 particles.",
        problem: "gas",
        tasks: 17,
        lines: &[MF, CONTINUAL, grid(0.25), grid(0.5), grid(0.75), grid(1.0), grid(1.25)],
        view: View::Slices(Sweep::Beta, [7, 17]),
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use host_sim::problems::Problem;

    #[test]
    fn figures_are_the_papers_problems_and_lengths() {
        for figure in FIGURES {
            let spec = figure.problem.parse::<Problem>().unwrap().spec();
            assert_eq!(figure.tasks as usize, spec.tasks, "{}", figure.name);
            assert_eq!(figure.lines[0], MF);
            assert_eq!(figure.name, format!("fig{}", figure.number));
        }
    }
}

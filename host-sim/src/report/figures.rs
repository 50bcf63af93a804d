//! The paper's figures: what each shows, and how we show it.

use super::Sweep;

/// How a study is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum View {
    /// A curve per variant over the tasks.
    Lines,
    /// The swept setting against the tasks, as a heat map.
    Surface(Sweep),
    /// The swept setting at some tasks, as curves.
    Slices(Sweep, [u32; 2]),
}

/// One of the paper's figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Figure {
    /// Name of its study.
    pub study: &'static str,
    /// As the paper numbers it.
    pub number: u32,
    /// What it shows.
    pub title: &'static str,
    /// What the paper did, in our β.
    pub about: &'static str,
    /// How it is drawn.
    pub view: View,
}

const fn figure(
    study: &'static str,
    number: u32,
    title: &'static str,
    about: &'static str,
    view: View,
) -> Figure {
    Figure { study, number, title, about, view }
}

/// All figures with results.
pub(super) const FIGURES: [Figure; 8] = [
    figure(
        "fig3",
        3,
        "Hartmann-6: regret by task",
        "MF-MES, Continual MF-MES and MFT-MES (β = 0.6, printed 1.2), the latter two with 5 and with 10 particles.",
        View::Lines,
    ),
    figure(
        "fig4",
        4,
        "Hartmann-6: which β is best after how many tasks",
        "Regret for each weight β of the transfer term and each task, with 10 particles. Stars mark the best β of a task.",
        View::Surface(Sweep::Beta),
    ),
    figure(
        "fig5",
        5,
        "Radio resource management: optimality ratio by task",
        "MF-MES, Continual MF-MES and MFT-MES (β = 0.8, printed 1.6), with 10 particles.",
        View::Lines,
    ),
    figure(
        "fig6",
        6,
        "Radio resource management: the effect of β",
        "Optimality ratio against β after 20 and after 40 tasks (after half and all of them where there are fewer), with 10 particles.",
        View::Slices(Sweep::Beta, [20, 40]),
    ),
    figure(
        "fig7",
        7,
        "Hartmann-6: simplified variants",
        "MFT-MES (β = 0.75, printed 1.5) and its successive simplifications with c = 0.6, with 10 particles.",
        View::Lines,
    ),
    figure(
        "fig8",
        8,
        "Hartmann-6: which share 1 − c is best after how many tasks",
        "Regret of two-phase MFT-MES for each share 1 − c of queries spent on transferable knowledge, and each task.",
        View::Surface(Sweep::Share),
    ),
    figure(
        "fig9",
        9,
        "Gas emission source: regret by task",
        "MF-MES, Continual MF-MES and MFT-MES (β = 0.75, printed 1.5), with 10 particles.",
        View::Lines,
    ),
    figure(
        "fig10",
        10,
        "Gas emission source: the effect of β",
        "Regret against β after 7 and after 17 tasks, with 10 particles.",
        View::Slices(Sweep::Beta, [7, 17]),
    ),
];

#[cfg(test)]
mod tests {
    use super::super::claims::CLAIMS;
    use super::*;

    #[test]
    fn every_claim_belongs_to_a_figure_and_every_figure_has_claims() {
        for claim in CLAIMS {
            assert!(FIGURES.iter().any(|f| f.study == claim.study), "{}", claim.study);
        }
        for figure in FIGURES {
            assert!(CLAIMS.iter().any(|c| c.study == figure.study), "{}", figure.study);
            assert_eq!(figure.study, format!("fig{}", figure.number));
        }
    }
}

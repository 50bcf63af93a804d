//! What the paper claims about its figures, as data that can be tested.
//!
//! The paper gives its results in text and pictures only. β is ours here, half of the printed one.

use foretune_report::{Sweep, Who};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tasks {
    At(u32),
    From(u32),
    UpTo(u32),
    All,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Test {
    /// In each pair the first is better than the second, on average over the tasks.
    Ahead(&'static [(Who, Who)], Tasks),
    /// The first is better than the second by a factor: its regret that much lower, or its ratio that much higher.
    Factor(Who, Who, Tasks, f64),
    /// Each is better in the last two tasks than in the first two.
    Improves(&'static [Who]),
    /// The value of the sweep is the best one in the tasks.
    BestAt(Sweep, f64, Tasks),
    /// The best value of the sweep is higher in the later half of the tasks than in the earlier.
    BestGrows(Sweep),
    /// Every value of the sweep above zero is better than each of the others, in each of the tasks.
    EveryValueAhead(Sweep, &'static [Who], &'static [u32]),
    /// The largest value of the sweep up to the given one keeps at least half of the best value's gain over the
    /// baseline, in each of the tasks.
    Robust(Sweep, f64, Who, &'static [u32]),
    /// The first keeps at least half of the second's gain over the third.
    KeepsHalf(Who, Who, Who, Tasks),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Claim {
    pub study: &'static str,
    pub text: &'static str,
    pub test: Test,
}

const MF: Who = Who::any("mf-mes");
const CONTINUAL: Who = Who::any("continual");
const MFT: Who = Who::any("mft-mes");
const CONTINUAL_5: Who = Who::with("continual", 5);
const CONTINUAL_10: Who = Who::with("continual", 10);
const MFT_5: Who = Who::with("mft-mes", 5);
const MFT_10: Who = Who::with("mft-mes", 10);
const SEPARATION: Who = Who::any("separation");
const MYOPIC: Who = Who::any("separation-myopic");
const TWO_PHASE: Who = Who::any("two-phase");

const fn claim(study: &'static str, text: &'static str, test: Test) -> Claim {
    Claim { study, text, test }
}

/// All claims, in the order of the figures.
pub const CLAIMS: &[Claim] = &[
    claim(
        "fig3",
        "At task 10 with V = 10, MFT-MES (β = 0.6, printed 1.2) has a third of Continual MF-MES's regret.",
        Test::Factor(MFT_10, CONTINUAL_10, Tasks::At(10), 3.0),
    ),
    claim(
        "fig3",
        "MFT-MES is ahead of Continual MF-MES from task 3 on (V = 10).",
        Test::Ahead(&[(MFT_10, CONTINUAL_10)], Tasks::From(3)),
    ),
    claim(
        "fig3",
        "For the first two tasks Continual MF-MES is ahead: the price of collecting transferable knowledge.",
        Test::Ahead(&[(CONTINUAL_10, MFT_10)], Tasks::UpTo(2)),
    ),
    claim(
        "fig3",
        "Ten particles are better than five, for both methods that carry them on.",
        Test::Ahead(&[(CONTINUAL_10, CONTINUAL_5), (MFT_10, MFT_5)], Tasks::All),
    ),
    claim(
        "fig3",
        "Continual MF-MES and MFT-MES reduce their regret as more tasks are seen.",
        Test::Improves(&[CONTINUAL_10, MFT_10]),
    ),
    claim(
        "fig4",
        "For n ≤ 2 tasks, β = 0 (Continual MF-MES) is best.",
        Test::BestAt(Sweep::Beta, 0.0, Tasks::UpTo(2)),
    ),
    claim(
        "fig4",
        "At n = 9 tasks, β = 0.6 (printed 1.2) is best.",
        Test::BestAt(Sweep::Beta, 0.6, Tasks::At(9)),
    ),
    claim("fig4", "The best β grows with the number of tasks.", Test::BestGrows(Sweep::Beta)),
    claim(
        "fig5",
        "At task 40, MFT-MES (β = 0.8, printed 1.6) has a 7 % higher optimality ratio than Continual MF-MES.",
        Test::Factor(MFT, CONTINUAL, Tasks::At(40), 1.07),
    ),
    claim(
        "fig5",
        "At task 40, MFT-MES has a 23 % higher optimality ratio than MF-MES.",
        Test::Factor(MFT, MF, Tasks::At(40), 1.23),
    ),
    claim(
        "fig5",
        "MFT-MES is ahead of Continual MF-MES after 12 tasks.",
        Test::Ahead(&[(MFT, CONTINUAL)], Tasks::From(13)),
    ),
    claim(
        "fig6",
        "At n = 20 tasks, β = 0.6 (printed 1.2) is best.",
        Test::BestAt(Sweep::Beta, 0.6, Tasks::At(20)),
    ),
    claim(
        "fig6",
        "At n = 40 tasks, β = 0.8 (printed 1.6) is best.",
        Test::BestAt(Sweep::Beta, 0.8, Tasks::At(40)),
    ),
    claim(
        "fig6",
        "Any β > 0 is better than Continual MF-MES and MF-MES, at n = 20 and at n = 40.",
        Test::EveryValueAhead(Sweep::Beta, &[CONTINUAL, MF], &[20, 40]),
    ),
    claim(
        "fig6",
        "A larger weight, up to β = 1.2 (printed 2.4), costs only little.",
        Test::Robust(Sweep::Beta, 1.2, CONTINUAL, &[20, 40]),
    ),
    claim(
        "fig7",
        "Each simplification is worse than the method before it: MFT-MES, separation, myopic separation, two-phase.",
        Test::Ahead(&[(MFT, SEPARATION), (SEPARATION, MYOPIC), (MYOPIC, TWO_PHASE)], Tasks::All),
    ),
    claim(
        "fig7",
        "The gaps between the simplifications are fairly marginal.",
        Test::KeepsHalf(TWO_PHASE, MFT, CONTINUAL, Tasks::From(3)),
    ),
    claim(
        "fig7",
        "All simplified variants are ahead of MF-MES and Continual MF-MES from task 3 on.",
        Test::Ahead(
            &[
                (SEPARATION, CONTINUAL),
                (MYOPIC, CONTINUAL),
                (TWO_PHASE, CONTINUAL),
                (SEPARATION, MF),
                (MYOPIC, MF),
                (TWO_PHASE, MF),
            ],
            Tasks::From(3),
        ),
    ),
    claim("fig8", "The best share 1 − c grows with the number of tasks.", Test::BestGrows(Sweep::Share)),
    claim(
        "fig9",
        "At task 17, MFT-MES (β = 0.75, printed 1.5) has half of Continual MF-MES's regret.",
        Test::Factor(MFT, CONTINUAL, Tasks::At(17), 2.0),
    ),
    claim(
        "fig9",
        "MFT-MES is ahead of Continual MF-MES after four tasks.",
        Test::Ahead(&[(MFT, CONTINUAL)], Tasks::From(5)),
    ),
    claim(
        "fig9",
        "Continual MF-MES and MFT-MES are ahead of MF-MES.",
        Test::Ahead(&[(CONTINUAL, MF), (MFT, MF)], Tasks::All),
    ),
    claim(
        "fig10",
        "At n = 7 tasks, β = 0.5 (printed 1.0) is best.",
        Test::BestAt(Sweep::Beta, 0.5, Tasks::At(7)),
    ),
    claim(
        "fig10",
        "At n = 17 tasks, β = 0.75 (printed 1.5) is best.",
        Test::BestAt(Sweep::Beta, 0.75, Tasks::At(17)),
    ),
    claim(
        "fig10",
        "Any β > 0 is better than Continual MF-MES and MF-MES, at n = 7 and at n = 17.",
        Test::EveryValueAhead(Sweep::Beta, &[CONTINUAL, MF], &[7, 17]),
    ),
];

pub fn of_study(study: &str) -> impl Iterator<Item = &'static Claim> {
    CLAIMS.iter().filter(move |c| c.study == study)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::{Beta, FIGURES, Figure, Line};

    #[test]
    fn every_claim_belongs_to_a_figure_and_every_figure_has_claims() {
        assert!(CLAIMS.iter().all(|claim| Figure::named(claim.study).is_some()));
        assert!(FIGURES.iter().all(|figure| of_study(figure.name).count() > 0));
    }

    /// What the paper claims of a value of β can only be judged if that value is run.
    #[test]
    fn grids_have_the_values_that_the_claims_name() {
        for claim in CLAIMS {
            if let Test::BestAt(Sweep::Beta, beta, _) = claim.test
                && beta > 0.0
            {
                let has =
                    |line: &Line| matches!(line.beta, Beta::Grid(b) if (f64::from(b) - beta).abs() < 1e-6);
                let figure = Figure::named(claim.study).unwrap();
                assert!(figure.lines.iter().any(has), "{} {beta}", figure.name);
            }
        }
    }
}

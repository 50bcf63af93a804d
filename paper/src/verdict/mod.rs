//! Judging the paper's claims on our numbers.
//!
//! All comparisons are paired by experiment, with 90 % intervals. A claim of an order holds when the whole interval of
//! the difference is on its side of zero, does not hold when the whole interval is on the other, and is undecided in
//! between. A claim of a factor holds when the interval reaches it and at least half of the claimed gain is certain;
//! it does not hold when the whole interval stays below it.

mod kinds;

use std::ops::RangeInclusive;

use crate::claims::{Tasks, Test};
use foretune_report::plot::{decimals_for, fixed_number, short_number as three};
use foretune_report::stats::{Estimate, mean};
use foretune_report::{Metric, Samples, Sweep, Term, Who};
use host_sim::results::Manifest;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Our numbers bear it out.
    Holds,
    Fails,
    Undecided,
    /// What it needs was not run.
    NoData,
}

impl Verdict {
    pub fn word(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Fails => "does not hold",
            Self::Undecided => "undecided",
            Self::NoData => "not run",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub verdict: Verdict,
    /// The numbers, or what is missing.
    pub figures: String,
}

pub fn judge(test: &Test, manifest: &Manifest, samples: &Samples) -> Finding {
    let court = Court { manifest, samples };
    let found = match *test {
        Test::Ahead(pairs, tasks) => court.ahead(pairs, tasks),
        Test::Factor(a, b, tasks, factor) => court.factor(a, b, tasks, factor),
        Test::Improves(who) => court.improves(who),
        Test::BestAt(sweep, value, tasks) => court.best_at(sweep, value, tasks),
        Test::BestGrows(sweep) => court.best_grows(sweep),
        Test::EveryValueAhead(sweep, others, tasks) => court.every_value_ahead(sweep, others, tasks),
        Test::Robust(sweep, value, base, tasks) => court.robust(sweep, value, base, tasks),
        Test::KeepsHalf(a, best, base, tasks) => court.keeps_half_of(a, best, base, tasks),
    };
    found.unwrap_or_else(|missing| Finding { verdict: Verdict::NoData, figures: missing })
}

/// A finding, or what is missing for one.
type Judged = Result<Finding, String>;

struct Court<'a> {
    manifest: &'a Manifest,
    samples: &'a Samples,
}

impl Court<'_> {
    fn find(&self, who: Who) -> Result<usize, String> {
        who.find(self.manifest).ok_or_else(|| format!("the study has no {}", who.describe()))
    }

    fn label(&self, variant: usize) -> &str {
        &self.manifest.variants[variant].label
    }

    fn tasks(&self, tasks: Tasks) -> Result<RangeInclusive<u32>, String> {
        let last = self.manifest.tasks;
        let range = match tasks {
            Tasks::At(n) => n..=n,
            Tasks::From(n) => n..=last,
            Tasks::UpTo(n) => 1..=n,
            Tasks::All => 1..=last,
        };
        let needed = *range.start().max(range.end());
        let there = needed <= last;
        there.then_some(range).ok_or_else(|| format!("needs task {needed}; the study has {last}"))
    }

    fn sweep(&self, sweep: Sweep) -> Result<Vec<(f64, usize)>, String> {
        let members = sweep.members(self.manifest);
        let enough = members.len() >= 2;
        enough.then_some(members).ok_or_else(|| format!("the study does not vary {}", sweep.symbol()))
    }

    /// Values of several variants, for the experiments that have them all.
    fn paired(&self, variants: &[usize], tasks: &RangeInclusive<u32>) -> Result<Vec<Vec<f64>>, String> {
        let term = |&variant: &usize| Term { variant, tasks: tasks.clone(), weight: 1.0 };
        let terms: Vec<Term> = variants.iter().map(term).collect();
        let one = |e| terms.iter().map(|t| self.samples.combined(std::slice::from_ref(t), e)).collect();
        let rows: Vec<Vec<f64>> = (0..self.samples.experiments()).filter_map(one).collect();
        if rows.is_empty() {
            return Err(format!("no experiment has finished {}", words(tasks)));
        }
        Ok((0..variants.len()).map(|v| rows.iter().map(|r| r[v]).collect()).collect())
    }

    fn gain(&self, a: usize, b: usize, tasks: &RangeInclusive<u32>) -> Result<Estimate, String> {
        let gain = self.samples.paired_gain(a, b, tasks.clone());
        gain.ok_or_else(|| format!("no experiment has finished {} with both", words(tasks)))
    }

    /// Indices from the best mean to the worst.
    fn ranking(&self, values: &[Vec<f64>]) -> Vec<usize> {
        let gain = |i: usize| self.samples.metric().gain(mean(&values[i]), 0.0);
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by(|&a, &b| gain(b).total_cmp(&gain(a)));
        order
    }

    /// By how much the first values are better than the second.
    fn difference(&self, a: &[f64], b: &[f64]) -> Result<Estimate, String> {
        let gains: Vec<f64> = a.iter().zip(b).map(|(&a, &b)| self.samples.metric().gain(a, b)).collect();
        Estimate::of(&gains).ok_or_else(|| "no experiment has finished its tasks".into())
    }

    fn measure(&self) -> &'static str {
        match self.samples.metric() {
            Metric::Regret => "regret",
            Metric::Ratio => "ratio",
            Metric::Value => "value",
        }
    }

    /// The tasks and, where a single experiment cannot decide anything, that.
    fn remark(&self, tasks: &RangeInclusive<u32>) -> String {
        let alone = if self.samples.experiments() == 1 { "; one experiment has no interval" } else { "" };
        format!(" ({}{alone})", words(tasks))
    }
}

fn all(signs: &[i8]) -> Verdict {
    match signs {
        s if s.contains(&-1) => Verdict::Fails,
        s if !s.is_empty() && s.iter().all(|&s| s == 1) => Verdict::Holds,
        _ => Verdict::Undecided,
    }
}

fn words(tasks: &RangeInclusive<u32>) -> String {
    match (tasks.start(), tasks.end()) {
        (a, b) if a == b => format!("task {a}"),
        (a, b) => format!("tasks {a}–{b}"),
    }
}

/// A gain in words: `better by 0.2 (0.1 to 0.3)`.
fn signed(gain: &Estimate) -> String {
    let word = if gain.mean < 0.0 { "worse" } else { "better" };
    let (low, high) = if gain.mean < 0.0 { (-gain.high(), -gain.low()) } else { (gain.low(), gain.high()) };
    match gain.half_width {
        Some(half) => {
            let [mean, low, high] = [gain.mean.abs(), low, high].map(|v| fixed_number(v, decimals_for(half)));
            format!("{word} by {mean} ({low} to {high})")
        }
        None => format!("{word} by {}", three(gain.mean.abs())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::{CLAIMS, of_study};
    use foretune_report::fixture::study;
    use foretune_report::{Point, StudyData};

    const MFT: Who = Who::any("mft-mes");
    const CONTINUAL: Who = Who::any("continual");
    const MF: Who = Who::any("mf-mes");
    const TWO_PHASE: Who = Who::any("two-phase");

    fn on(data: &StudyData, test: Test) -> Finding {
        judge(&test, &data.manifest, &data.samples(Point::Best))
    }

    /// A study in which every value is given by a formula of method, β, task and experiment.
    fn made(name: &str, regret: impl Fn(&str, f64, u32, u32) -> f64) -> StudyData {
        let mut data = study(name, 12);
        for row in &mut data.rows {
            let variant = &data.manifest.variants[row.variant];
            let beta = variant.number("beta").unwrap_or(0.0);
            row.best = row.optimum - regret(&variant.method, beta, row.task, row.experiment);
        }
        data
    }

    fn jitter(task: u32, experiment: u32) -> f64 {
        0.01 * f64::from((experiment * 7 + task * 3) % 5)
    }

    #[test]
    fn a_clear_order_holds_and_its_opposite_does_not() {
        let data = made("fig9", |m, _, t, e| if m == "mft-mes" { 0.5 } else { 1.0 } + jitter(t, e) / if m == "mf-mes" { 2.0 } else { 1.0 });
        let ahead = on(&data, Test::Ahead(&[(MFT, CONTINUAL)], Tasks::From(5)));
        assert_eq!(ahead.verdict, Verdict::Holds, "{ahead:?}");
        assert!(ahead.figures.contains("better by 0.5") && ahead.figures.contains("13 of 13"), "{ahead:?}");
        let behind = on(&data, Test::Ahead(&[(CONTINUAL, MFT)], Tasks::From(5)));
        assert_eq!(behind.verdict, Verdict::Fails);
        let mixed = on(&data, Test::Ahead(&[(MFT, CONTINUAL), (CONTINUAL, MFT)], Tasks::All));
        assert_eq!(mixed.verdict, Verdict::Fails);
    }

    #[test]
    fn what_noise_could_explain_is_undecided() {
        let data = made("fig9", |m, _, t, e| 1.0 + if m == "mft-mes" { jitter(t, e) } else { jitter(e, t) });
        let found = on(&data, Test::Ahead(&[(MFT, CONTINUAL)], Tasks::At(3)));
        assert_eq!(found.verdict, Verdict::Undecided, "{found:?}");
    }

    #[test]
    fn factors_are_judged_by_their_interval() {
        let data = made("fig9", |m, _, t, e| if m == "mft-mes" { 0.5 } else { 1.0 } * (1.0 + jitter(t, e + u32::from(m == "mft-mes"))));
        let factor = |claimed| on(&data, Test::Factor(MFT, CONTINUAL, Tasks::At(17), claimed)).verdict;
        assert_eq!(factor(2.0), Verdict::Holds);
        assert_eq!(factor(1.5), Verdict::Holds, "more than claimed");
        assert_eq!(factor(3.0), Verdict::Fails);
        let none = made("fig9", |_, _, t, e| 1.0 + 50.0 * jitter(t, e) * f64::from(e % 2));
        let found = on(&none, Test::Factor(MFT, CONTINUAL, Tasks::At(17), 2.0));
        assert_eq!(found.verdict, Verdict::Fails, "equal methods have factor one: {found:?}");
    }

    #[test]
    fn a_ratio_gain_is_higher_over_lower() {
        let data = made("fig5", |m, _, t, e| if m == "mft-mes" { 2.0 } else { 10.0 } + jitter(t, e));
        let found = on(&data, Test::Factor(MFT, MF, Tasks::At(40), 1.2));
        assert_eq!(found.verdict, Verdict::Holds, "{found:?}");
        // 44 over 36 of 46.
        assert!(found.figures.contains("factor 1.22"), "{found:?}");
    }

    #[test]
    fn the_best_value_must_beat_its_rivals() {
        let bowl = |_: &str, beta: f64, t: u32, e: u32| 0.5 + (beta - 0.6).powi(2) + jitter(t, e);
        let data = made("fig4", bowl);
        let at = |value| on(&data, Test::BestAt(Sweep::Beta, value, Tasks::At(9))).verdict;
        assert_eq!([at(0.6), at(0.0), at(0.33)], [Verdict::Holds, Verdict::Fails, Verdict::NoData]);
        let flat = made("fig4", |_, _, t, e| 0.5 + jitter(t, e));
        let found = on(&flat, Test::BestAt(Sweep::Beta, 0.6, Tasks::At(9)));
        assert_eq!(found.verdict, Verdict::Undecided, "{found:?}");
    }

    #[test]
    fn growth_of_the_best_value_is_seen_in_either_direction() {
        let towards = |up: bool| {
            move |_: &str, beta: f64, t: u32, e: u32| {
                let goal = f64::from(if up { t } else { 11 - t }) / 10.0;
                0.5 + (beta - goal).powi(2) + jitter(t, e) * beta
            }
        };
        let growth = |data: &StudyData| on(data, Test::BestGrows(Sweep::Beta)).verdict;
        assert_eq!(growth(&made("fig4", towards(true))), Verdict::Holds);
        assert_eq!(growth(&made("fig4", towards(false))), Verdict::Fails);
        assert_eq!(growth(&made("fig4", |_, beta, _, _| 0.5 + beta)), Verdict::Undecided);
    }

    #[test]
    fn robustness_means_keeping_half_of_the_gain() {
        let slope = |loss: f64| {
            move |m: &str, beta: f64, t: u32, e: u32| match m {
                "mft-mes" => 2.0 + loss * (beta - 0.6).abs() + jitter(t, e),
                _ => 4.0 + jitter(t, e),
            }
        };
        let judged = |loss| {
            on(&made("fig6", slope(loss)), Test::Robust(Sweep::Beta, 1.2, CONTINUAL, &[20, 40])).verdict
        };
        assert_eq!([judged(0.5), judged(3.0)], [Verdict::Holds, Verdict::Fails]);
        let uncertain = made("fig6", |m, _, _, e| match m {
            "mft-mes" => 3.99 + 0.5 * f64::from(e % 3) - 0.5,
            _ => 4.0,
        });
        let found = on(&uncertain, Test::Robust(Sweep::Beta, 1.2, CONTINUAL, &[20, 40]));
        assert_eq!(found.verdict, Verdict::Undecided);
        assert!(found.figures.contains("no certain gain"), "{found:?}");
        let continual_best = made("fig6", |_, beta, t, e| 4.0 + beta + jitter(t, e));
        let found = on(&continual_best, Test::Robust(Sweep::Beta, 1.2, CONTINUAL, &[20, 40]));
        assert_eq!(found.verdict, Verdict::Undecided);
        assert!(found.figures.contains("Continual MF-MES has the best mean itself"), "{found:?}");
    }

    #[test]
    fn every_value_must_be_ahead() {
        let data = made(
            "fig10",
            |m, beta, t, e| if m == "mft-mes" && beta < 1.1 { 0.5 } else { 1.0 } + beta / 50.0 + jitter(t, e),
        );
        let found = on(&data, Test::EveryValueAhead(Sweep::Beta, &[CONTINUAL, MF], &[7, 17]));
        assert_eq!(found.verdict, Verdict::Fails);
        assert!(found.figures.contains("of 32 comparisons 28 are ahead, 4 behind"), "{found:?}");
    }

    #[test]
    fn improvement_compares_late_with_early_tasks() {
        let falling = made("fig9", |_, _, t, e| 1.0 / f64::from(t) + jitter(t, e));
        assert_eq!(on(&falling, Test::Improves(&[MFT, CONTINUAL])).verdict, Verdict::Holds);
        let rising = made("fig9", |_, _, t, e| 0.1 * f64::from(t) + jitter(t, e));
        assert_eq!(on(&rising, Test::Improves(&[MFT])).verdict, Verdict::Fails);
    }

    #[test]
    fn every_claim_can_be_judged_on_its_figure() {
        for claim in CLAIMS {
            let found = on(&study(claim.study, 6), claim.test);
            // The made-up studies of Fig. 5 and 9 to 10 have all that the claims ask for.
            assert_ne!(found.verdict, Verdict::NoData, "{}: {found:?}", claim.text);
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        let short = {
            let mut data = study("fig3", 2);
            data.manifest.tasks = 5;
            data.rows.retain(|r| r.task <= 5);
            data
        };
        let claims: Vec<Finding> = of_study("fig3").map(|c| on(&short, c.test)).collect();
        assert!(claims[0].figures.contains("needs task 10"), "{claims:?}");
        assert_eq!(claims[0].verdict, Verdict::NoData);
        let found = on(&short, Test::Ahead(&[(TWO_PHASE, MF)], Tasks::All));
        assert!(found.figures.contains("no two-phase"), "{found:?}");
        let empty = StudyData { rows: Vec::new(), ..short };
        assert!(of_study("fig3").all(|c| on(&empty, c.test).verdict == Verdict::NoData));
    }

    #[test]
    fn a_single_experiment_decides_nothing() {
        for claim in CLAIMS {
            let found = on(&study(claim.study, 1), claim.test);
            assert_eq!(found.verdict, Verdict::Undecided, "{}: {found:?}", claim.text);
        }
    }
}

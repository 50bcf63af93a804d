//! Known θ: the bound of Eq. (64) against the regret of two rules.

use foretune_core::Error;

use super::bound::{Bound, greedy_gain, zeta};
use super::law::Law;
use super::tuner::{Bench, ask, told};
use super::watch::{Round, Watch};
use super::{LOOSENESS, MAX_ROUNDS, Options};
use foretune_report::stats::Estimate;
use host_sim::problems::random::{Purpose, Random};
use host_sim::shapes::Room;

/// How queries are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Eq. (63), which the bound is about: the expected maximum in place of samples of it.
    Expected,
    /// What the optimizer does: samples of the maximum, fitted as if the points were independent.
    Optimizer,
}

impl Rule {
    /// All rules.
    pub const ALL: [Self; 2] = [Self::Expected, Self::Optimizer];

    /// For tables and legends.
    pub fn name(self) -> &'static str {
        match self {
            Self::Expected => "Eq. (63)",
            Self::Optimizer => "optimizer",
        }
    }
}

/// The first `rounds` queries of all runs of one kind.
#[derive(Clone, Debug)]
pub struct KnownRow {
    /// Dimensions.
    pub d: usize,
    /// Noise variance.
    pub noise: f64,
    /// How queries were chosen.
    pub rule: Rule,
    /// `T`.
    pub rounds: usize,
    /// Cumulative expected regret.
    pub regret: Estimate,
    /// What was lost in truth.
    pub loss: Estimate,
    /// The bound.
    pub bound: Estimate,
    /// Expected regret of as many queries at random.
    pub random: f64,
    /// `ν*`, mean over runs.
    pub nu: f64,
    /// `ζ`.
    pub zeta: f64,
    /// `ρ_T`, greedy.
    pub gain: f64,
    /// In how many runs the expected regret is below the bound.
    pub holds: usize,
    /// In how many runs what was lost in truth is.
    pub kept: usize,
    /// Bound over what was lost in truth, one per run, from the least to the greatest.
    pub ratios: Vec<f64>,
    /// Bound less what was lost in truth: the paper's claim is that its mean is not negative.
    pub margin: Estimate,
    /// What was lost in truth less the expected regret: zero on average, if the model is right.
    pub surprise: Estimate,
    /// Geometric mean of bound over regret.
    pub looseness: f64,
    /// The same for each step of the proof.
    pub factors: [f64; LOOSENESS.len()],
}

/// Points along each dimension and lengthscale, for one and two dimensions.
pub(super) const LAWS: [(usize, usize, f64); 2] = [(1, 64, 0.15), (2, 12, 0.3)];

/// The rows, and the largest rounding error of the core's means.
pub fn measure(options: &Options, progress: &mut dyn FnMut(&str)) -> Result<(Vec<KnownRow>, f64), Error> {
    let (mut rows, mut rounding) = (Vec::new(), 0f64);
    for (d, side, lengthscale) in LAWS {
        let law = Law::new(d, side, lengthscale);
        for &noise in &options.noises {
            progress(&format!("known θ, {d} dimension(s), noise {noise}"));
            let gains = greedy_gain(&law, noise, options.rounds);
            for rule in Rule::ALL {
                let (runs, error) = runs((&law, &law), noise, rule, options)?;
                rounding = rounding.max(error);
                let row = |t: usize| row(&law, noise, rule, gains[t - 1], &first(&runs, t));
                rows.extend(checkpoints(options.rounds).into_iter().map(row));
            }
        }
    }
    Ok((rows, rounding))
}

/// All functions of one law, queried by one rule that believes in another, or in the same.
pub(super) fn runs(
    (law, believed): (&Law, &Law),
    noise: f64,
    rule: Rule,
    options: &Options,
) -> Result<(Vec<Vec<Round>>, f64), Error> {
    let (mut runs, mut rounding) = (Vec::new(), 0f64);
    for number in 0..options.functions {
        let function = law.draw(&mut Random::new(options.seed, Purpose::TheoryFunction, number));
        let (run, error) = run(believed, &function, noise, rule, number, options)?;
        runs.push(run);
        rounding = rounding.max(error);
    }
    Ok((runs, rounding))
}

/// 1, 2, 5, 10, … and the last round.
fn checkpoints(rounds: usize) -> Vec<usize> {
    let mut all: Vec<usize> = [1, 2, 5, 10, 20, 40].into_iter().filter(|&t| t < rounds).collect();
    all.push(rounds);
    all
}

pub(super) fn first(runs: &[Vec<Round>], t: usize) -> Vec<&[Round]> {
    runs.iter().map(|run| &run[..t]).collect()
}

/// One function, queried by one rule.
fn run(
    law: &Law,
    function: &[f64],
    noise: f64,
    rule: Rule,
    number: usize,
    options: &Options,
) -> Result<(Vec<Round>, f64), Error> {
    let stream = |purpose| Random::new(options.seed, purpose, number);
    let mut watch = Watch::new(law, function, noise, options.samples, stream(Purpose::TheoryPaths));
    let mut errors = stream(Purpose::TheoryNoise);
    let mut rounds = Vec::new();
    let mut answer = |watch: &mut Watch<'_>, i: usize| {
        let y = function[i] + noise.sqrt() * errors.normal();
        rounds.push(watch.round(i));
        watch.observe(i, y);
        y
    };
    match rule {
        Rule::Expected => {
            for _ in 0..options.rounds {
                let i = watch.best();
                answer(&mut watch, i);
            }
        }
        Rule::Optimizer => {
            let bench = Bench::new(law, noise, options.rounds);
            let mut memory = Room::new(MAX_ROUNDS);
            let seed = stream(Purpose::Experiment).bits();
            let mut tuner = bench.start(&mut memory, told(law), seed)?;
            while let Some(query) = ask(&mut tuner) {
                let y = answer(&mut watch, law.index(query.unit()));
                tuner.tell(query, y as f32)?;
            }
        }
    }
    Ok((rounds, watch.rounding()))
}

pub(super) fn row(law: &Law, noise: f64, rule: Rule, gain: f64, runs: &[&[Round]]) -> KnownRow {
    let bounds: Vec<Bound> = runs.iter().map(|rounds| Bound::of(rounds, noise, gain)).collect();
    let all = |f: &dyn Fn(&Bound) -> f64| bounds.iter().map(f).collect::<Vec<f64>>();
    let mean = |f: &dyn Fn(&Bound) -> f64| all(f).iter().sum::<f64>() / bounds.len() as f64;
    let estimate = |f: &dyn Fn(&Bound) -> f64| {
        Estimate::of(&all(f)).unwrap_or(Estimate { n: 0, mean: f64::NAN, half_width: None })
    };
    let rounds = runs.first().map_or(0, |run| run.len());
    // Before any observation all means are zero: any query, also one at random, has the regret of the first.
    let random = runs.iter().map(|run| run[0].regret).sum::<f64>() / runs.len() as f64 * rounds as f64;
    let mut ratios = all(&|b| b.bound / b.loss);
    ratios.sort_by(f64::total_cmp);
    KnownRow {
        d: law.d,
        noise,
        rule,
        rounds,
        regret: estimate(&|b| b.regret),
        loss: estimate(&|b| b.loss),
        bound: estimate(&|b| b.bound),
        random,
        nu: mean(&|b| b.nu),
        zeta: zeta(noise),
        gain,
        holds: bounds.iter().filter(|bound| bound.holds()).count(),
        kept: bounds.iter().filter(|bound| bound.covers_loss()).count(),
        ratios,
        margin: estimate(&|b| b.bound - b.loss),
        surprise: estimate(&|b| b.loss - b.regret),
        looseness: mean(&|b| (b.bound / b.regret).ln()).exp(),
        factors: std::array::from_fn(|i| mean(&|b| b.factors[i].ln()).exp()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> Options {
        Options { functions: 12, rounds: 12, samples: 100, noises: vec![0.01], ..Options::default() }
    }

    #[test]
    fn the_bound_holds_in_every_run_of_the_rule_it_is_about() {
        let (rows, rounding) = measure(&options(), &mut |_| ()).unwrap();
        assert_eq!(rows.len(), 2 * 2 * 5);
        assert!(rounding < 1e-3, "{rounding}");
        for row in rows.iter().filter(|row| row.rule == Rule::Expected) {
            assert_eq!(row.holds, 12, "{row:?}");
            assert!(row.factors.iter().all(|factor| *factor >= 1.0 - 1e-6), "{row:?}");
            assert!((row.factors.iter().product::<f64>() / row.looseness - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn expected_and_true_losses_agree_on_average() {
        let options = Options { functions: 60, rounds: 8, ..options() };
        let (rows, _) = measure(&options, &mut |_| ()).unwrap();
        for row in rows.iter().filter(|row| row.rounds == 8) {
            let error = (row.regret.half_width.unwrap() + row.loss.half_width.unwrap()) / 1.67;
            assert!((row.regret.mean - row.loss.mean).abs() < 3.5 * error, "{row:?}");
            assert!(row.regret.mean < 0.8 * row.random, "{row:?}");
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_rows() {
        let options = Options { functions: 2, rounds: 3, ..options() };
        let measured = || format!("{:?}", measure(&options, &mut |_| ()).unwrap());
        assert_eq!(measured(), measured());
    }
}

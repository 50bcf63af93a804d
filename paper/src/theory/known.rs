//! Known θ: the bound of Eq. (64) against the regret of two rules, and with something wrong on purpose.
//!
//! Expected regret and bound come from one posterior. Were that wrong, both would be, and the one would still be below
//! the other. What is lost in truth does not come from it.

use super::bound::{Bound, greedy_gain, zeta};
use super::law::{Bench, Law, told};
use super::watch::{Round, Watch};
use super::{LOOSENESS, MAX_ROUNDS, Options};
use foretune_core::{Ask, Error};
use foretune_report::stats::Estimate;
use host_sim::problems::random::{Purpose, Random};
use host_sim::shapes::Room;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Eq. (63), which the bound is about: the expected maximum in place of samples of it.
    Expected,
    /// What the optimizer does: samples of the maximum, fitted as if the points were independent.
    Optimizer,
}

impl Rule {
    pub const ALL: [Self; 2] = [Self::Expected, Self::Optimizer];

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
    pub d: usize,
    pub noise: f64,
    pub rule: Rule,
    /// `T`.
    pub rounds: usize,
    pub regret: Estimate,
    pub loss: Estimate,
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
            while let Ask::Query(query) = tuner.ask() {
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

/// By what the model's lengthscale is too long.
pub const LENGTH_FACTOR: f64 = 4.0;
/// By what the information gain is too small.
pub const GAIN_FACTOR: f64 = 100.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    None,
    /// The rule, its posterior and the bound take the lengthscale to be [`LENGTH_FACTOR`] times what it is.
    Lengthscale,
    /// The bound's information gain is too small by [`GAIN_FACTOR`].
    Gain,
}

impl Fault {
    const ALL: [Self; 3] = [Self::None, Self::Lengthscale, Self::Gain];

    pub fn name(self) -> String {
        match self {
            Self::None => "nothing".into(),
            Self::Lengthscale => format!("lengthscale × {LENGTH_FACTOR}"),
            Self::Gain => format!("gain ÷ {GAIN_FACTOR}"),
        }
    }
}

/// One row for each fault: rule (63) in one dimension, all rounds.
pub fn faults(options: &Options, progress: &mut dyn FnMut(&str)) -> Result<Vec<(Fault, KnownRow)>, Error> {
    let (d, side, lengthscale) = LAWS[0];
    let (rounds, noise) = (options.rounds, options.noise);
    let law = Law::new(d, side, lengthscale);
    let of = |fault: Fault| {
        progress(&format!("known θ, wrong on purpose: {}", fault.name()));
        let factor = if fault == Fault::Lengthscale { LENGTH_FACTOR } else { 1.0 };
        let believed = Law::new(d, side, factor * lengthscale);
        let gain = greedy_gain(&believed, noise, rounds)[rounds - 1];
        let gain = if fault == Fault::Gain { gain / GAIN_FACTOR } else { gain };
        let (runs, _) = runs((&law, &believed), noise, Rule::Expected, options)?;
        Ok((fault, row(&believed, noise, Rule::Expected, gain, &first(&runs, rounds))))
    };
    Fault::ALL.into_iter().map(of).collect()
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

    #[test]
    fn the_truth_tells_a_wrong_model_and_a_wrong_gain_from_right_ones() {
        let options = Options { functions: 24, rounds: 24, samples: 60, ..Options::default() };
        let rows = faults(&options, &mut |_| ()).unwrap();
        let [(_, right), (_, model), (_, gain)] = &rows[..] else { panic!("three rows") };
        assert!(right.margin.sign() == 1 && right.kept >= 22, "{right:?}");
        assert!(right.surprise.mean.abs() < 3.0 * right.surprise.half_width.unwrap(), "{right:?}");
        // By the model's own account all is well.
        assert_eq!(model.holds, 24);
        assert!(model.margin.mean < 0.0 && model.kept < 18, "{model:?}");
        assert!(model.surprise.sign() == 1 && model.surprise.mean > 3.0 * model.regret.mean, "{model:?}");
        assert!(gain.margin.sign() == -1 && gain.kept < 12, "{gain:?}");
    }
}

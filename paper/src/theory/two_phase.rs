//! Unknown θ: what Two-phase MFT-MES loses to the same optimizer told θ, against the task and the share `c`.

use foretune_core::{Ask, Error, LogNormal, Optimizer};

use super::bound::{greedy_gain, zeta};
use super::law::{Bench, Law, first_phase, learning, told};
use super::watch::{Round, Watch};
use super::{MAX_ROUNDS, Options};
use foretune_report::stats::Estimate;
use host_sim::problems::random::{Purpose, Random};
use host_sim::shapes::Room;

/// What all tasks share, and the optimizer does not know.
const LENGTHSCALE: f64 = 0.1;
const POINTS: usize = 64;
/// What it believes at first: a median of 0.4, four times too long, and two deviations off.
const PRIOR: LogNormal = LogNormal { mean: -0.916_290_7, deviation: 0.7 };

/// Task `n` of all sequences with one share.
#[derive(Clone, Debug)]
pub struct PhaseRow {
    pub c: f64,
    /// `⌈cT⌉`: the queries that count.
    pub queries: usize,
    /// Number of the task, from 1.
    pub task: usize,
    /// Cumulative expected regret of these queries.
    pub regret: Estimate,
    pub loss: Estimate,
    /// Cumulative expected regret of the optimizer told θ.
    pub told: Estimate,
    /// What it is above the optimizer told θ, taken within each sequence.
    pub excess: Estimate,
    /// What it is above the rule of Eq. (63) told θ, taken within each sequence.
    pub over_known: Estimate,
    /// `Δ`: what the normalised regret of a query has over the least, mean over queries.
    pub delta: Estimate,
    /// The same, for the optimizer told θ.
    pub delta_told: Estimate,
    /// Root of the mean square of `ln ℓ − ln ℓ*` over particles, at the start of the task.
    pub error: Estimate,
    /// In how many sequences the regret is below the bound for known θ, Eq. (64).
    pub within_known: usize,
    /// In how many sequences what was lost in truth is.
    pub kept: usize,
    /// Least `εLξ` with which Eq. (51) with α = 1 would hold in all sequences; none for `n = 1` or `c = 1`.
    pub constant: Option<f64>,
}

#[derive(Clone, Copy)]
enum Player {
    /// The rule of Eq. (63), told θ.
    Known,
    Told,
    TwoPhase(f64),
}

struct Outcome {
    rounds: Vec<Round>,
    error: f64,
}

pub fn measure(options: &Options, progress: &mut dyn FnMut(&str)) -> Result<Vec<PhaseRow>, Error> {
    let law = Law::new(1, POINTS, LENGTHSCALE);
    let gains = greedy_gain(&law, options.noise, options.queries);
    progress("unknown θ: those who are told");
    let known = sequences(&law, Player::Known, options)?;
    let told = sequences(&law, Player::Told, options)?;
    let mut rows = Vec::new();
    for &c in &options.shares {
        progress(&format!("unknown θ: two-phase with c = {c}"));
        let measured = sequences(&law, Player::TwoPhase(c), options)?;
        for n in 0..options.tasks {
            let all = measured.iter().zip(&told).zip(&known);
            let trios: Vec<Trio<'_>> = all
                .map(|((own, told), known)| Trio { own: &own[n], told: &told[n], known: &known[n] })
                .collect();
            let queries = first_phase(c, options.queries).clamp(1, options.queries);
            rows.push(row(c, queries, n + 1, gains[queries - 1], &trios, options));
        }
    }
    Ok(rows)
}

/// The same task of the same sequence, by three players.
struct Trio<'a> {
    own: &'a Outcome,
    told: &'a Outcome,
    known: &'a Outcome,
}

/// All sequences of one player: `[experiment][task]`.
fn sequences(law: &Law, player: Player, options: &Options) -> Result<Vec<Vec<Outcome>>, Error> {
    let bench = Bench::new(law, options.noise, options.queries);
    let settings = match player {
        Player::TwoPhase(c) => learning(law, PRIOR, c, options.particles, options.bandwidth),
        Player::Known | Player::Told => told(law),
    };
    let mut memory = Room::new(MAX_ROUNDS);
    (0..options.experiments)
        .map(|experiment| {
            let seed = Random::new(options.seed, Purpose::Experiment, experiment).bits();
            let mut tuner = bench.start(&mut memory, settings, seed)?;
            let tasks = 0..options.tasks;
            match player {
                Player::Known => Ok(tasks.map(|task| by_rule(law, (seed, task), options)).collect()),
                _ => tasks.map(|task| by_optimizer(law, &mut tuner, (seed, task), options)).collect(),
            }
        })
        .collect()
}

/// A function with noise, and what is known of it.
struct Trial<'a> {
    function: &'a [f64],
    watch: Watch<'a>,
    noise: f64,
    errors: Random,
    rounds: Vec<Round>,
}

impl<'a> Trial<'a> {
    fn new(law: &'a Law, function: &'a [f64], (seed, task): (u64, usize), options: &Options) -> Self {
        let stream = |purpose| Random::new(seed, purpose, task);
        let paths = stream(Purpose::TheoryPaths);
        let watch = Watch::new(law, function, options.noise, options.samples, paths);
        Self {
            function,
            watch,
            noise: options.noise,
            errors: stream(Purpose::TheoryNoise),
            rounds: Vec::new(),
        }
    }

    fn answer(&mut self, i: usize) -> f64 {
        let y = self.function[i] + self.noise.sqrt() * self.errors.normal();
        self.rounds.push(self.watch.round(i));
        self.watch.observe(i, y);
        y
    }
}

fn draw(law: &Law, (seed, task): (u64, usize)) -> Vec<f64> {
    law.draw(&mut Random::new(seed, Purpose::TheoryFunction, task))
}

fn by_rule(law: &Law, key: (u64, usize), options: &Options) -> Outcome {
    let function = draw(law, key);
    let mut trial = Trial::new(law, &function, key, options);
    for _ in 0..options.queries {
        let i = trial.watch.best();
        trial.answer(i);
    }
    Outcome { rounds: trial.rounds, error: 0.0 }
}

fn by_optimizer(
    law: &Law,
    tuner: &mut Optimizer<'_>,
    key: (u64, usize),
    options: &Options,
) -> Result<Outcome, Error> {
    let function = draw(law, key);
    let mut trial = Trial::new(law, &function, key, options);
    let mut error = 0.0;
    if key.1 > 0 {
        tuner.next_task()?;
    }
    while let Ask::Query(query) = tuner.ask() {
        if trial.rounds.is_empty() {
            error = particle_error(law, tuner);
        }
        let y = trial.answer(law.index(query.unit()));
        tuner.tell(query, y as f32)?;
    }
    Ok(Outcome { rounds: trial.rounds, error })
}

fn particle_error(law: &Law, tuner: &Optimizer<'_>) -> f64 {
    let offset = f64::from(tuner.settings().model(law.d).offsets.length);
    let square = |theta: &[f32]| (f64::from(theta[0]) + offset - law.lengthscale.ln()).powi(2);
    let count = tuner.particles().len() as f64;
    (tuner.particles().map(square).sum::<f64>() / count).sqrt()
}

fn row(c: f64, queries: usize, task: usize, gain: f64, trios: &[Trio<'_>], options: &Options) -> PhaseRow {
    let regret = |outcome: &Outcome| sum(outcome, queries, |round| round.regret);
    let loss = |outcome: &Outcome| sum(outcome, queries, |round| round.loss);
    let delta = |outcome: &Outcome| sum(outcome, queries, |round| round.excess) / queries as f64;
    let root = (zeta(options.noise) * queries as f64 * gain).sqrt();
    let nu =
        |outcome: &Outcome| outcome.rounds.iter().take(queries).map(|round| round.least).fold(0.0, f64::max);
    let estimate = |f: &dyn Fn(&Trio<'_>) -> f64| {
        let values: Vec<f64> = trios.iter().map(f).collect();
        Estimate::of(&values).unwrap_or(Estimate { n: 0, mean: f64::NAN, half_width: None })
    };
    let left = ((task - 1) * (options.queries - queries)) as f64;
    let needed = |trio: &Trio<'_>| (regret(trio.own) / root - nu(trio.own)).max(0.0) * left;
    PhaseRow {
        c,
        queries,
        task,
        regret: estimate(&|trio| regret(trio.own)),
        loss: estimate(&|trio| loss(trio.own)),
        told: estimate(&|trio| regret(trio.told)),
        excess: estimate(&|trio| regret(trio.own) - regret(trio.told)),
        over_known: estimate(&|trio| regret(trio.own) - regret(trio.known)),
        delta: estimate(&|trio| delta(trio.own)),
        delta_told: estimate(&|trio| delta(trio.told)),
        error: estimate(&|trio| trio.own.error),
        within_known: trios.iter().filter(|trio| regret(trio.own) <= nu(trio.own) * root).count(),
        kept: trios.iter().filter(|trio| loss(trio.own) <= nu(trio.own) * root).count(),
        constant: (left > 0.0).then(|| trios.iter().map(needed).fold(0.0, f64::max)),
    }
}

fn sum(outcome: &Outcome, queries: usize, f: fn(&Round) -> f64) -> f64 {
    outcome.rounds.iter().take(queries).map(f).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn particles_come_closer_to_the_truth_and_queries_to_the_best_ones() {
        let options = Options {
            experiments: 12,
            tasks: 4,
            queries: 12,
            samples: 60,
            shares: vec![0.5],
            ..Options::default()
        };
        let rows = measure(&options, &mut |_| ()).unwrap();
        assert_eq!(
            rows.iter().map(|row| (row.task, row.queries)).collect::<Vec<_>>(),
            [(1, 6), (2, 6), (3, 6), (4, 6)]
        );
        // The prior is off by 1.39 with a deviation of 0.7: root mean square 1.55.
        assert!((rows[0].error.mean - 1.55).abs() < 0.2, "{:?}", rows[0].error);
        assert!(rows[3].error.mean < 0.5 * rows[0].error.mean, "{:?}", rows[3].error);
        assert!(rows[0].delta.mean > rows[0].delta_told.mean + 0.5, "{:?}", rows[0]);
        assert!(rows[3].delta.mean < 0.2 * rows[0].delta.mean, "{:?}", rows[3]);
        assert!(rows[0].constant.is_none() && rows[1].constant.is_some());
    }

    #[test]
    fn the_first_phase_is_counted_as_the_optimizer_counts_it() {
        for (c, expected) in [(0.25, 4), (0.3, 5), (1.0, 16), (0.01, 1)] {
            assert_eq!(first_phase(c, 16), expected);
        }
    }
}

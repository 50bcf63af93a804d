//! One sweep: every particle looks at all candidates, and sums are kept per candidate and fidelity.
//!
//! Particles stream through one Gaussian process workspace: factor, beliefs at all candidates, samples of the
//! optimum's value, tallies. Then the best candidates are refined, or the best is taken: as the next query, Eq. (24),
//! (37), (59), or as the recommendation.

use super::{Activity, Kind, Optimizer, Phase, Progress, Recommendation, Stop, observations, rows};
use crate::acquisition::{Tally, information};
use crate::gp::{NOISE_FLOOR, Particle, Posterior};
use crate::kernel::MAX_FIDELITIES;
use crate::linalg::LANES;
use crate::math;
use crate::max_value::{self, Gumbel, Reach};
use crate::random::Purpose;
use crate::search::{self, Lattice};
use crate::settings::{Method, Recommend};

/// Candidates tallied in one slice.
const TALLIED: usize = 4 * LANES;
/// Candidates that are refined.
const TOP: usize = 4;

/// Points under consideration, and what is thought of them.
pub(super) struct Candidates<const D: usize, const M: usize, const Q: usize> {
    pub x: [[f32; D]; Q],
    pub belief: [[Posterior; M]; Q],
    pub tally: [[Tally; M]; Q],
    reach: [Reach; Q],
    pub len: usize,
    top: [Choice<D>; TOP],
    found: usize,
}

/// A candidate with its best fidelity.
#[derive(Clone, Copy)]
struct Choice<const D: usize> {
    score: f32,
    x: [f32; D],
    fidelity: usize,
    mean: f32,
    variance: f32,
}

impl<const D: usize, const M: usize, const Q: usize> Candidates<D, M, Q> {
    pub const fn new() -> Self {
        const NOTHING: Posterior = Posterior { mean: 0.0, variance: 0.0, covariance: 0.0 };
        Candidates {
            x: [[0.0; D]; Q],
            belief: [[NOTHING; M]; Q],
            tally: [[Tally::ZERO; M]; Q],
            reach: [Reach { mean: 0.0, precision: 0.0 }; Q],
            len: 0,
            top: [Choice { score: 0.0, x: [0.0; D], fidelity: 0, mean: 0.0, variance: 0.0 }; TOP],
            found: 0,
        }
    }

    fn push(&mut self, x: [f32; D]) {
        if self.len < Q {
            self.x[self.len] = x;
            self.len += 1;
        }
    }

    /// Keeps the best few, best first; of equal scores the earlier. A point is kept once.
    fn consider(&mut self, choice: Choice<D>) {
        if self.top[..self.found].iter().any(|known| known.x == choice.x) {
            return;
        }
        let rank =
            self.top[..self.found].iter().position(|known| choice.score > known.score).unwrap_or(self.found);
        if rank < TOP {
            self.found = (self.found + 1).min(TOP);
            self.top[rank..self.found].rotate_right(1);
            self.top[rank] = choice;
        }
    }
}

/// What a sweep looks for.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Objective {
    /// Information about optimum and `θ` per cost, at any fidelity: Eq. (37).
    Combined { beta: f32 },
    /// Information about the optimum, at the truth's fidelity.
    Optimum,
    /// Information about `θ`, at the truth's fidelity.
    Parameters,
    /// Highest mean at the truth's fidelity.
    Mean,
}

/// Where a sweep stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sweep {
    objective: Objective,
    refinement: usize,
    v: usize,
    /// Particles that took part so far.
    used: usize,
    quartiles: [f32; 3],
    stage: Stage,
    whole: bool,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    Factor { first: usize },
    Beliefs { first: usize },
    Quartile { index: usize },
    Tally { first: usize },
}

const START: Stage = Stage::Factor { first: 0 };

impl<
    const D: usize,
    const M: usize,
    const N: usize,
    const V: usize,
    const F: usize,
    const P: usize,
    const A: usize,
    const Q: usize,
> Optimizer<'_, D, M, N, V, F, P, A, Q>
{
    /// Starts the search for the next query, or takes it from the batch design.
    pub(super) fn start_query(&mut self) -> Progress<D> {
        let method = self.settings.method;
        let objective = match method {
            Method::MfMes | Method::Continual => Objective::Combined { beta: 0.0 },
            Method::MftMes => Objective::Combined { beta: self.settings.beta },
            Method::Separation { c } if self.coin(c) => Objective::Optimum,
            Method::Separation { .. } => Objective::Parameters,
            Method::Myopic { c } if self.coin(c) => Objective::Optimum,
            Method::TwoPhase { c } if self.searched() < first_phase(c, self.rounds()) => Objective::Optimum,
            Method::Myopic { .. } | Method::TwoPhase { .. } => match self.design_query() {
                Some(query) => return self.hand_out(query),
                None => Objective::Optimum,
            },
        };
        let whole = self.fill_candidates();
        self.start_sweep(objective, whole);
        Progress::Working
    }

    /// Starts the search for the recommendation.
    pub(super) fn start_recommendation(&mut self) {
        let mut whole = true;
        if self.settings.recommend == Recommend::Queried {
            let (data, candidates) = (&self.memory.data, &mut self.memory.candidates);
            candidates.len = data.len();
            candidates.x[..data.len()].copy_from_slice(data.x());
        } else {
            whole = self.fill_candidates();
        }
        self.start_sweep(Objective::Mean, whole);
    }

    fn start_sweep(&mut self, objective: Objective, whole: bool) {
        self.memory.candidates.found = 0;
        self.clear_tallies();
        self.state.phase = Phase::Sweep(Sweep {
            objective,
            refinement: 0,
            v: 0,
            used: 0,
            quartiles: [0.0; 3],
            stage: START,
            whole,
        });
    }

    fn clear_tallies(&mut self) {
        let candidates = &mut self.memory.candidates;
        candidates.tally[..candidates.len].as_flattened_mut().fill(Tally::ZERO);
    }

    /// Fills the candidates: the whole space if it is small, else carried points, the best observed and points around
    /// them (a quarter of all), and a lattice. Returns whether it is the whole space.
    fn fill_candidates(&mut self) -> bool {
        let mut random = self.random(Purpose::Candidates, 0);
        let count = self.settings.candidates;
        let lattice = Lattice::new(self.problem.dimensions, count, &mut random);
        self.memory.candidates.len = 0;
        if lattice.whole.is_none() {
            for i in 0..self.state.carried {
                self.memory.candidates.push(self.memory.carried[i]);
            }
            let best = self.best_observed();
            for &i in best.iter().flatten() {
                self.memory.candidates.push(self.memory.data.x()[i]);
            }
            let mut pick = 0;
            while self.memory.candidates.len < count / 4 && best[0].is_some() {
                if let Some(i) = best[pick % TOP] {
                    let (mut x, centre) = ([0.0; D], self.memory.data.x()[i]);
                    let radius = search::radius(pick / TOP % 3);
                    search::around(self.problem.dimensions, &centre, radius, &mut random, &mut x);
                    self.memory.candidates.push(x);
                }
                pick += 1;
            }
        }
        for index in 0..lattice.whole.unwrap_or(count).min(count - self.memory.candidates.len) {
            let mut x = [0.0; D];
            lattice.point(self.problem.dimensions, index, &mut x);
            self.memory.candidates.push(x);
        }
        lattice.whole.is_some()
    }

    /// The observations with the largest values, best first.
    fn best_observed(&self) -> [Option<usize>; TOP] {
        let z = self.memory.data.z();
        let mut best = [None; TOP];
        for i in 0..z.len() {
            let better = |other: &Option<usize>| other.is_none_or(|other| z[i] > z[other]);
            if let Some(rank) = best.iter().position(better) {
                best[rank..].rotate_right(1);
                best[rank] = Some(i);
            }
        }
        best
    }

    pub(super) fn sweep_slice(&mut self, mut sweep: Sweep) -> Progress<D> {
        let next = match sweep.stage {
            Stage::Factor { first } => self.factor_beliefs(&sweep, first),
            Stage::Beliefs { first } => Some(self.beliefs_slice(&sweep, first)),
            Stage::Quartile { index } => Some(self.quartile_slice(&mut sweep, index)),
            Stage::Tally { first } => self.tally_slice(&mut sweep, first),
        };
        match next {
            Some(stage) => sweep.stage = stage,
            None => {
                sweep.v += 1;
                sweep.stage = START;
            }
        }
        if sweep.v < self.settings.particles {
            self.state.phase = Phase::Sweep(sweep);
            return Progress::Working;
        }
        self.collect(&sweep);
        let refine = sweep.refinement < self.settings.refinements && !sweep.whole;
        if refine && self.memory.candidates.found > 0 {
            self.refine(sweep.refinement);
            let refinement = sweep.refinement + 1;
            self.state.phase = Phase::Sweep(Sweep { refinement, v: 0, used: 0, stage: START, ..sweep });
            return Progress::Working;
        }
        self.decide(&sweep)
    }

    /// One block of the factor of particle `v`; `None` if it must be left out.
    fn factor_beliefs(&mut self, sweep: &Sweep, first: usize) -> Option<Stage> {
        let noise = self.noise();
        let memory = &mut *self.memory;
        let data = observations(&memory.data);
        let fallbacks = &mut self.state.fallbacks;
        let theta = &memory.particles[sweep.v][..self.model.parameters()];
        let particle = Particle::new(&self.model, theta, &noise[..self.problem.fidelities.len()], fallbacks);
        let mut gp = memory.gp.workspace();
        if first < data.fidelity.len() {
            if gp.factor(&particle, &data, first, fallbacks).is_err() {
                fallbacks.particles += 1;
                return None;
            }
            return Some(Stage::Factor { first: first + LANES });
        }
        if !gp.condition(&data).is_finite() {
            fallbacks.particles += 1;
            return None;
        }
        Some(Stage::Beliefs { first: 0 })
    }

    fn beliefs_slice(&mut self, sweep: &Sweep, first: usize) -> Stage {
        let noise = self.noise();
        let fidelities = self.problem.fidelities.len();
        let memory = &mut *self.memory;
        let data = observations(&memory.data);
        let theta = &memory.particles[sweep.v][..self.model.parameters()];
        let particle = Particle::new(&self.model, theta, &noise[..fidelities], &mut Default::default());
        let candidates = &mut memory.candidates;
        let end = (first + LANES).min(candidates.len);
        let mut beliefs = [Posterior::default(); LANES * MAX_FIDELITIES];
        let beliefs = &mut beliefs[..(end - first) * fidelities];
        let points = rows(&candidates.x[first..end]);
        memory.gp.workspace().posterior(&particle, &data, points, fidelities, beliefs);
        for (kept, belief) in candidates.belief[first..end].iter_mut().zip(beliefs.chunks(fidelities)) {
            kept[..fidelities].copy_from_slice(belief);
        }
        let informed = matches!(sweep.objective, Objective::Combined { .. } | Objective::Optimum);
        match end < candidates.len {
            true => Stage::Beliefs { first: end },
            false if informed && sweep.refinement == 0 => Stage::Quartile { index: 0 },
            false => Stage::Tally { first: 0 },
        }
    }

    /// One quartile of the optimum's value; after the third, samples.
    fn quartile_slice(&mut self, sweep: &mut Sweep, index: usize) -> Stage {
        let truth = self.problem.truth();
        let candidates = &mut self.memory.candidates;
        let len = candidates.len;
        if index == 0 {
            for (reach, belief) in candidates.reach[..len].iter_mut().zip(&candidates.belief) {
                *reach = Reach::new(belief[truth].mean, belief[truth].variance);
            }
        }
        let reach = &candidates.reach[..len];
        sweep.quartiles[index] = max_value::quantile(reach, [0.25, 0.5, 0.75][index]);
        if index < 2 {
            return Stage::Quartile { index: index + 1 };
        }
        let (gumbel, least) = (Gumbel::from_quartiles(sweep.quartiles), max_value::best_mean(reach));
        let mut random = self.random(Purpose::MaxValues, sweep.v as u32);
        for maximum in &mut self.memory.maxima[sweep.v][..self.settings.max_values] {
            // Uniform on the open interval, so that both logarithms are finite.
            let p = random.uniform() + 0.5 / 16_777_216.0;
            *maximum = gumbel.quantile(p.min(0.999_999_94)).max(least);
        }
        Stage::Tally { first: 0 }
    }

    fn tally_slice(&mut self, sweep: &mut Sweep, first: usize) -> Option<Stage> {
        let (noise, truth) = (self.information_noise(), self.problem.truth());
        let fidelities = self.fidelities_of(sweep.objective);
        let maxima = &self.memory.maxima[sweep.v][..self.settings.max_values];
        let informed = matches!(sweep.objective, Objective::Combined { .. } | Objective::Optimum);
        let candidates = &mut self.memory.candidates;
        let end = (first + TALLIED).min(candidates.len);
        for (beliefs, tallies) in candidates.belief[first..end].iter().zip(&mut candidates.tally[first..end])
        {
            for m in fidelities.clone() {
                let worth = if informed {
                    information(self.settings.information, &beliefs[m], &beliefs[truth], noise[m], maxima)
                } else {
                    0.0
                };
                tallies[m].add(&beliefs[m], noise[m], worth, sweep.used + 1);
            }
        }
        if end < candidates.len {
            return Some(Stage::Tally { first: end });
        }
        sweep.used += 1;
        None
    }

    fn fidelities_of(&self, objective: Objective) -> core::ops::Range<usize> {
        let all = self.problem.fidelities.len();
        if matches!(objective, Objective::Combined { .. }) { 0..all } else { all - 1..all }
    }

    /// Noise as the acquisition counts it: the same for all particles.
    fn information_noise(&self) -> [f32; MAX_FIDELITIES] {
        self.noise().map(|noise| noise.max(NOISE_FLOOR))
    }

    /// After all particles: the best candidates with their best fidelity.
    fn collect(&mut self, sweep: &Sweep) {
        if sweep.used == 0 {
            return;
        }
        let noise = self.information_noise();
        for c in 0..self.memory.candidates.len {
            let mut best: Option<Choice<D>> = None;
            for m in self.fidelities_of(sweep.objective) {
                let tally = self.memory.candidates.tally[c][m];
                let x = self.memory.candidates.x[c];
                if sweep.objective != Objective::Mean
                    && !self.worth_asking(&x, m, tally.variance(sweep.used), noise[m])
                {
                    continue;
                }
                let score = match sweep.objective {
                    Objective::Combined { beta } => tally.score(beta, noise[m], self.price(m), sweep.used),
                    Objective::Optimum => tally.information,
                    Objective::Parameters => tally.transfer(noise[m], sweep.used),
                    Objective::Mean => tally.mean,
                };
                if best.is_none_or(|best| score > best.score) {
                    let (mean, variance) = (tally.mean, tally.variance(sweep.used));
                    best = Some(Choice { score, x, fidelity: m, mean, variance });
                }
            }
            if let Some(best) = best {
                self.memory.candidates.consider(best);
            }
        }
    }

    /// Whether a query can be paid, has not failed, and is not a repetition for nothing.
    fn worth_asking(&self, x: &[f32; D], fidelity: usize, variance: f32, noise: f32) -> bool {
        self.problem.fidelities[fidelity].cost <= self.left()
            && !self.has_failed(x, fidelity)
            && (variance >= 0.5 * noise || self.memory.data.count(x, fidelity) == 0)
    }

    /// Cost of a fidelity, or of a slot if slots are scarcer than money.
    fn price(&self, fidelity: usize) -> f32 {
        let slot = self.left() / self.memory.data.room() as f32;
        self.problem.fidelities[fidelity].cost.max(slot)
    }

    /// New candidates around the best ones.
    fn refine(&mut self, refinement: usize) {
        let mut random = self.random(Purpose::Refine, refinement as u32);
        let count = (self.settings.candidates / 4).max(TOP);
        let candidates = &mut self.memory.candidates;
        candidates.len = 0;
        for i in 0..count {
            let (mut x, centre) = ([0.0; D], candidates.top[i % candidates.found].x);
            search::around(self.problem.dimensions, &centre, search::radius(refinement), &mut random, &mut x);
            candidates.push(x);
        }
        self.clear_tallies();
    }

    /// Takes the best candidate.
    fn decide(&mut self, sweep: &Sweep) -> Progress<D> {
        let candidates = &self.memory.candidates;
        let best = candidates.top[..candidates.found].first().copied();
        if sweep.objective == Objective::Mean {
            self.state.recommendation = best.map(|best| self.recommend(&best));
            self.carry_best();
            self.state.phase = Phase::Done;
            return Progress::Working;
        }
        match best {
            Some(best) => {
                let query = self.query(best.x, best.fidelity, Kind::Search);
                self.hand_out(query)
            }
            None => {
                self.finish(Stop::Exhausted);
                Progress::Working
            }
        }
    }

    fn recommend(&self, best: &Choice<D>) -> Recommendation<D> {
        let scale = self.state.scale;
        Recommendation {
            x: best.x,
            setting: self.setting(&best.x),
            dimensions: self.problem.dimensions.len(),
            mean: scale.undo(self.problem.goal.sign() * best.mean),
            deviation: scale.deviation * math::sqrt(best.variance),
        }
    }

    /// Queries by the acquisition or the design so far, failed ones included.
    pub(super) fn searched(&self) -> usize {
        let data = &self.memory.data;
        let told = (0..data.len()).filter(|&i| data.kind(i) == Kind::Search).count();
        told + self.failures().filter(|failure| failure.kind == Kind::Search).count()
    }

    /// `T = ⌊Λ/λ⁽ᴹ⁾⌋`: queries of the methods that work at the truth's fidelity.
    pub(super) fn rounds(&self) -> usize {
        ((self.problem.budget / self.problem.fidelities[self.problem.truth()].cost) as usize).min(N)
    }

    fn coin(&self, c: f32) -> bool {
        self.random(Purpose::Coin, 0).uniform() < c
    }
}

/// `⌈cT⌉`.
pub(super) fn first_phase(c: f32, rounds: usize) -> usize {
    let share = c * rounds as f32;
    let whole = share as usize;
    if whole as f32 >= share { whole } else { whole + 1 }
}

impl Activity {
    /// Whether slices of work are wanted.
    pub fn is_busy(self) -> bool {
        !matches!(self, Activity::Waiting | Activity::Done)
    }
}

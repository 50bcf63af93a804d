//! One sweep: every particle looks at all candidates, and sums are kept per candidate and fidelity.
//!
//! Particles stream through one Gaussian process workspace: factor, beliefs at all candidates, samples of the
//! optimum's value, tallies. Then the best candidates are refined, or the best is taken: as the next query, Eq. (24),
//! (37), (59), or as the recommendation.

use core::ops::Range;

use super::candidates::Choice;
use super::purse::Purse;
use super::query::{Progress, Recommendation, Stop};
use super::state::Phase;
use super::{Kind, Optimizer, rows};
use crate::acquisition::{SIDE, information_of_some};
use crate::gp::{NOISE_FLOOR, Posterior};
use crate::kernel::MAX_FIDELITIES;
use crate::linalg::LANES;
use crate::math;
use crate::max_value::{self, Gumbel, Reach};
use crate::random::Purpose;
use crate::settings::{Method, Recommend};

/// Candidates tallied or weighed in one slice.
const TALLIED: usize = 4 * LANES;

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
    /// Factor of particle `v`, from observation `first`.
    Factor { first: usize },
    /// What particle `v` believes of the candidates from `first`.
    Beliefs { first: usize },
    /// A quartile of the optimum's value under particle `v`.
    Quartile { index: usize },
    /// Sums over particles, of the candidates from `first`.
    Tally { first: usize },
    /// After all particles: the best of the candidates, from `first`.
    Collect { first: usize },
}

const START: Stage = Stage::Factor { first: 0 };

impl Sweep {
    fn informed(&self) -> bool {
        matches!(self.objective, Objective::Combined { .. } | Objective::Optimum)
    }
}

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
            Method::TwoPhase { c } if self.asked_so_far() < first_phase(c, self.rounds()) => {
                Objective::Optimum
            }
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
        let whole = match self.settings.recommend {
            Recommend::Anywhere => self.fill_candidates(),
            Recommend::Queried => {
                self.observed_candidates();
                true
            }
        };
        self.start_sweep(Objective::Mean, whole);
    }

    fn start_sweep(&mut self, objective: Objective, whole: bool) {
        self.memory.candidates.forget_best();
        self.memory.candidates.clear_tallies();
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

    pub(super) fn sweep_slice(&mut self, mut sweep: Sweep) -> Progress<D> {
        let next = match sweep.stage {
            Stage::Factor { first } => self.factor_beliefs(&sweep, first),
            Stage::Beliefs { first } => Some(self.beliefs_slice(&sweep, first)),
            Stage::Quartile { index } => Some(self.quartile_slice(&mut sweep, index)),
            Stage::Tally { first } => self.tally_slice(&mut sweep, first),
            Stage::Collect { first } => match self.collect_slice(&sweep, first) {
                Some(stage) => Some(stage),
                None => return self.end_sweep(sweep),
            },
        };
        sweep.stage = next.unwrap_or_else(|| {
            sweep.v += 1;
            if sweep.v < self.settings.particles { START } else { Stage::Collect { first: 0 } }
        });
        self.state.phase = Phase::Sweep(sweep);
        Progress::Working
    }

    /// After all particles and candidates: once more around the best, or done.
    fn end_sweep(&mut self, sweep: Sweep) -> Progress<D> {
        let found = !self.memory.candidates.best().is_empty();
        if sweep.whole || !found || sweep.refinement == self.settings.refinements {
            return self.decide(&sweep);
        }
        self.refine(sweep.refinement);
        let refinement = sweep.refinement + 1;
        self.state.phase = Phase::Sweep(Sweep { refinement, v: 0, used: 0, stage: START, ..sweep });
        Progress::Working
    }

    /// One block of the factor of particle `v`; `None` if it must be left out.
    fn factor_beliefs(&mut self, sweep: &Sweep, first: usize) -> Option<Stage> {
        let lens = self.lens();
        let memory = &mut *self.memory;
        let data = lens.observations(&memory.data);
        let fallbacks = &mut self.state.fallbacks;
        let theta = &memory.particles[sweep.v][..self.model.parameters()];
        let particle = lens.particle(&self.model, theta, fallbacks);
        let mut gp = memory.gp.workspace();
        let sound = if first < data.fidelity.len() {
            gp.factor(&particle, &data, first, fallbacks).is_ok()
        } else {
            gp.condition(&data).is_finite()
        };
        if !sound {
            fallbacks.particles = fallbacks.particles.saturating_add(1);
            return None;
        }
        let more = first < data.fidelity.len();
        Some(if more { Stage::Factor { first: first + LANES } } else { Stage::Beliefs { first: 0 } })
    }

    fn beliefs_slice(&mut self, sweep: &Sweep, first: usize) -> Stage {
        let lens = self.lens();
        let fidelities = self.problem.fidelities.len();
        let memory = &mut *self.memory;
        let data = lens.observations(&memory.data);
        let theta = &memory.particles[sweep.v][..self.model.parameters()];
        let particle = lens.particle(&self.model, theta, &mut Default::default());
        let candidates = &mut memory.candidates;
        let end = (first + LANES).min(candidates.len);
        let mut beliefs = [Posterior::default(); LANES * MAX_FIDELITIES];
        let beliefs = &mut beliefs[..(end - first) * fidelities];
        let points = rows(&candidates.x[first..end]);
        memory.gp.workspace().posterior(&particle, &data, points, fidelities, beliefs);
        for (kept, belief) in candidates.belief[first..end].iter_mut().zip(beliefs.chunks(fidelities)) {
            kept[..fidelities].copy_from_slice(belief);
        }
        match end < candidates.len {
            true => Stage::Beliefs { first: end },
            false if sweep.informed() && sweep.refinement == 0 => Stage::Quartile { index: 0 },
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
        let candidates = &mut self.memory.candidates;
        let end = (first + TALLIED).min(candidates.len);
        let some = candidates.belief[first..end].chunks(SIDE);
        for (beliefs, tallies) in some.zip(candidates.tally[first..end].chunks_mut(SIDE)) {
            let mut worth = [[0.0; SIDE]; M];
            if sweep.informed() {
                let form = self.settings.information;
                worth = information_of_some(form, beliefs, fidelities.clone(), truth, &noise, maxima);
            }
            for m in fidelities.clone() {
                for ((belief, tally), worth) in beliefs.iter().zip(&mut *tallies).zip(worth[m]) {
                    tally[m].add(&belief[m], noise[m], worth, sweep.used + 1);
                }
            }
        }
        if end < candidates.len {
            return Some(Stage::Tally { first: end });
        }
        sweep.used += 1;
        None
    }

    fn fidelities_of(&self, objective: Objective) -> Range<usize> {
        let all = self.problem.fidelities.len();
        if matches!(objective, Objective::Combined { .. }) { 0..all } else { all - 1..all }
    }

    /// Noise as the acquisition counts it: the same for all particles.
    fn information_noise(&self) -> [f32; MAX_FIDELITIES] {
        self.noise().map(|noise| noise.max(NOISE_FLOOR))
    }

    /// After all particles: looks for the best candidates among some more of them.
    fn collect_slice(&mut self, sweep: &Sweep, first: usize) -> Option<Stage> {
        if sweep.used == 0 {
            return None;
        }
        let (purse, noise) = (self.purse(), self.information_noise());
        let end = (first + TALLIED).min(self.memory.candidates.len);
        for c in first..end {
            let mut best: Option<Choice<D>> = None;
            for m in self.fidelities_of(sweep.objective) {
                let choice = self.weigh(sweep, &purse, noise[m], c, m);
                best = [best, choice]
                    .into_iter()
                    .flatten()
                    .reduce(|best, choice| if choice.score > best.score { choice } else { best });
            }
            if let Some(best) = best {
                self.memory.candidates.consider(best);
            }
        }
        (end < self.memory.candidates.len).then_some(Stage::Collect { first: end })
    }

    /// Candidate `c` at fidelity `m`, if it is allowed.
    fn weigh(&self, sweep: &Sweep, purse: &Purse, noise: f32, c: usize, m: usize) -> Option<Choice<D>> {
        let (x, tally) = (self.memory.candidates.x[c], self.memory.candidates.tally[c][m]);
        let variance = tally.variance(sweep.used);
        let score = match sweep.objective {
            Objective::Mean => tally.mean,
            _ if !purse.can_pay(m) || !self.worth_asking(&x, m, variance) => return None,
            Objective::Combined { beta } => tally.score(beta, noise, purse.price(m), sweep.used),
            Objective::Optimum => tally.information,
            Objective::Parameters => tally.transfer(noise, sweep.used),
        };
        Some(Choice { score, x, fidelity: m, mean: tally.mean, variance })
    }

    /// Whether a query has not failed and is not a repetition for nothing: the rule at the head of
    /// [`optimizer`](super).
    fn worth_asking(&self, x: &[f32; D], fidelity: usize, variance: f32) -> bool {
        let noise = self.noise()[fidelity];
        let again = noise >= NOISE_FLOOR && variance >= 0.5 * noise;
        !self.has_failed(x, fidelity) && (again || self.memory.data.count(x, fidelity) == 0)
    }

    /// Takes the best candidate.
    fn decide(&mut self, sweep: &Sweep) -> Progress<D> {
        let best = self.memory.candidates.best().first().copied();
        if sweep.objective == Objective::Mean {
            self.state.recommendation = best.or(self.best_known()).map(|best| self.recommend(&best));
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

    /// The best observation as it is, should no particle have an opinion.
    fn best_known(&self) -> Option<Choice<D>> {
        let [best, ..] = self.best_observed();
        best.map(|i| {
            let (x, mean) = (self.memory.data.x()[i], self.memory.data.z()[i]);
            let fidelity = usize::from(self.memory.data.fidelity()[i]);
            Choice { score: mean, x, fidelity, mean, variance: self.noise()[fidelity] }
        })
    }

    fn recommend(&self, best: &Choice<D>) -> Recommendation<D> {
        let scale = self.state.scale;
        Recommendation {
            x: best.x,
            setting: self.setting(&best.x),
            dimensions: self.problem.dimensions.len(),
            mean: scale.undo(self.problem.goal.sign() * best.mean),
            // Observations near the largest allowed, times a large signal, would be infinite.
            deviation: (scale.deviation * math::sqrt(best.variance)).min(f32::MAX),
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_phase_is_rounded_up() {
        for (c, rounds, wanted) in
            [(0.6, 20, 12), (0.5, 7, 4), (0.01, 9, 1), (0.0, 9, 0), (1.0, 9, 9), (0.3, 0, 0)]
        {
            assert_eq!(first_phase(c, rounds), wanted, "{c} of {rounds}");
        }
    }
}

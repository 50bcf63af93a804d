//! One search: every particle looks at all candidates, and sums are kept per candidate and fidelity.
//!
//! Particles stream through one Gaussian process workspace: factor, beliefs at all candidates, samples of the
//! optimum's value, sums. Then the best candidates are refined, or the best is taken: as the next query, Eq. (24),
//! (37), (59), or as the recommendation.

use core::ops::Range;

use super::budget::Prices;
use super::candidates::Choice;
use super::fleet::theta_of;
use super::guards::Guarding;
use super::state::State;
use crate::acquisition::{SIDE, ScoreSums, information_of_some};
use crate::gp::{Fallbacks, NOISE_FLOOR};
use crate::kernel::MAX_FIDELITIES;
use crate::linalg::{LANES, column_mut, swap_columns};
use crate::live::HOPED;
use crate::math;
use crate::max_value::{self, Candidate, Ends, Gumbel};
use crate::random::Purpose;
use crate::settings::Recommend;

/// Candidates summed up or weighed in one slice.
const SUMMED: usize = 4 * LANES;

/// Of a space that is searched whole and has no floor, a point is measured again until its variance is this share of the noise's: one more
/// measurement would then move its mean by a fortieth of the noise's deviation.
const SETTLED: f32 = 0.025;

/// What a search looks for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Objective {
    /// Information about optimum and `θ` per cost, at any fidelity: Eq. (37).
    Combined { beta: f32 },
    /// Information about the optimum, at the target fidelity.
    #[cfg_attr(not(feature = "paper"), expect(dead_code, reason = "for the methods of the paper alone"))]
    Optimum,
    /// Information about `θ`, at the target fidelity.
    #[cfg_attr(not(feature = "paper"), expect(dead_code, reason = "for the methods of the paper alone"))]
    Parameters,
    /// Highest mean at the target fidelity: the recommendation.
    Mean,
    /// The same, to be measured there before it is recommended.
    Verify,
    /// What the point in use and the last trial are worth.
    Trial,
    /// What the point in use is worth under the conditions at hand.
    InUse,
}

/// A search, and where it stands.
#[derive(Debug)]
pub(super) struct Search {
    pub objective: Objective,
    refinement: usize,
    /// Whether the particles so far are those without a fleet, by whom candidates must be allowed, too.
    doubting: bool,
    v: usize,
    /// Particles that took part so far.
    used: usize,
    ends: Ends,
    quartiles: [f32; 3],
    stage: Stage,
    whole: bool,
    /// Of the allowed candidates at the target fidelity, standardised: the best mean, and the best of what they are hoped to be.
    best_mean: f32,
    best_hope: f32,
    /// Whether something was observed at every allowed candidate: then only what is not allowed can be better.
    enclosed: bool,
    /// Whether all candidates were looked at for this, before any of them is weighed.
    looked: bool,
    /// Of a recommendation: by how many standard deviations the point in use is above the floor.
    in_use: f32,
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
    Sum { first: usize },
    /// What particle `v` believes of the guards' KPIs.
    Guard(Guarding),
    /// After all particles: the best of the candidates, from `first`.
    Collect { first: usize },
}

const START: Stage = Stage::Factor { first: 0 };

impl Search {
    /// Before anything was looked at.
    fn begin(objective: Objective, whole: bool) -> Search {
        let nothing = f32::NEG_INFINITY;
        Search {
            objective,
            refinement: 0,
            doubting: false,
            v: 0,
            used: 0,
            ends: Ends::default(),
            quartiles: [0.0; 3],
            stage: START,
            whole,
            best_mean: nothing,
            best_hope: nothing,
            enclosed: true,
            looked: false,
            in_use: f32::INFINITY,
        }
    }

    /// Chooses the candidates.
    pub fn new(objective: Objective, state: &mut State<'_>) -> Search {
        let truth = state.problem.truth();
        // The recommendation may have to lie where something was observed, at this fidelity or above.
        let least = match state.settings.details.recommend {
            Recommend::Queried => 0,
            Recommend::Measured if !state.relies_on_fleet() => truth,
            _ => usize::MAX,
        };
        let whole = match objective {
            Objective::Trial | Objective::InUse => {
                state.judged_candidates(objective == Objective::InUse);
                true
            }
            Objective::Mean if state.observed_candidates(least) || least == 0 => true,
            _ => state.fill_candidates(),
        };
        state.memory.candidates.forget_best();
        if objective == Objective::Mean {
            state.add_point_in_use();
        }
        state.memory.clear_sums();
        Search { doubting: doubts(objective, state), ..Search::begin(objective, whole) }
    }

    /// What all particles think of one point, the optimum's value as in the last search, and how many there are; the candidates
    /// are lost.
    pub fn of_point(x: &[f32], state: &mut State<'_>) -> (usize, [ScoreSums; MAX_FIDELITIES]) {
        let (objective, fallbacks) = (Objective::Combined { beta: 0.0 }, state.task.fallbacks);
        state.memory.candidates.len = 0;
        state.memory.candidates.push(|own| own.copy_from_slice(x));
        state.memory.clear_sums();
        // As a refinement, for which the optimum's value is drawn already.
        let mut search = Search { refinement: 1, ..Search::begin(objective, true) };
        while !matches!(search.stage, Stage::Collect { .. }) {
            search.advance(state);
        }
        state.task.fallbacks = fallbacks;
        let mut sums = [ScoreSums::ZERO; MAX_FIDELITIES];
        sums.iter_mut().zip(&*state.memory.candidates.sums).for_each(|(own, sum)| *own = *sum);
        (search.used, sums)
    }

    /// One slice; whether the search is over. The best candidates are in the memory then.
    pub fn advance(&mut self, state: &mut State<'_>) -> bool {
        let next = match self.stage {
            Stage::Factor { first } if self.doubting => {
                state.without_fleet(|state| self.factor(state, first))
            }
            Stage::Factor { first: 0 }
                if self.refinement > 0 && !self.whole && state.memory.kept.of(0).is_some() =>
            {
                self.recall(state)
            }
            Stage::Factor { first } => self.factor(state, first),
            Stage::Beliefs { first } if self.doubting => {
                Some(state.without_fleet(|state| self.beliefs(state, first)))
            }
            Stage::Beliefs { first } => Some(self.beliefs(state, first)),
            Stage::Quartile { index } => Some(self.quartile(state, index)),
            Stage::Sum { first } => self.sum(state, first),
            Stage::Guard(guarding) => guarding.advance(state, self.v).map(Stage::Guard),
            Stage::Collect { first } => match self.collect(state, first) {
                Some(stage) => Some(stage),
                None => return self.end(state),
            },
        };
        self.stage = next.unwrap_or_else(|| {
            self.v += 1;
            if self.v < state.settings.particles {
                START
            } else if self.doubting {
                self.keep_allowed(state);
                if state.memory.candidates.len > 0 { START } else { Stage::Collect { first: 0 } }
            } else {
                Stage::Collect { first: 0 }
            }
        });
        false
    }

    /// After all particles and candidates: once more around the best, or done.
    fn end(&mut self, state: &mut State<'_>) -> bool {
        let found = !state.memory.candidates.best.is_empty();
        if self.whole || !found || self.refinement == state.settings.details.refinements {
            return true;
        }
        state.refine(self.refinement);
        let doubting = doubts(self.objective, state);
        *self = Search {
            refinement: self.refinement + 1,
            doubting,
            looked: false,
            v: 0,
            used: 0,
            stage: START,
            ..*self
        };
        false
    }

    /// Leaves only those candidates that are allowed without the fleet's prior; if something was observed at each of them, also
    /// the one elsewhere that nearly is. Then all particles look at these.
    fn keep_allowed(&mut self, state: &mut State<'_>) {
        let truth = state.problem.truth();
        let (mut kept, mut nearest, mut known) = (0, (f32::NEG_INFINITY, 0), true);
        for c in 0..state.memory.candidates.len {
            let candidates = &state.memory.candidates;
            let sums = &candidates.sums[candidates.at(c) + truth];
            // No particle had an opinion: nothing but the first, the point in use.
            let (bound, allowed) = match self.used {
                0 => (-(c as f32), false),
                used => state.plain_bound(sums.mixture.mean, sums.variance(used)),
            };
            let allowed =
                allowed || state.is_in_use_here(c) || self.objective == Objective::Mean && state.is_in_use(c);
            let observed = state.memory.data.has(candidates.point(c));
            if allowed {
                known &= observed;
                // What is not allowed and lay there goes back.
                nearest.1 = if nearest.1 == kept { c } else { nearest.1 };
                swap_columns(&mut state.memory.candidates.points, kept, c);
                kept += 1;
            } else if !observed && bound > nearest.0 {
                nearest = (bound, c);
            }
        }
        if known && self.refinement == 0 && nearest.0.is_finite() {
            swap_columns(&mut state.memory.candidates.points, kept, nearest.1);
            kept += 1;
        }
        state.memory.candidates.len = kept;
        state.memory.clear_sums();
        (self.doubting, self.v, self.used) = (false, 0, 0);
    }

    fn is_informed(&self) -> bool {
        !self.doubting && matches!(self.objective, Objective::Combined { .. } | Objective::Optimum)
    }

    fn fidelities(&self, state: &State<'_>) -> Range<usize> {
        let all = state.problem.fidelities.len();
        let at_all = matches!(self.objective, Objective::Combined { .. }) && !self.doubting;
        if at_all { 0..all } else { all - 1..all }
    }

    /// One block of the factor of particle `v`; `None` if it must be left out.
    fn factor(&self, state: &mut State<'_>, first: usize) -> Option<Stage> {
        let (view, plain) = (state.view(), self.doubting.then(|| state.drawn_theta(self.v)));
        let State { memory, task, model, .. } = state;
        let data = memory.data.observations(view.from, view.fleet);
        let (before, fallbacks) = (task.fallbacks, &mut task.fallbacks);
        let particles = memory.particles.as_view();
        let particle = view.particle(model, theta_of(&plain, &particles, self.v), fallbacks);
        let more = first < data.fidelity.len();
        let sound = if more {
            memory.gp.factor(&particle, &data, first, fallbacks).is_ok()
        } else {
            let likelihood = memory.gp.condition(&data);
            if self.objective == Objective::Trial {
                task.changes.drift.add(memory.gp.surprise(data.fidelity.len()));
            }
            likelihood.is_finite()
        };
        if !sound {
            fallbacks.particles = fallbacks.particles.saturating_add(1);
        }
        if !self.whole
            && !self.doubting
            && let Some((kept, factor)) = memory.kept.of(self.v)
        {
            *kept = if first == 0 { Fallbacks::default() } else { *kept }.and(&fallbacks.since(&before));
            if sound && !more {
                memory.gp.keep(data.fidelity.len(), factor);
            }
        }
        sound.then_some(if more {
            Stage::Factor { first: first + LANES }
        } else {
            Stage::Beliefs { first: 0 }
        })
    }

    /// The factor of particle `v` as it was before the refinement; `None` if it must be left out again.
    fn recall(&self, state: &mut State<'_>) -> Option<Stage> {
        let t = state.memory.data.seen() - state.view().from;
        let (fallbacks, factor) = state.memory.kept.of(self.v)?;
        state.task.fallbacks = state.task.fallbacks.and(fallbacks);
        let sound = fallbacks.particles == 0;
        if sound {
            state.memory.gp.recall(t, factor);
        }
        sound.then_some(Stage::Beliefs { first: 0 })
    }

    fn beliefs(&self, state: &mut State<'_>, first: usize) -> Stage {
        let (view, plain) = (state.view(), self.doubting.then(|| state.drawn_theta(self.v)));
        let State { memory, model, problem, .. } = state;
        let data = memory.data.observations(view.from, view.fleet);
        let particles = memory.particles.as_view();
        let particle = view.particle(model, theta_of(&plain, &particles, self.v), &mut Default::default());
        let candidates = &mut memory.candidates;
        let end = (first + LANES).min(candidates.len);
        let (from, to) = (candidates.at(first), candidates.at(end));
        let (points, beliefs) = candidates.points_and_beliefs(first..end, from..to);
        memory.gp.posterior(&particle, &data, points, problem.fidelities.len(), beliefs);
        match end < candidates.len {
            true => Stage::Beliefs { first: end },
            false if self.is_informed() && self.refinement == 0 => Stage::Quartile { index: 0 },
            false => Stage::Sum { first: 0 },
        }
    }

    /// One quartile of the optimum's value; after the third, samples.
    fn quartile(&mut self, state: &mut State<'_>, index: usize) -> Stage {
        let truth = state.problem.truth();
        let candidates = &mut state.memory.candidates;
        if index == 0 {
            let beliefs = candidates.beliefs.chunks_exact(truth + 1);
            for (candidate, beliefs) in candidates.truth[..candidates.len].iter_mut().zip(beliefs) {
                *candidate = Candidate::new(beliefs[truth].mean, beliefs[truth].variance);
            }
            self.ends = Ends::of(&candidates.truth[..candidates.len]);
        }
        let of_truth = &candidates.truth[..candidates.len];
        self.quartiles[index] = max_value::quantile(of_truth, &self.ends, [0.25, 0.5, 0.75][index]);
        if index < 2 {
            return Stage::Quartile { index: index + 1 };
        }
        let (gumbel, least) = (Gumbel::from_quartiles(self.quartiles), max_value::best_mean(of_truth));
        let mut random = state.random(Purpose::MaxValues, self.v as u32);
        for maximum in column_mut(&mut state.memory.maxima, self.v) {
            // Uniform on the open interval, so that both logarithms are finite.
            let p = random.uniform() + 0.5 / 16_777_216.0;
            *maximum = gumbel.quantile(p.min(0.999_999_94)).max(least);
        }
        Stage::Sum { first: 0 }
    }

    fn sum(&mut self, state: &mut State<'_>, first: usize) -> Option<Stage> {
        let (noise, truth) = (information_noise(state), state.problem.truth());
        let fidelities = self.fidelities(state);
        let maxima = state.memory.maxima.column(self.v).data.into_slice();
        let candidates = &mut state.memory.candidates;
        let end = (first + SUMMED).min(candidates.len);
        let (from, to, all) = (candidates.at(first), candidates.at(end), truth + 1);
        let beliefs = candidates.beliefs[from..to].chunks(SIDE * all);
        for (beliefs, sums) in beliefs.zip(candidates.sums[from..to].chunks_mut(SIDE * all)) {
            let mut worth = [[0.0; SIDE]; MAX_FIDELITIES];
            if self.is_informed() {
                let form = state.settings.details.information;
                worth = information_of_some(form, beliefs, (fidelities.clone(), truth), &noise, maxima);
            }
            for m in fidelities.clone() {
                let each = beliefs.chunks_exact(all).zip(sums.chunks_exact_mut(all));
                for ((beliefs, sums), worth) in each.zip(worth[m]) {
                    sums[m].add(&beliefs[m], noise[m], worth, self.used + 1);
                }
            }
        }
        if end < candidates.len {
            return Some(Stage::Sum { first: end });
        }
        self.used += 1;
        let guarded = !state.problem.guards.is_empty() && !self.doubting;
        guarded.then_some(Stage::Guard(Guarding::START))
    }

    /// After all particles, twice: what may be hoped for among some more candidates, then which of them are the best.
    fn collect(&mut self, state: &mut State<'_>, first: usize) -> Option<Stage> {
        if self.used == 0 {
            return None;
        }
        let (prices, noise, information_noise) = (state.prices(), state.noise(), information_noise(state));
        let len = state.memory.candidates.len;
        let end = (first + SUMMED).min(len);
        let (problem, asks) = (&state.problem, self.beta().is_some());
        let ranked = asks && !problem.guards.is_empty() && problem.conditions() == 0;
        if self.objective == Objective::Mean
            && (self.refinement, first) == (0, 0)
            && let Some(c) = (0..len).rev().find(|c| state.is_in_use(*c))
        {
            let (mean, variance, _) = self.bounded(state, c);
            self.in_use = state.task.trials.floor.above(mean, variance);
        }
        for c in first..end {
            let bounded @ (mean, variance, (_, admitted)) = self.bounded(state, c);
            let deviation = math::sqrt(variance);
            let hope = mean + HOPED * deviation;
            if !self.looked {
                if admitted {
                    self.best_mean = self.best_mean.max(mean);
                    self.best_hope = self.best_hope.max(hope);
                    self.enclosed = self.enclosed && state.memory.data.has(state.memory.candidates.point(c));
                }
                continue;
            }
            let (bound, allowed) = self.judged(state, c, bounded);
            if matches!(self.objective, Objective::Combined { .. } | Objective::Verify) {
                state.note_ruled_out(c, (mean, variance), c == 0 && self.refinement == 0);
                // That all allowed points are known is no reason for one that nothing is hoped of.
                if !(allowed || hope > self.best_mean && state.may_be_risked(c, hope)) {
                    continue;
                }
            }
            let mut best: Option<Choice> = None;
            for m in self.fidelities(state) {
                let choice =
                    self.weigh(state, &prices, (noise[m], information_noise[m]), c, m).map(|choice| {
                        let score = match allowed {
                            false => bound,
                            true if ranked && choice.score < TELLING => mean + deviation - BEHIND,
                            true => choice.score,
                        };
                        Choice { allowed, score, ..choice }
                    });
                if let Some(choice) = choice
                    && best.as_ref().is_none_or(|best| choice.score > best.score)
                {
                    best = Some(choice);
                }
            }
            if let Some(best) = best {
                if !allowed && self.would_pay(state, hope) {
                    state.memory.candidates.consider_beyond(&best, hope);
                }
                state.memory.candidates.consider(best);
            }
        }
        if end < len {
            return Some(Stage::Collect { first: end });
        }
        let again = !self.looked;
        self.looked = true;
        again.then_some(Stage::Collect { first: 0 })
    }

    /// Mean and variance of candidate `c` at the target fidelity, its lower bound, and whether the floor allows it.
    #[inline(never)]
    fn bounded(&self, state: &State<'_>, c: usize) -> Bounded {
        let candidates = &state.memory.candidates;
        let sums = &candidates.sums[candidates.at(c) + state.problem.truth()];
        let variance = sums.variance(self.used);
        let mean = sums.mixture.mean;
        (mean, variance, state.lower_bound(c, mean, variance))
    }

    /// Lower bound of candidate `c` at the target fidelity, and whether the floor allows it. A recommendation needs no margin.
    fn judged(
        &self,
        state: &State<'_>,
        c: usize,
        (mean, variance, (bound, allowed)): Bounded,
    ) -> (f32, bool) {
        match self.objective {
            Objective::Mean if state.is_assured(c, (mean, variance), self.in_use) => (bound, true),
            // Behind all that is: what was in use.
            Objective::Mean if state.is_in_use(c) => (f32::MAX, false),
            Objective::Mean => (bound, false),
            _ => (bound, allowed),
        }
    }

    /// The weight of the information about `θ`, if that is what is looked for.
    pub fn beta(&self) -> Option<f32> {
        if let Objective::Combined { beta } = self.objective { Some(beta) } else { None }
    }

    /// The best mean at the truth among the allowed candidates, standardised.
    pub fn best_mean(&self) -> Option<f32> {
        Some(self.best_mean).filter(|mean| mean.is_finite())
    }

    /// The safest of the candidates that are not allowed but would pay, if it is to be asked: where all that are allowed are worse
    /// than the point in use, which is not among them; without guards or with a tolerance also where something was observed at each of them,
    /// or none of them would pay.
    pub fn leads_beyond(&self, state: &State<'_>) -> Option<Choice> {
        let (choice, hope) = state.memory.candidates.beyond.as_ref()?;
        let free = state.problem.tolerance > 0.0 || state.problem.guards.is_empty();
        let leads = self.enclosed || !self.would_pay(state, self.best_hope);
        let worse = self.best_hope < state.task.trials.floor.in_use;
        ((worse || free && leads) && self.would_pay(state, *hope)).then(|| choice.clone())
    }

    /// Whether a tolerance ends the task: there are allowed candidates, and none makes it worth while to go on, nor one beyond that is
    /// likely to keep the guards. Where nothing is allowed yet, the safest is asked.
    pub fn pays_no_more(&self, state: &State<'_>) -> bool {
        let nothing_beyond = state.problem.guards.is_empty() || state.memory.candidates.beyond.is_none();
        let tolerant = state.problem.tolerance > 0.0 && self.best_mean().is_some();
        tolerant && nothing_beyond && !self.would_pay(state, self.best_hope)
    }

    /// Whether what is hoped for is so much above the best mean that it is worth while to go on.
    fn would_pay(&self, state: &State<'_>, hope: f32) -> bool {
        state.pays(hope - self.best_mean, self.best_mean)
    }

    /// Particles that took part.
    pub fn used(&self) -> usize {
        self.used
    }

    /// The means of the point in use and of the last trial; `None` if no particle has an opinion.
    pub fn trial_means(&self, state: &State<'_>) -> Option<[f32; 2]> {
        let (candidates, truth) = (&state.memory.candidates, state.problem.truth());
        (self.used > 0).then(|| [0, 1].map(|c| candidates.sums[candidates.at(c) + truth].mixture.mean))
    }

    /// Candidate `c` at fidelity `m`, if it may be asked.
    fn weigh(
        &self,
        state: &State<'_>,
        prices: &Prices,
        (noise, information_noise): (f32, f32),
        c: usize,
        m: usize,
    ) -> Option<Choice> {
        let candidates = &state.memory.candidates;
        let (x, sums) = (candidates.point(c), &candidates.sums[candidates.at(c) + m]);
        let (mean, variance) = (sums.mixture.mean, sums.variance(self.used));
        let enough = if self.whole && !state.problem.is_guarded() { SETTLED } else { 0.5 };
        let again = noise >= NOISE_FLOOR && variance >= enough * noise;
        let score = match self.objective {
            Objective::Mean => return Some(known(state, x, m, mean, (variance, noise))),
            Objective::Trial | Objective::InUse => mean,
            _ if !prices.can_pay(m) || !state.worth_asking(x, m, again) => return None,
            Objective::Combined { beta } => {
                let limited = state.settings.details.limited;
                sums.score(beta, limited, information_noise, prices.price(m), self.used)
            }
            Objective::Verify => mean,
            Objective::Optimum => sums.information,
            Objective::Parameters => sums.transfer(information_noise, self.used),
        };
        let x = x.iter().copied().collect();
        Some(Choice { allowed: true, score, x, fidelity: m, mean, variance })
    }
}

/// Mean and variance of a candidate at the target fidelity, its lower bound, and whether the floor allows it.
type Bounded = (f32, f32, (f32, bool));

/// Where guards keep a search far from the optimum, nothing that they allow tells of it, and rounding would decide: candidates
/// that tell less than this, in nats per cost, rank by their mean and a deviation, behind all that tell more. Not under
/// conditions, with which the bound moves, so that what lies at its edge breaks it more often than the risk allows.
const TELLING: f32 = 1e-6;
const BEHIND: f32 = 1e4;

/// A candidate for the recommendation. Where there is no noise to speak of, what was measured there counts more than the model,
/// which takes some noise for granted.
fn known(state: &State<'_>, x: &[f32], m: usize, mean: f32, (variance, noise): (f32, f32)) -> Choice {
    let data = &state.memory.data;
    let own = |i: &usize| *i >= state.task.remembered.max(data.begins()) && data.is_believed(*i);
    let measured = if noise < NOISE_FLOOR { data.asked(x, m).find(own) } else { None };
    let (mean, variance) = measured.map_or((mean, variance), |i| (data.z()[i], variance.min(NOISE_FLOOR)));
    Choice { allowed: true, score: mean, x: x.iter().copied().collect(), fidelity: m, mean, variance }
}

/// Whether what a search finds must be allowed without the fleet's prior, too.
fn doubts(objective: Objective, state: &State<'_>) -> bool {
    matches!(objective, Objective::Combined { .. } | Objective::Verify | Objective::Mean) && state.doubts()
}

/// Noise as the acquisition counts it: the same for all particles.
pub(super) fn information_noise(state: &State<'_>) -> [f32; MAX_FIDELITIES] {
    state.noise().map(|noise| noise.max(NOISE_FLOOR))
}

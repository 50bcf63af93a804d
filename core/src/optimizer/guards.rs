//! Guards in a task: what their KPIs are believed to be, and whether they are kept.
//!
//! A KPI has the objective's particles, but a scale and a noise of its own, so that it needs a factor of its own. Its posterior is
//! needed at the truth alone. The scale's mean is what the point in use gave. Its deviation is at first that of a floor, and then
//! follows the answers: after each, it is multiplied by the root of how much farther they lay from what was foreseen than the model
//! thought, [`BELIEVED`] answers' worth of the first deviation beside them. So a KPI that hardly moves stops being a reason for
//! caution, and one that moves over decades becomes one.

use super::query::GuardStatus;
use super::state::{ModelView, State};
use super::trials::Watched;
use crate::acquisition::Mixture;
use crate::data::{Kpis, Standard};
use crate::error::Error;
use crate::gp::Particle;
use crate::linalg::{LANES, column};
use crate::live::{GUARD_FALLS, Guard, LIKELY, Level};
use crate::math::{self, LARGEST_VALUE};
use crate::scale::Scale;

/// As many answers is the first guess of a KPI's deviation worth.
const BELIEVED: f32 = 0.5;
/// The deviation shrinks by no more in one round, and grows by no more.
const SHRINKS: f32 = 0.5;
const GROWS: f32 = 16.0;
/// What is sure to keep its bounds ranks so much above what is not.
const SURE: f32 = 1e3;

/// One particle's look at the KPIs of all guards, and where that stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Guarding {
    g: usize,
    first: usize,
    factored: bool,
}

impl Guarding {
    pub const START: Guarding = Guarding { g: 0, first: 0, factored: false };

    /// One slice: a block of the factor, or of the candidates. What follows; nothing when all guards are done.
    pub fn advance(self, state: &mut State<'_>, v: usize) -> Option<Guarding> {
        let next = Guarding { g: self.g + 1, ..Guarding::START };
        let after = match self.factored {
            false => self.factor(state, v).unwrap_or(next),
            true => self.beliefs(state, v).unwrap_or(next),
        };
        (after.g < state.problem.guards.len()).then_some(after)
    }

    /// `None` if the particle must be left out.
    fn factor(self, state: &mut State<'_>, v: usize) -> Option<Guarding> {
        let (g, first) = (self.g, self.first);
        if first == 0 {
            state.rescale_guard(g);
        }
        let (view, own) = (state.guard_view(g)?, state.task.remembered);
        let State { memory, task, model, .. } = state;
        let data = memory.data.kpi_observations(own);
        let particles = memory.particles.as_view();
        let particle = view.particle(model, column(&particles, v), &mut task.fallbacks);
        let t = data.fidelity.len();
        if first < t {
            memory.gp.factor(&particle, &data, first, &mut task.fallbacks).ok()?;
            return Some(Guarding { first: first + LANES, ..self });
        }
        if !memory.gp.condition(&data).is_finite() {
            return None;
        }
        let watched = &mut memory.guards[g];
        watched.used += 1;
        watched.misfit += memory.gp.misfit(t) / t as f32;
        watched.drift.add(memory.gp.surprise(t));
        Some(Guarding { first: 0, factored: true, ..self })
    }

    fn beliefs(self, state: &mut State<'_>, v: usize) -> Option<Guarding> {
        let (g, first) = (self.g, self.first);
        let (view, own, all) = (state.guard_view(g)?, state.task.remembered, state.problem.fidelities.len());
        let State { memory, model, .. } = state;
        let data = memory.data.kpi_observations(own);
        let particles = memory.particles.as_view();
        let particle: Particle<'_> = view.particle(model, column(&particles, v), &mut Default::default());
        let (candidates, guards) = (&mut memory.candidates, memory.guards.len());
        let end = (first + LANES).min(candidates.len);
        let (from, to) = (candidates.at(first), candidates.at(end));
        let (points, beliefs) = candidates.points_and_beliefs(first..end, from..to);
        memory.gp.posterior_from(all - 1, &particle, &data, points, all, beliefs);
        let count = memory.guards[g].used as usize;
        for c in first..end {
            let belief = candidates.beliefs[candidates.at(c) + all - 1];
            candidates.kpis[c * guards + g].add(&belief, count);
        }
        (end < candidates.len).then_some(Guarding { first: end, ..self })
    }
}

impl State<'_> {
    /// An answer's KPIs, if there is one for every guard.
    pub fn kpis(&self, kpis: &[f32]) -> Result<Kpis, Error> {
        let (wanted, given) = (self.problem.guards.len(), kpis.len());
        if wanted == given { Ok(kpis.iter().copied().collect()) } else { Err(Error::Kpis { wanted, given }) }
    }

    /// Sets up the guards of a task.
    pub fn begin_guards(&mut self) {
        for (watched, margin) in self.memory.guards.iter_mut().zip(&self.start.margins) {
            *watched = Watched::new(*margin);
        }
    }

    /// After an answer: the scale of every KPI begins with the first that is believed.
    pub fn scale_guards(&mut self) {
        let data = &self.memory.data;
        let Some(i) = (self.task.remembered..data.len()).find(|&i| data.is_believed(i)) else { return };
        for (g, watched) in self.memory.guards.iter_mut().enumerate().filter(|(_, w)| w.deviation == 0.0) {
            let (guard, v) = (&self.problem.guards[g], data.kpis(i)[g]);
            (watched.mean, watched.deviation) = (v, first_deviation(guard, v));
        }
    }

    /// Among the candidates for the recommendation is the point in use, which is kept where nothing else is assured.
    pub fn add_point_in_use(&mut self) {
        if let Some(deployed) = self.start.deployed.clone().filter(|_| self.problem.is_guarded()) {
            let deployed = self.here(deployed);
            let candidates = &mut self.memory.candidates;
            candidates.len = candidates.len.min(candidates.truth.len() - 1);
            candidates.push(|x| x.copy_from_slice(&deployed));
        }
    }

    /// What the model sees of the KPI of guard `g`.
    fn rescale_guard(&mut self, g: usize) {
        let (watched, guard) = (&self.memory.guards[g], &self.problem.guards[g]);
        let (scale, sign, moved) = (watched.scale(), guard.side.sign(), watched.drift.moved);
        let by_share = matches!(guard.floor.level, Level::Share(_));
        let by = Standard { scale, sign, by_share, moved };
        self.memory.data.rescale_kpi(g, self.task.remembered, by);
    }

    /// How the model sees it; `None` before anything was measured.
    fn guard_view(&self, g: usize) -> Option<ModelView<'static>> {
        let deviation = Some(self.memory.guards[g].deviation).filter(|deviation| *deviation > 0.0)?;
        let view = ModelView::plain(self.problem.guards[g].noise, deviation, self.memory.maps);
        let blur = self.memory.guards[g].drift.blur / deviation;
        Some(view.with_older(&self.memory.data, self.task.remembered, blur))
    }

    /// Mean and variance of the KPI of guard `g` at candidate `c`, standardised; `None` if no particle has an opinion.
    pub fn guard_belief(&self, g: usize, c: usize) -> Option<(f32, f32)> {
        let mixture: &Mixture = &self.memory.candidates.kpis[c * self.memory.guards.len() + g];
        let count = Some(self.memory.guards[g].used as usize).filter(|used| *used > 0)?;
        Some((mixture.mean, mixture.variance(count)))
    }

    /// The bound of guard `g` where the point in use gives `v`, both standardised.
    pub fn guard_at(&self, g: usize, v: f32) -> f32 {
        let (guard, scale) = (&self.problem.guards[g], self.memory.guards[g].scale());
        let sign = guard.side.sign();
        sign * scale.apply(guard.floor.level.at(scale.undo(sign * v), sign))
    }

    /// Whether every guard's lower bound lies above its bound at candidate `c`.
    pub fn guards_allow(&self, c: usize) -> bool {
        (0..self.problem.guards.len()).all(|g| !self.rules_out(g, c))
    }

    fn rules_out(&self, g: usize, c: usize) -> bool {
        let bound = &self.memory.guards[g].bound;
        self.guard_belief(g, c)
            .is_none_or(|(mean, variance)| bound.lower(mean, variance, self.round()) < bound.at)
    }

    /// Whether candidate `c`, which is not allowed, may be asked where nothing is: it is likely to keep every guard that the point in
    /// use keeps, and where that keeps all and there is a tolerance, what is hoped of it would pay.
    pub fn may_be_risked(&self, c: usize, hope: f32) -> bool {
        let (in_use, mut guards) = (self.task.trials.floor.in_use, 0..self.problem.guards.len());
        let keeps = |g: usize| self.memory.guards[g].bound.is_kept_in_use(self.guard_noise(g));
        let likely = |g: usize| !keeps(g) || self.is_likely_kept(g, c);
        let pays = self.problem.tolerance == 0.0 || self.pays(hope - in_use, in_use);
        guards.is_empty() || (pays || !guards.clone().all(keeps)) && guards.all(likely)
    }

    fn is_likely_kept(&self, g: usize, c: usize) -> bool {
        let above = |(mean, variance)| self.memory.guards[g].bound.above(mean, variance);
        self.guard_belief(g, c).is_none_or(|belief| above(belief) >= LIKELY)
    }

    /// How worth asking candidate `c` is, which is not allowed: by how much all bounds together are expected to be broken, turned
    /// negative; where that is no more than noise seems, what is hoped of the worst of them, and where all are sure to be kept, of the
    /// objective, whose belief is given. What breaks least lies beside the point in use, and would tell nothing.
    pub fn nearness(&self, c: usize, (mean, variance): (f32, f32)) -> f32 {
        let noise =
            math::sqrt(self.problem.fidelities[self.problem.truth()].noise) / self.task.scale.deviation;
        let [mut broken, mut hoped, mut sure] = self.task.trials.floor.nearness(mean, variance, noise);
        for (g, watched) in self.memory.guards.iter().enumerate() {
            let Some(belief) = self.guard_belief(g, c) else { return -LARGEST_VALUE };
            let near = watched.bound.nearness(belief.0, belief.1, self.guard_noise(g));
            (broken, hoped, sure) = (broken + near[0], hoped.min(near[1]), sure.min(near[2]));
        }
        if sure >= 0.0 { SURE + mean + math::sqrt(variance) } else { hoped.max(-broken) }
    }

    /// Deviation of a measurement of the KPI of guard `g` at the target fidelity, standardised.
    fn guard_noise(&self, g: usize) -> f32 {
        math::sqrt(self.problem.guards[g].noise[self.problem.truth()]) / self.memory.guards[g].deviation
    }

    /// Notes whether the floor and which guards rule candidate `c` out.
    pub fn note_ruled_out(&mut self, c: usize, (mean, variance): (f32, f32), first: bool) {
        let (round, trials) = (self.round(), &mut self.task.trials);
        let out = trials.floor.lower(mean, variance, round) < trials.floor.at;
        let count = |known: &mut u32, more| *known = if first { 0 } else { *known } + u32::from(more);
        count(&mut trials.looked_at, true);
        count(&mut trials.floor.ruled_out, out);
        for g in 0..self.problem.guards.len() {
            let out = self.rules_out(g, c);
            count(&mut self.memory.guards[g].bound.ruled_out, out);
        }
    }

    /// Whether floor and guards are kept at candidate `c` with the probability that their risks ask for; for the floor it is enough
    /// to be as sure as the point in use, which is so many standard deviations above it, unless that is below. Of a bound that is not
    /// known yet nothing is sure. `belief`: mean and variance.
    pub fn is_assured(&self, c: usize, belief: (f32, f32), in_use: f32) -> bool {
        let bound = &self.task.trials.floor;
        let floor = self.problem.floor.is_none_or(|floor| {
            if !bound.at.is_finite() {
                return false;
            }
            let above = bound.above(belief.0, belief.1);
            assures(above, floor.risk) || above >= in_use.max(0.0)
        });
        let kept = |(g, guard): (usize, &Guard<'_>)| {
            let bound = &self.memory.guards[g].bound;
            let belief = self.guard_belief(g, c).filter(|_| bound.at.is_finite());
            belief.is_some_and(|(mean, variance)| assures(bound.above(mean, variance), guard.floor.risk))
        };
        floor && self.problem.guards.iter().enumerate().all(kept)
    }

    /// Renews every guard's bound, judges the last trial by it, and lets its deviation follow the answers. The candidates are the
    /// point in use and the trial's.
    pub fn judge_guards(&mut self, failed: bool, weight: (f32, f32), first: bool) {
        for (g, guard) in self.problem.guards.iter().enumerate() {
            let (Some((v, _)), Some((mean, variance))) = (self.guard_belief(g, 0), self.guard_belief(g, 1))
            else {
                continue;
            };
            let (watched, sign) = (&mut self.memory.guards[g], guard.side.sign());
            let (scale, answers) = (watched.scale(), self.memory.data.len() - self.task.remembered);
            let at = guard.floor.level.at(scale.undo(sign * v), sign);
            watched.bound.at = sign * scale.apply(at);
            if !first {
                let by = (watched.bound.at - mean) / math::sqrt(variance);
                let chance = if failed { 1.0 } else { math::exp(math::ln_normal_cdf(by)) };
                watched.bound.judge((guard.floor.risk, GUARD_FALLS), chance, weight);
            }
            let believed = first_deviation(guard, watched.mean) / scale.deviation;
            let misfit = answers as f32 * watched.misfit / watched.used as f32;
            let by = (BELIEVED * believed * believed + misfit) / (BELIEVED + answers as f32);
            watched.deviation *= math::clamp(math::sqrt(by), SHRINKS, GROWS);
            let scaled = watched.scale();
            let [at, in_use] = [at, scale.undo(sign * v)].map(|value| sign * scaled.apply(value));
            (watched.bound.at, watched.bound.in_use) = (at, in_use);
        }
    }

    pub fn guard_status(&self, g: usize) -> Option<GuardStatus> {
        let (watched, guard) = (self.memory.guards.get(g)?, self.problem.guards.get(g)?);
        let known = watched.bound.at.is_finite() && watched.deviation > 0.0;
        Some(GuardStatus {
            margin: watched.bound.margin,
            bound: known.then(|| watched.scale().undo(guard.side.sign() * watched.bound.at)),
            broken: watched.bound.broken,
            broken_time: watched.bound.time,
            ruled_out: watched.bound.ruled_out,
        })
    }
}

/// Whether an answer's KPIs are on the right side of every guard's bound.
pub(super) fn kept(guards: &[Guard<'_>], watched: &[Watched], kpis: &[f32]) -> bool {
    let mut each = guards.iter().zip(watched).zip(kpis);
    each.all(|((guard, watched), kpi)| guard.side.sign() * watched.scale().apply(*kpi) >= watched.bound.at)
}

/// Whether what is so many standard deviations above its bound is above with the probability that the risk asks for.
fn assures(above: f32, risk: f32) -> bool {
    math::ln_normal_cdf(above) >= math::ln(1.0 - risk)
}

/// Of a KPI of which the point in use gave `v`, before more is known: as a floor's.
fn first_deviation(guard: &Guard<'_>, v: f32) -> f32 {
    let (noise, sign) = (guard.noise.last().copied().unwrap_or(0.0), guard.side.sign());
    Scale::around(v, guard.floor.level.at(v, sign), math::sqrt(noise), sign).deviation
}

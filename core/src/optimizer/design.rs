//! The batch design of [`crate::batch`], slice by slice, once a task when the initial points are in.

use super::candidates::Candidates;
use super::query::Query;
use super::state::Phase;
use super::sweep::first_phase;
use super::{Kind, Memory, Optimizer, rows};
use crate::batch;
use crate::gp::{Fallbacks, Observations, Particle, Posterior, Workspace};
use crate::kernel::MAX_FIDELITIES;
use crate::linalg::LANES;
use crate::random::{Purpose, Random};
use crate::search::Lattice;
use crate::settings::Method;

/// Where the design stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Design {
    /// Points wanted.
    wanted: usize,
    /// Points chosen.
    chosen: usize,
    best: Option<(f32, usize)>,
    stage: Stage,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    /// Factor of the chosen points under particle `v`.
    Factor { v: usize, first: usize },
    /// Variances of the candidates under particle `v`.
    Variances { v: usize, first: usize },
    /// Factor of the chosen points under the mean kernel, of which particle `v` is next.
    MeanFactor { first: usize, v: usize },
    /// Gain of the candidates, in whose mean kernel particle `v` is next.
    Gain { first: usize, v: usize },
}

const START: Stage = Stage::Factor { v: 0, first: 0 };

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
    /// How many points a design is wanted for now, if there is none yet.
    pub(super) fn design_wanted(&self) -> Option<usize> {
        let rounds = self.rounds();
        let points = match self.settings.method {
            Method::Myopic { .. } => rounds,
            Method::TwoPhase { c } => rounds - first_phase(c, rounds).min(rounds),
            _ => return None,
        };
        (self.state.designed.is_none() && self.initial_done()).then_some(points)
    }

    pub(super) fn start_design(&mut self, wanted: usize) {
        // The stream of a round that no query has: the design does not depend on what was observed.
        let mut random = Random::new(self.state.seed, self.state.task, u32::MAX, Purpose::Candidates, 0);
        let lattice = Lattice::new(self.problem.dimensions, self.settings.candidates, &mut random);
        let candidates = &mut self.memory.candidates;
        candidates.len = lattice.whole.unwrap_or(self.settings.candidates);
        for (index, x) in candidates.x[..candidates.len].iter_mut().enumerate() {
            *x = [0.0; D];
            lattice.point(self.problem.dimensions, index, x);
        }
        self.memory.design_fidelity.fill(self.problem.truth() as u8);
        let wanted = wanted.min(candidates.len);
        self.continue_design(Design { wanted, chosen: 0, best: Some((0.0, 0)), stage: START });
    }

    /// Takes the best candidate, and either goes on or leaves the design.
    fn continue_design(&mut self, design: Design) {
        let mut chosen = design.chosen;
        if let Some((_, best)) = design.best.filter(|_| chosen < design.wanted) {
            self.memory.design[chosen] = self.memory.candidates.x[best];
            chosen += 1;
        }
        if chosen == design.chosen || chosen == design.wanted {
            self.state.designed = Some(chosen);
            self.state.phase = Phase::Next;
            return;
        }
        self.memory.candidates.clear_tallies();
        self.state.phase = Phase::Design(Design { chosen, best: None, stage: START, ..design });
    }

    pub(super) fn design_slice(&mut self, mut design: Design) {
        let (particles, chosen) = (self.settings.particles, design.chosen);
        let len = self.memory.candidates.len;
        let next = match design.stage {
            Stage::Factor { v, first } if first < chosen => {
                self.factor_design(v, chosen, first).then_some(Stage::Factor { v, first: first + LANES })
            }
            Stage::Factor { v, .. } => Some(Stage::Variances { v, first: 0 }),
            Stage::Variances { v, first } if first < len => {
                self.variances_slice(v, chosen, first);
                Some(Stage::Variances { v, first: first + LANES })
            }
            Stage::Variances { v, .. } if v + 1 < particles => Some(Stage::Factor { v: v + 1, first: 0 }),
            Stage::Variances { .. } => Some(Stage::MeanFactor { first: 0, v: 0 }),
            Stage::MeanFactor { first, v } if first < chosen => match v < particles {
                true => {
                    self.add_kernel(v, chosen, first, false);
                    Some(Stage::MeanFactor { first, v: v + 1 })
                }
                false => self
                    .mean_factor_slice(chosen, first)
                    .then_some(Stage::MeanFactor { first: first + LANES, v: 0 }),
            },
            Stage::MeanFactor { .. } => Some(Stage::Gain { first: 0, v: 0 }),
            Stage::Gain { first, v } if v < particles => {
                self.add_kernel(v, chosen, first, true);
                Some(Stage::Gain { first, v: v + 1 })
            }
            Stage::Gain { first, .. } => {
                self.gain_slice(&mut design, first);
                (first + LANES < len).then_some(Stage::Gain { first: first + LANES, v: 0 })
            }
        };
        match next {
            Some(stage) => {
                design.stage = stage;
                self.state.phase = Phase::Design(design);
            }
            // All candidates weighed; or a particle's kernel is not finite, and the design ends with what it has.
            None => self.continue_design(design),
        }
    }

    fn factor_design(&mut self, v: usize, chosen: usize, first: usize) -> bool {
        self.with_design_particle(v, chosen, |gp, particle, data, fallbacks, _| {
            gp.factor(particle, data, first, fallbacks).is_ok()
        })
    }

    /// Calls `work` with the workspace, particle `v` and the chosen points as observations.
    fn with_design_particle<R>(
        &mut self,
        v: usize,
        chosen: usize,
        work: impl FnOnce(
            &mut Workspace<'_>,
            &Particle<'_>,
            &Observations<'_>,
            &mut Fallbacks,
            &mut Candidates<D, M, Q>,
        ) -> R,
    ) -> R {
        let noise = self.noise();
        let memory = &mut *self.memory;
        let points = rows(&memory.design[..chosen]);
        let data = Observations { points, fidelity: &memory.design_fidelity[..chosen], z: &[] };
        let theta = &memory.particles[v][..self.model.parameters()];
        let fallbacks = &mut self.state.fallbacks;
        let particle = Particle::with(
            Self::MAPS,
            &self.model,
            theta,
            &noise[..self.problem.fidelities.len()],
            fallbacks,
        );
        work(&mut memory.gp.workspace(), &particle, &data, fallbacks, &mut memory.candidates)
    }

    /// Adds `ln(sᵥ² + σ²)` of 8 candidates to their tallies.
    fn variances_slice(&mut self, v: usize, chosen: usize, first: usize) {
        let fidelities = self.problem.fidelities.len();
        self.with_design_particle(v, chosen, |gp, particle, data, _, candidates| {
            let end = (first + LANES).min(candidates.len);
            let mut beliefs = [Posterior::default(); LANES * MAX_FIDELITIES];
            let beliefs = &mut beliefs[..(end - first) * fidelities];
            gp.posterior(particle, data, rows(&candidates.x[first..end]), fidelities, beliefs);
            for (tally, beliefs) in candidates.tally[first..end].iter_mut().zip(beliefs.chunks(fidelities)) {
                let truth = beliefs[fidelities - 1];
                tally[0].add(&truth, particle.noise[fidelities - 1], 0.0, v + 1);
            }
        });
    }

    /// Adds what particle `v` contributes to the mean kernel of the chosen points with a block of themselves or of the
    /// candidates.
    fn add_kernel(&mut self, v: usize, chosen: usize, first: usize, of_candidates: bool) {
        let weight = 1.0 / self.settings.particles as f32;
        let noise = self.noise();
        let Memory { gp, particles, design, candidates, .. } = &mut *self.memory;
        let theta = &particles[v][..self.model.parameters()];
        let fidelities = self.problem.fidelities.len();
        let particle =
            Particle::with(Self::MAPS, &self.model, theta, &noise[..fidelities], &mut Default::default());
        let others = if of_candidates { &candidates.x[..candidates.len] } else { &design[..chosen] };
        let count = LANES.min(others.len() - first);
        let others = (rows(&others[first..first + count]), count);
        gp.workspace().add_kernel(&particle, v == 0, weight, (rows(&design[..chosen]), chosen), others);
    }

    /// Signal and noise of the truth's fidelity, averaged over particles.
    fn mean_signal_and_noise(&self) -> (f32, f32) {
        let (noise, truth) = (self.noise(), self.problem.truth());
        let (mut signal, mut sum) = (0.0, 0.0);
        for theta in self.particles() {
            let particle =
                Particle::with(Self::MAPS, &self.model, theta, &noise[..=truth], &mut Default::default());
            signal += particle.hyper.signal;
            sum += particle.noise[truth];
        }
        let v = self.settings.particles as f32;
        (signal / v, sum / v)
    }

    fn mean_factor_slice(&mut self, chosen: usize, first: usize) -> bool {
        let (_, noise) = self.mean_signal_and_noise();
        let count = LANES.min(chosen - first);
        self.memory.gp.workspace().factor_mean(first, count, noise).is_ok()
    }

    /// Weighs 8 candidates; those chosen before are out.
    fn gain_slice(&mut self, design: &mut Design, first: usize) {
        let (signal, noise) = self.mean_signal_and_noise();
        let variances = self.memory.gp.workspace().mean_variances(design.chosen, signal);
        let candidates = &self.memory.candidates;
        for (c, variance) in (first..candidates.len.min(first + LANES)).zip(variances) {
            let tally = &candidates.tally[c][0];
            let gain = batch::gain(variance, noise, tally.log_variance(), self.settings.particles);
            let known = self.memory.design[..design.chosen].contains(&candidates.x[c]);
            if !known && design.best.is_none_or(|(best, _)| gain > best) {
                design.best = Some((gain, c));
            }
        }
    }

    /// The next point of the design, if there is one left that can be paid.
    pub(super) fn design_query(&mut self) -> Option<Query<D>> {
        let truth = self.problem.truth();
        while self.state.next_design < self.state.designed.unwrap_or(0) {
            let x = self.memory.design[self.state.next_design];
            self.state.next_design += 1;
            if self.memory.data.count(&x, truth) == 0 && !self.has_failed(&x, truth) {
                return Some(self.query(x, truth, Kind::Search));
            }
        }
        None
    }
}

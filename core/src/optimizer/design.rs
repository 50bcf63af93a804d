//! The batch design of [`crate::batch`], slice by slice, once a task when the initial points are in.

use super::candidates::Candidates;
use super::decide::Next;
use super::search::Objective;
use super::state::State;
use crate::batch;
use crate::data::{Kind, Point};
use crate::gp::{Fallbacks, Observations, Particle, Posterior, Workspace};
use crate::kernel::MAX_FIDELITIES;
use crate::linalg::{LANES, column, column_mut};
use crate::random::{Purpose, Random};
use crate::search::Lattice;
use crate::settings::Method;

/// A design in the making.
#[derive(Debug)]
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
    /// All candidates are weighed.
    Choose,
}

const START: Stage = Stage::Factor { v: 0, first: 0 };

impl State<'_> {
    /// Whether the method asks at the target fidelity alone, after the initial points.
    pub fn only_at_target(&self) -> bool {
        !matches!(self.settings.details.method, Method::MfMes | Method::Continual | Method::MftMes)
    }

    /// What those methods look for next, or the next point of the batch design.
    pub fn next_of_the_paper(&mut self) -> Next {
        let coin = |c: f32| self.random(Purpose::Coin, 0).uniform() < c;
        Next::Search(match self.settings.details.method {
            Method::Separation { c } | Method::Myopic { c } if coin(c) => Objective::Optimum,
            Method::Separation { .. } => Objective::Parameters,
            Method::TwoPhase { c } if self.asked_so_far() < self.first_phase(c) => Objective::Optimum,
            _ => match self.design_point() {
                Some(x) => return Next::Hand(self.query(x, self.problem.truth(), Kind::Search)),
                None => Objective::Optimum,
            },
        })
    }

    /// `T = ⌊Λ/λ⁽ᴹ⁾⌋`, or as many as fit behind the initial points: queries of the methods that work at the truth's
    /// fidelity.
    pub fn rounds(&self) -> usize {
        let paid = self.problem.budget / self.problem.fidelities[self.problem.truth()].cost;
        let taken = self.settings.initial + self.task.remembered;
        (paid as usize).min(self.memory.data.rows().saturating_sub(taken))
    }

    /// `⌈cT⌉`: queries of the first phase of Two-phase.
    pub fn first_phase(&self, c: f32) -> usize {
        libm::ceilf(c * self.rounds() as f32) as usize
    }

    /// Queries so far but for the initial points, failed ones included.
    pub fn asked_so_far(&self) -> usize {
        self.charged().count()
    }

    /// How many points a design is wanted for now, if there is none yet.
    pub fn design_wanted(&self) -> Option<usize> {
        let rounds = self.rounds();
        let points = match self.settings.details.method {
            Method::Myopic { .. } => rounds,
            Method::TwoPhase { c } => rounds - self.first_phase(c).min(rounds),
            _ => return None,
        };
        (self.task.design.points.is_none() && self.initial_done()).then_some(points)
    }

    /// The next point of the design, if there is one left that was not asked yet.
    pub fn design_point(&mut self) -> Option<Point> {
        let truth = self.problem.truth();
        while self.task.design.next < self.task.design.points.unwrap_or(0) {
            let x = self.memory.design.column(self.task.design.next).data.into_slice();
            self.task.design.next += 1;
            if self.memory.data.count(x, truth) == 0 {
                return Some(x.iter().copied().collect());
            }
        }
        None
    }

    /// Signal and noise of the target fidelity, averaged over particles.
    fn mean_signal_and_noise(&self) -> (f32, f32) {
        let (noise, truth) = (self.noise(), self.problem.truth());
        let (mut signal, mut sum) = (0.0, 0.0);
        for theta in self.memory.particles.column_iter() {
            let (theta, maps) = (theta.data.into_slice(), self.memory.maps);
            let particle =
                Particle::with(maps, &self.model, theta, &noise[..=truth], &mut Default::default());
            signal += particle.hyper.signal;
            sum += particle.noise[truth];
        }
        let v = self.settings.particles as f32;
        (signal / v, sum / v)
    }
}

impl Design {
    /// Chooses the candidates; the first of them is the first point.
    pub fn new(wanted: usize, state: &mut State<'_>) -> Design {
        // The stream of a round that no query has: the design does not depend on what was observed.
        let mut random = Random::new(state.task.seed, state.task.number, u32::MAX, Purpose::Candidates, 0);
        let (dimensions, count) = (state.problem.dimensions, state.settings.candidates);
        let lattice = Lattice::new(dimensions, count, &mut random);
        let candidates = &mut state.memory.candidates;
        candidates.len = 0;
        for index in 0..lattice.whole.unwrap_or(count) {
            candidates.push(|x| lattice.point(dimensions, index, x));
        }
        candidates.settle(&state.problem, state.start.deployed.as_deref(), &state.conditions);
        state.memory.design_fidelity.fill(state.problem.truth() as u8);
        Design { wanted: wanted.min(candidates.len), chosen: 0, best: Some((0.0, 0)), stage: Stage::Choose }
    }

    /// One slice; whether the design is made.
    pub fn advance(&mut self, state: &mut State<'_>) -> bool {
        let (particles, chosen) = (state.settings.particles, self.chosen);
        let len = state.memory.candidates.len;
        let next = match self.stage {
            Stage::Choose => return self.choose(state),
            Stage::Factor { v, first } if first < chosen => {
                self.factor(state, v, first).then_some(Stage::Factor { v, first: first + LANES })
            }
            Stage::Factor { v, .. } => Some(Stage::Variances { v, first: 0 }),
            Stage::Variances { v, first } if first < len => {
                self.variances(state, v, first);
                Some(Stage::Variances { v, first: first + LANES })
            }
            Stage::Variances { v, .. } if v + 1 < particles => Some(Stage::Factor { v: v + 1, first: 0 }),
            Stage::Variances { .. } => Some(Stage::MeanFactor { first: 0, v: 0 }),
            Stage::MeanFactor { first, v } if first < chosen => match v < particles {
                true => {
                    self.add_kernel(state, v, first, false);
                    Some(Stage::MeanFactor { first, v: v + 1 })
                }
                false => {
                    self.mean_factor(state, first).then_some(Stage::MeanFactor { first: first + LANES, v: 0 })
                }
            },
            Stage::MeanFactor { .. } => Some(Stage::Gain { first: 0, v: 0 }),
            Stage::Gain { first, v } if v < particles => {
                self.add_kernel(state, v, first, true);
                Some(Stage::Gain { first, v: v + 1 })
            }
            Stage::Gain { first, .. } => {
                self.gain(state, first);
                (first + LANES < len).then_some(Stage::Gain { first: first + LANES, v: 0 })
            }
        };
        // Nothing next: all candidates weighed; or a particle's kernel is not finite, and the design ends with what it
        // has.
        self.stage = next.unwrap_or(Stage::Choose);
        false
    }

    /// Takes the best candidate; whether that was the last.
    fn choose(&mut self, state: &mut State<'_>) -> bool {
        let before = self.chosen;
        if let Some((_, best)) = self.best.filter(|_| before < self.wanted) {
            let candidates = &state.memory.candidates;
            column_mut(&mut state.memory.design, before).copy_from_slice(candidates.point(best));
            self.chosen += 1;
        }
        if self.chosen == before || self.chosen == self.wanted {
            state.task.design.points = Some(self.chosen);
            return true;
        }
        state.memory.candidates.clear_sums();
        (self.best, self.stage) = (None, START);
        false
    }

    /// Calls `work` with the workspace, particle `v` and the chosen points as observations.
    fn with_particle<R>(
        &self,
        state: &mut State<'_>,
        v: usize,
        work: impl FnOnce(
            &mut Workspace<'_>,
            &Particle<'_>,
            &Observations<'_>,
            &mut Fallbacks,
            &mut Candidates<'_>,
        ) -> R,
    ) -> R {
        let (noise, fidelities) = (state.noise(), state.problem.fidelities.len());
        let State { memory, task, model, .. } = state;
        let points = memory.design.columns(0, self.chosen);
        let data = Observations {
            points,
            fidelity: &memory.design_fidelity[..self.chosen],
            z: &[],
            counts: &[],
            common: None,
        };
        let (particles, fallbacks) = (memory.particles.as_view(), &mut task.fallbacks);
        let theta = column(&particles, v);
        let particle = Particle::with(memory.maps, model, theta, &noise[..fidelities], fallbacks);
        work(&mut memory.gp, &particle, &data, fallbacks, &mut memory.candidates)
    }

    fn factor(&self, state: &mut State<'_>, v: usize, first: usize) -> bool {
        self.with_particle(state, v, |gp, particle, data, fallbacks, _| {
            gp.factor(particle, data, first, fallbacks).is_ok()
        })
    }

    /// Adds `ln(sᵥ² + σ²)` of 8 candidates to their sums.
    fn variances(&self, state: &mut State<'_>, v: usize, first: usize) {
        let fidelities = state.problem.fidelities.len();
        self.with_particle(state, v, |gp, particle, data, _, candidates| {
            let end = (first + LANES).min(candidates.len);
            let mut beliefs = [Posterior::default(); LANES * MAX_FIDELITIES];
            let beliefs = &mut beliefs[..(end - first) * fidelities];
            gp.posterior(particle, data, candidates.points(first, end), fidelities, beliefs);
            let sums = candidates.sums[first * fidelities..].chunks_exact_mut(fidelities);
            for (sums, beliefs) in sums.zip(beliefs.chunks(fidelities)) {
                let truth = beliefs[fidelities - 1];
                sums[0].add(&truth, particle.noise[fidelities - 1], 0.0, v + 1);
            }
        });
    }

    /// Adds what particle `v` contributes to the mean kernel of the chosen points with a block of themselves or of the
    /// candidates.
    fn add_kernel(&self, state: &mut State<'_>, v: usize, first: usize, of_candidates: bool) {
        let weight = 1.0 / state.settings.particles as f32;
        self.with_particle(state, v, |gp, particle, data, _, candidates| {
            let all = if of_candidates { candidates.len } else { self.chosen };
            let count = LANES.min(all - first);
            let others = match of_candidates {
                true => candidates.points(first, first + count),
                false => data.points.columns(first, count),
            };
            gp.add_kernel(particle, v == 0, weight, data.points, others);
        });
    }

    fn mean_factor(&self, state: &mut State<'_>, first: usize) -> bool {
        let (_, noise) = state.mean_signal_and_noise();
        let count = LANES.min(self.chosen - first);
        state.memory.gp.factor_mean(first, count, noise).is_ok()
    }

    /// Weighs 8 candidates; those chosen before are out.
    fn gain(&mut self, state: &mut State<'_>, first: usize) {
        let (signal, noise) = state.mean_signal_and_noise();
        let variances = state.memory.gp.mean_variances(self.chosen, signal);
        let (candidates, design) = (&state.memory.candidates, state.memory.design.as_view());
        for (c, variance) in (first..candidates.len.min(first + LANES)).zip(variances) {
            let sums = &candidates.sums[candidates.at(c)];
            let gain = batch::gain(variance, noise, sums.log_variance, state.settings.particles);
            let known = (0..self.chosen).any(|i| column(&design, i) == candidates.point(c));
            if !known && self.best.is_none_or(|(best, _)| gain > best) {
                self.best = Some((gain, c));
            }
        }
    }
}

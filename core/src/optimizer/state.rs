//! What an optimizer knows: problem, settings, memory, and where the current task stands.

use super::candidates::last_to_front;
use super::drift::Changes;
use super::memory::Buffers;
use super::query::{Query, Recommendation, Stop};
use super::trials::{Start, Trials};
use super::trust::Trust;
use crate::data::{Data, Kind, Kpis, Point, Record, Standard};
use crate::features::Maps;
use crate::fleet::{Fleet, Header};
use crate::gp::{Fallbacks, Particle};
use crate::kernel::{MAX_FIDELITIES, Model};
use crate::linalg::{column, swap_columns};
use crate::live::Level;
use crate::math::{self, LARGEST_VALUE};
use crate::random::{Purpose, Random};
use crate::scale::{Scale, Scaling};
use crate::settings::Settings;
use crate::space::Problem;

/// Standardised noise is at most this: beyond, an observation says nothing anyway.
const LARGEST_NOISE: f32 = 1e12;
/// Standard deviations below its remembered value from which on a carried point speaks against what is remembered; twice
/// as many, of one point or together, settle it.
const REFUTED: f32 = 2.0;

/// Everything but what the next slice of work is.
pub(super) struct State<'a> {
    pub problem: Problem<'a>,
    pub settings: Settings,
    pub model: Model,
    pub memory: Buffers<'a>,
    /// The point in use at the task's start, in the unit cube, and the margin then.
    pub start: Start,
    /// The conditions at hand, in the unit cube, at their places in a point.
    pub conditions: Point,
    pub task: Task,
    pub trust: Trust<'a>,
}

/// Where a task stands, but for the big arrays.
pub(super) struct Task {
    pub seed: u64,
    pub number: u32,
    /// Whether more has been done than drawing particles.
    pub begun: bool,
    /// The query handed out, without its answer.
    pub asked: Option<Record>,
    /// Why the task has ended, once it has; then follow the last learning and the recommendation.
    pub stop: Option<Stop>,
    /// The user wants the task to end.
    pub stopping: bool,
    pub scale: Scale,
    /// Whether the scale shows more than noise, so that what lies far away can be judged by it.
    pub settled: bool,
    /// Whether the newest carried point comes from a task that was unlike those before it.
    pub newest_is_unlike: bool,
    /// The same for the task that follows.
    pub best_is_unlike: bool,
    pub next_carried: usize,
    /// Values remembered of earlier tasks: the first slots of the data.
    pub remembered: usize,
    /// Past measurements that count already: the slots behind those.
    pub past: usize,
    #[cfg(feature = "paper")]
    pub design: Made,
    /// Learning steps of this task so far.
    pub steps: u32,
    pub recommendation: Option<Recommendation>,
    pub fallbacks: Fallbacks,
    pub trials: Trials,
    pub changes: Changes,
}

/// The batch design of a task: its points, once it is made, and which of them is next.
#[cfg(feature = "paper")]
#[derive(Clone, Copy, Default)]
pub(super) struct Made {
    pub points: Option<usize>,
    pub next: usize,
}

impl Task {
    /// At the start.
    pub fn new(seed: u64, number: u32, scaling: Scaling) -> Self {
        Task {
            seed,
            number,
            begun: false,
            asked: None,
            stop: None,
            stopping: false,
            scale: match scaling {
                Scaling::Fixed { mean, deviation } => Scale { mean, deviation, warp: 0.0 },
                Scaling::Initial | Scaling::Running | Scaling::Robust => Scale::IDENTITY,
            },
            settled: matches!(scaling, Scaling::Fixed { .. }),
            newest_is_unlike: false,
            best_is_unlike: false,
            next_carried: 0,
            remembered: 0,
            past: 0,
            #[cfg(feature = "paper")]
            design: Default::default(),
            steps: 0,
            recommendation: None,
            fallbacks: Fallbacks::default(),
            trials: Trials::NONE,
            changes: Changes::NONE,
        }
    }
}

/// How many times farther from the median bad answers lie than good ones, on average, where their logarithm is taken.
const HEAVY: f32 = 2.0;
const PLAINLY_HEAVY: f32 = 10.0;

impl<'a> State<'a> {
    /// Sets up task `number`; the particles in the memory are the last task's, as are the answers that go on.
    pub fn begin(&mut self, number: u32) {
        let kept = self.memory.data.set_aside();
        self.memory.data.clear();
        if let Some(centres) = self.memory.centres.as_mut().filter(|_| number > 1) {
            centres.copy_from(&self.memory.particles);
        }
        self.memory.moments.fill(0.0);
        let Task { seed, newest_is_unlike, .. } = self.task;
        let best_is_unlike = newest_is_unlike;
        self.task = Task {
            newest_is_unlike,
            best_is_unlike,
            ..Task::new(seed, number, self.settings.details.scaling)
        };
        self.task.trials.floor.margin = self.start.margin;
        self.begin_guards();
        self.trust.begin();
        if number == 1 && self.fleet().is_some() {
            self.carry_typical();
        } else {
            self.remember();
        }
        self.memory.data.take_back(kept);
    }

    /// Puts the values remembered of carried points into the data's first slots.
    fn remember(&mut self) {
        let level = self.problem.fidelities.len();
        let wanted = self.carried().min(self.settings.remembers());
        for i in 0..wanted {
            let y = Some(self.memory.carried.values[i]);
            let (unit, kind, kpis) = (self.carried_point(i), Kind::Carried, Kpis::new());
            let record = Record { unit, fidelity: level, kind, y, kpis, cost: None };
            self.task.remembered += usize::from(self.memory.data.push(&record).is_ok());
        }
        // The first search may come before the first answer.
        if self.task.remembered > 0 {
            self.rescale();
        }
    }

    /// A choice under the conditions at hand.
    #[inline(never)]
    pub fn here(&self, mut x: Point) -> Point {
        self.problem.put_conditions(&self.conditions, &mut x);
        x
    }

    /// Number of points carried from earlier tasks.
    pub fn carried(&self) -> usize {
        self.memory.carried.values.len()
    }

    /// Carried point `i`, in the unit cube.
    pub fn carried_point(&self, i: usize) -> Point {
        self.memory.carried.points.column(i).iter().copied().collect()
    }

    /// Whether this task began with the last one's particles.
    pub fn carries_centres(&self) -> bool {
        self.task.number > 1 && self.settings.carries_particles()
    }

    /// Whether this task's prior is the density estimate on the last task's particles.
    pub fn learns_from_centres(&self) -> bool {
        self.carries_centres() && !self.trust.now
    }

    /// Whether this task begins with drawing particles.
    pub fn draws(&self) -> bool {
        !self.learns_from_centres() || self.draws_again()
    }

    /// Whether later tasks, too, begin with particles of the first prior; the last task's are then the centres of their prior only.
    /// With one fidelity the last answers of a task lie close to its optimum, and lengthscales that these taught are too short to
    /// search the next task with.
    pub fn draws_again(&self) -> bool {
        let has_share = self.settings.details.kde_mix > 0.0;
        has_share && self.problem.fidelities.len() == 1 && !self.problem.is_guarded()
    }

    /// Queries answered so far.
    pub fn round(&self) -> u32 {
        (self.memory.data.len() - self.task.remembered - self.task.past) as u32
    }

    pub fn random(&self, purpose: Purpose, index: u32) -> Random {
        Random::new(self.task.seed, self.task.number, self.round(), purpose, index)
    }

    /// Draws particle `v` from the prior, or around a fleet's parameters.
    pub fn draw_particle(&mut self, v: usize) {
        if self.fleet().is_some() {
            let theta = self.drawn_theta(v);
            let particle = self.memory.particles.column_mut(v).data.into_slice_mut();
            return particle.iter_mut().zip(theta).for_each(|(particle, theta)| *particle = theta);
        }
        let mut random = Random::new(self.task.seed, self.task.number, 0, Purpose::Prior, v as u32);
        let theta = self.memory.particles.column_mut(v).data.into_slice_mut();
        self.settings.details.prior.sample(&self.model, &mut random, theta);
    }

    /// Whether all initial points are answered, for better or worse.
    ///
    /// With a floor, the point in use is all there is.
    pub fn initial_done(&self) -> bool {
        if self.problem.is_guarded() {
            return self.round() > 0;
        }
        let data = &self.memory.data;
        // Answers that were kept do as well.
        let starts = |kind| kind == Kind::Initial || kind == Kind::Past && self.settings.kept > 0;
        let initial = (self.task.remembered..data.len()).filter(|&i| starts(data.kind(i)));
        let half = || self.charges_start() && self.start.deployed.is_none() && self.is_past(0.5);
        initial.count() >= self.settings.initial || half()
    }

    /// Whether carried points and values play a part: the budget's share without them is spent, and the task did not
    /// turn out to be unlike the earlier ones. A fleet's typical points need not wait: they are of many sites.
    pub fn uses_memory(&self) -> bool {
        // Asked in every slice: no counting where there is nothing to wait for.
        let after = self.settings.memory_after;
        let typical = self.task.number == 1 && self.fleet().is_some();
        (after == 0.0 || typical || self.is_past(after)) && !self.is_unlike()
    }

    /// Whether carried points, measured again, are all worth far less than is remembered. Then the task is not like the
    /// earlier ones, and it is better off without what they left. The newest may settle it alone, but not if it comes
    /// from a task that was itself unlike those before it: the others may yet hold.
    pub fn is_unlike(&self) -> bool {
        let Task { remembered, newest_is_unlike, .. } = self.task;
        if self.trust.now {
            return true;
        }
        if remembered == 0 {
            return false;
        }
        let data = &self.memory.data;
        let (known, told) = data.z().split_at(remembered);
        let deviation = self.settings.details.memory_deviation;
        let limit = REFUTED * math::sqrt(deviation * deviation + self.noise()[self.problem.truth()]);
        let (mut refuted, mut short) = (0, 0.0);
        for (i, z) in told.iter().enumerate().map(|(i, z)| (remembered + i, z)) {
            if data.kind(i) == Kind::Carried
                && let Some(j) = (0..remembered).find(|&j| data.point(j) == data.point(i))
            {
                let by = known[j] - z;
                if by <= limit {
                    return false;
                }
                refuted += 1;
                short += by;
            }
        }
        refuted == remembered || short >= 2.0 * limit && (refuted > 1 || !newest_is_unlike)
    }

    /// Whether this problem has such a point and such a fidelity.
    pub fn has_query(&self, Record { unit, fidelity, .. }: &Record) -> bool {
        let Problem { dimensions, fidelities, .. } = self.problem;
        unit.len() == dimensions.len()
            && unit.iter().zip(dimensions).all(|(x, dimension)| dimension.snap(*x) == *x)
            && *fidelity < fidelities.len()
    }

    /// Whether a query has not failed and is not a repetition for nothing: the rule at the head of
    /// [`optimizer`](super).
    pub fn worth_asking(&self, x: &[f32], fidelity: usize, again: bool) -> bool {
        let data = &self.memory.data;
        let (mut possible, mut worth) = (data.has_row(), true);
        for i in data.asked(x, fidelity).filter(|&i| i >= data.begins()) {
            (possible, worth) = (true, worth && again && !data.failed(i));
        }
        possible && worth
    }

    /// Renews the scale, if it is time to, and what the model sees of the observations.
    ///
    /// The scale is that of the task's own answers; as long as there are none, that of the remembered values.
    pub fn rescale(&mut self) {
        if let Some(fleet) = self.fleet() {
            let &Header { mean, deviation, .. } = fleet.header();
            (self.task.scale, self.task.settled) = (Scale { mean, deviation, warp: 0.0 }, true);
            self.restandardise();
            return self.memory.data.describe(&fleet);
        }
        if self.problem.is_guarded() {
            return self.rescale_around(self.problem.floor);
        }
        let data = &self.memory.data;
        let last_is_initial = matches!(data.kind(data.len() - 1), Kind::Initial | Kind::Past);
        let renew = match self.settings.details.scaling {
            Scaling::Fixed { .. } => false,
            Scaling::Initial | Scaling::Robust => last_is_initial || !self.task.settled,
            Scaling::Running => true,
        };
        let least = self.problem.fidelities.iter().fold(f32::INFINITY, |least, f| least.min(f.noise));
        let (noise, own) = (math::sqrt(least), self.task.remembered);
        if let Some(warped) = self.warped_scale(noise) {
            (self.task.scale, self.task.settled) = (warped, false);
        } else if renew {
            let scale = Scale::of(data.told(own), noise);
            self.task.settled = scale.deviation > Scale::least(data.told(own), noise);
            self.task.scale = if self.has_told() { scale } else { Scale::of(data.told(0), noise) };
        }
        self.restandardise();
    }

    /// Whether all answers are the same. Of such answers particles would learn that nothing is to be found anywhere.
    pub fn is_flat(&self) -> bool {
        let told = self.memory.data.told(self.task.remembered);
        !self.task.settled && Scale::of(told.clone(), 0.0).deviation <= Scale::least(told, 0.0)
    }

    /// Renews what the model sees of the observations.
    pub fn restandardise(&mut self) {
        let by_share = self.problem.floor.is_some_and(|floor| matches!(floor.level, Level::Share(_)));
        let (scale, sign, moved) = (self.task.scale, self.problem.goal.sign(), self.task.changes.drift.moved);
        self.memory.data.rescale(Standard { scale, sign, by_share, moved });
    }

    /// The scale where bad answers lie far out. With one fidelity any answer shows it; with several, whose searches gather where
    /// it is good, only the initial ones do, and it must be plain.
    fn warped_scale(&self, noise: f32) -> Option<Scale> {
        let (data, own, sign) = (&self.memory.data, self.task.remembered, self.problem.goal.sign());
        if self.settings.details.scaling != Scaling::Robust {
            return None;
        }
        if self.problem.truth() > 0 {
            Scale::warped(data.started(own), noise, sign, PLAINLY_HEAVY)?;
        }
        Scale::warped(data.told(own), noise, sign, HEAVY)
    }

    /// Whether the task has an answer that is believed.
    pub fn has_told(&self) -> bool {
        self.memory.data.told(self.task.remembered).next().is_some()
    }

    /// A standardised value in units of the observations; no larger than these may be, so that it can be kept like one.
    pub fn in_units(&self, z: f32) -> f32 {
        let value = self.task.scale.undo(self.problem.goal.sign() * z);
        math::clamp(value, -LARGEST_VALUE, LARGEST_VALUE)
    }

    /// Standardised noise variance per fidelity.
    pub fn noise(&self) -> [f32; MAX_FIDELITIES] {
        let variances = self.problem.fidelities.iter().map(|fidelity| fidelity.noise);
        standardised(variances, self.task.scale.deviation)
    }

    /// What the model sees of the data.
    pub fn view(&self) -> ModelView<'a> {
        let remembered = self.task.remembered;
        self.view_from(if remembered == 0 || self.uses_memory() { 0 } else { remembered })
    }

    /// The same of those from slot `from` on.
    pub fn view_from(&self, from: usize) -> ModelView<'a> {
        let (remembered, fidelities) = (self.task.remembered, self.problem.fidelities.len());
        let mut noise = self.noise();
        if remembered > 0 {
            let deviation = self.settings.details.memory_deviation;
            noise[fidelities] = (deviation * deviation).max(noise[fidelities - 1]);
        }
        ModelView {
            noise,
            fidelities,
            from,
            remembers: remembered > 0,
            older: (0, 0.0),
            maps: self.memory.maps,
            fleet: self.fleet(),
        }
        .with_older(
            &self.memory.data,
            from,
            self.task.changes.drift.blur / self.task.scale.deviation,
        )
    }

    pub fn query(&self, unit: Point, fidelity: usize, kind: Kind) -> Query {
        let point = self.natural(&unit);
        Query { task: self.task.number, round: self.round(), unit, point, fidelity, kind }
    }

    /// A point of the unit cube in natural units.
    pub fn natural(&self, unit: &[f32]) -> Point {
        self.problem.dimensions.iter().zip(unit).map(|(dimension, unit)| dimension.value(*unit)).collect()
    }

    /// The recommendation becomes the newest carried point.
    pub fn carry_best(&mut self) {
        let most = self.settings.carried;
        let Some(best) = self.task.recommendation.as_ref().filter(|_| most > 0) else { return };
        self.task.best_is_unlike = self.is_unlike();
        let (points, values) = (&mut self.memory.carried.points, &mut self.memory.carried.values);
        let known = (0..values.len()).find(|&i| column(&points.as_view(), i) == &best.unit[..]);
        let last = known.unwrap_or_else(|| {
            if values.len() < most {
                let _ = values.push(0.0);
            }
            values.len() - 1
        });
        for i in (0..last).rev() {
            swap_columns(points, i, i + 1);
        }
        points.column_mut(0).copy_from_slice(&best.unit);
        values[last] = best.mean;
        last_to_front(&mut values[..=last]);
    }
}

fn standardised(variances: impl Iterator<Item = f32>, deviation: f32) -> [f32; MAX_FIDELITIES] {
    let mut noise = [0.0; MAX_FIDELITIES];
    for (noise, variance) in noise.iter_mut().zip(variances) {
        *noise = (variance / deviation / deviation).min(LARGEST_NOISE);
    }
    noise
}

/// What the model sees: which of the data, and through which noise.
#[derive(Clone, Copy)]
pub(super) struct ModelView<'a> {
    /// Standardised noise variance per fidelity, and behind the last the variance of remembered values.
    noise: [f32; MAX_FIDELITIES],
    fidelities: usize,
    /// The first slot that counts: remembered values do not before the budget's share without them is spent.
    pub from: usize,
    remembers: bool,
    /// How many of these are of a world that has changed since, and the variance that this adds to their noise.
    older: (usize, f32),
    maps: Maps,
    pub fleet: Option<Fleet<'a>>,
}

impl ModelView<'_> {
    /// Of a KPI with this noise and this deviation: of the task's own data alone, without a fleet.
    pub fn plain(variances: &[f32], deviation: f32, maps: Maps) -> ModelView<'static> {
        let noise = standardised(variances.iter().copied(), deviation);
        ModelView {
            noise,
            fidelities: variances.len(),
            from: 0,
            remembers: false,
            older: (0, 0.0),
            maps,
            fleet: None,
        }
    }

    /// Of data of which those from slot `from` on are seen; `blur` is the standardised deviation that is added to older ones.
    pub fn with_older(self, data: &Data<'_>, from: usize, blur: f32) -> Self {
        ModelView { older: (data.begins().saturating_sub(from), (blur * blur).min(LARGEST_NOISE)), ..self }
    }

    pub fn particle<'p>(
        &self,
        model: &'p Model,
        theta: &'p [f32],
        fallbacks: &mut Fallbacks,
    ) -> Particle<'p> {
        let mut particle = Particle::with(self.maps, model, theta, &self.noise[..self.fidelities], fallbacks)
            .with_older(self.older);
        if let Some(fleet) = &self.fleet {
            particle = particle.with_modes(fleet.header().spread);
        }
        if !self.remembers {
            return particle;
        }
        particle.with_memory(self.fidelities - 1, self.noise[self.fidelities])
    }
}

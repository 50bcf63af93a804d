//! A small problem with settings, drawn from the bytes of an input: mostly sensible, sometimes at the edge.

use arbitrary::{Result, Unstructured};
use foretune_core::{
    Bandwidth, Dimension, Fidelity, Goal, Information, LogNormal, Map, Method, Optimizer, Prior, Problem,
    Recommend, Scaling, Settings, Step, Weights,
};

/// Room for a deep map of as many features as three categories of three values have, and so for ARD too.
pub type Toy = foretune_core::memory!(
    dimensions: 3, fidelities: 3, observations: SLOTS, particles: 3, map: Deep { width: 9 }, candidates: 24,
    categories: 6
);
/// Its slots for observations.
pub const SLOTS: usize = 12;

/// Slices of work after which an optimizer that comes to nothing hangs.
pub const PATIENCE: u32 = 100_000;

/// What to tune, and how.
#[derive(Debug)]
pub struct Case {
    dimensions: Vec<Dimension<'static>>,
    fidelities: Vec<Fidelity>,
    budget: f32,
    goal: Goal,
    /// How.
    pub settings: Settings,
    /// The seed.
    pub seed: u64,
}

impl Case {
    /// Draws one.
    pub fn draw(u: &mut Unstructured<'_>) -> Result<Self> {
        let dimensions = (0..u.int_in_range(1..=3)?).map(|_| dimension(u)).collect::<Result<_>>()?;
        let mut cost = 0.0;
        let fidelities =
            (0..u.int_in_range(1..=3)?).map(|_| fidelity(u, &mut cost)).collect::<Result<_>>()?;
        let budget = sane(u, &[0.0, 10.0, 40.0, 1e6])?.abs();
        let goal = *u.choose(&[Goal::Maximise, Goal::Minimise])?;
        Ok(Case { dimensions, fidelities, budget, goal, settings: settings(u)?, seed: u.arbitrary()? })
    }

    /// The problem.
    pub fn problem(&self) -> Problem<'_> {
        let Case { dimensions, fidelities, budget, goal, .. } = self;
        Problem { dimensions, fidelities, budget: *budget, goal: *goal, ..Problem::PLAIN }
    }

    /// Answers that there is room for: three times the slots where these are enough for every choice, so that repeats share them.
    pub fn room(&self) -> usize {
        let levels = |dimension: &Dimension<'_>| dimension.levels();
        let choices: Option<usize> = self.dimensions.iter().map(levels).product();
        let shared = choices.is_some_and(|choices| choices * self.fidelities.len() <= SLOTS);
        if shared { 3 * SLOTS } else { SLOTS }
    }

    /// An optimizer in this memory; none if the problem or the settings are refused.
    pub fn start<'a>(&'a self, memory: &'a mut Toy) -> Option<Optimizer<'a>> {
        memory.start(self.problem(), self.settings, self.seed).ok()
    }
}

/// As [`number`], but at an edge only now and then: a case has many numbers, and one bad one has it refused.
fn sane(u: &mut Unstructured<'_>, usual: &[f32]) -> Result<f32> {
    if u.ratio(1, 100)? { number(u, usual) } else { between(u, usual) }
}

fn between(u: &mut Unstructured<'_>, usual: &[f32]) -> Result<f32> {
    let (a, b) = (*u.choose(usual)?, *u.choose(usual)?);
    if u.arbitrary()? {
        return Ok(a);
    }
    Ok(a + f32::from(u.arbitrary::<u16>()?) / 65536.0 * (b - a))
}

/// One of these, or between them, or at some edge, or anything.
pub fn number(u: &mut Unstructured<'_>, usual: &[f32]) -> Result<f32> {
    const EDGES: [f32; 12] =
        [0.0, -0.0, 1.0, -1.0, 1e-30, 1e12, 1e30, -1e30, 1.1e30, f32::NAN, f32::INFINITY, f32::MIN];
    Ok(match u.int_in_range(0..=15)? {
        0 => *u.choose(&EDGES)?,
        1 => f32::from_bits(u.arbitrary()?),
        _ => between(u, usual)?,
    })
}

fn dimension(u: &mut Unstructured<'_>) -> Result<Dimension<'static>> {
    const LEVELS: [&[f32]; 3] = [&[0.0, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0], &[-1.0, 1.0], &[0.0, 1e-3, 1e3]];
    Ok(match u.int_in_range(0..=7)? {
        0 => Dimension::Interval { low: sane(u, &[-1e30, 0.0])?, high: sane(u, &[1.0, 1e30])? },
        1..=3 => Dimension::Interval { low: -5.0, high: 10.0 },
        4 => Dimension::Grid { low: -202.0, high: 24.0, levels: 114 },
        5 => Dimension::Grid { low: 0.0, high: 1.0, levels: u.int_in_range(2..=40)? },
        6 => Dimension::Levels(u.choose(&LEVELS)?),
        // One draw each, so that what was found before stays where it was.
        _ => match u.choose(&LEVELS)?.len() {
            count @ 2..=3 => Dimension::Category { count: count as u8 },
            _ => Dimension::Condition { low: -5.0, high: 10.0 },
        },
    })
}

/// Costs ascend, as a rule.
fn fidelity(u: &mut Unstructured<'_>, cost: &mut f32) -> Result<Fidelity> {
    *cost += sane(u, &[1.0, 5.0])?;
    Ok(Fidelity { cost: *cost, samples: 10, noise: sane(u, &[0.0, 1e-4, 0.1, 100.0])?.abs() })
}

fn log_normal(u: &mut Unstructured<'_>) -> Result<LogNormal> {
    Ok(LogNormal { mean: sane(u, &[-20.0, -1.0, 0.0, 20.0])?, deviation: sane(u, &[0.1, 0.7, 10.0])?.abs() })
}

fn settings(u: &mut Unstructured<'_>) -> Result<Settings> {
    let c = sane(u, &[0.0, 0.6, 1.0])?;
    let methods = [
        Method::MfMes,
        Method::Continual,
        Method::MftMes,
        Method::Separation { c },
        Method::Myopic { c },
        Method::TwoPhase { c },
    ];
    let rate = sane(u, &[1e-3, 0.05, 10.0])?.abs();
    // In this order, which the inputs in `findings.txt` follow.
    let mut settings = Settings::DEFAULT;
    settings.map = *u.choose(&[Map::Ard, Map::Linear, Map::Deep { width: 1 }, Map::Deep { width: 4 }])?;
    settings.particles = u.int_in_range(1..=3)?;
    settings.beta = sane(u, &[0.0, 1.2, 1e6])?;
    settings.details.information = *u.choose(&[Information::Paper, Information::Correlated])?;
    settings.details.max_values = u.int_in_range(1..=4)?;
    settings.details.prior = Prior {
        weights: *u.choose(&[Weights::PerInput(0.5), Weights::Fixed(0.5), Weights::Fixed(1e6)])?,
        length: log_normal(u)?,
        signal: log_normal(u)?,
        gamma: log_normal(u)?,
    };
    settings.carry_particles = u.ratio(3, 4)?;
    settings.details.kde_bandwidth = sane(u, &[1e-5, 0.55, 1e3])?;
    settings.details.kde_mix = sane(u, &[0.0, 0.2, 1.0])?;
    settings.details.bandwidth =
        *u.choose(&[Bandwidth::Median, Bandwidth::Fixed(1.0 / 1.326), Bandwidth::Fixed(1e9)])?;
    settings.details.step = *u.choose(&[
        Step::Plain { rate },
        Step::Adam { rate },
        Step::Langevin { rate },
        Step::Langevin { rate },
    ])?;
    settings.steps_per_round = u.int_in_range(0..=2)?;
    settings.steps_per_task = u.int_in_range(0..=3)?;
    settings.carried = u.int_in_range(0..=8)?;
    settings.details.limited = u.arbitrary()?;
    settings.details.remeasure = u.arbitrary()?;
    settings.details.memory_deviation = sane(u, &[0.0, 1e-3, 1.0])?;
    settings.memory_after = sane(u, &[0.0, 0.4, 1.0])?;
    settings.initial = u.int_in_range(0..=11)?;
    settings.details.scaling = *u.choose(&[
        Scaling::Running,
        Scaling::Initial,
        Scaling::Fixed { mean: 0.0, deviation: 1.0 },
        Scaling::Fixed { mean: -1e30, deviation: 1e-20 },
    ])?;
    // No bytes of their own: what was found before stays what it was.
    settings.details.free_start = settings.details.remeasure;
    if settings.details.limited && settings.details.scaling == Scaling::Initial {
        settings.details.scaling = Scaling::Robust;
    }
    settings.candidates = u.int_in_range(16..=24)?;
    settings.details.refinements = u.int_in_range(0..=2)?;
    settings.details.recommend =
        *u.choose(&[Recommend::Queried, Recommend::Anywhere, Recommend::Measured])?;
    settings.verify = *u.choose(&[0.0, 0.15, 0.5])?;
    // What is remembered takes slots, too.
    if settings.details.memory_deviation != 0.0 {
        settings.carried = settings.carried.min(SLOTS - 1 - settings.initial);
    }
    // No bytes of its own, either.
    if settings.details.limited {
        settings.kept = settings.carried.min((SLOTS - 1).saturating_sub(settings.initial + settings.carried));
    }
    Ok(settings.with_method(*u.choose(&methods)?))
}

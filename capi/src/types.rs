//! What crosses the border: plain structs of numbers and pointers.
//!
//! What C writes and Rust reads is never an `enum` or a `bool`, of which some bit patterns do not exist, but a number that is
//! looked at.

use core::ptr::null;

/// Most dimensions of a problem.
pub const FORETUNE_MAX_DIMENSIONS: usize = 16;
/// Most fidelities of a problem; one less if values of earlier tasks are remembered.
pub const FORETUNE_MAX_FIDELITIES: usize = 8;
/// Most limits of a problem.
pub const FORETUNE_MAX_LIMITS: usize = 8;

/// Most guards of a problem.
pub const FORETUNE_MAX_GUARDS: usize = 4;

const _: () = assert!(FORETUNE_MAX_GUARDS == foretune_core::MAX_GUARDS);
const _: () = assert!(FORETUNE_MAX_DIMENSIONS == foretune_core::MAX_DIMENSIONS);
const _: () = assert!(FORETUNE_MAX_FIDELITIES == foretune_core::MAX_FIDELITIES);

/// What a dimension is.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum foretune_dimension_kind {
    /// Any value between low and high.
    FORETUNE_INTERVAL = 0,
    /// Evenly spaced levels from low to high, both included.
    FORETUNE_GRID = 1,
    /// A list of strictly ascending levels.
    FORETUNE_LEVELS = 2,
    /// Not chosen but known, such as a load: any value between low and high, given with foretune_ask_at.
    FORETUNE_CONDITION = 3,
    /// Values without an order, as many as levels says, 2 to 8: each is its index, from 0. In FORETUNE_SIZE, one of more than two
    /// values counts as so many dimensions. With a floor or guards, a value that was never measured is not tried: hand in a
    /// measurement of it with foretune_add_past.
    FORETUNE_CATEGORY = 4,
}

/// One parameter to tune, or a condition.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct foretune_dimension {
    /// A foretune_dimension_kind.
    pub kind: u32,
    /// Lower end, but of a list or a category.
    pub low: f64,
    /// Upper end, but of a list or a category. A range below 1/256 of its larger end, such as 2.400e9 to 2.405e9, loses nothing, nor does
    /// a grid with steps below 1/4096 of that; in others parameters and limits are rounded as floats are, to 256 near 2.4e9.
    pub high: f64,
    /// Number of levels of a grid or a list, 2 to 65535; of values of a category, 2 to 8.
    pub levels: u32,
    /// The levels of a list; read as long as the tuner is used.
    pub values: *const f32,
}

/// How long to measure. The last fidelity of a problem is the truth.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct foretune_fidelity {
    /// Cost of one measurement, in units of the budget; 1e-12 to 1e12.
    pub cost: f32,
    /// How many samples the measurement averages: for whoever measures, the tuner does not look at it.
    pub samples: u32,
    /// Variance of the observation noise, in squared units of the observation; at least 0.
    pub noise: f32,
}

/// A linear inequality over the parameters: the sum of coefficients times parameters is at most this.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct foretune_limit {
    /// One per dimension; read as long as the tuner is used.
    pub coefficients: *const f32,
    /// What the sum may be at most.
    pub at_most: f64,
}

/// Whether larger or smaller observations are better.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum foretune_goal {
    /// Larger is better.
    FORETUNE_MAXIMISE = 0,
    /// Smaller is better.
    FORETUNE_MINIMISE = 1,
}

/// How the floor is meant, with v what the point in use gives.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum foretune_floor {
    /// There is none.
    FORETUNE_NO_FLOOR = 0,
    /// This value.
    FORETUNE_FLOOR_VALUE = 1,
    /// So much worse than v; above 0.
    FORETUNE_FLOOR_DROP = 2,
    /// This share of v, from 0 to below 1.
    FORETUNE_FLOOR_SHARE = 3,
}

/// On which side of its bound a KPI is kept.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum foretune_side {
    /// It must not fall below: larger is better.
    FORETUNE_AT_LEAST = 0,
    /// It must not rise above: smaller is better.
    FORETUNE_AT_MOST = 1,
}

/// A KPI that is measured with the objective and has a bound to keep while the objective is tuned.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct foretune_guard {
    /// A foretune_side.
    pub side: u32,
    /// A foretune_floor, but not FORETUNE_NO_FLOOR: how the bound is meant.
    pub floor: u32,
    /// The bound's number.
    pub level: f32,
    /// Share of the time that trials may break it, 0.001 to 0.5; time is what they cost.
    pub risk: f32,
    /// Variance of the KPI's noise, one per fidelity, at least 0; read as long as the tuner is used.
    pub noise: *const f32,
}

/// What is tuned. foretune_plain_problem writes one to start from.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct foretune_problem {
    /// The parameters to tune, and the conditions that are known.
    pub dimensions: *const foretune_dimension,
    /// How many, 1 to FORETUNE_MAX_DIMENSIONS.
    pub dimension_count: usize,
    /// The fidelities, costs ascending; the last is the truth.
    pub fidelities: *const foretune_fidelity,
    /// How many, 1 to FORETUNE_MAX_FIDELITIES.
    pub fidelity_count: usize,
    /// What a task may spend.
    pub budget: f32,
    /// A foretune_goal.
    pub goal: u32,
    /// The point in use when the first task starts, one value per dimension; null: there is none. It is then the first
    /// query, and every query is charged. Later tasks, also after foretune_load, start from the last recommendation or from
    /// what foretune_deploy says. Its values for conditions are not looked at.
    pub deployed: *const f64,
    /// A foretune_floor: what trials should keep above. It needs a point in use.
    pub floor: u32,
    /// The floor's number.
    pub floor_level: f32,
    /// Share of the time that trials may be below the floor, 0.001 to 0.5; time is what they cost.
    pub risk: f32,
    /// A task ends when going on is not expected to improve the recommendation by more than this share of its value; 0, to
    /// use the whole budget, to 1.
    pub tolerance: f32,
    /// What holds for every query and every recommendation. It needs a point in use that keeps to it.
    pub limits: *const foretune_limit,
    /// How many, 0 to FORETUNE_MAX_LIMITS.
    pub limit_count: usize,
    /// What other numbers of every measurement must keep. They need a point in use; answers then carry these numbers, in this
    /// order: foretune_tell_all.
    pub guards: *const foretune_guard,
    /// How many, 0 to FORETUNE_MAX_GUARDS.
    pub guard_count: usize,
}

impl foretune_problem {
    /// Nothing but what every problem must say for itself.
    ///
    /// cbindgen:ignore
    pub const PLAIN: foretune_problem = foretune_problem {
        dimensions: null(),
        dimension_count: 0,
        fidelities: null(),
        fidelity_count: 0,
        budget: 0.0,
        goal: foretune_goal::FORETUNE_MAXIMISE as u32,
        deployed: null(),
        floor: foretune_floor::FORETUNE_NO_FLOOR as u32,
        floor_level: 0.0,
        risk: 0.0,
        tolerance: 0.0,
        limits: null(),
        limit_count: 0,
        guards: null(),
        guard_count: 0,
    };
}

/// What settings start from; it decides what the fields of foretune_settings do not say.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum foretune_preset {
    /// The default.
    FORETUNE_PRESET_DEFAULT = 0,
    /// For a system in service, with a floor.
    FORETUNE_PRESET_LIVE = 1,
}

/// How it is tuned. Take a preset, foretune_default_settings say, and change what you want; docs/guide/settings.md explains
/// the fields. The preset decides the feature map: one lengthscale per dimension, in foretune_live_settings() after a shear.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct foretune_settings {
    /// Slots for observations of a task, remembered and past ones included, up to 65535. They are a budget, too: with
    /// fewer slots than the budget could pay, longer and better measurements win.
    pub observations: u32,
    /// A foretune_preset.
    pub preset: u32,
    /// Number of particles, 1 to 16.
    pub particles: u32,
    /// Learning steps after every observation, at most 1000000.
    pub steps_per_round: u32,
    /// Learning steps at the end of a task, at most 1000000.
    pub steps_per_task: u32,
    /// Weight of the information about the particles, 0 to 1e6.
    pub beta: f32,
    /// Whether the next task starts from this one's particles: 0 or 1.
    pub carry_particles: u32,
    /// How many of the last tasks' recommendations are carried on, 0 to 8.
    pub carried: u32,
    /// How many of a task's answers the next one begins with, those that tell most; each takes a slot. 0: none.
    pub kept: u32,
    /// Share of the budget that is spent before carried points and values play a part, 0 to 1.
    pub memory_after: f32,
    /// Initial points, charged like all others, cheap fidelities drawn more often; at least 1.
    pub initial: u32,
    /// Candidates of the search, at least 16.
    pub candidates: u32,
    /// Share of the budget that is kept for the end, to measure at the target fidelity what would be recommended, 0 to 0.5.
    /// With one fidelity, or if one such measurement takes more than half the budget, nothing is kept.
    pub verify: f32,
    /// When an answer is an outlier and measured again: how many times farther from all others of the task it lies than these
    /// are apart, 2 to 1000000. 0: every answer is believed.
    pub confirm: f32,
}

/// How a query came about.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum foretune_kind {
    /// A point of the random start, or the point in use.
    FORETUNE_KIND_INITIAL = 0,
    /// A point carried on from an earlier task.
    FORETUNE_KIND_CARRIED = 1,
    /// A point that the search found.
    FORETUNE_KIND_SEARCH = 2,
    /// A measurement from before the task.
    FORETUNE_KIND_PAST = 3,
}

/// What to measure next.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct foretune_query {
    /// Number of the task, from 1.
    pub task: u32,
    /// Number of the query within the task, from 0.
    pub round: u32,
    /// Index of the fidelity to measure with.
    pub fidelity: u32,
    /// A foretune_kind.
    pub kind: u32,
    /// Values of the parameters, as many as the problem has dimensions; zeros behind.
    pub point: [f64; FORETUNE_MAX_DIMENSIONS],
    /// The same in the unit cube.
    pub unit: [f32; FORETUNE_MAX_DIMENSIONS],
}

/// What a call came to.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum foretune_progress {
    /// There is more to do: call again.
    FORETUNE_WORKING = 0,
    /// There is a query to answer.
    FORETUNE_QUERY = 1,
    /// The query was handed out before and still wants its answer.
    FORETUNE_WAITING = 2,
    /// The task has ended.
    FORETUNE_DONE = 3,
}

/// The point to use when a task has ended.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct foretune_recommendation {
    /// Values of the parameters, as many as the problem has dimensions; zeros behind.
    pub point: [f64; FORETUNE_MAX_DIMENSIONS],
    /// The same in the unit cube.
    pub unit: [f32; FORETUNE_MAX_DIMENSIONS],
    /// What is expected there, in units of the observations.
    pub mean: f32,
    /// Its standard deviation.
    pub deviation: f32,
    /// 1 if floor and guards are kept there with the probability that their risks ask for; 0: not, and this is the point in use.
    pub assured: u32,
}

/// What the tuner is busy with.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum foretune_activity {
    /// Draws or restores particles.
    FORETUNE_PREPARING = 0,
    /// Replays what was observed before a restart.
    FORETUNE_REPLAYING = 1,
    /// Moves particles.
    FORETUNE_LEARNING = 2,
    /// Looks for the next query.
    FORETUNE_SEARCHING = 3,
    /// Waits for an answer.
    FORETUNE_AWAITING = 4,
    /// The task has ended.
    FORETUNE_ENDED = 5,
}

/// Why a task ended.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum foretune_stop_reason {
    /// It has not.
    FORETUNE_STOP_NONE = 0,
    /// No fidelity can be paid any more.
    FORETUNE_STOP_BUDGET = 1,
    /// All slots for observations are used.
    FORETUNE_STOP_CAPACITY = 2,
    /// Everything worth asking has been asked.
    FORETUNE_STOP_EXHAUSTED = 3,
    /// Going on is not expected to improve the recommendation by more than the tolerance.
    FORETUNE_STOP_TOLERANCE = 4,
    /// foretune_stop was called.
    FORETUNE_STOP_REQUESTED = 5,
}

/// What the answers say of a fleet's prior.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum foretune_fleet {
    /// There is none.
    FORETUNE_NO_FLEET = 0,
    /// Not enough: what is tried must be allowed without it, too.
    FORETUNE_FLEET_WEIGHED = 1,
    /// The answers speak for it.
    FORETUNE_FLEET_SUPPORTED = 2,
    /// They speak against it: it does not count.
    FORETUNE_FLEET_REFUTED = 3,
}

/// Where a task stands.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct foretune_status {
    /// Number of the task, from 1.
    pub task: u32,
    /// A foretune_activity.
    pub activity: u32,
    /// A foretune_stop_reason.
    pub stop: u32,
    /// Measurements so far, failed ones included.
    pub observations: u32,
    /// Of these, how many failed.
    pub failures: u32,
    /// Values remembered of earlier tasks, which take slots, too.
    pub remembered: u32,
    /// Past measurements that were handed in, which take slots, too.
    pub past: u32,
    /// Slots for more.
    pub room: u32,
    /// Observations still to be replayed after a restore.
    pub to_replay: u32,
    /// Spent of the budget.
    pub spent: f32,
    /// Times that a noise variance was raised to what an f32 can bear.
    pub noise_raised: u32,
    /// Pivots that were raised.
    pub pivots_raised: u32,
    /// Times that a particle had no say, because its likelihood or gradient was not finite.
    pub particles_silent: u32,
    /// Whether there is a point in use: 0 or 1. What follows is meaningful only then; NaN: not known.
    pub live: u32,
    /// Trials that fell below the floor.
    pub below: u32,
    /// Their share of the time, which is held at the risk.
    pub below_time: f32,
    /// The margin below the mean that a query must have to the floor, in standard deviations.
    pub margin: f32,
    /// The worst trial.
    pub worst: f32,
    /// The mean over all trials, by cost.
    pub meanwhile: f32,
    /// What the query that waits was expected to give.
    pub expected: f32,
    /// How often the world changed in the middle of the task.
    pub changes: u32,
    /// A foretune_fleet; with or without a point in use.
    pub fleet: u32,
    /// By how many nats the answers speak for it; NaN without one.
    pub fleet_evidence: f32,
}

/// How a guard is kept in a task, as the model sees it after each trial.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct foretune_guard_status {
    /// The margin that a query must have to the bound, in standard deviations.
    pub margin: f32,
    /// The bound, in units of the KPI; NaN before the point in use is measured.
    pub bound: f32,
    /// Trials that broke it, failed ones included.
    pub broken: u32,
    /// What these cost.
    pub broken_time: f32,
    /// Candidates that it ruled out in the last search.
    pub ruled_out: u32,
}

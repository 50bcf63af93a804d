//! A toy problem, in C's terms and in Rust's, and the functions with Rust's manners.

use std::ffi::CStr;
use std::ptr::{null, null_mut};

use foretune_c::foretune_error::*;
use foretune_c::foretune_progress::*;
use foretune_c::*;
use foretune_core::{Dimension, Fidelity, Floor, Goal, Guard, Level, Problem, Side};

pub const LEVELS: [f32; 5] = [0.0, 0.3, 0.5, 0.9, 1.0];
pub const INTERVAL: foretune_dimension =
    foretune_dimension { kind: 0, low: -5.0, high: 10.0, levels: 0, values: null() };
/// No such kind.
pub const GRID: [foretune_dimension; 2] =
    [INTERVAL, foretune_dimension { kind: 5, levels: 5, values: null(), low: 0.0, high: 1.0 }];

/// Pointers to constants, for all threads.
struct Shared<T>(T);
// SAFETY: nobody writes to what these point to.
unsafe impl<T> Sync for Shared<T> {}

static DIMENSIONS: Shared<[foretune_dimension; 2]> = Shared([
    INTERVAL,
    foretune_dimension { kind: 2, low: 0.0, high: 0.0, levels: 5, values: LEVELS_AT.as_ptr() },
]);
static LEVELS_AT: [f32; 5] = LEVELS;
pub static FIDELITIES: [foretune_fidelity; 2] = [
    foretune_fidelity { cost: 1.0, samples: 10, noise: 0.01 },
    foretune_fidelity { cost: 3.0, samples: 30, noise: 0.001 },
];

pub const RUST: Problem<'static> = Problem {
    dimensions: &[Dimension::Interval { low: -5.0, high: 10.0 }, Dimension::Levels(&LEVELS)],
    fidelities: &[
        Fidelity { cost: 1.0, samples: 10, noise: 0.01 },
        Fidelity { cost: 3.0, samples: 30, noise: 0.001 },
    ],
    budget: 24.0,
    goal: Goal::Maximise,
    ..Problem::PLAIN
};

static NOISE: [f32; 2] = [0.01, 0.001];
pub static IN_USE: [f64; 2] = [-2.0, 0.3];
static GUARDS: Shared<[foretune_guard; 2]> = Shared([
    foretune_guard { side: 0, floor: 3, level: 0.9, risk: 0.05, noise: NOISE.as_ptr() },
    foretune_guard { side: 1, floor: 2, level: 2.0, risk: 0.1, noise: NOISE.as_ptr() },
]);

/// The same with two guards and a floor.
pub fn guarded() -> foretune_problem {
    foretune_problem {
        deployed: IN_USE.as_ptr(),
        floor: 2,
        floor_level: 0.3,
        risk: 0.1,
        guards: GUARDS.0.as_ptr(),
        guard_count: 2,
        ..problem()
    }
}

pub const GUARDED: Problem<'static> = Problem {
    deployed: Some(&[-2.0, 0.3]),
    floor: Some(Floor { level: Level::Drop(0.3), risk: 0.1 }),
    guards: &[
        Guard {
            side: Side::AtLeast,
            floor: Floor { level: Level::Share(0.9), risk: 0.05 },
            noise: &[0.01, 0.001],
        },
        Guard {
            side: Side::AtMost,
            floor: Floor { level: Level::Drop(2.0), risk: 0.1 },
            noise: &[0.01, 0.001],
        },
    ],
    ..RUST
};

/// What the guards look at.
pub fn kpis(point: &[f64; FORETUNE_MAX_DIMENSIONS]) -> [f32; 2] {
    let point = point.map(|x| x as f32);
    [3.0 - 0.1 * point[0] - point[1], point[0] + 2.0 * point[1]]
}

pub fn problem() -> foretune_problem {
    let mut problem = foretune_problem { dimension_count: 99, ..foretune_problem::PLAIN };
    // SAFETY: the pointer is good.
    assert_eq!(unsafe { foretune_plain_problem(&mut problem) }, FORETUNE_OK);
    foretune_problem {
        dimensions: DIMENSIONS.0.as_ptr(),
        dimension_count: 2,
        fidelities: FIDELITIES.as_ptr(),
        fidelity_count: 2,
        budget: 24.0,
        ..problem
    }
}

pub fn settings() -> foretune_settings {
    let mut settings = std::mem::MaybeUninit::uninit();
    // SAFETY: there is room for settings, and they are written.
    unsafe {
        assert_eq!(foretune_compact_settings(settings.as_mut_ptr()), FORETUNE_OK);
        settings.assume_init()
    }
}

/// For a system in service, with as many candidates.
pub fn live_settings() -> foretune_settings {
    let mut live = settings();
    // SAFETY: the pointer is good.
    assert_eq!(unsafe { foretune_live_settings(&mut live) }, FORETUNE_OK);
    foretune_settings { candidates: 80, observations: 64, ..live }
}

pub fn objective(point: &[f64; FORETUNE_MAX_DIMENSIONS], fidelity: u32, task: u32) -> f32 {
    let point = point.map(|x| x as f32);
    let gap = (point[0] - 2.0 - task as f32) / 5.0;
    1.0 - gap * gap - (point[1] - 0.5) * (point[1] - 0.5) + 0.01 * fidelity as f32
}

/// A point as C has it.
pub fn wide(point: &[f32]) -> Vec<f64> {
    point.iter().map(|x| f64::from(*x)).collect()
}

pub fn no_query() -> foretune_query {
    foretune_query { task: 0, round: 0, fidelity: 0, kind: 0, point: [0.0; 16], unit: [0.0; 16] }
}

pub fn no_status() -> foretune_status {
    // SAFETY: all of it is numbers.
    unsafe { std::mem::zeroed() }
}

/// Bytes needed, the error and the text.
pub fn check(problem: &foretune_problem, settings: &foretune_settings) -> (usize, foretune_error, String) {
    let (mut size, mut text) = (usize::MAX, [1; 100]);
    // SAFETY: pointers are good; what the problem's point to, too.
    let error = unsafe { foretune_check(problem, settings, &mut size, text.as_mut_ptr(), text.len()) };
    // SAFETY: it ends with a zero.
    let text = unsafe { CStr::from_ptr(text.as_ptr()) };
    (size, error, text.to_str().unwrap().to_owned())
}

/// A tuner with its memory.
pub struct Tuner {
    pub memory: Vec<u64>,
    pub pointer: *mut foretune,
}

impl Tuner {
    pub fn start(
        problem: &foretune_problem,
        settings: &foretune_settings,
        seed: u64,
    ) -> Result<Tuner, foretune_error> {
        Tuner::start_in(FORETUNE_COMPACT_SIZE, problem, settings, seed)
    }

    /// In so many bytes.
    pub fn start_in(
        size: usize,
        problem: &foretune_problem,
        settings: &foretune_settings,
        seed: u64,
    ) -> Result<Tuner, foretune_error> {
        let mut tuner = Tuner { memory: vec![0; size.div_ceil(8)], pointer: null_mut() };
        // SAFETY: pointers are good.
        let error = unsafe {
            let memory = tuner.memory.as_mut_ptr().cast();
            foretune_start(memory, size, problem, settings, seed, &mut tuner.pointer)
        };
        if error == FORETUNE_OK { Ok(tuner) } else { Err(error) }
    }

    pub fn started(seed: u64) -> Tuner {
        Tuner::start(&problem(), &settings(), seed).unwrap()
    }

    pub fn call(
        &mut self,
        function: unsafe extern "C" fn(*mut foretune) -> foretune_error,
    ) -> foretune_error {
        // SAFETY: the pointer is good.
        unsafe { function(self.pointer) }
    }

    pub fn ask(&mut self) -> (foretune_progress, foretune_query) {
        let (mut progress, mut query) = (FORETUNE_WORKING, no_query());
        // SAFETY: pointers are good.
        assert_eq!(unsafe { foretune_ask(self.pointer, &mut progress, &mut query) }, FORETUNE_OK);
        (progress, query)
    }

    pub fn set_fleet(&mut self, bytes: &[u8]) -> foretune_error {
        // SAFETY: the memory outlives the call, and tests keep the bytes as long as the tuner.
        unsafe { foretune_set_fleet(self.pointer, bytes.as_ptr(), bytes.len()) }
    }

    pub fn tell(&mut self, query: &foretune_query, y: f32) -> foretune_error {
        // SAFETY: pointers are good.
        unsafe { foretune_tell(self.pointer, query, y) }
    }

    pub fn tell_all(&mut self, query: &foretune_query, y: f32, kpis: &[f32]) -> foretune_error {
        // SAFETY: pointers are good.
        unsafe { foretune_tell_all(self.pointer, query, y, kpis.as_ptr(), kpis.len()) }
    }

    pub fn guard(&mut self, guard: usize) -> Result<foretune_guard_status, foretune_error> {
        // SAFETY: all of it is numbers.
        let mut status = unsafe { std::mem::zeroed() };
        // SAFETY: pointers are good.
        match unsafe { foretune_guard_status(self.pointer, guard, &mut status) } {
            FORETUNE_OK => Ok(status),
            error => Err(error),
        }
    }

    pub fn fail(&mut self, query: &foretune_query) -> foretune_error {
        // SAFETY: pointers are good.
        unsafe { foretune_fail(self.pointer, query) }
    }

    pub fn answer(&mut self, query: &foretune_query, y: Option<f32>, cost: Option<f32>) -> foretune_error {
        let pointer = |number: &Option<f32>| number.as_ref().map_or(null(), |number| number as *const f32);
        // SAFETY: pointers are null or good.
        unsafe { foretune_answer(self.pointer, query, pointer(&y), pointer(&cost)) }
    }

    pub fn finish_task(&mut self, task: u32) {
        while let (FORETUNE_QUERY, query) = self.ask() {
            assert_eq!(self.tell(&query, objective(&query.point, query.fidelity, task)), FORETUNE_OK);
        }
    }

    pub fn status(&mut self) -> foretune_status {
        let mut status = no_status();
        // SAFETY: pointers are good.
        assert_eq!(unsafe { foretune_status(self.pointer, &mut status) }, FORETUNE_OK);
        status
    }

    pub fn recommendation(&mut self) -> Result<foretune_recommendation, foretune_error> {
        // SAFETY: all of it is numbers.
        let mut best = unsafe { std::mem::zeroed() };
        // SAFETY: pointers are good.
        match unsafe { foretune_recommendation(self.pointer, &mut best) } {
            FORETUNE_OK => Ok(best),
            error => Err(error),
        }
    }

    /// First the length, then the bytes, and one byte too few.
    fn save(
        &mut self,
        function: unsafe extern "C" fn(*mut foretune, *mut u8, usize, *mut usize) -> foretune_error,
    ) -> Result<Vec<u8>, foretune_error> {
        let mut length = 0;
        // SAFETY: pointers are good, or null with no room.
        match unsafe { function(self.pointer, null_mut(), 0, &mut length) } {
            FORETUNE_TOO_SMALL => {}
            error => return Err(error),
        }
        let mut bytes = vec![0xab; length];
        // SAFETY: pointers are good.
        unsafe {
            let mut again = 0;
            let short = function(self.pointer, bytes.as_mut_ptr(), length - 1, &mut again);
            assert_eq!((short, again), (FORETUNE_TOO_SMALL, length));
            assert_eq!(bytes[length - 1], 0xab, "no byte beyond the room");
            assert_eq!(function(self.pointer, bytes.as_mut_ptr(), length, &mut again), FORETUNE_OK);
        }
        Ok(bytes)
    }

    pub fn snapshot(&mut self) -> Vec<u8> {
        self.save(foretune_snapshot).unwrap()
    }

    pub fn knowledge(&mut self) -> Result<Vec<u8>, foretune_error> {
        self.save(foretune_knowledge)
    }

    pub fn load(&mut self, bytes: &[u8]) -> foretune_error {
        // SAFETY: pointers are good.
        unsafe { foretune_load(self.pointer, bytes.as_ptr(), bytes.len()) }
    }

    pub fn restore(&mut self, bytes: &[u8]) -> foretune_error {
        // SAFETY: pointers are good.
        unsafe { foretune_restore(self.pointer, bytes.as_ptr(), bytes.len()) }
    }
}

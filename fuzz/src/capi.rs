//! The functions for C in any order, with any arguments but dangling pointers.
//!
//! Checked of every call: what is refused changes nothing (the snapshot and the status stay), a query lies in the unit cube and
//! is finite, a tuner beside the one that is called stays as it was.

#![allow(unsafe_code)] // as a program in C would; each block says why it is sound

use std::ptr::{null, null_mut};

use foretune_c::foretune_error::*;
use foretune_c::foretune_progress::*;
use foretune_c::*;

/// Bytes of a tuner's memory.
const SIZE: usize = 24 * 1024;
/// What a problem points to, and nobody writes.
static LEVELS: [f32; 4] = [0.0, 1.0, 2.5, 9.0];
static COEFFICIENTS: [f32; 16] = [1.0; 16];
static NOISE: [f32; 8] = [0.01; 8];
static DEPLOYED: [f64; 16] = [0.5; 16];
/// Slices of work that a call does at most: none of them takes long.
const SLICES: u32 = 400;

/// Numbers out of bytes; zeros where there are no more.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    fn below(&mut self, end: u32) -> u32 {
        u32::from(self.byte()) % end
    }

    fn word(&mut self) -> u32 {
        u32::from_le_bytes([0; 4].map(|_: u8| self.byte()))
    }

    /// Mostly something that makes sense.
    fn float(&mut self, usual: &[f32]) -> f32 {
        match self.byte() {
            250.. => f32::from_bits(self.word()),
            248 | 249 => f32::NAN,
            246 | 247 => f32::INFINITY,
            byte => usual[usize::from(byte) % usual.len()],
        }
    }

    /// A pointer: seldom null, and seldom misaligned.
    fn pointer<T>(&mut self, to: *mut T) -> *mut T {
        match self.byte() {
            255 => null_mut(),
            254 if align_of::<T>() > 1 => to.wrapping_byte_add(1),
            _ => to,
        }
    }
}

/// What pointers point to.
struct World {
    memory: Vec<u64>,
    tuner: *mut foretune,
    dimensions: Vec<foretune_dimension>,
    fidelities: Vec<foretune_fidelity>,
    limits: Vec<foretune_limit>,
    guards: Vec<foretune_guard>,
    query: foretune_query,
    saved: Vec<u8>,
    /// Whether `foretune_ask` comes to an end soon.
    quick: bool,
    /// Guards of the tuner's problem.
    guarded: usize,
}

/// What became of some calls.
#[derive(Debug, Default)]
struct Outcomes {
    done: u32,
    refused: u32,
    /// Measurements at the end, and tasks before the last, of both tuners.
    answers: u32,
    tasks: u32,
}

/// Inputs to start from: any bytes are calls.
pub fn seeds() -> Vec<Vec<u8>> {
    let seed =
        |step: u8| (0..400u16).map(move |i| (i.wrapping_mul(37) as u8).wrapping_mul(step) ^ (i >> 3) as u8);
    (1..=4).map(|step| seed(step).collect()).collect()
}

/// Runs one input.
pub fn run(bytes: &[u8]) {
    any_calls(bytes, &mut Outcomes::default());
}

fn any_calls(bytes: &[u8], outcomes: &mut Outcomes) {
    let mut bytes = Bytes(bytes);
    let mut worlds = [World::new(), World::new()];
    while !bytes.0.is_empty() {
        let index = bytes.below(2) as usize;
        let states = [worlds[0].state(), worlds[1].state()];
        let error = worlds[index].call(&mut bytes);
        if error == FORETUNE_OK {
            outcomes.done += 1;
        } else {
            outcomes.refused += 1;
            assert!(worlds[index].state() == states[index], "a refusal changed something: {error:?}");
        }
        assert!(worlds[1 - index].state() == states[1 - index], "a call changed the tuner beside it");
    }
    for world in &worlds {
        let mut status: foretune_status = zeros();
        // SAFETY: pointers are good, or the tuner's is null.
        unsafe { foretune_status(world.tuner, &mut status) };
        outcomes.answers += status.observations;
        outcomes.tasks += status.task.saturating_sub(1);
    }
}

impl World {
    fn new() -> World {
        World {
            memory: vec![0; SIZE / 8],
            tuner: null_mut(),
            dimensions: Vec::new(),
            fidelities: Vec::new(),
            limits: Vec::new(),
            guards: Vec::new(),
            query: zeros(),
            saved: vec![0; 4096],
            quick: true,
            guarded: 0,
        }
    }

    /// All that can be seen of the tuner.
    fn state(&mut self) -> Option<(Vec<u8>, [u32; 4])> {
        let (mut saved, mut length, mut status) = (vec![0; 8192], 0, zeros::<foretune_status>());
        // SAFETY: pointers are good, or the tuner's is null.
        unsafe {
            if foretune_snapshot(self.tuner, saved.as_mut_ptr(), saved.len(), &mut length) != FORETUNE_OK {
                return None;
            }
            assert_eq!(foretune_status(self.tuner, &mut status), FORETUNE_OK);
        }
        saved.truncate(length);
        Some((saved, [status.activity, status.room, status.to_replay, status.spent.to_bits()]))
    }

    fn call(&mut self, u: &mut Bytes<'_>) -> foretune_error {
        let tuner = u.pointer(self.tuner);
        // SAFETY, for all calls below: every pointer is null, misaligned, or to something in this world that is as large as
        // said, and the arrays that a problem points to are not written while its tuner is used: a start writes them first.
        match u.below(20) {
            0 if self.tuner.is_null() || u.below(4) == 0 => self.start(u),
            _ if self.tuner.is_null() => self.start(u),
            2..=6 => self.advance(u, tuner),
            7 if self.quick => self.ask(u, tuner),
            8..=10 => {
                let (query, value) = (self.some_query(u), u.float(&[0.1, 0.5, 0.9, -3.0, 1e4]));
                let (kpis, count) = (self.kpis(u), self.kpi_count(u));
                let (query, kpis) =
                    (u.pointer(&raw const query as *mut _), u.pointer(kpis.as_ptr() as *mut _));
                // SAFETY: as above.
                unsafe { foretune_tell_all(tuner, query, value, kpis, count) }
            }
            11 => {
                let query = self.some_query(u);
                // SAFETY: as above.
                unsafe { foretune_fail(tuner, u.pointer(&raw const query as *mut _)) }
            }
            12 => {
                let (query, value, cost) =
                    (self.some_query(u), u.float(&[0.3, 0.7]), u.float(&[0.5, 2.0, -1.0]));
                let (value, cost) =
                    (u.pointer(&raw const value as *mut _), u.pointer(&raw const cost as *mut _));
                // SAFETY: as above.
                unsafe { foretune_answer(tuner, &query, value, cost) }
            }
            13 => self.save(u, tuner),
            14 => self.load(u, tuner),
            15 => {
                let (point, fidelity, value) = (self.point(u), u.below(4), u.float(&[0.2, 0.6]));
                let (kpis, count) = (self.kpis(u), self.kpi_count(u));
                let (point, kpis) = (u.pointer(point.as_ptr() as *mut _), u.pointer(kpis.as_ptr() as *mut _));
                // SAFETY: as above.
                unsafe { foretune_add_past_all(tuner, point, fidelity, value, kpis, count) }
            }
            16 => {
                let point = self.point(u);
                // SAFETY: as above.
                unsafe { foretune_deploy(tuner, u.pointer(point.as_ptr() as *mut _)) }
            }
            17 => self.look(u, tuner),
            18 => {
                // SAFETY: as above.
                unsafe { if u.below(4) == 0 { foretune_restart(tuner) } else { foretune_stop(tuner) } }
            }
            // SAFETY: as above.
            _ => unsafe { foretune_next_task(tuner) },
        }
    }

    /// A new problem and new settings, checked and started.
    fn start(&mut self, u: &mut Bytes<'_>) -> foretune_error {
        let (problem, settings) = (self.problem(u), some_settings(u));
        let (mut needed, mut text, mut tuner) = (0, [0; 64], null_mut());
        let size = if u.below(8) == 0 { u.word() as usize % SIZE } else { SIZE };
        let memory: *mut u64 = u.pointer(self.memory.as_mut_ptr());
        let room = text.len() * usize::from(u.below(2) == 0);
        let (at, with) = (u.pointer(&raw const problem as *mut _), u.pointer(&raw const settings as *mut _));
        // SAFETY: pointers are null, misaligned, or good; what the problem points to stays as long as this world.
        let (checked, started) = unsafe {
            let checked = foretune_check(at, with, &mut needed, text.as_mut_ptr(), room);
            (checked, foretune_start(memory.cast(), size, at, with, u.word().into(), &mut tuner))
        };
        assert!(room == 0 || text.contains(&0), "a text without an end");
        assert_eq!(checked == FORETUNE_OK, needed > 0);
        if started == FORETUNE_OK {
            assert!(checked == FORETUNE_OK && needed <= size, "{needed} of {size}");
            (self.tuner, self.guarded) = (tuner, problem.guard_count);
            self.quick = settings.steps_per_round <= 4 && settings.steps_per_task <= 4;
        } else if checked == FORETUNE_OK {
            let at_fault = [FORETUNE_NULL, FORETUNE_MISALIGNED, FORETUNE_TOO_SMALL];
            assert!(at_fault.contains(&started), "{started:?}");
        } else {
            assert!(started == checked || memory != self.memory.as_mut_ptr(), "{started:?}, {checked:?}");
        }
        started
    }

    /// Arrays that a tuner may be reading are not written: they are made anew only before the first tuner.
    fn problem(&mut self, u: &mut Bytes<'_>) -> foretune_problem {
        if self.tuner.is_null() {
            (self.dimensions, self.fidelities, self.limits) = (Vec::new(), Vec::new(), Vec::new());
            let values = LEVELS.as_ptr();
            for _ in 0..3 {
                let (low, high) = (u.float(&[0.0, -1.0]), u.float(&[1.0, 8.0]));
                let (kind, levels) = (u.below(60) % 31 % 5, 4 - u.below(30) % 7 % 4);
                // Seldom a range far from 0.
                let far = if u.below(8) == 0 { 2.4e9 } else { 0.0 };
                self.dimensions.push(foretune_dimension {
                    kind,
                    low: far + f64::from(low),
                    high: far + f64::from(high),
                    levels,
                    values: u.pointer(values as *mut _),
                });
            }
            for cost in [1.0, 2.0, 5.0] {
                let (cost, noise) = (u.float(&[cost]), u.float(&[0.01, 0.001]));
                self.fidelities.push(foretune_fidelity { cost, samples: 1, noise });
            }
            let at_most = f64::from(u.float(&[2.0, 40.0]));
            self.limits.push(foretune_limit { coefficients: COEFFICIENTS.as_ptr(), at_most });
            self.guards.clear();
            for _ in 0..2 {
                let (side, floor) = (u.below(60) % 31 % 3 % 2, 1 + u.below(30) % 7 % 3);
                let (level, risk) = (u.float(&[0.2, 0.5]), u.float(&[0.1, 0.05]));
                let noise = u.pointer(NOISE.as_ptr() as *mut _);
                self.guards.push(foretune_guard { side, floor, level, risk, noise });
            }
        }
        let count = |u: &mut Bytes<'_>, most: u32| match u.byte() {
            255 => usize::MAX,
            254 => 0,
            byte => 1 + (u32::from(byte) % most) as usize,
        };
        foretune_problem {
            dimension_count: match count(u, 3) {
                // Beyond what there may be: refused before anything is read.
                usize::MAX => 17,
                some => some,
            },
            dimensions: u.pointer(self.dimensions.as_mut_ptr()),
            fidelities: u.pointer(self.fidelities.as_mut_ptr()),
            fidelity_count: count(u, 3),
            budget: u.float(&[10.0, 20.0, 0.0]),
            goal: u.below(40) % 3 % 2,
            deployed: if u.below(2) == 0 { null() } else { DEPLOYED.as_ptr() },
            floor: if u.below(4) == 0 { u.below(5) } else { 0 },
            floor_level: u.float(&[0.2, 0.5]),
            risk: u.float(&[0.1, 0.05]),
            tolerance: u.float(&[0.0, 0.01]),
            limits: u.pointer(self.limits.as_mut_ptr()),
            limit_count: if u.below(8) == 0 { count(u, 1) } else { 0 },
            guards: u.pointer(self.guards.as_mut_ptr()),
            guard_count: if u.below(4) == 0 { count(u, 2) } else { 0 },
        }
    }

    fn advance(&mut self, u: &mut Bytes<'_>, tuner: *mut foretune) -> foretune_error {
        let (mut progress, mut query) = (FORETUNE_WORKING, self.query);
        let (to, into) = (u.pointer(&raw mut progress), u.pointer(&raw mut query));
        for _ in 0..u.below(SLICES) + 1 {
            // SAFETY: pointers are null, misaligned, or good.
            let error = unsafe { foretune_advance(tuner, to, into) };
            if error != FORETUNE_OK {
                return error;
            }
            if progress != FORETUNE_WORKING {
                break;
            }
        }
        self.asked(progress, query);
        FORETUNE_OK
    }

    fn ask(&mut self, u: &mut Bytes<'_>, tuner: *mut foretune) -> foretune_error {
        let (mut progress, mut query) = (FORETUNE_DONE, self.query);
        let (to, into) = (u.pointer(&raw mut progress), u.pointer(&raw mut query));
        // SAFETY: pointers are null, misaligned, or good.
        let error = unsafe { foretune_ask(tuner, to, into) };
        if error == FORETUNE_OK {
            assert_ne!(progress, FORETUNE_WORKING);
            self.asked(progress, query);
        }
        error
    }

    fn asked(&mut self, progress: foretune_progress, query: foretune_query) {
        if matches!(progress, FORETUNE_QUERY | FORETUNE_WAITING) {
            let unit = query.unit.iter().all(|x| (0.0..=1.0).contains(x));
            assert!(unit && query.point.iter().all(|x| x.is_finite()) && query.task > 0, "{query:?}");
            self.query = query;
        }
    }

    /// The last query, seldom another one.
    fn some_query(&mut self, u: &mut Bytes<'_>) -> foretune_query {
        match u.byte() {
            255 => foretune_query { round: u.word(), ..self.query },
            254 => foretune_query { point: [f32::from_bits(u.word()).into(); 16], ..self.query },
            253 => foretune_query { fidelity: u.word(), task: u.word(), ..self.query },
            _ => self.query,
        }
    }

    fn point(&mut self, u: &mut Bytes<'_>) -> [f64; 16] {
        [0.0; 16].map(|_: f32| u.float(&[0.0, 0.5, 1.0, 2.5]).into())
    }

    fn kpis(&mut self, u: &mut Bytes<'_>) -> [f32; 4] {
        [0.0; 4].map(|_: f32| u.float(&[0.4, 0.5, 0.7, -2.0]))
    }

    /// Mostly as many as there are guards.
    fn kpi_count(&mut self, u: &mut Bytes<'_>) -> usize {
        if u.below(16) == 0 { u.below(5) as usize } else { self.guarded }
    }

    fn save(&mut self, u: &mut Bytes<'_>, tuner: *mut foretune) -> foretune_error {
        let function = if u.below(3) == 0 { foretune_knowledge } else { foretune_snapshot };
        let mut bytes = vec![0xab; 4096];
        let size = if u.below(4) == 0 { u.word() as usize % bytes.len() } else { bytes.len() };
        let (mut length, into) = (0, u.pointer(bytes.as_mut_ptr()));
        // SAFETY: pointers are null or good.
        let error = unsafe { function(tuner, into, size, &mut length) };
        assert!(bytes[size..].iter().all(|byte| *byte == 0xab), "written beyond the room");
        if error == FORETUNE_OK {
            assert!(length <= size);
            bytes.truncate(length);
            self.saved = bytes;
        }
        error
    }

    fn load(&mut self, u: &mut Bytes<'_>, tuner: *mut foretune) -> foretune_error {
        let mut bytes = self.saved.clone();
        if u.below(3) == 0 {
            let at = u.word() as usize % bytes.len().max(1);
            bytes[at] ^= u.byte();
            bytes.truncate(if u.below(2) == 0 { bytes.len() } else { at });
        }
        let from = u.pointer(bytes.as_mut_ptr());
        // SAFETY: pointers are null or good.
        unsafe {
            match u.below(3) {
                0 => foretune_load(tuner, from, bytes.len()),
                1 => foretune_load_from_another_problem(tuner, from, bytes.len()),
                _ => foretune_restore(tuner, from, bytes.len()),
            }
        }
    }

    fn look(&mut self, u: &mut Bytes<'_>, tuner: *mut foretune) -> foretune_error {
        let (mut status, mut guard, mut best) = (zeros(), zeros(), zeros::<foretune_recommendation>());
        // SAFETY: pointers are null, misaligned, or good.
        unsafe {
            match u.below(3) {
                0 => foretune_status(tuner, u.pointer(&raw mut status)),
                1 => foretune_guard_status(tuner, u.below(3) as usize, u.pointer(&raw mut guard)),
                _ => {
                    let error = foretune_recommendation(tuner, u.pointer(&raw mut best));
                    assert!(best.mean.is_finite() && best.deviation.is_finite(), "{best:?}");
                    error
                }
            }
        }
    }
}

/// One of the structures that the library fills.
fn zeros<T>() -> T {
    // SAFETY: all of it is numbers.
    unsafe { std::mem::zeroed() }
}

/// The compact preset, made smaller, with a few fields as they come.
fn some_settings(u: &mut Bytes<'_>) -> foretune_settings {
    let mut settings: foretune_settings = zeros();
    // SAFETY: the pointer is good.
    unsafe { foretune_compact_settings(&mut settings) };
    settings.observations = 24;
    (settings.particles, settings.candidates, settings.initial) =
        (1 + u.below(4), 16 + u.below(20), 1 + u.below(5));
    (settings.steps_per_round, settings.steps_per_task) = (u.below(4), u.below(5));
    for _ in 0..u.below(4) {
        match u.below(12) {
            0 => settings.observations = u.word() % 70_000,
            1 => settings.preset = u.below(3),
            2 => settings.beta = u.float(&[0.0, 0.5]),
            3 => settings.carried = u.below(10),
            4 => settings.carry_particles = u.below(3),
            5 => settings.candidates = u.word(),
            6 => settings.verify = u.float(&[0.0, 0.15]),
            7 => settings.memory_after = u.float(&[0.0, 0.4]),
            8 => settings.confirm = u.float(&[0.0, 30.0]),
            9 => settings.steps_per_task = u.word(),
            10 => settings.kept = u.below(20),
            _ => settings.particles = 1 + u.below(16),
        }
    }
    settings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutate::Inputs;

    #[test]
    fn any_bytes_are_calls_that_do_something_or_are_refused() {
        let (mut inputs, mut all) = (Inputs::new(Vec::new(), 1), Outcomes::default());
        // An interpreter is some hundred times slower.
        for _ in 0..if cfg!(miri) { 2 } else { 500 } {
            any_calls(&inputs.next_input(), &mut all);
        }
        let Outcomes { done, refused, answers, tasks } = all;
        assert!(cfg!(miri) || done > 3000 && refused > 1000 && answers > 300 && tasks > 50, "{all:?}");
    }
}

//! What the programs `count-*` have in common: a counter of instructions, and the work that is counted.
//!
//! In the emulator with `-icount shift=0` an instruction takes a nanosecond, and the processor's own timer ticks every
//! 40 of them, so that counts repeat exactly. `cargo xtask count` runs the programs and reads what they print:
//! `what t instructions`.

use core::sync::atomic::{AtomicU32, Ordering};

use cortex_m::peripheral::SYST;
use cortex_m::peripheral::syst::SystClkSource;
use foretune_core::internals::features::{Forward, forward};
use foretune_core::internals::gp::{Observations, Particle, Posterior, Workspace};
use foretune_core::internals::kernel::Model;
use foretune_core::internals::linalg::{Matrix, MatrixMut};
use foretune_core::{Activity, Dimension, Error, Fidelity, Goal, Optimizer, Problem, Progress, Settings};
use semihosting::{println, process::exit};

/// Numbers of observations at which everything is counted.
pub const OBSERVATIONS: [usize; 3] = [10, 40, 128];
/// Room for these, and for one query more.
pub const CAPACITY: usize = 129;

const PERIOD: u32 = 1 << 24;
const INSTRUCTIONS_PER_TICK: u64 = 40;
static WRAPS: AtomicU32 = AtomicU32::new(0);

#[cortex_m_rt::exception]
fn SysTick() {
    WRAPS.fetch_add(1, Ordering::Relaxed);
}

/// Starts the counter.
pub fn start() {
    let mut syst = cortex_m::Peripherals::take().expect("once").SYST;
    syst.set_clock_source(SystClkSource::Core);
    syst.set_reload(PERIOD - 1);
    syst.clear_current();
    syst.enable_interrupt();
    syst.enable_counter();
}

/// Ticks so far; what is counted is longer than the interrupt that counts a wrap.
fn ticks() -> u64 {
    loop {
        let wraps = WRAPS.load(Ordering::Relaxed);
        let now = PERIOD - 1 - SYST::get_current();
        if wraps == WRAPS.load(Ordering::Relaxed) {
            return u64::from(wraps) * u64::from(PERIOD) + u64::from(now);
        }
    }
}

/// Instructions of some work.
pub fn count(work: impl FnOnce()) -> u64 {
    let before = ticks();
    work();
    (ticks() - before) * INSTRUCTIONS_PER_TICK
}

/// Prints a count.
pub fn tell(what: &str, t: usize, instructions: u64) {
    println!("{} {} {}", what, t, instructions);
}

/// Costs and noise as in the radio problem.
pub const FIDELITIES: [Fidelity; 4] = [
    Fidelity { cost: 10.0, samples: 10, noise: 0.1 },
    Fidelity { cost: 20.0, samples: 20, noise: 0.1 },
    Fidelity { cost: 50.0, samples: 50, noise: 0.1 },
    Fidelity { cost: 100.0, samples: 100, noise: 0.1 },
];

/// Some answer.
#[allow(dead_code, reason = "the model's program has no optimizer")]
pub fn objective(x: &[f32], fidelity: usize) -> f32 {
    let distance = x.iter().fold(0.0, |sum, x| sum + (x - 0.6) * (x - 0.6));
    1.0 / (0.3 + distance) - 0.05 * fidelity as f32
}

/// What is tuned: any problem of these dimensions, with a budget that does not end.
#[allow(dead_code, reason = "the model's program has no optimizer")]
pub const fn problem<'a>(dimensions: &'a [Dimension]) -> Problem<'a> {
    Problem { dimensions, fidelities: &FIDELITIES, budget: 1e6, goal: Goal::Maximise, ..Problem::PLAIN }
}

/// A profile's settings for a search right after `t` observations.
#[allow(dead_code, reason = "the model's program has no optimizer")]
pub fn settings(t: usize, profile: Settings) -> Settings {
    Settings { steps_per_round: 1, steps_per_task: 0, carried: 0, initial: t, ..profile }
}

/// Counts a step of learning, a search and a snapshot after `t` observations.
#[allow(dead_code, reason = "the model's program has no optimizer")]
pub fn count_tuning(tuner: Result<Optimizer<'_>, Error>, t: usize, answer: impl Fn(&[f32], usize) -> f32) {
    let mut tuner = tuner.expect("the settings fit the memory");
    while tuner.status().observations < t {
        if let Ok(Progress::Query(query)) = tuner.advance_with(&[]) {
            let y = answer(query.unit(), query.fidelity());
            assert!(tuner.tell(query, y).is_ok());
        }
    }
    let mut step = 0;
    while tuner.status().activity == Activity::Learning {
        step += count(|| drop(tuner.advance_with(&[])));
    }
    tell("step", t, step);
    tell("ask", t, count(|| while let Ok(Progress::Working) = tuner.advance_with(&[]) {}));
    let mut bytes = 0;
    tuner.stop();
    while let Ok(Progress::Working) = tuner.advance_with(&[]) {}
    assert!(tuner.status().fleet.is_none_or(|fleet| !fleet.refuted));
    tell("snapshot", t, count(|| tuner.knowledge(|piece| bytes += piece.len()).expect("the task has ended")));
    assert!(bytes > 0);
}

/// Repetitions of what is short beside a tick.
const REPETITIONS: u64 = 16;
/// Points that go through the model together.
const BLOCK: usize = 8;

/// Counts a forward pass and a posterior, per point, at every number of observations.
#[allow(dead_code, reason = "the deep tuner leaves no room for another model")]
pub fn count_model(mut gp: Workspace<'_>, model: &Model, theta: &[f32], scratch: [&mut [f32]; 3]) {
    let d = model.dimensions;
    // A plain recurrence: what the points are does not matter, only that they differ.
    let mut word = 1u32;
    let x: [f32; CAPACITY * 6] = core::array::from_fn(|_| {
        word = word.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (word >> 8) as f32 / 16_777_216.0
    });
    let [mut first, mut second, mut features] =
        scratch.map(|numbers| MatrixMut::from_slice(numbers, model.features(), BLOCK));
    let points = Matrix::from_slice(&x, d, CAPACITY);
    let block = points.columns(0, BLOCK);
    let passes = count(|| {
        for _ in 0..REPETITIONS {
            let hidden = [first.as_view_mut(), second.as_view_mut()];
            let work = Forward { points: block, hidden, features: features.as_view_mut() };
            forward(model.map, model.widths(), model.offsets.length, theta, work);
        }
    });
    tell("forward", 0, passes / REPETITIONS / BLOCK as u64);
    let fidelity: [u8; CAPACITY] = core::array::from_fn(|i| (i % FIDELITIES.len()) as u8);
    let mut fallbacks = Default::default();
    let particle = Particle::new(model, theta, &[0.1; 4], &mut fallbacks);
    for t in OBSERVATIONS {
        let data = Observations {
            points: points.columns(0, t),
            fidelity: &fidelity[..t],
            z: &x[..t],
            counts: &[],
            common: None,
        };
        for from in (0..t).step_by(BLOCK) {
            gp.factor(&particle, &data, from, &mut fallbacks).expect("finite");
        }
        gp.condition(&data);
        let mut out = [Posterior::default(); BLOCK * FIDELITIES.len()];
        let some = count(|| gp.posterior(&particle, &data, block, FIDELITIES.len(), &mut out));
        tell("posterior", t, some / BLOCK as u64);
    }
}

/// Ends the emulation.
pub fn end() -> ! {
    println!("done");
    exit(0)
}

#[panic_handler]
fn panic(info: &core::panic::PanicInfo) -> ! {
    println!("{info}");
    exit(1)
}

//! The core alone in a bare `cortex-m-rt` program: no link, no storage, no board support, no allocator.
//!
//! For those whose firmware exists already: this is all that it takes. Here one transmit power is tuned, twice, against
//! a made-up radio; the second task starts from what the first one taught.
//!
//! `cargo xtask test minimal` runs it; the emulator's console (semihosting) stands for your output.
#![no_std]
#![no_main]

use core::panic::PanicInfo;

use foretune_core::{Dimension, Fidelity, Goal, Problem, Settings};
use semihosting::{println, process::exit};
use static_cell::ConstStaticCell;

const PROBLEM: Problem = Problem {
    dimensions: &[Dimension::Grid { low: -100.0, high: 24.0, levels: 63 }],
    fidelities: &[
        Fidelity { cost: 1.0, samples: 10, noise: 0.04 },
        Fidelity { cost: 4.0, samples: 100, noise: 0.004 },
    ],
    budget: 30.0,
    goal: Goal::Maximise,
    ..Problem::PLAIN
};

const SETTINGS: Settings = Settings::DEFAULT;

/// Room for this problem, these settings, and so many measurements of a task.
type Memory = foretune_core::memory!(problem: PROBLEM, settings: SETTINGS, observations: 24);

/// All that the optimizer works in: zeros at first, so it lies in `.bss`.
static MEMORY: ConstStaticCell<Memory> = ConstStaticCell::new(Memory::new());

/// Your measurement: sets the power, counts errors, takes its time.
fn measure(power: f32, best: f32) -> f32 {
    let distance = (power - best) / 30.0;
    1.0 - distance * distance
}

#[cortex_m_rt::entry]
fn main() -> ! {
    let mut tuner = MEMORY.take().start(PROBLEM, SETTINGS, 7).expect("the settings fit the memory");
    for best in [-40.0, -30.0] {
        // To serve interrupts, a watchdog or a line meanwhile, call `advance` slice by slice instead.
        tuner.run_task(|query| Some(measure(query.point()[0], best))).expect("the values are finite");
        let found = tuner.recommendation().expect("something was observed").point()[0];
        println!("best at {} dBm, found {} dBm", best as i32, found as i32);
        assert!((found - best).abs() < 10.0);
        tuner.next_task().expect("the task has ended");
    }
    exit(0)
}

#[panic_handler]
fn panic(info: &PanicInfo) -> ! {
    println!("{info}");
    exit(1)
}

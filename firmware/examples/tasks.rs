//! The tuner in a task of its own under `embassy-executor`, beside a serial line and an LED that go on meanwhile.
//!
//! The tuner does one slice of work at a time and lets the other tasks have their turn in between; while the measurement runs,
//! it waits without taking any. Here a task plays the radio that is measured, bytes that come over the serial line are
//! echoed, and the LED blinks. At the end the same task is tuned in one go: a line tells that what was learnt is the same.
//!
//! `cargo xtask test tasks` runs it in the emulator and builds it for a NUCLEO-F446RE. The tasks wait by asking again and again,
//! so that it needs no driver of any chip; with those of your HAL, and `embassy-time`, they sleep.
#![no_std]
#![no_main]

use core::fmt::Write as _;
use core::sync::atomic::{AtomicU32, Ordering};

use embassy_executor::Spawner;
use embassy_futures::yield_now;
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::signal::Signal;
use embedded_io::{Read, ReadReady, Write};
use foretune_core::snapshot::Crc;
use foretune_core::{Dimension, Fidelity, Goal, Optimizer, Problem, Progress, Settings};
use foretune_firmware::board::{Board, Status, System};
use foretune_firmware::boards::{This, this};
use heapless::String;
use static_cell::ConstStaticCell;

const PROBLEM: Problem = Problem {
    dimensions: &[Dimension::Grid { low: -100.0, high: 24.0, levels: 63 }],
    fidelities: &[Fidelity { cost: 1.0, samples: 10, noise: 0.04 }],
    budget: 22.0,
    goal: Goal::Maximise,
    ..Problem::PLAIN
};
const SETTINGS: Settings = Settings::DEFAULT;
const SEED: u64 = 7;

type Memory = foretune_core::memory!(problem: PROBLEM, settings: SETTINGS, observations: 24);
static MEMORY: ConstStaticCell<Memory> = ConstStaticCell::new(Memory::new());

/// From one task to another; who waits for it is woken by it.
type Mailbox<T> = Signal<CriticalSectionRawMutex, T>;
/// The power to be measured, in dBm.
static WANTED: Mailbox<f32> = Mailbox::new();
/// What the measurement came to.
static MEASURED: Mailbox<f32> = Mailbox::new();
/// What is to be said over the serial line in the end.
static REPORT: Mailbox<String<96>> = Mailbox::new();
/// How often the LED was switched.
static SWITCHED: AtomicU32 = AtomicU32::new(0);

#[embassy_executor::main]
async fn main(spawner: Spawner) {
    let parts = this::take();
    spawner.spawn(tune(MEMORY.take()).expect("each task is spawned once"));
    spawner.spawn(measure().expect("each task is spawned once"));
    spawner.spawn(serve(parts.serial).expect("each task is spawned once"));
    spawner.spawn(blink(parts.system).expect("each task is spawned once"));
}

#[embassy_executor::task]
async fn tune(memory: &'static mut Memory) {
    let mut tuner = memory.start(PROBLEM, SETTINGS, SEED).expect("the settings fit the memory");
    let mut slices = 0;
    loop {
        match tuner.advance() {
            Progress::Working => {
                slices += 1;
                yield_now().await;
            }
            Progress::Query(query) => {
                WANTED.signal(query.point()[0]);
                let value = MEASURED.wait().await;
                tuner.tell(query, value).expect("the values are finite");
            }
            _ => break,
        }
    }
    let (learnt, switched) = (digest(&tuner), SWITCHED.load(Ordering::Relaxed));

    let mut again = memory.start(PROBLEM, SETTINGS, SEED).expect("the settings fit the memory");
    again.run_task(|query| Some(radio(query.point()[0]))).expect("the values are finite");
    let in_one_go = digest(&again);
    let mut report = String::new();
    writeln!(report, "slices={slices} switched={switched} learnt={learnt:08x} in_one_go={in_one_go:08x}")
        .expect("there is room");
    REPORT.signal(report);
}

/// Checksum of all that a task taught.
fn digest(tuner: &Optimizer<'_>) -> u32 {
    let mut crc = Crc::new();
    tuner.knowledge(|bytes| crc.update(bytes)).expect("the task has ended");
    crc.value()
}

/// Your measurement: sets the power, counts errors, takes its time.
#[embassy_executor::task]
async fn measure() {
    loop {
        let power = WANTED.wait().await;
        for _ in 0..100 {
            yield_now().await;
        }
        MEASURED.signal(radio(power));
    }
}

fn radio(power: f32) -> f32 {
    let distance = (power + 40.0) / 30.0;
    1.0 - distance * distance
}

/// Echoes what comes over the serial line.
#[embassy_executor::task]
async fn serve(mut serial: <This as Board>::Serial) {
    let mut byte = [0];
    loop {
        while serial.read_ready().unwrap_or(false) {
            if let Ok(1) = serial.read(&mut byte) {
                let _ = serial.write_all(&byte);
            }
        }
        if let Some(report) = REPORT.try_take() {
            let _ = serial.write_all(report.as_bytes());
        }
        yield_now().await;
    }
}

/// Switches the LED a hundred times a second, and feeds the watchdog.
#[embassy_executor::task]
async fn blink(mut system: <This as Board>::System) {
    let period = u64::from(system.ticks_per_second() / 100);
    for status in [Status::Thinking, Status::Idle].into_iter().cycle() {
        system.show(status);
        system.feed();
        SWITCHED.fetch_add(1, Ordering::Relaxed);
        let start = system.ticks();
        while system.ticks() - start < period {
            yield_now().await;
        }
    }
}

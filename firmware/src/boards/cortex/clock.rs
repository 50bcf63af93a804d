//! The processor's own timer as a clock that never runs backwards; it also stamps the log.

use core::cell::Cell;
use core::sync::atomic::{AtomicU32, Ordering};

use cortex_m::peripheral::syst::SystClkSource;
use cortex_m::peripheral::{SCB, SYST};
use cortex_m_rt::exception;
use critical_section::Mutex;

/// How often the clock interrupts, and so the longest sleep: 100 times a second.
const WRAPS_PER_SECOND: u32 = 100;

static WRAPS: Mutex<Cell<u64>> = Mutex::new(Cell::new(0));
static TICKS_PER_SECOND: AtomicU32 = AtomicU32::new(WRAPS_PER_SECOND);

/// Starts the clock on the processor's own, of the given frequency in Hz.
pub fn start_clock(mut syst: SYST, frequency: u32) {
    TICKS_PER_SECOND.store(frequency, Ordering::Relaxed);
    syst.set_clock_source(SystClkSource::Core);
    syst.set_reload(frequency / WRAPS_PER_SECOND - 1);
    syst.clear_current();
    syst.enable_interrupt();
    syst.enable_counter();
}

/// Ticks since the clock was started.
pub fn ticks() -> u64 {
    let (wraps, ticks) = now();
    wraps * u64::from(period()) + u64::from(ticks)
}

/// Ticks from one wrap to the next.
fn period() -> u32 {
    ticks_per_second() / WRAPS_PER_SECOND
}

/// How often the clock has wrapped, and the ticks since.
fn now() -> (u64, u32) {
    critical_section::with(|token| {
        let mut wraps = WRAPS.borrow(token).get();
        let mut left = left();
        if SCB::is_pendst_pending() {
            // It wrapped after interrupts were masked: count that wrap, and read on its far side.
            wraps += 1;
            left = self::left();
        }
        (wraps, (period() - 1).saturating_sub(left))
    })
}

/// What is left of the period. At zero the wrap is counted already while the period seems to be over still, which would add up to
/// a period too much: waits for the tick to pass. Not for ever, since a clock that was not started stays there.
fn left() -> u32 {
    (0..64).map(|_| SYST::get_current()).find(|left| *left > 0).unwrap_or(0)
}

/// Milliseconds since the clock was started; from zero again after 49 days.
pub fn milliseconds() -> u32 {
    let (wraps, ticks) = now();
    (wraps as u32).wrapping_mul(10).wrapping_add(ticks / (period() / 10))
}

/// Ticks in a second.
pub fn ticks_per_second() -> u32 {
    TICKS_PER_SECOND.load(Ordering::Relaxed)
}

#[exception]
fn SysTick() {
    critical_section::with(|token| {
        let wraps = WRAPS.borrow(token);
        wraps.set(wraps.get() + 1);
    });
}

defmt::timestamp!("{=u64:us}", {
    // 10 000 µs to a wrap. A division of 64 bits would take a kilobyte of flash.
    let (wraps, ticks) = now();
    wraps * 10_000 + u64::from((ticks / (period() / 10_000).max(1)).min(9_999))
});

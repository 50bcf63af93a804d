//! The [`System`] of every board: the processor's clock and stack, with the board's own LEDs and watchdog.

use crate::board::{Cause, Fault, Stack, Status, System};
use crate::boards::this;
use crate::leds::Indicator;

/// A chip's watchdog.
pub trait Watchdog {
    /// Tells it that all is well.
    fn feed(&mut self);
}

/// Everything but serial line and flash.
pub struct CortexSystem<L, W> {
    leds: L,
    watchdog: W,
    last_fault: Option<Fault>,
}

impl<L: Indicator, W: Watchdog> CortexSystem<L, W> {
    /// A system, and whether the chip says that its watchdog ran out before this start. A note of the run before says more.
    pub fn new(leds: L, watchdog: W, ran_out: bool) -> Self {
        let by_watchdog = ran_out.then_some(Fault { cause: Cause::Watchdog, pc: 0, status: 0 });
        CortexSystem { leds, watchdog, last_fault: super::faults::take_note().or(by_watchdog) }
    }
}

impl<L: Indicator, W: Watchdog> System for CortexSystem<L, W> {
    fn show(&mut self, status: Status) {
        self.leds.show(status);
    }

    fn feed(&mut self) {
        self.watchdog.feed();
        self.leds.refresh(super::clock::milliseconds);
    }

    fn ticks(&self) -> u64 {
        super::clock::ticks()
    }

    fn ticks_per_second(&self) -> u32 {
        super::clock::ticks_per_second()
    }

    fn idle(&mut self) {
        this::idle();
    }

    fn stack(&self) -> Stack {
        super::stack::stack()
    }

    fn last_fault(&self) -> Option<Fault> {
        self.last_fault
    }
}

/// Sleeps until an interrupt; the clock's comes after 10 ms.
#[cfg(not(feature = "nrf52840-dk"))]
pub fn idle() {
    cortex_m::asm::wfi();
}

/// Starts again from the reset vector. Memory is forgotten, flash is not.
#[cfg(not(feature = "pico2"))]
pub fn restart() -> ! {
    cortex_m::peripheral::SCB::sys_reset()
}

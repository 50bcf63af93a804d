//! What `mps2-an500` and `mps2-an386` call their own.

/// The board's name.
pub const NAME: &str = if cfg!(feature = "mps2-an500") { "mps2-an500" } else { "mps2-an386" };
/// Frequency of everything on the board, in Hz.
pub const CLOCK: u32 = 25_000_000;
/// UART 0.
pub const UART: u32 = 0x4000_4000;
/// Number of its receive interrupt.
pub const UART_RECEIVED: u16 = 0;
/// A bit per LED.
pub const LEDS: u32 = 0x4002_F004;
/// The watchdog.
pub const WATCHDOG: u32 = 0x4000_8000;

//! What each of these boards calls its own; on `mps2-an505` at the secure addresses, since that is how the processor starts.

const AN505: bool = cfg!(feature = "mps2-an505");

/// The board's name.
pub const NAME: &str = match (AN505, cfg!(feature = "mps2-an500")) {
    (true, _) => "mps2-an505",
    (_, true) => "mps2-an500",
    _ => "mps2-an386",
};
/// Frequency of everything on the board, in Hz.
pub const CLOCK: u32 = if AN505 { 20_000_000 } else { 25_000_000 };
/// UART 0.
pub const UART: u32 = if AN505 { 0x5020_0000 } else { 0x4000_4000 };
/// Number of its receive interrupt.
pub const UART_RECEIVED: u16 = if AN505 { 32 } else { 0 };
/// A bit per LED.
pub const LEDS: u32 = if AN505 { 0x5030_0004 } else { 0x4002_F004 };
/// The watchdog.
pub const WATCHDOG: u32 = if AN505 { 0x5008_1000 } else { 0x4000_8000 };

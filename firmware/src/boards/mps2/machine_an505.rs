//! What `mps2-an505` calls its own: all at the secure addresses, since that is how the processor starts.

/// The board's name.
pub const NAME: &str = "mps2-an505";
/// Frequency of everything on the board, in Hz.
pub const CLOCK: u32 = 20_000_000;
/// UART 0.
pub const UART: u32 = 0x5020_0000;
/// Number of its receive interrupt.
pub const UART_RECEIVED: u16 = 32;
/// A bit per LED.
pub const LEDS: u32 = 0x5030_0004;
/// The secure watchdog.
pub const WATCHDOG: u32 = 0x5008_1000;

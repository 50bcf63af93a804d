//! Log macros that become `defmt` on a board and nothing on a host, where `defmt` cannot link.
//!
//! Format strings are those that `defmt` and `core::fmt` have in common: `{}` and `{:?}`. Arguments need
//! `defmt::Format` on a board.

/// Tells what the device does.
#[macro_export]
macro_rules! info {
    ($($part:tt)*) => { $crate::log_at!(info, $($part)*) };
}

/// Tells of something odd that the device copes with.
#[macro_export]
macro_rules! warn {
    ($($part:tt)*) => { $crate::log_at!(warn, $($part)*) };
}

/// Tells of something that should never happen.
#[macro_export]
macro_rules! error {
    ($($part:tt)*) => { $crate::log_at!(error, $($part)*) };
}

#[doc(hidden)]
#[macro_export]
#[cfg(feature = "defmt")]
macro_rules! log_at {
    ($level:ident, $($part:tt)*) => { $crate::log::defmt::$level!($($part)*) };
}

#[doc(hidden)]
#[macro_export]
#[cfg(not(feature = "defmt"))]
macro_rules! log_at {
    ($level:ident, $format:literal $(, $argument:expr)* $(,)?) => {{ $(let _ = &$argument;)* }};
}

#[doc(hidden)]
#[cfg(feature = "defmt")]
pub use defmt;

pub use crate::{error, info, warn};

#[cfg(test)]
mod tests {
    #[test]
    fn arguments_are_evaluated_on_a_host_too() {
        let mut count = 0;
        let mut next = || {
            count += 1;
            count
        };
        crate::info!("round {}", next());
        crate::warn!("no arguments");
        crate::error!("rounds {} and {:?}", next(), next());
        assert_eq!(count, 3);
    }
}

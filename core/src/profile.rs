//! Ready-made shapes: memories that fit a small and a large microcontroller, with settings that fit them.
//!
//! | profile | dimensions | fidelities | observations | map | particles | candidates | bytes |
//! |---|---|---|---|---|---|---|---|
//! | [`Compact`] | 4 | 4 | 64 | ARD | 10 | 96 | under 48 000 |
//! | [`Deep`] | 6 | 4 | 128 | deep, 64 × 3 | 10 | 256 | under 1 000 000 |
//!
//! `cargo run -p foretune-core --example sizes` prints what takes how much. All of it is zero at first, so a `static`
//! lies in `.bss`; work on top of it needs a stack of less than 4 KB.

use crate::features::Map;
use crate::optimizer::Memory;
use crate::settings::Settings;

/// Memory for four dimensions and the ARD map; keeps the last task's particles, and has room for Adam.
pub type Compact =
    Memory<4, 4, 64, 10, { COMPACT.model(4).features() }, { COMPACT.model(4).parameters() }, 30, 96>;

/// [`Settings::DEFAULT`] with as many candidates as [`Compact`] has room for.
pub const COMPACT: Settings = Settings { candidates: 96, ..Settings::DEFAULT };

/// Memory for six dimensions and the paper's deep map. The last task's particles are read from elsewhere
/// ([`Optimizer::advance_with`](crate::Optimizer::advance_with)); of the steps, there is room for
/// [`Plain`](crate::Step::Plain) and [`Shared`](crate::Step::Shared).
pub type Deep = Memory<6, 4, 128, 10, { DEEP.model(6).features() }, { DEEP.model(6).parameters() }, 1, 256>;

/// [`Settings::PAPER`] with as many candidates as [`Deep`] has room for.
pub const DEEP: Settings = Settings { map: Map::Deep { width: 64 }, candidates: 256, ..Settings::PAPER };

const _: () = assert!(COMPACT.checked().is_ok() && DEEP.checked().is_ok());
const _: () = assert!(size_of::<Compact>() <= 48_000, "the compact profile has outgrown its memory");
const _: () = assert!(size_of::<Deep>() <= 1_000_000, "the deep profile has outgrown its memory");

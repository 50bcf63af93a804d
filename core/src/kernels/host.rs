//! Shapes for a processor with vectors.

use super::{BLOCK, LANES};

/// Whether several numbers are computed by one instruction.
pub const VECTORS: bool = true;
/// Columns of a register tile.
pub const PART: usize = LANES;
/// Rows of a register tile.
pub const ROWS: usize = 8;
/// Rows where one column is all there is: sums that overlap in time.
pub const ROWS_OF_ONE: usize = 8;
/// Steps of the inner loop that are written out one after the other.
pub const GROUP: usize = 1;
/// Candidates, or centres, that are looked at side by side.
pub const SIDE: usize = LANES;
/// Whether products of any width work in tiles.
pub const ANY_WIDTH: bool = true;

/// A function of one number: inlined, so that loops over many are vectorised.
macro_rules! function {
    ($(#[$about:meta])* $visible:vis fn $name:ident($x:ident: f32) -> f32 $body:block) => {
        $(#[$about])*
        #[inline(always)]
        $visible fn $name($x: f32) -> f32 $body
    };
}

/// Work that the compiler would mix into the loop before it, for the worse.
#[inline(never)]
pub fn apart<R>(work: impl FnOnce() -> R) -> R {
    work()
}

/// `|x| < limit`.
#[inline(always)]
pub fn is_below(x: f32, limit: f32) -> bool {
    x.abs() < limit
}

/// Blocks whose bounds are looked at together, and the rest: vectors look at a block anyway, so all are the rest.
#[inline(always)]
pub fn in_blocks(numbers: &mut [f32]) -> (&mut [[f32; BLOCK]], &mut [f32]) {
    (&mut [], numbers)
}

pub(crate) use function;

//! Shapes for a processor with one floating-point unit, 32 registers and little flash.

use super::BLOCK;

/// Whether several numbers are computed by one instruction.
pub const VECTORS: bool = false;
/// Columns of a register tile.
pub const PART: usize = 4;
/// Rows of a register tile: with both factors 4 × 4 fit the registers.
pub const ROWS: usize = 4;
/// Rows where one column is all there is: sums do not overlap in time.
pub const ROWS_OF_ONE: usize = 1;
/// Steps of the inner loop that are written out one after the other: counting is a quarter of a short loop.
pub const GROUP: usize = 2;
/// Candidates, or centres, that are looked at side by side.
pub const SIDE: usize = 1;
/// Whether products of any width work in tiles: only those of the paper's width are worth the flash.
pub const ANY_WIDTH: bool = false;

/// A function of one number: to be called, for the sake of the flash.
macro_rules! function {
    ($(#[$about:meta])* $visible:vis fn $name:ident($x:ident: f32) -> f32 $body:block) => {
        $(#[$about])*
        #[inline(never)]
        $visible fn $name($x: f32) -> f32 $body
    };
}

/// Work that the compiler of a host would mix into the loop before it.
#[inline(always)]
pub fn apart<R>(work: impl FnOnce() -> R) -> R {
    work()
}

/// `|x| < limit`, for a limit above 0: integers are compared with fewer instructions.
#[inline(always)]
pub fn is_below(x: f32, limit: f32) -> bool {
    x.to_bits() << 1 < limit.to_bits() << 1
}

/// Blocks whose bounds are looked at together, and the rest: what is hardly ever reached need not be looked at for each number.
#[inline(always)]
pub fn in_blocks(numbers: &mut [f32]) -> (&mut [[f32; BLOCK]], &mut [f32]) {
    numbers.as_chunks_mut()
}

pub(crate) use function;

//! What differs between a host and a Cortex-M: the shapes of loops, never their arithmetic.
//!
//! A host has vectors: there, loops select instead of branching, and tiles are as wide as a vector. A Cortex-M has none, and
//! little flash: there, what need not be computed is branched around, and functions are called. `host` and `cortex_m` have
//! the same names; everything else in this library is written once, on top of them, and gives the same bits with both.

#[cfg_attr(target_arch = "arm", path = "cortex_m.rs")]
#[cfg_attr(not(target_arch = "arm"), path = "host.rs")]
mod side;

pub(crate) use side::{
    ANY_WIDTH, GROUP, PART, ROWS, ROWS_OF_ONE, SIDE, VECTORS, apart, function, in_blocks, is_below,
};

/// Numbers that are summed up side by side, and rows by which a factor grows. The same everywhere: bits depend on it.
pub const BLOCK: usize = 8;

/// Columns of a panel.
pub const LANES: usize = 8;

/// `$body` for `$i` from 0 to `$count`: a loop where it becomes vector operations; written out on Cortex-M, where a compiler that
/// is told to save space would keep the loop, and with it the tile in memory. What is written out is at most 8.
macro_rules! each {
    ($i:ident < $count:ident, $body:expr) => {
        if $crate::kernels::VECTORS {
            for $i in 0..$count {
                $body
            }
        } else {
            each!(written out: $i < $count, $body)
        }
    };
    (written out: $i:ident < $count:ident, $body:expr) => {
        each!(@ $i $count $body; 0 1 2 3 4 5 6 7)
    };
    (@ $i:ident $count:ident $body:expr; $($number:literal)*) => {
        {
            $(if $number < $count {
                let $i = $number;
                $body
            })*
        }
    };
}

/// One of two values: where vectors take both in one go, both are computed, so that a loop over many can be vectorised.
///
/// A macro, since a closure that is not inlined would end that, and nothing can ask for its being inlined.
macro_rules! either {
    ($first:expr, $one:expr, $other:expr) => {
        if $crate::kernels::VECTORS {
            let (one, other) = ($one, $other);
            if $first { one } else { other }
        } else if $first {
            $one
        } else {
            $other
        }
    };
}

/// Returns at once where a branch takes less than the selections that follow: without vectors. The value is the same.
macro_rules! shortcut {
    ($when:expr $(=> $value:expr)?) => {
        if !$crate::kernels::VECTORS && $when {
            return $($value)?;
        }
    };
}

pub(crate) use {each, either, shortcut};

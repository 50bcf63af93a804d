//! A block of words, cut into arrays.

use core::mem;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::linalg::MatrixMut;

/// What is left of a block of words.
pub struct Cut<'a>(&'a mut [u32]);

impl<'a> Cut<'a> {
    /// Nothing is cut off yet.
    pub fn new(words: &'a mut [u32]) -> Self {
        Cut(words)
    }

    /// The next so many values. Each array begins with a word of its own and takes [`words`] of them; an empty one if there
    /// are too few: whoever cuts has counted them.
    pub fn slice<T>(&mut self, length: usize) -> &'a mut [T]
    where
        T: FromBytes + IntoBytes + KnownLayout + Immutable,
    {
        let (taken, rest) =
            mem::take(&mut self.0).split_at_mut_checked(words::<T>(length)).unwrap_or_default();
        self.0 = rest;
        let array = <[T]>::mut_from_prefix_with_elems(taken.as_mut_bytes(), length);
        array.map(|(array, _)| array).unwrap_or_default()
    }

    /// The next matrix.
    pub fn matrix(&mut self, rows: usize, columns: usize) -> MatrixMut<'a> {
        MatrixMut::from_slice(self.slice(rows.saturating_mul(columns)), rows, columns)
    }
}

/// Words that an array of so many values takes; held where it would overflow, as the next.
pub const fn words<T>(length: usize) -> usize {
    length.saturating_mul(size_of::<T>()).div_ceil(size_of::<u32>())
}

/// Sum of numbers of words.
pub const fn sum(parts: &[usize]) -> usize {
    let (mut sum, mut i) = (0usize, 0);
    while i < parts.len() {
        sum = sum.saturating_add(parts[i]);
        i += 1;
    }
    sum
}

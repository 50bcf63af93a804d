//! A block of words, cut into arrays.

use core::mem;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::linalg::MatrixMut;

/// What is left of a block of words, and how many were asked for so far.
pub struct Cut<'a> {
    rest: &'a mut [u32],
    /// Those that were not there included.
    pub asked: usize,
}

impl<'a> Cut<'a> {
    /// Nothing is cut off yet.
    pub fn new(words: &'a mut [u32]) -> Self {
        Cut { rest: words, asked: 0 }
    }

    /// How many are left.
    pub fn left(&self) -> usize {
        self.rest.len()
    }

    /// The next so many words, with whatever is in them; none, from then on, if there are too few.
    #[inline(never)]
    fn words(&mut self, count: usize) -> &'a mut [u32] {
        self.asked = self.asked.saturating_add(count);
        let (words, rest) = mem::take(&mut self.rest).split_at_mut_checked(count).unwrap_or_default();
        self.rest = rest;
        words
    }

    /// The next so many values. Each array begins with a word of its own and takes [`words`] of them.
    pub fn slice<T>(&mut self, length: usize) -> &'a mut [T]
    where
        T: FromBytes + IntoBytes + KnownLayout + Immutable,
    {
        let words = self.words(words::<T>(length));
        let array = <[T]>::mut_from_prefix_with_elems(words.as_mut_bytes(), length);
        array.map(|(array, _)| array).unwrap_or_default()
    }

    /// The next matrix; an empty one if there are too few words.
    #[inline(never)]
    pub fn matrix(&mut self, rows: usize, columns: usize) -> MatrixMut<'a> {
        matrix(self.slice(rows.saturating_mul(columns)), rows, columns)
    }
}

/// As many of the numbers as a matrix has; an empty one if there are none.
pub fn matrix(numbers: &mut [f32], rows: usize, columns: usize) -> MatrixMut<'_> {
    MatrixMut::from_slice(numbers, rows, if numbers.is_empty() { 0 } else { columns })
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

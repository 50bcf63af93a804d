//! Pointers from C: checked for null and alignment before they are used.
//!
//! What cannot be checked is the caller's promise, stated in the header: a pointer is null or points to what it says.

use core::mem::MaybeUninit;
use core::slice;

use crate::error::foretune_error::{self, *};

fn check<T>(pointer: *const T) -> Result<(), foretune_error> {
    match pointer {
        _ if pointer.is_null() => Err(FORETUNE_NULL),
        _ if !pointer.is_aligned() => Err(FORETUNE_MISALIGNED),
        _ => Ok(()),
    }
}

/// What a pointer points to.
///
/// # Safety
/// It is null, or points to a `T` that nobody writes meanwhile.
pub unsafe fn input<'a, T>(pointer: *const T) -> Result<&'a T, foretune_error> {
    check(pointer)?;
    // SAFETY: not null, aligned, and the caller vouches for the rest.
    Ok(unsafe { &*pointer })
}

/// An array; none of no elements is null or not.
///
/// # Safety
/// It is null, or points to `length` values that nobody writes meanwhile.
pub unsafe fn array<'a, T>(pointer: *const T, length: usize) -> Result<&'a [T], foretune_error> {
    if length == 0 {
        return Ok(&[]);
    }
    check(pointer)?;
    if length > isize::MAX as usize / size_of::<T>() {
        return Err(FORETUNE_TOO_SMALL);
    }
    // SAFETY: not null, aligned, no larger than memory can be, and the caller vouches for the rest.
    Ok(unsafe { slice::from_raw_parts(pointer, length) })
}

/// Where to write a value; looked at before anything is done, written when it is done.
///
/// # Safety
/// It is null, or points to room for a `T` that nobody else uses meanwhile.
pub unsafe fn output<'a, T>(pointer: *mut T) -> Result<&'a mut MaybeUninit<T>, foretune_error> {
    check(pointer)?;
    // SAFETY: not null, aligned, and the caller vouches for the rest; it need not be initialised.
    Ok(unsafe { &mut *pointer.cast() })
}

/// Where to write bytes; none where there is no room for any.
///
/// # Safety
/// It is null, or points to room for `length` bytes that nobody else uses meanwhile.
pub unsafe fn buffer<'a>(
    pointer: *mut u8,
    length: usize,
) -> Result<&'a mut [MaybeUninit<u8>], foretune_error> {
    if length == 0 {
        return Ok(&mut []);
    }
    check(pointer)?;
    if length > isize::MAX as usize {
        return Err(FORETUNE_TOO_SMALL);
    }
    // SAFETY: not null, no larger than memory can be, and the caller vouches for the rest; it need not be initialised.
    Ok(unsafe { slice::from_raw_parts_mut(pointer.cast(), length) })
}

/// Bytes that come in pieces, into a buffer that may be too small for them.
pub struct Sink<'a> {
    buffer: &'a mut [MaybeUninit<u8>],
    /// How many came.
    pub length: usize,
}

impl<'a> Sink<'a> {
    pub fn new(buffer: &'a mut [MaybeUninit<u8>]) -> Self {
        Sink { buffer, length: 0 }
    }

    pub fn write(&mut self, bytes: &[u8]) {
        let room = self.buffer.get_mut(self.length..).unwrap_or_default();
        let count = room.len().min(bytes.len());
        // SAFETY: both have as many bytes, and a buffer to write is not what is read.
        unsafe { room.as_mut_ptr().cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), count) };
        self.length += bytes.len();
    }
}

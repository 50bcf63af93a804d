//! The caller's memory: a tuner at its head, the problem's arrays and the optimizer's behind it.

use foretune_core::{Block, Capacities, Guard, Limit, Optimizer, Settings};

use crate::convert::{Fault, Parts};
use crate::edge::Edges;
use crate::error::foretune_error::{self, *};

/// What the memory must be aligned to: every tuner's, not only the compact one's.
pub const FORETUNE_COMPACT_ALIGN: usize = 8;

/// Bytes per observation that a memory needs beyond FORETUNE_SIZE(...), if foretune_set_fleet is to be called.
pub const FORETUNE_FLEET_BYTES: usize = 28;

const _: () = assert!(size_of::<foretune_core::fleet::Terms>() == FORETUNE_FLEET_BYTES);
/// Bytes of memory that are enough for 4 dimensions, 4 fidelities, 64 observations, 10 particles, 80 candidates and 8
/// limits.
pub const FORETUNE_COMPACT_SIZE: usize = 49408;
/// Bytes at the head of a tuner's memory, at most: a part of FORETUNE_SIZE.
pub const FORETUNE_HEAD: usize = 3152;

const _: () = assert!(align_of::<foretune>() == FORETUNE_COMPACT_ALIGN);
const _: () = assert!(size_of::<foretune>() <= FORETUNE_HEAD);
const _: () = assert!(bound(4, 4, 64, 10, 80) <= FORETUNE_COMPACT_SIZE);

/// What is added for each dimension and each limit: three words.
const ENTRY: usize = 3 * size_of::<usize>();
const _: () = assert!(size_of::<foretune_core::Dimension<'_>>() <= ENTRY && size_of::<Limit<'_>>() <= ENTRY);
const _: () = assert!(size_of::<foretune_core::Fidelity>() <= 12);

/// The macro FORETUNE_SIZE: enough where the core is built with what only the paper compares, too.
#[doc(hidden)]
pub const fn bound(d: usize, m: usize, n: usize, v: usize, q: usize) -> usize {
    let q = if q > n { q } else { n };
    FORETUNE_HEAD
        + ENTRY * (d + crate::FORETUNE_MAX_LIMITS)
        + 36 * d
        + 12 * m
        + 16
        + 4 * n * n
        + n * (20 * d + 122)
        + 10 * (d * (d + 1) + 4) * v
        + q * (4 * d + 28 * m + 8)
        + 224 * d
        + 128 * v
}

/// The macro FORETUNE_GUARDS_SIZE.
#[doc(hidden)]
pub const fn guards_bound(g: usize, n: usize, q: usize) -> usize {
    let q = if q > n { q } else { n };
    g * (2 * ENTRY + 96 + 4 * n + 8 * q) + 4 * n
}

/// The macro FORETUNE_REPEATS_SIZE.
#[doc(hidden)]
pub const fn repeats_bound(d: usize, n: usize) -> usize {
    n * (8 * d + 42) + 4
}

const _: () = assert!(size_of::<Guard<'_>>() <= 2 * ENTRY);

/// Marks a memory with a tuner in it.
const STARTED: u32 = 0x666f_7265;

/// A tuner, at the head of the caller's memory. What is in it is the library's affair.
#[repr(align(8))]
pub struct foretune {
    started: u32,
    /// Where it is: a copy elsewhere would share the arrays with this one.
    address: usize,
    optimizer: Optimizer<'static>,
    edges: Edges<'static>,
}

/// The caller's memory, cut up from its beginning.
struct Cut {
    next: *mut u8,
    left: usize,
}

impl Cut {
    /// Takes room for some values.
    fn take<T>(&mut self, length: usize) -> Option<*mut T> {
        let padding = self.next.align_offset(align_of::<T>());
        let bytes = length.checked_mul(size_of::<T>())?.checked_add(padding)?;
        self.left = self.left.checked_sub(bytes)?;
        let at = self.next.wrapping_add(padding).cast();
        self.next = self.next.wrapping_add(bytes);
        Some(at)
    }

    /// Room for some values, with copies of these in it.
    fn copy<T: Copy>(&mut self, values: &[T]) -> Option<&'static [T]> {
        let at: *mut T = self.take(values.len())?;
        // SAFETY: `take` gives room for as many, aligned, within the memory that `start` was given and that no value refers
        // to yet. Then it is written, and it lives as long as the tuner is used, says the caller.
        unsafe {
            at.copy_from_nonoverlapping(values.as_ptr(), values.len());
            Some(core::slice::from_raw_parts(at, values.len()))
        }
    }

    /// Zeros.
    fn words(&mut self, length: usize) -> Option<&'static mut [u32]> {
        let at: *mut u32 = self.take(length)?;
        // SAFETY: as above.
        unsafe {
            at.write_bytes(0, length);
            Some(core::slice::from_raw_parts_mut(at, length))
        }
    }
}

/// Bytes that a problem and settings take with the arrays, if they can be had, and what the arrays are for; without a fleet, for
/// which more may be given.
pub fn needed(parts: &Parts, settings: &Settings, observations: usize) -> Result<(usize, Capacities), Fault> {
    let capacities = Capacities::checked(&parts.problem(), settings, observations)?;
    let head = size_of::<foretune>()
        + size_of_val(parts.edges())
        + size_of_val(parts.deployed())
        + size_of_val(parts.dimensions())
        + size_of_val(parts.limits())
        + size_of_val(parts.guards())
        + size_of_val(parts.fidelities());
    Ok((head.saturating_add(capacities.words().saturating_mul(size_of::<u32>())), capacities))
}

/// Lays a tuner out in some memory, which is touched only if nothing is wrong.
///
/// # Safety
/// The memory is null, or `size` bytes that nobody else uses as long as the tuner is used; so long, the problem's pointers
/// stay good.
pub unsafe fn start(
    memory: *mut u8,
    size: usize,
    parts: &Parts,
    (settings, observations): (Settings, usize),
    seed: u64,
) -> Result<*mut foretune, Fault> {
    if memory.is_null() {
        return Err(FORETUNE_NULL.into());
    }
    if memory.align_offset(FORETUNE_COMPACT_ALIGN) != 0 {
        return Err(FORETUNE_MISALIGNED.into());
    }
    let (needed, plain) = needed(parts, &settings, observations)?;
    if needed > size {
        return Err(FORETUNE_TOO_SMALL.into());
    }
    // What is left over may do for a fleet. Nothing else depends on the memory's size: the same is asked in any.
    let with = Capacities { fleet: !settings.map.is_deep(), ..plain };
    let beyond = (with.words() - plain.words()).saturating_mul(size_of::<u32>());
    let capacities = if needed.saturating_add(beyond) <= size { with } else { plain };
    let mut cut = Cut { next: memory, left: size };
    let tuner: *mut foretune = cut.take(1).ok_or(FORETUNE_TOO_SMALL)?;
    // SAFETY: there is room, aligned. No reference to a tuner that was here before is alive.
    unsafe { (&raw mut (*tuner).started).write(0) };
    let edges = cut.copy(parts.edges()).ok_or(FORETUNE_TOO_SMALL)?;
    let dimensions = cut.copy(parts.dimensions()).ok_or(FORETUNE_TOO_SMALL)?;
    let limits = cut.copy(parts.limits()).ok_or(FORETUNE_TOO_SMALL)?;
    let guards = cut.copy(parts.guards()).ok_or(FORETUNE_TOO_SMALL)?;
    let fidelities = cut.copy(parts.fidelities()).ok_or(FORETUNE_TOO_SMALL)?;
    let deployed = cut.copy(parts.deployed()).ok_or(FORETUNE_TOO_SMALL)?;
    let words = cut.words(capacities.words()).ok_or(FORETUNE_TOO_SMALL)?;
    let problem = parts.with((dimensions, fidelities), (limits, guards), deployed);
    let optimizer = Block::without_deep_map(words, capacities).start(problem, settings, seed)?;
    // SAFETY: as above.
    unsafe {
        let edges = Edges(edges);
        tuner.write(foretune { started: STARTED, address: tuner as usize, optimizer, edges });
    }
    Ok(tuner)
}

/// The tuner behind a pointer, if there is one.
///
/// # Safety
/// The pointer is null, or [`start`] gave it, or it points to other memory that is initialised and as large as a tuner.
/// Nobody else uses it meanwhile.
pub unsafe fn tuner<'a>(
    pointer: *mut foretune,
) -> Result<(&'a mut Optimizer<'static>, Edges<'static>), foretune_error> {
    if pointer.is_null() {
        return Err(FORETUNE_NULL);
    }
    if !pointer.is_aligned() {
        return Err(FORETUNE_MISALIGNED);
    }
    // SAFETY: aligned and initialised; every bit pattern is a number.
    let (started, address) =
        unsafe { ((&raw const (*pointer).started).read(), (&raw const (*pointer).address).read()) };
    if started != STARTED || address != pointer as usize {
        return Err(FORETUNE_NOT_STARTED);
    }
    // SAFETY: only `start` leaves both marks, after the optimizer is written.
    Ok(unsafe { (&mut (*pointer).optimizer, (*pointer).edges) })
}

//! A problem as bytes: what a station sends when it begins a task that the device was not built for.
//!
//! All numbers are little endian. `D` dimensions, `M` fidelities, `L` limits, `G` guards:
//!
//! | bytes | content |
//! |---|---|
//! | 1 | format, 1 |
//! | 1, 1, 1 | `D`, `M`, `L` |
//! | 1 | goal: 0 maximise, 1 minimise |
//! | 1 | 1 if there is a point in use |
//! | 1 | floor: 0 none, 1 value, 2 drop, 3 share |
//! | 1 | `G` |
//! | 4, 4 | the floor's level and risk (a share of the time), `f32`; 0 without one |
//! | 4 | tolerance, `f32` |
//! | `D` times | 1 byte 0 interval: low, high, `f32`; 1 grid: low, high, `f32`, levels, `u16`; 2 list: length, `u16`, its values, `f32`; 3 condition: low, high, `f32`; 4 category: number of values, `u8` |
//! | `M` times 12 | cost, `f32`; samples, `u32`; noise, `f32` |
//! | 4 `D` | the point in use, if there is one, `f32`, natural units |
//! | `L` times 4 (`D` + 1) | coefficients, then what their sum may be at most, `f32` |
//! | `G` times 10 + 4 `M` | 1 byte 0 at least, 1 at most; 1 byte as the floor's, but not 0; level and risk, `f32`; a variance of
//! the noise for each fidelity, `f32` |
//!
//! The budget is not in it: that comes with each task. The CRC-32 of these bytes is the problem's *number*, by which both
//! sides name it.

use core::mem;

use foretune_core::{Dimension, Fidelity, Floor, Goal, Guard, Level, Limit, Problem, Side};
use heapless::Vec;

use crate::message::{Misfit, Part};
use crate::{MAX_DIMENSIONS, MAX_GUARDS, MAX_LIMITS};

/// Most bytes of a problem.
pub const MAX_PROBLEM: usize = 1024;
/// Most fidelities of a problem.
pub const MAX_FIDELITIES: usize = 8;

const FORMAT: u8 = 1;

/// Does something for every element, in a constant function.
macro_rules! for_each {
    ($item:ident in $list:expr => $act:expr) => {
        let (list, mut i) = ($list, 0);
        while i < list.len() {
            let $item = &list[i];
            $act;
            i += 1;
        }
    };
}

/// A problem's bytes. All of it works at compile time, too, so that a device need not hold more of its own problem than the
/// number.
#[derive(Clone, Debug)]
pub struct Bytes {
    all: [u8; MAX_PROBLEM],
    length: usize,
}

impl Bytes {
    /// Of a problem; none if it has more than fit, or than can be counted.
    pub const fn of(problem: &Problem<'_>) -> Option<Bytes> {
        let Problem { dimensions, fidelities, limits, guards, .. } = *problem;
        if dimensions.len() > MAX_DIMENSIONS
            || fidelities.len() > MAX_FIDELITIES
            || limits.len() > MAX_LIMITS
            || guards.len() > MAX_GUARDS
        {
            return None;
        }
        let (kind, level, risk) = match &problem.floor {
            None => (0, 0.0, 0.0),
            Some(floor) => bound(floor),
        };
        let mut bytes = Bytes { all: [0; MAX_PROBLEM], length: 0 };
        bytes.put(&[FORMAT, dimensions.len() as u8, fidelities.len() as u8, limits.len() as u8]);
        bytes.put(&[problem.goal as u8, problem.deployed.is_some() as u8, kind, guards.len() as u8]);
        bytes.floats(&[level, risk, problem.tolerance]);
        for_each!(dimension in dimensions => bytes.dimension(dimension));
        for_each!(fidelity in fidelities => {
            bytes.floats(&[fidelity.cost]);
            bytes.put(&fidelity.samples.to_le_bytes());
            bytes.floats(&[fidelity.noise])
        });
        if let Some(point) = problem.deployed {
            bytes.floats(point);
        }
        for_each!(limit in limits => {
            bytes.floats(limit.coefficients);
            bytes.floats(&[limit.at_most])
        });
        for_each!(guard in guards => {
            let (kind, level, risk) = bound(&guard.floor);
            bytes.put(&[guard.side as u8, kind]);
            bytes.floats(&[level, risk]);
            bytes.floats(guard.noise)
        });
        if bytes.length <= MAX_PROBLEM { Some(bytes) } else { None }
    }

    /// The bytes.
    pub fn as_slice(&self) -> &[u8] {
        self.all.get(..self.length).unwrap_or_default()
    }

    /// Their CRC-32: the problem's number.
    pub const fn number(&self) -> u32 {
        let (mut crc, mut i) = (u32::MAX, 0);
        while i < self.length {
            crc ^= self.all[i] as u32;
            let mut bit = 0;
            while bit < 8 {
                crc = if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
                bit += 1;
            }
            i += 1;
        }
        !crc
    }

    /// Counts on beyond the end.
    const fn put(&mut self, bytes: &[u8]) {
        for_each!(byte in bytes => {
            if self.length < MAX_PROBLEM {
                self.all[self.length] = *byte;
            }
            self.length += 1
        });
    }

    const fn floats(&mut self, numbers: &[f32]) {
        for_each!(number in numbers => self.put(&number.to_le_bytes()));
    }

    const fn dimension(&mut self, dimension: &Dimension<'_>) {
        match *dimension {
            Dimension::Interval { low, high } => {
                self.put(&[0]);
                self.floats(&[low, high]);
            }
            Dimension::Condition { low, high } => {
                self.put(&[3]);
                self.floats(&[low, high]);
            }
            Dimension::Grid { low, high, levels } => {
                self.put(&[1]);
                self.floats(&[low, high]);
                self.put(&levels.to_le_bytes());
            }
            Dimension::Levels(values) => {
                self.put(&[2]);
                self.put(&(values.len() as u16).to_le_bytes());
                self.floats(values);
            }
            Dimension::Category { count } => self.put(&[4, count]),
        }
    }
}

/// Kind, level and risk.
const fn bound(floor: &Floor) -> (u8, f32, f32) {
    match floor.level {
        Level::Value(level) => (1, level, floor.risk),
        Level::Drop(level) => (2, level, floor.risk),
        Level::Share(level) => (3, level, floor.risk),
    }
}

/// The number by which both sides of the line name a problem.
///
/// # Panics
/// If the problem has more than fits a description; at compile time where this is a constant.
pub const fn number(problem: &Problem<'_>) -> u32 {
    match Bytes::of(problem) {
        Some(bytes) => bytes.number(),
        None => panic!("the problem does not fit a description"),
    }
}

/// Room for the numbers of a problem that is read: its lists, point in use, limits and guards.
#[derive(Debug)]
pub struct Numbers([f32; MAX_PROBLEM / 4]);

impl Numbers {
    /// All zeros.
    #[inline(always)]
    pub const fn new() -> Self {
        Numbers([0.0; MAX_PROBLEM / 4])
    }
}

impl Default for Numbers {
    fn default() -> Self {
        Self::new()
    }
}

/// A problem that was read, its numbers elsewhere.
#[derive(Clone, Debug, PartialEq)]
pub struct Parts<'n> {
    dimensions: Vec<Dimension<'n>, MAX_DIMENSIONS>,
    fidelities: Vec<Fidelity, MAX_FIDELITIES>,
    limits: Vec<Limit<'n>, MAX_LIMITS>,
    guards: Vec<Guard<'n>, MAX_GUARDS>,
    goal: Goal,
    deployed: Option<&'n [f32]>,
    floor: Option<Floor>,
    tolerance: f32,
}

impl<'n> Parts<'n> {
    /// Reads a problem; whether it makes sense is not looked at.
    ///
    /// # Errors
    /// What cannot be read, or is more than any device has room for.
    pub fn read(bytes: &[u8], numbers: &'n mut Numbers) -> Result<Self, Misfit> {
        let mut reader = Reader { bytes, room: &mut numbers.0 };
        let [format, dimensions, fidelities, limits] = reader.take()?;
        let [goal, in_use, kind, guards] = reader.take()?;
        let floor = reader.floor(kind)?;
        let tolerance = reader.float()?;
        if format != FORMAT || goal > 1 || in_use > 1 {
            return Err(BYTES);
        }
        let mut parts = Parts {
            dimensions: Vec::new(),
            fidelities: Vec::new(),
            limits: Vec::new(),
            guards: Vec::new(),
            goal: if goal == 0 { Goal::Maximise } else { Goal::Minimise },
            deployed: None,
            floor,
            tolerance,
        };
        for _ in 0..dimensions {
            let full = Misfit { part: Part::Dimensions, at: MAX_DIMENSIONS as u16 };
            parts.dimensions.push(reader.dimension()?).map_err(|_| full)?;
        }
        for _ in 0..fidelities {
            let full = Misfit { part: Part::Fidelities, at: MAX_FIDELITIES as u16 };
            parts.fidelities.push(reader.fidelity()?).map_err(|_| full)?;
        }
        if in_use == 1 {
            parts.deployed = Some(reader.list(usize::from(dimensions))?);
        }
        for _ in 0..limits {
            let coefficients = reader.list(usize::from(dimensions))?;
            let limit = Limit { coefficients, at_most: reader.float()? };
            parts.limits.push(limit).map_err(|_| Misfit { part: Part::Limits, at: 0 })?;
        }
        for _ in 0..guards {
            let full = Misfit { part: Part::Guards, at: MAX_GUARDS as u16 };
            parts.guards.push(reader.guard(usize::from(fidelities))?).map_err(|_| full)?;
        }
        if reader.bytes.is_empty() { Ok(parts) } else { Err(BYTES) }
    }

    /// The problem, with a task's budget.
    pub fn problem(&self, budget: f32) -> Problem<'_> {
        Problem {
            dimensions: &self.dimensions,
            fidelities: &self.fidelities,
            budget,
            goal: self.goal,
            deployed: self.deployed,
            floor: self.floor,
            tolerance: self.tolerance,
            limits: &self.limits,
            guards: &self.guards,
            predicate: None,
        }
    }
}

const BYTES: Misfit = Misfit { part: Part::Bytes, at: 0 };

struct Reader<'b, 'n> {
    bytes: &'b [u8],
    room: &'n mut [f32],
}

impl<'n> Reader<'_, 'n> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], Misfit> {
        let (head, rest) = self.bytes.split_first_chunk().ok_or(BYTES)?;
        self.bytes = rest;
        Ok(*head)
    }

    fn float(&mut self) -> Result<f32, Misfit> {
        self.take().map(f32::from_le_bytes)
    }

    fn count(&mut self) -> Result<u16, Misfit> {
        self.take().map(u16::from_le_bytes)
    }

    fn list(&mut self, length: usize) -> Result<&'n [f32], Misfit> {
        let (list, rest) = mem::take(&mut self.room).split_at_mut_checked(length).ok_or(BYTES)?;
        self.room = rest;
        for number in &mut *list {
            *number = self.float()?;
        }
        Ok(list)
    }

    /// Level and risk of this kind.
    fn floor(&mut self, kind: u8) -> Result<Option<Floor>, Misfit> {
        let (level, risk) = (self.float()?, self.float()?);
        let level = match kind {
            0 => return Ok(None),
            1 => Level::Value(level),
            2 => Level::Drop(level),
            3 => Level::Share(level),
            _ => return Err(BYTES),
        };
        Ok(Some(Floor { level, risk }))
    }

    fn guard(&mut self, fidelities: usize) -> Result<Guard<'n>, Misfit> {
        let [side, kind] = self.take()?;
        let floor = self.floor(kind)?.ok_or(BYTES)?;
        let side = match side {
            0 => Side::AtLeast,
            1 => Side::AtMost,
            _ => return Err(BYTES),
        };
        Ok(Guard { side, floor, noise: self.list(fidelities)? })
    }

    fn dimension(&mut self) -> Result<Dimension<'n>, Misfit> {
        let [kind] = self.take()?;
        if kind == 2 {
            let length = self.count()?;
            return self.list(usize::from(length)).map(Dimension::Levels);
        }
        if kind == 4 {
            return self.take().map(|[count]| Dimension::Category { count });
        }
        let (low, high) = (self.float()?, self.float()?);
        match kind {
            0 => Ok(Dimension::Interval { low, high }),
            1 => Ok(Dimension::Grid { low, high, levels: self.count()? }),
            3 => Ok(Dimension::Condition { low, high }),
            _ => Err(BYTES),
        }
    }

    fn fidelity(&mut self) -> Result<Fidelity, Misfit> {
        let cost = self.float()?;
        let samples = self.take().map(u32::from_le_bytes)?;
        Ok(Fidelity { cost, samples, noise: self.float()? })
    }
}

#[cfg(test)]
mod tests;

//! What many sites have in common: `f(x) = m₀(x) + Σₖ wₖ mₖ(x) + g(x)`, `wₖ ~ N(0, 1)`, `g` the Gaussian process of the
//! particles.
//!
//! A mean and a few modes, learnt on a host from other sites and constant on the device, for instance in flash. The model
//! subtracts `m₀` from the observations and adds `Σₖ mₖ(x) mₖ(x')` to its kernel. All `mₖ` are linear in the same features:
//! Gaussian bumps `exp(−‖A x − cⱼ‖²)` and a constant. Values are scaled by one mean and deviation for all sites.
//!
//! | offset | size | content (little-endian) |
//! |---|---|---|
//! | 0 | 8 | `FTNFLEET` |
//! | 8 | 2 | version of the format, 1 |
//! | 10 | 1 each | dimensions D, fidelities M, centres J, modes K, sets of weights S (1 or M), typical points P |
//! | 16 | 4, 4, 4 | checksums of the problem's parameters, fidelities and goal |
//! | 28 | 4, 4, 4 | sites, tasks and answers that it was learnt from |
//! | 40 | 4 | length of everything, checksum included |
//! | 44 | 4, 4 | mean and deviation of the values, `f32` |
//! | 52 | 4 | mean of `Σₖ mₖ(x)²` over what was measured, `f32` |
//! | 56 | 4 | margin to the floor in a site's first task, `f32` |
//! | 60 | 4 | zeros |
//! | 64 | 4 (D + 2) | the residual's `ln ℓ` per dimension, `ln s`, `ln γ`, `f32` like all that follows |
//! | | 4 D² | `A`, row by row |
//! | | 4 J D | centres |
//! | | 4 S (J + 1)(K + 1) | weights: for each feature, the constant last, those of `m₀ … m_K` |
//! | | 4 P (D + 1) | typical points in the unit cube, each with the value to expect |
//! | | 4 | CRC-32 (IEEE) of all before |

use crate::checksum::{Crc, ProblemSums};
use crate::error::{ProblemPart, SnapshotError};
use crate::features::Map;
use crate::kernel::{MAX_FIDELITIES, Model};
use crate::linalg::{self, LANES, Lane, Matrix, column};
use crate::math::{self, LARGEST_VALUE};
use crate::space::{MAX_DIMENSIONS, Problem};

/// Version of the format.
pub const VERSION: u16 = 1;
/// Most modes.
pub const MAX_MODES: usize = 6;
/// Most centres.
pub const MAX_CENTRES: usize = 32;
/// Most typical points.
pub const MAX_POINTS: usize = 8;
/// Logarithms of the residual's parameters lie within this.
const LARGEST_LOGARITHM: f32 = 20.0;
/// Most parameters of a kernel without a deep map.
const MAX_THETA: usize = Map::Linear.parameters(MAX_DIMENSIONS) + 2;

const MAGIC: [u8; 8] = *b"FTNFLEET";
const HEADER: usize = 64;

/// `m₀ … m_K` at a point; zeros behind.
pub type Terms = [f32; TERMS];

pub(crate) const TERMS: usize = MAX_MODES + 1;

/// `θ` of a kernel without a deep map.
pub(crate) type Theta = [f32; MAX_THETA];

/// A fleet's prior: borrowed bytes, checked.
#[derive(Clone, Copy, Debug)]
pub struct Fleet<'a> {
    header: Header,
    numbers: &'a [[u8; 4]],
    checksum: u32,
}

/// What stands at the head of a fleet's bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Header {
    /// Dimensions of the problem.
    pub dimensions: usize,
    /// Fidelities of the problem.
    pub fidelities: usize,
    /// Features beside the constant.
    pub centres: usize,
    /// Modes.
    pub modes: usize,
    /// Sets of weights: one, or one per fidelity.
    pub sets: usize,
    /// Typical points.
    pub points: usize,
    /// What problem it is of.
    pub problem: ProblemSums,
    /// Sites, tasks and answers that it was learnt from.
    pub learnt_from: [u32; 3],
    /// Subtracted from a value.
    pub mean: f32,
    /// Divides what remains.
    pub deviation: f32,
    /// Mean of `Σₖ mₖ(x)²` over what was measured.
    pub spread: f32,
    /// Margin to the floor in a site's first task.
    pub margin: f32,
}

impl Header {
    /// How many numbers follow the header, part by part: `θ`, `A`, centres, weights, typical points.
    pub const fn parts(&self) -> [usize; 5] {
        let d = self.dimensions;
        let weights = self.sets * (self.centres + 1) * (self.modes + 1);
        [d + 2, d * d, self.centres * d, weights, self.points * (d + 1)]
    }

    fn length(&self) -> usize {
        HEADER + 4 * self.parts().iter().sum::<usize>() + 4
    }

    fn read(bytes: &[u8]) -> Result<Header, SnapshotError> {
        if !bytes.starts_with(&MAGIC) {
            let short = bytes.len() < MAGIC.len() && MAGIC.starts_with(bytes);
            return Err(if short { SnapshotError::Truncated } else { SnapshotError::Foreign });
        }
        let head: &[u8; HEADER] = bytes.first_chunk().ok_or(SnapshotError::Truncated)?;
        let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        match u16::from_le_bytes([head[8], head[9]]) {
            VERSION => {}
            0 => return Err(SnapshotError::Contents),
            version => return Err(SnapshotError::Newer { version }),
        }
        let count = |at: usize| usize::from(head[at]);
        let float = |at: usize| f32::from_bits(word(at));
        let header = Header {
            dimensions: count(10),
            fidelities: count(11),
            centres: count(12),
            modes: count(13),
            sets: count(14),
            points: count(15),
            problem: ProblemSums { parameters: word(16), fidelities: word(20), goal: word(24) },
            learnt_from: [word(28), word(32), word(36)],
            mean: float(44),
            deviation: float(48),
            spread: float(52),
            margin: float(56),
        };
        if header.is_sane() && header.length() == word(40) as usize {
            Ok(header)
        } else {
            Err(SnapshotError::Contents)
        }
    }

    fn is_sane(&self) -> bool {
        let within = |value: f32, range: core::ops::RangeInclusive<f32>| range.contains(&value);
        (1..=MAX_DIMENSIONS).contains(&self.dimensions)
            && (1..=MAX_FIDELITIES).contains(&self.fidelities)
            && self.centres <= MAX_CENTRES
            && self.modes <= MAX_MODES
            && (self.sets == 1 || self.sets == self.fidelities)
            && self.points <= MAX_POINTS
            && within(self.mean, -LARGEST_VALUE..=LARGEST_VALUE)
            && within(self.deviation, 1e-20..=1e20)
            && within(self.spread, 0.0..=1e6)
            && within(self.margin, 0.0..=4.0)
    }

    /// Writes a fleet's bytes, in pieces: this header, then the numbers in the order of [`parts`](Self::parts).
    pub fn write(&self, numbers: impl Iterator<Item = f32>, mut sink: impl FnMut(&[u8])) {
        let mut head = [0; HEADER];
        let mut put = |at: usize, part: &[u8]| head[at..at + part.len()].copy_from_slice(part);
        put(0, &MAGIC);
        put(8, &VERSION.to_le_bytes());
        let counts = [self.dimensions, self.fidelities, self.centres, self.modes, self.sets, self.points];
        put(10, &counts.map(|count| count as u8));
        let ProblemSums { parameters, fidelities, goal } = self.problem;
        let [sites, tasks, answers] = self.learnt_from;
        let words = [parameters, fidelities, goal, sites, tasks, answers, self.length() as u32];
        let floats = [self.mean, self.deviation, self.spread, self.margin].map(f32::to_bits);
        for (i, word) in words.into_iter().chain(floats).enumerate() {
            put(16 + 4 * i, &word.to_le_bytes());
        }
        let mut crc = Crc::new();
        let mut put = |bytes: &[u8]| {
            crc.update(bytes);
            sink(bytes);
        };
        put(&head);
        numbers.for_each(|number| put(&number.to_le_bytes()));
        let sum = crc.value();
        sink(&sum.to_le_bytes());
    }
}

impl<'a> Fleet<'a> {
    /// Reads and checks bytes.
    ///
    /// # Errors
    /// Why they are none of a fleet's.
    pub fn read(bytes: &'a [u8]) -> Result<Fleet<'a>, SnapshotError> {
        let header = Header::read(bytes)?;
        let all = bytes.get(..header.length()).ok_or(SnapshotError::Truncated)?;
        let (body, sum) = all.split_at(all.len() - 4);
        let mut crc = Crc::new();
        crc.update(body);
        if crc.value().to_le_bytes() != *sum {
            return Err(SnapshotError::Checksum);
        }
        let fleet = Fleet { header, numbers: body[HEADER..].as_chunks().0, checksum: crc.value() };
        let sound = (0..4).all(|part| fleet.part(part).iter().all(|n| number(n).abs() <= 1e4))
            && fleet.part(0).iter().all(|n| number(n).abs() <= LARGEST_LOGARITHM)
            && fleet.part(4).iter().all(|n| number(n).abs() <= LARGEST_VALUE);
        if sound { Ok(fleet) } else { Err(SnapshotError::Contents) }
    }

    /// Whether bytes begin like a fleet's.
    pub(crate) fn is_one(bytes: &[u8]) -> bool {
        bytes.starts_with(&MAGIC)
    }

    /// What stands at its head.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Checksum of all its bytes.
    pub fn checksum(&self) -> u32 {
        self.checksum
    }

    /// Whether it is of this problem: its parameters and goal. What sites measure with may differ.
    ///
    /// # Errors
    /// In what they differ.
    pub fn fits(&self, problem: &Problem<'_>) -> Result<(), SnapshotError> {
        let (dimensions, fidelities) = (problem.dimensions.len(), problem.fidelities.len());
        if self.header.dimensions != dimensions {
            return Err(SnapshotError::Problem(ProblemPart::Parameters));
        }
        if self.header.fidelities != fidelities {
            return Err(SnapshotError::Problem(ProblemPart::Fidelities));
        }
        let own = ProblemSums { fidelities: self.header.problem.fidelities, ..ProblemSums::of(problem) };
        self.header.problem.agrees(&own)
    }

    /// All its numbers, in the order of [`Header::parts`].
    pub fn numbers(&self) -> impl Iterator<Item = f32> {
        self.numbers.iter().map(number)
    }

    /// The numbers of a [part](Header::parts).
    fn part(&self, index: usize) -> &'a [[u8; 4]] {
        let parts = self.header.parts();
        let from = parts[..index].iter().sum();
        &self.numbers[from..][..parts[index]]
    }

    /// `θ` at which the residual lies, relative to a model's offsets; it has no shear.
    pub(crate) fn centre(&self, model: &Model) -> Theta {
        let (mut centre, d) = ([0.0; MAX_THETA], model.dimensions);
        for (i, (value, n)) in centre.iter_mut().zip(self.part(0)).enumerate() {
            let offset = match i.checked_sub(d) {
                None => model.offsets.length,
                Some(0) => model.offsets.signal,
                Some(_) => model.offsets.gamma,
            };
            *value = number(n) - offset;
        }
        centre
    }

    /// Typical point `i` in the unit cube, number by number, and the value to expect behind it.
    pub fn typical(&self, i: usize) -> impl Iterator<Item = f32> {
        let length = self.header.dimensions + 1;
        self.part(4)[i * length..][..length].iter().map(number)
    }

    /// `m₀ … m_K` at a point and fidelity.
    pub fn at(&self, x: &[f32], fidelity: usize) -> Terms {
        self.lanes(Matrix::from_slice(x, x.len(), 1), fidelity).map(|lanes| lanes[0])
    }

    /// `m₀ … m_K` of up to [`LANES`] points at a fidelity; what lies behind the last fidelity is like it.
    #[inline(never)]
    pub(crate) fn lanes(&self, points: Matrix<'_>, fidelity: usize) -> [Lane; TERMS] {
        let (d, count) = (self.header.dimensions, points.ncols());
        let mut moved = [[0.0; LANES]; MAX_DIMENSIONS];
        for (moved, row) in moved.iter_mut().zip(self.part(1).chunks_exact(d)) {
            for (lane, moved) in moved.iter_mut().enumerate().take(count) {
                let x = column(&points, lane).iter().zip(row);
                *moved = x.fold(0.0, |sum, (x, a)| sum + number(a) * x);
            }
        }
        let (all, terms) = (self.header.centres, self.header.modes + 1);
        let (size, set) = ((all + 1) * terms, self.set(fidelity));
        let (weights, constants) = self.part(3)[set * size..][..size].split_at(all * terms);
        let mut sums = [[0.0; LANES]; TERMS];
        for (sum, constant) in sums.iter_mut().zip(constants) {
            *sum = [number(constant); LANES];
        }
        for (centre, weights) in self.part(2).chunks_exact(d).zip(weights.chunks_exact(terms)) {
            let mut feature = [0.0; LANES];
            for (c, moved) in centre.iter().zip(&moved) {
                let c = number(c);
                feature.iter_mut().zip(moved).for_each(|(sum, u)| *sum += (u - c) * (u - c));
            }
            math::decay_slice(&mut feature, 1.0);
            for (sum, weight) in sums.iter_mut().zip(weights) {
                linalg::add_scaled(sum, &feature, number(weight));
            }
        }
        sums
    }

    /// The set of weights of a fidelity.
    pub(crate) fn set(&self, fidelity: usize) -> usize {
        fidelity.min(self.header.sets - 1)
    }

    /// Adds `Σₖ mₖ mₖ'` of some observations with up to [`LANES`] points to what the kernel says of them.
    #[inline(never)]
    pub(crate) fn add_products(&self, panel: &mut [Lane], observations: &[Terms], points: &[Lane; TERMS]) {
        let others = &points[1..][..self.header.modes];
        for (sums, [_, modes @ ..]) in panel.iter_mut().zip(observations) {
            modes.iter().zip(others).for_each(|(m, others)| linalg::add_scaled(sums, others, *m));
        }
    }
}

fn number(bytes: &[u8; 4]) -> f32 {
    f32::from_le_bytes(*bytes)
}

/// Terms of up to [`LANES`] points side by side.
pub(crate) fn lanes(terms: &[Terms]) -> [Lane; TERMS] {
    let mut lanes = [[0.0; LANES]; TERMS];
    for (lane, terms) in terms.iter().enumerate() {
        lanes.iter_mut().zip(terms).for_each(|(lanes, term)| lanes[lane] = *term);
    }
    lanes
}

/// `Σₖ mₖ²` of the point in a lane, and `Σₖ mₖ mₖ'` with the same point at another fidelity.
pub(crate) fn variance(own: &[Lane; TERMS], other: &[Lane; TERMS], lane: usize) -> (f32, f32) {
    let each = own.iter().zip(other).skip(1).map(|(own, other)| (own[lane], other[lane]));
    each.fold((0.0, 0.0), |(square, product), (own, other)| (square + own * own, product + own * other))
}

#[cfg(test)]
mod tests;

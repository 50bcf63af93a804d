//! Saved state: versioned bytes with a checksum.
//!
//! Two kinds, one format. *Knowledge*, when a task has ended: particles, carried points and kept answers, from which the next task
//! starts. A *snapshot*, at any time: the knowledge that the task started from, and the answers so far; restoring it
//! replays the learning, slice by slice, and then goes on bit for bit.
//!
//! | offset | size | content (little-endian) |
//! |---|---|---|
//! | 0 | 8 | `FORETUNE` |
//! | 8 | 2 | version of the format, 2 |
//! | 10 | 1 | 0 = between tasks, 1 = within one |
//! | 11 | 1 | particles stored (0: re-initialised from the prior) |
//! | 12 | 4 | parameters per particle |
//! | 16 | 1, 1, 1, 1 | dimensions, fidelities, carried points, 1 if the task is to end at once |
//! | 20 | 4 | records |
//! | 24 | 8 | seed |
//! | 32 | 4 | task that runs or is next, from 1 |
//! | 36 | 4 | checksum of the model: map, width, offsets |
//! | 40 | 4 | checksum of settings and problem |
//! | 44 | 4 | length of everything, checksum included |
//! | 48 | 1 | 1 if the newest carried point comes from a task unlike those before it |
//! | 49 | 1 | 1 if there is a point in use |
//! | 50 | 1 | 1 if an earlier task spoke against the fleet's prior |
//! | 51 | 1 | guards |
//! | 52 | 1 | conditions |
//! | 53 | 11 | zeros |
//! | 64 | 4, 4, 4 | checksums of the problem's parameters, fidelities and goal |
//! | 76 | 4 | zeros |
//! | 80 | 4 each | particles, `f32` |
//! | | 4 (D + 1) each | carried points, each with the value remembered of it, `f32` |
//! | | 4 (D + 1 + G) | if there is one: the point in use at the task's start, with the margins to the floor and to each guard,
//! `f32` |
//! | | 4 each | the conditions at hand, in the unit cube, `f32` |
//! | | 4 (D + 3 + G) each | records: point, observation, cost, the KPIs of G guards, `f32`, then a byte each: fidelity, kind (0 initial, 1 carried,
//! 2 search, 3 past), failed, whether the cost is its own (else 0 is written) |
//! | | 4 | CRC-32 (IEEE) of all before |

use crate::checksum::checksum;
pub use crate::checksum::{Crc, ProblemSums};
use crate::data::{Kind, Point, Record};
use crate::error::SnapshotError;
use crate::features::Map;
use crate::fleet::Fleet;
use crate::kernel::Model;
use crate::live::MAX_GUARDS;
use crate::math::LARGEST_VALUE;
use crate::prior::LARGEST_PARAMETER;
use crate::settings::{MAX_CARRIED, Settings};
use crate::space::Problem;

/// Version of the format.
pub const VERSION: u16 = 2;
/// Length of the header; the particles follow.
pub const HEADER: usize = 80;

const MAGIC: [u8; 8] = *b"FORETUNE";
/// No sequence of tasks is as long.
const LAST_TASK: u32 = u32::MAX / 2;

/// The header's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Whether it was taken within a task.
    pub mid_task: bool,
    /// Whether the user had asked for the task to end.
    pub stopping: bool,
    /// Particles stored.
    pub particles: usize,
    /// Parameters per particle.
    pub parameters: usize,
    /// Dimensions of the problem.
    pub dimensions: usize,
    /// Fidelities of the problem.
    pub fidelities: usize,
    /// Carried points stored.
    pub carried: usize,
    /// Whether the newest carried point comes from a task that was unlike those before it.
    pub newest_is_unlike: bool,
    /// Whether there is a point in use.
    pub in_use: bool,
    /// Whether an earlier task spoke against the fleet's prior.
    pub fleet_refuted: bool,
    /// Guards of the problem.
    pub guards: usize,
    /// Conditions of the problem.
    pub conditions: usize,
    /// Answers stored.
    pub records: usize,
    /// The seed.
    pub seed: u64,
    /// The task that runs or is next, from 1.
    pub task: u32,
    /// Checksum of the model.
    pub model: u32,
    /// Checksum of settings and problem.
    pub settings: u32,
    /// Of the problem.
    pub problem: ProblemSums,
}

impl Header {
    /// Length of the whole snapshot in bytes.
    pub fn length(&self) -> usize {
        HEADER
            + self.particles * self.parameters * 4
            + self.carried * (self.dimensions + 1) * 4
            + self.in_use_length()
            + self.conditions * 4
            + self.records * self.record_length()
            + 4
    }

    fn record_length(&self) -> usize {
        (self.dimensions + 3 + self.guards) * 4
    }

    fn in_use_length(&self) -> usize {
        if self.in_use { (self.dimensions + 1 + self.guards) * 4 } else { 0 }
    }

    pub(crate) fn carried_at(&self) -> usize {
        HEADER + self.particles * self.parameters * 4
    }

    pub(crate) fn in_use_at(&self) -> usize {
        self.carried_at() + self.carried * (self.dimensions + 1) * 4
    }

    pub(crate) fn conditions_at(&self) -> usize {
        self.in_use_at() + self.in_use_length()
    }

    pub(crate) fn records_at(&self) -> usize {
        self.conditions_at() + self.conditions * 4
    }

    /// Reads the header, without looking at the checksum.
    ///
    /// # Errors
    /// [`SnapshotError::Truncated`], [`SnapshotError::Foreign`], [`SnapshotError::Newer`], [`SnapshotError::Older`],
    /// [`SnapshotError::Contents`].
    pub fn read(bytes: &[u8]) -> Result<Header, SnapshotError> {
        if !bytes.starts_with(&MAGIC) {
            let short = bytes.len() < MAGIC.len() && MAGIC.starts_with(bytes);
            return Err(if short { SnapshotError::Truncated } else { SnapshotError::Foreign });
        }
        let version = bytes.get(8..10).ok_or(SnapshotError::Truncated)?;
        match u16::from_le_bytes([version[0], version[1]]) {
            VERSION => {}
            0 => return Err(SnapshotError::Contents),
            version if version > VERSION => return Err(SnapshotError::Newer { version }),
            version => return Err(SnapshotError::Older { version }),
        }
        let header: &[u8; HEADER] = bytes.first_chunk().ok_or(SnapshotError::Truncated)?;
        let word =
            |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let read = Header {
            mid_task: header[10] == 1,
            stopping: header[19] == 1,
            particles: usize::from(header[11]),
            parameters: word(12) as usize,
            dimensions: usize::from(header[16]),
            fidelities: usize::from(header[17]),
            carried: usize::from(header[18]),
            newest_is_unlike: header[48] == 1,
            in_use: header[49] == 1,
            fleet_refuted: header[50] == 1,
            guards: usize::from(header[51]),
            conditions: usize::from(header[52]),
            records: word(20) as usize,
            seed: u64::from(word(24)) | u64::from(word(28)) << 32,
            task: word(32),
            model: word(36),
            settings: word(40),
            problem: ProblemSums { parameters: word(64), fidelities: word(68), goal: word(72) },
        };
        // Bounds that keep `length` from overflowing on 32 bits.
        let sane = header[10] <= 1
            && header[49] <= 1
            && header[50] <= 1
            && read.guards <= MAX_GUARDS
            && read.conditions <= read.dimensions
            && read.parameters < 1 << 20
            && read.records < 1 << 16;
        if !sane || read.length() != word(44) as usize {
            return Err(SnapshotError::Contents);
        }
        Ok(read)
    }

    /// Reads the header and verifies length and checksum.
    ///
    /// # Errors
    /// As [`read`](Self::read), and [`SnapshotError::Checksum`].
    pub fn verify(bytes: &[u8]) -> Result<Header, SnapshotError> {
        let header = Header::read(bytes)?;
        let body = bytes.get(..header.length()).ok_or(SnapshotError::Truncated)?;
        let (body, sum) = body.split_at(header.length() - 4);
        let mut crc = Crc::new();
        crc.update(body);
        if crc.value().to_le_bytes() != *sum {
            return Err(SnapshotError::Checksum);
        }
        Ok(header)
    }

    fn bytes(&self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        let mut put = |at: usize, part: &[u8]| bytes[at..at + part.len()].copy_from_slice(part);
        put(0, &MAGIC);
        put(8, &VERSION.to_le_bytes());
        put(10, &[u8::from(self.mid_task), self.particles as u8]);
        put(12, &(self.parameters as u32).to_le_bytes());
        put(16, &[self.dimensions as u8, self.fidelities as u8, self.carried as u8, u8::from(self.stopping)]);
        put(20, &(self.records as u32).to_le_bytes());
        put(24, &self.seed.to_le_bytes());
        put(32, &self.task.to_le_bytes());
        put(36, &self.model.to_le_bytes());
        put(40, &self.settings.to_le_bytes());
        put(44, &(self.length() as u32).to_le_bytes());
        let flags = [self.newest_is_unlike, self.in_use, self.fleet_refuted].map(u8::from);
        put(48, &flags);
        put(51, &[self.guards as u8, self.conditions as u8]);
        put(64, &self.problem.parameters.to_le_bytes());
        put(68, &self.problem.fidelities.to_le_bytes());
        put(72, &self.problem.goal.to_le_bytes());
        bytes
    }
}

/// Stored bytes apart: knowledge, and a fleet's file behind it or in its place. Either may be empty.
pub fn knowledge_and_fleet(bytes: &[u8]) -> (&[u8], &[u8]) {
    match Header::read(bytes) {
        Ok(header) => bytes.split_at(header.length().min(bytes.len())),
        Err(_) if Fleet::is_one(bytes) => (&[], bytes),
        Err(_) => (bytes, &[]),
    }
}

/// The particles' bytes within a snapshot, its header checked, its checksum not.
///
/// # Errors
/// [`SnapshotError::Truncated`].
pub fn particles_of<'b>(bytes: &'b [u8], header: &Header) -> Result<&'b [u8], SnapshotError> {
    bytes.get(HEADER..header.carried_at()).ok_or(SnapshotError::Truncated)
}

/// Checksum of a problem's space, fidelities and goal, without its budget: for two sides to know that they mean the
/// same.
pub fn problem_checksum(problem: &Problem<'_>) -> u32 {
    checksum(|mix| problem.fingerprint_without_budget(mix))
}

/// Everything that gives a particle's numbers their meaning.
pub(crate) fn model_checksum(model: &Model) -> u32 {
    let (map, width) = match model.map {
        Map::Ard | Map::Linear => (0, 0),
        Map::Deep { width } => (1, width as u32),
    };
    let offsets = [model.offsets.length, model.offsets.signal, model.offsets.gamma];
    checksum(|mix| {
        mix(map);
        mix(width);
        mix(model.dimensions as u32);
        offsets.iter().for_each(|offset| mix(offset.to_bits()));
    })
}

/// A sink that keeps the checksum of what went through.
pub(crate) struct Writer<S: FnMut(&[u8])> {
    sink: S,
    crc: Crc,
}

impl<S: FnMut(&[u8])> Writer<S> {
    pub fn new(header: &Header, sink: S) -> Self {
        let mut writer = Writer { sink, crc: Crc::new() };
        writer.put(&header.bytes());
        writer
    }

    fn put(&mut self, bytes: &[u8]) {
        self.crc.update(bytes);
        (self.sink)(bytes);
    }

    pub fn floats(&mut self, values: &[f32]) {
        // In pieces, so that a sink need not be called for every number.
        for piece in values.chunks(16) {
            let mut bytes = [0; 64];
            for (bytes, value) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(piece) {
                *bytes = value.to_le_bytes();
            }
            self.put(&bytes[..piece.len() * 4]);
        }
    }

    pub fn record(&mut self, record: &Record, guards: usize) {
        self.floats(&record.unit);
        self.floats(&[record.y.unwrap_or(0.0), record.cost.unwrap_or(0.0)]);
        let mut kpis = [0.0; MAX_GUARDS];
        kpis.iter_mut().zip(&record.kpis).for_each(|(to, kpi)| *to = *kpi);
        self.floats(&kpis[..guards.min(MAX_GUARDS)]);
        let flags = [u8::from(record.y.is_none()), u8::from(record.cost.is_some())];
        self.put(&[record.fidelity as u8, record.kind as u8, flags[0], flags[1]]);
    }

    pub fn finish(mut self) {
        let crc = self.crc.value();
        self.put(&crc.to_le_bytes());
    }
}

/// Whether knowledge could be [loaded](crate::Optimizer::load) with these settings for this problem, into a memory that has room for
/// all of its particles.
///
/// # Errors
/// Why not.
pub fn check_knowledge(
    bytes: &[u8],
    settings: &Settings,
    problem: &Problem<'_>,
) -> Result<Header, SnapshotError> {
    let header = Header::verify(bytes)?;
    if header.mid_task {
        return Err(SnapshotError::Settings);
    }
    fits(&header, bytes, &settings.model(problem.dimensions.len()), settings, problem)?;
    header.problem.agrees(&ProblemSums::of(problem))?;
    Ok(header)
}

/// Everything that could be wrong with particles and carried points whose checksum is right.
pub(crate) fn fits(
    header: &Header,
    bytes: &[u8],
    model: &Model,
    settings: &Settings,
    problem: &Problem<'_>,
) -> Result<(), SnapshotError> {
    let wanted = if settings.carries_particles() && header.task > 1 { settings.particles } else { 0 };
    let same_model = header.model == model_checksum(model)
        && model.takes(header.parameters)
        && header.dimensions == problem.dimensions.len()
        && header.fidelities == problem.fidelities.len();
    if !same_model || (wanted > 0 && header.particles != wanted) {
        return Err(SnapshotError::Model);
    }
    if header.carried > MAX_CARRIED || header.task == 0 || header.task > LAST_TASK {
        return Err(SnapshotError::Contents);
    }
    let carried = bytes.get(header.carried_at()..header.in_use_at()).ok_or(SnapshotError::Truncated)?;
    let in_use = bytes.get(header.in_use_at()..header.conditions_at()).ok_or(SnapshotError::Truncated)?;
    let conditions =
        bytes.get(header.conditions_at()..header.records_at()).ok_or(SnapshotError::Truncated)?;
    let within = |bytes: &[u8], largest: f32| {
        bytes.as_chunks::<4>().0.iter().all(|value| f32::from_le_bytes(*value).abs() <= largest)
    };
    let point = header.dimensions * 4;
    let sound = within(&bytes[HEADER..header.carried_at()], LARGEST_PARAMETER)
        && within(conditions, 1.0)
        // The point in use is stored like a carried one, with more numbers.
        && carried.chunks_exact(point + 4).chain([in_use]).all(|entry| {
            let (x, numbers) = entry.split_at(point.min(entry.len()));
            within(x, LARGEST_PARAMETER) && within(numbers, LARGEST_VALUE)
        });
    if sound { Ok(()) } else { Err(SnapshotError::Contents) }
}

pub(crate) fn read_floats(bytes: &[u8], out: &mut [f32]) {
    for (out, bytes) in out.iter_mut().zip(bytes.as_chunks::<4>().0) {
        *out = f32::from_le_bytes(*bytes);
    }
}

/// Answer `i`.
pub(crate) fn read_record(bytes: &[u8], header: &Header, i: usize) -> Result<Record, SnapshotError> {
    let at = header.records_at() + i * header.record_length();
    let bytes = bytes.get(at..at + header.record_length()).ok_or(SnapshotError::Truncated)?;
    let (floats, rest) = bytes.split_at((header.dimensions + 2 + header.guards) * 4);
    let mut unit = Point::new();
    unit.resize(header.dimensions, 0.0).map_err(|_| SnapshotError::Contents)?;
    read_floats(floats, &mut unit);
    let mut answer = [0.0; 2 + MAX_GUARDS];
    read_floats(&floats[header.dimensions * 4..], &mut answer);
    let [y, cost, ..] = answer;
    let kind = match rest[1] {
        0 => Kind::Initial,
        1 => Kind::Carried,
        2 => Kind::Search,
        3 => Kind::Past,
        _ => return Err(SnapshotError::Contents),
    };
    if rest[2] > 1 || rest[3] > 1 {
        return Err(SnapshotError::Contents);
    }
    let (y, cost) = ((rest[2] == 0).then_some(y), (rest[3] == 1).then_some(cost));
    let kpis = answer[2..2 + header.guards].iter().copied().filter(|_| y.is_some()).collect();
    Ok(Record { unit, fidelity: usize::from(rest[0]), kind, y, kpis, cost })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_the_usual_crc() {
        let mut crc = Crc::new();
        crc.update(b"1234");
        crc.update(b"56789");
        assert_eq!(crc.value(), 0xcbf4_3926);
    }

    #[test]
    fn headers_survive_and_damage_is_named() {
        let header = Header {
            mid_task: true,
            stopping: true,
            particles: 2,
            parameters: 3,
            dimensions: 1,
            fidelities: 4,
            carried: 1,
            newest_is_unlike: true,
            in_use: true,
            fleet_refuted: true,
            guards: 1,
            conditions: 1,
            records: 2,
            seed: 0x0123_4567_89ab_cdef,
            task: 7,
            model: 1,
            settings: 2,
            problem: ProblemSums { parameters: 3, fidelities: 4, goal: 5 },
        };
        let bytes = header.bytes();
        assert_eq!(Header::read(&bytes), Ok(header));
        assert_eq!(header.length(), 80 + 24 + 8 + 12 + 4 + 40 + 4);
        assert_eq!(Header::read(&bytes[..63]), Err(SnapshotError::Truncated));
        assert_eq!(Header::read(b"FORE"), Err(SnapshotError::Truncated));
        assert_eq!(Header::read(b"NOTFORETUNE"), Err(SnapshotError::Foreign));
        assert_eq!(Header::verify(&bytes), Err(SnapshotError::Truncated));
        let mut newer = bytes;
        newer[8] = 9;
        assert_eq!(Header::read(&newer), Err(SnapshotError::Newer { version: 9 }));
        let mut wrong = bytes;
        wrong[44] ^= 1;
        assert_eq!(Header::read(&wrong), Err(SnapshotError::Contents));
        let mut older = bytes;
        older[8] = 1;
        assert_eq!(Header::read(&older), Err(SnapshotError::Older { version: 1 }));
        older[8] = 0;
        assert_eq!(Header::read(&older), Err(SnapshotError::Contents));
    }
}

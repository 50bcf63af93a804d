//! Whether the setting in use still gives what it gave: a test of its readings that is valid at any time.
//!
//! The first 13 readings give a grid of 48 cells around their median, as wide as their median absolute deviation says. From
//! then on only the cell of a reading counts, and how many earlier readings lie below, in and above it:
//! `p = (below + u (in + 1)) / (n + 1)`. As long as the readings are exchangeable, every `p` is uniform and independent of those
//! before, whatever the readings' law: heavy tails, a bad centre or a bad scale cost power, never false alarms. (`u` shares
//! a cell among those in it. It is the golden ratio's sequence and not random, so that a constant number gives no alarm, ever.)
//!
//! Bets on `p` are densities `f(p)` of the Beta family: small and large shifts down and up, more and less spread. What a bet
//! has won since the change, summed over all times at which it may have been (Shiryaev and Roberts), is `R ← (R + 1) f(p)`.
//! `Σ w R − t` is a martingale, so an alarm at `Σ w R ≥ A` comes after `A` readings on average, and with what is won
//! beyond `A` after 2.4 times as many. This factor depends on the bets alone, because `p` is uniform: `A` is half of the run length.
//!
//! Readings of a change that is not found in time become part of what is usual: a shift by half a deviation takes some
//! 65 readings, and is lost on a watch that has seen only 100 before it. Readings that depend on each other (a slow drift,
//! an hour of the day) are not exchangeable, and what they do is a change.
//!
//! Cost: two logarithms and six exponentials per reading; 232 bytes.

use crate::checksum::Crc;
use crate::error::{Error, SnapshotError};
use crate::math::{self, LARGEST_VALUE};

/// Readings that give the grid.
const FIRST: usize = 13;
/// Cells of the grid.
const CELLS: usize = 48;
/// Deviations from the centre within which half of the cells lie.
const HALF: f32 = 3.0;
/// The standard deviation of a normal law with a median absolute deviation of 1.
const NORMAL: f32 = 1.4826;
/// Threshold of the evidence, as a share of the run length. The bets alone decide it: measured over 8000 alarms, 1.19 times what was asked for.
const OVERSHOOT: f32 = 0.5;
/// The golden ratio's fraction, times 2³².
const GOLDEN: u32 = 0x9e37_79b9;

const MAGIC: [u8; 7] = *b"FTWATCH";
const VERSION: u8 = 1;
const WORDS: usize = 4 + BETS.len() + CELLS;

/// `f(p) = exp(ln_scale + below ln p + above ln(1 − p))`, the density of Beta(below + 1, above + 1).
struct Bet {
    on: Change,
    weight: f32,
    below: f32,
    above: f32,
    ln_scale: f32,
}

const fn bet(on: Change, weight: f32, below: f32, above: f32, ln_scale: f32) -> Bet {
    Bet { on, weight, below, above, ln_scale }
}

/// Closest in the family to a normal law's shifts by 0.65 and 2 deviations, and to 1.9 and 0.55 times its deviation.
static BETS: [Bet; 6] = [
    bet(Change::Down, 0.11, -0.3, 0.45, -0.068_990_92),
    bet(Change::Up, 0.11, 0.45, -0.3, -0.068_990_92),
    bet(Change::Down, 0.33, -0.64, 3.0, -0.435_323_42),
    bet(Change::Up, 0.33, 3.0, -0.64, -0.435_323_42),
    bet(Change::Wider, 0.07, -0.65, -0.65, -1.608_295_2),
    bet(Change::Narrower, 0.05, 2.0, 2.0, 3.401_197_4),
];

/// What a reading says of the setting in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Reading {
    /// Nothing speaks for a change, or not enough.
    Steady,
    /// It no longer gives what it gave.
    Changed,
}

/// In which way readings change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Change {
    /// They are lower.
    Down,
    /// They are higher.
    Up,
    /// They spread more.
    Wider,
    /// They spread less.
    Narrower,
}

/// What is usual, from the first 13 readings.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Baseline {
    /// Their median.
    pub centre: f32,
    /// Their standard deviation, from the median of their absolute deviations; a multiple of the one given with each.
    pub deviation: f32,
}

/// How a watch stands.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct WatchStatus {
    /// Readings since the start.
    pub readings: u32,
    /// What is usual, once 13 readings have told.
    pub baseline: Option<Baseline>,
    /// What speaks for a change, as a share of what it takes: from 0 to 1.
    pub evidence: f32,
    /// The change that most speaks for; of no meaning while there is little evidence.
    pub change: Change,
}

/// Watches readings of the setting in use for a change.
///
/// ```
/// use foretune_core::{Change, Reading, Watch};
///
/// // On average one false alarm in 10 000 readings.
/// let mut watch = Watch::new(10_000.0)?;
/// let usual = |i: u32| 5.0 + (i * 37 % 101) as f32 / 100.0;
/// for i in 0..200 {
///     assert_eq!(watch.tell(usual(i))?, Reading::Steady);
/// }
/// let found = (0..).position(|i| watch.tell(usual(i) - 1.0) == Ok(Reading::Changed));
/// assert!(found < Some(5));
/// assert_eq!(watch.status().change, Change::Down);
/// watch.restart();
/// # Ok::<(), foretune_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Watch {
    run_length: f32,
    readings: u32,
    centre: f32,
    scale: f32,
    /// `R` of every bet.
    won: [f32; BETS.len()],
    /// Readings in every cell. Before there are any: the bits of the first readings, each with its deviation.
    cells: [u32; CELLS],
}

impl Watch {
    /// Bytes of a watch that is saved.
    pub const BYTES: usize = MAGIC.len() + 1 + 4 * WORDS + 4;

    /// A watch that gives a false alarm in so many readings on average, from 10 to 10⁹.
    ///
    /// With several watches, one for each KPI, give each of them this number times their count.
    ///
    /// # Errors
    /// [`Error::Setting`].
    pub const fn new(run_length: f32) -> Result<Watch, Error> {
        if !(run_length >= 10.0 && run_length <= 1e9) {
            return Err(Error::Setting { name: "run_length", allowed: "10 to 1000000000 readings" });
        }
        let (won, cells) = ([0.0; BETS.len()], [0; CELLS]);
        Ok(Watch { run_length, readings: 0, centre: 0.0, scale: 0.0, won, cells })
    }

    /// Readings between two false alarms, on average.
    pub fn run_length(&self) -> f32 {
        self.run_length
    }

    /// Forgets all readings, as after a new task: the next ones tell what is usual.
    pub fn restart(&mut self) {
        *self = Watch {
            run_length: self.run_length,
            readings: 0,
            centre: 0.0,
            scale: 0.0,
            won: [0.0; BETS.len()],
            cells: [0; CELLS],
        };
    }

    /// Takes a reading. Once something has changed, it says so until [`restart`](Self::restart).
    ///
    /// # Errors
    /// [`Error::NotFinite`], [`Error::Outlier`] beyond ±10³⁰; the watch is then as it was.
    pub fn tell(&mut self, reading: f32) -> Result<Reading, Error> {
        self.tell_at(reading, 1.0)
    }

    /// Takes a reading with a standard deviation of its own, for instance the root of its fidelity's noise. Only the ratio
    /// to other readings' deviations counts. Fidelities that give different means, or come in long runs instead of mixed,
    /// need a watch each.
    ///
    /// # Errors
    /// As [`tell`](Self::tell), and [`Error::Setting`] where the deviation is not from 10⁻³⁰ to 10³⁰.
    pub fn tell_at(&mut self, reading: f32, deviation: f32) -> Result<Reading, Error> {
        check(reading, deviation)?;
        if self.evidence() < 1.0 && self.readings < u32::MAX {
            self.take(reading, deviation);
        }
        Ok(self.reading())
    }

    /// Takes the readings of one measurement, one for each watch: all of them or, on an error, none. Changed is what one of
    /// the watches finds changed.
    ///
    /// # Errors
    /// As [`tell_at`](Self::tell_at), and [`Error::Kpis`] where their number is another.
    pub fn tell_all(watches: &mut [Watch], readings: &[f32], deviation: f32) -> Result<Reading, Error> {
        let kpis = |numbers: usize| numbers.saturating_sub(1);
        if readings.len() != watches.len() {
            return Err(Error::Kpis { wanted: kpis(watches.len()), given: kpis(readings.len()) });
        }
        readings.iter().try_for_each(|reading| check(*reading, deviation))?;
        let mut all = Reading::Steady;
        for (watch, reading) in watches.iter_mut().zip(readings) {
            if watch.tell_at(*reading, deviation)? == Reading::Changed {
                all = Reading::Changed;
            }
        }
        Ok(all)
    }

    /// How it stands.
    pub fn status(&self) -> WatchStatus {
        let baseline = Baseline { centre: self.centre, deviation: self.scale };
        let mut most = (0.0, Change::Down);
        for (won, bet) in self.won.iter().zip(&BETS) {
            if bet.weight * won > most.0 {
                most = (bet.weight * won, bet.on);
            }
        }
        WatchStatus {
            readings: self.readings,
            baseline: self.is_learnt().then_some(baseline),
            evidence: if self.evidence() < 1.0 { self.evidence() } else { 1.0 },
            change: most.1,
        }
    }

    fn reading(&self) -> Reading {
        if self.evidence() < 1.0 { Reading::Steady } else { Reading::Changed }
    }

    /// `Σ w R` as a share of the threshold.
    fn evidence(&self) -> f32 {
        let sum: f32 = self.won.iter().zip(&BETS).map(|(won, bet)| bet.weight * won).sum();
        sum / (OVERSHOOT * self.run_length)
    }

    fn is_learnt(&self) -> bool {
        self.readings >= FIRST as u32
    }

    fn take(&mut self, reading: f32, deviation: f32) {
        if self.is_learnt() {
            let (below, above) = self.shares(self.cell(reading, deviation));
            self.bet(below, above);
            self.readings += 1;
            return;
        }
        let pair = self.cells.chunks_exact_mut(2).nth(self.readings as usize);
        if let Some([value, own]) = pair {
            (*value, *own) = (reading.to_bits(), deviation.to_bits());
        }
        self.readings += 1;
        if self.is_learnt() {
            self.learn();
        }
    }

    /// Centre and scale from the first readings.
    fn learn(&mut self) {
        let mut readings = [0.0; FIRST];
        let mut deviations = [1.0; FIRST];
        let pairs = self.cells.chunks_exact(2);
        for ((pair, reading), deviation) in pairs.zip(&mut readings).zip(&mut deviations) {
            if let [value, own] = pair {
                (*reading, *deviation) = (f32::from_bits(*value), f32::from_bits(*own));
            }
        }
        self.centre = median(&readings);
        for (reading, deviation) in readings.iter_mut().zip(&deviations) {
            *reading = math::clamp(libm::fabsf(*reading - self.centre) / deviation, 0.0, LARGEST_VALUE);
        }
        // Most of them may be equal, or all.
        let mean = readings.iter().map(|reading| reading / FIRST as f32).sum();
        let least = math::larger(1e-6 * libm::fabsf(self.centre), 1e-30);
        self.scale = [NORMAL * median(&readings), mean]
            .into_iter()
            .find(|scale| *scale > least)
            .unwrap_or(least)
            .min(LARGEST_VALUE);
        self.cells = [0; CELLS];
    }

    fn cell(&self, reading: f32, deviation: f32) -> usize {
        let z = math::clamp((reading - self.centre) / deviation / self.scale, -1e6, 1e6);
        let place = z / (libm::fabsf(z) + HALF);
        // As an integer, what is negative is 0.
        ((0.5 * (place + 1.0) * CELLS as f32) as usize).min(CELLS - 1)
    }

    /// `p` and `1 − p` of a reading in a cell, which then counts.
    fn shares(&mut self, own: usize) -> (f32, f32) {
        let (mut below, mut within, mut above) = (0.0, 1.0, 0.0);
        for (cell, count) in self.cells.iter_mut().enumerate() {
            match cell.cmp(&own) {
                core::cmp::Ordering::Less => below += *count as f32,
                core::cmp::Ordering::Greater => above += *count as f32,
                core::cmp::Ordering::Equal => {
                    *count = count.saturating_add(1);
                    within = *count as f32;
                }
            }
        }
        // No finer: a constant number's `p` would at times be so small that it is an alarm by itself.
        let u = ((self.readings.wrapping_mul(GOLDEN) >> 22) as f32 + 0.5) / 1024.0;
        let all = below + within + above;
        ((below + u * within) / all, (above + (1.0 - u) * within) / all)
    }

    fn bet(&mut self, below: f32, above: f32) {
        let (below, above) = (math::ln(below), math::ln(above));
        for (won, bet) in self.won.iter_mut().zip(&BETS) {
            *won = (*won + 1.0) * math::exp(bet.ln_scale + bet.below * below + bet.above * above);
        }
    }

    /// The watch as bytes: a name, a version, little-endian words, and their CRC-32.
    pub fn save(&self) -> [u8; Watch::BYTES] {
        let mut bytes = [0; Watch::BYTES];
        let start = MAGIC.into_iter().chain([VERSION]);
        let words = self.words().into_iter().flat_map(u32::to_le_bytes);
        for (to, from) in bytes.iter_mut().zip(start.chain(words)) {
            *to = from;
        }
        let mut crc = Crc::new();
        crc.update(&bytes[..Watch::BYTES - 4]);
        bytes[Watch::BYTES - 4..].copy_from_slice(&crc.value().to_le_bytes());
        bytes
    }

    /// A watch from its bytes: it goes on bit for bit.
    ///
    /// # Errors
    /// What is wrong with the bytes.
    pub fn load(bytes: &[u8]) -> Result<Watch, SnapshotError> {
        if !bytes.starts_with(&MAGIC[..bytes.len().min(MAGIC.len())]) {
            return Err(SnapshotError::Foreign);
        }
        match bytes.get(MAGIC.len()).copied().unwrap_or(VERSION) {
            VERSION => {}
            version if version > VERSION => return Err(SnapshotError::Newer { version: version.into() }),
            version => return Err(SnapshotError::Older { version: version.into() }),
        }
        let bytes: &[u8; Watch::BYTES] = bytes.first_chunk().ok_or(SnapshotError::Truncated)?;
        let (body, sum) = bytes.split_at(Watch::BYTES - 4);
        let mut crc = Crc::new();
        crc.update(body);
        if crc.value().to_le_bytes() != *sum {
            return Err(SnapshotError::Checksum);
        }
        let (words, _) = body[MAGIC.len() + 1..].as_chunks::<4>();
        Watch::from_words(words.iter().map(|word| u32::from_le_bytes(*word))).ok_or(SnapshotError::Contents)
    }

    fn words(&self) -> [u32; WORDS] {
        let mut words = [0; WORDS];
        let head = [self.run_length.to_bits(), self.readings, self.centre.to_bits(), self.scale.to_bits()];
        let all = head.into_iter().chain(self.won.map(f32::to_bits)).chain(self.cells);
        for (to, from) in words.iter_mut().zip(all) {
            *to = from;
        }
        words
    }

    fn from_words(mut words: impl Iterator<Item = u32>) -> Option<Watch> {
        let mut watch = Watch::new(f32::from_bits(words.next()?)).ok()?;
        watch.readings = words.next()?;
        (watch.centre, watch.scale) = (f32::from_bits(words.next()?), f32::from_bits(words.next()?));
        watch.won.iter_mut().zip(&mut words).for_each(|(won, word)| *won = f32::from_bits(word));
        watch.cells.iter_mut().zip(&mut words).for_each(|(cell, word)| *cell = word);
        watch.is_sane().then_some(watch)
    }

    fn is_sane(&self) -> bool {
        if !self.is_learnt() {
            let told = self.cells.chunks_exact(2).take(self.readings as usize);
            return told.into_iter().all(|pair| match pair {
                [value, own] => check(f32::from_bits(*value), f32::from_bits(*own)).is_ok(),
                _ => false,
            });
        }
        let counted: u64 = self.cells.iter().map(|count| u64::from(*count)).sum();
        check(self.centre, self.scale).is_ok()
            && self.won.iter().all(|won| (0.0..f32::INFINITY).contains(won))
            && counted == u64::from(self.readings) - FIRST as u64
    }
}

fn check(reading: f32, deviation: f32) -> Result<(), Error> {
    if !reading.is_finite() {
        Err(Error::NotFinite)
    } else if libm::fabsf(reading) > LARGEST_VALUE {
        Err(Error::Outlier)
    } else if !(1e-30..=LARGEST_VALUE).contains(&deviation) {
        Err(Error::Setting { name: "deviation", allowed: "above 0, and a number" })
    } else {
        Ok(())
    }
}

/// The one with at most half of the others below it and at most half above.
fn median(values: &[f32; FIRST]) -> f32 {
    let is_median = |value: &&f32| {
        let below = values.iter().filter(|other| other < value).count();
        let above = values.iter().filter(|other| other > value).count();
        below <= FIRST / 2 && above <= FIRST / 2
    };
    values.iter().find(is_median).copied().unwrap_or_default()
}

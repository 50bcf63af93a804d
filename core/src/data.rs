//! The current task's observations, Eq. (6), (7), in a fixed capacity.

use core::mem;

use heapless::Vec;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::block::{self, Cut};
use crate::error::Error;
use crate::fleet::{Fleet, Terms};
use crate::gp::{Common, Observations};
use crate::linalg::{MatrixMut, column_mut};
use crate::live::MAX_GUARDS;
use crate::math::{self, LARGEST_VALUE};
use crate::outlier;
use crate::scale::Scale;
use crate::space::{Dimension, MAX_DIMENSIONS};

/// A point in the unit cube, or in natural units.
pub type Point = Vec<f32, MAX_DIMENSIONS>;

/// The guarded KPIs of an answer, in the order of the problem's guards.
pub type Kpis = Vec<f32, MAX_GUARDS>;

/// How a query came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Kind {
    /// A point of the random start.
    Initial,
    /// A point carried on from an earlier task.
    Carried,
    /// A point that the acquisition found.
    Search,
    /// No query: what the user had measured before the task, see
    /// [`Optimizer::add_past`](crate::Optimizer::add_past).
    Past,
}

/// One past query with its answer: what must be kept to restore a task.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Record {
    /// Point in the unit cube.
    pub unit: Point,
    /// Index of the fidelity.
    pub fidelity: usize,
    /// How the query came about.
    pub kind: Kind,
    /// The observation, or `None` if the measurement failed.
    pub y: Option<f32>,
    /// The KPIs that were measured with it; none if the measurement failed, or the problem has no guards.
    pub kpis: Kpis,
    /// What it cost, or `None` if that was its fidelity's cost.
    pub cost: Option<f32>,
}

/// Observations beyond this many deviations from the mean are refused.
pub(crate) const LARGEST_DEVIATION: f32 = 1e6;

/// How the model sees a number: by this scale, larger is better; and how it follows the point in use when the world changes: by its
/// share, or by as much. By so much the point in use had moved when the task began.
#[derive(Clone, Copy)]
pub(crate) struct Standard {
    pub scale: Scale,
    pub sign: f32,
    pub by_share: bool,
    pub moved: f32,
}

/// What was told of a query, and how that came about: in words, where any bits are a value.
#[derive(Clone, Copy, FromBytes, Immutable, IntoBytes, KnownLayout)]
#[repr(C)]
struct Answer {
    y: f32,
    /// Below 0 if it was the fidelity's.
    cost: f32,
    /// Number of a [`Kind`].
    kind: u8,
    /// Whether it goes on to the next task, whether there is none, and whether it is an outlier.
    kept: u8,
    failed: u8,
    outlier: u8,
}

impl Answer {
    fn new(record: &Record, y: f32) -> Answer {
        let (cost, failed) = (record.cost.unwrap_or(-1.0), u8::from(record.y.is_none()));
        Answer { y, cost, kind: record.kind as u8, kept: 0, failed, outlier: 0 }
    }

    fn kind(&self) -> Kind {
        const KINDS: [Kind; 4] = [Kind::Initial, Kind::Carried, Kind::Search, Kind::Past];
        KINDS[usize::from(self.kind) % KINDS.len()]
    }

    fn cost(&self) -> Option<f32> {
        (self.cost >= 0.0).then_some(self.cost)
    }

    fn is_believed(&self) -> bool {
        self.failed == 0 && self.outlier == 0
    }
}

/// The observations, in the order in which they came.
///
/// A failed measurement takes a slot, too. To the model it is an observation of the worst value told so far, so that it
/// keeps away from there. So is an [outlier], until its point is measured again: then the model sees the
/// second answer in its place.
///
/// The model has a row for each of the first so many slots. Where there are more, for answers that repeat a measurement, their mean
/// counts in its row, with as much less noise.
pub(crate) struct Data<'a> {
    dimensions: usize,
    /// Slots that have a row in the model.
    rows: usize,
    /// Which of these are conditions, a bit each.
    conditions: u32,
    points: MatrixMut<'a>,
    answers: &'a mut [Answer],
    fidelity: &'a mut [u8],
    z: &'a mut [f32],
    /// Where measurements are repeated beyond the rows: the mean of those of a row, and how many these are.
    means: &'a mut [f32],
    counts: &'a mut [f32],
    /// KPIs, each observation's a column, and those of the guard that the model looks at as it sees them.
    kpis: MatrixMut<'a>,
    kpi_z: &'a mut [f32],
    /// What a fleet says of the first few, if there is one.
    terms: &'a mut [Terms],
    described: usize,
    /// How many there are.
    stored: usize,
    /// How many count; those behind them are yet to be replayed.
    len: usize,
    /// Where the world changed, if it did; the first is that at the start.
    worlds: Vec<World, MAX_WORLDS>,
}

/// The world as it was from slot `first` on, and the slot of what the point in use gave then.
#[derive(Clone, Copy)]
struct World {
    first: u16,
    base: u16,
}

/// Changes of the world beyond so many in a task are not seen.
const MAX_WORLDS: usize = 8;

impl<'a> Data<'a> {
    /// Words that so many rows, and slots for repeats beyond them, take in `d` dimensions with so many guards; of so many a fleet may
    /// say something.
    pub const fn words(d: usize, [rows, repeats]: [usize; 2], guards: usize, described: usize) -> usize {
        let (terms, n) = (block::words::<Terms>(described), rows + repeats);
        let shared = if repeats > 0 { 2 * rows } else { 0 };
        let numbers = n * (d + 1 + guards + (guards > 0) as usize) + shared;
        block::sum(&[numbers, block::words::<Answer>(n), block::words::<u8>(n), terms])
    }

    /// No observations yet, in the next so many words of a block; without repeats if there are too few for them.
    pub fn cut(
        cut: &mut Cut<'a>,
        d: usize,
        [rows, repeats]: [usize; 2],
        guards: usize,
        described: usize,
    ) -> Self {
        let fits = Data::words(d, [rows, repeats], guards, described) <= cut.left();
        let repeats = if fits { repeats } else { 0 };
        let (n, shared) = (rows + repeats, if repeats > 0 { rows } else { 0 });
        let (points, answers, z) = (cut.matrix(d, n), cut.slice(n), cut.slice(n));
        let (means, counts) = (cut.slice(shared), cut.slice(shared));
        let (fidelity, terms) = (cut.slice(n), cut.slice(described));
        let (kpis, kpi_z) = (cut.matrix(guards, n), cut.slice(if guards > 0 { n } else { 0 }));
        let (conditions, described, stored, len) = (0, 0, 0, 0);
        let (dimensions, worlds) = (d, Vec::new());
        Data {
            dimensions,
            rows,
            conditions,
            points,
            answers,
            fidelity,
            z,
            means,
            counts,
            kpis,
            kpi_z,
            terms,
            described,
            stored,
            len,
            worlds,
        }
    }

    /// Says which dimensions are conditions.
    pub fn set_conditions(&mut self, dimensions: &[Dimension<'_>]) {
        let bits = dimensions.iter().enumerate().map(|(j, d)| u32::from(d.is_condition()) << j);
        self.conditions = bits.fold(0, |all, bit| all | bit);
    }

    /// Forgets all observations.
    pub fn clear(&mut self) {
        (self.stored, self.len, self.described) = (0, 0, 0);
        self.worlds.clear();
    }

    /// Appends an observation.
    ///
    /// # Errors
    /// [`Error::Capacity`] when full, [`Error::NotFinite`]; nothing changes then.
    pub fn push(&mut self, record: &Record) -> Result<(), Error> {
        self.push_hidden(record)?;
        self.reveal();
        Ok(())
    }

    /// Counts the next of the hidden observations.
    pub fn reveal(&mut self) {
        self.len = (self.len + 1).min(self.stored);
    }

    /// Appends an observation that does not count yet; see [`reveal`](Self::reveal).
    pub fn push_hidden(&mut self, record: &Record) -> Result<(), Error> {
        let y = record.y.unwrap_or(0.0);
        let possible = |y: f32| y.is_finite() && libm::fabsf(y) <= LARGEST_VALUE;
        if !possible(y) || !record.kpis.iter().all(|&kpi| possible(kpi)) {
            return Err(Error::NotFinite);
        }
        let (slot, capacity) = (self.stored, self.capacity());
        if slot == capacity {
            return Err(Error::Capacity { what: "observations", needed: capacity + 1, available: capacity });
        }
        self.answers[slot] = Answer::new(record, y);
        self.stored += 1;
        column_mut(&mut self.points, slot)[..self.dimensions].copy_from_slice(&record.unit);
        self.fidelity[slot] = record.fidelity as u8;
        if !self.kpi_z.is_empty() {
            column_mut(&mut self.kpis, slot).iter_mut().zip(&record.kpis).for_each(|(to, kpi)| *to = *kpi);
        }
        Ok(())
    }

    /// Says whether observation `i` goes on to the next task.
    pub fn keep(&mut self, i: usize, kept: bool) {
        self.answers[i].kept = u8::from(kept);
    }

    pub fn is_kept(&self, i: usize) -> bool {
        self.answers[i].kept > 0
    }

    /// Moves those that go on to the last slots, where they stay until these are needed; the first of them.
    pub fn set_aside(&mut self) -> usize {
        let mut to = self.capacity();
        for i in (0..self.stored).rev() {
            if self.is_kept(i) {
                to -= 1;
                self.copy(i, to);
            }
        }
        to
    }

    /// Forgets the observations from slot `len` on.
    #[cfg(feature = "parallel")]
    pub fn truncate(&mut self, len: usize) {
        (self.stored, self.len, self.described) = (len, len, self.described.min(len));
    }

    /// Takes those in the slots from `first` on back, as past ones that do not count yet.
    pub fn take_back(&mut self, first: usize) {
        for i in first..self.capacity() {
            self.copy(i, self.stored);
            self.stored += 1;
        }
    }

    #[inline(never)]
    fn copy(&mut self, from: usize, to: usize) {
        self.answers[to] =
            Answer { kind: Kind::Past as u8, kept: 0, outlier: 0, cost: -1.0, ..self.answers[from] };
        self.fidelity[to] = self.fidelity[from];
        for matrix in [&mut self.points, &mut self.kpis] {
            for row in 0..matrix.nrows() {
                matrix[(row, to)] = matrix[(row, from)];
            }
        }
    }

    /// Observation `i`, whether it counts already or is hidden.
    pub fn record(&self, i: usize) -> Record {
        let (answer, unit) = (self.answers[i], self.slot(i).iter().copied().collect());
        let y = (answer.failed == 0).then_some(answer.y);
        let kpis = if y.is_some() { self.kpis(i).iter().copied().collect() } else { Kpis::new() };
        let (fidelity, kind, cost) = (usize::from(self.fidelity[i]), answer.kind(), answer.cost());
        Record { unit, fidelity, kind, y, kpis, cost }
    }

    /// The KPIs of observation `i`, if there are guards; of a failed one whatever they may be.
    pub fn kpis(&self, i: usize) -> &[f32] {
        if self.kpi_z.is_empty() { &[] } else { self.kpis.column(i).data.into_slice() }
    }

    fn slot(&self, i: usize) -> &[f32] {
        let points = self.points.column(i).data.into_slice();
        &points[..self.dimensions]
    }

    /// Renews the standardised observations: `z = sign · (y − mean) / deviation`, within ±10⁶.
    ///
    /// An answer farther out is refused; a value remembered of an earlier task may be, and its square must stay finite.
    pub fn rescale(&mut self, by: Standard) {
        let z = mem::take(&mut self.z);
        self.standardise(0, z, by, &|i| self.answers[i].y);
        self.z = z;
        self.share_rows();
    }

    /// Adds what repeats a measurement beyond the rows to the mean of its row.
    fn share_rows(&mut self) {
        if self.means.is_empty() {
            return;
        }
        let seen = self.seen();
        self.means[..seen].copy_from_slice(&self.z[..seen]);
        self.counts.fill(1.0);
        for i in seen..self.len {
            if self.is_believed(i)
                && let Some(row) = self.row(i)
            {
                self.counts[row] += 1.0;
                self.means[row] += (self.z[i] - self.means[row]) / self.counts[row];
            }
        }
    }

    /// The first believed observation of the same point at the same fidelity, if it has a row in the model.
    fn row(&self, i: usize) -> Option<usize> {
        let mut same = self.asked(self.slot(i), usize::from(self.fidelity[i]));
        same.find(|&row| self.is_believed(row)).filter(|&row| row < self.rows)
    }

    /// How many of the observations have a row in the model.
    pub fn seen(&self) -> usize {
        self.len.min(self.rows)
    }

    /// Whether one more would have one.
    pub fn has_row(&self) -> bool {
        self.len < self.rows
    }

    /// Slots that have one.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The same of the KPI of guard `g`, from slot `from` on: values remembered of earlier tasks have none.
    pub fn rescale_kpi(&mut self, g: usize, from: usize, by: Standard) {
        let z = mem::take(&mut self.kpi_z);
        self.standardise(from, z, by, &|i| self.kpis[(g, i)]);
        self.kpi_z = z;
    }

    /// The world has changed from slot `first` on, before which the point in use gave what slot `base` has; the last answer is what
    /// it gives now. Whether that could be noted.
    pub fn change(&mut self, first: usize, base: usize) -> bool {
        if self.worlds.is_empty() {
            let _ = self.worlds.push(World { first: 0, base: base as u16 });
        }
        let first = first.max(base + 1).min(self.len - 1) as u16;
        self.worlds.push(World { first, base: (self.len - 1) as u16 }).is_ok()
    }

    /// The world has changed before slot `base`, which has what the point in use gives now; nothing says what it gave before.
    pub fn change_before(&mut self, base: usize) {
        let base = base as u16;
        self.worlds.clear();
        for first in [0, base] {
            let _ = self.worlds.push(World { first, base });
        }
    }

    /// The slot of what the point in use gave after the last change; `None` if there was none.
    pub fn base(&self) -> Option<usize> {
        self.worlds.last().map(|world| usize::from(world.base))
    }

    /// The first slot after the last change.
    pub fn begins(&self) -> usize {
        self.worlds.last().map_or(0, |world| usize::from(world.first))
    }

    /// A number of observation `i`, moved as that of the point in use has moved since: by as much, or by its share.
    fn as_now(&self, i: usize, by: &Standard, value: &dyn Fn(usize) -> f32) -> f32 {
        let y = value(i);
        let then = self.worlds.iter().rposition(|world| usize::from(world.first) <= i);
        let Some((then, now)) = then.zip(self.base().map(value)) else { return y };
        let moved = if then == 0 { by.moved } else { 0.0 };
        let then = value(usize::from(self.worlds[then].base)) - moved;
        let share = now / then;
        match by.by_share && share > 0.0 && share.is_finite() {
            true => math::clamp(share * y, -LARGEST_VALUE, LARGEST_VALUE),
            false => y + (now - then),
        }
    }

    /// What was told in slot `i`.
    pub fn y(&self, i: usize) -> f32 {
        self.answers[i].y
    }

    fn standardise(
        &self,
        from: usize,
        z: &mut [f32],
        by: Standard,
        // Once for all numbers: a copy for each takes half a kilobyte on a device.
        value: &dyn Fn(usize) -> f32,
    ) {
        let mut worst = f32::INFINITY;
        for i in (from..self.len).filter(|&i| self.is_believed(i)) {
            let scaled = by.scale.apply(self.as_now(i, &by, value));
            z[i] = by.sign * scaled.clamp(-LARGEST_DEVIATION, LARGEST_DEVIATION);
            worst = worst.min(z[i]);
        }
        // Before anything was told, one standard deviation below the mean.
        let worst = if worst.is_finite() { worst } else { -1.0 };
        for i in from..self.len {
            if !self.is_believed(i) {
                let second = self.twins(i).find(|&j| self.is_outlier(i) && self.is_believed(j));
                z[i] = second.map_or(worst, |j| z[j]);
            }
        }
    }

    /// Judges the answers from slot `from` on, after one more was told: finds one that is [too far](outlier) from the
    /// others, or believes one that the last confirms. Whether anything changed.
    pub fn judge(&mut self, from: usize, factor: f32, noise: f32) -> bool {
        let Some(last) = self.len.checked_sub(1).filter(|&last| factor > 0.0 && self.is_believed(last))
        else {
            return false;
        };
        let believed = |i: &usize| self.is_believed(*i);
        let others = || (from..last).filter(believed).map(|i| self.answers[i].y);
        let (y, first) = (self.answers[last].y, self.twins(last).find(|&i| self.is_outlier(i)));
        if let Some(first) = first.filter(|&i| outlier::confirms(y, self.answers[i].y, others())) {
            self.answers[first].outlier = 0;
            return true;
        }
        let values = (from..self.len).filter(believed).map(|i| (i, self.answers[i].y));
        let found = outlier::find(values, factor, noise);
        if let Some(i) = found {
            self.answers[i].outlier = 1;
        }
        found.is_some()
    }

    /// The other slots with the same choice and fidelity.
    fn twins(&self, i: usize) -> impl Iterator<Item = usize> {
        self.tried(self.slot(i), usize::from(self.fidelity[i])).filter(move |&j| j != i)
    }

    /// Number of observations that count.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Observations that are yet to be replayed.
    pub fn hidden(&self) -> usize {
        self.stored - self.len
    }

    /// Slots.
    pub fn capacity(&self) -> usize {
        self.answers.len()
    }

    /// Free slots, hidden observations left aside.
    pub fn room(&self) -> usize {
        self.capacity() - self.len
    }

    /// Point `i` in the unit cube.
    pub fn point(&self, i: usize) -> &[f32] {
        self.slot(i)
    }

    /// What was told from slot `from` on and is believed.
    pub fn told(&self, from: usize) -> impl Iterator<Item = f32> + Clone {
        self.believed(from, false)
    }

    /// The same of initial points alone.
    pub fn started(&self, from: usize) -> impl Iterator<Item = f32> + Clone {
        self.believed(from, true)
    }

    /// One kind of iterator for both, so that what takes it is there once.
    fn believed(&self, from: usize, initial: bool) -> impl Iterator<Item = f32> + Clone {
        let wanted =
            move |answer: &&Answer| answer.is_believed() && (!initial || answer.kind() == Kind::Initial);
        self.answers[from..self.len].iter().filter(wanted).map(|answer| answer.y)
    }

    /// Observations as the model sees them: standardised, larger is better.
    pub fn z(&self) -> &[f32] {
        &self.z[..self.len]
    }

    /// Fidelities.
    pub fn fidelity(&self) -> &[u8] {
        &self.fidelity[..self.len]
    }

    /// How observation `i` came about.
    pub fn kind(&self, i: usize) -> Kind {
        self.answers[i].kind()
    }

    /// What measurement `i` cost, if not its fidelity's cost.
    pub fn cost(&self, i: usize) -> Option<f32> {
        self.answers[i].cost()
    }

    /// Whether measurement `i` failed.
    pub fn failed(&self, i: usize) -> bool {
        self.answers[i].failed > 0
    }

    /// Whether answer `i` is an outlier that no second one confirmed.
    pub fn is_outlier(&self, i: usize) -> bool {
        self.answers[i].outlier > 0
    }

    /// Whether measurement `i` did not fail and its answer is no outlier.
    pub fn is_believed(&self, i: usize) -> bool {
        self.answers[i].is_believed()
    }

    /// The slots in which a point was asked at a fidelity.
    pub fn asked(&self, x: &[f32], fidelity: usize) -> impl Iterator<Item = usize> {
        (0..self.len).filter(move |&i| usize::from(self.fidelity[i]) == fidelity && self.slot(i) == x)
    }

    /// The same under any conditions.
    pub fn tried(&self, x: &[f32], fidelity: usize) -> impl Iterator<Item = usize> {
        (0..self.len).filter(move |&i| usize::from(self.fidelity[i]) == fidelity && self.is_choice(i, x))
    }

    /// Whether observation `i` is of this choice, under whatever conditions.
    fn is_choice(&self, i: usize, x: &[f32]) -> bool {
        let each = || self.slot(i).iter().zip(x).enumerate();
        self.slot(i) == x
            || self.conditions > 0 && each().all(|(j, (a, b))| a == b || self.conditions >> j & 1 > 0)
    }

    /// Whether there is an observation of a choice, at any fidelity and under any conditions.
    pub fn has(&self, x: &[f32]) -> bool {
        (0..self.len).any(|i| self.is_choice(i, x))
    }

    /// How often a point was asked at a fidelity.
    pub fn count(&self, x: &[f32], fidelity: usize) -> usize {
        self.asked(x, fidelity).count()
    }

    /// Observations that a fleet can describe.
    pub fn describable(&self) -> usize {
        self.terms.len()
    }

    /// Notes what a fleet says of the observations that came since the last time.
    pub fn describe(&mut self, fleet: &Fleet<'_>) {
        for i in self.described..self.seen() {
            self.terms[i] = fleet.at(self.slot(i), usize::from(self.fidelity[i]));
        }
        self.described = self.seen();
    }

    /// What the model is conditioned on: the observations from slot `from` on, and what a fleet said of them.
    pub fn observations<'d>(&'d self, from: usize, fleet: Option<Fleet<'d>>) -> Observations<'d> {
        let seen = from..self.seen();
        let points = self.points.view((0, from), (self.dimensions, seen.len()));
        let common = fleet.map(|fleet| Common { fleet, terms: &self.terms[seen.clone()] });
        let z = if self.means.is_empty() { &self.z[seen.clone()] } else { &self.means[seen.clone()] };
        let counts = self.counts.get(seen.clone()).unwrap_or_default();
        Observations { points, fidelity: &self.fidelity[seen], z, counts, common }
    }

    /// The same for the KPI that was [rescaled](Self::rescale_kpi) last.
    pub fn kpi_observations(&self, from: usize) -> Observations<'_> {
        Observations { z: &self.kpi_z[from..self.len], ..self.observations(from, None) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Standard = Standard { scale: Scale::IDENTITY, sign: 1.0, by_share: false, moved: 0.0 };

    fn record(x: f32, fidelity: usize, y: Option<f32>) -> Record {
        Record {
            unit: Point::from_slice(&[x]).unwrap(),
            fidelity,
            kind: Kind::Search,
            y,
            kpis: Kpis::new(),
            cost: None,
        }
    }

    #[test]
    fn refuses_what_is_not_finite_or_does_not_fit_and_stays_unchanged() {
        let mut words = [0; Data::words(1, [2, 0], 0, 0)];
        let mut data = Data::cut(&mut Cut::new(&mut words), 1, [2, 0], 0, 0);
        assert_eq!(data.push(&record(0.5, 0, Some(f32::NAN))), Err(Error::NotFinite));
        assert_eq!(data.push(&record(0.5, 0, Some(f32::INFINITY))), Err(Error::NotFinite));
        assert_eq!(data.len(), 0);
        data.push(&record(0.5, 0, Some(1.0))).unwrap();
        data.push(&record(0.5, 1, Some(2.0))).unwrap();
        let full = Error::Capacity { what: "observations", needed: 3, available: 2 };
        assert_eq!(data.push(&record(0.1, 0, Some(3.0))), Err(full));
        assert_eq!((data.len(), data.room()), (2, 0));
        assert!(data.told(0).eq([1.0, 2.0]));
        assert_eq!((data.count(&[0.5], 1), data.kind(1)), (1, Kind::Search));
    }

    #[test]
    fn a_failure_counts_as_the_worst_that_was_told() {
        let mut words = [0; Data::words(1, [4, 0], 0, 0)];
        let mut data = Data::cut(&mut Cut::new(&mut words), 1, [4, 0], 0, 0);
        data.push(&record(0.1, 0, None)).unwrap();
        data.rescale(PLAIN);
        assert_eq!(data.z(), [-1.0]);
        data.push(&record(0.2, 0, Some(5.0))).unwrap();
        data.push(&record(0.3, 0, Some(3.0))).unwrap();
        data.rescale(PLAIN);
        assert_eq!(data.z(), [3.0, 5.0, 3.0]);
        data.rescale(Standard { sign: -1.0, ..PLAIN });
        assert_eq!(data.z(), [-5.0, -5.0, -3.0]);
        assert!(data.told(0).eq([5.0, 3.0]));
        assert_eq!(data.record(0).y, None);
    }
}

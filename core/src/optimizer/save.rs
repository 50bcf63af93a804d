//! Saving and restoring: the bytes of [`crate::snapshot`], and answers one by one.

use core::ops::Range;

use super::trials::Start;
use super::{Optimizer, check_cost};
use crate::checksum::checksum;
use crate::data::{Kind, Point, Record};
use crate::error::{Error, SnapshotError};
use crate::live::{FIRST_GUARD_MARGIN, FIRST_MARGIN, MAX_GUARDS};
use crate::math::LARGEST_VALUE;
use crate::snapshot::{
    Header, ProblemSums, Writer, fits, model_checksum, particles_of, read_floats, read_record,
};

impl Optimizer<'_> {
    /// Writes, in pieces, what the next task starts from; once this one has ended.
    ///
    /// # Errors
    /// [`Error::OutOfTurn`] while a task runs.
    pub fn knowledge(&self, sink: impl FnMut(&[u8])) -> Result<(), Error> {
        if !self.has_ended() {
            return Err(Error::OutOfTurn);
        }
        self.write(&self.header(), sink);
        Ok(())
    }

    /// Writes, in pieces, all that is needed to go on from here; [`knowledge`](Self::knowledge) if the task has ended.
    ///
    /// # Errors
    /// [`Error::OutOfTurn`] in a later task whose particles came from elsewhere: they, and the
    /// [records](Self::records), are what to store then.
    pub fn snapshot(&self, sink: impl FnMut(&[u8])) -> Result<(), Error> {
        let header = self.header();
        if header.mid_task && header.particles > 0 && self.state.memory.centres.is_none() {
            return Err(Error::OutOfTurn);
        }
        self.write(&header, sink);
        Ok(())
    }

    /// Length of a [`snapshot`](Self::snapshot), or of the [`knowledge`](Self::knowledge) if the task has ended, in
    /// bytes.
    pub fn snapshot_len(&self) -> usize {
        self.header().length()
    }

    /// Of knowledge if the task has ended, of a snapshot else.
    fn header(&self) -> Header {
        let (state, mid_task) = (&self.state, !self.has_ended());
        let stored = state.settings.carries_particles() && (!mid_task || state.task.number > 1);
        Header {
            mid_task,
            stopping: mid_task && state.task.stopping,
            particles: if stored { state.settings.particles } else { 0 },
            parameters: state.model.parameters(),
            dimensions: state.problem.dimensions.len(),
            fidelities: state.problem.fidelities.len(),
            carried: state.carried(),
            newest_is_unlike: if mid_task { state.task.newest_is_unlike } else { state.task.best_is_unlike },
            in_use: state.judges(),
            fleet_refuted: state.trust.before || !mid_task && state.trust.now,
            guards: state.problem.guards.len(),
            conditions: state.problem.conditions(),
            records: self.stored().count(),
            seed: state.task.seed,
            task: state.task.number.saturating_add(u32::from(!mid_task)),
            model: model_checksum(&state.model),
            settings: self.settings_checksum(),
            problem: ProblemSums::of(&state.problem),
        }
    }

    /// The slots of the answers so far; of a task that has ended those that the next one begins with.
    fn stored(&self) -> impl Iterator<Item = usize> {
        let (data, ended) = (&self.state.memory.data, self.has_ended());
        let stored = self.state.task.remembered..data.len() + data.hidden();
        stored.filter(move |&i| !ended || data.is_kept(i))
    }

    fn write(&self, header: &Header, sink: impl FnMut(&[u8])) {
        let (memory, mut writer) = (&self.state.memory, Writer::new(header, sink));
        let centres = memory.centres.as_ref().filter(|_| header.mid_task);
        let particles = centres.unwrap_or(&memory.particles);
        for theta in particles.column_iter().take(header.particles) {
            writer.floats(theta.data.into_slice());
        }
        for (i, value) in memory.carried.values.iter().enumerate() {
            writer.floats(memory.carried.points.column(i).data.into_slice());
            writer.floats(&[*value]);
        }
        let start = if header.mid_task { self.state.start.clone() } else { self.state.next_start() };
        if let Some(deployed) = &start.deployed {
            writer.floats(deployed);
            writer.floats(&[start.margin]);
            writer.floats(&start.margins);
        }
        let dimensions = self.state.problem.dimensions.iter().zip(&self.state.conditions);
        for (_, at_hand) in dimensions.filter(|(dimension, _)| dimension.is_condition()) {
            writer.floats(&[*at_hand]);
        }
        for i in self.stored() {
            let mut record = memory.data.record(i);
            if !header.mid_task {
                (record.kind, record.cost) = (Kind::Past, None);
            }
            writer.record(&record, header.guards);
        }
        writer.finish();
    }

    /// Of all that decides how a task goes on: the number of slots too.
    fn settings_checksum(&self) -> u32 {
        checksum(|mix| {
            self.state.settings.fingerprint(&mut *mix);
            self.state.problem.fingerprint(mix);
            mix(self.state.memory.data.capacity() as u32);
            self.state.fleet_checksum().map(mix);
        })
    }

    /// Takes over what [`knowledge`](Self::knowledge) or [`snapshot`](Self::snapshot) wrote, forgetting the current
    /// state. A snapshot's answers are then replayed by the next slices of work. A snapshot brings its seed;
    /// knowledge does not: it may come from another device, but not from another problem.
    ///
    /// # Errors
    /// [`Error::Snapshot`] with the reason, or [`Error::Capacity`]; the state is unchanged.
    pub fn load(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.load_of(bytes, true)
    }

    /// The same, on purpose, for knowledge of a problem with other ranges, levels, costs, noise, or with the opposite
    /// goal; dimensions and number of fidelities must agree. Carried points are moved to the nearest levels; answers that were kept
    /// stay out.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn load_from_another_problem(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.load_of(bytes, false)
    }

    /// Of this problem, or of whatever problem.
    #[inline(never)]
    fn load_of(&mut self, bytes: &[u8], own: bool) -> Result<(), Error> {
        let header = Header::verify(bytes)?;
        // Of the answers that were kept the newest, as many as the settings want, if they have the same numbers.
        let same = own && header.guards == self.state.problem.guards.len();
        let most = if same { self.state.settings.kept } else { 0 };
        let wanted = if header.mid_task { header.records } else { header.records.min(most) };
        let records = header.records - wanted..header.records;
        self.check(&header, records.clone(), bytes)?;
        if own {
            header.problem.agrees(&ProblemSums::of(&self.state.problem))?;
        }
        self.take_over(&header, records, bytes)
    }

    fn take_over(&mut self, header: &Header, records: Range<usize>, bytes: &[u8]) -> Result<(), Error> {
        let particles = particles_of(bytes, header)?;
        let columns = self.state.memory.particles.column_iter_mut();
        for (theta, bytes) in columns.zip(particles.chunks_exact(header.parameters * 4)) {
            let theta = theta.data.into_slice_mut();
            theta.fill(0.0);
            read_floats(bytes, theta);
        }
        self.load_carried(&bytes[header.carried_at()..header.in_use_at()]);
        if let Some(start) = self.stored_start(header, bytes) {
            self.state.start = start;
        }
        self.state.task.newest_is_unlike = header.newest_is_unlike;
        self.state.trust.before = header.fleet_refuted;
        if header.mid_task {
            self.state.task.seed = header.seed;
        }
        self.state.memory.data.clear();
        self.begin(header.task);
        self.state.task.stopping = header.stopping;
        for i in records {
            self.recall(read_record(bytes, header, i)?)?;
        }
        self.load_conditions(&bytes[header.conditions_at()..header.records_at()]);
        Ok(())
    }

    /// The conditions at hand, if there are as many as this problem has.
    fn load_conditions(&mut self, bytes: &[u8]) {
        let stored = bytes.as_chunks::<4>().0;
        if stored.len() != self.state.problem.conditions() {
            return;
        }
        let each = self.state.problem.dimensions.iter().zip(&mut self.state.conditions);
        for ((dimension, x), bytes) in each.filter(|(dimension, _)| dimension.is_condition()).zip(stored) {
            *x = dimension.snap(f32::from_le_bytes(*bytes));
        }
    }

    fn load_carried(&mut self, bytes: &[u8]) {
        let dimensions = self.state.problem.dimensions;
        let length = dimensions.len() * 4;
        let (points, values) = (&mut self.state.memory.carried.points, &mut self.state.memory.carried.values);
        values.clear();
        for (i, entry) in bytes.chunks_exact(length + 4).take(self.state.settings.carried).enumerate() {
            let (x, mut value) = (points.column_mut(i).data.into_slice_mut(), [0.0]);
            read_floats(&entry[..length], x);
            read_floats(&entry[length..], &mut value);
            x.iter_mut().zip(dimensions).for_each(|(x, dimension)| *x = dimension.snap(*x));
            let _ = values.push(value[0]);
        }
    }

    /// The point in use and the margin to the floor that are stored, where this problem wants them and may use the point.
    fn stored_start(&self, header: &Header, bytes: &[u8]) -> Option<Start> {
        let (problem, mut margins) = (&self.state.problem, [FIRST_GUARD_MARGIN; 1 + MAX_GUARDS]);
        margins[0] = FIRST_MARGIN;
        let stored = bytes.get(header.in_use_at()..header.conditions_at())?;
        let (point, rest) = stored.split_at_checked(problem.dimensions.len() * 4)?;
        let mut deployed: Point = problem.dimensions.iter().map(|_| 0.0).collect();
        read_floats(point, &mut deployed);
        read_floats(rest, &mut margins);
        deployed.iter_mut().zip(problem.dimensions).for_each(|(x, dimension)| *x = dimension.snap(*x));
        let usable = self.state.judges() && problem.admits(&deployed);
        let [margin, margins @ ..] = margins;
        let margins = margins.into_iter().take(problem.guards.len()).collect();
        usable.then(|| Start { deployed: Some(deployed), margin, margins })
    }

    /// Everything that could be wrong with a snapshot whose checksum is right.
    fn check(&self, header: &Header, records: Range<usize>, bytes: &[u8]) -> Result<(), Error> {
        let state = &self.state;
        fits(header, bytes, &state.model, &state.settings, &state.problem)?;
        if header.particles > state.memory.particles.ncols() {
            return Err(SnapshotError::Model.into());
        }
        if header.mid_task && header.settings != self.settings_checksum() {
            return Err(SnapshotError::Settings.into());
        }
        let impossible = self.stored_start(header, bytes).is_none() && state.judges();
        let guards = header.guards != state.problem.guards.len();
        if header.mid_task && (header.in_use != state.judges() || impossible || guards) {
            return Err(SnapshotError::Contents.into());
        }
        let (mut asked, wanted) = (false, records.len());
        for i in records {
            let record = read_record(bytes, header, i)?;
            self.check_record(&record)?;
            let past = record.kind == Kind::Past;
            if if header.mid_task { asked && past } else { !past } {
                return Err(SnapshotError::Contents.into());
            }
            asked |= !past;
        }
        let carried = if header.task > 1 { header.carried } else { 0 };
        let slots = state.memory.data.capacity() - carried.min(state.settings.remembers());
        if wanted > slots {
            return Err(Error::Capacity { what: "observations", needed: wanted, available: slots });
        }
        Ok(())
    }

    /// Adds an answer from before a restart, in the order in which they came; before the first slice of work on the
    /// task.
    ///
    /// # Errors
    /// [`Error::OutOfTurn`] later than that; [`Error::Capacity`]; [`Error::Snapshot`] for what cannot have been an
    /// answer in this problem. The state is unchanged then.
    pub fn recall(&mut self, record: Record) -> Result<(), Error> {
        if self.state.task.begun {
            return Err(Error::OutOfTurn);
        }
        self.check_record(&record)?;
        if record.kind == Kind::Past && !self.state.takes_past() {
            return Err(SnapshotError::Contents.into());
        }
        self.state.memory.data.push_hidden(&record)?;
        if record.kind != Kind::Past {
            self.state.problem.put_conditions(&record.unit, &mut self.state.conditions);
        }
        Ok(())
    }

    /// Whether this may have been a query of this problem, with a possible answer.
    pub(super) fn check_record(&self, record: &Record) -> Result<(), SnapshotError> {
        let possible = |y: &f32| y.is_finite() && libm::fabsf(*y) <= LARGEST_VALUE;
        let sound = record.y.iter().chain(&record.kpis).all(possible);
        let wanted = if record.y.is_some() { self.state.problem.guards.len() } else { 0 };
        let sound = sound && record.kpis.len() == wanted;
        let past = record.kind == Kind::Past;
        let sound = sound && check_cost(record.cost).is_ok() && !(past && record.y.is_none());
        let inside = self.state.has_query(record) && (past || self.state.problem.admits(&record.unit));
        if inside && sound { Ok(()) } else { Err(SnapshotError::Contents) }
    }

    /// All answers of the current task in their order, also those still to be replayed.
    pub fn records(&self) -> impl Iterator<Item = Record> {
        let data = &self.state.memory.data;
        (self.state.task.remembered..data.len() + data.hidden()).map(|i| data.record(i))
    }

    /// The particles' bytes within the knowledge that the current task started from.
    pub(super) fn particles_within<'b>(&self, knowledge: &'b [u8]) -> Result<&'b [u8], SnapshotError> {
        let (header, state) = (Header::read(knowledge)?, &self.state);
        let same = header.task == state.task.number
            && header.particles == state.settings.particles
            && header.parameters == state.model.parameters()
            && header.model == model_checksum(&state.model);
        if same { particles_of(knowledge, &header) } else { Err(SnapshotError::Model) }
    }
}

//! Saving and restoring: the bytes of [`crate::snapshot`], and answers one by one.

use super::state::Failure;
use super::{MAX_FAILURES, Optimizer};
use crate::data::{LARGEST_VALUE, Record};
use crate::error::{Error, SnapshotError};
use crate::snapshot::{
    self, Header, Writer, checksum, fits, model_checksum, particles_of, read_floats, read_record,
};

impl<
    const D: usize,
    const M: usize,
    const N: usize,
    const V: usize,
    const F: usize,
    const P: usize,
    const A: usize,
    const Q: usize,
> Optimizer<'_, D, M, N, V, F, P, A, Q>
{
    /// Writes, in pieces, what the next task starts from; once this one has ended.
    ///
    /// # Errors
    /// [`Error::OutOfTurn`] while a task runs.
    pub fn knowledge(&self, sink: impl FnMut(&[u8])) -> Result<(), Error> {
        if !self.is_done() {
            return Err(Error::OutOfTurn);
        }
        self.write(&self.header(), sink);
        Ok(())
    }

    /// Writes, in pieces, all that is needed to go on from here; [`knowledge`](Self::knowledge) if the task has ended.
    pub fn snapshot(&self, sink: impl FnMut(&[u8])) {
        const { assert!(A >= V, "this memory keeps no centres: store knowledge and records") };
        self.write(&self.header(), sink);
    }

    /// Length of a [`snapshot`](Self::snapshot), or of the [`knowledge`](Self::knowledge) if the task has ended, in
    /// bytes.
    pub fn snapshot_len(&self) -> usize {
        self.header().length()
    }

    /// Of knowledge if the task has ended, of a snapshot else.
    fn header(&self) -> Header {
        let mid_task = !self.is_done();
        let stored = self.settings.carries_particles() && (!mid_task || self.state.task > 1);
        Header {
            mid_task,
            stopping: mid_task && self.state.stopping,
            particles: if stored { self.settings.particles } else { 0 },
            parameters: self.model.parameters(),
            dimensions: self.problem.dimensions.len(),
            fidelities: self.problem.fidelities.len(),
            carried: self.carried().len(),
            stranger: self.state.stranger,
            records: if mid_task { self.records().count() } else { 0 },
            seed: self.state.seed,
            task: self.state.task.saturating_add(u32::from(!mid_task)),
            model: model_checksum(&self.model),
            settings: self.settings_checksum(),
        }
    }

    fn write(&self, header: &Header, sink: impl FnMut(&[u8])) {
        let mut writer = Writer::new(header, sink);
        let particles = if header.mid_task { &self.memory.rows[..] } else { &self.memory.particles[..] };
        for theta in &particles[..header.particles] {
            writer.floats(&theta[..header.parameters]);
        }
        for (x, value) in self.carried().iter().zip(self.memory.remembered) {
            writer.floats(&x[..header.dimensions]);
            writer.floats(&[value]);
        }
        for record in self.records().take(header.records) {
            writer.record(header.dimensions, &record);
        }
        writer.finish();
    }

    /// Of all that decides how a task goes on: the number of slots too.
    fn settings_checksum(&self) -> u32 {
        checksum(|mut mix| {
            self.settings.fingerprint(&mut mix);
            self.problem.fingerprint(&mut mix);
            mix(N as u32);
        })
    }

    /// Takes over what [`knowledge`](Self::knowledge) or [`snapshot`](Self::snapshot) wrote, forgetting the current
    /// state. A snapshot's answers are then replayed by the next slices of work. A snapshot brings its seed;
    /// knowledge does not: it may come from elsewhere, even from a problem with other levels (carried points are then
    /// moved to the nearest).
    ///
    /// # Errors
    /// [`Error::Snapshot`] with the reason, or [`Error::Capacity`]; the state is unchanged.
    pub fn load(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let header = Header::verify(bytes)?;
        self.check(&header, bytes)?;
        let particles = particles_of(bytes, &header)?;
        let rows = particles.chunks_exact(header.parameters * 4);
        for (theta, row) in self.memory.particles.iter_mut().zip(rows) {
            read_floats(row, &mut theta[..header.parameters]);
        }
        self.load_carried(&bytes[header.carried_at()..header.records_at()]);
        self.state.stranger = header.stranger;
        self.state.task = header.task;
        if header.mid_task {
            self.state.seed = header.seed;
        }
        self.begin();
        self.state.stopping = header.stopping;
        for i in 0..header.records {
            self.recall(read_record(bytes, &header, i)?)?;
        }
        Ok(())
    }

    fn load_carried(&mut self, bytes: &[u8]) {
        let dimensions = self.problem.dimensions;
        let length = dimensions.len() * 4;
        let points = bytes.chunks_exact(length + 4).take(self.settings.carried);
        self.state.carried = points.len();
        let kept = self.memory.carried.iter_mut().zip(self.memory.remembered.chunks_mut(1));
        for ((x, value), point) in kept.zip(points) {
            *x = [0.0; D];
            read_floats(&point[..length], &mut x[..dimensions.len()]);
            read_floats(&point[length..], value);
            x.iter_mut().zip(dimensions).for_each(|(x, dimension)| *x = dimension.snap(*x));
        }
    }

    /// Everything that could be wrong with a snapshot whose checksum is right.
    fn check(&self, header: &Header, bytes: &[u8]) -> Result<(), Error> {
        fits(header, bytes, &self.model, &self.settings, &self.problem)?;
        if header.particles > V {
            return Err(SnapshotError::Model.into());
        }
        if header.mid_task && header.settings != self.settings_checksum() {
            return Err(SnapshotError::Settings.into());
        }
        let (mut told, mut failed) = (0, 0);
        for i in 0..header.records {
            let record: Record<D> = read_record(bytes, header, i)?;
            self.check_record(&record)?;
            *(if record.y.is_some() { &mut told } else { &mut failed }) += 1;
        }
        let slots = N - header.carried.min(self.settings.remembers());
        if told > slots {
            return Err(Error::Capacity { what: "observations", needed: told, available: slots });
        }
        if failed > MAX_FAILURES {
            return Err(SnapshotError::Contents.into());
        }
        Ok(())
    }

    /// Adds an answer from before a restart, in the order of old; before the first slice of work on the task.
    ///
    /// # Errors
    /// [`Error::OutOfTurn`] later than that; [`Error::Capacity`]; [`Error::Snapshot`] for what cannot have been an
    /// answer in this problem. The state is unchanged then.
    pub fn recall(&mut self, record: Record<D>) -> Result<(), Error> {
        if self.state.begun {
            return Err(Error::OutOfTurn);
        }
        self.check_record(&record)?;
        let Record { x, fidelity, kind, y } = record;
        match y {
            Some(y) => {
                self.memory.data.push_hidden(self.state.hidden, &x, fidelity, kind, y)?;
                self.state.hidden += 1;
            }
            None => {
                let free = self.state.failures.iter_mut().find(|slot| slot.is_none());
                let full =
                    Error::Capacity { what: "failures", needed: MAX_FAILURES + 1, available: MAX_FAILURES };
                *free.ok_or(full)? =
                    Some(Failure { record, position: self.memory.data.len() + self.state.hidden });
            }
        }
        Ok(())
    }

    /// Whether this may have been a query of this problem, with a possible answer.
    fn check_record(&self, record: &Record<D>) -> Result<(), SnapshotError> {
        let (x, unused) = record.x.split_at(self.problem.dimensions.len());
        let inside = x.iter().zip(self.problem.dimensions).all(|(x, dimension)| dimension.snap(*x) == *x);
        let sound = record.y.is_none_or(|y| y.is_finite() && y.abs() <= LARGEST_VALUE);
        let known = record.fidelity < self.problem.fidelities.len();
        if inside && unused.iter().all(|&x| x == 0.0) && sound && known {
            Ok(())
        } else {
            Err(SnapshotError::Contents)
        }
    }

    /// All answers of the current task in their order, also those still to be replayed.
    pub fn records(&self) -> impl Iterator<Item = Record<D>> {
        let told = self.memory.data.len() + self.state.hidden;
        (self.state.remembered..=told).flat_map(move |i| {
            let failed = self.failures().filter(move |failure| failure.position == i);
            failed.map(|failure| failure.record).chain((i < told).then(|| self.memory.data.record(i)))
        })
    }

    /// The particles' bytes within the knowledge that the current task started from.
    pub(super) fn particles_within<'b>(&self, knowledge: &'b [u8]) -> Result<&'b [u8], SnapshotError> {
        let header = Header::read(knowledge)?;
        let same = header.task == self.state.task
            && header.particles == self.settings.particles
            && header.parameters == self.model.parameters()
            && header.model == model_checksum(&self.model);
        if same { snapshot::particles_of(knowledge, &header) } else { Err(SnapshotError::Model) }
    }
}

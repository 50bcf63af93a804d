//! Calls of an optimizer in any order, beside a model so plain that it can be seen to be right.
//!
//! The model is the list of answers and what was last said. It knows which answers must be accepted, what they cost,
//! how many there can be and what may end a task; it knows nothing of Gaussian processes. From time to time a copy is
//! restored from a snapshot, and must come to the same query, bit for bit.

use arbitrary::{Result, Unstructured};
use foretune_core::{
    Activity, Error, Kind, Method, Optimizer, Point, Progress, Query, Recommend, Record, Stop,
};

use crate::case::{Case, PATIENCE, Toy, number};

/// Most calls in one input.
const CALLS: usize = 60;

/// Seeds: calls that lead through whole tasks.
pub fn seeds() -> Vec<Vec<u8>> {
    (0..24u8)
        .map(|i| (0..1500u32).map(|j| (j.wrapping_mul(2_654_435_761) >> (8 + i % 16)) as u8 ^ i).collect())
        .collect()
}

/// Runs an input.
pub fn run(bytes: &[u8]) {
    // Running out of bytes ends an input, as it should.
    let _ = play(&mut Unstructured::new(bytes), &mut Counts::default());
}

/// How far inputs get.
#[derive(Debug, Default)]
struct Counts {
    answers: usize,
    tasks: u32,
    copies: usize,
}

fn play(u: &mut Unstructured<'_>, counts: &mut Counts) -> Result<()> {
    let case = Case::draw(u)?;
    let batch = matches!(case.settings.details.method, Method::Myopic { .. } | Method::TwoPhase { .. });
    let good = case.settings.checked().is_ok()
        && case.problem().checked().is_ok()
        && !(batch && case.problem().conditions() > 0)
        && (!case.settings.map.is_deep() || case.problem().dimensions.iter().all(|d| d.features() == 1));
    let mut memory = Box::new(Toy::new());
    let Some(tuner) = case.start(&mut memory) else {
        assert!(!good, "refused although all is in range");
        return Ok(());
    };
    assert!(good);
    let mut game = Game { case: &case, tuner, model: Model::default(), open: None, void: None, copies: 0 };
    for _ in 0..CALLS {
        if let Err(end) = game.call(u) {
            counts.add(&game);
            return Err(end);
        }
        game.check();
    }
    counts.add(&game);
    Ok(())
}

impl Counts {
    fn add(&mut self, game: &Game<'_>) {
        self.answers += game.model.answers.len();
        self.tasks += game.model.tasks;
        self.copies += game.copies;
    }
}

/// What is known without any mathematics.
#[derive(Debug, Default)]
struct Model {
    /// Finished tasks.
    tasks: u32,
    answers: Vec<Record>,
    stopping: bool,
    ended: Option<Stop>,
}

impl Model {
    fn told(&self) -> usize {
        self.answers.iter().filter(|answer| answer.y.is_some()).count()
    }

    fn failed(&self) -> usize {
        self.answers.len() - self.told()
    }

    /// Initial points may be free.
    fn spent(&self, case: &Case) -> f64 {
        let free = case.settings.details.free_start;
        let charged = self.answers.iter().filter(|answer| !free || answer.kind != Kind::Initial);
        charged.map(|answer| f64::from(case.problem().fidelities[answer.fidelity].cost)).sum()
    }
}

struct Game<'a> {
    case: &'a Case,
    tuner: Optimizer<'a>,
    model: Model,
    open: Option<Query>,
    /// A query that was void when the task was stopped or restarted.
    void: Option<Query>,
    /// Copies compared.
    copies: usize,
}

impl Game<'_> {
    fn call(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        match u.int_in_range(0..=15)? {
            0 => {
                let slices = u.int_in_range(1..=50)?;
                self.look_elsewhere(slices as f32 / 4.0 - 5.0);
                self.advance(slices)
            }
            1..=5 => self.advance(PATIENCE),
            6..=10 => self.tell(number(u, &[-3.0, 0.5, 1.0, 1e4])?),
            11 => self.fail(),
            12 if u.ratio(1, 4)? => self.stop(),
            13 if u.ratio(1, 8)? => self.restart(),
            14 => self.compare_with_copy(),
            15 => self.answer_void(),
            _ => self.next_task(),
        }
        Ok(())
    }

    fn advance(&mut self, slices: u32) {
        for slice in 1..=slices {
            assert!(slice < PATIENCE, "hangs: {:?}", self.tuner.status());
            match self.tuner.advance() {
                Progress::Working => assert!(self.open.is_none() && self.model.ended.is_none()),
                Progress::Query(query) => return self.asked(query),
                Progress::Waiting => return assert!(self.open.is_some(), "waits for nothing"),
                Progress::Done(stop) => return self.ended(stop),
                other => panic!("{other:?}"),
            }
        }
    }

    /// Another condition is at hand, unless a query waits; what would be recommended there changes nothing.
    fn look_elsewhere(&mut self, condition: f32) {
        let conditions = vec![condition; self.case.problem().conditions()];
        let before = self.bytes();
        let found = self.tuner.recommendation_at(&conditions);
        match &found {
            Ok(best) => assert!(self.told() > 0 && best.mean.is_finite(), "{best:?}"),
            Err(error) => assert_eq!(*error, Error::OutOfTurn),
        }
        assert_eq!(self.bytes(), before);
        if self.model.ended.is_some() && found.is_ok() {
            // Slice by slice it is the same.
            self.tuner.change_conditions(&conditions).unwrap();
            while matches!(self.tuner.advance(), Progress::Working) {}
            assert_eq!(self.tuner.recommendation().ok_or(Error::OutOfTurn), found);
        }
        let set = self.tuner.set_conditions(&conditions);
        let same = self.tuner.conditions().iter().all(|at| (at - condition).abs() < 1e-4);
        assert!(set.is_ok() && same || self.open.is_some() && !same, "{set:?}");
    }

    fn asked(&mut self, query: Query) {
        assert!(self.open.is_none() && !self.model.stopping && self.model.ended.is_none());
        let problem = self.case.problem();
        let round = self.model.answers.len() as u32;
        assert_eq!((query.task(), query.round()), (self.model.tasks + 1, round));
        assert_eq!(query.unit().len(), problem.dimensions.len());
        for ((dimension, &unit), &value) in problem.dimensions.iter().zip(query.unit()).zip(query.point()) {
            assert_eq!(dimension.snap(unit), unit, "off its level or outside");
            assert_eq!(dimension.value(unit), value);
            assert!(value.is_finite());
        }
        let cost = f64::from(problem.fidelities[query.fidelity()].cost);
        let left = f64::from(problem.budget) - self.model.spent(self.case);
        let free = self.case.settings.details.free_start;
        assert!(
            free && query.kind() == Kind::Initial || cost <= left * (1.0 + 1e-5) + 1e-6 * cost,
            "{cost} of {left}"
        );
        self.open = Some(query);
    }

    fn ended(&mut self, stop: Stop) {
        assert!(self.open.is_none());
        assert_eq!(*self.model.ended.get_or_insert(stop), stop, "an end does not change");
        let problem = self.case.problem();
        let most_expensive = f64::from(problem.fidelities[problem.fidelities.len() - 1].cost);
        let left = f64::from(problem.budget) - self.model.spent(self.case);
        match stop {
            Stop::Budget => assert!(
                most_expensive > left * (1.0 - 1e-5) - 1e-6 * most_expensive,
                "{most_expensive} of {left}"
            ),
            Stop::Capacity => {
                let status = self.tuner.status();
                assert_eq!(self.model.answers.len() + status.remembered + status.past, self.case.room());
            }
            Stop::Requested => assert!(self.model.stopping),
            _ => {}
        }
        self.check_recommendation();
        assert!(self.tuner.particles().flatten().all(|theta| theta.is_finite()), "a particle was lost");
    }

    /// What was told in the task, or kept of the one before.
    fn told(&self) -> usize {
        self.model.told() + self.tuner.status().past
    }

    fn check_recommendation(&self) {
        let (records, told): (Vec<_>, _) = (self.tuner.records().collect(), self.told());
        let Some(best) = self.tuner.recommendation() else {
            return assert_eq!(told, 0, "nothing recommended although something was observed");
        };
        assert!(told > 0);
        assert!(best.mean.is_finite() && best.deviation.is_finite() && best.deviation >= 0.0, "{best:?}");
        let dimensions = self.case.problem().dimensions;
        assert!(dimensions.iter().zip(best.unit()).all(|(dimension, &unit)| dimension.snap(unit) == unit));
        let truth = self.case.problem().truth();
        let measured = |least: usize, answer: &Record| answer.y.is_some() && answer.fidelity >= least;
        let chosen = |answer: &Record| measured(truth, answer) && answer.kind != Kind::Initial;
        let least = match self.case.settings.details.recommend {
            Recommend::Queried => 0,
            Recommend::Measured if records.iter().any(chosen) => truth,
            _ => return,
        };
        let each = |answer: &Record| {
            answer.unit.iter().zip(best.unit()).zip(dimensions).all(|((a, b), d)| a == b || d.is_condition())
        };
        let there = |answer: &Record| measured(least, answer) && each(answer);
        assert!(records.iter().any(there), "{best:?} was never measured at fidelity {least} or above");
    }

    fn tell(&mut self, y: f32) {
        let Some(query) = self.open.take() else { return };
        let acceptable = y.is_finite() && self.tuner.plausible().contains(&y);
        let record = record(&query, Some(y));
        let before = self.bytes();
        match self.tuner.tell(query, y) {
            Ok(()) => {
                assert!(acceptable, "{y} was taken");
                self.model.answers.push(record);
            }
            Err(refused) => {
                assert!(!acceptable, "{y} was refused: {refused}");
                let why = if y.is_finite() { Error::Outlier } else { Error::NotFinite };
                assert_eq!(refused.error, why);
                assert_eq!(self.bytes(), before, "a refusal changes nothing");
                self.open = Some(refused.query);
            }
        }
    }

    fn fail(&mut self) {
        let Some(query) = self.open.take() else { return };
        self.model.answers.push(record(&query, None));
        self.tuner.fail(query).expect("the query asked last");
    }

    fn stop(&mut self) {
        self.tuner.stop();
        if self.model.ended.is_none() {
            self.model.stopping = true;
            self.void = self.open.take().or(self.void.take());
        }
    }

    fn answer_void(&mut self) {
        let Some(query) = self.void.take() else { return };
        let before = self.bytes();
        let same = self.open.as_ref().is_some_and(|open| *open == query);
        match self.tuner.tell(query, 1.0) {
            Err(refused) => assert!(refused.error == Error::UnknownQuery || same),
            // A task that was restarted asks its first query again, and means the same.
            Ok(()) => {
                assert!(same);
                self.model.answers.push(record(&self.open.take().expect("it is open"), Some(1.0)));
                return;
            }
        }
        assert_eq!(self.bytes(), before, "a refusal changes nothing");
    }

    /// Whether the task has ended; if nobody has been told yet, has it told.
    fn has_ended(&mut self) -> bool {
        if self.tuner.status().activity == Activity::Done && self.model.ended.is_none() {
            self.advance(1);
        }
        self.model.ended.is_some()
    }

    fn next_task(&mut self) {
        let ended = self.has_ended();
        match self.tuner.next_task() {
            Ok(()) => {
                assert!(ended);
                self.model = Model { tasks: self.model.tasks + 1, ..Model::default() };
            }
            Err(error) => assert!(!ended && error == Error::OutOfTurn),
        }
    }

    fn restart(&mut self) {
        let ended = self.has_ended();
        match self.tuner.restart() {
            Ok(()) => {
                assert!(!ended);
                self.model = Model { tasks: self.model.tasks, ..Model::default() };
                self.void = self.open.take();
            }
            Err(error) => assert!(ended && error == Error::OutOfTurn),
        }
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.tuner.snapshot(|piece| bytes.extend_from_slice(piece)).expect("the memory has the particles");
        assert_eq!(bytes.len(), self.tuner.snapshot_len());
        bytes
    }

    /// Restores a copy and lets both come to their next query or their end. A task that has ended gives knowledge, with
    /// which the copy begins the next.
    fn compare_with_copy(&mut self) {
        if self.has_ended() {
            self.next_task();
        }
        let bytes = self.bytes();
        let mut memory = Box::new(Toy::new());
        let mut copy = self.case.start(&mut memory).expect("it started before");
        copy.load(&bytes).expect("its own snapshot");
        let mut again = Vec::new();
        copy.snapshot(|piece| again.extend_from_slice(piece)).expect("the memory has the particles");
        assert_eq!(again, bytes, "a restored copy saves the same");
        self.advance(PATIENCE);
        let reached = (0..PATIENCE).map(|_| copy.advance()).find(|step| *step != Progress::Working);
        match reached.expect("the copy hangs") {
            Progress::Query(query) => assert_eq!(Some(query), self.open),
            Progress::Done(stop) => {
                assert_eq!(Some(stop), self.model.ended);
                let bits = |tuner: &Optimizer<'_>| {
                    tuner.recommendation().map(|best| (best.mean.to_bits(), *best.unit().first().unwrap()))
                };
                assert_eq!(bits(&copy), bits(&self.tuner));
            }
            other => panic!("{other:?}"),
        }
        self.copies += 1;
    }

    /// What must hold at any time.
    fn check(&self) {
        let status = self.tuner.status();
        assert_eq!(status.observations, self.model.answers.len());
        let kept = status.past + status.to_replay;
        assert_eq!(status.failures, self.model.failed());
        assert!(kept <= self.case.settings.kept, "nothing else is replayed here");
        assert!(self.model.answers.len() + status.remembered + kept <= self.case.room());
        assert_eq!(status.task, self.model.tasks + 1);
        let spent = self.model.spent(self.case);
        assert!((f64::from(status.spent) - spent).abs() <= 1e-5 * spent, "{} for {spent}", status.spent);
        let records: Vec<_> = self.tuner.records().skip(kept).collect();
        assert_eq!(records, self.model.answers);
        assert!(self.tuner.carried().len() <= self.case.settings.carried);
    }
}

fn record(query: &Query, y: Option<f32>) -> Record {
    let unit = Point::from_slice(query.unit()).expect("as many dimensions as there may be");
    Record { unit, fidelity: query.fidelity(), kind: query.kind(), y, kpis: Default::default(), cost: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutate::Inputs;

    #[test]
    fn inputs_get_far_enough_to_mean_something() {
        let (mut inputs, mut counts) = (Inputs::new(seeds(), 2), Counts::default());
        for _ in 0..400 {
            let _ = play(&mut Unstructured::new(&inputs.next_input()), &mut counts);
        }
        assert!(counts.answers > 400 && counts.tasks > 40 && counts.copies > 200, "{counts:?}");
    }
}

//! The radio environment: what a point is worth, with the noise of its measurement.

use foretune_link::{Coordinate, Outcome, Point, Query, crc32};

use host_sim::problems::{DimensionSpec, Problem, ProblemSpec, Task};
use host_sim::runner::{Noise, Seeds};

/// Power control of two cells: a sequence of tasks, and the noise of every measurement.
pub struct Radio {
    problem: Problem,
    spec: ProblemSpec,
    seeds: Seeds,
    flaky: bool,
    current: Option<(usize, Box<dyn Task + Send>)>,
}

impl Radio {
    /// What the queries of a task may cost.
    pub const BUDGET: f32 = 400.0;

    /// The environment of a seed; a flaky one fails now and then.
    pub fn new(seed: u64, flaky: bool) -> Self {
        let problem: Problem = "rrm".parse().expect("the name of a problem");
        Radio { problem, spec: problem.spec(), seeds: Seeds::new(seed, 1), flaky, current: None }
    }

    /// Seed of the optimizer in a task, counted from 0.
    pub fn optimizer_seed(&self, place: usize) -> u64 {
        self.seeds.optimizer.wrapping_add(place as u64)
    }

    /// Measures: the same whenever the same is asked, so that a repeated measurement changes nothing.
    pub fn measure(&mut self, place: usize, query: &Query) -> Outcome {
        let luck = crc32(&[place as u8, query.ticket.step as u8, query.attempt]);
        match (self.flaky, luck % 12) {
            (true, 0) => return Outcome::Failed,
            (true, 1) => return Outcome::Value(f32::NAN),
            _ => {}
        }
        let fidelity = usize::from(query.fidelity);
        let setting = self.setting(&query.point);
        let mut noise = Noise::new(self.seeds.noise, place as u32 + 1);
        (0..query.ticket.step).for_each(|_| {
            noise.draw(1.0);
        });
        let noise = noise.draw(self.spec.fidelities[fidelity].noise_variance);
        Outcome::Value((self.task(place).value(fidelity, &setting) + noise) as f32)
    }

    /// Value of a setting without noise, and the highest there is.
    pub fn judge(&mut self, place: usize, point: &Point) -> (f64, f64) {
        let truth = self.spec.fidelities.len() - 1;
        let setting = self.setting(point);
        let task = self.task(place);
        (task.value(truth, &setting), task.optimum())
    }

    pub fn show(&self, point: &Point) -> String {
        let stations = self.setting(point);
        let show = |pair: &[f64]| format!("{:4} dBm/{:.1}", pair[0], pair[1]);
        stations.chunks(2).map(show).collect::<Vec<_>>().join(" ")
    }

    fn setting(&self, point: &Point) -> Vec<f64> {
        let value = |(coordinate, dimension): (&Coordinate, &DimensionSpec)| match (*coordinate, dimension) {
            (Coordinate::Level(level), DimensionSpec::Levels { values, .. }) => values[usize::from(level)],
            (Coordinate::Unit(unit), dimension) => {
                let (low, high) = dimension.range();
                low + (high - low) * f64::from(unit)
            }
            (Coordinate::Level(_), _) => dimension.range().0,
        };
        point.iter().zip(&self.spec.dimensions).map(value).collect()
    }

    fn task(&mut self, place: usize) -> &(dyn Task + Send) {
        if self.current.as_ref().is_none_or(|(current, _)| *current != place) {
            self.current = Some((place, self.problem.tasks(self.seeds.tasks).task(place)));
        }
        let (_, task) = self.current.as_ref().expect("just made");
        &**task
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foretune_link::Ticket;

    fn query(step: u32, attempt: u8) -> Query {
        let point = [60, 4, 70, 5].map(Coordinate::Level).into_iter().collect();
        let ticket = Ticket { task: 1, step };
        Query { ticket, attempt, fidelity: 3, samples: 100, cost: 100.0, point }
    }

    #[test]
    fn a_measurement_depends_on_what_is_asked_alone() {
        let mut world = Radio::new(1, false);
        let first = world.measure(0, &query(3, 0));
        world.measure(1, &query(0, 0));
        assert_eq!(world.measure(0, &query(3, 1)), first);
        assert_ne!(world.measure(0, &query(4, 0)), first, "other noise");
        assert_ne!(world.measure(1, &query(3, 0)), first, "another task");
    }

    #[test]
    fn the_flaky_one_fails_sometimes_and_not_for_good() {
        let mut world = Radio::new(1, true);
        let mut failed = 0;
        for step in 0..60 {
            let bad = |outcome: &Outcome| !matches!(outcome, Outcome::Value(value) if value.is_finite());
            let tries: Vec<_> = (0..3).map(|attempt| world.measure(0, &query(step, attempt))).collect();
            failed += tries.iter().filter(|outcome| bad(outcome)).count();
        }
        assert!((10..60).contains(&failed), "{failed}");
    }

    #[test]
    fn its_levels_are_those_of_the_firmware() {
        use foretune_firmware::profile::POWER_CONTROL;
        let world = Radio::new(1, false);
        for (dimension, spec) in POWER_CONTROL.dimensions.iter().zip(&world.spec.dimensions) {
            let DimensionSpec::Levels { values, .. } = spec else { panic!("{spec:?}") };
            assert_eq!(dimension.levels(), Some(values.len()));
            for (level, value) in values.iter().enumerate() {
                let there = f64::from(dimension.value(dimension.unit_of_level(level)));
                assert!((there - value).abs() < 1e-4, "{there} and {value}");
            }
        }
        for (fidelity, spec) in POWER_CONTROL.fidelities.iter().zip(&world.spec.fidelities) {
            assert_eq!((f64::from(fidelity.cost), fidelity.samples), (spec.cost, spec.samples));
        }
    }
}

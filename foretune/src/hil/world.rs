//! What is measured: the radio environment, or whatever a command measures for a problem from a file.

use foretune_core::Dimension;
use foretune_link::problem::Bytes;
use foretune_link::{Coordinate, Kpis, Outcome, Point, Query};

use super::radio::Radio;
use foretune_tuning::{self as tuning, Ask, Command, Measured, Target, Why};
use host_sim::error::Error;
use host_sim::problems::Guarded;
use host_sim::runner::Space;
use host_sim::words::{number, shortest};

/// A result, and what it cost where that is not what the query said.
pub type Result = (Outcome, Option<f32>);

pub enum World {
    /// The problem that the firmware is built for, simulated.
    Radio(Box<Radio>),
    Own(Box<Own>),
}

impl World {
    /// Seed of the optimizer in a task, counted from 0.
    pub fn optimizer_seed(&self, place: usize) -> u64 {
        match self {
            World::Radio(radio) => radio.optimizer_seed(place),
            World::Own(own) => own.seed.wrapping_add(place as u64),
        }
    }

    /// The bytes of the problem to send; none for the one that the firmware is built for.
    pub fn problem(&self) -> Option<&[u8]> {
        match self {
            World::Radio(_) => None,
            World::Own(own) => Some(&own.bytes),
        }
    }

    /// What the queries of a task may cost, unless another budget is given.
    pub fn budget(&self) -> f32 {
        match self {
            World::Radio(_) => Radio::BUDGET,
            World::Own(own) => own.budget(),
        }
    }

    /// The point in use that the problem has, in words.
    pub fn in_use(&self) -> Option<String> {
        match self {
            World::Radio(_) => None,
            World::Own(own) => own.target.deployed.as_ref().map(|point| own.target.words(point)),
        }
    }

    pub fn measure(&mut self, place: usize, query: &Query) -> std::result::Result<Result, Error> {
        match self {
            World::Radio(radio) => Ok((radio.measure(place, query), None)),
            World::Own(own) => own.measure(query),
        }
    }

    pub fn show(&self, point: &Point) -> String {
        match self {
            World::Radio(radio) => radio.show(point),
            World::Own(own) => own.target.words(&own.natural(point)),
        }
    }

    /// Conditions that are given by name, as the device sees them.
    pub fn conditions(&self, text: &str) -> std::result::Result<Vec<f32>, Error> {
        match self {
            World::Radio(_) => Ok(Vec::new()),
            World::Own(own) => {
                let (chosen, values) = (own.target.chosen(), tuning::conditions(&own.target, text)?);
                let point = [&vec![0.0; chosen], &values[..]].concat();
                Ok(own.space.core_point(&point)[chosen..].to_vec())
            }
        }
    }

    /// Whether a point is one under these conditions.
    pub fn is_under(&self, point: &Point, conditions: &[f32]) -> bool {
        match self {
            World::Radio(_) => true,
            World::Own(own) => {
                let own = own.space.core_point(&own.natural(point));
                let pairs = own[own.len() - conditions.len()..].iter().zip(conditions);
                pairs.into_iter().all(|(a, b)| (a - b).abs() <= 1e-5 * (a.abs() + b.abs()))
            }
        }
    }

    /// What was measured, in words.
    pub fn values(&self, value: f32, kpis: &[f32]) -> String {
        match self {
            World::Radio(_) => format!("{value:.2} bit/s/Hz"),
            World::Own(own) => {
                let kpi = |(guard, kpi): (&Guarded, &f32)| {
                    format!(", {} = {}", guard.name, number(shortest(guard.untold(*kpi) as f32)))
                };
                number(shortest(value)) + &own.target.guards.iter().zip(kpis).map(kpi).collect::<String>()
            }
        }
    }

    pub fn judge(&mut self, place: usize, point: &Point, mean: f32) -> String {
        match self {
            World::Radio(radio) => {
                let (value, optimum) = radio.judge(place, point);
                format!("{value:.1} of {optimum:.1} bit/s/Hz")
            }
            World::Own(_) => format!("{} expected", number(shortest(mean))),
        }
    }
}

/// A problem from a file, measured by a command.
pub struct Own {
    target: Target,
    command: Command,
    space: Space,
    bytes: Vec<u8>,
    seed: u64,
    /// Measurements that failed since the last one that did not.
    failed: usize,
}

impl Own {
    pub fn new(target: Target, command: Command, seed: u64) -> std::result::Result<Self, Error> {
        let noise = target.given_noise("a device")?;
        target.check_limits(target.deployed.as_ref())?;
        let space = Space::of_goal(&target.spec(&noise, target.budget), target.goal)
            .asking(target.service(), target.deployed.is_some());
        let bytes = describe(&target, &space)?;
        Ok(Own { target, command, space, bytes, seed, failed: 0 })
    }

    fn budget(&self) -> f32 {
        self.target.budget as f32
    }

    fn natural(&self, point: &Point) -> Vec<f64> {
        let unit = |(coordinate, dimension): (&Coordinate, &Dimension<'_>)| match *coordinate {
            Coordinate::Level(level) => dimension.unit_of_level(usize::from(level)),
            Coordinate::Unit(unit) => unit,
        };
        let units: Vec<f32> = point.iter().zip(&self.space.dimensions()).map(unit).collect();
        self.space.natural(&units)
    }

    fn measure(&mut self, query: &Query) -> std::result::Result<Result, Error> {
        let ask = Ask {
            id: u64::from(query.ticket.step) + 1,
            task: query.ticket.task,
            point: self.natural(&query.point),
            fidelity: usize::from(query.fidelity),
            why: Why::Search,
            because: None,
            unit: Vec::new(),
        };
        if ask.point.len() != self.target.parameters.len() || ask.fidelity >= self.target.fidelities.len() {
            return Err(Error::Device("the device asks for a point of another problem".into()));
        }
        match self.command.measure(&self.target, &ask, &|| true)? {
            Measured::Value { value, kpis, cost, conditions } => {
                self.failed = 0;
                let (value, mut numbers) = (value as f32, self.target.told(&kpis));
                let under = [&ask.point[..ask.point.len() - conditions.len()], &conditions].concat();
                numbers.extend(&self.space.core_point(&under)[ask.point.len() - conditions.len()..]);
                let outcome = match numbers.is_empty() {
                    true => Outcome::Value(value),
                    false => Outcome::Values(value, Kpis::new(&numbers)),
                };
                Ok((outcome, cost.map(|cost| cost as f32)))
            }
            Measured::Failed(why) => {
                self.failed += 1;
                if self.failed >= self.target.failures {
                    return Err(Error::failing(self.failed, &why));
                }
                host_sim::words::say(&format!("the measurement failed: {why}"));
                Ok((Outcome::Failed, None))
            }
        }
    }
}

/// The problem as it goes over the line.
fn describe(target: &Target, space: &Space) -> std::result::Result<Vec<u8>, Error> {
    let (parts, deployed) = (space.parts(), target.deployed.as_deref().map(|point| space.core_point(point)));
    let described = space.problem(&parts, deployed.as_deref()).checked()?;
    let bytes = Bytes::of(&described).ok_or_else(|| {
        Error::usage(format!("{}: it has more levels or limits than fit a device", target.name))
    })?;
    Ok(bytes.as_slice().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hil::profile::Profile;
    use foretune_core::{Floor, Level, Limit};
    use foretune_firmware::drive::coordinates;
    use foretune_firmware::reference::Answer;
    use foretune_link::Begin;
    use foretune_link::problem::{Numbers, Parts};
    use foretune_tuning::fixture::FILE;
    use std::fs;

    /// To be minimised, and all noise known.
    fn file() -> String {
        FILE.replace("maximise", "minimise").replace("cost = 5.0\n", "cost = 5.0\nnoise = 0.25\n")
    }

    fn own(text: &str, command: &str) -> std::result::Result<Own, Error> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("p.toml");
        fs::write(&path, text).unwrap();
        let target = tuning::read(&path)?;
        let command = Command::new(command, &target, None)?;
        Own::new(target, command, 1)
    }

    /// The first query of a task, at the cheapest fidelity.
    fn query(point: &[Coordinate]) -> Query {
        let ticket = foretune_link::Ticket { task: 1, step: 0 };
        let point = point.iter().copied().collect();
        Query { ticket, attempt: 0, fidelity: 0, samples: 10, cost: 1.0, point }
    }

    #[test]
    fn a_problem_file_becomes_bytes_with_all_that_it_says() {
        let own = own(&file(), "echo 1").unwrap();
        let mut numbers = Numbers::new();
        let parts = Parts::read(&own.bytes, &mut numbers).unwrap();
        let problem = parts.problem(own.budget());
        assert_eq!(problem.dimensions[0], Dimension::Grid { low: -100.0, high: 24.0, levels: 63 });
        assert_eq!(problem.dimensions[1], Dimension::Levels(&[0.0, 0.4, 0.7, 1.0]));
        assert_eq!(problem.goal, foretune_core::Goal::Minimise);
        assert_eq!(problem.deployed, Some(&[-80.0, 0.7][..]));
        assert_eq!(problem.floor, Some(Floor { level: Level::Share(0.9), risk: 0.05 }));
        assert_eq!(problem.limits, [Limit { coefficients: &[1.0, 2.0], at_most: 20.0 }]);
    }

    #[test]
    fn a_query_is_measured_by_the_command_in_natural_units() {
        let mut own = own(&file(), "echo '{{\"value\": {p0}, \"cost\": 2.5}}'").unwrap();
        let query = query(&[Coordinate::Level(10), Coordinate::Level(2)]);
        assert_eq!(own.measure(&query).unwrap(), (Outcome::Value(-80.0), Some(2.5)));
    }

    #[test]
    fn guards_and_conditions_are_described_and_their_numbers_sent_as_the_device_is_to_see_them() {
        let guard = "\n[[guard]]\nname = \"edge\"\nshare = 0.5\nnoise = 0.01\nscale = \"log\"\n";
        let condition = "[[condition]]\nname = \"load\"\nlow = 50\nhigh = 5000\nscale = \"log\"\n";
        let command = "echo '{{\"value\": {p0}, \"edge\": 0.25, \"load\": 500}}'";
        let mut own = own(&(file() + guard + condition), command).unwrap();
        let mut numbers = Numbers::new();
        let parts = Parts::read(&own.bytes, &mut numbers).unwrap();
        let [described] = parts.problem(own.budget()).guards[..] else { panic!("a guard") };
        assert_eq!(described, own.target.guards[0].core());
        let described = parts.problem(own.budget());
        assert_eq!(described.dimensions[2], Dimension::Condition { low: 0.0, high: 1.0 });
        assert_eq!(described.deployed.map(<[f32]>::len), Some(3));
        let query = query(&[Coordinate::Level(10), Coordinate::Level(2), Coordinate::Unit(1.0)]);
        let kpis = Kpis::new(&[0.25f32.ln(), 0.5]);
        assert_eq!(own.measure(&query).unwrap(), (Outcome::Values(-80.0, kpis), None));
        assert_eq!(World::Own(Box::new(own)).values(1.0, &kpis), "1, edge = 0.25");
    }

    /// A device has single precision and knows no logarithms: it is sent places between 0 and 1.
    #[test]
    fn scales_are_mapped_before_a_device_sees_them() {
        let text =
            file().replace("low = -100\nhigh = 24.0\nlevels = 63", "low = 1e-4\nhigh = 1\nscale = \"log\"");
        let text =
            text.replace("p0 = -80.0", "p0 = 0.01").replace("sum = { p0 = 1.0, alpha", "sum = { alpha");
        let mut own = own(&text, "echo {p0}").unwrap();
        let mut numbers = Numbers::new();
        let parts = Parts::read(&own.bytes, &mut numbers).unwrap();
        let problem = parts.problem(own.budget());
        assert_eq!(problem.dimensions[0], Dimension::Interval { low: 0.0, high: 1.0 });
        assert_eq!(problem.deployed, Some(&[0.5, 0.7][..]));
        let query = query(&[Coordinate::Unit(0.75), Coordinate::Level(2)]);
        assert_eq!(own.measure(&query).unwrap(), (Outcome::Value(0.1), None));
    }

    #[test]
    fn a_device_asks_for_values_of_a_category_and_the_command_gets_their_names() {
        let text = file()
            .replace("[0.0, 0.4, 0.7, 1.0]", "[\"low\", \"mid\", \"high\"]")
            .replace("alpha = 0.7", "alpha = \"high\"")
            .replace(", alpha = 2.0", "")
            .replace("[floor]\nshare = 0.9\nrisk = 0.05\n", "");
        let command = "sh -c 'case $FORETUNE_ALPHA in low) echo 3;; mid) echo 1;; high) echo 2;; esac'";
        let (mut own, profile) = (own(&text, command).unwrap(), Profile::find("compact").unwrap());
        profile.fits(&own.bytes).unwrap();
        let bytes = own.bytes.clone();
        assert_eq!(
            own.natural(&[Coordinate::Level(0), Coordinate::Level(2)].into_iter().collect()),
            [-100.0, 2.0]
        );
        let begin = Begin { task: 1, seed: 1, budget: 60.0, ..Begin::PLAIN };
        let mut answer = |query: &Query| match own.measure(query).unwrap() {
            (Outcome::Value(value), _) => Answer::Value(value, Kpis::NONE, None),
            other => panic!("{other:?}"),
        };
        let outline = profile.run(&begin, Some(&bytes), &[], &mut answer, &[]).unwrap();
        let best = outline.trace.recommendation.unwrap().point;
        assert_eq!(best[1], Coordinate::Level(1));
        assert!(World::Own(Box::new(own)).show(&best).ends_with("alpha = mid"));
        let wide = text.replace("\"low\", \"mid\"", "\"low\", \"mid\", \"1\", \"2\"");
        let refused =
            profile.fits(&super::tests::own(&wide, command).unwrap().bytes).unwrap_err().to_string();
        assert!(refused.contains("room for 4 dimensions, and each value of a category"), "{refused}");
        assert!(Profile::find("deep").unwrap().fits(&bytes).is_err(), "the deep map takes none");
    }

    /// The second task on the compact profile begins at the last recommendation, or where the station says.
    #[test]
    fn a_station_says_whether_the_file_s_point_is_in_use_now() {
        let own = own(&file(), "echo 1").unwrap();
        let (mut numbers, profile) = (Numbers::new(), Profile::find("compact").unwrap());
        let parts = Parts::read(&own.bytes, &mut numbers).unwrap();
        let dimensions = parts.problem(0.0).dimensions;
        let unit: Vec<f32> =
            dimensions.iter().zip([-80.0, 0.7]).map(|(d, value)| d.unit(value).unwrap()).collect();
        let filed = coordinates(dimensions, &unit);
        let run = |task, deploy, knowledge: &[u8]| {
            let begin = Begin { task, deploy, seed: 1, budget: 11.0, ..Begin::PLAIN };
            let mut answer =
                |query: &Query| Answer::Value(if query.point == filed { 2.0 } else { 1.0 }, Kpis::NONE, None);
            profile.run(&begin, Some(&own.bytes), knowledge, &mut answer, &[]).unwrap()
        };
        let first = run(1, false, &[]);
        assert_eq!(first.trace.queries[0].point, filed);
        let recommended = first.trace.recommendation.unwrap().point;
        assert_ne!(recommended, filed);
        assert_eq!(run(2, false, &first.knowledge).trace.queries[0].point, recommended);
        assert_eq!(run(2, true, &first.knowledge).trace.queries[0].point, filed);
    }

    /// The device keeps its task and its query: the same command goes on there.
    #[test]
    fn a_command_that_fails_again_and_again_ends_the_run() {
        let text = file().replace("goal =", "failures = 3\ngoal =");
        let mut own = own(&text, "false").unwrap();
        let query = query(&[Coordinate::Level(10), Coordinate::Level(2)]);
        let mut measure = |attempt| own.measure(&Query { attempt, ..query.clone() });
        assert_eq!([measure(0).unwrap(), measure(1).unwrap()], [(Outcome::Failed, None); 2]);
        let error = measure(2).unwrap_err();
        assert_eq!(error.exit_code(), 1);
        assert!(
            error.to_string().contains("3 measurements in a row failed, the last: exit status"),
            "{error}"
        );
    }

    #[test]
    fn noise_that_nobody_knows_is_asked_for() {
        let error = own(FILE, "echo 1").err().unwrap().to_string();
        assert!(error.contains("`long` has no noise"), "{error}");
    }
}

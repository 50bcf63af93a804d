//! A world that changes in the middle of a task: it is noticed, what is recommended suits the world as it is, a steady one raises no
//! alarm, and a restored task goes on bit for bit.

use crate::support::{noise, snapshot, start_with};
use foretune_core::{
    Ask, Dimension, Fidelity, Floor, Guard, Level, Optimizer, Problem, Query, Settings, Side,
};

const IN_USE: [f32; 2] = [0.3, 0.4];
const NOISE: [f32; 2] = [0.3, 0.1];
const PROBLEM: Problem<'static> = Problem {
    dimensions: &[Dimension::Interval { low: 0.0, high: 1.0 }; 2],
    fidelities: &[
        Fidelity { cost: 1.0, samples: 1, noise: NOISE[0] * NOISE[0] },
        Fidelity { cost: 4.0, samples: 4, noise: NOISE[1] * NOISE[1] },
    ],
    budget: 90.0,
    deployed: Some(&IN_USE),
    floor: Some(Floor { level: Level::Share(0.9), risk: 0.05 }),
    guards: &[Guard {
        side: Side::AtLeast,
        floor: Floor { level: Level::Share(0.9), risk: 0.05 },
        noise: &[0.01, 0.0025],
    }],
    ..Problem::PLAIN
};
const UNGUARDED: Problem<'static> = Problem { guards: &[], ..PROBLEM };

/// What the world is like: how much all gets, where the best is, how much the KPI is.
#[derive(Clone, Copy)]
struct World {
    level: f32,
    best: [f32; 2],
    edge: f32,
}

const USUAL: World = World { level: 1.0, best: [0.8, 0.6], edge: 1.0 };
const LOWER: World = World { level: 0.8, ..USUAL };
const HIGHER: World = World { level: 1.25, ..USUAL };
const ELSEWHERE: World = World { level: 0.85, best: [0.2, 0.8], edge: 1.0 };
const EDGE: World = World { edge: 0.7, ..USUAL };

impl World {
    fn objective(&self, x: &[f32]) -> f32 {
        let gap = |j: usize| x[j] - self.best[j];
        self.level * (10.0 - 12.0 * gap(0) * gap(0) - 8.0 * gap(1) * gap(1))
    }

    fn kpi(&self, x: &[f32]) -> f32 {
        self.edge * (3.0 + 0.3 * x[1])
    }
}

fn measure(world: &World, query: &Query, salt: u32) -> (f32, f32) {
    let (x, m) = (query.point(), query.fidelity());
    (
        world.objective(x) + NOISE[m] * noise(query.round(), salt),
        world.kpi(x) + PROBLEM.guards[0].noise[m].sqrt() * noise(query.round(), salt + 7),
    )
}

/// One task in which the world changes once so much is spent.
struct Run {
    changes: u32,
    /// Answers from the change until it was noticed.
    delay: u32,
    /// Share of the best there is, and by how much the expected value is wrong.
    share: f32,
    off: f32,
    /// Trials since it was noticed, and those below the floor.
    trials: u32,
    below: u32,
}

fn run(problem: Problem<'static>, worlds: [World; 2], seed: u32) -> Run {
    let mut tuner = start_with(96, problem, Settings::DEFAULT, u64::from(seed));
    let (mut delay, mut trials, mut below) = (0, 0, 0);
    while let Ask::Query(query) = tuner.ask() {
        let status = tuner.status();
        let changed = status.spent > 0.4 * problem.budget;
        let world = worlds[usize::from(changed)];
        let noticed = status.live.unwrap().changes > 0;
        delay += u32::from(changed && !noticed);
        trials += u32::from(noticed);
        below += u32::from(noticed && world.objective(query.point()) < 0.9 * world.objective(&IN_USE));
        let (y, kpi) = measure(&world, &query, seed);
        tuner.tell_all(query, y, &[kpi][..problem.guards.len()]).unwrap();
    }
    let (best, now) = (tuner.recommendation().unwrap(), worlds[1]);
    let (share, off) =
        (now.objective(best.point()) / now.objective(&now.best), best.mean - now.objective(best.point()));
    Run { changes: tuner.status().live.unwrap().changes, delay, share, off: off.abs(), trials, below }
}

fn mean(runs: &[Run], of: impl Fn(&Run) -> f32) -> f32 {
    runs.iter().map(of).sum::<f32>() / runs.len() as f32
}

#[test]
fn a_change_in_the_middle_of_a_task_is_noticed_and_what_is_recommended_suits_it() {
    // Where everybody gets more, it need not be noticed: nobody is harmed, and the recommendation must suit all the same.
    for (name, problem, world, (wanted, least)) in [
        ("lower", UNGUARDED, LOWER, (11, 0.98)),
        ("higher", UNGUARDED, HIGHER, (6, 0.97)),
        ("elsewhere", UNGUARDED, ELSEWHERE, (11, 0.9)),
        ("lower, guarded", PROBLEM, LOWER, (11, 0.98)),
        ("the KPI alone", PROBLEM, EDGE, (11, 0.98)),
    ] {
        let runs: Vec<Run> = (0..12).map(|seed| run(problem, [USUAL, world], seed)).collect();
        let noticed = runs.iter().filter(|run| run.changes == 1).count();
        let [delay, share, off] =
            [mean(&runs, |run| run.delay as f32), mean(&runs, |run| run.share), mean(&runs, |run| run.off)];
        let below = mean(&runs, |run| run.below as f32) / mean(&runs, |run| run.trials as f32);
        let found = format!(
            "{name}: {noticed} of 12, delay {delay:.1}, share {share:.3}, off {off:.2}, below {below:.3}"
        );
        println!("{found}");
        assert!(noticed >= wanted && delay < 8.0 && share > least && off < 0.3 && below < 0.05, "{found}");
    }
}

#[test]
fn a_steady_world_raises_no_alarm() {
    for problem in [UNGUARDED, PROBLEM] {
        let changes: u32 = (100..130).map(|seed| run(problem, [USUAL; 2], seed).changes).sum();
        assert_eq!(changes, 0);
    }
}

#[test]
fn a_restored_task_knows_of_the_change() {
    let (mut saved, mut asked) = (Vec::new(), Vec::new());
    let go_on = |tuner: &mut Optimizer<'_>, asked: &mut Vec<Vec<f32>>| {
        let Ask::Query(query) = tuner.ask() else { return false };
        let world = if tuner.status().spent > 20.0 { LOWER } else { USUAL };
        asked.push(query.point().to_vec());
        let (y, kpi) = measure(&world, &query, 3);
        tuner.tell_all(query, y, &[kpi]).unwrap();
        true
    };
    let problem = Problem { budget: 60.0, ..PROBLEM };
    let mut tuner = start_with(96, problem, Settings::DEFAULT, 3);
    while go_on(&mut tuner, &mut asked) {
        saved.push((snapshot(&tuner), asked.len()));
    }
    assert_eq!(tuner.status().live.unwrap().changes, 1);
    for (bytes, done) in saved.iter().rev().step_by(5) {
        let mut again = asked[..*done].to_vec();
        let mut tuner = start_with(96, problem, Settings::DEFAULT, 3);
        tuner.load(bytes).unwrap();
        while go_on(&mut tuner, &mut again) {}
        assert_eq!(again, asked);
        assert_eq!(tuner.status().live.unwrap().changes, 1);
    }
}

/// So hard that no answer is believed: the floor's drop is much larger than what was seen so far. A check that fails is made again.
#[test]
fn a_world_that_breaks_down_is_noticed_though_every_answer_is_an_outlier() {
    let floor = Floor { level: Level::Drop(1.0), risk: 0.05 };
    for (after, fails) in [(0.0, false), (-60.0, false), (0.0, true)] {
        let problem = Problem {
            fidelities: &[Fidelity { cost: 1.0, samples: 1, noise: 0.01 }],
            budget: 60.0,
            deployed: Some(&[0.5, 0.5]),
            floor: Some(floor),
            ..UNGUARDED
        };
        let mut tuner = start_with(70, problem, Settings::LIVE, 3);
        let (mut asked_again, mut failed) = (0, false);
        while let Ask::Query(query) = tuner.ask() {
            let (round, x) = (query.round(), query.unit());
            let checks = round > 20 && x == [0.5, 0.5];
            asked_again += u32::from(checks);
            let usual = 40.0 - 2.0 * (x[0] - 0.6).powi(2) - (x[1] - 0.4).powi(2);
            let y = if round < 20 { usual } else { after } + 0.1 * noise(round, 7);
            if fails && checks && !failed {
                failed = true;
                tuner.fail(query).unwrap();
            } else {
                tuner.tell(query, y).unwrap();
            }
        }
        let (live, best) = (tuner.status().live.unwrap(), tuner.recommendation().unwrap());
        assert!(live.changes == 1 && live.below >= 1 && asked_again > 0, "{after}, {fails}: {live:?}");
        assert!((best.mean - after).abs() < 1.0, "{after}: {best:?}");
    }
}

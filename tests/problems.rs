//! The benchmark problems beside what the documents and a second implementation say of them, and their points in a person's units.

mod optima;
mod words;

use foretune_core::Dimension;
use host_sim::problems::random::{Purpose, Random};
use host_sim::problems::{
    Classic, DimensionSpec, Gas, Mapping, NAMES, Notation, One, Problem, ProblemSpec, Task,
};
use host_sim::runner::Space;

fn problems() -> impl Iterator<Item = Problem> {
    let names = NAMES.iter().map(|named| named.name);
    names.chain(["hartmann6:truth=first", "rrm:stations=1,antennas=32"]).map(|name| name.parse().unwrap())
}

fn fingerprint(problem: &Problem, task: &dyn Task) -> Vec<u64> {
    let spec = problem.spec();
    let mut random = Random::new(1, Purpose::Queries, 0);
    let points: Vec<_> = (0..5).map(|_| query(&spec, &mut random)).collect();
    let values = |m| points.iter().map(move |x| task.value(m, x).to_bits());
    (0..spec.fidelities.len()).flat_map(values).collect()
}

#[test]
fn iterating_and_skipping_give_the_same_tasks() {
    for problem in problems() {
        let iterated: Vec<_> = problem.tasks(3).take(4).map(|task| fingerprint(&problem, &*task)).collect();
        let skipped = problem.tasks(3).nth(3).unwrap();
        assert_eq!(iterated[3], fingerprint(&problem, &*skipped));
        assert_eq!(iterated[2], fingerprint(&problem, &*problem.tasks(3).task(2)));
        assert_ne!(iterated[2], iterated[3]);
        assert_ne!(iterated[2], fingerprint(&problem, &*problem.tasks(4).task(2)));
    }
}

#[test]
fn an_unlike_task_replaces_itself_alone() {
    for problem in problems() {
        let (usual, unlike) = (problem.tasks(3), problem.tasks(3).with_unlike(1));
        for n in 0..3 {
            let [usual, unlike] = [&usual, &unlike].map(|s| fingerprint(&problem, &*s.task(n)));
            assert_eq!(usual != unlike, n == 1, "{problem} {n}");
        }
    }
}

#[test]
fn moved_tasks_have_their_optimum_in_its_range_and_as_high_as_before() {
    for problem in [Problem::Gas(Gas), Problem::Classic(Classic::Branin), NAMES[0].problem] {
        let (spec, mut apart) = (problem.spec(), 0.0);
        for seed in 0..20 {
            let (usual, moved) = (problem.tasks(seed).task(1), problem.tasks(seed).with_moved(0.1).task(1));
            let (at, before) = (moved.optimum_at(), usual.optimum_at());
            let reached = moved.value(spec.fidelities.len() - 1, &at);
            assert!((reached - usual.optimum()).abs() < 1e-6 * (1.0 + reached.abs()), "{problem} {seed}");
            for ((at, before), dimension) in at.iter().zip(before).zip(&spec.dimensions) {
                let (low, high) = dimension.range();
                assert!((low..=high).contains(at) && (at - before).abs() <= 0.1 * (high - low));
                apart += (at - before).abs() / (high - low);
            }
        }
        assert!(apart > 0.5, "{problem}: {apart}");
    }
}

#[test]
fn specs_are_consistent() {
    for problem in problems() {
        let spec = problem.spec();
        assert_eq!(spec.name.parse(), Ok(problem));
        assert_eq!(spec.initial, 2 * spec.dimensions.len() + 2);
        assert!(spec.fidelities.is_sorted_by(|a, b| a.cost < b.cost));
        assert!(spec.budget > spec.fidelities[spec.fidelities.len() - 1].cost);
        assert!(spec.scale_deviation > 0.0);
        assert!(spec.dimensions.iter().all(|dimension| dimension.range().0 < dimension.range().1));
        let at = problem.tasks(1).task(0).optimum_at();
        assert!(at.iter().zip(&spec.dimensions).all(|(x, dimension)| match dimension {
            DimensionSpec::Interval { low, high, .. } => low <= x && x <= high,
            DimensionSpec::Levels { values, .. } => values.contains(x),
            DimensionSpec::Category { .. } => false,
        }));
    }
}

/// The rule that [`ProblemSpec::deployed`] states.
fn ordinary(problem: &Problem) -> Vec<f64> {
    let spec = problem.spec();
    let truth = spec.fidelities.len() - 1;
    let tasks: Vec<_> = problem.tasks(0).take(20).collect();
    let mut random = Random::new(0, Purpose::Queries, 0);
    let mean = |x: &[f64]| tasks.iter().map(|task| task.value(truth, x)).sum::<f64>();
    let mut ranked: Vec<(f64, Vec<f64>)> =
        (0..99).map(|_| query(&spec, &mut random)).map(|x| (mean(&x), x)).collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    ranked.swap_remove(9).1
}

#[test]
fn the_deployed_point_is_the_tenth_best_of_99() {
    let by_rule = |problem: &Problem| !matches!(problem, Problem::Rrm(_) | Problem::Pid(_));
    let named = NAMES.map(|named| named.problem).into_iter().chain(One::ALL.map(Problem::One));
    for problem in named.filter(by_rule) {
        let (spec, expected) = (problem.spec(), ordinary(&problem));
        println!("{problem}: {expected:?}");
        for ((deployed, expected), d) in spec.deployed.iter().zip(&expected).zip(&spec.dimensions) {
            let rounding = 0.005 * (d.range().1 - d.range().0);
            assert!((deployed - expected).abs() <= rounding, "{problem}: {expected:?}");
        }
        assert_eq!(spec.deployed.len(), spec.dimensions.len());
    }
}

/// What `docs/problems.md` says about how hard the problems are: correlations of the lower fidelities with the truth,
/// and what random search leaves after so many points.
#[test]
fn problems_are_as_hard_as_documented() {
    let page = include_str!("../docs/problems.md");
    let table = page.split_once("\n## How hard they are\n").unwrap().1.split_once("\n## ").unwrap().0;
    let rows: Vec<&str> = table.lines().filter(|line| line.starts_with("| `")).collect();
    assert_eq!(rows.len(), NAMES.len() - 1, "`one` has no other fidelities");
    for row in rows {
        let cells: Vec<&str> = row.split('|').map(|cell| cell.trim().trim_matches('`')).collect();
        let numbers = |cell: usize| cells[cell].split(' ').map(|n| n.parse::<f64>().unwrap());
        let (name, expected): (&str, Vec<f64>) = (cells[1], numbers(4).collect());
        let counts: Vec<usize> = numbers(3).map(|count| count as usize).collect();
        let seeds = if name == "rrm" { 6 } else { 60 };
        let found = correlations(name, seeds, 30_000 / seeds as usize);
        assert_eq!(found.len(), numbers(2).count() + 1);
        for (found, expected) in found.iter().zip(numbers(2)) {
            assert!((found - expected).abs() < 0.03, "{name}: {found} instead of {expected}");
        }
        let measured = random_search(name, seeds, 20, &counts);
        for (place, expected) in expected.into_iter().enumerate() {
            let column: Vec<f64> = measured.iter().map(|row| row[place]).collect();
            let (mean, error) = mean_and_error(&column);
            assert!((mean - expected).abs() < 4.0 * error + 0.01, "{name}: {mean} ± {error}, not {expected}");
        }
    }
}

/// The fixed map of observations has mean 0 and variance 1 over uniform points.
#[test]
fn scales_are_those_of_uniform_points() {
    let options = ["rrm:stations=1", "rrm:stations=3", "rrm:antennas=32", "rrm:stations=4,antennas=32"];
    let named = NAMES.map(|named| named.name).into_iter().chain(options).map(String::from);
    for name in named.chain(One::ALL.map(|one| format!("one:{}", one.name()))) {
        let problem: Problem = name.parse().unwrap();
        let spec = problem.spec();
        if spec.scale_mean == 0.0 {
            // By choice: its values are of this size.
            continue;
        }
        let fidelity = if name.starts_with("rrm") { 1 } else { spec.fidelities.len() - 1 };
        let (mut means, mut squares) = (Vec::new(), Vec::new());
        for seed in 0..12 {
            let (task, mut random) = (problem.tasks(seed).task(0), Random::new(seed, Purpose::Queries, 0));
            let scaled = |x: Vec<f64>| (task.value(fidelity, &x) - spec.scale_mean) / spec.scale_deviation;
            let values: Vec<f64> = (0..200).map(|_| scaled(query(&spec, &mut random))).collect();
            means.push(mean_and_error(&values).0);
            squares.push(values.iter().map(|y| y * y).sum::<f64>() / 200.0);
        }
        let [(mean, error), (square, spread)] = [&means, &squares].map(|all| mean_and_error(all));
        assert!(mean.abs() < 4.0 * error + 0.05, "{name}: {mean} ± {error}");
        assert!((square - 1.0).abs() < 4.0 * spread + 0.1, "{name}: {square} ± {spread}");
    }
}

/// Values of a second implementation, in Python; see `golden/problems.py`.
#[test]
fn values_agree_with_another_implementation() {
    let cases: serde_json::Value =
        serde_json::from_str(include_str!("../problems/golden/problems.json")).unwrap();
    let numbers = |value: &serde_json::Value| -> Vec<f64> {
        value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
    };
    for case in cases.as_array().unwrap() {
        let problem: Problem = case["problem"].as_str().unwrap().parse().unwrap();
        let [seed, task] = ["seed", "task"].map(|key| case[key].as_u64().unwrap());
        let task = problem.tasks(seed).task(task as usize);
        for (fidelity, expected) in case["values"].as_array().unwrap().iter().enumerate() {
            for (x, expected) in case["points"].as_array().unwrap().iter().zip(numbers(expected)) {
                let value = task.value(fidelity, &numbers(x));
                assert!((value - expected).abs() < 1e-9 * expected.abs().max(1.0), "{case} {value}");
            }
        }
    }
}

#[test]
fn every_level_of_every_problem_comes_back_exactly() {
    for name in ["rrm", "rrm:stations=4", "gas", "hartmann6"] {
        let spec = name.parse::<Problem>().unwrap().spec();
        let space = Space::new(&spec);
        let dimensions = space.dimensions();
        assert!(space.problem(&space.parts(), None).checked().is_ok());
        let count = dimensions.iter().filter_map(Dimension::levels).max().unwrap_or(0);
        for level in 0..count {
            let at = |d: &Dimension<'_>| d.unit_of_level(level.min(d.levels().map_or(0, |n| n - 1)));
            let unit: Vec<f32> = dimensions.iter().map(at).collect();
            for (value, dimension) in space.natural(&unit).iter().zip(&spec.dimensions) {
                if let DimensionSpec::Levels { values, .. } = dimension {
                    assert_eq!(*value, values[level.min(values.len() - 1)]);
                }
            }
        }
    }
}

/// Ends that single precision has not, narrow ranges, logarithms: what is shown is taken, and stands for the same point.
#[test]
fn every_point_that_is_shown_can_be_given_back() {
    let log = Notation { log: true, ..Notation::default() };
    let levels = |values: Vec<f64>, notation| DimensionSpec::Levels {
        name: "x".into(),
        unit: String::new(),
        values,
        notation,
    };
    let plain = Notation::default();
    let spec = "gas".parse::<Problem>().unwrap().spec();
    for dimension in [
        interval(-0.123456789, 0.123456789, plain),
        interval(1e-30, 3.3333333333e-30, plain),
        interval(2.4e9, 2.48e9, plain),
        interval(2.4e9, 2.4000001e9, plain),
        interval(-1e9 - 0.7, -1e9, plain),
        interval(1.23456789e-5, 0.123456789, log),
        levels((1..=1000).map(f64::from).collect(), log),
        levels((0..8001).map(|i| 2.4e9 + 1e4 * f64::from(i)).collect(), plain),
        levels((0..101).map(|i| 2.4e9 + f64::from(i)).collect(), plain),
        levels(vec![0.1, 0.1 + 0.2, 1.0 / 0.3], plain),
    ] {
        let spec = ProblemSpec { dimensions: vec![dimension.clone()], ..spec.clone() };
        let space = Space::new(&spec);
        assert!(space.problem(&space.parts(), None).checked().is_ok(), "{dimension:?}");
        let core = space.dimensions()[0];
        for i in 0..=1000 {
            let unit = core.snap(i as f32 / 1000.0);
            let shown = space.shown(&[unit]);
            let given = dimension.admissible(shown[0]).unwrap_or_else(|why| panic!("{why}"));
            let back = core.unit(space.core_point(&[given])[0]).expect("within the range");
            assert!((back - unit).abs() < 1e-5, "{unit} is shown as {shown:?}, which is {back}");
            assert!(core.levels().is_none() || back == unit, "{unit} is shown as {shown:?}");
        }
    }
}

#[test]
fn power_levels_are_a_grid_and_alpha_a_list() {
    let space = Space::new(&"rrm".parse::<Problem>().unwrap().spec());
    assert_eq!(space.dimensions()[0], Dimension::Grid { low: -202.0, high: 24.0, levels: 114 });
    assert!(matches!(space.dimensions()[1], Dimension::Levels(values) if values.len() == 8));
}

/// Ranges of all sizes, and how many digits their values have at most.
#[test]
fn values_come_back_and_have_no_more_digits_than_single_precision() {
    let of = |low, high, log| {
        Mapping::of(&interval(low, high, Notation { log, ..Notation::default() })).expect("a mapped range")
    };
    let ranges = [
        (1e-5, 0.1, true, 7),
        (1e-30, 1e30, true, 7),
        (1.0, 1024.0, true, 8),
        (2.4e9, 2.4000001e9, false, 16),
        (-1e-9 - 3.0, -3.0, false, 17),
    ];
    for (low, high, log, digits) in ranges {
        let mapping = of(low, high, log);
        let first = mapping.place(low) as f32;
        assert_eq!((mapping.value(first), mapping.value(first + 1.0)), (low, high));
        for i in 1..200 {
            let place = first + i as f32 / 200.0;
            let value = mapping.value(place);
            assert!((mapping.place(value) - f64::from(place)).abs() < 2e-7, "{value} of {mapping:?}");
            let text = format!("{value:e}");
            let count = text.split('e').next().unwrap().chars().filter(char::is_ascii_digit).count();
            assert!(count <= digits, "{text} of {mapping:?}");
        }
    }
    assert_eq!(of(1.0, 1e4, true).value(0.25), 10.0);
    let [near, far] = [2.4e9, 5e9].map(|low| of(low, low + 100.0, false));
    let first = near.place(2.4e9) as f32;
    assert_eq!(near.value(first + 0.5), 2_400_000_050.0);
    assert_ne!(far.place(5e9) as f32, first, "checksums tell them apart");
}

fn interval(low: f64, high: f64, notation: Notation) -> DimensionSpec {
    DimensionSpec::Interval { name: "x".into(), unit: String::new(), low, high, notation }
}

fn query(spec: &ProblemSpec, random: &mut Random) -> Vec<f64> {
    let coordinate = |dimension: &DimensionSpec| match dimension {
        DimensionSpec::Interval { low, high, .. } => random.uniform(*low, *high),
        DimensionSpec::Levels { values, .. } => values[random.below(values.len())],
        DimensionSpec::Category { values, .. } => random.below(values.len()) as f64,
    };
    spec.dimensions.iter().map(coordinate).collect()
}

fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    (mean, (squares / (count - 1.0) / count).sqrt())
}

/// `[seed][count]`: regret (on radio and PID the share) of the best of so many random queries at the truth in the first task of every seed,
/// averaged over repetitions.
fn random_search(problem: &str, seeds: u64, repetitions: usize, counts: &[usize]) -> Vec<Vec<f64>> {
    let problem: Problem = problem.parse().unwrap();
    let spec = problem.spec();
    let truth = spec.fidelities.len() - 1;
    let is_share = ["rrm", "pid"].contains(&&*spec.name);
    let of_seed = |seed| {
        let task = problem.tasks(seed).task(0);
        let optimum = task.optimum();
        let mut random = Random::new(seed, Purpose::Queries, 0);
        let mut sums = vec![0.0; counts.len()];
        for _ in 0..repetitions {
            let mut best = f64::NEG_INFINITY;
            for done in 1..=counts[counts.len() - 1] {
                best = best.max(task.value(truth, &query(&spec, &mut random)));
                if let Some(place) = counts.iter().position(|&count| count == done) {
                    sums[place] += if is_share { best / optimum } else { optimum - best };
                }
            }
        }
        sums.iter().map(|sum| sum / repetitions as f64).collect()
    };
    (0..seeds).map(of_seed).collect()
}

/// Correlation of every fidelity with the truth over uniform points, averaged over the first tasks of some seeds.
fn correlations(problem: &str, seeds: u64, points: usize) -> Vec<f64> {
    let problem: Problem = problem.parse().unwrap();
    let spec = problem.spec();
    let mut means = vec![0.0; spec.fidelities.len()];
    for seed in 0..seeds {
        let task = problem.tasks(seed).task(0);
        let mut random = Random::new(seed, Purpose::Queries, 0);
        let points: Vec<_> = (0..points).map(|_| query(&spec, &mut random)).collect();
        let values = |fidelity| points.iter().map(|x| Task::value(&*task, fidelity, x)).collect::<Vec<f64>>();
        let truth = values(spec.fidelities.len() - 1);
        for (fidelity, mean) in means.iter_mut().enumerate() {
            *mean += correlation(&values(fidelity), &truth) / seeds as f64;
        }
    }
    means
}

fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let (mean_a, mean_b) = (mean_and_error(a).0, mean_and_error(b).0);
    let product = |a: &[f64], mean_a: f64, b: &[f64], mean_b: f64| -> f64 {
        a.iter().zip(b).map(|(a, b)| (a - mean_a) * (b - mean_b)).sum()
    };
    product(a, mean_a, b, mean_b) / (product(a, mean_a, a, mean_a) * product(b, mean_b, b, mean_b)).sqrt()
}

//! Optima that are known or searched for, beside exhaustive and random search.

use host_sim::problems::random::{Purpose, Random};
use host_sim::problems::{Classic, DimensionSpec, Problem, Task};

use super::query;

const PLANTS: [&str; 5] = ["lags", "oven", "motor", "level", "beam"];

fn pid(plant: &str, seed: u64, task: usize) -> Box<dyn Task + Send> {
    format!("pid:{plant}").parse::<Problem>().unwrap().tasks(seed).task(task)
}

/// Halving steps along the coordinates: where it ends, no step of its last length leads higher.
fn climb(task: &dyn Task, truth: usize, dimensions: &[DimensionSpec], mut x: Vec<f64>) -> f64 {
    let mut best = task.value(truth, &x);
    let mut length = 0.1;
    while length > 1e-6 {
        let before = best;
        for (j, dimension) in dimensions.iter().enumerate() {
            let (low, high) = dimension.range();
            for step in [-length, length] {
                let mut moved = x.clone();
                moved[j] = (moved[j] + step * (high - low)).clamp(low, high);
                let value = task.value(truth, &moved);
                if value > best {
                    (best, x) = (value, moved);
                }
            }
        }
        length = if best > before { length } else { length / 2.0 };
    }
    best
}

#[test]
fn nothing_is_higher_than_the_optimum_and_the_optimum_is_in_the_domain() {
    for problem in Classic::ALL.map(Problem::Classic) {
        let spec = problem.spec();
        let truth = spec.fidelities.len() - 1;
        for n in 0..20 {
            for task in [problem.tasks(1).task(n), problem.tasks(1).with_unlike(n).task(n)] {
                let (optimum, at) = (task.optimum(), task.optimum_at());
                assert!((task.value(truth, &at) - optimum).abs() < 1e-9, "{problem} {n}");
                let inside = |(x, d): (&f64, &DimensionSpec)| d.range().0 <= *x && *x <= d.range().1;
                assert!(at.iter().zip(&spec.dimensions).all(inside), "{problem} {at:?}");
                let mut random = Random::new(2, Purpose::Queries, n);
                for _ in 0..10 {
                    let top = climb(&*task, truth, &spec.dimensions, query(&spec, &mut random));
                    assert!(top < optimum + 1e-9, "{problem} {n}: {top} above {optimum}");
                }
            }
        }
    }
}

/// Edge at least 0.9 of what is in use, power at most 3 dB more; pairs of every ninth level of P0.
#[test]
fn no_pair_of_settings_is_better_than_the_constrained_optimum_of_radio() {
    let problem: Problem = "rrm".parse().unwrap();
    let spec = problem.spec();
    let [DimensionSpec::Levels { values: p0, .. }, DimensionSpec::Levels { values: alpha, .. }] =
        &spec.dimensions[..2]
    else {
        panic!("levels")
    };
    let settings = || p0.iter().step_by(9).flat_map(|&p0| alpha.iter().map(move |&alpha| [p0, alpha]));
    for seed in 0..2 {
        let task = problem.tasks(seed).task(4);
        let in_use = task.kpis(3, &spec.deployed);
        let keeps = |kpis: &[f64]| kpis[0] >= 0.9 * in_use[0] && kpis[1] <= in_use[1] + 3.0;
        let found = task.optimum_within(&spec.deployed, &keeps);
        let mut best = 0.0;
        for x in settings().flat_map(|a| settings().map(move |b| [a, b].concat())) {
            let value = task.value(3, &x);
            best = if value > best && keeps(&task.kpis(3, &x)) { value } else { best };
        }
        assert!(found >= best && best > 0.9 * found, "{seed}: {found}, and {best} on a coarse grid");
    }
}

/// The bounds of the guide's example.
fn keeps(kpis: &[f64]) -> bool {
    kpis[0] <= 0.05 && kpis[1] <= 10.0
}

#[test]
fn a_loops_point_in_use_keeps_the_guides_bounds_around_every_plant() {
    let deployed = "pid".parse::<Problem>().unwrap().spec().deployed;
    for plant in PLANTS {
        for seed in 0..50 {
            let kpis = pid(plant, seed, 3).kpis(2, &deployed);
            assert!(keeps(&kpis), "{plant} {seed}: {kpis:?}");
        }
        let task = pid(plant, 0, 3);
        assert_eq!(task.optimum_within(&deployed, &|_| false), task.value(2, &deployed), "nothing keeps it");
    }
}

#[test]
fn no_point_of_a_fine_grid_is_better_than_the_constrained_optimum_of_a_loop() {
    let spec = "pid".parse::<Problem>().unwrap().spec();
    let grid: [usize; 3] = [40, 30, 24];
    for plant in PLANTS {
        let task = pid(plant, 1, 1);
        let found = task.optimum_within(&spec.deployed, &keeps);
        let mut best = 0.0_f64;
        for i in 0..grid.iter().product() {
            let at = [i % grid[0], i / grid[0] % grid[1], i / grid[0] / grid[1]];
            let value = |(j, dimension): (usize, &DimensionSpec)| {
                let (low, high) = dimension.range();
                low * (high / low).powf(at[j] as f64 / (grid[j] - 1) as f64)
            };
            let x: Vec<f64> = spec.dimensions.iter().enumerate().map(value).collect();
            let value = task.value(2, &x);
            best = if value > best && keeps(&task.kpis(2, &x)) { value } else { best };
        }
        assert!(best <= found && best > 0.9 * found, "{plant}: {best} beside {found}");
    }
}

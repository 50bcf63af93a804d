//! The deep map learns without collapsing: after some tasks its kernel between two points drawn at random is neither
//! that of a constant (1) nor that of white noise (0).
//!
//! In small here, on all three problems of the paper. At full size (some minutes with `--release`):
//! `cargo test --release -p foretune-tests --test collapse -- --ignored --nocapture`.

use foretune_core::{Ask, Map, Memory, Optimizer, Settings, Step, memory};
use host_sim::problems::Problem;
use host_sim::runner::Space;
use rand_core::{Rng, SeedableRng};
use rand_xorshift::XorShiftRng;

type Room = memory!(
    dimensions: 8, fidelities: 6, observations: 256, particles: 10, map: Deep { width: 64 }, candidates: 256,
    step: Langevin { rate: 0.2 }
);

fn uniform(random: &mut XorShiftRng) -> f64 {
    f64::from(random.next_u32() >> 8) / f64::from(1 << 24)
}

/// Twelve uniform numbers have the variance of a standard normal one.
fn normal(random: &mut XorShiftRng) -> f64 {
    (0..12).map(|_| uniform(random)).sum::<f64>() - 6.0
}

/// `ψ(x)` of the deep map, in `f64`: layers of `tanh(Wᵀa + b)`, each with its weights row by row and its biases.
fn features(theta: &[f32], width: usize, x: &[f64]) -> Vec<f64> {
    let (mut a, mut rest) = (x.to_vec(), theta);
    for _ in 0..3 {
        let (weights, behind) = rest.split_at(a.len() * width);
        let unit = |j: usize| {
            let sum: f64 = a.iter().enumerate().map(|(i, a)| a * f64::from(weights[i * width + j])).sum();
            (sum + f64::from(behind[j])).tanh()
        };
        a = (0..width).map(unit).collect();
        rest = &behind[width..];
    }
    a
}

/// Mean over particles and pairs of points of `exp(−‖ψ(x) − ψ(x')‖²)`.
fn mean_kernel(tuner: &Optimizer<'_>, dimensions: usize) -> f64 {
    const PAIRS: usize = 100;
    let Map::Deep { width } = tuner.settings().map else { panic!("a deep map") };
    let mut random = XorShiftRng::seed_from_u64(1);
    let mut sum = 0.0;
    for theta in tuner.particles() {
        for _ in 0..PAIRS {
            let mut point = || {
                features(
                    theta,
                    width,
                    &std::array::from_fn::<_, 16, _>(|_| uniform(&mut random))[..dimensions],
                )
            };
            let distance: f64 = point().iter().zip(point()).map(|(a, b)| (a - b) * (a - b)).sum();
            sum += (-distance).exp();
        }
    }
    sum / (tuner.particles().len() * PAIRS) as f64
}

/// The mean kernel at the end of so many tasks, with this share of the budget.
fn after(problem: &str, settings: Settings, tasks: usize, share: f32) -> f64 {
    let problem: Problem = problem.parse().unwrap();
    let (spec, sequence) = (problem.spec(), problem.tasks(5));
    let space = Space::new(&spec);
    let parts = space.parts();
    let mut shown = space.problem(&parts, None);
    shown.budget *= share;
    let mut memory: Box<Room> = Box::new(Memory::new());
    let mut tuner = memory.start(shown, settings, 7).unwrap();
    let mut random = XorShiftRng::seed_from_u64(2);
    for number in 0..tasks {
        let task = sequence.task(number);
        while let Ask::Query(query) = tuner.ask() {
            let noise = spec.fidelities[query.fidelity()].noise_variance.sqrt() * normal(&mut random);
            let y = task.value(query.fidelity(), &space.natural(query.unit())) + noise;
            tuner.tell(query, y as f32).unwrap();
        }
        tuner.next_task().unwrap();
    }
    mean_kernel(&tuner, spec.dimensions.len())
}

const PROBLEMS: [&str; 3] = ["hartmann6", "gas", "rrm"];

#[test]
fn the_deep_preset_keeps_a_kernel_that_tells_points_apart() {
    let mut settings = Settings::DEEP;
    settings.map = Map::Deep { width: 16 };
    settings.particles = 4;
    settings.candidates = 64;
    let mut climbing = settings;
    climbing.details.step = Step::Plain { rate: 0.02 };
    climbing.steps_per_task = 2000;
    climbing.details.kde_bandwidth = Settings::PAPER.details.kde_bandwidth;
    for problem in PROBLEMS {
        let mean = after(problem, settings, 3, 0.25);
        assert!((0.05..0.9).contains(&mean), "{problem}: {mean}");
    }
    let collapsed = after("hartmann6", climbing, 3, 0.25);
    assert!(collapsed > 0.9, "steps up the density collapse: {collapsed}");
}

#[test]
#[ignore = "minutes: full size"]
fn at_full_size_after_ten_tasks() {
    let means = PROBLEMS.map(|problem| {
        let mean = after(problem, Settings::DEEP, 10, 1.0);
        println!("{problem}: mean kernel {mean:.3}");
        mean
    });
    assert!(means.iter().all(|mean| (0.05..0.9).contains(mean)), "{means:?}");
}

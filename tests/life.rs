//! A long life: task after task in one memory, the hill to be found wandering about.
//!
//! Memory is constant by construction: there is none but the `static` below, and no allocator in the core. What could
//! wear out is what is carried on: the particles. So they are watched: all numbers finite and within their bounds, no
//! two particles alike, and their spread (over the particles, as a share of the prior's deviation, mean over the
//! parameters) neither gone nor without bounds. And the last tasks must be solved as well, and with as much work, as
//! early ones.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use foretune_core::profile::{COMPACT, Compact};
use foretune_core::{
    Details, Dimension, Fidelity, Goal, LogNormal, Optimizer, Problem, Progress, Query, Settings,
};
use rand_core::{Rng, SeedableRng};
use rand_xorshift::XorShiftRng;

static MEMORY: Mutex<Compact> = Mutex::new(Compact::new());

const POWER: Dimension<'static> = Dimension::Grid { low: -202.0, high: 24.0, levels: 114 };
const COMPENSATION: Dimension<'static> = Dimension::Levels(&[0.0, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]);
const SLOTS: usize = 64;
/// Height of the hill.
const TOP: f32 = 0.9;

const fn averaged(samples: u32) -> Fidelity {
    Fidelity { cost: samples as f32, samples, noise: 0.02 / samples as f32 }
}

const RADIO: Problem<'static> = Problem {
    dimensions: &[POWER, COMPENSATION, POWER, COMPENSATION],
    fidelities: &[averaged(10), averaged(20), averaged(50), averaged(100)],
    // Pays for the truth in every slot: what runs out is the room for observations.
    budget: 6400.0,
    goal: Goal::Maximise,
    ..Problem::PLAIN
};

/// Where the hill's top lies in a task: each coordinate goes to and fro between 0.2 and 0.8 at its own pace.
fn top(task: u32, j: usize) -> f32 {
    let phase = (task as f32 * [0.013, 0.021, 0.017, 0.008][j]).fract();
    0.2 + 0.6 * (2.0 * phase - 1.0).abs()
}

fn truth(task: u32, unit: &[f32]) -> f32 {
    let gaps = unit.iter().enumerate().map(|(j, x)| ((x - top(task, j)) / 0.35).powi(2));
    TOP / (1.0 + gaps.sum::<f32>())
}

/// What is measured: cheaper fidelities are biased and noisier.
fn measure(query: &Query) -> f32 {
    let mut random = XorShiftRng::seed_from_u64(u64::from(query.task()) << 20 | u64::from(query.round()));
    // Twelve uniform numbers make a normal one, nearly.
    let normal: f32 = (0..12).map(|_| random.next_u32() as f32 / 4.3e9).sum::<f32>() - 6.0;
    let fidelity = RADIO.fidelities[query.fidelity()];
    let bias = 0.03 * query.unit()[0] * (3 - query.fidelity()) as f32;
    truth(query.task(), query.unit()) + bias + normal * fidelity.noise.sqrt()
}

#[derive(Clone, Copy, Debug)]
struct Outcome {
    regret: f32,
    /// Slots in use: observations, and values remembered of earlier tasks.
    slots: usize,
    slices: u32,
    time: Duration,
    spread: f32,
    fallbacks: u32,
}

fn task(tuner: &mut Optimizer<'_>) -> Outcome {
    let (start, mut slices) = (Instant::now(), 0);
    loop {
        slices += 1;
        match tuner.advance() {
            Progress::Working => {}
            Progress::Query(query) => {
                let y = measure(&query);
                tuner.tell(query, y).expect("a plausible value");
            }
            Progress::Done(_) => break,
            other => unreachable!("every query is answered: {other:?}"),
        }
    }
    let best = tuner.recommendation().expect("something was observed");
    let status = tuner.status();
    Outcome {
        regret: TOP - truth(tuner.task(), best.unit()),
        slots: status.observations + status.remembered,
        slices,
        time: start.elapsed(),
        spread: spread(tuner),
        fallbacks: status.fallbacks.pivots + status.fallbacks.particles,
    }
}

/// Deviation of each parameter over the particles, as a share of the prior's; mean over the parameters.
fn spread(tuner: &Optimizer<'_>) -> f32 {
    let particles: Vec<&[f32]> = tuner.particles().collect();
    assert!(particles.iter().copied().flatten().all(|theta| theta.is_finite() && theta.abs() <= 30.0));
    for (i, a) in particles.iter().enumerate() {
        assert!(particles[..i].iter().all(|b| a != b), "two particles are alike");
    }
    let prior = &tuner.settings().details.prior;
    let deviations = [prior.length, prior.length, prior.length, prior.length, prior.signal, prior.gamma];
    let shares = deviations.iter().enumerate().map(|(p, LogNormal { deviation, .. })| {
        let values: Vec<f32> = particles.iter().map(|theta| theta[p]).collect();
        let mean = values.iter().sum::<f32>() / values.len() as f32;
        let square = values.iter().map(|value| (value - mean).powi(2)).sum::<f32>() / values.len() as f32;
        square.sqrt() / deviation
    });
    shares.sum::<f32>() / deviations.len() as f32
}

#[derive(Debug)]
struct Window {
    regret: f32,
    slices: f32,
    milliseconds: f32,
    least_spread: f32,
    largest_spread: f32,
}

impl Window {
    fn of(outcomes: &[Outcome]) -> Self {
        let mean = |f: fn(&Outcome) -> f32| outcomes.iter().map(f).sum::<f32>() / outcomes.len() as f32;
        Window {
            regret: mean(|o| o.regret),
            slices: mean(|o| o.slices as f32),
            milliseconds: mean(|o| o.time.as_secs_f32() * 1e3),
            least_spread: outcomes.iter().fold(f32::INFINITY, |least, o| least.min(o.spread)),
            largest_spread: outcomes.iter().fold(0.0, |largest, o| largest.max(o.spread)),
        }
    }
}

/// Lives so many tasks; compares a window of as many tasks around an early one and at the end.
fn live(settings: Settings, tasks: usize, early: usize, width: usize) {
    let mut memory = MEMORY.lock().unwrap();
    let mut tuner = memory.start(RADIO, settings, 1).unwrap();
    let mut outcomes = Vec::new();
    for number in 0..tasks {
        if number > 0 {
            tuner.next_task().unwrap();
        }
        outcomes.push(task(&mut tuner));
        if tasks >= 500 && (number + 1) % 50 == 0 {
            println!("to task {}: {:?}", number + 1, Window::of(&outcomes[number - 49..]));
        }
    }
    let (first, last) =
        (Window::of(&outcomes[early - width / 2..][..width]), Window::of(&outcomes[tasks - width..]));
    let whole = Window::of(&outcomes);
    let filled = outcomes.iter().filter(|outcome| outcome.slots == SLOTS).count();
    let fewest = outcomes.iter().map(|outcome| outcome.slots).min().unwrap_or(0);
    let fallbacks: u32 = outcomes.iter().map(|outcome| outcome.fallbacks).sum();
    println!("around task {early}: {first:?}\nthe last {width}: {last:?}\nall {tasks}: {whole:?}");
    println!("{filled} of {tasks} tasks filled all {SLOTS} slots, none used fewer than {fewest}");
    println!("{fallbacks} pivots raised or particles left out");
    println!("time per task: {:.0} ms, then {:.0} ms", first.milliseconds, last.milliseconds);
    // Means of `width` tasks still differ by chance; a tenth of the hill is what nobody would call worse.
    assert!(last.regret <= first.regret + 0.1 * TOP, "worse at the end: {last:?} after {first:?}");
    assert!(whole.least_spread > 0.02 && whole.largest_spread < 5.0, "{whole:?}");
    assert!(
        (last.slices / first.slices - 1.0).abs() < 0.15,
        "more work at the end: {last:?} after {first:?}"
    );
    assert_eq!((filled, fewest), (tasks, SLOTS), "every task fills all slots");
}

#[test]
fn a_life_of_sixty_quick_tasks_does_not_wear_out() {
    // Fewer candidates, refinements and steps of learning than the profile has: a task takes a tenth of the time.
    let quick = Settings {
        candidates: 32,
        steps_per_round: 1,
        steps_per_task: 5,
        details: Details { refinements: 1, max_values: 4, ..COMPACT.details },
        ..COMPACT
    };
    live(Settings { particles: 5, ..quick }, 60, 20, 20);
}

#[test]
#[ignore = "a thousand tasks of the compact profile as it is: a quarter of an hour"]
fn a_life_of_a_thousand_tasks_does_not_wear_out() {
    live(COMPACT, 1000, 20, 20);
}

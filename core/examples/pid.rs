//! Autotune for control loops: `examples/pid.c` in Rust, with the same plants, the same trials and the same table.
//!
//! `cargo run --release -p foretune-core --example pid`; with `PID_TRIALS=1` it prints every trial.
//!
//! What a trial is, and how this was chosen, stands in `pid.c`; `cargo xtask test pid` compares what both print. Tuning needs
//! no allocator: logarithm and power are the only functions that a board would take from elsewhere (`libm`).

use foretune_core::{
    Ask, Dimension, Error, Fidelity, Floor, Goal, Guard, Level, Optimizer, Problem, Settings, Side, memory,
};

const SEEDS: std::ops::Range<u32> = 101..104;
const RUNS: f32 = 3.0;
/// Of a run, the first one with the gains in use.
const TRIALS: usize = 80;
const DELAYS: usize = 128;
/// Standard deviation of the sensor, of the step.
const NOISE: f64 = 0.002;

#[derive(Clone, Copy)]
struct Gains {
    kp: f64,
    ti: f64,
    td: f64,
}

/// `a₂ y'' + a₁ y' + a₀ y = u(t − dead) + load`, with `y = 1` the setpoint and `u` from low to high.
struct Plant {
    name: &'static str,
    a: [f64; 3],
    dead: f64,
    actuator: [f64; 2],
    load: f64,
    horizon: f64,
    step: f64,
    /// As somebody left it: slow and safe.
    in_use: Gains,
}

const fn plant(
    name: &'static str,
    [a2, a1, a0]: [f64; 3],
    [dead, low, high, load, horizon, step]: [f64; 6],
    [kp, ti, td]: [f64; 3],
) -> Plant {
    let (a, actuator, in_use) = ([a0, a1, a2], [low, high], Gains { kp, ti, td });
    Plant { name, a, dead, actuator, load, horizon, step, in_use }
}

const PLANTS: [Plant; 5] = [
    plant("two lags, dead time", [0.5, 1.5, 1.0], [0.3, 0.0, 4.0, -0.5, 30.0, 0.01], [0.8, 2.0, 0.1]),
    plant("DC motor, speed", [0.001, 0.11, 1.0], [0.005, -4.0, 4.0, -0.5, 2.0, 0.0005], [0.8, 0.1, 0.002]),
    plant("oven", [12000.0, 340.0, 1.0], [25.0, 0.0, 3.0, -0.3, 6000.0, 2.0], [1.5, 400.0, 10.0]),
    plant("level", [20.0, 10.0, 0.0], [1.0, -1.0, 1.0, -0.3, 240.0, 0.05], [1.0, 200.0, 0.5]),
    plant("lightly damped", [1.0, 0.3, 1.0], [0.2, -3.0, 3.0, -0.5, 80.0, 0.02], [0.05, 0.5, 0.1]),
];

/// A plant that runs, and its noisy sensor.
struct Loop<'a> {
    plant: &'a Plant,
    y: f64,
    slope: f64,
    late: [f64; DELAYS],
    next: usize,
    random: u32,
}

impl<'a> Loop<'a> {
    fn at_rest(plant: &'a Plant, y: f64, seed: u32) -> Self {
        let random = seed.wrapping_mul(2_654_435_761).wrapping_add(1);
        Loop { plant, y, slope: 0.0, late: [plant.a[0] * y; DELAYS], next: 0, random }
    }

    /// One step of time.
    fn advance(&mut self, u: f64, load: f64) {
        let Plant { a, dead, step, .. } = self.plant;
        let delay = (dead / step + 0.5) as usize;
        let force = self.late[(self.next + DELAYS - delay) % DELAYS] + load;
        self.late[self.next] = u;
        self.next = (self.next + 1) % DELAYS;
        self.slope += step * (force - a[1] * self.slope - a[0] * self.y) / a[2];
        self.y += step * self.slope;
    }

    /// The sum of twelve uniform numbers is nearly normal.
    fn sensor(&mut self) -> f64 {
        let mut sum = -6.0;
        for _ in 0..12 {
            self.random = self.random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            sum += f64::from(self.random >> 8) / 16_777_216.0;
        }
        self.y + NOISE * sum
    }
}

/// Mean absolute error, and overshoot before the load; both in per cent of the step.
struct Outcome {
    cost: f32,
    overshoot: f32,
}

/// A trial, with the derivative of the filtered measurement, and an integral that stands still while the actuator is at its end.
fn trial(plant: &Plant, gains: Gains, seed: u32) -> Outcome {
    let mut around = Loop::at_rest(plant, 0.0, seed);
    let (mut integral, mut filtered, mut error, mut peak) = (0.0, 0.0, 0.0, 0.0f64);
    let filter = plant.step / (gains.td / 8.0 + 4.0 * plant.step);
    let steps = (plant.horizon / plant.step) as u32;
    for i in 0..steps {
        let (before, measured) = (filtered, around.sensor());
        filtered += filter * (measured - filtered);
        let e = 1.0 - measured;
        let wanted = gains.kp * (e + integral / gains.ti - gains.td * (filtered - before) / plant.step);
        let u = wanted.max(plant.actuator[0]).min(plant.actuator[1]);
        if u == wanted || (wanted - u) * e < 0.0 {
            integral += plant.step * e;
        }
        around.advance(u, if 2 * i < steps { 0.0 } else { plant.load });
        error += (1.0 - around.y).abs().min(10.0);
        if 2 * i < steps {
            peak = peak.max(around.y - 1.0);
        }
    }
    Outcome { cost: (100.0 * error / f64::from(steps)) as f32, overshoot: (100.0 * peak.min(10.0)) as f32 }
}

/// What a relay around the setpoint finds: ultimate gain and period, and how far it went above.
struct Relay {
    gain: f64,
    period: f64,
    overshoot: f32,
}

/// A relay of a tenth of the actuator's range.
fn relay(plant: &Plant) -> Relay {
    let mut around = Loop::at_rest(plant, 1.0, 1);
    let (size, band) = (0.1 * (plant.actuator[1] - plant.actuator[0]), 3.0 * NOISE);
    let (mut worst, mut high, mut low) = (0.0f64, 0.0f64, 0.0f64);
    let (mut last, mut period, mut amplitude, mut t) = (0.0, 0.0, 0.0f64, 0.0);
    let (mut up, mut cycles) = (true, 0);
    while cycles < 12 && t < 100.0 * plant.horizon {
        let e = 1.0 - around.sensor();
        if !up && e > band {
            // A cycle ends; the first four are the transient.
            cycles += 1;
            if cycles > 4 {
                period += (t - last) / 8.0;
                amplitude += (high - low) / 16.0;
            }
            (last, high, low) = (t, around.y, around.y);
        }
        up = e > if up { -band } else { band };
        around.advance(plant.a[0] + if up { size } else { -size }, 0.0);
        (high, low, worst) = (high.max(around.y), low.min(around.y), worst.max(around.y - 1.0));
        t += plant.step;
    }
    let gain = 4.0 * size / (std::f64::consts::PI * (amplitude * amplitude - band * band).sqrt());
    Relay { gain, period, overshoot: (100.0 * worst) as f32 }
}

const GAIN: Dimension = Dimension::Interval { low: -1.0, high: 5.0 };
/// Parameters are powers of two of the gains in use; cost and overshoot span decades, so that their logarithms are told.
const PROBLEM: Problem = Problem {
    dimensions: &[GAIN, Dimension::Interval { low: -3.0, high: 3.0 }, GAIN],
    fidelities: &[Fidelity { cost: 1.0, samples: 1, noise: 1e-5 }],
    budget: TRIALS as f32,
    goal: Goal::Minimise,
    deployed: Some(&[0.0; 3]),
    floor: Some(Floor { level: Level::Drop(0.2), risk: 0.05 }), // at most a fifth worse than with the gains in use
    guards: &[Guard {
        side: Side::AtMost,
        floor: Floor { level: Level::Value(2.4), risk: 0.05 }, // logarithm of 1 + overshoot: 10 %
        noise: &[0.003],
    }],
    ..Problem::PLAIN
};
type Memory = memory!(problem: PROBLEM, settings: Settings::LIVE, observations: TRIALS);

fn gains_at(plant: &Plant, point: &[f32]) -> Gains {
    let [kp, ti, td] = [0, 1, 2].map(|i| f64::from(point[i]).exp2());
    Gains { kp: plant.in_use.kp * kp, ti: plant.in_use.ti * ti, td: plant.in_use.td * td }
}

/// Tunes while the loop is in service; the gains that are recommended, and the worst overshoot of all trials.
fn tune(plant: &Plant, seed: u32, tuner: &mut Optimizer) -> Result<(Gains, f32), Error> {
    let (shown, mut worst) = (std::env::var_os("PID_TRIALS").is_some(), 0.0f32);
    while let Ask::Query(query) = tuner.ask() {
        let (point, round) = (query.point(), query.round());
        let Outcome { cost, overshoot } = trial(plant, gains_at(plant, point), 1000 * seed + round);
        worst = worst.max(overshoot);
        if shown {
            let [kp, ti, td] = [point[0], point[1], point[2]];
            println!(
                "trial {round:2}  {kp:9.6} {ti:9.6} {td:9.6}  cost {cost:10.6}  overshoot {overshoot:10.6}"
            );
        }
        let log = |x: f64| x.ln() as f32;
        tuner.tell_all(query, log(cost.into()), &[log(1.0 + f64::from(overshoot))])?;
    }
    let found = tuner.recommendation().ok_or(Error::OutOfTurn)?;
    Ok((gains_at(plant, found.point()), worst))
}

/// A row of the table: means of the runs, and in brackets the worst.
fn compare(plant: &Plant, memory: &mut Memory) -> Result<(), Error> {
    let Relay { gain, period, overshoot: relayed } = relay(plant);
    let zn = trial(plant, Gains { kp: 0.6 * gain, ti: 0.5 * period, td: 0.125 * period }, 1);
    let tl = trial(plant, Gains { kp: gain / 2.2, ti: 2.2 * period, td: period / 6.3 }, 1);
    let (mut cost, mut costliest, mut over, mut worst) = (0.0, 0.0f32, 0.0, 0.0f32);
    for seed in SEEDS {
        let (gains, overshoot) = tune(plant, seed, &mut memory.start(PROBLEM, Settings::LIVE, seed.into())?)?;
        let last = trial(plant, gains, 1);
        let overshoot = overshoot.max(last.overshoot);
        cost += f64::from(last.cost / RUNS);
        over += f64::from(overshoot / RUNS);
        (costliest, worst) = (costliest.max(last.cost), worst.max(overshoot));
    }
    let (name, in_use) = (plant.name, trial(plant, plant.in_use, 1).cost);
    print!("{name:20}{in_use:6.2} {cost:6.2} ({costliest:5.2}) {over:4.0} ({worst:2.0})");
    for rule in [zn, tl] {
        print!(" {:9.2} {:4.0}", rule.cost, rule.overshoot.max(relayed));
    }
    println!();
    Ok(())
}

fn main() -> Result<(), Error> {
    let mut memory = Box::new(Memory::new());
    println!("                    in use     Foretune (worst run)   Ziegler-Nichols  Tyreus-Luyben");
    println!("                      cost           cost  overshoot   cost overshoot  cost overshoot");
    PLANTS.iter().try_for_each(|plant| compare(plant, &mut memory))
}

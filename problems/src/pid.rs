//! PID loops: a controller around one of five kinds of plant, whose parameters are drawn.
//!
//! The plant is `a₂ ÿ + a₁ ẏ + a₀ y = K (u(t − L) + w(t))`, the controller
//! `u = kp (b r − y + 1/ti · ∫ (r − y) dt − td ẏ)` with set-point weight `b`, the derivative filtered and `u` limited, in steps of
//! [`STEP`] s. A response is a step of the set-point to 1 and, at half of its length, one of the load `w` to −1/2. The value is
//! `10 / ∫ |r − y| dt`: a share of the best value is then the best cost's share of the cost. KPIs: `overshoot`, the output's
//! highest value before the load less 1 (below 0 where the step is not reached), and `effort`, the control's total variation.
//!
//! All of it is our choice. An experiment has one kind of plant: `pid` draws it, `pid:motor` names it. Its parameters lie up to a
//! quarter from those in the table, either way, and those of a task up to a tenth from these.

use std::sync::OnceLock;

use super::random::{Purpose, Random};
use super::{DimensionSpec, FidelitySpec, Kpi, Notation, ProblemSpec, Relay, Task};

const STEP: f64 = 0.02;
/// Limit of the control, either way.
const LIMIT: f64 = 20.0;
const SET_POINT_WEIGHT: f64 = 0.7;
/// Length in steps and responses averaged, of every fidelity.
const FIDELITIES: [(usize, u32); 3] = [(500, 1), (1000, 1), (1000, 4)];
const TRUTH: usize = FIDELITIES.len() - 1;
/// Variances of the noise of one response: of the value, of the overshoot and of the effort's logarithm.
const NOISE: [f64; 3] = [0.01, 2.5e-5, 4e-4];
/// Lowest and highest gain, integral and derivative time.
const DOMAIN: [(&str, &str, f64, f64); 3] =
    [("kp", "", 0.1, 20.0), ("ti", "s", 0.2, 20.0), ("td", "s", 0.01, 1.0)];
/// Points of the grid that a search begins with, along each parameter; how many of them are climbed from.
const GRID: [usize; 3] = [24, 18, 14];
const STARTS: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Plant {
    /// Two lags and a dead time.
    Lags,
    /// One lag and a dead time.
    Oven,
    /// Position of a DC motor: an integrator behind a lag.
    Motor,
    /// Level of a tank: an integrator and a dead time.
    Level,
    /// Lightly damped.
    Beam,
}

impl Plant {
    /// Name, `a₂`, `a₁`, `a₀`, `K` and `L`.
    const TABLE: [(Self, &str, [f64; 5]); 5] = [
        (Self::Lags, "lags", [0.3, 1.3, 1.0, 1.0, 0.2]),
        (Self::Oven, "oven", [0.0, 1.5, 1.0, 1.0, 0.4]),
        (Self::Motor, "motor", [0.25, 1.0, 0.0, 1.8, 0.06]),
        (Self::Level, "level", [0.0, 1.0, 0.0, 1.3, 0.2]),
        (Self::Beam, "beam", [0.2, 0.25, 1.0, 0.45, 0.1]),
    ];
}

/// A loop around a kind of plant, or around one that is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pid(pub(super) Option<Plant>);

impl Pid {
    pub fn named(plant: &str) -> Option<Self> {
        Plant::TABLE.iter().find(|(_, name, _)| *name == plant).map(|(plant, ..)| Self(Some(*plant)))
    }

    /// The name of its plant, if it has one.
    pub fn plant(self) -> Option<&'static str> {
        Some(Plant::TABLE[self.0? as usize].1)
    }

    pub(super) fn spec(self, name: String) -> ProblemSpec {
        let notation = Notation { log: true, ..Notation::default() };
        let dimension = |(name, unit, low, high): (&str, &str, f64, f64)| DimensionSpec::Interval {
            name: name.into(),
            unit: unit.into(),
            low,
            high,
            notation,
        };
        let fidelity = |(steps, samples): (usize, u32)| FidelitySpec {
            cost: steps as f64 / 500.0 * f64::from(samples),
            samples,
            noise_variance: NOISE[0] / f64::from(samples),
        };
        ProblemSpec {
            name,
            dimensions: DOMAIN.map(dimension).to_vec(),
            fidelities: FIDELITIES.map(fidelity).to_vec(),
            budget: 100.0,
            initial: 8,
            free_start: false,
            scale_mean: 1.45,
            scale_deviation: 2.2,
            tasks: 10,
            // Slow and sure around each of the plants.
            deployed: vec![2.0, 3.0, 0.1],
        }
    }

    pub(super) fn kpis(self) -> Vec<Kpi> {
        let noise = |variance: f64| FIDELITIES.map(|(_, samples)| variance / f64::from(samples)).to_vec();
        vec![
            Kpi { name: "overshoot", log: false, noise: noise(NOISE[1]) },
            Kpi { name: "effort", log: true, noise: noise(NOISE[2]) },
        ]
    }

    /// A task; one unlike the others has the next kind of plant.
    pub(super) fn task(self, seed: u64, task: usize, unlike: bool) -> Loop {
        let mut site = Random::new(seed, Purpose::Pid, 0);
        let drawn = site.below(Plant::TABLE.len());
        let kind = self.0.map_or(drawn, |plant| plant as usize) + usize::from(unlike);
        let mut own = Random::new(seed, Purpose::Pid, task + 1);
        let nominal = Plant::TABLE[kind % Plant::TABLE.len()].2;
        let plant = nominal.map(|a| a * (1.0 + site.uniform(-0.25, 0.25)) * (1.0 + own.uniform(-0.1, 0.1)));
        Loop { plant, best: OnceLock::new() }
    }
}

/// One task: a plant.
pub(super) struct Loop {
    /// `a₂`, `a₁`, `a₀`, `K` and `L`.
    plant: [f64; 5],
    best: OnceLock<Vec<f64>>,
}

impl Loop {
    /// The plant from rest: `control` sees output and speed, `each` sees step, output and control.
    fn run(
        &self,
        length: usize,
        load: f64,
        mut control: impl FnMut(f64, f64) -> f64,
        mut each: impl FnMut(usize, f64, f64),
    ) {
        let [inertia, friction, stiffness, gain, delay] = self.plant;
        let mut line = vec![0.0; ((delay / STEP) as usize).max(1)];
        let (mut y, mut speed) = (0.0, 0.0);
        for step in 0..length {
            let (u, at) = (control(y, speed), step % line.len());
            let load = if step >= length / 2 { load } else { 0.0 };
            let force = gain * (core::mem::replace(&mut line[at], u) + load) - stiffness * y;
            speed = match inertia {
                0.0 => force / friction,
                _ => speed + STEP / inertia * (force - friction * speed),
            };
            y += STEP * speed;
            each(step, y, u);
        }
    }

    /// The value and the KPIs of a response.
    fn respond(&self, fidelity: usize, x: &[f64]) -> [f64; 3] {
        let &[kp, ti, td] = x else { panic!("three numbers") };
        let length = FIDELITIES[fidelity].0;
        let (mut slope, mut sum) = (0.0, 0.0);
        let control = |y: f64, speed: f64| {
            slope += STEP / (td / 8.0 + STEP) * (speed - slope);
            let wanted = kp * (SET_POINT_WEIGHT - y - td * slope) + sum;
            let control = f64::clamp(wanted, -LIMIT, LIMIT);
            // What the limit takes away is not added up.
            sum += if wanted == control { kp / ti * (1.0 - y) * STEP } else { 0.0 };
            control
        };
        let (mut error, mut peak, mut effort, mut before) = (0.0, 0.0_f64, 0.0, 0.0);
        self.run(length, -0.5, control, |step, y, u| {
            effort += f64::abs(u - before);
            before = u;
            error += STEP * f64::abs(1.0 - y);
            peak = if step < length / 2 { peak.max(y) } else { peak };
        });
        [10.0 / error, peak - 1.0, effort]
    }

    /// The best point whose KPIs are as they should be: of a grid over the logarithms, climbed from in all directions.
    fn search(&self, keeps: &dyn Fn(&[f64]) -> bool) -> Option<(f64, Vec<f64>)> {
        let value = |place: [f64; 3]| {
            let [value, kpis @ ..] = self.respond(TRUTH, &natural(place));
            keeps(&kpis).then_some(value)
        };
        let mut tops: Vec<(f64, [f64; 3])> = Vec::new();
        for i in 0..GRID.iter().product() {
            let at = [i % GRID[0], i / GRID[0] % GRID[1], i / GRID[0] / GRID[1]];
            let place = core::array::from_fn(|j| at[j] as f64 / (GRID[j] - 1) as f64);
            let Some(value) = value(place) else { continue };
            let rank = tops.partition_point(|(other, _)| *other >= value);
            tops.insert(rank, (value, place));
            tops.truncate(STARTS);
        }
        let climbed = tops.into_iter().map(|(mut best, mut place)| {
            let mut length = 0.04;
            while length > 1e-4 {
                let before = best;
                for direction in 0..27 {
                    let way =
                        [direction % 3, direction / 3 % 3, direction / 9].map(|way| f64::from(way) - 1.0);
                    let moved = core::array::from_fn(|j| (place[j] + way[j] * length).clamp(0.0, 1.0));
                    if let Some(value) = value(moved).filter(|value| *value > best) {
                        (best, place) = (value, moved);
                    }
                }
                length = if best > before { length } else { length / 2.0 };
            }
            (best, natural(place).to_vec())
        });
        climbed.max_by(|a, b| a.0.total_cmp(&b.0))
    }
}

/// The parameters at a place in the unit cube.
fn natural(place: [f64; 3]) -> [f64; 3] {
    core::array::from_fn(|j| DOMAIN[j].2 * libm::pow(DOMAIN[j].3 / DOMAIN[j].2, place[j]))
}

impl Task for Loop {
    fn value(&self, fidelity: usize, x: &[f64]) -> f64 {
        self.respond(fidelity, x)[0]
    }

    fn kpis(&self, fidelity: usize, x: &[f64]) -> Vec<f64> {
        self.respond(fidelity, x)[1..].to_vec()
    }

    /// Around what is in use, as far either way as a step of the set-point asks for where `a₀/K` is 1. Overshoot is how far the
    /// output leaves its place.
    fn relay(&self) -> Option<Relay> {
        let length = FIDELITIES[TRUTH].0;
        let (mut error, mut peak, mut amplitude, mut turns, mut before) = (0.0, 0.0, 0.0, Vec::new(), 1.0);
        let relay = |y: f64, _: f64| if y <= 0.0 { 1.0 } else { -1.0 };
        self.run(length, 0.0, relay, |step, y, u| {
            error += STEP * f64::abs(y);
            peak = f64::max(peak, f64::abs(y));
            if step >= length / 2 {
                amplitude = f64::max(amplitude, f64::abs(y));
            }
            if u != before {
                turns.push(step);
            }
            before = u;
        });
        let (effort, late) =
            (1.0 + 2.0 * turns.len() as f64, turns.partition_point(|step| *step < length / 2));
        let [first, .., last] = turns[late..] else { return None };
        let period = 2.0 * STEP * (last - first) as f64 / (turns.len() - late - 1) as f64;
        let gain = 4.0 / (core::f64::consts::PI * amplitude);
        let cost = length as f64 / 500.0;
        Some(Relay { gain, period, cost, value: 10.0 / error, kpis: vec![peak, effort] })
    }

    /// Where nothing keeps them, what `start` gives.
    fn optimum_within(&self, start: &[f64], keeps: &dyn Fn(&[f64]) -> bool) -> f64 {
        self.search(keeps).map_or_else(|| self.value(TRUTH, start), |(value, _)| value)
    }

    fn optimum(&self) -> f64 {
        self.value(TRUTH, &self.optimum_at())
    }

    fn optimum_at(&self) -> Vec<f64> {
        let best = || self.search(&|_| true).map(|(_, x)| x).unwrap_or_default();
        self.best.get_or_init(best).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From a step and a load the integral of the error is `ti (1 − b) + ti (a₀/K + 1/2) / kp`, and about that of its size where there
    /// is hardly any overshoot.
    #[test]
    fn slow_loops_cost_what_their_balance_says() {
        for (name, x) in [("motor", [2.0, 4.0, 0.1]), ("level", [2.0, 3.0, 0.1]), ("oven", [2.0, 1.8, 0.05])]
        {
            let task = Pid::named(name).unwrap().task(3, 2, false);
            let [_, _, stiffness, gain, _] = task.plant;
            let cost = x[1] * (1.0 - SET_POINT_WEIGHT) + x[1] * (stiffness / gain + 0.5) / x[0];
            let [value, overshoot, _] = task.respond(TRUTH, &x);
            assert!(overshoot < 0.04 && (10.0 / value / cost - 1.0).abs() < 0.05, "{name}: {value} {cost}");
        }
    }

    /// By hand, for an integrator and a dead time: the output runs on for `L` at speed `K`, and back; the period is `4 L`.
    #[test]
    fn a_relay_finds_the_ultimate_gain_and_period() {
        let task = Pid(Some(Plant::Level)).task(4, 1, false);
        let [_, friction, _, gain, delay] = task.plant;
        let found = task.relay().unwrap();
        let amplitude = gain / friction * delay;
        assert!((found.period / (4.0 * delay) - 1.0).abs() < 0.15, "{found:?} {delay}");
        assert!((found.gain * amplitude * core::f64::consts::PI / 4.0 - 1.0).abs() < 0.15, "{found:?}");
        for (plant, name, _) in Plant::TABLE {
            assert!(Pid(Some(plant)).task(1, 1, false).relay().is_some(), "{name}");
        }
    }
}

//! Eight problems with one way to measure, as most people have: each a family of related tasks.
//!
//! | name | what | measurements | tasks differ in |
//! |---|---|---:|---|
//! | `pid` | four gains of a loop around two lags and a dead time; most of the space is unstable | 40 | the plant, by up to 20 % |
//! | `svm` | accuracy over `log C`, `log γ` and a third number: chance on a plateau, a ridge beside it | 30 | where the ridge lies |
//! | `ackley`, `levy` | the classics in four dimensions | 40 | shift, weights |
//! | `hartmann3` | three dimensions, four hills | 30 | widths of the hills |
//! | `hartmann6`, `branin` | those of the other families, at their truth | 60, 30 | as there |
//! | `grid` | five levels by four by an interval, the noise half as large as the values' spread | 40 | where the best lies |
//!
//! All of it is our choice. Noise: 2 % of the values' deviation over uniform points, but for `grid`. A budget is a number of
//! measurements, the first ones included.

use super::hartmann6::{self, Hartmann6};
use super::random::{Purpose, Random};
use super::{Classic, DimensionSpec, FidelitySpec, ProblemSpec, Task, classic};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum One {
    Pid,
    Svm,
    Ackley,
    Levy,
    Hartmann3,
    Hartmann6,
    Branin,
    Grid,
}

type Domain = &'static [(&'static str, f64, f64)];

/// What a problem is beside its function.
struct Facts {
    name: &'static str,
    /// Name, lowest and highest value of every parameter.
    domain: Domain,
    /// Levels of the first parameters.
    levels: &'static [usize],
    budget: f64,
    /// Mean and deviation over uniform points of many tasks.
    scale: (f64, f64),
    /// Of the noise, in these deviations.
    noise: f64,
    deployed: &'static [f64],
}

const UNIT: (&str, f64, f64) = ("x", 0.0, 1.0);
const WIDE: (&str, f64, f64) = ("x", -10.0, 10.0);
const GAINS: Domain = &[("kp", 0.0, 10.0), ("ki", 0.0, 10.0), ("kd", 0.0, 5.0), ("filter", 0.02, 1.0)];
const SVM: Domain = &[("log_c", -3.0, 3.0), ("log_gamma", -6.0, 1.0), ("weight", 0.2, 5.0)];
const CELLS: Domain = &[("a", 0.0, 4.0), ("b", 0.0, 3.0), ("c", 0.0, 1.0)];

impl One {
    pub const ALL: [Self; 8] = [
        Self::Pid,
        Self::Svm,
        Self::Ackley,
        Self::Levy,
        Self::Hartmann3,
        Self::Hartmann6,
        Self::Branin,
        Self::Grid,
    ];

    pub fn name(self) -> &'static str {
        self.facts().name
    }

    const fn facts(self) -> Facts {
        let (name, domain, budget, scale, deployed): (_, Domain, _, _, &[f64]) = match self {
            Self::Pid => ("pid", GAINS, 40.0, (-1120.0, 950.0), &[3.3, 4.55, 0.475, 0.793]),
            Self::Svm => ("svm", SVM, 30.0, (0.36, 0.305), &[1.8, -3.67, 3.75]),
            Self::Ackley => ("ackley", &[WIDE; 4], 40.0, (-15.1, 2.12), &[5.2, -3.6, 4.4, -2.4]),
            Self::Levy => ("levy", &[WIDE; 4], 40.0, (-46.6, 32.7), &[4.6, 5.6, 3.1, -5.8]),
            Self::Hartmann3 => ("hartmann3", &[UNIT; 3], 30.0, (0.95, 0.96), &[0.063, 0.852, 0.586]),
            Self::Hartmann6 => {
                ("hartmann6", &[UNIT; 6], 60.0, (0.256, 0.388), &[0.46, 0.66, 0.74, 0.6, 0.97, 0.33])
            }
            Self::Branin => {
                ("branin", &[("x", -5.0, 10.0), ("x", 0.0, 15.0)], 30.0, (-54.4, 53.8), &[7.9, 1.7])
            }
            Self::Grid => ("grid", CELLS, 40.0, (0.43, 0.23), &[2.0, 1.0, 0.407]),
        };
        let (levels, noise): (&[usize], _) = match self {
            Self::Pid => (&[], 2e-4),
            Self::Grid => (&[5, 4], 0.5),
            _ => (&[], 0.02),
        };
        Facts { name, domain, levels, budget, scale, noise, deployed }
    }

    pub(super) fn spec(self, name: String) -> ProblemSpec {
        let facts = self.facts();
        let several = |name: &str| facts.domain.iter().filter(|(other, ..)| *other == name).count() > 1;
        let dimension = |(j, &(name, low, high)): (usize, &(&str, f64, f64))| {
            let name = if several(name) { format!("{name}{}", j + 1) } else { name.to_string() };
            match facts.levels.get(j) {
                Some(&levels) => {
                    DimensionSpec::levels(name, "", (0..levels).map(|level| level as f64).collect())
                }
                None => DimensionSpec::interval(name, "", low, high),
            }
        };
        let noise = facts.noise * facts.scale.1;
        ProblemSpec {
            name,
            dimensions: facts.domain.iter().enumerate().map(dimension).collect(),
            fidelities: vec![FidelitySpec { cost: 1.0, samples: 1, noise_variance: noise * noise }],
            budget: facts.budget,
            initial: 2 * facts.domain.len() + 2,
            free_start: false,
            scale_mean: facts.scale.0,
            scale_deviation: facts.scale.1,
            tasks: 6,
            deployed: facts.deployed.to_vec(),
        }
    }

    pub(super) fn task(self, seed: u64, task: usize, reflected: bool) -> Function {
        let mut random = Random::new(seed, Purpose::One, task);
        let numbers = core::array::from_fn(|_| random.uniform(-1.0, 1.0));
        let kind = match self {
            Self::Hartmann6 => Kind::Hartmann6(Hartmann6::default().task(seed, task, false)),
            Self::Branin => Kind::Branin(Classic::Branin.task(seed, task, false)),
            other => Kind::Own(other),
        };
        let mut function = Function {
            kind,
            domain: self.facts().domain,
            levels: self.facts().levels,
            numbers,
            reflected,
            best: Vec::new(),
        };
        function.best = function.find_best();
        function
    }
}

enum Kind {
    Own(One),
    Hartmann6(hartmann6::Function),
    Branin(classic::Function),
}

pub(super) struct Function {
    kind: Kind,
    domain: Domain,
    levels: &'static [usize],
    /// What makes this task differ from others, within ±1.
    numbers: [f64; 12],
    reflected: bool,
    best: Vec<f64>,
}

impl Function {
    /// Between the coordinates of the task and those before reflection, in either direction.
    fn reflect(&self, x: &[f64]) -> Vec<f64> {
        let flip =
            |(x, (_, low, high)): (&f64, &(&str, f64, f64))| if self.reflected { low + high - x } else { *x };
        x.iter().zip(self.domain).map(flip).collect()
    }

    fn at(&self, x: &[f64]) -> f64 {
        let n = &self.numbers;
        match &self.kind {
            Kind::Hartmann6(function) => function.value(3, x),
            Kind::Branin(function) => function.value(2, x),
            Kind::Own(One::Pid) => -loop_cost(x, n),
            Kind::Own(One::Svm) => accuracy(x, n),
            Kind::Own(One::Ackley) => -ackley(x, n),
            Kind::Own(One::Levy) => {
                let moved: Vec<f64> = x.iter().zip(n).map(|(x, n)| x - 3.0 * n).collect();
                let weights = [4, 5, 6, 7].map(|j| 1.0 + 0.2 * n[j]);
                -classic::levy(1.0, 0.0, &moved, &weights)
            }
            Kind::Own(One::Hartmann3) => hartmann3(x, n),
            Kind::Own(_) => grid(x, n),
        }
    }

    /// The best of many points, climbed from: exact to 10⁻⁶ of the range for what has a few hills.
    fn find_best(&self) -> Vec<f64> {
        match &self.kind {
            Kind::Hartmann6(function) => return function.optimum_at(),
            Kind::Branin(function) => return function.optimum_at(),
            Kind::Own(One::Ackley) => return self.numbers[..4].iter().map(|n| 3.0 * n).collect(),
            Kind::Own(One::Levy) => return self.numbers[..4].iter().map(|n| 1.0 + 3.0 * n).collect(),
            Kind::Own(_) => {}
        }
        let mut random = Random::new(0, Purpose::One, usize::MAX);
        let mut point = || -> Vec<f64> {
            let value = |(j, (_, low, high)): (usize, &(&str, f64, f64))| {
                let value = random.uniform(*low, *high);
                if j < self.levels.len() { value.round() } else { value }
            };
            self.domain.iter().enumerate().map(value).collect()
        };
        let mut starts: Vec<(f64, Vec<f64>)> = (0..2000).map(|_| point()).map(|x| (self.at(&x), x)).collect();
        starts.sort_by(|a, b| b.0.total_cmp(&a.0));
        let tops = starts.into_iter().take(8).map(|(value, x)| self.climb(value, x));
        tops.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, x)| x).unwrap_or_default()
    }

    /// Halving steps along the coordinates, over all levels where there are some.
    fn climb(&self, mut best: f64, mut x: Vec<f64>) -> (f64, Vec<f64>) {
        let mut length = 0.1;
        while length > 1e-6 {
            let before = best;
            for (j, &(_, low, high)) in self.domain.iter().enumerate() {
                let moves: Vec<f64> = match self.levels.get(j) {
                    Some(&levels) => (0..levels).map(|level| level as f64).collect(),
                    None => {
                        [-length, length].map(|step| (x[j] + step * (high - low)).clamp(low, high)).to_vec()
                    }
                };
                for to in moves {
                    let mut moved = x.clone();
                    moved[j] = to;
                    let value = self.at(&moved);
                    if value > best {
                        (best, x) = (value, moved);
                    }
                }
            }
            length = if best > before { length } else { length / 2.0 };
        }
        (best, x)
    }
}

impl Task for Function {
    fn value(&self, fidelity: usize, x: &[f64]) -> f64 {
        assert!(
            fidelity == 0 && x.len() == self.domain.len(),
            "one fidelity, and as many coordinates as the function has"
        );
        self.at(&self.reflect(x))
    }

    fn optimum(&self) -> f64 {
        self.at(&self.best)
    }

    fn optimum_at(&self) -> Vec<f64> {
        self.reflect(&self.best)
    }
}

/// `100 ∫ |e| dt` and a little of the control's changes, after a step at 0 and a disturbance at half time; around two lags
/// and a dead time. What grows without bound is cut off, so that it costs some thousands.
fn loop_cost(gains: &[f64], n: &[f64]) -> f64 {
    const STEP: f64 = 0.02;
    const STEPS: usize = 600;
    let &[kp, ki, kd, filter] = gains else { return 0.0 };
    let [gain, slow, fast] = [1.0 + 0.2 * n[0], 1.0 + 0.2 * n[1], 0.3 * (1.0 + 0.2 * n[2])];
    let delay = ((0.2 * (1.0 + 0.2 * n[3])) / STEP) as usize;
    let mut line = vec![0.0; delay.max(1)];
    let (mut first, mut y, mut sum, mut last, mut slope, mut before, mut cost) =
        (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0);
    for step in 0..STEPS {
        let error: f64 = 1.0 - y;
        sum = f64::clamp(sum + ki * error * STEP, -20.0, 20.0);
        slope += STEP / filter.max(STEP) * ((last - y) / STEP - slope);
        last = y;
        let control = f64::clamp(kp * error + sum + kd * slope, -20.0, 20.0);
        let at = step % line.len();
        let delayed = core::mem::replace(&mut line[at], control);
        let disturbance = if step > STEPS / 2 { -0.5 } else { 0.0 };
        first += STEP / slow * (gain * (delayed + disturbance) - first);
        y += STEP / fast * (first - y);
        cost += 100.0 * STEP * error.abs() + 0.02 * f64::abs(control - before);
        before = control;
    }
    cost
}

/// Chance on a plateau; a ridge towards large `C` and middling `γ`.
fn accuracy(x: &[f64], n: &[f64]) -> f64 {
    let &[c, gamma, weight] = x else { return 0.0 };
    let rise = |z: f64| 1.0 / (1.0 + libm::exp(-z));
    let enough = rise(2.0 * (c + 0.8 * gamma + 2.5 + 0.4 * n[0]));
    let narrow = rise(-2.5 * (gamma + 1.0 + 0.4 * n[1]));
    let over = 0.01 * (c - 1.0 + 0.5 * n[2]) * (c - 1.0 + 0.5 * n[2]);
    let balance = libm::log(weight) - 0.3 * n[3];
    0.1 + 0.88 * enough * narrow - enough * (over + 0.02 * balance * balance)
}

fn ackley(x: &[f64], n: &[f64]) -> f64 {
    use core::f64::consts::{E, TAU};
    let moved = x.iter().zip(n).map(|(x, n)| x - 3.0 * n);
    let square = moved.clone().map(|x| x * x).sum::<f64>() / 4.0;
    let waves = moved.map(|x| libm::cos(TAU * x)).sum::<f64>() / 4.0;
    20.0 - 20.0 * libm::exp(-0.2 * square.sqrt()) + E - libm::exp(waves)
}

/// Source: Hartman, *Some experiments in global optimization* (1973). The widths are those printed times 0.8 to 1.2.
fn hartmann3(x: &[f64], n: &[f64]) -> f64 {
    const HILLS: [(f64, [f64; 3], [f64; 3]); 4] = [
        (1.0, [3.0, 10.0, 30.0], [0.3689, 0.1170, 0.2673]),
        (1.2, [0.1, 10.0, 35.0], [0.4699, 0.4387, 0.7470]),
        (3.0, [3.0, 10.0, 30.0], [0.1091, 0.8732, 0.5547]),
        (3.2, [0.1, 10.0, 35.0], [0.03815, 0.5743, 0.8828]),
    ];
    let hill = |(i, (height, widths, centre)): (usize, &(f64, [f64; 3], [f64; 3]))| {
        let term =
            |j: usize| widths[j] * (1.0 + 0.2 * n[3 * i + j]) * (x[j] - centre[j]) * (x[j] - centre[j]);
        height * libm::exp(-(0..3).map(term).sum::<f64>())
    };
    HILLS.iter().enumerate().map(hill).sum()
}

/// Two hills over the cells, and a best setting of the third parameter that depends on the first.
fn grid(x: &[f64], n: &[f64]) -> f64 {
    let &[a, b, c] = x else { return 0.0 };
    let hill = |da: f64, db: f64| libm::exp(-0.3 * (da * da + db * db));
    let cells = hill(a - 3.0 - 0.7 * n[0], b - 2.0 - 0.7 * n[1]) + 0.6 * hill(a - 0.5 * n[2], b - 0.5);
    let third = c - 0.3 - 0.1 * a - 0.1 * n[3];
    cells * (1.0 - 2.0 * third * third)
}

//! Opponents with a plain Gaussian process for the value and for every guarded KPI, at the target fidelity.
//!
//! The kernel is the optimizer's at the middle of its prior. *SafeOpt* (Sui, Gotovos, Burdick, Krause, 2015; several constraints:
//! Berkenkamp, Krause, Schoellig, 2021) has the optimizer's own scale. A point is allowed where the lower confidence bounds keep
//! floor and guards. Among the allowed points that may be the best (*maximisers*) and those whose measurement may allow another one
//! (*expanders*) the one with the widest interval is asked. *Constrained EI* (Gardner et al., 2014) is scaled by what was
//! observed, and asks where the expected improvement times the probability that all guards are kept is highest. Nothing is
//! carried on but the recommendation: the observed point with the highest mean among those that keep the guards, by SafeOpt's
//! bounds or with the probability that their risks ask for; or else the point in use.
//!
//! *Contextual GP-UCB* (Krause, Ong, 2011) with a floor has SafeOpt's scale and bounds, and conditions as inputs. Among the allowed
//! points it asks the one with the highest upper bound under the conditions at hand. The floor is relative to the mean of the point
//! in use under them. It goes on with the last [`WINDOW`] answers; no guards.

use core::f64::consts::{SQRT_2, TAU};

use foretune_core::{Dimension, Problem, Settings};

use crate::problems::random::{Purpose, Random};

/// Half of a confidence interval, in standard deviations.
const BETA: f64 = 2.0;
/// Candidates looked at for a query.
const CANDIDATES: usize = 300;
/// How far from points that were asked candidates lie, in the unit cube.
const DISTANCES: [f64; 4] = [0.3, 0.1, 0.03, 0.01];

/// Answers that contextual GP-UCB goes on with: the room that the others have.
const WINDOW: usize = 64;

#[derive(Clone, Copy, PartialEq)]
pub enum Rule {
    SafeOpt,
    ConstrainedEi,
    ContextualUcb,
}

pub struct Modelled {
    rule: Rule,
    start: Vec<f32>,
    /// The last coordinates of every point, in the unit cube.
    conditions: Vec<f32>,
    /// Where the task's own answers begin.
    first: usize,
    points: Vec<Vec<f32>>,
    /// The values, and the KPIs of each guard with the sign that makes more better.
    answers: Vec<Vec<f64>>,
    asked: Option<Vec<f32>>,
    random: Random,
}

impl Modelled {
    pub fn new(rule: Rule, start: Vec<f32>, seed: u64, task: usize) -> Self {
        let random = Random::new(seed, Purpose::Baseline, task);
        let (points, answers, conditions) = (Vec::new(), Vec::new(), Vec::new());
        Self { rule, start, conditions, first: 0, points, answers, asked: None, random }
    }

    /// From now on conditions are these.
    pub fn put_conditions(&mut self, conditions: &[f32]) {
        self.conditions = conditions.to_vec();
    }

    /// Begins a task from another point in use, with the answers of those before.
    pub fn go_on_from(&mut self, start: Vec<f32>) {
        let old = self.points.len().saturating_sub(WINDOW);
        self.points.drain(..old);
        self.answers.iter_mut().for_each(|answers| drop(answers.drain(..old)));
        (self.start, self.first, self.asked) = (start, self.points.len(), None);
    }

    /// A point under the conditions at hand.
    fn here(&self, x: &[f32]) -> Vec<f32> {
        let chosen = x.len() - self.conditions.len();
        x[..chosen].iter().chain(&self.conditions).copied().collect()
    }

    /// The next point to try: at first the one in use.
    pub fn next(&mut self, problem: &Problem<'_>) -> Vec<f32> {
        let point = match self.rule {
            _ if self.points.len() == self.first => None,
            Rule::SafeOpt => self.widest(problem),
            Rule::ConstrainedEi => self.most_improving(problem),
            Rule::ContextualUcb => self.most_promising(problem),
        };
        let point = point.unwrap_or_else(|| self.here(&self.start));
        self.asked = Some(point.clone());
        point
    }

    /// A measurement that failed teaches nothing.
    pub fn tell(&mut self, problem: &Problem<'_>, y: Option<f32>, kpis: &[f32]) {
        if let (Some(point), Some(y)) = (self.asked.take(), y) {
            let signed = problem.guards.iter().zip(kpis).map(|(guard, kpi)| guard.side.sign() * kpi);
            let answer = core::iter::once(y).chain(signed).map(f64::from);
            self.answers.resize(problem.guards.len() + 1, Vec::new());
            self.answers.iter_mut().zip(answer).for_each(|(all, answer)| all.push(answer));
            self.points.push(point);
        }
    }

    /// The recommendation and its mean.
    pub fn best(&self, problem: &Problem<'_>) -> Option<(Vec<f32>, f32)> {
        let processes = self.processes(problem)?;
        let points: Vec<Vec<f32>> = self.points.iter().map(|x| self.here(x)).collect();
        let beliefs: Vec<Vec<Belief>> = points.iter().map(|x| all(&processes, x)).collect();
        let keeps = |i: &usize| self.keeps(problem, &processes, &beliefs[*i]);
        let mean = |i: usize| beliefs[i][0].mean;
        let kept = (0..self.points.len()).filter(keeps).max_by(|&a, &b| mean(a).total_cmp(&mean(b)));
        let (x, mean) = match kept {
            Some(i) => (points[i].clone(), mean(i)),
            None => (self.here(&self.start), processes[0].posterior(&self.here(&self.start)).mean),
        };
        Some((x, processes[0].natural(mean) as f32))
    }

    /// Whether a point keeps the guards surely enough to be recommended.
    fn keeps(&self, problem: &Problem<'_>, processes: &[Process<'_>], beliefs: &[Belief]) -> bool {
        if self.rule == Rule::ContextualUcb {
            return beliefs[0].low() >= processes[0].bound;
        }
        let guards = problem.guards.iter().zip(&processes[1..]).zip(&beliefs[1..]);
        guards.into_iter().all(|((guard, process), belief)| match self.rule {
            Rule::SafeOpt | Rule::ContextualUcb => belief.low() >= process.bound,
            Rule::ConstrainedEi => process.probability(belief) >= 1.0 - f64::from(guard.floor.risk),
        })
    }

    fn widest(&mut self, problem: &Problem<'_>) -> Option<Vec<f32>> {
        let candidates = self.candidates(problem.dimensions);
        let processes = self.processes(problem)?;
        let beliefs: Vec<Vec<Belief>> = candidates.iter().map(|x| all(&processes, x)).collect();
        let holds = |low: &dyn Fn(usize) -> f64| (0..processes.len()).all(|k| low(k) >= processes[k].bound);
        let (allowed, others): (Vec<usize>, Vec<usize>) =
            (0..candidates.len()).partition(|&i| holds(&|k| beliefs[i][k].low()));
        let best = allowed.iter().map(|&i| beliefs[i][0].low()).fold(f64::NEG_INFINITY, f64::max);
        let width = |i: usize| beliefs[i].iter().map(|belief| belief.deviation).fold(0.0, f64::max);
        let mut order = allowed;
        order.sort_by(|&a, &b| width(b).total_cmp(&width(a)));
        let useful = |&i: &usize| {
            let expands = |&j: &usize| holds(&|k| processes[k].low_after(&beliefs[i][k], &beliefs[j][k]));
            beliefs[i][0].high() >= best || others.iter().any(expands)
        };
        order.into_iter().find(useful).map(|i| candidates[i].clone())
    }

    /// Of the allowed points the one that may be worth most.
    fn most_promising(&mut self, problem: &Problem<'_>) -> Option<Vec<f32>> {
        let candidates = self.candidates(problem.dimensions);
        let process = &self.processes(problem)?[0];
        let beliefs = candidates.into_iter().map(|x| process.posterior(&x));
        let allowed = beliefs.filter(|belief| belief.low() >= process.bound);
        allowed.max_by(|a, b| a.high().total_cmp(&b.high())).map(|belief| belief.point)
    }

    /// Where the most is to be gained; where nothing is known to keep the guards, where that is likeliest.
    fn most_improving(&mut self, problem: &Problem<'_>) -> Option<Vec<f32>> {
        let candidates = self.candidates(problem.dimensions);
        let processes = self.processes(problem)?;
        let known = self.points.iter().map(|x| all(&processes, x));
        let known = known.filter(|beliefs| self.keeps(problem, &processes, beliefs));
        let incumbent = known.map(|beliefs| beliefs[0].mean).reduce(f64::max);
        let score = |x: &Vec<f32>| {
            let beliefs = all(&processes, x);
            let kept: f64 = processes[1..].iter().zip(&beliefs[1..]).map(|(p, b)| p.probability(b)).product();
            kept * incumbent.map_or(1.0, |best| beliefs[0].improvement(best))
        };
        let scored = candidates.into_iter().map(|x| (score(&x), x));
        scored.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, x)| x)
    }

    /// The points that were asked, and others around them; every second one of constrained EI's anywhere.
    fn candidates(&mut self, dimensions: &[Dimension<'_>]) -> Vec<Vec<f32>> {
        let mut candidates: Vec<Vec<f32>> = self.points.iter().map(|x| self.here(x)).collect();
        let mut pick = 0;
        while candidates.len() < CANDIDATES {
            let (centre, distance) = (
                &self.points[pick % self.points.len()],
                DISTANCES[pick / self.points.len() % DISTANCES.len()],
            );
            let anywhere = self.rule == Rule::ConstrainedEi && candidates.len().is_multiple_of(2);
            let moved = |(x, dimension): (&f32, &Dimension<'_>)| {
                let by = self.random.uniform(-distance, distance) as f32;
                let to =
                    if anywhere { self.random.uniform(0.0, 1.0) as f32 } else { (x + by).clamp(0.0, 1.0) };
                dimension.snap(to)
            };
            let point: Vec<f32> = centre.iter().zip(dimensions).map(moved).collect();
            candidates.push(self.here(&point));
            pick += 1;
        }
        candidates
    }

    /// The value's process, then that of every guard; none without an answer.
    fn processes(&self, problem: &Problem<'_>) -> Option<Vec<Process<'_>>> {
        let truth = problem.truth();
        let floor = |v: f64| problem.floor.map(|floor| f64::from(floor.level.at(v as f32, 1.0)));
        let first = *self.answers.first()?.get(self.first)?;
        let value = (&self.answers[0], floor(first), problem.fidelities[truth].noise);
        let guards = problem.guards.iter().zip(&self.answers[1..]).map(|(guard, answers)| {
            let sign = guard.side.sign();
            let bound = sign * guard.floor.level.at(sign * answers[0] as f32, sign);
            (answers, Some(f64::from(bound)), guard.noise[truth])
        });
        let process = |(answers, bound, noise): (&Vec<f64>, _, f32)| {
            Process::new(self.rule, (&self.points, self.first), answers, bound, noise.into())
        };
        let mut all: Vec<Process<'_>> = core::iter::once(value).chain(guards).map(process).collect();
        if self.rule == Rule::ContextualUcb {
            let in_use = all[0].natural(all[0].posterior(&self.here(&self.start)).mean);
            all[0].bound = floor(in_use).map_or(f64::NEG_INFINITY, |bound| all[0].standardised(bound));
        }
        Some(all)
    }
}

/// What all processes believe of a point.
fn all(processes: &[Process<'_>], x: &[f32]) -> Vec<Belief> {
    processes.iter().map(|process| process.posterior(x)).collect()
}

/// What is believed of a point, standardised.
struct Belief {
    mean: f64,
    deviation: f64,
    /// `L⁻¹ k`, for covariances with other points.
    whitened: Vec<f64>,
    point: Vec<f32>,
}

impl Belief {
    fn low(&self) -> f64 {
        self.mean - BETA * self.deviation
    }

    fn high(&self) -> f64 {
        self.mean + BETA * self.deviation
    }

    /// Expected improvement over `best`: `σ (u Φ(u) + φ(u))`.
    fn improvement(&self, best: f64) -> f64 {
        let u = (self.mean - best) / self.deviation.max(1e-9);
        self.deviation * (u * cdf(u) + libm::exp(-u * u / 2.0) / TAU.sqrt())
    }
}

fn cdf(u: f64) -> f64 {
    libm::erfc(-u / SQRT_2) / 2.0
}

struct Process<'a> {
    points: &'a [Vec<f32>],
    /// Rows of the Cholesky factor of `K + σ² I`.
    factor: Vec<Vec<f64>>,
    /// `L⁻¹ z`.
    whitened: Vec<f64>,
    /// What is to be kept, standardised.
    bound: f64,
    noise: f64,
    mean: f64,
    unit: f64,
}

impl<'a> Process<'a> {
    /// Of answers, of which one is the task's first, with a bound below that if there is one and a variance of their noise.
    fn new(
        rule: Rule,
        (points, first): (&'a [Vec<f32>], usize),
        answers: &[f64],
        bound: Option<f64>,
        variance: f64,
    ) -> Self {
        let v = answers[first];
        // The optimizer's own scale: 2.5 times what the bound leaves, and little expected of what is not known.
        let left = bound.map_or(0.1 * v.abs(), |bound| (v - bound).abs());
        let least = (4.0 * variance.sqrt()).max(1e-9);
        let mut unit = (2.5 * left).max(least);
        let mut mean = v - 2.0 * unit;
        if rule == Rule::ConstrainedEi && answers.len() > 1 {
            let count = answers.len() as f64;
            mean = answers.iter().sum::<f64>() / count;
            let squares: f64 = answers.iter().map(|y| (y - mean) * (y - mean)).sum();
            unit = (squares / count).sqrt().max(least);
        }
        let mut process = Self {
            points,
            factor: Vec::new(),
            whitened: Vec::new(),
            bound: f64::NEG_INFINITY,
            noise: (variance / unit / unit).max(1e-6),
            mean,
            unit,
        };
        process.bound = bound.map_or(process.bound, |bound| process.standardised(bound));
        for (x, y) in points.iter().zip(answers) {
            process.push(x, process.standardised(*y));
        }
        process
    }

    /// That the bound is kept.
    fn probability(&self, belief: &Belief) -> f64 {
        cdf((belief.mean - self.bound) / belief.deviation.max(1e-9))
    }

    fn push(&mut self, x: &[f32], z: f64) {
        let mut row = self.solve(x);
        let pivot = (kernel(x, x) + self.noise - dot(&row, &row)).max(1e-9).sqrt();
        self.whitened.push((z - dot(&row, &self.whitened)) / pivot);
        row.push(pivot);
        self.factor.push(row);
    }

    /// `L⁻¹ k(x)`.
    fn solve(&self, x: &[f32]) -> Vec<f64> {
        let mut solution: Vec<f64> = Vec::new();
        for (row, other) in self.factor.iter().zip(self.points) {
            let (known, pivot) = (dot(row, &solution), row[solution.len()]);
            solution.push((kernel(x, other) - known) / pivot);
        }
        solution
    }

    fn posterior(&self, x: &[f32]) -> Belief {
        let whitened = self.solve(x);
        let variance = (kernel(x, x) - dot(&whitened, &whitened)).max(0.0);
        let mean = dot(&whitened, &self.whitened);
        Belief { mean, deviation: variance.sqrt(), whitened, point: x.to_vec() }
    }

    /// The lower bound of `other` if `asked` gave its upper bound, without noise.
    fn low_after(&self, asked: &Belief, other: &Belief) -> f64 {
        let covariance = kernel(&asked.point, &other.point) - dot(&asked.whitened, &other.whitened);
        let gain = covariance / (asked.deviation * asked.deviation).max(1e-9);
        let mean = other.mean + gain * BETA * asked.deviation;
        let variance = (other.deviation * other.deviation - gain * covariance).max(0.0);
        mean - BETA * variance.sqrt()
    }

    fn natural(&self, z: f64) -> f64 {
        self.mean + self.unit * z
    }

    fn standardised(&self, y: f64) -> f64 {
        (y - self.mean) / self.unit
    }
}

/// The optimizer's kernel at the middle of its prior: `s exp(−‖x − x'‖² / ℓ²)`.
fn kernel(a: &[f32], b: &[f32]) -> f64 {
    let prior = Settings::DEFAULT.details.prior;
    let (length, signal) = (libm::exp(f64::from(prior.length.mean)), libm::exp(f64::from(prior.signal.mean)));
    let square: f64 = a.iter().zip(b).map(|(a, b)| f64::from(a - b) * f64::from(a - b)).sum();
    signal * libm::exp(-square / length / length)
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use foretune_core::{Fidelity, Floor, Guard, Level, Side};

    const PROBLEM: Problem<'static> = Problem {
        dimensions: &[Dimension::Interval { low: 0.0, high: 1.0 }; 2],
        fidelities: &[Fidelity { cost: 1.0, samples: 1, noise: 1e-4 }],
        budget: 30.0,
        deployed: Some(&[0.2, 0.2]),
        floor: Some(Floor { level: Level::Drop(1.0), risk: 0.05 }),
        ..Problem::PLAIN
    };
    const GUARD: Guard<'static> =
        Guard { side: Side::AtMost, floor: Floor { level: Level::Value(0.45), risk: 0.05 }, noise: &[1e-4] };

    fn hill(x: &[f32]) -> f32 {
        10.0 - 20.0 * ((x[0] - 0.6) * (x[0] - 0.6) + (x[1] - 0.4) * (x[1] - 0.4))
    }

    /// The best point is (0.6, 0.4), worth 10, and (0.45, 0.4), worth 9.55, where the first parameter is guarded; the start is worth 6.
    #[test]
    fn it_climbs_a_hill_and_keeps_floor_and_guards() {
        let guarded = Problem { guards: &[GUARD], ..PROBLEM };
        for (rule, problem, worst, enough) in [
            (Rule::SafeOpt, PROBLEM, 2, 9.0),
            (Rule::SafeOpt, guarded, 2, 8.5),
            (Rule::SafeOpt, Problem { floor: None, ..guarded }, 2, 7.0),
            (Rule::ConstrainedEi, guarded, 30, 8.5),
        ] {
            let mut task = Modelled::new(rule, vec![0.2, 0.2], 1, 1);
            let mut broken = 0;
            for _ in 0..30 {
                let x = task.next(&problem);
                let below = problem.floor.is_some() && hill(&x) < hill(&[0.2, 0.2]) - 1.0;
                let above = !problem.guards.is_empty() && x[0] > 0.45;
                broken += u32::from(below || above);
                let kpis = [x[0]];
                task.tell(&problem, Some(hill(&x)), &kpis[..problem.guards.len()]);
            }
            let (best, mean) = task.best(&problem).unwrap();
            assert!(hill(&best) > enough && (mean - hill(&best)).abs() < 0.2, "{best:?} {mean}");
            assert!(problem.guards.is_empty() || best[0] < 0.46, "{best:?}");
            assert!(broken <= worst, "{broken} trials break something");
        }
    }

    /// The best point moves with the condition, from (0.4, 0.4) to (0.6, 0.4), and all gives less at night; so the floor is less, too.
    #[test]
    fn contextual_ucb_follows_the_condition_and_keeps_its_floor() {
        let interval = Dimension::Interval { low: 0.0, high: 1.0 };
        let dimensions = [interval, interval, Dimension::Condition { low: 0.0, high: 1.0 }];
        let problem = Problem { dimensions: &dimensions, deployed: Some(&[0.3, 0.3, 0.0]), ..PROBLEM };
        let value = |x: &[f32]| hill(&[x[0] + 0.2 * (1.0 - x[2]), x[1]]) - 3.0 * (1.0 - x[2]);
        let mut method = Modelled::new(Rule::ContextualUcb, vec![0.3, 0.3, 0.0], 1, 1);
        let (mut below, mut start) = (0, vec![0.3, 0.3, 0.0]);
        for hour in 0..12 {
            let load = if hour % 2 == 0 { 0.0 } else { 1.0 };
            method.put_conditions(&[load]);
            for trial in 0..10 {
                let x = method.next(&problem);
                assert!(x[2] == load && (trial > 0 || x[..2] == start[..2]), "{x:?}");
                below += u32::from(value(&x) < value(&method.here(&start)) - 1.0);
                method.tell(&problem, Some(value(&x)), &[]);
            }
            start = method.best(&problem).unwrap().0;
            method.go_on_from(start.clone());
            assert!(method.points.len() <= WINDOW && method.answers[0].len() == method.points.len());
        }
        assert!(below <= 4, "{below} of 120 trials below the floor");
        for (load, enough) in [(0.0, 6.5), (1.0, 9.5)] {
            method.put_conditions(&[load]);
            let x = method.next(&problem);
            method.tell(&problem, Some(value(&x)), &[]);
            let (best, _) = method.best(&problem).unwrap();
            assert!(best[2] == load && value(&best) > enough, "{best:?} {}", value(&best));
            method.go_on_from(best);
        }
    }

    #[test]
    fn the_posterior_interpolates_and_widens() {
        let mut task = Modelled::new(Rule::SafeOpt, vec![0.2, 0.2], 1, 1);
        task.next(&PROBLEM);
        task.tell(&PROBLEM, None, &[]);
        assert!(task.best(&PROBLEM).is_none(), "a failure teaches nothing");
        for y in [5.0, 5.1] {
            task.asked = Some(vec![0.2, 0.2]);
            task.tell(&PROBLEM, Some(y), &[]);
        }
        let process = &task.processes(&PROBLEM).unwrap()[0];
        let [near, far] = [[0.2, 0.2], [0.9, 0.9]].map(|x| process.posterior(&x));
        assert!((process.natural(near.mean) - 5.05).abs() < 0.02 && near.deviation < 0.01);
        assert!(far.deviation > 1.9 && far.low() < process.bound);
        // By hand: of a standard normal number above 0, 1/√2π is expected.
        let belief = Belief { mean: 0.0, deviation: 1.0, whitened: Vec::new(), point: Vec::new() };
        assert!((belief.improvement(0.0) - 0.398_942).abs() < 1e-6 && (cdf(1.0) - 0.841_345).abs() < 1e-6);
    }
}

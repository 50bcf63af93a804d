//! Fitting a fleet's prior by maximum marginal likelihood over all sites' tasks.
//!
//! Adam over batches of tasks, a task at most [`MOST`] of its answers at a time; several starts, and the one that predicts sites
//! which were held back best.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use foretune_core::Fleet;
use foretune_core::fleet::Header;
use host_sim::error::Error;
use host_sim::problems::random::{Purpose, Random};

use super::likelihood::{Answers, Shape, negative, terms};
use super::sites::{Gathered, TaskData};
use super::typical::nearest as nearest_centre;

/// Answers of a task that are looked at together.
const MOST: usize = 70;
/// Tasks in a batch.
const BATCH: usize = 20;
/// Rate of the steps at the start.
const RATE: f64 = 0.02;
/// Pull of the weights towards 0.
const DECAY: f64 = 1e-3;
/// Where a site without a fleet expects `ln ℓ`, `ln s`, `ln γ`.
const ALONE: [f64; 3] = [-1.2, 1.5, -4.0];
/// Of every so many sites one is held back, to choose among starts.
const HELD_BACK: usize = 8;

/// How to fit.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Centres.
    pub centres: usize,
    /// Modes.
    pub modes: usize,
    /// Whether every fidelity has weights of its own.
    pub per_fidelity: bool,
    /// Passes over all tasks.
    pub passes: u32,
    /// Starts, of which the best counts.
    pub starts: u32,
    /// Seed.
    pub seed: u64,
    /// Threads.
    pub jobs: usize,
}

/// A fitted prior.
#[derive(Clone, Debug)]
pub struct Fitted {
    /// Its sizes.
    pub shape: Shape,
    /// Its parameters.
    pub parameters: Vec<f64>,
    /// Mean and deviation of all values.
    pub scale: (f64, f64),
    /// Standardised noise variances.
    pub noise: Vec<f64>,
    /// Mean of `Σₖ mₖ(x)²` over what was measured.
    pub spread: f64,
    /// Log likelihood per answer of the sites held back; of all, if there are too few to hold any back.
    pub held_back: f64,
}

impl Fitted {
    /// What a fleet's file has in it, for sites whose answers have this noise.
    pub fn of(fleet: &Fleet<'_>, noise: impl Iterator<Item = f64>, sign: f64) -> Self {
        let &Header { dimensions, centres, modes, sets, mean, deviation, spread, .. } = fleet.header();
        let shape = Shape { dimensions, centres, modes, sets };
        let mut parameters: Vec<f64> = fleet.numbers().map(f64::from).take(shape.parameters()).collect();
        parameters.rotate_left(dimensions + 2);
        let scale = (sign * f64::from(mean), f64::from(deviation));
        let noise = noise.map(|noise| noise / scale.1 / scale.1).collect();
        Self { shape, parameters, scale, noise, spread: spread.into(), held_back: 0.0 }
    }

    /// Log likelihood per answer of a task, with the prior and as a site without one would expect.
    pub fn predicts(&self, task: &TaskData) -> Option<[f64; 2]> {
        let answers = self.standardised(task);
        let mut plain = self.parameters.clone();
        let (weights, theta) = (self.shape.weights_at(), self.shape.theta_at());
        plain[weights..theta].fill(0.0);
        let [lengths, signal, gamma] = ALONE;
        plain[theta..theta + self.shape.dimensions].fill(lengths);
        plain[theta + self.shape.dimensions..].copy_from_slice(&[signal, gamma]);
        let of = |p: &[f64]| {
            negative(&self.shape, p, &self.noise, &answers, None).map(|value| -value / answers.z.len() as f64)
        };
        Some([of(&self.parameters)?, of(&plain)?])
    }

    fn standardised(&self, task: &TaskData) -> Answers {
        let z = task.y.iter().map(|y| (y - self.scale.0) / self.scale.1).collect();
        Answers { x: task.x.clone(), fidelity: task.fidelity.clone(), z }
    }

    /// Mean and modes at a point, standardised.
    pub fn terms(&self, x: &[f64], fidelity: usize) -> Vec<f64> {
        terms(&self.shape, &self.parameters, x, fidelity, &mut Vec::new())
    }
}

/// Fits.
///
/// # Errors
/// [`Error::Interrupted`]; [`Error::Usage`] where there is too little to learn from.
pub fn fit(
    gathered: &Gathered,
    plan: &Plan,
    stop: &AtomicBool,
    say: &mut dyn FnMut(u32, u32, f64),
) -> Result<Fitted, Error> {
    if gathered.sites.len() < 3 {
        return Err(Error::usage("a fleet needs at least three sites"));
    }
    let scale = scale(gathered);
    let noise: Vec<f64> = gathered.noise().map(|noise| noise / scale.1 / scale.1).collect();
    let (mut train, mut held) = (Vec::new(), Vec::new());
    for (i, site) in gathered.sites.iter().enumerate() {
        let back = gathered.sites.len() >= HELD_BACK && i % HELD_BACK == HELD_BACK - 1;
        let tasks = site.tasks.iter().filter(|task| task.y.len() > 1).map(|task| Answers {
            x: task.x.clone(),
            fidelity: task.fidelity.clone(),
            z: task.y.iter().map(|y| (y - scale.0) / scale.1).collect(),
        });
        if back { held.extend(tasks) } else { train.extend(tasks) }
    }
    let sets = if plan.per_fidelity { noise.len() } else { 1 };
    let shape =
        Shape { dimensions: gathered.spec.dimensions.len(), centres: plan.centres, modes: plan.modes, sets };
    let mut best: Option<Fitted> = None;
    for start in 0..plan.starts.max(1) {
        let mut random = Random::new(plan.seed, Purpose::Fleet, start as usize);
        let mut parameters = first(&shape, &train, &mut random);
        let mut adam = Adam::new(shape.parameters());
        for pass in 0..plan.passes {
            if stop.load(Ordering::Relaxed) {
                return Err(Error::Interrupted);
            }
            let turn = std::f64::consts::PI * f64::from(pass) / f64::from(plan.passes);
            let rate = RATE * (0.5 * (1.0 + turn.cos()) + 0.02);
            let value =
                pass_over(&shape, &mut parameters, &noise, &train, &mut adam, rate, plan.jobs, &mut random);
            say(start, pass, value);
        }
        let judged = if held.is_empty() { &train } else { &held };
        let judged: Vec<Answers> =
            judged.iter().map(|task| some(task, shape.dimensions, &mut random)).collect();
        let (value, count, _) = sum(&shape, &parameters, &noise, &judged, plan.jobs, false);
        let held_back = -value / count.max(1) as f64;
        if best.as_ref().is_none_or(|best| held_back > best.held_back) {
            let spread = spread(&shape, &parameters, &train);
            best = Some(Fitted { shape, parameters, scale, noise: noise.clone(), spread, held_back });
        }
    }
    best.ok_or_else(|| Error::usage("no start of the fit came to anything"))
}

/// Mean and deviation of everything that was measured.
fn scale(gathered: &Gathered) -> (f64, f64) {
    let all = || gathered.sites.iter().flat_map(|site| &site.tasks).flat_map(|task| &task.y);
    let count = all().count().max(1) as f64;
    let mean = all().sum::<f64>() / count;
    let variance = all().map(|y| (y - mean) * (y - mean)).sum::<f64>() / count;
    (mean, variance.sqrt().max(1e-12))
}

fn spread(shape: &Shape, p: &[f64], tasks: &[Answers]) -> f64 {
    let (d, mut sum, mut count) = (shape.dimensions, 0.0, 0);
    for task in tasks {
        for (x, m) in task.x.chunks_exact(d).zip(&task.fidelity) {
            sum += terms(shape, p, x, *m, &mut Vec::new())[1..].iter().map(|mode| mode * mode).sum::<f64>();
            count += 1;
        }
    }
    sum / f64::from(count.max(1))
}

/// Where a fit begins: bumps where something was measured, a small weight on each mode.
fn first(shape: &Shape, tasks: &[Answers], random: &mut Random) -> Vec<f64> {
    let d = shape.dimensions;
    let points: Vec<&[f64]> = tasks.iter().flat_map(|task| task.x.chunks_exact(d)).collect();
    let count = points.len() as f64;
    let mut p = vec![0.0; shape.parameters()];
    for k in 0..d {
        let mean = points.iter().map(|x| x[k]).sum::<f64>() / count;
        let deviation = (points.iter().map(|x| (x[k] - mean).powi(2)).sum::<f64>() / count).sqrt();
        let width = 2.0 * deviation.max(0.05) * (shape.centres as f64).powf(-1.0 / (d as f64 + 1.0));
        p[k * d + k] = 0.7 / width.max(0.08);
    }
    let moved = |x: &[f64]| -> Vec<f64> { (0..d).map(|k| p[k * d + k] * x[k]).collect() };
    let moved: Vec<Vec<f64>> = points.iter().map(|x| moved(x)).collect();
    let centres = spread_out(&moved, shape.centres, random);
    p[shape.centres_at()..shape.weights_at()].copy_from_slice(&centres.concat());
    for weights in p[shape.weights_at()..shape.theta_at()].chunks_exact_mut(shape.modes + 1) {
        weights[1..].iter_mut().for_each(|weight| *weight = 0.1 * random.normal());
    }
    let theta = shape.theta_at();
    p[theta..theta + d].fill(0.3f64.ln());
    (p[theta + d], p[theta + d + 1]) = (0.3f64.ln(), -4.0);
    p
}

/// Centres by k-means, begun far apart.
pub(super) fn spread_out(points: &[Vec<f64>], count: usize, random: &mut Random) -> Vec<Vec<f64>> {
    let apart = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
    let mut centres = vec![points[random.below(points.len())].clone()];
    let mut nearest: Vec<f64> = points.iter().map(|x| apart(x, &centres[0])).collect();
    while centres.len() < count {
        let mut left = random.uniform(0.0, nearest.iter().sum());
        let chosen = nearest.iter().position(|d| {
            left -= d;
            left <= 0.0
        });
        let centre = points[chosen.unwrap_or(points.len() - 1)].clone();
        nearest.iter_mut().zip(points).for_each(|(d, x)| *d = d.min(apart(x, &centre)));
        centres.push(centre);
    }
    for _ in 0..10 {
        let mut sums = vec![(vec![0.0; points[0].len()], 0.0); count];
        for x in points {
            let (sum, n) = &mut sums[nearest_centre(&centres, x)];
            sum.iter_mut().zip(x).for_each(|(sum, x)| *sum += x);
            *n += 1.0;
        }
        for (centre, (sum, n)) in centres.iter_mut().zip(sums).filter(|(_, (_, n))| *n > 0.0) {
            *centre = sum.iter().map(|sum| sum / n).collect();
        }
    }
    centres
}

#[allow(clippy::too_many_arguments, reason = "one pass is called from one place")]
fn pass_over(
    shape: &Shape,
    p: &mut [f64],
    noise: &[f64],
    tasks: &[Answers],
    adam: &mut Adam,
    rate: f64,
    jobs: usize,
    random: &mut Random,
) -> f64 {
    let mut order: Vec<usize> = (0..tasks.len()).collect();
    for i in (1..order.len()).rev() {
        order.swap(i, random.below(i + 1));
    }
    let (mut total, mut all) = (0.0, 0);
    for batch in order.chunks(BATCH) {
        let batch: Vec<Answers> = batch.iter().map(|i| some(&tasks[*i], shape.dimensions, random)).collect();
        let (value, count, mut gradient) = sum(shape, p, noise, &batch, jobs, true);
        if count == 0 {
            continue;
        }
        gradient.iter_mut().for_each(|slope| *slope /= count as f64);
        regularise(shape, p, &mut gradient);
        adam.step(p, &gradient, rate);
        (total, all) = (total + value, all + count);
    }
    -total / all.max(1) as f64
}

/// Pulls weights to 0, lengths and the fidelities' decay to where a site without a fleet expects them.
fn regularise(shape: &Shape, p: &[f64], gradient: &mut [f64]) {
    let (width, d, theta) = (shape.modes + 1, shape.dimensions, shape.theta_at());
    let set = (shape.centres + 1) * width;
    for (i, at) in (shape.weights_at()..theta).enumerate() {
        let of_constant_mean = i % set == shape.centres * width;
        if !of_constant_mean {
            gradient[at] += DECAY * p[at];
        }
    }
    for at in theta..theta + d {
        gradient[at] += 0.002 * (p[at] + 1.2) / 0.64;
    }
    gradient[theta + d + 1] += 0.002 * (p[theta + d + 1] + 4.0) / 2.25;
}

/// At most so many answers of a task as are looked at together.
fn some(task: &Answers, d: usize, random: &mut Random) -> Answers {
    let n = task.z.len();
    if n <= MOST {
        return task.clone();
    }
    let mut order: Vec<usize> = (0..n).collect();
    for i in 0..MOST {
        order.swap(i, i + random.below(n - i));
    }
    let mut chosen = Answers::default();
    for &i in &order[..MOST] {
        chosen.x.extend_from_slice(&task.x[i * d..][..d]);
        chosen.fidelity.push(task.fidelity[i]);
        chosen.z.push(task.z[i]);
    }
    chosen
}

/// Sum of `−log p` over tasks, how many answers that is, and the gradient. The order of sums does not depend on `jobs`.
fn sum(
    shape: &Shape,
    p: &[f64],
    noise: &[f64],
    tasks: &[Answers],
    jobs: usize,
    with_gradient: bool,
) -> (f64, usize, Vec<f64>) {
    let one = |task: &Answers| {
        let mut gradient = vec![0.0; if with_gradient { shape.parameters() } else { 0 }];
        let value = negative(shape, p, noise, task, with_gradient.then_some(&mut gradient[..]));
        (value.filter(|value| value.is_finite()), task.z.len(), gradient)
    };
    let share = tasks.len().div_ceil(jobs.max(1)).max(1);
    let parts: Vec<_> = thread::scope(|scope| {
        let handles: Vec<_> = tasks
            .chunks(share)
            .map(|tasks| scope.spawn(move || tasks.iter().map(one).collect::<Vec<_>>()))
            .collect();
        handles.into_iter().flat_map(|handle| handle.join().unwrap_or_default()).collect()
    });
    let (mut total, mut count, mut gradient) = (0.0, 0, vec![0.0; shape.parameters()]);
    for (value, n, slopes) in parts {
        if let Some(value) = value {
            (total, count) = (total + value, count + n);
            gradient.iter_mut().zip(slopes).for_each(|(sum, slope)| *sum += slope);
        }
    }
    (total, count, gradient)
}

struct Adam {
    first: Vec<f64>,
    second: Vec<f64>,
    steps: i32,
}

impl Adam {
    fn new(len: usize) -> Self {
        Self { first: vec![0.0; len], second: vec![0.0; len], steps: 0 }
    }

    fn step(&mut self, p: &mut [f64], gradient: &[f64], rate: f64) {
        self.steps += 1;
        let (a, b) = (1.0 - 0.9f64.powi(self.steps), 1.0 - 0.99f64.powi(self.steps));
        let moments = self.first.iter_mut().zip(&mut self.second);
        for ((p, slope), (m, v)) in p.iter_mut().zip(gradient).zip(moments) {
            *m = 0.9 * *m + 0.1 * slope;
            *v = 0.99 * *v + 0.01 * slope * slope;
            *p -= rate * (*m / a) / ((*v / b).sqrt() + 1e-8);
        }
    }
}

impl Fitted {
    /// The bytes that a device reads. Typical points are in the unit cube; the margin is that of a site's first task.
    pub fn bytes(&self, gathered: &Gathered, typical: &[Vec<f64>], margin: f32) -> Vec<u8> {
        let Shape { dimensions, centres, modes, sets } = self.shape;
        let truth = gathered.spec.fidelities.len() - 1;
        let header = Header {
            dimensions,
            fidelities: truth + 1,
            centres,
            modes,
            sets,
            points: typical.len(),
            problem: gathered.sums,
            learnt_from: gathered.counts().map(|count| count as u32),
            mean: (gathered.sign * self.scale.0) as f32,
            deviation: self.scale.1 as f32,
            spread: self.spread as f32,
            margin,
        };
        let p = &self.parameters;
        let value = |x: &Vec<f64>| gathered.sign * (self.scale.0 + self.scale.1 * self.terms(x, truth)[0]);
        let points = typical.iter().flat_map(|x| x.iter().copied().chain([value(x)]));
        let numbers = p[self.shape.theta_at()..].iter().chain(&p[..self.shape.theta_at()]).copied();
        let mut bytes = Vec::new();
        header.write(numbers.chain(points).map(|n| n as f32), |piece| bytes.extend_from_slice(piece));
        bytes
    }
}

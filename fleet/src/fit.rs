//! Fitting a fleet's prior by maximum marginal likelihood over all sites' tasks.
//!
//! Adam over batches of tasks, a task at most [`MOST`] of its answers at a time. Some sites are held back: first sizes are chosen by
//! how well these are predicted, then one of several starts; then that one learns from all sites, those held back too.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use foretune_core::Fleet;
use foretune_core::fleet::Header;
use host_sim::error::Error;
use host_sim::problems::random::{Purpose, Random};
use host_sim::results::write_atomically;

use crate::likelihood::{Answers, Shape, expected, negative, terms};
use crate::typical::Typical;
use crate::{Gathered, Site, TaskData};

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
/// Of every so many sites one is held back, to choose among sizes and starts.
const HELD_BACK: usize = 8;
/// Centres and modes to choose from.
const CENTRES: [usize; 2] = [16, 32];
const MODES: [usize; 3] = [2, 4, 6];

/// Bytes of parameters that are chosen at most; twice as many if fidelities have their own.
const LARGEST: usize = 1900;

/// How to fit.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Centres, if they are not to be chosen.
    pub centres: Option<usize>,
    /// Modes, the same.
    pub modes: Option<usize>,
    /// Whether every fidelity has weights of its own.
    pub per_fidelity: bool,
    /// Passes over all tasks.
    pub passes: u32,
    /// Starts with the chosen sizes, of which the best counts.
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
    /// Mean of `Σₖ mₖ(x)²` over what was measured.
    pub spread: f64,
    /// Log likelihood per answer of the sites held back; of all, if there are too few to hold any back.
    pub held_back: f64,
}

impl Fitted {
    /// What a fleet's file has in it.
    pub fn of(fleet: &Fleet<'_>, sign: f64) -> Self {
        let &Header { dimensions, centres, modes, sets, mean, deviation, spread, .. } = fleet.header();
        let shape = Shape { dimensions, centres, modes, sets };
        let mut parameters: Vec<f64> = fleet.numbers().map(f64::from).take(shape.parameters()).collect();
        parameters.rotate_left(dimensions + 2);
        let scale = (sign * f64::from(mean), f64::from(deviation));
        Self { shape, parameters, scale, spread: spread.into(), held_back: 0.0 }
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
        let of =
            |p: &[f64]| negative(&self.shape, p, &answers, None).map(|value| -value / answers.z.len() as f64);
        Some([of(&self.parameters)?, of(&plain)?])
    }

    fn standardised(&self, task: &TaskData) -> Answers {
        standardised(task, self.scale)
    }

    /// What a task's answers, some of them, say of points at the target fidelity, in units of the answers.
    pub fn expected(&self, task: &TaskData, points: &[Vec<f64>], random: &mut Random) -> Option<Vec<f64>> {
        let answers = some(&self.standardised(task), self.shape.dimensions, random);
        let truth = answers.noise.len() - 1;
        let found = expected(&self.shape, &self.parameters, &answers, points, truth)?;
        Some(found.into_iter().map(|z| self.scale.0 + self.scale.1 * z).collect())
    }
}

/// Fits. What every start came to is kept in a file until all is done, so that an interrupted fit goes on where it was.
///
/// # Errors
/// [`Error::Interrupted`]; [`Error::Usage`] where there is too little to learn from.
pub fn fit(
    gathered: &Gathered,
    plan: &Plan,
    kept: &Path,
    stop: &AtomicBool,
    say: &mut dyn FnMut(u32, f64),
) -> Result<Fitted, Error> {
    if gathered.sites.iter().filter(|site| site.teaches()).count() < 3 {
        return Err(Error::usage("a fleet needs at least three sites with some answers"));
    }
    let work = Work::new(gathered, *plan, kept, stop);
    let choose = |tried: Vec<Result<Fitted, Error>>| -> Result<Fitted, Error> {
        let tried = tried.into_iter().collect::<Result<Vec<_>, _>>()?;
        let best = tried.into_iter().max_by(|a, b| a.held_back.total_cmp(&b.held_back));
        best.ok_or_else(|| Error::usage("no start of the fit came to anything"))
    };
    let first = choose(plan.sizes(gathered).into_iter().map(|shape| work.start(shape, 0, say)).collect())?;
    let again = (1..plan.starts).map(|start| work.start(first.shape, start, say));
    let best = choose(std::iter::once(Ok(first.clone())).chain(again).collect())?;
    let done = if work.held.is_empty() { best } else { work.all(best, say)? };
    let _ = std::fs::remove_file(kept);
    Ok(done)
}

impl Plan {
    fn sizes(&self, gathered: &Gathered) -> Vec<Shape> {
        let sets = if self.per_fidelity { gathered.spec.fidelities.len() } else { 1 };
        let dimensions = gathered.spec.dimensions.len();
        let centres = self.centres.map_or(CENTRES.to_vec(), |centres| vec![centres]);
        let modes = self.modes.map_or(MODES.to_vec(), |modes| vec![modes]);
        let with = |centres| modes.iter().map(move |&modes| Shape { dimensions, centres, modes, sets });
        let all: Vec<Shape> = centres.into_iter().flat_map(with).collect();
        let fits = |shape: &&Shape| 4 * shape.parameters() <= LARGEST * sets.min(2);
        let some: Vec<Shape> = all.iter().filter(fits).copied().collect();
        if some.is_empty() { all } else { some }
    }

    /// Passes over all tasks, in all.
    pub fn all_passes(&self, gathered: &Gathered) -> u32 {
        (self.sizes(gathered).len() as u32 + self.starts - 1) * self.passes + self.passes / 2
    }
}

/// What there is to learn from, and how.
struct Work<'a> {
    plan: Plan,
    kept: &'a Path,
    stop: &'a AtomicBool,
    scale: (f64, f64),
    train: Vec<Answers>,
    held: Vec<Answers>,
    /// Of all of these.
    fingerprint: u64,
}

impl<'a> Work<'a> {
    fn new(gathered: &Gathered, plan: Plan, kept: &'a Path, stop: &'a AtomicBool) -> Self {
        let scale = scale(gathered);
        let (mut train, mut held) = (Vec::new(), Vec::new());
        let mut hasher = DefaultHasher::new();
        (plan.passes, plan.seed, plan.per_fidelity).hash(&mut hasher);
        let sites: Vec<&Site> = gathered.sites.iter().filter(|site| site.teaches()).collect();
        for (i, site) in sites.iter().enumerate() {
            let back = sites.len() >= HELD_BACK && i % HELD_BACK == HELD_BACK - 1;
            let tasks = site.tasks.iter().filter(|task| task.y.len() > 1).map(|task| {
                let words = task.x.iter().chain(&task.y).chain(&task.noise).map(|number| number.to_bits());
                words.for_each(|word| word.hash(&mut hasher));
                standardised(task, scale)
            });
            if back { held.extend(tasks) } else { train.extend(tasks) }
        }
        Self { plan, kept, stop, scale, train, held, fingerprint: hasher.finish() }
    }

    /// One start with the sites that are not held back, or what it came to before.
    fn start(&self, shape: Shape, start: u32, say: &mut dyn FnMut(u32, f64)) -> Result<Fitted, Error> {
        let name = format!("{:016x}/{}/{}/{start}", self.fingerprint, shape.centres, shape.modes);
        let mut random = Random::new(self.plan.seed, Purpose::Fleet, start as usize);
        let mut known = known(self.kept);
        if let Some(parameters) = known.get(&name).filter(|known| known.len() == shape.parameters()) {
            say(self.plan.passes, f64::NAN);
            return Ok(self.fitted(shape, parameters.clone()));
        }
        let mut parameters = first(&shape, &self.train, &mut random);
        self.passes(&shape, &mut parameters, &self.train, self.plan.passes, RATE, &mut random, say)?;
        known.insert(name, parameters.clone());
        let lines = known.iter().map(|(name, numbers)| {
            let numbers: Vec<String> = numbers.iter().map(|n| format!("{:x}", n.to_bits())).collect();
            format!("{name} {}\n", numbers.join(" "))
        });
        write_atomically(self.kept, lines.collect::<String>().as_bytes())?;
        Ok(self.fitted(shape, parameters))
    }

    /// Some more passes, over all sites.
    fn all(&self, mut best: Fitted, say: &mut dyn FnMut(u32, f64)) -> Result<Fitted, Error> {
        let tasks: Vec<Answers> = self.train.iter().chain(&self.held).cloned().collect();
        let mut random = Random::new(self.plan.seed, Purpose::Fleet, usize::MAX);
        let passes = self.plan.passes / 2;
        self.passes(&best.shape, &mut best.parameters, &tasks, passes, RATE / 4.0, &mut random, say)?;
        best.spread = spread(&best.shape, &best.parameters, &tasks);
        Ok(best)
    }

    fn fitted(&self, shape: Shape, parameters: Vec<f64>) -> Fitted {
        let mut random = Random::new(self.plan.seed, Purpose::Fleet, usize::MAX);
        let judged = if self.held.is_empty() { &self.train } else { &self.held };
        let judged: Vec<Answers> =
            judged.iter().map(|task| some(task, shape.dimensions, &mut random)).collect();
        let (value, count, _) = sum(&shape, &parameters, &judged, self.plan.jobs, false);
        let held_back = -value / count.max(1) as f64;
        let spread = spread(&shape, &parameters, &self.train);
        Fitted { shape, parameters, scale: self.scale, spread, held_back }
    }

    #[allow(clippy::too_many_arguments, reason = "called twice")]
    fn passes(
        &self,
        shape: &Shape,
        parameters: &mut [f64],
        tasks: &[Answers],
        passes: u32,
        rate: f64,
        random: &mut Random,
        say: &mut dyn FnMut(u32, f64),
    ) -> Result<(), Error> {
        let mut adam = Adam::new(shape.parameters());
        for pass in 0..passes {
            if self.stop.load(Ordering::Relaxed) {
                return Err(Error::Interrupted);
            }
            let turn = std::f64::consts::PI * f64::from(pass) / f64::from(passes);
            let rate = rate * (0.5 * (1.0 + turn.cos()) + 0.02);
            let value = pass_over(shape, parameters, tasks, &mut adam, rate, self.plan.jobs, random);
            say(1, value);
        }
        Ok(())
    }
}

/// What is kept of earlier starts, by their names.
fn known(kept: &Path) -> BTreeMap<String, Vec<f64>> {
    let text = std::fs::read_to_string(kept).unwrap_or_default();
    let line = |line: &str| {
        let mut words = line.split(' ');
        let name = words.next()?.to_string();
        let numbers = words.map(|word| u64::from_str_radix(word, 16).map(f64::from_bits));
        Some((name, numbers.collect::<Result<Vec<f64>, _>>().ok()?))
    };
    text.lines().filter_map(line).collect()
}

fn standardised(task: &TaskData, scale: (f64, f64)) -> Answers {
    let z = task.y.iter().map(|y| (y - scale.0) / scale.1).collect();
    let noise = task.noise.iter().map(|noise| noise / scale.1 / scale.1).collect();
    Answers { x: task.x.clone(), fidelity: task.fidelity.clone(), z, noise }
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
fn spread_out(points: &[Vec<f64>], count: usize, random: &mut Random) -> Vec<Vec<f64>> {
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
            let (sum, n) = &mut sums[nearest_of(&centres, x)];
            sum.iter_mut().zip(x).for_each(|(sum, x)| *sum += x);
            *n += 1.0;
        }
        for (centre, (sum, n)) in centres.iter_mut().zip(sums).filter(|(_, (_, n))| *n > 0.0) {
            *centre = sum.iter().map(|sum| sum / n).collect();
        }
    }
    centres
}

/// The centre that a point lies nearest to.
fn nearest_of(centres: &[Vec<f64>], x: &[f64]) -> usize {
    let apart = |c: &[f64]| c.iter().zip(x).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
    (0..centres.len()).min_by(|a, b| apart(&centres[*a]).total_cmp(&apart(&centres[*b]))).unwrap_or(0)
}

fn pass_over(
    shape: &Shape,
    p: &mut [f64],
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
        let (value, count, mut gradient) = sum(shape, p, &batch, jobs, true);
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
    let mut chosen = Answers { noise: task.noise.clone(), ..Answers::default() };
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
    tasks: &[Answers],
    jobs: usize,
    with_gradient: bool,
) -> (f64, usize, Vec<f64>) {
    let one = |task: &Answers| {
        let mut gradient = vec![0.0; if with_gradient { shape.parameters() } else { 0 }];
        let value = negative(shape, p, task, with_gradient.then_some(&mut gradient[..]));
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
    /// The bytes that a device reads; the margin is that of a site's first task.
    pub fn bytes(&self, gathered: &Gathered, typical: &[Typical], margin: f32) -> Vec<u8> {
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
        let points =
            typical.iter().flat_map(|point| point.x.iter().copied().chain([gathered.sign * point.value]));
        let numbers = p[self.shape.theta_at()..].iter().chain(&p[..self.shape.theta_at()]).copied();
        let mut bytes = Vec::new();
        header.write(numbers.chain(points).map(|n| n as f32), |piece| bytes.extend_from_slice(piece));
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foretune_core::Goal;
    use host_sim::problems::Problem;

    fn gathered() -> Gathered {
        let problem: Problem = "branin".parse().unwrap();
        let mut found = Gathered::new(problem.spec(), Goal::Maximise);
        for site in 0..9 {
            let mut random = Random::new(1, Purpose::Fleet, site);
            let x: Vec<f64> = (0..12).map(|_| random.uniform(0.0, 1.0)).collect();
            let y = x.chunks(2).map(|x| -(x[0] - 0.4).powi(2) - (x[1] - 0.6).powi(2) * site as f64).collect();
            let task = TaskData { x, y, fidelity: vec![1; 6], noise: vec![0.01; 2], recommended: None };
            found.sites.push(Site { name: site.to_string(), tasks: vec![task] });
        }
        found
    }

    #[test]
    fn an_interrupted_fit_goes_on_from_the_starts_that_were_finished() {
        let (gathered, folder) = (gathered(), tempfile::tempdir().unwrap());
        let kept = folder.path().join("a.part");
        let plan = Plan {
            centres: Some(3),
            modes: Some(1),
            per_fidelity: false,
            passes: 4,
            starts: 3,
            seed: 1,
            jobs: 1,
        };
        let run = |after: u32| {
            let (stop, mut done, mut calls) = (AtomicBool::new(false), 0, 0);
            let found = fit(&gathered, &plan, &kept, &stop, &mut |passes, _| {
                (done, calls) = (done + passes, calls + 1);
                stop.store(calls == after, Ordering::Relaxed);
            });
            (found.map(|found| found.parameters), done, calls)
        };
        let (whole, passes, calls) = run(0);
        assert_eq!((passes, calls), (plan.all_passes(&gathered), passes));
        assert!(!kept.exists());
        let (interrupted, _, _) = run(9);
        assert!(matches!(interrupted, Err(Error::Interrupted)) && kept.exists());
        let (resumed, passes, calls) = run(0);
        assert_eq!((passes, calls), (plan.all_passes(&gathered), passes - 2 * (plan.passes - 1)));
        assert_eq!(resumed.unwrap(), whole.unwrap());
        assert!(!kept.exists());
    }
}

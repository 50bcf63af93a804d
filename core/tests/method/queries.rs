//! Every query is the one that is worth most; and the batch design takes the points that tell most about the parameters, one
//! after the other.

use foretune_core::{Details, Method, Problem, Settings};

use crate::oracle::{
    Belief, Model, Observation, Point, Posterior, Purpose, cholesky, dot, information, maxima, mean, solve,
    transfer, uniform,
};
use crate::tuner::{Asked, FIDELITIES, PROBLEM, SEED, SETTINGS, Task, models, space, tune};

const TRUTH: usize = 1;

/// A hill; the cheap fidelity is higher, and highest elsewhere.
pub fn hill(task: u32, x: Point, fidelity: usize) -> f64 {
    let top = [0.3 + 0.1 * f64::from(task), 0.7];
    let shift = if fidelity == TRUTH { 0.0 } else { 0.2 };
    let gap = (x[0] - top[0] - shift).powi(2) + (x[1] - top[1]).powi(2);
    // A wobble in place of noise.
    let wobble = 0.1 * (40.0 * x[0] + 17.0 * x[1] + fidelity as f64).sin();
    1.5 * (-gap / 0.08).exp() + 1.5 * shift + wobble
}

/// What the particles believe when a query is decided, at all points and fidelities.
struct Table {
    /// `[point][fidelity][particle]`.
    beliefs: Vec<[Vec<Belief>; 2]>,
}

impl Table {
    fn new(asked: &Asked, known: &[Observation], settings: &Settings) -> Table {
        let models = models(&asked.particles, settings);
        let particles: Vec<_> = models.iter().map(|model| Posterior::new(model, known)).collect();
        let at = |x, m| particles.iter().map(|particle| particle.at(x, m, TRUTH)).collect();
        Table { beliefs: space().into_iter().map(|x| [at(x, 0), at(x, TRUTH)]).collect() }
    }

    /// Mean over the particles of the information about the optimum.
    fn about_optimum(&self, settings: &Settings, when: (u32, u32)) -> Vec<[f64; 2]> {
        let particles = self.beliefs[0][0].len();
        let samples: Vec<Vec<f64>> = (0..particles)
            .map(|v| {
                let truths: Vec<_> = self.beliefs.iter().map(|at| at[TRUTH][v]).collect();
                maxima(
                    &truths,
                    &uniform(settings.details.max_values, SEED, when, Purpose::MaxValues, v as u32),
                )
            })
            .collect();
        let worth = |at: &[Vec<Belief>; 2], m: usize| {
            let noise = f64::from(FIDELITIES[m].noise);
            mean((0..particles).map(|v| information(&at[m][v], &at[TRUTH][v], noise, &samples[v])))
        };
        self.beliefs.iter().map(|at| [worth(at, 0), worth(at, TRUTH)]).collect()
    }

    fn about_parameters(&self) -> Vec<[f64; 2]> {
        let worth = |at: &[Vec<Belief>; 2], m: usize| transfer(&at[m], f64::from(FIDELITIES[m].noise));
        self.beliefs.iter().map(|at| [worth(at, 0), worth(at, TRUTH)]).collect()
    }

    /// Points and fidelities that may be asked: paid for, and not again unless the noise makes it worth it.
    fn allowed(&self, asked: &Asked) -> impl Fn(usize, usize) -> bool {
        move |i, m| {
            let (at, noise) = (&self.beliefs[i][m], f64::from(FIDELITIES[m].noise));
            let middle = mean(at.iter().map(|b| b.mean));
            let mixture = mean(at.iter().map(|b| b.variance + (b.mean - middle).powi(2)));
            let new = asked.known.iter().all(|o| o.fidelity != m || !same(o.point, space()[i]));
            f64::from(FIDELITIES[m].cost) <= asked.left + 1e-6 && (new || mixture >= 0.5 * noise)
        }
    }
}

pub fn same(a: Point, b: Point) -> bool {
    (a[0] - b[0]).abs() + (a[1] - b[1]).abs() < 1e-6
}

/// How much less than the best a query was worth, as a share of the best. Rounding costs some 10⁻³, and more where
/// nothing is worth anything any more.
fn loss(
    asked: &Asked,
    fidelities: &[usize],
    worth: impl Fn(usize, usize) -> f64,
    allowed: impl Fn(usize, usize) -> bool,
) -> f64 {
    let points = space();
    let all = (0..points.len()).flat_map(|i| fidelities.iter().map(move |m| (i, *m)));
    let best =
        all.filter(|&(i, m)| allowed(i, m)).map(|(i, m)| worth(i, m)).fold(f64::NEG_INFINITY, f64::max);
    let own = points.iter().position(|x| same(*x, asked.point)).expect("a point of the space");
    (best - worth(own, asked.fidelity)) / best.max(LITTLE)
}

const ROUNDING: f64 = 0.01;
/// Information per cost, in nats.
const LITTLE: f64 = 0.01;

/// Loss of a query by Eq. (37), with this β; the information about the parameters limited or not, as the settings say.
fn combined_loss(task: &Task, asked: &Asked, settings: &Settings, beta: f64) -> f64 {
    let table = Table::new(asked, &asked.known, settings);
    let optimum = table.about_optimum(settings, (task.number, asked.round));
    let parameters = table.about_parameters();
    let most = |optimum: f64| if settings.details.limited { optimum } else { f64::INFINITY };
    let worth = |i: usize, m: usize| {
        let transfer = (beta * parameters[i][m]).min(most(optimum[i][m]));
        (optimum[i][m] + transfer) / f64::from(FIDELITIES[m].cost)
    };
    loss(asked, &[0, TRUTH], worth, table.allowed(asked))
}

#[test]
fn a_query_of_mft_mes_tells_most_about_optimum_and_parameters_per_cost() {
    for (beta, limited) in [(0.2, false), (1.2, false), (1.2, true)] {
        let settings = Settings { beta, details: Details { limited, ..SETTINGS.details }, ..SETTINGS };
        let tasks = tune(PROBLEM, settings, SEED, 2, hill);
        let decided = || tasks.iter().flat_map(|task| task.decided().map(move |asked| (task, asked)));
        let (mut queries, mut cheap, mut differ) = (0, 0, 0);
        for (task, asked) in decided() {
            let loss = combined_loss(task, asked, &settings, f64::from(beta));
            assert!(loss < ROUNDING, "β {beta}, task {}, round {}: {loss}", task.number, asked.round);
            queries += 1;
            cheap += usize::from(asked.fidelity == 0);
            differ += usize::from(combined_loss(task, asked, &settings, 0.0) > ROUNDING);
        }
        assert!(queries >= 20 && (cheap > 0 || limited) && cheap < queries, "{cheap} of {queries} are cheap");
        assert!(differ > 2, "β {beta} decided {differ} queries only");
        let other = Settings { details: Details { limited: !limited, ..settings.details }, ..settings };
        let alike =
            decided().all(|(task, asked)| combined_loss(task, asked, &other, f64::from(beta)) < ROUNDING);
        assert!(!alike, "β {beta}: the limit makes no difference");
    }
}

#[test]
fn a_query_of_continual_mf_mes_tells_most_about_the_optimum_per_cost() {
    let settings = SETTINGS.with_method(Method::Continual);
    for task in &tune(PROBLEM, settings, SEED, 2, hill) {
        for asked in task.decided() {
            let loss = combined_loss(task, asked, &settings, 0.0);
            assert!(loss < ROUNDING, "task {}, round {}: {loss}", task.number, asked.round);
        }
    }
}

/// No sample of the optimum's value lies below the best mean. That shows where little noise and many answers leave the
/// optimum's value all but known: a sample below would make the best point look informative when nothing is left there.
#[test]
fn what_is_known_to_be_the_best_tells_nothing_more_about_the_optimum() {
    let problem = Problem { budget: 60.0, ..PROBLEM };
    let settings = Settings { beta: 0.0, ..SETTINGS };
    let tasks = tune(problem, settings, SEED, 1, hill);
    let mut queries = 0;
    for asked in tasks[0].decided() {
        let loss = combined_loss(&tasks[0], asked, &settings, 0.0);
        assert!(loss < ROUNDING, "round {}: {loss}", asked.round);
        queries += 1;
    }
    assert!(queries > 20, "{queries}");
}

/// Loss of a query of Separation for its two aims: the optimum, and the parameters.
fn separated_losses(task: &Task, asked: &Asked, settings: &Settings) -> [f64; 2] {
    let table = Table::new(asked, &asked.known, settings);
    let aims = [table.about_optimum(settings, (task.number, asked.round)), table.about_parameters()];
    aims.map(|worth| loss(asked, &[TRUTH], |i, m| worth[i][m], table.allowed(asked)))
}

#[test]
fn separation_asks_for_the_optimum_or_the_parameters_as_its_coin_says() {
    let problem = Problem { budget: 40.0, ..PROBLEM };
    let mut counts = [0u32; 2];
    for c in [0.0, 0.7, 1.0] {
        let settings = SETTINGS.with_method(Method::Separation { c });
        for task in &tune(problem, settings, SEED, 2, hill) {
            for asked in task.decided() {
                let [coin] = uniform(1, SEED, (task.number, asked.round), Purpose::Coin, 0)[..] else {
                    unreachable!("one number was asked for")
                };
                let aim = usize::from(coin >= f64::from(c));
                let loss = separated_losses(task, asked, &settings)[aim];
                assert!(loss < ROUNDING, "c {c}, task {}, round {}: {loss}", task.number, asked.round);
                counts[aim] += u32::from(c == 0.7);
            }
        }
    }
    let share = f64::from(counts[0]) / f64::from(counts[0] + counts[1]);
    assert!((share - 0.7).abs() < 0.15, "the optimum was the aim of {share}");
}

/// Variance at `x` given noisy values at some points, under some kernel.
fn variance(chosen: &[Point], x: Point, noise: f64, kernel: impl Fn(Point, Point) -> f64) -> f64 {
    let matrix = |i: usize, j: usize| kernel(chosen[i], chosen[j]) + if i == j { noise } else { 0.0 };
    let factor = cholesky(chosen.len(), matrix);
    let whitened = solve(&factor, chosen.iter().map(|c| kernel(*c, x)).collect());
    kernel(x, x) - dot(&whitened, &whitened)
}

/// What `x` adds to the information about `θ`: `½ ln(s̄² + σ²) − ½ meanᵥ ln(sᵥ² + σ²)`.
fn gain(models: &[Model], chosen: &[Point], x: Point) -> f64 {
    let noise = f64::from(FIDELITIES[TRUTH].noise);
    let of = |model: &Model, a, b| model.kernel((a, TRUTH), (b, TRUTH));
    let together = variance(chosen, x, noise, |a, b| mean(models.iter().map(|model| of(model, a, b))));
    let each = models.iter().map(|model| (variance(chosen, x, noise, |a, b| of(model, a, b)) + noise).ln());
    0.5 * ((together + noise).ln() - mean(each))
}

#[test]
fn every_point_of_the_design_tells_more_about_the_parameters_than_any_other_would() {
    // The design is made once, from the particles at the time, without data; nothing is learnt in between.
    let settings = Settings { initial: 0, steps_per_round: 0, ..SETTINGS };
    let problem = Problem { budget: 24.0, ..PROBLEM };
    for method in [Method::Myopic { c: 0.0 }, Method::TwoPhase { c: 0.0 }] {
        let tasks = tune(problem, settings.with_method(method), SEED, 2, hill);
        for task in &tasks {
            let mut chosen: Vec<Point> = Vec::new();
            for asked in &task.asked {
                let models = models(&asked.particles, &settings);
                assert_eq!(asked.fidelity, TRUTH);
                if !chosen.is_empty() {
                    let others = space().into_iter().filter(|x| !chosen.iter().any(|c| same(*c, *x)));
                    let best = others.map(|x| gain(&models, &chosen, x)).fold(f64::MIN, f64::max);
                    let own = gain(&models, &chosen, asked.point);
                    assert!(best - own < 1e-3, "point {}: {own}, but {best}", chosen.len());
                }
                chosen.push(asked.point);
            }
            assert_eq!(chosen.len(), 12);
        }
    }
}

//! Gas emission source: find rate and place of a source from sensors downwind.
//!
//! Gaussian plume with ground reflection, wind `u` along +x, `D = X − x₀ > 0` downwind (zero otherwise):
//! `C = Q/(2π u σ_y σ_z) · exp(−(Y−y₀)²/2σ_y²) · [exp(−(Z−h)²/2σ_z²) + exp(−(Z+h)²/2σ_z²)]`,
//! with Briggs' rural dispersion; the six Pasquill classes A to F are the fidelities, F is the truth.
//! Objective at fidelity m: `1 − min(Σ (C_m(x) − C_F(source))² / S₀, 2)`, sums over the sensors,
//! `S₀ = Σ C_F(source)²`: in [−1, 1], exactly 1 at the source, regret = relative squared error.
//!
//! | item | value | origin |
//! |---|---|---|
//! | inputs (Q g/s, x₀ m, y₀ m, h m), domain | [10, 5000] × [−500, 500]² × [0, 10] | given by the paper |
//! | objective from the sum of squared errors | | given by the paper; sign, scale and the floor at −1 our choice |
//! | six fidelities by atmospheric class, costs 10 + 5(m − 1), budget 750, noise 10⁻³ | | given by the paper |
//! | order of the classes | A = 1 … F = 6 (truth) | our choice |
//! | plume, dispersion | Briggs, rural | from a source (standard text-book plume) |
//! | wind | 2 m/s along +x | our choice |
//! | true source | (1500, 8, 10, 5) | our choice |
//! | sensors | 18 at 3 m, X ∈ {250, 350, 450}, Y ∈ {±10, ±20, ±30}, each moved per task by U(−50, 50) in X and U(−10, 10) in Y | tasks differ in sensor places: given by the paper; rest our choice |
//! | data | class F, without noise | our choice |
//! | 10 initial points | 2D + 2 | given by the paper |
//! | fixed map of y | none (mean 0, deviation 1) | our choice: the objective is scaled already |

use core::f64::consts::TAU;

use super::random::{Purpose, Random};
use super::{DimensionSpec, FidelitySpec, ProblemSpec, Task};

const WIND: f64 = 2.0;
/// Height of every sensor, m.
const SENSOR_HEIGHT: f64 = 3.0;
const SOURCE: Source = Source { rate: 1500.0, x: 8.0, y: 10.0, height: 5.0 };
/// The source of a task unlike the others: the same rate from another place.
const FOREIGN_SOURCE: Source = Source { rate: 1500.0, x: -100.0, y: -15.0, height: 2.0 };

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Gas;

impl Gas {
    pub(super) fn spec(&self, name: String) -> ProblemSpec {
        let interval = DimensionSpec::interval::<&str>;
        let fidelity = |m| FidelitySpec { cost: 10.0 + 5.0 * f64::from(m), samples: 1, noise_variance: 1e-3 };
        ProblemSpec {
            name,
            dimensions: vec![
                interval("rate", "g/s", 10.0, 5000.0),
                interval("x", "m", -500.0, 500.0),
                interval("y", "m", -500.0, 500.0),
                interval("height", "m", 0.0, 10.0),
            ],
            fidelities: (0..6).map(fidelity).collect(),
            budget: 750.0,
            initial: 10,
            free_start: true,
            scale_mean: 0.0,
            scale_deviation: 1.0,
            tasks: 17,
            deployed: vec![3520.0, 55.0, -78.0, 5.0],
        }
    }

    /// A task; one unlike the others has the same sensors, the gas coming from elsewhere.
    pub(super) fn task(&self, seed: u64, task: usize, unlike: bool) -> Inversion {
        let source = if unlike { FOREIGN_SOURCE } else { SOURCE };
        Inversion::new(source, sensors(&mut Random::new(seed, Purpose::Sensors, task)))
    }
}

/// Ground positions of the 18 sensors of a task.
fn sensors(random: &mut Random) -> Vec<[f64; 2]> {
    let mut sensors = Vec::with_capacity(18);
    for x in [250.0, 350.0, 450.0] {
        for y in [-30.0, -20.0, -10.0, 10.0, 20.0, 30.0] {
            sensors.push([x + random.uniform(-50.0, 50.0), y + random.uniform(-10.0, 10.0)]);
        }
    }
    sensors
}

/// A point source: rate in g/s, place in m.
#[derive(Clone, Copy)]
struct Source {
    rate: f64,
    x: f64,
    y: f64,
    height: f64,
}

impl Source {
    /// Concentration in g/m³ at (X, Y, Z) with this wind, in an atmosphere of this class (0 is A, 5 is F).
    fn concentration(&self, class: usize, wind: f64, [x, y, z]: [f64; 3]) -> f64 {
        let distance = x - self.x;
        if distance <= 0.0 {
            return 0.0;
        }
        let (sigma_y, sigma_z) = dispersion(class, distance);
        let bell = |offset: f64, sigma: f64| libm::exp(-offset * offset / (2.0 * sigma * sigma));
        self.rate / (TAU * wind * sigma_y * sigma_z)
            * bell(y - self.y, sigma_y)
            * (bell(z - self.height, sigma_z) + bell(z + self.height, sigma_z))
    }
}

/// Briggs' rural σ_y and σ_z in m at this distance downwind in m.
fn dispersion(class: usize, distance: f64) -> (f64, f64) {
    let d = distance;
    let a = [0.22, 0.16, 0.11, 0.08, 0.06, 0.04][class];
    let sigma_y = a * d / (1.0 + 1e-4 * d).sqrt();
    let sigma_z = match class {
        0 => 0.20 * d,
        1 => 0.12 * d,
        2 => 0.08 * d / (1.0 + 2e-4 * d).sqrt(),
        3 => 0.06 * d / (1.0 + 1.5e-3 * d).sqrt(),
        4 => 0.03 * d / (1.0 + 3e-4 * d),
        _ => 0.016 * d / (1.0 + 3e-4 * d),
    };
    (sigma_y, sigma_z)
}

/// One task: sensors, what they measured, and the source behind it.
pub(super) struct Inversion {
    source: Source,
    sensors: Vec<[f64; 2]>,
    /// Concentration at each sensor, class F.
    measured: Vec<f64>,
    /// `S₀ = Σ measured²`.
    energy: f64,
}

impl Inversion {
    fn new(source: Source, sensors: Vec<[f64; 2]>) -> Self {
        let measured: Vec<f64> =
            sensors.iter().map(|&[x, y]| source.concentration(5, WIND, [x, y, SENSOR_HEIGHT])).collect();
        let energy = measured.iter().map(|c| c * c).sum();
        Self { source, sensors, measured, energy }
    }
}

impl Task for Inversion {
    fn value(&self, fidelity: usize, x: &[f64]) -> f64 {
        let &[rate, x, y, height] = x else { panic!("a source has four numbers") };
        let source = Source { rate, x, y, height };
        let squares = self.sensors.iter().zip(&self.measured).map(|(&[x, y], measured)| {
            let error = source.concentration(fidelity, WIND, [x, y, SENSOR_HEIGHT]) - measured;
            error * error
        });
        1.0 - (squares.sum::<f64>() / self.energy).min(2.0)
    }

    fn optimum(&self) -> f64 {
        1.0
    }

    fn optimum_at(&self) -> Vec<f64> {
        vec![self.source.rate, self.source.x, self.source.y, self.source.height]
    }
}

#[cfg(test)]
mod tests {
    use super::super::service::anywhere;
    use super::*;

    const TRUTH: usize = 5;

    fn close(value: f64, expected: f64, relative: f64) {
        assert!((value / expected - 1.0).abs() < relative, "{value} {expected}");
    }

    /// A worked text-book plume: 80 g/s from 60 m, wind 6 m/s, class D, 500 m downwind on the ground.
    /// σ_y = .08·500/√1.05 = 39.04; σ_z = .06·500/√1.75 = 22.68; on the axis
    /// C = 80/(π·6·39.04·22.68)·exp(−60²/(2·22.68²)) = 4.79e-3·0.0302 = 1.45e-4;
    /// 50 m off it times exp(−50²/(2·39.04²)) = 0.440.
    #[test]
    fn the_plume_has_its_check_values() {
        let (sigma_y, sigma_z) = dispersion(3, 500.0);
        close(sigma_y, 39.0, 0.002);
        close(sigma_z, 22.7, 0.002);
        let source = Source { rate: 80.0, x: 0.0, y: 0.0, height: 60.0 };
        close(source.concentration(3, 6.0, [500.0, 0.0, 0.0]), 1.45e-4, 0.005);
        close(source.concentration(3, 6.0, [500.0, 50.0, 0.0]), 6.37e-5, 0.005);
        assert_eq!(source.concentration(3, 6.0, [-1.0, 0.0, 0.0]), 0.0);
    }

    #[test]
    fn the_value_is_exactly_one_at_the_source_and_below_elsewhere() {
        let spec = Gas.spec("gas".into());
        for (n, task) in (0..20).map(|n| (n, Gas.task(1, n, false))).chain([(5, Gas.task(1, 5, true))]) {
            let at = task.optimum_at();
            assert_eq!(task.value(TRUTH, &at), 1.0);
            assert!((0..TRUTH).all(|class| task.value(class, &at) < 1.0));
            let mut random = Random::new(1, Purpose::Queries, n);
            for _ in 0..500 {
                let x: Vec<f64> = spec.dimensions.iter().map(|d| anywhere(d, &mut random)).collect();
                let value = task.value(TRUTH, &x);
                assert!((-1.0..1.0).contains(&value));
            }
        }
    }

    #[test]
    fn the_source_of_an_unlike_task_is_another() {
        let unlike = Gas.task(1, 5, true);
        assert!(unlike.value(TRUTH, &Gas.task(1, 5, false).optimum_at()) < 0.5);
    }
}

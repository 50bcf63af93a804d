//! Radio resource management: uplink open-loop power control in several cells with many antennas.
//!
//! Every base station has two numbers, P0 and α; its users transmit with
//! `P = min(23 dBm, P0 + 10 log10(50) + α · PL)`. The objective is the sum over all users of
//! `log2(1 + SINR)` in bit/s/Hz, averaged over channel samples; fidelity m averages the first 10, 20, 50 or 100
//! samples of the task's one bank. From task to task the users move a few metres.
//!
//! | item | value | origin |
//! |---|---|---|
//! | P0 ∈ {−202, −200, …, 24} dBm, α ∈ {0, .4, .5, .6, .7, .8, .9, 1} | 114 and 8 values | counts: given by the paper; grids: from a source, 3GPP |
//! | stations, users | 2 (or 1 to 4), 10 users each; see [`deployment`] | area of 200 m: given by the paper; rest our choice |
//! | transmit power | above; 50 resource blocks; PL with shadowing, without fast fading | from a source, 3GPP TS 38.213 7.1.1 |
//! | path loss, line of sight, shadowing deviation | see [`deployment`] | from a source, 3GPP TR 38.901 7.4, street canyon; carrier our choice |
//! | noise | −174 dBm/Hz over 9 MHz, noise figure 5 dB | our choice |
//! | antennas, receiver | user 1, station 64 (or 32); Rayleigh fading, maximum-ratio combining | our choice |
//! | objective | sum spectral efficiency, mean over channel samples | given by the paper |
//! | fidelities | 10/20/50/100 samples, costs the same, budget 2000 | given by the paper |
//! | samples nested in one bank per task | | our choice |
//! | noise 0.83, 10 initial points (2D + 2 for other numbers of stations) | | given by the paper |
//! | movement | at most 10 m per task | given by the paper; uniform in the disc, cell kept: our choice |
//! | shadowing and line of sight along the way | correlated over 12 m and 50 m | our choice, near TR 38.901's 10 to 13 m and 50 m |
//! | fixed map of y | mean and standard deviation over uniform points, measured | our choice |
//! | optimum | see [`optimum`] | our choice |

mod day;
mod deployment;
mod fading;
mod optimum;

use std::sync::OnceLock;

pub use day::{Event, STEPS_PER_HOUR, Town};

use super::random::{Purpose, Random};
use super::{DimensionSpec, FidelitySpec, Kpi, ProblemSpec, Task};
use deployment::{Deployment, LONGEST_STEP, Layout};
use fading::{Gains, SAMPLES, from_decibel};
use optimum::{Search, optimum_within};

const USERS_PER_STATION: usize = 10;
/// Highest transmit power of a user in dBm.
const FULL_POWER: f64 = 23.0;
const RESOURCE_BLOCKS: f64 = 50.0;
/// Radius of the area in m.
const RADIUS: f64 = 200.0;
/// Radius of the area of a task unlike the others in m.
const FOREIGN_RADIUS: f64 = 120.0;
/// The values of α, share of the path loss that is compensated.
const ALPHA: [f64; 8] = [0.0, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0];
/// Samples averaged by each fidelity.
const FIDELITY_SAMPLES: [u32; 4] = [10, 20, 50, SAMPLES as u32];

/// The values of P0 in dBm per resource block.
fn p0_levels() -> impl Iterator<Item = f64> {
    (0..114).map(|i| -202.0 + 2.0 * f64::from(i))
}

/// Transmit power in dBm of a user with this path loss in dB.
fn power_dbm(p0: f64, alpha: f64, path_loss: f64) -> f64 {
    (p0 + 10.0 * libm::log10(RESOURCE_BLOCKS) + alpha * path_loss).min(FULL_POWER)
}

/// Transmit powers in mW of the users of one station with this P0 and α.
fn powers([p0, alpha]: [f64; 2], path_losses: &[f64]) -> Vec<f64> {
    path_losses.iter().map(|&loss| from_decibel(power_dbm(p0, alpha, loss))).collect()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rrm {
    stations: usize,
    antennas: usize,
}

impl Default for Rrm {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl Rrm {
    /// Two stations with 64 antennas.
    pub const DEFAULT: Self = Self { stations: 2, antennas: 64 };

    /// One to four stations with 32 or 64 antennas: those whose scaling was measured.
    pub fn new(stations: usize, antennas: usize) -> Option<Self> {
        let known = (1..=4).contains(&stations) && [32, 64].contains(&antennas);
        known.then_some(Self { stations, antennas })
    }

    pub fn stations(&self) -> usize {
        self.stations
    }

    pub fn antennas(&self) -> usize {
        self.antennas
    }

    /// Mean and deviation of the truth over uniform settings.
    fn scale(&self) -> (f64, f64) {
        match (self.stations, self.antennas) {
            (1, 32) => (8.1, 7.6),
            (2, 32) => (14.1, 8.3),
            (3, 32) => (20.8, 10.4),
            (_, 32) => (26.9, 12.0),
            (1, _) => (10.5, 9.9),
            (2, _) => (18.6, 11.0),
            (3, _) => (27.4, 13.7),
            (_, _) => (35.9, 15.9),
        }
    }

    pub(super) fn spec(&self, name: String) -> ProblemSpec {
        let station = |b: usize| {
            let level = |name: &str, unit: &str, values| {
                DimensionSpec::levels(format!("{name} of station {}", b + 1), unit, values)
            };
            [level("P0", "dBm", p0_levels().collect()), level("alpha", "", ALPHA.to_vec())]
        };
        let fidelity = |samples| FidelitySpec { cost: f64::from(samples), samples, noise_variance: 0.83 };
        let (scale_mean, scale_deviation) = self.scale();
        ProblemSpec {
            name,
            dimensions: (0..self.stations).flat_map(station).collect(),
            fidelities: FIDELITY_SAMPLES.map(fidelity).to_vec(),
            budget: 2000.0,
            initial: 4 * self.stations + 2,
            free_start: true,
            scale_mean,
            scale_deviation,
            tasks: 40,
            // Full compensation of a cell edge's path loss would be α = 1; 0.8 and −80 dBm are what networks run with.
            deployed: [-80.0, 0.8].repeat(self.stations),
        }
    }

    /// The mean rate of the two weakest users, in bit/s/Hz, and the mean transmit power of all, in dBm. Noise: our choice, a tenth of
    /// what the weakest get, 0.1 dB.
    pub(super) fn kpis(&self) -> Vec<Kpi> {
        let kpi = |name, log| Kpi { name, log, noise: vec![0.01; FIDELITY_SAMPLES.len()] };
        vec![kpi("edge", true), kpi("power", false)]
    }

    /// A task; one unlike the others has other users, none of them known from before, in a smaller area.
    pub(super) fn task(&self, seed: u64, task: usize, unlike: bool) -> Cells {
        let deployment = if unlike {
            let mut random = Random::new(seed, Purpose::ForeignDeployment, task);
            Deployment::draw(Layout::new(self.stations, FOREIGN_RADIUS), &mut random)
        } else {
            self.followed(seed, task)
        };
        let path_losses = deployment.path_losses();
        let gains = Gains::draw(&path_losses, self.antennas, &mut Random::new(seed, Purpose::Fading, task));
        let served = path_losses.iter().enumerate().map(|(u, row)| row[u / USERS_PER_STATION]).collect();
        Cells { gains, path_losses: served, key: (seed, task), optimum: OnceLock::new() }
    }

    /// Follows the users from the first task to this one.
    fn followed(&self, seed: u64, task: usize) -> Deployment {
        let layout = Layout::new(self.stations, RADIUS);
        let mut deployment = Deployment::draw(layout, &mut Random::new(seed, Purpose::Deployment, 0));
        for task in 1..=task {
            deployment.step(LONGEST_STEP, &mut Random::new(seed, Purpose::Movement, task));
        }
        deployment
    }
}

/// One task: a deployment and its bank of fading samples.
pub(super) struct Cells {
    gains: Gains,
    /// Path loss of every user to its own station in dB.
    path_losses: Vec<f64>,
    /// Seed and number of the task.
    key: (u64, usize),
    /// The best setting, once somebody has asked for it.
    optimum: OnceLock<Vec<f64>>,
}

impl Cells {
    fn best_setting(&self) -> &[f64] {
        self.optimum.get_or_init(|| {
            let (seed, task) = self.key;
            let mut random = Random::new(seed, Purpose::Starts, task);
            Search::new(&self.gains, &self.path_losses).best(&mut random)
        })
    }
}

impl Cells {
    /// Settings of the stations, each with the path losses of its users.
    fn cells<'c>(&'c self, x: &'c [f64]) -> impl Iterator<Item = ([f64; 2], &'c [f64])> {
        assert_eq!(x.len() * USERS_PER_STATION, 2 * self.path_losses.len(), "two numbers per station");
        let settings = x.chunks(2).map(|setting| [setting[0], setting[1]]);
        settings.zip(self.path_losses.chunks(USERS_PER_STATION))
    }

    fn powers(&self, x: &[f64]) -> Vec<f64> {
        self.cells(x).flat_map(|(setting, losses)| powers(setting, losses)).collect()
    }
}

impl Task for Cells {
    fn value(&self, fidelity: usize, x: &[f64]) -> f64 {
        self.gains.sum_rate(&self.powers(x), FIDELITY_SAMPLES[fidelity] as usize)
    }

    fn kpis(&self, fidelity: usize, x: &[f64]) -> Vec<f64> {
        let mut rates = self.gains.rates(&self.powers(x), FIDELITY_SAMPLES[fidelity] as usize);
        rates.sort_by(f64::total_cmp);
        let weakest = &rates[..2];
        let decibels = self
            .cells(x)
            .flat_map(|([p0, alpha], losses)| losses.iter().map(move |&loss| power_dbm(p0, alpha, loss)));
        let users = self.path_losses.len() as f64;
        vec![weakest.iter().sum::<f64>() / 2.0, decibels.sum::<f64>() / users]
    }

    /// One station after the other takes the best of its settings that keeps all, from several starts, until none changes.
    fn optimum_within(&self, start: &[f64], keeps: &dyn Fn(&[f64]) -> bool) -> f64 {
        optimum_within(self, start, keeps)
    }

    fn optimum(&self) -> f64 {
        self.value(FIDELITY_SAMPLES.len() - 1, self.best_setting())
    }

    fn optimum_at(&self) -> Vec<f64> {
        self.best_setting().to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: 10 log10 50 = 16.990; −90 + 16.990 + 0.8 · 100 = 6.990; the same with P0 = −60 is over 23 dBm.
    #[test]
    fn transmit_power_has_the_values_computed_by_hand() {
        assert!((power_dbm(-90.0, 0.8, 100.0) - 6.990).abs() < 0.001);
        assert_eq!(power_dbm(-60.0, 0.8, 100.0), 23.0);
        assert!((powers([-90.0, 0.8], &[100.0])[0] - 5.0).abs() < 0.001);
    }

    #[test]
    fn grids_are_those_of_3gpp() {
        let levels: Vec<f64> = p0_levels().collect();
        assert_eq!((levels.len(), levels[0], levels[113]), (114, -202.0, 24.0));
        assert_eq!(ALPHA.len(), 8);
    }

    #[test]
    fn the_optimum_is_the_value_of_its_setting() {
        let cells = Rrm::new(2, 32).unwrap().task(9, 3, false);
        assert_eq!(cells.optimum(), cells.value(3, &cells.optimum_at()));
    }
}

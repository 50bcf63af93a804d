//! The bank of Rayleigh fading samples of one task, reduced to what the rates need.
//!
//! With maximum-ratio combining at its own station a user u has
//! `SINR_u = p_u ‖h_u‖² / (Σ_{v≠u} p_v |h_uᴴ h_v|²/‖h_u‖² + N₀)`, both channels at the station of u, the sum
//! over all other users of all cells. So per sample the numbers `‖h_u‖²/N₀` and `|h_uᴴ h_v|²/(‖h_u‖² N₀)` are
//! all that is kept: with 100 samples of 20 users, 336 KB.

use super::super::random::Random;
use super::USERS_PER_STATION;

/// Number of fading samples of a task: those of the highest fidelity.
pub(super) const SAMPLES: usize = 100;

/// Thermal noise of −174 dBm/Hz over 9 MHz with a noise figure of 5 dB: −99.46 dBm.
fn noise_dbm() -> f64 {
    -174.0 + 10.0 * libm::log10(9e6) + 5.0
}

/// Power in mW (or a plain ratio) of a number in dBm (or dB).
pub(super) fn from_decibel(decibel: f64) -> f64 {
    libm::pow(10.0, decibel / 10.0)
}

/// Gains of every sample, per mW of transmit power and relative to the noise.
pub(super) struct Gains {
    users: usize,
    /// `[sample][u]`: of user u's own signal.
    signal: Vec<f64>,
    /// `[sample][v][u]`: of user v's signal behind the combiner of user u; zero for v = u. The affected user is
    /// the inner index so that sums over v run over all u at once.
    interference: Vec<f64>,
}

/// A complex number.
type Complex = (f64, f64);

impl Gains {
    /// Draws a bank for links with these path losses in dB, `[user][station]`, users ordered by station.
    pub(super) fn draw(path_losses: &[Vec<f64>], antennas: usize, random: &mut Random) -> Self {
        let (users, stations) = (path_losses.len(), path_losses[0].len());
        let mut gains = Self { users, signal: Vec::new(), interference: Vec::new() };
        let noise = noise_dbm();
        let amplitude = |loss: f64| from_decibel(-loss - noise).sqrt();
        let amplitudes: Vec<Vec<f64>> =
            path_losses.iter().map(|row| row.iter().map(|&loss| amplitude(loss)).collect()).collect();
        let mut channels = vec![vec![vec![(0.0, 0.0); antennas]; users]; stations];
        for _ in 0..SAMPLES {
            for (b, at_station) in channels.iter_mut().enumerate() {
                for (channel, amplitudes) in at_station.iter_mut().zip(&amplitudes) {
                    channel.fill_with(|| {
                        let (re, im) = random.complex_normal();
                        (amplitudes[b] * re, amplitudes[b] * im)
                    });
                }
            }
            gains.push_sample(&channels);
        }
        gains
    }

    /// Appends the gains of one sample, `channels[station][user][antenna]`.
    fn push_sample(&mut self, channels: &[Vec<Vec<Complex>>]) {
        let serving = |u: usize| &channels[u / USERS_PER_STATION];
        let norms: Vec<f64> = (0..self.users).map(|u| squared_norm(&serving(u)[u])).collect();
        self.signal.extend(&norms);
        for v in 0..self.users {
            for (u, norm) in norms.iter().enumerate() {
                let gain = if u == v { 0.0 } else { squared_product(&serving(u)[u], &serving(u)[v]) / norm };
                self.interference.push(gain);
            }
        }
    }

    /// Number of users of all cells.
    pub(super) fn users(&self) -> usize {
        self.users
    }

    /// Gains of the own signals in one sample.
    pub(super) fn signal(&self, sample: usize) -> &[f64] {
        &self.signal[sample * self.users..][..self.users]
    }

    /// Adds to `sums[u]` what the given users (numbers and powers in mW) cause at u in one sample.
    pub(super) fn add_interference(
        &self,
        sample: usize,
        sources: impl Iterator<Item = (usize, f64)>,
        sums: &mut [f64],
    ) {
        let bank = &self.interference[sample * self.users * self.users..][..self.users * self.users];
        for (v, power) in sources {
            for (sum, gain) in sums.iter_mut().zip(&bank[v * self.users..][..self.users]) {
                *sum += power * gain;
            }
        }
    }

    /// Sum of spectral efficiencies in bit/s/Hz for these powers in mW, averaged over the first samples.
    pub(super) fn sum_rate(&self, powers: &[f64], samples: usize) -> f64 {
        let mut disturbance = vec![0.0; self.users];
        let mut total = 0.0;
        for sample in 0..samples {
            disturbance.fill(1.0);
            self.add_interference(sample, powers.iter().copied().enumerate(), &mut disturbance);
            let cells =
                (0..self.users).step_by(USERS_PER_STATION).map(|first| first..first + USERS_PER_STATION);
            for cell in cells {
                let signal = self.signal(sample)[cell.clone()].iter().zip(&powers[cell.clone()]);
                let pairs = signal.zip(&disturbance[cell]);
                total += cell_rate(pairs.map(|((gain, power), &disturbance)| (gain * power, disturbance)));
            }
        }
        total / samples as f64
    }
}

/// `Σ log2(1 + s/d)` over the users of one cell, with signals s and disturbances d (noise is 1).
///
/// One logarithm for all. The products cannot overflow: with 23 dBm at the least distance and four deviations
/// of shadowing, s and d stay below 10¹², ten of them below 10¹²⁰.
pub(super) fn cell_rate(pairs: impl Iterator<Item = (f64, f64)>) -> f64 {
    let (mut with, mut without) = (1.0, 1.0);
    for (signal, disturbance) in pairs {
        with *= signal + disturbance;
        without *= disturbance;
    }
    libm::log2(with / without)
}

fn squared_norm(h: &[Complex]) -> f64 {
    h.iter().map(|(re, im)| re * re + im * im).sum()
}

/// `|aᴴ b|²`.
fn squared_product(a: &[Complex], b: &[Complex]) -> f64 {
    let (mut re, mut im) = (0.0, 0.0);
    for (&(ar, ai), &(br, bi)) in a.iter().zip(b) {
        re += ar * br + ai * bi;
        im += ar * bi - ai * br;
    }
    re * re + im * im
}

#[cfg(test)]
mod tests {
    use super::super::super::random::Purpose;
    use super::super::super::trial::mean_and_error;
    use super::*;

    /// Ten users of two stations each; the links of user u have u dB more than 90 dB to the own station and 10 dB
    /// more to the other.
    fn path_losses() -> Vec<Vec<f64>> {
        let loss = |u: usize, b: usize| 90.0 + u as f64 + if u / USERS_PER_STATION == b { 0.0 } else { 10.0 };
        (0..2 * USERS_PER_STATION).map(|u| vec![loss(u, 0), loss(u, 1)]).collect()
    }

    fn bank() -> Gains {
        Gains::draw(&path_losses(), 64, &mut Random::new(1, Purpose::Fading, 0))
    }

    #[test]
    fn noise_is_that_of_9_mhz() {
        // −174 + 10 log10(9·10⁶) + 5 = −174 + 69.542 + 5.
        assert!((noise_dbm() + 99.458).abs() < 0.001);
        assert!((from_decibel(23.0) - 199.526).abs() < 0.001);
    }

    /// `‖h‖²` averages to antennas times the link's gain, `|h_uᴴ h_v|²/‖h_u‖²` to the gain of v's link to the
    /// station of u alone.
    #[test]
    fn gains_average_to_those_of_the_links() {
        let (gains, losses) = (bank(), path_losses());
        let link = |u: usize, b: usize| from_decibel(-losses[u][b] - noise_dbm());
        let ratios: Vec<f64> = (0..SAMPLES)
            .flat_map(|sample| (0..20).map(move |u| (sample, u)))
            .map(|(sample, u)| gains.signal(sample)[u] / (64.0 * link(u, u / 10)))
            .collect();
        let (mean, error) = mean_and_error(&ratios);
        assert!((mean - 1.0).abs() < 4.0 * error && error < 0.005, "{mean} {error}");
        for (v, u) in [(3, 4), (3, 14), (12, 1)] {
            let ratios: Vec<f64> = (0..SAMPLES)
                .map(|sample| gains.interference[(sample * 20 + v) * 20 + u] / link(v, u / 10))
                .collect();
            let (mean, error) = mean_and_error(&ratios);
            assert!((mean - 1.0).abs() < 4.0 * error && error < 0.2, "{mean} {error}");
        }
    }

    /// The formula of the module's head, term by term, from channels made up here.
    #[test]
    fn the_rate_is_that_of_the_formula() {
        let mut random = Random::new(2, Purpose::Queries, 0);
        let channels: Vec<Vec<Vec<Complex>>> = (0..2)
            .map(|_| (0..20).map(|_| (0..4).map(|_| random.complex_normal()).collect()).collect())
            .collect();
        let powers: Vec<f64> = (0..20).map(|_| random.uniform(0.0, 5.0)).collect();
        let mut gains = Gains { users: 20, signal: Vec::new(), interference: Vec::new() };
        gains.push_sample(&channels);

        let inner = |a: &[Complex], b: &[Complex]| -> f64 {
            let product =
                |f: fn(Complex, Complex) -> f64| a.iter().zip(b).map(|(&a, &b)| f(a, b)).sum::<f64>();
            let (re, im) = (product(|a, b| a.0 * b.0 + a.1 * b.1), product(|a, b| a.0 * b.1 - a.1 * b.0));
            re * re + im * im
        };
        let mut expected = 0.0;
        for u in 0..20 {
            let at = &channels[u / 10];
            let norm = inner(&at[u], &at[u]).sqrt();
            let disturbance: f64 =
                (0..20).filter(|&v| v != u).map(|v| powers[v] * inner(&at[u], &at[v]) / norm).sum();
            expected += (1.0 + powers[u] * norm / (disturbance + 1.0)).log2();
        }
        assert!((gains.sum_rate(&powers, 1) - expected).abs() < 1e-10);
    }

    #[test]
    fn silent_users_have_no_rate_and_extreme_ones_a_finite_one() {
        assert_eq!(bank().sum_rate(&[0.0; 20], SAMPLES), 0.0);
        let near = vec![vec![48.0, 48.0]; 20];
        let gains = Gains::draw(&near, 64, &mut Random::new(1, Purpose::Fading, 0));
        let mut alone = [0.0; 20];
        alone[..10].fill(from_decibel(23.0));
        for powers in [[from_decibel(23.0); 20], alone] {
            let rate = gains.sum_rate(&powers, SAMPLES);
            assert!(rate.is_finite() && rate > 0.0);
        }
    }

    #[test]
    fn fidelities_average_the_first_samples() {
        let gains = bank();
        let powers = [1.0; 20];
        let first = gains.sum_rate(&powers, 50);
        let all = gains.sum_rate(&powers, 100);
        let rest = Gains {
            users: 20,
            signal: gains.signal[50 * 20..].to_vec(),
            interference: gains.interference[50 * 400..].to_vec(),
        };
        assert!((all - (first + rest.sum_rate(&powers, 50)) / 2.0).abs() < 1e-10);
    }
}

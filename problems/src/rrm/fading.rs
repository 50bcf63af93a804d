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

    /// A bank for links without any loss, to be [attenuated](Self::attenuated).
    pub(super) fn lossless(users: usize, stations: usize, antennas: usize, random: &mut Random) -> Self {
        Self::draw(&vec![vec![-noise_dbm(); stations]; users], antennas, random)
    }

    /// The same fading with these path losses in dB, `[user][station]`, for those who speak in a sample.
    pub(super) fn attenuated(&self, path_losses: &[Vec<f64>], speaks: impl Fn(usize, usize) -> bool) -> Self {
        let (users, noise) = (self.users, noise_dbm());
        let gain = |v: usize, u: usize| from_decibel(-path_losses[v][u / USERS_PER_STATION] - noise);
        let gains: Vec<f64> = (0..users * users).map(|i| gain(i / users, i % users)).collect();
        let heard = |sample: usize, v: usize, u: usize| {
            if speaks(sample, v) { gains[v * users + u] } else { 0.0 }
        };
        let own = self.signal.iter().enumerate();
        let signal = own.map(|(i, g)| g * heard(i / users, i % users, i % users)).collect();
        let others = self.interference.iter().enumerate();
        let interference =
            others.map(|(i, g)| g * heard(i / users / users, i / users % users, i % users)).collect();
        Self { users, signal, interference }
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

    /// The spectral efficiency of every user in bit/s/Hz for these powers in mW, averaged over the first samples.
    pub(super) fn rates(&self, powers: &[f64], samples: usize) -> Vec<f64> {
        let (mut rates, mut disturbance) = (vec![0.0; self.users], vec![0.0; self.users]);
        for sample in 0..samples {
            disturbance.fill(1.0);
            self.add_interference(sample, powers.iter().copied().enumerate(), &mut disturbance);
            for (u, rate) in rates.iter_mut().enumerate() {
                let ratio = self.signal(sample)[u] * powers[u] / disturbance[u];
                *rate += libm::log2(1.0 + ratio) / samples as f64;
            }
        }
        rates
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
    fn attenuated_is_as_drawn_with_the_losses() {
        let bare = Gains::lossless(20, 2, 64, &mut Random::new(1, Purpose::Fading, 0));
        let (gains, drawn) = (bare.attenuated(&path_losses(), |_, _| true), bank());
        let powers = [from_decibel(10.0); 20];
        let (one, other) = (gains.sum_rate(&powers, 7), drawn.sum_rate(&powers, 7));
        assert!((one - other).abs() < 1e-9 * other, "{one}, {other}");
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
}

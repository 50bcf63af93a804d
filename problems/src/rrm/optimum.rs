//! The best setting of a task: exact for one or two stations, best response from many starts for more.
//!
//! Two facts make exhaustive search quick. Of a station's 912 settings only some 650 give different power
//! vectors, because all that put every user at full power are one. And with maximum-ratio combining the
//! interference of one station's users adds to that of another's, so it is tabulated per station and setting.
//! For a pair of settings (k, l) the rate of the first cell falls with the power of l; neighbouring settings l
//! of equal α form blocks whose first member is the quietest, so the rate of k against that member bounds the
//! rate of k against all of the block, and likewise the other way round. Pairs whose two bounds sum to less than
//! the best known value are left out: the result stays exact.

use std::collections::HashSet;

use super::super::random::Random;
use super::fading::{Gains, SAMPLES, cell_rate};
use super::{ALPHA, Cells, FIDELITY_SAMPLES, Task, USERS_PER_STATION, p0_levels, power_dbm, powers};

/// Number of neighbouring settings that share a bound.
const BLOCK: usize = 16;
/// Random starts of the best response.
const STARTS: usize = 24;

/// A setting of one station and what it does in every sample.
struct Choice {
    /// P0 in dBm and α.
    setting: [f64; 2],
    /// `[sample][own user]`, relative to the noise.
    signal: Vec<f64>,
    /// `[sample][user of any cell]`, relative to the noise.
    interference: Vec<f64>,
}

/// The different settings of one station, by α and then P0; the last one is full power.
struct Station {
    choices: Vec<Choice>,
    /// Number of each choice's block.
    block: Vec<usize>,
    /// First choice of each block.
    quietest: Vec<usize>,
}

/// Search for the best setting of all stations.
pub(super) struct Search {
    stations: Vec<Station>,
    users: usize,
}

impl Search {
    /// Tabulates the settings of every station; path losses in dB of every user to its own station.
    pub(super) fn new(gains: &Gains, path_losses: &[f64]) -> Self {
        let stations = path_losses
            .chunks(USERS_PER_STATION)
            .enumerate()
            .map(|(b, path_losses)| Station::new(gains, path_losses, b * USERS_PER_STATION))
            .collect();
        Self { stations, users: gains.users() }
    }

    /// The best setting found: P0 in dBm and α of every station.
    pub(super) fn best(&self, random: &mut Random) -> Vec<f64> {
        let choices = match self.stations.len() {
            2 => {
                let (value, guess) = self.best_response(1, random);
                self.best_pair(value, guess)
            }
            _ => self.best_response(STARTS, random).1,
        };
        self.settings(&choices)
    }

    fn settings(&self, choices: &[usize]) -> Vec<f64> {
        self.stations.iter().zip(choices).flat_map(|(station, &k)| station.choices[k].setting).collect()
    }

    /// Best response from full power and from random starts: stations in turn take the choice that is best for
    /// all, until none changes. Exact for one station.
    fn best_response(&self, starts: usize, random: &mut Random) -> (f64, Vec<usize>) {
        let mut seen = HashSet::new();
        let mut start: Vec<usize> = self.stations.iter().map(|station| station.choices.len() - 1).collect();
        let mut best = (f64::NEG_INFINITY, start.clone());
        for _ in 0..=starts {
            let value = self.ascend(&mut start, &mut seen);
            if value > best.0 {
                best = (value, start.clone());
            }
            start = self.stations.iter().map(|station| random.below(station.choices.len())).collect();
        }
        best
    }

    /// Stations answer in turn until a round ends where this or an earlier ascent has been; returns the value
    /// reached.
    fn ascend(&self, choices: &mut [usize], seen: &mut HashSet<Vec<usize>>) -> f64 {
        let mut value = f64::NEG_INFINITY;
        while seen.insert(choices.to_vec()) {
            for b in 0..choices.len() {
                (value, choices[b]) = self.respond(choices, b);
            }
        }
        value
    }

    /// The choice of station b that is best for all, the others staying as they are.
    fn respond(&self, choices: &[usize], b: usize) -> (f64, usize) {
        let mut others = vec![1.0; SAMPLES * self.users];
        for (c, station) in self.stations.iter().enumerate().filter(|&(c, _)| c != b) {
            let interference = &station.choices[choices[c]].interference;
            others.iter_mut().zip(interference).for_each(|(sum, term)| *sum += term);
        }
        let mut trial = choices.to_vec();
        let mut best = (f64::NEG_INFINITY, choices[b]);
        for k in 0..self.stations[b].choices.len() {
            trial[b] = k;
            let value = self.value(&trial, &others, &self.stations[b].choices[k].interference);
            if value > best.0 {
                best = (value, k);
            }
        }
        best
    }

    /// Sum rate of all cells, their interference given in two parts.
    fn value(&self, choices: &[usize], others: &[f64], own: &[f64]) -> f64 {
        let mut total = 0.0;
        for sample in 0..SAMPLES {
            for (b, station) in self.stations.iter().enumerate() {
                let at = sample * self.users + b * USERS_PER_STATION;
                let signal = &station.choices[choices[b]].signal[sample * USERS_PER_STATION..];
                total += rate(signal, &others[at..], &own[at..], 0.0);
            }
        }
        total / SAMPLES as f64
    }

    /// The best pair of two stations, given a pair and its value to start from.
    fn best_pair(&self, value: f64, guess: Vec<usize>) -> Vec<usize> {
        let [first, second] = [&self.stations[0], &self.stations[1]];
        let hopeful = self.hopeful(value);
        let bounds = [self.bounds(0, &hopeful[0]), self.bounds(1, &hopeful[1])];
        let mut best = (value, guess);
        for (&k, first_bounds) in hopeful[0].iter().zip(&bounds[0]) {
            for (&l, second_bounds) in hopeful[1].iter().zip(&bounds[1]) {
                if first_bounds[second.block[l]] + second_bounds[first.block[k]] <= best.0 {
                    continue;
                }
                let value = self.rate_against(0, k, l) + self.rate_against(1, l, k);
                if value > best.0 {
                    best = (value, vec![k, l]);
                }
            }
        }
        best.1
    }

    /// The choices of each of two stations that could be part of a pair better than `value`: judged by their
    /// rates against the other station's quietest choice, which is its first.
    fn hopeful(&self, value: f64) -> [Vec<usize>; 2] {
        let alone = [0, 1].map(|b| {
            (0..self.stations[b].choices.len()).map(|k| self.rate_against(b, k, 0)).collect::<Vec<_>>()
        });
        let most = [0, 1].map(|b: usize| alone[b].iter().copied().fold(0.0, f64::max));
        [0, 1].map(|b| (0..alone[b].len()).filter(|&k| alone[b][k] + most[1 - b] > value).collect())
    }

    /// `[choice of station b][block of the other]`: rate of cell b against the block's quietest choice.
    fn bounds(&self, b: usize, choices: &[usize]) -> Vec<Vec<f64>> {
        let quietest = &self.stations[1 - b].quietest;
        let row = |&k| quietest.iter().map(|&l| self.rate_against(b, k, l)).collect();
        choices.iter().map(row).collect()
    }

    /// Rate of cell b of two with its choice k against the other's choice l.
    fn rate_against(&self, b: usize, k: usize, l: usize) -> f64 {
        let own = &self.stations[b].choices[k];
        let other = &self.stations[1 - b].choices[l];
        let mut total = 0.0;
        for sample in 0..SAMPLES {
            let at = sample * self.users + b * USERS_PER_STATION;
            let signal = &own.signal[sample * USERS_PER_STATION..];
            total += rate(signal, &own.interference[at..], &other.interference[at..], 1.0);
        }
        total / SAMPLES as f64
    }
}

/// Rates of one cell in one sample, its interference given in two parts; slices begin at its first user.
fn rate(signal: &[f64], these: &[f64], those: &[f64], noise: f64) -> f64 {
    let (signal, these, those) =
        (&signal[..USERS_PER_STATION], &these[..USERS_PER_STATION], &those[..USERS_PER_STATION]);
    cell_rate((0..USERS_PER_STATION).map(|u| (signal[u], these[u] + those[u] + noise)))
}

impl Station {
    fn new(gains: &Gains, path_losses: &[f64], first_user: usize) -> Self {
        let mut station = Self { choices: Vec::new(), block: Vec::new(), quietest: Vec::new() };
        let levels: Vec<f64> = p0_levels().collect();
        for alpha in ALPHA {
            let below_full =
                |p0: &&f64| path_losses.iter().any(|&loss| power_dbm(**p0, alpha, loss) < super::FULL_POWER);
            for (place, &p0) in levels.iter().take_while(below_full).enumerate() {
                let choice = Choice::new(gains, path_losses, first_user, [p0, alpha]);
                station.push(choice, place % BLOCK == 0);
            }
        }
        // With α = 0 and the highest P0 everybody is at full power.
        let loudest = [levels[levels.len() - 1], 0.0];
        station.push(Choice::new(gains, path_losses, first_user, loudest), true);
        station
    }

    fn push(&mut self, choice: Choice, opens_block: bool) {
        if opens_block {
            self.quietest.push(self.choices.len());
        }
        self.choices.push(choice);
        self.block.push(self.quietest.len() - 1);
    }
}

impl Choice {
    fn new(gains: &Gains, path_losses: &[f64], first_user: usize, setting: [f64; 2]) -> Self {
        let powers = powers(setting, path_losses);
        let mut signal = Vec::with_capacity(SAMPLES * USERS_PER_STATION);
        let mut interference = vec![0.0; SAMPLES * gains.users()];
        for (sample, sums) in interference.chunks_mut(gains.users()).enumerate() {
            let own = &gains.signal(sample)[first_user..];
            signal.extend(powers.iter().zip(own).map(|(power, gain)| power * gain));
            let sources = powers.iter().enumerate().map(|(i, &power)| (first_user + i, power));
            gains.add_interference(sample, sources, sums);
        }
        Self { setting, signal, interference }
    }
}

/// Rounds of a start, at most.
const ROUNDS: usize = 8;
/// In the first round every so-many-th level of P0 is looked at, then all.
const COARSE: usize = 3;

/// The best value that keeps to bounds on the KPIs: best response over all settings of a station, from several starts. Unlike
/// the search without bounds it is not exact: a better setting may lie where one station's move alone breaks a bound.
pub(super) fn optimum_within(cells: &Cells, start: &[f64], keeps: &dyn Fn(&[f64]) -> bool) -> f64 {
    let truth = FIDELITY_SAMPLES.len() - 1;
    let levels: Vec<f64> = p0_levels().collect();
    // Where something is deployed, and where all are a little quieter or compensate in another way, if that keeps all.
    let mut starts = vec![start.to_vec()];
    for alpha in [0.5, 0.8, 1.0] {
        for p0 in [-110.0, -90.0, -70.0] {
            starts.push([p0, alpha].repeat(start.len() / 2));
        }
    }
    let (mut best, mut reached) = (f64::NEG_INFINITY, Vec::new());
    for mut x in starts.into_iter().filter(|x| keeps(&cells.kpis(truth, x))) {
        let mut value = cells.value(truth, &x);
        for round in 0..ROUNDS {
            let before = value;
            for station in 0..x.len() / 2 {
                respond(cells, (&mut x, &mut value), station, &levels, round == 0, keeps);
            }
            if value == before || reached.contains(&x) {
                break;
            }
            reached.push(x.clone());
        }
        best = best.max(value);
    }
    best
}

/// The best setting of a station that keeps all, the others staying as they are.
fn respond(
    cells: &Cells,
    (x, value): (&mut Vec<f64>, &mut f64),
    station: usize,
    levels: &[f64],
    coarsely: bool,
    keeps: &dyn Fn(&[f64]) -> bool,
) {
    let truth = FIDELITY_SAMPLES.len() - 1;
    let mut trial = x.clone();
    for alpha in ALPHA {
        for p0 in levels.iter().step_by(if coarsely { COARSE } else { 1 }) {
            (trial[2 * station], trial[2 * station + 1]) = (*p0, alpha);
            // The sum first: it is quicker, and mostly less than what is known.
            let found = cells.value(truth, &trial);
            if found > *value && keeps(&cells.kpis(truth, &trial)) {
                (*value, *x) = (found, trial.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::random::Purpose;
    use super::super::Rrm;
    use super::*;

    fn search(cells: &Cells) -> Search {
        Search::new(&cells.gains, &cells.path_losses)
    }

    /// Every so-many-th choice of a station, in blocks of three that end where α changes.
    fn thinned(station: Station, every: usize) -> Station {
        let mut thin = Station { choices: Vec::new(), block: Vec::new(), quietest: Vec::new() };
        for choice in station.choices.into_iter().step_by(every) {
            let count = thin.choices.len();
            let opens = thin.choices.last().is_none_or(|last| last.setting[1] != choice.setting[1]);
            let full = thin.quietest.last().is_some_and(|first| count - first == 3);
            thin.push(choice, opens || full);
        }
        thin
    }

    #[test]
    fn exhaustive_search_finds_what_brute_force_finds_on_a_reduced_grid() {
        for (seed, every) in [(1, 7), (2, 9), (3, 11)] {
            let cells = Rrm::default().task(seed, 0, false);
            let mut search = search(&cells);
            search.stations = search.stations.into_iter().map(|station| thinned(station, every)).collect();
            let counts = [0, 1].map(|b: usize| search.stations[b].choices.len());
            assert!(counts.iter().all(|&count| count > 25));
            let brute = (0..counts[0])
                .flat_map(|k| (0..counts[1]).map(move |l| [k, l]))
                .map(|pair| cells.value(3, &search.settings(&pair)))
                .fold(0.0, f64::max);
            // From worthless guesses, so that the search itself has to find the pair: nothing, all but the
            // best few per cent, all but the very best being left out.
            for share in [0.0, 0.95, 0.999_999] {
                let found = search.best_pair(share * brute, vec![0, 0]);
                assert!((cells.value(3, &search.settings(&found)) - brute).abs() < 1e-9);
            }
            let found = search.best(&mut Random::new(seed, Purpose::Starts, 0));
            assert!((cells.value(3, &found) - brute).abs() < 1e-9);
        }
    }

    #[test]
    fn about_650_power_vectors_per_station_differ_and_stand_for_all_settings() {
        let cells = Rrm::default().task(1, 0, false);
        let search = search(&cells);
        for (station, losses) in search.stations.iter().zip(cells.path_losses.chunks(10)) {
            assert!((600..720).contains(&station.choices.len()), "{}", station.choices.len());
            let bits = |setting| powers(setting, losses).iter().map(|p| p.to_bits()).collect::<Vec<_>>();
            let known: HashSet<_> = station.choices.iter().map(|choice| bits(choice.setting)).collect();
            assert_eq!(known.len(), station.choices.len());
            let all = ALPHA.iter().flat_map(|&alpha| p0_levels().map(move |p0| [p0, alpha]));
            assert!(all.into_iter().all(|setting| known.contains(&bits(setting))));
        }
    }

    #[test]
    fn bounds_hold_for_every_pair() {
        let cells = Rrm::default().task(1, 0, false);
        let mut search = search(&cells);
        search.stations = search.stations.into_iter().map(|station| thinned(station, 11)).collect();
        for b in 0..2 {
            let choices: Vec<usize> = (0..search.stations[b].choices.len()).collect();
            for (&k, bounds) in choices.iter().zip(search.bounds(b, &choices)) {
                for (l, &block) in search.stations[1 - b].block.iter().enumerate() {
                    assert!(search.rate_against(b, k, l) <= bounds[block] + 1e-12);
                }
            }
        }
    }

    #[test]
    fn no_single_station_can_improve_on_the_optimum() {
        for rrm in [Rrm::default(), Rrm::new(3, 32).unwrap()] {
            let cells = rrm.task(2, 1, false);
            let (optimum, at) = (cells.optimum(), cells.optimum_at());
            for b in 0..rrm.stations() {
                for (p0, alpha) in p0_levels().flat_map(|p0| ALPHA.map(|alpha| (p0, alpha))) {
                    let mut x = at.clone();
                    [x[2 * b], x[2 * b + 1]] = [p0, alpha];
                    assert!(cells.value(3, &x) <= optimum + 1e-9);
                }
            }
        }
    }

    #[test]
    fn best_response_from_many_starts_comes_close_to_the_exact_optimum() {
        for seed in 0..3 {
            let cells = Rrm::default().task(seed, 0, false);
            let search = search(&cells);
            let (value, choices) = search.best_response(STARTS, &mut Random::new(seed, Purpose::Starts, 0));
            assert!((value - cells.value(3, &search.settings(&choices))).abs() < 1e-9);
            assert!(value <= cells.optimum() + 1e-9 && value > 0.995 * cells.optimum());
        }
    }
}

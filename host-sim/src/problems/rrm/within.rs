//! The best setting that keeps to bounds on the KPIs: best response over all settings of a station, from several starts.
//!
//! Unlike the search without bounds it is not exact: a better setting may lie where one station's move alone breaks a bound.

use super::{ALPHA, Cells, FIDELITY_SAMPLES, Task};

/// Rounds of a start, at most.
const ROUNDS: usize = 8;
/// In the first round every so-many-th level of P0 is looked at, then all.
const COARSE: usize = 3;

pub(super) fn optimum_within(
    cells: &Cells,
    levels: &[f64],
    start: &[f64],
    keeps: &dyn Fn(&[f64]) -> bool,
) -> f64 {
    let truth = FIDELITY_SAMPLES.len() - 1;
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
                respond(cells, (&mut x, &mut value), station, levels, round == 0, keeps);
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
    use super::super::{Rrm, p0_levels};
    use super::*;

    /// Edge at least 0.9 of what is in use, power at most 3 dB more, on every sixth level of P0.
    #[test]
    fn no_pair_of_a_coarse_grid_is_better_than_what_is_found() {
        let levels: Vec<f64> = p0_levels().step_by(6).collect();
        for seed in 0..6 {
            let (cells, start) = (Rrm::default().task(seed, 4), [-80.0, 0.8].repeat(2));
            let in_use = cells.kpis(3, &start);
            let keeps = |kpis: &[f64]| kpis[0] >= 0.9 * in_use[0] && kpis[1] <= in_use[1] + 3.0;
            let found = optimum_within(&cells, &levels, &start, &keeps);
            let settings = || levels.iter().flat_map(|&p0| ALPHA.map(|alpha| [p0, alpha]));
            let mut best = 0.0;
            for x in settings().flat_map(|a| settings().map(move |b| [a, b].concat())) {
                let value = cells.value(3, &x);
                best = if value > best && keeps(&cells.kpis(3, &x)) { value } else { best };
            }
            assert!(found >= 0.99 * best, "{seed}: {found} below {best}");
        }
    }
}

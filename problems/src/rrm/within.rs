//! The best setting that keeps to bounds on the KPIs: best response over all settings of a station, from several starts.
//!
//! Unlike the search without bounds it is not exact: a better setting may lie where one station's move alone breaks a bound.

use super::{ALPHA, Cells, FIDELITY_SAMPLES, Task, p0_levels};

/// Rounds of a start, at most.
const ROUNDS: usize = 8;
/// In the first round every so-many-th level of P0 is looked at, then all.
const COARSE: usize = 3;

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

//! Typical points: centres of clusters of the sites' best points, none of fewer than [`FEWEST`] sites, so that no site's own
//! point stands in the file.

use host_sim::problems::random::{Purpose, Random};

use super::fit::spread_out;
use super::sites::Gathered;

/// Sites behind a typical point.
pub const FEWEST: usize = 3;

/// Up to `most` typical points in the unit cube, that of the most sites first.
pub fn typical(gathered: &Gathered, most: usize, seed: u64) -> Vec<Vec<f64>> {
    let best: Vec<Vec<f64>> = gathered
        .sites
        .iter()
        .filter_map(|site| site.tasks.iter().rev().find_map(|task| task.recommended.clone()))
        .collect();
    for count in (1..=most.min(best.len() / FEWEST)).rev() {
        let mut random = Random::new(seed, Purpose::Fleet, count);
        let centres = spread_out(&best, count, &mut random);
        let mut sizes = vec![0; count];
        best.iter().for_each(|x| sizes[nearest(&centres, x)] += 1);
        if sizes.iter().all(|size| *size >= FEWEST) {
            let mut order: Vec<usize> = (0..count).collect();
            order.sort_by_key(|i| std::cmp::Reverse(sizes[*i]));
            return order.into_iter().map(|i| centres[i].clone()).collect();
        }
    }
    Vec::new()
}

/// The centre that a point lies nearest to.
pub(super) fn nearest(centres: &[Vec<f64>], x: &[f64]) -> usize {
    let apart = |c: &[f64]| c.iter().zip(x).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
    (0..centres.len()).min_by(|a, b| apart(&centres[*a]).total_cmp(&apart(&centres[*b]))).unwrap_or(0)
}

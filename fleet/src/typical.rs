//! Typical points: centres of [`SITES`] sites' best points, so that no site's own point stands in the file.
//!
//! A site's best point and its nearest two of other sites have a centre. Of all these the first is what is worth most at all sites,
//! as far as their answers tell; each that follows is what adds most for those sites that the ones before it do not serve.

use host_sim::problems::random::{Purpose, Random};

use crate::fit::Fitted;
use crate::{Gathered, TaskData};

/// Sites behind a typical point.
pub const SITES: usize = 3;

/// A point in the unit cube, and the value that sites expect there, larger is better.
#[derive(Clone, Debug, PartialEq)]
pub struct Typical {
    /// The point.
    pub x: Vec<f64>,
    /// The value.
    pub value: f64,
}

/// Up to `most` typical points, that of the most worth first.
pub fn typical(gathered: &Gathered, fitted: &Fitted, most: usize, seed: u64) -> Vec<Typical> {
    let last = |tasks: &[TaskData]| tasks.iter().rposition(|task| task.recommended.is_some());
    let ended: Vec<&TaskData> =
        gathered.sites.iter().filter_map(|site| Some(&site.tasks[last(&site.tasks)?])).collect();
    let best: Vec<&[f64]> = ended.iter().filter_map(|task| task.recommended.as_deref()).collect();
    let centres = centres(&best);
    let mut random = Random::new(seed, Purpose::Fleet, 0);
    let values: Vec<Vec<f64>> =
        ended.iter().filter_map(|task| fitted.expected(task, &centres, &mut random)).collect();
    let sum = |of: &dyn Fn(&Vec<f64>, f64) -> f64, reached: &[f64]| -> f64 {
        values.iter().zip(reached).map(|(values, reached)| of(values, *reached)).sum()
    };
    let mut reached = vec![f64::NEG_INFINITY; values.len()];
    let mut chosen: Vec<Typical> = Vec::new();
    while chosen.len() < most && !values.is_empty() {
        let worth = |i: usize| sum(&|values, reached| values[i].max(reached), &reached);
        let Some(i) = (0..centres.len()).max_by(|a, b| worth(*a).total_cmp(&worth(*b))) else { break };
        if chosen.iter().any(|other| other.x == centres[i]) {
            break;
        }
        let value = sum(&|values, _| values[i], &reached) / values.len() as f64;
        reached.iter_mut().zip(&values).for_each(|(reached, values)| *reached = reached.max(values[i]));
        chosen.push(Typical { x: centres[i].clone(), value });
    }
    chosen
}

/// For every point the centre of it and its nearest.
fn centres(points: &[&[f64]]) -> Vec<Vec<f64>> {
    let apart = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
    if points.len() < SITES {
        return Vec::new();
    }
    let centre = |x: &&[f64]| {
        let mut near = points.to_vec();
        near.sort_by(|a, b| apart(a, x).total_cmp(&apart(b, x)));
        (0..x.len()).map(|k| near[..SITES].iter().map(|near| near[k]).sum::<f64>() / SITES as f64).collect()
    };
    points.iter().map(centre).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_centre_is_of_three_sites_and_stays_in_its_cluster() {
        let points: [&[f64]; 6] = [&[0.0], &[0.03], &[0.06], &[0.9], &[0.93], &[1.0]];
        let found = centres(&points);
        assert!(found[..3].iter().all(|x| (x[0] - 0.03).abs() < 1e-12), "{found:?}");
        assert!(found[3..].iter().all(|x| (x[0] - 2.83 / 3.0).abs() < 1e-12), "{found:?}");
        assert!(centres(&points[..2]).is_empty());
    }
}

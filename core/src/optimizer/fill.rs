//! How candidates are chosen.

use super::candidates::{TOP, last_to_front};
use super::guards::kept;
use super::state::State;
use crate::data::Kind;
use crate::linalg::column;
use crate::random::{Purpose, Random};
use crate::search::{self, Lattice};

/// How far from what is known to be good candidates lie, where there is a floor.
const DISTANCES: [f32; 4] = [0.3, 0.1, 0.03, 0.01];

impl State<'_> {
    /// Fills the candidates: the whole space if it is small, else carried points, the best observed and points around
    /// them (a quarter of all), and a lattice. Returns whether it is the whole space.
    pub fn fill_candidates(&mut self) -> bool {
        let mut random = self.random(Purpose::Candidates, 0);
        let count = self.settings.candidates;
        let lattice = Lattice::new(self.problem.dimensions, count, &mut random);
        let carried = if self.uses_memory() { self.carried() } else { 0 };
        let best = self.best_observed();
        self.memory.candidates.len = 0;
        if lattice.whole.is_none() && self.problem.is_guarded() {
            self.nearby_candidates(&best, &mut random);
        } else if lattice.whole.is_none() {
            let (candidates, data) = (&mut self.memory.candidates, &self.memory.data);
            let points = self.memory.carried.points.as_view();
            for i in 0..carried {
                candidates.push(|x| x.copy_from_slice(column(&points, i)));
            }
            for &i in best.iter().flatten() {
                candidates.push(|x| x.copy_from_slice(data.point(i)));
            }
            let mut pick = 0;
            while candidates.len < count / 4 && best[0].is_some() {
                if let Some(i) = best[pick % TOP] {
                    let radius = search::radius(pick / TOP % 3);
                    let dimensions = self.problem.dimensions;
                    candidates.push(|x| search::around(dimensions, data.point(i), radius, &mut random, x));
                }
                pick += 1;
            }
        }
        let candidates = &mut self.memory.candidates;
        for index in 0..lattice.whole.unwrap_or(count).min(count - candidates.len) {
            candidates.push(|x| lattice.point(self.problem.dimensions, index, x));
        }
        candidates.settle(&self.problem, self.start.deployed.as_deref(), &self.conditions);
        lattice.whole.is_some()
    }

    /// Candidates where allowed points are, three quarters of all: the point in use, carried points, the best observed,
    /// and points around these and around all that was found above the floor, at four distances.
    fn nearby_candidates(&mut self, best: &[Option<usize>; TOP], random: &mut Random) {
        let count = self.settings.candidates * 3 / 4;
        let (floor, from, near) = (self.task.trials.floor.at, self.task.remembered, self.near());
        let (candidates, data) = (&mut self.memory.candidates, &self.memory.data);
        let (guards, watched) = (self.problem.guards, &*self.memory.guards);
        // What was measured under other conditions says little of the bounds here.
        let fine =
            |i: &usize| near.is_finite() || data.z()[*i] >= floor && kept(guards, watched, data.kpis(*i));
        let close = |i: &usize| self.problem.between_conditions(data.point(*i), &self.conditions) <= near;
        let deployed = self.start.deployed.as_deref().unwrap_or_default();
        candidates.push(|x| x.copy_from_slice(deployed));
        let carried = self.memory.carried.points.as_view();
        for i in 0..self.memory.carried.values.len() {
            candidates.push(|x| x.copy_from_slice(column(&carried, i)));
        }
        for &i in best.iter().flatten() {
            candidates.push(|x| x.copy_from_slice(data.point(i)));
        }
        let good = || (from..data.len()).filter(|&i| data.is_believed(i)).filter(fine).filter(close);
        let known = good().count();
        let mut pick = 0;
        while candidates.len < count {
            let centre = match pick % 2 {
                0 => best[pick / 2 % TOP],
                _ if known > 0 => good().nth(random.below(known)),
                _ => None,
            };
            let centre = centre.map_or(deployed, |i| data.point(i));
            let radius = DISTANCES[pick / 2 / TOP % DISTANCES.len()];
            candidates.push(|x| search::around(self.problem.dimensions, centre, radius, random, x));
            pick += 1;
        }
    }

    /// All points that were observed in this task, at fidelity `least` or above, and whether any was chosen: initial
    /// points are not. Past measurements may have been made beyond the limits.
    pub fn observed_candidates(&mut self, least: usize) -> bool {
        let (candidates, data) = (&mut self.memory.candidates, &self.memory.data);
        candidates.len = 0;
        let admits = |i: &usize| data.is_believed(*i) && self.problem.admits(data.point(*i));
        let fine = |i: &usize| usize::from(data.fidelity()[*i]) >= least;
        let mut chosen = false;
        for i in (self.task.remembered..data.seen()).filter(admits).filter(fine) {
            candidates.push(|x| x.copy_from_slice(data.point(i)));
            chosen |= data.kind(i) != Kind::Initial;
        }
        candidates.settle(&self.problem, None, &self.conditions);
        chosen
    }

    /// New candidates around the best ones.
    pub fn refine(&mut self, refinement: usize) {
        let mut random = self.random(Purpose::Refine, refinement as u32);
        let count = (self.settings.candidates / 4).max(TOP);
        let candidates = &mut self.memory.candidates;
        let best = candidates.best.clone();
        candidates.len = 0;
        for centre in best.iter().cycle().take(count) {
            let (dimensions, radius) = (self.problem.dimensions, search::radius(refinement));
            candidates.push(|x| search::around(dimensions, &centre.x, radius, &mut random, x));
        }
        candidates.settle(&self.problem, self.start.deployed.as_deref(), &self.conditions);
        self.memory.clear_sums();
    }

    /// How far away in conditions this task's observations are on average; infinite where there are no conditions.
    fn near(&self) -> f32 {
        if self.problem.conditions() == 0 {
            return f32::INFINITY;
        }
        let (data, own) = (&self.memory.data, self.task.remembered..self.memory.data.len());
        let gap = |i: usize| self.problem.between_conditions(data.point(i), &self.conditions);
        // Somewhat more, lest rounding leaves none.
        1.001 * own.clone().map(gap).sum::<f32>() / own.len().max(1) as f32
    }

    /// The observations of this task with the largest values, best first, limits and guards kept to; where there are conditions,
    /// of those nearer to the ones at hand than the average.
    pub fn best_observed(&self) -> [Option<usize>; TOP] {
        let (data, z, near) = (&self.memory.data, self.memory.data.z(), self.near());
        let close = |i: &usize| self.problem.between_conditions(data.point(*i), &self.conditions) <= near;
        let mut best = [None; TOP];
        let keeps = |i: usize| kept(self.problem.guards, self.memory.guards, data.kpis(i));
        let admits = |i: &usize| data.is_believed(*i) && self.problem.admits(data.point(*i)) && keeps(*i);
        for i in (self.task.remembered..z.len()).filter(admits).filter(close) {
            let better = |other: &Option<usize>| other.is_none_or(|other| z[i] > z[other]);
            if let Some(rank) = best.iter().position(better) {
                best[TOP - 1] = Some(i);
                last_to_front(&mut best[rank..]);
            }
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Ask, Details, Dimension, Fidelity, Floor, Level, Method, Problem, Scaling, Settings, memory,
    };
    use core::ops::Range;
    extern crate std;
    use std::vec::Vec;

    const CUBE: &[Dimension<'static>] = &[Dimension::Interval { low: 0.0, high: 1.0 }; 4];
    const PROBLEM: Problem<'static> = Problem {
        dimensions: CUBE,
        fidelities: &[Fidelity { cost: 1.0, samples: 1, noise: 0.01 }],
        budget: 100.0,
        deployed: Some(&[0.5; 4]),
        ..Problem::PLAIN
    };
    const COUNT: usize = 256;
    const BEST: Range<usize> = 0..4;
    const BAD: Range<usize> = 16..24;

    /// Of 24 points measured before the task the first four are the best, the last eight bad. Hands over the candidates of the
    /// second query (the first is the point in use), and those points.
    fn candidates(floor: Option<Floor>) -> (Vec<[f32; 4]>, Vec<[f32; 4]>) {
        let mut memory = std::boxed::Box::new(<memory!(
            dimensions: 4, fidelities: 1, observations: 40, particles: 1, map: Ard, candidates: COUNT
        )>::new());
        let scaling = Scaling::Fixed { mean: 0.0, deviation: 1.0 };
        let details = Details { scaling, ..Settings::DEFAULT.details };
        let settings = Settings { initial: 0, candidates: COUNT, details, ..Settings::DEFAULT };
        let settings = settings.with_method(Method::MfMes);
        let mut tuner = memory.start(Problem { floor, ..PROBLEM }, settings, 1).unwrap();
        let mut random = Random::new(9, 0, 0, Purpose::Candidates, 0);
        let past: Vec<[f32; 4]> = (0..24).map(|_| core::array::from_fn(|_| random.uniform())).collect();
        for (i, point) in past.iter().enumerate() {
            let y = if BEST.contains(&i) {
                2.0
            } else if BAD.contains(&i) {
                -2.0
            } else {
                1.0
            };
            tuner.add_past(point, 0, y).unwrap();
        }
        let Ask::Query(first) = tuner.ask() else { panic!("the point in use is asked first") };
        tuner.tell(first, 1.0).unwrap();
        let Ask::Query(_) = tuner.ask() else { panic!("there is budget left") };
        tuner.state.fill_candidates();
        let points = &tuner.state.memory.candidates.points;
        let found = (0..tuner.state.memory.candidates.len).map(|i| core::array::from_fn(|j| points[(j, i)]));
        (found.collect(), past)
    }

    fn distance(a: &[f32; 4], b: &[f32; 4]) -> f32 {
        a.iter().zip(b).fold(0.0, |largest, (a, b)| (a - b).abs().max(largest))
    }

    /// How many of the points lie within `radius` of a centre.
    fn near(points: &[[f32; 4]], centres: &[[f32; 4]], radius: f32) -> usize {
        points.iter().filter(|x| centres.iter().any(|centre| distance(x, centre) < radius)).count()
    }

    #[test]
    fn a_quarter_of_the_candidates_lies_around_the_best_observed_the_rest_anywhere() {
        let (found, past) = candidates(None);
        assert_eq!(found.len(), COUNT);
        let (some, rest) = found.split_at(COUNT / 4);
        assert_eq!(near(some, &past[BEST], 0.5), COUNT / 4);
        // The four themselves, and around each at three distances.
        assert_eq!(near(some, &past[BEST], 1e-6), 4);
        let at = [0.02, 0.06, 0.5].map(|radius| near(some, &past[BEST], radius));
        assert!(at[0] > 12 && at[1] > at[0] + 6 && at[2] > at[1] + 6, "{at:?}");
        assert!(past[BEST].iter().all(|centre| near(some, &[*centre], 0.06) > 5));
        let halves = (0..4).map(|j| rest.iter().filter(|x| x[j] < 0.5).count());
        assert!(
            halves.clone().all(|below| below.abs_diff(rest.len() / 2) < 16),
            "{:?}",
            halves.collect::<Vec<_>>()
        );
    }

    #[test]
    fn with_a_floor_three_quarters_lie_around_what_was_found_good() {
        let (found, past) = candidates(Some(Floor { level: Level::Value(0.0), risk: 0.05 }));
        assert_eq!(found.len(), COUNT);
        let some = &found[..COUNT * 3 / 4];
        assert_eq!(near(some, &[[0.5; 4]], 1e-6), 1, "the point in use");
        // Close by, where it is clear around what; every other one around one of the four best.
        let (best, good, bad) = (
            near(some, &past[BEST], 0.05),
            near(some, &past[4..BAD.start], 0.05),
            near(some, &past[BAD], 0.05),
        );
        assert!(best > 40 && good > 20 && good < best, "{best} {good}");
        assert_eq!(bad, 0);
        let wide = some.iter().filter(|x| past.iter().all(|centre| distance(x, centre) > 0.1)).count();
        assert!(wide > 20, "{wide} farther away");
    }
}

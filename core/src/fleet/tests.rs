extern crate std;

use super::*;
use crate::error::ProblemPart;
use crate::gp::{Common, Fallbacks, Observations, Particle, Posterior, Workspace};
use crate::kernel::{Offsets, PairSums};
use crate::random::{Purpose, Random};
use crate::{Dimension, Fidelity, Map};
use std::vec::Vec;

const D: usize = 3;
const T: usize = 21;
const M: usize = 2;
const NOISE: [f32; M] = [0.02, 0.01];
const OFFSETS: Offsets = Offsets { length: -1.2, signal: 0.0, gamma: -2.0 };
const PROBLEM: Problem<'static> = Problem {
    dimensions: &[Dimension::Interval { low: -1.0, high: 3.0 }; D],
    fidelities: &[
        Fidelity { cost: 1.0, samples: 1, noise: NOISE[0] },
        Fidelity { cost: 4.0, samples: 1, noise: NOISE[1] },
    ],
    budget: 10.0,
    ..Problem::PLAIN
};

fn header(sets: usize) -> Header {
    let problem = ProblemSums::of(&PROBLEM);
    let (mean, deviation, spread, margin) = (3.0, 2.0, 0.5, 1.0);
    let learnt_from = [40, 400, 30_000];
    Header {
        dimensions: D,
        fidelities: M,
        centres: 5,
        modes: 3,
        sets,
        points: 2,
        problem,
        learnt_from,
        mean,
        deviation,
        spread,
        margin,
    }
}

fn random() -> Random {
    Random::new(5, 0, 0, Purpose::Prior, 0)
}

fn bytes(header: &Header) -> Vec<u8> {
    let (mut random, mut bytes) = (random(), Vec::new());
    let numbers = (0..header.parts().iter().sum()).map(|_| random.normal());
    header.write(numbers, |piece| bytes.extend_from_slice(piece));
    bytes
}

#[test]
fn what_is_written_is_read_and_says_what_it_is_of() {
    for sets in [1, M] {
        let (header, bytes) = (header(sets), bytes(&header(sets)));
        let fleet = Fleet::read(&bytes).unwrap();
        assert_eq!(*fleet.header(), header);
        assert_eq!(fleet.fits(&PROBLEM), Ok(()));
        let dimensions = &[Dimension::Interval { low: -1.0, high: 4.0 }; D];
        let other = Problem { dimensions, ..PROBLEM };
        assert_eq!(fleet.fits(&other), Err(SnapshotError::Problem(ProblemPart::Parameters)));
        // What a site measures with may differ from the others'.
        let fidelities = &[Fidelity { cost: 2.0, ..PROBLEM.fidelities[0] }, PROBLEM.fidelities[1]];
        assert_eq!(fleet.fits(&Problem { fidelities, ..PROBLEM }), Ok(()));
        assert_eq!(
            fleet.fits(&Problem { fidelities: &fidelities[..1], ..PROBLEM }),
            Err(SnapshotError::Problem(ProblemPart::Fidelities))
        );
        let narrower = Problem { dimensions: &PROBLEM.dimensions[1..], ..PROBLEM };
        assert_eq!(fleet.fits(&narrower), Err(SnapshotError::Problem(ProblemPart::Parameters)));
    }
}

#[test]
fn no_other_bytes_pass() {
    let bytes = bytes(&header(M));
    for length in 0..bytes.len() {
        assert_eq!(Fleet::read(&bytes[..length]).unwrap_err(), SnapshotError::Truncated, "{length}");
    }
    for place in 0..bytes.len() {
        for bit in [1, 0x80] {
            let mut damaged = bytes.clone();
            damaged[place] ^= bit;
            assert!(Fleet::read(&damaged).is_err(), "byte {place}");
        }
    }
    let absurd = Header { deviation: 0.0, ..header(1) };
    let mut written = Vec::new();
    absurd.write((0..absurd.parts().iter().sum()).map(|_| 0.5), |piece| written.extend_from_slice(piece));
    assert_eq!(Fleet::read(&written).unwrap_err(), SnapshotError::Contents);
}

/// Mean and modes in `f64`, straight from the bytes.
fn terms(fleet: &Fleet<'_>, x: &[f32], m: usize) -> Vec<f64> {
    let part = |i: usize| -> Vec<f64> { fleet.part(i).iter().map(|n| number(n).into()).collect() };
    let (a, centres, weights) = (part(1), part(2), part(3));
    let width = fleet.header.modes + 1;
    let x: Vec<f64> = x.iter().map(|x| f64::from(*x)).collect();
    let moved: Vec<f64> = a.chunks(D).map(|row| row.iter().zip(&x).map(|(a, x)| a * x).sum()).collect();
    let bump = |c: &[f64]| libm::exp(-c.iter().zip(&moved).map(|(c, u)| (u - c) * (u - c)).sum::<f64>());
    let features: Vec<f64> = centres.chunks(D).map(bump).chain([1.0]).collect();
    let set = &weights[m.min(fleet.header.sets - 1) * features.len() * width..];
    (0..width).map(|k| features.iter().enumerate().map(|(j, f)| f * set[j * width + k]).sum()).collect()
}

/// The same Gaussian process in `f64`.
struct Exact<'a> {
    fleet: Fleet<'a>,
    theta: Vec<f64>,
    points: Vec<Vec<f32>>,
    fidelity: Vec<u8>,
    z: Vec<f32>,
}

impl Exact<'_> {
    fn kernel(&self, (x, m): (&[f32], usize), (y, n): (&[f32], usize)) -> f64 {
        let length = |j: usize| libm::exp(self.theta[j] + f64::from(OFFSETS.length));
        let apart: f64 = (0..D).map(|j| libm::pow(f64::from(x[j] - y[j]) / length(j), 2.0)).sum();
        let gap = m.abs_diff(n) as f64;
        let (signal, gamma) =
            (libm::exp(self.theta[D]), libm::exp(self.theta[D + 1] + f64::from(OFFSETS.gamma)));
        let common: f64 = terms(&self.fleet, x, m)[1..]
            .iter()
            .zip(&terms(&self.fleet, y, n)[1..])
            .map(|(a, b)| a * b)
            .sum();
        signal * libm::exp(-0.5 * apart - gamma * gap * gap) + common
    }

    fn factor(&self) -> Vec<Vec<f64>> {
        let at = |i: usize| (&self.points[i][..], usize::from(self.fidelity[i]));
        let mut l: Vec<Vec<f64>> = Vec::new();
        for i in 0..T {
            let mut row: Vec<f64> = Vec::new();
            for (j, other) in l.iter().enumerate() {
                let sum = self.kernel(at(i), at(j)) - (0..j).map(|k| row[k] * other[k]).sum::<f64>();
                row.push(sum / other[j]);
            }
            let own = self.kernel(at(i), at(i)) + f64::from(NOISE[at(i).1]);
            row.push(libm::sqrt(own - row.iter().map(|x| x * x).sum::<f64>()));
            l.push(row);
        }
        l
    }

    fn solve(l: &[Vec<f64>], mut b: Vec<f64>) -> Vec<f64> {
        for i in 0..T {
            b[i] = (b[i] - (0..i).map(|k| l[i][k] * b[k]).sum::<f64>()) / l[i][i];
        }
        b
    }

    fn whitened(&self, l: &[Vec<f64>]) -> Vec<f64> {
        let mean = |i: usize| terms(&self.fleet, &self.points[i], self.fidelity[i].into())[0];
        Self::solve(l, (0..T).map(|i| f64::from(self.z[i]) - mean(i)).collect())
    }

    fn log_likelihood(&self) -> f64 {
        let l = self.factor();
        let each = self.whitened(&l).into_iter().enumerate();
        let sum: f64 = each.map(|(i, w)| w * w + 2.0 * libm::log(l[i][i])).sum();
        -0.5 * (sum + T as f64 * libm::log(2.0 * core::f64::consts::PI))
    }

    fn posterior(&self, x: &[f32], m: usize) -> [f64; 3] {
        let (l, truth) = (self.factor(), M - 1);
        let with = |m: usize| {
            Self::solve(
                &l,
                (0..T).map(|i| self.kernel((&self.points[i], self.fidelity[i].into()), (x, m))).collect(),
            )
        };
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let (own, of_truth) = (with(m), with(truth));
        [
            terms(&self.fleet, x, m)[0] + dot(&own, &self.whitened(&l)),
            self.kernel((x, m), (x, m)) - dot(&own, &own),
            self.kernel((x, m), (x, truth)) - dot(&own, &of_truth),
        ]
    }
}

#[test]
fn likelihood_gradient_and_posterior_agree_with_double_precision() {
    for sets in [1, M] {
        let bytes = bytes(&header(sets));
        let (fleet, mut random) = (Fleet::read(&bytes).unwrap(), random());
        let points: Vec<Vec<f32>> = (0..T).map(|_| (0..D).map(|_| random.uniform()).collect()).collect();
        let fidelity: Vec<u8> = (0..T).map(|i| (i % M) as u8).collect();
        let z: Vec<f32> = (0..T).map(|_| random.normal()).collect();
        let theta = [0.2f32, -0.3, 0.1, -0.5, 0.3];
        let exact = Exact {
            fleet,
            theta: theta.map(f64::from).to_vec(),
            points: points.clone(),
            fidelity: fidelity.clone(),
            z: z.clone(),
        };
        let model = Model::plain(Map::Ard, D, OFFSETS);
        let mut count = Fallbacks::default();
        let particle = Particle::new(&model, &theta, &NOISE, &mut count);
        let flat = points.concat();
        let described: Vec<Terms> =
            points.iter().zip(&fidelity).map(|(x, m)| fleet.at(x, usize::from(*m))).collect();
        let data = Observations {
            points: Matrix::from_slice(&flat, D, T),
            fidelity: &fidelity,
            z: &z,
            counts: &[],
            common: Some(Common { fleet, terms: &described }),
        };
        let mut words = std::vec![0; Workspace::words(24, D)];
        let mut gp = Workspace::new(&mut words, 24, D);
        for first in (0..T).step_by(LANES) {
            gp.factor(&particle, &data, first, &mut count).unwrap();
        }
        let log = gp.condition(&data);
        assert!((f64::from(log) - exact.log_likelihood()).abs() < 2e-3, "{log} {}", exact.log_likelihood());
        for x in points.iter().take(3).cloned().chain([std::vec![0.5; D], std::vec![0.9, 0.1, 0.4]]) {
            let mut out = [Posterior::default(); M];
            gp.posterior(&particle, &data, Matrix::from_slice(&x, D, 1), M, &mut out);
            for (m, found) in out.iter().enumerate() {
                let expected = exact.posterior(&x, m);
                for (found, expected) in [found.mean, found.variance, found.covariance].iter().zip(expected) {
                    assert!((f64::from(*found) - expected).abs() < 1e-3, "{x:?} {m}: {out:?} {expected}");
                }
            }
        }
        gp.solve(T);
        let (mut gradient, mut sums) = ([0.0; D + 2], PairSums::default());
        for first in (0..T).step_by(LANES) {
            gp.gradient(&particle, &data, first, &mut gradient, &mut sums);
        }
        model.finish_gradient(&particle.hyper, &sums, &mut gradient);
        for i in 0..D + 2 {
            let at = |by: f64| {
                let mut moved = exact.theta.clone();
                moved[i] += by;
                Exact {
                    theta: moved,
                    points: points.clone(),
                    fidelity: fidelity.clone(),
                    z: z.clone(),
                    fleet,
                }
                .log_likelihood()
            };
            let slope = (at(1e-5) - at(-1e-5)) / 2e-5;
            assert!(
                (slope - f64::from(gradient[i])).abs() < 2e-3 * (1.0 + slope.abs()),
                "{i}: {slope} {gradient:?}"
            );
        }
    }
}

//! Time of the parts that everything else waits for: `cargo bench --package foretune-core --features internals`.
//!
//! `cargo test --bench time` runs each once, as continuous integration does: that shows that they
//! work, and no noise can fail it. What guards against regressions is the count of instructions, `cargo xtask count`.

use std::hint::black_box;
use std::time::{Duration, Instant};

use foretune_core::Settings;
use foretune_core::internals::features::{Forward, forward};
use foretune_core::internals::gp::{Observations, Particle, Posterior, Workspace};
use foretune_core::internals::kernel::{Model, PairSums};
use foretune_core::internals::linalg::{LANES, Matrix, MatrixMut};
use foretune_core::internals::math;

const D: usize = 6;
const T: usize = 40;
const DEEP: Model = Settings::PAPER.model(D);
const ARD: Model = Settings::DEFAULT.model(D);

/// Numbers without much structure, around zero.
fn numbers(count: usize, scale: f32) -> Vec<f32> {
    (0..count).map(|i| ((i * 7919 % 1009) as f32 / 1009.0 - 0.5) * scale).collect()
}

/// How long each is repeated; cargo asks for a benchmark with `--bench`.
fn patience() -> Duration {
    Duration::from_secs(if std::env::args().any(|word| word == "--bench") { 2 } else { 0 })
}

/// Prints the least time, over which others that share the machine have no power.
fn bench(name: &str, mut act: impl FnMut()) {
    let (begin, mut least) = (Instant::now(), Duration::MAX);
    while least == Duration::MAX || begin.elapsed() < patience() {
        let start = Instant::now();
        act();
        least = least.min(start.elapsed());
    }
    println!("{name:<50} {least:>12.2?}");
}

fn network() {
    let (theta, x) = (numbers(DEEP.parameters(), 0.3), numbers(LANES * D, 1.0));
    let mut rows = [[0.0; LANES * 64]; 3];
    bench("deep map, forward, 8 points", || {
        let [first, second, features] = rows.each_mut().map(|rows| MatrixMut::from_slice(rows, 64, LANES));
        let points = Matrix::from_slice(&x, D, LANES);
        let block = Forward { points, hidden: [first, second], features };
        forward(DEEP.map, DEEP.widths(), 0.0, black_box(&theta), block);
    });
}

fn process() {
    for (name, model) in [("deep", DEEP), ("ard", ARD)] {
        let (theta, x, z) = (numbers(model.parameters(), 0.3), numbers(T * D, 2.0), numbers(T, 2.0));
        let fidelity: Vec<u8> = (0..T).map(|i| (i % 4) as u8).collect();
        let points = Matrix::from_slice(&x, D, T);
        let data = Observations { points, fidelity: &fidelity, z: &z, counts: &[], common: None };
        let mut fallbacks = Default::default();
        let particle = Particle::new(&model, &theta, &[0.1; 4], &mut fallbacks);
        let mut words = vec![0; Workspace::words(T, 64)];
        let mut gradient = vec![0.0; model.parameters()];
        bench(&format!("{name}, likelihood and gradient, {T} observations"), || {
            let mut gp = Workspace::new(&mut words, T, 64);
            for first in (0..T).step_by(LANES) {
                gp.factor(&particle, &data, first, &mut fallbacks).expect("finite");
            }
            black_box(gp.condition(&data));
            gp.solve(T);
            let mut sums = PairSums::default();
            for first in (0..T).step_by(LANES) {
                gp.gradient(&particle, &data, first, black_box(&mut gradient), &mut sums);
            }
        });
        let mut gp = Workspace::new(&mut words, T, 64);
        for first in (0..T).step_by(LANES) {
            gp.factor(&particle, &data, first, &mut fallbacks).expect("finite");
        }
        gp.condition(&data);
        let mut out = [Posterior::default(); LANES * 4];
        bench(&format!("{name}, posterior, 8 points, 4 fidelities"), || {
            gp.posterior(&particle, &data, points.columns(0, LANES), 4, black_box(&mut out));
        });
    }
}

fn functions() {
    let inputs = numbers(1024, 8.0);
    for (name, function) in [
        ("exp", math::exp_slice as fn(&mut [f32])),
        ("tanh", math::tanh_slice),
        ("ln Φ", |g| g.iter_mut().for_each(|v| *v = math::ln_normal_cdf(*v))),
    ] {
        let mut values = inputs.clone();
        bench(&format!("{name} of 1024 numbers"), || {
            values.copy_from_slice(&inputs);
            function(black_box(&mut values));
        });
    }
}

fn main() {
    network();
    process();
    functions();
}

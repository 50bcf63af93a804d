//! Reading and comparing the reference's numbers, and the core on its Gaussian processes.

use foretune_core::internals::features::{LAYERS, Map};
use foretune_core::internals::gp::{Fallbacks, Observations, Particle, Posterior, Workspace};
use foretune_core::internals::kernel::{MAX_FIDELITIES, Model, Offsets, PairSums};
use foretune_core::internals::linalg::{LANES, Matrix};
use serde_json::Value;

pub fn path(name: &str) -> String {
    format!("{}/golden/{name}", env!("CARGO_MANIFEST_DIR"))
}

pub fn read(name: &str) -> Value {
    let text = std::fs::read_to_string(path(name)).expect("golden data lie beside the tests");
    serde_json::from_str(&text).expect("golden data are JSON")
}

/// The elements of an array, which must not be empty: a loop over nothing tests nothing.
pub fn list(value: &Value) -> &[Value] {
    let list = value.as_array().expect("an array");
    assert!(!list.is_empty());
    list
}

pub fn text(value: &Value) -> &str {
    value.as_str().expect("a string")
}

pub fn count(value: &Value) -> usize {
    value.as_u64().expect("a count") as usize
}

pub fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

/// Expected numbers; nested arrays one after the other.
pub fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(list) => list.iter().flat_map(numbers).collect(),
        _ => vec![number(value)],
    }
}

/// An input, exact in `f32`.
pub fn float(value: &Value) -> f32 {
    number(value) as f32
}

/// Inputs, exact in `f32`; nested arrays one after the other.
pub fn floats(value: &Value) -> Vec<f32> {
    numbers(value).into_iter().map(|number| number as f32).collect()
}

/// `|got − want|`.
pub fn error(got: f32, want: f64) -> f64 {
    (f64::from(got) - want).abs()
}

/// The largest of some errors; NaN counts as infinite.
pub fn largest(errors: impl Iterator<Item = f64>) -> f64 {
    errors.fold(0.0, |largest, error| if error.is_nan() { f64::INFINITY } else { error.max(largest) })
}

/// The largest `|got − want|`.
pub fn largest_error(got: &[f32], want: &[f64]) -> f64 {
    assert_eq!(got.len(), want.len());
    largest(got.iter().zip(want).map(|(&got, &want)| error(got, want)))
}

/// The largest size of an entry.
pub fn size(values: &[f64]) -> f64 {
    largest(values.iter().map(|value| value.abs()))
}

/// Fails if `got` is off by more than `relative · |want| + absolute`.
#[track_caller]
pub fn assert_near(got: f32, want: f64, relative: f64, absolute: f64, what: &str) {
    let allowed = relative * want.abs() + absolute;
    assert!(error(got, want) <= allowed, "{what}: {got} instead of {want}, {allowed:.1e} allowed");
}

/// Fidelities of all golden data.
pub const FIDELITIES: usize = 4;

/// The positive parameters of the golden data have no offsets.
const NO_OFFSETS: Offsets = Offsets { length: 0.0, signal: 0.0, gamma: 0.0 };

pub struct Case {
    pub name: String,
    pub model: Model,
    theta: Vec<f32>,
    noise: [f32; MAX_FIDELITIES],
    points: Vec<f32>,
    fidelity: Vec<u8>,
    z: Vec<f32>,
    candidates: Vec<f32>,
}

/// What the core makes of a case; `posterior[candidate · FIDELITIES + m]`.
pub struct Outcome {
    pub posterior: Vec<Posterior>,
    pub likelihood: f32,
    pub gradient: Vec<f32>,
    pub fallbacks: Fallbacks,
}

impl Case {
    /// A case with the ARD map from a file, or with the linear one, if there are shears.
    pub fn ard(file: &Value, case: &Value) -> Case {
        let mut theta = floats(&case["ln_lengthscales"]);
        theta.extend([float(&case["ln_scale"]), float(&case["ln_gamma"])]);
        let shears = case.get("shears").map(floats);
        let map = if shears.is_some() { Map::Linear } else { Map::Ard };
        theta.extend(shears.unwrap_or_default());
        Case::new(file, case, map, theta)
    }

    /// A case with the deep map, whose weights are made from a seed.
    pub fn deep(file: &Value, case: &Value) -> Case {
        let width = count(&case["width"]);
        let d = list(&list(&file["data"][text(&case["data"])]["x"])[0]).len();
        let mut theta = vec![0.0; Map::Deep { width }.parameters(d)];
        let (seed, bounds) = (case["seed"].as_u64().expect("a seed"), floats(&case["bound"]));
        for i in 0..theta.len() {
            let unit = (splitmix64(seed + i as u64) >> 40) as f32 / 8_388_608.0 - 1.0;
            let Place { layer, index } = place(i, d, width);
            theta[index] = unit * bounds[layer];
        }
        theta.push(float(&case["ln_gamma"]));
        Case::new(file, case, Map::Deep { width }, theta)
    }

    fn new(file: &Value, case: &Value, map: Map, theta: Vec<f32>) -> Case {
        let (data, t) = (&file["data"][text(&case["data"])], count(&case["t"]));
        let z = case.get("target").map_or(&data["y"], |target| &file["targets"][text(target)]);
        let dimensions = list(&list(&data["x"])[0]).len();
        let mut noise = [f32::NAN; MAX_FIDELITIES];
        noise[..FIDELITIES].copy_from_slice(&floats(&case["noise"]));
        let model = Model::plain(map, dimensions, NO_OFFSETS);
        assert_eq!(theta.len(), model.parameters());
        Case {
            name: text(&case["name"]).to_string(),
            model,
            theta,
            noise,
            points: floats(&data["x"])[..t * dimensions].to_vec(),
            fidelity: numbers(&data["m"])[..t].iter().map(|&m| m as u8).collect(),
            z: floats(z)[..t].to_vec(),
            candidates: floats(&data["candidates"]),
        }
    }

    /// Runs the core with room for 128 observations and `F` features; the noise is not floored.
    pub fn run<const F: usize>(&self) -> Outcome {
        let mut words = vec![0; Workspace::words(128, F)];
        let mut workspace = Workspace::new(&mut words, 128, F);
        let hyper = self.model.hyper(&self.theta);
        let mut particle = Particle::new(&self.model, &self.theta, &[], &mut Default::default());
        (particle.hyper, particle.noise) = (hyper, self.noise);
        let stride = self.model.dimensions;
        let points = Matrix::from_slice(&self.points, stride, self.z.len());
        let data = Observations { points, fidelity: &self.fidelity, z: &self.z, counts: &[], common: None };
        let (t, mut fallbacks) = (self.z.len(), Fallbacks::default());
        for first in (0..t).step_by(LANES) {
            workspace.factor(&particle, &data, first, &mut fallbacks).expect("the kernel is finite");
        }
        let likelihood = workspace.condition(&data);
        workspace.solve(t);
        let (mut gradient, mut sums) = (vec![0.0; self.theta.len()], PairSums::default());
        for first in (0..t).step_by(LANES) {
            workspace.gradient(&particle, &data, first, &mut gradient, &mut sums);
        }
        self.model.finish_gradient(&hyper, &sums, &mut gradient);
        let mut posterior = Vec::new();
        for block in self.candidates.chunks(LANES * stride) {
            let mut out = vec![Posterior::default(); block.len() / stride * FIDELITIES];
            let points = Matrix::from_slice(block, stride, block.len() / stride);
            workspace.posterior(&particle, &data, points, FIDELITIES, &mut out);
            posterior.extend(out);
        }
        Outcome { posterior, likelihood, gradient, fallbacks }
    }
}

/// Where one number of the deep map lies.
pub struct Place {
    pub layer: usize,
    /// In the core's `θ`, whose weights are stored inputs × outputs.
    pub index: usize,
}

/// Finds entry `i` of the reference's W1, b1, W2, b2, W3, b3, whose weights are stored outputs × inputs.
pub fn place(i: usize, d: usize, width: usize) -> Place {
    let (mut from, mut inputs) = (0, d);
    for layer in 0..LAYERS {
        let (own, size) = (i - from, inputs * width);
        if own < size {
            return Place { layer, index: from + own % inputs * width + own / inputs };
        } else if own < size + width {
            return Place { layer, index: i };
        }
        (from, inputs) = (from + size + width, width);
    }
    panic!("the map has no parameter {i}");
}

/// The hash that the reference makes its weights from: the output of SplitMix64 at a state.
fn splitmix64(state: u64) -> u64 {
    let mut z = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[test]
fn the_hash_has_its_published_first_output() {
    assert_eq!(splitmix64(0), 0xE220_A839_7B1D_CDAF);
}

#[test]
fn every_parameter_of_the_reference_has_its_own_place() {
    let (d, width) = (3, 5);
    let mut places: Vec<usize> = (0..80).map(|i| place(i, d, width).index).collect();
    assert_eq!(places[1], width, "the second input of the first output");
    places.sort_unstable();
    assert!(places.into_iter().eq(0..Map::Deep { width }.parameters(d)));
}

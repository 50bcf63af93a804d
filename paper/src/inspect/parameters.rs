//! One particle in natural parameters, as the file has it, and as the core's `θ`.
//!
//! The core's deep map has one width for all layers. Layers of different sizes are padded with units whose weights and
//! biases are zero: they are `tanh 0 = 0`, so no bit of the result changes, and their gradients are left out.

use foretune_core::internals::features::LAYERS;
use foretune_core::internals::kernel::{Model, Offsets};
use foretune_core::{MAX_FIDELITIES, Map};
use serde::{Deserialize, Serialize};

use super::case::{Number, all, exactly, one, required, rows};
use super::field;
use host_sim::error::Error;

const MAX_WIDTH: usize = 512;

/// Logarithms as they are.
const NO_OFFSETS: Offsets = Offsets { length: 0.0, signal: 0.0, gamma: 0.0 };

/// Logarithm that stands for zero: the core's `exp` of it is exactly 0.
const LN_ZERO: f32 = -1e3;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kernel {
    Ard,
    Deep,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Natural {
    lengthscales: Option<Vec<Number>>,
    signal_variance: Option<Number>,
    #[serde(rename = "W")]
    weights: Option<Vec<Vec<Vec<Number>>>>,
    #[serde(rename = "b")]
    biases: Option<Vec<Vec<Number>>>,
    gamma: Number,
    noise: Noise,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "must be a finite number, or a list of such with one per fidelity")]
enum Noise {
    All(Number),
    Each(Vec<Number>),
}

#[derive(Clone, Debug)]
pub struct Parameters {
    /// Name in the file: `params` or `particles[3]`.
    pub name: String,
    pub model: Model,
    pub theta: Vec<f32>,
    /// Noise variance per fidelity, as in the file.
    pub noise: [f32; MAX_FIDELITIES],
    /// Units per layer as in the file; none for the ARD map.
    sizes: [usize; LAYERS],
    /// Natural values behind the logarithms in `θ`: lengthscales and signal variance.
    positive: Vec<f32>,
}

/// The gradient in natural parameters, shaped like the file's.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Gradient {
    Deep {
        /// Per layer, outputs × inputs.
        #[serde(rename = "W")]
        weights: Vec<Vec<Vec<f32>>>,
        #[serde(rename = "b")]
        biases: Vec<Vec<f32>>,
        gamma: f32,
    },
    Ard {
        lengthscales: Vec<f32>,
        signal_variance: f32,
        gamma: f32,
    },
}

impl Parameters {
    pub fn read(
        name: String,
        kernel: Kernel,
        d: usize,
        fidelities: usize,
        natural: &Natural,
    ) -> Result<Self, Error> {
        let model = Model::plain(Map::Ard, d, NO_OFFSETS);
        let noise = [0.0; MAX_FIDELITIES];
        let mut particle =
            Self { name, model, theta: Vec::new(), noise, sizes: [0; LAYERS], positive: Vec::new() };
        match kernel {
            Kernel::Ard => particle.read_ard(natural)?,
            Kernel::Deep => particle.read_deep(natural)?,
        }
        let gamma = one(&particle.path("gamma"), natural.gamma, "at least 0", |gamma| gamma >= 0.0)?;
        particle.theta.push(if gamma > 0.0 { ln(gamma) } else { LN_ZERO });
        particle.read_noise(fidelities, &natural.noise)?;
        Ok(particle)
    }

    fn path(&self, field: &str) -> String {
        format!("{}.{field}", self.name)
    }

    fn read_ard(&mut self, natural: &Natural) -> Result<(), Error> {
        let (lengths, signal) = (self.path("lengthscales"), self.path("signal_variance"));
        let lengthscales = required(&lengths, natural.lengthscales.as_deref())?;
        exactly(&lengths, lengthscales, self.model.dimensions, "d")?;
        self.positive = all(&lengths, lengthscales, "above 0", |length| length > 0.0)?;
        let variance = required(&signal, natural.signal_variance)?;
        self.positive.push(one(&signal, variance, "above 0", |variance| variance > 0.0)?);
        self.theta = self.positive.iter().map(|&value| ln(value)).collect();
        Ok(())
    }

    fn read_deep(&mut self, natural: &Natural) -> Result<(), Error> {
        let (w, b, d) = (self.path("W"), self.path("b"), self.model.dimensions);
        let weights = required(&w, natural.weights.as_deref())?;
        let biases = required(&b, natural.biases.as_deref())?;
        exactly(&w, weights, LAYERS, "layers")?;
        exactly(&b, biases, LAYERS, "layers")?;
        for (layer, size) in self.sizes.iter_mut().enumerate() {
            *size = weights[layer].len();
            if !(1..=MAX_WIDTH).contains(size) {
                let problem = format!("must have 1 to {MAX_WIDTH} rows (units), found {size}");
                return Err(field(format!("{w}[{layer}]"), problem));
            }
        }
        let width = self.sizes.into_iter().max().unwrap_or(1);
        self.model.map = Map::Deep { width };
        self.theta = vec![0.0; self.model.map.parameters(d)];
        for layer in 0..LAYERS {
            let inputs = inputs(layer, d, self.sizes);
            let what = if layer == 0 { "inputs: d" } else { "inputs: units of the layer before" };
            let values = rows(&format!("{w}[{layer}]"), &weights[layer], inputs, what)?;
            for (k, value) in values.into_iter().enumerate() {
                self.theta[weight(layer, d, width) + k % inputs * width + k / inputs] = value;
            }
            exactly(&format!("{b}[{layer}]"), &biases[layer], self.sizes[layer], "units, as in W")?;
            for (theta, value) in self.theta[bias(layer, d, width)..].iter_mut().zip(&biases[layer]) {
                *theta = value.0;
            }
        }
        Ok(())
    }

    fn read_noise(&mut self, fidelities: usize, noise: &Noise) -> Result<(), Error> {
        let path = self.path("noise");
        match noise {
            Noise::All(noise) => {
                self.noise[..fidelities].fill(one(&path, *noise, "at least 0", |noise| noise >= 0.0)?);
            }
            Noise::Each(list) => {
                exactly(&path, list, fidelities, "M")?;
                let values = all(&path, list, "at least 0", |noise| noise >= 0.0)?;
                self.noise[..fidelities].copy_from_slice(&values);
            }
        }
        Ok(())
    }

    /// The core's gradient in the file's shape and parameters. That in `γ` must be natural already, all others are
    /// as the core has them.
    pub fn natural_gradient(&self, gradient: &[f32]) -> Gradient {
        let gamma = gradient[self.model.gamma()];
        let Map::Deep { width } = self.model.map else {
            let mut natural: Vec<f32> =
                gradient.iter().zip(&self.positive).map(|(g, value)| g / value).collect();
            let signal_variance = natural.pop().unwrap_or_default();
            return Gradient::Ard { lengthscales: natural, signal_variance, gamma };
        };
        let d = self.model.dimensions;
        let row = |layer: usize, unit: usize| {
            let from = weight(layer, d, width) + unit;
            (0..inputs(layer, d, self.sizes)).map(|input| gradient[from + input * width]).collect()
        };
        Gradient::Deep {
            weights: (0..LAYERS)
                .map(|layer| (0..self.sizes[layer]).map(|unit| row(layer, unit)).collect())
                .collect(),
            biases: (0..LAYERS)
                .map(|layer| gradient[bias(layer, d, width)..][..self.sizes[layer]].to_vec())
                .collect(),
            gamma,
        }
    }
}

/// Rounded once: through `f64`.
fn ln(value: f32) -> f32 {
    f64::from(value).ln() as f32
}

/// Inputs of a layer of these sizes.
fn inputs(layer: usize, d: usize, sizes: [usize; LAYERS]) -> usize {
    if layer == 0 { d } else { sizes[layer - 1] }
}

/// Where the weights of a layer begin in `θ`; they are stored inputs × outputs there.
fn weight(layer: usize, d: usize, width: usize) -> usize {
    if layer == 0 { 0 } else { (d + 1) * width + (layer - 1) * (width + 1) * width }
}

/// Where the biases of a layer begin in `θ`.
fn bias(layer: usize, d: usize, width: usize) -> usize {
    weight(layer, d, width) + if layer == 0 { d } else { width } * width
}

#[cfg(test)]
mod tests {
    use super::super::case::parse;
    use super::*;

    fn read(kernel: Kernel, text: &str) -> Result<Parameters, String> {
        let read = |natural| Parameters::read("params".into(), kernel, 2, 3, &natural);
        parse(text).and_then(read).map_err(|error| error.to_string())
    }

    const DEEP: &str = r#"{
        "W": [[[1, 2], [3, 4], [5, 6]], [[7, 8, 9]], [[10], [11]]], "b": [[12, 13, 14], [15], [16, 17]],
        "gamma": 0.5, "noise": 0.1}"#;

    #[test]
    fn layers_of_different_sizes_are_padded_and_come_back_in_their_shape() {
        let deep = read(Kernel::Deep, DEEP).unwrap();
        assert_eq!((deep.model.map, deep.theta.len()), (Map::Deep { width: 3 }, deep.model.parameters()));
        assert_eq!(deep.theta[..9], [1.0, 3.0, 5.0, 2.0, 4.0, 6.0, 12.0, 13.0, 14.0], "inputs × outputs");
        assert_eq!(deep.theta[9..21], [7.0, 0.0, 0.0, 8.0, 0.0, 0.0, 9.0, 0.0, 0.0, 15.0, 0.0, 0.0]);
        let Gradient::Deep { weights, biases, gamma } = deep.natural_gradient(&deep.theta) else {
            panic!("the kernel is deep");
        };
        assert_eq!(weights[0], [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]);
        assert_eq!(weights[1], [[7.0, 8.0, 9.0]]);
        assert_eq!(weights[2], [[10.0], [11.0]]);
        assert_eq!(biases, [&[12.0, 13.0, 14.0][..], &[15.0], &[16.0, 17.0]]);
        assert_eq!(gamma, 0.5f32.ln());
    }

    #[test]
    fn positive_parameters_become_logarithms_and_their_gradients_natural() {
        let text = r#"{"lengthscales": [0.5, 2], "signal_variance": 4, "gamma": 0, "noise": [1, 2, 3]}"#;
        let ard = read(Kernel::Ard, text).unwrap();
        assert_eq!(ard.theta, [0.5f32.ln(), 2f32.ln(), 4f32.ln(), LN_ZERO]);
        assert_eq!(ard.model.hyper(&ard.theta).gamma, 0.0);
        assert_eq!(ard.noise[..3], [1.0, 2.0, 3.0]);
        let gradient = ard.natural_gradient(&[1.0, 1.0, 1.0, 7.0]);
        let expected = Gradient::Ard { lengthscales: vec![2.0, 0.5], signal_variance: 0.25, gamma: 7.0 };
        assert_eq!(gradient, expected);
    }

    #[test]
    fn every_wrong_parameter_is_named() {
        let ard = r#"{"lengthscales": [0.5, 2], "signal_variance": 4, "gamma": 1, "noise": 0.1}"#;
        let cases = [
            (Kernel::Ard, ard, "[0.5, 2]", "[1]", "lengthscales` must have 2 items (d), found 1"),
            (Kernel::Ard, ard, "[0.5, 2]", "[1, 0]", "lengthscales[1]` must be above 0, found 0"),
            (Kernel::Ard, ard, ": 4", ": -4", "signal_variance` must be above 0, found -4"),
            (Kernel::Ard, ard, "\"gamma\": 1", "\"gamma\": -1", "gamma` must be at least 0, found -1"),
            (Kernel::Ard, ard, "0.1}", "[0.1]}", "noise` must have 3 items (M), found 1"),
            (Kernel::Ard, ard, "0.1}", "[0.1, -1, 1]}", "noise[1]` must be at least 0, found -1"),
            (Kernel::Deep, ard, "", "", "W` is missing"),
            (Kernel::Deep, DEEP, ", [[10], [11]]", "", "W` must have 3 items (layers), found 2"),
            (Kernel::Deep, DEEP, "[[7, 8, 9]]", "[]", "W[1]` must have 1 to 512 rows (units), found 0"),
            (Kernel::Deep, DEEP, "[5, 6]", "[5]", "W[0][2]` must have 2 items (inputs: d), found 1"),
            (
                Kernel::Deep,
                DEEP,
                "[11]",
                "[11, 1]",
                "W[2][1]` must have 1 items (inputs: units of the layer before), found 2",
            ),
            (Kernel::Deep, DEEP, "[15]", "[15, 1]", "b[1]` must have 1 items (units, as in W), found 2"),
        ];
        for (kernel, text, from, to, expected) in cases {
            let said = read(kernel, &text.replacen(from, to, 1)).unwrap_err();
            assert_eq!(said, format!("field `params.{expected}"));
        }
    }
}

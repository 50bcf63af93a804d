//! The marginal likelihood of a task's answers under a fleet's prior, and its gradient, in `f64`.
//!
//! With `Φ` the modes at the observations, `r = z − m₀` and `K = s exp(−½‖(x − x')/ℓ‖²) exp(−γ(m − m')²) + ΦΦᵀ + σ²I`:
//! `−log p = ½ rᵀK⁻¹r + ½ ln|K| + ½ n ln 2π`. Its slopes are `−K⁻¹r` in `m₀`, `(K⁻¹ − ααᵀ)Φ` in the modes, `α = K⁻¹r`, and
//! `½(K⁻¹ − ααᵀ)` in `K`.

/// The noise's variance is at least this share of the residual's, as on the device.
const NOISE_FLOOR: f64 = 3e-4;

/// Sizes of a fleet's prior, and where its parameters stand in one vector: `A`, centres, weights (by set, feature and term;
/// the constant's last), `ln ℓ`, `ln s`, `ln γ`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Dimensions of the problem.
    pub dimensions: usize,
    /// Centres.
    pub centres: usize,
    /// Modes.
    pub modes: usize,
    /// Sets of weights: one, or one per fidelity.
    pub sets: usize,
}

impl Shape {
    /// Where the centres begin.
    pub fn centres_at(&self) -> usize {
        self.dimensions * self.dimensions
    }

    /// Where the weights begin.
    pub fn weights_at(&self) -> usize {
        self.centres_at() + self.centres * self.dimensions
    }

    /// Where the residual's parameters begin.
    pub fn theta_at(&self) -> usize {
        self.weights_at() + self.sets * (self.centres + 1) * (self.modes + 1)
    }

    /// All parameters.
    pub fn parameters(&self) -> usize {
        self.theta_at() + self.dimensions + 2
    }

    fn set(&self, fidelity: usize) -> usize {
        self.weights_at() + fidelity.min(self.sets - 1) * (self.centres + 1) * (self.modes + 1)
    }
}

/// Some answers of one task, standardised.
#[derive(Clone, Debug, Default)]
pub struct Answers {
    /// Points in the unit cube, one after the other.
    pub x: Vec<f64>,
    /// Fidelity of each.
    pub fidelity: Vec<usize>,
    /// Standardised, larger is better.
    pub z: Vec<f64>,
    /// Standardised noise variance of every fidelity.
    pub noise: Vec<f64>,
}

/// Mean and modes at a point; the features are left behind.
pub fn terms(shape: &Shape, p: &[f64], x: &[f64], fidelity: usize, features: &mut Vec<f64>) -> Vec<f64> {
    let (d, width) = (shape.dimensions, shape.modes + 1);
    let moved: Vec<f64> = (0..d).map(|i| dot(&p[i * d..][..d], x)).collect();
    let centres = p[shape.centres_at()..shape.weights_at()].chunks_exact(d);
    features.clear();
    features
        .extend(centres.map(|c| (-c.iter().zip(&moved).map(|(c, u)| (u - c) * (u - c)).sum::<f64>()).exp()));
    features.push(1.0);
    let mut terms = vec![0.0; width];
    let weights = p[shape.set(fidelity)..].chunks_exact(width);
    for (feature, weights) in features.iter().zip(weights) {
        terms.iter_mut().zip(weights).for_each(|(term, weight)| *term += feature * weight);
    }
    terms
}

/// The residual's kernel.
struct Kernel {
    lengths: Vec<f64>,
    signal: f64,
    gamma: f64,
}

impl Kernel {
    fn new(shape: &Shape, p: &[f64]) -> Self {
        let (d, theta) = (shape.dimensions, &p[shape.theta_at()..]);
        let lengths = theta[..d].iter().map(|length| length.exp()).collect();
        Self { lengths, signal: theta[d].exp(), gamma: theta[d + 1].exp() }
    }

    fn at(&self, x: &[f64], other: &[f64], gap: usize) -> f64 {
        let apart: f64 =
            x.iter().zip(other).zip(&self.lengths).map(|((x, y), l)| ((x - y) / l).powi(2)).sum();
        let gap = gap as f64;
        self.signal * (-0.5 * apart - self.gamma * gap * gap).exp()
    }
}

/// The prior, conditioned on a task's answers.
struct Conditioned {
    kernel: Kernel,
    features: Vec<Vec<f64>>,
    /// Mean and modes at every answer.
    all: Vec<Vec<f64>>,
    residual: Vec<f64>,
    log_determinant: f64,
    inverse: Vec<f64>,
    r: Vec<f64>,
    alpha: Vec<f64>,
}

impl Conditioned {
    fn new(shape: &Shape, p: &[f64], answers: &Answers) -> Option<Self> {
        let Answers { x, fidelity, z, noise } = answers;
        let (n, d, kernel) = (z.len(), shape.dimensions, Kernel::new(shape, p));
        let mut features = vec![Vec::new(); n];
        let all: Vec<Vec<f64>> =
            (0..n).map(|i| terms(shape, p, &x[i * d..][..d], fidelity[i], &mut features[i])).collect();
        let mut residual = vec![0.0; n * n];
        let mut factor = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..=i {
                let gap = fidelity[i].abs_diff(fidelity[j]);
                let value = kernel.at(&x[i * d..][..d], &x[j * d..][..d], gap);
                residual[i * n + j] = value;
                factor[i * n + j] = value + dot(&all[i][1..], &all[j][1..]);
            }
            factor[i * n + i] += noise[fidelity[i]] + 1e-6 + NOISE_FLOOR * kernel.signal;
        }
        let log_determinant = cholesky(&mut factor, n)?;
        let inverse = inverse(&factor, n);
        let r: Vec<f64> = (0..n).map(|i| z[i] - all[i][0]).collect();
        let alpha = (0..n).map(|i| dot(&inverse[i * n..][..n], &r)).collect();
        Some(Self { kernel, features, all, residual, log_determinant, inverse, r, alpha })
    }
}

/// What a task's answers say of some points at a fidelity: posterior means, standardised.
pub fn expected(
    shape: &Shape,
    p: &[f64],
    answers: &Answers,
    points: &[Vec<f64>],
    fidelity: usize,
) -> Option<Vec<f64>> {
    let Conditioned { kernel, all, alpha, .. } = Conditioned::new(shape, p, answers)?;
    let at = |point: &Vec<f64>| {
        let own = terms(shape, p, point, fidelity, &mut Vec::new());
        let told =
            answers.x.chunks_exact(shape.dimensions).zip(&answers.fidelity).zip(all.iter().zip(&alpha));
        told.fold(own[0], |sum, ((x, m), (terms, alpha))| {
            sum + alpha * (kernel.at(point, x, fidelity.abs_diff(*m)) + dot(&own[1..], &terms[1..]))
        })
    };
    Some(points.iter().map(at).collect())
}

/// `−log p` of the answers; adds its gradient, if wanted. `None` where the kernel is not positive definite.
pub fn negative(shape: &Shape, p: &[f64], answers: &Answers, gradient: Option<&mut [f64]>) -> Option<f64> {
    let Answers { x, fidelity, z, .. } = answers;
    let (n, d, width) = (z.len(), shape.dimensions, shape.modes + 1);
    let Conditioned { kernel, features, all, residual, log_determinant, inverse, r, alpha } =
        Conditioned::new(shape, p, answers)?;
    let Kernel { lengths, signal, gamma } = kernel;
    let value =
        0.5 * dot(&r, &alpha) + 0.5 * log_determinant + 0.5 * n as f64 * (2.0 * std::f64::consts::PI).ln();
    let Some(gradient) = gradient else { return Some(value) };
    let slope = |i: usize, j: usize| inverse[i * n + j] - alpha[i] * alpha[j];
    let mut of_terms = vec![0.0; n * width];
    for i in 0..n {
        of_terms[i * width] = -alpha[i];
        for (j, terms) in all.iter().enumerate() {
            let (by, out) = (slope(i, j), &mut of_terms[i * width + 1..(i + 1) * width]);
            out.iter_mut().zip(&terms[1..]).for_each(|(out, mode)| *out += by * mode);
        }
    }
    for i in 0..n {
        let (own, weights_at) = (&of_terms[i * width..][..width], shape.set(fidelity[i]));
        let x = &x[i * d..][..d];
        let moved: Vec<f64> = (0..d).map(|k| dot(&p[k * d..][..d], x)).collect();
        let mut of_moved = vec![0.0; d];
        for (j, feature) in features[i].iter().enumerate() {
            let at = weights_at + j * width;
            for (k, slope) in own.iter().enumerate() {
                gradient[at + k] += feature * slope;
            }
            if j < shape.centres {
                let of_feature = dot(own, &p[at..at + width]);
                let centre = shape.centres_at() + j * d;
                for k in 0..d {
                    let by = -2.0 * of_feature * feature * (moved[k] - p[centre + k]);
                    of_moved[k] += by;
                    gradient[centre + k] -= by;
                }
            }
        }
        for k in 0..d {
            for l in 0..d {
                gradient[k * d + l] += of_moved[k] * x[l];
            }
        }
    }
    let theta_at = shape.theta_at();
    for i in 0..n {
        for j in 0..=i {
            // Every pair beside the diagonal counts twice.
            let by = if i == j { 0.5 } else { 1.0 } * slope(i, j) * residual[i * n + j];
            let gap = fidelity[i].abs_diff(fidelity[j]) as f64;
            gradient[theta_at + d] += by;
            gradient[theta_at + d + 1] -= by * gamma * gap * gap;
            for k in 0..d {
                gradient[theta_at + k] += by * ((x[i * d + k] - x[j * d + k]) / lengths[k]).powi(2);
            }
        }
        gradient[theta_at + d] += 0.5 * slope(i, i) * NOISE_FLOOR * signal;
    }
    Some(value)
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The factor of the lower half in place, row by row, and the logarithm of the determinant.
fn cholesky(matrix: &mut [f64], n: usize) -> Option<f64> {
    let mut log = 0.0;
    for i in 0..n {
        let (above, row) = matrix.split_at_mut(i * n);
        for j in 0..i {
            let other = &above[j * n..][..=j];
            row[j] = (row[j] - dot(&row[..j], &other[..j])) / other[j];
        }
        let pivot = row[i] - dot(&row[..i], &row[..i]);
        if pivot.is_nan() || pivot <= 0.0 {
            return None;
        }
        row[i] = pivot.sqrt();
        log += pivot.ln();
    }
    Some(log)
}

/// The inverse of the matrix whose factor this is.
fn inverse(factor: &[f64], n: usize) -> Vec<f64> {
    // Rows of the transposed inverse factor: row `c` has its numbers from `c` on.
    let mut solved = vec![0.0; n * n];
    for c in 0..n {
        let column = &mut solved[c * n..][..n];
        column[c] = 1.0 / factor[c * n + c];
        for i in c + 1..n {
            column[i] = -dot(&factor[i * n + c..i * n + i], &column[c..i]) / factor[i * n + i];
        }
    }
    let mut inverse = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..=i {
            let value = dot(&solved[i * n + i..][..n - i], &solved[j * n + i..][..n - i]);
            (inverse[i * n + j], inverse[j * n + i]) = (value, value);
        }
    }
    inverse
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gradient_agrees_with_central_differences() {
        let shape = Shape { dimensions: 2, centres: 3, modes: 2, sets: 2 };
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64 - 0.5
        };
        let mut p: Vec<f64> = (0..shape.parameters()).map(|_| next()).collect();
        p[shape.theta_at() + 3] = -1.0;
        let n = 7;
        let answers = Answers {
            x: (0..n * 2).map(|_| next() + 0.5).collect(),
            fidelity: (0..n).map(|i| i % 2).collect(),
            z: (0..n).map(|_| 2.0 * next()).collect(),
            noise: vec![0.05, 0.02],
        };
        let mut gradient = vec![0.0; shape.parameters()];
        negative(&shape, &p, &answers, Some(&mut gradient)).unwrap();
        for i in 0..shape.parameters() {
            let at = |by: f64| {
                let mut p = p.clone();
                p[i] += by;
                negative(&shape, &p, &answers, None).unwrap()
            };
            let slope = (at(1e-5) - at(-1e-5)) / 2e-5;
            assert!((slope - gradient[i]).abs() < 1e-6 * (1.0 + slope.abs()), "{i}: {slope} {}", gradient[i]);
        }
    }
}

"""The optimizer's numerics in plain `f64`: short and direct rather than fast.

Written from the design and the paper, one function per equation, and from nothing else, so that agreement with the
`f32` core means something. Equation numbers are the paper's. Rows of `x` are points, `m` counts fidelities from 0 and
the last one is the truth.
"""

import math

import mpmath
import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import log_ndtr

mpmath.mp.dps = 60


# --- Feature maps: psi(x), and the gradient of a scalar in the map's parameters given its gradient in psi ---


class Ard:
    """psi_j(x) = x_j / (sqrt 2 l_j). Parameters: ln l_1 .. ln l_D, ln s."""

    def __init__(self, ln_lengthscales, ln_scale):
        self.theta = np.append(np.asarray(ln_lengthscales, float), float(ln_scale))

    def moved(self, step):
        theta = self.theta + step
        return Ard(theta[:-1], theta[-1])

    def scale(self):
        return math.exp(self.theta[-1])

    def features(self, x):
        return x / (math.sqrt(2.0) * np.exp(self.theta[:-1]))

    def gradient(self, x, d_psi, d_ln_scale):
        """d psi_j / d ln l_j = -psi_j."""
        return np.append(-(d_psi * self.features(x)).sum(axis=0), d_ln_scale)


class Linear:
    """psi_j(x) = (x_j + sum_{i>j} n_ji x_i) / (sqrt 2 l_j). Parameters: ln l_1 .. ln l_D, ln s, n row by row."""

    def __init__(self, ln_lengthscales, ln_scale, shears):
        self.theta, self.dimension = np.concatenate([ln_lengthscales, [ln_scale], shears]), len(ln_lengthscales)
        self.rows, self.columns = np.triu_indices(self.dimension, 1)

    def moved(self, step):
        d, theta = self.dimension, self.theta + step
        return Linear(theta[:d], theta[d], theta[d + 1 :])

    def scale(self):
        return math.exp(self.theta[self.dimension])

    def lengths(self):
        return math.sqrt(2.0) * np.exp(self.theta[: self.dimension])

    def features(self, x):
        upper = np.eye(self.dimension)
        upper[self.rows, self.columns] = self.theta[self.dimension + 1 :]
        return x @ upper.T / self.lengths()

    def gradient(self, x, d_psi, d_ln_scale):
        """d psi_j / d ln l_j = -psi_j, d psi_j / d n_ji = x_i / (sqrt 2 l_j)."""
        shears = ((d_psi / self.lengths()).T @ x)[self.rows, self.columns]
        return np.concatenate([-(d_psi * self.features(x)).sum(axis=0), [d_ln_scale], shears])


class Deep:
    """psi(x) = tanh(W3 tanh(W2 tanh(W1 x + b1) + b2) + b3), s = 1. Parameters: W1, b1, W2, b2, W3, b3; W by rows."""

    def __init__(self, theta, dimension, width):
        self.theta, self.dimension, self.width = np.asarray(theta, float), dimension, width
        self.layers, at = [], 0
        for fan_in in (dimension, width, width):
            w = self.theta[at : at + width * fan_in].reshape(width, fan_in)
            at += width * fan_in
            self.layers.append((w, self.theta[at : at + width]))
            at += width
        assert at == len(self.theta)

    def moved(self, step):
        return Deep(self.theta + step, self.dimension, self.width)

    def scale(self):
        return 1.0

    def activations(self, x):
        a = [x]
        for w, b in self.layers:
            a.append(np.tanh(a[-1] @ w.T + b))
        return a

    def features(self, x):
        return self.activations(x)[-1]

    def gradient(self, x, d_psi, _d_ln_scale):
        """Back-propagation through the three layers."""
        a, parts = self.activations(x), []
        for layer in (2, 1, 0):
            delta = d_psi * (1.0 - a[layer + 1] ** 2)
            parts = [(delta.T @ a[layer]).ravel(), delta.sum(axis=0)] + parts
            d_psi = delta @ self.layers[layer][0]
        return np.concatenate(parts)


# --- Kernel and Gaussian process ---


def squared_distances(a, b):
    """||a_i - b_j||^2 by differences, not by the cancelling expansion."""
    return np.array([((row - b) ** 2).sum(axis=1) for row in a])


def kernel(phi, ln_gamma, xa, ma, xb, mb):
    """Eq. (12), (15), (16): k = s exp(-||psi - psi'||^2) exp(-gamma (m - m')^2)."""
    base = np.exp(-squared_distances(phi.features(xa), phi.features(xb)))
    return phi.scale() * base * np.exp(-math.exp(ln_gamma) * np.subtract.outer(ma, mb) ** 2.0)


class Gp:
    """Multi-fidelity Gaussian process conditioned on data; `noise` is one variance per fidelity."""

    def __init__(self, phi, ln_gamma, noise, x, m, y):
        self.phi, self.ln_gamma, self.noise, self.x, self.m, self.y = phi, ln_gamma, noise, x, m, y
        self.k = kernel(phi, ln_gamma, x, m, x, m)
        self.gram = self.k + np.diag(noise[m])
        self.factor = cho_factor(self.gram, lower=True)
        self.alpha = cho_solve(self.factor, y)

    def posterior(self, x):
        """Eq. (18) at one `x`: mean, variance, and covariance with the truth, each for all fidelities."""
        m = np.arange(len(self.noise))
        xs = np.repeat(x[None, :], len(m), axis=0)
        cross = kernel(self.phi, self.ln_gamma, xs, m, self.x, self.m)
        prior = kernel(self.phi, self.ln_gamma, xs, m, xs, m)
        posterior = prior - cross @ cho_solve(self.factor, cross.T)
        return cross @ self.alpha, np.diag(posterior), posterior[:, -1]

    def log_likelihood(self):
        """Eq. (26), signs corrected."""
        ln_det = 2.0 * np.log(np.diag(self.factor[0])).sum()
        return -0.5 * (len(self.y) * math.log(2.0 * math.pi) + ln_det + self.y @ self.alpha)

    def gradient(self):
        """Of `log_likelihood`: (in the map's parameters, in ln gamma). d/dK = 1/2 (alpha alpha^T - K^-1)."""
        d_k = 0.5 * (np.outer(self.alpha, self.alpha) - cho_solve(self.factor, np.eye(len(self.y))))
        weight = d_k * self.k  # d/d ln k_ij; every hyperparameter acts on ln k
        psi = self.phi.features(self.x)
        # d(-||psi_i - psi_j||^2) / d psi_i = -2 (psi_i - psi_j), and each pair stands twice in K.
        d_psi = -4.0 * (weight.sum(axis=1)[:, None] * psi - weight @ psi)
        d_ln_gamma = -math.exp(self.ln_gamma) * (weight * np.subtract.outer(self.m, self.m) ** 2.0).sum()
        return self.phi.gradient(self.x, d_psi, weight.sum()), d_ln_gamma


# --- Acquisition ---


def truncation(g):
    """r (g + r) with r = phi(g)/Phi(g), in many digits: it cancels to 1 - 1/g^2 as g -> -inf."""
    g = mpmath.mpf(float(g))
    r = mpmath.npdf(g) / (mpmath.erfc(-g / mpmath.sqrt(2)) / 2)
    return r * (g + r)


def information(g, rho2=1.0):
    """-1/2 ln(1 - rho^2 r (g + r)); rho^2 = 1 gives the paper's form, Eq. (21)-(23) with the factor 1/2."""
    return float(-mpmath.log1p(-mpmath.mpf(float(rho2)) * truncation(g)) / 2)


def paper_information(mean, variance, maxima):
    """At one fidelity, averaged over the max-value samples: g = (f* - mu)/sigma of the same fidelity."""
    return np.mean([information((f - mean) / math.sqrt(variance)) for f in maxima])


def correlated_information(covariance, variance, noise, truth_mean, truth_variance, maxima):
    """GIBBON's form: g at the truth, rho^2 between the observation and the truth."""
    rho2 = covariance**2 / ((variance + noise) * truth_variance)
    return np.mean([information((f - truth_mean) / math.sqrt(truth_variance), rho2) for f in maxima])


def transferable_information(mean, variance, noise):
    """Eq. (36) with the noise in both terms, over particles at one fidelity: (as it is, capped at ln V)."""
    mixture = np.mean(variance) + np.mean((mean - np.mean(mean)) ** 2)
    raw = 0.5 * (math.log(mixture + noise) - np.mean(np.log(variance + noise)))
    return raw, min(raw, math.log(len(mean)))


# --- Max-value samples ---


def max_quantile(p, mean, sd):
    """z with prod_i Phi((z - mu_i)/sigma_i) = p, by bisection on sum ln Phi."""
    low, high = np.max(mean - 40.0 * sd), np.max(mean + 40.0 * sd)
    for _ in range(200):
        middle = 0.5 * (low + high)
        below = log_ndtr((middle - mean) / sd).sum() < math.log(p)
        low, high = (middle, high) if below else (low, middle)
    return 0.5 * (low + high)


def gumbel_fit(q25, q50, q75):
    """F(z) = exp(-exp(-(z - a)/b)): b from the interquartile range, a from the median (Wang and Jegelka 2017)."""
    b = (q75 - q25) / (math.log(math.log(4.0)) - math.log(math.log(4.0 / 3.0)))
    return q50 + b * math.log(math.log(2.0)), b


# --- Particles ---


def median_bandwidth(theta):
    """h = ln(V + 1)/med^2, med^2 the lower median of ||theta_u - theta_v||^2 over u < v; 1 if there is none or 0."""
    v = len(theta)
    pairs = sorted(((theta[i] - theta[j]) ** 2).sum() for i in range(v) for j in range(i + 1, v))
    median = pairs[(len(pairs) - 1) // 2] if pairs else 0.0
    return math.log(v + 1.0) / median if median > 0.0 else 1.0


def svgd_direction(theta, gradient, h):
    """Eq. (39), sign corrected: 1/V sum_u [k(u, v) grad_u + d k(u, v)/d theta_u], k = exp(-h ||.||^2)."""
    omega = np.zeros_like(theta)
    for v in range(len(theta)):
        for u in range(len(theta)):
            k = math.exp(-h * ((theta[u] - theta[v]) ** 2).sum())
            omega[v] += k * gradient[u] - 2.0 * h * (theta[u] - theta[v]) * k
    return omega / len(theta)


def gaussian_prior(theta, mean, sd):
    """Independent Gaussians: (log density, its gradient)."""
    z = (theta - mean) / sd
    return (-0.5 * z**2 - np.log(sd) - 0.5 * math.log(2.0 * math.pi)).sum(), -z / sd


def kde_prior(theta, centres, bandwidth):
    """Equal mixture of N(centre, bandwidth^2 I): (log density, its gradient)."""
    exponents = -0.5 * ((centres - theta) ** 2).sum(axis=1) / bandwidth**2
    weights = np.exp(exponents - exponents.max())
    ln_sum = exponents.max() + math.log(weights.sum())
    ln_norm = len(theta) * (math.log(bandwidth) + 0.5 * math.log(2.0 * math.pi)) + math.log(len(centres))
    return ln_sum - ln_norm, (weights / weights.sum()) @ (centres - theta) / bandwidth**2


# --- Batch design ---


def batch_objective(grams, noise, picks):
    """Eq. (43) with the Gaussian bound: 1/2 ln det(mean_v K_v + noise) - mean_v 1/2 ln det(K_v + noise)."""
    blocks = [k[np.ix_(picks, picks)] + noise * np.eye(len(picks)) for k in grams]
    return 0.5 * (np.linalg.slogdet(np.mean(blocks, axis=0))[1] - np.mean([np.linalg.slogdet(b)[1] for b in blocks]))


def greedy_batch(grams, noise, count):
    """Candidates in greedy order, none twice; without data all first points are equal, so the first is index 0."""
    picks, values, gaps = [0], [batch_objective(grams, noise, [0])], []
    while len(picks) < count:
        left = [i for i in range(len(grams[0])) if i not in picks]
        scores = np.array([batch_objective(grams, noise, picks + [i]) for i in left])
        best = int(np.argmax(scores))
        gaps.append(scores[best] - np.sort(scores)[-2])
        picks.append(left[best])
        values.append(scores[best])
    return picks, values, gaps

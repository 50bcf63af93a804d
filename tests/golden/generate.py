"""Write the golden data of the core's tests: `python3 generate.py` (20 s); `--check` compares with what is there, to 1e-6.

Needs numpy, scipy and mpmath. Written from the paper and the design, never from the Rust code. Each part below makes a
file, or a part of one, from the equations in `reference.py` and checks itself on the way: gradients against differences,
factors against eigenvalues, quantiles against sampling. `cargo test -p foretune-tests --test golden` compares the core with
the files.

All inputs are exact `f32` values; outputs have ten digits. Arrays over candidates, particles and fidelities nest in that
order; fidelities count from 0, the last is the target.

- `gp.json`, `conditioning.json`: a case takes the first `t` points of its data set (and `y` from `targets` if it names a
  `target`), `noise` per fidelity, and gives the posterior at the set's `candidates`, `lml` and its gradient. ARD
  and linear `gradient`: ln l_1..ln l_D, ln s, ln gamma, shears row by row. `condition` is that of K + noise.
- Deep weights: flat entry i of W1, b1, W2, b2, W3, b3 (W by rows, outputs x inputs) is
  `((splitmix64(seed + i) >> 40) / 2^23 - 1) * bound[layer]` in `f32`. Of the gradient: largest |entry|, sums, and entries
  `value` at flat `index`; that in ln gamma apart.
- `parts.json`, `acquisition`: `information` over g x rho^2 (rho^2 = 1: paper form); terms per particle and fidelity; `transfer`
  before and after the cap ln V; scores (mean information + beta capped)/cost.
- `max_value`: exact `quartiles` of the maximum, Gumbel `location`, `scale`, and `draws` at `u`, none below the
  largest mean.
- `svgd`: Omega for `fixed_h` and `median_h` = ln(V+1)/med^2, med^2 the lower median of squared distances over pairs
  u < v; priors: KDE (standard deviation `bandwidth`) and independent Gaussians.
- `batch`: greedy order at the target fidelity, first pick index 0 (all tie), and the objective after each pick, not
  capped at ln V.

Tolerances at noise 0.1: mean, variance 1e-4; `lml` 1e-4 relative; gradients 1e-3 of their largest entry; acquisition,
quantiles 1e-3: about ten times what `f32` costs. In `conditioning.json` (up to 1e7) the error itself is the result: the
tests print it as a table, fail if it has doubled since `conditioning.txt`, and check that the core's noise floor lies where
mean and likelihood can still be trusted. `UPDATE_GOLDEN=1 cargo test -p foretune-tests --test golden` writes it anew.
"""

import json
import math
import os
import pathlib
import sys

os.environ["OMP_NUM_THREADS"] = "1"  # one order of additions, and threads only slow such small matrices down

import mpmath
import numpy as np

import reference as ref
from inputs import FIDELITIES, NOISE, WIDTH, Exact, Stream, assert_close, candidates, clustered_points, data_set
from inputs import deep_parameters, f32, objective, spread_points, to_text, weight_bounds

HERE = pathlib.Path(__file__).parent


# --- Gaussian process ---


def moved_likelihood(gp, step, ln_gamma_step):
    moved = ref.Gp(gp.phi.moved(step), gp.ln_gamma + ln_gamma_step, gp.noise, gp.x, gp.m, gp.y)
    return moved.log_likelihood()


def assert_gradient(gp, gradient, d_ln_gamma, number, entries):
    """Five-point central differences along random directions (all entries at once) and along single entries."""
    stream, size = Stream(number), max(np.abs(gradient).max(), abs(d_ln_gamma))
    rounding = 2e-17 * np.linalg.cond(gp.gram) * abs(gp.log_likelihood())
    directions = [(stream.normal(len(gradient)), 1.0) for _ in range(3)]
    directions += [(np.eye(1, len(gradient), i)[0], 0.0) for i in entries]
    for step, ln_gamma_step in directions + [(np.zeros(len(gradient)), 1.0)]:
        length = max(1.0, np.linalg.norm(step))
        h = 3e-4 / length
        f = {n: moved_likelihood(gp, n * h * step, n * h * ln_gamma_step) for n in (-2, -1, 1, 2)}
        difference = (8.0 * (f[1] - f[-1]) - (f[2] - f[-2])) / (12.0 * h)
        want = gradient @ step + d_ln_gamma * ln_gamma_step
        slack = (1e-6 * size + 1e-8) * length + rounding / h
        assert abs(difference - want) <= slack, (want, difference)


def assert_second_route(gp, xs, means, variances):
    """The same posterior and likelihood from an eigendecomposition instead of a Cholesky factor."""
    values, vectors = np.linalg.eigh(gp.gram)
    inverse = (vectors / values) @ vectors.T
    lml = -0.5 * (len(gp.y) * math.log(2.0 * math.pi) + np.log(values).sum() + gp.y @ inverse @ gp.y)
    assert abs(lml - gp.log_likelihood()) <= 1e-8 * abs(lml)
    for x, mean, variance in zip(xs, means, variances):
        for m in range(len(gp.noise)):
            k = ref.kernel(gp.phi, gp.ln_gamma, x[None, :], np.array([m]), gp.x, gp.m)[0]
            assert abs(k @ inverse @ gp.y - mean[m]) <= 1e-8
            assert abs(gp.phi.scale() - k @ inverse @ k - variance[m]) <= 1e-8


def posterior_fields(gp, xs):
    mean, variance, covariance = (np.array(part) for part in zip(*(gp.posterior(x) for x in xs)))
    assert_second_route(gp, xs, mean, variance)
    assert variance.min() > 0.0
    return {"mean": mean, "variance": variance, "covariance": covariance, "lml": gp.log_likelihood()}


def ard_case(name, data_name, data, xs, t, noise, ln_lengthscales, ln_scale, ln_gamma, y=None):
    noise, ln_lengthscales = f32(noise), f32(ln_lengthscales)
    ln_scale, ln_gamma = float(f32(ln_scale)), float(f32(ln_gamma))
    y = data["y"] if y is None else y
    gp = ref.Gp(ref.Ard(ln_lengthscales, ln_scale), ln_gamma, noise, data["x"][:t], data["m"][:t], y[:t])
    gradient, d_ln_gamma = gp.gradient()
    assert_gradient(gp, gradient, d_ln_gamma, 900, range(len(gradient)))
    inputs = {"name": name, "data": data_name, "t": t, "noise": Exact(noise), "ln_lengthscales": Exact(ln_lengthscales)}
    inputs |= {"ln_scale": Exact(ln_scale), "ln_gamma": Exact(ln_gamma)}
    return inputs | posterior_fields(gp, xs) | {"gradient": np.append(gradient, d_ln_gamma)}, gp


def linear_case(name, data_name, data, xs, t, noise, ln_lengthscales, ln_scale, ln_gamma, shears):
    noise, ln_lengthscales, shears = f32(noise), f32(ln_lengthscales), f32(shears)
    ln_scale, ln_gamma = float(f32(ln_scale)), float(f32(ln_gamma))
    phi = ref.Linear(ln_lengthscales, ln_scale, shears)
    gp = ref.Gp(phi, ln_gamma, noise, data["x"][:t], data["m"][:t], data["y"][:t])
    gradient, d_ln_gamma = gp.gradient()
    assert_gradient(gp, gradient, d_ln_gamma, 903, range(len(gradient)))
    gradient = np.insert(gradient, len(ln_lengthscales) + 1, d_ln_gamma)
    inputs = {"name": name, "data": data_name, "t": t, "noise": Exact(noise), "ln_lengthscales": Exact(ln_lengthscales)}
    inputs |= {"ln_scale": Exact(ln_scale), "ln_gamma": Exact(ln_gamma), "shears": Exact(shears)}
    return inputs | posterior_fields(gp, xs) | {"gradient": gradient}


def deep_case(name, data_name, data, xs, t, noise, number, bounds, ln_gamma):
    noise, ln_gamma, seed = f32(noise), float(f32(ln_gamma)), number << 32
    phi = ref.Deep(deep_parameters(seed, data["x"].shape[1], bounds), data["x"].shape[1], WIDTH)
    gp = ref.Gp(phi, ln_gamma, noise, data["x"][:t], data["m"][:t], data["y"][:t])
    gradient, d_ln_gamma = gp.gradient()
    samples = sampled_entries(gradient, data["x"].shape[1])
    assert_gradient(gp, gradient, d_ln_gamma, 901, samples[::6])
    inputs = {"name": name, "data": data_name, "t": t, "noise": Exact(noise), "seed": seed, "width": WIDTH}
    inputs |= {"bound": Exact(bounds), "ln_gamma": Exact(ln_gamma)}
    summary = {"largest": np.abs(gradient).max(), "sum": gradient.sum(), "sum_abs": np.abs(gradient).sum()}
    summary |= {"sum_squares": gradient @ gradient, "index": samples, "value": gradient[samples]}
    return inputs | posterior_fields(gp, xs) | {"gradient": summary, "gradient_ln_gamma": d_ln_gamma}


def sampled_entries(gradient, dimension):
    """The first, last and eight others of each W and b, and the largest entry of all."""
    stream, samples, at = Stream(902), {int(np.argmax(np.abs(gradient)))}, 0
    for fan_in in (dimension, WIDTH, WIDTH):
        for size in (WIDTH * fan_in, WIDTH):
            samples |= {at, at + size - 1} | {at + int(i) for i in stream.integers(8, size)}
            at += size
    return sorted(samples)


def gp_file():
    data = {f"d{d}": data_set(10 + d, spread_points, 128, d) for d in (4, 6)}
    xs = {name: candidates(20 + set_["x"].shape[1], set_["x"]) for name, set_ in data.items()}
    equal, graded = [NOISE] * FIDELITIES, [0.4, 0.2, 0.1, 0.05]
    ard, linear, deep = [], [], []
    for d in (4, 6):
        name = f"d{d}"
        short = (np.log(np.linspace(0.2, 0.5, d)), math.log(2.5), -2.3)
        medium = (np.log(np.linspace(1.5, 0.5, d)), 0.0, -1.0)
        long = (np.log(np.linspace(0.8, 4.0, d)), math.log(0.4), -4.0)
        for label, theta in (("short", short), ("medium", medium), ("long", long)):
            cases = [(t, equal, "") for t in (1, 7, 40, 128)] + [(40, graded, "-noise-per-fidelity")]
            for t, noise, suffix in cases:
                title = f"ard-{name}-{label}-t{t}{suffix}"
                ard.append(ard_case(title, name, data[name], xs[name], t, noise, *theta)[0])
        shears = np.linspace(-0.8, 1.2, d * (d - 1) // 2)
        for t in (7, 40):
            title = f"linear-{name}-medium-t{t}"
            linear.append(linear_case(title, name, data[name], xs[name], t, graded, *medium, shears))
        for number, scale in ((30 + d, "fan_in"), (40 + d, "paper")):
            bounds = weight_bounds(d, scale)
            for t, noise, suffix in cases:
                title = f"deep-{name}-{scale}-t{t}{suffix}"
                deep.append(deep_case(title, name, data[name], xs[name], t, noise, number, bounds, -2.3))
    return {"data": exact_data(data, xs), "ard": ard, "linear": linear, "deep": deep}


def exact_data(data, xs):
    return {
        name: {"x": Exact(set_["x"]), "m": set_["m"], "y": Exact(set_["y"]), "candidates": Exact(xs[name])}
        for name, set_ in data.items()
    }


# --- Conditioning ---


NOISES = (1e-1, 1e-2, 1e-3, 3e-4, 1e-4, 1e-5)


def conditioning_file():
    """Small noise and long lengthscales, where `f32` suffers; `y` with the stated noise, or with too much."""
    cases, worst, sets, targets = [], (0.0, None), {}, {}
    for number, (name, points) in enumerate((("spread", spread_points), ("clustered", clustered_points))):
        data = sets[name] = data_set(50 + number, points, 128, 4)
        clean, unit = objective(data["x"], data["m"]), Stream(60 + number).normal(128)
        for noise in NOISES:
            targets[f"{name}-{noise:.0e}"] = f32(clean + math.sqrt(noise) * unit)
        for noise in NOISES:
            for lengthscale in (0.3, 1.0, 3.0, 10.0):
                for t in (40, 128):
                    for target in sorted({f"{name}-{noise:.0e}", f"{name}-1e-01"}):
                        case, gp = conditioning_case(name, data, t, noise, lengthscale, target, targets[target])
                        worst = max(worst, (case["condition"], gp), key=lambda pair: pair[0])
                        cases.append(case)
    assert_many_digits(worst[1])
    xs = {name: candidates(70, set_["x"]) for name, set_ in sets.items()}
    return {"data": exact_data(sets, xs), "targets": {k: Exact(v) for k, v in targets.items()}, "ard": cases}


def conditioning_case(name, data, t, noise, lengthscale, target, y):
    lengths = math.log(lengthscale) + np.array([-0.1, 0.0, 0.05, 0.1])
    xs, title = candidates(70, data["x"]), f"{name}-noise{noise:.0e}-l{lengthscale:g}-t{t}-y{target[-5:]}"
    case, gp = ard_case(title, name, data, xs, t, [noise] * FIDELITIES, lengths, 0.0, -2.3, y)
    del case["covariance"]
    return case | {"target": target, "lengthscale": lengthscale, "condition": np.linalg.cond(gp.gram)}, gp


def assert_many_digits(gp):
    """The worst conditioned case once more with 60 digits from the kernel matrix on."""
    gram, y = mpmath.matrix(gp.gram.tolist()), mpmath.matrix(gp.y.tolist())
    factor = mpmath.cholesky(gram)
    z = mpmath.matrix(len(gp.y), 1)
    for i in range(len(gp.y)):
        z[i] = (y[i] - mpmath.fdot((factor[i, j], z[j]) for j in range(i))) / factor[i, i]
    ln_det = 2 * sum(mpmath.log(factor[i, i]) for i in range(len(gp.y)))
    lml = -(len(gp.y) * mpmath.log(2 * mpmath.pi) + ln_det + mpmath.fdot(z, z)) / 2
    assert abs(lml - gp.log_likelihood()) <= 1e-8 * abs(lml)


# --- Acquisition ---


def acquisition():
    gs = [-1000.0, -100.0, -40.0, -20.0, -12.0, -8.0, -5.0, -3.0, -1.0, -1e-3, -1e-7]
    gs = f32(gs + [0.0, 1e-7, 1e-3, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 12.0, 20.0, 40.0, 1000.0])
    rho2 = f32([1.0, 0.999, 0.9, 0.5, 0.1, 1e-3, 1e-6, 0.0])
    table = [[ref.information(g, r) for r in rho2] for g in gs]
    number, cases = 100, []
    for v in (1, 5, 10):
        for kind in ("usual", "sure", "unsure", "offset", "disagreeing"):
            cases.append(acquisition_case(number := number + 1, kind, v))
    return {"information": {"g": Exact(gs), "rho2": Exact(rho2), "value": table}, "cases": cases}


# mean's range, particles' disagreement, ln of the deviation's range, f* above the truth's mean in deviations, noise
KINDS = {
    "usual": ((-1.0, 1.0), 0.5, (-2.0, 0.0), (0.2, 3.0), 0.1),
    "sure": ((-1.0, 1.0), 0.02, (-7.0, -5.0), (0.0, 300.0), 0.1),
    "unsure": ((-0.1, 0.1), 0.05, (2.0, 3.0), (-0.5, 0.5), 1e-3),
    "offset": ((20.0, 25.0), 0.3, (-2.0, 0.0), (0.2, 3.0), 0.1),
    "disagreeing": ((-1.0, 1.0), 30.0, (-6.0, -4.0), (-20.0, 20.0), 1e-3),
}


def acquisition_case(number, kind, v):
    """One x, `v` particles, all fidelities; covariances with the truth from correlations 0.3 .. 0.999, then 1."""
    (low, high), disagreement, ln_sd, above, noise = KINDS[kind]
    stream = Stream(number)
    mean = f32(stream.uniform((1, FIDELITIES), low, high) + disagreement * stream.uniform((v, FIDELITIES), -1.0, 1.0))
    variance = f32(np.exp(2.0 * stream.uniform((v, FIDELITIES), *ln_sd)))
    correlation = np.append(stream.uniform((v, FIDELITIES - 1), 0.3, 0.999), np.ones((v, 1)), axis=1)
    covariance = f32(correlation * np.sqrt(variance * variance[:, -1:]))
    maxima = f32(mean[:, -1:] + np.sqrt(variance[:, -1:]) * stream.uniform((v, 10), *above))
    noises, costs, beta = f32([4.0 * noise, 2.0 * noise, noise, noise]), f32([10.0, 15.0, 20.0, 25.0]), float(f32(0.6))
    inputs = {"name": f"{kind}-v{v}", "mean": Exact(mean), "variance": Exact(variance), "covariance": Exact(covariance)}
    inputs |= {"maxima": Exact(maxima), "noise": Exact(noises), "cost": Exact(costs), "beta": Exact(beta)}
    return inputs | acquisition_terms(mean, variance, covariance, maxima, noises, costs, beta)


def acquisition_terms(mean, variance, covariance, maxima, noise, cost, beta):
    paper, correlated = np.zeros_like(mean), np.zeros_like(mean)
    for v, m in np.ndindex(mean.shape):
        truth = (mean[v, -1], variance[v, -1])
        paper[v, m] = ref.paper_information(mean[v, m], variance[v, m], maxima[v])
        correlated[v, m] = ref.correlated_information(covariance[v, m], variance[v, m], noise[m], *truth, maxima[v])
    transfer = [ref.transferable_information(mean[:, m], variance[:, m], noise[m]) for m in range(FIDELITIES)]
    raw, capped = (np.array(part) for part in zip(*transfer))
    assert np.all(raw >= -1e-12) and (len(mean) > 1 or np.all(np.abs(raw) < 1e-12))
    scores = [(np.mean(form, axis=0) + beta * capped) / cost for form in (paper, correlated)]
    return {
        "paper": paper,
        "correlated": correlated,
        "transfer": np.where(np.abs(raw) < 1e-14, 0.0, raw),
        "transfer_capped": np.where(np.abs(capped) < 1e-14, 0.0, capped),
        "score_paper": scores[0],
        "score_correlated": scores[1],
    }


# --- Max-value samples ---


def max_value():
    cases = [max_value_case("one", 200, 1, (0.0, 0.0), (0.0, 0.0), 400_000)]
    cases.append(max_value_case("five-equal", 201, 5, (0.0, 0.0), (0.0, 0.0), 400_000))
    cases.append(max_value_case("five-unequal", 202, 5, (-1.0, 1.0), (-4.0, 1.0), 400_000))
    cases.append(max_value_case("two-hundred", 203, 200, (-1.5, 1.5), (-1.5, 0.0), 40_000))
    cases.append(max_value_case("two-hundred-sure", 204, 200, (-1.0, 1.0), (-9.0, -6.0), 40_000))
    cases.append(max_value_case("thousand-equal", 205, 1000, (0.5, 0.5), (-0.5, -0.5), 20_000))
    cases.append(max_value_case("thousand-unequal", 206, 1000, (-2.0, 2.0), (-8.0, 1.0), 20_000))
    return {"cases": cases}


def max_value_case(name, number, n, mean_range, ln_sd_range, trials):
    stream, p = Stream(number), np.array([0.25, 0.5, 0.75])
    mean, sd = f32(stream.uniform(n, *mean_range)), f32(np.exp(stream.uniform(n, *ln_sd_range)))
    quartiles = [ref.max_quantile(q, mean, sd) for q in p]
    location, scale = ref.gumbel_fit(*quartiles)
    sampled, error = brute_force(stream, mean, sd, trials, p)
    assert np.all(np.abs(sampled - quartiles) <= 4.5 * error), (name, sampled, quartiles, error)
    u = f32([1e-6, 0.01, 0.25, 0.5, 0.75, 0.99, 0.999999])
    draws = np.maximum(location - scale * np.log(-np.log(u)), mean.max())
    return {
        "name": name,
        "mean": Exact(mean),
        "sd": Exact(sd),
        "quartiles": quartiles,
        "sampled_quartiles": sampled,
        "sampled_error": error,
        "location": location,
        "scale": scale,
        "u": Exact(u),
        "draws": draws,
    }


def brute_force(stream, mean, sd, trials, p):
    """Quartiles of the maximum of independent normals by sampling, and their standard errors by order statistics."""
    chunk = max(1, 2_000_000 // len(mean))
    maxima = np.sort(
        np.concatenate(
            [
                (mean + sd * stream.normal((min(chunk, trials - done), len(mean)))).max(axis=1)
                for done in range(0, trials, chunk)
            ]
        )
    )
    spread = np.sqrt(p * (1.0 - p) / trials)
    return np.quantile(maxima, p), 0.5 * (np.quantile(maxima, p + spread) - np.quantile(maxima, p - spread))


# --- Particles ---


def svgd():
    steps, number = [], 300
    for v in (1, 2, 4, 5):
        for p in (2, 7):
            stream = Stream(number := number + 1)
            theta, gradient = f32(stream.uniform((v, p), -1.5, 1.5)), f32(stream.uniform((v, p), -4.0, 4.0))
            steps.append(svgd_case(f"v{v}-p{p}", theta, gradient))
    far = f32(np.array([[0.0, 0.0], [30.0, 0.0], [0.0, -40.0]]))
    same = f32(np.full((4, 2), 0.25))
    steps.append(svgd_case("far-apart", far, f32(Stream(320).uniform((3, 2), -4.0, 4.0))))
    steps.append(svgd_case("all-equal", same, f32(Stream(321).uniform((4, 2), -4.0, 4.0))))
    return {"steps": steps, "priors": [prior_case(330 + p, p) for p in (2, 7)]}


def svgd_case(name, theta, gradient):
    paper_h, median_h = float(f32(1.0 / 1.326)), ref.median_bandwidth(theta)
    assert_repulsion_is_a_gradient(theta, paper_h)
    return {
        "name": name,
        "theta": Exact(theta),
        "gradient": Exact(gradient),
        "fixed_h": Exact(paper_h),
        "fixed_omega": ref.svgd_direction(theta, gradient, paper_h),
        "median_h": median_h,
        "median_omega": ref.svgd_direction(theta, gradient, median_h),
    }


def assert_repulsion_is_a_gradient(theta, h):
    """Without a likelihood, Omega is 1/V sum_u d k(u, v)/d theta_u by central differences."""
    omega, step = ref.svgd_direction(theta, np.zeros_like(theta), h), 1e-6
    for v in range(len(theta)):
        for j in range(theta.shape[1]):
            shift = np.eye(theta.shape[1])[j] * step
            k = [math.exp(-h * ((u + sign * shift - theta[v]) ** 2).sum()) for u in theta for sign in (1, -1)]
            assert abs(np.dot(k, [1, -1] * len(theta)) / (2.0 * step * len(theta)) - omega[v, j]) < 1e-7


def prior_case(number, p):
    """Both priors at a centre, between the centres, and far off where naive exponentials underflow."""
    stream = Stream(number)
    centres, bandwidth = f32(stream.uniform((5, p), -1.0, 1.0)), float(f32(0.55))
    points = f32(np.vstack([centres[1], stream.uniform((2, p), -1.0, 1.0), np.full(p, 30.0)]))
    mean, sd = f32(stream.uniform(p, -2.0, 1.0)), f32(stream.uniform(p, 0.2, 1.0))
    kde = [ref.kde_prior(t, centres, bandwidth) for t in points]
    gaussian = [ref.gaussian_prior(t, mean, sd) for t in points]
    for t, (value, gradient) in zip(points, kde):
        for j in range(p):
            ahead, behind = (ref.kde_prior(t + s * np.eye(p)[j], centres, bandwidth)[0] for s in (1e-5, -1e-5))
            assert abs((ahead - behind) / 2e-5 - gradient[j]) < 1e-6 * (1.0 + abs(value))
    return {
        "points": Exact(points),
        "kde": {"centres": Exact(centres), "bandwidth": Exact(bandwidth)} | values_and_gradients(kde),
        "gaussian": {"mean": Exact(mean), "sd": Exact(sd)} | values_and_gradients(gaussian),
    }


def values_and_gradients(pairs):
    return {"log_density": [pair[0] for pair in pairs], "gradient": [pair[1] for pair in pairs]}


# --- Batch design ---


def batch():
    return {"cases": [batch_case("equal-scales", 403, False), batch_case("unequal-scales", 404, True)]}


def batch_case(name, number, unequal):
    stream = Stream(number)
    x = f32(stream.uniform((24, 2)))
    ln_lengthscales = f32(np.log([[0.15, 0.4], [0.5, 0.2], [1.0, 1.0]]))
    ln_scale = f32([-0.7, 0.0, 0.6] if unequal else [0.0, 0.0, 0.0])
    noise, m = float(f32(NOISE)), np.zeros(len(x), int)  # one fidelity throughout: its factor is 1
    grams = [ref.kernel(ref.Ard(l, s), 0.0, x, m, x, m) for l, s in zip(ln_lengthscales, ln_scale)]
    picks, values, gaps = ref.greedy_batch(grams, noise, 11)
    assert min(gaps) > 2e-3, gaps  # no near tie that `f32` could decide otherwise
    return {
        "name": name,
        "x": Exact(x),
        "ln_lengthscales": Exact(ln_lengthscales),
        "ln_scale": Exact(ln_scale),
        "noise": Exact(noise),
        "picks": picks,
        "objective": values,
    }


def parts_file():
    return {"acquisition": acquisition(), "max_value": max_value(), "svgd": svgd(), "batch": batch()}


def main():
    files = {"gp.json": gp_file, "conditioning.json": conditioning_file, "parts.json": parts_file}
    for name, make in files.items():
        text = to_text(make()) + "\n"
        if "--check" in sys.argv:
            assert_close(json.loads((HERE / name).read_text()), json.loads(text), name)
        else:
            (HERE / name).write_text(text)
        print(f"{name}: {len(text) // 1024} KB")


if __name__ == "__main__":
    main()

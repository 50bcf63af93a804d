"""Where the golden data's inputs come from: an integer hash, points of the unit cube, a smooth objective; and golden data as
JSON text, and its comparison with what is already written.

Everything is rounded to `f32` before use, so that the core sees the very same numbers.
"""

import json
import math

import numpy as np
from scipy.special import ndtri

FIDELITIES = 4
WIDTH = 64
NOISE = 0.1


# --- Numbers ---


def hash_u24(seed, index):
    """Top 24 bits of splitmix64 at state seed + index (mod 2^64). Seeds are multiples of 2^32: streams stay apart."""
    with np.errstate(over="ignore"):
        z = np.uint64(seed) + np.asarray(index, np.uint64) + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return (z ^ (z >> np.uint64(31))) >> np.uint64(40)


assert hash_u24(0, 0) == 0xE220A8  # splitmix64's published first output, 0xE220A8397B1DCDAF


class Stream:
    """Consecutive values of one hash stream, as arrays of a wanted shape."""

    def __init__(self, number):
        self.seed, self.next = number << 32, 0

    def uniform(self, shape, low=0.0, high=1.0):
        count = int(np.prod(shape))
        u = hash_u24(self.seed, np.arange(self.next, self.next + count, dtype=np.uint64))
        self.next += count
        return low + (high - low) * (u.astype(float) / 2**24).reshape(shape)

    def normal(self, shape):
        return ndtri(self.uniform(shape) + 2.0**-25)

    def integers(self, shape, count):
        return np.floor(self.uniform(shape, 0.0, count)).astype(int)


def f32(values):
    """Round to `f32`, keep as `f64`."""
    return np.asarray(values, np.float32).astype(float)


def weight_bounds(dimension, scale):
    """Uniform weights of the priors' variances: 0.5/fan_in, or the paper's 0.5. The variance of U(-a, a) is a^2/3."""
    variance = [0.5 / n for n in (dimension, WIDTH, WIDTH)] if scale == "fan_in" else [0.5] * 3
    return f32(np.sqrt(3.0 * np.array(variance)))


def deep_parameters(seed, dimension, bounds):
    """Entry i of (W1, b1, W2, b2, W3, b3), W by rows, is (hash_u24(seed, i) / 2^23 - 1) * a, rounded to `f32` once."""
    sizes = [WIDTH * (fan_in + 1) for fan_in in (dimension, WIDTH, WIDTH)]
    a = np.repeat(bounds.astype(np.float32), sizes)
    unit = (hash_u24(seed, np.arange(len(a), dtype=np.uint64)).astype(float) / 2**23 - 1.0).astype(np.float32)
    return (unit * a).astype(float)


# --- Data sets ---


def spread_points(stream, count, dimension):
    """Uniform points; every 4th repeats an earlier one exactly (another fidelity of it), every 5th is near one."""
    x = stream.uniform((count, dimension))
    for i in range(4, count):
        earlier = stream.integers((), i)
        if i % 4 == 0:
            x[i] = x[earlier]
        elif i % 5 == 0:
            x[i] = np.clip(x[earlier] + stream.uniform(dimension, -0.03, 0.03), 0.0, 1.0)
    return f32(x)


def clustered_points(stream, count, dimension):
    """As a search leaves them: one point in three is uniform, the others lie within 0.05 of one spot."""
    x, spot = stream.uniform((count, dimension)), stream.uniform(dimension, 0.2, 0.8)
    near = spot + stream.uniform((count, dimension), -0.05, 0.05)
    return f32(np.where(np.arange(count)[:, None] % 3 == 0, x, near))


def objective(x, m):
    """A smooth function of standardised size whose fidelities differ by a shift and a twist."""
    c = np.linspace(0.7, 1.6, x.shape[1])
    lack = FIDELITIES - 1 - m
    return 1.2 * np.sin(2.0 * x @ c - 2.0 + 0.1 * lack) + 0.5 * np.cos(3.0 * x[:, -1]) - 0.15 * lack


def data_set(number, points, count, dimension):
    stream = Stream(number)
    x = points(stream, count, dimension)
    m = stream.integers(count, FIDELITIES)
    return {"x": x, "m": m, "y": f32(objective(x, m) + math.sqrt(NOISE) * stream.normal(count))}


def candidates(number, x):
    """Two uniform points, one observed, one near it, and two corners of the cube."""
    dimension = x.shape[1]
    stream = Stream(number)
    near = np.clip(x[2] + stream.uniform(dimension, -0.05, 0.05), 0.0, 1.0)
    return f32(np.vstack([stream.uniform((2, dimension)), x[2], near, np.zeros(dimension), np.ones(dimension)]))


# --- Text ---


class Exact:
    """Marks an input: written in the fewest digits that give back its `f32`."""

    def __init__(self, values):
        self.values = np.asarray(values, float)


def exact_text(value):
    text = f"{np.float32(value):.9g}"
    for digits in range(1, 10):
        shorter = f"{np.float32(value):.{digits}g}"
        if np.float32(float(shorter)) == np.float32(value):
            text = shorter
            break
    assert float(np.float32(float(text))) == float(value)
    return text


def to_text(value, format_=lambda v: f"{v:.10g}"):
    """JSON with our number formats; mappings that hold cases go one case to a line."""
    if isinstance(value, Exact):
        return to_text(value.values.tolist(), exact_text)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)}: {to_text(v)}" for k, v in value.items()) + "}"
    if isinstance(value, np.ndarray):
        return to_text(value.tolist(), format_)
    if isinstance(value, (list, tuple)):
        gap = ",\n" if value and isinstance(value[0], dict) else ", "
        return "[" + gap.join(to_text(v, format_) for v in value) + "]"
    if isinstance(value, (str, int, np.integer)):
        return json.dumps(value if isinstance(value, str) else int(value))
    assert math.isfinite(value)
    return format_(value)


def assert_close(ours, theirs, path):
    """Another numpy or processor may change the last of ten digits of a badly conditioned case, no more."""
    if isinstance(ours, dict):
        assert ours.keys() == theirs.keys(), path
        for key in ours:
            assert_close(ours[key], theirs[key], f"{path}.{key}")
    elif isinstance(ours, list):
        assert len(ours) == len(theirs), path
        for i, pair in enumerate(zip(ours, theirs)):
            assert_close(*pair, f"{path}[{i}]")
    elif isinstance(ours, float):
        assert abs(ours - theirs) <= 1e-6 * abs(ours) + 1e-9, (path, ours, theirs)
    else:
        assert ours == theirs, (path, ours, theirs)

"""Golden data as JSON text, and its comparison with what is already written."""

import json
import math

import numpy as np


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

"""Compares on a function of your own: the best value found with equally many calls, over several seeds.

    python -m foretune.compare module:function x=-5:10 y=0:15 --budget 30 --seeds 10
    python -m foretune.compare model.py:loss rate=1e-5:1e-1:log units=16,32,64 --maximise

Against Optuna's samplers, as far as they and what they need (torch, cmaes) are installed, and random search.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import math
import random
import statistics
import sys
import time
import warnings
from pathlib import Path
from typing import Any, Callable, Mapping, Optional, Sequence

from ._minimise import MOST_CALLS, minimise
from ._problem import ForetuneError, Log, axis, whole

Method = Callable[[Callable[..., float], Mapping[str, Any], int, int, str], None]


def _foretune(f: Callable[..., float], parameters: Mapping[str, Any], budget: int, seed: int, goal: str) -> None:
    minimise(f, parameters, budget, seed=seed, goal=goal)


def _random(f: Callable[..., float], parameters: Mapping[str, Any], budget: int, seed: int, goal: str) -> None:
    draw = random.Random(seed)
    for _ in range(budget):
        setting = {}
        for name, spec in parameters.items():
            one = axis(name, spec)
            values = one.table.get("values")
            drawn = draw.choice(values) if values else draw.uniform(one.table["low"], one.table["high"])
            setting[name] = one.decode(drawn)
        f(**setting)


def _of_optuna(name: str) -> Optional[Method]:
    """A sampler of Optuna's; none if it, or what it needs once a few trials are done, is not installed."""
    try:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        make = getattr(optuna.samplers, name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            study = optuna.create_study(sampler=make(n_startup_trials=2, seed=1))
            study.optimize(lambda trial: trial.suggest_float("x", 0, 1) + trial.suggest_float("y", 0, 1), n_trials=5)
    except (ImportError, AttributeError):
        return None

    def run(f: Callable[..., float], parameters: Mapping[str, Any], budget: int, seed: int, goal: str) -> None:
        def suggest(trial: Any, name: str, spec: Any) -> Any:
            if isinstance(spec[0], str):
                return trial.suggest_categorical(name, spec)
            if isinstance(spec, tuple):
                return trial.suggest_float(name, spec[0], spec[1], log=isinstance(spec, Log))
            return spec[trial.suggest_int(name, 0, len(spec) - 1)]

        study = optuna.create_study(sampler=make(seed=seed), direction="maximize" if goal == "maximise" else "minimize")
        study.optimize(lambda trial: f(**{name: suggest(trial, name, spec) for name, spec in parameters.items()}),
                       n_trials=budget, catch=(Exception,))

    return run


_ALL: dict[str, Callable[[], Optional[Method]]] = {
    "Foretune": lambda: _foretune,
    "Optuna GP": lambda: _of_optuna("GPSampler"),
    "Optuna TPE": lambda: _of_optuna("TPESampler"),
    "Optuna CMA-ES": lambda: _of_optuna("CmaEsSampler"),
    "random": lambda: _random,
}


def compare(f: Callable[..., float], parameters: Mapping[str, Any], budget: int = 30, seeds: int = 10, goal: str = "minimise") -> str:
    """A table of the best values found: mean over the seeds with its 90 % interval, best and worst; how often `f` was called, and
    how long a method took for each call beside it.

    >>> print(compare(lambda x: x * x, {"x": (-1, 1)}, budget=8, seeds=2).splitlines()[0])
    8 calls, 2 seeds, minimise: best value found
    """
    rows: list[tuple[str, ...]] = [("", "mean", "± 90 %", "best", "worst", "calls", "ms a call")]
    sign = 1 if goal == "minimise" else -1
    known = {name: method for name, find in _ALL.items() if (method := find())}
    for name, method in known.items():
        ends, start, inside, calls = [], time.perf_counter(), 0.0, 0
        for seed in range(1, seeds + 1):
            values: list[float] = []

            def measured(**setting: Any) -> float:
                nonlocal inside, calls
                calls += 1
                begun = time.perf_counter()
                try:
                    value = float(f(**setting))
                finally:
                    inside += time.perf_counter() - begun
                if math.isfinite(value):
                    values.append(sign * value)
                return value

            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                method(measured, parameters, budget, seed, goal)
            ends.append(min(values, default=math.inf))
        spread = 1.645 * statistics.stdev(ends) / math.sqrt(seeds) if seeds > 1 and math.inf not in ends else math.nan
        numbers = [sign * statistics.fmean(ends), spread, sign * min(ends), sign * max(ends)]
        own = (time.perf_counter() - start - inside) / max(calls, 1) * 1e3
        rows.append((name, *(f"{number:.4g}" for number in numbers), f"{calls / seeds:g}", f"{own:.1f}"))
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows]
    absent = [name for name in _ALL if name not in known]
    notes = [f"not installed: {', '.join(absent)}"] if absent else []
    return "\n".join([f"{budget} calls, {seeds} seeds, {goal}: best value found", *lines, *notes])


def function(text: str) -> Callable[..., float]:
    """What `module:function` or `file.py:function` stands for."""
    place, _, name = text.rpartition(":")
    try:
        if not place.endswith(".py"):
            sys.path.insert(0, "")
            return getattr(importlib.import_module(place), name)
        spec = importlib.util.spec_from_file_location(Path(place).stem, place)
        module = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
        spec.loader.exec_module(module)  # type: ignore[union-attr]
        return getattr(module, name)
    except (AttributeError, ImportError, OSError, ValueError) as error:
        raise argparse.ArgumentTypeError(f"takes module:function or file.py:function, not `{text}`: {error}") from None


def parameter(text: str) -> tuple[str, Any]:
    """`x=0:1`, `x=1e-5:1:log` or `x=1,2,4`.

    >>> parameter("x=-5:10"), parameter("r=1e-5:1:log"), parameter("n=4,2")
    (('x', (-5.0, 10.0)), ('r', Log(low=1e-05, high=1.0)), ('n', [2, 4]))
    """
    name, _, spec = text.partition("=")
    number = lambda word: int(word) if word.strip().lstrip("-").isdigit() else float(word)  # noqa: E731
    try:
        if "," in spec:
            return name, sorted(number(word) for word in spec.split(","))
        low, high, *scale = spec.split(":")
        kind = {(): lambda *ends: ends, ("log",): Log}[tuple(scale)]
        return name, kind(float(low), float(high))
    except (KeyError, ValueError):
        message = f"takes NAME=LOW:HIGH, NAME=LOW:HIGH:log or NAME=VALUE,VALUE,…, not `{text}`"
        raise argparse.ArgumentTypeError(message) from None


def main(words: Optional[Sequence[str]] = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m foretune.compare", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("function", type=function, help="module:function or file.py:function; it takes the parameters by name")
    parser.add_argument("parameters", type=parameter, nargs="+", help="NAME=LOW:HIGH, NAME=LOW:HIGH:log or NAME=VALUE,VALUE,…")
    parser.add_argument("--budget", type=int, default=30, help="calls of the function [30]")
    parser.add_argument("--seeds", type=int, default=10, help="repetitions [10]")
    parser.add_argument("--maximise", action="store_true", help="more is better")
    given = parser.parse_args(words)
    try:
        budget, seeds = whole("budget", given.budget, 2, MOST_CALLS), whole("seeds", given.seeds, 1, 1000)
    except ValueError as error:
        parser.error(f"--{error}")
    try:
        print(compare(given.function, dict(given.parameters), budget, seeds, "maximise" if given.maximise else "minimise"))
    except ForetuneError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()

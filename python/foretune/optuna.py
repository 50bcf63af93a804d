"""A sampler for Optuna: its studies, storage and dashboard, Foretune's queries.

>>> import optuna, foretune.optuna
>>> optuna.logging.set_verbosity(optuna.logging.WARNING)
>>> study = optuna.create_study(sampler=foretune.optuna.Sampler(budget=25, seed=1))
>>> study.optimize(lambda trial: (trial.suggest_float("x", -4, 4) - 1) ** 2, n_trials=25)
>>> study.best_value < 0.1
True
"""

from __future__ import annotations

import math
import random
import threading
from typing import Any, Mapping, Optional, Sequence

from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers import BaseSampler, RandomSampler
from optuna.search_space import intersection_search_space
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from ._problem import Axis, ForetuneError
from ._tuner import MOST_AT_ONCE, Query, Tuner

_MOST_PARAMETERS = 16
_MOST_LEVELS = 65_535
_MOST_VALUES = 8
# The tuner takes no value beyond: a trial that has one has failed.
_LARGEST = 1e30
# Of long studies, as much as the tuner has room for: the best and the latest.
_BEST, _LATEST = 100, 50


class Sampler(BaseSampler):
    """Relative sampling by Foretune; `budget` is how many trials the study is expected to have, `noise` their variance.

    Numbers of all kinds, categories that are numbers, which have an order, and up to eight others, which have none, are tuned, up to
    sixteen; the rest, and the first trial, are drawn at random. Trials that it did not ask for (enqueued, of other workers, from the storage) are learnt from.
    Failed and pruned trials are kept away from. Up to eight run at once (`n_jobs`); of those of other workers, an average is assumed.
    """

    def __init__(self, budget: int = 100, *, noise: float = 0.0, seed: Optional[int] = None,
                 settings: Optional[Mapping[str, Any]] = None):
        self._budget, self._noise, self._settings = budget, noise, dict(settings or {})
        self._seed = random.randrange(2**32) if seed is None else seed
        self._independent = RandomSampler(seed)
        self._forget()

    def _forget(self) -> None:
        self._lock = threading.Lock()
        self._tuner: Optional[Tuner] = None
        self._space: dict[str, BaseDistribution] = {}
        self._known: set[int] = set()
        # The trials under way by number: the query behind each, and the values that it was given.
        self._asked: dict[int, tuple[Query, dict[str, Any]]] = {}

    def __getstate__(self) -> dict[str, Any]:
        parts = ("_budget", "_noise", "_settings", "_seed", "_independent")
        return {name: getattr(self, name) for name in parts}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget()

    def reseed_rng(self) -> None:
        self._independent.reseed_rng()
        self._seed = random.randrange(2**32)

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        space = intersection_search_space(study.get_trials(deepcopy=False))
        tuned = [(name, one) for name, one in space.items() if _axis(one) is not None]
        return dict(tuned[:_MOST_PARAMETERS])

    def sample_relative(self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]) -> dict[str, Any]:
        self._raise_error_if_multi_objective(study)
        if not search_space:
            return {}
        with self._lock:
            trials = [one for one in study.get_trials(deepcopy=False) if one.number != trial.number]
            news = any(one.state.is_finished() and one.number not in self._known for one in trials)
            if news or self._tuner is None or search_space != self._space or not self._next():
                self._begin(study, trials, search_space)
            query = self._next()
            if not query:
                return {}
            given = zip(search_space, _axes(search_space), query.setting.values())
            values = {name: one.decode(x) for name, one, x in given}
            self._asked[trial.number] = (query, values)
            return values

    def _next(self) -> Optional[Query]:
        asked = {query.id for query, _ in self._asked.values()}
        queries = self._tuner.ask_several(min(len(asked) + 1, MOST_AT_ONCE)) if self._tuner else []
        return next((query for query in queries if query.id not in asked), None)

    def sample_independent(self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution) -> Any:
        self._raise_error_if_multi_objective(study)
        return self._independent.sample_independent(study, trial, param_name, param_distribution)

    def after_trial(self, study: Study, trial: FrozenTrial, state: TrialState, values: Optional[Sequence[float]]) -> None:
        with self._lock:
            query, given = self._asked.pop(trial.number, (None, {}))
            as_given = all(trial.params.get(name) == value for name, value in given.items())
            if not as_given or not self._tuner or not query:
                return
            self._known.add(trial.number)
            value = values[0] if state == TrialState.COMPLETE and values else None
            try:
                self._tuner.tell(query, value if value is not None and abs(value) <= _LARGEST else None)
            except ForetuneError:
                self._tuner.tell(query, None)

    def _begin(self, study: Study, trials: list[FrozenTrial], space: dict[str, BaseDistribution]) -> None:
        """Another tuner, which knows what the study has."""
        axes = _axes(space)
        sign = 1 if study.direction == StudyDirection.MINIMIZE else -1
        within = [one for one in trials if space.items() <= one.distributions.items()]
        done = {one.number: sign * one.value for one in within
                if one.state == TrialState.COMPLETE and one.value is not None and abs(one.value) <= _LARGEST}
        if done:
            worst, average = max(done.values()), sum(done.values()) / len(done)
            for one in within:
                if one.state == TrialState.RUNNING:
                    done[one.number] = average
                elif one.state.is_finished():
                    done.setdefault(one.number, worst)
        best = sorted(done, key=done.__getitem__)
        kept = set(best[:_BEST]) | set(sorted(best[_BEST:])[-_LATEST:])
        past = [({name: one.encode(trial.params[key]) for name, one, key in zip(_NAMES, axes, space)}, sign * done[trial.number])
                for trial in within if trial.number in kept]
        left = self._budget - len(trials)
        initial = max(1, 2 * len(space) + 2 - len(past))
        problem = {
            "goal": "minimise" if sign == 1 else "maximise",
            "budget": max(left if left > 0 else len(trials), initial + 1) - initial,
            "parameter": [{"name": name, **one.table} for name, one in zip(_NAMES, axes)],
            "fidelity": [{"name": "trial", "cost": 1, "noise": self._noise}],
            "failures": 2**32 - 1,
        }
        self._tuner = Tuner(problem, seed=self._seed + len(trials), settings=self._settings, past=past)
        self._space, self._asked = dict(space), {}
        self._known = {one.number for one in trials if one.state.is_finished()}


_NAMES = [f"p{i}" for i in range(_MOST_PARAMETERS)]


def _axes(space: dict[str, BaseDistribution]) -> list[Axis]:
    return [known for one in space.values() if (known := _axis(one)) is not None]


def _axis(one: BaseDistribution) -> Optional[Axis]:
    """A parameter between 0 and 1, of levels from 0 on, or without an order; none for what cannot be tuned."""
    if one.single():
        return None
    if isinstance(one, CategoricalDistribution):
        return _categories(list(one.choices))
    if not isinstance(one, (FloatDistribution, IntDistribution)):
        return None
    whole = isinstance(one, IntDistribution)
    step = one.step or (1 if whole else None)
    if step and not one.log and (count := round((one.high - one.low) / step) + 1) <= _MOST_LEVELS:
        table = {"low": 0, "high": count - 1, "levels": count}
        return Axis(table, lambda x: one.low + round(x) * step, lambda value: round((value - one.low) / step))
    to, back = (math.log, math.exp) if one.log else (float, float)
    low, high = to(one.low), to(one.high)

    def decode(x: float) -> Any:
        value = back(low + min(max(x, 0), 1) * (high - low))
        if step:
            value = one.low + round((value - one.low) / step) * step
        return min(max(int(value) if whole else value, one.low), one.high)

    return Axis({"low": 0, "high": 1}, decode, lambda value: min(max((to(value) - low) / (high - low), 0.0), 1.0))


def _categories(choices: list[Any]) -> Optional[Axis]:
    numbers = all(isinstance(choice, (int, float)) and not isinstance(choice, bool) for choice in choices)
    if not numbers or len(set(choices)) < len(choices) or any(choice != choice for choice in choices):
        known = {"values": [str(i) for i in range(len(choices))]}
        return Axis(known, lambda x: choices[int(x)], lambda value: str(choices.index(value))) if len(choices) <= _MOST_VALUES else None
    choices = sorted(choices)
    table = {"low": 0, "high": len(choices) - 1, "levels": len(choices)}
    return Axis(table, lambda x: choices[round(x)], lambda value: choices.index(value))

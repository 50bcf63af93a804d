"""One call for those who have a function: `minimise` and `maximise`."""

from __future__ import annotations

import math
import re
import warnings
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from typing import Any, Callable, Iterator, Mapping, Optional

from ._problem import Axis, ForetuneError, ProblemError, axis, table, whole
from ._tuner import MOST_AT_ONCE, Query, Trial, Tuner, _Setting

# Room for answers in one task.
MOST_CALLS = 256


@dataclass(frozen=True)
class Result(_Setting):
    """What a call came to."""

    setting: dict[str, Any]
    """The best setting."""
    value: float
    """What was measured there; where there is noise, what is expected there."""
    history: list[Trial] = field(repr=False)
    """All measurements in their order; `value` is None where one failed."""
    reason: str
    """Why it ended: `budget`, `exhausted`, `tolerance`, `capacity`, `failures` or `stopped`."""
    knowledge: bytes = field(repr=False, default=b"")
    """What was learnt, for a later call with the same parameters: `minimise(…, knowledge=result.knowledge)`."""


class CallsFailed(ForetuneError):
    """Too many calls in a row failed, the last with the cause of this; `result` is what was found until then, if anything was."""

    def __init__(self, message: str, result: Optional[Result] = None):
        super().__init__(message)
        self.result = result


def minimise(
    f: Callable[..., Optional[float]],
    parameters: Mapping[str, Any],
    budget: int = 30,
    *,
    noise: Optional[float] = 0.0,
    start: Optional[Mapping[str, Any]] = None,
    seed: Optional[int] = None,
    settings: Optional[Mapping[str, Any]] = None,
    knowledge: Optional[bytes] = None,
    goal: str = "minimise",
    parallel: int = 1,
    **more: Any,
) -> Result:
    """Finds where `f`, which takes the parameters by name, is least, with `budget` calls, 256 at most.

    >>> result = minimise(lambda x, n: (x - 1) ** 2 + abs(n - 3), {"x": (-4, 4), "n": range(1, 9)}, budget=40)
    >>> result.setting["n"], result.value < 0.1, len(result.history)
    (3, True, 40)

    A parameter is a range `(low, high)`, a range on a logarithmic scale `Log(low, high)`, a list of numbers, a list of 2 to 8 names,
    which have no order, or a table of a problem file. `noise` is the variance of what `f` returns; `start` a setting to begin with; `parallel` how many
    calls, 8 at most, run at once, in threads. What `more` says is said of the problem as in its file: `limit`, `tolerance`,
    `failures`, `floor`, `fleet`.

    A call that raises, or returns None or no finite number, has failed; the search keeps away from there. After ten in a row
    (`failures`) `CallsFailed` is raised, with what was found until then in its `result`. Ctrl-C ends the search: what was found until
    then is returned.
    """
    axes = {name: axis(name, spec) for name, spec in table("parameters", parameters).items()}
    budget, parallel = whole("budget", budget, 2, MOST_CALLS), whole("parallel", parallel, 1, MOST_AT_ONCE)
    deployed = start and {name: axes[name].encode(value) for name, value in table("start", start).items() if name in axes}
    if start and (unknown := set(start) - set(axes)):
        raise ValueError(f"start: no parameter is called {', '.join(sorted(unknown))}")
    problem = {
        "goal": goal, "budget": budget,
        "parameter": [one.table for one in axes.values()],
        "fidelity": [{"name": "call", "cost": 1, "noise": noise}], "deployed": deployed, **more,
    }
    try:
        tuner = Tuner(problem, seed=seed, settings=settings, knowledge=knowledge)
    except ForetuneError as error:
        error.args = (_as_start(str(error)),)
        if isinstance(error, ProblemError):
            error.field = _as_start(error.field)
        raise
    with tuner:
        return _play(tuner, f, axes, -1 if goal == "maximise" else 1, noise, parallel)


def maximise(f: Callable[..., Optional[float]], parameters: Mapping[str, Any], budget: int = 30, **options: Any) -> Result:
    """Finds where `f` is greatest; otherwise as `minimise`.

    >>> maximise(lambda x: 5 - (x - 1) ** 2, {"x": (-4, 4)}, budget=20).value > 4.9
    True
    """
    return minimise(f, parameters, budget, goal="maximise", **options)


def _as_start(text: str) -> str:
    """The setting in use by the name that it has here."""
    return re.sub(r"\[deployed\]( or `deployed`)?|\bdeployed\b", "start", text)


def _call(f: Any, setting: dict[str, Any]) -> tuple[Optional[float], Optional[Exception]]:
    try:
        value = f(**setting)
        value = None if value is None else float(value)
        if value is None or not math.isfinite(value):
            return None, ValueError(f"{value} is not a finite number")
        return value, None
    except Exception as error:
        return None, error


def _measured(tuner: Tuner, call: Callable[[Query], Any], parallel: int) -> Iterator[tuple[Query, Any]]:
    """Every query with what came of it, which is to be told before the next."""
    if parallel == 1:
        for query in tuner:
            yield query, call(query)
        return
    pool = ThreadPoolExecutor(parallel)
    running: dict[Future[Any], Query] = {}
    try:
        while queries := tuner.ask_several(parallel):
            busy = {query.id for query in running.values()}
            running.update({pool.submit(call, query): query for query in queries if query.id not in busy})
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                if tuner.recommendation:
                    return  # The last answer has ended the task.
                yield running.pop(future), future.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _play(tuner: Tuner, f: Any, axes: Mapping[str, Axis], sign: int, noise: Optional[float], parallel: int) -> Result:
    history: list[Trial] = []
    failure: Optional[Exception] = None
    decode = lambda setting: {name: axes[name].decode(x) for name, x in setting.items()}  # noqa: E731
    try:
        for query, (value, error) in _measured(tuner, lambda query: _call(f, decode(query.setting)), parallel):
            failure = error or failure
            history.append(Trial(decode(query.setting), value, query.fidelity, query.cost))
            try:
                tuner.tell(query, value)
            except ForetuneError as error:
                failure, history[-1] = error, replace(history[-1], value=None)
                tuner.tell(query, None)
    except KeyboardInterrupt:
        if all(trial.value is None for trial in history):
            raise
        warnings.warn(f"interrupted: this is what {len(history)} measurements give", stacklevel=3)
        if tuner.ask():
            tuner.stop()
    advice = tuner.recommendation
    measured = [(trial.value, trial.setting) for trial in history if trial.value is not None]
    result = None
    if measured and advice:
        value, setting = min(measured, key=lambda pair: sign * pair[0])
        if noise != 0 and advice.setting and advice.mean is not None:
            value, setting = advice.mean, decode(advice.setting)
        result = Result(setting, value, history, advice.reason, tuner.knowledge)
    if result is None or result.reason == "failures":
        last = f"{type(failure).__name__}: {failure}"
        raise CallsFailed(f"{len(history) - len(measured)} of {len(history)} calls failed, the last: {last}", result) from failure
    return result

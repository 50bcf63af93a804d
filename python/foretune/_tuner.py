"""Ask what to measure, tell what came out: `foretune serve` inside this process, with its lines (docs/serve.md)."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import Any, Iterable, Iterator, Mapping, Optional, Sequence

from . import _foretune
from ._problem import ForetuneError, Text, a_number, table, text_of, whole

# So many queries wait for their answers at most.
MOST_AT_ONCE = 8


class _Setting:
    setting: Any

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        import numpy

        return numpy.array(list(self.setting.values()), dtype=dtype)


@dataclass(frozen=True)
class Query(_Setting):
    """What to measure: a value for every parameter. `numpy.asarray(query)` has them in their order."""

    id: int
    setting: dict[str, Any]
    fidelity: str
    cost: float
    samples: Optional[int] = None
    why: Optional[dict[str, Any]] = None
    """What the model thought when it asked, as in docs/serve.md; None before it has something to go by."""


@dataclass(frozen=True)
class Trial(_Setting):
    """A measurement; `value` is None if it failed."""

    setting: dict[str, Any]
    value: Optional[float]
    fidelity: str
    cost: float
    kpis: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Recommendation(_Setting):
    """What a task came to: `mean` and `deviation` are what is expected at the fidelity that counts.

    `setting` is None if nothing was measured; `outliers` are answers too far from all others, and not confirmed by a second.
    """

    setting: Optional[dict[str, Any]]
    reason: str
    spent: float
    mean: Optional[float] = None
    deviation: Optional[float] = None
    outliers: int = 0
    unassured: bool = False
    """Whether no setting keeps floor and guards as surely as asked for: this is the one in use then."""


@dataclass(frozen=True)
class Change:
    """The setting in use no longer gives what it gave: `of` is `value` or a guarded KPI, `change` one of `lower`, `higher`,
    `wider` and `narrower`, `usual` what it gave before."""

    of: str
    change: str
    usual: float
    readings: int


@dataclass(frozen=True)
class Status:
    """How far the task is: `best` is its best answer, `expected` what the model expects of the best setting it knows, `in_use` what was
    measured of the setting in use, `broken` how many trials were beyond the bound of what, of how many."""

    task: int
    answered: int
    spent: float
    budget: float
    best: Optional[float]
    expected: Optional[float]
    outliers: int
    in_use: Optional[float] = None
    broken: Mapping[str, Sequence[int]] = field(default_factory=dict)


def _floats(numbers: Mapping[str, Any]) -> dict[str, float]:
    return {name: a_number(name, number) for name, number in numbers.items()}


def _texts(setting: Mapping[str, Any]) -> dict[str, str]:
    return {name: value if isinstance(value, str) else repr(a_number(name, value)) for name, value in setting.items()}


def _known(measurements: Iterable[Any]) -> list[tuple[dict[str, str], float, Optional[str], dict[str, float]]]:
    known = []
    if not isinstance(measurements, Iterable):
        raise TypeError(f"past takes a list of measurements, not {measurements!r}")
    for i, one in enumerate(measurements, 1):
        try:
            row = (one.setting, one.value, one.fidelity, one.kpis) if isinstance(one, Trial) else (*one, None, None)[:4]
            setting, value, fidelity, kpis = row
            if not isinstance(fidelity, (str, type(None))):
                raise TypeError
            if value is not None:
                _check({"value": value})
                known.append((_texts(table("setting", setting)), float(value), fidelity, _floats(table("kpis", kpis or {}))))
        except (AttributeError, TypeError, ValueError):
            raise ForetuneError(f"past measurement {i} takes (setting, value): a dict and a finite number, and may have "
                                f"fidelity and kpis behind them; not {one!r}") from None
    return known


def _check(numbers: Mapping[str, float], instead: str = "") -> None:
    for what, number in numbers.items():
        if not math.isfinite(number):
            raise ValueError(f"the {what} is {number}, not a finite number{instead}")


class Tuner:
    """A tuner of a problem: a dict, a dataclass such as `Problem`, or the path of a TOML file.

    >>> tuner = Tuner({"goal": "minimise", "budget": 20, "parameter": {"x": (-4, 4)},
    ...                "fidelity": [{"name": "run", "cost": 1, "noise": 1e-4}]})
    >>> for query in tuner:
    ...     tuner.tell(query, (query.setting["x"] - 1) ** 2)
    >>> abs(tuner.recommendation.setting["x"] - 1) < 0.2
    True
    >>> tuner.next_task()              # knows what the first task learnt
    >>> tuner.status.task
    2

    `state` is a file that keeps every answer: a program that is started again goes on where it was. `seed` is the root of all
    randomness, `deployed` the setting in use, if it is not the problem's, `settings` are those of `foretune tune --set`. The first
    task starts from the `knowledge` of another tuner, if given, and from `past` measurements.

    A tuner can be pickled: its copy goes on bit for bit, but without the file.
    """

    recommendation: Optional[Recommendation]
    """What the task came to; None before its end."""

    def __init__(
        self,
        problem: Any,
        *,
        state: Any = None,
        seed: Optional[int] = None,
        deployed: Optional[Mapping[str, Any]] = None,
        settings: Optional[Mapping[str, Any]] = None,
        knowledge: Optional[bytes] = None,
        past: Iterable[Any] = (),
    ):
        if seed is not None:
            seed = whole("seed", seed, 0, 2**64 - 1)
        if not isinstance(knowledge, (bytes, type(None))):
            raise TypeError(f"knowledge takes what `knowledge` of another tuner has, not {knowledge!r}")
        in_use = ",".join(f"{name}={value}" for name, value in _texts(table("deployed", deployed)).items()) if deployed else None
        words = [f"{key}={str(value).lower()}" for key, value in table("settings", settings or {}).items()]
        self._open(text_of(problem), words, file=state, seed=seed, deployed=in_use, knowledge=knowledge or b"", past=_known(past))

    def _open(self, text: Text, settings: list[str], *, file: Any = None, state: bytes = b"", seed: Optional[int] = None,
              deployed: Optional[str] = None, knowledge: bytes = b"", past: Any = ()) -> None:
        self._text, self._settings, self._closed = text, settings, False
        self._queries: dict[int, Query] = {}
        self._at: Any = None
        self.recommendation = None
        try:
            self._session = _foretune.Session(
                text.place, text.text, file=file, state=state, seed=seed, deployed=deployed, settings=settings,
                knowledge=knowledge, past=list(past))
        except RuntimeError as error:
            raise text.error(str(error)) from None
        self._settle()

    def ask(self, **conditions: float) -> Optional[Query]:
        """What to measure next, the same until it is answered; None when the task has ended. Where the problem has conditions,
        under these, `tuner.ask(load=0.7)`; else under the last that were known."""
        query = self._query()
        at = (query.id, _floats(conditions)) if conditions and query else self._at
        if at != self._at:
            _check(at[1])
            self._say({"ask_at": at[1]})
            self._at = at
        return self._query()

    def ask_several(self, count: int) -> list[Query]:
        """Up to `count` queries, 8 at most, to be measured at once and told in any order: those that wait for their answers, and
        more beside them. Fewer where an answer must come first; none when the task has ended."""
        count = whole("count", count, 0, MOST_AT_ONCE)
        self._settle()
        known = 0
        while known < len(self._queries) < count:
            known = len(self._queries)
            self._send("ask")
        return list(self._queries.values())[:count]

    def _query(self) -> Optional[Query]:
        if not self.recommendation:
            self._refuse_closed()
        self._settle()
        return next(iter(self._queries.values()), None)

    def tell(self, query: Query, value: Optional[float], cost: Optional[float] = None,
             kpis: Optional[Mapping[str, float]] = None, **conditions: float) -> None:
        """Answers a query; with None if the measurement failed. `cost` is what it cost, if not what the fidelity says;
        `kpis` has the KPIs that the problem guards, by name; conditions are those that it was really measured under."""
        if not isinstance(query, Query):
            raise TypeError(f"tell takes the query that it answers, not {query!r}")
        if value is None:
            return self._send("fail", id=query.id)
        numbers = _floats({"value": value, "cost": 0.0 if cost is None else cost})
        told = _floats(table("kpis", kpis or {}))
        at = _floats(conditions)
        _check({**told, **at, **numbers}, "; tell None for a failed measurement")
        self._send("tell", id=query.id, value=numbers["value"], kpis=told or None, cost=None if cost is None else numbers["cost"],
                   conditions=at or None)

    def recommendation_at(self, **conditions: float) -> Recommendation:
        """What to use under other conditions, after the end of a task. Its answers are told again for that, which takes as long
        as the task computed."""
        known, at = self.recommendation, _floats(conditions)
        _check(at)
        try:
            self._say({"recommend_at": at})
            best = self.recommendation
        finally:
            self.recommendation = known
        if best is None:
            raise ForetuneError("nothing is recommended")
        return best

    def stop(self) -> None:
        """Ends the task now, with what is known."""
        self._send("stop")

    def next_task(self, deployed: Optional[Mapping[str, Any]] = None) -> None:
        """Begins another task, after the end of this one, with what was learnt."""
        self._send("next_task", deployed=deployed and _texts(table("deployed", deployed)))

    def watch(self, value: float, kpis: Optional[Mapping[str, float]] = None, **conditions: float) -> Optional[Change]:
        """Takes a reading of the setting in use after the end of a task, always of the same fidelity. None while it gives what
        it gave, or what is expected under the conditions of the reading; else what has changed, and the next task has begun."""
        told, at, value = _floats(table("kpis", kpis or {})), _floats(conditions), a_number("value", value)
        _check({**told, **at, "value": value}, "; leave out a reading that failed")
        self._change: Optional[Change] = None
        self._send("watch", value=value, kpis=told or None, conditions=at or None)
        return self._change

    def past(self, measurements: Iterable[Any]) -> None:
        """Hands in what was measured before this task, free of charge, before its first answer: trials of another `history`, or
        tuples `(setting, value)`, `(setting, value, fidelity)` or `(setting, value, fidelity, kpis)`. A second call replaces the
        first."""
        names = ("setting", "value", "fidelity", "kpis")
        self._say({"past": [dict(zip(names, one)) for one in _known(measurements)]})

    @property
    def status(self) -> Status:
        """How far the task is."""
        self._send("status")
        return self._status

    @property
    def knowledge(self) -> bytes:
        """What the next task would start from, here or in another tuner of this problem; empty before the first has ended."""
        state = self._state()
        return bytes.fromhex(state["learnt"] or state["knowledge"])

    @property
    def history(self) -> list[Trial]:
        """The measurements of this task; values have single precision."""
        state = self._state()
        parameters = state["problem"]["parameters"]

        def setting(point: list[float]) -> dict[str, Any]:
            pairs = ((one["name"], one.get("names"), x) for one, x in zip(parameters, point))
            return {name: values[int(x)] if values else x for name, values, x in pairs}

        fidelities = [fidelity["name"] for fidelity in state["problem"]["fidelities"]]
        task = state["tasks"][-1]
        guards = [words.split(":")[0] for words in task["begun"]["service"].get("guards", "").split(", ")]
        return [Trial(setting(told["point"]), told["value"], fidelities[told["fidelity"]], told["cost"],
                      dict(zip(guards, told.get("kpis", ()))))
                for told in task["answers"]]

    @property
    def state(self) -> bytes:
        """What the file of `state` has, or would have."""
        self._settle()
        return self._session.state()

    def close(self) -> None:
        """Gives the file of `state` free; what is known can still be read."""
        self._closed = True
        self._session.close()

    def __enter__(self) -> Tuner:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[Query]:
        while (query := self.ask()) is not None:
            yield query
            if self._queries.get(query.id) is query:
                raise ForetuneError(f"query {query.id} got no answer: call tell or stop")

    def __getstate__(self) -> tuple[Any, ...]:
        return tuple(self._text), self._settings, self.state

    def __setstate__(self, pickled: tuple[Any, ...]) -> None:
        text, settings, state = pickled
        self._open(Text(*text), settings, state=state)

    def _state(self) -> dict[str, Any]:
        return json.loads(self.state.split(b"\n", 1)[1])

    def _send(self, what: str, **fields: Any) -> None:
        self._say({what: {name: value for name, value in fields.items() if value is not None}})

    def _refuse_closed(self) -> None:
        if self._closed:
            raise ForetuneError("this tuner is closed")

    def _say(self, line: dict[str, Any]) -> None:
        self._refuse_closed()
        self._settle()
        self._session.say(json.dumps(line))
        self._settle()

    def _settle(self) -> None:
        """Hears what is still to come: also after an interrupt."""
        while (line := self._hear()) is not None:
            if "ask" in line:
                beside = line["ask"].pop("beside", ())
                query, self.recommendation = Query(**line["ask"]), None
                self._queries = {**{id: self._queries[id] for id in beside}, query.id: query}
            elif "pending" in line:
                self._queries = {id: self._queries[id] for id in line["pending"]}
            elif "recommendation" in line:
                self._queries, self.recommendation = {}, Recommendation(**line["recommendation"])
            elif "changed" in line:
                self._change = Change(**line["changed"])
            elif "status" in line:
                self._status = Status(**line["status"])
            self._session.done()
            if "error" in line:
                raise ForetuneError(line["error"])

    def _hear(self) -> Optional[dict[str, Any]]:
        try:
            line = self._session.hear()
            return None if line is None else json.loads(line)
        except RuntimeError as error:
            raise self._text.error(str(error)) from None

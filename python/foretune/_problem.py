"""Problems: a dict, a dataclass or a TOML file, all with the fields of problem files (docs/guide/tune.md)."""

from __future__ import annotations

import dataclasses
import json
import math
import operator
import os
import re
from pathlib import Path
from typing import Any, Callable, Iterator, Mapping, NamedTuple, Optional, Sequence, Union


class ForetuneError(Exception):
    """Something was refused; nothing has changed."""


class ProblemError(ForetuneError, ValueError):
    """A problem makes no sense: `field` is where, as in `parameter[0].levels`."""

    def __init__(self, message: str, field: str = ""):
        super().__init__(message)
        self.field = field


def whole(name: str, number: Any, low: int, high: int) -> int:
    """A whole number in a range, of any kind, but no 2.0."""
    try:
        if not isinstance(number, bool) and low <= operator.index(number) <= high:
            return operator.index(number)
    except TypeError:
        pass
    raise ValueError(f"{name} takes a whole number from {low} to {high}, not {number!r}")


def table(name: str, given: Any) -> Mapping[str, Any]:
    """What takes a value for every name."""
    if not isinstance(given, Mapping):
        raise TypeError(f"{name} takes a dict, not {given!r}")
    return given


def a_number(name: str, given: Any) -> float:
    """A number of any kind."""
    try:
        return float(given)
    except (TypeError, ValueError):
        raise TypeError(f"{name} takes a number, not {given!r}") from None


@dataclasses.dataclass
class Problem:
    """What is tuned, with the fields of problem files.

    >>> Problem("minimise", 20, parameter={"x": (-1, 1)}, fidelity=[{"name": "run", "cost": 1, "noise": 0.01}]).goal
    'minimise'
    """

    goal: str
    """`"minimise"` or `"maximise"`."""
    budget: float
    """What the measurements of one task may cost."""
    parameter: Union[Mapping[str, Any], Sequence[Mapping[str, Any]]]
    """Tables as in files, or for every name a pair `(low, high)`, a list of numbers, a list of names, which have no order, or
    such a table without its name."""
    fidelity: Sequence[Mapping[str, Any]]
    """Ways to measure, cheapest first; the last is the one that counts."""
    condition: Union[Mapping[str, Any], Sequence[Mapping[str, Any]]] = ()
    """What is not chosen but known, such as a load: as parameters, `(low, high)` for every name."""
    deployed: Optional[Mapping[str, Any]] = None
    floor: Optional[Mapping[str, float]] = None
    guard: Sequence[Mapping[str, Any]] = ()
    limit: Sequence[Mapping[str, Any]] = ()
    tolerance: Optional[float] = None
    failures: Optional[int] = None
    run_length: Optional[float] = None
    fleet: Union[str, os.PathLike, None] = None


class Log(NamedTuple):
    """A range whose logarithm is searched: `minimise(f, {"rate": Log(1e-5, 1e-1)})`."""

    low: float
    high: float


class Axis(NamedTuple):
    """A parameter of a problem: its table, and what its values stand for."""

    table: dict[str, Any]
    decode: Callable[[Any], Any] = float
    encode: Callable[[Any], Any] = float


def axis(name: str, spec: Any) -> Axis:
    """What a pair, a `Log`, values or a table stand for."""
    if isinstance(spec, Axis):
        return spec._replace(table={"name": name, **spec.table})
    if isinstance(spec, Mapping):
        if _are_names(name, spec.get("values")):
            return Axis({"name": name, **spec}, str, str)
        return Axis({"name": name, **spec}, int if spec.get("integer") else float)
    if _are_names(name, spec):
        return Axis({"name": name, "values": list(spec)}, str, str)
    if isinstance(spec, Log):
        if not 0 < spec.low < spec.high:
            raise ProblemError(f"Log takes 0 < low < high, not {spec.low} and {spec.high}", name)
        return Axis({"name": name, "low": spec.low, "high": spec.high, "scale": "log"})
    try:
        values = [value.item() if hasattr(value, "item") else value for value in spec]
        if any(isinstance(value, (str, bool)) for value in values):
            raise TypeError
        known = sorted(values)
        if not isinstance(spec, tuple):
            nearest = lambda x: min(known, key=lambda value: abs(value - x))  # noqa: E731
            return Axis({"name": name, "values": known}, nearest)
        low, high = values
    except (TypeError, ValueError):
        raise ProblemError(f"{name}: takes (low, high), a list of numbers or of names, or a table, not {spec!r}", name) from None
    return Axis({"name": name, "low": low, "high": high}, lambda x: min(max(float(x), low), high))


def _are_names(name: str, values: Any) -> bool:
    """Whether these are the values of a category: in a list, an array, the keys of a dict."""
    try:
        names = not isinstance(values, str) and len(values) > 0 and all(isinstance(value, str) for value in values)
    except TypeError:
        return False
    if names and isinstance(values, (set, frozenset)):
        raise ProblemError(f"{name}: takes names in a list: a set has no order", name)
    return names


class Text(NamedTuple):
    """A problem as text, where it lies or would lie, and which field a line is of."""

    place: str
    text: str
    fields: tuple[str, ...] = ()

    def error(self, message: str) -> ForetuneError:
        """What was said of this text, with the field in place of the line."""
        found = re.match(re.escape(self.place) + r", line (\d+): (.*)", message, re.DOTALL)
        if not found:
            options = r"--(state|seed|deployed|set)\b"
            return ForetuneError(re.sub(options, r"`\1`", message).replace("`set`", "`settings`"))
        if not self.fields:
            return ProblemError(message)
        line, what = int(found[1]), re.sub(r"^\[deployed\]: ", "", found[2])
        field = self.fields[line - 1] if line <= len(self.fields) else ""
        if missing := re.match("missing field `(.*?)`", what):
            field = ".".join(filter(None, [field, missing[1]]))
        return ProblemError(f"{field}: {what}" if field else what, field)


def text_of(problem: Any) -> Text:
    """The text of a problem, which is read by the same code as a file."""
    if isinstance(problem, (str, os.PathLike)):
        return Text(str(problem), Path(problem).read_text(encoding="utf-8"))
    if dataclasses.is_dataclass(problem) and not isinstance(problem, type):
        problem = {field.name: getattr(problem, field.name) for field in dataclasses.fields(problem)}
    if not isinstance(problem, Mapping):
        raise ProblemError(f"a problem is a dict, a dataclass or the path of a file, not {problem!r}")
    for kind in ("parameter", "condition"):
        if isinstance(named := problem.get(kind), Mapping):
            problem = {**problem, kind: [axis(name, spec).table for name, spec in named.items()]}
    lines = [("# This stands for a file.", ""), *_lines(problem)]
    return Text("problem", "".join(line + "\n" for line, _ in lines), tuple(field for _, field in lines))


def _lines(problem: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Every value in a line of its own, with its field; tables last, as TOML wants it."""
    tables = []
    for key, value in problem.items():
        if isinstance(value, Mapping):
            tables.append((f"[{_value(key, key)}]", key, value))
        elif isinstance(value, Sequence) and all(isinstance(item, Mapping) for item in value) and value != "":
            tables += [(f"[[{_value(key, key)}]]", f"{key}[{i}]", item) for i, item in enumerate(value)]
        elif value is not None:
            yield f"{_value(key, key)} = {_value(value, key)}", key
    for head, field, table in tables:
        yield head, field
        for key, value in table.items():
            if value is not None:
                yield f"{_value(key, field)} = {_value(value, f'{field}.{key}')}", f"{field}.{key}"


def _value(value: Any, field: str) -> str:
    """A value as TOML writes it; numbers, arrays and paths of any kind."""
    if isinstance(value, (str, os.PathLike)):
        return json.dumps(os.fspath(value), ensure_ascii=False)
    if isinstance(value, Mapping):
        pairs = (f"{_value(key, field)} = {_value(item, f'{field}.{key}')}" for key, item in value.items())
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, bool):
        return str(value).lower()
    if hasattr(value, "__index__") and not hasattr(value, "__len__"):
        return str(int(value))
    if hasattr(value, "__float__") and not hasattr(value, "__len__"):
        return repr(float(value))
    try:
        return "[" + ", ".join(_value(item, field) for item in value) + "]"
    except TypeError:
        raise ProblemError(f"{field}: {value!r} is neither a number nor a word", field) from None

"""Foretune from Python: ask what to measure, tell what came out.

Needs the program `foretune` (on the path, or its place in `program`) and nothing else. For example:

    from foretune import Foretune

    with Foretune("problem.toml", state="problem.state") as tuner:
        for ask in tuner:
            tuner.tell(measure(**ask.setting, samples=ask.samples))
        print(tuner.recommendation.setting, tuner.recommendation.mean)

With a state, a script that is started again goes on where it was; `next_task` begins another task with what was learnt.
"""

from __future__ import annotations
import json
import math
import subprocess
from typing import Any, Iterator, NamedTuple


class ForetuneError(Exception):
    """The program refused something, or has ended."""


class Ask(NamedTuple):
    id: int
    setting: dict[str, float]
    fidelity: str
    cost: float
    samples: int | None = None


class Recommendation(NamedTuple):
    setting: dict[str, float] | None  # none if nothing was measured
    reason: str
    spent: float
    mean: float | None = None
    deviation: float | None = None
    outliers: int = 0  # answers too far from all others, and not confirmed by a second


class Foretune:
    """A running `foretune serve`.

    `deployed` is the setting in use, if it is not the file's; `settings` are those of `foretune tune --set`.
    """
    def __init__(self, problem: Any, *, state: Any = None, seed: int | None = None, program: Any = "foretune",
                 deployed: dict[str, float] | None = None, settings: dict[str, Any] | None = None):
        in_use = deployed and ",".join(f"{name}={float(value)!r}" for name, value in deployed.items())
        given = [("state", state), ("seed", seed), ("deployed", in_use)]
        given += [("set", f"{key}={str(value).lower()}") for key, value in (settings or {}).items()]
        options = [f"--{name}={value}" for name, value in given if value is not None]
        pipes = {name: subprocess.PIPE for name in ("stdin", "stdout", "stderr")}
        self._process = subprocess.Popen([program, "serve", str(problem), *options], text=True, **pipes)
        self._ask: Ask | None = None
        self.recommendation: Recommendation | None = None
        if self._read()["foretune"]["protocol"] != 1:
            raise ForetuneError("foretune speaks a newer protocol than this client")
        self._receive()

    def ask(self) -> Ask | None:
        """What to measure next; none when the task has ended."""
        return self._ask

    def tell(self, value: float, cost: float | None = None) -> None:
        """Answers the query; `cost` where it is not the fidelity's."""
        for what, number in (("value", value), ("cost", cost)):
            if number is not None and not math.isfinite(number):
                raise ValueError(f"the {what} is {number}, not a finite number; call fail() for a failed measurement")
        self._send("tell", id=getattr(self._ask, "id", 0), value=float(value), cost=cost)

    def fail(self) -> None:
        """The measurement failed."""
        self._send("fail", id=getattr(self._ask, "id", 0))

    def stop(self) -> None:
        """Ends the task now."""
        self._send("stop")

    def next_task(self, deployed: dict[str, float] | None = None) -> None:
        """Begins another task, after the end of this one."""
        self._send("next_task", deployed=deployed)

    def __iter__(self) -> Iterator[Ask]:
        while (ask := self._ask) is not None:
            yield ask
            if self._ask is ask:
                raise ForetuneError(f"query {ask.id} got no answer: call tell, fail or stop")

    def __enter__(self) -> Foretune:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def _send(self, what: str, **fields: Any) -> None:
        given = {name: value for name, value in fields.items() if value is not None}
        print(json.dumps({what: given}), file=self._process.stdin, flush=True)
        self._receive()

    def _receive(self) -> None:
        if "error" in (line := self._read()):
            raise ForetuneError(line["error"])
        self._ask = Ask(**line["ask"]) if "ask" in line else None
        self.recommendation = Recommendation(**line["recommendation"]) if "recommendation" in line else None

    def _read(self) -> dict[str, Any]:
        if line := self._process.stdout.readline():
            return json.loads(line)
        raise ForetuneError(self._process.communicate()[1].strip() or "foretune has ended")

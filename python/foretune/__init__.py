"""Foretune: tunes what is expensive to measure, one task after the other, and carries on what it learnt.

>>> import foretune
>>> result = foretune.minimise(lambda x, y: (x - 1) ** 2 + (y + 2) ** 2, {"x": (-5, 5), "y": (-5, 5)}, budget=30)
>>> result.value < 0.1
True

`Tuner` asks and tells, for problems with several fidelities, a system in service or a fleet; `foretune.optuna` is a sampler
for Optuna, and `python -m foretune.compare` compares on a function of your own.
"""

from ._minimise import CallsFailed, Result, maximise, minimise
from ._problem import ForetuneError, Log, Problem, ProblemError
from ._tuner import Query, Recommendation, Status, Trial, Tuner

__all__ = [
    "CallsFailed", "ForetuneError", "Log", "Problem", "ProblemError", "Query", "Recommendation", "Result", "Status", "Trial",
    "Tuner", "maximise", "minimise",
]


def main() -> int:
    """The program `foretune`, as the command of that name starts it."""
    import signal
    import sys

    from . import _foretune

    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _foretune.main(["foretune", *sys.argv[1:]])

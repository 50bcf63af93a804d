"""Foretune: tunes what is expensive to measure, one task after the other, and carries on what it learnt.

>>> import foretune
>>> result = foretune.minimise(lambda x, y: (x - 1) ** 2 + (y + 2) ** 2, {"x": (-5, 5), "y": (-5, 5)}, budget=30)
>>> result.value < 0.1
True

`Tuner` asks and tells, for problems with several fidelities, a system in service or a fleet; `foretune.optuna` is a sampler
for Optuna, and `python -m foretune.compare` compares on a function of your own.
"""

from pathlib import Path


def _check_processor(cpuinfo: Path = Path("/proc/cpuinfo")) -> None:
    """A build takes eight floats at a time unless it was told otherwise: where the processor cannot, it would end with nothing said."""
    try:
        told = cpuinfo.read_text()
    except OSError:
        return
    if "flags" not in told or "avx2" in told:
        return
    import subprocess
    import sys

    tried = subprocess.run([sys.executable, "-c", "import _foretune"], cwd=Path(__file__).parent, capture_output=True, check=False)
    if tried.returncode < 0:
        raise ImportError('this processor lacks AVX2, which this build of foretune uses; build it on this machine with '
                          'RUSTFLAGS="-C target-cpu=native" pip install ./python (same results, slower)')


_check_processor()

from ._minimise import CallsFailed, Result, maximise, minimise  # noqa: E402
from ._problem import ForetuneError, Log, Problem, ProblemError  # noqa: E402
from ._tuner import Change, Query, Recommendation, Status, Trial, Tuner  # noqa: E402

__all__ = [
    "CallsFailed", "Change", "ForetuneError", "Log", "Problem", "ProblemError", "Query", "Recommendation", "Result", "Status", "Trial",
    "Tuner", "maximise", "minimise",
]


def main() -> int:
    """The program `foretune`, as the command of that name starts it."""
    import signal
    import sys

    from . import _foretune

    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _foretune.main(["foretune", *sys.argv[1:]])

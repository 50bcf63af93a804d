"""Tunes a function of a vector, in the way of scipy.optimize.minimize, but noisy and expensive.

    python3 python/examples/tune_function.py [place of the program foretune]

Cells (# %%) run one by one in editors that know them; as a script it runs whole.
"""

# %% What is tuned: any function of numbers will do. Here a noisy Rosenbrock valley; `effort` averages more of the noise away.
import random
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from foretune import Foretune

draw = random.Random(7)


def cost_of(x, effort):
    valley = (1 - x[0]) ** 2 + 5 * (x[1] - x[0] ** 2) ** 2
    return valley + draw.gauss(0, 0.5) / effort**0.5


# %% The problem: bounds, two ways to measure with their costs and noise variances, and what may be spent.
PROBLEM = """
goal = "minimise"
budget = 120.0

[[parameter]]
name = "a"
low = -2.0
high = 2.0

[[parameter]]
name = "b"
low = -1.0
high = 3.0

[[fidelity]]
name = "quick"
cost = 1.0
noise = 0.25
samples = 1

[[fidelity]]
name = "thorough"
cost = 8.0
noise = 0.025
samples = 10
"""

# %% Ask and tell until the budget is used up, for two tasks: the second one knows what the first one learnt.
with tempfile.TemporaryDirectory() as folder:
    problem = Path(folder, "problem.toml")
    problem.write_text(PROBLEM)
    with Foretune(problem, program=sys.argv[1] if len(sys.argv) > 1 else "foretune") as tuner:
        for task in (1, 2):
            count = 0
            for ask in tuner:
                count += 1
                tuner.tell(cost_of([ask.setting["a"], ask.setting["b"]], ask.samples))
            best = tuner.recommendation
            true = cost_of([best.setting["a"], best.setting["b"]], 1e12)
            print(
                f"task {task}: {count} measurements, a = {best.setting['a']:.3f}, b = {best.setting['b']:.3f}, "
                f"expected {best.mean:.3f} ± {best.deviation:.3f}, in truth {true:.3f}"
            )
            tuner.next_task()

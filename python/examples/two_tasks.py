"""Tunes a noisy function over two tasks, with a quick and a thorough way to measure.

    python3 python/examples/two_tasks.py

Cells (# %%) run one by one in editors that know them; as a script it runs whole.
"""

# %% What is tuned: any function of numbers will do. Here a noisy Rosenbrock valley; `effort` averages more of the noise away.
import random

from foretune import Tuner

draw = random.Random(7)


def cost_of(a, b, effort):
    valley = (1 - a) ** 2 + 5 * (b - a**2) ** 2
    return valley + draw.gauss(0, 0.5) / effort**0.5


# %% The problem: bounds, two ways to measure with their costs and noise variances, and what may be spent.
tuner = Tuner({
    "goal": "minimise",
    "budget": 120,
    "parameter": {"a": (-2, 2), "b": (-1, 3)},
    "fidelity": [
        {"name": "quick", "cost": 1, "noise": 0.25, "samples": 1},
        {"name": "thorough", "cost": 8, "noise": 0.025, "samples": 10},
    ],
})

# %% Ask and tell until the budget is used up, for two tasks: the second one knows what the first one learnt.
for task in (1, 2):
    for query in tuner:
        tuner.tell(query, cost_of(**query.setting, effort=query.samples))
    best, count = tuner.recommendation, len(tuner.history)
    print(
        f"task {task}: {count} measurements, a = {best.setting['a']:.3f}, b = {best.setting['b']:.3f}, "
        f"expected {best.mean:.3f} ± {best.deviation:.3f}, in truth {cost_of(**best.setting, effort=1e12):.3f}"
    )
    tuner.next_task()

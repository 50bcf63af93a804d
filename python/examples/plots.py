"""Where a search has looked, and how fast it came down; needs matplotlib and numpy.

    python3 python/examples/plots.py [picture.png]

Cells (# %%) run one by one in editors that know them; as a script it runs whole.
"""

# %% What is tuned: Branin's function, three equal valleys.
import sys

import matplotlib
import numpy

import foretune

if len(sys.argv) > 1:
    matplotlib.use("Agg")
import matplotlib.pyplot as plt

BUDGET, SPACE = 30, {"x": (-5, 10), "y": (0, 15)}


def branin(x, y):
    return (y - 5.1 / (4 * numpy.pi**2) * x**2 + 5 / numpy.pi * x - 6) ** 2 + 10 * (1 - 1 / (8 * numpy.pi)) * numpy.cos(x) + 10


# %% One call; and random points, to compare with.
result = foretune.minimise(branin, SPACE, budget=BUDGET, seed=3)
draw = numpy.random.default_rng(3)
random = branin(*(draw.uniform(*SPACE[name], size=(200, BUDGET)) for name in SPACE))
print(f"{result.setting['x']:.3f}, {result.setting['y']:.3f}: {result.value:.4f} after {len(result.history)} calls")

# %% Two pictures.
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
x, y = numpy.meshgrid(numpy.linspace(-5, 10, 200), numpy.linspace(0, 15, 200))
left.contourf(x, y, numpy.log(branin(x, y)), levels=20, cmap="Greys_r")
points = numpy.array(result.history)
dots = left.scatter(points[:, 0], points[:, 1], c=range(len(points)), cmap="viridis", edgecolors="white", linewidths=0.7)
left.plot(*numpy.asarray(result), marker="*", markersize=16, color="tab:red", markeredgecolor="white", linestyle="none")
figure.colorbar(dots, ax=left, label="call")
left.set(title="Where it looked; the star is the result", xlabel="x", ylabel="y")

calls, optimum = numpy.arange(1, BUDGET + 1), 0.397887
best = numpy.minimum.accumulate([trial.value for trial in result.history])
low, middle, high = numpy.percentile(numpy.minimum.accumulate(random, axis=1), [10, 50, 90], axis=0)
right.fill_between(calls, low - optimum, high - optimum, color="0.85", label="random, 80 % of 200 runs")
right.plot(calls, middle - optimum, color="0.5", label="random, median")
right.plot(calls, best - optimum, color="tab:red", label="Foretune")
right.set(title="Best so far", xlabel="calls", ylabel="above the optimum", yscale="log")
right.legend()
figure.savefig(sys.argv[1], dpi=110) if len(sys.argv) > 1 else plt.show()

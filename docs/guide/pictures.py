#!/usr/bin/env python3
"""Draws belief.svg: what the core believes and scores in one dimension, from its own numbers.

    cargo build --release && python3 docs/guide/pictures.py target/release/foretune-paper

Needs nothing but the standard library. The samples of the optimum's value are chosen here; an optimizer draws its own.
"""

import json
import math
import pathlib
import subprocess
import sys

COUNT = 121
GRID = [i / (COUNT - 1) for i in range(COUNT)]
COSTS = [1, 4]
# Point, fidelity, observation: short measurements are many, and a little off.
SEEN = [(0.05, 1, -0.7), (0.2, 1, 0.35), (0.33, 1, 0.9), (0.42, 2, 0.55), (0.6, 1, -0.6), (0.93, 2, 0.1)]
# Three particles: three opinions of how fast the objective changes, and of how alike the fidelities are.
PARTICLES = [(0.08, 0.05), (0.13, 0.1), (0.22, 0.3)]
BLUE, ORANGE, GREY = "#1f6fb2", "#c8621b", "#777"
WIDTH, LEFT, RIGHT = 720, 20, 20


def ask(program):
    """The core's posteriors and scores."""
    params = [
        {"lengthscales": [length], "signal_variance": 1, "gamma": gamma, "noise": [0.02, 0.002]}
        for length, gamma in PARTICLES
    ]
    case = {
        "kernel": "ard", "d": 1, "M": 2, "particles": params, "xc": [[x] for x in GRID],
        "x": [[x] for x, _, _ in SEEN], "m": [m for _, m, _ in SEEN], "y": [y for _, _, y in SEEN],
        "fstar": [[1.2, 1.5, 1.9]] * 3, "costs": COSTS, "beta": 1.2, "form": "correlated",
    }
    done = subprocess.run([program, "inspect", "-"], input=json.dumps(case), capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr.strip())
    return json.loads(done.stdout)


class Panel:
    """Maps a range of values to a strip of the picture."""

    def __init__(self, top, height, low, high):
        self.top, self.height, self.low, self.high = top, height, low, high

    def at(self, x, y):
        share = (y - self.low) / (self.high - self.low)
        return f"{LEFT + x * (WIDTH - LEFT - RIGHT):.1f},{self.top + self.height * (1 - share):.1f}"

    def line(self, ys, colour, extra=""):
        points = " ".join(self.at(x, y) for x, y in zip(GRID, ys))
        return f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2" {extra}/>'

    def band(self, lows, highs):
        there = [self.at(x, y) for x, y in zip(GRID, highs)]
        back = [self.at(x, y) for x, y in zip(reversed(GRID), reversed(lows))]
        return f'<polygon points="{" ".join(there + back)}" fill="{BLUE}" fill-opacity="0.12"/>'

    def dot(self, x, y, colour, filled):
        cx, cy = self.at(x, y).split(",")
        fill = colour if filled else "white"
        return f'<circle cx="{cx}" cy="{cy}" r="5" fill="{fill}" stroke="{colour}" stroke-width="2"/>'


def text(x, y, words, colour="#222", anchor="start"):
    return f'<text x="{x}" y="{y}" fill="{colour}" text-anchor="{anchor}">{words}</text>'


def belief(answer):
    panel = Panel(34, 210, -1.7, 1.7)
    parts = []
    for mean, var in zip(answer["mean"], answer["var"]):
        truth = [m[-1] for m in mean]
        deviation = [math.sqrt(v[-1]) for v in var]
        parts.append(panel.band([m - s for m, s in zip(truth, deviation)], [m + s for m, s in zip(truth, deviation)]))
    parts += [panel.line([m[-1] for m in mean], BLUE) for mean in answer["mean"]]
    parts += [panel.dot(x, y, ORANGE if m == 1 else BLUE, m == 2) for x, m, y in SEEN]
    parts.append(text(LEFT, 22, "What three particles believe of the truth: mean and one deviation"))
    return parts


def scores(answer):
    values = [[row[m] for row in answer["score"]] for m in (0, 1)]
    highest = max(map(max, values))
    panel = Panel(290, 110, 0, 1.1 * highest)
    parts = [panel.line(ys, colour) for ys, colour in zip(values, (ORANGE, BLUE))]
    best = max((y, x, m) for m, ys in enumerate(values) for x, y in zip(GRID, ys))
    parts.append(panel.dot(best[1], best[0], "#b0182b", True))
    parts.append(text(LEFT, 278, "What a query would teach per unit of cost: short in orange, long in blue; the dot is asked next"))
    parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="400" y2="400" stroke="{GREY}"/>')
    parts.append(text(WIDTH // 2, 422, "setting, from its lowest to its highest value", GREY, "middle"))
    return parts


def main():
    program = sys.argv[1] if len(sys.argv) == 2 else sys.exit(__doc__)
    answer = ask(program)
    body = "\n".join(belief(answer) + scores(answer))
    picture = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} 432" font-family="sans-serif" font-size="14">\n'
        f'<title>Belief and score in one dimension</title>\n<rect width="{WIDTH}" height="432" fill="white"/>\n{body}\n</svg>\n'
    )
    (pathlib.Path(__file__).parent / "belief.svg").write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main()

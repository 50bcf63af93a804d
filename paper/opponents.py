"""Optuna's samplers on the tasks of a study, for the same table.

    python paper/opponents.py one:pid one:svm --seed 7000 --experiments 20 --tasks 6

Needs Optuna, and `foretune-paper` on the path or in target/release. Every task has the problem's budget in measurements at
the target fidelity; from the second task on the last best is enqueued. Printed: the mean regret of the best trial, first task
and later ones, with 90 % intervals.
"""

import argparse
import json
import random
import shutil
import statistics
import subprocess
import sys
import warnings

import optuna

SAMPLERS = {
    "random": optuna.samplers.RandomSampler,
    "tpe": optuna.samplers.TPESampler,
    "gp": optuna.samplers.GPSampler,
}


class Problem:
    """A built-in problem, behind `foretune-paper evaluate`."""

    def __init__(self, name, seed):
        program = shutil.which("foretune-paper") or "target/release/foretune-paper"
        command = [program, "evaluate", name, "--seed", str(seed)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.facts = json.loads(self.process.stdout.readline())

    def suggest(self, trial):
        for i, parameter in enumerate(self.facts["parameters"]):
            if "levels" in parameter:
                yield trial.suggest_categorical(f"x{i}", parameter["levels"])
            else:
                yield trial.suggest_float(f"x{i}", parameter["low"], parameter["high"])

    def value(self, experiment, task, point):
        print(experiment, task, *point, file=self.process.stdin, flush=True)
        return tuple(map(float, self.process.stdout.readline().split()))


def experiment(problem, sampler, seed, number, tasks):
    """Regrets of the best trials, task by task."""
    regrets, last = [], None
    for task in range(1, tasks + 1):
        noise, truths = random.Random(f"{seed} {number} {task}"), []

        def objective(trial):
            value, optimum = problem.value(number, task, problem.suggest(trial))
            truths.append(optimum - value)
            return value + noise.gauss(0, problem.facts["noise"] ** 0.5)

        study = optuna.create_study(direction="maximize", sampler=SAMPLERS[sampler](seed=1000 * number + task))
        if last:
            study.enqueue_trial(last)
        study.optimize(objective, n_trials=int(problem.facts["budget"] / problem.facts["cost"]))
        last = study.best_params
        regrets.append(truths[study.best_trial.number])
    return regrets


def interval(values):
    half = 1.645 * statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else float("nan")
    return f"{statistics.mean(values):.4g} ± {half:.2g}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("problems", nargs="+")
    parser.add_argument("--samplers", nargs="+", choices=SAMPLERS, default=list(SAMPLERS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--experiments", type=int, default=20)
    parser.add_argument("--tasks", type=int, default=1)
    arguments = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.filterwarnings("ignore")
    print("| problem | sampler | first task | later tasks |\n|---|---|---|---|")
    for name in arguments.problems:
        problem = Problem(name, arguments.seed)
        for sampler in arguments.samplers:
            numbers = range(1, arguments.experiments + 1)
            rows = [experiment(problem, sampler, arguments.seed, n, arguments.tasks) for n in numbers]
            later = [statistics.mean(row[1:]) for row in rows if len(row) > 1]
            print(f"| {name} | {sampler} | {interval([row[0] for row in rows])} | {interval(later) if later else '–'} |")
            sys.stdout.flush()


if __name__ == "__main__":
    main()

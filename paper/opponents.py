"""Optuna's samplers and BoTorch's log-EI on the tasks of a study, for the same table.

    python paper/opponents.py one:pid one:svm --seed 7000 --experiments 20 --tasks 6 --out opponents.csv

Needs Optuna and BoTorch, and `foretune-paper` on the path or in target/release. Every task has the problem's budget in
measurements at the target fidelity; from the second task on the last best is measured first. Written: the regret of the best trial
of every task, by its true value; what the file has already is not run again.
"""

import argparse
import csv
import itertools
import json
import os
import random
import shutil
import subprocess
import warnings

import optuna

OPTUNA = {
    "optuna-tpe": optuna.samplers.TPESampler,
    "optuna-gp": optuna.samplers.GPSampler,
}


class Problem:
    """A built-in problem, behind `foretune-paper evaluate`."""

    def __init__(self, name, seed):
        program = shutil.which("foretune-paper") or "target/release/foretune-paper"
        command = [program, "evaluate", name, "--seed", str(seed)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        self.facts = json.loads(self.process.stdout.readline())

    def places(self):
        """Every parameter's name, and its levels or ends."""
        for i, parameter in enumerate(self.facts["parameters"]):
            yield f"x{i}", parameter.get("levels"), parameter.get("low"), parameter.get("high")

    def value(self, experiment, task, point):
        print(experiment, task, *point, file=self.process.stdin, flush=True)
        return tuple(map(float, self.process.stdout.readline().split()))


def with_optuna(sampler, problem, objective, trials, seed, last):
    def suggested(trial):
        for name, levels, low, high in problem.places():
            yield trial.suggest_categorical(name, levels) if levels else trial.suggest_float(name, low, high)

    study = optuna.create_study(direction="maximize", sampler=OPTUNA[sampler](seed=seed))
    if last:
        study.enqueue_trial(dict(zip([name for name, *_ in problem.places()], last)))
    study.optimize(lambda trial: objective(list(suggested(trial))), n_trials=trials)


def with_botorch(problem, objective, trials, seed, last):
    """A Gaussian process with the library's own priors, log expected improvement from the best posterior mean."""
    import torch
    from botorch.acquisition import LogExpectedImprovement
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.models.transforms import Standardize
    from botorch.optim import optimize_acqf
    from gpytorch.mlls import ExactMarginalLogLikelihood

    torch.manual_seed(seed)
    places = list(problem.places())

    def natural(unit):
        for x, (_, levels, low, high) in zip(unit.tolist(), places):
            yield levels[round(x * (len(levels) - 1))] if levels else low + x * (high - low)

    def unit(point):
        for x, (_, levels, low, high) in zip(point, places):
            yield levels.index(x) / (len(levels) - 1) if levels else (x - low) / (high - low)

    bounds = torch.stack([torch.zeros(len(places)), torch.ones(len(places))]).double()
    first = torch.quasirandom.SobolEngine(len(places), scramble=True, seed=seed).draw(2 * len(places) + 2).double()
    points = [torch.tensor(list(unit(last))).double()] if last else []
    points, values = [*points, *first], []
    for trial in range(trials):
        if trial == len(points):
            x, y = torch.stack(points), torch.tensor(values).double().unsqueeze(-1)
            model = SingleTaskGP(x, y, outcome_transform=Standardize(1))
            fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
            best = model.posterior(x).mean.max()
            found, _ = optimize_acqf(LogExpectedImprovement(model, best), bounds, q=1, num_restarts=8, raw_samples=256)
            points.append(found[0])
        point = list(natural(points[trial]))
        points[trial] = torch.tensor(list(unit(point))).double()
        values.append(objective(point))


def experiment(problem, method, seed, number, tasks):
    """Regrets of the best trials, task by task."""
    regrets, last = [], None
    for task in range(1, tasks + 1):
        noise, trials = random.Random(f"{seed} {number} {task}"), []

        def objective(point):
            value, optimum = problem.value(number, task, point)
            measured = value + noise.gauss(0, problem.facts["noise"] ** 0.5)
            trials.append((measured, optimum - value, point))
            return measured

        count, own = int(problem.facts["budget"] / problem.facts["cost"]), 1000 * number + task
        if method in OPTUNA:
            with_optuna(method, problem, objective, count, own, last)
        else:
            with_botorch(problem, objective, count, own, last)
        _, regret, last = max(trials)
        regrets.append(regret)
    return regrets


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("problems", nargs="+")
    parser.add_argument("--methods", nargs="+", choices=[*OPTUNA, "botorch"], default=[*OPTUNA, "botorch"])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--experiments", type=int, default=20)
    parser.add_argument("--tasks", type=int, default=1)
    parser.add_argument("--out", default="opponents.csv")
    arguments = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.filterwarnings("ignore")
    known = set()
    if os.path.exists(arguments.out):
        with open(arguments.out) as rows:
            known = {tuple(row[:3]) for row in csv.reader(rows)}
    with open(arguments.out, "a") as file:
        if not known:
            file.write(",".join(["problem", "method", "experiment", *map(str, range(1, arguments.tasks + 1))]) + "\n")
        problems = {name: Problem(name, arguments.seed) for name in arguments.problems}
        for number in range(1, arguments.experiments + 1):
            for name, method in itertools.product(problems, arguments.methods):
                if (name, method, str(number)) not in known:
                    regrets = experiment(problems[name], method, arguments.seed, number, arguments.tasks)
                    file.write(",".join([name, method, str(number), *(f"{r:.6g}" for r in regrets)]) + "\n")
                    file.flush()


if __name__ == "__main__":
    main()

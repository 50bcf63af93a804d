"""What the answers are worth: means over the last tasks with 90 % intervals over experiments, from tasks.csv.

python3 results/answers.py [folder of studies]
"""

import csv
import json
import math
import pathlib
import statistics
import sys

FOLDER = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__).resolve()
FOLDER = FOLDER.parent if FOLDER.is_file() else FOLDER
# Two-sided 90 % of Student's t at so many degrees of freedom; of a number that is not here the next lower counts, which is a little too wide.
T90 = {1: 6.314, 2: 2.920, 3: 2.353, 4: 2.132, 5: 2.015, 6: 1.943, 7: 1.895, 8: 1.860, 9: 1.833, 11: 1.796, 14: 1.761, 15: 1.753, 19: 1.729,
       23: 1.714, 29: 1.699, 39: 1.685, 59: 1.671, 119: 1.658, 239: 1.651}


def ratio(study):
    """Whether a study counts in shares of the optimum."""
    return json.loads((FOLDER / study / "study.json").read_text())["problem"].startswith("rrm")


def rows(study):
    """What a study tells of each task."""
    return csv.DictReader(line for line in (FOLDER / study / "tasks.csv").open() if not line.startswith("#"))


def load(study):
    """{variant: {experiment: {task: (best, recommended)}}}, as regret, or as a share of the optimum for rrm."""
    share = ratio(study)
    out = {}
    for row in rows(study):
        optimum, best, recommended = (float(row[name]) for name in ("optimum", "best", "recommended"))
        pair = (best / optimum, recommended / optimum) if share else (optimum - best, optimum - recommended)
        experiment = out.setdefault(row["variant"], {}).setdefault(int(row["experiment"]), {})
        experiment[int(row["task"])] = pair
    return out


def half(values):
    """Half the width of the mean's interval."""
    return T90[max(n for n in T90 if n < len(values))] * statistics.stdev(values) / math.sqrt(len(values))


def interval(values, sign=""):
    mean = f"{statistics.fmean(values):{sign}.3f}"
    return mean if len(values) < 2 else f"{mean} ± {half(values):.3f}"


def over(data, tasks, which=0):
    return [statistics.fmean(tried[task][which] for task in tasks) for _, tried in sorted(data.items())]


def ahead(study, ours, theirs, tasks, which):
    """By how much one set of results is ahead of another on the same tasks, experiment by experiment."""
    pairs = zip(over(ours, tasks, which), over(theirs, tasks, which), strict=True)
    return [a - b if ratio(study) else b - a for a, b in pairs]


def show(study, tasks):
    if not (FOLDER / study / "tasks.csv").exists():
        return
    studied = load(study)
    for variant, data in studied.items():
        n = len(data)
        best, recommended = interval(over(data, tasks)), interval(over(data, tasks, 1))
        span = f"{tasks[0]}-{tasks[-1]}" if len(tasks) > 1 else str(tasks[0])
        print(f"| {study} | {variant} | {span} | {n} | {best} | {recommended} |")


def split(study, variant, tasks, limit):
    """How much of the regret is that of the wrong optimum."""
    if not (FOLDER / study / "tasks.csv").exists():
        return
    regrets = [tried[task][0] for tried in load(study)[variant].values() for task in tasks]
    wrong = [regret for regret in regrets if regret > limit]
    right = [regret for regret in regrets if regret <= limit]
    share, part = len(wrong) / len(regrets), sum(wrong) / sum(regrets)
    print(f"\n{study}, {variant}: {share:.0%} of the regrets are above {limit} and make up {part:.0%} of their sum;"
          f" the others are {statistics.fmean(right):.3f} on average")
    print("by task: " + ", ".join(by_task(study, variant, limit)))


def by_task(study, variant, limit):
    """The share of regrets above the limit, and the mean of the others, task by task."""
    experiments = list(load(study)[variant].values())
    for task in experiments[0]:
        regrets = [tried[task][0] for tried in experiments]
        right = [regret for regret in regrets if regret <= limit]
        yield f"{1 - len(right) / len(regrets):.0%} and {statistics.fmean(right):.3f}"


def fidelities(study, variant):
    """Share of searched queries per fidelity; only where the queries themselves are at hand."""
    counts = {}
    for unit in (FOLDER / study / "units").glob(f"{variant}-*.csv"):
        for row in csv.DictReader(line for line in unit.open() if not line.startswith("#")):
            if row["kind"] == "search":
                counts[row["fidelity"]] = counts.get(row["fidelity"], 0) + 1
    if counts:
        shares = ", ".join(f"{m}: {n / sum(counts.values()):.0%}" for m, n in sorted(counts.items()))
        print(f"{study}, {variant}, queries by fidelity: {shares}")


def problem(study, tasks, opponent=None, ours="mft-mes", carrying="continual"):
    """All methods on one problem, and by how much ours is ahead of each on the same tasks; `opponent` is in another study."""
    if not (FOLDER / study / "tasks.csv").exists():
        return
    studied = load(study)
    if opponent:
        studied[opponent[1]] = load(opponent[0])[opponent[1]]
    print(f"\n{study}, tasks {tasks[0]} to {tasks[-1]}, {len(studied[ours])} experiments\n\n"
          f"| method | best tried | recommended | {ours} ahead: best tried | recommended |\n|---|---|---|---|---|")
    for variant, data in studied.items():
        cells = [interval(over(data, tasks, which)) for which in (0, 1)]
        cells += ["", ""] if variant == ours else [
            certain(ahead(study, studied[ours], data, tasks, which)) for which in (0, 1)]
        print(f"| {variant} | " + " | ".join(cells) + " |")
    for other in ("warm-start", "mf-mes-ten", "mf-mes"):
        if carrying in studied and other in studied:
            cells = [certain(ahead(study, studied[carrying], studied[other], tasks, which)) for which in (0, 1)]
            print(f"\nContinual ahead of {other}: best tried {cells[0]}, recommended {cells[1]}")


LAST = {"hartmann6": range(6, 11), "gas": range(13, 18), "rrm": range(8, 13)}


def ablation():
    """What it costs to change one part of the default preset, on the same tasks: paired, best tried and recommended."""
    if not (FOLDER / "ablation").exists():
        return
    names = [line.split()[1] for line in (pathlib.Path(__file__).parent / "ablation.sh").open()
             if line.startswith("each ")]
    print("\nWhat a change costs (paired; bold where the interval does not hold 0)\n\n"
          "| changed | hartmann6: best | recommended | gas: best | recommended | rrm: best | recommended |"
          "\n|---|---|---|---|---|---|---|")
    for name in names:
        cells = [cell for problem in LAST for cell in cost(problem, name)]
        print(f"| {name.replace('-', ' ')} | " + " | ".join(cells) + " |")
    for problem, tasks in LAST.items():
        studies = [f"ablation/{problem}/{name}" for name in ("no-points-carried", "nothing-carried")]
        print(f"\nParticles where no points are carried, {problem}: " + ", recommended ".join(changed(*studies, tasks)))


def cost(problem, name):
    """Of the preset the value itself, of a change the paired difference: above 0 if the change is for the worse."""
    studies = [f"ablation/{problem}/{which}" for which in ("preset", name)]
    return changed(*studies, LAST[problem])


def changed(preset, study, tasks, variant=None):
    """The same for any two studies: of one variant, the only one if none is named."""
    if not all((FOLDER / one / "tasks.csv").exists() for one in (preset, study)):
        return ["", ""]
    base, data = (load(one)[variant] if variant else next(iter(load(one).values())) for one in (preset, study))
    base = {experiment: tried for experiment, tried in base.items() if experiment in data}
    if study == preset:
        return [interval(over(base, tasks, which)) for which in (0, 1)]
    return [certain(ahead(study, base, data, tasks, which)) for which in (0, 1)]


def certain(values):
    """With sign and interval, bold where that does not hold 0."""
    cell = interval(values, "+").replace("-", "−")
    return f"**{cell}**" if len(values) > 1 and abs(statistics.fmean(values)) > half(values) else cell


def deep():
    """The deep preset beside lengthscales, and what each of its differences from the printed one is worth."""
    print("\nThe deep map\n\n| study | variant | tasks | experiments | best tried | recommended |\n|---|---|---|---|---|---|")
    spans = {"gas": range(13, 18)}
    studies = sorted(path.parent.name for path in (FOLDER / "deep").glob("*/tasks.csv"))
    for study in studies:
        show(f"deep/{study}", spans.get(study.split("-")[0], range(6, 11)))
    print("\nahead of (paired)\n\n| study | | best tried | recommended |\n|---|---|---|---|")
    for study in studies:
        studied, tasks = load(f"deep/{study}"), spans.get(study.split("-")[0], range(6, 11))
        for ours, other in (("mft-mes", "continual"), ("mft-mes", "mf-mes-ten"), ("continual", "mf-mes-ten")):
            if ours in studied and other in studied:
                cells = [certain(ahead(f"deep/{study}", studied[ours], studied[other], tasks, which)) for which in (0, 1)]
                print(f"| {study} | {ours} of {other} | {cells[0]} | {cells[1]} |")
    print("\nbehind lengthscales (paired)\n\n| | | best tried | recommended |\n|---|---|---|---|")
    beside_lengthscales("hartmann6", range(6, 11))
    beside_lengthscales("gas", spans["gas"])
    print("\nWhat a change of the deep preset costs\n\n| changed | best tried | recommended |\n|---|---|---|")
    for study in sorted(path.parent.name for path in (FOLDER / "deep" / "ablation").glob("*/tasks.csv")):
        cells = changed("deep/ablation/preset", f"deep/ablation/{study}", range(2, 7))
        print(f"| {study} | " + " | ".join(cells) + " |")


def beside_lengthscales(problem, tasks):
    """By how much the deep map is behind lengthscales on the same tasks, variant by variant."""
    studies = [f"deep/{problem}", f"deep/{problem}-lengthscales"]
    if not all((FOLDER / study / "tasks.csv").exists() for study in studies):
        return
    deep, plain = (load(study) for study in studies)
    for variant in deep:
        cells = [certain(ahead(studies[1], plain[variant], deep[variant], tasks, which)) for which in (0, 1)]
        print(f"| {problem} | {variant} | " + " | ".join(cells) + " |")


def firsts(variant):
    """The studies of the default preset that have a variant."""
    for study in (*PROBLEMS, *(f"families/{family}" for family in FAMILIES)):
        if (FOLDER / study / "tasks.csv").exists() and variant in load(study):
            yield study


def first_task():
    """What is recommended before anything is carried: the preset's best tried and recommended, random search's recommended."""
    print("\nIn the first task\n\n| study | best tried | recommended | random search: recommended | ahead |\n|---|---|---|---|---|")
    for study in firsts("random"):
        studied = load(study)
        best, ours, theirs = (short(statistics.fmean(over(studied[variant], [1], which)))
                              for variant, which in (("mft-mes", 0), ("mft-mes", 1), ("random", 1)))
        lead = certain(ahead(study, studied["mft-mes"], studied["random"], [1], 1))
        print(f"| {study} | {best} | {ours} | {theirs} | {lead} |")


def one_or_ten():
    """Ten particles against one where nothing is carried, so that every task is a first one."""
    print("\nTen particles ahead of one, nothing carried, all tasks (paired)\n\n| study | best tried | recommended |\n|---|---|---|")
    for study in firsts("mf-mes-ten"):
        ten, one = (load(study)[variant] for variant in ("mf-mes-ten", "mf-mes"))
        tasks = next(iter(ten.values())).keys()
        cells = [certain(ahead(study, ten, one, tasks, which)) for which in (0, 1)]
        print(f"| {study} | " + " | ".join(cells) + " |")


def readings():
    """Fig. 3 in other readings of what the paper does not say."""
    late, early = range(3, 6), range(1, 3)
    compared = (("mft-mes", "continual", late), ("mft-mes", "continual", early), ("mft-mes", "mf-mes", late), ("continual", "mf-mes", late))
    print("\nReadings of Fig. 3, best point tried, tasks 3 to 5\n\n| reading | MF-MES | Continual | MFT-MES | MFT-MES ahead of Continual |"
          " in tasks 1 and 2 | MFT-MES ahead of MF-MES | Continual ahead of MF-MES | MFT-MES since task 1 |\n" + "|---" * 9 + "|")
    for study in sorted(path.parent.name for path in (FOLDER / "readings").glob("*/tasks.csv")):
        studied = load(f"readings/{study}")
        cells = [interval(over(studied[variant], late)) for variant in ("mf-mes", "continual", "mft-mes")]
        cells += [certain(ahead(f"readings/{study}", studied[ours], studied[other], tasks, 0)) for ours, other, tasks in compared]
        first = over(studied["mft-mes"], [1])
        cells.append(certain([a - b for a, b in zip(first, over(studied["mft-mes"], late))]))
        print(f"| {study} | " + " | ".join(cells) + " |")


PROBLEMS = ("hartmann6", "gas", "rrm")
FAMILIES = ("hartmann6", "gas", "rrm", "forrester", "branin", "himmelblau", "rosenbrock", "levy")
OPPONENTS = {
    "random": "random search", "random-cheapest": "the same, cheapest fidelity", "kept": "first recommendation kept",
    "hill-climbing": "hill climbing", "mf-mes": "MF-MES", "mf-mes-ten": "ten fresh particles",
    "warm-start": "points carried, nothing else", "continual": "Continual (β = 0)",
}


def families():
    """All families against all opponents: their value, and by how much the preset is ahead, paired."""
    for which, title in enumerate(("best point tried", "recommended point")):
        print(f"\n{title}\n\n| family | **MFT-MES** | " + " | ".join(OPPONENTS.values()) + " |\n" + "|---" * (len(OPPONENTS) + 2) + "|")
        for family in FAMILIES:
            if (FOLDER / "families" / family / "tasks.csv").exists():
                print(f"| {family} | " + " | ".join(against(f"families/{family}", which, OPPONENTS)) + " |")
    print("\n`θ` alone carried\n\n| family | MFT-MES: best | recommended | Continual: best | recommended |"
          " ten fresh particles: best | recommended |\n|---|---|---|---|---|---|---|")
    for family in FAMILIES:
        if (FOLDER / "families" / f"{family}-theta" / "tasks.csv").exists():
            studied = load(f"families/{family}-theta")
            fresh = load(f"families/{family}")["mf-mes-ten"]  # carries nothing, so it is the same in both studies
            studied["mf-mes-ten"] = {experiment: fresh[experiment] for experiment in studied["mft-mes"]}
            best, recommended = (against(f"families/{family}-theta", which, ["continual", "mf-mes-ten"], studied) for which in (0, 1))
            print(f"| {family} | " + " | ".join(cell for pair in zip(best, recommended) for cell in pair) + " |")


def against(study, which, opponents, studied=None):
    """The preset's mean over tasks 6 to 10; then each opponent's, with the paired difference."""
    studied, tasks = studied or load(study), range(6, 11)
    cells = [short(statistics.fmean(over(studied["mft-mes"], tasks, which)))]
    for opponent in opponents:
        lead = ahead(study, studied["mft-mes"], studied[opponent], tasks, which)
        mean, width, theirs = statistics.fmean(lead), half(lead), statistics.fmean(over(studied[opponent], tasks, which))
        cell = f"{short(theirs)} ({'−' if mean < 0 else '+'}{short(abs(mean))} ± {short(width)})"
        cells.append(f"**{cell}**" if mean < -width else cell)
    return cells


def short(value):
    """Three figures at most."""
    return f"{value:.3f}" if value < 1 else f"{value:.2f}" if value < 10 else f"{value:.0f}"


def served(study):
    """What a study in service tells of each task: {variant: {experiment: [row]}}; radio in shares of the optimum."""
    share = ratio(f"live/{study}")
    out = {}
    for row in rows(f"live/{study}"):
        optimum = float(row["optimum"]) if share else 1
        values = {name: float(row[name]) / optimum for name in ("recommended", "meanwhile", "worst")}
        values |= {name: float(row[name] or "nan") for name in ("below", "spent", "task")}
        out.setdefault(row["variant"], {}).setdefault(int(row["experiment"]), []).append(values)
    return out


def of(experiments, name, tasks=None):
    """Means of the experiments in order, over some tasks or all."""
    return [statistics.fmean(row[name] for row in told if not tasks or row["task"] in tasks)
            for _, told in sorted(experiments.items())]


def live():
    """In service: what is recommended, what users got meanwhile, and by how much the live preset is ahead on the same tasks."""
    studies = sorted(path.parent.name for path in (FOLDER / "live").glob("*/tasks.csv"))
    if not studies:
        return
    print("\nIn service, all tasks\n\n| study | method | experiments | recommended | task 1 | tasks 6-10 | meanwhile | below | worst | spent | in tasks 6-10 |\n" + "|---" * 11 + "|")
    every, late = {study: served(study) for study in studies}, range(6, 11)
    for study, variants in every.items():
        for variant, data in variants.items():
            columns = (("recommended", [1]), ("recommended", late), ("meanwhile", None), ("below", None), ("worst", None))
            cells = [interval(of(data, "recommended"))]
            cells += [f"{statistics.fmean(of(data, name, tasks)):.3f}" for name, tasks in columns]
            cells += [f"{statistics.fmean(of(data, 'spent', tasks)):.0f}" for tasks in (None, late)]
            print(f"| {study} | {variant} | {len(data)} | " + " | ".join(cells) + " |")
    print("\nMFT-MES, live, ahead (paired)\n\n| of | MFT-MES there: recommended | meanwhile | ahead: recommended | meanwhile |\n|---|---|---|---|---|")
    for study, variants in every.items():
        base = "radio-05" if study in ("radio-others", "radio-particles") else study
        for variant, data in variants.items():
            if variant != "mft-mes" and "mft-mes" in every[base]:
                same = {experiment: every[base]["mft-mes"][experiment] for experiment in data}
                pairs = [(of(same, name), of(data, name)) for name in ("recommended", "meanwhile")]
                cells = [f"{statistics.fmean(ours):.3f}" for ours, _ in pairs]
                cells += [certain([a - b for a, b in zip(*pair, strict=True)]) for pair in pairs]
                print(f"| {study}: {variant} | " + " | ".join(cells) + " |")


def unlike():
    """A task of another kind, with everything that was carried and from a fresh start."""
    studies = ("hartmann6-unlike", "hartmann6-unlike-fresh")
    if not all((FOLDER / study / "tasks.csv").exists() for study in studies):
        return
    for which, name in enumerate(("best tried", "recommended")):
        carried, fresh = (over(load(study)["mft-mes"], [6], which) for study in studies)
        difference = interval([a - b for a, b in zip(carried, fresh, strict=True)], "+")
        print(f"\nUnlike task 6, {name}: {interval(carried)}; from a fresh start {interval(fresh)}; paired {difference}")


def main():
    problem("hartmann6", range(6, 11))
    problem("hartmann6", range(3, 11))
    problem("hartmann6-theta", range(6, 11), ("hartmann6", "mf-mes-ten"))
    problem("hartmann6-remembered", range(6, 11))
    cells = changed("hartmann6-remembered", "hartmann6", range(6, 11), "mft-mes")
    if any(cells):
        print(f"\nNot measured again ahead of measured again: best tried {cells[0]}, recommended {cells[1]}")
    split("hartmann6-theta", "mft-mes", range(6, 11), 0.35)
    split("hartmann6", "mft-mes", range(6, 11), 0.35)
    unlike()
    problem("gas", range(13, 18))
    problem("gas-theta", range(13, 18), ("gas", "mf-mes-ten"))
    for tasks in (range(1, 6), range(6, 11), range(31, 41), range(2, 41)):
        problem("rrm", tasks)
    problem("rrm-antennas-32", range(6, 11))
    problem("rrm-stations-3", range(6, 11))
    for tasks in (range(13, 41), range(31, 41), [40]):
        problem("paper/fig5", tasks, ours="mft-mes-v10-b0.8", carrying="continual-v10")
    problem("paper/fig6", range(2, 41), ours="continual-v10")
    ablation()
    families()
    first_task()
    one_or_ten()
    deep()
    readings()
    live()
    for study in sorted(units.parent for units in FOLDER.rglob("units")):
        for variant in json.loads((study / "study.json").read_text())["variants"]:
            fidelities(study.relative_to(FOLDER), variant["key"])


main()

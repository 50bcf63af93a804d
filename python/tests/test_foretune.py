"""Tests of the package as it is installed: `cargo xtask test python` runs them."""

import dataclasses
import doctest
import importlib.util
import json
import multiprocessing
import os
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import warnings
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import foretune
from foretune import CallsFailed, ForetuneError, Log, Problem, ProblemError, Tuner, maximise, minimise
from foretune._problem import text_of

try:
    import numpy
except ImportError:
    numpy = None

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(sys.executable).with_name("foretune")
PROBLEM = {
    "goal": "minimise",
    "budget": 40.0,
    "parameter": [{"name": "x", "low": -2.0, "high": 6.0}, {"name": "y", "values": [0.0, 0.25, 0.5, 1.0, 3.0]}],
    "fidelity": [
        {"name": "short", "cost": 1.0, "noise": 0.01, "samples": 4},
        {"name": "long", "cost": 4.0, "noise": 0.001, "samples": 64},
    ],
}
FILE = """
goal = "minimise"
budget = 40.0
parameter = [{ name = "x", low = -2.0, high = 6.0 }, { name = "y", values = [0.0, 0.25, 0.5, 1.0, 3.0] }]
fidelity = [{ name = "short", cost = 1.0, noise = 0.01, samples = 4 }, { name = "long", cost = 4.0, noise = 0.001, samples = 64 }]
"""
IN_USE = {**PROBLEM, "budget": 12, "deployed": {"x": 0, "y": 0.25}}


def bowl(query):
    """None now and then: the measurement failed."""
    x, y = query.setting["x"], query.setting["y"]
    return None if query.id % 7 == 0 else (x - 1.5) ** 2 / 4 + (y - 1) ** 2 + 0.5 / query.samples


def play(tuner, rounds=10**9):
    """What is asked, and the recommendation at the end."""
    asked = []
    for query in tuner:
        if len(asked) == rounds:
            return asked
        asked.append((query.setting, query.fidelity))
        tuner.tell(query, bowl(query), cost=2.5 if query.id == 3 else None)
    return [*asked, tuner.recommendation]


def serve(folder, tasks):
    """The same from the program `foretune serve`, by its lines."""
    Path(folder, "p.toml").write_text(FILE)
    command = [PROGRAM, "serve", "p.toml", "--seed", "5"]
    said, pipes = [], {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, cwd=folder, text=True, **pipes) as server:
        for line in map(json.loads, server.stdout):
            if ask := line.get("ask"):
                value, which = bowl(SimpleNamespace(**ask)), {"id": ask["id"]}
                reply = {"fail": which} if value is None else {"tell": {**which, "value": value}}
                if ask["id"] == 3:
                    reply["tell"]["cost"] = 2.5
                said.append((ask["setting"], ask["fidelity"]))
            elif "recommendation" in line:
                said.append(foretune.Recommendation(**line["recommendation"]))
                tasks, reply = tasks - 1, {"next_task": {}}
            else:
                continue
            if tasks == 0:
                server.stdin.close()
                break
            print(json.dumps(reply), file=server.stdin, flush=True)
    return said


class Tuning(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_two_tasks_are_those_of_the_program(self):
        tuner = Tuner(PROBLEM, seed=5)
        first = play(tuner)
        self.assertEqual(tuner.recommendation.reason, "budget")
        tuner.next_task()
        self.assertEqual(first + play(tuner), serve(self.folder, tasks=2))

    def test_a_problem_is_a_dict_a_dataclass_or_a_file(self):
        path = self.folder / "p.toml"
        path.write_text(FILE)
        short = {**PROBLEM, "parameter": {"x": (-2, 6), "y": [0, 0.25, 0.5, 1, 3]}}
        forms = [short, Problem(**PROBLEM), Problem(**short), path, str(path)]
        if numpy:
            forms.append({**short, "budget": numpy.float32(40), "parameter": {
                "x": (numpy.int64(-2), 6), "y": numpy.array([0, 0.25, 0.5, 1, 3])}})
        expected = play(Tuner(PROBLEM))
        for form in forms:
            self.assertEqual(play(Tuner(form)), expected, form)

    def test_conditions_are_asked_for_told_and_recommended_at(self):
        problem = {"goal": "maximise", "budget": 25, "parameter": {"x": (0, 1)}, "condition": {"load": (0, 100)},
                   "fidelity": [{"name": "only", "cost": 1, "noise": 1e-4}]}

        def tune(tuner):
            for i in range(10**9):
                load = 37 * (tuner.status.answered + 1) % 101
                if (query := tuner.ask(load=load)) is None:
                    return tuner
                self.assertAlmostEqual(query.setting["load"], load, places=3)
                self.assertIs(tuner.ask(load=load), query)
                if i == 7:
                    tuner = pickle.loads(pickle.dumps(tuner))
                    continue
                true = min(load + 1.5, 100)
                tuner.tell(query, 1 - (query.setting["x"] - 0.2 - 0.006 * true) ** 2, load=true)

        tuner = tune(Tuner(problem, seed=3))
        self.assertEqual(tuner.history[0].setting["load"], 38.5)
        own = tuner.recommendation
        for load in (10, 90):
            best = tuner.recommendation_at(load=load)
            self.assertAlmostEqual(best.setting["load"], load, places=3)
            self.assertLess(abs(best.setting["x"] - 0.2 - 0.006 * load), 0.2)
        self.assertIs(tuner.recommendation, own)
        for wrong, words in [({"load": 101}, "from 0 to 100"), ({"lod": 1}, "`lod`"), ({}, "a value for every"),
                             ({"load": float("nan")}, "the load is nan, not a finite number$")]:
            with self.assertRaisesRegex((ForetuneError, ValueError), words):
                tuner.recommendation_at(**wrong)
        tuner.next_task()
        with self.assertRaisesRegex(ValueError, "the load is nan, not a finite number$"):
            tuner.ask(load=float("nan"))
        self.assertTrue(tuner.ask())

    def test_the_condition_that_holds_already_may_be_said_again_and_all_is_known_after_a_restart(self):
        problem = {"goal": "maximise", "budget": 12, "parameter": {"x": (0, 1)}, "condition": {"load": (0, 100)},
                   "fidelity": [{"name": "only", "cost": 1, "noise": 1e-4}]}
        path = self.folder / "s.state"
        for loads in ([50, 50, 70, 70, 70], [70, 70], [90]):
            with Tuner(problem, state=path, settings={"initial": 2}) as tuner:
                for load in loads:
                    query = tuner.ask(load=load)
                    self.assertAlmostEqual(query.setting["load"], load, places=3)
                    tuner.tell(query, 1 - (query.setting["x"] - 0.006 * load) ** 2)
                status = tuner.status
                self.assertIsNotNone(status.expected)
                self.assertEqual(pickle.loads(pickle.dumps(tuner)).status, status)
            with Tuner(problem, state=path, settings={"initial": 2}) as tuner:
                self.assertEqual(tuner.status, status)

    def test_categories_go_in_and_out_by_name(self):
        problem = {**PROBLEM, "parameter": {"mode": ["slow", "fast", "off"], "x": (0, 1)}}
        start = {"mode": "off", "x": 0.5}
        past = [({"mode": "fast", "x": 0.25}, 2.0)]
        with foretune.Tuner(problem, seed=3, deployed=start, past=past) as tuner:
            self.assertEqual(tuner.ask().setting, start)
            for query in tuner:
                tuner.tell(query, {"slow": 1, "fast": 0, "off": 2}[query.setting["mode"]] + query.setting["x"])
            self.assertEqual(tuner.recommendation.setting["mode"], "fast")
            self.assertEqual({trial.setting["mode"] for trial in tuner.history}, {"slow", "fast", "off"})
            with self.assertRaisesRegex(foretune.ForetuneError, "no value `none`: there are slow, fast, off"):
                tuner.next_task({**start, "mode": "none"})
            tuner.next_task({**start, "mode": "slow"})
            self.assertEqual(tuner.ask().setting["mode"], "slow")
            tuner.past(tuner.history + past)
        with self.assertRaisesRegex(foretune.ProblemError, "has `a` twice"):
            foretune.Tuner({**problem, "parameter": {"mode": ["a", "a"]}})
        forms = [("slow", "fast"), {"slow": 1, "fast": 2}.keys(), *([numpy.array(["slow", "fast"])] if numpy else [])]
        for names in [*forms, *({"values": names} for names in forms)]:
            with foretune.Tuner({**problem, "parameter": {"mode": names}}) as tuner:
                self.assertIn(tuner.ask().setting["mode"], ("slow", "fast"))
        for odd, words in [({"slow", "fast"}, "a set has no order"), ({"values": {"slow", "fast"}}, "a set has no order"),
                           ("slow", "not 'slow'"), ([True, False], "not .True, False."), ((n for n in "ab"), "of names")]:
            with self.assertRaisesRegex(foretune.ProblemError, "mode: takes .*" + words):
                foretune.Tuner({**problem, "parameter": {"mode": odd}})

    def test_several_are_measured_at_once_told_in_any_order_and_kept(self):
        with tempfile.TemporaryDirectory() as folder:
            state = Path(folder, "p.state")
            tuner = Tuner(PROBLEM, state=state)
            for count in (20, -1, 2.5, 2.0):
                with self.assertRaisesRegex(ValueError, f"count takes a whole number from 0 to 8, not {count}"):
                    tuner.ask_several(count)
            four = tuner.ask_several(4)
            self.assertEqual([query.id for query in four], [1, 2, 3, 4])
            tuner.tell(four[2], bowl(four[2]))
            self.assertEqual(tuner.ask_several(3), [four[0], four[1], four[3]])
            self.assertEqual(tuner.ask(), four[0])
            copy = pickle.loads(pickle.dumps(tuner))
            tuner.close()
            for again in (copy, Tuner(PROBLEM, state=state)):
                self.assertEqual(again.ask_several(4)[:3], [four[0], four[1], four[3]])
                with self.assertRaisesRegex(ForetuneError, "queries 1, 2, 4, 5 are outstanding, not 3"):
                    again.tell(four[2], 1.0)
                while queries := again.ask_several(4):
                    again.tell(queries[-1], bowl(queries[-1]))
                self.assertEqual((again.recommendation.reason, again.status.spent <= 40), ("budget", True))
                again.close()

    def test_mistakes_name_the_field(self):
        def wrong(change, **options):
            problem = json.loads(json.dumps(IN_USE))
            change(problem)
            with self.assertRaises(ForetuneError) as caught:
                Tuner(problem, **options)
            return caught.exception
        for change, field, words in [
            (lambda p: p.update(budget=-1), "budget", "from 0"),
            (lambda p: p.update(budget="much"), "budget", "f64"),
            (lambda p: p.update(budget=object()), "budget", "neither"),
            (lambda p: p.pop("goal"), "goal", "missing field"),
            (lambda p: p.update(speed=1), "speed", "unknown field"),
            (lambda p: p["parameter"][0].update(high=-3), "parameter[0].high", "above low"),
            (lambda p: p["parameter"][1].update(values=[1]), "parameter[1].values", "two finite numbers"),
            (lambda p: p["fidelity"][1].pop("cost"), "fidelity[1].cost", "missing field"),
            (lambda p: p["deployed"].update(y=0.3), "deployed.y", "nearest"),
            (lambda p: p.update(limit=[{"sum": {"z": 1}, "at_most": 1}]), "limit[0].sum", "x, y"),
            (lambda p: p.update(fleet="nowhere.fleet"), "fleet", "nowhere.fleet"),
            (lambda p: p.update(parameter={"x": 3}), "x", "(low, high)"),
            (lambda p: p.update(parameter=[]), "", "[[parameter]]"),
            (lambda p: p["parameter"][1].update(values=range(70000)), "parameter[1].values", "65535 at most, not 70000"),
        ]:
            error = wrong(change)
            self.assertIsInstance(error, ProblemError)
            self.assertEqual(error.field, field, error)
            self.assertIn(words, str(error))
        for options, words in [
            ({"settings": {"speed": 2}}, "`speed`"),
            ({"deployed": {"x": 9, "y": 1}}, "`deployed`: "),
            ({"knowledge": b"nonsense"}, "snapshot"),
            ({"past": [({"x": 0, "y": 0.3}, 1.0)]}, "past measurement 1: "),
            ({"past": [({"x": 0, "y": 1}, 1.0, "middle")]}, "short, long"),
            ({"past": [({"x": 0}, 1.0)]}, "parameter `y` has no value"),
            ({"past": [({"x": 0, "y": 1}, float("nan"))]}, "finite"),
            ({"past": [({"x": 0, "y": 1}, 1.0), (1, 2)]}, "past measurement 2 takes (setting, value): a dict"),
            ({"past": [3.0]}, "past measurement 1 takes"),
            ({"past": [({"x": 0, "y": 1}, 1.0, 0)]}, "past measurement 1 takes"),
        ]:
            self.assertIn(words, str(wrong(lambda p: None, **options)))
        for options, words in [
            ({"deployed": 5}, "deployed takes a dict, not 5"),
            ({"deployed": {"x": None, "y": 1}}, "x takes a number, not None"),
            ({"settings": 5}, "settings takes a dict"),
            ({"knowledge": "abc"}, "knowledge takes what"),
            ({"past": 5}, "past takes a list"),
        ]:
            with self.assertRaises(TypeError) as caught:
                Tuner(PROBLEM, **options)
            self.assertIn(words, str(caught.exception))
        for call, words in [
            (lambda: minimise(bowl, 5), "parameters takes a dict"),
            (lambda: minimise(bowl, {"x": (0, 1)}, start=5), "start takes a dict"),
            (lambda: Tuner(PROBLEM).tell(5, 1.0), "takes the query"),
            (lambda: Tuner(PROBLEM).ask(load="high"), "load takes a number, not 'high'"),
        ]:
            with self.assertRaises(TypeError) as caught:
                call()
            self.assertIn(words, str(caught.exception))
        for seed in (-1, 2**64, 1.5):
            with self.assertRaisesRegex(ValueError, f"seed takes a whole number from 0 to {2**64 - 1}, not {seed}"):
                Tuner(PROBLEM, seed=seed)
        (self.folder / "p.toml").write_text(FILE.replace("40.0", "-1"))
        with self.assertRaisesRegex(ProblemError, r"p\.toml, line 3: budget takes"):
            Tuner(self.folder / "p.toml")
        with self.assertRaises(FileNotFoundError):
            Tuner(self.folder / "none.toml")

    def test_what_is_refused_changes_nothing(self):
        tuner = Tuner(PROBLEM)
        query = tuner.ask()
        tuner.tell(query, 1.0)
        with self.assertRaisesRegex(ForetuneError, "query 2 is outstanding, not 1"):
            tuner.tell(query, 1.0)
        second = tuner.ask()
        for value, cost in [(float("nan"), None), (float("-inf"), None), (1.0, float("nan"))]:
            with self.assertRaisesRegex(ValueError, "not a finite number; tell None"):
                tuner.tell(second, value, cost)
        for value, cost, words in [(1e60, None, "finite"), (1.0, -1.0, "cost of -1")]:
            with self.assertRaisesRegex(ForetuneError, words):
                tuner.tell(second, value, cost)
        with self.assertRaisesRegex(ForetuneError, "has not ended"):
            tuner.next_task()
        with self.assertRaisesRegex(ForetuneError, "got no answer"):
            list(tuner)
        self.assertIs(tuner.ask(), second)
        tuner.close()
        for call in (lambda: tuner.tell(second, 1.0), tuner.ask, lambda: tuner.status):
            with self.assertRaisesRegex(ForetuneError, "closed"):
                call()
        self.assertEqual([trial.value for trial in tuner.history], [1.0])

    def test_why_a_state_could_not_be_written_is_said_as_long_as_somebody_asks(self):
        folder = self.folder / "gone"
        folder.mkdir()
        tuner = Tuner(PROBLEM, state=folder / "p.state")
        query = tuner.ask()
        shutil.rmtree(folder)
        for _ in range(2):
            with self.assertRaisesRegex(ForetuneError, "p.state"):
                tuner.tell(query, 1.0)

    @unittest.skipUnless(hasattr(signal, "setitimer"), "no alarms here")
    def test_interrupted_at_any_moment_it_goes_on_bit_for_bit(self):
        def interrupt(*_):
            raise KeyboardInterrupt
        self.addCleanup(signal.signal, signal.SIGALRM, signal.signal(signal.SIGALRM, interrupt))
        longer = {**PROBLEM, "budget": 3 * PROBLEM["budget"]}
        tuner, whole, interrupts = Tuner(longer), Tuner(longer), 0
        play(whole)
        while tuner.recommendation is None:
            try:
                signal.setitimer(signal.ITIMER_REAL, 1e-4 * (1 + interrupts % 30))
                play(tuner)
                signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                interrupts += 1
        self.assertGreater(interrupts, 20)
        self.assertEqual((tuner.history, tuner.recommendation), (whole.history, whole.recommendation))

    def test_a_pickled_tuner_goes_on_bit_for_bit(self):
        whole = play(Tuner(PROBLEM, seed=3, settings={"initial": 4, "carry_particles": False}))
        for rounds in (0, 3, 9, len(whole) - 1):
            tuner = Tuner(PROBLEM, seed=3, settings={"initial": 4, "carry_particles": False})
            begun = play(tuner, rounds)
            copy = pickle.loads(pickle.dumps(tuner))
            self.assertEqual(begun[:rounds] + play(copy), whole)
            self.assertEqual(copy.history[:rounds], tuner.history[:rounds])

    def test_a_file_keeps_every_answer_and_one_tuner_has_it(self):
        path = self.folder / "s.state"
        with Tuner(PROBLEM, state=path) as tuner:
            begun = play(tuner, 5)
            with self.assertRaisesRegex(ForetuneError, "in use.*another `state`"):
                Tuner(PROBLEM, state=path)
            self.assertEqual(tuner.state, path.read_bytes())
        with Tuner(PROBLEM, state=path) as tuner:
            self.assertEqual(begun + play(tuner), play(Tuner(PROBLEM)))
        with self.assertRaisesRegex(ForetuneError, "the goal was minimise"):
            Tuner({**PROBLEM, "goal": "maximise"}, state=path)

    def test_knowledge_starts_another_tuner_as_the_next_task(self):
        tuner = Tuner(PROBLEM)
        self.assertEqual(tuner.knowledge, b"")
        play(tuner)
        other = Tuner(PROBLEM, knowledge=tuner.knowledge)
        tuner.next_task()
        settings = [[query.setting for query in [one.ask()]] for one in (tuner, other)]
        self.assertEqual(*settings)

    def test_past_measurements_are_known_and_kept(self):
        past = [({"x": x, "y": 1.0}, (x - 1.5) ** 2) for x in (-2, 0, 1, 2, 4, 6)]
        tuner = Tuner(PROBLEM, past=past, settings={"initial": 1})
        begun = play(tuner, 3)
        turned = [({"y": setting["y"], "x": setting["x"]}, value) for setting, value in past]
        self.assertEqual(play(Tuner(PROBLEM, past=turned, settings={"initial": 1}), 3), begun)
        self.assertEqual(begun + play(pickle.loads(pickle.dumps(tuner))), begun + play(tuner))
        nearest = min(abs(setting["x"] - 1.5) for setting, _ in begun[1:])
        self.assertLess(nearest, 1.0, begun)
        handed = Tuner(PROBLEM, settings={"initial": 1})
        with self.assertRaisesRegex(ForetuneError, "past measurement 1: .*nearest"):
            handed.past([({"x": 0, "y": 0.3}, 1.0)])
        handed.past(past)
        self.assertEqual(play(handed, 3), begun)
        with self.assertRaisesRegex(ForetuneError, "before the first answer"):
            handed.past(past)
        # A program that is started again says the same again; what another tuner measured is past here, failures apart.
        kept = self.folder / "kept.state"
        for count in (2, 1):
            with Tuner(PROBLEM, state=kept, past=past, settings={"initial": 1}) as again:
                begun = begun[count:] if play(again, count) == begun[:count] else self.fail(begun)
        tuner.next_task()
        tuner.tell(tuner.ask(), None)
        play(tuner, 3)
        taught = Tuner(PROBLEM, past=tuner.history)
        self.assertEqual([one["value"] for one in taught._state()["tasks"][0]["begun"]["past"]],
                         [one.value for one in tuner.history if one.value is not None])

    def test_a_change_of_the_setting_in_use_begins_the_next_task(self):
        problem = {"goal": "maximise", "budget": 8, "run_length": 1000, "parameter": {"x": (0, 1)}, "deployed": {"x": 0.2},
                   "fidelity": [{"name": "only", "cost": 1, "noise": 1e-3}],
                   "guard": [{"name": "power", "at_most": 60.0, "noise": 0.0}]}
        with Tuner(problem) as tuner:
            for query in tuner:
                tuner.tell(query, 1.0 + query.setting["x"], kpis={"power": 5.0})
                self.assertEqual(query.why is None, query.id == 1)
            self.assertEqual(tuner.history[0].kpis, {"power": 5.0})
            with self.assertRaisesRegex(ValueError, "the value is nan"):
                tuner.watch(float("nan"))
            with self.assertRaisesRegex(ForetuneError, "no `power`"):
                tuner.watch(1.0)
            wave = [(i * 37 % 101) / 1000 for i in range(60)]
            self.assertEqual([tuner.watch(1.2, {"power": 5 + one}) for one in wave], [None] * 60)
            changes = [tuner.watch(1.2, {"power": 6 + one}) for one in wave[:1]]
            while changes[-1] is None:
                changes.append(tuner.watch(1.2, {"power": 6 + wave[len(changes)]}))
            self.assertEqual((changes[-1].of, changes[-1].change), ("power", "higher"))
            self.assertLess(len(changes), 12)
            self.assertEqual(tuner.status.task, 2)
            tuner.ask()
            with self.assertRaisesRegex(ForetuneError, "outstanding"):
                tuner.watch(1.2, {"power": 5.0})

    def test_guarded_kpis_are_told_by_name_and_kept(self):
        problem = {
            "goal": "maximise", "budget": 30, "parameter": {"x": (0.0, 1.0)}, "deployed": {"x": 0.2},
            "fidelity": [{"name": "only", "cost": 1, "noise": 1e-4}],
            "guard": [{"name": "power", "at_most": 6.0, "noise": 0.0}],
        }
        with Tuner(problem, settings={"candidates": 64}) as tuner:
            first = tuner.ask()
            for kpis in (None, {"edge": 1.0}):
                with self.assertRaisesRegex(ForetuneError, "no `power`, which is guarded"):
                    tuner.tell(first, 0.2, kpis=kpis)
            with self.assertRaisesRegex(ValueError, "power is nan"):
                tuner.tell(first, 0.2, kpis={"power": float("nan")})
            for query in tuner:
                x = query.setting["x"]
                tuner.tell(query, x, kpis={"power": 10 * x})
            self.assertTrue(0.4 < tuner.recommendation.setting["x"] <= 0.6, tuner.recommendation)

    def test_a_fleet_is_learnt_from_states_and_taken_up(self):
        problem = {"goal": "minimise", "budget": 20, "parameter": [{"name": "x", "low": -2, "high": 6}],
                   "fidelity": [{"name": "run", "cost": 1, "noise": 1e-3}]}
        def tune(at, **more):
            tuner = Tuner({**problem, **more})
            for query in tuner:
                tuner.tell(query, (query.setting["x"] - at) ** 2)
            return tuner
        (self.folder / "p.toml").write_text(text_of(problem).text)
        states = [self.folder / f"{i}.state" for i in range(3)]
        for i, state in enumerate(states):
            state.write_bytes(tune(1.5 + i / 10).state)
        fleet = self.folder / "mine.fleet"
        subprocess.run([PROGRAM, "fleet", "learn", *states, "--problem", self.folder / "p.toml", "-o", fleet],
                       capture_output=True, check=True)
        alone, joined = tune(1.7), tune(1.7, fleet=fleet)
        self.assertNotEqual(alone.history, joined.history)
        self.assertLess(abs(joined.recommendation.setting["x"] - 1.7), 0.1)

    def test_status_history_and_the_point_in_use(self):
        tuner = Tuner({**IN_USE, "limit": [{"sum": {"x": 1, "y": 1}, "at_most": 3}]}, deployed={"x": 2, "y": 0.5})
        first = tuner.ask()
        self.assertEqual((first.setting, first.fidelity), ({"x": 2.0, "y": 0.5}, "long"))
        tuner.tell(first, 0.5)
        tuner.tell(tuner.ask(), None)
        status = tuner.status
        self.assertEqual((status.task, status.answered, status.best, status.budget), (1, 2, 0.5, 12.0))
        self.assertEqual([trial.value for trial in tuner.history], [0.5, None])
        self.assertEqual(status.spent, sum(trial.cost for trial in tuner.history))
        tuner.stop()
        self.assertEqual((tuner.recommendation.reason, tuner.ask()), ("stopped", None))
        with self.assertRaisesRegex(ForetuneError, "x = 5, y = 1: .*; say as `deployed` which setting is in use"):
            tuner.next_task(deployed={"x": 5, "y": 1})
        tuner.next_task(deployed={"x": 1, "y": 0.25})
        self.assertEqual(tuner.ask().setting, {"x": 1.0, "y": 0.25})
        self.assertEqual(tuner.status.answered, 0)

    @unittest.skipUnless(numpy, "numpy is not there")
    def test_numpy_comes_in_and_goes_out(self):
        tuner = Tuner(PROBLEM)
        query = tuner.ask()
        numpy.testing.assert_array_equal(numpy.asarray(query), list(query.setting.values()))
        tuner.tell(query, numpy.float32(0.25), cost=numpy.int64(2))
        self.assertEqual(tuner.history[0].value, 0.25)
        result = minimise(lambda x, y: numpy.array(x * x + y * y), {"x": (-1, 1), "y": numpy.linspace(0, 1, 5)}, 12)
        self.assertEqual(numpy.array(result.history).shape, (12, 2))

    @unittest.skipUnless(hasattr(os, "fork"), "no fork here")
    def test_a_tuner_of_another_process_says_so(self):
        tuner, context = Tuner(PROBLEM), multiprocessing.get_context("fork")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            child = context.Process(target=in_another_process, args=(tuner,))
            child.start()
        child.join(60)
        self.assertEqual(child.exitcode, 0)
        self.assertTrue(tuner.ask())


def in_another_process(tuner):
    try:
        tuner.tell(tuner.ask(), 1.0)
    except ForetuneError as error:
        del tuner
        sys.exit(0 if "another process" in str(error) else 2)
    sys.exit(3)


class OneCall(unittest.TestCase):
    def test_the_budget_is_what_is_called(self):
        for budget, parameters in [(2, {"x": (0, 1)}), (7, {"x": (0, 1), "y": (0, 1)}), (25, {"x": (0, 1)})]:
            for options in ({}, {"start": {name: 0.5 for name in parameters}}):
                calls = []
                result = minimise(lambda **setting: calls.append(setting) or sum(setting.values()), parameters, budget, **options)
                self.assertEqual([trial.setting for trial in result.history], calls)
                self.assertEqual(len(calls), budget, (parameters, options))
                self.assertEqual(result.value, min(trial.value for trial in result.history))

    def test_parameters_come_as_they_were_given(self):
        def f(rate, units, size, gain, depth):
            self.assertTrue(isinstance(units, int) and isinstance(depth, int) and 1 <= depth <= 64)
            self.assertTrue(1e-5 <= rate <= 0.123456789 and size in (0.1, 0.3) and -1 <= gain <= 1)
            return (rate - 1e-3) ** 2 + units + size + gain + depth
        spec = {"rate": Log(1e-5, 0.123456789), "units": range(8, 65, 8), "size": [0.3, 0.1],
                "gain": {"low": -1, "high": 1, "levels": 5}, "depth": {"low": 1, "high": 64, "integer": True, "scale": "log"}}
        result = minimise(f, spec, budget=30, start={"rate": 1e-3, "units": 32, "size": 0.3, "gain": 0, "depth": 8})
        self.assertEqual(result.history[0].setting["rate"], 1e-3)
        self.assertEqual(result.history[0].setting["units"], 32)
        self.assertEqual(result.reason, "budget")

    def test_names_have_no_order(self):
        worth = {"a": 3, "b": 0, "c": 2, "d": 4}
        result = foretune.minimise(lambda mode, x: worth[mode] + (x - 1) ** 2, {"mode": list(worth), "x": (-4, 4)}, 25,
                                   start={"mode": "d", "x": 0}, seed=1)
        self.assertEqual((result.setting["mode"], result.history[0].setting), ("b", {"mode": "d", "x": 0}))
        self.assertLess(result.value, 0.1)

    def test_noise_is_averaged_and_knowledge_carried(self):
        draw = __import__("random").Random(1).gauss
        f = lambda x: (x - 0.3) ** 2 + draw(0, 0.05)  # noqa: E731
        first = minimise(f, {"x": (-1, 1)}, budget=30, noise=0.0025)
        self.assertLess(abs(first.setting["x"] - 0.3), 0.3)
        self.assertNotIn(first.value, [trial.value for trial in first.history])
        again = minimise(f, {"x": (-1, 1)}, budget=10, noise=0.0025, knowledge=first.knowledge)
        tried = [trial.setting["x"] for trial in again.history]
        self.assertLess(min(abs(x - first.setting["x"]) for x in tried), 0.01)

    def test_calls_that_fail_are_kept_away_from(self):
        def f(x, y):
            if x < 0:
                raise ArithmeticError("the left side")
            return None if y < -0.9 else float("nan") if y > 0.9 else (x - 0.5) ** 2 + y**2
        result = maximise(lambda **setting: -(v if (v := f(**setting)) is not None else float("nan")), {"x": (-1, 1), "y": (-1, 1)}, 40)
        failed = [trial.value is None for trial in result.history]
        self.assertTrue(any(failed) and sum(failed[20:]) < 10, failed)
        self.assertGreater(result.value, -0.1)

    def test_four_calls_run_at_once(self):
        lock, running, most = threading.Lock(), set(), []

        def f(x):
            with lock:
                running.add(x)
                most.append(len(running))
            time.sleep(0.05)
            with lock:
                running.remove(x)
            return (x - 1) ** 2

        result = minimise(f, {"x": (-4, 4)}, budget=24, parallel=4, seed=1)
        self.assertEqual((len(result.history), max(most), running), (24, 4, set()))
        self.assertLess(result.value, 0.05)
        with self.assertRaisesRegex(CallsFailed, "the last: ZeroDivisionError"):
            minimise(lambda x: 1 / 0, {"x": (-4, 4)}, budget=24, parallel=4)
        for parallel in (9, 2.0, True):
            with self.assertRaisesRegex(ValueError, f"parallel takes a whole number from 1 to 8, not {parallel}"):
                minimise(f, {"x": (-4, 4)}, parallel=parallel)

    def test_failures_in_a_row_end_it_and_nothing_is_lost(self):
        for works, options, count in [(0, {}, 10), (6, {}, 10), (6, {"failures": 3}, 3)]:
            calls = []
            def f(x):
                calls.append(x)
                return x if len(calls) <= works else 1 / 0
            with self.assertRaisesRegex(CallsFailed, f"{count} of {works + count} calls failed, the last: ZeroDivisionError") as caught:
                minimise(f, {"x": (0, 1)}, budget=60, **options)
            self.assertIsInstance(caught.exception.__cause__, ZeroDivisionError)
            result = caught.exception.result
            self.assertEqual(result and result.value, min(calls[:works]) if works else None)

    def test_ctrl_c_returns_what_was_found(self):
        calls = []
        def f(x):
            calls.append(x)
            if len(calls) == 9:
                raise KeyboardInterrupt
            return x
        with self.assertWarnsRegex(UserWarning, "8 measurements"):
            result = minimise(f, {"x": (0, 1)}, budget=60)
        self.assertEqual((len(result.history), result.reason, result.value), (8, "stopped", min(calls[:8])))
        self.assertTrue(result.knowledge)
        calls[:] = range(8)
        with self.assertRaises(KeyboardInterrupt):
            minimise(f, {"x": (0, 1)}, budget=60)

    def test_mistakes_are_told_before_the_first_call(self):
        for parameters, options, words in [
            ({"x": (1, 0)}, {}, "above low"), ({}, {}, "parameter"), ({"x": Log(0, 1)}, {}, "0 < low"),
            ({"x": (0, 1)}, {"budget": 1}, "whole number"), ({"x": (0, 1)}, {"budget": 2.5}, "whole number"), ({"x": (0, 1)}, {"budget": 257}, "256"),
            ({"x": (0, 1)}, {"start": {"z": 0}}, "z"), ({"x": (0, 1)}, {"start": {"x": 9}}, "^start.x: parameter `x` takes"),
            ({"x": (0, 1), "y": (0, 1)}, {"start": {"x": 0}}, "^start: parameter `y` has no value"), ({"x": (0, 1)}, {"seed": -1}, "^seed"), ({"x": (0, 1)}, {"speed": 0}, "speed"),
        ]:
            with self.assertRaisesRegex(ValueError, words):
                minimise(self.fail, parameters, **options)


@unittest.skipUnless(importlib.util.find_spec("optuna"), "Optuna is not there")
class Optuna(unittest.TestCase):
    def setUp(self):
        import optuna
        from foretune.optuna import Sampler
        self.optuna, self.sampler = optuna, Sampler
        optuna.logging.set_verbosity(optuna.logging.CRITICAL)

    def study(self, **options):
        return self.optuna.create_study(sampler=self.sampler(budget=25, seed=2), **options)

    def bowl(self, trial):
        return (trial.suggest_float("x", -4, 4) - 1) ** 2 + (trial.suggest_int("n", 0, 8) - 3) ** 2 / 9

    def test_it_finds_what_random_search_does_not(self):
        ends = {}
        for direction, sign in (("minimize", 1), ("maximize", -1)):
            study = self.study(direction=direction)
            study.optimize(lambda trial: sign * self.bowl(trial), n_trials=25)
            ends[direction] = sign * study.best_value
        random = self.optuna.create_study(sampler=self.optuna.samplers.RandomSampler(2))
        random.optimize(self.bowl, n_trials=25)
        self.assertLess(max(ends.values()), min(0.02, random.best_value), ends)

    def test_parameters_of_every_kind_are_in_their_ranges(self):
        def f(trial):
            values = [
                trial.suggest_float("a", 1e9, 1e9 + 1), trial.suggest_float("b", 1e-6, 1, log=True),
                trial.suggest_float("c", 0, 1, step=0.1), trial.suggest_int("d", 1, 10**6),
                trial.suggest_int("e", 1, 1000, log=True), trial.suggest_int("f", -7, 8, step=3),
                trial.suggest_categorical("g", [64, 16, 32]), trial.suggest_categorical("h", [True, False]),
                trial.suggest_float("i", 2, 2), trial.suggest_float("j", 0, 1e7, step=0.5),
            ]
            self.assertIn(trial.suggest_categorical("k", ["red", None, 7]), ["red", None, 7])
            trial.suggest_categorical("l", "123456789")
            return sum(map(float, values)) / 1e6
        study = self.study()
        study.optimize(f, n_trials=15)
        self.assertEqual({trial.state.name for trial in study.trials}, {"COMPLETE"})
        space = study.sampler.infer_relative_search_space(study, study.trials[-1])
        self.assertEqual("".join(sorted(space)), "abcdefghjk")
        self.assertTrue(all(isinstance(trial.params["d"], int) for trial in study.trials))

    def test_failed_pruned_and_endless_trials_do_not_stop_it(self):
        def f(trial):
            value = self.bowl(trial)
            if trial.number < 2:
                return 1e31
            if trial.params["n"] > 5:
                raise self.optuna.TrialPruned
            if trial.params["x"] < -1:
                raise ArithmeticError
            return float("inf") if trial.params["x"] > 3 else value
        study = self.study()
        study.optimize(f, n_trials=40, catch=(ArithmeticError,))
        states = [trial.state.name for trial in study.trials]
        self.assertEqual((len(states), set(states)), (40, {"COMPLETE", "PRUNED", "FAIL"}))
        self.assertGreater(states[20:].count("COMPLETE"), 10)
        self.assertLess(study.best_value, 0.1)

    def test_trials_of_others_are_learnt_from(self):
        study = self.study()
        study.add_trials(self.optuna.trial.create_trial(
            params={"x": x, "n": 3}, value=(x - 1) ** 2, distributions={
                "x": self.optuna.distributions.FloatDistribution(-4, 4), "n": self.optuna.distributions.IntDistribution(0, 8)})
            for x in (-4, -3, -2, -1, 0, 0.5, 2, 3, 4))
        study.enqueue_trial({"x": 3.5, "n": 8})
        study.optimize(self.bowl, n_trials=6)
        self.assertEqual(study.trials[9].params, {"x": 3.5, "n": 8})
        self.assertLess(min(trial.value for trial in study.trials[10:]), 0.25)

    def test_several_at_once_and_a_pickled_sampler(self):
        study = self.study()
        for _ in range(4):
            trials = [study.ask() for _ in range(4)]
            points = {(trial.suggest_float("x", -4, 4), trial.suggest_int("n", 0, 8)) for trial in trials}
            self.assertEqual(len(points), 4)
            for trial in trials:
                study.tell(trial, self.bowl(trial))
        study.sampler = pickle.loads(pickle.dumps(study.sampler))
        study.optimize(self.bowl, n_trials=12, n_jobs=4)
        self.assertLess(study.best_value, 0.2)
        study = self.optuna.create_study(sampler=self.sampler(), directions=["minimize", "minimize"])
        with self.assertRaisesRegex(ValueError, "multi-objective"):
            study.optimize(lambda trial: (trial.suggest_float("x", 0, 1), 0), n_trials=2)

    def test_a_grid_that_is_exhausted_goes_on_at_random(self):
        study = self.study()
        study.optimize(lambda trial: trial.suggest_int("n", 0, 2), n_trials=12)
        self.assertEqual((len(study.trials), study.best_value), (12, 0))


class Comparing(unittest.TestCase):
    def test_a_table_of_all_methods_from_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "mine.py").write_text("def f(x, r, n):\n    return -(x - 1) ** 2 - abs(r - 0.01) - abs(n - 4)\n")
            words = ["x=-4:4", "r=1e-4:1:log", "n=2,4,8", "--budget", "12", "--seeds", "2", "--maximise"]
            for place in ("mine:f", "mine.py:f"):
                command = [sys.executable, "-m", "foretune.compare", place, *words]
                said = subprocess.run(command, cwd=folder, text=True, capture_output=True, check=True).stdout
                rows = {line.split("  ")[0]: line.split() for line in said.splitlines()}
                self.assertTrue({"Foretune", "random"} <= set(rows), said)
                self.assertEqual(rows["random"][-2], "12", said)
                self.assertGreater(float(rows["Foretune"][1]), float(rows["random"][1]), said)
            for words in (["mine:g", "x=0:1"], ["mine:f", "x=0"], ["mine:f", "x=0:1:lin"]):
                wrong = subprocess.run([sys.executable, "-m", "foretune.compare", *words], cwd=folder, text=True, capture_output=True)
                self.assertTrue(wrong.returncode == 2 and f"`{words[-1] if words[0] == 'mine:f' else words[0]}`" in wrong.stderr, wrong)
            for words, said in ((["r=1:0:log", "n=1,2"], "Log takes"), (["x=1:0"], "above low"), (["x=0:1", "--budget", "1"], "--budget takes")):
                command = [sys.executable, "-m", "foretune.compare", "mine:f", *words]
                wrong = subprocess.run(command, cwd=folder, text=True, capture_output=True)
                self.assertTrue(wrong.returncode == 2 and said in wrong.stderr and "Traceback" not in wrong.stderr, wrong)


class Program(unittest.TestCase):
    def test_the_command_is_the_program(self):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "p.toml").write_text(FILE)
            def run(*words):
                return subprocess.run([PROGRAM, *words], cwd=folder, text=True, capture_output=True, check=False)
            measure = f"{sys.executable} -c 'print({{x}} ** 2 + {{y}})'"
            done = run("tune", "p.toml", "--command", measure)
            self.assertIn("Recommended: x = ", done.stdout, done.stderr)
            with Tuner(Path(folder, "p.toml"), state=Path(folder, "p.state")) as tuner:
                self.assertEqual(tuner.recommendation.reason, "budget")
            self.assertEqual([run(*words).returncode for words in (["--help"], ["tune", "none.toml", "-c", "x"])], [0, 2])


    @unittest.skipIf(os.name == "nt", "no signals here")
    def test_an_older_processor_is_told_what_to_do(self):
        with tempfile.TemporaryDirectory() as folder:
            old, ends = Path(folder, "cpuinfo"), Path(folder, "ends")
            old.write_text("flags : sse4_2\n")
            ends.write_text("#!/bin/sh\nkill -ILL $$\n")
            ends.chmod(0o755)
            foretune._check_processor(old)
            with mock.patch.object(sys, "executable", str(ends)), self.assertRaisesRegex(ImportError, "AVX2.*target-cpu=native"):
                foretune._check_processor(old)


class Documents(unittest.TestCase):
    def test_examples_in_the_documentation(self):
        for name in ("", "._problem", "._tuner", "._minimise", ".compare", ".optuna"):
            if name == ".optuna" and not importlib.util.find_spec("optuna"):
                continue
            self.assertEqual(doctest.testmod(importlib.import_module("foretune" + name)).failed, 0, name)
        guide = doctest.testfile(str(ROOT / "docs/guide/python.md"), module_relative=False)
        self.assertTrue(guide.attempted > 5 and guide.failed == 0, guide)

    def test_the_example_tunes_its_function_over_two_tasks(self):
        said = subprocess.run([sys.executable, ROOT / "python/examples/two_tasks.py"], text=True, capture_output=True, check=True).stdout
        truths = [float(line.rsplit(" ", 1)[1]) for line in said.splitlines()]
        # Uniform points have 24 on average; the noise of one thorough measurement is 0.16.
        self.assertTrue(len(truths) == 2 and max(truths) < 1.0, said)

    @unittest.skipUnless(importlib.util.find_spec("matplotlib"), "matplotlib is not there")
    def test_the_example_with_pictures_draws(self):
        with tempfile.TemporaryDirectory() as folder:
            picture = Path(folder, "picture.png")
            subprocess.run([sys.executable, ROOT / "python/examples/plots.py", picture], capture_output=True, check=True)
            self.assertTrue(picture.read_bytes().startswith(b"\x89PNG"))

    @unittest.skipUnless(importlib.util.find_spec("mypy"), "mypy is not there")
    def test_types_hold(self):
        said = subprocess.run([sys.executable, "-m", "mypy", ROOT / "python/foretune"], text=True, capture_output=True)
        self.assertEqual(said.returncode, 0, said.stdout + said.stderr)

    def test_everything_public_is_documented_and_typed(self):
        for name in foretune.__all__:
            self.assertTrue(getattr(foretune, name).__doc__, name)
        self.assertTrue(Path(foretune.__file__).with_name("py.typed").exists())
        self.assertEqual([field.name for field in dataclasses.fields(Problem)][:3], ["goal", "budget", "parameter"])


if __name__ == "__main__":
    unittest.main()

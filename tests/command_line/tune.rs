//! A user's own problem: through the library, the command and the lines of JSON the same task, bit for bit.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use foretune_core::{Ask, Dimension, Fidelity, Goal, Problem, Settings, memory};

use super::program::{command, fail, files, succeed};

pub const PROBLEM: &str = "\
goal = \"minimise\"
budget = 40.0
[[parameter]]
name = \"x\"
low = -2.0
high = 6.0
[[parameter]]
name = \"y\"
values = [0.0, 0.25, 0.5, 1.0, 3.0]
[[fidelity]]
name = \"short\"
cost = 1.0
noise = 0.01
samples = 4
[[fidelity]]
name = \"long\"
cost = 4.0
noise = 0.001
samples = 64
";

/// Sums and products only, so that every language gives the same bits; slow enough to be killed in between.
const AWK: &str = "sh -c 'sleep 0.02; awk -v x=$0 -v y=$1 -v s=$2 \"BEGIN {{ printf \\\"%.17g\\\", \
    (x - 1.5) * (x - 1.5) / 4 + (y - 1) * (y - 1) + 0.5 / s }}\"' {x} {y} {samples}";

fn bowl(x: f64, y: f64, samples: f64) -> f64 {
    (x - 1.5) * (x - 1.5) / 4.0 + (y - 1.0) * (y - 1.0) + 0.5 / samples
}

fn write_problem(folder: &Path) {
    fs::write(folder.join("p.toml"), PROBLEM).unwrap();
    let measure = "import sys\nx, y, s = map(float, sys.argv[1:])\n\
        print((x - 1.5) * (x - 1.5) / 4 + (y - 1) * (y - 1) + 0.5 / s)\n";
    fs::write(folder.join("measure.py"), measure).unwrap();
}

/// Lines of `tune --json` but the first.
fn events(text: &str) -> Vec<&str> {
    text.lines().filter(|line| !line.starts_with("{\"foretune\"")).collect()
}

/// Two tasks through the library, as the lines that `tune --json` prints.
fn through_the_library() -> Vec<String> {
    const FIDELITIES: [Fidelity; 2] =
        [Fidelity { cost: 1.0, samples: 4, noise: 0.01 }, Fidelity { cost: 4.0, samples: 64, noise: 0.001 }];
    let problem = Problem {
        dimensions: &[
            Dimension::Interval { low: -2.0, high: 6.0 },
            Dimension::Levels(&[0.0, 0.25, 0.5, 1.0, 3.0]),
        ],
        fidelities: &FIDELITIES,
        budget: 40.0,
        goal: Goal::Minimise,
        ..Problem::PLAIN
    };
    let settings = Settings { initial: 6, ..Settings::DEFAULT };
    type Room = memory!(
        dimensions: 2, fidelities: 2, observations: 256, particles: 10, map: Ard, candidates: 512
    );
    let mut memory = Box::new(Room::new());
    let mut tuner = memory.start(problem, settings, 5).unwrap();
    let (mut lines, mut id) = (Vec::new(), 0);
    let number = |x: f32| serde_json::to_string(&x).unwrap();
    for _ in 0..2 {
        while let Ask::Query(query) = tuner.ask() {
            id += 1;
            let point = query.point();
            let [x, y] = [point[0], point[1]].map(|x| x.to_string().parse::<f64>().unwrap());
            let (m, samples) = (query.fidelity(), FIDELITIES[query.fidelity()].samples);
            lines.push(format!(
                "{{\"ask\":{{\"id\":{id},\"setting\":{{\"x\":{},\"y\":{}}},\"fidelity\":\"{}\",\"samples\":{samples},\"cost\":{}}}}}",
                number(point[0]),
                number(point[1]),
                ["short", "long"][m],
                number(FIDELITIES[m].cost)
            ));
            let value = bowl(x, y, f64::from(samples)) as f32;
            lines.push(format!("{{\"tell\":{{\"id\":{id},\"value\":{}}}}}", number(value)));
            tuner.tell(query, value).unwrap();
        }
        let best = tuner.recommendation().unwrap();
        lines.push(format!(
            "{{\"recommendation\":{{\"setting\":{{\"x\":{},\"y\":{}}},\"mean\":{},\"deviation\":{},\"reason\":\"budget\",\"spent\":40.0}}}}",
            number(best.point()[0]),
            number(best.point()[1]),
            number(best.mean),
            number(best.deviation)
        ));
        tuner.next_task().unwrap();
    }
    lines
}

/// What a client in Python prints of two tasks: asks and recommendations as the program sent them, tells as it sent them.
const CLIENT: &str = "\
import json, sys
sys.path.insert(0, sys.argv[1])
from foretune import Foretune
def line(what, **fields):
    print(json.dumps({what: fields}, separators=(',', ':')))
with Foretune('p.toml', seed=5, program=sys.argv[2]) as tuner:
    for task in range(2):
        for ask in tuner:
            x, y, s = ask.setting['x'], ask.setting['y'], ask.samples
            line('ask', id=ask.id, setting=ask.setting, fidelity=ask.fidelity, samples=s, cost=ask.cost)
            if ask.id == 3:
                for value, cost in [(float('nan'), None), (float('-inf'), None), (1.0, float('nan'))]:
                    try:
                        tuner.tell(value, cost)
                        print(value, cost, 'was taken')
                    except ValueError as error:
                        assert 'not a finite number' in str(error) and 'fail()' in str(error), error
            tuner.tell((x - 1.5) * (x - 1.5) / 4 + (y - 1) * (y - 1) + 0.5 / s)
            line('tell', id=ask.id)
        best = tuner.recommendation
        line('recommendation', setting=best.setting, mean=best.mean, deviation=best.deviation, reason=best.reason,
             spent=best.spent)
        tuner.next_task()
";

/// The lines with the values of the tells left out: Python prints them as `f64`.
fn without_values(lines: &[String]) -> Vec<String> {
    let strip = |line: &String| match line.split_once(",\"value\"") {
        Some((start, _)) => format!("{start}}}}}"),
        None => line.clone(),
    };
    lines.iter().map(strip).collect()
}

#[test]
fn library_command_and_client_give_the_same_two_tasks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    write_problem(path);
    let library =
        thread::Builder::new().stack_size(64 << 20).spawn(through_the_library).unwrap().join().unwrap();
    assert!(library.len() > 2 * 20);
    if std::process::Command::new("python3").arg("--version").output().is_err() {
        println!("not compared with command and client: there is no python3");
        return;
    }
    let tune =
        ["tune", "p.toml", "--seed", "5", "--json", "--command", "python3 measure.py {x} {y} {samples}"];
    let both = [succeed(path, &tune), succeed(path, &tune)].concat();
    assert_eq!(events(&both), library);
    fs::write(path.join("client.py"), CLIENT).unwrap();
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../python");
    let output = std::process::Command::new("python3")
        .args(["client.py", python.to_str().unwrap(), env!("CARGO_BIN_EXE_foretune-tested")])
        .current_dir(path)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(text.lines().collect::<Vec<_>>(), without_values(&library));
}

#[test]
fn the_example_in_python_tunes_its_function_over_two_tasks() {
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../python");
    let script = python.join("examples/tune_function.py");
    let mut command = std::process::Command::new("python3");
    let Ok(output) = command.arg(script).arg(env!("CARGO_BIN_EXE_foretune-tested")).output() else {
        println!("not run: there is no python3");
        return;
    };
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let truths: Vec<f64> =
        text.lines().map(|line| line.rsplit(' ').next().unwrap().parse().unwrap()).collect();
    // Uniform points have 24 on average; the noise of one thorough measurement is 0.16.
    assert!(truths.len() == 2 && truths.iter().all(|truth| *truth < 1.0), "{text}");
}

/// Killed at twenty random moments, the task ends with the same bytes as one that was left alone.
#[test]
#[cfg(unix)]
fn a_task_killed_at_twenty_random_moments_ends_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    // A measurement takes 20 ms and a life lasts less than 60, so twenty lives are over long before a hundred answers,
    // which this budget pays for at least.
    fs::write(path.join("p.toml"), PROBLEM.replace("budget = 40.0", "budget = 400.0")).unwrap();
    let tune = |state| ["tune", "p.toml", "--state", state, "--json", "--command", AWK];
    let whole = succeed(path, &tune("whole.state"));
    let mut random = 2026_u64;
    let mut restarts = 0;
    for _ in 0..20 {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let mut child =
            command(path, &tune("killed.state")).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        thread::sleep(Duration::from_millis((random >> 33) % 60));
        restarts += u32::from(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let end = succeed(path, &tune("killed.state"));
    assert_eq!(restarts, 20, "the task ended before it had been killed often enough");
    assert_eq!(events(&end).last(), events(&whole).last());
    let read = |name: &str| fs::read_to_string(path.join(name)).unwrap();
    assert_eq!(read("killed.state"), read("whole.state"));
}

#[test]
fn mistakes_are_told_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    write_problem(path);
    let tune = |more: &[&'static str]| [&["tune", "p.toml"], more].concat();
    assert!(fail(path, &tune(&["--command", "./no-such-program {x}"]), 2).contains("./no-such-program"));
    assert!(fail(path, &tune(&["--command", "x {z}"]), 2).contains("{z}"));
    assert!(fail(path, &tune(&["--command", "x", "--timeout", "0"]), 2).contains("above 0"));
    assert!(fail(path, &tune(&[]), 2).contains("--command"));
    fs::write(path.join("p.toml"), PROBLEM.replace("high = 6.0", "high = \"much\"")).unwrap();
    assert!(fail(path, &tune(&["--command", "x"]), 2).contains("p.toml, line 6"));
    fs::write(path.join("p.state"), "nonsense").unwrap();
    write_problem(path);
    assert!(fail(path, &tune(&["--command", "x"]), 2).contains("p.state"));
}

/// What fails again and again, or altogether, is an error with its reason, and no expectation is made up.
#[test]
#[cfg(unix)]
fn a_command_that_fails_ends_the_task_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let floor = "[deployed]\nx = 0.0\ny = 0.25\n[floor]\ndrop = 1.0\nrisk = 0.1\n";
    let measured = |text: &str| -> (String, String) {
        let _ = fs::remove_file(path.join("p.state"));
        fs::write(path.join("p.toml"), text).unwrap();
        let words = ["tune", "p.toml", "--set", "candidates=16", "--command", "sh -c 'exit 3'"];
        let output = command(path, &words).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let [out, error] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
        assert!(!out.contains("expected") && !out.contains("Recommended"), "{out}");
        assert!(error.trim_end().lines().count() == 1 && error.contains("exit status: 3"), "{error}");
        (out, error)
    };
    for text in [PROBLEM, &(PROBLEM.to_string() + floor)] {
        let (out, error) = measured(text);
        assert!(error.contains("10 measurements in a row failed"), "{error}");
        assert_eq!(out.matches("failed: exit status: 3").count(), 10, "{out}");
    }
    let (out, error) = measured(&(PROBLEM.replace("budget = 40.0", "budget = 20.0\nfailures = 99") + floor));
    assert!(error.contains("nothing is recommended: the budget is used up"), "{error}");
    assert!(out.matches("failed: exit status: 3").count() == 5 && out.contains("spent 20 of 20"), "{out}");
    let again = fail(path, &["tune", "p.toml", "--command", "false"], 1);
    assert!(again.contains("exit status: 1"), "{again}");
    let study = ["run", "p.toml", "--command", "false", "--method", "random", "--tasks", "1", "--quiet"];
    fs::write(path.join("p.toml"), PROBLEM).unwrap();
    assert!(fail(path, &study, 1).contains("10 measurements in a row failed, the last: exit status: 1"));
}

/// Bad lines are answered by one error each and change nothing; the ask is not sent again.
#[test]
fn bad_lines_change_nothing() {
    use std::io::Write;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    write_problem(path);
    let lines = "nonsense\n\n{\"tell\":{\"id\":1,\"value\":NaN}}\n{\"tell\":{\"id\":9,\"value\":1}}\n{\"tell\":{\"id\":1,\"value\":1e60}}\n{\"next_task\":{}}\n\
        {\"tell\":{\"id\":1,\"value\":2,\"cost\":-1}}\n\u{fffd}\n{\"tell\":{\"id\":1,\"value\":0.5}}\n{\"fail\":{\"id\":2}}\n{\"stop\":{}}\n\
        {\"stop\":{}}\n{\"next_task\":{\"deployed\":{\"x\":9}}}\n{\"next_task\":{\"deployed\":{\"x\":1,\"y\":0.25}}}\n";
    let mut child =
        command(path, &["serve", "p.toml"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    let kinds: Vec<&str> = text.lines().map(|line| line.split('"').nth(1).unwrap()).collect();
    let expected =
        [&["foretune", "ask"][..], &["error"; 7], &["ask", "ask", "recommendation", "error", "error", "ask"]];
    assert_eq!(kinds, expected.concat(), "{text}");
    assert!(text.lines().nth(3).unwrap().contains("NaN and Infinity are no numbers"), "{text}");
}

/// A study of one's own problem: values in place of regrets, and the same bytes when the command is deterministic.
#[test]
#[cfg(unix)]
fn methods_are_compared_on_a_command() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    write_problem(path);
    let study = |out| {
        let words =
            ["run", "p.toml", "--command", AWK, "--method", "random,mft-mes", "--tasks", "2", "--out", out];
        [&words[..], &["--budget", "12", "--set", "candidates=16", "--quiet"]].concat()
    };
    let table = succeed(path, &study("a"));
    assert!(table.contains("value (more is better") && table.contains("MFT-MES"), "{table}");
    succeed(path, &study("b"));
    assert_eq!(files(&path.join("a")), files(&path.join("b")));
    let unit = fs::read_to_string(path.join("a/units/mft-mes-1.csv")).unwrap();
    let rows: Vec<Vec<&str>> =
        unit.lines().filter(|l| !l.starts_with(['#', 'v'])).map(|l| l.split(',').collect()).collect();
    assert!(
        rows.iter().any(|row| row[5] == "1" && row[9].is_empty()),
        "no truth at the short fidelity: {unit}"
    );
    for row in rows.iter().filter(|row| row[5] == "2") {
        let x: Vec<f64> = row[7].split(' ').map(|x| x.parse().unwrap()).collect();
        assert!((row[9].parse::<f64>().unwrap() + bowl(x[0], x[1], 64.0)).abs() < 1e-12, "{row:?}");
    }
    succeed(path, &["report", "a", "--out", "page.html"]);
    let page = fs::read_to_string(path.join("page.html")).unwrap();
    assert!(
        page.contains("value (higher is better)") && !page.contains("Not run yet") && !page.contains("NaN")
    );
    assert!(fail(path, &["run", "p.toml"], 2).contains("--command"));
}

#[test]
fn a_person_reads_lines_a_summary_and_a_page() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let with_deployed = PROBLEM.replace("noise = 0.001\n", "") + "[deployed]\nx = 0.0\ny = 0.25\n";
    fs::write(path.join("p.toml"), with_deployed).unwrap();
    let words = "sh -c 'echo measuring; echo $FORETUNE_X | tr -d -'";
    let text = succeed(path, &["tune", "p.toml", "--command", words, "--report", "page.html"]);
    for words in
        ["to learn the noise", "Recommended: x = ", "Expected of it: ", "In use: x = 0, y = 0.25", "p.state"]
    {
        assert!(text.contains(words), "{words}: {text}");
    }
    let page = fs::read_to_string(path.join("page.html")).unwrap();
    assert!(page.contains("<svg") && page.contains("to learn the noise") && page.contains("</html>"));
    let again = succeed(path, &["tune", "p.toml", "--command", words]);
    assert!(again.starts_with("Task 2") && !again.contains("to learn the noise"), "{again}");
}

/// The file with a point in use, at the end of which stands its `x`.
fn write_in_use(folder: &Path, x: &str) {
    let budget = PROBLEM.replace("budget = 40.0", "budget = 12.0");
    fs::write(folder.join("p.toml"), format!("{budget}[deployed]\ny = 0.25\nx = {x}\n")).unwrap();
}

#[test]
fn the_point_in_use_is_the_one_given_else_the_edited_file_s_else_the_last_recommendation() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let tune = |more: &[&'static str]| [&["tune", "p.toml", "--command", "echo {x}"], more].concat();
    let begins = |x: &str, more: &[&'static str], words: &str| {
        write_in_use(path, x);
        let text = succeed(path, &tune(more));
        let (first, rest) = text.split_once('\n').unwrap();
        let (said, point) = first.split_once(": ").unwrap();
        assert!(said.ends_with(words), "{words}: {text}");
        let measured = format!("{}  (long", point.strip_suffix('.').unwrap());
        assert!(rest.lines().next().unwrap().contains(&measured), "{measured}: {text}");
        (point.to_string(), text.split_once("Recommended: ").unwrap().1.lines().next().unwrap().to_string())
    };
    let filed = "Task 1 of p. It begins at the setting in use given in p.toml";
    let (point, recommended) = begins("0.0", &[], filed);
    assert_eq!(point, "x = 0, y = 0.25.");
    assert_eq!(begins("0", &[], "It begins at the last recommendation").0, format!("{recommended}."));
    assert_eq!(begins("1", &[], "in use given in p.toml").0, "x = 1, y = 0.25.");
    let (point, recommended) = begins("1", &["--deployed", "x=2, y=0.5"], "given by --deployed");
    assert_eq!(point, "x = 2, y = 0.5.");
    assert_eq!(begins("1", &[], "It begins at the last recommendation").0, format!("{recommended}."));
    for (wrong, words) in
        [("x=1", "`y` has no value"), ("x=9,y=1", "from -2 to 6"), ("x", "NAME=VALUE"), ("x=1,x=1", "twice")]
    {
        let error = fail(path, &tune(&["--deployed", wrong]), 2);
        assert!(error.contains("--deployed: ") && error.contains(words), "{error}");
    }
}

/// Setting of the first query in a conversation with `serve`, which is closed after these lines.
fn first_asked(folder: &Path, more: &[&str], lines: &str) -> String {
    use std::io::Write;
    let words = [&["serve", "p.toml", "--state", "s"], more].concat();
    let mut child = command(folder, &words).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let text = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    let ask = text.lines().find(|line| line.starts_with("{\"ask\"")).expect("an ask");
    ask[ask.find("setting").unwrap()..ask.find('}').unwrap()].to_string()
}

#[test]
fn a_server_takes_an_edited_point_in_use_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    write_in_use(path, "0");
    let end = "{\"tell\":{\"id\":1,\"value\":1}}\n{\"stop\":{}}\n";
    assert!(first_asked(path, &[], end).contains("\"x\":0.0,"));
    write_in_use(path, "1");
    assert!(first_asked(path, &[], "{\"next_task\":{}}\n").contains("\"x\":1.0,"));
    assert!(
        fail(path, &["serve", "p.toml", "--state", "s", "--deployed", "x=2,y=1"], 2)
            .contains("has not ended")
    );
    let end = end.replace("\"id\":1", "\"id\":2");
    assert!(first_asked(path, &["--deployed", "x=1,y=0.25"], &end).contains("\"x\":1.0,"));
    let next = "{\"next_task\":{}}\n";
    assert!(first_asked(path, &["--deployed", "x=2,y=0.25"], next).contains("\"x\":2.0,"));
}

/// What the client in Python says of a task with settings and a point in use of its own.
const WITH_SETTINGS: &str = "\
import sys
sys.path.insert(0, sys.argv[1])
from foretune import Foretune, ForetuneError
options = dict(program=sys.argv[2], deployed={'x': 2, 'y': 0.5})
with Foretune('p.toml', settings={'initial': 2, 'carry_particles': False}, **options) as tuner:
    assert tuner.ask().setting == {'x': 2.0, 'y': 0.5}, tuner.ask()
try:
    Foretune('p.toml', settings={'speed': 2}, **options)
except ForetuneError as error:
    print(error)
";

#[test]
fn a_client_in_python_has_settings_and_a_point_in_use() {
    let folder = tempfile::tempdir().unwrap();
    write_in_use(folder.path(), "0");
    fs::write(folder.path().join("client.py"), WITH_SETTINGS).unwrap();
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../python");
    let mut command = std::process::Command::new("python3");
    command.args(["client.py", python.to_str().unwrap(), env!("CARGO_BIN_EXE_foretune-tested")]);
    let Ok(output) = command.current_dir(folder.path()).output() else {
        println!("not run: there is no python3");
        return;
    };
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("`speed`"), "{text}");
}

#[test]
fn a_page_that_cannot_be_written_is_told_before_the_first_measurement() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    write_problem(path);
    for arguments in [
        &["tune", "p.toml", "--command", "sh -c 'touch measured; echo 1'", "--report", "nodir/x.html"][..],
        &["report", ".", "--out", "nodir/x.html"],
        &["foretune-paper", "bench", "--growth", "nodir/x.svg"],
        &["hil", "--connect", "tcp:127.0.0.1:1", "--download", "nodir/x"],
        &["hil", "--connect", "tcp:127.0.0.1:1", "--notes", "nodir/x"],
    ] {
        assert!(fail(path, arguments, 1).contains("cannot write nodir/x"));
    }
    assert!(!path.join("measured").exists() && !path.join("p.state").exists());
}

/// Interrupted in a measurement, the program says what is kept, and keeps it.
#[test]
#[cfg(unix)]
fn ctrl_c_keeps_every_answer_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    write_problem(path);
    let words = ["tune", "p.toml", "--command", "sh -c 'if test -e third; then sleep 60; fi; echo 1'"];
    let mut child = command(path, &words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    for _ in 0..3 {
        std::io::BufRead::read_line(&mut out, &mut line).unwrap();
    }
    fs::write(path.join("third"), "").unwrap();
    thread::sleep(Duration::from_millis(200));
    let id = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{error}");
    assert!(
        error.contains("stopping; every answer is kept") && error.contains("goes on from here"),
        "{error}"
    );
    fs::remove_file(path.join("third")).unwrap();
    assert!(succeed(path, &words).contains("going on after"));
}

/// With and without noise, with a floor and a tolerance, on a grid and where the noise is estimated.
#[test]
fn a_constant_objective_ends_within_the_budget_and_is_called_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let small = PROBLEM.replace("budget = 40.0", "budget = 30.0");
    let in_use = format!("{small}[deployed]\nx = 0.0\ny = 0.25\n");
    let floor = format!("{in_use}[floor]\nshare = 0.9\nrisk = 0.1\n");
    let [without, grid] = [("noise = 0.01\n", "noise = 0\n"), ("high = 6.0\n", "high = 6.0\nlevels = 2\n")]
        .map(|(from, to)| small.replace(from, to).replace("noise = 0.001", "noise = 0"));
    let estimated = in_use.replace("noise = 0.001\n", "");
    for (i, problem) in [&small, &without, &grid, &in_use, &floor, &estimated].into_iter().enumerate() {
        for value in ["5", "0"] {
            fs::write(path.join("p.toml"), problem).unwrap();
            let (state, command) = (format!("{i}-{value}.state"), format!("echo {value}"));
            let text = succeed(path, &["tune", "p.toml", "--state", &state, "--command", &command]);
            assert!(text.contains("Recommended: "), "{text}");
            assert!(text.contains(&format!("All answers are {value}: no setting is better")), "{text}");
        }
    }
    let ordinary = succeed(path, &["tune", "p.toml", "--state", "s", "--command", "echo {x}"]);
    assert!(!ordinary.contains("All answers"), "{ordinary}");
}

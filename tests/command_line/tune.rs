//! A user's own problem: through the library, the command and the lines of JSON the same task, bit for bit.

use std::thread;
use std::time::Duration;

use foretune_core::{Ask, Dimension, Fidelity, Goal, Problem, Settings, memory};

use super::{Folder, kinds, recommended, stderr, stdout};

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
const SCRIPT: &str = "sleep 0.02; awk -v x=$1 -v y=$2 -v s=$3 \
    'BEGIN { printf \"%.17g\", (x - 1.5) * (x - 1.5) / 4 + (y - 1) * (y - 1) + 0.5 / s }'\n";
const MEASURE: &str = "--command 'sh measure.sh {x} {y} {samples}'";

fn bowl(x: f64, y: f64, samples: f64) -> f64 {
    (x - 1.5) * (x - 1.5) / 4.0 + (y - 1.0) * (y - 1.0) + 0.5 / samples
}

/// A folder with the problem, in which this stands for that.
fn folder(that: &str, this: &str) -> Folder {
    let folder = Folder::new();
    assert!(PROBLEM.contains(that));
    folder.write("p.toml", &PROBLEM.replace(that, this));
    folder.write("measure.sh", SCRIPT);
    folder
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

#[test]
fn library_and_command_give_the_same_two_tasks() {
    let folder = folder("", "");
    let library =
        thread::Builder::new().stack_size(64 << 20).spawn(through_the_library).unwrap().join().unwrap();
    assert!(library.len() > 2 * 20);
    let tune = format!("tune p.toml --seed 5 --json {MEASURE}");
    let both = [folder.succeed(&tune), folder.succeed(&tune)].concat();
    // Why a setting is asked for is the command's to say.
    let plain =
        |line: &str| line.split_once(",\"why\":").map_or(line.into(), |(ask, _)| format!("{ask}}}}}"));
    assert_eq!(events(&both).into_iter().map(plain).collect::<Vec<String>>(), library);
}

/// Killed at twenty random moments, the task ends with the same bytes as one that was left alone.
#[test]
#[cfg(unix)]
fn a_task_killed_at_twenty_random_moments_ends_the_same() {
    // A measurement takes 20 ms and a life lasts less than 60, so twenty lives are over long before a hundred answers,
    // which this budget pays for at least.
    let folder = folder("budget = 40.0", "budget = 400.0");
    let tune = |state| format!("tune p.toml --state {state} --json {MEASURE}");
    let whole = folder.succeed(&tune("whole.state"));
    let mut random = 2026_u64;
    let mut restarts = 0;
    for _ in 0..20 {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let mut child = folder.spawn(&tune("killed.state"));
        thread::sleep(Duration::from_millis((random >> 33) % 60));
        restarts += u32::from(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let end = folder.succeed(&tune("killed.state"));
    assert_eq!(restarts, 20, "the task ended before it had been killed often enough");
    assert_eq!(events(&end).last(), events(&whole).last());
    assert_eq!(folder.read("killed.state"), folder.read("whole.state"));
}

#[test]
#[cfg(unix)]
fn a_first_task_starts_from_what_a_colleague_s_site_learnt() {
    let folder = folder("noise = 0.001\n", "");
    let in_use = "[deployed]\nx = 0.0\ny = 0.25\n";
    folder.write("p.toml", &(folder.read("p.toml") + in_use));
    let tune = |state: &str, from: &str| format!("tune p.toml --state {state} {from} {MEASURE}");
    let first = folder.succeed(&tune("theirs", ""));
    assert!(first.contains("to learn the noise") && !first.contains("carried"), "{first}");
    let ours = folder.succeed(&tune("ours", "--from theirs"));
    assert!(ours.contains("carried") && !ours.contains("to learn the noise"), "{ours}");
    // The next task goes on from its own, and the same words may stand there.
    assert!(folder.succeed(&tune("ours", "--from theirs")).starts_with("Task 2"));
    folder.fails(&tune("ours", "--from nowhere"), 2, "cannot read nowhere");
    let state = folder.read("theirs");
    let learnt = state.split("\"learnt\":\"").nth(1).unwrap().split('"').next().unwrap();
    let byte = |i: usize| u8::from_str_radix(&learnt[2 * i..2 * i + 2], 16).unwrap();
    std::fs::write(folder.path("known"), (0..learnt.len() / 2).map(byte).collect::<Vec<u8>>()).unwrap();
    assert!(folder.succeed(&tune("second", "--from known")).contains("carried"));
    folder.fed("serve p.toml --state begun", "");
    for (file, why) in
        [("begun", "no task has ended there yet"), ("nowhere", "cannot read nowhere"), ("p.toml", "p.toml: ")]
    {
        folder.fails(&tune("third", &format!("--from {file}")), 2, why);
    }
    folder.write("p.toml", &folder.read("p.toml").replace("high = 6.0", "high = 7.0"));
    let words = "it is of another problem: parameter `x` was from -2 to 6";
    folder.fails(&tune("fourth", "--from theirs"), 2, words);
}

/// The answers in a state.
fn answers(folder: &Folder, state: &str) -> Vec<serde_json::Value> {
    let text = folder.read(state);
    let state: serde_json::Value = serde_json::from_str(text.split_once('\n').unwrap().1).unwrap();
    state["tasks"][0]["answers"].as_array().unwrap().clone()
}

#[test]
#[cfg(unix)]
fn four_are_measured_at_once_and_however_often_they_are_killed_no_answer_is_lost() {
    let folder = folder("", "");
    folder.write("slow.sh", "echo + >> log; sleep 0.3; sh measure.sh $1 $2 $3; echo - >> log\n");
    let tune = "tune p.toml --parallel 4 --json --command 'sh slow.sh {x} {y} {samples}'";
    let mut known = 0;
    for life in 1..4 {
        let mut child = folder.spawn(tune);
        thread::sleep(Duration::from_millis(500 * life));
        child.kill().unwrap();
        child.wait().unwrap();
        if let Some(before) = folder.path("p.state").exists().then(|| answers(&folder, "p.state")) {
            assert!(before.len() >= known, "{} of {known} answers", before.len());
            known = before.len();
        }
    }
    let before = answers(&folder, "p.state");
    thread::sleep(Duration::from_secs(1));
    folder.write("log", "");
    let text = folder.succeed(tune);
    let after = answers(&folder, "p.state");
    assert_eq!(after[..before.len()], before);
    let spent: f64 = after.iter().map(|told| told["cost"].as_f64().unwrap()).sum();
    assert!(after.len() > 12 && spent <= 40.0, "{spent} in {}", after.len());
    assert!(text.lines().last().unwrap().contains("recommendation"), "{text}");
    let (mut running, mut most) = (0, 0);
    for line in folder.read("log").lines() {
        running += if line == "+" { 1 } else { -1 };
        most = most.max(running);
    }
    assert_eq!((running, most), (0, 4));
    folder.fails("tune p.toml --parallel 9 --command true", 2, "9 is not in 1..=8");
}

#[test]
fn a_client_asks_for_more_while_it_measures_answers_in_any_order_and_gets_the_same_after_a_restart() {
    let folder = folder("", "");
    let lines = "{\"ask\":{}}\n{\"ask\":{}}\n{\"tell\":{\"id\":2,\"value\":0.5}}\n{\"tell\":{\"id\":2,\"value\":0.5}}\n\
        {\"ask_at\":{}}\n{\"past\":[]}\n{\"ask\":{}}\n";
    let first = folder.fed("serve p.toml --state s", lines);
    assert!(folder.fed("serve p.toml", "{\"status\":{}}\n").contains("\"spent\":0.0"));
    let expected = ["foretune", "ask", "ask", "ask", "pending", "error", "error", "error", "ask"];
    assert_eq!(kinds(&first), expected, "{first}");
    assert!(first.contains("{\"pending\":[1,3]}") && first.contains("queries 1, 3 are outstanding, not 2"));
    // One query is sent again, the others as they are asked for; then more, until there are eight.
    let more = "{\"ask\":{}}\n".repeat(8) + "{\"fail\":{\"id\":4}}\n{\"stop\":{}}\n";
    let again = folder.fed("serve p.toml --state s", &more);
    let plain = |line: &str| line.split(",\"beside\"").next().unwrap().to_string();
    for (n, id) in [(1, 1), (2, 3), (3, 4)] {
        let start = format!("{{\"ask\":{{\"id\":{id},");
        let line = first.lines().find(|line| line.starts_with(&start)).unwrap();
        assert_eq!(
            plain(again.lines().nth(n).unwrap()).trim_end_matches('}'),
            plain(line).trim_end_matches('}')
        );
    }
    assert_eq!(kinds(&again)[8..], ["ask", "error", "pending", "recommendation"], "{again}");
    assert!(again.contains("more than 8 at once are not asked"), "{again}");
}

#[test]
fn mistakes_are_told_in_one_line() {
    let folder = folder("", "");
    for (more, words) in [
        ("--command './no-such-program {x}'", "./no-such-program"),
        ("--command 'x {z}'", "{z}"),
        ("--command x --timeout 0", "above 0"),
        ("", "--command"),
    ] {
        folder.fails(&format!("tune p.toml {more}"), 2, words);
    }
    folder.write("p.state", "nonsense");
    folder.fails("tune p.toml --command x", 2, "p.state");
    folder.write("p.toml", &PROBLEM.replace("high = 6.0", "high = \"much\""));
    folder.fails("tune p.toml --command x", 2, "p.toml, line 6");
}

/// What fails again and again, or altogether, is an error with its reason, and no expectation is made up.
#[test]
#[cfg(unix)]
fn a_command_that_fails_ends_the_task_with_the_reason() {
    let floor = "[deployed]\nx = 0.0\ny = 0.25\n[floor]\ndrop = 1.0\nrisk = 0.1\n";
    let measured = |text: &str| -> (Folder, String, String) {
        let folder = Folder::new();
        folder.write("p.toml", text);
        let line = "tune p.toml --set candidates=16 --command 'sh -c \"exit 3\"'";
        let output = folder.command(line).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let (out, error) = (stdout(&output), stderr(&output));
        assert!(!out.contains("expected") && !out.contains("Recommended"), "{out}");
        assert!(error.trim_end().lines().count() == 1 && error.contains("exit status: 3"), "{error}");
        (folder, out, error)
    };
    for text in [PROBLEM, &(PROBLEM.to_string() + floor)] {
        let (_, out, error) = measured(text);
        assert!(error.contains("10 measurements in a row failed"), "{error}");
        assert_eq!(out.matches("failed: exit status: 3").count(), 10, "{out}");
    }
    let short = PROBLEM.replace("budget = 40.0", "budget = 20.0\nfailures = 99") + floor;
    let (folder, out, error) = measured(&short);
    assert!(error.contains("nothing is recommended: the budget is used up"), "{error}");
    assert!(out.matches("failed: exit status: 3").count() == 5 && out.contains("spent 20 of 20"), "{out}");
    folder.fails("tune p.toml --command false", 1, "exit status: 1");
    folder.write("p.toml", PROBLEM);
    let words = "10 measurements in a row failed, the last: exit status: 1";
    folder.fails("run p.toml --command false --method random --tasks 1 --quiet", 1, words);
}

/// The setting in use is all that is known then, and how sure that is.
#[test]
#[cfg(unix)]
fn a_task_that_ends_while_the_noise_is_learnt_recommends_what_was_measured() {
    let folder = Folder::new();
    let unknown =
        PROBLEM.replace("noise = 0.01\n", "").replace("noise = 0.001\n", "").replace("= 40.0", "= 25.0");
    folder.write("p.toml", &(unknown + "[deployed]\nx = 1.0\ny = 0.5\n"));
    let counted = "--command 'sh -c \"echo x >> n; wc -l < n\"'";
    let printed = folder.succeed(&format!("tune p.toml {counted} --state a.json --json"));
    let ended: serde_json::Value = serde_json::from_str(events(&printed).last().unwrap()).unwrap();
    let told = &ended["recommendation"];
    assert_eq!((&told["setting"]["x"], &told["mean"]), (&1.0.into(), &8.0.into()), "{ended}");
    // 6 to 10 at the fidelity that counts: a variance of 2.5, of five; and the noise is no more than an estimate.
    assert!((told["deviation"].as_f64().unwrap() - 1.0).abs() < 1e-3, "{ended}");
    let lines: String = (1..=7).map(|id| format!("{{\"tell\":{{\"id\":{id},\"value\":{id}}}}}\n")).collect();
    let text = folder.fed("serve p.toml --state b.json", &(lines + "{\"stop\":{}}\n"));
    assert!(text.contains("\"mean\":6.5"), "{text}");
}

/// Bad lines are answered by one error each and change nothing; the ask is not sent again.
#[test]
fn bad_lines_change_nothing() {
    let folder = folder("", "");
    let lines = "nonsense\n\n{\"tell\":{\"id\":1,\"value\":NaN}}\n{\"tell\":{\"id\":9,\"value\":1}}\n{\"tell\":{\"id\":1,\"value\":1e60}}\n{\"next_task\":{}}\n\
        {\"tell\":{\"id\":1,\"value\":2,\"cost\":-1}}\n\u{fffd}\n{\"tell\":{\"id\":1,\"value\":0.5}}\n{\"fail\":{\"id\":2}}\n{\"stop\":{}}\n\
        {\"stop\":{}}\n{\"next_task\":{\"deployed\":{\"x\":9}}}\n{\"next_task\":{\"deployed\":{\"x\":1,\"y\":0.25}}}\n";
    let text = folder.fed("serve p.toml", lines);
    let expected =
        [&["foretune", "ask"][..], &["error"; 7], &["ask", "ask", "recommendation", "error", "error", "ask"]];
    assert_eq!(kinds(&text), expected.concat(), "{text}");
    assert!(text.lines().nth(3).unwrap().contains("NaN and Infinity are no numbers"), "{text}");
}

/// A study of one's own problem: values in place of regrets, and the same bytes when the command is deterministic.
#[test]
#[cfg(unix)]
fn methods_are_compared_on_a_command() {
    let folder = folder("", "");
    let study = |out| {
        let line = format!("run p.toml {MEASURE} --method random,mft-mes --tasks 2 --out {out}");
        folder.succeed(&format!("{line} --budget 12 --set candidates=16 --quiet"))
    };
    let table = study("a");
    assert!(table.contains("value (more is better") && table.contains("MFT-MES"), "{table}");
    study("b");
    assert_eq!(folder.files("a"), folder.files("b"));
    let unit = folder.read("a/units/mft-mes-1.csv");
    let rows: Vec<Vec<&str>> =
        unit.lines().filter(|l| !l.starts_with(['#', 'v'])).map(|l| l.split(',').collect()).collect();
    let no_truth = rows.iter().any(|row| row[5] == "1" && row[9].is_empty());
    assert!(no_truth, "at the short fidelity: {unit}");
    for row in rows.iter().filter(|row| row[5] == "2") {
        let x: Vec<f64> = row[7].split(' ').map(|x| x.parse().unwrap()).collect();
        assert!((row[9].parse::<f64>().unwrap() + bowl(x[0], x[1], 64.0)).abs() < 1e-12, "{row:?}");
    }
    folder.succeed("report a --out page.html");
    let page = folder.read("page.html");
    assert!(page.contains("value (higher is better)"));
    assert!(!page.contains("Not run yet") && !page.contains("NaN"));
    folder.fails("run p.toml", 2, "--command");
}

#[test]
fn a_person_reads_lines_a_summary_and_a_page() {
    let folder = Folder::new();
    let with_deployed = PROBLEM.replace("noise = 0.001\n", "") + "[deployed]\nx = 0.0\ny = 0.25\n";
    folder.write("p.toml", &with_deployed);
    let measure = "cp page.html during.html; echo measuring; echo \\$FORETUNE_X | tr -d -";
    let tune = &format!("tune p.toml --command 'sh -c \"{measure}\"'");
    let text = folder.succeed(&format!("{tune} --report page.html"));
    for words in
        ["to learn the noise", "Recommended: x = ", "Expected of it: ", "In use: x = 0, y = 0.25", "p.state"]
    {
        assert!(text.contains(words), "{words}: {text}");
    }
    let page = folder.read("page.html");
    assert!(page.contains("<svg") && page.contains("to learn the noise") && page.contains("</html>"));
    // It is renewed with every query, with what the model believes by then, and loads itself again until the task has ended.
    let during = folder.read("during.html");
    for words in
        ["Best answer so far", "What the model believes along each parameter", "The two that matter most"]
    {
        assert!(during.contains(words), "{words}");
    }
    assert!(during.contains("http-equiv=\"refresh\"") && !page.contains("http-equiv=\"refresh\""));
    let x = page.split("<h3>x: ").nth(1).and_then(|rest| rest.split('\u{a0}').next()?.parse::<u32>().ok());
    assert!(x.is_some_and(|share| share > 60), "all depends on x: {x:?}");
    folder.succeed("show p.state --report again.html");
    assert_eq!(folder.read("again.html"), page);
    let again = folder.succeed(tune);
    assert!(again.starts_with("Task 2") && !again.contains("to learn the noise"), "{again}");
}

/// The file with a point in use, at the end of which stands its `x`.
fn write_in_use(folder: &Folder, x: &str) {
    let budget = PROBLEM.replace("budget = 40.0", "budget = 12.0");
    folder.write("p.toml", &format!("{budget}[deployed]\ny = 0.25\nx = {x}\n"));
}

#[test]
fn the_point_in_use_is_the_one_given_else_the_edited_file_s_else_the_last_recommendation() {
    let folder = Folder::new();
    let tune = |deployed: &str| match deployed {
        "" => "tune p.toml --command 'echo {x}'".to_string(),
        point => format!("tune p.toml --command 'echo {{x}}' --deployed '{point}'"),
    };
    let begins = |x: &str, deployed: &str, words: &str| {
        write_in_use(&folder, x);
        let text = folder.succeed(&tune(deployed));
        let (first, rest) = text.split_once('\n').unwrap();
        let (said, point) = first.split_once(": ").unwrap();
        assert!(said.ends_with(words), "{words}: {text}");
        let measured = format!("{}  (long", point.strip_suffix('.').unwrap());
        assert!(rest.lines().next().unwrap().contains(&measured), "{measured}: {text}");
        (point.to_string(), text.split_once("Recommended: ").unwrap().1.lines().next().unwrap().to_string())
    };
    let filed = "Task 1 of p. It begins at the setting in use given in p.toml";
    let (point, recommended) = begins("0.0", "", filed);
    assert_eq!(point, "x = 0, y = 0.25.");
    assert_eq!(begins("0", "", "It begins at the last recommendation").0, format!("{recommended}."));
    assert_eq!(begins("1", "", "in use given in p.toml").0, "x = 1, y = 0.25.");
    let (point, recommended) = begins("1", "x=2, y=0.5", "given by --deployed");
    assert_eq!(point, "x = 2, y = 0.5.");
    assert_eq!(begins("1", "", "It begins at the last recommendation").0, format!("{recommended}."));
    for (wrong, words) in
        [("x=1", "`y` has no value"), ("x=9,y=1", "from -2 to 6"), ("x", "NAME=VALUE"), ("x=1,x=1", "twice")]
    {
        let error = folder.fail(&tune(wrong), 2);
        assert!(error.contains("--deployed: ") && error.contains(words), "{error}");
    }
}

#[test]
fn a_server_takes_an_edited_point_in_use_too() {
    let folder = Folder::new();
    // Setting of the first query in a conversation, which is closed after these lines.
    let first_asked = |more: &str, lines: &str| {
        let text = folder.fed(&format!("serve p.toml --state s {more}"), lines);
        let ask = text.lines().find(|line| line.starts_with("{\"ask\"")).expect("an ask");
        ask[ask.find("setting").unwrap()..ask.find('}').unwrap()].to_string()
    };
    write_in_use(&folder, "0");
    let (end, next) = ("{\"tell\":{\"id\":1,\"value\":1}}\n{\"stop\":{}}\n", "{\"next_task\":{}}\n");
    assert!(first_asked("", end).contains("\"x\":0.0,"));
    write_in_use(&folder, "1");
    assert!(first_asked("", next).contains("\"x\":1.0,"));
    folder.fails("serve p.toml --state s --deployed x=2,y=1", 2, "has not ended");
    let end = end.replace("\"id\":1", "\"id\":2");
    assert!(first_asked("--deployed x=1,y=0.25", &end).contains("\"x\":1.0,"));
    assert!(first_asked("--deployed x=2,y=0.25", next).contains("\"x\":2.0,"));
}

/// Free of charge, in place of initial points, taken once; killed and started again it is the same task.
#[test]
fn what_was_measured_before_is_known_from_a_table_and_from_lines_of_json() {
    let folder = folder("", "");
    folder.write(
        "past.csv",
        "y,x,fidelity,value\n1,1.25,long,0.0234375\n1,-2,long,3.07\n3,2,short,4.2\n0.5,6,long,5.3\n",
    );
    let tune = format!("tune p.toml {MEASURE} --json --state s");
    let without = folder.succeed(&tune.replace("--state s", "--state other"));
    let with = folder.succeed(&format!("{tune} --past past.csv"));
    assert_ne!(events(&with), events(&without));
    assert!(with.contains("\"spent\":40.0") && folder.read("s").contains("\"past\":[{"));
    // Without such a table a task has six initial points; three of them are spared, one must be.
    let initial = |state: &str| folder.read(state).matches("\"why\":\"initial\"").count();
    assert_eq!((initial("other"), initial("s")), (6, 2));
    // Its own first answers, in lines of JSON, lead to the same queries.
    let known = |x: f64, y: f64, m: &str, value: f64| {
        format!("{{\"setting\":{{\"x\":{x},\"y\":{y}}},\"fidelity\":\"{m}\",\"value\":{value}}}")
    };
    let rows =
        [known(1.25, 1.0, "long", 0.0234375), known(-2.0, 1.0, "long", 3.07), known(2.0, 3.0, "short", 4.2)];
    let [bad, good] = [known(1.0, 0.3, "long", 0.0), known(6.0, 0.5, "long", 5.3)]
        .map(|last| format!("{{\"past\":[{},{last}]}}\n", rows.join(",")));
    let answers: Vec<&str> = events(&with).into_iter().filter(|line| line.starts_with("{\"tell\"")).collect();
    let late = format!("{}\n{good}", answers[0]);
    let served = folder.fed("serve p.toml", &format!("{bad}{good}{late}{}\n", answers[1..].join("\n")));
    assert_eq!(kinds(&served)[1..6], ["ask", "error", "ask", "ask", "error"], "{served}");
    let asked = |text: &str| -> Vec<String> {
        events(text).iter().filter(|l| l.starts_with("{\"ask\"")).map(ToString::to_string).collect()
    };
    assert_eq!(asked(&served)[1..], asked(&with));
    // The same command again: what the first task knows is not measured twice.
    let next = folder.succeed(&format!("{tune} --past past.csv"));
    assert!(next.contains("\"task\":2") && folder.read("s").matches("\"past\":[{").count() == 1);
    folder.write("past.csv", "x,y,value\n1,1,nothing\n");
    folder.fails(&format!("{tune} --past past.csv"), 2, "past.csv, line 2: column `value`: `nothing`");
    folder.write("past.csv", &("x,y,value\n".to_string() + &"1,1,1\n".repeat(300)));
    let error = folder.fail(&format!("{tune} --past past.csv"), 2);
    assert!(error.contains("there is room for") && error.contains("not 300"), "{error}");
    folder.write("past.csv", "x,y,value\n1,1,0.07\n");
    let text = folder.succeed(&format!("tune p.toml {MEASURE} --state s --past past.csv"));
    assert!(text.starts_with("Task 3 of p. It knows 1 measurement from before.\n"), "{text}");
}

/// Shown while it runs and after its end, from the state alone; the table of measurements is one that `--past` reads.
#[test]
fn a_state_is_shown_without_starting_anything_and_its_table_is_past_elsewhere() {
    let folder = Folder::new();
    write_in_use(&folder, "0");
    let answers = "{\"tell\":{\"id\":1,\"value\":1.5}}\n{\"fail\":{\"id\":2}}\n";
    folder.fed("serve p.toml --state s", answers);
    let before = folder.read("s");
    let text = folder.succeed("show s");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in
        ["s, task 1", "In use: x = 0, y = 0.25", "in 2 measurements; not ended.", "1 initial 0 0.25 long"]
    {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert_eq!(folder.read("s"), before);
    folder.fed("serve p.toml --state s", "{\"stop\":{}}\n");
    let text = folder.succeed("show s --report s.html --csv s.csv");
    assert!(
        text.contains("Recommended: x = 0, y = 0.25") && text.contains("because it was stopped."),
        "{text}"
    );
    let table = folder.read("s.csv");
    assert!(table.starts_with("task,why,x,y,fidelity,cost,value\n1,initial,0,0.25,long,4,1.5\n"), "{table}");
    assert!(table.lines().count() == 3 && table.lines().nth(2).unwrap().ends_with(','), "{table}");
    assert!(folder.read("s.html").contains("one task"));
    let taken = "tune p.toml --state t --command 'echo {x}' --past s.csv --csv t.csv";
    assert!(folder.succeed(taken).contains("It knows 1 measurement from before."));
    assert!(folder.read("t.csv").lines().count() > 3);
    folder.fails("show nowhere", 2, "nowhere: no such file");
    folder.fails("show p.toml", 2, "p.toml");
    folder.fails("show s --csv no/s.csv", 1, "no/s.csv");
}

#[test]
#[cfg(unix)]
fn no_output_is_written_over_an_input_by_whatever_name() {
    let folder = folder("", "");
    folder.write("past.csv", "x,y,value\n1,1,0.07\n");
    folder.write("k.toml", "initial = 6\n");
    folder.fed("serve p.toml --state s", "{\"tell\":{\"id\":1,\"value\":1.5}}\n");
    std::os::unix::fs::symlink("s", folder.path("link")).unwrap();
    let before = folder.files(".");
    let tune = "tune p.toml --command 'echo {x}'";
    for (line, input) in [
        (format!("{tune} --report p.toml"), "p.toml"),
        (format!("{tune} --report p.state"), "p.state"),
        (format!("{tune} --state s --csv ./link"), "s"),
        (format!("{tune} --past past.csv --csv past.csv"), "past.csv"),
        (format!("{tune} --from s --report s"), "s"),
        (format!("{tune} --settings k.toml --csv k.toml"), "k.toml"),
        ("serve p.toml --state link --report s".into(), "link"),
        ("show s --csv s".into(), "s"),
        ("show link --report s".into(), "link"),
        ("fleet learn s --problem p.toml -o link".into(), "s"),
        ("fleet learn s --problem p.toml -o p.toml".into(), "p.toml"),
    ] {
        folder.fails(&line, 2, &format!("would be written over {input}, which is an input"));
        assert_eq!(folder.files("."), before, "{line}");
    }
    assert!(folder.succeed("show s --csv /dev/stdout --report /dev/null").contains("task,why,x,y"));
}

/// The file that it leads to is the state, and one program at a time has that, by whatever name.
#[test]
#[cfg(unix)]
fn a_state_behind_a_link_stays_there_and_is_locked() {
    let folder = folder("", "");
    std::os::unix::fs::symlink("real", folder.path("link")).unwrap();
    let mut first = folder.spawn("serve p.toml --state link");
    let mut hello = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(first.stdout.as_mut().unwrap()), &mut hello)
        .unwrap();
    folder.fails("serve p.toml --state real", 2, "real is in use by another foretune");
    drop(first.stdin.take());
    assert!(first.wait().unwrap().success());
    assert!(folder.path("link").is_symlink() && folder.path("real").is_file());
}

/// A logarithmic scale, whole numbers, steps and a radio's channels in Hz: every value that the command gets is one that the
/// file means, the answers come back to the same point, and a limit holds in the person's units.
#[test]
fn parameters_are_measured_as_people_have_them() {
    let folder = Folder::new();
    let parameters = [
        "name = \"rate\"\nlow = 1e-5\nhigh = 0.1\nscale = \"log\"",
        "name = \"depth\"\nlow = 1\nhigh = 16\ninteger = true",
        "name = \"gain\"\nlow = 0.5\nhigh = 2\nstep = 0.1",
        "name = \"channel\"\nlow = 2400000000\nhigh = 2480000000\nlevels = 8001",
        "name = \"offset\"\nunit = \"Hz\"\nlow = 2400000000\nhigh = 2400000100",
    ]
    .map(|text| format!("[[parameter]]\n{text}\n"));
    let problem = format!(
        "goal = \"minimise\"\nbudget = 40\n{}[[fidelity]]\nname = \"run\"\ncost = 1\nnoise = 0\n\
         [deployed]\nrate = 0.00017\ndepth = 4\ngain = 0.7\nchannel = 2437010000\noffset = 2400000017\n\
         [[limit]]\nsum = {{ offset = 1 }}\nat_most = 2400000060\n",
        parameters.concat()
    );
    folder.write("p.toml", &problem);
    let script = "awk -v r=$1 -v n=$2 -v o=$3 'BEGIN { d = log(r) / log(10) + 3; printf \"%.17g\", \
                  d * d + (n - 6) * (n - 6) / 9 + (o - 2400000040) ^ 2 / 900 }'\n";
    folder.write("measure.sh", script);
    let tune = "tune p.toml --seed 3 --command 'sh measure.sh {rate} {depth} {offset}' --csv t.csv";
    let text = folder.succeed(tune);
    assert!(
        text.contains("rate = 0.00017, depth = 4, gain = 0.7, channel = 2437010000, offset = 2400000017 Hz"),
        "{text}"
    );
    let table = folder.read("t.csv");
    let mut decades = [0; 4];
    for row in table.lines().skip(1) {
        let cells: Vec<&str> = row.split(',').collect();
        let x: Vec<f64> = cells[2..7].iter().map(|cell| cell.parse().unwrap()).collect();
        assert!((1e-5..=0.1).contains(&x[0]) && cells[2].len() <= 13, "{row}");
        decades[((x[0].log10() + 5.0) as usize).min(3)] += 1;
        assert!(x[1].fract() == 0.0 && (1.0..=16.0).contains(&x[1]), "{row}");
        assert!(cells[4].len() <= 3 && (x[2] * 10.0).round() / 10.0 == x[2], "{row}");
        assert!(x[3] % 1e4 == 0.0 && (2.4e9..=2.48e9).contains(&x[3]), "{row}");
        assert!((2_400_000_000.0..=2_400_000_060.0).contains(&x[4]), "{row}");
    }
    assert!(decades.iter().all(|count| *count > 0), "{decades:?}: {table}");
    let best = |name| recommended(&text, name);
    assert!((best("rate").log10() + 3.0).abs() < 0.5 && (best("depth") - 6.0).abs() <= 2.0, "{text}");
    assert!((best("offset") - 2_400_000_040.0).abs() < 15.0, "{text}");
    // Lines of JSON have whole numbers; a task that was broken off goes on; the next one starts from what was learnt.
    let asked = folder.fed("serve p.toml --state s", "{\"tell\":{\"id\":1,\"value\":1}}\n");
    assert!(
        asked.contains("\"setting\":{\"rate\":0.00017,\"depth\":4,\"gain\":0.7,\"channel\":2437010000.0"),
        "{asked}"
    );
    let again = folder.fed("serve p.toml --state s", "");
    assert_eq!(asked.lines().last(), again.lines().last());
    assert!(folder.succeed(tune).starts_with("Task 2 of p. It begins at the last recommendation"));
    folder.write("p.toml", &problem.replace("scale = \"log\"", ""));
    folder.fails(tune, 2, "`rate` was from 0.00001 to 0.1 on a logarithmic scale, and is from");
    folder.write("p.toml", &problem.replace("offset = 1 }", "rate = 1 }"));
    folder.fails(tune, 2, "`rate` has a logarithmic scale: a limit takes others");
}

/// Interrupted in a measurement, the program says what is kept, and keeps it.
#[test]
#[cfg(unix)]
fn ctrl_c_keeps_every_answer_and_says_so() {
    let folder = folder("", "");
    let tune = "tune p.toml --command 'sh -c \"if test -e third; then sleep 60; fi; echo 1\"'";
    let mut child = folder.spawn(tune);
    let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    for _ in 0..3 {
        std::io::BufRead::read_line(&mut out, &mut line).unwrap();
    }
    folder.write("third", "");
    thread::sleep(Duration::from_millis(200));
    let id = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let error = stderr(&output);
    assert_eq!(output.status.code(), Some(130), "{error}");
    assert!(
        error.contains("stopping; every answer is kept") && error.contains("goes on from here"),
        "{error}"
    );
    std::fs::remove_file(folder.path("third")).unwrap();
    assert!(folder.succeed(tune).contains("going on after"));
}

/// With and without noise, with a floor and a tolerance, on a grid and where the noise is estimated.
#[test]
fn a_constant_objective_ends_within_the_budget_and_is_called_one() {
    let folder = Folder::new();
    let small = PROBLEM.replace("budget = 40.0", "budget = 30.0");
    let in_use = format!("{small}[deployed]\nx = 0.0\ny = 0.25\n");
    let floor = format!("{in_use}[floor]\nshare = 0.9\nrisk = 0.1\n");
    let [without, grid] = [("noise = 0.01\n", "noise = 0\n"), ("high = 6.0\n", "high = 6.0\nlevels = 2\n")]
        .map(|(from, to)| small.replace(from, to).replace("noise = 0.001", "noise = 0"));
    let estimated = in_use.replace("noise = 0.001\n", "");
    for (i, problem) in [&small, &without, &grid, &in_use, &floor, &estimated].into_iter().enumerate() {
        for value in ["5", "0"] {
            folder.write("p.toml", problem);
            let text =
                folder.succeed(&format!("tune p.toml --state {i}-{value}.state --command 'echo {value}'"));
            assert!(text.contains("Recommended: "), "{text}");
            assert!(text.contains(&format!("All answers are {value}: no setting is better")), "{text}");
        }
    }
    let ordinary = folder.succeed("tune p.toml --state s --command 'echo {x}'");
    assert!(!ordinary.contains("All answers"), "{ordinary}");
}

/// 0.1 on a logarithmic scale is no number of single precision: it is measured and shown as it was given all the same.
#[test]
#[cfg(unix)]
fn the_setting_in_use_is_measured_and_shown_as_it_was_given() {
    let folder = Folder::new();
    let problem = "goal = \"maximise\"\nbudget = 5\n[[parameter]]\nname = \"gain\"\nlow = 0.01\nhigh = 10\nscale = \"log\"\n\
                   [[fidelity]]\nname = \"run\"\ncost = 1\nnoise = 0.01\n[deployed]\ngain = 0.1\n";
    folder.write("p.toml", problem);
    let printed = folder.succeed("tune p.toml --command 'echo {gain}' --state s --set candidates=32");
    assert!(printed.contains("In use: gain = 0.1, measured 0.1;"), "{printed}");
}

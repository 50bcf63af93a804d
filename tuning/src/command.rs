//! Measuring by starting a program: its last line that is a number, or an object with a `value`, is the answer.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::target::{Ask, Target, Why, is_within};
use foretune_core::Goal;
use host_sim::error::Error;
use host_sim::problems::DimensionSpec;
use host_sim::runner::{self, Benchmark, Trial};
use host_sim::words::number;
use serde_json::Value;

/// Kept of what the program prints: the end.
const KEPT: usize = 1 << 20;
/// How long output may follow after the program has ended.
const AFTERWARDS: Duration = Duration::from_secs(1);
/// Between two looks at whether it has ended.
const PAUSE: Duration = Duration::from_millis(2);

/// A part of a word of the command.
#[derive(Clone, Debug, PartialEq)]
enum Piece {
    Text(String),
    Parameter(usize),
    Fidelity,
    Samples,
    Task,
    Seed,
    Experiment,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Measured {
    /// A value, the KPIs that the problem guards, and, if the program said so, what it cost and its conditions.
    Value {
        value: f64,
        kpis: Vec<f64>,
        cost: Option<f64>,
        conditions: Vec<f64>,
    },
    Failed(String),
}

#[derive(Clone, Debug)]
pub struct Command {
    text: String,
    words: Vec<Vec<Piece>>,
    timeout: Option<Duration>,
    /// For `{seed}` and `{experiment}`: 1 and 1 outside studies.
    run: (u64, u32),
}

impl Command {
    /// Splits a command into words as a POSIX shell would, and finds its placeholders.
    pub fn new(text: &str, target: &Target, timeout: Option<Duration>) -> Result<Self, Error> {
        let split = shlex::split(text).ok_or_else(|| {
            Error::usage(format!("the command has an open quote or a lone backslash: {text}"))
        })?;
        if split.is_empty() {
            return Err(Error::usage("the command is empty"));
        }
        let words = split.iter().map(|word| pieces(word, target)).collect::<Result<Vec<_>, _>>()?;
        let wants_samples = words.iter().flatten().any(|piece| *piece == Piece::Samples);
        match target.fidelities.iter().find(|rung| wants_samples && rung.samples.is_none()) {
            Some(rung) => Err(Error::usage(format!(
                "the command has {{samples}}, but fidelity `{}` has no samples",
                rung.name
            ))),
            None => Ok(Self { text: text.into(), words, timeout, run: (1, 1) }),
        }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// The same for an experiment of a study.
    #[must_use]
    pub fn for_experiment(&self, seed: u64, experiment: u32) -> Self {
        Self { run: (seed, experiment), ..self.clone() }
    }

    /// Starts the program for a query and waits for it.
    ///
    /// # Errors
    /// [`Error::Usage`] if it cannot be started, [`Error::Interrupted`] if `go_on` says no meanwhile.
    pub fn measure(&self, target: &Target, ask: &Ask, go_on: &dyn Fn() -> bool) -> Result<Measured, Error> {
        let words: Vec<String> = self.words.iter().map(|word| self.filled(word, target, ask)).collect();
        let mut command = std::process::Command::new(Path::new(&words[0]));
        command.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::piped());
        for (name, value) in self.variables(target, ask) {
            command.env(name, value);
        }
        own_group(&mut command);
        let child =
            command.spawn().map_err(|error| Error::usage(format!("cannot start `{}`: {error}", words[0])))?;
        self.wait(child, target, go_on)
    }

    fn filled(&self, word: &[Piece], target: &Target, ask: &Ask) -> String {
        let rung = &target.fidelities[ask.fidelity];
        let text = |piece: &Piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Parameter(index) => match &target.parameters[*index] {
                category @ DimensionSpec::Category { .. } => category.shown(ask.point[*index]),
                _ => ask.point[*index].to_string(),
            },
            Piece::Fidelity => rung.name.clone(),
            Piece::Samples => rung.samples.map(|samples| samples.to_string()).unwrap_or_default(),
            Piece::Task => ask.task.to_string(),
            Piece::Seed => self.run.0.to_string(),
            Piece::Experiment => self.run.1.to_string(),
        };
        word.iter().map(text).collect()
    }

    fn variables(&self, target: &Target, ask: &Ask) -> Vec<(String, String)> {
        let parameters = target.names().enumerate().map(|(i, name)| (name.to_string(), Piece::Parameter(i)));
        let others = [
            ("fidelity", Piece::Fidelity),
            ("samples", Piece::Samples),
            ("task", Piece::Task),
            ("seed", Piece::Seed),
            ("experiment", Piece::Experiment),
        ];
        let others = others.into_iter().map(|(name, piece)| (name.to_string(), piece));
        let variable = |(name, piece): (String, Piece)| {
            (format!("FORETUNE_{}", name.to_ascii_uppercase()), self.filled(&[piece], target, ask))
        };
        parameters.chain(others).map(variable).filter(|(_, value)| !value.is_empty()).collect()
    }

    fn wait(&self, mut child: Child, target: &Target, go_on: &dyn Fn() -> bool) -> Result<Measured, Error> {
        let (started, output) = (Instant::now(), Output::of(&mut child));
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            if self.timeout.is_some_and(|timeout| started.elapsed() >= timeout) {
                end(&mut child);
                let seconds = self.timeout.unwrap_or_default().as_secs_f64();
                return Ok(Measured::Failed(format!("no answer within {seconds} s")));
            }
            if !go_on() {
                end(&mut child);
                return Err(Error::Interrupted);
            }
            thread::sleep(PAUSE);
        };
        let text = output.text();
        if !status.success() {
            return Ok(Measured::Failed(status.to_string()));
        }
        Ok(answer(&text, target))
    }
}

/// What the program prints, read beside waiting for it.
struct Output {
    bytes: Arc<Mutex<Vec<u8>>>,
    reader: Option<thread::JoinHandle<()>>,
}

impl Output {
    fn of(child: &mut Child) -> Self {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&bytes);
        let reader = child.stdout.take().map(|mut from| {
            thread::spawn(move || {
                let mut piece = [0; 4096];
                while let Ok(count @ 1..) = from.read(&mut piece) {
                    let mut kept = into.lock().unwrap_or_else(PoisonError::into_inner);
                    kept.extend_from_slice(&piece[..count]);
                    let surplus = kept.len().saturating_sub(KEPT);
                    kept.drain(..surplus);
                }
            })
        });
        Self { bytes, reader }
    }

    /// All of it; a child of the program that keeps the output open is not waited for.
    fn text(self) -> String {
        let since = Instant::now();
        while self.reader.as_ref().is_some_and(|reader| !reader.is_finished()) && since.elapsed() < AFTERWARDS
        {
            thread::sleep(PAUSE);
        }
        String::from_utf8_lossy(&self.bytes.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }
}

/// In a group of its own, so that it can be ended with all that it started.
#[cfg(unix)]
fn own_group(command: &mut std::process::Command) {
    use std::os::unix::process::CommandExt;
    command.process_group(0);
}

#[cfg(not(unix))]
fn own_group(_: &mut std::process::Command) {}

/// Ends the program and all that it started.
fn end(child: &mut Child) {
    #[cfg(unix)]
    if let Some(group) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let _ = child.kill();
    let _ = child.wait();
}

/// What a line says, if it is a number or meant as an object with a value.
fn of_line(line: &str) -> Option<Result<(f64, Value), String>> {
    if let Ok(value) = line.parse() {
        return Some(Ok((value, Value::Null)));
    }
    match serde_json::from_str::<Value>(line) {
        Ok(object) => {
            let value = object.get("value")?;
            let wrong = || format!("it printed a value of {value}, which is not a number");
            Some(value.as_f64().ok_or_else(wrong).map(|value| (value, object)))
        }
        Err(why)
            if line.starts_with('{') && ["\"value\"", "'value'"].iter().any(|key| line.contains(key)) =>
        {
            Some(Err(format!("it printed an object that is not JSON (NaN is not): {why}")))
        }
        Err(_) => None,
    }
}

/// The last line that is a number, or an object with a value.
fn answer(text: &str, target: &Target) -> Measured {
    let nothing = || Err("it printed no line that is a number or an object with a value".into());
    let (value, object) = match text.lines().rev().map(str::trim).find_map(of_line).unwrap_or_else(nothing) {
        Ok(found) => found,
        Err(why) => return Measured::Failed(why),
    };
    let numbers = |name: &str| object.get(name).and_then(Value::as_f64);
    let known = target.conditions().iter().map(DimensionSpec::name).chain(["cost"]);
    let mut given = known.filter_map(|name| Some((name, object.get(name)?)));
    if let Some((name, odd)) = given.find(|(_, given)| !given.is_number() && !given.is_null()) {
        return Measured::Failed(format!("it printed {odd} for `{name}`, which is not a number"));
    }
    let named = |condition: &DimensionSpec| Some((condition.name().to_string(), numbers(condition.name())?));
    let conditions = target.conditions_of(&target.conditions().iter().filter_map(named).collect());
    let (kpis, cost) = (target.kpis(numbers), numbers("cost"));
    match (kpis.and_then(|kpis| Ok((kpis, conditions?))), cost) {
        _ if !is_within(value) => {
            Measured::Failed(format!("it printed {}, which is no number within ±1e30", number(value)))
        }
        (_, Some(cost)) if !(cost >= 0.0 && cost.is_finite()) => {
            Measured::Failed(format!("it printed a cost of {}", number(cost)))
        }
        (Err(why), _) => Measured::Failed(format!("it printed {why}")),
        (Ok((kpis, conditions)), cost) => Measured::Value { value, kpis, cost, conditions },
    }
}

fn pieces(word: &str, target: &Target) -> Result<Vec<Piece>, Error> {
    let (mut found, mut text, mut rest) = (Vec::new(), String::new(), word);
    while let Some((before, brace)) = rest.find(['{', '}']).map(|at| rest.split_at(at)) {
        text += before;
        if brace.starts_with("{{") || brace.starts_with("}}") {
            text += &brace[..1];
            rest = &brace[2..];
        } else if let Some((name, after)) = brace.strip_prefix('{').and_then(|brace| brace.split_once('}')) {
            found.push(Piece::Text(std::mem::take(&mut text)));
            found.push(placeholder(name, target)?);
            rest = after;
        } else {
            let why = "the command has a lone brace in";
            return Err(Error::usage(format!("{why} `{word}`: a brace itself is written twice")));
        }
    }
    found.push(Piece::Text(text + rest));
    Ok(found)
}

fn placeholder(name: &str, target: &Target) -> Result<Piece, Error> {
    if let Some(index) = target.names().position(|known| known == name) {
        return Ok(Piece::Parameter(index));
    }
    Ok(match name {
        "fidelity" => Piece::Fidelity,
        "samples" => Piece::Samples,
        "task" => Piece::Task,
        "seed" => Piece::Seed,
        "experiment" => Piece::Experiment,
        _ => {
            let names: Vec<String> = target
                .names()
                .chain(["fidelity", "samples", "task", "seed", "experiment"])
                .map(|name| format!("{{{name}}}"))
                .collect();
            return Err(Error::usage(format!(
                "unknown placeholder {{{name}}} in the command: known are {}; a brace is written twice",
                names.join(", ")
            )));
        }
    })
}

#[derive(Clone, Debug)]
pub struct Bench {
    pub target: Target,
    pub command: Command,
}

impl Bench {
    /// The problem of a study, with its fidelities' noise.
    pub fn benchmark(self, noise: &[f64]) -> Benchmark {
        let spec = self.target.spec(noise, self.target.budget);
        let service = match self.target.goal {
            Goal::Maximise => self.target.service(),
            Goal::Minimise => self.target.service().turned(),
        };
        Benchmark::measured(Arc::new(self), spec, service)
    }
}

impl runner::Bench for Bench {
    fn options(&self, budget: f64) -> BTreeMap<String, Value> {
        let mut options = self.target.options(budget);
        options.insert("command".into(), self.command.text().into());
        options
    }

    fn failures(&self) -> usize {
        self.target.failures
    }

    fn measure(&self, trial: &Trial<'_>, go_on: &dyn Fn() -> bool) -> Result<runner::Measured, Error> {
        let sign = match self.target.goal {
            Goal::Maximise => 1.0,
            Goal::Minimise => -1.0,
        };
        let &Trial { seed, experiment, task, point, fidelity } = trial;
        let command = self.command.for_experiment(seed, experiment);
        let ask = Ask {
            id: 0,
            task,
            point: point.to_vec(),
            fidelity,
            why: Why::Search,
            because: None,
            unit: Vec::new(),
        };
        Ok(match command.measure(&self.target, &ask, go_on)? {
            Measured::Value { value, kpis, .. } => Ok((sign * value, kpis)),
            Measured::Failed(why) => Err(why),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Why;
    use crate::fixture::target;

    fn ask() -> Ask {
        Ask {
            id: 1,
            task: 3,
            point: vec![-80.0, 0.7],
            fidelity: 0,
            why: Why::Search,
            because: None,
            unit: vec![],
        }
    }

    impl Measured {
        fn value(value: f64, cost: Option<f64>) -> Self {
            Self::Value { value, kpis: Vec::new(), cost, conditions: Vec::new() }
        }
    }

    fn measure(text: &str, timeout: Option<Duration>) -> Measured {
        Command::new(text, &target(), timeout).unwrap().measure(&target(), &ask(), &|| true).unwrap()
    }

    #[test]
    fn the_last_number_counts() {
        let cases = [
            ("1\n2.5\nbye\n", Measured::value(2.5, None)),
            ("1\n{\"value\": -3, \"cost\": 2}\n\n", Measured::value(-3.0, Some(2.0))),
            ("7\n{\"cost\": 2}\n", Measured::value(7.0, None)),
            ("{\"value\": 7, \"cost\": null}\n{value}", Measured::value(7.0, None)),
            ("  -1e-3  ", Measured::value(-1e-3, None)),
        ];
        for (text, expected) in cases {
            assert_eq!(answer(text, &target()), expected, "{text}");
        }
        for (text, words) in [
            ("", "no line that is a number"),
            ("no\n", "no line that is a number"),
            ("3\nnan\n", "within ±1e30"),
            ("3\n1e33", "1e33, which is no number within ±1e30"),
            ("{\"value\": 1, \"cost\": -1}", "a cost of -1"),
            ("{\"value\": 1, \"cost\": \"7\"}", "\"7\" for `cost`, which is not a number"),
            ("3\n{\"value\": \"2.5\"}\nbye", "a value of \"2.5\", which is not a number"),
            ("3\n{\"value\": null}", "a value of null"),
            ("3\n{\"value\": NaN}", "not JSON (NaN is not)"),
            ("3\n{'value': 2.5}", "not JSON"),
        ] {
            let failed = answer(text, &target());
            assert!(
                matches!(&failed, Measured::Failed(why) if why.contains(words) && why.len() < 100),
                "{failed:?}"
            );
        }
    }

    #[test]
    #[cfg(unix)]
    fn placeholders_and_variables_reach_the_program() {
        let words = "sh -c 'echo $0 $1 $FORETUNE_P0 $FORETUNE_TASK $FORETUNE_FIDELITY >&2; echo \"$0\"' {p0}";
        assert_eq!(measure(words, None), Measured::value(-80.0, None));
        let variables =
            "sh -c 'test $FORETUNE_ALPHA = 0.7 && test $FORETUNE_SAMPLES = 10 && echo $FORETUNE_TASK'";
        assert_eq!(measure(variables, None), Measured::value(3.0, None));
        assert_eq!(measure("printf '%s\\n' '{{\"value\": {alpha}}}'", None), Measured::value(0.7, None));
    }

    #[test]
    #[cfg(unix)]
    fn failures_are_told_apart() {
        assert!(
            matches!(measure("sh -c 'echo 1; exit 3'", None), Measured::Failed(why) if why.contains('3'))
        );
        let started = Instant::now();
        let hung = measure("sh -c 'sleep 30; echo 1'", Some(Duration::from_millis(100)));
        assert!(matches!(hung, Measured::Failed(why) if why.contains("0.1 s")));
        assert!(started.elapsed() < Duration::from_secs(10));
        let command = Command::new("sleep 30", &target(), None).unwrap();
        assert!(matches!(command.measure(&target(), &ask(), &|| false), Err(Error::Interrupted)));
    }

    #[test]
    fn mistakes_are_named() {
        let refusal = |text: &str| Command::new(text, &target(), None).unwrap_err().to_string();
        assert!(refusal("x {p1}").contains("{p0}, {alpha}, {fidelity}"));
        for lone in ["{p0", "{p0}}", "}", "{{p0}"] {
            assert!(refusal(&format!("x {lone}")).contains("lone brace in"), "{lone}");
        }
        assert!(refusal("x 'a").contains("quote"));
        assert!(refusal(" ").contains("empty"));
        let mut bare = target();
        bare.fidelities[1].samples = None;
        let error = Command::new("x {samples}", &bare, None).unwrap_err().to_string();
        assert!(error.contains("`long` has no samples"), "{error}");
        let missing = Command::new("/no/such/program", &target(), None).unwrap();
        let error = missing.measure(&target(), &ask(), &|| true).unwrap_err().to_string();
        assert!(error.contains("/no/such/program"), "{error}");
    }
}

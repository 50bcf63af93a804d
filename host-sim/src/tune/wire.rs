//! The objects of `foretune serve` and of `foretune tune --json`, one to a line; see `docs/serve.md`.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::session::Ask;
use super::state::{Ended, Outcome, Reason, Told};
use super::target::Target;

/// Version of the protocol, in the first line.
pub const PROTOCOL: u32 = 1;

/// What a client may say.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Request {
    /// The value of the query.
    Tell(Tell),
    /// The measurement failed.
    Fail(Fail),
    /// The task is to end.
    Stop(Nothing),
    /// Another task is to begin.
    NextTask(NextTask),
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tell {
    pub id: u64,
    pub value: f64,
    pub cost: Option<f64>,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Fail {
    pub id: u64,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Nothing {}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NextTask {
    pub deployed: Option<BTreeMap<String, f64>>,
}

/// Writes the objects about a target.
#[derive(Clone, Copy)]
pub struct Wire<'a>(pub &'a Target);

impl Wire<'_> {
    /// The first line.
    pub fn hello(self, task: u32, answered: usize) -> String {
        let version = env!("CARGO_PKG_VERSION");
        format!(
            "{{\"foretune\":{{\"protocol\":{PROTOCOL},\"version\":\"{version}\",\"task\":{task},\"answered\":{answered}}}}}"
        )
    }

    /// A query.
    pub fn ask(self, ask: &Ask) -> String {
        let rung = &self.0.fidelities[ask.fidelity];
        let samples = rung.samples.map(|samples| format!("\"samples\":{samples},")).unwrap_or_default();
        format!(
            "{{\"ask\":{{\"id\":{},\"setting\":{},\"fidelity\":\"{}\",{samples}\"cost\":{}}}}}",
            ask.id,
            self.setting(&ask.point),
            rung.name,
            number(rung.cost)
        )
    }

    /// An answer, as a client would send it.
    pub fn told(self, ask: &Ask, told: &Told) -> String {
        match told.outcome {
            Outcome::Value(value) if told.cost == self.0.fidelities[told.fidelity].cost => {
                format!("{{\"tell\":{{\"id\":{},\"value\":{}}}}}", ask.id, single(value))
            }
            Outcome::Value(value) => {
                let cost = number(told.cost);
                format!("{{\"tell\":{{\"id\":{},\"value\":{},\"cost\":{cost}}}}}", ask.id, single(value))
            }
            Outcome::Failed => format!("{{\"fail\":{{\"id\":{}}}}}", ask.id),
        }
    }

    /// The end of a task.
    pub fn recommendation(self, ended: &Ended) -> String {
        let (reason, spent) = (word(ended.reason), number(ended.spent));
        let doubted = match ended.doubted {
            0 => String::new(),
            count => format!(",\"doubted\":{count}"),
        };
        let Some(point) = &ended.point else {
            return format!(
                "{{\"recommendation\":{{\"setting\":null,\"reason\":\"{reason}\",\"spent\":{spent}{doubted}}}}}"
            );
        };
        format!(
            "{{\"recommendation\":{{\"setting\":{},\"mean\":{},\"deviation\":{},\"reason\":\"{reason}\",\"spent\":{spent}{doubted}}}}}",
            self.setting(point),
            single(ended.mean),
            single(ended.deviation)
        )
    }

    /// What was wrong with a line of the client's.
    pub fn error(self, text: &str) -> String {
        format!("{{\"error\":{}}}", serde_json::Value::from(text))
    }

    /// A point as an object, in the order of the file. Names are plain letters.
    fn setting(self, point: &[f64]) -> String {
        let pair = |(name, value): (&str, &f64)| format!("\"{name}\":{}", number(*value));
        format!("{{{}}}", self.0.names().zip(point).map(pair).collect::<Vec<_>>().join(","))
    }
}

/// The word for a reason.
fn word(reason: Reason) -> &'static str {
    match reason {
        Reason::Budget => "budget",
        Reason::Capacity => "capacity",
        Reason::Exhausted => "exhausted",
        Reason::Tolerance => "tolerance",
        Reason::Stopped => "stopped",
    }
}

fn number(value: f64) -> String {
    serde_json::Value::from(value).to_string()
}

/// The shortest number that reads back as the same `f32`.
fn single(value: f32) -> String {
    serde_json::to_string(&value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::session::fixture::target;
    use super::super::state::Why;
    use super::*;

    #[test]
    fn objects_are_those_of_the_documentation() {
        let target = target();
        let wire = Wire(&target);
        let ask = Ask { id: 7, task: 1, point: vec![-80.0, 0.7], fidelity: 0, why: Why::Search };
        assert_eq!(
            wire.ask(&ask),
            "{\"ask\":{\"id\":7,\"setting\":{\"p0\":-80.0,\"alpha\":0.7},\"fidelity\":\"short\",\"samples\":10,\"cost\":1.0}}"
        );
        let told = |outcome, cost| Told { point: vec![], fidelity: 0, why: Why::Search, outcome, cost };
        assert_eq!(wire.told(&ask, &told(Outcome::Value(0.1), 1.0)), "{\"tell\":{\"id\":7,\"value\":0.1}}");
        assert_eq!(
            wire.told(&ask, &told(Outcome::Value(0.1), 2.0)),
            "{\"tell\":{\"id\":7,\"value\":0.1,\"cost\":2.0}}"
        );
        assert_eq!(wire.told(&ask, &told(Outcome::Failed, 1.0)), "{\"fail\":{\"id\":7}}");
        let ended = Ended {
            point: Some(ask.point),
            mean: 1.5,
            deviation: 0.25,
            reason: Reason::Budget,
            spent: 60.0,
            doubted: 0,
        };
        assert_eq!(
            wire.recommendation(&ended),
            "{\"recommendation\":{\"setting\":{\"p0\":-80.0,\"alpha\":0.7},\"mean\":1.5,\"deviation\":0.25,\"reason\":\"budget\",\"spent\":60.0}}"
        );
        let nothing = Ended { point: None, doubted: 2, ..ended };
        assert_eq!(
            wire.recommendation(&nothing),
            "{\"recommendation\":{\"setting\":null,\"reason\":\"budget\",\"spent\":60.0,\"doubted\":2}}"
        );
        assert_eq!(wire.error("a \"b\"\n"), "{\"error\":\"a \\\"b\\\"\\n\"}");
    }

    #[test]
    fn requests_are_read_and_others_refused() {
        let read = |text: &str| serde_json::from_str::<Request>(text).ok();
        assert_eq!(
            read("{\"tell\":{\"id\":7,\"value\":3.2}}"),
            Some(Request::Tell(Tell { id: 7, value: 3.2, cost: None }))
        );
        assert_eq!(read("{\"fail\":{\"id\":7}}"), Some(Request::Fail(Fail { id: 7 })));
        assert_eq!(read("{\"stop\":{}}"), Some(Request::Stop(Nothing {})));
        assert_eq!(read("{\"next_task\":{}}"), Some(Request::NextTask(NextTask { deployed: None })));
        for bad in
            ["", "{}", "7", "{\"tell\":{}}", "{\"tell\":{\"id\":7,\"value\":1,\"x\":2}}", "{\"go\":{}}"]
        {
            assert_eq!(read(bad), None, "{bad}");
        }
    }
}

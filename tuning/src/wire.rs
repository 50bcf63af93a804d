//! The objects of `foretune serve` and of `foretune tune --json`, one to a line; see `docs/serve.md`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, Serializer};

use super::past::Known;
use super::session::{Standing, Watched};
use super::state::{Ended, Reason, Told};
use super::why::Because;
use crate::{Ask, Given, Rung, Target};
use host_sim::problems::DimensionSpec;

/// Version of the protocol, in the first line.
const PROTOCOL: u32 = 1;

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Request {
    /// One more query, beside those that wait.
    Ask(Nothing),
    AskAt(BTreeMap<String, f64>),
    RecommendAt(BTreeMap<String, f64>),
    Tell(Tell),
    Fail(Fail),
    Stop(Nothing),
    NextTask(NextTask),
    Past(Vec<Known>),
    Watch(Seen),
    Status(Nothing),
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tell {
    pub id: u64,
    pub value: f64,
    #[serde(default)]
    pub kpis: BTreeMap<String, f64>,
    pub cost: Option<f64>,
    #[serde(default)]
    pub conditions: BTreeMap<String, f64>,
}

/// A reading of the setting in use.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Seen {
    pub value: f64,
    #[serde(default)]
    pub kpis: BTreeMap<String, f64>,
    #[serde(default)]
    pub conditions: BTreeMap<String, f64>,
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
    pub deployed: Option<BTreeMap<String, Given>>,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Line<'a> {
    Foretune {
        protocol: u32,
        version: &'a str,
        task: u32,
        answered: usize,
    },
    Ask {
        id: u64,
        setting: Setting<'a>,
        fidelity: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        samples: Option<u32>,
        cost: f64,
        #[serde(skip_serializing_if = "<[u64]>::is_empty")]
        beside: &'a [u64],
        #[serde(skip_serializing_if = "Option::is_none")]
        why: Option<&'a Because>,
    },
    Tell {
        id: u64,
        value: f32,
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        kpis: BTreeMap<&'a str, f64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cost: Option<f64>,
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        conditions: BTreeMap<&'a str, f64>,
    },
    Fail {
        id: u64,
    },
    Recommendation {
        setting: Option<Setting<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        mean: Option<f32>,
        #[serde(skip_serializing_if = "Option::is_none")]
        deviation: Option<f32>,
        reason: Reason,
        spent: f64,
        #[serde(skip_serializing_if = "Option::is_none")]
        outliers: Option<usize>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        unassured: bool,
    },
    Status {
        task: u32,
        answered: usize,
        spent: f64,
        budget: f64,
        best: Option<f32>,
        expected: Option<f32>,
        outliers: usize,
        #[serde(skip_serializing_if = "Option::is_none")]
        in_use: Option<f64>,
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        broken: &'a BTreeMap<String, [usize; 2]>,
    },
    /// The queries that wait for their answers.
    Pending(Vec<u64>),
    Steady {
        readings: u32,
        evidence: f32,
    },
    Changed {
        of: &'a str,
        change: &'a str,
        usual: f64,
        readings: u32,
    },
    Error(&'a str),
}

impl Line<'_> {
    /// The object as text. Only a map with other keys than strings could fail, and there is none.
    fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// A point as an object, in the order of the file.
struct Setting<'a>(&'a Target, &'a [f64]);

impl Serialize for Setting<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let value = |(parameter, x): (&DimensionSpec, &f64)| match parameter {
            DimensionSpec::Category { .. } => serde_json::Value::from(parameter.shown(*x)),
            _ if parameter.notation().whole => (*x as i64).into(),
            _ => (*x).into(),
        };
        serializer.collect_map(self.0.names().zip(self.0.parameters.iter().zip(self.1).map(value)))
    }
}

#[derive(Clone, Copy)]
pub struct Wire<'a>(pub &'a Target);

impl Wire<'_> {
    pub fn hello(self, task: u32, answered: usize) -> String {
        let version = env!("CARGO_PKG_VERSION");
        Line::Foretune { protocol: PROTOCOL, version, task, answered }.text()
    }

    /// A query, and the numbers of those that wait beside it.
    pub fn ask(self, ask: &Ask, beside: &[u64]) -> String {
        let Rung { name: fidelity, samples, cost, .. } = &self.0.fidelities[ask.fidelity];
        let setting = Setting(self.0, &ask.point);
        let why = ask.because.as_ref();
        Line::Ask { id: ask.id, setting, fidelity, samples: *samples, cost: *cost, beside, why }.text()
    }

    /// An answer, as a client would send it.
    pub fn told(self, ask: &Ask, told: &Told) -> String {
        let usual = self.0.fidelities[told.fidelity].cost;
        let cost = Some(told.cost).filter(|cost| *cost != usual);
        match told.value {
            Some(value) => {
                let names = self.0.guards.iter().map(|guard| guard.name.as_str());
                let kpis = names.zip(told.kpis.iter().copied()).collect();
                let chosen = self.0.chosen();
                let point = self.0.names().zip(told.point.iter().copied());
                let conditions = point.skip(chosen).filter(|_| told.told_at).collect();
                Line::Tell { id: ask.id, value, kpis, cost, conditions }
            }
            None => Line::Fail { id: ask.id },
        }
        .text()
    }

    pub fn recommendation(self, ended: &Ended) -> String {
        let point = ended.point.as_ref();
        Line::Recommendation {
            setting: point.map(|point| Setting(self.0, point)),
            mean: point.map(|_| ended.mean),
            deviation: point.map(|_| ended.deviation),
            reason: ended.reason,
            spent: ended.spent,
            outliers: Some(ended.outliers).filter(|count| *count > 0),
            unassured: ended.unassured,
        }
        .text()
    }

    pub fn status(self, task: u32, answered: usize, standing: &Standing) -> String {
        let Standing { spent, budget, best, in_use, ref broken, expected, outliers, .. } = *standing;
        Line::Status { task, answered, spent, budget, best, expected, outliers, in_use, broken }.text()
    }

    /// Nothing more is asked for now: these wait for their answers.
    pub fn pending(self, asks: &[Ask]) -> String {
        Line::Pending(asks.iter().map(|ask| ask.id).collect()).text()
    }

    /// What a reading came to.
    pub fn watched(self, watched: &Watched) -> String {
        let Watched { readings, evidence, changed } = watched;
        match changed {
            Some(changed) => {
                let (of, change, usual) = (&changed.of[..], changed.change, changed.usual);
                Line::Changed { of, change, usual, readings: *readings }.text()
            }
            None => Line::Steady { readings: *readings, evidence: *evidence }.text(),
        }
    }

    /// What was wrong with a line of the client's.
    pub fn error(self, text: &str) -> String {
        Line::Error(text).text()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Why, fixture::target};

    #[test]
    fn objects_are_those_of_the_documentation() {
        let target = target();
        let wire = Wire(&target);
        let ask = Ask {
            id: 7,
            task: 1,
            point: vec![-80.0, 0.7],
            fidelity: 0,
            why: Why::Search,
            because: None,
            unit: vec![],
        };
        assert_eq!(
            wire.ask(&ask, &[]),
            "{\"ask\":{\"id\":7,\"setting\":{\"p0\":-80.0,\"alpha\":0.7},\"fidelity\":\"short\",\"samples\":10,\"cost\":1.0}}"
        );
        let told = |value, cost| Told {
            point: vec![],
            asked_at: vec![],
            told_at: false,
            fidelity: 0,
            why: Why::Search,
            value,
            kpis: vec![],
            cost,
            because: None,
            unit: vec![],
        };
        assert_eq!(wire.told(&ask, &told(Some(0.1), 1.0)), "{\"tell\":{\"id\":7,\"value\":0.1}}");
        assert_eq!(
            wire.told(&ask, &told(Some(0.1), 2.0)),
            "{\"tell\":{\"id\":7,\"value\":0.1,\"cost\":2.0}}"
        );
        assert_eq!(wire.told(&ask, &told(None, 1.0)), "{\"fail\":{\"id\":7}}");
        let ended = Ended {
            point: Some(ask.point.clone()),
            mean: 1.5,
            deviation: 0.25,
            reason: Reason::Budget,
            spent: 60.0,
            outliers: 0,
            unassured: false,
        };
        assert_eq!(
            wire.recommendation(&ended),
            "{\"recommendation\":{\"setting\":{\"p0\":-80.0,\"alpha\":0.7},\"mean\":1.5,\"deviation\":0.25,\"reason\":\"budget\",\"spent\":60.0}}"
        );
        let nothing = Ended { point: None, outliers: 2, ..ended };
        assert_eq!(
            wire.recommendation(&nothing),
            "{\"recommendation\":{\"setting\":null,\"reason\":\"budget\",\"spent\":60.0,\"outliers\":2}}"
        );
        let standing = Standing {
            spent: 7.0,
            budget: 100.0,
            best: Some(3.2),
            in_use: Some(2.9),
            lacking: vec![],
            broken: [("value".to_string(), [1, 6])].into(),
            expected: None,
            outliers: 0,
        };
        assert_eq!(
            wire.status(1, 7, &standing),
            "{\"status\":{\"task\":1,\"answered\":7,\"spent\":7.0,\"budget\":100.0,\"best\":3.2,\"expected\":null,\"outliers\":0,\"in_use\":2.9,\"broken\":{\"value\":[1,6]}}}"
        );
        assert!(wire.ask(&ask, &[5, 6]).ends_with("\"cost\":1.0,\"beside\":[5,6]}}"));
        assert_eq!(wire.pending(std::slice::from_ref(&ask)), "{\"pending\":[7]}");
        assert_eq!(wire.error("a \"b\"\n"), "{\"error\":\"a \\\"b\\\"\\n\"}");
    }

    #[test]
    fn requests_are_read_and_others_refused() {
        let read = |text: &str| serde_json::from_str::<Request>(text).ok();
        assert_eq!(
            read("{\"tell\":{\"id\":7,\"value\":3.2}}"),
            Some(Request::Tell(Tell {
                id: 7,
                value: 3.2,
                kpis: BTreeMap::new(),
                cost: None,
                conditions: BTreeMap::new()
            }))
        );
        assert_eq!(read("{\"fail\":{\"id\":7}}"), Some(Request::Fail(Fail { id: 7 })));
        assert_eq!(read("{\"stop\":{}}"), Some(Request::Stop(Nothing {})));
        assert_eq!(read("{\"ask\":{}}"), Some(Request::Ask(Nothing {})));
        assert_eq!(read("{\"status\":{}}"), Some(Request::Status(Nothing {})));
        assert_eq!(read("{\"next_task\":{}}"), Some(Request::NextTask(NextTask { deployed: None })));
        for bad in
            ["", "{}", "7", "{\"tell\":{}}", "{\"tell\":{\"id\":7,\"value\":1,\"x\":2}}", "{\"go\":{}}"]
        {
            assert_eq!(read(bad), None, "{bad}");
        }
    }
}

//! A seeded run of three tasks has the digest that is committed beside these tests.
//!
//! `UPDATE_GOLDEN=1 cargo test -p foretune-tests --test digests` writes them anew: whoever changes what the
//! optimizer does sees it in the diff.

use std::fmt::Write;
use std::path::Path;

#[path = "../core/tests/tuning/support.rs"]
#[allow(dead_code, reason = "shared with the tests of the core, which need more of it")]
mod support;

use foretune_core::snapshot::Crc;
use foretune_core::{
    Bandwidth, Details, Goal, Information, Map, Prior, Problem, Recommend, Scaling, Settings, Step, Weights,
};
use support::{Event, PROBLEM, SETTINGS, Toy, three_tasks, variants};

/// Every method with both maps, and some other settings.
fn runs() -> Vec<(String, Problem<'static>, Settings)> {
    let mut runs: Vec<_> = variants(SETTINGS)
        .map(unit_signal)
        .map(|settings| (format!("{:?} {:?}", settings.map, settings.details.method), PROBLEM, settings))
        .collect();
    let minimise = Problem { goal: Goal::Minimise, ..PROBLEM };
    let paper = Settings {
        map: Map::Deep { width: 4 },
        carried: 0,
        steps_per_round: 0,
        details: Details {
            prior: Prior { weights: Weights::Fixed(0.5), ..SETTINGS.details.prior },
            scaling: Scaling::Fixed { mean: 0.5, deviation: 0.3 },
            information: Information::Paper,
            kde_mix: 0.0,
            bandwidth: Bandwidth::Fixed(1.0 / 1.326),
            step: Step::Plain { rate: 1e-3 },
            ..SETTINGS.details
        },
        ..SETTINGS
    };
    let other = Settings {
        memory_after: 0.4,
        details: Details {
            information: Information::Paper,
            recommend: Recommend::Anywhere,
            step: Step::Plain { rate: 0.02 },
            scaling: Scaling::Initial,
            remeasure: false,
            ..SETTINGS.details
        },
        ..SETTINGS
    };
    runs.push(("minimise".into(), minimise, SETTINGS));
    runs.push(("as in the paper".into(), PROBLEM, unit_signal(paper)));
    runs.push(("plain steps, initial scale, fresh look, anywhere".into(), PROBLEM, other));
    let details = Details { recommend: Recommend::Measured, ..SETTINGS.details };
    let settings = Settings { verify: 0.3, details, ..SETTINGS };
    runs.push(("measured before it is recommended".into(), PROBLEM, settings));
    runs
}

/// The paper's deep map has no signal variance of its own: it is 1.
fn unit_signal(mut settings: Settings) -> Settings {
    if settings.map != Map::Ard {
        settings.details.prior.signal.mean = 0.0;
    }
    settings
}

fn digest(problem: Problem<'_>, settings: Settings) -> (usize, u32) {
    let mut memory = Box::new(Toy::new());
    let mut tuner = memory.start(problem, settings, 2026).unwrap();
    let events = three_tasks(&mut tuner);
    let mut crc = Crc::new();
    let mut add = |words: &[u32]| words.iter().for_each(|word| crc.update(&word.to_le_bytes()));
    for event in &events {
        match event {
            Event::Query { fidelity, point, unit, .. } => {
                add(&[*fidelity as u32]);
                add(point);
                add(unit);
            }
            Event::End { stop, recommendation, particles, carried } => {
                add(&[*stop as u32]);
                add(recommendation.as_deref().unwrap_or_default());
                add(particles);
                add(carried);
            }
        }
    }
    (events.len() - 3, crc.value())
}

#[test]
fn seeded_runs_have_the_committed_digests() {
    let mut text = String::from("# digest, queries in three tasks, run\n");
    for (name, problem, settings) in runs() {
        let (queries, digest) = digest(problem, settings);
        writeln!(text, "{digest:08x} {queries:>3}  {name}").unwrap();
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("digests.txt");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&file, &text).unwrap();
    }
    let committed = std::fs::read_to_string(&file).expect("the committed digests");
    assert_eq!(text, committed, "what the optimizer does has changed; see the head of this file");
}

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
    Bandwidth, Goal, Information, LearningSettings, Map, ModelSettings, Prior, Problem, Recommend, Scaling,
    SearchSettings, Settings, Step, TransferSettings, Weights,
};
use support::{Event, PROBLEM, SETTINGS, Toy, finish_task, variants};

/// Every method with both maps, and some other settings.
fn runs() -> Vec<(String, Problem<'static>, Settings)> {
    let mut runs: Vec<_> = variants(SETTINGS)
        .map(unit_signal)
        .map(|settings| (format!("{:?} {:?}", settings.model.map, settings.method), PROBLEM, settings))
        .collect();
    let minimise = Problem { goal: Goal::Minimise, ..PROBLEM };
    let paper = Settings {
        model: ModelSettings {
            map: Map::Deep { width: 4 },
            prior: Prior { weights: Weights::Fixed(0.5), ..SETTINGS.model.prior },
            scaling: Scaling::Fixed { mean: 0.5, deviation: 0.3 },
            ..SETTINGS.model
        },
        search: SearchSettings { information: Information::Paper, ..SETTINGS.search },
        transfer: TransferSettings { kde_mix: 0.0, carried: 0, ..SETTINGS.transfer },
        learning: LearningSettings {
            bandwidth: Bandwidth::Fixed(1.0 / 1.326),
            step: Step::Plain { rate: 1e-3 },
            steps_per_round: 0,
            ..SETTINGS.learning
        },
        ..SETTINGS
    };
    let other = Settings {
        search: SearchSettings {
            information: Information::Paper,
            recommend: Recommend::Anywhere,
            ..SETTINGS.search
        },
        learning: LearningSettings { step: Step::Shared { rate: 0.02 }, ..SETTINGS.learning },
        model: ModelSettings { scaling: Scaling::Initial, ..SETTINGS.model },
        transfer: TransferSettings { memory_after: 0.4, remeasure: false, ..SETTINGS.transfer },
        ..SETTINGS
    };
    runs.push(("minimise".into(), minimise, SETTINGS));
    runs.push(("as in the paper".into(), PROBLEM, unit_signal(paper)));
    runs.push(("shared moment, initial scale, fresh look, anywhere".into(), PROBLEM, other));
    let search = SearchSettings { recommend: Recommend::Measured, verify: 0.3, ..SETTINGS.search };
    runs.push(("measured before it is recommended".into(), PROBLEM, Settings { search, ..SETTINGS }));
    runs
}

/// The paper's deep map has no signal variance of its own: it is 1.
fn unit_signal(mut settings: Settings) -> Settings {
    if settings.model.map != Map::Ard {
        settings.model.prior.signal.mean = 0.0;
    }
    settings
}

fn digest(problem: Problem<'_>, settings: Settings) -> (usize, u32) {
    let mut memory = Box::new(Toy::new());
    let mut tuner = memory.start(problem, settings, 2026).unwrap();
    let mut events = Vec::new();
    for _ in 0..3 {
        finish_task(&mut tuner, &[], &mut events);
        tuner.next_task().unwrap();
    }
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

//! Made-up studies of every figure, in memory. Nothing here was measured: the values follow simple formulas, so that
//! some claims hold and some do not.

use super::StudyData;
use host_sim::results::{Manifest, TaskSummary, Timing, Variant};

fn variant(method: &str, label: &str, particles: u32, setting: Option<(&str, f64)>) -> Variant {
    let mut settings: std::collections::BTreeMap<_, _> =
        [("particles".to_string(), particles.into()), ("kernel".to_string(), "deep".into())].into();
    let mut key = format!("{method}-v{particles}");
    if let Some((name, value)) = setting {
        settings.insert(name.into(), value.into());
        key += &format!("-{name}{value}");
    }
    Variant { key, label: label.into(), method: method.into(), settings }
}

fn variants(study: &str) -> Vec<Variant> {
    let mf = variant("mf-mes", "MF-MES", 1, None);
    let continual = variant("continual", "Continual MF-MES", 10, None);
    let mft = |beta: f64| variant("mft-mes", &format!("MFT-MES, β = {beta}"), 10, Some(("beta", beta)));
    let share = |c: f64| variant("two-phase", &format!("Two-phase, c = {c}"), 10, Some(("c", c)));
    match study {
        "fig3" => vec![
            mf,
            variant("continual", "Continual MF-MES, V = 5", 5, None),
            variant("continual", "Continual MF-MES, V = 10", 10, None),
            variant("mft-mes", "MFT-MES, V = 5", 5, Some(("beta", 0.6))),
            variant("mft-mes", "MFT-MES, V = 10", 10, Some(("beta", 0.6))),
        ],
        "fig4" | "fig6" | "fig10" => {
            let betas = [0.2, 0.4, 0.5, 0.6, 0.75, 0.8, 1.0, 1.2];
            [mf, continual].into_iter().chain(betas.map(mft)).collect()
        }
        "fig7" => vec![
            mf,
            continual,
            mft(0.75),
            variant("separation", "Separation", 10, Some(("c", 0.6))),
            variant("separation-myopic", "Separation, myopic", 10, Some(("c", 0.6))),
            variant("two-phase", "Two-phase", 10, Some(("c", 0.6))),
        ],
        "fig8" => [mf, continual].into_iter().chain([1.0, 0.8, 0.6, 0.4, 0.2].map(share)).collect(),
        _ => vec![mf, continual, mft(0.75)],
    }
}

/// A number in [-1, 1] that looks random.
fn noise(seeds: [u32; 3]) -> f64 {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for seed in seeds {
        state = (state ^ u64::from(seed)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        state ^= state >> 29;
    }
    (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

/// A regret that falls with the tasks, faster for methods that transfer.
fn regret(variant: &Variant, task: u32) -> f64 {
    let n = f64::from(task);
    let beta = variant.number("beta").unwrap_or(0.0);
    let share = variant.number("c").map_or(0.0, |c| 1.0 - c);
    let particles = variant.number("particles").unwrap_or(1.0);
    let transfer = match variant.method.as_str() {
        "mf-mes" => return 1.3,
        "continual" => 0.1,
        "mft-mes" => 0.1 + 0.25 * (beta / 0.7).min(1.4 / (beta + 0.7)),
        "separation" => 0.3,
        "separation-myopic" => 0.28,
        _ => 0.1 + 0.3 * share.min(0.9 - share),
    };
    let price = 0.12 * beta + 0.15 * share;
    (0.95 + price + 0.6 / particles) * (1.0 + n).powf(-transfer * (1.0 + 0.02 * n))
}

pub fn study(name: &str, experiments: u32) -> StudyData {
    let (problem, tasks) = match name {
        "fig5" | "fig6" => ("rrm", 40),
        "fig9" | "fig10" => ("gas", 17),
        _ => ("hartmann6", 10),
    };
    let variants = variants(name);
    let mut rows = Vec::new();
    for (v, variant) in variants.iter().enumerate() {
        for (experiment, task) in (1..=experiments).flat_map(|e| (1..=tasks).map(move |t| (e, t))) {
            let common = 0.3 * noise([experiment, task, 0]);
            let own = 0.35 * noise([experiment, task, v as u32 + 1]);
            let optimum = if problem == "rrm" { 46.0 } else { 3.5 };
            let scale = if problem == "rrm" { 8.0 } else { 1.0 };
            let lost = scale * regret(variant, task) * (1.0 + common + own);
            rows.push(TaskSummary {
                variant: v,
                experiment,
                task,
                queries: 35,
                spent: 500.0,
                best: optimum - lost,
                recommended: optimum - 1.25 * lost,
                optimum,
                mean_tried: Some(optimum - 2.2 * lost),
                ..TaskSummary::default()
            });
        }
    }
    let manifest = Manifest {
        format: 1,
        study: name.into(),
        preset: "paper".into(),
        problem: problem.into(),
        options: [("order".to_string(), "printed".into())].into(),
        seed: 20_240_229,
        version: "0.0.0-fixture".into(),
        command: format!("foretune-paper reproduce {name} --experiments {experiments}"),
        experiments,
        tasks,
        variants,
    };
    let timing = Some(Timing { wall_seconds: 5025.0, work_seconds: 9800.0, jobs: 2, cores: 2, runs: 1 });
    StudyData {
        name: format!("{name}-fixture"),
        manifest,
        rows,
        notes: Vec::new(),
        timing,
        trails: Vec::new(),
    }
}

/// A made-up study of every figure, the first also with another preset, and one that is no figure.
pub fn all(experiments: u32) -> Vec<StudyData> {
    let mut all: Vec<StudyData> =
        (3..=10).map(|number| study(&format!("fig{number}"), experiments)).collect();
    let mut ours = study("fig3", experiments);
    ours.manifest.preset = "default".into();
    for row in &mut ours.rows {
        row.best = row.optimum - 0.7 * (row.optimum - row.best);
    }
    all.push(ours);
    let mut other = study("fig8", experiments);
    other.manifest.study = "my-own-study".into();
    other.manifest.preset = "default".into();
    all.push(other);
    all
}

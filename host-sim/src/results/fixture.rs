//! Made-up studies for tests. Nothing here was measured.

use std::path::Path;

use super::{FORMAT, Kind, Manifest, Resumed, Row, Study, Terms, UnitId, UnitWriter, Variant};

/// The unit that `unit_bytes` belongs to.
pub const UNIT: UnitId = UnitId { variant: 1, experiment: 2 };

/// A study of two variants, two experiments and three tasks.
pub fn manifest() -> Manifest {
    let variant = |key: &str, label: &str, beta: f64| Variant {
        key: key.into(),
        label: label.into(),
        method: key.into(),
        settings: [("beta".to_string(), beta.into()), ("particles".to_string(), 10.into())].into(),
    };
    Manifest {
        format: FORMAT,
        study: "fixture".into(),
        preset: "paper".into(),
        problem: "hartmann6".into(),
        options: [("order".to_string(), "printed".into())].into(),
        seed: 7,
        version: "0.0.0-fixture".into(),
        command: "foretune run --fixture".into(),
        experiments: 2,
        tasks: 3,
        variants: vec![variant("mf-mes", "MF-MES", 0.0), variant("mft-mes", "MFT-MES", 0.6)],
    }
}

/// The rows of a made-up task: two initial points, a carried one, two searched ones, a recommendation.
pub fn rows(unit: UnitId, task: u32) -> Vec<Row> {
    let kinds = [Kind::Initial, Kind::Initial, Kind::Carried, Kind::Search, Kind::Search, Kind::Recommend];
    let value =
        |i: usize| (f64::from(unit.experiment * 31 + task * 7) + i as f64 + unit.variant as f64).sin();
    let row = |(i, kind): (usize, Kind)| Row {
        kind,
        fidelity: if kind == Kind::Recommend { 4 } else { i as u32 % 4 + 1 },
        cost: if matches!(kind, Kind::Carried | Kind::Search) { 10.0 + 5.0 * (i % 4) as f64 } else { 0.0 },
        time: (kind != Kind::Recommend).then_some(10.0 + 5.0 * (i % 4) as f64),
        x: vec![value(i + 9).abs(), value(i + 5) / 3.0],
        y: (kind != Kind::Recommend).then(|| value(i) + 0.01),
        truth: Some(value(i)),
        kpis: Vec::new(),
    };
    kinds.into_iter().enumerate().map(row).collect()
}

pub fn write_task(writer: &mut UnitWriter, unit: UnitId, task: u32) {
    let terms =
        Terms { optimum: 1.5 + f64::from(task), deployed: Some(0.5), floor: Some(0.25), bounds: Vec::new() };
    let mut open = writer.begin_task(terms).unwrap();
    for row in rows(unit, task) {
        open.push(row).unwrap();
    }
    open.close().unwrap();
    writer.save_snapshot(format!("state after {task}").as_bytes()).unwrap();
}

pub fn write_units(study: &Study, units: impl IntoIterator<Item = UnitId>) {
    for unit in units {
        if let Resumed::Continue { mut writer, .. } = study.open_unit(unit).unwrap() {
            while writer.next_task() <= study.manifest().tasks {
                let task = writer.next_task();
                write_task(&mut writer, unit, task);
            }
            writer.finish().unwrap();
        }
    }
}

pub fn whole_study(folder: &Path) -> Study {
    let study = Study::create(folder, manifest()).unwrap();
    write_units(&study, study.manifest().units());
    study.write_summary().unwrap();
    study
}

#[cfg(test)]
pub fn unit_bytes() -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let study = Study::create(&folder.path().join("study"), manifest()).unwrap();
    write_units(&study, [UNIT]);
    std::fs::read(study.unit_path(UNIT)).unwrap()
}

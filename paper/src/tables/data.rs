//! `results/`: what the studies behind the documents measured, one number per task.
//!
//! `studies.json` says of every study what was run; `GROUP.csv` has a row per experiment and measure, and a column per
//! task. A study's name is `GROUP/STUDY`.

use std::collections::BTreeMap;
use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use foretune_report::Metric;
use foretune_report::stats::Estimate;
use host_sim::error::Error;
use host_sim::results::{Loaded, Manifest, Study, TaskSummary};

/// What a study tells of a task, by the names of the columns of `tasks.csv`.
pub const BEST: &str = "best";
pub const RECOMMENDED: &str = "recommended";
pub const MEANWHILE: &str = "meanwhile";
pub const BELOW: &str = "below";
pub const BELOW_TIME: &str = "below_time";
pub const WORST: &str = "worst";
pub const SPENT: &str = "spent";

/// The settings that tell the variants of a study apart; the others follow from its command.
const SETTINGS: [&str; 3] = ["particles", "beta", "c"];

pub type Run<'a> = (&'a str, &'a str);

#[derive(Debug, Default)]
pub struct Results {
    folder: PathBuf,
    studies: BTreeMap<String, Manifest>,
    /// Study, variant, measure: experiments, each with its tasks.
    series: BTreeMap<(String, String, String), Vec<Vec<f64>>>,
}

/// How a study's values are compared with the optimum: in service by the value itself, unless the paper has a ratio.
fn metric(manifest: &Manifest) -> Metric {
    match Metric::of(manifest) {
        Metric::Regret if in_service(manifest) => Metric::Value,
        other => other,
    }
}

fn in_service(manifest: &Manifest) -> bool {
    manifest.options.contains_key("deployed")
}

/// What is told of every guard, before its name.
const OF_GUARDS: [&str; 3] = ["broken_time_", "recommended_", "meanwhile_"];

fn measures(manifest: &Manifest) -> Vec<String> {
    let plain: &[&str] = if in_service(manifest) {
        &[RECOMMENDED, MEANWHILE, BELOW, BELOW_TIME, WORST, SPENT]
    } else {
        &[BEST, RECOMMENDED]
    };
    let guards = manifest.guards();
    let of_guards = OF_GUARDS.iter().flat_map(|of| guards.iter().map(move |name| format!("{of}{name}")));
    plain.iter().map(|name| (*name).to_string()).chain(of_guards).collect()
}

fn measured(row: &TaskSummary, manifest: &Manifest, measure: &str) -> Option<f64> {
    let metric = metric(manifest);
    let value = |value| metric.measure(value, row.optimum);
    for (name, guard) in manifest.guards().iter().zip(&row.guards) {
        let of = |i: usize| measure.strip_prefix(OF_GUARDS[i]) == Some(name);
        let found = [guard.broken_time, guard.recommended, guard.meanwhile];
        if let Some(i) = (0..found.len()).find(|i| of(*i)) {
            return Some(found[i]);
        }
    }
    match measure {
        BEST => Some(value(row.best)),
        RECOMMENDED => Some(value(row.recommended)),
        MEANWHILE => row.meanwhile.map(value),
        BELOW => row.below,
        BELOW_TIME => row.below_time,
        WORST => row.worst.map(value),
        _ => Some(row.spent),
    }
}

impl Results {
    pub fn read(folder: &Path) -> Result<Self, Error> {
        let path = folder.join("studies.json");
        let text = fs::read_to_string(&path).map_err(Error::io("read", &path))?;
        let studies: BTreeMap<String, Manifest> =
            serde_json::from_str(&text).map_err(|e| Error::damaged(&path, e.line(), e.to_string()))?;
        let mut results = Self { folder: folder.to_owned(), studies, series: BTreeMap::new() };
        let mut groups: Vec<String> = results.studies.keys().map(|name| group(name).to_owned()).collect();
        groups.dedup();
        groups.iter().try_for_each(|group| results.read_group(group))?;
        Ok(results)
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn read_group(&mut self, group: &str) -> Result<(), Error> {
        let path = self.folder.join(format!("{group}.csv"));
        let text = fs::read_to_string(&path).map_err(Error::io("read", &path))?;
        for (line, row) in text.lines().enumerate().skip(1) {
            self.read_row(group, row).map_err(|problem| Error::damaged(&path, line + 1, problem))?;
        }
        Ok(())
    }

    fn read_row(&mut self, group: &str, row: &str) -> Result<(), String> {
        let mut fields = row.split(',');
        let mut word = || fields.next().unwrap_or_default().to_string();
        let (study, variant, measure, experiment) = (format!("{group}/{}", word()), word(), word(), word());
        let values: Result<Vec<f64>, _> = fields.map(str::parse).collect();
        let values = values.map_err(|error| error.to_string())?;
        let manifest = self.studies.get(&study).ok_or_else(|| format!("studies.json has no {study}"))?;
        let series = self.series.entry((study, variant, measure)).or_default();
        if values.len() != manifest.tasks as usize || experiment != (series.len() + 1).to_string() {
            return Err(format!("experiments come in order, each with {} tasks", manifest.tasks));
        }
        series.push(values);
        Ok(())
    }

    pub fn manifest(&self, study: &str) -> Result<&Manifest, Error> {
        self.studies.get(study).ok_or_else(|| Error::refused(&self.folder, format!("has no study {study}")))
    }

    /// What `opponents.py` wrote of a method on a problem: the mean regret over some tasks, experiment by experiment.
    pub fn of_others(
        &self,
        problem: &str,
        method: &str,
        tasks: &RangeInclusive<u32>,
    ) -> Result<Vec<f64>, Error> {
        let path = self.folder.join("opponents.csv");
        let text = fs::read_to_string(&path).map_err(Error::io("read", &path))?;
        let mut means = Vec::new();
        for (line, row) in text.lines().enumerate().skip(1) {
            let wanted = format!("{problem},{method},{},", means.len() + 1);
            if let Some(numbers) = row.strip_prefix(&wanted) {
                let numbers: Result<Vec<f64>, _> = numbers.split(',').map(str::parse).collect();
                let numbers = numbers.map_err(|error| Error::damaged(&path, line + 1, error.to_string()))?;
                let some = numbers.get(*tasks.start() as usize - 1..*tasks.end() as usize);
                let some = some.ok_or_else(|| Error::damaged(&path, line + 1, "has too few tasks"))?;
                means.push(some.iter().sum::<f64>() / some.len() as f64);
            }
        }
        Ok(means)
    }

    /// Every experiment of a variant, with the measure in each of its tasks.
    pub fn series(&self, (study, variant): Run<'_>, measure: &str) -> Result<&[Vec<f64>], Error> {
        let missing = || Error::refused(&self.folder, format!("has no {measure} of {variant} in {study}"));
        self.series
            .get(&(study.into(), variant.into(), measure.into()))
            .map(Vec::as_slice)
            .ok_or_else(missing)
    }

    /// The mean over some tasks, experiment by experiment.
    pub fn means(&self, run: Run<'_>, measure: &str, tasks: &RangeInclusive<u32>) -> Result<Vec<f64>, Error> {
        let (first, last) = (*tasks.start() as usize - 1, *tasks.end() as usize);
        let mean = |values: &Vec<f64>| {
            let some = values.get(first..last)?;
            Some(some.iter().sum::<f64>() / some.len() as f64)
        };
        let means: Option<Vec<f64>> = self.series(run, measure)?.iter().map(mean).collect();
        means.ok_or_else(|| Error::refused(&self.folder, format!("{} has no task {last}", run.0)))
    }

    pub fn value(&self, run: Run<'_>, measure: &str, tasks: RangeInclusive<u32>) -> Result<Estimate, Error> {
        self.estimate(&self.means(run, measure, &tasks)?)
    }

    /// By how much the first is better than the second, paired over the experiments that both have.
    pub fn lead(
        &self,
        ours: Run<'_>,
        theirs: Run<'_>,
        measure: &str,
        tasks: RangeInclusive<u32>,
    ) -> Result<Estimate, Error> {
        Ok(self.compared(ours, theirs, measure, tasks)?.1)
    }

    /// The second's value over the experiments that both have, and by how much the first is better there.
    pub fn compared(
        &self,
        ours: Run<'_>,
        theirs: Run<'_>,
        measure: &str,
        tasks: RangeInclusive<u32>,
    ) -> Result<(Estimate, Estimate), Error> {
        let metric = metric(self.manifest(ours.0)?);
        let (ours, mut theirs) = (self.means(ours, measure, &tasks)?, self.means(theirs, measure, &tasks)?);
        theirs.truncate(ours.len());
        let gains: Vec<f64> = ours.iter().zip(&theirs).map(|(&a, &b)| metric.gain(a, b)).collect();
        Ok((self.estimate(&theirs)?, self.estimate(&gains)?))
    }

    pub fn estimate(&self, values: &[f64]) -> Result<Estimate, Error> {
        Estimate::of(values).ok_or_else(|| Error::refused(&self.folder, "a study has no experiment"))
    }

    /// Takes finished studies into a group, in place of those of the same name, and writes the group's files.
    pub fn add(&mut self, group: &str, folders: &[PathBuf]) -> Result<(), Error> {
        for folder in folders {
            let study = Study::open(folder)?;
            let Loaded { rows, notes } = study.load()?;
            if let Some(note) = notes.first() {
                return Err(Error::refused(folder, note.clone()));
            }
            let name = folder.file_name().unwrap_or(folder.as_os_str()).to_string_lossy();
            self.take(format!("{group}/{name}"), study.manifest(), &rows);
        }
        self.write(group)
    }

    fn take(&mut self, study: String, manifest: &Manifest, rows: &[TaskSummary]) {
        self.series.retain(|(name, ..), _| *name != study);
        let mut manifest = manifest.clone();
        for variant in &mut manifest.variants {
            variant.settings.retain(|name, _| SETTINGS.contains(&name.as_str()));
        }
        for measure in measures(&manifest) {
            for row in rows {
                let key = manifest.variants[row.variant].key.clone();
                let series = self.series.entry((study.clone(), key, measure.clone())).or_default();
                series.resize_with(series.len().max(row.experiment as usize), Vec::new);
                let value = measured(row, &manifest, &measure).unwrap_or(f64::NAN);
                series[row.experiment as usize - 1].push(value);
            }
        }
        self.studies.insert(study, manifest);
    }

    fn write(&self, group: &str) -> Result<(), Error> {
        let line = |(name, manifest)| Ok(format!("{name:?}: {}", serde_json::to_string(manifest)?));
        let lines: Result<Vec<String>, serde_json::Error> = self.studies.iter().map(line).collect();
        let path = self.folder.join("studies.json");
        let lines = lines.map_err(|error| Error::refused(&path, error.to_string()))?;
        fs::write(&path, format!("{{\n{}\n}}\n", lines.join(",\n"))).map_err(Error::io("write", &path))?;
        let path = self.folder.join(format!("{group}.csv"));
        fs::write(&path, self.rows(group)).map_err(Error::io("write", &path))
    }

    fn rows(&self, of: &str) -> String {
        let ours = || self.studies.iter().filter(|(name, _)| group(name) == of);
        let tasks = ours().map(|(_, manifest)| manifest.tasks).max().unwrap_or(0);
        let head: String = (1..=tasks).map(|task| format!(",{task}")).collect();
        let mut text = format!("study,variant,measure,experiment{head}\n");
        for (name, manifest) in ours() {
            for variant in manifest.variants.iter().map(|variant| &variant.key) {
                for measure in measures(manifest) {
                    let series = self.series.get(&(name.clone(), variant.clone(), measure.clone()));
                    for (i, values) in series.into_iter().flatten().enumerate() {
                        let values: String = values.iter().map(|&v| format!(",{}", rounded(v))).collect();
                        let study = &name[of.len() + 1..];
                        text += &format!("{study},{variant},{measure},{}{values}\n", i + 1);
                    }
                }
            }
        }
        text
    }
}

fn group(study: &str) -> &str {
    study.split('/').next().unwrap_or(study)
}

/// Six significant digits: no table prints more than four.
fn rounded(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

/// Three figures, or all before the point.
pub(super) fn short(value: f64) -> String {
    let digits = match value.abs() {
        v if v < 1.0 => 3,
        v if v < 10.0 => 2,
        _ => 0,
    };
    fixed(value, digits)
}

/// With so many decimals, and a minus as people write it.
pub(super) fn fixed(value: f64, decimals: usize) -> String {
    format!("{value:.decimals$}").replace('-', "−")
}

pub fn mean(value: Estimate) -> String {
    let half = value.half_width.map_or(String::new(), |half| format!(" ± {}", fixed(half, 3)));
    fixed(value.mean, 3) + &half
}

/// A difference with its interval, bold where it is significant.
pub fn difference(value: Estimate) -> String {
    let text = mean(value);
    let signed = if text.starts_with('−') { text } else { format!("+{text}") };
    if value.sign() == 0 { signed } else { format!("**{signed}**") }
}

/// An opponent's cell: plain where we are significantly better, bold where the opponent is, `≈` where they are tied.
pub(super) fn against(text: String, lead: Estimate) -> String {
    match lead.sign() {
        1 => text,
        0 => format!("{text} ≈"),
        _ => format!("**{text}**"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use host_sim::results::Variant;

    #[test]
    fn files_are_written_as_they_are_read() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../results");
        let (results, copy) = (Results::read(&folder).unwrap(), tempfile::tempdir().unwrap());
        let moved = Results { folder: copy.path().into(), ..Results::read(&folder).unwrap() };
        for name in results.studies.keys().map(|name| group(name)) {
            moved.write(name).unwrap();
        }
        for file in fs::read_dir(copy.path()).unwrap().map(|file| file.unwrap().file_name()) {
            let [is, was] = [copy.path(), &folder].map(|folder| fs::read(folder.join(&file)).unwrap());
            assert!(is == was, "{}", file.display());
        }
    }

    fn manifest(problem: &str, deployed: bool) -> Manifest {
        let settings = [("beta".to_string(), 1.0.into()), ("candidates".to_string(), 128.into())].into();
        let options = deployed.then(|| ("deployed".to_string(), "default".into())).into_iter().collect();
        Manifest {
            problem: problem.into(),
            options,
            experiments: 2,
            tasks: 1,
            variants: vec![Variant { key: "a".into(), label: "A".into(), method: "a".into(), settings }],
            ..Manifest::default()
        }
    }

    fn row(experiment: u32, best: f64) -> TaskSummary {
        TaskSummary {
            experiment,
            task: 1,
            spent: 10.0,
            best,
            recommended: best - 1.0,
            optimum: 4.0,
            meanwhile: Some(best - 2.0),
            below: Some(0.5),
            worst: Some(0.0),
            ..TaskSummary::default()
        }
    }

    #[test]
    fn a_study_is_measured_as_its_problem_says_and_keeps_what_sets_variants_apart() {
        let mut results = Results::default();
        for (name, problem, deployed) in
            [("regret", "gas", false), ("ratio", "rrm", true), ("value", "gas", true)]
        {
            results.take(format!("g/{name}"), &manifest(problem, deployed), &[row(1, 3.0), row(2, 4.0)]);
        }
        let series = |study, measure| results.series((study, "a"), measure).unwrap().concat();
        assert_eq!(series("g/regret", RECOMMENDED), [2.0, 1.0]);
        assert_eq!(series("g/ratio", MEANWHILE), [0.25, 0.5]);
        assert_eq!(series("g/value", RECOMMENDED), [2.0, 3.0]);
        assert_eq!(series("g/value", SPENT), [10.0, 10.0]);
        assert!(results.series(("g/regret", "a"), MEANWHILE).is_err());
        let settings = &results.manifest("g/regret").unwrap().variants[0].settings;
        assert_eq!(settings.keys().collect::<Vec<_>>(), ["beta"]);
        let lead = results.lead(("g/ratio", "a"), ("g/ratio", "a"), RECOMMENDED, 1..=1).unwrap();
        assert_eq!((lead.n, lead.mean), (2, 0.0));
        assert!(results.value(("g/regret", "a"), BEST, 2..=2).unwrap_err().to_string().contains("no task 2"));
    }

    #[test]
    fn a_damaged_row_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let mut results = Results { folder: folder.path().into(), ..Results::default() };
        results.take("g/s".into(), &manifest("gas", false), &[row(1, 3.0), row(2, 4.0)]);
        results.write("g").unwrap();
        let (path, text) = (folder.path().join("g.csv"), results.rows("g"));
        for (from, to, words) in [
            ("best,2,0", "best,3,0", "in order"),
            ("1,1\n", "1,x\n", "invalid float"),
            ("s,a,best,1", "t,a,best,1", "has no g/t"),
        ] {
            assert!(text.contains(from), "{text}");
            fs::write(&path, text.replacen(from, to, 1)).unwrap();
            let error = Results::read(folder.path()).unwrap_err().to_string();
            assert!(error.contains("g.csv, line ") && error.contains(words), "{error}");
        }
    }
}

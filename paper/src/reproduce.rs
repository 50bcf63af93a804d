//! The paper's figures, made anew: a study for each.
//!
//! A curve that is in two figures is the same variant with the same key, so that its units can be taken over from the
//! figure that ran first instead of running again.

use crate::figures::{Beta, Figure, Line};
use foretune_report::plot::short_number;
use host_sim::error::Error;
use host_sim::method::Method;
use host_sim::problems::Problem;
use host_sim::runner::{Benchmark, Identity, Plan, Variant};
use host_sim::settings::{Assignment, Preset, Setup};
use host_sim::words::shortest;

/// What is asked of all figures alike.
#[derive(Clone, Debug)]
pub struct Request {
    /// What the settings start from.
    pub preset: Preset,
    /// Settings over the preset's.
    pub assignments: Vec<Assignment>,
    /// Repetitions.
    pub experiments: u32,
    /// Tasks, if not the paper's number.
    pub tasks: Option<u32>,
    /// Budget of a task, if not the problem's.
    pub budget: Option<f64>,
    /// Root of all randomness.
    pub seed: u64,
}

impl Figure {
    /// The study that makes the figure.
    ///
    /// # Errors
    /// [`Error::Usage`] naming a setting that makes no sense.
    pub fn plan(&self, request: &Request) -> Result<Plan, Error> {
        let problem: Problem = self.problem.parse().map_err(|e| Error::usage(format!("{e}")))?;
        let mut benchmark = Benchmark::new(problem);
        if let Some(budget) = request.budget {
            benchmark = benchmark.with_budget(budget)?;
        }
        let mut base = Setup::new(request.preset, benchmark.spec());
        base.assign(&request.assignments)?;
        let variants = self.lines.iter().map(|line| self.variant(line, base, request)).collect();
        let identity = Identity {
            study: self.name.into(),
            preset: request.preset.name().into(),
            command: request.command(self.name),
            seed: request.seed,
            experiments: request.experiments,
            tasks: request.tasks.unwrap_or(self.tasks),
        };
        Plan::new(identity, benchmark, variants)
    }

    fn variant(&self, line: &Line, base: Setup, request: &Request) -> Variant {
        let mut setup = base;
        setup.core.particles = line.particles;
        setup.c = line.c.unwrap_or(base.c);
        match line.beta {
            Beta::Grid(beta) => setup.core.beta = beta,
            Beta::Paper(beta) if request.preset == Preset::Paper && !request.sets("beta") => {
                setup.core.beta = beta;
            }
            Beta::Paper(_) | Beta::None => {}
        }
        let several = self.lines.iter().any(|l| l.method == line.method && l.particles != line.particles);
        let (mut key, mut label) = (line.method.name().to_string(), line.method.label().to_string());
        if line.method != Method::MfMes {
            key += &format!("-v{}", line.particles);
        }
        if several {
            label += &format!(", V = {}", line.particles);
        }
        if line.beta != Beta::None {
            let beta = shortest(setup.core.beta);
            key += &format!("-b{beta}");
            label += &format!(", β = {} ({} printed)", short_number(beta), short_number(2.0 * beta));
        }
        if let Some(c) = line.c {
            key += &format!("-c{c}");
            label += &format!(", c = {c}");
        }
        Variant { key, label, method: line.method, setup }
    }
}

impl Request {
    fn sets(&self, key: &str) -> bool {
        self.assignments.iter().any(|a| a.key == key)
    }

    /// The command that makes a figure, with a settings file spelt out.
    fn command(&self, figure: &str) -> String {
        let mut text = format!("foretune-paper reproduce {figure} --preset {}", self.preset.name());
        for Assignment { key, value, .. } in &self.assignments {
            text += &format!(" --set {key}={value}");
        }
        text += &format!(" --experiments {} --seed {}", self.experiments, self.seed);
        if let Some(tasks) = self.tasks {
            text += &format!(" --tasks {tasks}");
        }
        if let Some(budget) = self.budget {
            text += &format!(" --budget {budget}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::FIGURES;

    fn request(preset: Preset) -> Request {
        Request { preset, assignments: Vec::new(), experiments: 2, tasks: None, budget: None, seed: 1 }
    }

    #[test]
    fn every_figure_has_a_sound_plan_with_both_presets() {
        for figure in FIGURES {
            for preset in [Preset::Paper, Preset::Default] {
                let plan = figure.plan(&request(preset)).unwrap();
                assert_eq!(plan.manifest().variants.len(), figure.lines.len());
                assert_eq!(plan.manifest().study, figure.name);
            }
        }
    }

    #[test]
    fn beta_is_the_papers_in_its_preset_and_ours_in_ours() {
        let beta = |request: Request| {
            let plan = Figure::named("fig5").unwrap().plan(&request).unwrap();
            let variant = plan.manifest().variants.iter().find(|v| v.method == "mft-mes").unwrap();
            (variant.number("beta").unwrap(), variant.label.clone())
        };
        let paper = beta(request(Preset::Paper));
        assert_eq!(paper, (0.8, "MFT-MES, β = 0.8 (1.6 printed)".into()));
        let ours = f64::from(foretune_core::Settings::DEFAULT.beta);
        assert!((beta(request(Preset::Default)).0 - ours).abs() < 1e-6);
        let set = Request { assignments: vec!["beta=0.1".parse().unwrap()], ..request(Preset::Paper) };
        assert_eq!(beta(set).0, 0.1);
    }

    /// What two figures share is the same unit of work, so that it needs to be run once.
    #[test]
    fn shared_curves_are_the_same_units() {
        let units = |name: &str| -> Vec<(String, u32)> {
            let plan = Figure::named(name).unwrap().plan(&request(Preset::Paper)).unwrap();
            let manifest = plan.manifest();
            manifest
                .variants
                .iter()
                .enumerate()
                .map(|(i, v)| (v.key.clone(), manifest.fingerprint(i)))
                .collect()
        };
        for (small, large, shared) in
            [("fig5", "fig6", 3), ("fig9", "fig10", 3), ("fig3", "fig4", 3), ("fig7", "fig8", 3)]
        {
            let large = units(large);
            assert_eq!(units(small).iter().filter(|unit| large.contains(unit)).count(), shared, "{small}");
        }
    }
}

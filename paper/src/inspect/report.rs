//! The answer, as JSON.

use std::io::{self, Write};

use foretune_core::internals::gp::Posterior;
use serde::Serialize;

use super::compute::{Belief, Scores};
use super::parameters::Gradient;

/// A table as `[candidate][fidelity]`.
pub type Table = Vec<Vec<f32>>;

/// One thing if the file has `params`, a list of them if it has `particles`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Answer<T> {
    /// For `params`.
    One(T),
    /// For `particles`.
    Each(Vec<T>),
}

/// What the core computes.
#[derive(Clone, Debug)]
pub struct Report {
    /// Posterior means.
    pub mean: Answer<Table>,
    /// Posterior variances, without noise.
    pub var: Answer<Table>,
    /// Posterior covariances with the truth at the same point.
    pub cov: Answer<Table>,
    /// Log marginal likelihood.
    pub lml: Answer<f32>,
    /// Its gradient.
    pub grad: Answer<Gradient>,
    /// Information, transfer and score, if the file has `particles`.
    pub scores: Option<[Table; 3]>,
    /// Where the core did otherwise than the file says.
    pub warnings: Vec<String>,
}

impl Report {
    pub(super) fn new(
        fidelities: usize,
        beliefs: Vec<Belief>,
        scores: Option<Scores>,
        warnings: Vec<String>,
    ) -> Self {
        let several = scores.is_some();
        let table = |values: &[f32]| values.chunks(fidelities).map(<[f32]>::to_vec).collect::<Table>();
        let of = |f: fn(&Posterior) -> f32| {
            let values = |belief: &Belief| belief.posterior.iter().map(f).collect::<Vec<f32>>();
            answer(several, beliefs.iter().map(|belief| table(&values(belief))))
        };
        Self {
            mean: of(|belief| belief.mean),
            var: of(|belief| belief.variance),
            cov: of(|belief| belief.covariance),
            lml: answer(several, beliefs.iter().map(|belief| belief.likelihood)),
            scores: scores.map(|scores| {
                [&scores.information, &scores.transfer, &scores.score].map(|values| table(values))
            }),
            grad: answer(several, beliefs.into_iter().map(|belief| belief.gradient)),
            warnings,
        }
    }

    /// Writes the report as JSON, a line per field.
    ///
    /// # Errors
    /// If writing fails.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut fields = vec![
            ("mean", serde_json::to_string(&self.mean)?),
            ("var", serde_json::to_string(&self.var)?),
            ("cov", serde_json::to_string(&self.cov)?),
            ("lml", serde_json::to_string(&self.lml)?),
            ("grad", serde_json::to_string(&self.grad)?),
        ];
        if let Some(scores) = &self.scores {
            for (name, table) in ["information", "transfer", "score"].into_iter().zip(scores) {
                fields.push((name, serde_json::to_string(table)?));
            }
        }
        fields.push(("warnings", serde_json::to_string(&self.warnings)?));
        let lines: Vec<String> =
            fields.iter().map(|(name, value)| format!("  \"{name}\": {value}")).collect();
        writeln!(out, "{{\n{}\n}}", lines.join(",\n"))
    }
}

fn answer<T>(several: bool, mut values: impl Iterator<Item = T>) -> Answer<T> {
    if several {
        return Answer::Each(values.collect());
    }
    match values.next() {
        Some(value) => Answer::One(value),
        None => Answer::Each(Vec::new()),
    }
}

//! The paper's claims, judged on our numbers.

use super::data::{BEST, Results};
use super::table::Table;
use super::{Error, Made};
use crate::claims::{CLAIMS, Claim};
use crate::verdict::{Finding, Verdict, judge};
use foretune_report::{Metric, Samples};

/// With the printed settings, and with those that make the deep map work.
const GROUPS: [&str; 2] = ["paper", "deep-figures"];

fn found(results: &Results, group: &str, claim: &Claim) -> Result<Finding, Error> {
    let study = format!("{group}/{}", claim.study);
    let Ok(manifest) = results.manifest(&study) else {
        return Ok(Finding { verdict: Verdict::NoData, figures: String::new() });
    };
    let series = |variant: &host_sim::results::Variant| results.series((&study, &variant.key), BEST);
    let series: Result<Vec<_>, Error> = manifest.variants.iter().map(series).collect();
    Ok(judge(&claim.test, manifest, &Samples::of(Metric::of(manifest), &series?)))
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "holds",
        Verdict::Fails => "does not hold",
        Verdict::Undecided => "undecided",
        Verdict::NoData => "not run",
    }
}

pub(super) fn claims(results: &Results) -> Made {
    let mut table = Table::new(["figure", "the paper's claim", "printed settings", "deep preset"]);
    for claim in CLAIMS {
        let [printed, deep] = GROUPS.map(|group| found(results, group, claim));
        table.push([figure(claim), text(claim), word(printed?.verdict), word(deep?.verdict)]);
    }
    Ok(table)
}

/// The numbers behind the verdicts.
pub(super) fn findings(results: &Results) -> Made {
    let mut table = Table::new(["figure", "the paper's claim", "printed settings", "deep preset"]);
    for claim in CLAIMS {
        let [printed, deep] = GROUPS.map(|group| found(results, group, claim));
        let (printed, deep) = (printed?.figures, deep?.figures);
        table.push([figure(claim), text(claim), &printed, &deep]);
    }
    Ok(table)
}

fn figure(claim: &Claim) -> &'static str {
    claim.study.trim_start_matches("fig")
}

fn text(claim: &Claim) -> &'static str {
    claim.text.trim_end_matches('.')
}

/// How many claims hold with the printed settings, in words for a document.
///
/// # Errors
/// Results that are not there.
pub fn summary(results: &Results) -> Result<String, Error> {
    let verdicts: Result<Vec<Verdict>, Error> =
        CLAIMS.iter().map(|claim| Ok(found(results, GROUPS[0], claim)?.verdict)).collect();
    let verdicts = verdicts?;
    let count = |verdict| verdicts.iter().filter(|found| **found == verdict).count();
    let [holds, fails, open] = [Verdict::Holds, Verdict::Fails, Verdict::Undecided].map(count);
    Ok(format!("of {} claims {holds} holds, {fails} do not, {open} are undecided", CLAIMS.len()))
}

//! The paper's map, what its settings are worth, and its claims, judged on our numbers.

use super::data::{BEST, RECOMMENDED, Results, Run, against, difference, mean};
use super::default::OURS;
use super::{Error, Made, Table};
use crate::claims::{CLAIMS, Claim};
use crate::verdict::{Finding, Verdict, judge};
use foretune_report::{Metric, Samples};
use host_sim::results::Manifest;

/// What a study's command sets, or the options of its problem.
pub(super) fn set(manifest: &Manifest) -> String {
    let words: Vec<&str> = manifest.command.split_whitespace().collect();
    let sets = words.windows(2).filter(|pair| pair[0] == "--set" && pair[1] != "particles=5");
    let mut found: Vec<&str> = sets.map(|pair| pair[1]).collect();
    found.extend(words.iter().find(|word| word.contains(':') && found.is_empty()));
    if found.is_empty() { String::new() } else { format!("`{}`", found.join(" ")) }
}

/// The deep map beside lengthscales, what is carried being parameters alone but for the last rows.
pub(super) fn deep(results: &Results) -> Made {
    let rows = [
        ("deep map: no transfer", "", "mf-mes-ten"),
        ("deep map: Continual", "", "continual"),
        ("deep map: MFT-MES", "", OURS),
        ("lengthscales: no transfer", "-lengthscales", "mf-mes-ten"),
        ("lengthscales: Continual", "-lengthscales", "continual"),
        ("lengthscales: MFT-MES", "-lengthscales", OURS),
        ("with points, deep map: MFT-MES", "-points", OURS),
        ("with points, lengthscales: MFT-MES", "-points-lengthscales", OURS),
    ];
    let mut table = Table::new(["recommended", "Hartmann-6, tasks 6 to 10", "gas source, tasks 13 to 17"]);
    for (title, suffix, method) in rows {
        let cell = |problem: &str, tasks: std::ops::RangeInclusive<u32>| {
            let study = format!("deep/{problem}{suffix}");
            if results.manifest(&study).is_err() {
                return Ok::<_, Error>(String::new());
            }
            let (value, lead) = results.compared((&study, OURS), (&study, method), RECOMMENDED, tasks)?;
            Ok(if method == OURS { mean(value) } else { against(mean(value), lead) })
        };
        table.push([title.to_string(), cell("hartmann6", 6..=10)?, cell("gas", 13..=17)?]);
    }
    Ok(table)
}

/// What it costs to go back to a printed setting; above 0 the change is for the worse.
pub(super) fn parts(results: &Results) -> Made {
    let changes = [
        ("step", "plain steps"),
        ("learning", "plain steps, at the end of a task only"),
        ("adam", "(Adam)"),
        ("scaling", "observations scaled by fixed numbers"),
        ("kde", "wide density estimate between tasks"),
        ("weights", "prior of the weights"),
        ("gamma", "prior of γ"),
        ("beta", "β"),
        ("information", "cheap information not discounted"),
        ("recommend", "recommended among the points tried"),
        ("signal", "signal variance 1"),
        ("candidates", "512 candidates"),
        ("beta0", "(no transfer term)"),
    ];
    let (preset, tasks) = (("deep-parts/preset", OURS), 2..=6);
    let mut table = Table::new(["back to the paper's", "with", "best tried", "recommended"]);
    let own = |measure| Ok::<_, Error>(mean(results.value(preset, measure, tasks.clone())?));
    table.push(["nothing: its own values".into(), String::new(), own(BEST)?, own(RECOMMENDED)?]);
    for (change, title) in changes {
        let study = format!("deep-parts/{change}");
        let cost = |measure| {
            Ok::<_, Error>(difference(results.lead(preset, (&study, OURS), measure, tasks.clone())?))
        };
        table.push([title.to_string(), set(results.manifest(&study)?), cost(BEST)?, cost(RECOMMENDED)?]);
    }
    Ok(table)
}

/// Fig. 3 where one thing that the paper does not say is done otherwise.
pub(super) fn interpretations(results: &Results) -> Made {
    let studies = [
        ("printed", "as printed"),
        ("scaling-initial", "scaled by the initial points"),
        ("scaling-running", "scaled by all observations so far"),
        ("prior-per-input", "prior variance divided by a layer's inputs"),
        ("step-per-particle", "step not divided by V"),
        ("bandwidth-median", "particle kernel by the median heuristic"),
        ("kde-0.1", "density estimate 0.1 wide"),
        ("truth-first", "fidelities in the other order"),
    ];
    let mut table = Table::new("interpretation | with | MFT-MES | ahead of Continual | the same, tasks 1 and 2 | ahead of MF-MES | Continual ahead of MF-MES".split(" | "));
    for (name, title) in studies {
        let study = format!("interpretations/{name}");
        let run = |method| -> Run<'_> { (&study, method) };
        let lead = |ours, theirs, tasks| {
            Ok::<_, Error>(difference(results.lead(run(ours), run(theirs), BEST, tasks)?))
        };
        table.push([
            title.to_string(),
            set(results.manifest(&study)?),
            mean(results.value(run(OURS), BEST, 3..=5)?),
            lead(OURS, "continual", 3..=5)?,
            lead(OURS, "continual", 1..=2)?,
            lead(OURS, "mf-mes", 3..=5)?,
            lead("continual", "mf-mes", 3..=5)?,
        ]);
    }
    Ok(table)
}

/// Fig. 6: the weight of the transfer term on radio.
pub(super) fn weights(results: &Results) -> Made {
    let (study, base, tasks) = ("paper/fig6", "continual-v10", 2..=40);
    let mut table = Table::new(["share of the optimum, tasks 2 to 40", "best tried", "recommended"]);
    for variant in &results.manifest(study)?.variants {
        let run = (study, variant.key.as_str());
        let cell = |measure| {
            let (value, lead) = results.compared((study, base), run, measure, tasks.clone())?;
            Ok::<_, Error>(if run.1 == base { mean(value) } else { against(mean(value), lead) })
        };
        table.push([variant.label.clone(), cell(BEST)?, cell(RECOMMENDED)?]);
    }
    Ok(table)
}

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

pub(super) fn claims(results: &Results) -> Made {
    judged(results, |finding| finding.verdict.word().into())
}

pub(super) fn findings(results: &Results) -> Made {
    judged(results, |finding| finding.figures)
}

/// Every claim, and what is told of our finding with either settings.
fn judged(results: &Results, told: fn(Finding) -> String) -> Made {
    let mut table = Table::new(["figure", "the paper's claim", "printed settings", "deep preset"]);
    for claim in CLAIMS {
        let [printed, deep] = GROUPS.map(|group| found(results, group, claim).map(told));
        let figure = claim.study.trim_start_matches("fig");
        table.push([figure, claim.text.trim_end_matches('.'), &printed?, &deep?]);
    }
    Ok(table)
}

/// How many claims hold with the printed settings, in words for a document.
#[cfg(test)]
pub fn summary(results: &Results) -> Result<String, Error> {
    let verdicts: Result<Vec<Verdict>, Error> =
        CLAIMS.iter().map(|claim| Ok(found(results, GROUPS[0], claim)?.verdict)).collect();
    let verdicts = verdicts?;
    let count = |verdict| verdicts.iter().filter(|found| **found == verdict).count();
    let [holds, fails, open] = [Verdict::Holds, Verdict::Fails, Verdict::Undecided].map(count);
    Ok(format!("of {} claims {holds} holds, {fails} do not, {open} are undecided", CLAIMS.len()))
}

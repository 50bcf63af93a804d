//! The measurements in words and tables.

use std::io::{self, Write};

use super::known::{KnownRow, Rule};
use super::{LOOSENESS, PhaseRow, Report};
use crate::results::stats::Estimate;
use crate::table::Table;

const KNOWN: &str = "\
KNOWN θ: IS THE REGRET BELOW THE BOUND OF EQ. (64)?

Functions are drawn from a Gaussian process of variance 1 whose lengthscale the rule is told, on a grid of 64 points
(1 dimension, lengthscale 0.15) or 12 × 12 points (2 dimensions, 0.3). The bound says: R ≤ ν* √(ζ T ρ).

  d, noise   dimensions; variance of the observation noise
  rule       Eq. (63): query the least (expected maximum − mean) / deviation, the rule that the bound is about;
             optimizer: what the device does, with samples of the maximum (same θ, told)
  T          number of queries
  regret     R: how much below the expected maximum the queries are expected to lie, all together, ± 90 % confidence
  lost       the same in truth, known to us only; should agree with the regret on average
  random     regret of T queries at random
  bound      mean of the bound; its information gain ρ is found greedily, so the true bound is 1 to 1.26 times this
  holds      runs in which the regret is below the bound
  loose      bound over regret (geometric mean), which is the product of the four columns to its right: the steps of the
             proof. worst ν: the worst round's normalised regret ν* stands for every round's; unequal σ: deviations are
             treated as equal (Cauchy and Schwarz); ζ: variances are replaced by information; gain: the information is
             replaced by the greatest possible
  ν*, ζ, ρ   what the bound is made of
";

const PHASES: &str = "\
UNKNOWN θ: WHAT DOES TWO-PHASE MFT-MES LOSE, AGAINST n AND c?

Eq. (51) adds to ν* a term εLξ / ((n − 1)(1 − c)^α T^α) for not knowing θ. Its constants are unknown; measured here is what
the term is to cover. Tasks share a lengthscale of 0.1 that the optimizer must learn (its prior has median 0.4). Per task,
the first ⌈cT⌉ queries seek the optimum, the rest are the batch that tells most about θ; regrets count the first ones, under
the true θ. Beside it, on the same functions with the same noise: the same optimizer told θ, and the rule of Eq. (63) told θ.

  c, n       share of queries for the current task; number of the task
  queries    ⌈cT⌉
  regret     cumulative expected regret of these queries
  told       the same for the optimizer told θ
  excess     regret − told, ± 90 % confidence: what not knowing θ costs this optimizer
  over (63)  regret − that of rule (63) told θ: what not knowing θ and the optimizer's own rule cost together
  Δ, Δ told  by how much the normalised regret of a query exceeds the least possible, mean over queries. The bound's
             extra term is to cover Δ. It is not zero even when θ is told: the optimizer samples the maximum where the
             theory takes its expectation, and does not ask again what it knows
  error      root mean square of ln ℓ − ln ℓ* over the particles, at the start of the task. The theory assumes that
             it falls as 1/√(n − 1)
  in (64)    sequences in which the regret is even below the bound for known θ
  εLξ        the least constant with which Eq. (51), α = 1, holds in all sequences; in task 1 and for c = 1 the term is
             infinite
";

/// Writes everything that was measured.
///
/// # Errors
/// If writing fails.
pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{KNOWN}")?;
    known_table(&report.known, report.options.functions).write(out)?;
    writeln!(out)?;
    for line in known_findings(report) {
        writeln!(out, "- {line}")?;
    }
    writeln!(out, "\n{PHASES}")?;
    phase_table(&report.phases, report.options.experiments).write(out)?;
    writeln!(out)?;
    for line in phase_findings(report) {
        writeln!(out, "- {line}")?;
    }
    Ok(())
}

fn number(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

fn interval(estimate: &Estimate) -> String {
    match estimate.half_width {
        Some(half) => format!("{} ± {}", number(estimate.mean), number(half)),
        None => number(estimate.mean),
    }
}

fn known_table(rows: &[KnownRow], functions: usize) -> Table {
    let titles = ["d", "noise", "rule", "T", "regret", "lost", "random", "bound", "holds", "loose"];
    let mut table = Table::new(titles.into_iter().chain(LOOSENESS).chain(["ν*", "ζ", "ρ"]));
    let last = rows.iter().map(|row| row.rounds).max().unwrap_or(0);
    let shown = |row: &&KnownRow| match row.rule {
        Rule::Expected => row.rounds >= 5.min(last),
        Rule::Optimizer => row.rounds == last,
    };
    for row in rows.iter().filter(shown) {
        let mut cells = vec![
            row.d.to_string(),
            row.noise.to_string(),
            row.rule.name().to_string(),
            row.rounds.to_string(),
            interval(&row.regret),
            number(row.loss.mean),
            number(row.random),
            number(row.bound.mean),
            format!("{}/{functions}", row.holds),
            number(row.looseness),
        ];
        cells.extend(row.factors.iter().map(|&factor| number(factor)));
        cells.extend([row.nu, row.zeta, row.gain].map(number));
        table.push(cells);
    }
    table
}

fn known_findings(report: &Report) -> Vec<String> {
    let functions = report.options.functions;
    let of = |rule: Rule| report.known.iter().filter(move |row| row.rule == rule);
    let holds = |rule| {
        let (held, all) = of(rule).fold((0, 0), |(held, all), row| (held + row.holds, all + functions));
        format!("{held} of {all}")
    };
    let last = report.options.rounds;
    let at_end: Vec<&KnownRow> = of(Rule::Expected).filter(|row| row.rounds == last).collect();
    let (least, most) = range(at_end.iter().map(|row| row.looseness));
    let telling = of(Rule::Expected).filter(|row| row.bound.mean < row.random).count();
    vec![
        format!(
            "Where it holds: with rule (63) in {} cases (function × noise × T), as the proof promises; with the optimizer's own rule, \
             about which it says nothing, in {}.",
            holds(Rule::Expected),
            holds(Rule::Optimizer)
        ),
        format!(
            "How loose: at T = {last} it is {} to {} times the regret. {}",
            number(least),
            number(most),
            loosest_step(&at_end)
        ),
        format!(
            "What it is worth: in {telling} of {} rows the bound is lower than the regret of queries at random; in the others even \
             those keep it.",
            of(Rule::Expected).count()
        ),
        optimizer_finding(report),
        format!(
            "Check: the core's posterior means differ from double precision by at most {:.0e}.",
            report.rounding
        ),
    ]
}

/// Why the optimizer's regret grows where that of rule (63) does not.
fn optimizer_finding(report: &Report) -> String {
    let regret = |rule: Rule| {
        let rows = report.known.iter().filter(|row| row.rule == rule && row.rounds == report.options.rounds);
        rows.map(|row| row.regret.mean).sum::<f64>()
    };
    format!(
        "The optimizer's regret over all {} queries is {} times that of rule (63), which goes on asking where it has found the \
         optimum. The optimizer asks a point again only if more is unknown of it than half the noise, and looks \
         elsewhere instead: it is made to find the optimum, not to dwell there.",
        report.options.rounds,
        number(regret(Rule::Optimizer) / regret(Rule::Expected)),
    )
}

/// Which step of the proof gives most away.
fn loosest_step(rows: &[&KnownRow]) -> String {
    let mean = |i: usize| rows.iter().map(|row| row.factors[i].ln()).sum::<f64>() / rows.len() as f64;
    let by_size = |&a: &usize, &b: &usize| mean(a).total_cmp(&mean(b));
    match (0..LOOSENESS.len()).max_by(by_size) {
        Some(i) => format!(
            "Most is given away in the step “{}”: a factor of {}.",
            LOOSENESS[i],
            number(mean(i).exp())
        ),
        None => String::new(),
    }
}

fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)))
}

fn phase_table(rows: &[PhaseRow], experiments: usize) -> Table {
    let titles = [
        "c",
        "n",
        "queries",
        "regret",
        "told",
        "excess",
        "over (63)",
        "Δ",
        "Δ told",
        "error",
        "in (64)",
        "εLξ",
    ];
    let mut table = Table::new(titles);
    let last = rows.iter().map(|row| row.task).max().unwrap_or(0);
    for row in rows.iter().filter(|row| row.task.is_power_of_two() || row.task == last) {
        table.push(vec![
            row.c.to_string(),
            row.task.to_string(),
            row.queries.to_string(),
            number(row.regret.mean),
            number(row.told.mean),
            interval(&row.excess),
            interval(&row.over_known),
            number(row.delta.mean),
            number(row.delta_told.mean),
            number(row.error.mean),
            format!("{}/{experiments}", row.within_known),
            row.constant.map_or("–".into(), number),
        ]);
    }
    table
}

fn phase_findings(report: &Report) -> Vec<String> {
    let rows = &report.phases;
    let tasks = report.options.tasks;
    let mut lines: Vec<String> =
        report.options.shares.iter().filter_map(|&c| share_finding(rows, c, tasks)).collect();
    lines.extend(learning_finding(rows));
    lines.push(format!(
        "The prior of a task is a density estimate around the last task's particles. Its bandwidth, {} here, is added to the \
         error again with every task, so that the error levels off where the theory lets it fall for ever.",
        report.options.bandwidth
    ));
    let (held, all) = rows
        .iter()
        .fold((0, 0), |(held, all), row| (held + row.within_known, all + report.options.experiments));
    let constant = rows.iter().filter_map(|row| row.constant).fold(0.0, f64::max);
    lines.push(if held == all {
        "Eq. (51) holds in all sequences with any constants, even with εLξ = 0: the bound for known θ is so loose that it \
         covers the ignorance of θ as well. So these measurements cannot refute it, nor do they lend it weight."
            .to_string()
    } else {
        format!(
            "The regret is below the bound for known θ in {held} of {all} cases; for the others, from the second task on, Eq. (51) \
             needs εLξ of at least {} (with α = 1).",
            number(constant)
        )
    });
    lines
}

/// How task after task went with one share.
fn share_finding(rows: &[PhaseRow], c: f64, tasks: usize) -> Option<String> {
    let at = |n: usize| rows.iter().find(|row| row.c == c && row.task == n);
    let (first, second, last) = (at(1)?, at(2)?, at(tasks)?);
    let verdict = match last.excess.sign() {
        1 => "above zero",
        -1 => "below zero",
        _ => "not to be told from zero",
    };
    let beyond = |row: &PhaseRow| number(row.delta.mean - row.delta_told.mean);
    Some(format!(
        "c = {c}: Δ, beyond that of the optimizer told θ, is {} in task 1, {} in task 2 and {} in task {tasks}; the excess there is \
         {verdict}. From task 2 to {tasks} the error of ln ℓ goes from {} to {}, by a factor of {}, where the theory assumes {}.",
        beyond(first),
        beyond(second),
        beyond(last),
        number(second.error.mean),
        number(last.error.mean),
        number(second.error.mean / last.error.mean),
        number(((tasks - 1) as f64).sqrt()),
    ))
}

/// Whether more queries for θ make it better known after one task.
fn learning_finding(rows: &[PhaseRow]) -> Option<String> {
    let second: Vec<&PhaseRow> = rows.iter().filter(|row| row.task == 2).collect();
    let errors: Vec<String> =
        second.iter().map(|row| format!("{} (c = {})", interval(&row.error), row.c)).collect();
    let mut by_share = second.clone();
    by_share.sort_by(|a, b| a.c.total_cmp(&b.c));
    let rising = by_share.is_sorted_by(|a, b| a.error.mean <= b.error.mean);
    let verdict =
        if rising { "the more queries are for θ, the smaller, as the theory says" } else { "in no order" };
    (second.len() > 1).then(|| format!("Error of ln ℓ after one task: {}; {verdict}.", errors.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::super::{Options, charts, measure};
    use super::*;

    #[test]
    fn a_small_measurement_is_told_in_full() {
        let options = Options {
            samples: 20,
            functions: 2,
            rounds: 6,
            noises: vec![0.1],
            experiments: 2,
            tasks: 2,
            queries: 4,
            shares: vec![0.5, 1.0],
            ..Options::default()
        };
        let report = measure(options, &mut |_| ()).unwrap();
        let mut out = Vec::new();
        write(&report, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        for part in [
            "KNOWN θ",
            "UNKNOWN θ",
            "Where it holds: with rule (63) in 16 of 16",
            "How loose: at T = 6",
            "c = 0.5: Δ, beyond",
        ] {
            assert!(text.contains(part), "{part} is missing in\n{text}");
        }
        let odd = |word: &str| ["NaN", "inf", "-inf"].contains(&word);
        assert!(!text.split_whitespace().any(odd), "{text}");
        let drawn = charts(&report);
        assert_eq!(drawn.len(), 5);
        for (name, svg) in drawn {
            roxmltree::Document::parse(&svg).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(!svg.contains("NaN"), "{name}");
        }
    }
}

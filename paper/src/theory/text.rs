//! The measurements in words and tables.

use std::io::{self, Write};

use super::known::{KnownRow, Rule};
use super::{Fault, LOOSENESS, PhaseRow, Report};
use foretune_report::stats::Estimate;
use foretune_report::table::Table;

const KNOWN: &str = "\
KNOWN θ: IS THE TRUE REGRET BELOW THE BOUND OF EQ. (64)?

Functions are drawn from a Gaussian process of variance 1 whose lengthscale the rule is told, on a grid of 64 points
(1 dimension, lengthscale 0.15) or 12 × 12 points (2 dimensions, 0.3). The bound says: R ≤ ν* √(ζ T ρ), with R the regret
that the posterior expects. R and ν* come from one posterior, so R is below whether the posterior is right or wrong.
What the queries lost in truth is R on average over functions, if the posterior is right, and does not come from it. So
what is checked is: the mean of what was lost is below the mean of the bound.

  d, noise   dimensions; variance of the observation noise
  rule       Eq. (63): query the least (expected maximum − mean) / deviation, the rule that the bound is about;
             optimizer: what the device does, with samples of the maximum (same θ, told)
  T          number of queries
  lost       true regret: how much below the function's maximum the queries lie, all together, ± 90 % confidence
  regret     R: the same as the posterior expects it; should agree on average
  random     regret of T queries at random
  bound      mean of the bound; its information gain ρ is found greedily, so the true bound is 1 to 1.26 times this
  kept       runs in which what was lost is below the bound. The bound is about the mean: a single run may lose more
  tight      bound over what was lost: median over runs, then the least and the greatest
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
  lost       what they lost in truth
  told       the same for the optimizer told θ
  excess     regret − told, ± 90 % confidence: what not knowing θ costs this optimizer
  over (63)  regret − that of rule (63) told θ: what not knowing θ and the optimizer's own rule cost together
  Δ, Δ told  by how much the normalised regret of a query exceeds the least possible, mean over queries. The bound's
             extra term is to cover Δ. It is not zero even when θ is told: the optimizer samples the maximum where the
             theory takes its expectation, and does not ask again what it knows
  error      root mean square of ln ℓ − ln ℓ* over the particles, at the start of the task. The theory assumes that
             it falls as 1/√(n − 1)
  in (64)    sequences in which what was lost in truth is even below the bound for known θ
  εLξ        the least constant with which Eq. (51), α = 1, holds in all sequences; in task 1 and for c = 1 the term is
             infinite
";

const FAULTS: &str = "\
COULD THE CHECK FAIL?

The same with something wrong on purpose: rule (63), 1 dimension, all T queries.

  wrong      nothing; lengthscale: functions are drawn as before, but rule, posterior and bound are told a longer one;
             gain: the information gain ρ in the bound is too small
  R in       runs in which the regret that the posterior expects is below the bound: no help against a wrong model
  lost in    runs in which what was lost in truth is
  lost − R   ± 90 % confidence; should have zero in it
  verdict    on the mean of what was lost against the mean of the bound, with 90 % confidence
";

pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let known = known_table(&report.known, report.options.functions);
    let phases = phase_table(&report.phases, report.options.experiments);
    for (about, table, findings) in [
        (KNOWN.into(), known, known_findings(report)),
        (format!("\n{FAULTS}"), fault_table(report), fault_findings(report)),
        (format!("\n{PHASES}"), phases, phase_findings(report)),
    ] {
        writeln!(out, "{about}")?;
        table.write(out)?;
        writeln!(out)?;
        findings.iter().try_for_each(|line| writeln!(out, "- {line}"))?;
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
    let titles = ["d", "noise", "rule", "T", "lost", "regret", "random", "bound", "kept", "tight", "loose"];
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
            interval(&row.loss),
            number(row.regret.mean),
            number(row.random),
            number(row.bound.mean),
            format!("{}/{functions}", row.kept),
            spread(&row.ratios),
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
    let kept = |rule| {
        let (kept, all) = of(rule).fold((0, 0), |(kept, all), row| (kept + row.kept, all + functions));
        format!("{kept} of {all}")
    };
    let below =
        |rule| format!("{} of {}", of(rule).filter(|row| row.margin.sign() == 1).count(), of(rule).count());
    let last = report.options.rounds;
    let ended = |row: &&KnownRow| row.rounds == last;
    let at_end: Vec<&KnownRow> = of(Rule::Expected).filter(ended).collect();
    let mut ratios: Vec<f64> = at_end.iter().flat_map(|row| row.ratios.iter().copied()).collect();
    ratios.sort_by(f64::total_cmp);
    let ends = || report.known.iter().filter(ended);
    let agreeing = ends().filter(|row| row.surprise.sign() == 0).count();
    let telling = of(Rule::Expected).filter(|row| row.bound.mean < row.random).count();
    vec![
        format!(
            "Where it holds: the mean of what rule (63) lost in truth is below the mean of the bound, with 90 % confidence, in {} \
             rows; run by run (function × noise × T) in {} cases. With the optimizer's own rule, about which the bound says \
             nothing: in {} rows, {} cases.",
            below(Rule::Expected),
            kept(Rule::Expected),
            below(Rule::Optimizer),
            kept(Rule::Optimizer)
        ),
        format!(
            "How tight: at T = {last} the bound is {} times what rule (63) lost in truth (median over runs; least, greatest). {}",
            spread(&ratios),
            loosest_step(&at_end)
        ),
        format!(
            "Whether the posterior is right: at T = {last} what was lost agrees with the regret that the posterior expects, at \
             90 % confidence, in {agreeing} of {} rows; with a right one it does in nine of ten (all rows have the same functions).",
            ends().count()
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

/// How the optimizer's regret compares with that of rule (63).
fn optimizer_finding(report: &Report) -> String {
    let regret = |rule: Rule| {
        let rows = report.known.iter().filter(|row| row.rule == rule && row.rounds == report.options.rounds);
        rows.map(|row| row.regret.mean).sum::<f64>()
    };
    format!(
        "The optimizer's regret over all {} queries is {} times that of rule (63), the one that the bound is about.",
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

/// Median, least and greatest of sorted values.
fn spread(sorted: &[f64]) -> String {
    let at = |i: usize| match sorted.get(i) {
        Some(value) if *value < 1000.0 => number(*value),
        Some(_) => "over 1000".into(),
        None => "–".into(),
    };
    format!("{} ({}, {})", at(sorted.len() / 2), at(0), at(sorted.len().saturating_sub(1)))
}

fn fault_table(report: &Report) -> Table {
    let functions = report.options.functions;
    let mut table = Table::new(
        "wrong | T | bound | regret | lost | lost − R | R in | lost in | tight | verdict".split(" | "),
    );
    for (fault, row) in &report.faults {
        table.push(vec![
            fault.name(),
            row.rounds.to_string(),
            number(row.bound.mean),
            number(row.regret.mean),
            interval(&row.loss),
            interval(&row.surprise),
            format!("{}/{functions}", row.holds),
            format!("{}/{functions}", row.kept),
            spread(&row.ratios),
            verdict(row).into(),
        ]);
    }
    table
}

fn verdict(row: &KnownRow) -> &'static str {
    match row.margin.sign() {
        1 => "below",
        -1 => "ABOVE",
        _ => "open",
    }
}

fn fault_findings(report: &Report) -> Vec<String> {
    let row = |wanted: Fault| report.faults.iter().find(|(fault, _)| *fault == wanted).map(|(_, row)| row);
    let (Some(right), Some(model)) = (row(Fault::None), row(Fault::Lengthscale)) else { return Vec::new() };
    let room = right.bound.mean / right.loss.mean;
    vec![
        format!(
            "A wrong model: the posterior expects a regret of {}, below the bound in {} of {} runs; the queries lose {} in truth. \
             Held against the truth, the verdict is “{}”.",
            number(model.regret.mean),
            model.holds,
            report.options.functions,
            number(model.loss.mean),
            verdict(model)
        ),
        format!(
            "What the check cannot see: the mean of the bound is {} times the mean of what was lost, so a ν* too small by less than \
             that, or a ρ too small by less than its square, {}, goes unnoticed here.",
            number(room),
            number(room * room)
        ),
    ]
}

fn phase_table(rows: &[PhaseRow], experiments: usize) -> Table {
    let titles =
        "c | n | queries | regret | lost | told | excess | over (63) | Δ | Δ told | error | in (64) | εLξ"
            .split(" | ");
    let mut table = Table::new(titles);
    let last = rows.iter().map(|row| row.task).max().unwrap_or(0);
    for row in rows.iter().filter(|row| row.task.is_power_of_two() || row.task == last) {
        table.push(vec![
            row.c.to_string(),
            row.task.to_string(),
            row.queries.to_string(),
            number(row.regret.mean),
            number(row.loss.mean),
            number(row.told.mean),
            interval(&row.excess),
            interval(&row.over_known),
            number(row.delta.mean),
            number(row.delta_told.mean),
            number(row.error.mean),
            format!("{}/{experiments}", row.kept),
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
    let all = rows.len() * report.options.experiments;
    let count = |f: fn(&PhaseRow) -> usize| rows.iter().map(f).sum::<usize>();
    let (held, kept) = (count(|row| row.within_known), count(|row| row.kept));
    let constant = rows.iter().filter_map(|row| row.constant).fold(0.0, f64::max);
    lines.push(if held == all {
        format!(
            "The expected regret is below the bound for known θ in all {all} cases (sequence × task × c), what was lost in truth in \
             {kept}. So Eq. (51) holds with any constants, even with εLξ = 0: the bound for known θ is so loose that it covers the \
             ignorance of θ as well. These measurements cannot refute it, nor do they lend it weight."
        )
    } else {
        format!(
            "The expected regret is below the bound for known θ in {held} of {all} cases (sequence × task × c), what was lost in truth \
             in {kept}; for the others, from the second task on, Eq. (51) needs εLξ of at least {} (with α = 1).",
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
    let last_error = last.error.mean;
    let beyond = |row: &PhaseRow| number(row.delta.mean - row.delta_told.mean);
    let [first, last] = [first, last].map(beyond);
    if tasks == 2 {
        return Some(format!(
            "c = {c}: Δ, beyond that of the optimizer told θ, is {first} in task 1 and {last} in task 2; the excess there is {verdict}."
        ));
    }
    Some(format!(
        "c = {c}: Δ, beyond that of the optimizer told θ, is {first} in task 1, {} in task 2 and {last} in task {tasks}; the excess \
         there is {verdict}. From task 2 to {tasks} the error of ln ℓ goes from {} to {}, by a factor of {}, where the theory assumes {}.",
        beyond(second),
        number(second.error.mean),
        number(last_error),
        number(second.error.mean / last_error),
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
    use super::super::charts::charts;
    use super::super::{Options, measure};
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
            "Where it holds: the mean of what rule (63) lost",
            "How tight: at T = 6 the bound is",
            "COULD THE CHECK FAIL?",
            "A wrong model: the posterior expects",
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

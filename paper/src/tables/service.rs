//! A system in service: what users get while it is tuned.

use super::data::{BELOW, MEANWHILE, RECOMMENDED, Results, Run, SPENT, WORST};
use super::default::OURS;
use super::table::{Table, against, fixed, mean};
use super::{Error, Made};

/// Title, what was run, and what it is compared with.
type Row = (&'static str, Run<'static>, Option<Run<'static>>);

const LIVE: Run<'_> = ("live/radio-05", OURS);
const POOR: Run<'_> = ("live/radio-poor", OURS);
const HARTMANN: Run<'_> = ("live/hartmann6-floor", OURS);
const GAS: Run<'_> = ("live/gas-floor", OURS);

const ROWS: [Row; 15] = [
    ("**MFT-MES, risk 0.05**", LIVE, None),
    ("hill climbing", ("live/radio-05", "hill-climbing"), Some(LIVE)),
    ("never tuned", ("live/radio-others", "never"), Some(LIVE)),
    ("SafeOpt", ("live/radio-others", "safe-opt"), Some(LIVE)),
    ("MF-MES, one particle", ("live/radio-others", "mf-mes"), Some(LIVE)),
    ("no transfer, ten particles", ("live/radio-particles", "mf-mes-ten"), Some(LIVE)),
    ("points carried only", ("live/radio-particles", "warm-start"), Some(LIVE)),
    ("MFT-MES, risk 0.10", ("live/radio-10", OURS), Some(LIVE)),
    ("MFT-MES, tolerance 0.01", ("live/radio-tolerance", OURS), Some(LIVE)),
    ("from a poor point: MFT-MES", POOR, None),
    ("hill climbing", ("live/radio-poor", "hill-climbing"), Some(POOR)),
    ("Hartmann-6: MFT-MES", HARTMANN, None),
    ("hill climbing", ("live/hartmann6-floor", "hill-climbing"), Some(HARTMANN)),
    ("gas source: MFT-MES", GAS, None),
    ("hill climbing", ("live/gas-floor", "hill-climbing"), Some(GAS)),
];

pub(super) fn service(results: &Results) -> Made {
    let mut table = Table::new([
        "",
        "experiments",
        "recommended",
        "in task 1",
        "value in service",
        "trials below",
        "worst trial",
        "spent",
    ]);
    for (title, run, base) in ROWS {
        let value = |measure, tasks| results.value(run, measure, tasks);
        let marked = |measure, text| match base {
            Some(base) => Ok::<_, Error>(against(text, results.lead(base, run, measure, 1..=10)?)),
            None => Ok(text),
        };
        let served = value(MEANWHILE, 1..=10)?;
        table.push([
            title.to_string(),
            served.n.to_string(),
            marked(RECOMMENDED, mean(value(RECOMMENDED, 1..=10)?))?,
            fixed(value(RECOMMENDED, 1..=1)?.mean, 3),
            marked(MEANWHILE, fixed(served.mean, 3))?,
            format!("{} %", fixed(100.0 * value(BELOW, 1..=10)?.mean, 1)),
            fixed(value(WORST, 1..=10)?.mean, 3),
            fixed(value(SPENT, 1..=10)?.mean, 0),
        ]);
    }
    Ok(table)
}

//! The default preset: against other methods, over tasks, part by part, and in service.

use std::ops::RangeInclusive;

use super::data::{
    BELOW, BELOW_TIME, BEST, MEANWHILE, RECOMMENDED, Results, Run, SPENT, WORST, against, difference, fixed,
    mean, short,
};
use super::{Error, Made, Table};
use foretune_report::stats::Estimate;
use host_sim::problems::One;

pub(super) const OURS: &str = "mft-mes";
const ALONE: &str = "mf-mes-ten";

/// The methods of the tables, in their order.
const METHODS: [(&str, &str); 10] = [
    ("random", "random search"),
    ("random-cheapest", "random, cheapest fidelity"),
    ("lattice", "low-discrepancy search"),
    ("kept", "first recommendation kept"),
    ("hill-climbing", "hill climbing"),
    ("mf-mes", "MF-MES, one particle"),
    (ALONE, "no transfer, ten particles"),
    ("warm-start", "points carried only"),
    ("continual", "Continual (β = 0)"),
    (OURS, "**MFT-MES**"),
];

const SIMPLE: [&str; 4] = ["random-cheapest", "lattice", "kept", "hill-climbing"];

const FAMILIES: [(&str, &str); 8] = [
    ("hartmann6", "Hartmann-6"),
    ("gas", "gas source"),
    ("rrm", "radio, share"),
    ("forrester", "Forrester"),
    ("branin", "Branin"),
    ("himmelblau", "Himmelblau"),
    ("rosenbrock", "Rosenbrock"),
    ("levy", "Levy"),
];
const LATE: RangeInclusive<u32> = 6..=10;

fn name(method: &str) -> &'static str {
    METHODS.iter().find(|(key, _)| *key == method).map_or("", |(_, name)| name)
}

/// Families by methods; a method that was not run everywhere is left out.
fn by_family(results: &Results, measure: &str) -> Made {
    let methods = || METHODS.iter().rev().filter(|(key, _)| *key != "lattice");
    let mut table = Table::new(["family"].into_iter().chain(methods().map(|(_, name)| *name)));
    for (family, title) in FAMILIES {
        let study = format!("families/{family}");
        let cell =
            |(method, _): &(&str, _)| opponent(results, (&study, OURS), (&study, method), measure, LATE);
        let cells: Result<Vec<String>, Error> = methods().map(cell).collect();
        table.push([title.to_string()].into_iter().chain(cells?));
    }
    Ok(table)
}

/// An opponent's mean, marked by how it compares with ours.
fn opponent(
    results: &Results,
    ours: Run<'_>,
    theirs: Run<'_>,
    measure: &str,
    tasks: RangeInclusive<u32>,
) -> Result<String, Error> {
    let (value, lead) = results.compared(ours, theirs, measure, tasks)?;
    let text = short(value.mean);
    Ok(if ours == theirs { text } else { against(text, lead) })
}

pub(super) fn families(results: &Results) -> Made {
    by_family(results, RECOMMENDED)
}

pub(super) fn families_best(results: &Results) -> Made {
    by_family(results, BEST)
}

/// Problems with one way to measure, and others' methods beside ours.
pub(super) fn one(results: &Results) -> Made {
    const OTHERS: [(&str, &str); 3] =
        [("botorch", "BoTorch log-EI"), ("optuna-gp", "Optuna GP"), ("optuna-tpe", "Optuna TPE")];
    const OWN: [&str; 2] = ["hill-climbing", "random"];
    let titles = ["problem", "tasks", "**MFT-MES**"].into_iter().chain(OTHERS.map(|(_, title)| title));
    let mut table = Table::new(titles.chain(OWN.map(name)));
    for one in One::ALL {
        for (tasks, title) in [(1..=1, "1"), (2..=4, "2 to 4")] {
            let study = format!("one/{}", one.name());
            let ours = results.means((&study, OURS), RECOMMENDED, &tasks)?;
            let mut cells = vec![one.name().into(), title.into(), short(results.estimate(&ours)?.mean)];
            let others = OTHERS
                .iter()
                .map(|(method, _)| results.of_others(&format!("one:{}", one.name()), method, &tasks));
            let own = OWN.iter().map(|method| results.means((&study, method), RECOMMENDED, &tasks));
            for theirs in others.chain(own) {
                let theirs = theirs?;
                let lead: Vec<f64> = ours.iter().zip(&theirs).map(|(ours, theirs)| theirs - ours).collect();
                cells.push(against(short(results.estimate(&theirs)?.mean), results.estimate(&lead)?));
            }
            table.push(cells);
        }
    }
    Ok(table)
}

/// What is recommended in the first task, and in later ones where parameters alone are carried.
pub(super) fn families_more(results: &Results) -> Made {
    let mut table = Table::new("family | task 1: MFT-MES | random search | parameters alone carried: MFT-MES | Continual | no transfer".split(" | "));
    for (family, title) in FAMILIES {
        let (all, alone) = (format!("families/{family}"), format!("families-parameters/{family}"));
        let first = |theirs| opponent(results, (&all, OURS), (&all, theirs), RECOMMENDED, 1..=1);
        let later = |theirs| opponent(results, (&alone, OURS), theirs, RECOMMENDED, LATE);
        let cells = [
            first(OURS)?,
            first("random")?,
            later((&alone, OURS))?,
            later((&alone, "continual"))?,
            later((&all, ALONE))?,
        ];
        table.push([title.to_string()].into_iter().chain(cells));
    }
    Ok(table)
}

/// Studies of the default preset, and the tasks that are looked at.
const PROBLEMS: [(&str, &str, RangeInclusive<u32>); 3] = [
    ("default/hartmann6", "Hartmann-6, tasks 6 to 10", LATE),
    ("default/gas", "gas source, tasks 13 to 17", 13..=17),
    ("default/rrm", "radio, tasks 31 to 40", 31..=40),
];

pub(super) fn problems(results: &Results) -> Made {
    let mut table =
        Table::new(["recommended"].into_iter().chain(PROBLEMS.iter().map(|(_, title, _)| *title)));
    for (method, title) in METHODS {
        let cell = |(study, _, tasks): &(&str, _, RangeInclusive<u32>)| {
            let ran = results.manifest(study)?.variants.iter().any(|variant| variant.key == method);
            if !ran {
                return Ok(String::new());
            }
            let (value, lead) =
                results.compared((study, OURS), (study, method), RECOMMENDED, tasks.clone())?;
            Ok(if method == OURS { mean(value) } else { against(mean(value), lead) })
        };
        let cells: Result<Vec<String>, Error> = PROBLEMS.iter().map(cell).collect();
        table.push([title.to_string()].into_iter().chain(cells?));
    }
    Ok(table)
}

/// Foretune, the best method without a model, in service also none at all, and random search.
pub(super) fn works(results: &Results) -> Made {
    let mut table = Table::new(["", "Foretune", "best simple alternative", "random search"]);
    let rows = [
        ("Hartmann-6, regret", "default/hartmann6", LATE),
        ("gas source, regret", "default/gas", 13..=17),
        ("radio, share of the optimum", "default/rrm", 31..=40),
        ("Levy, where the model is wrong: regret", "families/levy", LATE),
    ];
    let never_leads = results.lead(NEVER.1, CLIMBED.1, MEANWHILE, 1..=10)?.mean > 0.0;
    let (title, theirs, _) = if never_leads { NEVER } else { CLIMBED };
    table.push([
        "radio in service, share that users get while it tunes".to_string(),
        short(results.value(LIVE, MEANWHILE, 1..=10)?.mean),
        format!("{title} {}", opponent(results, LIVE, theirs, MEANWHILE, 1..=10)?),
        String::new(),
    ]);
    for (title, study, tasks) in rows {
        let run = |method| opponent(results, (study, OURS), (study, method), RECOMMENDED, tasks.clone());
        let simple = best(results, study, tasks.clone())?;
        let theirs = format!("{} {}", name(simple), run(simple)?);
        table.push([title.to_string(), run(OURS)?, theirs, run("random")?]);
    }
    Ok(table)
}

/// The simple method that is furthest ahead of random search.
fn best(results: &Results, study: &str, tasks: RangeInclusive<u32>) -> Result<&'static str, Error> {
    let mut found = ("random", 0.0);
    for method in SIMPLE {
        if !results.manifest(study)?.variants.iter().any(|variant| variant.key == method) {
            continue;
        }
        let lead = results.lead((study, method), (study, "random"), RECOMMENDED, tasks.clone())?.mean;
        if lead > found.1 {
            found = (method, lead);
        }
    }
    Ok(found.0)
}

/// A task to which nothing that was carried applies.
pub(super) fn changed_task(results: &Results) -> Made {
    let mut table = Table::new(["regret on task 6", "best tried", "recommended"]);
    let runs = [("default/hartmann6-changed", OURS), ("default/hartmann6-changed-fresh", OURS)];
    for (run, title) in runs.into_iter().zip(["all that was carried", "a fresh start"]) {
        let value = |measure| Ok::<_, Error>(mean(results.value(run, measure, 6..=6)?));
        table.push([title.to_string(), value(BEST)?, value(RECOMMENDED)?]);
    }
    let lost = |measure| Ok::<_, Error>(difference(results.lead(runs[1], runs[0], measure, 6..=6)?));
    table.push(["lost by carrying".to_string(), lost(BEST)?, lost(RECOMMENDED)?]);
    Ok(table)
}

const PARTS: [(&str, &str); 15] = [
    ("nothing-carried", "nothing carried"),
    ("no-points-carried", "no points carried"),
    ("no-particles-carried", "no particles carried"),
    ("no-transfer-term", "no transfer term"),
    ("transfer-term-without-limit", "transfer term without its limit"),
    ("information-paper", "cheap information not discounted"),
    ("no-part-without-memory", "no share before memory"),
    ("not-measured-again", "carried points not measured again"),
    ("no-values-remembered", "no values remembered"),
    ("first-prior-left-out", "no share of the first prior"),
    ("learning-at-the-end-only", "learning at the end only"),
    ("running-scale", "scale of all observations so far"),
    ("nothing-kept-for-measuring", "nothing kept to measure what is recommended"),
    ("recommended-anywhere", "recommended anywhere"),
    ("recommended-among-all-tried", "recommended among all points tried"),
];

/// What it costs to change one part of the preset; above 0 the change is for the worse.
pub(super) fn parts(results: &Results) -> Made {
    let problems = [("hartmann6", LATE), ("gas", 13..=17), ("rrm", 8..=12)];
    let study = |problem: &str, part: &str| format!("parts-{problem}/{part}");
    let mut table = Table::new(["changed", "with", "Hartmann-6", "gas source", "radio, share"]);
    let own = |(problem, tasks): &(&str, RangeInclusive<u32>)| {
        Ok(mean(results.value((&study(problem, "preset"), OURS), RECOMMENDED, tasks.clone())?))
    };
    let cells: Result<Vec<String>, Error> = problems.iter().map(own).collect();
    table.push(["nothing: its own values".into(), String::new()].into_iter().chain(cells?));
    for (part, title) in PARTS {
        let cost = |(problem, tasks): &(&str, RangeInclusive<u32>)| {
            let (preset, changed) = (study(problem, "preset"), study(problem, part));
            if results.manifest(&changed).is_err() {
                return Ok(String::new());
            }
            let lead = results.lead((&preset, OURS), (&changed, OURS), RECOMMENDED, tasks.clone())?;
            Ok(difference(lead))
        };
        let cells: Result<Vec<String>, Error> = problems.iter().map(cost).collect();
        let with = super::deep::set(results.manifest(&study("gas", part))?);
        table.push([title.to_string(), with].into_iter().chain(cells?));
    }
    Ok(table)
}

/// Title, what was run, and what it is compared with.
type Row = (&'static str, Run<'static>, Option<Run<'static>>);

const LIVE: Run<'_> = ("live/radio-05", OURS);
const POOR: Run<'_> = ("live/radio-poor", OURS);
const HARTMANN: Run<'_> = ("live/hartmann6-floor", OURS);
const GAS: Run<'_> = ("live/gas-floor", OURS);
const CLIMBED: Row = ("hill climbing", ("live/radio-05", "hill-climbing"), Some(LIVE));
const NEVER: Row = ("never tuned", ("live/radio-others", "never"), Some(LIVE));

const ROWS: [Row; 15] = [
    ("**MFT-MES, risk 0.05**", LIVE, None),
    CLIMBED,
    NEVER,
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
    let mut table = Table::new(
        " | recommended | value in service | time below (trials) | worst trial | spent".split(" | "),
    );
    for (title, run, base) in ROWS {
        let value = |measure, tasks| results.value(run, measure, tasks);
        let marked = |measure, text| match base {
            Some(base) => Ok::<_, Error>(against(text, results.lead(base, run, measure, 1..=10)?)),
            None => Ok(text),
        };
        let served = value(MEANWHILE, 1..=10)?;
        table.push([
            title.to_string(),
            marked(RECOMMENDED, mean(value(RECOMMENDED, 1..=10)?))?,
            marked(MEANWHILE, fixed(served.mean, 3))?,
            format!("{} ({})", percent(value(BELOW_TIME, 1..=10)?), percent(value(BELOW, 1..=10)?)),
            fixed(value(WORST, 1..=10)?.mean, 3),
            fixed(value(SPENT, 1..=10)?.mean, 0),
        ]);
    }
    Ok(table)
}

fn percent(share: Estimate) -> String {
    format!("{} %", fixed(100.0 * share.mean, 1))
}

/// Title and variant of a study with guards.
type Guarded = (&'static str, &'static str);

const RADIO: [Guarded; 6] = [
    ("**MFT-MES**", OURS),
    ("hill climbing", "hill-climbing"),
    ("SafeOpt", "safe-opt"),
    ("expected improvement × probability", "constrained-ei"),
    ("MFT-MES without guards", "unguarded"),
    ("never tuned", "never"),
];

const PID: [Guarded; 7] = [
    RADIO[0],
    RADIO[1],
    RADIO[2],
    RADIO[3],
    ("relay, Ziegler–Nichols", "relay-zn"),
    ("relay, Tyreus–Luyben", "relay-tl"),
    RADIO[5],
];

pub(super) fn guards(results: &Results) -> Made {
    guarded(results, "guards/radio", &RADIO, ["edge", "power"], 10)
}

pub(super) fn guards_pid(results: &Results) -> Made {
    guarded(results, "guards/pid", &PID, ["overshoot", "effort"], 5)
}

/// Every method of a study with its two guards: how long they were broken, and in how many recommendations.
fn guarded(results: &Results, study: &str, rows: &[Guarded], names: [&str; 2], tasks: u32) -> Made {
    let [one, other] = names;
    let titles = format!(
        " | recommended | value in service | {one} broken, of the time | in task 1 | {other} broken | recommendations that break \
         {one} | {other} | {one} in service"
    );
    let mut table = Table::new(titles.split(" | "));
    for (title, variant) in rows {
        let run = (study, *variant);
        let value = |measure: &str| results.value(run, measure, 1..=tasks);
        let marked = |measure: &str, text| match *variant {
            OURS => Ok::<_, Error>(text),
            _ => Ok(against(text, results.lead((study, OURS), run, measure, 1..=tasks)?)),
        };
        let broken =
            |name: &str, tasks| results.value(run, &format!("broken_time_{name}"), tasks).map(percent);
        let wrong = |name: &str| {
            let kept = value(&format!("recommended_{name}"))?;
            Ok::<_, Error>(format!("{} %", fixed(100.0 * (1.0 - kept.mean), 1)))
        };
        table.push([
            (*title).to_string(),
            marked(RECOMMENDED, fixed(value(RECOMMENDED)?.mean, 3))?,
            marked(MEANWHILE, fixed(value(MEANWHILE)?.mean, 3))?,
            broken(one, 1..=tasks)?,
            broken(one, 1..=1)?,
            broken(other, 1..=tasks)?,
            wrong(one)?,
            wrong(other)?,
            fixed(value(&format!("meanwhile_{one}"))?.mean, 3),
        ]);
    }
    Ok(table)
}

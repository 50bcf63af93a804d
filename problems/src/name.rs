//! Names of problems, with options: `hartmann6`, `hartmann6:truth=first`, `rrm:stations=3,antennas=32`.

use core::fmt;
use core::str::FromStr;

use super::{Classic, Gas, Hartmann6, One, Order, Pid, Problem, Rrm};

#[derive(Clone, Copy, Debug)]
pub struct Named {
    pub name: &'static str,
    pub about: &'static str,
    /// Its options, empty if it takes none.
    pub options: &'static str,
    pub problem: Problem,
}

/// All problems, the paper's first: the one place that lists them.
pub const NAMES: [Named; 10] = [
    Named {
        name: "hartmann6",
        about: "Hartmann-6, of the paper",
        options: "truth=last|first",
        problem: Problem::Hartmann6(Hartmann6 { order: Order::LastIsTruth }),
    },
    Named {
        name: "rrm",
        about: "uplink power control, of the paper",
        options: "stations=1..4, antennas=32|64",
        problem: Problem::Rrm(Rrm::DEFAULT),
    },
    Named {
        name: "gas",
        about: "gas emission source, of the paper",
        options: "",
        problem: Problem::Gas(Gas),
    },
    classic(Classic::Forrester, "forrester", "classic, 1 dimension"),
    classic(Classic::Branin, "branin", "classic, 2 dimensions"),
    classic(Classic::Himmelblau, "himmelblau", "classic, 2 dimensions"),
    classic(Classic::Rosenbrock, "rosenbrock", "classic, 4 dimensions"),
    classic(Classic::Levy, "levy", "classic, 8 dimensions"),
    Named {
        name: "one",
        about: "one way to measure: eight problems, PID the first",
        options: "pid|svm|ackley|levy|hartmann3|hartmann6|branin|grid",
        problem: Problem::One(One::Pid),
    },
    Named {
        name: "pid",
        about: "PID loops around five kinds of plant, with overshoot and effort to guard",
        options: "lags|oven|motor|level|beam",
        problem: Problem::Pid(Pid(None)),
    },
];

const fn classic(classic: Classic, name: &'static str, about: &'static str) -> Named {
    Named { name, about, options: "", problem: Problem::Classic(classic) }
}

fn list() -> String {
    NAMES.map(|named| named.name).join(", ")
}

fn options() -> String {
    let takes = |named: &Named| format!("{} takes {}", named.name, named.options);
    NAMES.iter().filter(|named| !named.options.is_empty()).map(takes).collect::<Vec<_>>().join("; ")
}

/// What a problem argument takes, for help texts.
pub fn help() -> String {
    format!("One of {}; options follow a colon (rrm:stations=3,antennas=32): {}", list(), options())
}

impl FromStr for Problem {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let (kind, options) = name.split_once(':').unwrap_or((name, ""));
        let known = NAMES.iter().find(|named| named.name == kind);
        let mut problem =
            known.ok_or_else(|| format!("unknown problem `{kind}`: known are {}", list()))?.problem;
        let mut seen = Vec::new();
        for option in options.split(',').filter(|option| !option.is_empty()) {
            let key = option.split('=').next();
            if seen.contains(&key) {
                return Err(format!("option `{}` is there twice", key.unwrap_or_default()));
            }
            seen.push(key);
            problem = problem.with_option(option)?;
        }
        Ok(problem)
    }
}

impl Problem {
    fn with_option(self, option: &str) -> Result<Self, String> {
        let unknown = || format!("unknown option `{option}`: {}, the others take none", options());
        if let Self::One(_) = self {
            let named = One::ALL.into_iter().find(|one| one.name() == option);
            return named.map(Self::One).ok_or_else(unknown);
        }
        if let Self::Pid(_) = self {
            return Pid::named(option).map(Self::Pid).ok_or_else(unknown);
        }
        let (key, value) = option.split_once('=').ok_or_else(unknown)?;
        let bad = |key, takes| format!("option `{key}` takes {takes}, not `{value}`");
        let number = || value.parse().unwrap_or(0);
        match (self, key) {
            (Self::Hartmann6(_), "truth") => match value {
                "last" => Ok(Self::Hartmann6(Hartmann6 { order: Order::LastIsTruth })),
                "first" => Ok(Self::Hartmann6(Hartmann6 { order: Order::FirstIsTruth })),
                _ => Err(bad("truth", "last or first")),
            },
            (Self::Rrm(rrm), "stations") => Rrm::new(number(), rrm.antennas())
                .map(Self::Rrm)
                .ok_or_else(|| bad("stations", "a number from 1 to 4")),
            (Self::Rrm(rrm), "antennas") => {
                Rrm::new(rrm.stations(), number()).map(Self::Rrm).ok_or_else(|| bad("antennas", "32 or 64"))
            }
            _ => Err(unknown()),
        }
    }
}

impl fmt::Display for Problem {
    /// The shortest name that parses back to this problem.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hartmann6(Hartmann6 { order: Order::LastIsTruth }) => f.write_str("hartmann6"),
            Self::Hartmann6(Hartmann6 { order: Order::FirstIsTruth }) => f.write_str("hartmann6:truth=first"),
            Self::Rrm(rrm) => match (rrm.stations(), rrm.antennas()) {
                (2, 64) => f.write_str("rrm"),
                (stations, 64) => write!(f, "rrm:stations={stations}"),
                (2, antennas) => write!(f, "rrm:antennas={antennas}"),
                (stations, antennas) => write!(f, "rrm:stations={stations},antennas={antennas}"),
            },
            Self::Gas(Gas) => f.write_str("gas"),
            Self::Classic(classic) => f.write_str(classic.name()),
            Self::One(One::Pid) => f.write_str("one"),
            Self::One(one) => write!(f, "one:{}", one.name()),
            Self::Pid(pid) => {
                f.write_str("pid")?;
                pid.plant().map_or(Ok(()), |plant| write!(f, ":{plant}"))
            }
        }
    }
}

//! The methods that a study can compare: the core's, and two baselines that need no model.

use std::fmt;
use std::str::FromStr;

use foretune_core::Method as CoreMethod;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// Alg. 1 of the paper: every task on its own.
    MfMes,
    /// Alg. 2 with β = 0: beliefs are carried on, but not collected on purpose.
    Continual,
    /// Alg. 2: queries also serve the tasks to come.
    MftMes,
    /// Eq. (59): each query serves this task or the next ones, by the toss of a coin.
    Separation,
    /// Eq. (60): as before, with the queries for later tasks from a batch design.
    Myopic,
    /// Eq. (42), (43): first this task, then the batch design.
    TwoPhase,
    /// Uniform points at the target fidelity.
    Random,
    /// A low-discrepancy sequence at the target fidelity.
    Lattice,
    /// Uniform points at the cheapest fidelity.
    RandomCheapest,
    /// The point in use stays.
    Never,
    /// MFT-MES in the first task; its recommendation stays.
    Kept,
    /// One parameter at a time from the point in use.
    HillClimbing,
    /// SafeOpt's rule under the same floor and guards.
    SafeOpt,
    /// Expected improvement times the probability that all guards are kept.
    ConstrainedEi,
    /// MFT-MES that is told of no guard.
    Unguarded,
    /// A relay experiment, then Ziegler's and Nichols's rule; for PID loops.
    RelayZn,
    /// The same with Tyreus's and Luyben's rule.
    RelayTl,
    /// MF-MES with as many particles as the others, drawn anew for every task; nothing is carried on.
    MfMesTen,
    /// The same with carried points, and nothing else carried on.
    WarmStart,
}

impl Method {
    /// All methods, in the order of tables and legends, with their names on the command line and for people.
    const TABLE: [(Self, &str, &str); 19] = [
        (Self::Never, "never", "Never tuned"),
        (Self::Kept, "kept", "First recommendation kept"),
        (Self::HillClimbing, "hill-climbing", "Hill climbing"),
        (Self::SafeOpt, "safe-opt", "SafeOpt"),
        (Self::ConstrainedEi, "constrained-ei", "Constrained EI"),
        (Self::RelayZn, "relay-zn", "Relay, Ziegler-Nichols"),
        (Self::RelayTl, "relay-tl", "Relay, Tyreus-Luyben"),
        (Self::Unguarded, "unguarded", "MFT-MES without guards"),
        (Self::Random, "random", "Random search"),
        (Self::RandomCheapest, "random-cheapest", "Random search, cheapest fidelity"),
        (Self::Lattice, "lattice", "Low-discrepancy search"),
        (Self::MfMes, "mf-mes", "MF-MES"),
        (Self::MfMesTen, "mf-mes-ten", "MF-MES, ten particles"),
        (Self::WarmStart, "warm-start", "MF-MES, ten particles, points carried"),
        (Self::Continual, "continual", "Continual MF-MES"),
        (Self::MftMes, "mft-mes", "MFT-MES"),
        (Self::Separation, "separation", "Separation MFT-MES"),
        (Self::Myopic, "separation-myopic", "Myopic separation MFT-MES"),
        (Self::TwoPhase, "two-phase", "Two-phase MFT-MES"),
    ];

    pub fn all() -> impl Iterator<Item = Self> {
        Self::TABLE.into_iter().map(|(method, ..)| method)
    }

    fn words(self) -> (&'static str, &'static str) {
        let found = Self::TABLE.into_iter().find(|(method, ..)| *method == self);
        found.map_or(("", ""), |(_, name, label)| (name, label))
    }

    /// The name on the command line and in `study.json`.
    pub fn name(self) -> &'static str {
        self.words().0
    }

    pub fn label(self) -> &'static str {
        self.words().1
    }

    /// Whether the method has a share `c` of queries for the current task.
    pub fn has_share(self) -> bool {
        matches!(self, Self::Separation | Self::Myopic | Self::TwoPhase)
    }

    /// Whether all charged queries are at the target fidelity.
    pub fn only_truth(self) -> bool {
        matches!(
            self,
            Self::Separation | Self::Myopic | Self::TwoPhase | Self::Random | Self::Lattice | Self::Never
        ) || self.models()
            || self.relay_rule().is_some()
    }

    /// Whether it goes from the point in use, without our optimizer, at least after the first task.
    pub fn from_deployed(self) -> bool {
        matches!(self, Self::Never | Self::Kept | Self::HillClimbing)
            || self.models()
            || self.relay_rule().is_some()
    }

    /// Whether it has models of its own.
    pub fn models(self) -> bool {
        matches!(self, Self::SafeOpt | Self::ConstrainedEi)
    }

    /// Gain, integral and derivative time beside the ultimate gain and period that a relay experiment finds.
    pub fn relay_rule(self) -> Option<[f64; 3]> {
        match self {
            Self::RelayZn => Some([0.6, 0.5, 0.125]),
            Self::RelayTl => Some([1.0 / 2.2, 2.2, 1.0 / 6.3]),
            _ => None,
        }
    }

    /// The core's method; `None` for a baseline.
    pub fn core(self, c: f32) -> Option<CoreMethod> {
        match self {
            Self::MfMes => Some(CoreMethod::MfMes),
            Self::Continual | Self::MfMesTen | Self::WarmStart => Some(CoreMethod::Continual),
            Self::MftMes | Self::Kept | Self::Unguarded => Some(CoreMethod::MftMes),
            Self::Separation => Some(CoreMethod::Separation { c }),
            Self::Myopic => Some(CoreMethod::Myopic { c }),
            Self::TwoPhase => Some(CoreMethod::TwoPhase { c }),
            _ => None,
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Method {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::all().find(|method| method.name() == text).ok_or_else(|| {
            let names: Vec<&str> = Self::all().map(Self::name).collect();
            format!("unknown method `{text}`: known are {}", names.join(", "))
        })
    }
}

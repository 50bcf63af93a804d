//! A small target for tests, and a file with all that one may have.

use foretune_core::Goal;

use super::{Rung, Target};
use host_sim::problems::DimensionSpec;

pub fn target() -> Target {
    let rung = |name: &str, cost, noise, samples| Rung {
        name: name.into(),
        cost,
        noise: Some(noise),
        samples: Some(samples),
    };
    Target {
        name: "toy".into(),
        goal: Goal::Minimise,
        budget: 30.0,
        parameters: vec![
            DimensionSpec::levels("p0", "dBm", (0..63).map(|i| -100.0 + 2.0 * f64::from(i)).collect()),
            DimensionSpec::interval("alpha", "", 0.0, 1.0),
        ],
        fidelities: vec![rung("short", 1.0, 0.04, 10), rung("long", 5.0, 0.004, 100)],
        deployed: Some(vec![-80.0, 0.75]),
        floor: None,
        guards: Vec::new(),
        limits: Vec::new(),
        tolerance: 0.0,
        failures: 10,
        run_length: 10_000.0,
        fleet: None,
    }
}

/// The noise of its last fidelity is not known.
pub const FILE: &str = "\
goal = \"maximise\"
budget = 100
[[parameter]]
name = \"p0\"
unit = \"dBm\"
low = -100
high = 24.0
levels = 63
[[parameter]]
name = \"alpha\"
values = [0.0, 0.4, 0.7, 1.0]
[[fidelity]]
name = \"short\"
cost = 1.0
noise = 0.04
samples = 10
[[fidelity]]
name = \"long\"
cost = 5.0
[deployed]
p0 = -80.0
alpha = 0.7
[floor]
share = 0.9
risk = 0.05
[[limit]]
sum = { p0 = 1.0, alpha = 2.0 }
at_most = 20.0
";

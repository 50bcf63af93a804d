//! The demonstration: three methods tune a simulated cellular system, told to someone who never saw the paper.

mod picture;
mod story;

use crate::error::Error;
use crate::problems::{Problem, Rrm};
use crate::runner::{Benchmark, Identity, Method, Plan, Variant};
use crate::settings::{Preset, Setup};

pub use picture::picture;
pub use story::{INTRODUCTION, NEXT, tell};

/// The methods of the demonstration, in the order of its tables.
pub const METHODS: [Method; 3] = [Method::MfMes, Method::Continual, Method::MftMes];
/// Room for observations: that of the device's compact profile.
const CAPACITY: &str = "64";

/// The demonstration's study.
///
/// # Errors
/// [`Error::Usage`] if a number is zero.
pub fn plan(systems: u32, tasks: u32, seed: u64) -> Result<Plan, Error> {
    let benchmark = Benchmark::new(Problem::Rrm(Rrm::default()));
    let mut setup = Setup::new(Preset::Default, benchmark.spec());
    setup.set("capacity", CAPACITY)?;
    let methods: Vec<&str> = METHODS.iter().map(|method| method.name()).collect();
    let command = format!(
        "foretune run rrm --method {} --set capacity={CAPACITY} --experiments {systems} --tasks {tasks} --seed {seed}",
        methods.join(",")
    );
    let identity = Identity {
        study: "demo".into(),
        preset: Preset::Default.name().into(),
        command,
        seed,
        experiments: systems,
        tasks,
    };
    Plan::new(identity, benchmark, METHODS.map(|method| Variant::of(method, setup)).into())
}

//! Running studies: every method on the same core that runs on the device.
//!
//! A [`Plan`] is a problem and the variants compared on it; [`run`] works through its units (one variant in one
//! experiment) and writes every query as it is answered. Results depend on the plan alone: not on threads, shards or
//! interruptions.

mod measured;
mod opponent;
mod plan;
mod pool;
mod progress;
mod safe_opt;
mod session;
mod space;
mod tuner;

pub use measured::{Bench, Measured, Trial};
pub use plan::{Benchmark, Plan, Variant};
pub use pool::{Execution, run};
pub use safe_opt::{Modelled, Rule};
pub use session::{Answered, Ended, Noise, Seeds, play};
pub use space::{Parts, Space};
pub use tuner::{Advice, Next, Proposal, Tuner};

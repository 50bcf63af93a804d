//! A query, and why it is asked.

use serde::{Deserialize, Serialize};

/// A query, for whoever measures.
#[derive(Clone, Debug, PartialEq)]
pub struct Ask {
    /// Number over all tasks, from 1.
    pub id: u64,
    /// Number of the task, from 1.
    pub task: u32,
    /// The point, in natural units.
    pub point: Vec<f64>,
    /// Index of the fidelity.
    pub fidelity: usize,
    /// Why it is measured.
    pub why: Why,
}

/// Why a point was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Why {
    /// The deployed point, to learn how noisy a fidelity is.
    Noise,
    /// One of the first points of a task; charged to the budget only where a point is in use.
    Initial,
    /// A recommendation of an earlier task, measured again.
    Carried,
    /// Chosen by the optimizer.
    Search,
}

//! What is thought of a fleet's prior. How that comes about is [`fleet`](super::fleet)'s.

use crate::fleet::Fleet;

/// How much a fleet's word counts.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct FleetStatus {
    /// Logarithm, base e, of how much better the task's answers are explained with the prior than without.
    pub evidence: f32,
    /// Whether they speak for it so clearly that a trial need not be allowed without it, too.
    pub supported: bool,
    /// Whether answers, of this task or an earlier one, spoke against it, so that it does not count.
    pub refuted: bool,
}

/// The prior, and what the answers say of it.
pub(super) struct Trust<'a> {
    pub fleet: Option<Fleet<'a>>,
    /// Whether an earlier task refuted it.
    pub before: bool,
    /// Whether this one did.
    pub now: bool,
    pub evidence: f32,
    /// Whether it is left out for the moment.
    pub aside: bool,
}

impl Trust<'_> {
    /// No fleet.
    pub const NONE: Trust<'static> =
        Trust { fleet: None, before: false, now: false, evidence: 0.0, aside: false };

    /// A task begins.
    pub fn begin(&mut self) {
        (self.now, self.evidence, self.aside) = (false, 0.0, false);
    }
}

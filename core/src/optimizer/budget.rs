//! Costs and slots: what a task has spent, and what the next query costs. Eq. (9).
//!
//! Costs are added up as numbers of queries times cost, not one by one, and compared but for rounding: ten queries of cost 0.1 fit into
//! a budget of 1, three of 1.1 into 3.3.
//! Everything that is measured is charged, but in the paper's and deep presets the initial points, unless there is a point in use:
//! whoever serves people pays for every trial. Past measurements that were handed in are free. Where a measurement cost something else than its fidelity's cost, that is charged, even
//! beyond the budget.

use core::ops::Range;

use super::state::State;
use crate::data::Kind;
use crate::kernel::MAX_FIDELITIES;

/// What the next query may cost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prices {
    affordable: [bool; MAX_FIDELITIES],
    price: [f32; MAX_FIDELITIES],
    verifies: bool,
}

impl Prices {
    /// Whether the budget is enough for a query at this fidelity, without what is kept for the truth's.
    pub fn can_pay(&self, fidelity: usize) -> bool {
        self.affordable[fidelity]
    }

    /// Cost of a fidelity, or of a slot if slots are scarcer than the budget.
    pub fn price(&self, fidelity: usize) -> f32 {
        self.price[fidelity]
    }

    /// Whether all that is left is kept for measuring what would be recommended.
    pub fn verifies(&self) -> bool {
        self.verifies
    }
}

/// What was charged: queries at their fidelity's cost, counted, and the sum of costs that differed.
#[derive(Clone, Copy)]
struct Charges {
    counts: [u32; MAX_FIDELITIES],
    own: f32,
}

impl State<'_> {
    /// Charged so far.
    pub fn spent(&self) -> f32 {
        self.total(&self.charges())
    }

    /// Whether this share of the task is over: of its budget, or of its slots where they run out before that.
    pub fn is_past(&self, share: f32) -> bool {
        let (whole, left) = self.payable();
        self.spent().max(whole - left) >= share * whole
    }

    /// What the task, and what the slots that are left, can spend at most.
    fn payable(&self) -> (f32, f32) {
        let (room, dearest) = (self.memory.data.room(), self.problem.fidelities[self.problem.truth()].cost);
        let slots = (self.round() as usize + room) as f32;
        (self.problem.budget.min(slots * dearest), room as f32 * dearest)
    }

    pub fn prices(&self) -> Prices {
        let charges = self.charges();
        let (whole, slots) = self.payable();
        let left = self.problem.budget - self.total(&charges);
        let slot = left / self.memory.data.room().max(1) as f32;
        let (budget, truth, share) = (self.problem.budget, self.problem.truth(), self.settings.verify);
        let (mut kept, mut cheapest) = (0.0, f32::INFINITY);
        let mut prices =
            Prices { affordable: [false; MAX_FIDELITIES], price: [0.0; MAX_FIDELITIES], verifies: false };
        for (m, fidelity) in self.problem.fidelities.iter().enumerate().rev() {
            let mut one_more = charges;
            one_more.counts[m] += 1;
            prices.affordable[m] = self.total(&one_more) <= (budget - kept) * (1.0 + 4.0 * f32::EPSILON);
            prices.price[m] = fidelity.cost.max(slot);
            cheapest = fidelity.cost.min(cheapest);
            let worth = share > 0.0 && 2.0 * fidelity.cost <= budget;
            if m == truth && prices.affordable[m] && worth {
                kept = fidelity.cost.max(share * whole);
            }
        }
        prices.verifies = kept > 0.0 && left.min(slots) < kept + cheapest;
        prices
    }

    /// Whether initial points are charged.
    pub fn charges_start(&self) -> bool {
        !self.settings.details.free_start || self.start.deployed.is_some()
    }

    /// The queries that were charged: all but free initial points, failed ones included.
    pub fn charged(&self) -> impl Iterator<Item = usize> {
        let (data, all) = (&self.memory.data, self.charges_start());
        let first = self.task.remembered + self.task.past;
        (first..data.len()).filter(move |&i| all || data.kind(i) != Kind::Initial)
    }

    fn charges(&self) -> Charges {
        let mut charges = Charges { counts: [0; MAX_FIDELITIES], own: 0.0 };
        for i in self.charged() {
            match self.memory.data.cost(i) {
                Some(cost) => charges.own += cost,
                None => charges.counts[usize::from(self.memory.data.fidelity()[i])] += 1,
            }
        }
        charges
    }

    fn total(&self, charges: &Charges) -> f32 {
        let costs = self.problem.fidelities.iter().map(|fidelity| fidelity.cost);
        costs.zip(charges.counts).fold(charges.own, |sum, (cost, count)| sum + cost * count as f32)
    }

    /// The fidelities that the method asks for after the initial points.
    pub fn fidelities(&self) -> Range<usize> {
        let all = self.problem.fidelities.len();
        #[cfg(feature = "paper")]
        if self.only_at_target() {
            return all - 1..all;
        }
        0..all
    }
}

//! How far answers lie from what was foreseen, and whether that is by chance.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use crate::math;

/// A sum above this is suspicious; a suspicion that was wrong makes it so many times larger.
const SUSPICIOUS: f32 = 5.0;
const HARDER: f32 = 1.5;
/// Deviations per answer that a model may be wrong by without suspicion, and the most that one answer counts.
const ALLOWED: f32 = 0.75;
const MOST: f32 = 6.0;
/// What is older is taken to be wrong by at least this share of what the point in use has moved, and by so many times more after
/// every suspicion that is not another change.
const WRONG: f32 = 0.25;
const BLURRIER: f32 = 3.0;

/// How far answers of one number lay from what was foreseen, and what that came to.
#[derive(Clone, Copy, Debug, Default, FromBytes, Immutable, IntoBytes, KnownLayout)]
#[repr(C)]
pub(super) struct Drift {
    /// Of the last answer, summed over particles: in deviations of what was foreseen, and in those of the scale.
    surprise: [f32; 2],
    /// Above what was foreseen, and below.
    sides: [Side; 2],
    /// By how much the point in use had moved when the task began, in the number's units.
    pub moved: f32,
    /// Deviation of the noise that answers from before the last change have on top, in the number's units.
    pub blur: f32,
}

/// A sum that grows as long as answers are surprising on one side.
#[derive(Clone, Copy, Debug, Default, FromBytes, Immutable, IntoBytes, KnownLayout)]
#[repr(C)]
struct Side {
    sum: f32,
    /// The slot of the last answer that outweighed all before it; the answers since then, the sum of their errors and of the squares, in deviations of
    /// the scale.
    since: u32,
    count: u32,
    errors: f32,
    squares: f32,
}

impl Drift {
    pub const NONE: Drift = {
        let side = Side { sum: 0.0, since: 0, count: 0, errors: 0.0, squares: 0.0 };
        Drift { surprise: [0.0; 2], sides: [side; 2], moved: 0.0, blur: 0.0 }
    };

    /// Before particles look at an answer.
    pub fn look(&mut self) {
        self.surprise = [0.0; 2];
    }

    /// How one more particle sees it.
    pub fn add(&mut self, surprise: [f32; 2]) {
        self.surprise.iter_mut().zip(surprise).for_each(|(sum, one)| *sum += one);
    }

    /// By how much the answer lay above what was foreseen, as so many particles see it: in deviations of that, and in those of the
    /// scale.
    pub fn mean(&self, particles: usize) -> [f32; 2] {
        self.surprise.map(|sum| sum / particles as f32)
    }

    /// So many particles have looked at the answer in slot `i`.
    pub fn note(&mut self, particles: usize, i: usize) {
        let [by, error] = self.mean(particles);
        for (side, by) in self.sides.iter_mut().zip([by, -by]) {
            let more = math::clamp(by, -MOST, MOST) - ALLOWED;
            let sum = (side.sum + more).max(0.0);
            // Rather late than early: an old answer that counts as a new one does more harm than the reverse.
            if more > side.sum {
                *side = Side { since: i as u32, ..Side::default() };
            }
            *side = Side {
                sum,
                since: side.since,
                count: side.count + 1,
                errors: side.errors + error,
                squares: side.squares + error * error,
            };
        }
    }

    /// Notes by how much the answer in slot `i`, the first of the task, lay above what was foreseen, in units in which the scale has
    /// this deviation; the variance of that.
    pub fn compare(&mut self, (particles, i): (usize, usize), deviation: f32) -> f32 {
        let [by, error] = self.mean(particles);
        self.note(particles, i);
        self.moved = error * deviation;
        let foreseen = self.moved / by;
        foreseen * foreseen
    }

    /// Since when, if there is reason for suspicion.
    pub fn suspects(&self, limit: f32) -> Option<u32> {
        let [above, below] = &self.sides;
        let side = if above.sum > below.sum { above } else { below };
        (side.sum > limit).then_some(side.since)
    }

    /// What the answers of the larger sum were off by, root mean square, once those before are moved by `moved`; in deviations of
    /// the scale.
    fn unexplained(&self, moved: f32) -> f32 {
        let [above, below] = &self.sides;
        let Side { count, errors, squares, .. } = if above.sum > below.sum { above } else { below };
        let square = (squares - 2.0 * moved * errors) / (*count).max(1) as f32 + moved * moved;
        math::sqrt(square.max(0.0))
    }

    /// Begins anew after a change by `moved`, in units in which the scale has this deviation.
    pub fn changed(&mut self, moved: f32, deviation: f32) {
        let blur = self.unexplained(moved / deviation) * libm::fabsf(deviation);
        *self = Drift { blur: blur.max(WRONG * libm::fabsf(moved)), moved: self.moved, ..Drift::NONE };
    }

    /// Begins anew after a suspicion that was wrong.
    pub fn refuted(&mut self) {
        *self = Drift { blur: BLURRIER * self.blur, moved: self.moved, ..Drift::NONE };
    }
}

/// Changes of the world in a task.
#[derive(Clone, Copy)]
pub(super) struct Changes {
    pub count: u32,
    /// The objective's.
    pub drift: Drift,
    pub limit: f32,
    /// Since which slot the world may be another, if there is reason for suspicion.
    pub suspected: Option<u32>,
}

impl Changes {
    pub const NONE: Changes = Changes { count: 0, drift: Drift::NONE, limit: SUSPICIOUS, suspected: None };

    /// A suspicion was wrong.
    pub fn refuted(&mut self) {
        self.limit *= HARDER;
        self.drift.refuted();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_errors_raise_no_suspicion_and_steady_ones_do_since_they_began() {
        let mut drift = Drift::NONE;
        let mut tell = |by: f32, i| {
            drift.look();
            drift.add([by, 0.5 * by]);
            drift.note(1, i);
            (drift.suspects(5.0), drift.unexplained(-1.0))
        };
        for i in 0..40 {
            assert_eq!(tell(if i % 2 == 0 { 1.5 } else { -1.5 }, i).0, None);
        }
        assert_eq!([40, 41].map(|i| tell(-2.5, i).0), [None; 2]);
        assert_eq!(tell(-2.5, 42), (Some(40), 0.25), "each was off by 0.25 more than the one");
        assert_eq!(tell(f32::MAX, 43).0, Some(43), "one that nothing explains");
        assert_eq!(tell(-6.0, 44).0, Some(44));
    }
}

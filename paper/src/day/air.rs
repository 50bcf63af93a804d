//! A town on the air: time passes with every measurement, and what users get is written down step by step.

use std::cell::{Cell, RefCell};

use host_sim::problems::{STEPS_PER_HOUR, Task, Town};

/// Channel samples in an hour, as in the demonstration, and in a step of the town.
pub const HOUR: f64 = 4000.0;
pub const STEP: f64 = HOUR / STEPS_PER_HOUR as f64;
/// The fidelity that counts.
pub const TRUTH: usize = 3;
/// What trials should keep, of what the setting in use gives in the same moment.
pub const FLOOR: f64 = 0.9;
/// Numbers of a setting; what follows them is a condition.
pub const CHOSEN: usize = 4;

/// What a step came to; times in samples.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Step {
    /// What users got, in bit/s/Hz times samples.
    pub value: f64,
    /// Time in trials, in those below the floor, and how many began.
    pub trial: f64,
    pub below: f64,
    pub trials: u32,
    /// Tasks that began.
    pub tasks: u32,
    /// Events that cost the setting in use more than a twentieth, those found, and readings until then.
    pub events: u32,
    pub found: u32,
    pub delay: u32,
}

pub struct OnAir<'a> {
    town: &'a Town,
    clock: Cell<f64>,
    now: RefCell<(usize, Box<dyn Task>)>,
    in_use: RefCell<Vec<f64>>,
    steps: RefCell<Vec<Step>>,
}

impl<'a> OnAir<'a> {
    pub fn new(town: &'a Town, in_use: Vec<f64>) -> Self {
        Self {
            town,
            clock: Cell::new(0.0),
            now: RefCell::new((0, Box::new(town.at(0)))),
            in_use: RefCell::new(in_use),
            steps: RefCell::new(vec![Step::default(); town.steps()]),
        }
    }

    pub fn into_steps(self) -> Vec<Step> {
        self.steps.into_inner()
    }

    pub fn is_over(&self) -> bool {
        self.clock.get() >= self.town.steps() as f64 * STEP
    }

    /// Samples since the beginning.
    pub fn time(&self) -> f64 {
        self.clock.get()
    }

    pub fn step(&self) -> usize {
        ((self.clock.get() / STEP) as usize).min(self.town.steps() - 1)
    }

    pub fn load(&self) -> f64 {
        self.town.load(self.step())
    }

    /// Writes something down of the present step.
    pub fn note(&self, note: impl FnOnce(&mut Step)) {
        note(&mut self.steps.borrow_mut()[self.step()]);
    }

    pub fn put_in_use(&self, setting: &[f64]) {
        *self.in_use.borrow_mut() = setting[..CHOSEN].to_vec();
    }

    /// The setting in use serves for so long.
    pub fn serve(&self, time: f64) {
        let in_use = self.in_use.borrow().clone();
        self.pass(&in_use, time, false);
    }

    pub fn serve_until(&self, hour: f64) {
        self.serve((hour * HOUR - self.clock.get()).max(0.0));
    }

    /// A trial takes so long.
    pub fn try_out(&self, setting: &[f64], time: f64) {
        self.note(|step| step.trials += 1);
        self.pass(setting, time, true);
    }

    fn pass(&self, setting: &[f64], mut time: f64, is_trial: bool) {
        while time > 0.0 && !self.is_over() {
            let left = (self.step() + 1) as f64 * STEP - self.clock.get();
            let part = left.min(time);
            let value = self.value(TRUTH, setting);
            let below = is_trial && value < FLOOR * self.value(TRUTH, &self.in_use.borrow());
            self.note(|step| {
                step.value += part * value;
                step.trial += if is_trial { part } else { 0.0 };
                step.below += if below { part } else { 0.0 };
            });
            self.clock.set(if part == left {
                (self.step() + 1) as f64 * STEP
            } else {
                self.clock.get() + part
            });
            time -= part;
        }
    }
}

impl Task for OnAir<'_> {
    fn value(&self, fidelity: usize, x: &[f64]) -> f64 {
        let step = self.step();
        if self.now.borrow().0 != step {
            *self.now.borrow_mut() = (step, Box::new(self.town.at(step)));
        }
        self.now.borrow().1.value(fidelity, &x[..CHOSEN])
    }

    fn optimum(&self) -> f64 {
        self.now.borrow().1.optimum()
    }

    fn optimum_at(&self) -> Vec<f64> {
        self.now.borrow().1.optimum_at()
    }
}

//! The app between a station and a flash that exist in memory only; what it does is compared with the core alone.

extern crate std;

mod base;
mod compact;
mod dialogue;
mod hostile;
#[cfg(feature = "key")]
mod key;
mod knowledge;
mod serial;
mod mock;
mod power;
mod problem;
mod profile;

use std::marker::PhantomData;
use std::vec::Vec;

use foretune_link::{Coordinate, Outcome, Query};

use super::App;
use crate::board::Fault;
use crate::reference::Trace;
use crate::storage::sim::SimFlash;
use base::{Base, Measure};
use mock::{MockSystem, Outside, SimBoard};
use profile::Profile;

/// Turns of the loop after which a run that does not end is stuck.
const PATIENCE: u32 = 1_000_000;

/// A device and its station. The device's flash has words and sectors of so many bytes.
struct Bench<P, const WRITE: usize = 32, const ERASE: usize = 1024> {
    /// The device's flash while it is switched off.
    flash: Option<SimFlash<WRITE, ERASE>>,
    /// What the device's last words will be found to be at the next start.
    fault: Option<Fault>,
    outside: Outside,
    base: Base,
    profile: PhantomData<P>,
}

impl<P: Profile, const WRITE: usize, const ERASE: usize> Bench<P, WRITE, ERASE> {
    /// A new device, and a station that wants one task per budget.
    fn new(budgets: &[f32], measure: Measure) -> Self {
        let size = P::PROFILE.layout.in_sectors_of::<SimFlash<WRITE, ERASE>>().end();
        Bench {
            flash: Some(SimFlash::new(size as usize)),
            fault: None,
            outside: Outside::default(),
            base: Base::new::<P>(budgets, measure),
            profile: PhantomData,
        }
    }

    fn flash(&mut self) -> &mut SimFlash<WRITE, ERASE> {
        self.flash.as_mut().expect("the device is off")
    }

    fn traces(&self) -> &[Trace] {
        &self.base.notes.traces
    }

    /// Switches the device on until the plan is done, its power fails or `until` says so. Afterwards it is off.
    fn run_until(&mut self, mut until: impl FnMut(&mut Base) -> bool) {
        let flash = self.flash.take().expect("the device is off");
        let dead = flash.switch();
        let board = SimBoard { outside: self.outside.clone(), flash, fault: self.fault.take() };
        let mut app = App::new(board.parts(), P::PROFILE).unwrap();
        let (outside, base) = (&self.outside, &mut self.base);
        let deadline = base.now + PATIENCE;
        P::run(&mut app, &mut |system: &mut MockSystem| {
            system.hunger += 1;
            assert!(system.hunger < 4, "the watchdog starves");
            assert!(base.now < deadline, "stuck at {:?}", base.notes.traces);
            !dead.get() && base.turn(outside) && !until(base)
        });
        let mut flash = app.recorder.store.release();
        flash.power_up();
        self.flash = Some(flash);
        self.outside.to_device.borrow_mut().clear();
    }

    /// Switches the device on until the plan is done or its power fails, and asks for its status every so many turns.
    fn run_asking_status(&mut self, every: u32) {
        self.run_until(|base| {
            if base.now.is_multiple_of(every) {
                base.station.ask_status();
            }
            false
        });
    }

    /// Restarts the device as often as its power fails, until the plan is done.
    fn run(&mut self) {
        while !self.base.notes.finished {
            self.run_until(|_| false);
        }
    }

    /// The plan is done, and every query and recommendation is that of the core alone.
    fn check(&self) {
        self.check_from(Vec::new());
    }

    fn check_from(&self, knowledge: Vec<u8>) {
        assert!(self.base.notes.finished);
        let expected = self.base.notes.expected::<P>(knowledge);
        for (seen, expected) in self.base.notes.traces.iter().zip(&expected) {
            let differs = seen.queries.iter().zip(&expected.queries).position(|(a, b)| a != b);
            assert_eq!(differs, None, "first query that differs");
            assert_eq!(seen.recommendation, expected.recommendation);
        }
        assert_eq!(self.base.notes.traces, expected);
    }
}

/// A bench in which nothing goes wrong.
fn undisturbed<P: Profile>(budgets: &[f32], measure: Measure) -> Bench<P> {
    let mut bench = Bench::new(budgets, measure);
    bench.run();
    bench
}

fn unit(coordinate: &Coordinate, levels: f32) -> f32 {
    match *coordinate {
        Coordinate::Level(level) => f32::from(level) / (levels - 1.0),
        Coordinate::Unit(unit) => unit,
    }
}

/// A ridge that moves a little from task to task, with some noise that depends on the query alone.
fn radio(query: &Query) -> Outcome {
    let shift = 0.02 * query.ticket.task as f32;
    let of_station = |power: &Coordinate, compensation: &Coordinate| {
        let (power, compensation) = (unit(power, 114.0), unit(compensation, 8.0));
        20.0 - 40.0 * (power + 0.5 * compensation - 0.9 - shift).abs() - 5.0 * compensation
    };
    let [a, b, c, d] = query.point.as_slice() else { panic!("four coordinates, not {:?}", query.point) };
    let noise =
        (query.ticket.step + 1).wrapping_mul(2_654_435_761).wrapping_mul(query.ticket.task) as f32 / 4.3e9;
    Outcome::Value(of_station(a, b) + of_station(c, d) + noise - 0.1 * f32::from(query.fidelity))
}

//! Counts instructions of a whole round in service, the compact profile's, with a floor alone, with two guards beside it, and with
//! a fleet's prior: see `counting`.
#![no_std]
#![no_main]

mod counting;

use counting::FIDELITIES;
use foretune_core::profile::COMPACT;
use foretune_core::{Dimension, Fleet, Floor, Guard, Level, Optimizer, Problem, Progress, Settings, Side};
use static_cell::ConstStaticCell;

const POWERS: Dimension = Dimension::Grid { low: -202.0, high: 24.0, levels: 114 };
const SHARES: Dimension = Dimension::Levels(&[0.0, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]);
const IN_USE: [f32; 4] = [-80.0, 0.8, -80.0, 0.8];
const FLOOR: Floor = Floor { level: Level::Share(0.9), risk: 0.05 };
const GUARDS: [Guard; 2] = [Guard { side: Side::AtLeast, floor: FLOOR, noise: &[0.1; FIDELITIES.len()] }; 2];
/// Answers so far.
const OBSERVATIONS: [usize; 2] = [10, 40];

type Memory = foretune_core::memory!(
    dimensions: 4, fidelities: 4, observations: 64, particles: 10, map: Linear, candidates: 80, guards: 2, fleet: true
);
static TUNER: ConstStaticCell<Memory> = ConstStaticCell::new(Memory::new());

#[cortex_m_rt::entry]
fn main() -> ! {
    counting::start();
    let dimensions = [POWERS, SHARES, POWERS, SHARES];
    let live = Problem { deployed: Some(&IN_USE), floor: Some(FLOOR), ..counting::problem(&dimensions) };
    let memory = TUNER.take();
    for (what, guards) in [("round", &[][..]), ("guarded-round", &GUARDS[..])] {
        for t in OBSERVATIONS {
            let settings = Settings { candidates: COMPACT.candidates, ..Settings::LIVE };
            let tuner = memory.start(Problem { guards, ..live }, settings, 1).expect("the settings fit");
            count_round(tuner, what, t, guards.len(), |i, _| 3.0 - 0.01 * i as f32);
        }
    }
    let fleet = Fleet::read(include_bytes!("../../examples/radio.fleet")).expect("a fleet");
    for t in OBSERVATIONS {
        let settings = Settings { candidates: COMPACT.candidates, ..Settings::LIVE };
        let mut tuner = memory.start(live, settings, 1).expect("the settings fit");
        tuner.set_fleet(Some(fleet)).expect("it is of this problem");
        count_round(tuner, "fleet-round", t, 0, |_, unit| {
            let header = fleet.header();
            header.mean + header.deviation * fleet.at(unit, 3)[0]
        });
    }
    counting::end()
}

/// From an answer to the next query, when `t` are known: all but the last were measured before. Answers are told by how far the
/// point lies from the one in use, and by where it lies in the unit cube.
fn count_round(
    mut tuner: Optimizer<'_>,
    what: &str,
    t: usize,
    guards: usize,
    answer: impl Fn(usize, &[f32]) -> f32,
) {
    for i in 1..t {
        let x = IN_USE.map(|value| if value < 0.0 { value - 2.0 * (i % 20) as f32 } else { value });
        let unit = [0, 1, 2, 3].map(|d| if d % 2 == 0 { (x[d] + 202.0) / 226.0 } else { 5.0 / 7.0 });
        let y = answer(i % 20, &unit);
        tuner.add_past_all(&x, i % FIDELITIES.len(), y, &[y; 2][..guards]).expect("there is room");
    }
    let query = loop {
        match tuner.advance_with(&[]) {
            Ok(Progress::Query(query)) => break query,
            Ok(Progress::Working) => {}
            other => panic!("{:?}", other.is_ok()),
        }
    };
    let last = answer(0, query.unit());
    let round = counting::count(|| {
        tuner.tell_all(query, last, &[3.0; 2][..guards]).expect("it was asked");
        while let Ok(Progress::Working) = tuner.advance_with(&[]) {}
    });
    assert!(tuner.status().fleet.is_none_or(|fleet| fleet.supported));
    counting::tell(what, t, round);
}

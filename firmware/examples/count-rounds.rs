//! Counts instructions of whole rounds in service, the compact profile's: with a floor alone, with two guards beside it, and with a
//! fleet's prior that holds. See `counting`.
#![no_std]
#![no_main]

mod counting;

use core::array;

use counting::FIDELITIES;
use foretune_core::profile::COMPACT;
use foretune_core::{Dimension, Fleet, Floor, Guard, Level, Optimizer, Problem, Progress, Settings, Side};
use static_cell::ConstStaticCell;

const POWERS: Dimension = Dimension::Grid { low: -202.0, high: 24.0, levels: 114 };
const SHARES: Dimension = Dimension::Levels(&[0.0, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]);
const DIMENSIONS: [Dimension; 4] = [POWERS, SHARES, POWERS, SHARES];
const SETTINGS: Settings = Settings { candidates: COMPACT.candidates, ..Settings::LIVE };
const IN_USE: [f32; 4] = [-80.0, 0.8, -80.0, 0.8];
const FLOOR: Floor = Floor { level: Level::Share(0.9), risk: 0.05 };
const GUARDS: [Guard; 2] = [Guard { side: Side::AtLeast, floor: FLOOR, noise: &[0.1; FIDELITIES.len()] }; 2];
const TARGET: usize = FIDELITIES.len() - 1;
/// Answers so far.
const OBSERVATIONS: [usize; 2] = [10, 40];

type Memory = foretune_core::memory!(
    dimensions: 4, fidelities: 4, observations: 64, particles: 10, map: Linear, candidates: 80, guards: 2, fleet: true
);
static TUNER: ConstStaticCell<Memory> = ConstStaticCell::new(Memory::new());

#[cortex_m_rt::entry]
fn main() -> ! {
    counting::start();
    let live = Problem { deployed: Some(&IN_USE), floor: Some(FLOOR), ..counting::problem(&DIMENSIONS) };
    let memory = TUNER.take();
    for (what, guards) in [("round", &[][..]), ("guarded-round", &GUARDS[..])] {
        for t in OBSERVATIONS {
            let tuner = memory.start(Problem { guards, ..live }, SETTINGS, 1).expect("the settings fit");
            count_round(tuner, what, t, guards.len(), |i, _| 3.0 - 0.01 * i as f32);
        }
    }
    let fleet = Fleet::read(include_bytes!("../../examples/radio.fleet")).expect("a fleet");
    let header = fleet.header();
    // What the fleet's mean says, so that it is supported.
    let mean = |_, unit: &[f32]| header.mean + header.deviation * fleet.at(unit, TARGET)[0];
    for t in OBSERVATIONS {
        let mut tuner = memory.start(live, SETTINGS, 1).expect("the settings fit");
        tuner.set_fleet(Some(fleet)).expect("it is of this problem");
        count_round(tuner, "fleet-round", t, 0, mean);
    }
    counting::end()
}

/// From an answer to the next query, when `t` are known: all but the last were measured before. An answer follows from the steps
/// to the point in use, and from the place in the unit cube.
fn count_round(
    mut tuner: Optimizer<'_>,
    what: &str,
    t: usize,
    guards: usize,
    answer: impl Fn(usize, &[f32]) -> f32,
) {
    for i in 1..t {
        let x = IN_USE.map(|value| if value < 0.0 { value - 2.0 * (i % 20) as f32 } else { value });
        let unit: [f32; 4] = array::from_fn(|d| DIMENSIONS[d].unit(x[d]).expect("in range"));
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

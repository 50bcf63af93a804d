//! Counts instructions of a whole round in service, the compact profile's, with a floor alone and with two guards beside it: see
//! `counting`.
#![no_std]
#![no_main]

mod counting;

use counting::FIDELITIES;
use foretune_core::profile::COMPACT;
use foretune_core::{Dimension, Floor, Guard, Level, Optimizer, Problem, Progress, Settings, Side};
use static_cell::ConstStaticCell;

const POWERS: Dimension = Dimension::Grid { low: -202.0, high: 24.0, levels: 114 };
const SHARES: Dimension = Dimension::Levels(&[0.0, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]);
const IN_USE: [f32; 4] = [-80.0, 0.8, -80.0, 0.8];
const FLOOR: Floor = Floor { level: Level::Share(0.9), risk: 0.05 };
const GUARDS: [Guard; 2] = [Guard { side: Side::AtLeast, floor: FLOOR, noise: &[0.1; FIDELITIES.len()] }; 2];
/// Answers so far.
const OBSERVATIONS: [usize; 2] = [10, 40];

type Memory = foretune_core::memory!(
    dimensions: 4, fidelities: 4, observations: 64, particles: 10, map: Linear, candidates: 80, guards: 2
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
            count_round(tuner, what, t, guards.len());
        }
    }
    counting::end()
}

/// From an answer to the next query, when `t` are known: all but the last were measured before.
fn count_round(mut tuner: Optimizer<'_>, what: &str, t: usize, guards: usize) {
    for i in 1..t {
        let x = IN_USE.map(|value| if value < 0.0 { value - 2.0 * (i % 20) as f32 } else { value });
        let y = 3.0 - 0.01 * (i % 20) as f32;
        tuner.add_past_all(&x, i % FIDELITIES.len(), y, &[y; 2][..guards]).expect("there is room");
    }
    let query = loop {
        match tuner.advance_with(&[]) {
            Ok(Progress::Query(query)) => break query,
            Ok(Progress::Working) => {}
            other => panic!("{:?}", other.is_ok()),
        }
    };
    let round = counting::count(|| {
        tuner.tell_all(query, 3.0, &[3.0; 2][..guards]).expect("it was asked");
        while let Ok(Progress::Working) = tuner.advance_with(&[]) {}
    });
    counting::tell(what, t, round);
}

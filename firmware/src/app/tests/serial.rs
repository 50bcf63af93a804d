//! A bad line, a station that restarts, and a line that babbles.

use rand_core::{Rng, SeedableRng};
use rand_xorshift::XorShiftRng;

use super::noise::Noise;
use super::profile::Small;
use super::{Bench, radio, undisturbed};

const BUDGETS: &[f32] = &[100.0, 150.0];

#[test]
fn noise_of_any_strength_changes_nothing() {
    let expected = undisturbed::<Small>(BUDGETS, radio).base.notes.traces;
    for (seed, one_in) in [(1, 1000), (2, 200), (3, 100), (4, 60), (5, 60)] {
        let mut bench = Bench::<Small>::new(BUDGETS, radio);
        bench.base.hears = Noise::new(one_in, seed);
        bench.base.says = Noise::new(one_in, seed + 100);
        bench.run();
        assert_eq!(bench.base.notes.traces, expected, "one byte in {one_in}");
    }
}

#[test]
fn a_station_that_restarts_finds_back() {
    let expected = undisturbed::<Small>(BUDGETS, radio).base.notes.traces;
    for turns in [3, 17, 90, 400] {
        let mut bench = Bench::<Small>::new(BUDGETS, radio);
        bench.run_until(|base| {
            if base.now % turns == 0 && base.now < 12 * turns {
                base.restart();
            }
            false
        });
        assert_eq!(bench.base.notes.traces, expected, "every {turns} turns");
    }
}

#[test]
fn everything_at_once_changes_nothing() {
    let expected = undisturbed::<Small>(BUDGETS, radio).base.notes.traces;
    for seed in 0..10 {
        let mut bench = Bench::<Small>::new(BUDGETS, radio);
        let mut random = XorShiftRng::seed_from_u64(seed);
        bench.base.hears = Noise::new(150, seed + 1);
        bench.base.says = Noise::new(150, seed + 2);
        for _ in 0..10 {
            let end = bench.base.now + random.next_u32() % 1500;
            let restart = random.next_u32() % 1500;
            bench.run_until(|base| {
                if base.now % 1500 == restart {
                    base.restart();
                }
                base.now >= end
            });
        }
        bench.run();
        assert_eq!(bench.base.notes.traces, expected, "seed {seed}");
    }
}

#[test]
fn a_babbling_line_starves_neither_the_work_nor_the_watchdog() {
    let mut bench = Bench::<Small>::new(&[60.0], radio);
    let babble = bench.outside.to_device.clone();
    let mut random = XorShiftRng::seed_from_u64(9);
    bench.run_until(|base| {
        if base.now % 1000 > 300 {
            let mut line = babble.borrow_mut();
            while line.len() < 2 * crate::board::SERIAL_BUFFER {
                line.push_back(random.next_u32() as u8);
            }
        }
        false
    });
    bench.check();
}

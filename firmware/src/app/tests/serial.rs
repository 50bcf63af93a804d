//! A bad line, a station that restarts, and a line that babbles.

use std::collections::VecDeque;
use std::vec::Vec;

use rand_core::{Rng, SeedableRng};
use rand_xorshift::XorShiftRng;

use super::profile::Small;
use super::{Bench, radio, undisturbed};

/// One direction of a line; a good one by default. On a bad one bytes are dropped, flipped, inserted, doubled and held back.
#[derive(Default)]
pub struct Noise {
    /// One byte in so many suffers; 0 for none.
    pub one_in: u32,
    random: Option<XorShiftRng>,
    hold_until: u32,
    pub waiting: VecDeque<u8>,
}

impl Noise {
    pub fn new(one_in: u32, seed: u64) -> Self {
        Noise { one_in, random: Some(XorShiftRng::seed_from_u64(seed)), ..Noise::default() }
    }

    /// What comes out at the far end now.
    pub fn carry(&mut self, now: u32, from: &mut VecDeque<u8>) -> Vec<u8> {
        let mut out = Vec::new();
        let Some(random) = self.random.as_mut().filter(|_| self.one_in > 0) else {
            out.extend(from.drain(..));
            return out;
        };
        while now >= self.hold_until
            && let Some(byte) = from.pop_front()
        {
            let luck = random.next_u32();
            if !luck.is_multiple_of(self.one_in) {
                out.push(byte);
                continue;
            }
            match random.next_u32() % 5 {
                0 => {}
                1 => out.push(byte ^ 1 << (luck >> 29)),
                2 => out.extend([luck as u8, byte]),
                3 => out.extend([byte, byte]),
                _ => {
                    out.push(byte);
                    self.hold_until = now + random.next_u32() % 300;
                }
            }
        }
        out
    }
}

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

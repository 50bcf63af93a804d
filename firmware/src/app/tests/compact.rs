//! A life of three tasks of the compact profile itself, on a flash with the real chip's words and sectors.
//!
//! Power fails at every single write and erase of it; bits rot; erases are counted. The tasks of the ordinary tests are
//! shorter than a real one only by their budgets; `cargo xtask soak storage` runs the tests that are ignored here.

use std::vec::Vec;

use super::profile::Real;
use super::{Bench, radio};
use crate::profile::COMPACT;
use crate::storage::sim::{SimFlash, Tear};
use crate::storage::{Layout, PAYLOAD_OFFSET, Store};

/// Words of 16 bytes in sectors of 8 KB: STM32H7A3.
type Flash = SimFlash<16, 8192>;
type Life = Bench<Real, 16, 8192>;

/// Where everything lies in it.
const LAYOUT: Layout = COMPACT.layout.in_sectors_of::<Flash>();

/// Three tasks of the ten initial points and some queries more.
const SHORT: &[f32] = &[40.0, 60.0, 30.0];
/// Three tasks as the profile means them.
const WHOLE: &[f32] = &[2000.0; 3];

/// A life that nothing disturbs, compared with the core alone.
fn undisturbed(budgets: &[f32]) -> Life {
    let mut life = Life::new(budgets, radio);
    life.run();
    life.check();
    life
}

/// Cuts the power at the operations that `every` names, in the ways it names; how many cuts that were.
fn cut(budgets: &[f32], every: impl Fn(u64) -> Vec<Tear>) -> usize {
    let mut whole = undisturbed(budgets);
    let operations = whole.flash().operations();
    let mut cuts = 0;
    for at in 0..operations {
        for tear in every(at) {
            let mut life = Life::new(budgets, radio);
            life.flash().cut_after(at, tear, at);
            life.run();
            assert_eq!(life.traces(), whole.traces(), "{tear:?} at operation {at}");
            cuts += 1;
        }
    }
    std::println!("{operations} writes and erases, {cuts} lives with a cut, all with the same end");
    cuts
}

/// One way after the other.
fn in_turn(at: u64) -> Vec<Tear> {
    std::vec![Tear::ALL[at as usize % Tear::ALL.len()]]
}

#[test]
fn a_cut_at_every_write_and_erase_changes_nothing() {
    assert!(cut(SHORT, in_turn) > 150);
}

#[test]
#[ignore = "a thousand lives: minutes"]
fn a_cut_of_every_kind_at_every_write_and_erase_changes_nothing() {
    cut(SHORT, |_| Tear::ALL.to_vec());
}

#[test]
#[ignore = "hundreds of whole lives: a quarter of an hour"]
fn a_cut_at_every_write_and_erase_of_whole_tasks_changes_nothing() {
    cut(WHOLE, in_turn);
}

#[test]
fn every_flipped_bit_of_a_slot_is_noticed() {
    let mut life = undisturbed(&[120.0, 90.0]);
    let mut flash = life.flash().clone();
    let open = |flash: Flash| Store::<_, 48>::open(flash, LAYOUT).unwrap();
    let store = open(flash.clone());
    let (newest, range) = (store.knowledge().unwrap(), store.knowledge_range().unwrap());
    assert!(newest.length > 300, "particles of the compact profile");
    for bit in 8 * range.start as usize..8 * range.end as usize {
        flash.flip(bit);
        let store = open(flash);
        assert_eq!((store.slots().damaged(), store.knowledge().unwrap().sequence), (1, newest.sequence - 1));
        flash = store.release();
        flash.flip(bit);
    }
    // The head is there twice: either it is still read, or the older slot counts.
    let older = Some(newest.sequence - 1);
    for bit in 8 * (range.start - PAYLOAD_OFFSET) as usize..8 * range.start as usize {
        flash.flip(bit);
        let store = open(flash);
        let found = store.knowledge();
        assert!(found == Some(newest) || found.map(|slot| slot.sequence) == older, "bit {bit}: {found:?}");
        flash = store.release();
        flash.flip(bit);
    }
    std::println!("{} bytes and their head, every bit of which was flipped", newest.length);
}

#[test]
fn a_task_erases_a_slot_and_a_journal_once() {
    let mut life = Life::new(&[90.0; 10], radio);
    life.run();
    let erases = life.flash().erases().to_vec();
    let most = *erases.iter().max().unwrap();
    std::println!("ten tasks: erases per sector {erases:?}");
    assert_eq!(most, 5, "each sector half a time per task: 10 000 cycles last for 20 000 tasks");
    assert_eq!(erases.len(), 6);
}

//! Power cuts at every instant of a life of three tasks.
//!
//! The life is that of a toy: what it knows is a hash chain over everything that happened, so one lost, repeated or
//! altered record anywhere changes the end. The third of its tasks is begun after one that was aborted.

use super::sim::{SimFlash, Tear};
use super::{Layout, PAYLOAD_OFFSET, Store};
use boards::{BOARDS, DataFlash};
use foretune_link::crc32;
use rand_core::{Rng, SeedableRng};
use rand_xorshift::XorShiftRng;
use std::vec::Vec;

#[allow(dead_code)] // the rest of a row is for others
#[path = "../../boards.rs"]
mod boards;

const RECORD: usize = 20;
const TASKS: u32 = 4;
const ABORTED: u32 = 3;
const STEPS: u32 = 6;
const KNOWLEDGE: usize = 150;

/// A tuner that knows nothing but hashes; lives on a flash of any units.
struct Toy<const WRITE: usize, const ERASE: usize> {
    store: Store<SimFlash<WRITE, ERASE>, RECORD>,
    knowledge: Vec<u8>,
    records: Vec<[u8; RECORD]>,
    task: u32,
}

/// How far a life has come: task, and records of it.
type Point = (u32, usize);

/// The power failed.
#[derive(Debug)]
struct Cut;

type Step = Result<(), Cut>;

fn cut<E>(_: E) -> Cut {
    Cut
}

/// What is observed at a step: depends on all that is known.
fn observation(task: u32, knowledge: &[u8], records: &[[u8; RECORD]]) -> [u8; RECORD] {
    let all = [&task.to_le_bytes(), knowledge, records.as_flattened()].concat();
    let mut record = [0; RECORD];
    for (i, chunk) in record.chunks_mut(4).enumerate() {
        chunk.copy_from_slice(&crc32(&[&all[..], &[i as u8]].concat()).to_le_bytes());
    }
    record
}

/// What is known after a task.
fn learnt(knowledge: &[u8], records: &[[u8; RECORD]]) -> Vec<u8> {
    let seed = crc32(&[knowledge, records.as_flattened()].concat());
    (0..KNOWLEDGE).map(|i| crc32(&[&seed.to_le_bytes()[..], &[i as u8]].concat()) as u8).collect()
}

impl<const WRITE: usize, const ERASE: usize> Toy<WRITE, ERASE> {
    fn layout() -> Layout {
        let sectors = |bytes: usize| bytes.next_multiple_of(ERASE) as u32;
        Layout::consecutive(0, sectors(PAYLOAD_OFFSET as usize + KNOWLEDGE + WRITE), sectors(512))
    }

    fn flash(ecc: bool) -> SimFlash<WRITE, ERASE> {
        let flash = SimFlash::new(Self::layout().end() as usize);
        if ecc { flash } else { flash.without_ecc() }
    }

    /// Starts on whatever the flash holds.
    fn start(flash: SimFlash<WRITE, ERASE>) -> Self {
        let mut store = Store::open(flash, Self::layout()).unwrap();
        let mut knowledge = std::vec![0; store.knowledge().map_or(0, |slot| slot.length as usize)];
        if !knowledge.is_empty() {
            let _ = store.read_knowledge(0, &mut knowledge);
        }
        let records = (0..).map_while(|index| store.record(index)).collect();
        let task = store.last_task().map_or(0, |task| task.number);
        Self { store, knowledge, records, task }
    }

    /// The rest of the life, or up to the next cut. Counts acknowledged records of the running task.
    fn live(&mut self, acknowledged: &mut Point) -> Step {
        if self.store.running().is_some() {
            self.tune(acknowledged)?;
        }
        while self.task < TASKS {
            self.begin(acknowledged)?;
            self.tune(acknowledged)?;
        }
        Ok(())
    }

    fn begin(&mut self, acknowledged: &mut Point) -> Step {
        let task = self.task + 1;
        self.store.begin_task(task, &task.to_le_bytes()).map_err(cut)?;
        (self.task, self.records) = (task, Vec::new());
        *acknowledged = (task, 0);
        Ok(())
    }

    fn tune(&mut self, acknowledged: &mut Point) -> Step {
        let end = if self.task == ABORTED { STEPS / 2 } else { STEPS };
        while self.records.len() < end as usize {
            let record = observation(self.task, &self.knowledge, &self.records);
            self.store.append(&record).map_err(cut)?;
            self.records.push(record);
            *acknowledged = (self.task, self.records.len());
        }
        if self.task == ABORTED { Ok(()) } else { self.learn() }
    }

    fn learn(&mut self) -> Step {
        let knowledge = learnt(&self.knowledge, &self.records);
        self.store.open_knowledge().map_err(cut)?;
        for piece in knowledge.chunks(37) {
            self.store.write_knowledge(piece).map_err(cut)?;
        }
        self.store.finish_knowledge().map_err(cut)?;
        self.store.commit_knowledge(self.task).map_err(cut)?;
        self.knowledge = knowledge;
        Ok(())
    }
}

/// Length of an undisturbed life in operations, and what is known at its end.
fn undisturbed<const WRITE: usize, const ERASE: usize>() -> (u64, Vec<u8>) {
    let mut toy = Toy::<WRITE, ERASE>::start(Toy::<WRITE, ERASE>::flash(true));
    toy.live(&mut (0, 0)).unwrap();
    let operations = toy.store.flash().operations();
    (operations, toy.knowledge)
}

/// Lives with power cuts: each is given as operations after the start before it, and the way it tears.
fn disturbed<const WRITE: usize, const ERASE: usize>(cuts: &[(u64, Tear)], ecc: bool) -> Vec<u8> {
    let mut flash = Toy::<WRITE, ERASE>::flash(ecc);
    let (mut acknowledged, mut seen) = ((0, 0), (0, 0));
    for (seed, &(after, tear)) in cuts.iter().enumerate() {
        flash.cut_after(after, tear, after.wrapping_mul(31).wrapping_add(seed as u64));
        let mut toy = Toy::<WRITE, ERASE>::start(flash);
        if !toy.store.flash().is_off() {
            seen = toy.check(acknowledged, seen, cuts);
            let _ = toy.live(&mut acknowledged);
        }
        flash = toy.store.release();
        flash.power_up();
    }
    let mut toy = Toy::<WRITE, ERASE>::start(flash);
    toy.check(acknowledged, seen, cuts);
    toy.live(&mut acknowledged).unwrap();
    let again = Toy::<WRITE, ERASE>::start(toy.store.release());
    assert_eq!(again.knowledge, toy.knowledge);
    toy.knowledge
}

impl<const WRITE: usize, const ERASE: usize> Toy<WRITE, ERASE> {
    /// Nothing that was acknowledged is lost, and at most the operation under way is there beyond it and what was seen at
    /// the last start.
    fn check(&self, acknowledged: Point, seen: Point, cuts: &[(u64, Tear)]) -> Point {
        let found = (self.task, self.records.len());
        let (task, count) = acknowledged.max(seen);
        let in_time = found <= (task, count + 1) || found == (task + 1, 0);
        assert!(
            found >= acknowledged && in_time,
            "{found:?} after {acknowledged:?} and {seen:?}; cuts {cuts:?}"
        );
        found
    }
}

fn one_cut_everywhere<const WRITE: usize, const ERASE: usize>(ecc: bool) {
    let (operations, knowledge) = undisturbed::<WRITE, ERASE>();
    for tear in Tear::ALL {
        for after in 0..operations {
            assert_eq!(disturbed::<WRITE, ERASE>(&[(after, tear)], ecc), knowledge, "{tear:?} after {after}");
        }
    }
}

/// A second cut soon after every first one, on a flash of these units.
fn two_cuts_everywhere<const WRITE: usize, const ERASE: usize>(ecc: bool) {
    let (operations, knowledge) = undisturbed::<WRITE, ERASE>();
    for first in [Tear::Bits, Tear::Unseen, Tear::Weak] {
        for after in 0..operations {
            let cuts = [(after, first), (after % 30, Tear::Weak), (7, Tear::Unseen)];
            assert_eq!(disturbed::<WRITE, ERASE>(&cuts, ecc), knowledge, "{cuts:?}");
        }
    }
}

fn cuts_on<const WRITE: usize, const ERASE: usize>(ecc: bool) {
    one_cut_everywhere::<WRITE, ERASE>(ecc);
    two_cuts_everywhere::<WRITE, ERASE>(ecc);
}

#[test]
fn cuts_change_nothing_on_the_flash_of_any_board() {
    let mut flashes: Vec<DataFlash> = Vec::new();
    for board in BOARDS {
        if !flashes.contains(&board.flash) {
            flashes.push(board.flash);
        }
    }
    for flash in flashes {
        match (flash.word, flash.sector, flash.ecc) {
            (32, 8192, true) => cuts_on::<32, 8192>(true),
            (4, 16384, false) => cuts_on::<4, 16384>(false),
            (4, 4096, false) => cuts_on::<4, 4096>(false),
            (64, 4096, false) => cuts_on::<64, 4096>(false),
            _ => panic!("add a line here for {flash:?}"),
        }
    }
}

#[test]
fn a_cut_at_every_operation_in_every_way_changes_nothing() {
    one_cut_everywhere::<16, 1024>(true);
    one_cut_everywhere::<16, 8192>(true);
    one_cut_everywhere::<32, 1024>(true);
    one_cut_everywhere::<8, 2048>(true);
    one_cut_everywhere::<1, 256>(true);
    one_cut_everywhere::<1, 256>(false);
}

#[test]
fn a_second_cut_soon_after_the_first_changes_nothing() {
    let (operations, knowledge) = undisturbed::<16, 1024>();
    for first in [Tear::Bits, Tear::Fault, Tear::Unseen, Tear::Weak] {
        for second in [Tear::Unseen, Tear::Weak] {
            for after in 0..operations {
                for later in 0..30 {
                    let cuts = [(after, first), (later, second)];
                    assert_eq!(disturbed::<16, 1024>(&cuts, true), knowledge, "{cuts:?}");
                }
            }
        }
    }
}

#[test]
fn a_cut_after_every_few_operations_only_delays() {
    let (_, knowledge) = undisturbed::<16, 1024>();
    for tear in Tear::ALL {
        for pace in [20, 25, 31] {
            let cuts = [(pace, tear); 40];
            assert_eq!(disturbed::<16, 1024>(&cuts, true), knowledge, "{tear:?} every {pace}");
        }
    }
}

/// A flash after an undisturbed life, with what it knows, and what it knew one task earlier.
fn lived() -> (SimFlash<16, 1024>, Vec<u8>, Vec<u8>) {
    let mut toy = Toy::<16, 1024>::start(Toy::<16, 1024>::flash(true));
    let mut before = Vec::new();
    while toy.task < TASKS {
        before = toy.knowledge.clone();
        toy.begin(&mut (0, 0)).unwrap();
        toy.tune(&mut (0, 0)).unwrap();
    }
    (toy.store.release(), toy.knowledge, before)
}

#[test]
fn no_flipped_bit_of_the_journal_changes_a_record() {
    let (flash, ..) = lived();
    let whole = Toy::<16, 1024>::start(flash.clone()).records;
    let [a, b] = Toy::<16, 1024>::layout().journals;
    for bit in 8 * a.start as usize..8 * b.end() as usize {
        let mut damaged = flash.clone();
        damaged.flip(bit);
        let toy = Toy::<16, 1024>::start(damaged);
        assert!(toy.task != TASKS || whole.starts_with(&toy.records), "bit {bit}");
    }
}

#[test]
fn a_deep_slot_with_a_flipped_bit_is_noticed() {
    type Deep = SimFlash<16, 8192>;
    let layout = Layout::consecutive(0, 44 * 8192, 8192);
    let mut store = Store::<_, RECORD>::open(Deep::new(90 * 8192), layout).unwrap();
    let payload: Vec<u8> = (0..351_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    store.open_knowledge().unwrap();
    payload.chunks(256).for_each(|chunk| store.write_knowledge(chunk).unwrap());
    store.finish_knowledge().unwrap();
    store.commit_knowledge(0).unwrap();
    let range = store.knowledge_range().unwrap();
    assert_eq!(store.flash().bytes()[range.start as usize..range.end as usize], payload);
    let mut flash = store.release();
    for sample in 0..5000 {
        let bit = range.start as usize * 8 + sample * 561;
        flash.flip(bit);
        let store = Store::<_, RECORD>::open(flash, layout).unwrap();
        assert_eq!((store.knowledge(), store.slots().damaged()), (None, 1), "bit {bit}");
        flash = store.release();
        flash.flip(bit);
    }
    assert!(Store::<_, RECORD>::open(flash, layout).unwrap().knowledge().is_some());
}

#[test]
fn a_flash_full_of_anything_can_be_opened_and_used() {
    let (lived, knowledge, before) = lived();
    let mut random = XorShiftRng::seed_from_u64(7);
    for round in 0..2000 {
        let mut bytes = lived.bytes().to_vec();
        for _ in 0..random.next_u32() % 40 {
            let at = random.next_u32() as usize % bytes.len();
            let end = bytes.len().min(at + random.next_u32() as usize % 64);
            random.fill_bytes(&mut bytes[at..end]);
        }
        if round % 4 == 0 {
            random.fill_bytes(&mut bytes);
        }
        let mut toy = Toy::<16, 1024>::start(SimFlash::from_bytes(&bytes));
        assert!([&knowledge, &before, &Vec::new()].contains(&&toy.knowledge), "nothing else was ever stored");
        toy.task = 0;
        toy.live(&mut (0, 0)).unwrap();
    }
}

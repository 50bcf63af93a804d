use super::*;
use crate::storage::sim::{SimFlash, Tear};
use std::vec::Vec;

type Flash = SimFlash<16, 1024>;
const REGIONS: [Region; 2] = [Region { start: 0, length: 1024 }, Region { start: 1024, length: 1024 }];

/// Records fill a word of 16 bytes each; 52 of them fit beside a preamble of up to 64 bytes.
const ROOM: u32 = 52;

/// Where they begin.
const RECORDS: usize = 128 + 64;

fn record(number: u8) -> [u8; 12] {
    [number; 12]
}

fn open(flash: &mut Flash) -> Journal<12> {
    Journal::open(flash, REGIONS)
}

/// A flash with a task.
fn begun() -> (Flash, Journal<12>) {
    let mut flash = Flash::new(2048);
    let mut journal = open(&mut flash);
    journal.begin(&mut flash, 5, 2, b"preamble").unwrap();
    (flash, journal)
}

fn content(flash: &mut Flash, journal: &Journal<12>) -> Vec<u8> {
    (0..).map_while(|index| journal.record(flash, index)).map(|record| record[0]).collect()
}

#[test]
fn an_empty_flash_has_no_task() {
    let mut flash = Flash::new(2048);
    let mut journal = open(&mut flash);
    assert_eq!(journal.task(), None);
    assert_eq!(journal.append(&mut flash, &record(0)), Err(Error::NotOpen));
    assert_eq!(journal.preamble(&mut flash, &mut [0; 9]), Err(Error::NotOpen));
    assert!(content(&mut flash, &journal).is_empty());
}

#[test]
fn keeps_preamble_and_records_over_a_restart() {
    let (mut flash, mut journal) = begun();
    for number in 0..10 {
        journal.append(&mut flash, &record(number)).unwrap();
    }
    let again = open(&mut flash);
    assert_eq!(again.task(), Some(Task { number: 5, base: 2, records: 10 }));
    assert_eq!(again.preamble(&mut flash, &mut [0; 20]), Ok(&b"preamble"[..]));
    assert_eq!(content(&mut flash, &again), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
}

#[test]
fn equal_records_are_two_records() {
    let (mut flash, mut journal) = begun();
    for number in [7, 7, 7] {
        journal.append(&mut flash, &record(number)).unwrap();
    }
    let again = open(&mut flash);
    assert_eq!(content(&mut flash, &again), [7, 7, 7]);
}

#[test]
fn a_new_task_takes_the_other_area_and_leaves_nothing_of_the_old() {
    let (mut flash, mut journal) = begun();
    journal.append(&mut flash, &record(1)).unwrap();
    journal.begin(&mut flash, 6, 3, b"").unwrap();
    assert!(content(&mut flash, &journal).is_empty());
    let again = open(&mut flash);
    assert_eq!(again.task(), Some(Task { number: 6, base: 3, records: 0 }));
    journal.begin(&mut flash, 7, 3, b"").unwrap();
    assert_eq!(flash.erases(), [2, 1]);
}

#[test]
fn a_torn_record_is_passed_over_and_the_next_goes_behind_it() {
    for tear in Tear::ALL {
        let (mut flash, mut journal) = begun();
        journal.append(&mut flash, &record(1)).unwrap();
        flash.cut_after(0, tear, 5);
        journal.append(&mut flash, &record(2)).unwrap_err();
        flash.power_up();
        let mut journal = open(&mut flash);
        let whole = journal.task().unwrap().records;
        assert_eq!(whole, if matches!(tear, Tear::After | Tear::Weak) { 2 } else { 1 }, "{tear:?}");
        journal.append(&mut flash, &record(3)).unwrap();
        flash.power_up();
        let again = open(&mut flash);
        let expected: &[u8] = if whole == 2 { &[1, 2, 3] } else { &[1, 3] };
        assert_eq!(content(&mut flash, &again), expected, "{tear:?}");
    }
}

#[test]
fn a_failed_append_may_be_tried_again() {
    let (mut flash, mut journal) = begun();
    journal.append(&mut flash, &record(1)).unwrap();
    flash.stick(RECORDS + 16);
    assert_eq!(journal.append(&mut flash, &record(2)), Err(Error::Damaged));
    assert_eq!(content(&mut flash, &journal), [1]);
    journal.append(&mut flash, &record(3)).unwrap();
    assert_eq!(content(&mut flash, &journal), [1, 3]);
    let again = open(&mut flash);
    assert_eq!(content(&mut flash, &again), [1, 3]);
}

#[test]
fn a_lost_record_takes_those_that_build_on_it_along() {
    let (mut flash, mut journal) = begun();
    (0..5).for_each(|number| journal.append(&mut flash, &record(number)).unwrap());
    flash.flip(8 * (RECORDS + 2 * 16));
    let mut journal = open(&mut flash);
    assert_eq!(content(&mut flash, &journal), [0, 1]);
    (22..26).for_each(|number| journal.append(&mut flash, &record(number)).unwrap());
    let again = open(&mut flash);
    assert_eq!(content(&mut flash, &again), [0, 1, 22, 23, 24, 25]);
}

#[test]
fn a_restart_before_every_record_costs_an_erase_each() {
    let (mut flash, mut journal) = begun();
    assert_eq!(journal.capacity::<Flash>(8), ROOM);
    for number in 0..ROOM as u8 {
        journal = open(&mut flash);
        journal.append(&mut flash, &record(number)).unwrap();
        assert_eq!(content(&mut flash, &journal), (0..=number).collect::<Vec<_>>());
        assert_eq!(journal.preamble(&mut flash, &mut [0; 20]), Ok(&b"preamble"[..]));
    }
    assert_eq!(flash.erases(), [27, 26]);
    assert_eq!(journal.append(&mut flash, &record(99)), Err(Error::Full));
    assert_eq!(content(&mut flash, &journal).len(), ROOM as usize, "a refused record changes nothing");
}

#[test]
fn a_journal_with_records_of_another_size_is_not_mine() {
    let (mut flash, _) = begun();
    assert_eq!(Journal::<13>::open(&mut flash, REGIONS).task(), None);
}

#[test]
fn a_preamble_that_is_too_long_is_refused() {
    let mut flash = Flash::new(8192);
    let regions = [0, 4096].map(|start| Region { start, length: 4096 });
    let mut journal = Journal::<12>::open(&mut flash, regions);
    journal.begin(&mut flash, 5, 2, b"").unwrap();
    assert_eq!(journal.begin(&mut flash, 6, 2, &[0; MAX_PREAMBLE + 1]), Err(Error::TooLarge));
    assert_eq!(journal.task().unwrap().number, 5);
    journal.begin(&mut flash, 6, 2, &[1; MAX_PREAMBLE]).unwrap();
}

#[test]
fn a_long_preamble_goes_along_when_the_journal_moves() {
    let mut flash = Flash::new(8192);
    let regions = [0, 4096].map(|start| Region { start, length: 4096 });
    for length in [0, 1, 64, 127, 128, 129, 1000, MAX_PREAMBLE] {
        let preamble: Vec<u8> = (0..length).map(|i| (i * 7) as u8).collect();
        Journal::<12>::open(&mut flash, regions).begin(&mut flash, 5, 2, &preamble).unwrap();
        let mut again = Journal::<12>::open(&mut flash, regions);
        again.append(&mut flash, &record(1)).unwrap();
        let mut moved = Journal::<12>::open(&mut flash, regions);
        let mut out = [0; MAX_PREAMBLE];
        assert_eq!(moved.preamble(&mut flash, &mut out), Ok(&preamble[..]), "{length}");
        assert_eq!(moved.record(&mut flash, 0), Some(record(1)));
        moved.append(&mut flash, &record(2)).unwrap();
    }
}

//! Sectors of the data flash that the self-test may write to without harm, and what it does there.
//!
//! The last two, if no program stores anything in them. Where the programs need them there are none, unless the whole
//! data flash is blank: then nothing can be lost.

use embedded_storage::nor_flash::{NorFlash, ReadNorFlash};

use crate::board::Mapped;
use crate::storage::{Layout, Region};

/// Size of a record: a multiple of every board's word.
pub const RECORD: usize = 64;

/// The sectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scratch {
    /// For records that are found again after a restart.
    pub records: Region,
    /// For the check at every start, which leaves it blank.
    pub trial: Region,
}

/// The sectors, if there are some that none of the programs with these layouts uses.
pub fn find<F: NorFlash>(flash: &mut F, programs: &[Layout]) -> Option<Scratch> {
    let (capacity, length) = (flash.capacity() as u32, F::ERASE_SIZE as u32);
    let records = Region { start: capacity.checked_sub(2 * length)?, length };
    let trial = Region { start: records.end(), length };
    // A program that does not fit the flash cannot have stored anything in it.
    let ends = programs.iter().map(|layout| layout.in_sectors_of::<F>().end());
    let used = ends.filter(|end| *end <= capacity).max().unwrap_or(0);
    (used <= records.start || is_blank(flash)).then_some(Scratch { records, trial })
}

fn is_blank<F: ReadNorFlash>(flash: &mut F) -> bool {
    let mut block = [0; RECORD];
    (0..flash.capacity() as u32)
        .step_by(RECORD)
        .all(|at| flash.read(at, &mut block).is_ok() && block == [0xFF; RECORD])
}

/// What is wrong with the flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Wrong {
    /// It refuses to erase, write or read.
    Refuses,
    /// It does not keep what was written, or shows something else as memory.
    Forgets,
    /// It is not blank after an erase.
    NotBlank,
}

/// Erases, writes, reads and maps the sector, and leaves it blank.
pub fn check<F: NorFlash + Mapped>(flash: &mut F, sector: Region) -> Result<(), Wrong> {
    let at = sector.start + RECORD as u32;
    let word = [0xA5; RECORD];
    let mut back = [0; RECORD];
    flash.erase(sector.start, sector.end()).map_err(|_| Wrong::Refuses)?;
    flash.write(at, &word).map_err(|_| Wrong::Refuses)?;
    flash.read(at, &mut back).map_err(|_| Wrong::Refuses)?;
    if back != word || flash.mapped()[at as usize..][..RECORD] != word {
        return Err(Wrong::Forgets);
    }
    flash.erase(sector.start, sector.end()).map_err(|_| Wrong::Refuses)?;
    flash.read(at, &mut back).map_err(|_| Wrong::Refuses)?;
    if back == [0xFF; RECORD] { Ok(()) } else { Err(Wrong::NotBlank) }
}

/// Fills the sector with numbered records, `before_each` of which something may be done.
pub fn fill<F: NorFlash>(
    flash: &mut F,
    sector: Region,
    mut before_each: impl FnMut(),
) -> Result<(), F::Error> {
    flash.erase(sector.start, sector.end())?;
    for (number, at) in (sector.start..sector.end()).step_by(RECORD).enumerate() {
        before_each();
        flash.write(at, &record(number as u32))?;
    }
    Ok(())
}

/// How many records stand in order, and whether the one after them is torn.
pub fn count<F: NorFlash>(flash: &mut F, sector: Region) -> (u32, bool) {
    let mut found = [0; RECORD];
    let mut records = 0;
    for at in (sector.start..sector.end()).step_by(RECORD) {
        match flash.read(at, &mut found) {
            Err(_) => return (records, true),
            Ok(()) if found != record(records) => return (records, false),
            Ok(()) => records += 1,
        }
    }
    (records, false)
}

fn record(number: u32) -> [u8; RECORD] {
    let mut record = [0x5A; RECORD];
    record[..4].copy_from_slice(&number.to_le_bytes());
    record
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::Store;
    use crate::storage::sim::SimFlash;

    const LAYOUT: Layout = Layout::consecutive(0, 900, 3000);
    const KNOWLEDGE: [u8; 300] = [0xC7; 300];

    /// A flash of so many sectors, with knowledge and a task under way.
    fn used<const WRITE: usize, const ERASE: usize>(sectors: usize) -> SimFlash<WRITE, ERASE> {
        let mut store = Store::<_, 48>::open(
            SimFlash::new(sectors * ERASE),
            LAYOUT.in_sectors_of::<SimFlash<WRITE, ERASE>>(),
        );
        let store = store.as_mut().unwrap();
        store.open_knowledge().unwrap();
        store.write_knowledge(&KNOWLEDGE).unwrap();
        store.finish_knowledge().unwrap();
        store.commit_knowledge(1).unwrap();
        store.begin_task(2, &[1; 20]).unwrap();
        store.append(&[3; 48]).unwrap();
        store.flash().clone()
    }

    fn knowledge<const WRITE: usize, const ERASE: usize>(
        flash: SimFlash<WRITE, ERASE>,
    ) -> Option<([u8; 300], u32)> {
        let mut store =
            Store::<_, 48>::open(flash, LAYOUT.in_sectors_of::<SimFlash<WRITE, ERASE>>()).unwrap();
        let mut bytes = [0; 300];
        store.read_knowledge(0, &mut bytes).ok()?;
        Some((bytes, store.running()?.records))
    }

    fn leaves_alone<const WRITE: usize, const ERASE: usize>(sectors: usize) {
        let mut flash = used::<WRITE, ERASE>(sectors);
        let before = flash.bytes().to_vec();
        let Scratch { records, trial } = find(&mut flash, &[LAYOUT]).unwrap();
        check(&mut flash, trial).unwrap();
        assert_eq!(flash.bytes(), before, "it leaves everything as it was");
        fill(&mut flash, records, || {}).unwrap();
        check(&mut flash, trial).unwrap();
        assert_eq!(count(&mut flash, records), ((ERASE / RECORD) as u32, false));
        assert_eq!(flash.bytes()[..records.start as usize], before[..records.start as usize]);
        assert_eq!(knowledge(flash), Some((KNOWLEDGE, 1)), "knowledge after = knowledge before");
    }

    #[test]
    fn the_self_test_leaves_knowledge_and_task_alone() {
        leaves_alone::<32, 8192>(6);
        leaves_alone::<32, 1024>(16);
        leaves_alone::<4, 4096>(8);
        leaves_alone::<64, 4096>(8);
    }

    #[test]
    fn where_programs_need_every_sector_it_refuses_unless_all_is_blank() {
        let mut flash = used::<4, 16384>(4);
        assert_eq!(find(&mut flash, &[LAYOUT]), None);
        let mut blank = SimFlash::<4, 16384>::new(4 * 16384);
        let scratch = find(&mut blank, &[LAYOUT]).unwrap();
        check(&mut blank, scratch.trial).unwrap();
        assert!(blank.bytes().iter().all(|byte| *byte == 0xFF), "blank it was, blank it is");
    }

    #[test]
    fn a_program_claims_its_sectors_and_one_that_does_not_fit_the_flash_none() {
        let large = Layout::consecutive(0, 100_000, 3000);
        assert!(find(&mut used::<32, 8192>(6), &[LAYOUT, large]).is_some());
        let six_sectors = Layout::consecutive(0, 8192, 12_000);
        assert_eq!(find(&mut used::<32, 8192>(7), &[LAYOUT, six_sectors]), None);
        assert!(find(&mut used::<32, 8192>(8), &[LAYOUT, six_sectors]).is_some());
    }

    #[test]
    fn a_flash_that_does_not_keep_what_is_written_is_found_out() {
        let mut flash = SimFlash::<32, 1024>::new(4096);
        flash.stick(3072 + RECORD + 5);
        let scratch = find(&mut flash, &[]).unwrap();
        assert_eq!(check(&mut flash, scratch.trial), Err(Wrong::Forgets));
    }
}

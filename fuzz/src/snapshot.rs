//! Bytes to load: anything at all, or a sound snapshot whose contents were changed and whose checksum is right again.
//!
//! Either they are refused and nothing changes, or the optimizer goes on to a query that makes sense.

use arbitrary::{Result, Unstructured};
use foretune_core::snapshot::{Crc, Header, check_knowledge};
use foretune_core::{Ask, Optimizer, Progress, SnapshotError};

use crate::case::{Case, PATIENCE, Toy};

/// Seeds: the choice of a case and a place, then edits.
pub fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = crate::optimizer::seeds();
    seeds.push(b"FORETUNE\x01\x00\x00\x00".to_vec());
    seeds
}

/// Runs an input.
pub fn run(bytes: &[u8]) {
    let _ = load_raw(bytes);
    let _ = play(&mut Unstructured::new(bytes));
}

/// The bytes as they are, for a fixed case.
fn load_raw(bytes: &[u8]) -> Result<()> {
    let case = Case::draw(&mut Unstructured::new(&[7; 400]))?;
    let mut memory = Box::new(Toy::new());
    if let Some(tuner) = case.start(&mut memory) {
        try_load(&case, tuner, bytes);
    }
    Ok(())
}

fn play(u: &mut Unstructured<'_>) -> Result<()> {
    let case = Case::draw(u)?;
    let mut memory = Box::new(Toy::new());
    let Some(mut tuner) = case.start(&mut memory) else { return Ok(()) };
    let answers = u.int_in_range(0..=30)?;
    live(&mut tuner, answers);
    let mut bytes = saved(&tuner);
    for _ in 0..u.int_in_range(0..=6)? {
        edit(u, &mut bytes)?;
    }
    if u.ratio(7, 8)? {
        repair(&mut bytes, u.arbitrary()?);
    }
    if u.arbitrary()? {
        try_load(&case, tuner, &bytes);
        return Ok(());
    }
    let mut fresh = Box::new(Toy::new());
    try_load(&case, case.start(&mut fresh).expect("it started before"), &bytes);
    Ok(())
}

/// Answers some queries, task after task.
fn live(tuner: &mut Optimizer<'_>, answers: u32) {
    for answer in 0..answers {
        match tuner.ask() {
            Ask::Query(query) if answer % 7 == 6 => tuner.fail(query).expect("it was asked"),
            Ask::Query(query) => {
                let y = query.unit().iter().sum::<f32>() + query.fidelity() as f32;
                if let Err(refused) = tuner.tell(query, y) {
                    tuner.fail(refused.query).expect("it was asked");
                }
            }
            Ask::Done(_) => tuner.next_task().expect("the task has ended"),
            other => unreachable!("every query is answered: {other:?}"),
        }
    }
}

fn saved(tuner: &Optimizer<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    tuner.snapshot(|piece| bytes.extend_from_slice(piece)).expect("the memory has the particles");
    bytes
}

fn edit(u: &mut Unstructured<'_>, bytes: &mut Vec<u8>) -> Result<()> {
    let at = u.choose_index(bytes.len().max(1))?;
    let header = at % 64;
    match u.int_in_range(0..=5)? {
        0 => bytes[header] = u.arbitrary()?,
        1 => bytes[at] = u.arbitrary()?,
        2 => bytes.truncate(bytes.len().saturating_sub(u.int_in_range(1..=80)?)),
        3 => bytes.extend_from_slice(u.bytes(4)?),
        4 => bytes[at] ^= 1 << u.int_in_range(0..=7)?,
        _ => {
            let word: [u8; 4] = u.arbitrary()?;
            bytes.iter_mut().skip(at & !3).zip(word).for_each(|(to, from)| *to = from);
        }
    }
    if bytes.len() < 68 {
        bytes.resize(68, 0);
    }
    Ok(())
}

/// Makes the checksum right again, and the length if wanted.
fn repair(bytes: &mut [u8], length: bool) {
    let end = bytes.len();
    if length {
        bytes[44..48].copy_from_slice(&(end as u32).to_le_bytes());
    }
    let mut crc = Crc::new();
    crc.update(&bytes[..end - 4]);
    bytes[end - 4..].copy_from_slice(&crc.value().to_le_bytes());
}

fn try_load(case: &Case, mut tuner: Optimizer<'_>, bytes: &[u8]) {
    let before = saved(&tuner);
    let knowledge = check_knowledge(bytes, &case.settings, &case.problem());
    let loaded = tuner.load(bytes);
    match Header::verify(bytes) {
        Err(why) => assert_eq!(loaded, Err(why.into())),
        Ok(header) if !header.mid_task => {
            assert_eq!(knowledge.is_ok(), loaded.is_ok(), "{knowledge:?}, but {loaded:?}");
        }
        Ok(_) => assert_eq!(knowledge, Err(SnapshotError::Settings)),
    }
    if loaded.is_err() {
        return assert_eq!(saved(&tuner), before, "a refusal changes nothing");
    }
    let reached = (0..PATIENCE).map(|_| tuner.advance()).find(|step| *step != Progress::Working);
    match reached.expect("what was loaded hangs") {
        Progress::Query(query) => assert!(query.point().iter().all(|value| value.is_finite())),
        Progress::Done(_) => {}
        other => panic!("{other:?}"),
    }
    assert!(tuner.particles().flatten().all(|theta| theta.is_finite()));
}

//! Every query, observation and recommendation of a seeded run with its exact bits, and a digest of them all.
//!
//! What a device does can be compared with this line by line, or by the digest alone. One line per event:
//!
//! ```text
//! query TASK ROUND KIND FIDELITY x HEX… y HEX
//! end TASK STOP x HEX… mean HEX deviation HEX digest HEX
//! ```
//!
//! Tasks and fidelities count from 1, rounds from 0. `HEX` are the bits of an `f32` as eight hexadecimal digits: `x` in
//! the unit cube, `y` as the optimizer was told, mean and deviation of the recommendation. `KIND` is `initial`,
//! `carried` or `search`; `STOP` is `budget`, `capacity`, `exhausted`, `tolerance` or `requested`.
//!
//! The digest is the CRC-32 (IEEE) of all events so far as little-endian 32-bit words: of a query its task, round, kind
//! (0, 1, 2 in the order above), fidelity from 0, the bits of `x` and of `y`; of an end its task, `ffffffff`, the bits
//! of `x`, mean and deviation.

use std::fmt::Write;

use foretune_core::{Kind, Stop};

use host_sim::checksum::Crc;
use host_sim::error::Error;
use host_sim::runner::{Advice, Noise, Plan, Proposal, play};

/// Turns events into lines and keeps their digest.
#[derive(Clone, Debug, Default)]
pub struct Tracer {
    crc: Crc,
}

impl Tracer {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The line of an answered query.
    pub fn query(&mut self, task: u32, query: &Proposal, y: f32) -> String {
        let (kind, number) = match query.kind {
            Kind::Initial => ("initial", 0),
            Kind::Carried => ("carried", 1),
            Kind::Search => ("search", 2),
            Kind::Past => ("past", 3),
        };
        self.add(&[task, query.round, number, query.fidelity as u32]);
        self.add_floats(&query.unit);
        self.add_floats(&[y]);
        let fidelity = query.fidelity + 1;
        format!("query {task} {} {kind} {fidelity} x{} y{}", query.round, hex(&query.unit), hex(&[y]))
    }

    /// The line of a task's end.
    pub fn end(&mut self, task: u32, stop: Stop, advice: &Advice) -> String {
        let Advice { unit, mean, deviation } = advice;
        self.add(&[task, u32::MAX]);
        self.add_floats(unit);
        self.add_floats(&[*mean, *deviation]);
        format!(
            "end {task} {} x{} mean{} deviation{} digest {:08x}",
            stop_word(stop),
            hex(unit),
            hex(&[*mean]),
            hex(&[*deviation]),
            self.digest()
        )
    }

    /// The digest of all events so far.
    pub fn digest(&self) -> u32 {
        self.crc.value()
    }

    fn add(&mut self, words: &[u32]) {
        words.iter().for_each(|word| self.crc.update(&word.to_le_bytes()));
    }

    fn add_floats(&mut self, values: &[f32]) {
        values.iter().for_each(|value| self.add(&[value.to_bits()]));
    }
}

fn hex(values: &[f32]) -> String {
    values.iter().fold(String::new(), |mut text, value| {
        // Writing to a string cannot fail.
        let _ = write!(text, " {:08x}", value.to_bits());
        text
    })
}

/// Why a task ended, in one word.
fn stop_word(stop: Stop) -> String {
    format!("{stop:?}").to_lowercase()
}

/// Runs all tasks of one experiment of a plan's first variant; `each` gets the lines.
///
/// # Errors
/// What the optimizer refuses, what `each` returns, [`Error::Interrupted`] when `go_on` says no.
pub fn trace(
    plan: &Plan,
    experiment: u32,
    go_on: &dyn Fn() -> bool,
    each: &mut dyn FnMut(&str) -> Result<(), Error>,
) -> Result<u32, Error> {
    let (benchmark, seeds) = (plan.benchmark(), plan.seeds(experiment));
    let mut tracer = Tracer::new();
    plan.with_tuner(0, experiment, |tuner| {
        for number in 1..=plan.manifest().tasks {
            let task = benchmark.tasks(seeds.tasks)?.task(number as usize - 1);
            let mut noise = Noise::new(seeds.noise, number);
            let mut answered = |a: host_sim::runner::Answered| each(&tracer.query(number, &a.proposal, a.y));
            let ended =
                play(tuner, &*task, benchmark.spec(), benchmark.space(), &mut noise, go_on, &mut answered)?;
            each(&tracer.end(number, ended.stop, &ended.advice))?;
            tuner.next_task()?;
        }
        Ok(())
    })?;
    Ok(tracer.digest())
}

#[cfg(test)]
mod tests {
    use super::*;
    use host_sim::checksum::crc32;

    #[test]
    fn lines_and_digest_are_as_documented() {
        let mut tracer = Tracer::new();
        let query = Proposal { unit: vec![0.5, 1.0], fidelity: 1, kind: Kind::Carried, round: 7 };
        let line = tracer.query(3, &query, -2.0);
        assert_eq!(line, "query 3 7 carried 2 x 3f000000 3f800000 y c0000000");
        let words = [3, 7, 1, 1, 0x3f00_0000, 0x3f80_0000, 0xc000_0000u32];
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        assert_eq!(tracer.digest(), crc32(&bytes));
        let advice = Advice { unit: vec![0.0, 0.25], mean: 1.0, deviation: 0.5 };
        let line = tracer.end(3, Stop::Budget, &advice);
        let words = [3, u32::MAX, 0, 0x3e80_0000, 0x3f80_0000, 0x3f00_0000];
        let all: Vec<u8> = bytes.into_iter().chain(words.iter().flat_map(|w| w.to_le_bytes())).collect();
        let digest = crc32(&all);
        let expected =
            format!("end 3 budget x 00000000 3e800000 mean 3f800000 deviation 3f000000 digest {digest:08x}");
        assert_eq!(line, expected);
    }
}

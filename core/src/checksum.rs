//! Checksums: of bytes, and of what saved bytes are bound to.

use crate::error::{ProblemPart, SnapshotError};
use crate::space::Problem;

/// CRC-32 (IEEE), four bits at a time: a table of 16 words.
#[derive(Clone, Copy, Debug)]
pub struct Crc(u32);

impl Crc {
    /// Of nothing yet.
    pub const fn new() -> Self {
        Crc(u32::MAX)
    }

    /// Adds bytes.
    // On a device its copies in every checksum would take a kilobyte.
    #[inline(never)]
    pub fn update(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 ^= u32::from(*byte);
            for _ in 0..2 {
                self.0 = self.0 >> 4 ^ CRC_TABLE[(self.0 & 15) as usize];
            }
        }
    }

    /// The checksum.
    pub const fn value(&self) -> u32 {
        !self.0
    }
}

impl Default for Crc {
    fn default() -> Self {
        Self::new()
    }
}

const CRC_TABLE: [u32; 16] = {
    let mut table = [0; 16];
    let mut i = 0;
    while i < 16 {
        let mut crc = i as u32;
        let mut bit = 0;
        while bit < 4 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
            bit += 1;
        }
        table[i] = crc;
        i += 1;
    }
    table
};

/// Checksums of what knowledge is bound to. Budget, and whatever else may change between tasks, is not in them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProblemSums {
    /// Of the parameters: ranges and levels.
    pub parameters: u32,
    /// Of the fidelities: number, costs, noise.
    pub fidelities: u32,
    /// Of the goal.
    pub goal: u32,
}

impl ProblemSums {
    /// Of a problem.
    pub fn of(problem: &Problem<'_>) -> ProblemSums {
        ProblemSums {
            parameters: checksum(|mix| problem.fingerprint_parameters(mix)),
            fidelities: checksum(|mix| problem.fingerprint_fidelities(mix)),
            goal: checksum(|mix| mix(problem.goal as u32)),
        }
    }

    /// Knowledge is of use to the problem that it was learnt on; to another it may do harm.
    pub(crate) fn agrees(&self, own: &ProblemSums) -> Result<(), SnapshotError> {
        let difference = self.difference(own);
        difference.map_or(Ok(()), |part| Err(SnapshotError::Problem(part)))
    }

    /// The first part in which two problems differ.
    fn difference(&self, other: &ProblemSums) -> Option<ProblemPart> {
        if self.parameters != other.parameters {
            Some(ProblemPart::Parameters)
        } else if self.fidelities != other.fidelities {
            Some(ProblemPart::Fidelities)
        } else {
            (self.goal != other.goal).then_some(ProblemPart::Goal)
        }
    }
}

pub(crate) fn checksum(feed: impl FnOnce(&mut dyn FnMut(u32))) -> u32 {
    let mut crc = Crc::new();
    feed(&mut |word| crc.update(&word.to_le_bytes()));
    crc.value()
}

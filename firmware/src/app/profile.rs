//! The two [profiles](foretune_link::profile) with what they store.

use foretune_link::profile;
use foretune_link::seal::Key;

pub use foretune_link::profile::{Compact, Deep, POWER_CONTROL};

use super::{Config, entry};
use crate::storage::Layout;

const KB: u32 = 1024;

/// ARD map, learning after every observation.
pub const COMPACT: Config =
    Config { profile: profile::COMPACT, layout: Layout::consecutive(0, 4 * KB, 16 * KB), key: KEY };

/// The paper's map and settings.
pub const DEEP: Config =
    Config { profile: profile::DEEP, layout: Layout::consecutive(0, 352 * KB, 32 * KB), key: KEY };

/// The device's key, if it is built with one: `FORETUNE_KEY`, 64 hexadecimal digits.
const KEY: Option<Key> = match option_env!("FORETUNE_KEY") {
    Some(digits) => Some(key(digits.as_bytes())),
    None => None,
};

#[cfg(not(feature = "key"))]
const _: () = assert!(KEY.is_none(), "FORETUNE_KEY wants the feature `key`");

const fn key(digits: &[u8]) -> Key {
    assert!(digits.len() == 64, "FORETUNE_KEY must be 64 hexadecimal digits");
    let (mut key, mut i) = ([0; 32], 0);
    while i < 64 {
        let value = match (digits[i] as char).to_digit(16) {
            Some(value) => value as u8,
            None => panic!("FORETUNE_KEY must be 64 hexadecimal digits"),
        };
        key[i / 2] = key[i / 2] << 4 | value;
        i += 1;
    }
    key
}

// A record of the journal has room for so many.
const _: () = assert!(Compact::DIMENSIONS <= entry::DIMENSIONS && Deep::DIMENSIONS <= entry::DIMENSIONS);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knowledge_fits_its_slot() {
        for config in [COMPACT, DEEP] {
            let (d, v) = (config.profile.problem.dimensions.len(), config.profile.settings.particles);
            let parameters = config.profile.settings.model(d).parameters();
            let longest =
                foretune_core::snapshot::HEADER + v * parameters * 4 + foretune_core::MAX_CARRIED * d * 4 + 4;
            assert!(longest as u32 + crate::storage::PAYLOAD_OFFSET <= config.layout.slots[0].length);
        }
    }

    #[test]
    fn a_task_with_every_try_of_every_query_and_all_its_restarts_fits_the_journal() {
        const STRIDE: u32 = 64;
        for (config, queries) in [(COMPACT, 64), (DEEP, 128)] {
            let entries = queries * u32::from(super::super::TRIES) + super::super::RESTARTS + 2;
            let room = config.layout.journals[0].length - crate::storage::PAYLOAD_OFFSET;
            let room = room - crate::storage::MAX_PREAMBLE as u32;
            assert!(entries * STRIDE <= room, "{}: {entries} entries", config.profile.name);
        }
    }
}

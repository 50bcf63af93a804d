//! The two [profiles](foretune_link::profile) with what they store.

use foretune_link::profile;

pub use foretune_link::profile::{Compact, Deep, POWER_CONTROL};

use super::{Config, entry};
use crate::storage::Layout;

const KB: u32 = 1024;

/// ARD map, learning after every observation.
pub const COMPACT: Config =
    Config { profile: profile::COMPACT, layout: Layout::consecutive(0, 4 * KB, 16 * KB) };

/// The paper's map and settings.
pub const DEEP: Config = Config { profile: profile::DEEP, layout: Layout::consecutive(0, 352 * KB, 32 * KB) };

// A record of the journal has room for so many.
const _: () = assert!(Compact::DIMENSIONS <= entry::DIMENSIONS && Deep::DIMENSIONS <= entry::DIMENSIONS);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knowledge_fits_its_slot() {
        for config in [COMPACT, DEEP] {
            let (d, v) = (config.profile.problem.dimensions.len(), config.profile.settings.model.particles);
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

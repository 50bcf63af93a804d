//! Fleets in files: what was measured at many sites, wherever it is kept, and what [`foretune_fleet`] made of it.

use std::path::Path;

use foretune_core::Fleet;
use host_sim::error::Error;

mod page;
mod sites;

pub use page::page;
pub use sites::gather;

/// The bytes of a fleet's file.
///
/// # Errors
/// [`Error::Usage`] naming the file and what is wrong.
pub fn read(path: &Path) -> Result<Vec<u8>, Error> {
    let bytes = std::fs::read(path)
        .map_err(|error| Error::usage(format!("cannot read {}: {error}", path.display())))?;
    let wrong = |why| Error::usage(format!("{}: fleet file refused: {why}", path.display()));
    Fleet::read(&bytes).map_err(wrong)?;
    Ok(bytes)
}

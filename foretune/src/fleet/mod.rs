//! What many sites have in common, learnt from what was measured there: [`foretune_core::fleet`] on the host's side.

use std::path::Path;

use foretune_core::Fleet;
use host_sim::error::Error;

mod fit;
mod likelihood;
mod page;
mod sites;
mod typical;

pub use fit::{Fitted, Plan, fit};
pub use likelihood::Shape;
pub use page::page;
pub use sites::Gathered;
pub use typical::typical;

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

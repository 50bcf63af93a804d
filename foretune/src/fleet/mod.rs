//! Fleets in files: what was measured at many sites, wherever it is kept, and what [`foretune_fleet`] made of it.

mod page;
mod sites;

pub use page::page;
pub use sites::gather;

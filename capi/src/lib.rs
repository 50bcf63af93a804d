//! The tuner from C: a static library and the header `foretune.h`, which `cbindgen` makes of this crate.
//!
//! The caller owns the memory. [`foretune_start`] lays the tuner out in it: first [`foretune`], then the words of
//! a [`foretune_core::Block`]. Whatever a caller can do wrong with valid pointers is an error that changes
//! nothing; `docs/guide/c.md` is the guide.
//!
//! `types` has what crosses the border, `convert` turns it into the core's types and back, `edge` its doubles into floats and
//! back, `memory` cuts up the memory, `calls` has the functions, `conditions` those of conditions that are known, `watch` those of a watch.
#![no_std]
#![allow(non_camel_case_types, clippy::enum_variant_names, reason = "the names are those of the header")]

#[cfg(not(target_os = "none"))]
extern crate std;

mod calls;
mod conditions;
mod convert;
mod edge;
mod error;
mod memory;
mod panic;
mod pointer;
mod types;
mod watch;

pub use calls::*;
pub use conditions::*;
pub use error::*;
pub use memory::{
    FORETUNE_COMPACT_ALIGN, FORETUNE_COMPACT_SIZE, FORETUNE_FLEET_BYTES, FORETUNE_HEAD, foretune,
};
#[doc(hidden)]
pub use memory::{bound, guards_bound, repeats_bound};
pub use panic::{foretune_on_panic, foretune_panic_hook};
pub use types::*;
pub use watch::*;

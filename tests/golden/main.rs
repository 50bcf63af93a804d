//! The core against values from an `f64` reference; `README.md` beside this file says what they are.
//!
//! `cargo test -p foretune-tests --test golden -- --nocapture` also prints the table of errors on badly conditioned
//! matrices, from which the floor on the noise was chosen. `UPDATE_GOLDEN=1` writes that table anew.

mod acquisition;
mod gp;
mod particles;
mod reference;

//! The dialogue from both ends: what counts, what is said byte for byte, and what a bad line may do to it.

mod line;
mod messages;
mod toy;
mod tuner;
mod wire;

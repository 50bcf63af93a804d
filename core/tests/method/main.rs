//! What the method must do, said in words and compared with equations written a second time, in `f64`.
//!
//! On a space small enough to be searched whole, every query can be judged: is there really no point and no fidelity
//! that is worth more? Learning is judged where its result can be written down.

mod learning;
mod oracle;
mod queries;
mod recommendation;
mod tuner;

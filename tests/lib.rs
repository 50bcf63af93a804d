//! Tests of more than one package, or of the whole; each package's own lie beside its code.
//!
//! | test | what it shows |
//! |---|---|
//! | `golden` | the core computes what an `f64` reference does, which lies beside it |
//! | `digests` | seeded runs ask the same, bit for bit, as ever |
//! | `life` | hundreds of tasks in one memory: as good and as quick at the end as at the start |
//! | `guides` | every snippet of the guides and read-mes compiles and does what the text says |
//! | `layers` | a package uses only those below it, and stays small enough to read |
//! | `command_line` | the programs `foretune` and `foretune-paper`: the same results however it was run, benchmarks solved to a stated regret, a clear word for every bad request |

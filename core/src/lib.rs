//! Multi-fidelity Bayesian optimization with transferable max-value entropy search, without an allocator.
#![no_std]

//! Messages and frames between the tuner and its base station.
#![no_std]

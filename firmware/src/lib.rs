//! The tuning application, generic over a board.
#![cfg_attr(not(test), no_std)]

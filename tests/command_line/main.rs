//! The built program on tiny studies: the same results however it was run, and a clear word for every bad request.

mod bad_input;
mod demo;
mod documents;
mod figures;
mod inspect;
mod live;
mod opponents;
mod pages;
mod program;
mod studies;
mod traces;
mod tune;

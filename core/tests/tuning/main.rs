//! The optimizer as a whole: what it promises, on toy problems, for all methods.

mod answers;
mod beside;
mod budget;
mod categories;
mod change;
mod conditions;
mod fleet;
mod guards;
mod kept;
mod live;
mod memory;
mod outliers;
mod promises;
mod refusals;
mod repeats;
mod slices;
mod snapshots;
mod support;
mod tolerance;
mod watch;
mod without_centres;

//! A share of a study's units, for a cluster or a CI matrix.

use std::fmt;
use std::str::FromStr;

use super::{Manifest, UnitId};

/// Share `index` of `count`, written `index/count`, from `1/count` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    index: u32,
    count: u32,
}

impl Shard {
    /// The whole study.
    pub const WHOLE: Self = Self { index: 1, count: 1 };

    /// The shard's units, in canonical order. Every unit of the study is in exactly one shard, and each shard has
    /// its part of every variant, expensive or cheap.
    pub fn units(self, manifest: &Manifest) -> Vec<UnitId> {
        let mine = |(i, _): &(usize, UnitId)| *i as u32 % self.count == self.index - 1;
        // Dealt by experiment first: dealt by variant first, one shard could get a single variant.
        let mut units: Vec<UnitId> = manifest.units().collect();
        units.sort_by_key(|u| (u.experiment, u.variant));
        let mut units: Vec<UnitId> = units.into_iter().enumerate().filter(mine).map(|(_, u)| u).collect();
        units.sort();
        units
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('/').and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
        match numbers {
            Some((index, count)) if (1..=count).contains(&index) => Ok(Self { index, count }),
            _ => Err(format!("{text:?} is not a shard: write 1/4 for the first of four")),
        }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::manifest;
    use super::*;

    #[test]
    fn shards_part_the_study() {
        let m = Manifest { experiments: 5, ..manifest() };
        for count in 1..=12 {
            let mut all: Vec<UnitId> =
                (1..=count).flat_map(|index| Shard { index, count }.units(&m)).collect();
            all.sort();
            assert_eq!(all, m.units().collect::<Vec<_>>());
        }
    }

    #[test]
    fn shards_are_read_and_refused() {
        assert_eq!("2/3".parse(), Ok(Shard { index: 2, count: 3 }));
        assert_eq!("2/3".parse::<Shard>().unwrap().to_string(), "2/3");
        for bad in ["", "1", "0/3", "4/3", "1/0", "a/b", "1/2/3", "-1/2"] {
            assert!(bad.parse::<Shard>().is_err(), "{bad}");
        }
    }
}

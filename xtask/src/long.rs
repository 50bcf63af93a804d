//! The long campaigns on this host: tests that are ignored otherwise, in release mode, their figures printed.

use crate::shell::{cargo, run};
use crate::step::Trouble;

/// A campaign: its name, and the tests behind it.
struct Long {
    name: &'static str,
    package: &'static str,
    /// What selects the tests.
    filter: &'static str,
}

const ALL: [Long; 3] = [
    Long { name: "storage", package: "foretune-firmware", filter: "app::tests::compact" },
    Long { name: "line", package: "foretune-link", filter: "a_very_long_bad_line" },
    Long { name: "life", package: "foretune-tests", filter: "a_life_of_a_thousand_tasks" },
];

/// Runs the campaign of that name, or all without one; `None` if none is called so.
pub fn on_host(name: Option<&str>) -> Option<Result<(), Trouble>> {
    let chosen: Vec<_> = ALL.iter().filter(|long| name.is_none_or(|name| name == long.name)).collect();
    (!chosen.is_empty()).then(|| chosen.into_iter().try_for_each(Long::run))
}

impl Long {
    fn run(&self) -> Result<(), Trouble> {
        let Long { package, filter, .. } = self;
        run(cargo().args([
            "test",
            "--release",
            "--package",
            package,
            filter,
            "--",
            "--ignored",
            "--nocapture",
        ]))
    }
}

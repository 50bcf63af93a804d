//! Every Rust snippet of the guides and read-mes, word for word: compiled, and run where it does something.
//!
//! `build.rs` cuts them out. Each is included below, in the surroundings that the text around it promises.
#![allow(
    dead_code,
    unused_variables,
    clippy::unnecessary_operation,
    reason = "a guide may show more than is run here"
)]

/// `docs/guide/firmware.md`, and `core/README.md`, which takes the same as given.
mod firmware {
    use foretune_core::{Dimension, Error, Fidelity, Goal, Problem, Progress, Settings};
    use static_cell::ConstStaticCell;

    include!(concat!(env!("OUT_DIR"), "/firmware_1.rs"));
    include!(concat!(env!("OUT_DIR"), "/firmware_2.rs"));

    fn value(point: &[f32], fidelity: usize) -> f32 {
        let distance = [(point[0] + 40.0) / 60.0, point[1] - 0.7];
        1.0 - distance[0] * distance[0] - distance[1] * distance[1] - [0.05, 0.0][fidelity]
    }

    fn measure(point: &[f32], fidelity: usize) -> Option<f32> {
        Some(value(point, fidelity))
    }

    fn apply(point: &[f32]) {
        assert!(value(point, 1) > 0.5, "{point:?}");
    }

    #[test]
    fn tunes_a_task_at_once() {
        fn shown() -> Result<(), Error> {
            include!(concat!(env!("OUT_DIR"), "/firmware_3.block.rs"))
        }
        shown().unwrap();
    }

    #[test]
    fn tunes_a_task_slice_by_slice() {
        fn shown() -> Result<(), Error> {
            let mut memory = Box::new(Tuner::new());
            let mut tuner = memory.start(PROBLEM, SETTINGS, 7)?;
            let (watchdog, mut outstanding) = (Watchdog, None);
            while tuner.status().task == 1 {
                include!(concat!(env!("OUT_DIR"), "/firmware_4.block.rs"));
                if let Some(query) = outstanding.take() {
                    let value = value(query.point(), query.fidelity());
                    tuner.tell(query, value)?;
                }
            }
            Ok(())
        }
        shown().unwrap();
    }

    struct Watchdog;

    impl Watchdog {
        fn feed(&self) {}
    }

    #[test]
    fn the_front_page_of_the_core_tunes_a_task() {
        fn shown() -> Result<(), Error> {
            let mut memory = Box::new(Tuner::new());
            let (problem, settings, seed) = (PROBLEM, SETTINGS, 7);
            include!(concat!(env!("OUT_DIR"), "/core_readme_1.block.rs"));
            Ok(())
        }
        shown().unwrap();
    }
}

/// `docs/guide/rust.md`: a program as it stands.
mod first_program {
    include!(concat!(env!("OUT_DIR"), "/rust_1.rs"));

    #[test]
    fn runs_two_tasks_and_restores() {
        main().unwrap();
    }

    #[test]
    fn is_under_forty_lines() {
        assert!(include_str!(concat!(env!("OUT_DIR"), "/rust_1.rs")).lines().count() < 40);
    }
}

/// `docs/guide/live.md`, beside the problem that it takes as given.
mod in_service {
    use foretune_core::{Ask, Dimension, Fidelity, Floor, Level, Limit, Problem, Settings, memory};

    const RADIO: Problem = Problem {
        dimensions: &[
            Dimension::Grid { low: -100.0, high: 24.0, levels: 63 },
            Dimension::Levels(&[0.0, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]),
        ],
        fidelities: &[
            Fidelity { cost: 10.0, samples: 10, noise: 0.4 },
            Fidelity { cost: 100.0, samples: 100, noise: 0.04 },
        ],
        budget: 2000.0,
        ..Problem::PLAIN
    };

    include!(concat!(env!("OUT_DIR"), "/live_1.rs"));

    type Memory = memory!(problem: IN_SERVICE, settings: Settings::LIVE, observations: 64);

    #[test]
    fn runs_a_task() {
        let mut memory = Box::new(Memory::new());
        let mut tuner = memory.start(IN_SERVICE, Settings::LIVE, 1).unwrap();
        while let Ask::Query(query) = tuner.ask() {
            let [power, alpha] = [query.point()[0] + 60.0, query.point()[1] - 0.8];
            assert!(query.point()[0] + 40.0 * query.point()[1] <= 0.0, "{:?}", query.point());
            tuner.tell(query, 40.0 - 0.01 * power * power - 20.0 * alpha * alpha).unwrap();
        }
        let live = tuner.status().live.unwrap();
        assert!(live.meanwhile > live.worst && live.below_time < 0.5, "{live:?}");
    }
}

/// `docs/guide/fleet.md`.
mod fleet {
    include!(concat!(env!("OUT_DIR"), "/fleet_1.rs"));

    #[test]
    fn what_is_no_fleet_is_refused() {
        use foretune_core::{Dimension, Fidelity, Problem, Settings, SnapshotError, memory};
        let problem = Problem {
            dimensions: &[Dimension::Interval { low: 0.0, high: 1.0 }],
            fidelities: &[Fidelity { cost: 1.0, samples: 1, noise: 0.01 }],
            budget: 20.0,
            ..Problem::PLAIN
        };
        let mut memory = Box::new(<memory!(
            dimensions: 1, fidelities: 1, observations: 64, particles: 10, map: Ard, candidates: 128, fleet: true
        )>::new());
        let mut tuner = memory.start(problem, Settings::DEFAULT, 1).unwrap();
        assert_eq!(join(&mut tuner, b"FTNF"), Err(Error::Fleet(SnapshotError::Truncated)));
    }
}

/// `docs/guide/settings.md`.
mod settings {
    mod checked {
        use foretune_core::Settings;

        include!(concat!(env!("OUT_DIR"), "/settings_1.rs"));

        #[test]
        fn are_right() {
            assert!(SETTINGS.checked().is_ok());
        }
    }

    /// Its own assertion holds when this compiles.
    mod capacity {
        include!(concat!(env!("OUT_DIR"), "/settings_2.rs"));
    }
}

/// `docs/guide/problem.md`: a module of the simulator, with stand-ins for the simulator's own random numbers.
mod problem {
    pub mod pump {
        use host_sim::problems::{DimensionSpec, FidelitySpec, ProblemSpec, Task};

        pub enum Purpose {
            PumpLoad,
        }

        pub struct Random(u64);

        impl Random {
            pub fn new(seed: u64, _: Purpose, task: usize) -> Self {
                Self(seed + task as u64)
            }

            pub fn uniform(&mut self, low: f64, high: f64) -> f64 {
                low + (high - low) * (self.0 % 10) as f64 / 10.0
            }
        }

        include!(concat!(env!("OUT_DIR"), "/problem_1.rs"));
        include!(concat!(env!("OUT_DIR"), "/problem_2.rs"));
    }

    /// What the guide's sixth step asks for.
    pub fn check() {
        use host_sim::problems::Task;
        let spec = pump::Pump.spec("pump".into());
        for task in 0..3 {
            let day = pump::Pump.task(7, task);
            let best = day.optimum_at();
            assert!((day.value(1, &best) - day.optimum()).abs() < 1e-12);
            let (speed, angle) = (spec.dimensions[0].range(), spec.dimensions[1].range());
            assert!((speed.0..=speed.1).contains(&best[0]) && (angle.0..=angle.1).contains(&best[1]));
            assert!(day.value(1, &spec.deployed) < day.optimum());
        }
        assert!(pump::Pump.unlike_task(7, 0).optimum_at()[0] > 2000.0);
    }
}

#[test]
fn the_pump_of_the_problem_guide_is_a_problem() {
    problem::check();
}

#[test]
fn no_snippet_is_left_out() {
    let all = include_str!(concat!(env!("OUT_DIR"), "/snippets.txt"));
    assert!(all.lines().count() >= 10, "{all}");
    for name in all.lines() {
        let included = ["", ".block"].map(|form| format!("\"/{name}{form}.rs\""));
        assert!(included.iter().any(|words| include_str!("guides.rs").contains(words)), "{name}");
    }
}

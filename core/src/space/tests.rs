use super::*;
use crate::Level;
extern crate std;

const ALPHA: Dimension<'static> = Dimension::Levels(&[0.0, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]);
const POWER: Dimension<'static> = Dimension::Grid { low: -202.0, high: 24.0, levels: 114 };

#[test]
fn levels_survive_the_round_trip() {
    let fine = Dimension::Grid { low: 0.0, high: 1e-3, levels: u16::MAX };
    for dimension in [ALPHA, POWER, fine, Dimension::Category { count: 7 }, Dimension::Category { count: 8 }]
    {
        for level in 0..dimension.levels().unwrap() {
            let unit = dimension.unit_of_level(level);
            assert_eq!(dimension.level_of_unit(unit), Some(level));
            assert_eq!(dimension.snap(unit), unit);
            let value = dimension.value(unit);
            assert_eq!(dimension.unit(value), Some(unit), "level {level} of {dimension:?}");
        }
    }
    assert_eq!(POWER.value(POWER.unit_of_level(51)), -100.0);
    assert_eq!(ALPHA.value(0.66), 0.7);
    assert_eq!(ALPHA.unit_of_level(8), 1.0, "beyond the last level is the last");
}

#[test]
fn intervals_clamp_and_refuse_what_lies_outside() {
    let d = Dimension::Interval { low: 10.0, high: 5000.0 };
    assert_eq!(d.value(-1.0), 10.0);
    assert_eq!(d.value(2.0), 5000.0);
    assert_eq!(d.unit(5001.0), None);
    assert_eq!(d.unit(f32::NAN), None);
    assert_eq!(d.unit(10.0), Some(0.0));
}

#[test]
fn refuses_malformed_problems_by_name() {
    let dimensions = [POWER];
    let fidelities = [Fidelity { cost: 10.0, samples: 10, noise: 0.1 }];
    let good = Problem {
        dimensions: &dimensions,
        fidelities: &fidelities,
        budget: 100.0,
        goal: Goal::Maximise,
        ..Problem::PLAIN
    };
    assert!(good.checked().is_ok());
    let few = "at least 2 levels";
    let infinite = "ends and their distance must be finite";
    let empty = "its lower end must be below its upper end";
    let close = "levels must ascend, farther apart than rounding";
    for (bad, what) in [
        (Dimension::Interval { low: 1.0, high: 1.0 }, empty),
        (Dimension::Interval { low: 2.0, high: 1.0 }, empty),
        (Dimension::Interval { low: f32::NAN, high: 1.0 }, infinite),
        (Dimension::Interval { low: f32::MIN, high: f32::MAX }, infinite),
        (Dimension::Grid { low: 0.0, high: 1.0, levels: 1 }, few),
        (Dimension::Levels(&[1.0]), few),
        (Dimension::Category { count: 0 }, few),
        (Dimension::Category { count: 1 }, few),
        (Dimension::Category { count: 9 }, "at most 8 values"),
        (Dimension::Levels(&[1.0, 1.0]), empty),
        (Dimension::Levels(&[]), few),
        (Dimension::Levels(&[0.0, f32::NAN, 1.0]), close),
        (Dimension::Levels(&[-1e8, 1.0, 2.0, 1e8]), close),
        (Dimension::Grid { low: 1e8, high: 1e8 + 16.0, levels: 100 }, close),
    ] {
        let dimensions = [POWER, bad];
        let refused = Problem { dimensions: &dimensions, ..good }.checked();
        assert_eq!(refused, Err(Error::Dimension { index: 1, what }));
    }
    for (cost, noise, what) in [
        (0.0, 0.1, "its cost must be 1e-12 to 1e12"),
        (1e-30, 0.1, "its cost must be 1e-12 to 1e12"),
        (f32::NAN, 0.1, "its cost must be 1e-12 to 1e12"),
        (11.0, -1.0, "its noise must be finite, 0 or more"),
        (11.0, f32::INFINITY, "its noise must be finite, 0 or more"),
        (9.0, 0.1, "it must cost no less than the one before it"),
    ] {
        let fidelities = [fidelities[0], Fidelity { cost, samples: 1, noise }];
        let refused = Problem { fidelities: &fidelities, ..good }.checked();
        assert_eq!(refused, Err(Error::Fidelity { index: 1, what }));
    }
    assert_eq!(Problem { budget: f32::NAN, ..good }.checked(), Err(Error::Budget));
    let none = Problem { dimensions: &[], ..good }.checked();
    assert_eq!(none, Err(Error::Dimension { index: 0, what: "there must be one at least" }));
    let many = Problem { dimensions: &[POWER; 17], ..good }.checked();
    assert_eq!(many, Err(Error::Dimension { index: 16, what: "there may be 16 at most" }));
}

#[test]
fn small_spaces_are_enumerated_whole() {
    let space = [ALPHA, Dimension::Grid { low: 0.0, high: 1.0, levels: 3 }];
    assert_eq!(size(&space, 24), Some(24));
    assert_eq!(size(&space, 23), None);
    let mut x = [0.0; 2];
    enumerate(&space, 17, &mut x);
    assert_eq!(x, [0.4, 1.0]);
}

#[test]
fn whatever_decides_queries_is_in_the_fingerprint() {
    let dimensions = [POWER];
    let fidelities = [Fidelity { cost: 10.0, samples: 10, noise: 0.1 }];
    let problem =
        Problem { dimensions: &dimensions, fidelities: &fidelities, budget: 100.0, ..Problem::PLAIN };
    let of = |problem: &Problem<'_>| {
        let mut words = std::vec::Vec::new();
        problem.fingerprint(&mut |word| words.push(word));
        words
    };
    let floor = |level, risk| Some(Floor { level, risk });
    let limit = |at_most| [Limit { coefficients: &[1.0], at_most }];
    let (wide, narrow) = (limit(0.0), limit(-50.0));
    let variants = [
        problem,
        Problem { budget: 101.0, ..problem },
        Problem { goal: Goal::Minimise, ..problem },
        Problem { tolerance: 0.1, ..problem },
        Problem { tolerance: 0.2, ..problem },
        Problem { floor: floor(Level::Value(0.1), 0.05), ..problem },
        Problem { floor: floor(Level::Value(0.2), 0.05), ..problem },
        Problem { floor: floor(Level::Drop(0.1), 0.05), ..problem },
        Problem { floor: floor(Level::Share(0.1), 0.05), ..problem },
        Problem { floor: floor(Level::Share(0.1), 0.10), ..problem },
        Problem { limits: &wide, ..problem },
        Problem { limits: &narrow, ..problem },
        Problem { dimensions: &[ALPHA], ..problem },
        Problem { dimensions: &[Dimension::Category { count: 3 }], ..problem },
        Problem { dimensions: &[Dimension::Grid { low: 0.0, high: 2.0, levels: 3 }], ..problem },
        Problem { fidelities: &[Fidelity { cost: 10.0, samples: 10, noise: 0.2 }], ..problem },
    ];
    for (i, one) in variants.iter().enumerate() {
        for (j, other) in variants.iter().enumerate() {
            assert_eq!(of(one) == of(other), i == j, "{i} and {j}");
        }
    }
}

#[test]
fn values_of_a_category_have_no_order() {
    let dimensions = [Dimension::Category { count: 4 }, Dimension::Interval { low: 0.0, high: 1.0 }];
    let unit = |value: f32, x: f32| [dimensions[0].unit(value).unwrap(), x];
    let limits = [Limit { coefficients: &[0.0, 1.0], at_most: 0.5 }];
    let problem = Problem { dimensions: &dimensions, limits: &limits, ..Problem::PLAIN };
    let mut x = unit(3.0, 0.8);
    problem.keep_to_limits(Some(&unit(0.0, 0.2)), &mut x);
    assert_eq!(x, unit(0.0, 0.5), "straight to the other value, half-way elsewhere");
    let mut hits = [0; 4];
    for i in 0..400 {
        hits[dimensions[0].value(dimensions[0].spread(i as f32 / 400.0)) as usize] += 1;
    }
    assert_eq!(hits, [100; 4]);
}

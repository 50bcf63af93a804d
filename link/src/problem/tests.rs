use super::*;
use std::vec::Vec as List;

const DIMENSIONS: &[Dimension<'static>] = &[
    Dimension::Grid { low: -202.0, high: 24.0, levels: 114 },
    Dimension::Levels(&[0.0, 0.4, 1.0]),
    Dimension::Interval { low: -1.0, high: 1.0 },
    Dimension::Condition { low: 0.0, high: 100.0 },
    Dimension::Category { count: 3 },
];
const FIDELITIES: &[Fidelity] =
    &[Fidelity { cost: 10.0, samples: 10, noise: 0.5 }, Fidelity { cost: 20.0, samples: 300, noise: 0.25 }];

/// Everything that a problem can have.
const LIVE: Problem<'static> = Problem {
    dimensions: DIMENSIONS,
    fidelities: FIDELITIES,
    budget: 7.0,
    goal: Goal::Minimise,
    deployed: Some(&[-80.0, 0.4, 0.5, 0.0, 2.0]),
    floor: Some(Floor { level: Level::Share(0.9), risk: 0.05 }),
    tolerance: 0.01,
    limits: &[Limit { coefficients: &[1.0, 2.0, 0.0, 0.0, 0.0], at_most: 0.0 }],
    guards: &[
        Guard {
            side: Side::AtLeast,
            floor: Floor { level: Level::Value(-2.0), risk: 0.1 },
            noise: &[0.5, 0.25],
        },
        Guard {
            side: Side::AtMost,
            floor: Floor { level: Level::Drop(3.0), risk: 0.05 },
            noise: &[0.0, 0.0],
        },
    ],
    ..Problem::PLAIN
};

fn bytes_of(problem: &Problem<'_>) -> List<u8> {
    Bytes::of(problem).unwrap().as_slice().to_vec()
}

#[test]
fn a_problem_survives_its_bytes_and_its_number_is_their_crc() {
    let drop = Some(Floor { level: Level::Drop(2.0), risk: 0.1 });
    let value = Some(Floor { level: Level::Value(-2.0), risk: 0.1 });
    let plain = Problem { deployed: None, floor: None, limits: &[], guards: &[], tolerance: 0.0, ..LIVE };
    for problem in [LIVE, plain, Problem { floor: drop, ..LIVE }, Problem { floor: value, ..LIVE }] {
        let bytes = bytes_of(&problem);
        let mut numbers = Numbers::new();
        let parts = Parts::read(&bytes, &mut numbers).unwrap();
        assert_eq!(parts.problem(7.0), problem);
        let number = |problem: &Problem| Bytes::of(problem).unwrap().number();
        assert_eq!(number(&problem), crate::crc32(&bytes));
        assert_eq!(number(&Problem { budget: 1.0, ..problem }), crate::crc32(&bytes), "without the budget");
    }
}

#[test]
fn the_bytes_are_as_documented() {
    let bytes = bytes_of(&LIVE);
    assert_eq!(bytes[..8], [1, 5, 2, 1, 1, 1, 3, 2]);
    assert_eq!(bytes[8..12], 0.9f32.to_le_bytes());
    assert_eq!(bytes[20..21], [1], "a grid");
    assert_eq!(bytes[29..31], 114u16.to_le_bytes());
    assert_eq!(bytes[31..34], [2, 3, 0], "a list of three");
    assert_eq!(bytes[55..56], [3], "a condition");
    assert_eq!(bytes[64..66], [4, 3], "a category of three");
    let guards = 20 + 11 + 15 + 9 + 9 + 2 + 2 * 12 + 20 + 24;
    assert_eq!(bytes[guards..guards + 2], [0, 1], "at least a value");
    assert_eq!(bytes[guards + 18..guards + 20], [1, 2], "at most a drop more");
    assert_eq!(bytes.len(), guards + 2 * (10 + 4 * 2));
}

#[test]
fn every_shorter_or_longer_text_is_refused() {
    let bytes = bytes_of(&LIVE);
    for length in 0..bytes.len() {
        assert_eq!(Parts::read(&bytes[..length], &mut Numbers::new()), Err(BYTES), "{length}");
    }
    let longer = [&bytes[..], &[0]].concat();
    assert_eq!(Parts::read(&longer, &mut Numbers::new()), Err(BYTES));
    for (at, value) in [(0, 2), (4, 2), (5, 2), (6, 4), (7, 1), (7, 3), (20, 5), (134, 2), (135, 0), (135, 4)]
    {
        let mut wrong = bytes.clone();
        wrong[at] = value;
        assert!(Parts::read(&wrong, &mut Numbers::new()).is_err(), "{value} at {at}");
    }
}

#[test]
fn more_than_any_device_holds_is_neither_written_nor_read() {
    let grid = Dimension::Grid { low: 0.0, high: 1.0, levels: 3 };
    let plain = Problem { deployed: None, limits: &[], guards: &[], ..LIVE };
    for problem in [
        Problem { dimensions: &[grid; 17], ..plain },
        Problem { fidelities: &[FIDELITIES[0]; 9], ..LIVE },
        Problem { limits: &[LIVE.limits[0]; 9], ..LIVE },
        Problem { guards: &[LIVE.guards[0]; 5], ..LIVE },
        Problem { dimensions: &[Dimension::Levels(&[0.5; 257])], ..plain },
    ] {
        assert!(Bytes::of(&problem).is_none());
    }
    let refused = |text: &[u8]| Parts::read(text, &mut Numbers::new()).unwrap_err().part;
    let head = |d, m| [&[1, d, m, 0, 0, 0, 0, 0][..], &[0; 12]].concat();
    let dimensions = [1, 0, 0, 0, 0, 0, 0, 128, 63, 3, 0].repeat(17);
    assert_eq!(refused(&[head(17, 0), dimensions].concat()), Part::Dimensions);
    assert_eq!(refused(&[head(0, 9), std::vec![0; 9 * 12]].concat()), Part::Fidelities);
    let guards =
        [&[1, 0, 1, 0, 0, 0, 0, 5][..], &[0; 24], &[0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0].repeat(5)];
    assert_eq!(refused(&guards.concat()), Part::Guards);
    let list = [&[2, 1, 1][..], &[0; 257 * 4]].concat();
    assert_eq!(refused(&[head(1, 0), list].concat()), Part::Bytes);
}

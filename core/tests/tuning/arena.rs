//! Arrays that are laid out at run time do what those of a memory do, and are as large as is said.

use crate::support::{Event, PROBLEM, SETTINGS, Toy, finish_task, snapshot, variants};
use foretune_core::{
    Arena, Capacities, Dimension, Error, Fidelity, Floor, Goal, Level, Map, Method, Optimizer, Problem,
    Settings, Step,
};

/// The heap, up to a limit, counted as if every slice began at a multiple of 4.
struct Heap<const DEEP: bool> {
    bytes: usize,
    limit: usize,
}

impl<const DEEP: bool> Arena<'static> for Heap<DEEP> {
    const DEEP: bool = DEEP;

    fn slice<T: Copy + 'static>(&mut self, length: usize, value: T) -> Result<&'static mut [T], Error> {
        assert!(align_of::<T>() <= 4, "an arena of words is enough");
        let needed = (length * size_of::<T>()).next_multiple_of(4);
        let available = self.limit - self.bytes;
        if needed > available {
            return Err(Error::Capacity { what: "bytes", needed, available });
        }
        self.bytes += needed;
        Ok(vec![value; length].leak())
    }
}

fn heap() -> Heap<true> {
    Heap { bytes: 0, limit: usize::MAX }
}

fn events(tuner: &mut Optimizer<'_>) -> Vec<Event> {
    let mut events = Vec::new();
    for _ in 0..3 {
        finish_task(tuner, &[], &mut events);
        tuner.next_task().unwrap();
    }
    events
}

#[test]
fn every_method_asks_the_same_bit_for_bit() {
    let deployed = Some(&[-2.0, -120.0, 0.5][..]);
    let live = Problem {
        deployed,
        floor: Some(Floor { level: Level::Drop(0.2), risk: 0.1 }),
        tolerance: 0.01,
        ..PROBLEM
    };
    for (problem, settings) in
        variants(SETTINGS).map(|settings| (PROBLEM, settings)).chain([(live, SETTINGS)])
    {
        let mut memory = Box::new(Toy::new());
        let mut one = memory.start(problem, settings, 11).unwrap();
        let mut other = Optimizer::start_in(&mut heap(), problem, settings, 24, 11).unwrap();
        assert_eq!(events(&mut one), events(&mut other), "{settings:?}");
        assert_eq!(snapshot(&one), snapshot(&other), "{settings:?}");
    }
}

#[test]
fn it_takes_as_many_bytes_as_it_says() {
    let interval = Dimension::Interval { low: 0.0, high: 1.0 };
    let fidelity = Fidelity { cost: 1.0, samples: 1, noise: 0.1 };
    for (d, m, n, v, q) in
        [(1, 1, 5, 1, 16), (4, 4, 64, 10, 80), (6, 4, 129, 10, 256), (16, 8, 30, 16, 100), (3, 2, 90, 2, 33)]
    {
        for map in [Map::Ard, Map::Deep { width: 7 }] {
            for step in [Step::Plain { rate: 0.1 }, Step::Adam { rate: 0.1 }] {
                let (dimensions, fidelities) = (vec![interval; d].leak(), vec![fidelity; m].leak());
                let problem =
                    Problem { dimensions, fidelities, budget: 9.0, goal: Goal::Minimise, ..Problem::PLAIN };
                let mut settings = SETTINGS;
                (settings.map, settings.particles) = (map, v);
                (settings.details.step, settings.candidates) = (step, q);
                settings.details.memory_deviation = 0.0;
                let capacities = Capacities::checked(&problem, &settings, n).unwrap();
                let mut heap = heap();
                Optimizer::start_in(&mut heap, problem, settings, n, 1).unwrap();
                assert_eq!(heap.bytes, capacities.bytes(), "{capacities:?}");
            }
        }
    }
}

#[test]
fn a_byte_less_is_too_few() {
    let limit = Capacities::checked(&PROBLEM, &SETTINGS, 24).unwrap().bytes();
    let start = |limit: usize| {
        let mut heap = Heap::<true> { bytes: 0, limit };
        Optimizer::start_in(&mut heap, PROBLEM, SETTINGS, 24, 1).map(drop)
    };
    assert_eq!(start(limit), Ok(()));
    assert!(matches!(start(limit - 1), Err(Error::Capacity { what: "bytes", .. })));
}

#[test]
fn what_cannot_be_is_named_before_the_arena_is_touched() {
    let refused = |problem: Problem<'static>, settings: Settings, observations: usize| {
        let mut heap = Heap::<false> { bytes: 0, limit: usize::MAX };
        let error = Optimizer::start_in(&mut heap, problem, settings, observations, 1).err().unwrap();
        assert_eq!(heap.bytes, 0);
        error
    };
    let capacity = |what, needed, available| Error::Capacity { what, needed, available };
    assert_eq!(refused(PROBLEM, SETTINGS, 6), capacity("observations", 7, 6));
    assert_eq!(refused(PROBLEM, SETTINGS, 65_536), capacity("observations", 65_536, 65_535));
    const EIGHT: &[Fidelity] = &[PROBLEM.fidelities[0]; 8];
    assert_eq!(refused(Problem { fidelities: EIGHT, ..PROBLEM }, SETTINGS, 24), capacity("fidelities", 9, 8));
    let deep = Settings { map: Map::Deep { width: 3 }, ..SETTINGS };
    assert!(matches!(refused(PROBLEM, deep, 24), Error::Setting { name: "map", .. }));
    let outside = Problem { deployed: Some(&[99.0, -120.0, 0.5]), ..PROBLEM };
    assert!(matches!(refused(outside, SETTINGS, 24), Error::Live(_)));
    let many = Settings { candidates: usize::MAX, ..SETTINGS.with_method(Method::Continual) };
    assert_eq!(Capacities::checked(&PROBLEM, &many, 24).unwrap().bytes(), usize::MAX);
}

//! Work comes in many small slices.

use crate::support::{PROBLEM, SETTINGS, objective, start, variants};
use foretune_core::{Details, Floor, Level, Method, Problem, Progress, Settings};

/// Slices of the first search of a task with ten or more observations; the point in use is measured again without one.
fn slices(settings: Settings) -> usize {
    slices_of(PROBLEM, settings)
}

fn slices_of(problem: Problem<'static>, settings: Settings) -> usize {
    let mut tuner = start(problem, settings, 5);
    let mut count = 0;
    loop {
        match tuner.advance() {
            Progress::Working => count += 1,
            Progress::Query(query)
                if tuner.status().observations >= 10
                    && query.round() > 10
                    && problem.deployed != Some(query.point()) =>
            {
                return count;
            }
            Progress::Query(query) => {
                let y = objective(&query);
                tuner.tell(query, y).unwrap();
                count = 0;
            }
            other => panic!("the task is longer: {other:?}"),
        }
    }
}

/// Of a search over `candidates` with at least ten observations: two blocks of the factor and the likelihood per
/// particle, a slice per eight candidates, three quartiles, and a slice per 32 candidates for score sums and choice.
#[test]
fn no_slice_does_a_whole_particles_work() {
    for settings in
        variants(SETTINGS).filter(|s| matches!(s.details.method, Method::MftMes | Method::Continual))
    {
        let particles = settings.particles;
        let learning = settings.steps_per_round as usize * particles * (2 + 2);
        let looking =
            |candidates: usize| particles * (3 + candidates.div_ceil(8) + candidates.div_ceil(32)) + 1;
        let refinements = settings.details.refinements * looking(settings.candidates / 4);
        let least = learning + looking(settings.candidates) + 3 * particles + refinements;
        let counted = slices(settings);
        assert!(counted >= least, "{settings:?}: {counted} slices, at least {least} expected");
        let twice = slices(Settings { details: Details { max_values: 16, ..settings.details }, ..settings });
        assert_eq!(counted, twice, "samples are no reason for more slices");
    }
}

/// Judging a trial is a search over two points: the factor and the likelihood again, and a block of candidates, each in
/// slices of its own.
#[test]
fn a_floor_makes_more_slices_not_longer_ones() {
    let floor = Some(Floor { level: Level::Drop(0.1), risk: 0.1 });
    let live = Problem { deployed: Some(&[-2.0, -120.0, 0.5]), floor, budget: 60.0, ..PROBLEM };
    for settings in
        variants(SETTINGS).filter(|s| matches!(s.details.method, Method::MftMes | Method::Continual))
    {
        let (plain, judged) = (slices(settings), slices_of(live, settings));
        let least = plain + settings.particles * 3;
        assert!(judged >= least, "{settings:?}: {judged} slices, at least {least} expected");
    }
}

#[test]
fn more_candidates_make_more_slices_not_longer_ones() {
    let few =
        Settings { candidates: 16, details: Details { refinements: 0, ..SETTINGS.details }, ..SETTINGS };
    let many = Settings { candidates: 32, ..few };
    assert_eq!(slices(many) - slices(few), SETTINGS.particles * 2, "two more blocks of eight per particle");
}

#[test]
fn the_batch_design_takes_a_slice_per_particle_and_block() {
    let settings = SETTINGS.with_method(Method::Myopic { c: 0.0 });
    let mut tuner = start(PROBLEM, settings, 5);
    let mut count = 0;
    loop {
        match tuner.advance() {
            Progress::Working => count += 1,
            Progress::Query(query) if query.round() as usize == settings.initial => break,
            Progress::Query(query) => tuner.tell(query, 0.5).unwrap(),
            other => panic!("the task is longer: {other:?}"),
        }
    }
    // Six points are wanted (30 / 5); all but the first are weighed with 4 blocks of candidates, per particle once for
    // their variances and once for the mean kernel.
    let least = 5 * 2 * 4 * settings.particles;
    assert!(count >= least, "{count} slices, at least {least} expected");
}

use super::*;

const _: () = assert!(Settings::PAPER.checked().is_ok());
const _: () = assert!(Settings::DEFAULT.checked().is_ok());
const _: () = assert!(Settings::LIVE.checked().is_ok());
const _: () = assert!(Settings::DEEP.checked().is_ok());

/// The default preset with one field changed.
fn with(change: impl FnOnce(&mut Settings)) -> Settings {
    let mut settings = Settings::DEFAULT;
    change(&mut settings);
    settings
}

#[test]
fn bad_values_are_refused_by_the_name_of_the_field_to_change() {
    let log = LogNormal { mean: 0.0, deviation: 1e-30 };
    for (bad, name) in [
        (with(|s| s.particles = 0), "particles"),
        (with(|s| s.particles = 17), "particles"),
        (with(|s| s.details.method = Method::MfMes), "particles"),
        (with(|s| s.details.method = Method::TwoPhase { c: f32::NAN }), "method"),
        (with(|s| s.beta = -1.0), "beta"),
        (with(|s| s.beta = f32::NAN), "beta"),
        (with(|s| s.details.kde_mix = 1.5), "kde_mix"),
        (with(|s| s.details.step = Step::Plain { rate: 0.0 }), "step"),
        (with(|s| s.candidates = 3), "candidates"),
        (with(|s| s.kept = 40_000), "kept"),
        (with(|s| s.confirm = 1.0), "confirm"),
        (with(|s| s.confirm = f32::NAN), "confirm"),
        (with(|s| s.verify = 0.51), "verify"),
        (with(|s| s.verify = f32::NAN), "verify"),
        (with(|s| s.details.memory_deviation = -1.0), "memory_deviation"),
        (with(|s| s.memory_after = f32::NAN), "memory_after"),
        (with(|s| s.details.scaling = Scaling::Fixed { mean: 0.0, deviation: 0.0 }), "scaling"),
        (with(|s| s.initial = 0), "initial"),
        (with(|s| s.map = Map::Deep { width: 0 }), "map"),
        (with(|s| s.details.prior.gamma = log), "prior"),
    ] {
        assert!(matches!(bad.checked(), Err(Error::Setting { name: found, .. }) if found == name), "{name}");
    }
    let one = Settings::DEFAULT.with_method(Method::MfMes);
    assert_eq!(one.checked().map(|s| s.particles), Ok(1));
}

#[test]
fn every_setting_is_in_the_fingerprint() {
    let print = |settings: Settings| {
        let mut sum = 0u32;
        settings.fingerprint(|word| sum = sum.wrapping_mul(0x0100_0193).wrapping_add(word ^ 0x5bd1));
        sum
    };
    let log = LogNormal { mean: 0.1, deviation: 0.2 };
    for other in [
        with(|s| s.details.method = Method::Continual),
        with(|s| s.map = Map::Deep { width: 8 }),
        with(|s| s.particles = 9),
        with(|s| s.beta = 0.7),
        with(|s| s.details.information = Information::Paper),
        with(|s| s.details.max_values = 9),
        with(|s| s.details.prior.length = log),
        with(|s| s.details.prior.signal = log),
        with(|s| s.details.prior.gamma = log),
        with(|s| s.details.prior.weights = Weights::Fixed(0.5)),
        with(|s| s.carry_particles = false),
        with(|s| s.details.kde_bandwidth = 0.5),
        with(|s| s.details.kde_mix = 0.3),
        with(|s| s.details.bandwidth = Bandwidth::Fixed(0.3)),
        with(|s| s.details.step = Step::Langevin { rate: 0.05 }),
        with(|s| s.details.step = Step::Adam { rate: 0.06 }),
        with(|s| s.steps_per_round = 4),
        with(|s| s.steps_per_task = 4),
        with(|s| s.carried = 1),
        with(|s| s.kept = 1),
        with(|s| s.details.remeasure = false),
        with(|s| s.details.memory_deviation = 0.7),
        with(|s| s.memory_after = 0.7),
        with(|s| s.initial = 1),
        with(|s| s.details.scaling = Scaling::Running),
        with(|s| s.candidates = 17),
        with(|s| s.details.refinements = 1),
        with(|s| s.details.recommend = Recommend::Queried),
        with(|s| s.confirm = 0.0),
        with(|s| s.verify = 0.1),
        with(|s| s.details.recommend = Recommend::Anywhere),
    ] {
        assert_ne!(print(Settings::DEFAULT), print(other), "{other:?}");
    }
}

/// As the documentation of each says.
#[test]
fn presets_differ_where_they_are_meant_to() {
    let (default, paper, live, deep) = (Settings::DEFAULT, Settings::PAPER, Settings::LIVE, Settings::DEEP);
    let as_default = Settings {
        map: Map::Ard,
        beta: 1.0,
        memory_after: 0.4,
        verify: 0.15,
        details: Details {
            prior: Prior { weights: default.details.prior.weights, ..live.details.prior },
            information: Information::Correlated,
            recommend: Recommend::Measured,
            ..live.details
        },
        ..live
    };
    assert_eq!(as_default, default);
    assert_eq!((live.map, live.beta, live.memory_after), (Map::Linear, 0.0, 0.0));
    assert_eq!(live.details.information, Information::Paper);
    assert_eq!((live.details.recommend, live.verify), (Recommend::Anywhere, 0.0));

    assert_eq!((deep.map, deep.particles), (paper.map, paper.particles));
    assert_eq!(deep.details.prior.weights, Weights::PerInput(1.5));
    assert_eq!(deep.details.prior.signal, default.details.prior.signal);
    assert_eq!(deep.details.prior.gamma, default.details.prior.gamma);
    assert_eq!(deep.details.scaling, Scaling::Initial);
    assert!(matches!(deep.details.step, Step::Langevin { .. }) && deep.steps_per_round > 0);
    assert_eq!((deep.beta, deep.details.kde_bandwidth, deep.carried), (0.05, 0.05, 0));
    assert_eq!((deep.candidates, deep.verify, deep.confirm), (256, 0.0, default.confirm));
    let as_paper = Details {
        prior: paper.details.prior,
        scaling: paper.details.scaling,
        step: paper.details.step,
        kde_bandwidth: paper.details.kde_bandwidth,
        information: Information::Paper,
        recommend: Recommend::Queried,
        ..deep.details
    };
    assert_eq!(as_paper, paper.details);
}

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
        (with(|s| s.model.particles = 0), "particles"),
        (with(|s| s.model.particles = 17), "particles"),
        (with(|s| s.method = Method::MfMes), "particles"),
        (with(|s| s.method = Method::TwoPhase { c: f32::NAN }), "method"),
        (with(|s| s.transfer.beta = -1.0), "beta"),
        (with(|s| s.transfer.beta = f32::NAN), "beta"),
        (with(|s| s.transfer.kde_mix = 1.5), "kde_mix"),
        (with(|s| s.learning.step = Step::Plain { rate: 0.0 }), "step"),
        (with(|s| s.search.candidates = 3), "candidates"),
        (with(|s| s.search.confirm = 1.0), "confirm"),
        (with(|s| s.search.confirm = f32::NAN), "confirm"),
        (with(|s| s.search.verify = 0.51), "verify"),
        (with(|s| s.search.verify = f32::NAN), "verify"),
        (with(|s| s.transfer.memory_deviation = -1.0), "memory_deviation"),
        (with(|s| s.transfer.memory_after = f32::NAN), "memory_after"),
        (with(|s| s.model.scaling = Scaling::Fixed { mean: 0.0, deviation: 0.0 }), "scaling"),
        (with(|s| s.search.initial = 0), "initial"),
        (with(|s| s.model.map = Map::Deep { width: 0 }), "map"),
        (with(|s| s.model.prior.gamma = log), "prior"),
    ] {
        assert!(matches!(bad.checked(), Err(Error::Setting { name: found, .. }) if found == name), "{name}");
    }
    let one = Settings::DEFAULT.with_method(Method::MfMes);
    assert_eq!(one.checked().map(|s| s.model.particles), Ok(1));
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
        with(|s| s.method = Method::Continual),
        with(|s| s.model.map = Map::Deep { width: 8 }),
        with(|s| s.model.particles = 9),
        with(|s| s.transfer.beta = 0.7),
        with(|s| s.search.information = Information::Paper),
        with(|s| s.search.max_values = 9),
        with(|s| s.model.prior.length = log),
        with(|s| s.model.prior.signal = log),
        with(|s| s.model.prior.gamma = log),
        with(|s| s.model.prior.weights = Weights::Fixed(0.5)),
        with(|s| s.transfer.carry_particles = false),
        with(|s| s.transfer.kde_bandwidth = 0.5),
        with(|s| s.transfer.kde_mix = 0.3),
        with(|s| s.learning.bandwidth = Bandwidth::Fixed(0.3)),
        with(|s| s.learning.step = Step::Shared { rate: 0.05 }),
        with(|s| s.learning.step = Step::Langevin { rate: 0.05 }),
        with(|s| s.learning.step = Step::Adam { rate: 0.06 }),
        with(|s| s.learning.steps_per_round = 4),
        with(|s| s.learning.steps_per_task = 4),
        with(|s| s.transfer.carried = 1),
        with(|s| s.transfer.remeasure = false),
        with(|s| s.transfer.memory_deviation = 0.7),
        with(|s| s.transfer.memory_after = 0.7),
        with(|s| s.search.initial = 1),
        with(|s| s.model.scaling = Scaling::Running),
        with(|s| s.search.candidates = 17),
        with(|s| s.search.refinements = 1),
        with(|s| s.search.recommend = Recommend::Queried),
        with(|s| s.search.confirm = 0.0),
        with(|s| s.search.verify = 0.1),
        with(|s| s.search.recommend = Recommend::Anywhere),
    ] {
        assert_ne!(print(Settings::DEFAULT), print(other), "{other:?}");
    }
}

/// As the documentation of each says.
#[test]
fn presets_differ_where_they_are_meant_to() {
    let (default, paper, live, deep) = (Settings::DEFAULT, Settings::PAPER, Settings::LIVE, Settings::DEEP);
    let as_default = Settings {
        transfer: TransferSettings { beta: 1.0, memory_after: 0.4, ..live.transfer },
        search: SearchSettings {
            information: Information::Correlated,
            recommend: Recommend::Measured,
            verify: 0.15,
            ..live.search
        },
        ..live
    };
    assert_eq!(as_default, default);
    assert_eq!((live.transfer.beta, live.transfer.memory_after), (0.0, 0.0));
    assert_eq!(live.search.information, Information::Paper);
    assert_eq!((live.search.recommend, live.search.verify), (Recommend::Anywhere, 0.0));

    assert_eq!((deep.model.map, deep.model.particles), (paper.model.map, paper.model.particles));
    assert_eq!(deep.model.prior.weights, Weights::PerInput(1.5));
    assert_eq!(deep.model.prior.signal, default.model.prior.signal);
    assert_eq!(deep.model.prior.gamma, default.model.prior.gamma);
    assert_eq!(deep.model.scaling, Scaling::Initial);
    assert!(matches!(deep.learning.step, Step::Langevin { .. }) && deep.learning.steps_per_round > 0);
    let transfer = TransferSettings { beta: 0.05, kde_bandwidth: 0.05, ..paper.transfer };
    assert_eq!(deep.transfer, transfer);
    assert_eq!(deep.transfer.carried, 0);
    let search = SearchSettings { recommend: Recommend::Anywhere, verify: 0.0, ..default.search };
    assert_eq!(deep.search, SearchSettings { candidates: 256, ..search });
}

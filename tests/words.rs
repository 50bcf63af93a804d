//! Words that people write, read back: names of problems and methods, guards, floors, points, numbers.

use std::time::Duration;

use foretune_core::{Floor, Level};
use host_sim::method::Method;
use host_sim::problems::{
    Deployed, DimensionSpec, Guarded, NAMES, Problem, Service, help, level, level_words,
};
use host_sim::words::{counted, number, spell};

#[test]
fn names_parse_and_print_back() {
    let with_options = ["hartmann6:truth=first", "rrm:stations=3", "rrm:antennas=32", "one:svm", "pid:motor"];
    for name in NAMES.map(|named| named.name).into_iter().chain(with_options) {
        assert_eq!(name.parse::<Problem>().unwrap().to_string(), name);
        assert!(help().contains(name.split(':').next().unwrap()));
    }
    let both = "rrm:antennas=32,stations=4".parse::<Problem>().unwrap();
    assert_eq!(both.to_string(), "rrm:stations=4,antennas=32");
    assert_eq!("rrm:stations=2".parse::<Problem>().unwrap().to_string(), "rrm");
}

#[test]
fn bad_names_are_refused_with_what_is_wrong() {
    for (name, words) in [
        ("ackley", "unknown problem `ackley`: known are hartmann6, rrm"),
        ("", "unknown problem ``"),
        ("gas:wind=3", "unknown option `wind=3`: hartmann6 takes truth=last|first; rrm takes"),
        ("rrm:stations", "unknown option `stations`"),
        ("rrm:stations=5", "option `stations` takes a number from 1 to 4, not `5`"),
        ("rrm:stations=two", "not `two`"),
        ("rrm:antennas=48", "option `antennas` takes 32 or 64, not `48`"),
        ("hartmann6:truth=2", "option `truth` takes last or first"),
    ] {
        let refusal = name.parse::<Problem>().unwrap_err();
        assert!(refusal.starts_with(words) || refusal.ends_with(words), "{name}: {refusal}");
    }
}

#[test]
fn names_parse_back_and_strangers_are_refused() {
    for method in Method::all() {
        assert_eq!(method.to_string().parse(), Ok(method));
    }
    assert!("mft".parse::<Method>().unwrap_err().contains("mft-mes"));
}

fn guarded(text: &str, log: bool) -> Guarded {
    let (name, side, level) = Guarded::parse(text).unwrap();
    Guarded { name, index: 0, side, level, risk: 0.05, log, noise: vec![0.0] }
}

#[test]
fn guards_are_read_back_and_nonsense_is_refused() {
    for words in ["edge:share:0.9", "power:at-most:drop:3", "delay:at-most:value:20"] {
        assert_eq!(guarded(words, false).words(), words);
    }
    assert_eq!(guarded("edge:at-least:share:0.9", false).words(), "edge:share:0.9");
    let all =
        Guarded::all_words(&["edge:share:0.9", "power:at-most:drop:3"].map(|text| guarded(text, false)));
    assert_eq!(Guarded::all_words(&Guarded::read(&all)), all);
    for words in ["edge", "edge:0.9", ":share:0.9", "edge:at-most:0.9", "edge:share:2"] {
        assert!(Guarded::parse(words).is_err(), "{words}");
    }
    assert!(guarded("edge:drop:1", true).fault().is_some());
    assert!(guarded("edge:value:0", true).fault().is_some());
    assert!(guarded("edge:share:0.9", true).fault().is_none());
}

/// Whether a KPI is kept does not depend on whether its logarithm is looked at.
#[test]
fn a_bound_by_the_logarithm_is_the_same_bound() {
    for text in ["a:share:0.9", "a:at-most:share:0.75", "a:value:0.31", "a:at-most:value:0.5"] {
        let (plain, log) = (guarded(text, false), guarded(text, true));
        let (v, bound) = (0.4, plain.bound(0.4));
        let sign = log.side.sign();
        let by_log = log.core().floor.level.at(log.told(v), sign);
        assert!((log.untold(by_log) - bound).abs() < 1e-6, "{text}: {bound}");
        assert!(
            plain.keeps(bound, bound + 0.01 * f64::from(plain.side.sign()))
                && !plain.keeps(bound, bound - 0.01 * f64::from(plain.side.sign()))
        );
    }
}

#[test]
fn levels_and_points_are_read_back_and_nonsense_is_refused() {
    for words in ["share:0.9", "drop:2.5", "value:-30"] {
        assert_eq!(level(words).map(level_words), Ok(words.to_string()));
    }
    for words in ["0.9", "share:1", "share:x", "drop:0", "value:inf", "shore:0.9"] {
        assert!(level(words).is_err(), "{words}");
    }
    for words in ["default", "random", "-80,0.8"] {
        assert_eq!(words.parse::<Deployed>().unwrap().to_string(), words);
    }
    assert!("somewhere".parse::<Deployed>().is_err());
}

#[test]
fn a_random_point_is_one_of_the_problems_and_another_in_every_experiment() {
    let spec = "rrm".parse::<Problem>().unwrap().spec();
    let points: Vec<Vec<f64>> = (1..20).map(|i| Deployed::Random.point(&spec, i).unwrap()).collect();
    for point in &points {
        for (value, dimension) in point.iter().zip(&spec.dimensions) {
            let DimensionSpec::Levels { values, .. } = dimension else { panic!("levels") };
            assert!(values.contains(value));
        }
    }
    assert!(points.windows(2).all(|pair| pair[0] != pair[1]));
}

#[test]
fn only_a_value_turns_its_sign() {
    let turned = |level| Service { floor: Some(Floor { level, risk: 0.1 }), ..Service::default() }.turned();
    assert_eq!(turned(Level::Value(3.0)).floor.unwrap().level, Level::Value(-3.0));
    assert_eq!(turned(Level::Drop(3.0)).floor.unwrap().level, Level::Drop(3.0));
}

#[test]
fn one_thing_is_not_several() {
    let all = [(1, "study"), (0, "study"), (1, "task"), (2, "task")].map(|(n, noun)| counted(n, noun));
    assert_eq!(all, ["1 study", "0 studies", "1 task", "2 tasks"]);
}

#[test]
fn no_number_is_a_row_of_zeros_and_all_read_back() {
    let all = [0.25, -80.0, 1e300, -2.5e-7, 0.0, f64::INFINITY, 2.4e9, 1e-5, 1e16];
    let words = all.map(number);
    assert_eq!(words, ["0.25", "-80", "1e300", "-2.5e-7", "0", "inf", "2400000000", "0.00001", "1e16"]);
    assert_eq!(words.map(|word| word.parse::<f64>().unwrap()), all);
}

#[test]
fn durations_are_spelt_for_people() {
    for (seconds, text) in
        [(0.4, "0.4 s"), (45.0, "45 s"), (130.0, "2 min"), (8000.0, "2 h 13 min"), (200_000.0, "2 d 7 h")]
    {
        assert_eq!(spell(Duration::from_secs_f64(seconds)), text);
    }
}

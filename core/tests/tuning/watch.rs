//! A watch: false alarms as rare as asked whatever the readings' law, changes found in time, bytes that go on.

use foretune_core::{Change, Error, Reading, SnapshotError, Watch};
use rand_core::{Rng, SeedableRng};
use rand_xorshift::XorShiftRng;

const RUN_LENGTH: f32 = 10_000.0;

struct Random(XorShiftRng);

impl Random {
    fn new(seed: u64) -> Self {
        let mut random = Random(XorShiftRng::seed_from_u64(seed));
        random.normal();
        random
    }

    fn uniform(&mut self) -> f64 {
        (f64::from(self.0.next_u32()) + 0.5) / 4_294_967_296.0
    }

    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Student's t.
    fn student(&mut self, freedom: u32) -> f64 {
        let squares: f64 = (0..freedom).map(|_| self.normal().powi(2)).sum();
        self.normal() / (squares / f64::from(freedom)).sqrt()
    }
}

type Law = fn(&mut Random) -> f64;

const LAWS: [(&str, Law); 8] = [
    ("normal", |random| random.normal()),
    ("Student, 3 degrees", |random| random.student(3)),
    ("Student, 2 degrees", |random| random.student(2)),
    ("Cauchy", |random| random.student(1)),
    ("lognormal", |random| 100.0 * random.normal().exp()),
    ("rounded", |random| (1.5 * random.normal()).round()),
    ("rare", |random| if random.uniform() < 0.05 { 1e30 } else { 0.0 }),
    ("constant", |_| 5.0),
];

fn watch() -> Watch {
    Watch::new(RUN_LENGTH).unwrap()
}

/// Readings per alarm; the watch starts anew after each.
fn run_length(mut watch: Watch, readings: u32, law: Law, seed: u64) -> f64 {
    let mut random = Random::new(seed);
    let mut alarms = 0;
    for _ in 0..readings {
        if watch.tell(law(&mut random) as f32) == Ok(Reading::Changed) {
            alarms += 1;
            watch.restart();
        }
    }
    f64::from(readings) / f64::from(alarms)
}

/// Readings until a change is found after so many steady ones: the median over seeds, false alarms before it left out.
fn delay(steady: u32, seeds: std::ops::Range<u64>, change: impl Fn(f64) -> f64) -> usize {
    let mut delays: Vec<usize> = seeds.filter_map(|seed| one_delay(steady, seed, &change)).collect();
    delays.sort_unstable();
    delays[delays.len() / 2]
}

fn one_delay(steady: u32, seed: u64, change: impl Fn(f64) -> f64) -> Option<usize> {
    let (mut random, mut watch) = (Random::new(seed), watch());
    let mut changed = |reading: f64| watch.tell(reading as f32) == Ok(Reading::Changed);
    let early = (0..steady).any(|_| changed(random.normal()));
    let found = (1..=2000).find(|_| changed(change(random.normal())));
    (!early).then_some(found.unwrap_or(2000))
}

/// CUSUM that knows mean, deviation and the very shift, for one false alarm in 10 000 readings.
fn cusum_delay(shift: f64, threshold: f64, seeds: std::ops::Range<u64>) -> usize {
    let one = |seed| {
        let mut random = Random::new(seed);
        let mut sum: f64 = 0.0;
        let mut add = |mean: f64| {
            sum = (sum + mean + random.normal() - shift / 2.0).max(0.0);
            sum > threshold
        };
        (0..200).for_each(|_| _ = add(0.0));
        (1..).find(|_| add(shift)).unwrap()
    };
    let mut delays: Vec<usize> = seeds.map(one).collect();
    delays.sort_unstable();
    delays[delays.len() / 2]
}

/// A run length of 50 in 40 000 readings: 800 alarms or fewer, so that chance is 4 %.
#[test]
fn false_alarms_are_as_rare_as_asked_whatever_the_law() {
    for (name, law) in LAWS {
        let found = run_length(Watch::new(50.0).unwrap(), 40_000, law, 20_001);
        assert!(found >= 50.0, "{name}: {found}");
    }
}

/// `cargo test -p foretune-core --test tuning watch:: -- --ignored --nocapture`
#[test]
#[ignore = "eight million readings"]
fn over_a_million_readings_of_every_law() {
    for (name, law) in LAWS {
        let found = run_length(watch(), 1_000_000, law, 20_002);
        println!("{name}: {found:.0} readings per alarm");
        assert!(name != "constant" || found.is_infinite());
        assert!(found >= f64::from(RUN_LENGTH), "{name}: {found}");
    }
    for steady in [100, 200, 500, 1000] {
        for shift in [0.5, 1.0, 2.0, 2.5, 3.0] {
            let [down, up] = [-shift, shift].map(|by| delay(steady, 30_000..31_000, |x| x + by));
            println!("after {steady}, {shift} deviations: {down} readings down, {up} up");
        }
        let [wider, narrower] = [2.0, 0.4].map(|factor| delay(steady, 30_000..31_000, |x| factor * x));
        println!("after {steady}, spread times 2: {wider} readings, times 0.4: {narrower}");
    }
}

#[test]
fn changes_are_found_within_twice_what_cusum_takes_that_knows_them() {
    let seeds = 20_000..20_301;
    for (shift, threshold, steady) in [(0.5, 13.06, 500), (1.0, 7.37, 200), (2.0, 3.83, 200)] {
        let best = cusum_delay(shift, threshold, seeds.clone());
        for by in [-shift, shift] {
            let found = delay(steady, seeds.clone(), |x| x + by);
            assert!(found <= 2 * best, "{by} deviations: {found}, CUSUM {best}");
        }
    }
    let two = delay(500, seeds.clone(), |x| x - 2.0);
    assert!(two <= 5, "two deviations: {two}");
    for (factor, most) in [(2.0, 30), (0.4, 30)] {
        let found = delay(200, seeds.clone(), |x| factor * x);
        assert!(found <= most, "spread times {factor}: {found}");
    }
}

#[test]
fn what_was_constant_and_moves_is_found_and_named() {
    for (usual, then, change) in
        [(5.0, 5.001, Change::Up), (0.0, -1e-9, Change::Down), (1e30, -1e30, Change::Down)]
    {
        let mut watch = watch();
        assert!((0..100).all(|_| watch.tell(usual) == Ok(Reading::Steady)));
        let baseline = watch.status().baseline.unwrap();
        assert!(baseline.centre == usual && baseline.deviation > 0.0);
        let found = (1..=8).find(|_| watch.tell(then) == Ok(Reading::Changed));
        assert!(found.is_some(), "{usual} to {then}");
        assert_eq!((watch.status().change, watch.status().evidence), (change, 1.0));
        assert_eq!(watch.tell(usual), Ok(Reading::Changed), "it stays so");
        watch.restart();
        assert_eq!(watch, self::watch());
    }
}

/// Readings of a tenth of the samples have √10 times the deviation; taken for equal ones they would look like a change.
#[test]
fn fidelities_count_by_their_deviations() {
    let mut random = Random::new(20_005);
    let (mut apart, mut alike) = (watch(), watch());
    let mut alarms = [0; 2];
    for i in 0..4000 {
        let deviation = if random.uniform() < if i % 400 < 200 { 0.2 } else { 0.8 } { 1.0 } else { 3.162 };
        let reading = (7.0 + random.normal() * f64::from(deviation)) as f32;
        let told = [apart.tell_at(reading, 0.1 * deviation), alike.tell(reading)];
        for ((alarms, watch), told) in alarms.iter_mut().zip([&mut apart, &mut alike]).zip(told) {
            if told == Ok(Reading::Changed) {
                *alarms += 1;
                watch.restart();
            }
        }
    }
    assert!(alarms[0] <= 1 && alarms[1] > 5, "{alarms:?}");
}

#[test]
fn several_numbers_are_told_together_or_not_at_all() {
    let (mut random, mut watches) = (Random::new(20_007), [watch(); 2]);
    let mut tell = |readings: &[f32]| Watch::tell_all(&mut watches, readings, 1.0);
    for _ in 0..200 {
        assert_eq!(tell(&[random.normal() as f32, random.normal() as f32]), Ok(Reading::Steady));
    }
    assert_eq!(tell(&[1.0]), Err(Error::Kpis { wanted: 1, given: 0 }));
    assert_eq!(tell(&[1.0, f32::NAN]), Err(Error::NotFinite));
    assert!(
        (0..10).any(|_| tell(&[random.normal() as f32, 99.0]) == Ok(Reading::Changed)),
        "the second number moved"
    );
    let [value, kpi] = watches.map(|watch| watch.status());
    assert!(value.evidence < 1.0 && kpi.evidence == 1.0 && value.readings == kpi.readings);
}

#[test]
fn refuses_what_is_no_reading_and_stays_unchanged() {
    let mut told = watch();
    (0..40).for_each(|i| _ = told.tell((i % 5) as f32));
    let before = told;
    assert_eq!(told.tell(f32::NAN), Err(Error::NotFinite));
    assert_eq!(told.tell(f32::NEG_INFINITY), Err(Error::NotFinite));
    assert_eq!(told.tell(2e30), Err(Error::Outlier));
    for deviation in [0.0, -1.0, f32::NAN, f32::INFINITY] {
        assert!(matches!(told.tell_at(1.0, deviation), Err(Error::Setting { name: "deviation", .. })));
    }
    assert_eq!(told, before);
    for run_length in [0.0, 9.9, 2e9, f32::NAN] {
        assert!(matches!(Watch::new(run_length), Err(Error::Setting { name: "run_length", .. })));
    }
}

#[test]
fn saved_at_any_reading_it_goes_on_bit_for_bit() {
    let mut random = Random::new(20_006);
    let mut watch = watch();
    for i in 0..400 {
        let restored = Watch::load(&watch.save());
        assert_eq!(restored, Ok(watch));
        assert_eq!(restored.unwrap().save(), watch.save());
        watch.tell((random.student(2) + f64::from(i / 300)) as f32).unwrap();
    }
    // As far apart as readings may be.
    watch.restart();
    for i in 0..20_u8 {
        watch.tell(1e30 * (f32::from(i % 3) - 1.0)).unwrap();
        assert_eq!(Watch::load(&watch.save()), Ok(watch));
    }
    assert_eq!((size_of::<Watch>(), Watch::BYTES), (232, 244));
}

#[test]
fn damaged_bytes_are_refused_by_name() {
    let mut watch = watch();
    (0..40).for_each(|i| _ = watch.tell(i as f32));
    let bytes = watch.save();
    for at in 0..Watch::BYTES {
        let mut damaged = bytes;
        damaged[at] ^= 1;
        let why = Watch::load(&damaged).unwrap_err();
        match at {
            0..7 => assert_eq!(why, SnapshotError::Foreign),
            7 => assert!(matches!(why, SnapshotError::Older { version: 0 })),
            _ => assert_eq!(why, SnapshotError::Checksum),
        }
        assert_eq!(Watch::load(&bytes[..at]), Err(SnapshotError::Truncated));
    }
    let mut newer = bytes;
    newer[7] = 2;
    assert_eq!(Watch::load(&newer), Err(SnapshotError::Newer { version: 2 }));
}

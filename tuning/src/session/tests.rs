use super::*;
use crate::fixture::target;
use foretune_core::Goal;
use foretune_core::{Floor, Level};
use host_sim::problems::{DimensionSpec, Guarded, Notation};
use host_sim::settings::Preset;

impl Answer {
    fn value(value: f64, cost: Option<f64>) -> Self {
        Self::Value { value, kpis: Vec::new(), cost, conditions: Vec::new() }
    }
}

const FLOOR: Floor = Floor { level: Level::Drop(1.0), risk: 0.1 };

/// Few candidates, so that tests are quick.
fn setup(target: &Target) -> Setup {
    let noise = vec![0.0; target.fidelities.len()];
    let mut setup = Setup::new(Preset::Default, &target.spec(&noise, target.budget));
    for (key, value) in [("candidates", "32"), ("particles", "3"), ("capacity", "64")] {
        setup.set(key, value).unwrap();
    }
    setup
}

/// A bowl, to be minimised; the short measurement is a little off.
fn bowl(ask: &Ask) -> f64 {
    let off = [(ask.point[0] + 40.0) / 60.0, ask.point[1] - 0.375];
    let bias = if ask.fidelity == 0 { 0.125 } else { 0.0 };
    off[0] * off[0] + off[1] * off[1] + bias + f64::from(ask.task) * 0.25
}

/// Measures the bowl; the `n`-th query is answered by what `special` says, if it says something.
struct Bowl<'a> {
    asked: Vec<Ask>,
    special: &'a dyn Fn(&Ask) -> Option<Answer>,
    refusals: Vec<String>,
    /// Breaks off, as a kill would, before this many answers.
    limit: usize,
    at_once: usize,
}

impl<'a> Bowl<'a> {
    fn new(special: &'a dyn Fn(&Ask) -> Option<Answer>) -> Self {
        Self { asked: Vec::new(), special, refusals: Vec::new(), limit: usize::MAX, at_once: 1 }
    }
}

impl Source for Bowl<'_> {
    fn start(&mut self, ask: &Ask, _: &[u64]) -> Result<(), Error> {
        if self.asked.len() == self.limit {
            return Err(Error::Interrupted);
        }
        self.asked.push(ask.clone());
        Ok(())
    }

    fn wait(&mut self, asks: &[Ask]) -> Result<(u64, Answer), Error> {
        // In an order of its own, which is the same after a restart.
        let ask = asks.iter().min_by_key(|ask| ask.id * 5 % 7).expect("something is asked");
        Ok((ask.id, (self.special)(ask).unwrap_or(Answer::value(bowl(ask), None))))
    }

    fn refused(&mut self, ask: &Ask, why: &str) -> Result<Option<Answer>, Error> {
        self.refusals.push(why.into());
        assert!(self.refusals.len() < 100, "{why}");
        Ok(Some(Answer::value(bowl(ask), None)))
    }

    fn at_once(&self) -> usize {
        self.at_once
    }

    fn told(&mut self, _: &Ask, _: &Told, _: &Standing) -> Result<(), Error> {
        Ok(())
    }
}

fn plain(_: &Ask) -> Option<Answer> {
    None
}

/// Opens the tuning kept at a path.
fn open(target: &Target, path: &Path) -> Result<Tuning, Error> {
    Tuning::open(target.clone(), setup(target), (None, None), Some(Store::open(path)?))
}

fn refusal(result: Result<Tuning, Error>) -> String {
    result.err().expect("a refusal").to_string()
}

/// Plays a task to its end, broken off after so many answers again and again, as kills would; and what was asked.
fn play_on(
    target: &Target,
    path: &Path,
    limit: usize,
    special: &dyn Fn(&Ask) -> Option<Answer>,
) -> (Tuning, Vec<Ask>) {
    let mut asked = Vec::new();
    loop {
        let mut tuning = open(target, path).unwrap();
        let mut source = Bowl { limit, ..Bowl::new(special) };
        let played = tuning.play(&mut source);
        asked.extend(source.asked);
        match played {
            Ok(()) => return (tuning, asked),
            Err(error) => assert!(matches!(error, Error::Interrupted), "{error}"),
        }
    }
}

/// That they are those of the library is tested with the programs.
#[test]
fn two_tasks_are_the_same_however_often_they_break_off() {
    let folder = tempfile::tempdir().unwrap();
    let [whole, one, four] = [usize::MAX, 1, 4].map(|limit| {
        let path = folder.path().join(format!("{limit}.state"));
        let (mut tuning, first) = play_on(&target(), &path, limit, &plain);
        tuning.next_task(None).unwrap();
        drop(tuning);
        let (tuning, second) = play_on(&target(), &path, limit, &plain);
        (first, second, tuning.state().clone())
    });
    assert!(whole.0.len() > 5 && whole == one && whole == four);
}

#[test]
fn several_at_once_are_told_in_any_order_keep_to_the_budget_and_are_the_same_however_often_they_break_off() {
    let mut noisy = Target { floor: Some(FLOOR), budget: 60.0, ..target() };
    noisy.fidelities[1].noise = None;
    let special = |ask: &Ask| (ask.id % 9 == 4).then_some(Answer::Failed);
    let folder = tempfile::tempdir().unwrap();
    for (n, target) in [target(), noisy].into_iter().enumerate() {
        let [whole, six, nine, fewer] = [usize::MAX, 6, 9, 7].map(|limit| {
            let path = folder.path().join(format!("{n}.{limit}.state"));
            let mut most = 0;
            loop {
                let mut tuning = open(&target, &path).unwrap();
                // The last goes on one by one, once it was broken off.
                let at_once = if limit == 7 && most > 0 { 1 } else { 4 };
                let mut source = Bowl { limit, at_once, ..Bowl::new(&special) };
                let played = tuning.play(&mut source);
                most = most.max(tuning.state().current().unwrap().pending.len());
                match played {
                    Ok(()) => break (most, tuning.state().clone()),
                    Err(error) => assert!(matches!(error, Error::Interrupted), "{error}"),
                }
            }
        });
        let task = whole.1.current().unwrap();
        let ended = task.ended.as_ref().unwrap();
        assert!(ended.reason == Reason::Budget && ended.spent <= target.budget, "{ended:?}");
        assert!(task.pending.is_empty() && task.answers.len() > 9, "{}", task.answers.len());
        // As many as waited when it broke off; with a floor nothing else may be allowed.
        assert!(six.0.min(nine.0) >= 3, "{n}: {} and {} at once", six.0, nine.0);
        assert!(whole.1 == six.1 && whole.1 == nine.1, "{n}");
        let fewer = fewer.1.current().unwrap();
        assert!(fewer.answers.last().unwrap().unit.is_empty() && fewer.ended.is_some(), "{n}");
    }
}

/// The target under a condition.
fn under_load() -> Target {
    let mut target = target();
    let notation = Notation { condition: true, ..Notation::default() };
    let (name, unit) = ("load".to_string(), "%".to_string());
    target.parameters.push(DimensionSpec::Interval { name, unit, low: 0.0, high: 60.0, notation });
    target
}

#[test]
fn a_task_under_conditions_is_the_same_however_often_it_breaks_off_and_says_what_to_use_elsewhere() {
    let target = under_load();
    // Every other query is asked under a load that is given, every third answer says what it really was.
    let special = |ask: &Ask| {
        let (load, wanted) = (ask.point[2], 10.0 * (ask.id % 6) as f64);
        if ask.id.is_multiple_of(2) && (load - wanted).abs() > 1e-3 {
            return Some(Answer::AskAt(vec![wanted]));
        }
        let conditions = if ask.id.is_multiple_of(3) { vec![load + 1.1] } else { vec![] };
        let value = bowl(ask) + 0.01 * load;
        Some(Answer::Value { value, kpis: Vec::new(), cost: None, conditions })
    };
    let folder = tempfile::tempdir().unwrap();
    let [whole, two, five] = [usize::MAX, 2, 5].map(|limit| {
        let path = folder.path().join(format!("{limit}.state"));
        let (mut tuning, _) = play_on(&target, &path, limit, &special);
        tuning.next_task(None).unwrap();
        drop(tuning);
        let mut tuning = play_on(&target, &path, limit, &special).0;
        let state = tuning.state().clone();
        let elsewhere = tuning.recommend_at(&[15.0]).unwrap();
        assert_eq!(*tuning.state(), state, "nothing else changes");
        let (here, there) =
            (tuning.ended().unwrap().point.clone().unwrap(), elsewhere.point.clone().unwrap());
        assert!((there[2] - 15.0).abs() < 1e-3 && (here[2] - 15.0).abs() > 1.0, "{here:?} {there:?}");
        (state, elsewhere)
    });
    assert!(whole.0.tasks[0].answers.len() > 5 && whole == two && whole == five);
    let told = &whole.0.tasks[0].answers[5];
    assert_eq!((&told.asked_at[..], told.told_at, told.point.len()), (&[0.0][..], true, 3));
    assert_eq!(told.point[2], 1.1);
    // A floor may be another one for the next task, and is the reason if the answers are not those to its queries.
    let path = folder.path().join("2.state");
    let edited = Target { floor: Some(FLOOR), ..target };
    let why = open(&edited, &path).unwrap().recommend_at(&[15.0]).unwrap_err().to_string();
    assert!(why.contains("the floor was not there, and is drop:1"), "{why}");
}

#[test]
fn what_is_watched_is_what_is_in_use_and_needs_conditions_that_are_known() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    let given = |point: [f64; 2]| {
        let store = Store::open(&path).unwrap();
        Tuning::open(target(), setup(&target()), (None, Some(point.to_vec())), Some(store)).unwrap()
    };
    given([-80.0, 0.75]).play(&mut Bowl::new(&plain)).unwrap();
    // Given for the start of the task it is no longer in use; given anew it is.
    let mut tuning = given([-80.0, 0.75]);
    let recommended = tuning.ended().unwrap().point.clone().unwrap();
    assert_eq!(tuning.in_use().unwrap().point, recommended);
    let readings: Vec<u32> = (0..3).map(|_| tuning.watch(1.0, &[], &[]).unwrap().readings).collect();
    drop(tuning);
    let mut tuning = given([-60.0, 0.5]);
    assert_eq!(tuning.in_use().unwrap().point, [-60.0, 0.5]);
    let other: Vec<u32> = (0..2).map(|_| tuning.watch(9.0, &[], &[]).unwrap().readings).collect();
    assert_eq!((&readings[..], &other[..]), (&[1, 2, 3][..], &[1, 2][..]));
    drop(tuning);
    let edited = Target { deployed: Some(vec![-58.0, 0.5]), ..target() };
    assert_eq!(open(&edited, &path).unwrap().in_use().unwrap().point, [-58.0, 0.5]);
    let failing = |_: &Ask| Some(Answer::Failed);
    let mut tuning = Tuning::open(under_load(), setup(&under_load()), (None, None), None).unwrap();
    tuning.play(&mut Bowl::new(&failing)).unwrap();
    let why = tuning.in_use().unwrap_err().to_string();
    assert!(why.contains("the last task recommended nothing"), "{why}");
}

#[test]
fn unknown_noise_is_estimated_at_the_deployed_point_and_charged() {
    let mut target = target();
    target.fidelities[0].noise = None;
    let folder = tempfile::tempdir().unwrap();
    let noisy = |ask: &Ask| {
        (ask.why == Why::Noise).then_some(match ask.id {
            2 => Answer::Failed,
            id => Answer::value(id as f64, None),
        })
    };
    let path = folder.path().join("s");
    let mut source = Bowl { limit: 3, ..Bowl::new(&noisy) };
    assert!(matches!(open(&target, &path).unwrap().play(&mut source), Err(Error::Interrupted)));
    let mut tuning = open(&target, &path).unwrap();
    let mut source = Bowl::new(&noisy);
    tuning.play(&mut source).unwrap();
    // Values 1, 3, 4, 5, 6, the second attempt having failed: their variance is 3.7.
    assert_eq!(tuning.state().noise, [Some(3.7), Some(0.004)]);
    let task = tuning.state().current().unwrap();
    let estimates: Vec<&Told> = task.answers.iter().filter(|told| told.why == Why::Noise).collect();
    assert_eq!(estimates.len(), 6);
    assert!(estimates.iter().all(|told| told.point == [-80.0, 0.75] && told.fidelity == 0));
    assert!(task.spent() <= target.budget && task.spent() > target.budget - 5.0, "{}", task.spent());
    // The next task knows it.
    tuning.next_task(None).unwrap();
    let mut source = Bowl::new(&noisy);
    tuning.play(&mut source).unwrap();
    assert!(source.asked.iter().all(|ask| ask.why != Why::Noise));
}

#[test]
fn an_absurd_answer_among_the_repeats_is_left_out_and_counted_as_an_outlier() {
    let heat = Guarded::read("heat:at-most:value:1e9 at a risk of 0.1");
    let mut target = Target { guards: heat, ..target() };
    target.fidelities[0].noise = None;
    let noise = |absurd: u64, value: f64| {
        let answer = |ask: &Ask| {
            let value = if ask.id == absurd { value } else { 10.0 + 0.1 * (ask.id * 2 % 5) as f64 };
            let kpis = vec![if ask.id == 7 { -1e4 } else { 2.0 + 0.01 * (ask.id % 5) as f64 }];
            Some(Answer::Value { value, kpis, cost: None, conditions: Vec::new() })
        };
        let answer = |ask: &Ask| if ask.why == Why::Noise { answer(ask) } else { Some(Answer::Stop) };
        let mut tuning = Tuning::open(target.clone(), setup(&target), (None, None), None).unwrap();
        tuning.play(&mut Bowl::new(&answer)).unwrap();
        let State { noise, kpi_noise, tasks, .. } = tuning.state();
        let in_use = tasks[0].measured_in_use(&target, "heat").unwrap();
        assert!((2.0..2.1).contains(&in_use), "{in_use}");
        (noise[0].unwrap(), kpi_noise["heat"][1].unwrap(), tuning.ended().unwrap().outliers)
    };
    let (usual, heat, outliers) = noise(0, 0.0);
    assert!((0.024..0.026).contains(&usual) && heat < 5e-4 && outliers == 1, "{usual} {heat} {outliers}");
    for (absurd, value) in [(1, 1e4), (3, -5.0), (5, 13.0)] {
        let (variance, heat, outliers) = noise(absurd, value);
        assert!((0.5 * usual..1.5 * usual).contains(&variance), "{variance} where {value} is absurd");
        assert!(heat < 5e-4 && outliers == 2, "{heat} {outliers}");
    }
    // Who lies where noise may lead is believed, as far as rounding leaves something to tell noise by.
    assert!(noise(3, 11.0).0 > 2.0 * usual && noise(3, 11.0).2 == 1);
    let rounded = |values: [f64; 5]| noise::variance(values.to_vec());
    assert!((rounded([5.0, 5.0, 5.2, 5.0, 5.0]) - 0.008).abs() < 1e-9);
    assert_eq!([rounded([0.0, 0.0, 5.0, 0.0, 0.0]), rounded([5.0, 5.0, 9.0, 5.0, 5.0])], [5.0, 0.0]);
}

#[test]
fn expensive_measurements_end_a_task_early() {
    let costly = |ask: &Ask| Some(Answer::value(bowl(ask), Some(12.0)));
    let mut tuning = Tuning::open(target(), setup(&target()), (None, None), None).unwrap();
    let mut source = Bowl::new(&costly);
    tuning.play(&mut source).unwrap();
    let charged = tuning.state().current().unwrap().answers.len();
    assert_eq!(charged, 3);
    assert_eq!(tuning.ended().unwrap().reason, Reason::Budget);
}

#[test]
fn refused_answers_are_asked_for_again_and_failures_end_a_task() {
    for (id, value) in [(3, f64::NAN), (1, 1e33), (5, 1e33)] {
        for at_once in [1, 2] {
            let strange = |ask: &Ask| (ask.id == id).then_some(Answer::value(value, None));
            let mut tuning = Tuning::open(target(), setup(&target()), (None, None), None).unwrap();
            let mut source = Bowl { at_once, ..Bowl::new(&strange) };
            tuning.play(&mut source).unwrap();
            assert_eq!(source.refusals, ["a value is a finite number within ±1e30"], "{id}");
        }
    }
    let failing = |_: &Ask| Some(Answer::Failed);
    for (budget, reason, answers) in [(60.0, Reason::Failures, 10), (12.0, Reason::Budget, 2)] {
        let target = Target { budget, floor: Some(FLOOR), ..target() };
        let mut tuning = Tuning::open(target.clone(), setup(&target), (None, None), None).unwrap();
        tuning.play(&mut Bowl::new(&failing)).unwrap();
        let ended = tuning.ended().unwrap();
        assert_eq!((ended.reason, &ended.point), (reason, &None));
        assert_eq!(tuning.state().answered(), answers);
        assert!(ended.spent <= budget);
    }
    // Numbers of queries that had no answer are not given away again, not even after a restart.
    for at_once in [1, 3] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let stopping = |ask: &Ask| (ask.id == 9).then_some(Answer::Stop);
        let mut tuning = open(&target(), &path).unwrap();
        let mut source = Bowl { at_once, ..Bowl::new(&stopping) };
        tuning.play(&mut source).unwrap();
        let last = source.asked.iter().map(|ask| ask.id).max();
        assert_eq!(tuning.ended().unwrap().reason, Reason::Stopped);
        assert!(tuning.ended().unwrap().point.is_some());
        assert!(at_once > 1 || tuning.state().answered() == 8);
        drop(tuning);
        let mut tuning = open(&target(), &path).unwrap();
        tuning.next_task(None).unwrap();
        let mut source = Bowl::new(&plain);
        tuning.play(&mut source).unwrap();
        assert_eq!(Some(source.asked[0].id - 1), last);
    }
}

/// A loose cable: what was measured before is not lost, and the next task starts from it.
#[test]
fn failures_in_a_row_end_a_task_with_what_was_measured_however_often_it_breaks_off() {
    let broken = |ask: &Ask| (ask.id > 9).then_some(Answer::Failed);
    let folder = tempfile::tempdir().unwrap();
    let target = Target { failures: 3, ..target() };
    let ends = [usize::MAX, 1].map(|limit| {
        let path = folder.path().join(format!("{limit}.state"));
        let (mut tuning, _) = play_on(&target, &path, limit, &broken);
        assert_eq!(tuning.state().answered(), 12);
        let ended = tuning.ended().unwrap().clone();
        tuning.next_task(None).unwrap();
        tuning.play(&mut Bowl::new(&plain)).unwrap();
        assert_eq!(tuning.ended().unwrap().reason, Reason::Budget);
        ended
    });
    assert_eq!(ends[0].reason, Reason::Failures);
    assert!(ends[0].point.is_some());
    assert_eq!(ends[0], ends[1]);
}

#[test]
fn nothing_is_expected_where_nothing_was_measured() {
    struct Watch(Vec<bool>);
    impl Source for Watch {
        fn start(&mut self, _: &Ask, _: &[u64]) -> Result<(), Error> {
            Ok(())
        }
        fn wait(&mut self, asks: &[Ask]) -> Result<(u64, Answer), Error> {
            let answer = if asks[0].id < 20 { Answer::Failed } else { Answer::value(bowl(&asks[0]), None) };
            Ok((asks[0].id, answer))
        }
        fn refused(&mut self, _: &Ask, why: &str) -> Result<Option<Answer>, Error> {
            panic!("{why}")
        }
        fn told(&mut self, _: &Ask, _: &Told, standing: &Standing) -> Result<(), Error> {
            self.0.push(standing.expected.is_some());
            Ok(())
        }
    }
    let target = Target { failures: 100, budget: 150.0, ..target() };
    let mut tuning = Tuning::open(target.clone(), setup(&target), (None, None), None).unwrap();
    let mut watch = Watch(Vec::new());
    tuning.play(&mut watch).unwrap();
    assert!(watch.0.len() > 20 && !watch.0[..20].contains(&true), "{:?}", watch.0);
    assert!(watch.0.last().unwrap());
}

/// What a measurement says and costs, from the smallest to the largest that is taken: after every answer, and after the
/// end, the state is read again and goes on.
#[test]
fn extreme_values_and_costs_are_read_back() {
    let values = [1.0, 0.0, 1e-40, 3e29, -0.0, 1e-45, f64::from(f32::MIN_POSITIVE)];
    let costs = [None, Some(1e-40), Some(0.0), Some(1.0), Some(5.0), Some(1e-300)];
    let folder = tempfile::tempdir().unwrap();
    for (shift, noise) in [(0, Some(0.04)), (1, None), (5, None)] {
        let mut target = target();
        target.fidelities[0].noise = noise;
        let answer = |ask: &Ask| {
            let i = ask.id as usize + shift;
            let value = if ask.point[0] > -40.0 { -1e30 } else { values[i % values.len()] };
            Some(Answer::value(value, costs[i % costs.len()]))
        };
        let path = folder.path().join(format!("{shift}.state"));
        play_on(&target, &path, 3, &answer).0.next_task(None).unwrap();
        play_on(&target, &path, 3, &answer);
        assert!(open(&target, &path).unwrap().ended().unwrap().spent.is_finite());
    }
}

#[test]
fn a_cost_or_a_value_that_cannot_be_kept_is_refused_while_the_noise_is_learnt_too() {
    let mut target = target();
    target.fidelities[0].noise = None;
    let absurd = |ask: &Ask| match ask.id {
        1 => Some(Answer::value(1e31, None)),
        2 => Some(Answer::value(1.0, Some(1e300))),
        3 => Some(Answer::value(1.0, Some(-1.0))),
        4 => Some(Answer::value(f64::NAN, None)),
        _ => None,
    };
    let mut tuning = Tuning::open(target.clone(), setup(&target), (None, None), None).unwrap();
    let mut source = Bowl::new(&absurd);
    tuning.play(&mut source).unwrap();
    assert_eq!(source.refusals.len(), 4, "{:?}", source.refusals);
}

#[test]
fn learning_the_noise_keeps_to_the_budget_too() {
    let mut target = target();
    target.fidelities[1].noise = None;
    target.budget = 24.0;
    let refused = refusal(Tuning::open(target.clone(), setup(&target), (None, None), None));
    assert!(refused.contains("learning the noise costs 25"), "{refused}");
    target.budget = 26.0;
    let failing = |ask: &Ask| (ask.id == 2).then_some(Answer::Failed);
    let mut tuning = Tuning::open(target.clone(), setup(&target), (None, None), None).unwrap();
    tuning.play(&mut Bowl::new(&failing)).unwrap();
    let ended = tuning.ended().unwrap();
    assert_eq!((ended.reason, ended.spent), (Reason::Budget, 25.0));
}

#[test]
fn what_may_not_change_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    let mut source = Bowl { limit: 2, ..Bowl::new(&plain) };
    assert!(open(&target(), &path).unwrap().play(&mut source).is_err());
    let mut larger = target();
    larger.budget = 31.0;
    assert!(refusal(open(&larger, &path)).contains("the budget was 30, and is 31"));
    let mut other = target();
    other.goal = Goal::Maximise;
    assert!(refusal(open(&other, &path)).contains("the goal was minimise"));
    let store = || Some(Store::open(&path).unwrap());
    assert!(
        refusal(Tuning::open(target(), setup(&target()), (Some(2), None), store())).contains("seed 1, not 2")
    );
    let mut settings = setup(&target());
    settings.set("beta", "0.5").unwrap();
    assert!(refusal(Tuning::open(target(), settings, (None, None), store())).contains("`beta`"));
    // After the end all of that but the goal may change, and not what the model is made of.
    open(&target(), &path).unwrap().play(&mut Bowl::new(&plain)).unwrap();
    let mut other = setup(&target());
    other.set("particles", "4").unwrap();
    let mut tuning = Tuning::open(target(), other, (None, None), store()).unwrap();
    let why = tuning.next_task(None).unwrap_err().to_string();
    assert!(why.contains("`particles`: change them back, or give another --state"), "{why}");
    drop(tuning);
    let mut tuning = Tuning::open(larger, settings, (None, None), store()).unwrap();
    tuning.next_task(Some(vec![-60.0, 0.5])).unwrap();
    tuning.play(&mut Bowl::new(&plain)).unwrap();
    assert_eq!(tuning.state().current().unwrap().begun.budget, 31.0);
    assert_eq!(tuning.state().current().unwrap().begun.deployed, Some(vec![-60.0, 0.5]));
}

/// The point that the current task began at, which was asked first.
fn began_at(tuning: &mut Tuning) -> Vec<f64> {
    let mut source = Bowl::new(&plain);
    tuning.play(&mut source).unwrap();
    let point = tuning.state().current().unwrap().begun.deployed.clone().unwrap();
    assert_eq!(source.asked[0].point, point);
    point
}

#[test]
fn a_task_begins_at_the_given_point_else_at_an_edited_file_s_else_at_the_last_recommendation() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    let [back, mut edited, mut without] = [target(), target(), target()];
    (edited.deployed, without.deployed) = (Some(vec![-60.0, 1.0]), None);
    let recommended = |tuning: &Tuning| tuning.ended().unwrap().point.clone().unwrap();
    let mut tuning = open(&target(), &path).unwrap();
    assert_eq!(began_at(&mut tuning), [-80.0, 0.75]);
    let mut last = recommended(&tuning);
    drop(tuning);
    let given = Some(vec![-40.0, 0.0]);
    for (target, given, expected) in [
        (&back, None, None),
        (&edited, None, edited.deployed.clone()),
        (&edited, None, None),
        (&edited, given.clone(), given.clone()),
        (&edited, given.clone(), given.clone()),
        (&edited, None, None),
        (&back, None, back.deployed.clone()),
    ] {
        let mut tuning = open(target, &path).unwrap();
        tuning.next_task(given).unwrap();
        assert_eq!(began_at(&mut tuning), expected.unwrap_or(last));
        last = recommended(&tuning);
    }
    let mut tuning = open(&without, &path).unwrap();
    tuning.next_task(None).unwrap();
    assert_eq!(tuning.state().current().unwrap().begun.deployed, None);
    let mut tuning = Tuning::open(without.clone(), setup(&without), (None, given.clone()), None).unwrap();
    assert_eq!(Some(began_at(&mut tuning)), given);
    last = recommended(&tuning);
    tuning.next_task(None).unwrap();
    assert_eq!(began_at(&mut tuning), last);
}

#[test]
fn the_point_in_use_stays_within_a_task_and_one_that_breaks_a_limit_begins_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    let mut target = target();
    target.limits = vec![crate::Limit { coefficients: vec![1.0, 2.0], at_most: 20.0 }];
    let given = |point: &[f64]| {
        let store = Store::open(&path).unwrap();
        Tuning::open(target.clone(), setup(&target), (None, Some(point.to_vec())), Some(store))
    };
    let mut source = Bowl { limit: 2, ..Bowl::new(&plain) };
    assert!(given(&[-60.0, 1.0]).unwrap().play(&mut source).is_err());
    assert!(refusal(given(&[-80.0, 0.75])).contains("was p0 = -60 dBm, alpha = 1, and is p0 = -80 dBm"));
    let edited = Target { deployed: Some(vec![-58.0, 1.0]), ..target.clone() };
    assert!(refusal(open(&edited, &path)).contains("was p0 = -60 dBm, alpha = 1, and is p0 = -58 dBm"));
    let mut tuning = given(&[-60.0, 1.0]).unwrap();
    tuning.play(&mut Bowl::new(&plain)).unwrap();
    let before = tuning.state().clone();
    let refused = tuning.next_task(Some(vec![24.0, 1.0])).unwrap_err().to_string();
    assert!(refused.contains("p0 = 24 dBm, alpha = 1: ") && refused.contains("limits"), "{refused}");
    assert_eq!(tuning.state(), &before);
    tuning.next_task(None).unwrap();
}

#[test]
fn an_absurd_answer_is_asked_for_again_and_the_end_counts_it_as_an_outlier() {
    let absurd = |ask: &Ask| (ask.id == 12).then_some(Answer::value(1e3, None));
    let folder = tempfile::tempdir().unwrap();
    for limit in [usize::MAX, 1] {
        let path = folder.path().join(format!("{limit}.state"));
        let (tuning, asked) = play_on(&target(), &path, limit, &absurd);
        assert_eq!((&asked[11].point, asked[11].fidelity), (&asked[12].point, asked[12].fidelity));
        assert_eq!(asked[12].why, Why::Search);
        assert_eq!(tuning.ended().unwrap().outliers, 1);
    }
}

/// The same optimizer with the same answers, once knowing the noise and once from what five measurements say of it.
#[test]
fn an_expectation_is_less_sure_where_the_noise_was_estimated() {
    let noisy = |ask: &Ask| (ask.why == Why::Noise).then_some(Answer::value(ask.id as f64, None));
    let [mut known, mut estimated] = [target(), target()];
    known.budget -= 5.0 * known.fidelities[0].cost;
    // Of 1, 2, 3, 4, 5.
    known.fidelities[0].noise = Some(2.5);
    estimated.fidelities[0].noise = None;
    let [known, estimated] = [known, estimated].map(|target| {
        let mut tuning = Tuning::open(target.clone(), setup(&target), (None, None), None).unwrap();
        tuning.play(&mut Bowl::new(&noisy)).unwrap();
        tuning.ended().unwrap().clone()
    });
    assert_eq!((known.point, known.mean), (estimated.point, estimated.mean));
    assert_eq!(estimated.deviation, 2f32.sqrt() * known.deviation);
}

/// Sometimes a second query is asked for beside the first. What the floor ruled out and what was expected are then the same, too.
#[test]
fn reasons_and_expectations_are_the_same_however_often_a_task_breaks_off() {
    struct Turns<'a>(Bowl<'a>);
    impl Source for Turns<'_> {
        fn start(&mut self, ask: &Ask, beside: &[u64]) -> Result<(), Error> {
            self.0.at_once = 1;
            self.0.start(ask, beside)
        }
        fn wait(&mut self, asks: &[Ask]) -> Result<(u64, Answer), Error> {
            if asks.len() == 1 && asks[0].id % 5 < 2 && asks[0].id > 6 && self.0.at_once == 1 {
                self.0.at_once = 2;
                return Ok((asks[0].id, Answer::AskMore));
            }
            self.0.wait(asks)
        }
        fn at_once(&self) -> usize {
            self.0.at_once
        }
        fn refused(&mut self, ask: &Ask, why: &str) -> Result<Option<Answer>, Error> {
            self.0.refused(ask, why)
        }
        fn told(&mut self, ask: &Ask, told: &Told, standing: &Standing) -> Result<(), Error> {
            self.0.told(ask, told, standing)
        }
    }
    let heat = Guarded::read("heat:at-most:value:0.5 at a risk of 0.1");
    let guards = heat.into_iter().map(|guard| Guarded { noise: vec![1e-4; 2], ..guard }).collect();
    let mut target = Target { guards, floor: Some(FLOOR), budget: 60.0, ..target() };
    target.fidelities[0].noise = Some(0.0004);
    let folder = tempfile::tempdir().unwrap();
    // Queries that nothing was searched for, beside others; and a last one that was pending when it broke off.
    for seed in [3, 11] {
        let special = |ask: &Ask| {
            let value = if ask.id == 14 + seed { 1e4 } else { bowl(ask) };
            let kpis = vec![ask.point[1] * 0.6];
            Some(Answer::Value { value, kpis, cost: None, conditions: Vec::new() })
        };
        let states = [usize::MAX, 4, 5].map(|limit| {
            let path = folder.path().join(format!("{limit}.{seed}.state"));
            loop {
                let (store, given) = (Store::open(&path).unwrap(), (Some(seed), None));
                let mut tuning = Tuning::open(target.clone(), setup(&target), given, Some(store)).unwrap();
                let played = tuning.play(&mut Turns(Bowl { limit, ..Bowl::new(&special) }));
                match (played, tuning.state().task()) {
                    (Ok(()), 1) => tuning.next_task(None).unwrap(),
                    (Ok(()), _) => break tuning.state().clone(),
                    (Err(error), _) => assert!(matches!(error, Error::Interrupted), "{error}"),
                }
            }
        });
        assert!(states[0].current().unwrap().expected.is_some());
        assert!(states[0] == states[1] && states[0] == states[2], "{seed}");
    }
}

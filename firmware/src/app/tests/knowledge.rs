//! Knowledge that travels, is forgotten, is refused, or rots.

use std::vec::Vec;

use foretune_core::fleet::Header;
use foretune_core::snapshot::ProblemSums;
use foretune_link::{
    Begin, Decoder, Download, Knowledge, MAX_FRAME, Outcome, Phase, Refusal, Request, Response, Ticket,
    Upload, VERSION, crc32, encode,
};

use super::base::kpis;
use super::mock::{MockBoard, MockSystem, Outside, Sim};
use super::profile::{FLASH, Guarded, Network, Profile, Small};
use super::{Bench, radio, undisturbed};
use crate::app::App;
use crate::app::recorder::FAULT_KNOWLEDGE;
use crate::drive::coordinates;
use crate::profile::POWER_CONTROL;

/// A device that is asked one request at a time.
pub struct Talk<P> {
    pub flash: Option<Sim>,
    profile: core::marker::PhantomData<P>,
}

impl<P: Profile> Talk<P> {
    pub fn to(flash: Sim) -> Self {
        Talk { flash: Some(flash), profile: core::marker::PhantomData }
    }

    /// Starts the device, has it answer, switches it off. A transfer does not survive that, so it takes a whole one.
    pub fn session<T>(&mut self, talk: impl FnOnce(&mut dyn FnMut(&Request) -> Vec<u8>) -> T) -> T {
        let outside = Outside::default();
        let board = MockBoard { outside: outside.clone(), flash: self.flash.take().unwrap(), fault: None };
        let mut app = App::new(board.parts(), P::PROFILE).unwrap();
        let result = talk(&mut |request| {
            let mut frame = [0; MAX_FRAME];
            outside.to_device.borrow_mut().extend(encode(7, request, &mut frame).unwrap());
            let mut turns = 0;
            P::run(&mut app, &mut |_: &mut MockSystem| {
                turns += 1;
                assert!(turns < 1000, "no answer");
                outside.to_station.borrow().is_empty()
            });
            outside.to_station.borrow_mut().drain(..).collect()
        });
        let mut flash = app.recorder.store.release();
        flash.power_up();
        self.flash = Some(flash);
        result
    }

    pub fn greeting(&mut self) -> (Phase, u32, Knowledge) {
        self.session(|ask| {
            with(&ask(&Request::Hello { version: VERSION }), |response| match response {
                Response::Greeting(greeting) => (greeting.phase, greeting.task, greeting.knowledge),
                other => panic!("{other:?}"),
            })
        })
    }

    pub fn download(&mut self) -> Vec<u8> {
        let (_, _, knowledge) = self.greeting();
        let mut buffer = std::vec![0; 4096];
        self.session(|ask| {
            let mut download = Download::new(knowledge, &mut buffer).unwrap();
            while let Some(request) = download.request() {
                with(&ask(&request), |response| download.receive(&response)).unwrap();
            }
            download.finish().unwrap().to_vec()
        })
    }

    fn upload(&mut self, bytes: &[u8]) -> Result<Knowledge, Refusal> {
        let (_, _, now) = self.greeting();
        self.session(|ask| {
            let mut upload = Upload::knowledge(bytes, &now);
            while let Some(request) = upload.request() {
                with(&ask(&request), |response| upload.receive(&response))?;
            }
            Ok(upload.stored().unwrap())
        })
    }
}

/// Reads the one response in these bytes.
pub fn with<T>(bytes: &[u8], read: impl FnOnce(Response) -> T) -> T {
    let mut decoder: Decoder = Decoder::new();
    let (last, head) = bytes.split_last().unwrap();
    head.iter().for_each(|byte| assert!(decoder.receive::<Response>(*byte).is_none()));
    read(decoder.receive(*last).unwrap().1)
}

/// What the core alone knows after two tasks.
fn learnt<P: Profile>() -> Vec<u8> {
    let mut bench = undisturbed::<P>(&[60.0, 60.0], radio);
    Talk::<P>::to(bench.flash.take().unwrap()).download()
}

#[test]
fn a_new_device_knows_nothing_and_has_no_task() {
    let greeting = Talk::<Small>::to(Sim::new(FLASH)).greeting();
    assert_eq!(greeting, (Phase::Idle, 0, Knowledge::default()));
}

#[test]
fn knowledge_read_from_a_device_is_what_the_core_learnt_and_another_device_goes_on_with_it() {
    goes_on::<Small>();
    goes_on::<Guarded>();
}

fn goes_on<P: Profile>() {
    let bytes = learnt::<P>();
    let header = foretune_core::snapshot::Header::verify(&bytes).unwrap();
    assert_eq!((header.task, header.mid_task), (3, false));
    let mut other = Talk::<P>::to(Sim::new(FLASH));
    let stored = other.upload(&bytes).unwrap();
    assert_eq!(stored, Knowledge { sequence: 1, total: bytes.len() as u32, crc: crc32(&bytes) });
    assert_eq!(other.download(), bytes);

    let mut bench = Bench::<P>::new(&[200.0, 150.0], radio);
    bench.flash = other.flash.take();
    bench.run();
    bench.check_from(bytes);
}

#[test]
fn the_answers_of_the_last_task_can_be_read_back_as_they_were_given() {
    read_back::<Small>();
    read_back::<Guarded>();
}

fn read_back<P: Profile>() {
    let mut bench = undisturbed::<P>(&[150.0, 150.0], radio);
    let asked = bench.base.notes.traces[1].queries.clone();
    let mut device = Talk::<P>::to(bench.flash.take().unwrap());
    let guards = P::problem().guards.len();
    for query in &asked {
        // A restart before each.
        device.session(|ask| {
            with(&ask(&Request::Recall { ticket: query.ticket }), |response| {
                let Response::Recalled { ticket, answer } = response else { panic!("{response:?}") };
                let value = answer.value.map_or(Outcome::Failed, Outcome::Value);
                assert_eq!((ticket, answer.fidelity, value), (query.ticket, query.fidelity, radio(query)));
                let (unit, rest) = answer.numbers.split_at(4);
                assert_eq!(coordinates(P::problem().dimensions, unit), query.point, "{answer:?}");
                assert_eq!(rest[..guards], *kpis(guards, query), "{answer:?}");
            });
        });
    }
    let ticket = Ticket { task: 1, ..asked[0].ticket };
    let refused = Refusal::WrongTask { current: 2 };
    device.session(|ask| {
        with(&ask(&Request::Recall { ticket }), |response| assert_eq!(response, Response::Refused(refused)));
    });
}

/// A fleet's file of the built-in problem: one bump, one mode.
fn fleet() -> Vec<u8> {
    let header = Header {
        dimensions: 4,
        fidelities: 4,
        centres: 1,
        modes: 1,
        sets: 1,
        points: 0,
        problem: ProblemSums::of(&POWER_CONTROL),
        learnt_from: [5, 5, 100],
        mean: 18.0,
        deviation: 11.0,
        spread: 0.2,
        margin: 1.0,
    };
    let theta = [-1.0, -1.0, -1.0, -1.0, -1.0, -4.0];
    let transform = (0..16).map(|i| if i % 5 == 0 { 1.5 } else { 0.0 });
    let rest = [0.8, 1.2, 0.8, 1.2, 1.5, 0.5, -0.5, 0.2];
    let mut bytes = Vec::new();
    header.write(theta.into_iter().chain(transform).chain(rest), |piece| bytes.extend_from_slice(piece));
    bytes
}

/// A new device with that file.
pub fn with_fleet() -> (Sim, Vec<u8>) {
    let mut device = Talk::<Small>::to(Sim::new(FLASH));
    device.upload(&fleet()).unwrap();
    (device.flash.take().unwrap(), fleet())
}

#[test]
fn a_fleets_file_counts_as_on_the_core_alone_and_stays_behind_the_knowledge() {
    let (flash, file) = with_fleet();
    let mut bench = Bench::<Small>::new(&[200.0, 150.0], radio);
    bench.flash = Some(flash);
    bench.run();
    bench.check_from(file.clone());
    assert_ne!(bench.base.notes.traces, bench.base.notes.expected::<Small>(Vec::new()), "it counted");
    let mut device = Talk::<Small>::to(bench.flash.take().unwrap());
    let stored = device.download();
    assert!(stored.ends_with(&file) && stored.len() > file.len());
    let mut damaged = stored.clone();
    *damaged.last_mut().unwrap() ^= 1;
    assert_eq!(device.upload(&damaged), Err(Refusal::BadKnowledge { code: 4 }));
    assert_eq!(device.download(), stored);
}

#[test]
fn knowledge_that_does_not_fit_is_refused_with_the_reason_and_the_old_one_stays() {
    let bytes = learnt::<Small>();
    let mut device = Talk::<Small>::to(Sim::new(FLASH));
    device.upload(&bytes).unwrap();
    let refusal = |device: &mut Talk<Small>, bytes: &[u8]| device.upload(bytes).unwrap_err();
    let bad = |code| Refusal::BadKnowledge { code };
    let mut newer = bytes.clone();
    newer[8] = 9;
    let mut flipped = bytes.clone();
    flipped[100] ^= 1;
    assert_eq!(refusal(&mut device, &bytes[..bytes.len() - 1]), bad(1), "truncated");
    assert_eq!(
        refusal(&mut device, b"a love letter, and not a short one, to somebody else entirely"),
        bad(2)
    );
    assert_eq!(refusal(&mut device, &newer), bad(3));
    assert_eq!(refusal(&mut device, &flipped), bad(4));
    assert_eq!(refusal(&mut device, &learnt_elsewhere()), bad(5), "another profile's");
    assert_eq!(refusal(&mut device, &[0; 2048]), Refusal::TooLarge { limit: 1024 - 128 });
    assert_eq!(device.download(), bytes);
}

/// What another profile knows, small enough for the slot.
fn learnt_elsewhere() -> Vec<u8> {
    let bytes = learnt::<Network>();
    assert!(bytes.len() <= 1024 - 128, "{}", bytes.len());
    bytes
}

#[test]
fn knowledge_does_not_change_while_a_task_runs() {
    let mut bench = Bench::<Small>::new(&[100.0], radio);
    bench.run_until(|base| base.asked() == 3);
    let mut device = Talk::<Small>::to(bench.flash.take().unwrap());
    assert_eq!(device.upload(&learnt::<Small>()), Err(Refusal::Busy { task: 1 }));
    bench.flash = device.flash.take();
    bench.run();
    bench.check();
}

#[test]
fn forgetting_makes_a_device_as_new_but_for_its_numbers() {
    let mut bench = undisturbed::<Small>(&[60.0], radio);
    let mut device = Talk::<Small>::to(bench.flash.take().unwrap());
    let (phase, task, knowledge) = device.greeting();
    assert_eq!((phase, task, knowledge.sequence), (Phase::Finished, 1, 1));
    device.session(|ask| {
        with(&ask(&Request::Forget { knowledge: 1 }), |response| {
            assert_eq!(response, Response::Stored(Knowledge { sequence: 2, total: 0, crc: 0 }));
        })
    });
    assert_eq!(device.greeting().1, 1);
    let mut again = Bench::<Small>::new(&[60.0, 60.0], radio);
    again.base.notes.traces[0] = bench.base.notes.traces[0].clone();
    again.flash = device.flash.take();
    again.run();
    // The second task starts from nothing: the seed alone tells it from a first one.
    let second = &again.base.notes.traces[1];
    assert_ne!(*second, again.base.notes.expected::<Small>(Vec::new())[1], "it had knowledge there");
    assert!(second.recommendation.is_some());
}

#[test]
fn a_damaged_slot_costs_the_task_that_built_on_it_and_no_more() {
    let mut bench = Bench::<Small>::new(&[60.0, 160.0, 60.0], radio);
    bench.run_until(|base| base.notes.traces[1].queries.len() == 4);
    // The first task's knowledge lies in the first slot.
    bench.flash().damage(128);
    bench.run_asking_status(20);
    let notes = &bench.base.notes;
    let expected = notes.expected::<Small>(Vec::new());
    assert_eq!(notes.status[0].health.fault, FAULT_KNOWLEDGE);
    assert_eq!(notes.traces[0], expected[0]);
    assert_eq!((notes.traces[1].queries.len(), &notes.traces[1].recommendation), (4, &None));
    assert!(notes.traces[2].recommendation.is_some());
}

#[test]
fn a_damaged_slot_of_a_finished_task_is_made_anew_from_its_journal() {
    let mut bench = Bench::<Small>::new(&[60.0, 60.0, 60.0], radio);
    bench.run_until(|base| base.notes.traces[1].recommendation.is_some());
    // The second task's knowledge lies in the second slot.
    bench.flash().damage(1024 + 128);
    bench.run();
    bench.check();
}

#[test]
fn other_firmware_drops_the_task_refuses_the_knowledge_and_begins_once_that_is_forgotten() {
    let mut bench = Bench::<Small>::new(&[60.0, 160.0], radio);
    bench.run_until(|base| base.notes.traces[1].queries.len() == 4);
    let mut device = Talk::<Network>::to(bench.flash.take().unwrap());
    device.session(|ask| {
        while with(&ask(&Request::Hello { version: VERSION }), |response| {
            !matches!(response,
            Response::Greeting(greeting) if greeting.phase == Phase::Idle && greeting.task == 2)
        }) {}
        with(&ask(&Request::Status), |response| match response {
            Response::Status(status) => assert_eq!(status.health.fault, FAULT_KNOWLEDGE),
            other => panic!("{other:?}"),
        });
        let problem = Network::PROFILE.number;
        let begin = Request::Begin(Begin { task: 3, problem, seed: 1, budget: 100.0, ..Begin::PLAIN });
        let refused = Response::Refused(Refusal::BadKnowledge { code: 5 });
        with(&ask(&begin), |response| assert_eq!(response, refused));
        with(&ask(&Request::Forget { knowledge: 1 }), |response| {
            assert!(matches!(response, Response::Stored(_)))
        });
        with(&ask(&begin), |response| assert_eq!(response, Response::Begun { task: 3 }));
    });
}

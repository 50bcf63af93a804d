//! A bad line: what it loses, alters, repeats and delays must change nothing but the time it takes.

mod support;

use foretune_link::exchange::Exchange;
use foretune_link::tuner::{Event, Tuner};
use foretune_link::{
    Begin, Decoder, Download, Greeting, MAX_FRAME, Pace, Phase, Recommendation, Refusal, Request, Response,
    Station, StationEvent, Upload, encode,
};
use support::wire::{Chance, Harm, Wire};
use support::{Memory, PROBLEM, measure, recommend, restored, think, truth, undisturbed};

const PACE: Pace = Pace { timeout: 40, interval: 5 };

/// Longest time without any progress, in ticks: many timeouts in a row.
const PATIENCE: u32 = 20_000;

/// The device: what is in its flash, and what it loses at a restart.
struct Device {
    memory: Memory,
    tuner: Tuner,
    decoder: Decoder<304>,
    thinking: u32,
    restarts: u32,
}

impl Device {
    fn new() -> Self {
        let memory = Memory::default();
        Self { tuner: restored(&memory), memory, decoder: Decoder::new(), thinking: 0, restarts: 0 }
    }

    fn restart(&mut self) {
        self.memory.dead = false;
        self.memory.cut = None;
        self.tuner = restored(&self.memory);
        self.decoder = Decoder::new();
        self.restarts += 1;
    }

    /// Hears some bytes, thinks a little; returns the frames it answers with.
    fn tick(&mut self, bytes: &[u8], chance: &mut Chance) -> Vec<Vec<u8>> {
        let mut answers = Vec::new();
        for &byte in bytes {
            let mut out = [0; MAX_FRAME];
            let answer = self.tuner.serve(&mut self.decoder, byte, &mut self.memory, &mut out);
            if self.memory.dead {
                self.restart();
                return answers;
            }
            answers.extend(answer.map(<[u8]>::to_vec));
        }
        if self.tuner.phase() == Phase::Thinking {
            self.thinking = self.thinking.saturating_sub(1);
            if self.thinking == 0 {
                think(&mut self.tuner, &mut self.memory);
                self.thinking = 1 + chance.below(10);
            }
        }
        answers
    }
}

/// What the station's keeper is about to do.
enum Errand {
    Tune,
    Upload { bytes: Vec<u8>, upload: Upload<'static>, exchange: Exchange },
    Download { greeting: Greeting<'static>, download: Download<'static>, exchange: Exchange },
}

/// The station with its keeper, who begins tasks and carries knowledge, and may fall asleep at any time.
struct Master {
    station: Station<'static>,
    decoder: Decoder<304>,
    errand: Errand,
    /// A measurement under way: when it is done.
    measuring: Option<(u32, foretune_link::Query)>,
    restarts: u32,
}

/// What the soak test has seen.
#[derive(Default)]
struct Ledger {
    observations: u64,
    finished: u32,
    aborted: u32,
    uploads: u32,
    downloads: u32,
    statuses: u32,
    progress_at: u32,
    /// Longest time without progress, in ticks.
    longest: u32,
}

impl Master {
    fn new(tag: u32) -> Self {
        let mut station = Station::new(PACE, tag);
        station.greet();
        Self { station, decoder: Decoder::new(), errand: Errand::Tune, measuring: None, restarts: 0 }
    }

    fn restart(&mut self, chance: &mut Chance) {
        *self = Self { restarts: self.restarts + 1, ..Self::new(chance.word()) };
    }

    /// What goes on the line now.
    fn transmit(&mut self, now: u32) -> Option<Vec<u8>> {
        let (tag, request) = match &mut self.errand {
            Errand::Tune => self.station.transmit(now)?,
            Errand::Upload { upload, exchange, .. } => call(now, exchange, upload.request())?,
            Errand::Download { download, exchange, .. } => call(now, exchange, download.request())?,
        };
        let mut out = [0; MAX_FRAME];
        Some(encode(tag, &request, &mut out).unwrap().to_vec())
    }
}

/// Sends or repeats the request of an exchange.
fn call<'a>(now: u32, exchange: &mut Exchange, request: Option<Request<'a>>) -> Option<(u32, Request<'a>)> {
    if !exchange.is_open() {
        exchange.open();
    }
    Some((exchange.transmit(now)?, request?))
}

struct Soak {
    now: u32,
    /// One frame in so many is harmed.
    clean: u32,
    chance: Chance,
    up: Wire,
    down: Wire,
    device: Device,
    master: Master,
    ledger: Ledger,
}

impl Soak {
    fn new(seed: u64, clean: u32) -> Self {
        Self {
            now: 0,
            clean,
            chance: Chance::new(seed),
            up: Wire::default(),
            down: Wire::default(),
            device: Device::new(),
            master: Master::new(7),
            ledger: Ledger::default(),
        }
    }

    fn run(&mut self, frames: u64) {
        while self.up.harm.frames + self.down.harm.frames < frames {
            self.tick();
            let idle = self.now - self.ledger.progress_at;
            self.ledger.longest = self.ledger.longest.max(idle);
            assert!(idle < PATIENCE, "no progress for {idle} ticks, device {:?}", self.device.tuner.phase());
        }
    }

    fn tick(&mut self) {
        self.now += 1;
        self.mishaps();
        if let Some(frame) = self.master.transmit(self.now) {
            self.up.send(self.now, &frame, self.clean, &mut self.chance);
        }
        let heard = self.up.arriving(self.now);
        let before = self.device.memory.events.len();
        for answer in self.device.tick(&heard, &mut self.chance) {
            self.down.send(self.now, &answer, self.clean, &mut self.chance);
        }
        self.check_observations(before);
        for byte in self.down.arriving(self.now) {
            self.hear(byte);
        }
        self.measure();
    }

    /// Restarts on both sides, power failures in the middle of an event, a keeper who changes his mind.
    fn mishaps(&mut self) {
        let rare = self.clean.saturating_mul(400);
        if self.chance.one_in(rare) {
            self.device.restart();
        }
        if self.chance.one_in(rare) {
            self.device.memory.cut = Some(self.chance.one_in(2));
        }
        if self.chance.one_in(rare) {
            self.master.restart(&mut self.chance);
        }
        match self.chance.below(rare.saturating_mul(40)) {
            0..10 => self.master.station.abort(),
            10..20 => self.master.station.stop(),
            20..100 => self.master.station.ask_status(),
            _ => {}
        }
    }

    /// Every new observation must be the truth about the query it belongs to.
    fn check_observations(&mut self, before: usize) {
        let memory = &self.device.memory;
        let Some(begin) = memory.begin else { return };
        for at in before..memory.events.len() {
            self.ledger.progress_at = self.now;
            if let Event::Observed { ticket, value, .. } = memory.events[at] {
                let settled: Vec<Event> = settled(&memory.events[..at]);
                let proposal = support::propose(&begin, &memory.knew, &settled);
                assert_eq!(ticket.step as usize, settled.len(), "counted twice or skipped");
                assert_eq!(value, truth(&proposal.point, proposal.fidelity), "a wrong observation");
                self.ledger.observations += 1;
            }
        }
    }

    fn hear(&mut self, byte: u8) {
        let Some((tag, response)) = self.master.decoder.receive::<Response>(byte) else { return };
        match &mut self.master.errand {
            Errand::Tune => {
                let event = own(self.master.station.receive(self.now, tag, &response));
                self.react(event);
            }
            Errand::Upload { upload, exchange, .. } => {
                if exchange.accept(tag) {
                    let refused = upload.receive(&response).is_err();
                    self.end_upload(refused);
                }
            }
            Errand::Download { download, exchange, .. } => {
                if exchange.accept(tag) {
                    let refused = download.receive(&response).is_err();
                    self.end_download(refused);
                }
            }
        }
    }

    fn react(&mut self, event: StationEvent<'static>) {
        match event {
            StationEvent::Greeted(greeting) => self.plan(greeting),
            StationEvent::Measure(query) => {
                self.master.measuring = Some((self.now + self.chance.below(30), query))
            }
            StationEvent::Finished(recommendation) => self.finished(&recommendation),
            StationEvent::Aborted { .. } => {
                self.ledger.aborted += 1;
                self.master.station.greet();
            }
            StationEvent::Status(_) => self.ledger.statuses += 1,
            // A stop before the first observation is refused, and so is what refers to a task that was aborted.
            StationEvent::Refused(refusal) => {
                assert!(matches!(
                    refusal,
                    Refusal::NothingObserved | Refusal::WrongTask { .. } | Refusal::Busy { .. }
                ));
                self.master.station.greet();
            }
            StationEvent::Nothing
            | StationEvent::Begun { .. }
            | StationEvent::Settled { .. }
            | StationEvent::Working { .. } => {}
        }
    }

    /// The device said where it stands: go on with its task, or carry knowledge, or begin a new task.
    fn plan(&mut self, greeting: Greeting<'static>) {
        assert_eq!(greeting.identity, support::IDENTITY);
        if matches!(greeting.phase, Phase::Thinking | Phase::Waiting) {
            return self.master.station.resume(greeting.task);
        }
        let exchange = Exchange::new(self.chance.word(), PACE.timeout);
        match self.chance.below(8) {
            0 => {
                let bytes: Vec<u8> =
                    (0..1 + self.chance.below(1500)).map(|_| self.chance.below(256) as u8).collect();
                let upload = Upload::new(bytes.clone().leak(), &greeting.knowledge);
                self.master.errand = Errand::Upload { bytes, upload, exchange };
            }
            1 => {
                let buffer = vec![0; greeting.knowledge.total as usize].leak();
                let download = Download::new(greeting.knowledge, buffer).unwrap();
                self.master.errand = Errand::Download { greeting, download, exchange };
            }
            _ => self.begin(greeting.task + 1),
        }
    }

    fn begin(&mut self, task: u32) {
        let seed = u64::from(task) * 17;
        self.master.station.begin(Begin { task, problem: PROBLEM, seed, budget: 1000.0, ..Begin::PLAIN });
    }

    /// The recommendation must be that of an undisturbed task, or of its beginning if the task was stopped.
    fn finished(&mut self, recommendation: &Recommendation) {
        let memory = &self.device.memory;
        let begin = memory.begin.unwrap();
        let expected = undisturbed(&begin, &memory.knew);
        let settled = settled(&memory.events);
        let stopped = memory.events.iter().any(|event| matches!(event, Event::Stopped { .. }));
        assert!(expected.starts_with(&settled));
        assert!(stopped || settled.len() == expected.len());
        assert_eq!(*recommendation, recommend(&begin, &memory.knew, &memory.events));
        self.ledger.finished += 1;
        self.ledger.progress_at = self.now;
        self.master.station.greet();
    }

    fn end_upload(&mut self, refused: bool) {
        let Errand::Upload { bytes, upload, .. } = &self.master.errand else { return };
        if let Some(stored) = upload.stored() {
            assert_eq!(self.device.memory.knowledge, *bytes);
            assert_eq!(stored.sequence, self.device.memory.sequence);
            self.ledger.uploads += 1;
        }
        if refused || upload.stored().is_some() {
            self.rest();
        }
    }

    fn end_download(&mut self, refused: bool) {
        let Errand::Download { download, .. } = &self.master.errand else { return };
        if !refused && download.request().is_some() {
            return;
        }
        let Errand::Download { greeting, download, .. } =
            std::mem::replace(&mut self.master.errand, Errand::Tune)
        else {
            return;
        };
        if !refused {
            assert_eq!(download.finish().unwrap().len(), greeting.knowledge.total as usize);
            self.ledger.downloads += 1;
        }
        self.rest();
    }

    /// Back to tuning.
    fn rest(&mut self) {
        self.ledger.progress_at = self.now;
        self.master.errand = Errand::Tune;
        self.master.station.greet();
    }

    fn measure(&mut self) {
        let Some((at, query)) = self.master.measuring.take() else { return };
        if at > self.now {
            self.master.measuring = Some((at, query));
        } else {
            self.master
                .station
                .report(measure(query.ticket, query.attempt, &query.point, query.fidelity), None);
        }
    }
}

/// Events that end a query.
fn settled(events: &[Event]) -> Vec<Event> {
    let ends = |event: &&Event| matches!(event, Event::Observed { .. } | Event::GivenUp { .. });
    events.iter().filter(ends).copied().collect()
}

/// StationEvent without the borrowed texts of a greeting.
fn own(event: StationEvent) -> StationEvent<'static> {
    match event {
        StationEvent::Greeted(greeting) => {
            let identity =
                if greeting.identity == support::IDENTITY { support::IDENTITY } else { panic!("a stranger") };
            StationEvent::Greeted(Greeting { identity, ..greeting })
        }
        StationEvent::Nothing => StationEvent::Nothing,
        StationEvent::Begun { task } => StationEvent::Begun { task },
        StationEvent::Measure(query) => StationEvent::Measure(query),
        StationEvent::Settled { ticket } => StationEvent::Settled { ticket },
        StationEvent::Working { ticket, progress } => StationEvent::Working { ticket, progress },
        StationEvent::Finished(recommendation) => StationEvent::Finished(recommendation),
        StationEvent::Aborted { task } => StationEvent::Aborted { task },
        StationEvent::Status(status) => StationEvent::Status(status),
        StationEvent::Refused(refusal) => StationEvent::Refused(refusal),
    }
}

fn report(soak: &Soak) {
    let Soak { now, up, down, device, master, ledger, .. } = soak;
    println!("{now} ticks; up {:?}; down {:?}", up.harm, down.harm);
    println!("{} device restarts, {} station restarts", device.restarts, master.restarts);
    println!(
        "{} observations, {} tasks finished, {} aborted, {} uploads, {} downloads, {} statuses",
        ledger.observations,
        ledger.finished,
        ledger.aborted,
        ledger.uploads,
        ledger.downloads,
        ledger.statuses
    );
}

#[test]
fn a_good_line_carries_whole_tasks() {
    let mut soak = Soak::new(1, u32::MAX);
    soak.run(5_000);
    report(&soak);
    assert_eq!(soak.device.restarts + soak.master.restarts, 0);
    assert!(soak.ledger.finished > 20);
}

#[test]
fn a_bad_line_changes_nothing_but_the_time() {
    for (seed, clean) in [(2, 30), (3, 10), (4, 4), (5, 2)] {
        let mut soak = Soak::new(seed, clean);
        soak.run(25_000);
        report(&soak);
        assert!(soak.ledger.finished > 5 && soak.device.restarts > 5 && soak.master.restarts > 5);
    }
}

/// What many soak tests come to.
#[derive(Debug, Default)]
struct Total {
    frames: u64,
    lost: u64,
    altered: u64,
    repeated: u64,
    reordered: u64,
    restarts: u32,
    observations: u64,
    tasks: u32,
    transfers: u32,
    longest_wait_in_timeouts: u32,
}

impl Total {
    fn add(&mut self, soak: &Soak) {
        let Soak { up, down, device, master, ledger, .. } = soak;
        for Harm { frames, lost, altered, repeated, delayed } in [&up.harm, &down.harm] {
            self.frames += frames;
            self.lost += lost;
            self.altered += altered;
            self.repeated += repeated;
            self.reordered += delayed;
        }
        self.restarts += device.restarts + master.restarts;
        self.observations += ledger.observations;
        self.tasks += ledger.finished;
        self.transfers += ledger.uploads + ledger.downloads;
        self.longest_wait_in_timeouts = self.longest_wait_in_timeouts.max(ledger.longest / PACE.timeout);
    }
}

#[test]
#[ignore = "six million frames: minutes"]
fn a_very_long_bad_line() {
    let mut total = Total::default();
    for seed in 100..160 {
        let mut soak = Soak::new(seed, 3 + seed as u32 % 20);
        soak.run(100_000);
        total.add(&soak);
    }
    println!("{total:#?}");
    assert!(total.frames >= 6_000_000 && total.tasks > 1000 && total.restarts > 1000);
}

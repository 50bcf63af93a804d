//! A bad line: what it loses, alters, repeats and delays must change nothing but the time it takes.

use foretune_link::exchange::Exchange;
use foretune_link::tuner::{Event, Tuner};
use foretune_link::{
    Begin, Decoder, Download, Greeting, MAX_FRAME, Pace, Phase, Query, Recommendation, Refusal, Request,
    Response, Station, StationEvent, Upload, encode, parse,
};

use crate::toy::{
    IDENTITY, Memory, PROBLEM, measure, propose, recommend, restored, settled, think, truth, undisturbed,
};
use crate::wire::{Chance, Counts, Wire};

const PACE: Pace = Pace { timeout: 40, interval: 5 };

/// Longest time without any progress, in ticks: many timeouts in a row.
const PATIENCE: u32 = 20_000;

/// The device: what is in its flash, and what it loses at a restart.
struct Device {
    memory: Memory,
    tuner: Tuner,
    decoder: Decoder<304>,
    thinking: u32,
}

impl Device {
    fn new() -> Self {
        let memory = Memory::default();
        Self { tuner: restored(&memory), memory, decoder: Decoder::new(), thinking: 0 }
    }

    fn restart(&mut self) {
        self.memory.dead = false;
        self.memory.cut = None;
        self.tuner = restored(&self.memory);
        self.decoder = Decoder::new();
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
    Upload(Vec<u8>, Upload<'static>),
    Download(Download<'static>),
}

/// The station with its keeper, who begins tasks and carries knowledge, and may fall asleep at any time.
struct Master {
    station: Station<'static>,
    decoder: Decoder<304>,
    errand: Errand,
    /// Of an errand.
    exchange: Exchange,
    /// A measurement under way: when it is done.
    measuring: Option<(u32, Query)>,
}

impl Master {
    fn new(tag: u32) -> Self {
        let mut station = Station::new(PACE, tag);
        station.greet();
        let exchange = Exchange::new(tag, PACE.timeout);
        Self { station, decoder: Decoder::new(), errand: Errand::Tune, exchange, measuring: None }
    }

    /// What goes on the line now.
    fn transmit(&mut self, now: u32) -> Option<Vec<u8>> {
        let (tag, request) = match &self.errand {
            Errand::Tune => self.station.transmit(now)?,
            Errand::Upload(_, upload) => call(now, &mut self.exchange, upload.request())?,
            Errand::Download(download) => call(now, &mut self.exchange, download.request())?,
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
    counts: Counts,
    progress_at: u32,
    /// Longest time without progress, in ticks.
    longest: u32,
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
            counts: Counts::default(),
            progress_at: 0,
            longest: 0,
        }
    }

    /// Carries so many frames; what happened.
    fn run(mut self, frames: u64) -> Self {
        while self.up.counts.of("frames") + self.down.counts.of("frames") < frames {
            self.tick();
            let idle = self.now - self.progress_at;
            self.longest = self.longest.max(idle);
            assert!(idle < PATIENCE, "no progress for {idle} ticks, device {:?}", self.device.tuner.phase());
        }
        self.counts.merge(&self.up.counts);
        self.counts.merge(&self.down.counts);
        println!("{} ticks, {:?}", self.now, self.counts);
        self
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
            self.counts.add("device restarted");
            self.device.restart();
        }
        if self.chance.one_in(rare) {
            self.device.memory.cut = Some(self.chance.one_in(2));
        }
        if self.chance.one_in(rare) {
            self.counts.add("station restarted");
            self.master = Master::new(self.chance.word());
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
            self.progress_at = self.now;
            if let Event::Observed { ticket, value, .. } = memory.events[at] {
                let settled: Vec<Event> = settled(&memory.events[..at]);
                let proposal = propose(&begin, &memory.knew, &settled);
                assert_eq!(ticket.step as usize, settled.len(), "counted twice or skipped");
                assert_eq!(value, truth(&proposal.point, proposal.fidelity), "a wrong observation");
                self.counts.add("observation");
            }
        }
    }

    fn hear(&mut self, byte: u8) {
        let Some(body) = self.master.decoder.push(byte).map(<[u8]>::to_vec) else { return };
        let Ok((tag, response)) = parse::<Response>(&body) else { return };
        let tuning = matches!(self.master.errand, Errand::Tune);
        if !tuning && !self.master.exchange.accept(tag) {
            return;
        }
        match &mut self.master.errand {
            Errand::Tune => {
                let event = self.master.station.receive(self.now, tag, &response);
                self.react(event);
            }
            Errand::Upload(_, upload) => {
                let refused = upload.receive(&response).is_err();
                self.end_upload(refused);
            }
            Errand::Download(download) => {
                let refused = download.receive(&response).is_err();
                self.end_download(refused);
            }
        }
    }

    fn react(&mut self, event: StationEvent<'_>) {
        match event {
            StationEvent::Greeted(greeting) => self.plan(&greeting),
            StationEvent::Measure(query) => {
                self.master.measuring = Some((self.now + self.chance.below(30), query))
            }
            StationEvent::Finished(recommendation) => self.finished(&recommendation),
            StationEvent::Aborted { .. } => {
                self.counts.add("aborted");
                self.master.station.greet();
            }
            StationEvent::Status(_) => self.counts.add("status"),
            // A stop before the first observation is refused, and so is what refers to a task that was aborted.
            StationEvent::Refused(
                Refusal::NothingObserved | Refusal::WrongTask { .. } | Refusal::Busy { .. },
            ) => self.master.station.greet(),
            StationEvent::Refused(refusal) => panic!("{refusal}"),
            StationEvent::Nothing
            | StationEvent::Begun { .. }
            | StationEvent::Settled { .. }
            | StationEvent::Steady { .. }
            | StationEvent::Changed { .. }
            | StationEvent::Working { .. } => {}
        }
    }

    /// The device said where it stands: go on with its task, or carry knowledge, or begin a new task.
    fn plan(&mut self, greeting: &Greeting<'_>) {
        assert_eq!(greeting.identity, IDENTITY);
        if matches!(greeting.phase, Phase::Thinking | Phase::Waiting) {
            return self.master.station.resume(greeting.task);
        }
        self.master.exchange = Exchange::new(self.chance.word(), PACE.timeout);
        match self.chance.below(8) {
            0 => {
                let bytes: Vec<u8> =
                    (0..1 + self.chance.below(1500)).map(|_| self.chance.below(256) as u8).collect();
                let upload = Upload::knowledge(bytes.clone().leak(), &greeting.knowledge);
                self.master.errand = Errand::Upload(bytes, upload);
            }
            1 => {
                let buffer = vec![0; greeting.knowledge.total as usize].leak();
                let download = Download::new(greeting.knowledge, buffer).unwrap();
                self.master.errand = Errand::Download(download);
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
        self.counts.add("finished");
        self.progress_at = self.now;
        self.master.station.greet();
    }

    fn end_upload(&mut self, refused: bool) {
        let Errand::Upload(bytes, upload) = &self.master.errand else { return };
        if let Some(stored) = upload.stored() {
            assert_eq!(self.device.memory.knowledge, *bytes);
            assert_eq!(stored.sequence, self.device.memory.sequence);
            self.counts.add("upload");
        }
        if refused || upload.stored().is_some() {
            self.rest();
        }
    }

    fn end_download(&mut self, refused: bool) {
        let Errand::Download(download) = &self.master.errand else { return };
        if !refused && download.request().is_some() {
            return;
        }
        let errand = std::mem::replace(&mut self.master.errand, Errand::Tune);
        if let (Errand::Download(download), false) = (errand, refused) {
            download.finish().unwrap();
            self.counts.add("download");
        }
        self.rest();
    }

    /// Back to tuning.
    fn rest(&mut self) {
        self.progress_at = self.now;
        self.master.errand = Errand::Tune;
        self.master.station.greet();
    }

    fn measure(&mut self) {
        if let Some((_, query)) = self.master.measuring.take_if(|(at, _)| *at <= self.now) {
            let outcome = measure(query.ticket, query.attempt, &query.point, query.fidelity);
            self.master.station.report(outcome, None);
        }
    }
}

#[test]
fn a_good_line_carries_whole_tasks() {
    let soak = Soak::new(1, u32::MAX).run(5_000);
    assert_eq!(soak.counts.of("device restarted") + soak.counts.of("station restarted"), 0);
    assert!(soak.counts.of("finished") > 20);
}

#[test]
fn a_bad_line_changes_nothing_but_the_time() {
    for (seed, clean) in [(2, 30), (3, 10), (4, 4), (5, 2)] {
        let soak = Soak::new(seed, clean).run(25_000);
        for what in ["finished", "device restarted", "station restarted"] {
            assert!(soak.counts.of(what) > 5, "{what}");
        }
    }
}

#[test]
#[ignore = "six million frames: minutes"]
fn a_very_long_bad_line() {
    let (mut total, mut longest) = (Counts::default(), 0);
    for seed in 100..160 {
        let soak = Soak::new(seed, 3 + seed as u32 % 20).run(100_000);
        total.merge(&soak.counts);
        longest = longest.max(soak.longest / PACE.timeout);
    }
    println!("{total:#?}, the longest wait {longest} timeouts");
    assert!(total.of("frames") >= 6_000_000 && total.of("finished") > 1000);
    assert!(total.of("device restarted") + total.of("station restarted") > 1000);
}

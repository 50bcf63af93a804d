//! A town over days: users come and go and move all the time, and now and then something happens. All of it is our choice.
//!
//! An hour has [`STEPS_PER_HOUR`] steps, between which nothing changes. In a day a user walks as far as elsewhere from
//! task to task. In a channel sample 4 to 10 of the ten users of a cell are active, most in the afternoon, others in every sample. Fading, and who comes first, stay those of the town.
//!
//! Every one to three days something happens at one of the stations: its antenna loses 6 dB, or a new source of interference adds
//! 25 dB of noise there, each for 6 to 12 hours; or a street is closed, and every second user of the cell is elsewhere.

use core::f64::consts::TAU;

use super::super::random::{Purpose, Random};
use super::deployment::{Deployment, LONGEST_STEP, Layout, correlated};
use super::fading::{Gains, SAMPLES};
use super::{Cells, OnceLock, RADIUS, Rrm, USERS_PER_STATION};

pub const STEPS_PER_HOUR: usize = 8;
/// Deviation of the number of active users of a cell from what is usual at that hour, and hours over which it loses its correlation.
const CROWD: f64 = 0.7;
const STAY: f64 = 3.0;

/// Something that nobody announces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The first step that it changes, and the first after it.
    pub from: usize,
    pub until: usize,
    station: usize,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Antenna,
    Interferer,
    Street,
}

impl Event {
    pub fn name(&self) -> &'static str {
        match self.kind {
            Kind::Antenna => "antenna 6 dB down",
            Kind::Interferer => "new interferer",
            Kind::Street => "street closed",
        }
    }

    fn draw(from: usize, random: &mut Random) -> Self {
        let kind = [Kind::Antenna, Kind::Interferer, Kind::Street][random.below(3)];
        let lasts = (random.uniform(6.0, 12.0) * STEPS_PER_HOUR as f64) as usize;
        let station = random.below(Rrm::DEFAULT.stations);
        Self { from, until: from + if kind == Kind::Street { 1 } else { lasts }, station, kind }
    }
}

struct Moment {
    /// `[user][station]` in dB.
    path_losses: Vec<Vec<f64>>,
    /// What a phone takes to be the path loss to its own station.
    served: Vec<f64>,
    /// Users that are active in a sample, on average, of every cell.
    active: Vec<f64>,
}

/// Two stations with 64 antennas, step by step.
pub struct Town {
    seed: u64,
    bank: Gains,
    /// `[sample][user]`: active where more users are than this.
    places: Vec<f64>,
    moments: Vec<Moment>,
    events: Vec<Event>,
}

impl Town {
    pub fn new(seed: u64, days: usize) -> Self {
        let Rrm { stations, antennas } = Rrm::DEFAULT;
        let users = stations * USERS_PER_STATION;
        let (hours, day) = (24 * days, 24 * STEPS_PER_HOUR);
        let mut random = Random::new(seed, Purpose::Day, 0);
        let mut deployment =
            Deployment::draw(Layout::new(stations, RADIUS), &mut Random::new(seed, Purpose::Deployment, 0));
        let mut events: Vec<Event> = Vec::new();
        let mut next = day + random.below(2 * day);
        while next < hours * STEPS_PER_HOUR {
            events.push(Event::draw(next, &mut random));
            next += day + random.below(2 * day);
        }
        let mut crowd = vec![0.0; stations];
        let mut moments = Vec::new();
        for step in 0..hours * STEPS_PER_HOUR {
            let lengths = 1.0 / (STAY * STEPS_PER_HOUR as f64);
            crowd.iter_mut().for_each(|z| *z = correlated(*z, lengths, &mut random));
            let now: Vec<&Event> = events.iter().filter(|e| (e.from..e.until).contains(&step)).collect();
            let walk = &mut Random::new(seed, Purpose::Movement, step);
            for event in now.iter().filter(|event| event.kind == Kind::Street) {
                deployment.scatter(event.station, walk);
            }
            deployment.step(LONGEST_STEP / day as f64, walk);
            let hour = step as f64 / STEPS_PER_HOUR as f64;
            let active = crowd.iter().map(|noise| active(hour, *noise)).collect();
            moments.push(Moment::new(&deployment, active, &now));
        }
        let bank = Gains::lossless(users, stations, antennas, &mut Random::new(seed, Purpose::Fading, 0));
        let places = (0..SAMPLES * stations).flat_map(|_| order(&mut random)).collect();
        Self { seed, bank, places, moments, events }
    }

    pub fn steps(&self) -> usize {
        self.moments.len()
    }

    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// The share of all users that is active: known, as a station's scheduler knows it.
    pub fn load(&self, step: usize) -> f64 {
        let Moment { active, served, .. } = &self.moments[step];
        active.iter().sum::<f64>() / served.len() as f64
    }

    /// The range of loads.
    pub const LOADS: [f64; 2] = [0.4, 1.0];

    pub fn at(&self, step: usize) -> impl super::Task + use<> {
        let Moment { path_losses, served, active } = &self.moments[step];
        let speaks =
            |sample: usize, u: usize| self.places[sample * served.len() + u] < active[u / USERS_PER_STATION];
        Cells {
            gains: self.bank.attenuated(path_losses, speaks),
            path_losses: served.clone(),
            key: (self.seed, step),
            optimum: OnceLock::new(),
        }
    }
}

impl Moment {
    fn new(deployment: &Deployment, active: Vec<f64>, events: &[&Event]) -> Self {
        let mut path_losses = deployment.path_losses();
        let mut served: Vec<f64> =
            path_losses.iter().enumerate().map(|(u, row)| row[u / USERS_PER_STATION]).collect();
        for event in events {
            let (loss, is_seen) = match event.kind {
                Kind::Antenna => (6.0, true),
                Kind::Interferer => (25.0, false),
                Kind::Street => continue,
            };
            path_losses.iter_mut().for_each(|row| row[event.station] += loss);
            let cell = served.iter_mut().skip(event.station * USERS_PER_STATION).take(USERS_PER_STATION);
            cell.filter(|_| is_seen).for_each(|path_loss| *path_loss += loss);
        }
        Self { path_losses, served, active }
    }
}

/// Places of a cell's users in a sample, in random order: 0 to 10, all with the same fraction.
fn order(random: &mut Random) -> Vec<f64> {
    let mut places: Vec<f64> = (0..USERS_PER_STATION).map(|place| place as f64).collect();
    (1..places.len()).rev().for_each(|last| places.swap(last, random.below(last + 1)));
    let fraction = random.uniform(0.0, 1.0);
    places.iter().map(|place| place + fraction).collect()
}

/// Active users of a cell: around 4 at four in the morning, around 10 at four in the afternoon.
fn active(hour: f64, noise: f64) -> f64 {
    let usual = 7.0 + 3.0 * libm::sin(TAU * (hour - 10.0) / 24.0);
    (usual + CROWD * noise).clamp(4.0, 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Task;

    const USUAL: [f64; 4] = [-80.0, 0.8, -80.0, 0.8];

    #[test]
    fn the_load_follows_the_day_and_so_many_speak() {
        let town = Town::new(1, 3);
        assert_eq!(town.steps(), 3 * 24 * STEPS_PER_HOUR);
        let mean = |hour: usize| {
            let steps =
                (0..3).flat_map(|day| (0..24).map(move |step| (24 * day + hour) * STEPS_PER_HOUR + step));
            steps.map(|step| town.load(step)).sum::<f64>() / 72.0
        };
        let (night, afternoon) = (mean(3), mean(15));
        assert!(night < 0.55 && afternoon > 0.85, "{night}, {afternoon}");
        assert!((0..town.steps()).all(|step| (Town::LOADS[0]..=Town::LOADS[1]).contains(&town.load(step))));
        let (step, bank) = (3 * STEPS_PER_HOUR, town.places.len() as f64);
        let active = |cell: usize| town.moments[step].active[cell];
        let is_active = |(i, place): &(usize, &f64)| **place < active(i % 20 / USERS_PER_STATION);
        let speaking = town.places.iter().enumerate().filter(is_active).count() as f64;
        assert!((speaking / bank - town.load(step)).abs() < 0.02);
    }

    #[test]
    fn an_event_changes_the_links_of_its_station_and_costs_users_something() {
        let mut costs = Vec::new();
        for seed in 0..4 {
            let town = Town::new(seed, 14);
            assert!((4..=13).contains(&town.events().len()), "{:?}", town.events());
            for event in town.events().iter().filter(|event| event.kind == Kind::Interferer) {
                let [before, after] = [event.from - 1, event.from];
                let loss = |step: usize, u: usize| town.moments[step].path_losses[u][event.station];
                let rise = (0..20).map(|u| loss(after, u) - loss(before, u)).sum::<f64>() / 20.0;
                assert!((rise - 25.0).abs() < 2.0, "{rise}");
                let [before, after] = [before, after].map(|step| town.at(step).value(3, &USUAL));
                costs.push(1.0 - after / before);
            }
        }
        let mean = costs.iter().sum::<f64>() / costs.len() as f64;
        assert!(mean > 0.05, "{costs:?}");
    }
}

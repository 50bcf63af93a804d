//! Where stations and users are, how users move, and the large-scale state of every link.
//!
//! Stations stand on a regular polygon of side 200 m around the origin (two: at (±100, 0) m). Users are
//! uniform in a disc around the origin, at least 10 m from every station on the ground, each served by the
//! nearest station; users are drawn until every station has its ten (a draw into a full cell is dropped).
//!
//! Every link (user, station) carries two standard normal numbers: `shadowing`, times the deviation of the
//! link's present state (4 dB with line of sight, 7.82 dB without), is added to the path loss; and
//! `obstruction`, with line of sight where `Φ(obstruction) < P_LOS(distance)`. From one task to the next a
//! user makes a step uniform in the disc of 10 m, drawn again until it ends inside the area, in the same cell
//! and 10 m or more from every station; both numbers of its links follow `z ← ρ z + √(1−ρ²) w`,
//! `w ~ N(0, 1)`, with `ρ = e^{−step/12 m}` and `ρ = e^{−step/50 m}`. So the fields are correlated along a user's own
//! path; different users' links are independent.

use core::f64::consts::{FRAC_1_SQRT_2, PI};

use super::super::random::Random;
use super::USERS_PER_STATION;

/// Distance between neighbouring stations in m.
const STATION_SPACING: f64 = 200.0;
/// Longest step of a user from one task to the next, in m.
pub(super) const LONGEST_STEP: f64 = 10.0;
/// Distance over which shadowing loses its correlation, in m.
const SHADOWING_LENGTH: f64 = 12.0;
/// Distance over which the line-of-sight state loses its correlation, in m.
const OBSTRUCTION_LENGTH: f64 = 50.0;

/// A point on the ground, in m.
type Point = [f64; 2];

/// The stations and the area of the users.
pub(super) struct Layout {
    stations: Vec<Point>,
    /// Radius of the users' disc in m.
    radius: f64,
}

impl Layout {
    pub(super) fn new(stations: usize, radius: f64) -> Self {
        let circumradius =
            if stations == 1 { 0.0 } else { STATION_SPACING / 2.0 / libm::sin(PI / stations as f64) };
        let place = |b: usize| {
            let (sine, cosine) = libm::sincos(2.0 * PI * b as f64 / stations as f64);
            [-circumradius * cosine, -circumradius * sine]
        };
        Self { stations: (0..stations).map(place).collect(), radius }
    }

    /// The station that serves a user here, if a user may stand here.
    fn cell(&self, user: Point) -> Option<usize> {
        let nearest = (0..self.stations.len())
            .min_by(|&a, &b| distance(user, self.stations[a]).total_cmp(&distance(user, self.stations[b])))?;
        let inside = distance(user, [0.0, 0.0]) <= self.radius;
        (inside && distance(user, self.stations[nearest]) >= LEAST_DISTANCE).then_some(nearest)
    }
}

/// State of the link between one user and one station: two standard normal numbers.
#[derive(Clone)]
struct Link {
    shadowing: f64,
    obstruction: f64,
}

/// One user and its links to all stations.
#[derive(Clone)]
struct User {
    place: Point,
    links: Vec<Link>,
}

/// All users, ordered by the station that serves them.
pub(super) struct Deployment {
    layout: Layout,
    users: Vec<User>,
}

impl Deployment {
    pub(super) fn draw(layout: Layout, random: &mut Random) -> Self {
        let mut cells = vec![Vec::new(); layout.stations.len()];
        while cells.iter().any(|cell| cell.len() < USERS_PER_STATION) {
            let place = random.in_disc(layout.radius);
            match layout.cell(place) {
                Some(cell) if cells[cell].len() < USERS_PER_STATION => cells[cell].push(place),
                _ => {}
            }
        }
        let stations = layout.stations.len();
        let mut link = || Link { shadowing: random.normal(), obstruction: random.normal() };
        let mut user = |place| User { place, links: (0..stations).map(|_| link()).collect() };
        let users = cells.into_iter().flatten().map(&mut user).collect();
        Self { layout, users }
    }

    /// Every user makes one step, at most so long.
    pub(super) fn step(&mut self, longest: f64, random: &mut Random) {
        for user in &mut self.users {
            let cell = self.layout.cell(user.place);
            let place = loop {
                let [dx, dy] = random.in_disc(longest);
                let place = [user.place[0] + dx, user.place[1] + dy];
                if self.layout.cell(place) == cell {
                    break place;
                }
            };
            let step = distance(user.place, place);
            user.place = place;
            for link in &mut user.links {
                link.shadowing = correlated(link.shadowing, step / SHADOWING_LENGTH, random);
                link.obstruction = correlated(link.obstruction, step / OBSTRUCTION_LENGTH, random);
            }
        }
    }

    /// Every second user of a cell goes somewhere else in it.
    pub(super) fn scatter(&mut self, cell: usize, random: &mut Random) {
        let Self { layout, users } = self;
        for user in users.iter_mut().skip(cell * USERS_PER_STATION).take(USERS_PER_STATION).step_by(2) {
            user.place = loop {
                let place = random.in_disc(layout.radius);
                if layout.cell(place) == Some(cell) {
                    break place;
                }
            };
            user.links.fill_with(|| Link { shadowing: random.normal(), obstruction: random.normal() });
        }
    }

    /// Path loss with shadowing in dB, `[user][station]`.
    pub(super) fn path_losses(&self) -> Vec<Vec<f64>> {
        let loss = |user: &User, b: usize| {
            let ground = distance(user.place, self.layout.stations[b]);
            let Link { shadowing, obstruction } = user.links[b];
            let sight = normal_cdf(obstruction) < line_of_sight_probability(ground);
            median(ground, sight) + shadowing_deviation(sight) * shadowing
        };
        self.users.iter().map(|user| (0..user.links.len()).map(|b| loss(user, b)).collect()).collect()
    }
}

/// A standard normal number whose correlation with `from` is `e^{−lengths}`.
pub(super) fn correlated(from: f64, lengths: f64, random: &mut Random) -> f64 {
    let rho = libm::exp(-lengths);
    rho * from + (1.0 - rho * rho).sqrt() * random.normal()
}

fn distance([ax, ay]: Point, [bx, by]: Point) -> f64 {
    ((ax - bx) * (ax - bx) + (ay - by) * (ay - by)).sqrt()
}

fn normal_cdf(z: f64) -> f64 {
    0.5 * libm::erfc(-z * FRAC_1_SQRT_2)
}

// 3GPP TR 38.901 (section 7.4), urban micro street canyon: path loss, line of sight, shadowing. Distances in m; carrier
// 3.5 GHz, base station 10 m high, user 1.5 m high (our choice within the model).

const CARRIER_GHZ: f64 = 3.5;
/// Height of the base station in m.
const STATION_HEIGHT: f64 = 10.0;
/// Height of the user in m.
const USER_HEIGHT: f64 = 1.5;
/// `4 (h_BS − 1)(h_UT − 1) f / c` in m, with the model's `c = 3·10⁸ m/s`: 210 m.
const BREAK_POINT: f64 = 4.0 * (STATION_HEIGHT - 1.0) * (USER_HEIGHT - 1.0) * CARRIER_GHZ * 1e9 / 3e8;
/// Least ground distance between user and station for which the model holds, in m.
const LEAST_DISTANCE: f64 = 10.0;

/// Probability of line of sight at this ground distance.
pub(super) fn line_of_sight_probability(ground: f64) -> f64 {
    if ground <= 18.0 {
        return 1.0;
    }
    18.0 / ground + libm::exp(-ground / 36.0) * (1.0 - 18.0 / ground)
}

/// Path loss in dB at this ground distance, without shadowing.
pub(super) fn median(ground: f64, line_of_sight: bool) -> f64 {
    let direct = with_line_of_sight(ground);
    if line_of_sight { direct } else { direct.max(obstructed(ground)) }
}

/// Standard deviation of the log-normal shadowing in dB.
pub(super) fn shadowing_deviation(line_of_sight: bool) -> f64 {
    if line_of_sight { 4.0 } else { 7.82 }
}

fn with_line_of_sight(ground: f64) -> f64 {
    let rise = STATION_HEIGHT - USER_HEIGHT;
    let carrier = 20.0 * libm::log10(CARRIER_GHZ);
    if ground <= BREAK_POINT {
        32.4 + 21.0 * libm::log10(slant(ground)) + carrier
    } else {
        let knee = 9.5 * libm::log10(BREAK_POINT * BREAK_POINT + rise * rise);
        32.4 + 40.0 * libm::log10(slant(ground)) + carrier - knee
    }
}

fn obstructed(ground: f64) -> f64 {
    35.3 * libm::log10(slant(ground)) + 22.4 + 21.3 * libm::log10(CARRIER_GHZ) - 0.3 * (USER_HEIGHT - 1.5)
}

fn slant(ground: f64) -> f64 {
    let rise = STATION_HEIGHT - USER_HEIGHT;
    (ground * ground + rise * rise).sqrt()
}

#[cfg(test)]
mod tests {
    use super::super::super::random::Purpose;
    use super::*;

    fn deployment(stations: usize, seed: u64) -> Deployment {
        Deployment::draw(Layout::new(stations, 200.0), &mut Random::new(seed, Purpose::Deployment, 0))
    }

    fn assert_valid(deployment: &Deployment) {
        let layout = &deployment.layout;
        for (u, user) in deployment.users.iter().enumerate() {
            assert_eq!(layout.cell(user.place), Some(u / USERS_PER_STATION));
            assert!(distance(user.place, [0.0, 0.0]) <= layout.radius);
            assert!(layout.stations.iter().all(|&station| distance(user.place, station) >= 10.0));
        }
    }

    #[test]
    fn stations_stand_200_m_apart_around_the_origin() {
        let pair = Layout::new(2, 200.0).stations;
        assert!(distance(pair[0], [-100.0, 0.0]) < 1e-9 && distance(pair[1], [100.0, 0.0]) < 1e-9);
        assert_eq!(Layout::new(1, 200.0).stations.len(), 1);
        for count in 3..=4 {
            let stations = Layout::new(count, 200.0).stations;
            for b in 0..count {
                assert!((distance(stations[b], stations[(b + 1) % count]) - 200.0).abs() < 1e-9);
                assert!((distance(stations[b], [0.0; 2]) - distance(stations[0], [0.0; 2])).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn every_station_has_ten_users_in_its_cell() {
        for stations in 1..=4 {
            let deployment = deployment(stations, 5);
            assert_eq!(deployment.users.len(), 10 * stations);
            assert_valid(&deployment);
        }
    }

    #[test]
    fn users_move_at_most_10_m_and_stay_where_they_belong() {
        let mut deployment = deployment(2, 1);
        for task in 1..=100 {
            let before = deployment.users.clone();
            deployment.step(LONGEST_STEP, &mut Random::new(1, Purpose::Movement, task));
            assert_valid(&deployment);
            for (before, after) in before.iter().zip(&deployment.users) {
                let step = distance(before.place, after.place);
                assert!(step > 0.0 && step <= 10.0 + 1e-9);
            }
        }
    }
}

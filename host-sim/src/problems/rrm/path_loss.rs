//! 3GPP TR 38.901 (section 7.4), urban micro street canyon: path loss, line of sight, shadowing.
//!
//! Distances in m; carrier 3.5 GHz, base station 10 m high, user 1.5 m high (our choice within the model).

/// Carrier frequency in GHz.
const CARRIER_GHZ: f64 = 3.5;
/// Height of the base station in m.
const STATION_HEIGHT: f64 = 10.0;
/// Height of the user in m.
const USER_HEIGHT: f64 = 1.5;
/// `4 (h_BS − 1)(h_UT − 1) f / c` in m, with the model's `c = 3·10⁸ m/s`: 210 m.
const BREAK_POINT: f64 = 4.0 * (STATION_HEIGHT - 1.0) * (USER_HEIGHT - 1.0) * CARRIER_GHZ * 1e9 / 3e8;
/// Least ground distance between user and station for which the model holds, in m.
pub(super) const LEAST_DISTANCE: f64 = 10.0;

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

/// Distance between the antennas.
fn slant(ground: f64) -> f64 {
    let rise = STATION_HEIGHT - USER_HEIGHT;
    (ground * ground + rise * rise).sqrt()
}

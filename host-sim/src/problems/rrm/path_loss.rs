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

#[cfg(test)]
mod tests {
    use super::*;

    fn close(value: f64, expected: f64) {
        assert!((value - expected).abs() < 0.001, "{value} {expected}");
    }

    /// By hand, log10 3.5 = 0.54407:
    /// 100 m: d₃ = √(100² + 8.5²) = 100.3606, log10 d₃ = 2.001563;
    ///   LOS 32.4 + 21 · 2.001563 + 20 · 0.54407 = 32.4 + 42.0328 + 10.8814 = 85.314;
    ///   NLOS 35.3 · 2.001563 + 22.4 + 21.3 · 0.54407 = 70.6552 + 22.4 + 11.5887 = 104.644.
    /// 300 m, beyond the break point: d₃ = 300.1204, log10 d₃ = 2.477296;
    ///   LOS 32.4 + 40 · 2.477296 + 10.8814 − 9.5 log10(210² + 8.5²) = 32.4 + 99.0918 + 10.8814 − 9.5 · 4.645150
    ///   = 142.3732 − 44.1289 = 98.244.
    /// 10 m: d₃ = 13.1244, log10 d₃ = 1.118080; LOS 32.4 + 23.4797 + 10.8814 = 66.761.
    #[test]
    fn path_loss_has_the_values_computed_by_hand() {
        assert!((BREAK_POINT - 210.0).abs() < 1e-9);
        close(median(100.0, true), 85.314);
        close(median(100.0, false), 104.644);
        close(median(300.0, true), 98.244);
        close(median(10.0, true), 66.761);
    }

    #[test]
    fn path_loss_is_continuous_at_the_break_point_and_never_better_without_sight() {
        close(median(BREAK_POINT - 1e-6, true), median(BREAK_POINT + 1e-6, true));
        for ground in (10..400).map(f64::from) {
            assert!(median(ground, false) >= median(ground, true));
            assert!(median(ground + 1.0, true) > median(ground, true));
        }
    }

    /// By hand: 50 m: 0.36 + e^{−1.38889} · 0.64 = 0.36 + 0.249352 · 0.64 = 0.51959;
    /// 100 m: 0.18 + e^{−2.77778} · 0.82 = 0.18 + 0.062176 · 0.82 = 0.23098.
    #[test]
    fn line_of_sight_probability_has_the_values_computed_by_hand() {
        assert_eq!(line_of_sight_probability(10.0), 1.0);
        assert_eq!(line_of_sight_probability(18.0), 1.0);
        close(line_of_sight_probability(50.0), 0.51959);
        close(line_of_sight_probability(100.0), 0.23098);
    }
}

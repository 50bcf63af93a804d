//! Answers so far from all others that one alone is not believed.
//!
//! A dropped digit, a counter that overflowed, a cable that was touched: one such answer moves the mean and the
//! deviation of a whole task. So an answer is an *outlier* if it lies farther from all others than `factor` times the range
//! that these span; it must be measured again. What is one depends on the answers alone, so that a replay finds the
//! same ones. The range of the others only grows: what is believed stays so, but for the first few.

/// Others that it takes: fewer do not tell what is usual.
const FEWEST: usize = 7;
/// Others this close together, relative to the largest, count as this far apart.
const CLOSEST: f32 = 0.01;

/// The outlier among `values`, by its index. `noise` is the largest standard deviation of the noise.
///
/// Only the largest and the smallest can be. Nothing is judged where the others are all zero and there is no noise.
pub fn find(values: impl Iterator<Item = (usize, f32)>, factor: f32, noise: f32) -> Option<usize> {
    const NOTHING: (usize, f32) = (0, f32::NAN);
    let (mut lowest, mut highest, mut count) = ([NOTHING; 2], [NOTHING; 2], 0);
    for value in values {
        keep(&mut lowest, value, |a, b| a < b);
        keep(&mut highest, value, |a, b| a > b);
        count += 1;
    }
    let far = |[one, next]: [(usize, f32); 2], other: f32| {
        let largest = libm::fabsf(next.1).max(libm::fabsf(other));
        let range = libm::fabsf(next.1 - other).max(noise).max(CLOSEST * largest);
        (range > 0.0 && libm::fabsf(one.1 - next.1) > factor * range).then_some(one.0)
    };
    if count <= FEWEST {
        return None;
    }
    far(highest, lowest[0].1).or_else(|| far(lowest, highest[0].1))
}

/// Keeps the two most extreme, the most extreme first.
fn keep(two: &mut [(usize, f32); 2], value: (usize, f32), beyond: impl Fn(f32, f32) -> bool) {
    let before = |other: (usize, f32)| other.1.is_nan() || beyond(value.1, other.1);
    if before(two[0]) {
        *two = [value, two[0]];
    } else if before(two[1]) {
        two[1] = value;
    }
}

/// Whether a second answer confirms an outlier: it is nearer to it than to any of the others.
pub fn confirms(second: f32, outlier: f32, mut others: impl Iterator<Item = f32>) -> bool {
    let gap = libm::fabsf(second - outlier);
    others.all(|other| gap < libm::fabsf(second - other))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    extern crate std;
    use std::vec::Vec;

    fn outlier(values: &[f32]) -> Option<usize> {
        find(values.iter().copied().enumerate(), 30.0, 0.0)
    }

    #[test]
    fn one_absurd_value_is_found_wherever_it_comes() {
        let usual = [0.1, -0.3, 0.5, 0.2, -0.1, 0.4, 0.0];
        for absurd in [999.0, -999.0, 40.0] {
            for at in 0..=usual.len() {
                let mut values = usual.to_vec();
                values.insert(at, absurd);
                assert_eq!(outlier(&values), Some(at), "{values:?}");
            }
        }
    }

    #[test]
    fn what_is_usual_rare_or_too_early_to_tell_is_believed() {
        assert_eq!(outlier(&[0.1, -0.3, 0.5, 0.2, -0.1, 0.4, 999.0]), None, "six others");
        assert_eq!(outlier(&[0.1, -0.3, 0.5, 0.2, -0.1, 0.4, 0.0, 20.0]), None, "25 times the range");
        assert_eq!(outlier(&[0.0; 9]), None);
        assert_eq!(outlier(&[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]), None, "nothing to judge by");
        assert_eq!(outlier(&[5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 6.0]), None, "a step of a fifth");
        assert_eq!(outlier(&[0.1, -0.3, 0.5, 0.2, -0.1, 0.4, 999.0, 998.0]), None, "two agree");
        assert_eq!(find([0.0; 8].into_iter().chain([20.0]).enumerate(), 30.0, 1.0), None, "noise of 1");
        assert_eq!(find([0.0; 8].into_iter().chain([40.0]).enumerate(), 30.0, 1.0), Some(8), "noise of 1");
    }

    #[test]
    fn a_second_answer_confirms_if_it_is_nearer_to_the_first_than_to_the_others() {
        let others = || [0.0, 1.0].into_iter();
        assert!(confirms(600.0, 999.0, others()) && confirms(998.0, 999.0, others()));
        assert!(!confirms(400.0, 999.0, others()) && !confirms(0.5, 999.0, others()));
        assert!(!confirms(-999.0, 999.0, others()));
    }

    proptest! {
        #[test]
        fn what_was_believed_among_enough_stays_believed(
            values in prop::collection::vec((-9i32..30, -1.0f32..1.0), 8..40),
        ) {
            let values: Vec<f32> = values.iter().map(|(exponent, x)| x * 10f32.powi(*exponent)).collect();
            let mut believed: Vec<(usize, f32)> = Vec::new();
            for (i, value) in values.iter().enumerate() {
                believed.push((i, *value));
                let found = find(believed.iter().copied(), 30.0, 0.0);
                if believed.len() > FEWEST + 1 {
                    prop_assert!(found.is_none_or(|found| found == i), "{found:?} of {believed:?}");
                }
                believed.retain(|(j, _)| Some(*j) != found);
            }
        }
    }
}

//! Could the check fail? The same measurement with something wrong on purpose.
//!
//! Expected regret and bound come from one posterior. Were that wrong, both would be, and the one would still be below
//! the other. What is lost in truth does not come from it.

use foretune_core::Error;

use super::Options;
use super::bound::greedy_gain;
use super::known::{KnownRow, LAWS, Rule, first, row, runs};
use super::law::Law;

/// By what the model's lengthscale is too long.
pub const LENGTH_FACTOR: f64 = 4.0;
/// By what the information gain is too small.
pub const GAIN_FACTOR: f64 = 100.0;

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing.
    None,
    /// The rule, its posterior and the bound take the lengthscale to be [`LENGTH_FACTOR`] times what it is.
    Lengthscale,
    /// The bound's information gain is too small by [`GAIN_FACTOR`].
    Gain,
}

impl Fault {
    const ALL: [Self; 3] = [Self::None, Self::Lengthscale, Self::Gain];

    /// For tables.
    pub fn name(self) -> String {
        match self {
            Self::None => "nothing".into(),
            Self::Lengthscale => format!("lengthscale × {LENGTH_FACTOR}"),
            Self::Gain => format!("gain ÷ {GAIN_FACTOR}"),
        }
    }
}

/// One row for each fault: rule (63) in one dimension, all rounds.
///
/// # Errors
/// If the optimizer refuses the problem.
pub fn measure(options: &Options, progress: &mut dyn FnMut(&str)) -> Result<Vec<(Fault, KnownRow)>, Error> {
    let (d, side, lengthscale) = LAWS[0];
    let (rounds, noise) = (options.rounds, options.noise);
    let law = Law::new(d, side, lengthscale);
    let of = |fault: Fault| {
        progress(&format!("known θ, wrong on purpose: {}", fault.name()));
        let factor = if fault == Fault::Lengthscale { LENGTH_FACTOR } else { 1.0 };
        let believed = Law::new(d, side, factor * lengthscale);
        let gain = greedy_gain(&believed, noise, rounds)[rounds - 1];
        let gain = if fault == Fault::Gain { gain / GAIN_FACTOR } else { gain };
        let (runs, _) = runs((&law, &believed), noise, Rule::Expected, options)?;
        Ok((fault, row(&believed, noise, Rule::Expected, gain, &first(&runs, rounds))))
    };
    Fault::ALL.into_iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_truth_tells_a_wrong_model_and_a_wrong_gain_from_right_ones() {
        let options = Options { functions: 24, rounds: 24, samples: 60, ..Options::default() };
        let rows = measure(&options, &mut |_| ()).unwrap();
        let [(_, right), (_, model), (_, gain)] = &rows[..] else { panic!("three rows") };
        assert!(right.margin.sign() == 1 && right.kept >= 22, "{right:?}");
        assert!(right.surprise.mean.abs() < 3.0 * right.surprise.half_width.unwrap(), "{right:?}");
        // By the model's own account all is well.
        assert_eq!(model.holds, 24);
        assert!(model.margin.mean < 0.0 && model.kept < 18, "{model:?}");
        assert!(model.surprise.sign() == 1 && model.surprise.mean > 3.0 * model.regret.mean, "{model:?}");
        assert!(gain.margin.sign() == -1 && gain.kept < 12, "{gain:?}");
    }
}

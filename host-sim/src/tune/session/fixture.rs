//! A small target for tests, and a source that measures a formula.

use foretune_core::Goal;

use super::*;
use crate::problems::DimensionSpec;
use crate::settings::Preset;
use crate::tune::target::Rung;

/// Two parameters, two fidelities.
pub(in crate::tune) fn target() -> Target {
    let rung = |name: &str, cost, noise, samples| Rung {
        name: name.into(),
        cost,
        noise: Some(noise),
        samples: Some(samples),
    };
    Target {
        name: "toy".into(),
        goal: Goal::Minimise,
        budget: 30.0,
        parameters: vec![
            DimensionSpec::Levels {
                name: "p0".into(),
                unit: "dBm".into(),
                values: (0..63).map(|i| -100.0 + 2.0 * f64::from(i)).collect(),
            },
            DimensionSpec::Interval { name: "alpha".into(), unit: String::new(), low: 0.0, high: 1.0 },
        ],
        fidelities: vec![rung("short", 1.0, 0.04, 10), rung("long", 5.0, 0.004, 100)],
        deployed: Some(vec![-80.0, 0.75]),
        floor: None,
        limits: Vec::new(),
        tolerance: 0.0,
    }
}

/// Few candidates, so that tests are quick.
pub(in crate::tune) fn setup(target: &Target) -> Setup {
    let noise = vec![0.0; target.fidelities.len()];
    let mut setup = Setup::new(Preset::Default, &target.spec(&noise, target.budget));
    for (key, value) in [("candidates", "32"), ("particles", "3"), ("capacity", "64")] {
        setup.set(key, value).unwrap();
    }
    setup
}

/// A bowl, to be minimised; the short measurement is a little off.
pub(in crate::tune) fn bowl(ask: &Ask) -> f64 {
    let off = [(ask.point[0] + 40.0) / 60.0, ask.point[1] - 0.375];
    let bias = if ask.fidelity == 0 { 0.125 } else { 0.0 };
    off[0] * off[0] + off[1] * off[1] + bias + f64::from(ask.task) * 0.25
}

/// Measures the bowl; the `n`-th query is answered by what `special` says, if it says something.
pub(in crate::tune) struct Bowl<'a> {
    pub asked: Vec<Ask>,
    pub special: &'a dyn Fn(&Ask) -> Option<Answer>,
    pub refusals: Vec<String>,
    /// Breaks off, as a kill would, before this many answers.
    pub limit: usize,
}

impl<'a> Bowl<'a> {
    pub fn new(special: &'a dyn Fn(&Ask) -> Option<Answer>) -> Self {
        Self { asked: Vec::new(), special, refusals: Vec::new(), limit: usize::MAX }
    }
}

impl Source for Bowl<'_> {
    fn answer(&mut self, ask: &Ask) -> Result<Answer, Error> {
        if self.asked.len() == self.limit {
            return Err(Error::Interrupted);
        }
        self.asked.push(ask.clone());
        Ok((self.special)(ask).unwrap_or(Answer::Value(bowl(ask), None)))
    }

    fn refused(&mut self, ask: &Ask, why: &str) -> Result<Answer, Error> {
        self.refusals.push(why.into());
        Ok(Answer::Value(bowl(ask), None))
    }

    fn told(&mut self, _: &Ask, _: &Told, _: &Standing) -> Result<(), Error> {
        Ok(())
    }
}

//! A source for tests that measures a formula.

use super::*;
use host_sim::settings::Preset;

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
        assert!(self.refusals.len() < 100, "{why}");
        Ok(Answer::Value(bowl(ask), None))
    }

    fn told(&mut self, _: &Ask, _: &Told, _: &Standing) -> Result<(), Error> {
        Ok(())
    }
}

//! Several measurements at once: queries are kept with the state until they are answered, in whatever order.
//!
//! What is asked beside others is found by a look that leaves no trace in the optimizer ([`Optimizer::ask_beside`]), and
//! answers are told by the optimizer's own coordinates of the query. So the answers in their order say where a task stands, and after a
//! restart the queries that had none are measured again.

use foretune_core::{Ask as Asked, Kind, Optimizer, Record};
use host_sim::error::Error;
use host_sim::runner::Space;

use super::{Answer, Reason, Source, Tuning, reason, why};
use crate::why::Because;
use crate::{Ask, Why};

/// So many queries wait for their answers at most.
pub const MOST_AT_ONCE: usize = 8;

/// Who is asked for queries and told answers; nobody before the noise is known.
pub(super) type Tuner<'t, 'o> = Option<(&'t Space, &'t mut Optimizer<'o>)>;

pub(super) enum Next {
    Ask(Box<Ask>),
    /// An answer must come first.
    Wait,
    Done(Reason),
}

impl Tuning {
    /// Has queries measured, as many at once as the source wants, until there are none: why the task ends then, if it does. Those
    /// that run already are given by number.
    pub(super) fn measure(
        &mut self,
        mut running: Vec<u64>,
        mut tuner: Tuner<'_, '_>,
        source: &mut dyn Source,
    ) -> Result<Option<Reason>, Error> {
        loop {
            if self.is_failing()? {
                return Ok(Some(Reason::Failures));
            }
            let (started, mut ended) = (running.len(), None);
            while running.len() < source.at_once() {
                let waiting = self.task()?.pending.iter().find(|ask| !running.contains(&ask.id)).cloned();
                let ask = match waiting {
                    Some(ask) => ask,
                    // One by one the optimizer is asked itself.
                    None if tuner.is_some() && source.at_once() == 1 => break,
                    None => match self.next_beside(&mut tuner)? {
                        Next::Ask(ask) => self.pend(*ask, source.at_once() > 1)?,
                        Next::Wait => break,
                        Next::Done(reason) => {
                            ended = Some(reason);
                            break;
                        }
                    },
                };
                source.start(&ask, &running)?;
                running.push(ask.id);
            }
            let pending = &self.task()?.pending;
            let asks: Vec<Ask> = pending.iter().filter(|ask| running.contains(&ask.id)).cloned().collect();
            if asks.is_empty() {
                return Ok(ended);
            }
            if running.len() == started {
                source.no_more(&asks)?;
            }
            if let Some((space, tuner)) = &mut tuner {
                self.renew_page(space, tuner)?;
            }
            match self.taken(&asks, &mut tuner, source)? {
                (_, Answer::Stop) => return Ok(Some(Reason::Stopped)),
                (_, Answer::AskMore) => {}
                (ask, answer) => {
                    let outliers = tuner.as_ref().map_or(0, |(_, tuner)| tuner.status().outliers);
                    running.retain(|id| *id != ask.id);
                    self.record(ask, answer, outliers, source)?;
                }
            }
        }
    }

    /// Keeps a query until it is answered.
    pub(super) fn pend(&mut self, ask: Ask, save: bool) -> Result<Ask, Error> {
        self.task_mut()?.pending.push(ask.clone());
        if save {
            self.save()?;
        }
        Ok(ask)
    }

    fn next_beside(&mut self, tuner: &mut Tuner<'_, '_>) -> Result<Next, Error> {
        let Some((space, tuner)) = tuner else { return self.next_repeat() };
        let pending: Vec<Record> =
            self.task()?.pending.iter().map(|ask| record(&ask.unit, ask.fidelity, ask.why)).collect();
        Ok(match tuner.ask_beside(&pending) {
            (Asked::Query(query), reasons) => {
                self.task_mut()?.expected = tuner.status().best;
                let because = reasons.map(|why| Because::of(&self.target, &why, self.widening()));
                let point = self.shown(space, query.unit())?;
                let (ask, unit) =
                    (self.ask(point, query.fidelity(), why(query.kind())), query.unit().to_vec());
                Next::Ask(Box::new(Ask { because, unit, ..ask }))
            }
            (Asked::Done(stop), _) => Next::Done(reason(stop)),
            _ => Next::Wait,
        })
    }

    /// Waits until an answer to one of these is taken, or something else is wanted.
    fn taken<'a>(
        &self,
        asks: &'a [Ask],
        tuner: &mut Tuner<'_, '_>,
        source: &mut dyn Source,
    ) -> Result<(&'a Ask, Answer), Error> {
        let (mut id, mut answer) = source.wait(asks)?;
        loop {
            let ask = asks.iter().find(|ask| ask.id == id).ok_or(Error::Defect)?;
            if matches!(answer, Answer::Stop | Answer::AskMore) {
                return Ok((ask, answer));
            }
            match self.tell_beside(ask, &answer, tuner) {
                Ok(()) => return Ok((ask, answer)),
                Err(why) => match source.refused(ask, &why)? {
                    Some(instead) => answer = instead,
                    None => (id, answer) = source.wait(asks)?,
                },
            }
        }
    }

    fn tell_beside(&self, ask: &Ask, answer: &Answer, tuner: &mut Tuner<'_, '_>) -> Result<(), String> {
        let told = match answer {
            Answer::AskAt(_) => return Err("ask_at is for one query at a time: answer this one first".into()),
            Answer::Value { value, kpis, cost, conditions } => {
                super::noise::check_answer(*value, *cost)?;
                let own_cost = cost.and_then(|cost| self.own_cost(ask.fidelity, cost));
                Some((*value, self.target.told(kpis), own_cost, conditions))
            }
            _ => None,
        };
        let mut record = record(&ask.unit, ask.fidelity, ask.why);
        match (tuner, told) {
            (None, _) => Ok(()),
            (Some((_, tuner)), None) => tuner.observe(record, &[]).map_err(|error| error.to_string()),
            (Some((space, tuner)), Some((value, kpis, cost, conditions))) => {
                (record.y, record.cost) = (Some(value as f32), cost);
                record.kpis = kpis.into_iter().collect();
                let conditions = self.core_conditions(space, conditions);
                tuner.observe(record, &conditions).map_err(|error| error.to_string())
            }
        }
    }
}

/// A query, without its answer.
pub(super) fn record(unit: &[f32], fidelity: usize, why: Why) -> Record {
    let kind = match why {
        Why::Initial => Kind::Initial,
        Why::Carried => Kind::Carried,
        // Repeats to learn the noise are not told to the optimizer.
        Why::Search | Why::Noise => Kind::Search,
    };
    let unit = unit.iter().copied().collect();
    Record { unit, fidelity, kind, y: None, kpis: Default::default(), cost: None }
}

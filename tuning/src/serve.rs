//! Ask and tell as lines of JSON, for programs in any language; see `docs/serve.md`.

use std::io::{BufRead, Write};

use super::past;
use super::session::{Answer, MOST_AT_ONCE, Source, Standing, Tuning};
use super::state::{Past, Told};
use super::wire::{NextTask, Request, Wire};
use crate::{Ask, Target};
use host_sim::error::Error;
use host_sim::words::number;

/// Longest line that a client may send.
const LONGEST: usize = 1 << 20;

/// What Python and JavaScript write where there is no number.
const NO_NUMBER: &str = "NaN and Infinity are no numbers of JSON: tell a finite value, or send fail for a measurement that failed";

pub fn serve(tuning: &mut Tuning, input: &mut dyn BufRead, output: &mut dyn Write) -> Result<(), Error> {
    let target = tuning.target().clone();
    let mut lines = Lines {
        target: &target,
        input,
        output,
        closed: false,
        place: place(tuning)?,
        past: None,
        stands: false,
        wanted: 1,
    };
    lines.write(&Wire(&target).hello(lines.place.task, lines.place.answered))?;
    loop {
        let played = tuning.play(&mut lines);
        if let Some(past) = lines.past.take() {
            if let Err(error) = tuning.take_past(past) {
                lines.refuse(&refusal(error)?)?;
            }
            continue;
        }
        match played {
            Err(Error::Interrupted) if lines.closed => return Ok(()),
            other => other?,
        }
        if let Some(ended) = tuning.ended() {
            lines.write(&Wire(&target).recommendation(ended))?;
        }
        tuning.report()?;
        loop {
            let begun = match lines.after()? {
                After::End => return Ok(()),
                After::Next(deployed) => tuning.next_task(deployed).map(|()| true),
                After::Recommend(at) => match tuning.recommend_at(&at) {
                    Ok(ended) => lines.write(&Wire(&target).recommendation(&ended)).map(|()| false),
                    Err(why) => Err(why),
                },
                After::Watch(value, kpis, at) => match tuning.watch(value, &kpis, &at) {
                    Ok(watched) => {
                        lines.write(&Wire(&target).watched(&watched))?;
                        Ok(watched.changed.is_some())
                    }
                    Err(why) => Err(why),
                },
            };
            match begun {
                Ok(true) => break,
                Ok(false) => {}
                Err(error) => lines.error(&refusal(error)?)?,
            }
        }
        lines.place = place(tuning)?;
    }
}

/// Why a request is refused, which has changed nothing; any other error ends the session.
fn refusal(error: Error) -> Result<String, Error> {
    match error {
        Error::Usage(_) | Error::Optimizer(_) => Ok(error.to_string()),
        other => Err(other),
    }
}

/// What may follow the end of a task.
enum After {
    /// The end of the input.
    End,
    /// The next task, with a deployed point if one is given.
    Next(Option<Vec<f64>>),
    /// A reading of the setting in use, and its KPIs.
    Watch(f64, Vec<f64>, Vec<f64>),
    /// What to use under these conditions.
    Recommend(Vec<f64>),
}

/// How far it is.
struct Place {
    task: u32,
    /// Queries of this task that have been answered.
    answered: usize,
    standing: Standing,
}

fn place(tuning: &Tuning) -> Result<Place, Error> {
    let state = tuning.state();
    let answered = state.current().map_or(0, |task| task.answers.len());
    Ok(Place { task: state.task(), answered, standing: tuning.standing()? })
}

struct Lines<'a> {
    target: &'a Target,
    input: &'a mut dyn BufRead,
    output: &'a mut dyn Write,
    closed: bool,
    place: Place,
    /// What was measured before the task, as the client has just said.
    past: Option<Vec<Past>>,
    /// Whether the next query has been sent.
    stands: bool,
    /// How many queries may wait for their answers: one more than there are, as soon as the client asks for it.
    wanted: usize,
}

impl Lines<'_> {
    fn write(&mut self, line: &str) -> Result<(), Error> {
        writeln!(self.output, "{line}")?;
        Ok(self.output.flush()?)
    }

    fn error(&mut self, text: &str) -> Result<(), Error> {
        let line = Wire(self.target).error(text);
        self.write(&line)
    }

    /// Refuses past measurements: the query stands.
    fn refuse(&mut self, why: &str) -> Result<(), Error> {
        self.stands = true;
        self.error(why)
    }

    /// The next request that can be read; `None` at the end of the input. Others are answered by an error.
    fn request(&mut self) -> Result<Option<Request>, Error> {
        loop {
            let Some(line) = self.line()? else {
                self.closed = true;
                return Ok(None);
            };
            if line.trim().is_empty() {
                continue;
            }
            match serde_json::from_str(&line) {
                Ok(Request::Status(_)) => {
                    let Place { task, answered, standing } = &self.place;
                    let line = Wire(self.target).status(*task, *answered, standing);
                    self.write(&line)?;
                }
                Ok(request) => return Ok(Some(request)),
                Err(_) if ["NaN", "Infinity"].iter().any(|word| line.contains(word)) => {
                    self.error(NO_NUMBER)?
                }
                Err(error) => self.error(&format!("this line is not understood: {error}"))?,
            }
        }
    }

    /// A line, whatever its bytes; of one that is too long, the beginning.
    fn line(&mut self) -> Result<Option<String>, Error> {
        let mut bytes = Vec::new();
        loop {
            let (used, whole) = {
                let part = self.input.fill_buf()?;
                let end = part.iter().position(|&byte| byte == b'\n');
                let used = end.map_or(part.len(), |end| end + 1);
                bytes.extend(part[..end.unwrap_or(used)].iter().take(LONGEST.saturating_sub(bytes.len())));
                (used, end.is_some())
            };
            self.input.consume(used);
            if whole || (used == 0 && !bytes.is_empty()) {
                return Ok(Some(String::from_utf8_lossy(&bytes).into_owned()));
            }
            if used == 0 {
                return Ok(None);
            }
        }
    }

    fn read_answer(&mut self, asks: &[Ask]) -> Result<(u64, Answer), Error> {
        let (is_asked, first) = (|id| asks.iter().any(|ask| ask.id == id), asks[0].id);
        loop {
            let Some(request) = self.request()? else { return Err(Error::Interrupted) };
            let wrong = match request {
                Request::Tell(tell) if is_asked(tell.id) => {
                    let kpis = self.target.kpis(|name| tell.kpis.get(name).copied());
                    let conditions = self.target.conditions_of(&tell.conditions);
                    match (tell.cost, kpis.map_err(|why| format!("the answer has {why}"))) {
                        (Some(cost), _) if !(0.0..=1e12).contains(&cost) => {
                            format!("a cost of {} is not from 0 to 1e12", number(cost))
                        }
                        (_, Err(why)) => why,
                        (cost, Ok(kpis)) => match conditions {
                            Ok(conditions) => {
                                let answer = Answer::Value { value: tell.value, kpis, cost, conditions };
                                return Ok((tell.id, answer));
                            }
                            Err(why) => why,
                        },
                    }
                }
                Request::AskAt(at) => match self.target.conditions_of(&at) {
                    Ok(_) if asks.len() > 1 => format!("{}: ask_at is for one at a time", outstanding(asks)),
                    Ok(at) if !at.is_empty() => return Ok((first, Answer::AskAt(at))),
                    Ok(_) => "ask_at takes a value for every [[condition]] of the problem".into(),
                    Err(why) => why,
                },
                Request::Fail(fail) if is_asked(fail.id) => return Ok((fail.id, Answer::Failed)),
                Request::Stop(_) => return Ok((first, Answer::Stop)),
                Request::Ask(_) if asks.len() == MOST_AT_ONCE => {
                    format!("{}, and more than {MOST_AT_ONCE} at once are not asked", outstanding(asks))
                }
                Request::Ask(_) => {
                    self.wanted = asks.len() + 1;
                    return Ok((first, Answer::AskMore));
                }
                Request::Tell(super::wire::Tell { id, .. }) | Request::Fail(super::wire::Fail { id }) => {
                    format!("{}, not {id}", outstanding(asks))
                }
                Request::Past(_) if self.place.answered > 0 || asks.len() > 1 => {
                    format!("{}: past measurements come before the first answer of a task", outstanding(asks))
                }
                Request::Past(known) => match past::of_known(self.target, &known) {
                    Ok(past) => {
                        self.past = Some(past);
                        return Err(Error::Interrupted);
                    }
                    Err(why) => why.to_string(),
                },
                Request::NextTask(_) | Request::Status(_) | Request::Watch(_) | Request::RecommendAt(_) => {
                    format!("{}: the task has not ended", outstanding(asks))
                }
            };
            self.error(&wrong)?;
        }
    }

    /// Waits for what follows the end of a task.
    fn after(&mut self) -> Result<After, Error> {
        loop {
            let wrong = match self.request()? {
                None => return Ok(After::End),
                Some(Request::NextTask(NextTask { deployed: None })) => return Ok(After::Next(None)),
                Some(Request::NextTask(NextTask { deployed: Some(values) })) => {
                    match self
                        .target
                        .choice(values.iter().map(|(name, value)| (name.as_str(), value.clone())))
                    {
                        Ok(point) => return Ok(After::Next(Some(point))),
                        Err((_, why)) => why,
                    }
                }
                Some(Request::Watch(seen)) => {
                    let kpis = self.target.kpis(|name| seen.kpis.get(name).copied());
                    match (kpis, self.target.conditions_of(&seen.conditions)) {
                        (Ok(kpis), Ok(at)) => return Ok(After::Watch(seen.value, kpis, at)),
                        (Err(why), _) => format!("the reading has {why}"),
                        (_, Err(why)) => why,
                    }
                }
                Some(Request::RecommendAt(at)) => match self.target.conditions_of(&at) {
                    Ok(at) if at.len() < self.target.conditions().len() => {
                        "recommend_at takes a value for every [[condition]] of the problem".into()
                    }
                    Ok(at) => return Ok(After::Recommend(at)),
                    Err(why) => why,
                },
                Some(_) => {
                    "the task has ended: next_task begins another, watch looks at the setting in use".into()
                }
            };
            self.error(&wrong)?;
        }
    }
}

fn outstanding(asks: &[Ask]) -> String {
    let numbers: Vec<String> = asks.iter().map(|ask| ask.id.to_string()).collect();
    let (word, verb) = if asks.len() == 1 { ("query", "is") } else { ("queries", "are") };
    format!("{word} {} {verb} outstanding", numbers.join(", "))
}

impl Source for Lines<'_> {
    fn start(&mut self, ask: &Ask, beside: &[u64]) -> Result<(), Error> {
        self.wanted = 1;
        if std::mem::take(&mut self.stands) {
            return Ok(());
        }
        let line = Wire(self.target).ask(ask, beside);
        self.write(&line)
    }

    fn wait(&mut self, asks: &[Ask]) -> Result<(u64, Answer), Error> {
        self.read_answer(asks)
    }

    fn refused(&mut self, _: &Ask, why: &str) -> Result<Option<Answer>, Error> {
        self.error(why)?;
        Ok(None)
    }

    fn at_once(&self) -> usize {
        self.wanted
    }

    fn no_more(&mut self, asks: &[Ask]) -> Result<(), Error> {
        self.wanted = 1;
        let line = Wire(self.target).pending(asks);
        self.write(&line)
    }

    fn told(&mut self, _: &Ask, _: &Told, standing: &Standing) -> Result<(), Error> {
        (self.place.answered, self.place.standing) = (self.place.answered + 1, standing.clone());
        Ok(())
    }
}

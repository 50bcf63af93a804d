//! What the station has seen, kept in a file so that a station that is restarted can go on.

use std::fs;
use std::path::Path;

use foretune_core::snapshot::Header;
use foretune_firmware::reference::{Answer, Trace};
use foretune_link::{Begin, Kpis, Query, Recommendation, crc32};
use serde::{Deserialize, Serialize};

use super::HilArguments;
use super::profile::Profile;
use super::world::{Result as Measured, World};
use host_sim::error::Error;
use host_sim::results::write_atomically;

/// A value with its KPIs, and what it cost.
type Noted = (Option<(f32, Kpis)>, Option<f32>);

/// Where the device started, and what it has asked and recommended since.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Notes {
    pub first_task: u32,
    /// What the device knew before it.
    pub start: Vec<u8>,
    pub traces: Vec<Trace>,
    /// The last answer to every query of every task, with its KPIs, none where the measurement failed, and what it cost.
    pub answers: Vec<Vec<Noted>>,
}

impl Notes {
    pub fn load(file: Option<&Path>) -> Result<Option<Self>, Error> {
        let Some(file) = file.filter(|file| file.exists()) else { return Ok(None) };
        let wrong = |error: &dyn std::fmt::Display| Error::usage(format!("{}: {error}", file.display()));
        let text = fs::read(file).map_err(|error| wrong(&error))?;
        serde_json::from_slice(&text).map(Some).map_err(|error| wrong(&error))
    }

    /// Writes a file, whole or not at all.
    pub fn save(&self, file: Option<&Path>) -> Result<(), Error> {
        let Some(file) = file else { return Ok(()) };
        write_atomically(file, &serde_json::to_vec(self).map_err(std::io::Error::from)?)
    }

    /// Place of a device's task in the plan.
    pub fn place(&self, task: u32) -> Option<usize> {
        task.checked_sub(self.first_task)
            .map(|place| place as usize)
            .filter(|place| *place < self.traces.len())
    }

    pub fn begin(&self, place: usize, arguments: &HilArguments, profile: &Profile, world: &World) -> Begin {
        Begin {
            task: self.first_task + place as u32,
            problem: world.problem().map_or(profile.problem(), crc32),
            seed: world.optimizer_seed(place),
            budget: arguments.budget.unwrap_or_else(|| world.budget()),
            deploy: arguments.deployed.is_some() && place == 0,
            adopt: arguments.adopt && place == 0,
        }
    }

    /// Where the first task begins, in words, if the problem has a point in use.
    pub fn beginning(&self, arguments: &HilArguments, world: &World) -> Option<String> {
        let known =
            arguments.deployed.is_none() && Header::verify(&self.start).is_ok_and(|header| header.in_use);
        let (task, point) = (self.first_task, world.in_use()?);
        Some(if known {
            format!(
                "task {task} begins at the device's last recommendation; if {point} is in use, give --deployed"
            )
        } else {
            format!("task {task} begins at the setting in use: {point}")
        })
    }

    /// Notes the answer to a query that was noted. One that is asked again was not counted, so the last answer counts.
    pub fn note_answer(&mut self, place: usize, query: &Query, (outcome, cost): Measured) {
        let answers = &mut self.answers[place];
        answers.truncate(query.ticket.step as usize);
        let numbers = outcome.finite();
        answers.push((numbers, cost));
    }

    pub fn answer(&self, place: usize, query: &Query) -> Answer {
        match self.answers[place].get(query.ticket.step as usize) {
            Some((Some((value, kpis)), cost)) => Answer::Value(*value, *kpis, *cost),
            Some((None, cost)) => Answer::GivenUp(*cost),
            None => Answer::GivenUp(None),
        }
    }

    /// Notes a query; one that was asked before must be the same.
    pub fn note_query(&mut self, place: usize, query: &Query) -> Result<(), Error> {
        let queries = &mut self.traces[place].queries;
        let first = Query { attempt: 0, ..query.clone() };
        let step = query.ticket.step as usize;
        match queries.get(step) {
            Some(known) if *known == first => Ok(()),
            Some(known) => Err(Error::Device(format!(
                "DIFFERENT: the device asks {first:?}, but asked {known:?} before its restart"
            ))),
            None if queries.len() == step => {
                queries.push(first);
                Ok(())
            }
            None => Err(Error::Device(format!("DIFFERENT: the device left out queries before {first:?}"))),
        }
    }

    pub fn note_end(&mut self, place: usize, recommendation: &Recommendation) -> Result<(), Error> {
        let known = &mut self.traces[place].recommendation;
        if known.get_or_insert_with(|| recommendation.clone()) == recommendation {
            return Ok(());
        }
        Err(Error::Device(format!(
            "DIFFERENT: the device recommends {recommendation:?}, but {known:?} before its restart"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foretune_link::{Coordinate, Ticket};

    fn query(step: u32) -> Query {
        let point = [Coordinate::Level(step as u16), Coordinate::Unit(0.1)].into_iter().collect();
        let ticket = Ticket { task: 5, step };
        Query { ticket, attempt: 1, fidelity: 0, samples: 10, cost: 10.0, point }
    }

    fn notes() -> Notes {
        Notes {
            first_task: 5,
            start: vec![1, 2, 3],
            traces: vec![Trace::default(); 2],
            answers: vec![Vec::new(); 2],
        }
    }

    #[test]
    fn notes_survive_their_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("notes.json");
        assert_eq!(Notes::load(Some(&file)).unwrap(), None);
        let mut notes = notes();
        notes.note_query(0, &query(0)).unwrap();
        notes.save(Some(&file)).unwrap();
        assert_eq!(Notes::load(Some(&file)).unwrap(), Some(notes));
    }

    #[test]
    fn a_query_that_changes_or_is_left_out_is_noticed() {
        let mut notes = notes();
        notes.note_query(0, &query(0)).unwrap();
        notes.note_query(0, &query(0)).unwrap();
        assert!(notes.note_query(0, &Query { fidelity: 1, ..query(0) }).is_err());
        assert!(notes.note_query(0, &query(2)).is_err());
        assert_eq!(notes.traces[0].queries.len(), 1);
    }

    #[test]
    fn tasks_of_others_have_no_place() {
        assert_eq!([4, 5, 6, 7].map(|task| notes().place(task)), [None, Some(0), Some(1), None]);
    }
}

//! Lists of records of the ledger, which several agents may share: as JSON, as a table, or row by row while it grows.

use std::collections::BTreeMap;
use std::thread::sleep;
use std::time::Duration;

use serde::Serialize;

use super::exit_code::OK;
use super::failure::Failure;
use super::output::{complain, print_json, try_print};
use super::table::print_rows;
use super::text::{Text, line};
use crate::machine::environment::Environment;
use opsctl_ledger::Ledger;

/// The polling interval of `--follow`.
const INTERVAL: Duration = Duration::from_millis(500);

/// The maximum number of records of a list, which are all in memory.
const MOST: u32 = 10_000;

/// The number of records of a list for which `--limit` asks, and a note if it is less.
pub fn limited(limit: u32) -> u32 {
    if limit > MOST {
        complain(format_args!(
            "a list has at most {MOST} entries; `opsctl audit --all` and `opsctl events --all` print all"
        ));
    }
    limit.min(MOST)
}

/// The names of the agents of the ledger.
pub struct Agents(Vec<String>);

impl Agents {
    /// Reads them; none without a ledger.
    pub fn of(environment: &Environment) -> Result<Self, Failure> {
        Ok(Self(Ledger::read_at(&environment.ledger, Ledger::agents)?))
    }

    /// Whether there is more than one: then their names are shown.
    pub fn are_several(&self) -> bool {
        self.0.len() > 1
    }

    /// The cells of a row, with its agent behind the first one if there are several.
    pub fn named<const N: usize>(&self, cells: [String; N], agent: Option<&str>) -> Vec<String> {
        self.with_second(cells, agent.unwrap_or("-").to_owned())
    }

    fn with_second<T, const N: usize>(&self, cells: [T; N], second: T) -> Vec<T> {
        let mut cells = Vec::from(cells);
        if self.are_several() {
            cells.insert(1, second);
        }
        cells
    }

    /// Prints a table of `what` with rows of [`Self::named`]. If none was found for an `agent` that has had no session, those
    /// that have are listed.
    pub fn print_table<const N: usize>(
        &self,
        titles: [&str; N],
        rows: impl Iterator<Item = Vec<String>>,
        what: &str,
        agent: Option<&str>,
    ) {
        let mut empty = format!("no {what}");
        if let Some(agent) = agent.filter(|agent| !self.0.iter().any(|own| own == agent)) {
            empty = format!("{empty} of agent `{agent}`; agents with sessions: {}", self.0.join(", "));
        }
        print_rows(&self.with_second(titles, "AGENT"), &rows.collect::<Vec<_>>(), &empty);
    }
}

/// How the records of a verb are listed.
pub struct Listing<'a, T, const N: usize> {
    /// What they are, in the plural; also the key of the list in JSON.
    pub what: &'static str,
    /// The titles of the columns.
    pub titles: [&'static str; N],
    /// The cells of a record.
    pub cells: &'a dyn Fn(&T) -> [String; N],
    /// The agent of a record.
    pub agent_of: fn(&T) -> Option<&str>,
    /// The agent whose records are selected.
    pub agent: Option<&'a str>,
    /// Whether they are printed as JSON.
    pub json: bool,
}

impl<T: Serialize, const N: usize> Listing<'_, T, N> {
    /// Prints records.
    pub fn print(&self, records: &[T], environment: &Environment) -> Result<u8, Failure> {
        if self.json {
            return print_json(&BTreeMap::from([(self.what, records)]));
        }
        let agents = Agents::of(environment)?;
        let rows = records.iter().map(|record| self.row(record, &agents));
        agents.print_table(self.titles, rows, self.what, self.agent);
        Ok(OK)
    }

    /// Prints the latest records, oldest first, then new ones, until the reader closes the pipe. `next` returns those that
    /// it has not returned yet, newest first and at most this many.
    pub fn follow(
        &self,
        latest: u32,
        environment: &Environment,
        mut next: impl FnMut(u32) -> Result<Vec<T>, Failure>,
    ) -> Result<u8, Failure> {
        let agents = Agents::of(environment)?;
        // With a limit of 0, the latest record is only the place to start from.
        let mut records = next(latest.max(1))?;
        records.truncate(usize::try_from(latest).unwrap_or(usize::MAX));
        loop {
            for record in records.iter().rev() {
                if try_print(self.line(record, &agents)?).is_err() {
                    return Ok(OK);
                }
            }
            // From here on, all further records are printed.
            sleep(INTERVAL);
            records = next(u32::MAX)?;
        }
    }

    /// Prints records as they come, one in a line, until the reader closes the pipe.
    pub fn all(
        &self,
        environment: &Environment,
        records: impl Iterator<Item = Result<T, Failure>>,
    ) -> Result<u8, Failure> {
        let agents = Agents::of(environment)?;
        for record in records {
            if try_print(self.line(&record?, &agents)?).is_err() {
                break;
            }
        }
        Ok(OK)
    }

    fn line(&self, record: &T, agents: &Agents) -> Result<Text, Failure> {
        let mut text = if self.json {
            Text::json(record)?
        } else {
            Text::from(&line(&self.row(record, agents).join(" | ")))
        };
        text += "\n";
        Ok(text)
    }

    fn row(&self, record: &T, agents: &Agents) -> Vec<String> {
        agents.named((self.cells)(record), (self.agent_of)(record))
    }
}

/// The number of row ids of a page.
const PAGE: i64 = 5000;

/// All records up to a row id, oldest first, read page by page: a ledger of years needs no memory for all of them.
pub struct Pages<T, F> {
    /// Reads the records behind one row id up to another, newest first.
    read: F,
    after: i64,
    last: i64,
    page: std::vec::IntoIter<T>,
}

impl<T, F: FnMut(i64, i64) -> Result<Vec<T>, Failure>> Pages<T, F> {
    /// Those up to the row id `last`.
    pub fn up_to(last: i64, read: F) -> Self {
        Self { read, after: 0, last, page: vec![].into_iter() }
    }
}

impl<T, F: FnMut(i64, i64) -> Result<Vec<T>, Failure>> Iterator for Pages<T, F> {
    type Item = Result<T, Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(record) = self.page.next() {
                return Some(Ok(record));
            }
            if self.after >= self.last {
                return None;
            }
            let through = (self.after + PAGE).min(self.last);
            match (self.read)(self.after, through) {
                Ok(mut records) => {
                    records.reverse();
                    (self.page, self.after) = (records.into_iter(), through);
                }
                Err(error) => {
                    self.after = self.last;
                    return Some(Err(error));
                }
            }
        }
    }
}

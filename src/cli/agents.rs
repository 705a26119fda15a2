//! The agents of a ledger that several of them share.

use super::failure::Failure;
use super::table::print_rows;
use crate::ledger::Ledger;
use crate::runtime::environment::Environment;

/// The names of the agents of the ledger.
pub struct Agents(Vec<String>);

impl Agents {
    /// Reads them; none without a ledger.
    pub fn of(environment: &Environment) -> Result<Self, Failure> {
        let ledger = Ledger::open_existing(&environment.ledger)?;
        Ok(Self(ledger.map(|ledger| ledger.agents()).transpose()?.unwrap_or_default()))
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

//! The steps of the upkeep, and their pace: each is one short transaction, and between two of them hooks have their turn.

use std::thread::sleep;
use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};

use super::{counters, prune};
use crate::engine::{Error, Result, params};
use crate::file::database::{Change, Ledger};
use crate::file::locks::Scope;
use crate::location::Location;
use crate::log;
use crate::time;

/// How long a step may hold the ledger: a slower one makes the next ones smaller.
const LONGEST: Duration = Duration::from_millis(10);

/// The most and the fewest rows or pages of one step.
const MOST: u32 = 250;
const FEWEST: u32 = 10;

/// Rows that are younger may still change, or may be added behind later ones.
const SETTLED: TimeDelta = TimeDelta::hours(1);

/// What is wanted.
#[derive(Debug, Clone, Copy)]
pub struct Wanted {
    /// Rows before this time are deleted; `None`: rows are only counted.
    pub cutoff: Option<DateTime<Utc>>,
    /// How long it may take. What is left is done the next time.
    pub within: Duration,
    /// Whether old rows are also looked for behind newer ones, where a writer's clock was wrong.
    pub is_thorough: bool,
}

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tidied {
    /// How many rows were deleted, without those that belong to one of them.
    pub deleted: usize,
    /// How many bytes the file has given back to the disk.
    pub returned: u64,
    /// How many bytes of the file are free, and used for later rows.
    pub free: u64,
    /// The longest time that a step has held the ledger.
    pub longest: Duration,
    /// Whether something is left to do.
    pub is_unfinished: bool,
}

/// How many rows the next step takes.
#[derive(Debug)]
pub struct Pace {
    rows: u32,
    longest: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self { rows: FEWEST, longest: Duration::ZERO }
    }
}

impl Pace {
    /// Begins slowly with the rows of another table: a session may have hundreds of calls that are deleted with it.
    const fn begin(&mut self) {
        self.rows = FEWEST;
    }

    /// Notes how long a step held the ledger.
    pub fn note(&mut self, held: Duration) {
        self.longest = self.longest.max(held);
        let rows = if held > LONGEST { self.rows / 4 } else { self.rows + self.rows / 2 };
        self.rows = rows.clamp(FEWEST, MOST);
    }
}

impl Ledger {
    /// [`Self::tidy`] of the ledger at this location, if it exists, within a time. Rows of a server are not deleted: that is the right of
    /// the owner of its tables, with `opsctl prune`.
    pub fn tidy_at(
        location: &Location,
        keep: Option<TimeDelta>,
        within: Duration,
        here: DateTime<Utc>,
        progress: impl FnMut(&Tidied) -> bool,
    ) -> Result<Tidied> {
        if !Self::exists(location)? {
            return Ok(Tidied::default());
        }
        let mut ledger = Self::open(location)?;
        let now = ledger.now(here)?;
        let cutoff = keep.filter(|_| !ledger.is_server()).map(|keep| now - keep);
        match ledger.tidy(Wanted { cutoff, within, is_thorough: false }, now, progress) {
            // A role without the right to count reads the rows each time.
            Err(error) if matches!(error.engine(), Some(Error::Refused(_))) => Ok(Tidied::default()),
            done => done,
        }
    }

    /// Counts settled rows, deletes old ones and gives their space back to the disk, in short steps. `progress` gets what was done so
    /// far, and says whether to go on. A killed upkeep loses nothing: the next one continues.
    pub fn tidy(
        &mut self,
        wanted: Wanted,
        now: DateTime<Utc>,
        progress: impl FnMut(&Tidied) -> bool,
    ) -> Result<Tidied> {
        log::copy_at_commit(self, false);
        let done = self.do_steps(wanted, now, progress);
        log::copy_at_commit(self, true);
        log::keep_short(self);
        done
    }

    fn do_steps(
        &mut self,
        wanted: Wanted,
        now: DateTime<Utc>,
        mut progress: impl FnMut(&Tidied) -> bool,
    ) -> Result<Tidied> {
        let settled = time::write(now - SETTLED);
        // No end: one that is too far away to be written as a time.
        let ends = Instant::now().checked_add(wanted.within);
        let (mut done, mut pace) = (Tidied::default(), Pace::default());
        let mut goes_on = |done: &Tidied| ends.is_none_or(|ends| Instant::now() < ends) && progress(done);
        let before = self.size()?;
        for table in counters::TABLES {
            while !done.is_unfinished
                && let Some(slice) = self.count_next(table, &settled)?
            {
                self.step(&mut pace, |change| change.add_counts(slice))?;
                done.is_unfinished = !goes_on(&done);
            }
        }
        if let Some(cutoff) = wanted.cutoff.map(time::floor) {
            for old in &prune::TABLES {
                pace.begin();
                let mut after = Some(i64::MIN);
                while let Some(last) = after.filter(|_| !done.is_unfinished) {
                    let most = pace.rows;
                    let deleted =
                        self.step(&mut pace, |change| change.delete_old(old, &cutoff, last, most))?;
                    done.deleted += deleted.rows;
                    after = deleted.last.filter(|_| deleted.has_old || wanted.is_thorough);
                    done.is_unfinished = after.is_some() && !goes_on(&done);
                }
            }
            self.return_space(&mut pace, &mut done, goes_on)?;
        }
        done.returned = before.saturating_sub(self.size()?);
        done.longest = pace.longest;
        Ok(done)
    }

    /// One step. Its transaction excludes no change of a server.
    fn step<T>(&mut self, pace: &mut Pace, work: impl FnOnce(&Change<'_>) -> Result<T>) -> Result<T> {
        let change = self.change_in(Scope::Of { budgets: &[], call: None })?;
        let began = Instant::now();
        let result = work(&change)?;
        change.commit_step()?;
        let held = began.elapsed();
        pace.note(held);
        log::copy(self);
        // As much time for others.
        sleep(held);
        Ok(result)
    }

    /// Gives the free pages at the end of a file back to the disk, if it was created so that it can.
    fn return_space(
        &mut self,
        pace: &mut Pace,
        done: &mut Tidied,
        mut goes_on: impl FnMut(&Tidied) -> bool,
    ) -> Result<()> {
        /// What `PRAGMA auto_vacuum` answers for a file whose pages can be given back step by step.
        const INCREMENTAL: i64 = 2;
        let Some((pages, page_bytes)) = self.free_pages()? else { return Ok(()) };
        let mut left = pages;
        if self.pragma("auto_vacuum")? == INCREMENTAL {
            while left > 0 && !done.is_unfinished {
                let most = pace.rows;
                self.step(pace, |change| {
                    let sql = format!("PRAGMA incremental_vacuum({most})");
                    change.query(&sql, &[], |_| Ok(())).map(|_| ())
                })?;
                left = self.free_pages()?.map_or(0, |(pages, _)| pages);
                done.is_unfinished = !goes_on(done);
            }
        }
        done.free = left * page_bytes;
        Ok(())
    }

    /// The number of free pages of a file, and the size of a page in bytes.
    fn free_pages(&self) -> Result<Option<(u64, u64)>> {
        if self.is_server() {
            return Ok(None);
        }
        let [pages, bytes] = ["freelist_count", "page_size"].map(|name| self.pragma(name));
        Ok(Some((u64::try_from(pages?).unwrap_or(0), u64::try_from(bytes?).unwrap_or(0))))
    }

    /// The size of a file in bytes; 0 for a server.
    fn size(&self) -> Result<u64> {
        if self.is_server() {
            return Ok(0);
        }
        let [pages, bytes] = ["page_count", "page_size"].map(|name| self.pragma(name));
        Ok(u64::try_from(pages? * bytes?).unwrap_or(0))
    }

    fn pragma(&self, name: &str) -> Result<i64> {
        self.query_row(&format!("PRAGMA {name}"), params![], |row| row.get(0))
    }
}

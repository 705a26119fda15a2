//! `--follow`: prints the latest rows of the ledger, oldest first, then new ones.

use std::io::Write as _;
use std::thread::sleep;
use std::time::Duration;

use super::exit_code::OK;
use super::failure::Failure;

/// The polling interval.
const INTERVAL: Duration = Duration::from_millis(500);

/// Prints rows until the reader closes the pipe. `rows` returns those after an id, newest first and at most this many;
/// `line` formats one.
pub fn follow<T>(
    latest: u32,
    rows: impl Fn(Option<i64>, u32) -> Result<Vec<(i64, T)>, Failure>,
    line: impl Fn(&T) -> Result<String, Failure>,
) -> Result<u8, Failure> {
    let (mut after, mut limit) = (None, latest);
    loop {
        let mut stdout = anstream::stdout().lock();
        for (id, row) in rows(after, limit)?.iter().rev() {
            after = Some(*id);
            if writeln!(stdout, "{}", line(row)?).and_then(|()| stdout.flush()).is_err() {
                return Ok(OK);
            }
        }
        drop(stdout);
        // From here on, all further rows are printed.
        after = after.or(Some(0));
        limit = u32::MAX;
        sleep(INTERVAL);
    }
}

//! `--follow`: prints the latest rows of the ledger, oldest first, then new ones.

use std::thread::sleep;
use std::time::Duration;

use super::exit_code::OK;
use super::failure::Failure;
use super::output::try_print;
use super::text::Text;

/// The polling interval.
const INTERVAL: Duration = Duration::from_millis(500);

/// Prints rows until the reader closes the pipe. `next` returns those that it has not returned yet, newest first and at
/// most this many; `line` formats one.
pub fn follow<T>(
    latest: u32,
    mut next: impl FnMut(u32) -> Result<Vec<T>, Failure>,
    line: impl Fn(&T) -> Result<Text, Failure>,
) -> Result<u8, Failure> {
    // With a limit of 0, the latest row is only the place to start from.
    let mut rows = next(latest.max(1))?;
    rows.truncate(usize::try_from(latest).unwrap_or(usize::MAX));
    loop {
        for row in rows.iter().rev() {
            let mut line = line(row)?;
            line += "\n";
            if try_print(line).is_err() {
                return Ok(OK);
            }
        }
        // From here on, all further rows are printed.
        sleep(INTERVAL);
        rows = next(u32::MAX)?;
    }
}

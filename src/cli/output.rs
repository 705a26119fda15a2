//! Output: results on stdout, messages on stderr.

use std::fmt::Display;
use std::io::Write as _;

use serde::Serialize;

use super::exit_code::OK;
use super::failure::Failure;

/// One line about a failure, on stderr.
pub fn complain(message: impl Display) {
    complain_as_is(format_args!("opsctl: {message}"));
}

/// Words on stderr that are not about this program: a denial, which the model reads.
pub fn complain_as_is(message: impl Display) {
    // With stderr closed there is nobody left to tell.
    let _ = writeln!(std::io::stderr().lock(), "{message}");
}

/// Text on stdout; a reader that has gone away ends the output, not the program.
pub fn print(text: &str) {
    let mut stdout = std::io::stdout().lock();
    let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
}

/// A value as one line of JSON on stdout.
pub fn print_json(value: &impl Serialize) -> Result<u8, Failure> {
    let mut text = serde_json::to_string(value)?;
    text.push('\n');
    print(&text);
    Ok(OK)
}

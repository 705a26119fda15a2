//! Output: results on stdout, messages on stderr.

use std::fmt::Display;
use std::io::Write as _;

use serde::Serialize;

use super::exit_code::OK;
use super::failure::Failure;

/// Prints a message on stderr, with the prefix `opsctl: `.
pub fn complain(message: impl Display) {
    complain_as_is(format_args!("opsctl: {message}"));
}

/// Prints messages on stderr, each with the prefix `opsctl: `.
pub fn complain_all(messages: impl IntoIterator<Item: Display>) {
    messages.into_iter().for_each(complain);
}

/// Prints a message on stderr without a prefix, such as a denial, which the model reads.
pub fn complain_as_is(message: impl Display) {
    // Errors of stderr cannot be reported.
    let _ = writeln!(std::io::stderr().lock(), "{message}");
}

/// Prints text on stdout. Errors, such as a closed pipe, are ignored.
pub fn print(text: &str) {
    let mut stdout = std::io::stdout().lock();
    let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
}

/// Prints a value as one line of JSON on stdout.
pub fn print_json(value: &impl Serialize) -> Result<u8, Failure> {
    let mut text = serde_json::to_string(value)?;
    text.push('\n');
    print(&text);
    Ok(OK)
}

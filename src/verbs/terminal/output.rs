//! Output: results on stdout, messages on stderr. Everything that opsctl prints passes here as a [`Text`].

use std::fmt::Display;
use std::io::{self, Write as _};
use std::os::fd::AsFd;
use std::sync::OnceLock;

use chrono::{DateTime, Utc};
use minijinja::value::{Serde, Value};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use serde::Serialize;

use super::exit_code::OK;
use super::failure::Failure;
use super::text::{Text, line};
use super::time;
use crate::pages::report::engine;
use crate::setup::import::text::scalar;
use opsctl_redact::shortened;

/// Prints a message on stderr, with the prefix `opsctl: `.
pub fn complain(message: impl Display) {
    complain_as_is(format_args!("opsctl: {message}"));
}

/// Prints messages on stderr, each with the prefix `opsctl: `.
pub fn complain_all(messages: impl IntoIterator<Item: Display>) {
    messages.into_iter().for_each(complain);
}

/// Prints a message on stderr without a prefix, such as a denial, which the model reads.
#[expect(clippy::disallowed_methods, reason = "the only place that writes to stderr")]
pub fn complain_as_is(message: impl Display) {
    let message = Text::from(&message.to_string());
    // Errors of stderr cannot be reported.
    let _ = writeln!(io::stderr().lock(), "{}", message.as_str());
}

/// Prints text with colours on stderr, without them where it is not a terminal.
#[expect(clippy::disallowed_methods, reason = "the only place that writes to stderr")]
pub fn complain_in_colours(text: &Text) {
    // Errors of stderr cannot be reported.
    let _ = anstream::stderr().lock().write_all(text.as_str().as_bytes());
}

/// A stream of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Results.
    Stdout,
    /// Messages.
    Stderr,
}

/// Writes the output of a program that the guard runs, unchanged: the guard has removed the secrets.
pub fn pass_on(stream: Stream, mut data: &[u8]) -> io::Result<()> {
    while !data.is_empty() {
        let written = match stream {
            Stream::Stdout => rustix::io::write(rustix::stdio::stdout(), data),
            Stream::Stderr => rustix::io::write(rustix::stdio::stderr(), data),
        };
        match written {
            Err(Errno::INTR) => {}
            // Another process has set the file to return at once.
            Err(Errno::AGAIN) => match stream {
                Stream::Stdout => wait(rustix::stdio::stdout(), PollFlags::OUT)?,
                Stream::Stderr => wait(rustix::stdio::stderr(), PollFlags::OUT)?,
            },
            Err(error) => return Err(error.into()),
            Ok(length) => data = data.get(length..).unwrap_or_default(),
        }
    }
    Ok(())
}

/// Waits until a file can be read or written.
pub fn wait(file: impl AsFd, what: PollFlags) -> io::Result<()> {
    match poll(&mut [PollFd::new(&file, what)], None) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Why stdout has not taken all output.
static UNWRITTEN: OnceLock<String> = OnceLock::new();

/// A failure if stdout has not taken all output. A reader that closed the pipe has read enough.
pub fn check_written() -> Result<(), Failure> {
    let Some(why) = UNWRITTEN.get() else { return Ok(()) };
    Err(Failure::new(format!(
        "the output is not complete: stdout cannot be written ({why}); write it elsewhere"
    )))
}

/// Prints text on stdout. [`check_written`] reports errors at the end.
pub fn print(text: impl Into<Text>) {
    let _ = try_print(text);
}

/// Prints text on stdout, or states that it cannot.
#[expect(clippy::disallowed_methods, reason = "the only place that writes to stdout")]
pub fn try_print(text: impl Into<Text>) -> io::Result<()> {
    let text = text.into();
    let written = if text.has_colours() {
        let mut stdout = anstream::stdout().lock();
        stdout.write_all(text.as_str().as_bytes()).and_then(|()| stdout.flush())
    } else {
        let mut stdout = io::stdout().lock();
        stdout.write_all(text.as_str().as_bytes()).and_then(|()| stdout.flush())
    };
    written.inspect_err(|error| {
        if error.kind() != io::ErrorKind::BrokenPipe {
            let _ = UNWRITTEN.set(error.to_string());
        }
    })
}

/// Prints a view with a template, which has the filters of the report and those of text. Relative times are as of `now`.
pub fn print_page(template: &str, view: &impl Serialize, now: DateTime<Utc>) -> Result<u8, Failure> {
    let mut engine = engine(now)?;
    engine.add_filter("line", line);
    engine.add_filter("local", |at: &str| time::localised(at));
    engine.add_filter("scalar", scalar);
    engine.add_filter("shortened", shortened);
    print(&engine.render_str(template, Value::from(Serde(view)))?);
    Ok(OK)
}

/// Prints a value as one line of JSON on stdout.
pub fn print_json(value: &impl Serialize) -> Result<u8, Failure> {
    let mut text = Text::json(value)?;
    text += "\n";
    print(text);
    Ok(OK)
}

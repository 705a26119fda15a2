//! Verbs that a guard runs (`CLAUDEOPS_GUARD`): it has the ledger and the notification targets.

use std::ffi::OsString;

use clap::{ArgMatches, Command};

use crate::hooks;
use crate::machine::guard_link;
use crate::machine::guard_link::SLOW;
use crate::machine::link::address::Address;
use crate::machine::link::caller::LinkError;
use crate::machine::link::message::{Call, Reply};
use crate::machine::request::Request;
use crate::machine::started;
use crate::verbs::facts::{Facts, Side, kept_from_guard};
use crate::verbs::terminal::{
    Failure, Text, complain_all, complain_as_is, complain_in_colours, print, screen,
};

/// The guard that concerns a verb: one that it runs in, or whose container it belongs to.
pub fn guard(facts: &Facts) -> Option<(Address, Request)> {
    if facts.side == Side::Caller {
        return None;
    }
    in_force()
}

/// The guard of this process, and the limits with which the session was started.
pub fn in_force() -> Option<(Address, Request)> {
    let request = Request::of_process();
    let request = started::restored(&request).unwrap_or(request);
    request.guard.clone().map(|guard| (guard, request))
}

/// The reply of the guard, which asks this side about files and variables.
pub fn ask(guard: &Address, request: &Request, call: Call, input: &[u8]) -> Result<Reply, LinkError> {
    let look = &mut |question: &_| hooks::lookups::answer(question, request);
    guard_link::call(guard, call, input, request, SLOW, look)
}

/// Whether a caller on the agent's side may use a verb with these arguments.
pub fn check(
    facts: &Facts,
    command: Option<&Command>,
    matches: &ArgMatches,
    verb: &str,
) -> Result<(), Failure> {
    let what = match (facts.side, command) {
        (Side::Guard(except), Some(command)) => match kept_from_guard(command, matches, except) {
            None => return Ok(()),
            Some(option) => format!("`{option}` of `opsctl {verb}`"),
        },
        _ => format!("`opsctl {verb}`"),
    };
    Err(Failure::new(format!("{what} works on the guard's side only; run it where the guard runs")))
}

/// Runs a verb in the guard.
pub fn run(
    (guard, request): &(Address, Request),
    colours: Option<bool>,
    arguments: &[OsString],
) -> Result<u8, Failure> {
    let columns = screen::width().and_then(|columns| u16::try_from(columns).ok());
    let call = Call::Verb { arguments: words(colours, arguments), columns };
    complain_all(hooks::undelivered::deliver(guard, request).err());
    match ask(guard, request, call, &[])? {
        Reply::Output { code, stdout, stderr } => {
            if !stdout.is_empty() {
                print(Text::of_guard(&stdout));
            }
            if screen::shows_progress() {
                complain_in_colours(&Text::of_guard(&stderr));
            } else if !stderr.is_empty() {
                complain_as_is(stderr.trim_end_matches('\n'));
            }
            Ok(code)
        }
        _ => Err(guard_link::unexpected().into()),
    }
}

/// The arguments without the name of the program, and with colours as this process would choose them.
fn words(colours: Option<bool>, arguments: &[OsString]) -> Vec<String> {
    let is_shown = || screen::width().is_some() && std::env::var_os("NO_COLOR").is_none();
    let shown = if colours.unwrap_or_else(is_shown) { "always" } else { "never" };
    let mut words = vec![format!("--color={shown}")];
    let mut left = arguments.iter().skip(1).map(|word| word.to_string_lossy().into_owned());
    while let Some(word) = left.next() {
        if word == "--color" {
            left.next();
        } else if !word.starts_with("--color=") {
            words.push(word);
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_decided_on_the_side_of_the_terminal() {
        let of = |color, line: &str| {
            let arguments: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            words(Some(color), &arguments).join(" ")
        };
        assert_eq!(of(true, "opsctl status --color always --json"), "--color=always status --json");
        assert_eq!(of(false, "opsctl --color=never status"), "--color=never status");
    }
}

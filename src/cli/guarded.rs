//! Verbs that a guard runs (`CLAUDEOPS_GUARD`): it has the ledger and the notification targets.

use std::ffi::OsString;
use std::io::Read as _;

use super::failure::Failure;
use super::output::{complain_all, complain_as_is, complain_in_colours, print};
use super::terminal;
use super::text::Text;
use crate::hook;
use crate::link::address::Address;
use crate::link::message::{Call, Reply};
use crate::runtime::environment::Environment;
use crate::runtime::guard_link::{self, SLOW};
use crate::runtime::started;

/// The most input of a verb in bytes.
const MOST_INPUT: u64 = 8 * 1024 * 1024;

/// A verb on the command line.
#[derive(Debug, Clone, Copy)]
pub struct VerbLine<'a> {
    /// The arguments, with the name of the program.
    pub arguments: &'a [OsString],
    /// Whether to use colours; `None` if that depends on the terminal.
    pub colours: Option<bool>,
    /// Whether the verb reads stdin.
    pub reads_stdin: bool,
    /// Whether the verb needs this process's working directory.
    pub needs_folder: bool,
}

/// Runs a verb in the guard; `None` if there is none.
pub fn run(line: VerbLine<'_>) -> Option<Result<u8, Failure>> {
    let environment = Environment::of_process();
    let environment = started::restored(&environment).unwrap_or(environment);
    let guard = environment.guard.clone()?;
    Some(run_there(&guard, &environment, line))
}

fn run_there(guard: &Address, environment: &Environment, line: VerbLine<'_>) -> Result<u8, Failure> {
    let mut stdin = Vec::new();
    if line.reads_stdin {
        std::io::stdin().lock().take(MOST_INPUT).read_to_end(&mut stdin)?;
    }
    let look = &mut |question: &_| hook::lookups::answer(question, environment);
    let columns = terminal::width().and_then(|columns| u16::try_from(columns).ok());
    let mut words = words(line.colours, line.arguments);
    if line.needs_folder {
        let here = std::env::current_dir()?.to_string_lossy().into_owned();
        words.splice(2..2, ["--cwd".to_owned(), here]);
    }
    let call = Call::Verb { arguments: words, columns };
    complain_all(hook::undelivered::deliver(guard, environment).err());
    match guard_link::call(guard, call, &stdin, environment, SLOW, look)? {
        Reply::Output { code, stdout, stderr } => {
            if !stdout.is_empty() {
                print(Text::of_guard(&stdout));
            }
            if terminal::shows_progress() {
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
    let is_shown = || terminal::width().is_some() && std::env::var_os("NO_COLOR").is_none();
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

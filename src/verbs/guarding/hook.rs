//! `opsctl hook`: serves the client's hooks.

use std::cell::Cell;
use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};

use chrono::Utc;
use clap::Args;
use clap::builder::PossibleValuesParser;

use crate::hooks;
use crate::hooks::Unserved;
use crate::hooks::answer::{Answer, Output};
use crate::machine::request::Request;
use crate::verbs::facts::Facts;
use crate::verbs::terminal::{DENIED, OK, Text, complain, complain_all, complain_as_is, input, print};
use opsctl_ledger::Patience;
use opsctl_machine::write_limit;
use opsctl_policy::model::records::event::{EVENTS, SESSION_STATE};

/// Serve a hook of the client: its JSON on stdin, exit code 0 (allowed) or 2 (denied or blocked)
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  opsctl hook pre-tool-use < call.json
  opsctl hook < input.json        # the event is taken from hook_event_name")]
pub struct HookArgs {
    /// The client's event in kebab case; without it, `hook_event_name` on stdin
    #[arg(value_parser = PossibleValuesParser::new(EVENTS.into_iter().chain([SESSION_STATE])))]
    event: Option<String>,
}

/// The arguments of a hook command as `opsctl render` writes it; `None` for any other command line.
pub fn fast_path(arguments: &[OsString]) -> Option<HookArgs> {
    match arguments {
        [_, verb] if verb == "hook" => Some(HookArgs { event: None }),
        [_, verb, event] if verb == "hook" => EVENTS
            .into_iter()
            .chain([SESSION_STATE])
            .find(|known| event == known)
            .map(|event| HookArgs { event: Some(event.to_owned()) }),
        _ => None,
    }
}

/// The facts of the verb.
pub const FACTS: &[Facts] = &[Facts::operator("hook")];

/// Serves one call. Returns 0 or 2 for any input.
pub fn run(args: &HookArgs) -> u8 {
    // A panic would end the process with an exit code that the client does not know.
    std::panic::set_hook(Box::new(|_| {}));
    let patience = Patience::limited();
    let event = args.event.as_deref();
    let answered = Cell::new(None);
    let served = catch_unwind(AssertUnwindSafe(|| {
        serve_stdin(event, &patience, |answer| answered.set(Some(deliver(&answer))));
    }));
    // A defect after the answer, while it is recorded, does not change it.
    answered.get().unwrap_or_else(|| if served.is_ok() { OK } else { after_panic(event, &patience) })
}

/// Answers after a panic has stopped the check. Returns the exit code.
fn after_panic(event: Option<&str>, patience: &Patience) -> u8 {
    let answered = Cell::new(None);
    // A second panic is ignored: one line is on stderr.
    let _ = catch_unwind(AssertUnwindSafe(|| {
        let deliver = |answer| answered.set(Some(deliver(&answer)));
        hooks::unserved(&Unserved::Defect, event, &request(patience), deliver);
    }));
    answered.get().unwrap_or_else(|| {
        complain(format_args!("{}; the command was not checked. Please report it.", Unserved::Defect));
        OK
    })
}

/// The request of the process, with the limit of the hook.
fn request(patience: &Patience) -> Request {
    let mut request = Request::of_process();
    request.environment.ledger.patience = patience.clone();
    request
}

fn serve_stdin(event: Option<&str>, patience: &Patience, deliver: impl FnOnce(Answer)) {
    let mut request = request(patience);
    let read = input::read_all(request.started);
    request.now = Utc::now();
    match read {
        Ok(stdin) => hooks::serve(&stdin, event, &request, deliver),
        Err(error) => {
            let problem = Unserved::Incomplete(error.to_string());
            hooks::unserved(&problem, event, &request, deliver);
        }
    }
}

/// Writes the answer. Returns the exit code.
fn deliver(answer: &Answer) -> u8 {
    if answer.denial.is_some() {
        // Streams may be files, too.
        write_limit::fail_beyond();
    }
    complain_all(&answer.warnings);
    match &answer.output {
        Output::Nothing => {}
        Output::Json(json) => {
            // A value always serialises; without it the exit code still denies.
            let _ = Text::json(json).map(print);
        }
        Output::RedactedJson(json) => print(Text::redacted_json(json)),
        Output::Context(text) => print(Text::context(text)),
    }
    match &answer.denial {
        None => OK,
        Some(reason) => {
            complain_as_is(reason);
            DENIED
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_plain_form_takes_the_fast_path() {
        let args = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        let event = |words: &[&str]| fast_path(&args(words)).map(|args| args.event);
        assert_eq!(event(&["opsctl", "hook"]), Some(None));
        assert_eq!(event(&["opsctl", "hook", "pre-tool-use"]), Some(Some("pre-tool-use".into())));
        assert_eq!(event(&["opsctl", "hook", "session-state"]), Some(Some("session-state".into())));
        assert_eq!(event(&["opsctl", "hook", "--help"]), None);
        assert_eq!(event(&["opsctl", "hook", "pre-tool-uze"]), None);
    }
}

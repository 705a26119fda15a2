//! `opsctl hook`: what the client calls at its lifecycle points.

use std::ffi::OsString;
use std::io::Read as _;
use std::panic::{AssertUnwindSafe, catch_unwind};

use chrono::Utc;
use clap::Args;
use clap::builder::PossibleValuesParser;

use super::{DENIED, OK, complain, complain_as_is, print};
use crate::guard::failures;
use crate::hook::{self, EVENTS, SESSION_STATE};
use crate::model::policy::OnFailure;
use crate::runtime::environment::Environment;
use crate::runtime::installation;

/// Serve a hook of the client: its JSON on stdin, exit code 0 (no objection) or 2 (denied)
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  echo '{\"tool_input\":{\"command\":\"docker restart jellyfin\"}}' | opsctl hook pre-tool-use
  opsctl hook < input.json        # the event is taken from hook_event_name")]
pub struct HookArgs {
    /// The client's event in kebab case; without it, `hook_event_name` on stdin
    #[arg(value_parser = PossibleValuesParser::new(EVENTS.into_iter().chain([SESSION_STATE])))]
    event: Option<String>,
}

/// The arguments, when they are those of a hook command as it is rendered and nothing else.
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

/// Serves one call, whatever stdin holds.
pub fn run(args: &HookArgs) -> u8 {
    // The only other way out of a hook would be a panic's own exit code, which the client does not know.
    std::panic::set_hook(Box::new(|_| {}));
    let event = args.event.as_deref();
    catch_unwind(AssertUnwindSafe(|| serve_stdin(event))).unwrap_or_else(|_| {
        // Should that fail in the same way, the guard is as open as it is by default.
        let on_failure = catch_unwind(|| {
            let environment = Environment::of_process();
            installation::in_force(&environment, &mut vec![]).installation.policy.on_failure
        });
        let (code, defect) = after_defect(event, on_failure.unwrap_or(OnFailure::Open));
        complain(defect);
        // Here, too: stderr then has the only word of it.
        let _ = catch_unwind(|| {
            let way = if code == DENIED { "closed" } else { "open" };
            let message = format!("Guard failed {way}: {defect}");
            failures::report(&Environment::of_process(), None, &message, None, Utc::now())
        });
        code
    })
}

/// What a defect of this program comes to: before a command runs, that is the policy's word.
fn after_defect(event: Option<&str>, on_failure: OnFailure) -> (u8, &'static str) {
    match (event, on_failure) {
        (Some("pre-tool-use"), OnFailure::Closed) => (
            DENIED,
            "a defect of opsctl stopped this check; the command is denied, as `policy.on_failure` is `closed`. Please report it.",
        ),
        _ => (OK, "a defect of opsctl stopped this check; the command was not checked. Please report it."),
    }
}

fn serve_stdin(event: Option<&str>) -> u8 {
    let mut stdin = Vec::new();
    if let Err(error) = std::io::stdin().lock().read_to_end(&mut stdin) {
        complain(format_args!("hook input cannot be read ({error}); nothing was checked"));
        return OK;
    }
    let answer = hook::serve(&stdin, event, &Environment::of_process(), Utc::now());
    for note in &answer.notes {
        complain(note);
    }
    print(&answer.stdout);
    match answer.denial {
        None => OK,
        Some(reason) => {
            complain_as_is(&reason);
            DENIED
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_defect_denies_a_command_only_where_the_policy_is_closed() {
        let code = |event, on_failure| after_defect(event, on_failure).0;
        assert_eq!(code(Some("pre-tool-use"), OnFailure::Closed), DENIED);
        assert_eq!(code(Some("pre-tool-use"), OnFailure::Open), OK);
        assert_eq!(code(Some("stop"), OnFailure::Closed), OK);
        assert_eq!(code(None, OnFailure::Closed), OK);
    }

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

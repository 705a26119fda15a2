//! Serves a hook: the handlers of this program, on behalf of a session on the agent's side.

use std::cell::{Cell, RefCell};
use std::io::{self, ErrorKind};
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::rc::Rc;
use std::time::{Duration, Instant};

use chrono::Utc;
use serde_json::Value;

use super::repeats::Repeats;
use super::veil::Veil;
use crate::hooks;
use crate::hooks::answer::Answer;
use crate::hooks::forward::to_wire;
use crate::hooks::preview::{Question, preview};
use crate::machine::agent_side::AgentSide;
use crate::machine::environment::{Environment, ServedFolders, plain_word};
use crate::machine::link::lookup::Lookup;
use crate::machine::link::message::{LookupAnswer, Reply, SessionFacts};
use crate::machine::link::{Timed, frame};
use crate::machine::request::Request;
use crate::machine::runner::RunnerEnvironment;
use opsctl_ledger::Location;
use opsctl_policy::model::records::verdict::Reason;
use opsctl_policy::model::rights::policy::Tier;
use opsctl_reader::terms::mode::Mode;
use opsctl_redact::{CallerSecrets, Redactor};

/// How long the caller has to answer one question. Engines and the client's transcript take a few seconds.
const ASK_TIME: Duration = Duration::from_secs(6);

/// How long it has for all questions of one request.
const ALL_ASKS: Duration = Duration::from_secs(20);

/// The most questions of one request.
const MOST_ASKS: u32 = 4_000;

/// How long an answer may take to be written.
const ANSWER_TIME: Duration = Duration::from_secs(10);

/// A caller that answers questions.
struct Caller {
    stream: UnixStream,
    veil: Veil,
    /// What the caller states as its secrets.
    secrets: Redactor,
    asked: Cell<u32>,
    spent: Cell<Duration>,
    /// Why the caller is not asked any more.
    broken: RefCell<Option<io::Error>>,
}

impl Caller {
    fn try_ask(&self, lookup: Lookup) -> io::Result<Value> {
        let (began, left) = (Instant::now(), ALL_ASKS.saturating_sub(self.spent.get()));
        if self.asked.replace(self.asked.get() + 1) >= MOST_ASKS {
            return Err(ErrorKind::QuotaExceeded.into());
        }
        let mut stream = Timed::new(&self.stream, began + ASK_TIME.min(left));
        frame::write(&mut stream, &serde_json::to_vec(&Reply::Ask(lookup))?)?;
        let found: LookupAnswer = serde_json::from_slice(&frame::read(&mut stream, frame::REPLY)?)?;
        self.spent.set(self.spent.get() + began.elapsed());
        Ok(found.found)
    }

    fn ask(&self, lookup: Lookup) -> Option<Value> {
        if self.broken.borrow().is_some() {
            return None;
        }
        self.try_ask(lookup).map_err(|error| self.broken.replace(Some(error))).ok()
    }

    fn reply(&self, reply: &Reply) -> io::Result<()> {
        let mut stream = Timed::new(&self.stream, Instant::now() + ANSWER_TIME);
        let mut answer = self.veil.answer(reply)?;
        self.secrets.json(&mut answer);
        frame::write(&mut stream, &serde_json::to_vec(&answer)?)
    }
}

/// Serves a hook and answers it. Nothing is answered if the caller has gone.
pub fn serve(
    stream: UnixStream,
    event: Option<&str>,
    stdin: &[u8],
    facts: SessionFacts,
    (own, repeats): (&Environment, &Repeats),
) -> io::Result<()> {
    let is_repeated = facts.request.as_deref().is_some_and(|id| !repeats.begins(id, Instant::now()));
    on_behalf(stream, facts, own, |caller, request| {
        if is_repeated {
            let text = "Denied: the guard has served this request before. Make the call again.".to_owned();
            let answer = Answer::deny(&[Reason { rule: "on_failure", topic: None, text }]);
            let _ = caller.reply(&Reply::Answer(to_wire(answer)));
            return;
        }
        hooks::serve(stdin, event, request, |answer| {
            // A caller that has gone asks again, or has been ended by the client.
            let _ = caller.reply(&Reply::Answer(to_wire(answer)));
        });
    })
}

/// Explains a tool call: the files and variables that it depends on are those of the caller.
pub fn explain(
    stream: UnixStream,
    question: &Question,
    facts: SessionFacts,
    own: &Environment,
) -> io::Result<()> {
    on_behalf(stream, facts, own, |caller, request| {
        let explained = preview(question, request).map_err(|error| error.to_string());
        let value = explained.and_then(|preview| serde_json::to_value(preview).map_err(|e| e.to_string()));
        let _ = caller.reply(&value.map_or_else(Reply::Refused, Reply::Value));
    })
}

/// Serves a caller on this thread, which asks it about its machine.
fn on_behalf(
    stream: UnixStream,
    mut facts: SessionFacts,
    own: &Environment,
    serve: impl FnOnce(&Caller, &Request),
) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    let environment = environment(&facts, own, &RunnerEnvironment::of_process());
    let stated = std::mem::take(&mut facts.secrets);
    let recorded = Redactor::of_forms(stated.clone());
    let caller = Rc::new(Caller {
        stream,
        veil: Veil::new(own, &facts),
        secrets: Redactor::of_values(stated),
        asked: Cell::default(),
        spent: Cell::default(),
        broken: RefCell::default(),
    });
    let peer = Rc::clone(&caller);
    let served = catch_unwind(AssertUnwindSafe(|| {
        let request = Request {
            environment,
            agent: AgentSide::of_caller(facts, Box::new(move |lookup| peer.ask(lookup))),
            secrets: recorded.clone(),
            now: Utc::now(),
        };
        let _secrets = CallerSecrets::of(recorded);
        serve(&caller, &request);
    }));
    if served.is_err() {
        // Ignored by a caller that has its answer.
        caller
            .reply(&Reply::Failed("a defect of opsctl stopped the guard's check; please report it".into()))?;
    }
    Ok(())
}

/// The environment of a session: the ledger, the policy and the targets of the guard, and what the session's own states, as
/// far as the guard allows it.
pub fn environment(facts: &SessionFacts, own: &Environment, runner: &RunnerEnvironment) -> Environment {
    let lowest = |tiers: [Option<Tier>; 3]| tiers.into_iter().flatten().min();
    // Without a limit, a session may have no tier.
    let most = Some(runner.max_tier).filter(|tier| *tier < Tier::Full);
    let tier = facts.tier.map(|tier| Tier::from_number(tier).unwrap_or(Tier::Observe));
    Environment {
        tier: lowest([tier, own.tier, most]),
        is_tier_blank: facts.is_tier_blank,
        mode: facts.mode.as_deref().map(|mode| Mode::named(mode).unwrap_or(Mode::Background)).or(own.mode),
        dry_run: facts.dry_run || own.dry_run,
        ledger: ledger_of(facts, own),
        session: facts.session.clone(),
        role: facts.role.clone(),
        client_session: facts.client_session.clone(),
        project_dir: PathBuf::from(&facts.project_dir),
        results: Some(PathBuf::from(&facts.results_dir)),
        served: Some(ServedFolders {
            policy_dir: own.project_dir.clone(),
            state_dir: PathBuf::from(&facts.state_dir),
        }),
        guard: None,
        notify_socket: None,
        started: Instant::now(),
        warnings: vec![],
        ..own.clone()
    }
}

/// The ledger of the guard for one request, in the name that the agent's side states.
pub fn ledger_of(facts: &SessionFacts, own: &Environment) -> Location {
    let stated = facts.agent.as_deref().and_then(|name| plain_word(name.trim()));
    match stated {
        Some(agent) => own.ledger.limited().of_agent(agent),
        None => own.ledger.limited(),
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;

    /// The value of a variable in a list of them.
    fn of<'a>(variables: &'a [(&str, &str)]) -> impl Fn(&str) -> Option<OsString> + use<'a> {
        let variables = variables.to_vec();
        move |name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into())
    }

    #[test]
    fn a_session_never_gets_a_higher_tier_than_the_guard_allows() {
        for (stated, own, most, tier) in [
            (None, "", "", None),
            (Some(3), "", "", Some(3)),
            (Some(3), "", "2", Some(2)),
            (None, "", "2", Some(2)),
            (Some(1), "", "2", Some(1)),
            (Some(3), "1", "", Some(1)),
            (Some(9), "", "", Some(1)),
            (Some(3), "", "nine", Some(1)),
        ] {
            let mut variables = vec![("CLAUDEOPS_TIER", own), ("CLAUDEOPS_MAX_TIER", most)];
            variables.retain(|(_, value)| !value.is_empty());
            let facts = SessionFacts { tier: stated, ..SessionFacts::default() };
            let own = Environment::from_variables(of(&variables));
            let runner = RunnerEnvironment::from_variables(of(&variables));
            let found = environment(&facts, &own, &runner).tier.map(Tier::number);
            assert_eq!(found, tier, "{stated:?} {variables:?}");
        }
    }

    #[test]
    fn the_agents_side_states_its_name() {
        let own = Environment::from_variables(of(&[("CLAUDEOPS_AGENT", "guard")]));
        let long = "n".repeat(300);
        for (stated, name) in [
            (Some("nas"), "nas"),
            (Some(" n\u{1b}a\ns "), "nas"),
            (Some(long.as_str()), &long[..200]),
            (Some("\n"), "guard"),
            (None, "guard"),
        ] {
            let facts = SessionFacts { agent: stated.map(Into::into), ..SessionFacts::default() };
            assert_eq!(ledger_of(&facts, &own).agent_name(), name, "{stated:?}");
        }
    }

    #[test]
    fn a_session_has_the_ledger_and_the_targets_of_the_guard() {
        let own = Environment::from_variables(of(&[
            ("CLAUDEOPS_STATE_DIR", "/guard"),
            ("CLAUDE_PROJECT_DIR", "/app"),
            ("CLAUDEOPS_APPRISE_URLS", "json://x"),
            ("CLAUDEOPS_DRY_RUN", "true"),
        ]));
        let (project_dir, state_dir, mode) = ("/work".into(), "/state".into(), Some("bogus".into()));
        let facts = SessionFacts { mode, project_dir, state_dir, ..SessionFacts::default() };
        let found = environment(&facts, &own, &RunnerEnvironment::from_variables(|_| None));
        assert_eq!(found.ledger.place, own.ledger.place);
        assert_eq!((found.apprise_urls.as_deref(), found.dry_run), (Some("json://x"), true));
        assert_eq!((found.policy_dir().to_str(), found.mode), (Some("/app"), Some(Mode::Background)));
        assert_eq!(
            (found.project_dir.to_str(), found.session_state_dir().to_str()),
            (Some("/work"), Some("/state"))
        );
    }
}

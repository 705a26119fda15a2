//! Runs one session of the client and records it.

use std::fmt::Display;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::Value;
use tokio::process::Command;

use super::child::{self, Ended, Heard};
use super::deliveries::Deliveries;
use super::handoff::{self, FROM_SESSION};
use super::lines::Line;
use super::log::{self, Log};
use super::markers::Ignored;
use super::record::{Record, SessionOutcome};
use super::stream::{self, Account, Said};
use super::{credentials, markers, pinned, progress, transcript};
use crate::machine::environment::Environment;
use crate::machine::notify;
use crate::machine::notify::session_socket;
use crate::machine::runner::RunnerEnvironment;
use opsctl_ledger::Source;
use opsctl_ledger::sessions::client_runs::{NewRun, Waiting, WaitingRun};
use opsctl_machine::held_variables::variable;
use opsctl_policy::model::installation::client_setting::ClientSetting;
use opsctl_policy::model::installation::inventory::Inventory;
use opsctl_policy::model::records::event::{Level, NewEvent};
use opsctl_policy::model::records::notice::{Body, Notice};
use opsctl_policy::model::rights::policy::{Tier, Window};
use opsctl_policy::texts::notices;

/// The maximum number of recorded events from the agent's text per session.
const MOST_EVENTS: usize = 100;

/// The settings of a session.
pub struct Session<'a> {
    /// Its tier.
    pub tier: Tier,
    /// The model.
    pub model: &'a str,
    /// The client's arguments for the tier (layers 1 and 2).
    pub limits: Vec<String>,
    /// The prompt.
    pub prompt: String,
    /// The settings that `hosts.yaml` states.
    pub settings: &'a [ClientSetting],
    /// The hooks of the project, unless managed settings contain the guard.
    pub hooks: Option<Value>,
    /// The timeout.
    pub deadline: Window,
    /// The environment.
    pub environment: &'a Environment,
    /// The environment for running sessions.
    pub runner: &'a RunnerEnvironment,
    /// The inventory, for names of services.
    pub inventory: &'a Inventory,
    /// The id of the session that handed over to this one.
    pub parent: Option<&'a str>,
    /// The session that waited and goes on; `None` for a new one.
    pub resumed: Option<&'a WaitingRun>,
    /// The folder of the client's transcripts.
    pub transcripts: PathBuf,
}

/// The output of a session.
pub struct Voices<'a> {
    /// Prints progress, one line each.
    pub tell: &'a dyn Fn(&str),
    /// Prints warnings, one line each.
    pub complain: &'a dyn Fn(&str),
}

/// Runs a session until it ends or times out, and records its outcome.
pub fn run(session: &Session<'_>, voices: &Voices<'_>) -> std::io::Result<SessionOutcome> {
    // Signal handlers need the runtime.
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?
        .block_on(run_in_runtime(session, voices))
}

async fn run_in_runtime(session: &Session<'_>, voices: &Voices<'_>) -> std::io::Result<SessionOutcome> {
    let Session { tier, model, environment, runner, .. } = session;
    let id = session.resumed.map_or_else(|| uuid::Uuid::new_v4().to_string(), |run| run.session.clone());
    let (started, began) = (Utc::now(), Instant::now());
    // In a state folder that cannot be written, the host name stays the name.
    let _ = environment.ledger.keep_agent_name();
    for line in Record::end_cut_off(environment, started) {
        (voices.complain)(&line);
    }
    let results = environment.results_dir();
    let log = Log::create(&results, *tier, &id, started)
        .map_err(|error| {
            let folder = results.display();
            (voices.complain)(&format!(
                "no log of this session: {folder} cannot be written ({error}); name another with CLAUDEOPS_RESULTS_DIR"
            ));
        })
        .ok();
    let log_path = log.as_ref().map(|log| log.path().display().to_string());
    let new = NewRun {
        session: id.clone(),
        tier: tier.number(),
        model: (*model).to_owned(),
        log: log_path.clone(),
        parent: session.parent.map(str::to_owned),
    };
    let (record, warning) = match session.resumed {
        Some(waiting) => Record::resume(environment, waiting, &session.transcripts, started),
        None => Record::begin(environment, new, &session.transcripts, started),
    };
    let mut desk = Desk { session, voices, log, record, account: None, events: 0, ignored: vec![] };
    desk.complain_of(warning);
    (voices.tell)(&format!(
        "tier {}: session {id}{}, model {model}, at most {}{}",
        tier.number(),
        if session.resumed.is_some() { " goes on" } else { "" },
        session.deadline,
        log_path.map(|path| format!(", log {path}")).unwrap_or_default()
    ));

    let mut arguments: Vec<String> =
        ["-p", "--output-format", "stream-json", "--verbose"].map(str::to_owned).to_vec();
    arguments.push(if session.resumed.is_some() { "--resume" } else { "--session-id" }.to_owned());
    arguments.push(id.clone());
    arguments.extend(session.limits.iter().cloned());
    let number = tier.number().to_string();
    let deliveries = Deliveries::begin(&id, environment)?;
    let socket = deliveries.as_ref().map(|deliveries| deliveries.socket.as_str()).unwrap_or_default();
    let variables = [
        ("CLAUDEOPS_TIER", number.as_str()),
        ("CLAUDE_SESSION_ID", id.as_str()),
        (session_socket::VARIABLE, socket),
    ];
    let get = |name: &str| variable(name)?.into_string().ok();
    arguments.push("--settings".to_owned());
    arguments.push(pinned::settings(get, &variables, session.settings, session.hooks.clone()));
    let credentials = credentials::of(get)?;
    let mut command = Command::new(&runner.client);
    command.args(arguments).envs(variables).current_dir(&environment.project_dir);
    let (stdin, deadline) = (session.prompt.clone(), session.deadline.duration());
    let ended = child::run(command, credentials, stdin, deadline, |heard| desk.hear(heard, Utc::now())).await;
    if let Some(deliveries) = deliveries {
        deliveries.end();
    }
    Ok(desk.close(ended, began.elapsed(), Utc::now()))
}

/// The state of a running session.
struct Desk<'a> {
    session: &'a Session<'a>,
    voices: &'a Voices<'a>,
    log: Option<Log>,
    record: Record,
    account: Option<Account>,
    events: usize,
    /// The kinds of ignored markers that have been reported.
    ignored: Vec<Ignored>,
}

impl Desk<'_> {
    fn hear(&mut self, heard: Heard, now: DateTime<Utc>) {
        match heard {
            Heard::Out(Line::Text(text)) => match serde_json::from_str::<Value>(&text) {
                Ok(mut value) => {
                    opsctl_redact::json(&mut value);
                    self.write(&value);
                    for said in stream::read(&value) {
                        self.follow(said, now);
                    }
                }
                Err(_) if text.trim().is_empty() => {}
                Err(_) => self.odd("stdout", &text, now),
            },
            Heard::Err(Line::Text(text)) => self.odd("stderr", &text, now),
            Heard::Out(Line::TooLong(bytes)) | Heard::Err(Line::TooLong(bytes)) => {
                self.write(&log::own("left_out_bytes", bytes, now));
                (self.voices.tell)(&format!("  a line of {bytes} bytes was left out"));
            }
        }
    }

    /// Handles a line that is not part of the client's JSON stream.
    fn odd(&mut self, stream: &str, text: &str, now: DateTime<Utc>) {
        let text = opsctl_redact::text(text);
        self.write(&log::own(stream, &*text, now));
        let short = progress::short(&text);
        if !short.is_empty() {
            (self.voices.tell)(&format!("  {stream}: {short}"));
        }
    }

    fn follow(&mut self, said: Said, now: DateTime<Utc>) {
        let line = progress::line(&said);
        if !line.trim().is_empty() {
            (self.voices.tell)(&line);
        }
        match said {
            Said::Text(text) => {
                for kind in Ignored::ALL {
                    if markers::has(&text, kind) && !self.ignored.contains(&kind) {
                        self.ignored.push(kind);
                        (self.voices.complain)(kind.warning());
                        let event = NewEvent {
                            level: Level::Warning,
                            service: None,
                            message: kind.warning().to_owned(),
                        };
                        self.note(Source::Runner, &event, now);
                    }
                }
                for mut event in markers::find(&text) {
                    self.events += 1;
                    if self.events > MOST_EVENTS {
                        return;
                    }
                    event.service = event.service.map(|name| self.session.inventory.service_named(&name));
                    self.note(Source::Agent, &event, now);
                }
            }
            Said::End(account) => self.account = Some(account),
            Said::ToolCall(..) | Said::ToolResult(_) => {}
        }
    }

    fn write(&mut self, line: &Value) {
        let written = self.log.as_mut().map_or(Ok(()), |log| log.add(line));
        self.complain_of(written.err());
    }

    fn note(&mut self, source: Source, event: &NewEvent, now: DateTime<Utc>) {
        self.complain_of(self.record.event(source, event, now).err());
    }

    fn complain_of(&self, problem: Option<impl Display>) {
        if let Some(problem) = problem {
            (self.voices.complain)(&problem.to_string());
        }
    }

    /// Writes the hand-over of a structured result. `opsctl handoff take` checks it.
    fn hand_over(&mut self) {
        let Some(mut handoff) = self.account.as_mut().and_then(|account| account.handoff.take()) else {
            return;
        };
        handoff.insert(FROM_SESSION.to_owned(), self.record.session().into());
        let environment = self.session.environment;
        let desk = handoff::desk::Desk::new(&environment.state_dir, &environment.results_dir());
        if let Err(error) = desk.put(&Value::Object(handoff).to_string()) {
            let file = desk.open_file();
            (self.voices.complain)(&format!(
                "the hand-over is lost: {} cannot be written ({error}); name a writable folder with CLAUDEOPS_STATE_DIR",
                file.display()
            ));
        }
    }

    /// Keeps what the session needs to go on.
    fn wait(&self, call: String) -> SessionOutcome {
        let Session { environment, transcripts, .. } = self.session;
        match transcript::keep(transcripts, &environment.state_dir, self.record.session()) {
            Ok(transcript) => SessionOutcome::Waiting(Waiting { call, transcript }),
            Err(error) => {
                SessionOutcome::Failed(format!("it waits for a person, and cannot be resumed: {error}"))
            }
        }
    }

    /// Records the end of the session.
    fn close(mut self, ended: std::io::Result<Ended>, took: Duration, now: DateTime<Utc>) -> SessionOutcome {
        let exit_code = match &ended {
            Ok(Ended::Exited(status)) => status.code(),
            Ok(Ended::Deadline | Ended::Asked) | Err(_) => None,
        };
        let outcome =
            outcome(ended, self.account.as_ref(), &self.session.runner.client.display().to_string())
                .unwrap_or_else(|call| self.wait(call));
        let duration_ms = i64::try_from(took.as_millis()).unwrap_or(i64::MAX);
        let end = self.record.end(&outcome, exit_code, self.account.as_ref(), duration_ms, now);
        self.complain_of(end.err());
        if !matches!(outcome, SessionOutcome::Waiting(_)) {
            transcript::remove(&self.session.environment.state_dir, self.record.session());
            self.hand_over();
        }
        let tier = self.session.tier.number();
        let (level, what) = match &outcome {
            SessionOutcome::Completed => (None, "completed".to_owned()),
            SessionOutcome::Waiting(_) => (None, "waits for a person: see `opsctl approvals`".to_owned()),
            SessionOutcome::Signalled => (None, "was ended: opsctl received a signal to end".to_owned()),
            SessionOutcome::TimedOut => {
                (Some(Level::Warning), format!("was ended at its deadline of {}", self.session.deadline))
            }
            SessionOutcome::Failed(why) => {
                (Some(Level::Warning), format!("failed: {}", progress::short(why)))
            }
            SessionOutcome::NotStarted(why) => {
                (Some(Level::Critical), format!("could not be started: {why}"))
            }
        };
        let message = opsctl_redact::text(&format!("Session of tier {tier} {what}")).into_owned();
        self.write(&log::own("end", message.as_str(), now));
        if let Some(level) = level {
            self.note(Source::Runner, &NewEvent { level, service: None, message: message.clone() }, now);
        }
        let notice = if self.session.tier == Tier::Full && !matches!(outcome, SessionOutcome::Waiting(_)) {
            let said = self.account.as_ref().map(|account| account.words.as_str()).unwrap_or_default();
            let ended = summary(&message, self.account.as_ref(), took);
            let (level, id) = (level.unwrap_or(Level::Info), self.record.session());
            Some(notices::session_report(&ended, said, level, id, self.session.tier))
        } else {
            level.map(|level| Notice {
                // One key per outcome, so that a client that fails in every round is reported once in four hours.
                key: format!("session/{tier}/{}", outcome.as_str()),
                quiet_until: Some(now + TimeDelta::hours(4)),
                level,
                title: format!("Claude Ops: a session of tier {tier} did not complete"),
                body: Body::Plain(message.clone()),
                tags: vec!["session".to_owned()],
            })
        };
        let raise =
            |notice| notify::raise(self.session.environment, Some(self.record.session()), &notice, now);
        self.complain_of(notice.and_then(raise));
        (self.voices.tell)(&summary(&message, self.account.as_ref(), took));
        outcome
    }
}

/// The outcome, or the client's id of the call that waits for a person.
fn outcome(
    ended: std::io::Result<Ended>,
    account: Option<&Account>,
    client: &str,
) -> Result<SessionOutcome, String> {
    Ok(match ended {
        Err(error) => SessionOutcome::NotStarted(format!(
            "{client} ({error}); install the client, or name it with CLAUDEOPS_CLIENT"
        )),
        Ok(Ended::Deadline) => SessionOutcome::TimedOut,
        Ok(Ended::Asked) => SessionOutcome::Signalled,
        Ok(Ended::Exited(status)) => match account {
            Some(account) if account.is_error => SessionOutcome::Failed(account.words.clone()),
            Some(Account { waiting_call: Some(call), .. }) if status.success() => return Err(call.clone()),
            Some(_) if status.success() => SessionOutcome::Completed,
            Some(_) => SessionOutcome::Failed(format!("the client ended with {status}")),
            None => SessionOutcome::Failed(format!("the client ended with {status} and without a result")),
        },
    })
}

fn summary(message: &str, account: Option<&Account>, took: Duration) -> String {
    let mut parts = vec![format!("{:.1} s", took.as_secs_f64())];
    if let Some(account) = account {
        parts.extend(account.turns.map(|turns| format!("{turns} turns")));
        parts.extend(account.cost_usd.map(|cost| format!("{cost:.4} USD")));
    }
    format!("{message} ({})", parts.join(", "))
}

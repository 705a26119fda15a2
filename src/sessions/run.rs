//! Runs one session of the client and records it.

use std::fmt::Display;
use std::io;
use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use rustix::process::Signal;
use serde_json::Value;
use tokio::sync::mpsc::Receiver;

use super::child::{Ended, Heard};
use super::deliveries::Deliveries;
use super::handoff::{self, FROM_SESSION};
use super::launch::received;
use super::log::{self, Log};
use super::output::lines::Line;
use super::output::markers::{self, Ignored};
use super::output::progress;
use super::output::stream::{self, Account, Said};
use super::record::{Record, SessionOutcome};
use super::session::{Session, Voices};
use super::start::Start;
use super::transcript;
use super::verifier::{self};
use crate::machine::client::verifier as verification;
use crate::machine::notify;
use crate::machine::records;
use opsctl_ledger::sessions::client_runs::{NewRun, Waiting};
use opsctl_ledger::{Ledger, Source};
use opsctl_machine::plain_file;
use opsctl_policy::model::records::event::{Level, NewEvent};
use opsctl_policy::model::records::notice::{Body, Notice};
use opsctl_policy::model::rights::policy::Tier;
use opsctl_policy::rules::dry_run;
use opsctl_policy::texts::notices;

/// The maximum number of recorded events from the agent's text per session.
const MOST_EVENTS: usize = 100;

/// How long the ledger is tidied before a session. What is left is done before the next one.
const UPKEEP: Duration = Duration::from_secs(3);

/// Runs a session until it ends or times out, and records its outcome.
pub fn run(session: &Session<'_>, voices: &Voices<'_>) -> io::Result<SessionOutcome> {
    // Signal handlers need the runtime.
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?
        .block_on(run_in_runtime(session, voices))
}

async fn run_in_runtime(session: &Session<'_>, voices: &Voices<'_>) -> io::Result<SessionOutcome> {
    let Session { tier, model, environment, .. } = session;
    let id = session.resumed.map_or_else(|| uuid::Uuid::new_v4().to_string(), |run| run.session.clone());
    let (started, began) = (Utc::now(), Instant::now());
    // In a state folder that cannot be written, the host name stays the name.
    let _ = environment.ledger.keep_agent_name();
    for line in Record::end_cut_off(environment, started) {
        (voices.complain)(&line);
    }
    let results = environment.results_dir();
    let (keep, mib) = session.keep;
    Log::clean(&results, keep.delta(), u64::from(mib) * 1024 * 1024, started);
    if environment.guard.is_none() {
        // A guard does this for its own ledger. What fails here fails in a hook, too, and is reported there.
        let _ = Ledger::tidy_at(&environment.ledger, Some(keep.delta()), UPKEEP, started, |_| true);
    }
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
    let mut desk = Desk {
        session,
        voices,
        log,
        record,
        account: None,
        earlier: Account::default(),
        verifiers: Account::default(),
        events: 0,
        ignored: vec![],
    };
    desk.complain_of(warning);
    (voices.tell)(&format!(
        "tier {}: session {id}{}, model {model}, at most {}{}{}",
        tier.number(),
        if session.resumed.is_some() { " continues" } else { "" },
        session.deadline,
        if environment.dry_run { format!(", {}", dry_run::NOTICE) } else { String::new() },
        log_path.map(|path| format!(", log {path}")).unwrap_or_default()
    ));

    // Before the first start, so that no signal is lost.
    let mut asked = received(&[Signal::TERM, Signal::INT, Signal::HUP])?;
    let deliveries = Deliveries::begin(&id, environment)?;
    let socket = deliveries.as_ref().map(|deliveries| deliveries.socket.as_str()).unwrap_or_default();
    let until = began + session.deadline.duration();
    let mut start = Start {
        tier: *tier,
        id: id.clone(),
        is_resumed: session.resumed.is_some(),
        limits: &session.limits,
        prompt: session.prompt.clone(),
        is_verifier: false,
    };
    let ended = loop {
        let deadline = until.saturating_duration_since(Instant::now());
        let heard = |heard| desk.hear(heard, Utc::now());
        let ended = start.run(session, socket, deadline, &mut asked, heard).await;
        match desk.verify(ended, socket, until, &mut asked).await {
            Next::End(ended) => break ended,
            Next::GoOn(feedback) => (start.is_resumed, start.prompt) = (true, feedback),
        }
    };
    if let Some(deliveries) = deliveries {
        deliveries.end();
    }
    Ok(desk.close(ended, began.elapsed(), Utc::now()))
}

/// What follows when the client has ended.
enum Next {
    /// The session ends.
    End(io::Result<Ended>),
    /// It goes on with this prompt.
    GoOn(String),
}

/// The state of a running session.
struct Desk<'a> {
    session: &'a Session<'a>,
    voices: &'a Voices<'a>,
    log: Option<Log>,
    record: Record,
    account: Option<Account>,
    /// Of the client's earlier starts in this session.
    earlier: Account,
    /// Of its verifiers.
    verifiers: Account,
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
            Said::End(mut account) => {
                account.add_earlier(&self.earlier);
                self.account = Some(account);
            }
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

    /// Has a model verify a completed session, if it acted on services since the last time.
    async fn verify(
        &mut self,
        ended: io::Result<Ended>,
        socket: &str,
        until: Instant,
        asked: &mut Receiver<Signal>,
    ) -> Next {
        let Session { environment, tier, .. } = self.session;
        let (Some(verifier), Some(row)) = (&self.session.verifier, self.record.row()) else {
            return Next::End(ended);
        };
        if !is_complete(&ended, self.account.as_ref()) || !self.is_verifier_due(row) {
            return Next::End(ended);
        }
        let words = self.account.as_ref().map(|account| account.words.as_str()).unwrap_or_default();
        let session = self.record.session().to_owned();
        let start = Start {
            tier: Tier::Observe,
            id: uuid::Uuid::new_v4().to_string(),
            is_resumed: false,
            limits: &verifier.limits,
            prompt: verifier.prompt(&session, &self.session.transcripts, &environment.project_dir, words),
            is_verifier: true,
        };
        (self.voices.tell)(&format!("  verifier: session {}, model {}", start.id, verifier.model));
        let deadline = verifier.deadline.min(until.saturating_duration_since(Instant::now()));
        let mut account = None;
        let running = start.run(self.session, socket, deadline, asked, |heard| {
            account = self.hear_verifier(heard, Utc::now()).or(account.take());
        });
        let desk = handoff::desk::Desk::new(&environment.state_dir, &environment.results_dir());
        let handed_over = plain_file::text(&desk.open_file()).ok();
        let verification = running.await;
        // A verifier hands nothing over.
        if plain_file::text(&desk.open_file()).ok() != handed_over {
            let restored =
                handed_over.map_or_else(|| std::fs::remove_file(desk.open_file()), |text| desk.put(&text));
            self.complain_of(restored.err());
        }
        if matches!(verification, Ok(Ended::Asked)) {
            return Next::End(verification);
        }
        if let Some(account) = &account {
            self.verifiers.add_verifier(account);
        }
        let now = Utc::now();
        let objection = match verifier::objection(account.as_ref(), &verification) {
            Ok(objection) => objection,
            Err(why) => {
                let event = verification::no_answer(&why);
                (self.voices.complain)(&event.message);
                self.note(Source::Runner, &event, now);
                return Next::End(ended);
            }
        };
        (self.voices.tell)(&format!(
            "  verifier: {}",
            objection.as_deref().map_or("ok".to_owned(), progress::short)
        ));
        let feedback = records::verified(environment, row, *tier, objection, now).unwrap_or_else(|error| {
            self.complain_of(Some(error));
            None
        });
        let Some(feedback) = feedback else { return Next::End(ended) };
        self.earlier = self.account.take().unwrap_or_default();
        Next::GoOn(feedback)
    }

    fn is_verifier_due(&self, row: i64) -> bool {
        let due = records::is_verifier_due(self.session.environment, row, Utc::now());
        due.unwrap_or_else(|error| {
            self.complain_of(Some(error));
            false
        })
    }

    /// Prints and logs what a verifier does; returns its account at its end.
    fn hear_verifier(&mut self, heard: Heard, now: DateTime<Utc>) -> Option<Account> {
        let (Heard::Out(Line::Text(text)) | Heard::Err(Line::Text(text))) = heard else { return None };
        let mut value: Value = serde_json::from_str(&text).ok()?;
        opsctl_redact::json(&mut value);
        let mut account = None;
        for said in stream::read(&value) {
            let line = progress::line(&said);
            if !line.trim().is_empty() {
                self.write(&log::own("verifier", line.trim(), now));
                (self.voices.tell)(&format!("  {line}"));
            }
            if let Said::End(end) = said {
                account = Some(end);
            }
        }
        account
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
    fn close(mut self, ended: io::Result<Ended>, took: Duration, now: DateTime<Utc>) -> SessionOutcome {
        if let Some(account) = &mut self.account {
            account.add_verifier(&self.verifiers);
        }
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
                title: format!("opsctl: a session of tier {tier} did not complete"),
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

/// Whether the client has completed the session, and no call waits for a person.
fn is_complete(ended: &io::Result<Ended>, account: Option<&Account>) -> bool {
    matches!(ended, Ok(Ended::Exited(status)) if status.success())
        && account.is_some_and(|account| !account.is_error && account.waiting_call.is_none())
}

/// The outcome, or the client's id of the call that waits for a person.
fn outcome(
    ended: io::Result<Ended>,
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

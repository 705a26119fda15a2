//! The audit log: every decision on a command that acts, and hook durations.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde::{Serialize, Serializer};

use super::entry::Entry;
use crate::call_id::CallId;
use crate::engine::{Result, Row, Select, from_row, insert};
use crate::file::database::{Change, Ledger};
use crate::records::history::Period;
use crate::time;
use opsctl_policy::model::display::percentile::{milliseconds, percentile};
use opsctl_policy::model::rights::policy::Tier;
use opsctl_reader::terms::effect::Effect;

/// The maximum number of rows in statistics, the latest ones.
const SAMPLE: u32 = 20_000;

/// How many of the latest decisions are searched for a service, a rule or an agent, if no time or session bounds the search.
const SEARCHED: i64 = 50_000;

/// A decision to record.
#[derive(Debug, Clone, Copy, Default)]
pub struct NewDecision<'a> {
    /// The tool call.
    pub call: CallId<'a>,
    /// The tier of the session.
    pub tier: Option<Tier>,
    /// `allow`, `deny`, `fail-open` or `fail-closed`.
    pub verdict: &'a str,
    /// The call as a person reads it.
    pub command: &'a str,
    /// The hosts that it concerns, separated by spaces.
    pub hosts: &'a str,
    /// The rules that denied it, separated by spaces.
    pub rule: &'a str,
    /// A description of the actions, from the parsed command.
    pub actions: &'a str,
    /// The target services, separated by spaces.
    pub services: &'a str,
    /// A description of the budgets at the time of the decision.
    pub budgets: &'a str,
    /// The reason, as shown to the model.
    pub reason: &'a str,
    /// What the call does to the world; `None`: nothing asked for it.
    pub effect: Option<Effect>,
    /// The time until the decision, without the time to record it.
    pub took: Option<Duration>,
    /// The states before its actions, and the commands that return to them.
    pub undo: &'a str,
}

/// The verdict of a row that states what a person has done.
pub const OPERATOR: &str = "operator";

/// The verdict on a call that ran although the policy denies it: it is only watched.
pub const WOULD_DENY: &str = "would deny";

/// What a person has done with a verb of opsctl or at the desk.
#[derive(Debug, Clone, Copy)]
pub struct OperatorAct<'a> {
    /// Who.
    pub person: &'a str,
    /// The command, as a person reads it.
    pub command: &'a str,
    /// The services that it concerns, separated by spaces.
    pub services: &'a str,
    /// The session of the agent that has done it in place of a person.
    pub session: Option<&'a str>,
}

/// A stored decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Decision {
    /// Its row id, which ascends.
    pub id: i64,
    /// The time of the decision; `None` if it cannot be parsed.
    pub at: Option<DateTime<Utc>>,
    /// The id of the session.
    pub session: Option<String>,
    /// The agent; `None` if it is not known.
    pub agent: Option<String>,
    /// The number of the session's tier.
    pub tier: Option<u8>,
    /// `allow`, `deny`, `fail-open` or `fail-closed`; `operator`: not a decision but what a person has done.
    pub verdict: String,
    /// The call as a person reads it.
    pub command: String,
    /// The hosts that it concerns, separated by spaces; none: this machine.
    #[serde(serialize_with = "words")]
    pub hosts: String,
    /// Who has done it, with the verdict `operator`.
    pub person: Option<String>,
    /// The rules that denied it, separated by spaces.
    #[serde(rename = "rules", serialize_with = "words")]
    pub rule: String,
    /// A description of the actions.
    pub actions: String,
    /// The target services, separated by spaces.
    #[serde(serialize_with = "words")]
    pub services: String,
    /// A description of the budgets at the time of the decision.
    pub budgets: String,
    /// The reason, as shown to the model.
    pub reason: String,
    /// What it does to the world: `reads`, `acts`, `changes` or `unknown`; `None`: nothing asked for it.
    pub effect: Option<String>,
    /// The time until the decision, in microseconds.
    pub micros: Option<i64>,
    /// The states before its actions, and the commands that return to them, one in a line; `None` if no tool has stated any.
    pub undo: Option<String>,
}

/// Serialises words that are separated by spaces as a list.
fn words<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(text.split_whitespace())
}

/// Selects decisions or events; `None` selects all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Which<'a> {
    /// Those with this target service.
    pub service: Option<&'a str>,
    /// Those that concern this host; only decisions do.
    pub host: Option<&'a str>,
    /// Those whose command contains this text; only decisions have one.
    pub command: Option<&'a str>,
    /// Those of this tier; only decisions have one.
    pub tier: Option<u8>,
    /// Those with this verdict; only decisions have one.
    pub verdict: Option<&'a str>,
    /// Those of this rule; only decisions have one.
    pub rule: Option<&'a str>,
    /// Those of this level; only events have one.
    pub level: Option<&'a str>,
    /// Those of this session.
    pub session: Option<&'a str>,
    /// Those at or after this time.
    pub since: Option<DateTime<Utc>>,
    /// Those before this time.
    pub until: Option<DateTime<Utc>>,
    /// Those after this row id.
    pub after: Option<i64>,
    /// Those up to this row id.
    pub through: Option<i64>,
    /// Those of this agent.
    pub agent: Option<&'a str>,
}

/// Statistics of recorded decisions and hooks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Statistics {
    /// The durations of each hook in microseconds, ascending, by event in kebab case.
    pub times: BTreeMap<String, Vec<i64>>,
    /// The number of decisions per verdict.
    pub verdicts: BTreeMap<String, u64>,
    /// The number of denials per rule.
    pub rules: BTreeMap<String, u64>,
    /// The number of calls per rule that ran and would have been denied.
    pub would_deny: BTreeMap<String, u64>,
}

/// The durations of a hook in milliseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Durations {
    /// The event, in kebab case.
    pub event: String,
    /// The number of recorded calls.
    pub calls: usize,
    /// The median.
    pub p50_ms: f64,
    /// The 95th percentile.
    pub p95_ms: f64,
    /// The 99th percentile.
    pub p99_ms: f64,
}

impl Statistics {
    /// The durations of each hook.
    pub fn durations(&self) -> Vec<Durations> {
        let of_event = |(event, micros): (&String, &Vec<i64>)| {
            let [p50_ms, p95_ms, p99_ms] =
                [50, 95, 99].map(|percent| milliseconds(percentile(micros, percent)));
            Durations { event: event.clone(), calls: micros.len(), p50_ms, p95_ms, p99_ms }
        };
        self.times.iter().map(of_event).collect()
    }
}

/// A name with its count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Counted {
    /// The name.
    pub name: String,
    /// The count.
    pub count: u64,
}

/// Counts, the largest first.
pub fn most_first(counts: &BTreeMap<String, u64>) -> Vec<Counted> {
    let mut counts: Vec<_> =
        counts.iter().map(|(name, count)| Counted { name: name.clone(), count: *count }).collect();
    counts.sort_by_key(|counted| std::cmp::Reverse(counted.count));
    counts
}

const COLUMNS: &str =
    "SELECT id, at, session_id, tier, verdict, rule, actions, services, budgets, reason, micros, effect, agent, command, hosts, person, undo
     FROM hook_decisions";

impl Change<'_> {
    /// Records a decision, without secrets.
    pub fn note_decision(&self, decision: &NewDecision<'_>, now: DateTime<Utc>) -> Result<()> {
        let NewDecision {
            call,
            tier,
            verdict,
            command,
            hosts,
            rule,
            actions,
            services,
            budgets,
            reason,
            effect,
            took,
            undo,
        } = *decision;
        let text = |text: &str| opsctl_redact::text(text).into_owned();
        self.add_entry(Entry {
            at: time::write(now),
            session: call.session.map(str::to_owned),
            tool_use: call.tool_use.map(str::to_owned),
            tier: tier.map(Tier::number),
            verdict: verdict.to_owned(),
            rule: rule.to_owned(),
            actions: text(actions),
            services: text(services),
            budgets: text(budgets),
            reason: text(reason),
            micros: took.map(micros),
            effect: effect.map(|effect| effect.as_str().to_owned()),
            agent: Some(self.agent()),
            command: text(command),
            hosts: text(hosts),
            person: None,
            undo: Some(text(undo)).filter(|undo| !undo.is_empty()),
        });
        Ok(())
    }

    /// Records what a person has done: a command, and the services that it concerns. `session` is that of an agent that has done
    /// it in place of a person.
    pub fn note_operator(&self, done: &OperatorAct<'_>, now: DateTime<Utc>) -> Result<()> {
        let OperatorAct { person, command, services, session } = *done;
        let text = |text: &str| opsctl_redact::text(text).into_owned();
        self.add_entry(Entry {
            at: time::write(now),
            session: session.map(str::to_owned),
            verdict: OPERATOR.to_owned(),
            services: text(services),
            agent: Some(self.agent()),
            command: text(command),
            person: Some(text(person)),
            ..Entry::default()
        });
        Ok(())
    }

    /// Records the duration of a hook, without the time to record it.
    pub fn note_time(&self, event: &str, took: Duration, now: DateTime<Utc>) -> Result<()> {
        insert!(self.run into hook_times {
            at: time::write(now), event: event, micros: micros(took), agent: self.agent()
        })
    }
}

/// The rules of decisions, the most frequent first.
pub fn by_rule(decisions: &[Decision]) -> Vec<Counted> {
    let mut counts = BTreeMap::new();
    for rule in decisions.iter().flat_map(|decision| decision.rule.split_whitespace()) {
        *counts.entry(rule.to_owned()).or_default() += 1;
    }
    most_first(&counts)
}

impl Ledger {
    /// The latest matching decisions, at most `count`, newest first.
    pub fn decisions(&self, which: Which<'_>, count: u32) -> Result<Vec<Decision>> {
        let Which {
            service,
            host,
            command,
            tier,
            verdict,
            rule,
            session,
            since,
            until,
            after,
            through,
            agent,
            ..
        } = which;
        let (since, until) = (since.map(time::write), until.map(time::write));
        // Words have no index.
        let is_bounded = session.is_some() || since.is_some() || after.is_some();
        let has_words =
            service.is_some() || host.is_some() || command.is_some() || rule.is_some() || agent.is_some();
        let searched = (!is_bounded && (has_words || tier.is_some())).then_some(SEARCHED);
        let select = Select::new(COLUMNS)
            .only("session_id = ?", session.as_ref())
            .only("verdict = ?", verdict.as_ref())
            .only("at >= ?", since.as_ref())
            .only("at < ?", until.as_ref())
            .only("tier = ?", tier.as_ref())
            .only("id > ?", after.as_ref())
            .only("id <= ?", through.as_ref())
            .only("id > (SELECT max(id) FROM hook_decisions) - ?", searched.as_ref())
            .only("agent = ?", agent.as_ref())
            .only("instr(' ' || services || ' ', ' ' || ? || ' ') > 0", service.as_ref())
            .only("instr(command, ?) > 0", command.as_ref())
            .only("instr(' ' || hosts || ' ', ' ' || ? || ' ') > 0", host.as_ref())
            .only("instr(' ' || rule || ' ', ' ' || ? || ' ') > 0", rule.as_ref())
            .then(if through.is_none() && (since.is_some() || until.is_some() || verdict.is_some()) {
                " ORDER BY at DESC, id DESC LIMIT ?"
            } else {
                " ORDER BY id DESC LIMIT ?"
            })
            .with(&count);
        self.select(&select, decision)
    }

    /// The row id of the last decision; 0 if there is none.
    pub fn last_decision(&self) -> Result<i64> {
        self.query_row("SELECT coalesce(max(id), 0) FROM hook_decisions", &[], |row| row.get(0))
    }

    /// The latest matching decisions, at most `most`, newest first, and whether there are more.
    pub fn decisions_of_period(&self, which: Which<'_>, most: u32) -> Result<Period<Decision>> {
        self.decisions(which, most.saturating_add(1)).map(|rows| Period::of(rows, most))
    }

    /// The latest decisions of a period with one of these verdicts, at most `most`, newest first, and whether there are more.
    pub fn with_verdicts(&self, verdicts: &[&str], which: Which<'_>, most: u32) -> Result<Period<Decision>> {
        let mut rows = Vec::new();
        for verdict in verdicts {
            rows.extend(self.decisions(Which { verdict: Some(verdict), ..which }, most.saturating_add(1))?);
        }
        rows.sort_by_key(|row| std::cmp::Reverse((row.at, row.id)));
        Ok(Period::of(rows, most))
    }

    /// Statistics of the latest decisions and hooks of an agent (`None`: of all agents) at or after `since` and before `until`.
    pub fn statistics(
        &self,
        agent: Option<&str>,
        since: DateTime<Utc>,
        until: Option<DateTime<Utc>>,
    ) -> Result<Statistics> {
        let mut found = Statistics::default();
        let (since, until) = (Some(time::write(since)), until.map(time::write));
        let latest = |table: &str| {
            let of_agent = Select::new(table)
                .only("at >= ?", since.as_ref())
                .only("at < ?", until.as_ref())
                .only("agent = ?", agent.as_ref());
            of_agent.then(" ORDER BY at DESC LIMIT ?").with(&SAMPLE)
        };
        self.select(&latest("SELECT verdict, rule, micros FROM hook_decisions"), |row| {
            let (verdict, rules): (String, String) = (row.get(0)?, row.get(1)?);
            if verdict == OPERATOR {
                return Ok(());
            }
            let by_rule = if verdict == WOULD_DENY { &mut found.would_deny } else { &mut found.rules };
            for rule in rules.split_whitespace() {
                *by_rule.entry(rule.to_owned()).or_default() += 1;
            }
            *found.verdicts.entry(verdict).or_default() += 1;
            if let Some(micros) = row.get(2)? {
                found.times.entry("pre-tool-use".to_owned()).or_default().push(micros);
            }
            Ok(())
        })?;
        self.select(&latest("SELECT event, micros FROM hook_times"), |row| {
            found.times.entry(row.get(0)?).or_default().push(row.get(1)?);
            Ok(())
        })?;
        for times in found.times.values_mut() {
            times.sort_unstable();
        }
        Ok(found)
    }
}

fn decision(row: &Row<'_>) -> Result<Decision> {
    Ok(from_row!(row => Decision {
        id, at: time, session, tier, verdict, rule, actions, services, budgets, reason, micros, effect, agent,
        command, hosts, person, undo
    }))
}

fn micros(took: Duration) -> i64 {
    i64::try_from(took.as_micros()).unwrap_or(i64::MAX)
}

//! Past calls, decided again under a policy. Nothing is written, and nothing of this machine's ledger counts but the resets of
//! budgets: the history is that of the calls which the policy would have allowed.

pub mod audit;
pub mod transcripts;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;

use chrono::{DateTime, Utc};
use serde::Serialize;

use crate::guard::screen;
use crate::machine::request::Request;
use opsctl_inventory::Installation;
use opsctl_policy::budgets::budget::Usage;
use opsctl_policy::decide::{BudgetKey, Budgets, Reservation, Snapshot, budget_keys, decide, reservations};
use opsctl_policy::effects::Why;
use opsctl_policy::model::records::event::ToolCall;
use opsctl_policy::model::records::verdict::{Reason, ResolvedAction, Verdict};
use opsctl_policy::model::rights::header::PolicyHeader;
use opsctl_policy::model::rights::policy::Tier;
use opsctl_policy::rules::ask::asks;
use opsctl_policy::screen::{Screen, Screened};
use opsctl_policy::targets::identity::{self, NoSurroundings};
use opsctl_reader::terms::action::Verb;
use opsctl_reader::terms::effect::Effect;

/// A past call.
#[derive(Debug, Clone)]
pub struct PastCall {
    /// When it was made.
    pub at: DateTime<Utc>,
    /// The tier of its session.
    pub tier: Option<Tier>,
    /// The call.
    pub tool: ToolCall,
    /// Its working directory.
    pub cwd: Option<PathBuf>,
    /// The call as a person reads it.
    pub shown: String,
    /// What became of it; `None` if no guard decided on it.
    pub recorded: Option<Recorded>,
}

/// What became of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// Whether it was denied.
    pub denied: bool,
    /// Whether a person had to allow it, or was asked.
    pub asked: bool,
    /// The rules that objected to it.
    pub rules: String,
}

/// What the policy says about a past call.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Decided {
    /// Why it denies it; empty if it allows it.
    pub reasons: Vec<Reason>,
    /// Whether a person would be asked.
    pub asks: bool,
    /// Whether a part of it is not understood.
    pub is_unknown: bool,
    /// Its programs, with their verbs, that neither the catalogue nor `programs` lists.
    pub unlisted: Vec<String>,
    /// The budgets on which it draws.
    pub draws: Vec<BudgetKey>,
}

impl Decided {
    /// The names of the rules that object, each once.
    pub fn rules(&self) -> String {
        let mut rules: Vec<&str> = self.reasons.iter().map(|reason| reason.rule).collect();
        rules.dedup();
        rules.join(" ")
    }
}

/// A change of a decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// When the call was made.
    pub at: DateTime<Utc>,
    /// The call.
    pub command: String,
    /// The rules that object to it: of the policy, or those that did when it was made.
    pub rules: String,
    /// The reason of the policy; empty if it allows the call.
    pub reason: String,
}

/// The result of a replay.
#[derive(Debug, Default, Serialize)]
pub struct Replayed {
    /// How many calls were decided again.
    pub calls: usize,
    /// How many could not be: the record has no whole command.
    pub skipped: usize,
    /// The time of the first and of the last call.
    pub first: Option<DateTime<Utc>>,
    /// See `first`.
    pub last: Option<DateTime<Utc>>,
    /// What was allowed, and is denied by the policy; all denials where no guard decided.
    pub newly_denied: Vec<Difference>,
    /// What was denied, and is allowed by the policy.
    pub newly_allowed: Vec<Difference>,
    /// How many of them a person would be asked about.
    pub asked: usize,
    /// Denials by the policy, by rule.
    pub denials: BTreeMap<&'static str, usize>,
    /// Actions that count, by service and kind.
    pub counted: BTreeMap<String, usize>,
    /// How many calls have a part that is not understood.
    pub unknown: usize,
    /// Programs, with their verbs, that neither the catalogue nor `programs` lists, with how often they were seen.
    pub unlisted: BTreeMap<String, usize>,
}

/// The most differences of each kind that are kept.
const MOST: usize = 1_000;

/// The most different calls that are kept as they were read.
const MOST_KNOWN: usize = 20_000;

/// How many calls are decided before the progress is shown again.
const STEP: usize = 500;

/// Decides calls again, in the order of their times. `resets` are the times at which the counters of services were cleared.
pub fn replay(
    calls: impl Iterator<Item = PastCall>,
    resets: &[(String, DateTime<Utc>)],
    installation: &Installation,
    header: &PolicyHeader,
    request: &Request,
    progress: &dyn Fn(String),
) -> Replayed {
    screen::with(header, request, |screen| {
        let mut policy = Replay {
            screen,
            installation,
            past: Snapshot::new(),
            resets: resets.iter().peekable(),
            known: BTreeMap::new(),
        };
        let mut found = Replayed::default();
        for call in calls {
            let decided = policy.decide(&call);
            found.add(&call, &decided);
            if found.calls % STEP == 0 {
                progress(format!("{} calls replayed", found.calls));
            }
        }
        found
    })
}

struct Replay<'a, R: Iterator<Item = &'a (String, DateTime<Utc>)>> {
    screen: Screen<'a>,
    installation: &'a Installation,
    past: Snapshot,
    resets: std::iter::Peekable<R>,
    known: BTreeMap<(String, Option<PathBuf>, Option<Tier>), Rc<Read>>,
}

/// What a call does, and what rules object to that need no budget.
struct Read {
    is_unknown: bool,
    unlisted: Vec<String>,
    actions: Vec<ResolvedAction>,
    objections: Vec<Reason>,
}

impl<'a, R: Iterator<Item = &'a (String, DateTime<Utc>)>> Replay<'a, R> {
    fn decide(&mut self, call: &PastCall) -> Decided {
        while let Some((service, _)) = self.resets.next_if(|(_, at)| *at <= call.at) {
            for (_, usage) in self.past.iter_mut().filter(|(key, _)| key.service == *service) {
                usage.entries.clear();
            }
        }
        let policy = &self.installation.policy;
        let read = self.read(call);
        let Read { is_unknown, unlisted, actions, .. } = &*read;
        let mut reasons = read.objections.clone();
        let keys = budget_keys(actions, policy);
        let usage = self.usage(&keys);
        if reasons.is_empty() && !actions.is_empty() {
            let budgets = Budgets { policy, usage: &usage, now: call.at };
            if let Verdict::Deny(more) = decide(actions, budgets, call.tier.or(self.screen.tier)).verdict {
                reasons.extend(more);
            }
        }
        let asked = asks(&reasons, policy).is_some();
        let draws = if reasons.is_empty() || asked { self.run(actions, &usage, call.at) } else { vec![] };
        Decided { asks: asked, reasons, is_unknown: *is_unknown, unlisted: unlisted.clone(), draws }
    }

    /// What a call does. Commands are repeated, so what was read is kept.
    fn read(&mut self, call: &PastCall) -> Rc<Read> {
        let tier = call.tier.or(self.screen.tier);
        let ToolCall { id, command, .. } = &call.tool;
        let alone = ToolCall { id: id.clone(), command: command.clone(), ..ToolCall::default() };
        let key =
            command.clone().filter(|_| alone == call.tool).map(|command| (command, call.cwd.clone(), tier));
        if let Some(known) = key.as_ref().and_then(|key| self.known.get(key)) {
            return Rc::clone(known);
        }
        let Installation { inventory, policy, .. } = self.installation;
        let screen = Screen { tier, ..self.screen };
        let Screened { reading, effects, mut objections } =
            screen.call(&call.tool, call.cwd.as_deref(), true);
        let is_unknown = effects.iter().any(|part| part.effect == Effect::Unknown);
        let unlisted = effects.iter().filter(|part| matches!(part.why, Why::NotListed(_)));
        let unlisted: Vec<String> =
            unlisted.map(|part| part.form.clone()).filter(|form| !form.is_empty()).collect();
        let actions = identity::resolve(reading.actions, inventory, policy.resolve, &NoSurroundings);
        objections.extend(screen.target_objections(&effects, &actions, inventory, policy));
        let read = Rc::new(Read { is_unknown, unlisted, actions, objections });
        if let Some(key) = key.filter(|_| self.known.len() < MOST_KNOWN) {
            self.known.insert(key, Rc::clone(&read));
        }
        read
    }

    fn usage(&self, keys: &[BudgetKey]) -> Snapshot {
        keys.iter().filter_map(|key| Some((key.clone(), self.past.get(key)?.clone()))).collect()
    }

    /// Notes what a call that runs takes from the budgets.
    fn run(&mut self, actions: &[ResolvedAction], usage: &Snapshot, at: DateTime<Utc>) -> Vec<BudgetKey> {
        let policy = &self.installation.policy;
        let window = policy.longest_window().delta();
        let mut counted = Vec::new();
        for Reservation { key, verb, counts, .. } in reservations(actions, usage, policy) {
            let past: &mut Usage = self.past.entry(key.clone()).or_default();
            past.stopped = verb == Verb::Stop;
            if counts {
                past.entries.retain(|entry| *entry > at - window);
                past.entries.push(at);
                counted.push(key);
            }
        }
        counted
    }
}

impl Replayed {
    fn add(&mut self, call: &PastCall, decided: &Decided) {
        self.calls += 1;
        self.first = self.first.or(Some(call.at));
        self.last = Some(call.at);
        self.unknown += usize::from(decided.is_unknown);
        for form in &decided.unlisted {
            *self.unlisted.entry(form.clone()).or_default() += 1;
        }
        for key in &decided.draws {
            *self.counted.entry(format!("{} {}", key.service, key.kind)).or_default() += 1;
        }
        let denies = !decided.reasons.is_empty();
        if denies {
            self.asked += usize::from(decided.asks);
            let mut rules: Vec<&str> = vec![];
            for reason in &decided.reasons {
                if !rules.contains(&reason.rule) {
                    rules.push(reason.rule);
                    *self.denials.entry(reason.rule).or_default() += 1;
                }
            }
        }
        // A person who was asked before is asked again.
        let recorded = call.recorded.as_ref();
        if recorded.is_some_and(|recorded| recorded.asked && decided.asks) {
            return;
        }
        let was_denied = recorded.is_some_and(|recorded| recorded.denied);
        let difference = || Difference {
            at: call.at,
            command: call.shown.clone(),
            rules: if denies {
                decided.rules()
            } else {
                recorded.map(|recorded| recorded.rules.clone()).unwrap_or_default()
            },
            reason: decided.reasons.first().map(|reason| reason.text.clone()).unwrap_or_default(),
        };
        let list = match (was_denied, denies) {
            (false, true) => &mut self.newly_denied,
            (true, false) => &mut self.newly_allowed,
            _ => return,
        };
        if list.len() < MOST {
            list.push(difference());
        }
    }
}

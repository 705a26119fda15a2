//! The decision on a command: actions and history in, verdict and reservations out.

use std::collections::BTreeMap;

use crate::budgets::budget::{Holder, fit, wanted_in_words};
use crate::budgets::hosts;
pub use crate::budgets::keys::{BudgetKey, Budgets, Draw, Reservation, Snapshot, UNLISTED, UNRESOLVED};
use crate::budgets::unidentified::{
    is_unlisted, names_key, names_objection, unlisted_objection, unresolved_objection,
};
use crate::model::display::relative_time::timestamp;
use crate::model::records::verdict::{Reason, ResolvedAction, Verdict, each_once};
use crate::model::rights::ask::Topic;
use crate::model::rights::policy::{Budget, Per, Policy, Tier, Unlisted, Unresolved};
use crate::rules::tier;
use opsctl_reader::terms::action::{ActionKind, Family, Verb};
use opsctl_reader::terms::plain_text::capitalised;

/// The verdict on a command, and the reservations that it needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// The answer to the client.
    pub verdict: Verdict,
    /// Empty when the verdict is a denial.
    pub reservations: Vec<Reservation>,
}

/// Decides on a command. If any rule denies a part of it, the whole command is denied. The first kind of objection is enough,
/// behind which others may be: the history is not checked for a command that is denied anyway.
pub fn decide(actions: &[ResolvedAction], budgets: Budgets<'_>, tier: Option<Tier>) -> Decision {
    let (mut reasons, mut reservations) = (objections_to(actions, budgets.policy, tier, 1), vec![]);
    if reasons.is_empty() {
        (reasons, reservations) = by_history(actions, budgets);
    }
    if reasons.is_empty() {
        return Decision { verdict: Verdict::Silent, reservations };
    }
    Decision { verdict: Verdict::Deny(reasons), reservations: vec![] }
}

/// All objections to the actions, and the reservations that they need if a person lifts these objections.
pub fn every_objection(
    actions: &[ResolvedAction],
    budgets: Budgets<'_>,
    tier: Option<Tier>,
) -> (Vec<Reason>, Vec<Reservation>) {
    let mut reasons = objections_to(actions, budgets.policy, tier, usize::MAX);
    let (more, reservations) = by_history(actions, budgets);
    reasons.extend(more);
    (reasons, reservations)
}

/// The objections that need no history, at most `most` to each action.
fn objections_to(
    actions: &[ResolvedAction],
    policy: &Policy,
    tier: Option<Tier>,
    most: usize,
) -> Vec<Reason> {
    let of_action = |action: &ResolvedAction| {
        if action.action.kind == ActionKind::Forbidden {
            return vec![forbidden(action)];
        }
        let objections = [
            tier::objection(action, policy, tier),
            repeat_objection(action, policy),
            unresolved_objection(action, policy),
            unlisted_objection(action, policy),
        ];
        objections.into_iter().flatten().take(most).collect()
    };
    each_once(actions.iter().flat_map(of_action))
}

/// The objections that depend on the history, and the reservations that the actions need.
fn by_history(actions: &[ResolvedAction], budgets: Budgets<'_>) -> (Vec<Reason>, Vec<Reservation>) {
    let reservations = reservations(actions, budgets.usage, budgets.policy);
    let mut reasons = exclusive_objections(&reservations, budgets);
    reasons.extend(budget_objections(&reservations, &notes(actions, budgets.policy), budgets));
    reasons.extend(hosts::objections(&reservations, budgets));
    reasons.extend(names_objection(actions, budgets));
    (reasons, reservations)
}

fn forbidden(action: &ResolvedAction) -> Reason {
    let why = match action.action.family {
        Family::Guard => "would weaken the limits of this session. Leave it to an operator.",
        Family::Tool => "is disabled by policy. Ask an operator.",
        _ => "acts on everything at once. Name the one service that needs it.",
    };
    Reason::of("forbidden", format!("Forbidden at every tier: `{}` {why}", action.action.evidence))
}

fn repeat_objection(action: &ResolvedAction, policy: &Policy) -> Option<Reason> {
    (action.action.repeats && policy.budget(action.action.kind).is_some()).then(|| {
        let what = capitalised(&tier::describe(action));
        let why = "is in a loop of unknown length, so it cannot be counted. Run it once, outside the loop.";
        Reason::of("repeats", format!("{what} {why}"))
    })
}

/// Why the budgets of actions are not those of listed services, by budget.
fn notes(actions: &[ResolvedAction], policy: &Policy) -> BTreeMap<BudgetKey, String> {
    let noted = actions.iter().filter_map(|action| Some((key(action, policy)?, action.note.clone()?)));
    noted.collect()
}

/// The budgets whose usage a decision needs: those that these actions draw on, and those of all services of a host that has
/// a budget.
pub fn budget_keys(actions: &[ResolvedAction], policy: &Policy) -> Vec<BudgetKey> {
    let mut keys: Vec<BudgetKey> = actions.iter().filter_map(|action| key(action, policy)).collect();
    keys.extend(hosts::keys_beside(&keys, policy));
    if policy.unlisted == Unlisted::Own && actions.iter().any(|action| is_unlisted(action, policy)) {
        keys.push(names_key());
    }
    keys.sort();
    keys.dedup();
    keys
}

fn key(action: &ResolvedAction, policy: &Policy) -> Option<BudgetKey> {
    let kind = action.action.kind;
    policy.budget(kind)?;
    let on_host =
        |name: &str| action.host.as_ref().map_or_else(|| name.to_owned(), |host| format!("{name}@{host}"));
    let service = match &action.service {
        Some(_) if is_unlisted(action, policy) && policy.unlisted == Unlisted::Shared => on_host(UNLISTED),
        Some(service) => service.clone(),
        None if policy.unresolved == Unresolved::Allow => return None,
        None => on_host(UNRESOLVED),
    };
    Some(BudgetKey { service, kind: kind.as_str() })
}

/// The reservations that the actions need, in the order in which they run.
pub fn reservations(actions: &[ResolvedAction], snapshot: &Snapshot, policy: &Policy) -> Vec<Reservation> {
    reservations_of(draws(actions, policy), snapshot)
}

/// What the actions take from budgets, in the order in which they run.
pub fn draws(actions: &[ResolvedAction], policy: &Policy) -> Vec<Draw> {
    let draw = |action: &ResolvedAction| {
        let key = key(action, policy)?;
        Some(Draw { key, verb: action.action.verb, host: action.host.clone() })
    };
    actions.iter().filter_map(draw).collect()
}

/// The reservations that actions need.
///
/// A stop opens a cycle; the next start of this service closes it without being counted, so that a service is never
/// left down because its budget was used up in between.
pub fn reservations_of(draws: Vec<Draw>, snapshot: &Snapshot) -> Vec<Reservation> {
    let mut stopped: BTreeMap<BudgetKey, bool> = BTreeMap::new();
    let mut taken = Vec::new();
    for Draw { key, verb, host } in draws {
        let stopped = stopped
            .entry(key.clone())
            .or_insert_with(|| snapshot.get(&key).is_some_and(|usage| usage.stopped));
        let counts = !(*stopped && verb == Verb::Start);
        *stopped = verb == Verb::Stop;
        taken.push(Reservation { key, verb, host, counts });
    }
    taken
}

/// Objections to actions on services that another agent is remediating, one for each service.
fn exclusive_objections(reservations: &[Reservation], budgets: Budgets<'_>) -> Vec<Reason> {
    let objection = |Reservation { key: BudgetKey { service, .. }, .. }: &Reservation| {
        // The lease is that of the service, whichever of its budgets has been read.
        let of_service = budgets.usage.iter().filter(|(key, _)| key.service == *service);
        let mut holders = of_service.filter_map(|(_, usage)| usage.holder.as_ref());
        let Holder { agent, until } = holders.find(|holder| holder.until > budgets.now)?;
        let until = timestamp(*until);
        let text = format!(
            "{service} is being remediated by agent {agent} until {until}. Do not act on it: report what you have found, or try again after that time."
        );
        Some(Reason { rule: "exclusive", topic: Some(Topic::Exclusive), text })
    };
    let held = reservations.iter().filter(|_| budgets.policy.exclusive.is_some());
    each_once(held.filter_map(objection))
}

/// How many actions the reservations take from each budget, in their order.
pub fn wanted(reservations: &[Reservation]) -> Vec<(&BudgetKey, u32)> {
    let mut wanted: Vec<(&BudgetKey, u32)> = Vec::new();
    for reservation in reservations.iter().filter(|reservation| reservation.counts) {
        match wanted.iter_mut().find(|(key, _)| *key == &reservation.key) {
            Some((_, count)) => *count += 1,
            None => wanted.push((&reservation.key, 1)),
        }
    }
    wanted
}

/// The denials of used-up budgets: the documented sentence, the next allowed time, and advice.
fn budget_objections(
    reservations: &[Reservation],
    notes: &BTreeMap<BudgetKey, String>,
    budgets: Budgets<'_>,
) -> Vec<Reason> {
    let objection = |(key, more): (&BudgetKey, u32)| {
        let BudgetKey { service, kind } = key;
        let budget = key.budget(budgets.policy);
        let Budget { limit, window, per } = budget;
        let counted = budgets.counted(key);
        let when = fit(&counted, budget, more).denial(*limit)?;
        let (used, wanted) = (counted.len(), wanted_in_words(more));
        let whose = if *per == Per::Agent { " of this agent" } else { "" };
        let mut text = format!(
            "Cooldown limit exceeded for {service}: {used}/{limit} {kind}s{whose} in last {window}{wanted}. {when}"
        );
        if service.starts_with(UNRESOLVED) {
            text += " Name the service in the command, so that its own budget applies.";
        }
        text.extend(notes.get(key).iter().flat_map(|note| [" ", note.as_str()]));
        Some(Reason { rule: "budget", topic: Some(Topic::Budget), text })
    };
    wanted(reservations).into_iter().filter_map(objection).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budgets::budget::Usage;
    use crate::cases::{Cases, resolved};
    use crate::model::rights::policy::{HostBudget, Window};
    use chrono::{DateTime, TimeDelta, Utc};

    fn policy(words: &str) -> Policy {
        let mut policy = Policy::default();
        match words {
            "exclusive" => policy.exclusive = Some(Window::minutes(30)),
            "per=agent" => policy.restart.per = Per::Agent,
            "limit=0" => policy.restart.limit = 0,
            "unlisted=deny" => policy.unlisted = Unlisted::Deny,
            "unresolved=deny" => policy.unresolved = Unresolved::Deny,
            "unresolved=allow" => policy.unresolved = Unresolved::Allow,
            "nas=0" | "nas=1" => {
                let limit = u32::from(words == "nas=1");
                let restart = Some(Budget { limit, window: Window::hours(1), per: Per::Service });
                let services = ["jellyfin", "sonarr"].map(str::to_owned).to_vec();
                policy.host_budgets =
                    vec![HostBudget { host: "nas".to_owned(), services, restart, redeployment: None }];
            }
            _ => assert_eq!(words, ""),
        }
        policy
    }

    /// The history of the restarts of a service, `jellyfin 30 8 held=22`, for actions of any kind.
    fn history(text: &str, now: DateTime<Utc>) -> Snapshot {
        let minutes = |text: &str| text.parse().ok().map(TimeDelta::minutes);
        let (service, words) = text.split_once(' ').unwrap_or((text, ""));
        let entries = words.split(' ').filter_map(minutes).map(|minutes| now - minutes).collect();
        let held = words.split(' ').find_map(|word| minutes(word.strip_prefix("held=")?));
        let holder = held.map(|left| Holder { agent: "nas".to_owned(), until: now + left });
        let usage = Usage { entries, stopped: words.ends_with("stopped"), holder, ..Usage::default() };
        BTreeMap::from([(BudgetKey { service: service.to_owned(), kind: "restart" }, usage)])
    }

    #[test]
    fn commands_are_decided_on_by_policy_history_and_tier() {
        let now: DateTime<Utc> = "2026-03-21T14:30:00Z".parse().unwrap();
        let shown = |reasons: &[Reason], reservations: &[Reservation]| {
            let mark = |reason: &Reason| if reason.topic.is_some() { "?" } else { "" };
            let texts = reasons.iter().map(|one| format!("{}{}: {}", one.rule, mark(one), one.text));
            let taken = reservations
                .iter()
                .map(|one| format!("{} {}", one.key.service, if one.counts { "counts" } else { "closes" }));
            let taken = Some(taken.collect::<Vec<_>>().join(", ")).filter(|taken| !taken.is_empty());
            texts.chain(taken).collect::<Vec<_>>().join("\n")
        };
        let tier = |text: &str| text.parse().ok().and_then(Tier::from_number);
        let mut cases = Cases::of("decide");
        cases.check("the_first_kind_of_objection_denies", |[words, past, of_tier, command]| {
            let (history, policy) = (history(past, now), policy(words));
            let budgets = Budgets { policy: &policy, usage: &history, now };
            let decision = decide(&resolved(command), budgets, tier(of_tier));
            let reasons = if let Verdict::Deny(reasons) = decision.verdict { reasons } else { vec![] };
            shown(&reasons, &decision.reservations)
        });
        cases.check(
            "all_objections_are_listed_where_a_person_may_lift_the_first_one",
            |[words, past, of_tier, command]| {
                let (history, policy) = (history(past, now), policy(words));
                let budgets = Budgets { policy: &policy, usage: &history, now };
                let (reasons, reservations) = every_objection(&resolved(command), budgets, tier(of_tier));
                shown(&reasons, &reservations)
            },
        );
    }
}

//! Recording a decision in the ledger: the call, the verdict, the reasons, and the budgets at that time. And what persons do.

use chrono::Utc;

use crate::machine::environment::Environment;
use opsctl_ledger::records::decisions::{NewDecision, OperatorAct, WOULD_DENY};
use opsctl_ledger::{Change, Ledger, Location, Result, Scope};
use opsctl_policy::decide::{BudgetKey, Snapshot, draws};
use opsctl_policy::model::records::verdict::{Asked, Reason, Verdict, in_lines};

use super::acting::ActingCall;

/// Records the verdict on a call. `snapshot` is the usage that it was based on; empty if it depends on no budget. `remark`
/// states which person has allowed it; `None` if no person was needed.
pub fn record(
    change: &Change<'_>,
    acting: &ActingCall<'_>,
    verdict: &Verdict,
    snapshot: &Snapshot,
    remark: Option<&str>,
    environment: &Environment,
) -> Result<()> {
    // The hook after the call looks its IDs up again.
    change.keep_containers(&acting.known, acting.now)?;
    let (reasons, reason): (&[Reason], String) = match verdict {
        Verdict::Silent => (&[], remark.unwrap_or_default().to_owned()),
        Verdict::Deny(reasons) | Verdict::Watched(reasons) => (reasons, in_lines(reasons)),
        Verdict::Ask(Asked { question, reasons, .. }) => {
            let number = question.map(|id| format!(" {id}")).unwrap_or_default();
            (reasons, format!("Question{number} to a person. {}", in_lines(reasons)))
        }
    };
    let by_person = matches!(verdict, Verdict::Ask(_)) || remark.is_some();
    let mut rules: Vec<&str> =
        by_person.then_some("ask").into_iter().chain(reasons.iter().map(|reason| reason.rule)).collect();
    rules.dedup();
    change.note_decision(
        &NewDecision {
            call: acting.id,
            tier: acting.tier,
            command: acting.shown.as_ref().map(|shown| shown.text.as_str()).unwrap_or_default(),
            hosts: &acting.hosts.join(" "),
            verdict: match verdict {
                Verdict::Silent => "allow",
                Verdict::Watched(_) => WOULD_DENY,
                Verdict::Deny(_) | Verdict::Ask(_) => "deny",
            },
            rule: &rules.join(" "),
            actions: &acting.evidence(),
            services: &services(acting),
            budgets: &budgets(snapshot, acting),
            reason: &reason,
            effect: acting.effect,
            took: Some(environment.started.elapsed()),
            undo: &acting.before,
        },
        acting.now,
    )
}

/// Records what a person has done, if there is a ledger.
pub fn record_act(location: &Location, act: &OperatorAct<'_>) -> Result<()> {
    if !Ledger::exists(location)? {
        return Ok(());
    }
    let mut ledger = Ledger::open(location)?;
    let change = ledger.change_in(Scope::Of { budgets: &[], call: None })?;
    change.note_operator(act, change.now(Utc::now()))?;
    change.commit()
}

/// The services of the actions, sorted, each once, separated by blanks.
pub fn services(acting: &ActingCall<'_>) -> String {
    let mut services: Vec<&str> =
        acting.actions.iter().filter_map(|action| action.service.as_deref()).collect();
    services.sort_unstable();
    services.dedup();
    services.join(" ")
}

fn budgets(snapshot: &Snapshot, acting: &ActingCall<'_>) -> String {
    let policy = &acting.installation.policy;
    // The budget of a host also counts its other services.
    let own: Vec<BudgetKey> = draws(&acting.actions, policy).into_iter().map(|draw| draw.key).collect();
    let texts = snapshot.iter().filter(|(key, _)| own.contains(key)).map(|(key, usage)| {
        let budget = *key.budget(policy);
        let used = usage.counted(&budget, acting.now).len();
        format!("{}: {used}/{} {}s ({})", key.service, budget.limit, key.kind, budget.window)
    });
    texts.collect::<Vec<_>>().join("; ")
}

//! What is only watched: a denial is recorded, and the call runs.

use serde::{Deserialize, Serialize};

use super::ask::Topic;
use super::gate::Gate;
use super::tier::Tier;
use crate::model::records::verdict::Reason;
use opsctl_reader::terms::action::ActionKind;

/// What the policy only watches.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Monitor {
    /// Everything, except what a dry run denies.
    pub everything: bool,
    /// These rules: their names, and the names of classes and always-denied commands; `changes` and `unknown` are the effects
    /// that a tier does not allow.
    pub rules: Vec<String>,
    /// These budgets.
    pub budgets: Vec<ActionKind>,
    /// Sessions of these tiers.
    pub tiers: Vec<Tier>,
    /// Calls that concern only these hosts.
    pub hosts: Vec<String>,
    /// Requests to these gates.
    pub gates: Vec<Gate>,
}

/// A call that the policy objects to.
#[derive(Debug, Clone, Copy)]
pub struct Objected<'a> {
    /// The tier of the session.
    pub tier: Option<Tier>,
    /// The hosts that it concerns; none: this machine.
    pub hosts: &'a [String],
    /// The kinds of its actions.
    pub kinds: &'a [ActionKind],
    /// The gate; `None` for a call of the client.
    pub gate: Option<Gate>,
}

/// The rule of dry runs, which an operator has asked for.
const DRY_RUN: &str = "dry_run";

impl Monitor {
    /// Whether anything is only watched.
    pub fn is_off(&self) -> bool {
        *self == Self::default()
    }

    /// Whether calls of this tier are only watched under every rule.
    pub fn watches_tier(&self, tier: Tier) -> bool {
        self.everything
            || self.tiers.contains(&tier)
            || self.rules.iter().any(|rule| matches!(rule.as_str(), "tier" | "effect" | "changes"))
    }

    /// Whether all these objections to a call are only watched.
    pub fn watches(&self, reasons: &[Reason], call: &Objected<'_>) -> bool {
        if self.is_off() || reasons.iter().any(|reason| reason.rule == DRY_RUN) {
            return false;
        }
        let is_of =
            |known: &[String]| !call.hosts.is_empty() && call.hosts.iter().all(|host| known.contains(host));
        self.everything
            || call.tier.is_some_and(|tier| self.tiers.contains(&tier))
            || call.gate.is_some_and(|gate| self.gates.contains(&gate))
            || is_of(&self.hosts)
            || reasons.iter().all(|reason| self.watches_reason(reason, call.kinds))
    }

    fn watches_reason(&self, reason: &Reason, kinds: &[ActionKind]) -> bool {
        let topic = reason.topic.as_ref().map(Topic::as_str);
        let of_budget = reason.rule == "budget"
            && !kinds.is_empty()
            && kinds.iter().all(|kind| self.budgets.contains(kind));
        of_budget || self.rules.iter().any(|rule| rule == reason.rule || Some(rule.as_str()) == topic)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(rule: &'static str, topic: Option<Topic>) -> Reason {
        Reason { rule, topic, text: String::new() }
    }

    #[test]
    fn a_call_is_watched_only_if_all_objections_are() {
        let budget = reason("budget", Some(Topic::Budget));
        let storage = reason("never", Some(Topic::Never("storage".into())));
        let dry = reason("dry_run", None);
        let hosts = ["nas".to_owned()];
        let call = Objected {
            tier: Some(Tier::Observe),
            hosts: &hosts,
            kinds: &[ActionKind::Restart],
            gate: Some(Gate::Ssh),
        };
        let rules = |names: &[&str]| Monitor {
            rules: names.iter().map(|name| (*name).to_owned()).collect(),
            ..Monitor::default()
        };
        let both = [budget.clone(), storage.clone()];
        assert!(!Monitor::default().watches(&both, &call));
        assert!(!rules(&["budget"]).watches(&both, &call) && !rules(&["storage"]).watches(&both, &call));
        assert!(rules(&["budget", "storage"]).watches(&both, &call));
        assert!(rules(&["never"]).watches(&[storage], &call));
        for monitor in [
            Monitor { everything: true, ..Monitor::default() },
            Monitor { tiers: vec![Tier::Observe], ..Monitor::default() },
            Monitor { hosts: vec!["nas".into(), "pie".into()], ..Monitor::default() },
            Monitor { gates: vec![Gate::Ssh], ..Monitor::default() },
        ] {
            assert!(monitor.watches(&both, &call), "{monitor:?}");
            assert!(
                !monitor.watches(std::slice::from_ref(&dry), &call),
                "a dry run changes nothing: {monitor:?}"
            );
        }
        let restarts = Monitor { budgets: vec![ActionKind::Restart], ..Monitor::default() };
        assert!(restarts.watches(std::slice::from_ref(&budget), &call));
        let redeploys = Objected { kinds: &[ActionKind::Restart, ActionKind::Redeployment], ..call };
        assert!(!restarts.watches(&[budget], &redeploys));
        let others = Monitor {
            hosts: vec!["pie".into()],
            gates: vec![Gate::Engine],
            tiers: vec![Tier::Full],
            ..Monitor::default()
        };
        assert!(!others.watches(&both, &call));
        // This machine is no listed host.
        assert!(
            !Monitor { hosts: vec!["nas".into()], ..Monitor::default() }
                .watches(&both, &Objected { hosts: &[], ..call })
        );
    }
}

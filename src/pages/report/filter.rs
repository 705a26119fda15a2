//! Which rows of a period a page shows.

use chrono::{DateTime, Utc};
use opsctl_ledger::records::decisions::{Decision, Which};
use opsctl_policy::model::installation::inventory::Inventory;

/// Selects the rows of a page; `None` selects all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    /// Those of this agent.
    pub agent: Option<String>,
    /// Those of this service.
    pub service: Option<String>,
    /// Those of services of this host.
    pub host: Option<String>,
    /// Those of this session.
    pub session: Option<String>,
    /// Those of sessions of this tier.
    pub tier: Option<u8>,
    /// Those that this rule denied.
    pub rule: Option<String>,
    /// Those before this time.
    pub until: Option<DateTime<Utc>>,
}

impl Filter {
    /// That of an agent (`None`: of all agents).
    pub fn of_agent(agent: Option<&str>) -> Self {
        Self { agent: agent.map(str::to_owned), ..Self::default() }
    }

    /// Whether rows are compared that the ledger has no index for.
    pub const fn is_narrow(&self) -> bool {
        self.service.is_some()
            || self.host.is_some()
            || self.session.is_some()
            || self.tier.is_some()
            || self.rule.is_some()
    }

    /// What the ledger itself selects.
    pub fn which(&self, since: DateTime<Utc>) -> Which<'_> {
        Which {
            since: Some(since),
            until: self.until,
            agent: self.agent.as_deref(),
            session: self.session.as_deref(),
            ..Which::default()
        }
    }

    /// Whether it selects a row of these services, of a session and of its tier, on a host if that is known.
    pub fn selects(
        &self,
        inventory: &Inventory,
        services: &[&str],
        host: Option<&str>,
        (session, tier): (Option<&str>, Option<u8>),
    ) -> bool {
        let is_host = |wanted: &str| match host {
            Some(host) => host == wanted,
            None => services.iter().any(|service| host_of(inventory, service) == Some(wanted)),
        };
        self.service.as_deref().is_none_or(|wanted| services.contains(&wanted))
            && self.host.as_deref().is_none_or(is_host)
            && self.session.as_deref().is_none_or(|wanted| session == Some(wanted))
            && self.tier.is_none_or(|wanted| tier == Some(wanted))
    }

    /// Whether it selects a decision.
    pub fn selects_decision(&self, inventory: &Inventory, decision: &Decision) -> bool {
        let services: Vec<&str> = decision.services.split_whitespace().collect();
        let session = (decision.session.as_deref(), decision.tier);
        let hosts = || decision.hosts.split_whitespace();
        let host = hosts().find(|host| Some(*host) == self.host.as_deref()).or_else(|| hosts().next());
        self.selects(inventory, &services, host, session)
            && self
                .rule
                .as_deref()
                .is_none_or(|wanted| decision.rule.split_whitespace().any(|rule| rule == wanted))
    }
}

/// The host of a service; `None` if `hosts.yaml` does not state it.
pub fn host_of<'a>(inventory: &'a Inventory, service: &str) -> Option<&'a str> {
    inventory.services.iter().find(|known| known.name == service)?.host.as_deref()
}

#[cfg(test)]
mod tests {
    use opsctl_policy::model::installation::inventory::Service;

    use super::*;

    #[test]
    fn selects_rows_by_service_host_session_and_tier() {
        let service = Service { name: "jellyfin".into(), host: Some("nas".into()), ..Service::default() };
        let inventory = Inventory { services: vec![service], ..Inventory::default() };
        let selects = |filter: &Filter, services: &[&str], host| {
            filter.selects(&inventory, services, host, (Some("s"), Some(2)))
        };
        let host = Filter { host: Some("nas".into()), ..Filter::default() };
        assert!(selects(&host, &["jellyfin"], None) && selects(&host, &[], Some("nas")));
        assert!(!selects(&host, &["jellyfin"], Some("pi")) && !selects(&host, &["adguard"], None));
        let service = Filter { service: Some("jellyfin".into()), ..Filter::default() };
        assert!(selects(&service, &["adguard", "jellyfin"], None) && !selects(&service, &["adguard"], None));
        let session = Filter { session: Some("s".into()), tier: Some(2), ..Filter::default() };
        assert!(selects(&session, &[], None));
        assert!(!selects(&Filter { tier: Some(1), ..session }, &[], None));
    }
}

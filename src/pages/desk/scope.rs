//! The period and the filters of a page, as its address states them.

use chrono::{DateTime, Local, NaiveDateTime, TimeDelta, TimeZone as _, Utc};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::pages::report::filter::Filter;
use crate::pages::report::format::{local, path_part, plain, span};
use opsctl_policy::model::installation::inventory::Inventory;

/// The query of a page.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct PageQuery {
    /// The number of the question that was just answered.
    pub answered: Option<String>,
    /// The token of a link.
    pub t: Option<String>,
    /// The number of a question: those before it are listed.
    pub before: Option<String>,
    agent: Option<String>,
    service: Option<String>,
    host: Option<String>,
    session: Option<String>,
    tier: Option<String>,
    rule: Option<String>,
    range: Option<String>,
    from: Option<String>,
    to: Option<String>,
}

/// The periods that end now: the name in an address, the name on a page, and the length.
const RANGES: [(&str, &str, TimeDelta); 3] = [
    ("24h", "24 hours", TimeDelta::days(1)),
    ("7d", "7 days", TimeDelta::days(7)),
    ("30d", "30 days", TimeDelta::days(30)),
];

/// The usual period.
const USUAL: (&str, &str, TimeDelta) = RANGES[1];

/// A time of a form, in the zone of this machine.
const FORM: &str = "%Y-%m-%dT%H:%M";

/// A period and filters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    /// The start of the period.
    pub since: DateTime<Utc>,
    /// What is shown of it.
    pub filter: Filter,
    now: DateTime<Utc>,
    /// The name of the period; `None` if its ends are stated.
    range: Option<&'static str>,
}

impl Scope {
    /// That of a query. What is not understood is left out, as is an agent that the ledger does not know.
    pub fn of(query: &PageQuery, agents: &[String], now: DateTime<Utc>) -> Self {
        let stated = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        let filter = Filter {
            agent: stated(&query.agent).filter(|agent| agents.contains(agent)),
            service: stated(&query.service),
            host: stated(&query.host),
            session: stated(&query.session),
            tier: query.tier.as_deref().and_then(|tier| tier.parse().ok()),
            rule: stated(&query.rule),
            until: query.to.as_deref().and_then(time),
        };
        let from = query.from.as_deref().and_then(time).filter(|from| *from < filter.until.unwrap_or(now));
        let named = RANGES.iter().find(|(name, ..)| query.range.as_deref() == Some(name));
        let (name, _, length) = named.copied().unwrap_or(USUAL);
        match from {
            Some(since) => Self { since, filter, now, range: None },
            None => {
                Self { since: now - length, filter: Filter { until: None, ..filter }, now, range: Some(name) }
            }
        }
    }

    /// The entries of the address, without that of `but`.
    fn entries(&self, but: &[&str]) -> Vec<(&'static str, String)> {
        let Filter { agent, service, host, session, tier, rule, until } = &self.filter;
        let own = |at: DateTime<Utc>| local(at).format(FORM).to_string();
        let is_own = self.range.is_none();
        let range = self.range.filter(|range| *range != USUAL.0).map(str::to_owned);
        let all = [
            ("agent", agent.clone()),
            ("range", range),
            ("from", is_own.then(|| own(self.since))),
            ("to", until.filter(|_| is_own).map(own)),
            ("host", host.clone()),
            ("service", service.clone()),
            ("session", session.clone()),
            ("tier", tier.map(|tier| tier.to_string())),
            ("rule", rule.clone()),
        ];
        let stated = all.into_iter().filter(|(key, _)| !but.contains(key));
        stated.filter_map(|(key, value)| Some((key, value?))).collect()
    }

    /// An address with the entries of this one, except those of `but`, and with one more if it is stated.
    pub fn address(&self, path: &str, but: &[&str], more: Option<(&str, &str)>) -> String {
        let entries = self.entries(but);
        let entries = entries.iter().map(|(key, value)| (*key, value.as_str()));
        let pairs: Vec<String> =
            entries.chain(more).map(|(key, value)| format!("{key}={}", path_part(value))).collect();
        if pairs.is_empty() { path.to_owned() } else { format!("{path}?{}", pairs.join("&")) }
    }

    /// The beginnings of the addresses of what pages show of a service, a host, a session and a rule, all denials, and whether there
    /// are several agents.
    pub fn links(&self, agents: &[String]) -> Value {
        let of = |path: &str, key: &str| self.address(path, &[key], Some((key, "")));
        json!({
            "service": of("/", "service"),
            "host": of("/", "host"),
            "session": of("/denials", "session"),
            "rule": of("/denials", "rule"),
            "denials": self.address("/denials", &[], None),
            "several": agents.len() > 1,
        })
    }

    /// What the form of a page shows.
    pub fn view(&self, path: &str, inventory: &Inventory, agents: &[String]) -> Value {
        let Filter { agent, service, host, session, tier, rule, until } = &self.filter;
        let range = |(name, words, _): &(&str, &str, TimeDelta)| {
            let more = Some(("range", *name)).filter(|_| *name != USUAL.0);
            let href = self.address(path, &["range", "from", "to"], more);
            json!({ "name": words, "href": href, "is_chosen": self.range == Some(*name) })
        };
        let stated = [("host", host), ("service", service), ("session", session), ("rule", rule)];
        let mut words: Vec<String> = stated
            .into_iter()
            .filter_map(|(name, value)| Some(format!("{name} {}", plain(value.as_ref()?))))
            .collect();
        words.extend(tier.map(|tier| format!("tier {tier}")));
        let own = |at: DateTime<Utc>| local(at).format(FORM).to_string();
        let is_own = self.range.is_none();
        json!({
            "path": path,
            "ranges": RANGES.iter().map(range).collect::<Vec<_>>(),
            "range": self.range,
            "from": is_own.then(|| own(self.since)),
            "to": until.filter(|_| is_own).map(own),
            "is_own": is_own,
            "span": span(until.unwrap_or(self.now) - self.since),
            "since": self.since,
            "until": until,
            "hosts": inventory.hosts.iter().map(|host| plain(&host.name)).collect::<Vec<_>>(),
            "services": inventory.services.iter().map(|service| plain(&service.name)).collect::<Vec<_>>(),
            "chosen": { "agent": agent, "host": host, "service": service, "session": session, "tier": tier, "rule": rule },
            "words": words,
            "everything": self.address(path, &["host", "service", "session", "tier", "rule"], None),
            "agents": self.agents(path, agents),
        })
    }

    /// The links that filter a page by agent; empty if the ledger has not several.
    fn agents(&self, path: &str, agents: &[String]) -> Vec<Value> {
        if agents.len() < 2 {
            return vec![];
        }
        let chosen = self.filter.agent.as_deref();
        let href = |agent: Option<&str>| {
            // First in the address.
            let without = self.address(path, &["agent"], None);
            let Some(agent) = agent else { return without };
            let rest = without.split_once('?').map(|(_, rest)| format!("&{rest}")).unwrap_or_default();
            format!("{path}?agent={}{rest}", path_part(agent))
        };
        let all = json!({ "name": "All agents", "href": href(None), "is_chosen": chosen.is_none() });
        let of_one = |agent: &String| {
            let is_chosen = chosen == Some(agent.as_str());
            json!({ "name": plain(agent), "href": href(Some(agent)), "is_chosen": is_chosen })
        };
        std::iter::once(all).chain(agents.iter().map(of_one)).collect()
    }
}

/// A time of a form.
fn time(text: &str) -> Option<DateTime<Utc>> {
    let text = text.get(..16)?;
    let stated = NaiveDateTime::parse_from_str(text, FORM).ok()?;
    Local.from_local_datetime(&stated).earliest().map(|at| at.with_timezone(&Utc))
}

#[cfg(test)]
mod tests {
    use axum::extract::Query;

    use super::*;

    fn scope(query: &str) -> Scope {
        let address = format!("http://desk.example/?{query}").parse().unwrap();
        let query: Query<PageQuery> = Query::try_from_uri(&address).unwrap();
        Scope::of(&query, &["nas".into(), "pi".into()], "2026-03-21T14:00:00Z".parse().unwrap())
    }

    #[test]
    fn an_address_states_the_period_and_the_filters() {
        let usual = scope("");
        assert_eq!((usual.now - usual.since, usual.range), (TimeDelta::days(7), Some("7d")));
        assert_eq!(usual.address("/", &[], None), "/");
        let day = scope("range=24h&service=a%20b&tier=2&agent=nas&host=");
        assert_eq!(day.address("/x", &[], None), "/x?agent=nas&range=24h&service=a%20b&tier=2");
        assert_eq!(
            day.address("/x", &["tier"], Some(("session", "s"))),
            "/x?agent=nas&range=24h&service=a%20b&session=s"
        );
        assert_eq!(scope("agent=unknown&tier=x&range=9y"), usual);
        let own = scope("from=2026-03-01T10:00&to=2026-03-02T10:00");
        assert_eq!(own.filter.until.map(|until| until - own.since), Some(TimeDelta::days(1)));
        assert_eq!(own.address("/", &[], None), "/?from=2026-03-01T10%3A00&to=2026-03-02T10%3A00");
        // An end before its beginning, and texts that are no times, select the usual period.
        assert_eq!(scope("from=2026-03-02T10:00&to=2026-03-01T10:00"), usual);
        assert_eq!(scope("from=%C3%A4%C3%A4%C3%A4%C3%A4%C3%A4%C3%A4%C3%A4%C3%A4%C3%A4"), usual);
    }
}

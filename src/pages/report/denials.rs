//! The denials: what was denied, by which rule, in which session and on which host.

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::filter::{Filter, host_of};
use super::format::{plain, shown, with};
use opsctl_ledger::records::decisions::{Decision, WOULD_DENY};
use opsctl_ledger::records::history::Period;
use opsctl_ledger::{Ledger, Result};
use opsctl_policy::model::installation::inventory::Inventory;

/// The verdicts of denials.
pub const DENIED: &[&str] = &["deny", "fail-closed"];

/// The verdict of what runs although it would be denied.
pub const WATCHED: &[&str] = &[WOULD_DENY];

/// Reads the latest decisions with these verdicts that a filter selects, among at most `most` of the period.
pub fn read(
    verdicts: &[&str],
    ledger: &Ledger,
    inventory: &Inventory,
    filter: &Filter,
    since: DateTime<Utc>,
    most: u32,
) -> Result<Period<Decision>> {
    let mut found = ledger.with_verdicts(verdicts, filter.which(since), most)?;
    found.rows.retain(|decision| filter.selects_decision(inventory, decision));
    Ok(found)
}

/// The data of the table: at most `most` rows, and the number of further ones.
pub fn denials(found: &Period<Decision>, inventory: &Inventory, most: usize) -> Value {
    let row = |decision: &Decision| {
        let row = shown(decision);
        let services = decision.services.split_whitespace();
        let mut hosts: Vec<&str> = decision.hosts.split_whitespace().collect();
        if hosts.is_empty() {
            hosts = services.filter_map(|service| host_of(inventory, service)).collect();
        }
        hosts.dedup();
        let what = if decision.command.is_empty() { &decision.actions } else { &decision.command };
        with(row, json!({ "place": plain(&hosts.join(", ")), "what": plain(what) }))
    };
    json!({
        "rows": found.rows.iter().take(most).map(row).collect::<Vec<_>>(),
        "more": found.rows.len().saturating_sub(most),
        "is_cut": found.cut,
    })
}

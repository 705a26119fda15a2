//! The section with budgets, as bars.

use chrono::{DateTime, Utc};
use serde::Serialize;

use super::data::ReportData;
use super::format::{Moment, count, plain};
use crate::guard::budgets::{KindBudget, ServiceBudget};
use crate::ledger::Lease;

/// The number of services with usage that are shown at once.
const SHOWN: usize = 10;
/// The maximum number of services with usage, those behind "more" included; further ones are counted.
const MOST_USED: usize = 200;
/// The maximum number of listed services without usage.
const MOST_IDLE: usize = 300;
/// The maximum number of parts of a bar; beyond it, the bar has two.
const MOST_PARTS: usize = 12;

#[derive(Serialize)]
pub struct BudgetsView {
    leases: Vec<LeaseView>,
    used: Vec<ServiceView>,
    others: Vec<ServiceView>,
    more_used: usize,
    unlisted: Vec<ServiceView>,
    more_unlisted: usize,
    idle: Vec<String>,
    more_idle: usize,
    limits: Option<String>,
}

/// A service that one agent is remediating.
#[derive(Serialize)]
struct LeaseView {
    service: String,
    agent: String,
    until: Moment,
}

#[derive(Serialize)]
struct ServiceView {
    name: String,
    kinds: [KindView; 2],
}

#[derive(Serialize)]
struct KindView {
    name: &'static str,
    used: usize,
    limit: u32,
    window: String,
    full: bool,
    parts: Vec<Part>,
    next: Option<Moment>,
}

/// A part of a bar; position and width in per cent.
#[derive(Serialize)]
struct Part {
    x: f64,
    width: f64,
    filled: bool,
}

impl BudgetsView {
    pub fn of(data: &ReportData<'_>) -> Self {
        let (listed, unlisted): (Vec<&ServiceBudget>, Vec<&ServiceBudget>) =
            data.budgets.iter().partition(|budget| budget.listed);
        let (used, idle): (Vec<&ServiceBudget>, Vec<&ServiceBudget>) =
            listed.into_iter().partition(|budget| budget.in_use());
        let limits = data.budgets.first().map(|budget| {
            let kind = |kind: &KindBudget, one, many| {
                format!("{} in {}", count(kind.limit as usize, one, many), kind.window)
            };
            format!(
                "{} and {} for each service",
                kind(&budget.restart, "restart", "restarts"),
                kind(&budget.redeployment, "redeployment", "redeployments")
            )
        });
        let lease = |lease: &Lease| LeaseView {
            service: plain(&lease.service),
            agent: plain(&lease.agent),
            until: Moment::of(lease.until, data.now),
        };
        Self {
            leases: data.leases.iter().take(MOST_USED).map(lease).collect(),
            more_used: used.len().saturating_sub(MOST_USED),
            used: used.iter().take(SHOWN).map(|budget| service(budget, data.now)).collect(),
            others: used.iter().take(MOST_USED).skip(SHOWN).map(|budget| service(budget, data.now)).collect(),
            more_unlisted: unlisted.len().saturating_sub(MOST_USED),
            unlisted: unlisted.into_iter().take(MOST_USED).map(|budget| service(budget, data.now)).collect(),
            more_idle: idle.len().saturating_sub(MOST_IDLE),
            idle: idle.into_iter().take(MOST_IDLE).map(|budget| plain(&budget.service)).collect(),
            limits,
        }
    }
}

fn service(budget: &ServiceBudget, now: DateTime<Utc>) -> ServiceView {
    ServiceView {
        name: plain(&budget.name()),
        kinds: [kind("restarts", &budget.restart, now), kind("redeployments", &budget.redeployment, now)],
    }
}

fn kind(name: &'static str, kind: &KindBudget, now: DateTime<Utc>) -> KindView {
    let (used, limit) = (kind.used, kind.limit);
    KindView {
        name,
        used,
        limit,
        window: kind.window.to_string(),
        full: used >= limit as usize,
        parts: parts(used, limit as usize),
        next: kind.next_allowed.map(|at| Moment::of(at, now)),
    }
}

/// One part per allowed action up to [`MOST_PARTS`], else one part for the used ones and one for the rest.
fn parts(used: usize, limit: usize) -> Vec<Part> {
    if limit > MOST_PARTS {
        let used = super::format::per_cent(used.min(limit), limit);
        return vec![
            Part { x: 0.0, width: used, filled: true },
            Part { x: used, width: 100.0 - used, filled: false },
        ];
    }
    // At least one, so that a limit of 0 has a bar.
    let slots = u32::try_from(limit.max(1)).unwrap_or(1);
    let width = 100.0 / f64::from(slots);
    (0..slots)
        .map(|slot| Part {
            x: f64::from(slot) * width,
            width: if slot + 1 == slots { width } else { width - 2.0 },
            filled: (slot as usize) < used || limit == 0,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_has_one_part_per_allowed_action_up_to_a_maximum() {
        let filled = |used, limit| {
            let parts = parts(used, limit);
            assert!((parts.iter().map(|part| part.x + part.width).fold(0.0, f64::max) - 100.0).abs() < 1e-6);
            (parts.iter().filter(|part| part.filled).count(), parts.len())
        };
        assert_eq!(filled(1, 2), (1, 2));
        assert_eq!(filled(3, 2), (2, 2));
        assert_eq!(filled(0, 0), (1, 1));
        assert_eq!(filled(40, 100), (1, 2));
        assert_eq!(filled(200, 100), (1, 2));
    }
}

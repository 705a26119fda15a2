//! The section with the latest events.

use serde::Serialize;

use super::data::ReportData;
use super::format::{Moment, plain};
use crate::ledger::Event;

/// The number of events that are shown at once.
const SHOWN: usize = 15;
/// The maximum number of events, those behind "more" included; further ones are counted.
const MOST: usize = 100;

#[derive(Serialize)]
pub struct EventsView {
    /// Whether the ledger has several agents.
    several: bool,
    rows: Vec<EventView>,
    earlier: Vec<EventView>,
    more: usize,
}

#[derive(Serialize)]
struct EventView {
    at: Option<Moment>,
    level: String,
    state: &'static str,
    service: Option<String>,
    message: String,
    agent: Option<String>,
}

impl EventsView {
    pub fn of(data: &ReportData<'_>) -> Self {
        let events = &data.events.rows;
        let view = |event: &Event| EventView {
            at: event.at.map(|at| Moment::of(at, data.now)),
            level: plain(&event.level),
            state: match event.level.as_str() {
                "critical" => "bad",
                "warning" => "warn",
                _ => "open",
            },
            service: event.service.as_deref().map(plain),
            message: plain(&event.message),
            agent: event.agent.as_deref().map(plain),
        };
        Self {
            several: data.agents.len() > 1,
            rows: events.iter().take(SHOWN).map(view).collect(),
            earlier: events.iter().take(MOST).skip(SHOWN).map(view).collect(),
            more: events.len().saturating_sub(MOST),
        }
    }
}

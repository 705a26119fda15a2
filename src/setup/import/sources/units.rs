//! The systemd units of a host.

use std::collections::BTreeSet;

use serde::Deserialize;

use crate::setup::import::draft::{Draft, Key, Service};
use crate::setup::import::error::ImportError;
use crate::setup::import::naming;
use opsctl_policy::paths::glob::matches;

/// What belongs to a distribution, and what does not.
#[derive(Deserialize)]
pub struct Own {
    distribution: Vec<String>,
    without_process: Vec<String>,
    /// Globs of namespaces of a cluster's own workloads.
    pub cluster: Vec<String>,
}

impl Own {
    /// Reads the list that is built in.
    pub fn built_in() -> Result<Self, ImportError> {
        serde_saphyr::from_str(include_str!("../units.yaml"))
            .map_err(|error| ImportError::BuiltIn(error.to_string()))
    }
}

/// The command that prints the enabled units, then an empty line, then the active ones, for a shell.
pub const COMMAND: &str = "systemctl list-unit-files --type=service,timer --state=enabled --plain --no-legend --no-pager; echo; \
     systemctl list-units --type=service,timer --state=active --plain --no-legend --no-pager";

/// Adds the units that are enabled and run, without those of the distribution.
pub fn draft(listing: &str, host: &str, source: &str, draft: &mut Draft) -> Result<(), ImportError> {
    let own = Own::built_in()?;
    let (enabled, active) = listing.split_once("\n\n").unwrap_or(("", listing));
    let first = |line: &str| line.split_whitespace().next().map(str::to_owned);
    let enabled: BTreeSet<String> = enabled.lines().filter_map(first).collect();
    for line in active.lines() {
        let mut fields = line.split_whitespace();
        let (Some(unit), _, _, Some(state)) = (fields.next(), fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        let Some((name, kind)) = unit.rsplit_once('.') else { continue };
        let template = name.split_once('@').map(|(base, _)| format!("{base}@.{kind}"));
        let is_enabled =
            enabled.contains(unit) || template.is_some_and(|template| enabled.contains(&template));
        let is = |globs: &[String]| globs.iter().any(|glob| matches(glob, name));
        let runs = matches!(state, "running" | "waiting") || is(&own.without_process);
        if !is_enabled || !runs || is(&own.distribution) {
            continue;
        }
        let plain = name.split_once('@').map_or(name, |(_, instance)| instance);
        let is_short = name.contains('@') && plain.len() < 4;
        let mut service = Service::new(naming::name(if is_short { name } else { plain }), source, true);
        service.add(Key::Host, host);
        service.add(Key::Units, if kind == "timer" { unit } else { name });
        draft.add_service(service);
    }
    Ok(())
}

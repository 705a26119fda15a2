//! Always-denied commands: the names of the rules, their reasons, and examples, one file a pack. The catalogue entry of
//! a program states which of its words a rule denies. `hosts.yaml` may disable a rule or a pack by its name.

mod accounts;
mod backups;
mod clouds;
mod clusters;
mod containers;
mod databases;
mod forges;
mod guests;
mod network;
mod processes;
mod rule;
mod storage;

pub use rule::DefaultRule;
use rule::RULE;

/// Rules that belong together and are switched off together.
#[derive(Debug, Clone, Copy)]
pub struct Pack {
    /// Its name in `hosts.yaml`.
    pub name: &'static str,
    /// Its rules.
    pub rules: &'static [DefaultRule],
}

/// Every pack, by name.
pub static PACKS: &[Pack] = &[
    Pack { name: "backups", rules: backups::RULES },
    Pack { name: "clouds", rules: clouds::RULES },
    Pack { name: "accounts", rules: accounts::RULES },
    Pack { name: "clusters", rules: clusters::RULES },
    Pack { name: "containers", rules: containers::RULES },
    Pack { name: "databases", rules: databases::RULES },
    Pack { name: "forges", rules: forges::RULES },
    Pack { name: "guests", rules: guests::RULES },
    Pack { name: "network", rules: network::RULES },
    Pack { name: "processes", rules: processes::RULES },
    Pack { name: "storage", rules: storage::RULES },
];

/// Every default rule, pack by pack.
pub fn defaults() -> impl Iterator<Item = &'static DefaultRule> {
    PACKS.iter().flat_map(|pack| pack.rules)
}

/// Whether a rule is switched off, by its own name or that of its pack.
pub fn is_off(off: &[String], rule: &str) -> bool {
    let pack = PACKS.iter().find(|pack| pack.rules.iter().any(|one| one.name == rule));
    off.iter().any(|name| name == rule || pack.is_some_and(|pack| pack.name == name))
}

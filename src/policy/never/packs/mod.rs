//! Always-denied commands: the names of the rules, their reasons, and examples, one file a pack. Which words of which
//! program a rule denies stands with the program in the catalogue. `hosts.yaml` may switch a rule or a pack off by its name.

mod accounts;
mod clusters;
mod containers;
mod databases;
mod forges;
mod network;
mod processes;
mod storage;

use crate::model::rules::Where;

/// A rule that comes with this program.
#[derive(Debug, Clone, Copy)]
pub struct DefaultRule {
    /// Its name, in denials and in `hosts.yaml`.
    pub name: &'static str,
    /// Why not, and what to do instead.
    pub reason: &'static str,
    /// Where it holds.
    pub place: Where,
    /// Commands that it denies.
    pub matches: &'static [&'static str],
    /// Commands near to these that it does not deny.
    pub differs: &'static [&'static str],
}

/// Holds everywhere; each row states the rest.
const RULE: DefaultRule = DefaultRule { name: "", reason: "", place: Where::Any, matches: &[], differs: &[] };

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
    Pack { name: "accounts", rules: accounts::RULES },
    Pack { name: "clusters", rules: clusters::RULES },
    Pack { name: "containers", rules: containers::RULES },
    Pack { name: "databases", rules: databases::RULES },
    Pack { name: "forges", rules: forges::RULES },
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

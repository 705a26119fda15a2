//! Which files are guarded: the defaults, and what `hosts.yaml` adds and excepts.

use crate::lists::{ADVICE, PROTECT, SECRET};
use crate::model::rights::rules::{PathRule, Where};
use crate::paths::glob::matches;
use crate::paths::word_paths::{LocalMachine, normal};

/// Where this installation's own files are. All absolute.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Locations {
    /// The folder whose `.claude` the client reads.
    pub project: String,
    /// The agent's home.
    pub home: Option<String>,
    /// The ledger.
    pub ledger: String,
    /// The folder of `cooldown.json`.
    pub state: String,
    /// The inventory, and where one may be.
    pub hosts: Vec<String>,
    /// The private key of answers to questions.
    pub approval_key: Option<String>,
    /// The password of the ledger's server, and keys of client certificates.
    pub database_keys: Vec<String>,
    /// This program.
    pub opsctl: Option<String>,
}

/// A glob of guarded files, and the advice of its denial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guarded {
    /// Absolute, with `**` at its beginning, or with `$` for names of variables.
    pub glob: String,
    /// The machines that it applies to.
    pub scope: Where,
    /// Whether it is an exception.
    pub excepted: bool,
    /// Whether it concerns a machine itself, and no container on it.
    pub spares_containers: bool,
    /// The advice: what to do instead.
    pub instead: &'static str,
}

/// The socket of a guard that is a process of its own.
pub fn guard_socket(machine: &dyn LocalMachine) -> Option<String> {
    let guard = machine.variable("CLAUDEOPS_GUARD")?;
    guard.strip_prefix("unix:").filter(|path| path.starts_with('/')).map(normal)
}

/// The glob of everything, with which a list begins that is closed but for its exceptions.
const EVERYTHING: &str = "/**";

impl Guarded {
    /// Whether it guards all that no exception leaves open.
    pub fn is_closing(&self) -> bool {
        self.glob == EVERYTHING && !self.excepted
    }
}

/// The files that may not be written.
pub fn protect(locations: &Locations, own: &[PathRule], machine: &dyn LocalMachine) -> Vec<Guarded> {
    listed(&PROTECT, (own, "person"), locations, machine)
}

/// The files that may not be read.
pub fn secret(locations: &Locations, own: &[PathRule], machine: &dyn LocalMachine) -> Vec<Guarded> {
    listed(&SECRET, (own, ""), locations, machine)
}

/// The globs of a list, then those of the policy, with this advice.
fn listed(
    rows: &[(&str, &str, &str)],
    (own, advice): (&[PathRule], &str),
    locations: &Locations,
    machine: &dyn LocalMachine,
) -> Vec<Guarded> {
    let roots = &roots(locations, machine);
    let places = places(locations, machine);
    let advice_of = |key: &str| ADVICE.iter().find(|(one, _)| *one == key).map_or("", |(_, text)| *text);
    let on_hosts = if machine.is_host() { Where::Any } else { Where::Remote };
    let scope_of = |scope| if scope == Where::Remote { on_hosts } else { scope };
    let defaults = rows.iter().flat_map(|(glob, machines, advice)| {
        let scope = match *machines {
            "any" => Where::Any,
            "hosts" => on_hosts,
            _ => Where::Local,
        };
        let globs = placed(glob, &places).into_iter();
        let found = globs.flat_map(move |glob| guarded(&glob, scope, advice_of(advice), locations, roots));
        found.map(move |guarded| Guarded { spares_containers: machines.starts_with("host"), ..guarded })
    });
    let own = own
        .iter()
        .flat_map(|rule| guarded(&rule.glob, scope_of(rule.scope), advice_of(advice), locations, roots));
    defaults.chain(own).collect()
}

/// The locations of this installation that globs name, and the paths of each.
fn places(locations: &Locations, machine: &dyn LocalMachine) -> [(&'static str, Vec<String>); 8] {
    let absolute = |name: &str| machine.variable(name).filter(|path| path.starts_with('/'));
    let keys = locations.approval_key.iter().chain(&locations.database_keys);
    [
        ("{ledger}", vec![locations.ledger.clone()]),
        ("{state}", vec![locations.state.clone()]),
        ("{client}", ["CLAUDE_CONFIG_DIR", "CODEX_HOME"].into_iter().filter_map(absolute).collect()),
        ("{shell_start}", ["BASH_ENV", "ENV"].into_iter().filter_map(absolute).collect()),
        ("{key}", keys.cloned().collect()),
        ("{hosts}", locations.hosts.clone()),
        ("{opsctl}", locations.opsctl.iter().cloned().collect()),
        ("{socket}", guard_socket(machine).into_iter().collect()),
    ]
}

/// A glob for each path of the location that it names; the glob itself if it names none.
fn placed(glob: &str, places: &[(&str, Vec<String>)]) -> Vec<String> {
    let place = places.iter().find(|(name, _)| glob.contains(name));
    place.map_or_else(
        || vec![glob.to_owned()],
        |(name, paths)| paths.iter().map(|path| glob.replace(name, path)).collect(),
    )
}

/// The rule that guards a path, of several that match the last one; `remote` if it is on another machine.
pub fn decisive<'g>(list: &'g [Guarded], path: &str, remote: bool) -> Option<&'g Guarded> {
    list.iter()
        .rev()
        .find(|guarded| guarded.scope.holds(remote) && matches(&guarded.glob, path))
        .filter(|guarded| !guarded.excepted)
}

/// A folder as it is written, and with links resolved.
type Root = (String, String);

/// The folders of this installation that are links, or lie below one.
fn roots(locations: &Locations, machine: &dyn LocalMachine) -> Vec<Root> {
    let ledger = locations.ledger.rsplit_once('/').map_or("", |(folder, _)| folder);
    let named = [
        locations.home.as_deref().unwrap_or_default(),
        locations.project.as_str(),
        locations.state.as_str(),
        ledger,
    ];
    let named = named.into_iter().filter(|folder| folder.len() > 1);
    let real = |folder: &str| machine.canonical(folder).map(|real| (folder.to_owned(), real));
    named.filter_map(real).filter(|(folder, real)| folder != real).collect()
}

/// A glob in its absolute forms: as it is written, for other machines, and with links resolved.
fn guarded(
    written: &str,
    scope: Where,
    instead: &'static str,
    locations: &Locations,
    roots: &[Root],
) -> Vec<Guarded> {
    let (text, excepted) = written.strip_prefix('!').map_or((written, false), |text| (text, true));
    let mut globs = Vec::new();
    if let Some(rest) = text.strip_prefix('~') {
        // `~` of another machine cannot be resolved here.
        globs.extend(locations.home.iter().map(|home| format!("{home}{rest}")));
        globs.push(text.to_owned());
    } else if text.starts_with(['/', '$']) || text.starts_with("**") {
        globs.push(text.to_owned());
    } else {
        globs.push(format!("{}/{text}", locations.project));
    }
    if let Some(first) = globs.first() {
        let real = roots.iter().find_map(|(folder, real)| {
            let rest = first.strip_prefix(folder.as_str()).filter(|rest| rest.starts_with('/'))?;
            Some(format!("{real}{rest}"))
        });
        globs.extend(real);
    }
    globs
        .into_iter()
        .map(|glob| Guarded { glob, scope, excepted, spares_containers: false, instead })
        .collect()
}

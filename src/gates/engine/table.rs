//! The requests that the gate knows: `requests.yaml`.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde::Deserialize;

/// The requests that the gate knows, and the bodies of them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    reads: Vec<String>,
    redacted: Vec<String>,
    changes: BTreeMap<String, Row>,
    /// What makes a new container equal to the one that it replaces.
    pub equal: Equal,
    /// Globs of the programs of images that prepare the container and start their arguments.
    pub starters: Vec<String>,
    /// Values that the gate sets in bodies, by the name of a body.
    pub sets: BTreeMap<String, BTreeMap<String, bool>>,
    /// What the keys of bodies add to a command, by the name of a body.
    pub bodies: BTreeMap<String, Keys>,
}

/// What the keys of a body add to a command. A key of an object within it is `Outer.Inner`.
pub type Keys = BTreeMap<String, Adds>;

/// How a new container is compared with the one that it replaces.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Equal {
    /// The keys that do not matter.
    pub ignored: BTreeSet<String>,
    /// The keys that the image states if the request does not.
    pub of_image: BTreeSet<String>,
    /// Globs of the values that engines state for a key that a request leaves out.
    pub defaults: BTreeMap<String, Vec<String>>,
    /// Globs of the values that do what no value does.
    pub neutral: BTreeMap<String, Vec<String>>,
    /// Globs of the names of labels that a client sets anew with each creation.
    pub labels: Vec<String>,
}

/// A request that changes something.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// The command that does the same.
    pub does: String,
    /// What else is to be considered.
    #[serde(default)]
    pub kind: Kind,
    /// What the parameters of the query add to the command.
    #[serde(default)]
    pub query: Keys,
    /// Whether its response contains commands, in which secrets are redacted.
    #[serde(default)]
    pub redacted: bool,
    /// The name of the body; `stream` is forwarded.
    pub body: Option<String>,
}

impl Row {
    /// Whether the engine starts a container for it, and may start others that this one needs.
    pub fn starts(&self) -> bool {
        let verb = self.does.split(' ').nth(1);
        verb.is_some_and(|verb| matches!(verb, "start" | "restart"))
    }
}

/// What is to be considered of a request besides its command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Nothing.
    #[default]
    Plain,
    /// It stops a container.
    Stop,
    /// It starts a container.
    Start,
    /// It removes a container.
    Remove,
    /// It renames a container.
    Rename,
    /// It creates a container.
    Create,
    /// It states a command to be run in a container.
    Exec,
    /// It runs such a command.
    Begin,
    /// It connects to the streams of a container.
    Attach,
    /// It copies files out of or into a container.
    Copy,
    /// It connects a container to a network.
    Connect,
    /// It makes an image of a container.
    Commit,
    /// It has the engine ask a registry.
    Registry,
    /// It opens a connection for a build.
    Session,
}

impl Kind {
    /// Whether it gives the files of a container, or what runs in it, to a client.
    pub const fn works_within(self) -> bool {
        matches!(self, Self::Exec | Self::Attach | Self::Copy)
    }
}

/// What a value adds to a command.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum Adds {
    /// Any value may be given.
    Any(String),
    /// Only some values are without rights of the host.
    Some(Guarded),
}

/// A value that may give a container rights of the host.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Guarded {
    /// What it adds to the command.
    pub option: String,
    /// Globs, of which a harmless value matches one.
    pub only: Option<Vec<String>>,
    /// The keys of objects in a list of values, and globs, of which a harmless value of a key matches one.
    #[serde(default)]
    pub parts: BTreeMap<String, Vec<String>>,
    /// Whether each entry of a map is such an object: its key is the folder, its value the options.
    #[serde(default)]
    pub map: bool,
    /// Folders of the container in which a harmless mount is not.
    #[serde(default)]
    pub outside: Vec<String>,
    /// Globs, of which a harmless value matches none.
    #[serde(default)]
    pub never: Vec<String>,
    /// Globs of values that add nothing.
    #[serde(default)]
    pub without: Vec<String>,
    /// Whether an empty list matters, too, and a key with an empty value.
    #[serde(default)]
    pub empty: bool,
    /// Whether a harmless value adds the option to the command.
    #[serde(default)]
    pub adds: bool,
}

/// A request that the gate knows.
#[derive(Debug)]
pub struct Known<'t> {
    /// What is done with it.
    pub does: Does<'t>,
    /// The parts of the path that names in braces stand for.
    pub bound: Vec<(&'t str, Range<usize>)>,
}

/// What is done with a request.
#[derive(Debug, Clone, Copy)]
pub enum Does<'t> {
    /// It reads.
    Reads,
    /// It reads, and its response contains variables.
    Redacted,
    /// It changes something.
    Changes(&'t Row),
}

impl Table {
    /// The built-in table. An error is a mistake in the file, which a test finds.
    pub fn built_in() -> Result<Self, String> {
        serde_saphyr::from_str(include_str!("requests.yaml")).map_err(|error| error.to_string())
    }

    /// The row of a request; `None`: the gate does not know it.
    pub fn find(&self, method: &str, path: &[String]) -> Option<Known<'_>> {
        let reads = self.reads.iter().map(|key| (key, Does::Reads));
        let redacted = self.redacted.iter().map(|key| (key, Does::Redacted));
        let changes = self.changes.iter().map(|(key, row)| (key, Does::Changes(row)));
        reads.chain(redacted).chain(changes).find_map(|(key, does)| {
            let (known, pattern) = key.split_once(" /")?;
            let bound = (known == method).then(|| fits(pattern, path)).flatten()?;
            Some(Known { does, bound })
        })
    }
}

/// What the names in braces of a pattern stand for, if a path fits it.
fn fits<'t>(pattern: &'t str, path: &[String]) -> Option<Vec<(&'t str, Range<usize>)>> {
    let parts: Vec<&str> = pattern.split('/').collect();
    let further = path.len().checked_sub(parts.len())?;
    let mut at = 0;
    let mut bound = Vec::new();
    for part in parts {
        let name = part.strip_prefix('{').and_then(|part| part.strip_suffix('}'));
        let length = if name == Some("names") { 1 + further } else { 1 };
        match name {
            Some(name) => bound.push((name, at..at + length)),
            None if path.get(at)? == part => {}
            None => return None,
        }
        at += length;
    }
    (at == path.len()).then_some(bound)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The row of a request, and the places of its names.
    type Found = (String, Vec<(String, Range<usize>)>);

    fn found(request: &str) -> Option<Found> {
        let table = Table::built_in().unwrap();
        let (method, path) = request.split_once(" /").unwrap();
        let path: Vec<String> = path.split('/').map(str::to_owned).collect();
        let known = table.find(method, &path)?;
        let does = match known.does {
            Does::Reads => "reads".to_owned(),
            Does::Redacted => "redacted".to_owned(),
            Does::Changes(row) => row.does.clone(),
        };
        Some((does, known.bound.into_iter().map(|(name, range)| (name.to_owned(), range)).collect()))
    }

    #[test]
    fn requests_are_found_by_method_and_whole_path() {
        for (request, does) in [
            ("GET /containers/json", Some("redacted")),
            ("GET /containers/k0/json", Some("redacted")),
            ("GET /containers/k0/logs", Some("reads")),
            ("POST /containers/k0/restart", Some("docker restart {container}")),
            ("GET /images/host/a/b:1/json", Some("redacted")),
            ("DELETE /images/host/a:2", Some("docker rmi {names}")),
            ("GET /containers/k0/restart", None),
            ("POST /containers/k0/restart/x", None),
            ("POST /containers/restart", None),
            ("GET /containers/k0/attach/ws", None),
            ("GET /containers/k0/export", None),
            ("POST /Containers/k0/restart", None),
            ("POST /services/create", None),
        ] {
            assert_eq!(found(request).map(|(does, _)| does).as_deref(), does, "{request}");
        }
        assert_eq!(found("GET /images/a/b/json").unwrap().1, [("names".to_owned(), 1..3)]);
    }

    #[test]
    fn each_body_that_a_row_names_exists() {
        let table = Table::built_in().unwrap();
        for (key, row) in &table.changes {
            let known =
                row.body.as_deref().is_none_or(|body| body == "stream" || table.bodies.contains_key(body));
            assert!(known, "{key}");
        }
    }
}

//! Where the files of a container are on its host.

use std::path::Path;

use serde_json::Value;

/// Places of the host that containers have for the time of day only.
const SHARED: [&str; 2] = ["/etc/localtime", "/etc/timezone"];

/// A folder or a file of the host that a container has, also as a volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// Where it is on the host.
    pub source: String,
    /// Where it is in the container.
    pub destination: String,
    /// The name of the volume.
    name: Option<String>,
}

impl Mount {
    /// Of the description of a container.
    pub fn of(json: &Value) -> Vec<Self> {
        let mounts = json.get("Mounts").and_then(Value::as_array).into_iter().flatten();
        let mount = |mount: &Value| {
            let text = |key: &str| mount.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
            Self {
                source: text("Source").map(plain).unwrap_or_default(),
                destination: text("Destination").map(plain).unwrap_or_default(),
                name: text("Name").map(str::to_owned),
            }
        };
        mounts.map(mount).collect()
    }

    /// The names of its place: the path on the host, and the name of the volume.
    fn places(self) -> impl Iterator<Item = String> {
        [Some(self.source), self.name].into_iter().flatten().filter(|place| !place.is_empty())
    }
}

/// The places of the host that belong to a container.
pub fn places(json: &Value) -> Vec<String> {
    let is_socket = |place: &str| Path::new(place).extension().is_some_and(|end| end == "sock");
    let is_own = |place: &String| !SHARED.contains(&place.as_str()) && !is_socket(place);
    Mount::of(json).into_iter().flat_map(Mount::places).filter(is_own).collect()
}

/// A path without empty parts and dots. `/var/run` is a link to `/run` on hosts.
fn plain(path: &str) -> String {
    let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    let parts = match parts.as_slice() {
        ["var", rest @ ..] if path.starts_with('/') && rest.first() == Some(&"run") => rest,
        parts => parts,
    };
    format!("/{}", parts.join("/"))
}

/// Whether a path is a folder, or below it.
pub fn is_within(path: &str, folder: &str) -> bool {
    let folder = folder.trim_end_matches('/');
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The places of the host that a path of a container is: itself, and with `below` those of mounts within it.
pub fn on_host(mounts: &[Mount], path: &str, below: bool) -> Vec<String> {
    let known = mounts.iter().filter(|mount| !mount.source.is_empty());
    let around = known.clone().filter(|mount| is_within(path, &mount.destination));
    let nearest = around.max_by_key(|mount| mount.destination.len());
    let own = nearest.and_then(|mount| {
        let rest = path.strip_prefix(mount.destination.trim_end_matches('/'))?;
        Some(plain(&format!("{}{rest}", mount.source)))
    });
    let inner = known.filter(|mount| below && is_within(&mount.destination, path));
    let mut found: Vec<String> = own.into_iter().chain(inner.map(|mount| mount.source.clone())).collect();
    found.dedup();
    found
}

/// The words of a command with the paths of the host for those of mounts; `None` if they name none.
pub fn words_on_host(mounts: &[Mount], words: &[String]) -> Option<Vec<String>> {
    let known = |mount: &&Mount| mount.source.starts_with('/') && mount.destination.len() > 1;
    let mut known: Vec<&Mount> = mounts.iter().filter(known).collect();
    known.sort_by_key(|mount| std::cmp::Reverse(mount.destination.len()));
    let there: Vec<String> = words.iter().map(|word| word_on_host(&known, word)).collect();
    (there != words).then_some(there)
}

fn word_on_host(mounts: &[&Mount], word: &str) -> String {
    let is_name = |c: char| c.is_alphanumeric() || "._-".contains(c);
    let (mut found, mut rest, mut last) = (String::new(), word, ' ');
    while let Some(first) = rest.chars().next() {
        let mount = mounts.iter().find(|mount| {
            let after = rest.strip_prefix(mount.destination.as_str()).map(|after| after.chars().next());
            !is_name(last) && last != '/' && after.is_some_and(|next| !next.is_some_and(is_name))
        });
        let Some((mount, after)) = mount.and_then(|own| Some((own, rest.strip_prefix(&own.destination)?)))
        else {
            found.push(first);
            (rest, last) = (rest.get(first.len_utf8()..).unwrap_or_default(), first);
            continue;
        };
        found.push_str(if after.starts_with('/') {
            mount.source.trim_end_matches('/')
        } else {
            &mount.source
        });
        (rest, last) = (after, 'x');
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn bound(pairs: &[(&str, &str)]) -> Value {
        let bind =
            |(source, there): &(&str, &str)| json!({"Type": "bind", "Source": source, "Destination": there});
        json!({ "Mounts": pairs.iter().map(bind).collect::<Vec<_>>() })
    }

    #[test]
    fn paths_of_a_container_are_those_of_the_nearest_mount() {
        let json = bound(&[("/", "/host"), ("/proc", "/host/proc"), ("/srv/app", "/config")]);
        let mounts = Mount::of(&json);
        for (path, below, there) in [
            ("/host/etc/shadow", false, vec!["/etc/shadow"]),
            ("/host/proc/1/environ", false, vec!["/proc/1/environ"]),
            ("/config", true, vec!["/srv/app"]),
            ("/configuration", true, vec![]),
            ("/", true, vec!["/", "/proc", "/srv/app"]),
            ("/host", true, vec!["/", "/proc"]),
        ] {
            let mut found = on_host(&mounts, path, below);
            found.dedup();
            assert_eq!(
                found.iter().filter(|own| there.contains(&own.as_str())).count(),
                found.len(),
                "{path}"
            );
            assert!(there.iter().all(|own| found.iter().any(|path| path == own)), "{path}: {found:?}");
        }
    }

    #[test]
    fn words_name_the_files_of_the_host() {
        let mounts = Mount::of(&bound(&[("/", "/host"), ("/srv/app/", "/config")]));
        for (word, there) in [
            ("/host/proc/1/environ", "/proc/1/environ"),
            ("cd /host; cat x", "cd /; cat x"),
            ("--file=/config/a", "--file=/srv/app/a"),
            ("/config", "/srv/app"),
            ("cat '/config'/a /host/config", "cat '/srv/app'/a /config"),
        ] {
            assert_eq!(words_on_host(&mounts, &[word.to_owned()]), Some(vec![there.to_owned()]), "{word}");
        }
        for word in ["/hostname", "/x/config", "/x/host/y", "config", "/config.d/x"] {
            assert_eq!(words_on_host(&mounts, &[word.to_owned()]), None, "{word}");
        }
    }
}

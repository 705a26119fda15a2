//! Where the files of a container are on its host.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

/// Places of the host that containers have for the time of day only.
const SHARED: [&str; 2] = ["/etc/localtime", "/etc/timezone"];

/// The key of a description under which a gate lists what volumes are on the host, in the form of `Mounts`.
pub const BEHIND: &str = "Behind";

/// The type of a mount of which it is not known what it is on the host.
const UNKNOWN: &str = "unknown";

/// A folder or a file of the host that a container has, also as a volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// Where it is on the host.
    pub source: String,
    /// Where it is in the container.
    pub destination: String,
    /// Whether it is known what it is. Otherwise, it may be any folder of the host, and is judged as all of it.
    pub is_known: bool,
    /// The name of the volume.
    name: Option<String>,
}

impl Mount {
    /// Of the description of a container.
    pub fn of(json: &Value) -> Vec<Self> {
        let lists = ["Mounts", BEHIND].into_iter();
        let mounts = lists.flat_map(|key| json.get(key).and_then(Value::as_array).into_iter().flatten());
        let mount = |mount: &Value| {
            let text = |key: &str| mount.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
            Self {
                source: text("Source").map(plain).unwrap_or_default(),
                destination: text("Destination").map(plain).unwrap_or_default(),
                is_known: text("Type") != Some(UNKNOWN),
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

/// A mount of a folder of the host, in the form of a description.
pub fn bound(source: &str, destination: &str) -> Value {
    json!({"Type": "bind", "Source": source, "Destination": destination})
}

/// A mount of which it is not known what it is on the host, in the form of a description.
pub fn unknown(destination: &str) -> Value {
    json!({"Type": UNKNOWN, "Source": "/", "Destination": destination})
}

/// The places of the host that belong to a container, as far as they are known.
pub fn places(json: &Value) -> Vec<String> {
    let is_socket = |place: &str| Path::new(place).extension().is_some_and(|end| end == "sock");
    let is_own = |place: &String| !SHARED.contains(&place.as_str()) && !is_socket(place);
    let known = Mount::of(json).into_iter().filter(|mount| mount.is_known);
    known.flat_map(Mount::places).filter(is_own).collect()
}

/// A path without empty parts and dots. `/var/run` is a link to `/run` on hosts.
fn plain(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/').filter(|part| !matches!(*part, "" | ".")) {
        if part == ".." {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
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
    // A volume may be several folders of the host.
    let length = around.clone().map(|mount| mount.destination.len()).max().unwrap_or_default();
    let own = around.filter(|mount| mount.destination.len() == length).filter_map(|mount| {
        let rest = path.strip_prefix(mount.destination.trim_end_matches('/'))?;
        Some(plain(&format!("{}{rest}", mount.source)))
    });
    let inner = known.filter(|mount| below && is_within(&mount.destination, path));
    let mut found: Vec<String> = own.chain(inner.map(|mount| mount.source.clone())).collect();
    found.dedup();
    found
}

/// The words of a command with the paths of the host for those of mounts: one list for each folder that a mount may be. Empty if the
/// words name none.
pub fn words_on_host(mounts: &[Mount], words: &[String]) -> Vec<Vec<String>> {
    let known = |mount: &&Mount| mount.source.starts_with('/') && mount.destination.len() > 1;
    let mut places: BTreeMap<&str, Vec<&Mount>> = BTreeMap::new();
    for mount in mounts.iter().filter(known) {
        places.entry(&mount.destination).or_default().push(mount);
    }
    let most = places.values().map(Vec::len).max().unwrap_or_default();
    let mut found: Vec<Vec<String>> = Vec::new();
    for turn in 0..most {
        let mut one: Vec<&Mount> =
            places.values().filter_map(|all| all.get(turn).or(all.last()).copied()).collect();
        one.sort_by_key(|mount| Reverse(mount.destination.len()));
        let there: Vec<String> = words.iter().map(|word| word_on_host(&one, word)).collect();
        if there != words && !found.contains(&there) {
            found.push(there);
        }
    }
    found
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

    fn with(pairs: &[(&str, &str)]) -> Value {
        let bind = |(source, there): &(&str, &str)| bound(source, there);
        json!({ "Mounts": pairs.iter().map(bind).collect::<Vec<_>>() })
    }

    #[test]
    fn paths_of_a_container_are_those_of_the_nearest_mount() {
        let json = with(&[("/", "/host"), ("/proc", "/host/proc"), ("/srv/app", "/config")]);
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
        let mounts = Mount::of(&with(&[("/", "/host"), ("/srv/app/", "/config")]));
        for (word, there) in [
            ("/host/proc/1/environ", "/proc/1/environ"),
            ("cd /host; cat x", "cd /; cat x"),
            ("--file=/config/a", "--file=/srv/app/a"),
            ("/config", "/srv/app"),
            ("cat '/config'/a /host/config", "cat '/srv/app'/a /config"),
        ] {
            assert_eq!(words_on_host(&mounts, &[word.to_owned()]), [vec![there.to_owned()]], "{word}");
        }
        for word in ["/hostname", "/x/config", "/x/host/y", "config", "/config.d/x"] {
            assert!(words_on_host(&mounts, &[word.to_owned()]).is_empty(), "{word}");
        }
    }

    #[test]
    fn volumes_that_are_several_folders_are_judged_as_each() {
        let mut json = json!({"Mounts": [{"Type": "volume", "Name": "v", "Source": "/volumes/v/_data", "Destination": "/x"}]});
        json[BEHIND] = json!([bound("/srv/../run/./a", "/x"), unknown("/y")]);
        let mounts = Mount::of(&json);
        assert_eq!(on_host(&mounts, "/x/f", false), ["/volumes/v/_data/f", "/run/a/f"]);
        assert_eq!(places(&json), ["/volumes/v/_data", "v", "/run/a"]);
        let words = ["cat", "/x/f", "/y/etc/shadow"].map(str::to_owned);
        let there = words_on_host(&mounts, &words);
        let expected = [["cat", "/volumes/v/_data/f", "/etc/shadow"], ["cat", "/run/a/f", "/etc/shadow"]];
        assert_eq!(there, expected);
    }
}

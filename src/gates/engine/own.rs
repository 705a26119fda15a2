//! The container in which the gate runs, and what belongs to it: who changes that, or reads its files, has the guard's keys.

use std::path::Path;

use serde_json::Value;

/// The length of the full ID of a container.
const ID: usize = 64;

/// The mounts of a process, which name its container.
const MOUNTS: &str = "/proc/self/mountinfo";

/// The container of the gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Own {
    id: String,
    /// The names of its volumes, and the folders of the host that it has.
    places: Vec<String>,
}

impl Own {
    /// Of the answer of an engine to `GET /containers/ID/json`.
    pub fn read(json: &Value) -> Option<Self> {
        Some(Self { id: json.get("Id")?.as_str()?.to_owned(), places: places(json) })
    }

    /// Whether a container is this one, or has a volume or a folder of it.
    pub fn has(&self, json: &Value) -> bool {
        json.get("Id").and_then(Value::as_str) == Some(self.id.as_str())
            || places(json).iter().any(|place| self.places.contains(place))
    }

    /// Whether a body of a request names a volume or a folder of this container.
    pub fn is_named(&self, body: &Value) -> bool {
        match body {
            Value::String(text) => {
                let front = text.split_once(':').map_or(text.as_str(), |(front, _)| front);
                self.places.iter().any(|place| {
                    place == front
                        || front.strip_prefix(place.as_str()).is_some_and(|rest| rest.starts_with('/'))
                })
            }
            Value::Array(values) => values.iter().any(|value| self.is_named(value)),
            Value::Object(entries) => entries.iter().any(|(key, value)| {
                // `Volumes` has places in the container as keys.
                self.is_named(value) || self.places.iter().any(|place| place == key)
            }),
            _ => false,
        }
    }
}

/// The ID of the container of this process, if an engine has mounted its files there.
pub fn id() -> Option<String> {
    in_mounts(&std::fs::read_to_string(MOUNTS).ok()?)
}

/// The ID in the mounts of a container: those of `/etc/hostname` and similar are in a folder of its name.
fn in_mounts(mounts: &str) -> Option<String> {
    let files = mounts.lines().filter(|line| {
        let fields: Vec<&str> = line.split(' ').collect();
        matches!(fields.get(4), Some(&("/etc/hostname" | "/etc/hosts" | "/etc/resolv.conf")))
    });
    let is_id = |part: &&str| part.len() == ID && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    files.flat_map(|line| line.split(['/', ' '])).find(is_id).map(str::to_owned)
}

/// The volumes and folders of the host that a container has. A socket gives nothing of its peer.
fn places(json: &Value) -> Vec<String> {
    let mounts = json.get("Mounts").and_then(Value::as_array).into_iter().flatten();
    let place = |mount: &Value| {
        let text = |key: &str| mount.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
        let is_socket = |source: &&str| Path::new(source).extension().is_some_and(|end| end == "sock");
        let source = text("Source").filter(|source| !is_socket(source));
        text("Name").or(source).map(str::to_owned)
    };
    mounts.filter_map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn containers_with_a_volume_or_a_folder_of_the_guard_belong_to_it() {
        let mounts = json!([
            {"Type": "volume", "Name": "lab_guard-state", "Source": "/var/lib/docker/volumes/x/_data"},
            {"Type": "bind", "Source": "/lab/guard-ssh"},
            {"Type": "bind", "Source": "/var/run/docker.sock"},
        ]);
        let own = Own::read(&json!({"Id": "a1", "Mounts": mounts})).unwrap();
        for (container, expected) in [
            (json!({"Id": "a1"}), true),
            (json!({"Id": "b2", "Mounts": [{"Type": "volume", "Name": "lab_guard-state"}]}), true),
            (json!({"Id": "b2", "Mounts": [{"Type": "bind", "Source": "/var/run/docker.sock"}]}), false),
            (json!({"Id": "b2", "Mounts": [{"Type": "volume", "Name": "media"}]}), false),
        ] {
            assert_eq!(own.has(&container), expected, "{container}");
        }
        for (body, expected) in [
            (json!({"HostConfig": {"Binds": ["lab_guard-state:/x:ro"]}}), true),
            (json!({"HostConfig": {"Mounts": [{"Source": "/lab/guard-ssh/id_ed25519"}]}}), true),
            (json!({"volumes": [{"Name": "lab_guard-state", "Dest": "/x"}]}), true),
            (json!({"HostConfig": {"Binds": ["lab_guard-state2:/x"]}, "Env": ["A=lab_guard-state"]}), false),
        ] {
            assert_eq!(own.is_named(&body), expected, "{body}");
        }
    }

    #[test]
    fn the_id_of_the_container_is_in_its_mounts() {
        let id = "0123456789abcdef".repeat(4);
        for line in [
            format!("1 2 0:3 /var/lib/docker/containers/{id}/hostname /etc/hostname rw - ext4 /dev/x rw"),
            format!(
                "1 2 0:3 /containers/storage/overlay-containers/{id}/userdata/hosts /etc/hosts rw - tmpfs x rw"
            ),
        ] {
            assert_eq!(in_mounts(&line), Some(id.clone()));
        }
        assert_eq!(in_mounts(&format!("1 2 0:3 / /srv/{id} rw - ext4 x rw")), None);
    }
}

//! The container in which the gate runs, and what belongs to it: who changes that, or reads its files, has the guard's keys.

use serde_json::Value;

use crate::gates::containers::mounts::{Mount, is_within, places};

/// The length of the full ID of a container.
const ID: usize = 64;

/// The mounts of a process, which name its container.
const MOUNTS: &str = "/proc/self/mountinfo";

/// The container of the gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Own {
    id: String,
    name: String,
    /// The names of its volumes, and the places of the host that it has.
    places: Vec<String>,
    /// The folders of the host in which the engine keeps it.
    kept: Vec<String>,
    /// Its variables, with their values.
    pub variables: Vec<String>,
}

impl Own {
    /// Of the answer of an engine to `GET /containers/ID/json`.
    pub fn read(json: &Value) -> Option<Self> {
        let text = |key: &str| json.get(key).and_then(Value::as_str).unwrap_or_default();
        let folder = text("HostnamePath").rsplit_once('/').map(|(folder, _)| folder.to_owned());
        let kept = folder.into_iter().filter(|folder| !folder.is_empty()).collect();
        let name = text("Name").trim_start_matches('/').to_owned();
        let variables = json.pointer("/Config/Env").and_then(Value::as_array).into_iter().flatten();
        let variables = variables.filter_map(Value::as_str).map(str::to_owned).collect();
        let id = json.get("Id")?.as_str()?.to_owned();
        Some(Self { id, name, places: places(json), kept, variables })
    }

    /// Whether a container is this one.
    pub fn is(&self, json: &Value) -> bool {
        json.get("Id").and_then(Value::as_str) == Some(self.id.as_str())
    }

    /// Whether a container is this one, is joined to it, or has a volume or a folder of it.
    pub fn has(&self, json: &Value) -> bool {
        let joins = |mode: &str| {
            let mode = json.pointer(&format!("/HostConfig/{mode}")).and_then(Value::as_str);
            let whose =
                mode.and_then(|mode| mode.strip_prefix("container:")).filter(|whose| !whose.is_empty());
            whose.is_some_and(|whose| whose == self.name || self.id.starts_with(whose))
        };
        let is_own = |place: &String| self.places.iter().any(|own| is_within(place, own));
        self.is(json)
            || ["PidMode", "IpcMode", "NetworkMode"].into_iter().any(joins)
            || places(json).iter().any(is_own)
    }

    /// Whether a container has a folder that contains one of this container, or a volume that may be one.
    pub fn is_within_reach_of(&self, json: &Value) -> bool {
        let around = |place: &String| self.places.iter().chain(&self.kept).any(|own| is_within(own, place));
        places(json).iter().any(around) || Mount::of(json).iter().any(|mount| !mount.is_known)
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
        let own = Own::read(&json!({"Id": "a1", "Name": "/guard", "Mounts": mounts, "HostnamePath": "/var/lib/docker/containers/a1/hostname"})).unwrap();
        for (container, expected) in [
            (json!({"Id": "a1"}), true),
            (json!({"Id": "b2", "Mounts": [{"Type": "volume", "Name": "lab_guard-state"}]}), true),
            (json!({"Id": "b2", "Mounts": [{"Type": "bind", "Source": "/var/run/docker.sock"}]}), false),
            (json!({"Id": "b2", "Mounts": [{"Type": "volume", "Name": "media"}]}), false),
            (
                json!({"Id": "b2", "Mounts": [{"Type": "bind", "Source": "/var/lib/docker/volumes/x/_data/y"}]}),
                true,
            ),
            (json!({"Id": "b2", "Mounts": [{"Type": "bind", "Source": "/lab/guard-ssh2"}]}), false),
            (json!({"Id": "b2", "HostConfig": {"PidMode": "container:a1"}}), true),
            (json!({"Id": "b2", "HostConfig": {"PidMode": "container:guard"}}), true),
            (json!({"Id": "b2", "HostConfig": {"PidMode": "container:b1"}}), false),
        ] {
            assert_eq!(own.has(&container), expected, "{container}");
        }
        for (source, expected) in [
            ("/", true),
            ("/lab", true),
            ("/var/lib/docker/volumes", true),
            ("/var/lib/docker/containers", true),
            ("/var/lib/docker/image", false),
            ("/la", false),
        ] {
            let container = json!({"Id": "b2", "Mounts": [{"Type": "bind", "Source": source}]});
            assert_eq!(own.is_within_reach_of(&container), expected, "{source}");
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

//! What a container reaches beyond itself: an engine, its host, or the network of its host.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use opsctl_policy::paths::glob;
use serde::Deserialize;
use serde_json::Value;

use super::mounts::Mount;

/// The variables with the address of an engine.
const ADDRESSES: [&str; 2] = ["DOCKER_HOST=", "CONTAINER_HOST="];

/// What is known of containers: `reach.yaml`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Known {
    sockets: Vec<String>,
    capabilities: Vec<String>,
    devices: Vec<String>,
    /// Folders of programs.
    pub folders: Vec<String>,
    /// Variables that a command may get.
    pub variables: Vec<String>,
    /// Words, as globs, with which a program may not run.
    pub starts: BTreeMap<String, Vec<String>>,
    /// Beginnings of options that it may not have.
    pub never: Vec<String>,
    /// Programs that only read files.
    pub readers: String,
    /// Programs that read devices of disks.
    pub of_devices: String,
    /// Programs that open connections, but not to engines.
    pub clients: String,
    /// Files of `/proc` that belong to no process.
    pub proc: String,
    /// Files of `/dev` that are no disks.
    pub dev: String,
    /// What the volumes of engines and clusters are.
    pub volumes: Volumes,
}

/// What volumes are on their host.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Volumes {
    /// Types of file systems without files of the host.
    pub apart: Vec<String>,
    /// Folders of the host that have a type of their own.
    pub folders: BTreeMap<String, String>,
    /// Kinds of volumes of pods and of clusters that are not folders of a node.
    pub clusters: Vec<String>,
}

/// A test reads the file, so it is valid.
pub static KNOWN: LazyLock<Known> =
    LazyLock::new(|| serde_saphyr::from_str(include_str!("reach.yaml")).unwrap_or_default());

/// What a container reaches, from the least to the most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    /// Its own files and processes, and what it has of others by mounts.
    Itself,
    /// The network of its host, where an engine may listen.
    Network,
    /// The processes or the disks of its host, or of another container, and all files through them. Also a volume of which it is
    /// not known what it is.
    Host,
    /// A container engine.
    Engine,
}

impl Reach {
    /// Of the description of a container by an engine.
    pub fn of(json: &Value) -> Self {
        if reaches_engine(json) {
            Self::Engine
        } else if reaches_host(json) {
            Self::Host
        } else if has_network(json) {
            Self::Network
        } else {
            Self::Itself
        }
    }
}

fn texts<'a>(json: &'a Value, path: &str) -> impl Iterator<Item = &'a str> {
    json.pointer(path).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

fn text<'a>(json: &'a Value, path: &str) -> &'a str {
    json.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

/// Whether a container has a socket of an engine, a folder around it, or an address in a variable.
fn reaches_engine(json: &Value) -> bool {
    let holds =
        |path: &str| KNOWN.sockets.iter().any(|own| glob::matches(own, path) || glob::leads_below(own, path));
    let is_address = |text: &str| ADDRESSES.iter().any(|name| text.starts_with(name));
    texts(json, "/Config/Env").any(is_address)
        || Mount::of(json)
            .iter()
            .any(|mount| mount.is_known && !mount.source.is_empty() && holds(&mount.source))
}

/// Whether a container has processes of others, rights over those of its host, or its disks.
fn reaches_host(json: &Value) -> bool {
    let is_shared = |mode: &str| mode == "host" || mode.starts_with("container:") || mode.starts_with("ns:");
    let is_right = |name: &str| {
        let name = name.to_ascii_uppercase();
        KNOWN.capabilities.iter().any(|own| name.trim_start_matches("CAP_") == own)
    };
    let is_disk =
        |path: &str| KNOWN.devices.iter().any(|own| glob::matches(own, path) || glob::leads_below(own, path));
    let devices = json.pointer("/HostConfig/Devices").and_then(Value::as_array).into_iter().flatten();
    let mut devices = devices.filter_map(|device| device.get("PathOnHost")?.as_str());
    let is_any = |rule: &str| rule.starts_with(['a', 'b']);
    json.pointer("/HostConfig/Privileged") == Some(&Value::Bool(true))
        || is_shared(text(json, "/HostConfig/PidMode"))
        || texts(json, "/HostConfig/CapAdd").chain(texts(json, "/EffectiveCaps")).any(is_right)
        || texts(json, "/HostConfig/DeviceCgroupRules").any(is_any)
        || devices.any(is_disk)
        || Mount::of(json).iter().any(|mount| !mount.is_known)
}

/// Whether a container is in the network of its host.
fn has_network(json: &Value) -> bool {
    text(json, "/HostConfig/NetworkMode") == "host"
        || json.pointer("/NetworkSettings/Networks/host").is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_file_of_reach_is_valid() {
        assert!(serde_saphyr::from_str::<Known>(include_str!("reach.yaml")).is_ok());
    }

    #[test]
    fn sockets_of_engines_are_reached_through_folders_around_them() {
        for (source, reaches) in [
            ("/var/run/docker.sock", true),
            ("/run", true),
            ("/var/run/", true),
            ("/", true),
            ("/run/user/1000", true),
            ("/srv/x/docker.sock", true),
            ("/run/udev", false),
            ("/srv", false),
            ("/var", false),
        ] {
            let json = json!({"Mounts": [{"Type": "bind", "Source": source, "Destination": "/x"}]});
            assert_eq!(Reach::of(&json) == Reach::Engine, reaches, "{source}");
        }
        let json = json!({"Config": {"Env": ["A=b", "DOCKER_HOST=tcp://proxy:2375"]}});
        assert_eq!(Reach::of(&json), Reach::Engine);
    }

    #[test]
    fn rights_and_namespaces_of_the_host_reach_it() {
        for (config, reach) in [
            (json!({"PidMode": "host"}), Reach::Host),
            (json!({"PidMode": "container:a1"}), Reach::Host),
            (json!({"Privileged": true, "NetworkMode": "host"}), Reach::Host),
            (json!({"CapAdd": ["CAP_SYS_PTRACE"]}), Reach::Host),
            (json!({"CapAdd": ["all"]}), Reach::Host),
            (json!({"Devices": [{"PathOnHost": "/dev/sda1"}]}), Reach::Host),
            (json!({"Devices": [{"PathOnHost": "/dev/disk/by-id/x"}]}), Reach::Host),
            (json!({"DeviceCgroupRules": ["b 8:* r"]}), Reach::Host),
            (json!({"NetworkMode": "host"}), Reach::Network),
            (
                json!({"NetworkMode": "media", "PidMode": "", "Privileged": false, "CapAdd": ["NET_ADMIN"], "Devices": [{"PathOnHost": "/dev/dri"}]}),
                Reach::Itself,
            ),
        ] {
            assert_eq!(Reach::of(&json!({ "HostConfig": config })), reach, "{config}");
        }
    }
}

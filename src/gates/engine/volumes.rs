//! What the volumes of a container are on the host. An engine states a folder of its own for each, also if another one is mounted there.

use serde_json::Value;

use super::judge::Engine;
use crate::gates::containers::mounts::{BEHIND, bound, unknown};
use crate::gates::containers::reach::KNOWN;
use crate::gates::proxy::request::Refusal;

/// The driver of which the options are known.
const LOCAL: &str = "local";

/// What a volume is.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Volume {
    /// Folders of the host that it is.
    folders: Vec<String>,
    /// Whether it may be another one, too.
    is_unknown: bool,
}

impl Volume {
    /// Of what an engine states of a volume; `None`: it could not be asked.
    fn of(volume: Option<&Value>) -> Self {
        let unknown = Self { is_unknown: true, ..Self::default() };
        let Some(volume) = volume else { return unknown };
        let driver = volume.get("Driver").and_then(Value::as_str).unwrap_or_default();
        if driver != LOCAL {
            return unknown;
        }
        let entries = volume.get("Options").and_then(Value::as_object);
        let option = |name: &str| {
            let mut all = entries.into_iter().flatten().filter(|(key, _)| key.eq_ignore_ascii_case(name));
            all.find_map(|(_, value)| value.as_str()).unwrap_or_default()
        };
        let (kind, device, options) = (option("type"), option("device"), option("o"));
        if kind.is_empty() && device.is_empty() {
            return Self::default();
        }
        let mut names = options.split(',').map(|option| option.split('=').next().unwrap_or_default().trim());
        if names.any(|name| matches!(name, "bind" | "rbind")) {
            return Self { folders: vec![device.to_owned()], is_unknown: false };
        }
        let is_apart = KNOWN.volumes.apart.iter().any(|own| own == kind);
        let is_path = device.starts_with('/') && !device.starts_with("//");
        let folders = layers(options.split(','));
        match KNOWN.volumes.folders.get(kind) {
            Some(folder) => Self { folders: vec![folder.clone()], is_unknown: false },
            None if is_apart && !is_path => Self::default(),
            None if kind == "overlay" && !folders.is_empty() => Self { folders, is_unknown: false },
            None => Self { folders, is_unknown: true },
        }
    }

    /// Whether it has no files of the host but its own.
    pub const fn is_apart(&self) -> bool {
        self.folders.is_empty() && !self.is_unknown
    }
}

/// The folders of an overlay: `lowerdir=/a:/b`.
fn layers<'a>(options: impl Iterator<Item = &'a str>) -> Vec<String> {
    let pairs = options.filter_map(|option| option.trim().split_once('='));
    let of =
        pairs.filter(|(name, _)| matches!(name.trim_end_matches('+'), "lowerdir" | "upperdir" | "datadir"));
    of.flat_map(|(_, folders)| folders.split(':')).filter(|own| !own.is_empty()).map(str::to_owned).collect()
}

/// The folder of a volume that a container has, if it is not all of it.
fn part(json: &Value, mount: &Value) -> String {
    let text = |value: &Value, path: &str| value.pointer(path).and_then(Value::as_str).map(str::to_owned);
    let stated = json.pointer("/HostConfig/Mounts").and_then(Value::as_array).into_iter().flatten();
    let mut same = stated.filter(|own| text(own, "/Target") == text(mount, "/Destination"));
    let part = same.find_map(|own| text(own, "/VolumeOptions/Subpath")).or_else(|| text(mount, "/SubPath"));
    part.map(|part| format!("/{part}")).unwrap_or_default()
}

impl Engine {
    /// Adds to the description of a container what its volumes are on the host. An error is that the engine could not be asked for one,
    /// which is unknown then.
    pub(super) async fn resolve(&self, json: &mut Value) -> Result<(), Refusal> {
        if json.get(BEHIND).is_some() {
            return Ok(());
        }
        let mounts = json.get("Mounts").and_then(Value::as_array).cloned().unwrap_or_default();
        let (mut behind, mut asked) = (Vec::new(), Ok(()));
        for mount in &mounts {
            let text = |key: &str| mount.get(key).and_then(Value::as_str).unwrap_or_default();
            let (kind, name, destination) = (text("Type"), text("Name"), text("Destination"));
            let options = mount.get("Options").and_then(Value::as_array).into_iter().flatten();
            let folders = layers(options.filter_map(Value::as_str));
            behind.extend(folders.iter().map(|folder| bound(folder, destination)));
            if matches!(kind, "bind" | "tmpfs" | "image") || name.is_empty() && kind != "volume" {
                continue;
            }
            let volume = match self.volume(name).await {
                Ok(volume) => volume.unwrap_or_else(|| Volume::of(None)),
                Err(refusal) => {
                    asked = Err(refusal);
                    Volume::of(None)
                }
            };
            let part = part(json, mount);
            behind.extend(volume.folders.iter().map(|own| bound(&format!("{own}{part}"), destination)));
            behind.extend(volume.is_unknown.then(|| unknown(destination)));
        }
        if let Some(entries) = json.as_object_mut() {
            entries.insert(BEHIND.to_owned(), Value::Array(behind));
        }
        asked
    }

    /// What a volume is; `None`: there is none of this name.
    pub(super) async fn volume(&self, name: &str) -> Result<Option<Volume>, Refusal> {
        let found = self.known(&["volumes", name]).await?;
        Ok(found.map(|found| Volume::of(Some(&found))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn volumes_are_the_folders_that_their_options_state() {
        let apart = || Volume::default();
        let folders = |all: &[&str]| Volume {
            folders: all.iter().map(|own| (*own).to_owned()).collect(),
            is_unknown: false,
        };
        let unknown = || Volume { is_unknown: true, ..Volume::default() };
        for (options, expected) in [
            (json!(null), apart()),
            (json!({}), apart()),
            (json!({"size": "10G"}), apart()),
            (json!({"o": "uid=1000,gid=1000"}), apart()),
            (json!({"type": "nfs", "o": "addr=10.0.0.9,rw", "device": ":/export"}), apart()),
            (json!({"type": "nfs4", "o": "addr=nas", "device": "nas:/export"}), apart()),
            (json!({"type": "cifs", "o": "username=x,password=y", "device": "//nas/media"}), apart()),
            (json!({"type": "tmpfs", "o": "size=100m", "device": "tmpfs"}), apart()),
            (json!({"type": "none", "o": "bind", "device": "/srv/x"}), folders(&["/srv/x"])),
            (json!({"o": "rw,rbind", "device": "/srv/x"}), folders(&["/srv/x"])),
            (json!({"Type": "nfs", "O": "addr=x,bind", "Device": "/srv/x"}), folders(&["/srv/x"])),
            (
                json!({"type": "overlay", "o": "lowerdir=/a:/b,upperdir=/c,workdir=/w", "device": "overlay"}),
                folders(&["/a", "/b", "/c"]),
            ),
            (json!({"type": "proc", "device": "proc"}), folders(&["/proc"])),
            (json!({"type": "ext4", "device": "/dev/sda1"}), unknown()),
            (json!({"type": "nfs", "device": "/srv/x"}), unknown()),
            (json!({"type": "overlay", "device": "overlay"}), unknown()),
            (json!({"device": "/srv/x"}), unknown()),
        ] {
            let volume = json!({"Name": "v", "Driver": "local", "Options": options});
            assert_eq!(Volume::of(Some(&volume)), expected, "{volume}");
        }
        assert_eq!(Volume::of(Some(&json!({"Name": "v", "Driver": "rclone", "Options": {}}))), unknown());
        assert_eq!(Volume::of(Some(&json!({"Name": "v"}))), unknown());
        assert_eq!(Volume::of(None), unknown());
    }

    #[test]
    fn a_part_of_a_volume_is_that_folder() {
        let mount = json!({"Type": "volume", "Name": "v", "Destination": "/x"});
        let stated = json!([{"Type": "volume", "Target": "/x", "VolumeOptions": {"Subpath": "a/b"}}]);
        assert_eq!(part(&json!({"HostConfig": {"Mounts": stated}}), &mount), "/a/b");
        assert_eq!(part(&json!({"HostConfig": {}}), &mount), "");
    }
}

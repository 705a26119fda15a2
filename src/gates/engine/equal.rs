//! Whether a container that is to be created is equal to the one that it replaces: in what it runs, what it reaches and its limits.

use std::collections::{BTreeMap, BTreeSet};

use opsctl_reader::shell::glob;
use serde_json::{Map, Value};

use super::table::{Equal, Keys};
use super::words::{is_empty, mounted, texts};

/// Variables that engines set themselves.
const OF_ENGINES: [&str; 5] = ["HOME", "HOSTNAME", "PATH", "TERM", "container"];

/// Options of a mount that give a container no more than it had.
const OPTIONS: [&str; 10] =
    ["rw", "ro", "z", "Z", "nocopy", "private", "rprivate", "cached", "delegated", "consistent"];

/// What a folder in memory has in place of the name of a volume.
const TMPFS: &str = "tmpfs:";

/// Options of a folder in memory that Podman adds to those of a request.
const OF_MEMORY: [&str; 5] = ["rw", "rprivate", "nosuid", "nodev", "tmpcopyup"];

/// The keys that are compared in a way of their own.
const OWN: [&str; 10] = [
    "Cmd",
    "Entrypoint",
    "Env",
    "Hostname",
    "HostConfig.Binds",
    "HostConfig.Mounts",
    "HostConfig.NetworkMode",
    "HostConfig.PortBindings",
    "Image",
    "Labels",
];

/// A container, its image, and the body of the request that replaces it.
#[derive(Debug, Clone, Copy)]
pub struct Replaced<'a> {
    /// What the engine states of the container.
    pub old: &'a Value,
    /// What the engine states of the image.
    pub image: &'a Value,
    /// The body of the request.
    pub body: &'a Value,
}

impl Replaced<'_> {
    /// Whether the new container is equal to the old one.
    pub fn is_equal(self, keys: &Keys, equal: &Equal) -> bool {
        self.has_command()
            && self.has_variables()
            && self.has_labels(equal)
            && self.has_host_name()
            && self.has_mounts()
            && self.has_ports()
            && self.has_networks()
            && keys.keys().all(|key| self.has(key, equal))
    }

    /// Whether a key has the value that it had.
    fn has(self, key: &str, equal: &Equal) -> bool {
        let is_of_networks = key.starts_with("NetworkingConfig");
        if OWN.contains(&key) || equal.ignored.contains(key) || is_of_networks {
            return true;
        }
        let path = format!("/{}", key.replace('.', "/"));
        let was = match key.strip_prefix("HostConfig.") {
            Some(_) => at(self.old, &path),
            None => at(self.old, &format!("/Config{path}")),
        };
        let stated = at(self.body, &path);
        let is_of_image = is_empty(stated) && equal.of_image.contains(key);
        let stated = if is_of_image { at(self.image, &format!("/Config{path}")) } else { stated };
        let of = |globs: &BTreeMap<String, Vec<String>>, text: &String| {
            globs.get(key).is_some_and(|globs| globs.iter().any(|pattern| glob(pattern, text)))
        };
        let (mut was, mut stated) = (plain(key, was), plain(key, stated));
        // What an engine states for a key that the request leaves out is not what the request may state.
        was.retain(|text| !of(&equal.neutral, text) && (stated.contains(text) || !of(&equal.defaults, text)));
        stated.retain(|text| !of(&equal.neutral, text));
        match key {
            // An engine adds limits of its own, and the volumes that an image states.
            "HostConfig.Ulimits" | "Volumes" => stated.is_subset(&was),
            // It sets this one with the memory, and these with the processors.
            "HostConfig.MemorySwap" if stated.is_empty() => {
                let memory = at(self.old, "/HostConfig/Memory").as_i64().unwrap_or_default();
                was.is_empty() || was.contains(&(2 * memory).to_string())
            }
            "HostConfig.CpuPeriod" | "HostConfig.CpuQuota" if stated.is_empty() => {
                was.is_empty() || !is_empty(at(self.body, "/HostConfig/NanoCpus"))
            }
            // What a daemon is configured to, it states as if a request had stated it.
            "HostConfig.LogConfig.Config" | "HostConfig.LogConfig.Type" => stated.is_empty() || stated == was,
            _ => stated == was,
        }
    }

    /// Whether the program and its arguments are those of the old container. An image's arguments belong to its own program.
    pub fn has_command(self) -> bool {
        let of = |value: &Value, key: &str| words(at(value, key));
        let of_image = |key: &str| of(self.image, &format!("/Config/{key}"));
        let (program, stated) = (at(self.body, "/Entrypoint"), of(self.body, "/Cmd"));
        // Docker takes an empty list for no program, Podman for that of the image.
        let is_empty_list = program.as_array().is_some_and(Vec::is_empty);
        if is_empty_list && !of_image("Entrypoint").is_empty() {
            return false;
        }
        let program = words(program);
        let arguments = if stated.is_empty() && program.is_empty() { of_image("Cmd") } else { stated };
        let program = match program.as_slice() {
            [] => of_image("Entrypoint"),
            // The program of the image is not used.
            [empty] if empty.is_empty() => vec![],
            _ => program,
        };
        let is = |own: Vec<String>, key: &str| {
            let was = at(self.old, key);
            own == words(was) || was.as_str().is_some_and(|was| was == own.join(" "))
        };
        is(program, "/Config/Entrypoint") && is(arguments, "/Config/Cmd")
    }

    fn has_variables(self) -> bool {
        let read = |value: &Value| -> BTreeMap<String, String> {
            let texts = value.as_array().into_iter().flatten().filter_map(Value::as_str);
            texts.filter_map(|text| text.split_once('=')).map(|(n, v)| (n.to_owned(), v.to_owned())).collect()
        };
        let mut stated = read(at(self.image, "/Config/Env"));
        stated.extend(read(at(self.body, "/Env")));
        let mut was = read(at(self.old, "/Config/Env"));
        was.retain(|name, _| stated.contains_key(name) || !OF_ENGINES.contains(&name.as_str()));
        stated == was
    }

    fn has_labels(self, equal: &Equal) -> bool {
        let read = |value: &Value| -> Map<String, Value> { value.as_object().cloned().unwrap_or_default() };
        let mut stated = read(at(self.image, "/Config/Labels"));
        stated.extend(read(at(self.body, "/Labels")));
        let mut was = read(at(self.old, "/Config/Labels"));
        for labels in [&mut stated, &mut was] {
            labels.retain(|name, _| !equal.labels.iter().any(|own| glob(own, name)));
        }
        stated == was
    }

    /// Whether the name of the host is the one that was stated; an engine takes the beginning of the ID for it.
    fn has_host_name(self) -> bool {
        let text = |value, path| at(value, path).as_str().unwrap_or_default().to_owned();
        let (stated, was) = (text(self.body, "/Hostname"), text(self.old, "/Config/Hostname"));
        let shared = ["/HostConfig/NetworkMode", "/HostConfig/UTSMode"].map(|path| text(self.old, path));
        let is_shared = shared.iter().any(|mode| mode == "host" || mode.starts_with("container:"));
        stated == was || stated.is_empty() && (is_shared || text(self.old, "/Id").starts_with(&was))
    }

    /// Whether the volumes and folders are those that it had: what is mounted, where, and whether it can be written.
    fn has_mounts(self) -> bool {
        let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        let trimmed = |text: String| if text == "/" { text } else { text.trim_end_matches('/').to_owned() };
        let list = |value: &Value, path: &str| at(value, path).as_array().cloned().unwrap_or_default();
        let is_tmpfs = |mount: &Value| text(mount, "Type").as_deref() == Some("tmpfs");
        let part = |value: &Value| if is_empty(value) { String::new() } else { sorted(value) };
        let options =
            |mount: &Value| ["/TmpfsOptions", "/VolumeOptions"].map(|options| part(at(mount, options)));
        let known = list(self.old, "/HostConfig/Mounts");
        let mut stated = BTreeSet::new();
        for bind in list(self.body, "/HostConfig/Binds") {
            let bind = bind.as_str().map(mounted).unwrap_or_default();
            let parts: Vec<&str> = bind.split(':').collect();
            let [source, folder, options @ ..] = parts.as_slice() else { return false };
            let options: Vec<&str> = options.iter().flat_map(|options| options.split(',')).collect();
            if !options.iter().all(|option| OPTIONS.contains(option)) {
                return false;
            }
            let reads = options.contains(&"ro");
            stated.insert((trimmed((*source).to_owned()), trimmed((*folder).to_owned()), !reads));
        }
        for mount in list(self.body, "/HostConfig/Mounts") {
            // The size of a folder in memory, which folder of a volume it is, and similar ones.
            let was = known.iter().find(|was| text(was, "Target") == text(&mount, "Target"));
            if options(was.unwrap_or(&Value::Null)) != options(&mount) {
                return false;
            }
            let source = text(&mount, "Source").unwrap_or_default();
            let source = if is_tmpfs(&mount) { TMPFS.to_owned() } else { source };
            let writes = mount.get("ReadOnly").and_then(Value::as_bool) != Some(true);
            stated.insert((trimmed(source), trimmed(text(&mount, "Target").unwrap_or_default()), writes));
        }
        let was = list(self.old, "/Mounts").into_iter().filter_map(|mount| {
            let name = if text(&mount, "Type")? == "volume" { "Name" } else { "Source" };
            let writes = mount.get("RW").and_then(Value::as_bool) != Some(false);
            let folder = trimmed(text(&mount, "Destination")?);
            let source =
                if is_tmpfs(&mount) { TMPFS.to_owned() } else { text(&mount, name).unwrap_or_default() };
            Some((trimmed(source), folder, writes))
        });
        stated == was.collect()
    }

    fn has_ports(self) -> bool {
        let read = |value: &Value| -> BTreeSet<(String, String, String)> {
            let ports = value.as_object().into_iter().flatten();
            let each = ports.flat_map(|(port, hosts)| {
                let port = if port.contains('/') { port.clone() } else { format!("{port}/tcp") };
                let hosts = hosts.as_array().into_iter().flatten();
                hosts.map(move |host| {
                    let text = |key: &str| host.get(key).and_then(Value::as_str).unwrap_or_default();
                    let address = if text("HostIp") == "0.0.0.0" { "" } else { text("HostIp") };
                    let own = if text("HostPort") == "0" { "" } else { text("HostPort") };
                    (port.clone(), address.to_owned(), own.to_owned())
                })
            });
            each.collect()
        };
        read(at(self.body, "/HostConfig/PortBindings")) == read(at(self.old, "/HostConfig/PortBindings"))
    }

    /// Whether the networks are ones of the old container, with names and addresses that it had there. Clients of older engines
    /// connect a container to its further networks later.
    fn has_networks(self) -> bool {
        let mode = |value: &Value| network(at(value, "/HostConfig/NetworkMode").as_str().unwrap_or_default());
        let stated = at(self.body, "/NetworkingConfig/EndpointsConfig").as_object();
        let networks = at(self.old, "/NetworkSettings/Networks").as_object();
        let mut was: BTreeSet<String> =
            networks.into_iter().flatten().map(|(name, _)| network(name)).collect();
        let last = mode(self.old);
        if was.is_empty() || last != network("") {
            was.insert(last);
        }
        was.contains(&mode(self.body))
            && stated
                .into_iter()
                .flatten()
                .all(|(name, endpoint)| was.contains(&network(name)) && is_endpoint(self.old, name, endpoint))
    }
}

/// The name of a network; the default one has several.
fn network(name: &str) -> String {
    if matches!(name, "" | "default" | "bridge" | "podman") { String::new() } else { name.to_owned() }
}

/// What an engine states of a container in a network, which is named by its name or its ID.
pub fn endpoint<'v>(old: &'v Value, name: &str) -> Option<&'v Value> {
    let networks = at(old, "/NetworkSettings/Networks").as_object();
    let is_it = |known: &str, state: &Value| {
        network(known) == network(name) || state.get("NetworkID").and_then(Value::as_str) == Some(name)
    };
    let was = networks.into_iter().flatten().find(|(known, state)| is_it(known, state));
    was.map(|(_, state)| state)
}

/// Whether a container has these names and addresses in a network.
pub fn is_endpoint(old: &Value, name: &str, stated: &Value) -> bool {
    let was = endpoint(old, name).unwrap_or(&Value::Null);
    let names = |value: &Value| words(at(value, "/Aliases")).into_iter().collect::<BTreeSet<_>>();
    names(stated).is_subset(&names(was))
        && ["Links", "IPAMConfig", "MacAddress", "DriverOpts", "GwPriority"].iter().all(|key| {
            let (stated, known) = (stated.get(key).unwrap_or(&Value::Null), was.get(key));
            is_empty(stated) || known == Some(stated)
        })
}

/// A part of a value.
fn at<'v>(value: &'v Value, path: &str) -> &'v Value {
    value.pointer(path).unwrap_or(&Value::Null)
}

/// A list of words. Podman states some as one text.
fn words(value: &Value) -> Vec<String> {
    if is_empty(value) { vec![] } else { texts(value) }
}

/// The texts of a value, as all engines state them.
fn plain(key: &str, value: &Value) -> BTreeSet<String> {
    let has_names = matches!(key, "HostConfig.Tmpfs" | "Volumes");
    if is_empty(value) && !has_names {
        return BTreeSet::new();
    }
    let mut all: BTreeSet<String> = match value {
        Value::Null => BTreeSet::new(),
        // What is within it, without what is empty.
        Value::Object(entries) if !has_names => {
            let within = entries.iter().filter(|(_, value)| !is_empty(value));
            within.map(|(key, value)| format!("{}={}", key.to_lowercase(), texts(value).join(","))).collect()
        }
        Value::Object(entries) => {
            entries.iter().map(|(folder, options)| in_memory(folder, options)).collect()
        }
        Value::Array(values) => values.iter().map(sorted).collect(),
        value => texts(value).into_iter().collect(),
    };
    if key.ends_with("CapAdd") || key.ends_with("CapDrop") {
        all = all.iter().map(|name| name.to_uppercase().trim_start_matches("CAP_").to_owned()).collect();
    }
    if key.ends_with("SecurityOpt") {
        all = all.iter().map(|text| text.replace([':', '='], "").replace("true", "")).collect();
    }
    if key.ends_with("Ulimits") {
        all = all.iter().map(|text| text.to_lowercase().replace("rlimit_", "")).collect();
    }
    all
}

/// A folder with its options, of which Podman adds some to those of a request.
fn in_memory(folder: &str, options: &Value) -> String {
    let options = options.as_str().unwrap_or_default().split(',');
    let own: BTreeSet<&str> = options.filter(|own| !own.is_empty() && !OF_MEMORY.contains(own)).collect();
    format!("{folder}={}", own.into_iter().collect::<Vec<_>>().join(","))
}

/// The text of a value, with its keys in their order.
fn sorted(value: &Value) -> String {
    let Some(entries) = value.as_object() else { return texts(value).join(",") };
    let pairs: BTreeMap<&String, String> = entries
        .iter()
        .filter(|(_, value)| !is_empty(value))
        .map(|(key, value)| (key, sorted(value)))
        .collect();
    pairs.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(",")
}

//! The words of the command that does what a request does: from its query and its body.

use std::collections::{BTreeMap, HashSet};

use opsctl_reader::shell::glob;
use serde_json::{Map, Value, json};

use super::table::{Adds, Guarded, Keys};
use crate::gates::containers::mounts::is_within;
use crate::gates::proxy::request::has_nul;

/// What adds nothing to a command, and concerns only how long a client waits and what it shows, in small letters.
const OUTPUT: [&str; 10] =
    ["t", "timeout", "detachkeys", "attachstdout", "attachstderr", "detach", "tty", "consolesize", "h", "w"];

/// The parts of a command.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Words {
    /// The options.
    pub options: Vec<String>,
    /// Options with their values that give a container rights of the host.
    pub host: Vec<(String, String)>,
    /// The image.
    pub image: Option<String>,
    /// The program that is started in place of that of the image, with its arguments.
    pub entrypoint: Vec<String>,
    /// The further words.
    pub rest: Vec<String>,
    /// The container that a body names.
    pub container: Option<String>,
    /// The names of volumes, which other containers may have, too.
    pub volumes: Vec<String>,
    /// Whether something of the request is in none of them.
    pub lacks: bool,
}

/// A body as its only reading. Engines ignore the case of keys, so that two keys could be one.
pub fn body(bytes: &[u8]) -> Result<Value, String> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Ok(Value::Object(Map::new()));
    }
    let value: Value =
        serde_json::from_slice(bytes).map_err(|error| format!("the body is not JSON ({error})"))?;
    if !value.is_object() {
        return Err("the body is not an object".to_owned());
    }
    if has_nul(&value) {
        Err("the body has a text with NUL".to_owned())
    } else if has_twins(&value) {
        Err("the body has two keys that differ in case only".to_owned())
    } else {
        Ok(value)
    }
}

fn has_twins(value: &Value) -> bool {
    match value {
        Value::Array(values) => values.iter().any(has_twins),
        Value::Object(entries) => {
            let mut seen = HashSet::new();
            entries
                .iter()
                .any(|(key, value)| !seen.insert(key.to_uppercase().to_lowercase()) || has_twins(value))
        }
        _ => false,
    }
}

/// Whether a value is the default of its kind.
pub fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(value) => value.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(values) => values.is_empty(),
        Value::Object(entries) => entries.values().all(is_empty),
    }
}

impl Words {
    /// Adds what the parameters of a query state.
    pub fn query(&mut self, query: &[(String, String)], keys: &Keys) -> Result<(), String> {
        let mut seen = HashSet::new();
        for (name, value) in query {
            if !seen.insert(name) {
                return Err(format!("the parameter `{name}` is repeated"));
            }
            let adds =
                keys.get(name).ok_or_else(|| format!("the parameter `{name}` is not known to this gate"))?;
            let is_flag = matches!(adds, Adds::Any(option) if option.starts_with('?') || option == "!");
            let value = match value.as_str() {
                _ if !is_flag => Value::from(value.as_str()),
                "1" | "true" | "True" | "TRUE" | "t" | "T" => Value::from(true),
                value if is_off(value) => Value::from(false),
                _ if matches!(adds, Adds::Any(option) if option == "!") => Value::from(value.as_str()),
                _ => return Err(format!("the parameter `{name}` is neither true nor false")),
            };
            self.add(name, &value, adds)?;
        }
        Ok(())
    }

    /// Adds what a body states. Empty keys that are not known are removed: an engine could know them in another case.
    pub fn body(&mut self, body: &mut Value, keys: &Keys) -> Result<(), String> {
        body.as_object_mut().map_or(Ok(()), |entries| self.object("", entries, keys))
    }

    fn object(&mut self, outer: &str, entries: &mut Map<String, Value>, keys: &Keys) -> Result<(), String> {
        let mut unknown = HashSet::new();
        let named = format!("{outer}.*");
        let has_names = keys.contains_key(&named);
        for (key, value) in entries.iter_mut() {
            if let Some(adds) = keys.get(&named) {
                self.add(&named, &Value::from(key.as_str()), adds)?;
            }
            let path = match outer {
                "" => key.clone(),
                _ if has_names => named.clone(),
                _ => format!("{outer}.{key}"),
            };
            let within = format!("{path}.");
            let has_inner =
                keys.range(within.clone()..).next().is_some_and(|(key, _)| key.starts_with(&within));
            if let Some(inner) = value.as_object_mut().filter(|_| has_inner) {
                self.object(&path, inner, keys)?;
            } else if has_names && is_empty(value) {
                // The name is all that it states.
            } else if let Some(adds) = keys.get(&path).filter(|_| !has_names) {
                self.add(&path, value, adds)?;
            } else if is_empty(value) {
                unknown.insert(key.clone());
            } else {
                return Err(format!("the key `{path}` of the body is not known to this gate"));
            }
        }
        entries.retain(|key, _| !unknown.contains(key));
        Ok(())
    }

    fn add(&mut self, name: &str, value: &Value, adds: &Adds) -> Result<(), String> {
        // An engine reads `null` in a list of texts as the empty text.
        let has_null = || value.as_array().is_some_and(|values| values.iter().any(Value::is_null));
        let option = match adds {
            Adds::Some(_) if has_null() => return Err(not_text(name)),
            Adds::Some(guarded) => {
                self.guarded(value, guarded);
                return Ok(());
            }
            Adds::Any(option) => option.as_str(),
        };
        if is_empty(value) {
            return Ok(());
        }
        if option.is_empty() {
            self.lacks |= !OUTPUT.contains(&name.to_ascii_lowercase().as_str());
            return Ok(());
        }
        let mut values = match option {
            "{}" | "words" | "image" | "entrypoint" | "container" => {
                words(value).ok_or_else(|| not_text(name))?
            }
            _ if has_null() => return Err(not_text(name)),
            _ => texts(value),
        };
        match option {
            "!" => return Err(format!("`{name}` is not allowed by this gate")),
            "{}" | "words" => self.rest.append(&mut values),
            "image" => self.image = values.pop(),
            "entrypoint" => self.entrypoint = values,
            "container" => self.container = values.pop(),
            _ => match option.strip_prefix('?') {
                Some(flag) => self.options.push(flag.to_owned()),
                None => self.options.extend(values.into_iter().flat_map(|value| [option.to_owned(), value])),
            },
        }
        Ok(())
    }

    fn guarded(&mut self, value: &Value, guarded: &Guarded) {
        let Guarded { option, only, parts, map, outside, never, without, empty, adds } = guarded;
        if *empty && value.is_array() {
            self.host.push((option.clone(), value.to_string()));
        }
        let is_map = (*empty || *map) && value.is_object();
        if is_empty(value) && !is_map {
            return;
        }
        self.lacks |= !*adds;
        if !parts.is_empty() {
            let values = match value {
                Value::Object(entries) if *map => entries.iter().map(in_memory).collect(),
                Value::Array(values) => values.clone(),
                value => vec![value.clone()],
            };
            let is_harmless = |value: &&Value| has_parts(value, parts) && is_outside(value, outside);
            let (harmless, rights): (Vec<_>, Vec<_>) = values.iter().partition(is_harmless);
            self.host.extend(
                rights
                    .into_iter()
                    .map(|value| (option.clone(), value.as_str().map_or_else(|| flat(value), mounted))),
            );
            for (name, folder) in harmless.into_iter().filter_map(volume) {
                self.options.extend(["--volume".to_owned(), format!("{name}:{folder}")]);
                self.volumes.push(name);
            }
            return;
        }
        for text in texts(value) {
            let matches = |globs: &Vec<String>| globs.iter().any(|pattern| glob(pattern, &text));
            if !only.as_ref().is_none_or(matches) || matches(never) {
                self.host.push((option.clone(), text));
            } else if *adds && !matches(without) {
                self.options.extend([option.clone(), text]);
            }
        }
    }
}

/// The words of a value; `None` if a part of it is no text.
fn words(value: &Value) -> Option<Vec<String>> {
    let values = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
    values.iter().map(|value| value.as_str().map(str::to_owned)).collect()
}

fn not_text(name: &str) -> String {
    format!("`{name}` has a value that is no text")
}

/// A folder in memory as an object with the parts of a volume.
fn in_memory((folder, options): (&String, &Value)) -> Value {
    let options = match options.as_str() {
        Some("") => json!([]),
        Some(text) => text.split(',').collect(),
        None => json!([options]),
    };
    json!({ "Dest": folder, "Options": options })
}

/// Whether the folder of a mount in the container is none of these, and not below one.
fn is_outside(value: &Value, folders: &[String]) -> bool {
    let stated = ["Target", "Dest", "destination"].iter().find_map(|key| value.get(key)?.as_str());
    let of_text = || value.as_str().and_then(|text| text.split(':').nth(1));
    let Some(stated) = stated.or_else(of_text) else { return true };
    let parts: Vec<&str> = stated.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    let folder = format!("/{}", parts.join("/"));
    !parts.contains(&"..") && !stated.contains(':') && !folders.iter().any(|own| is_within(&folder, own))
}

/// The name of a volume that a container gets, and its folder there; `None` if it has no name.
fn volume(value: &Value) -> Option<(String, String)> {
    let part = |keys: [&str; 3]| keys.iter().find_map(|key| value.get(key)?.as_str());
    let (name, folder) = match value.as_str() {
        Some(text) => {
            let mut parts = text.split(':');
            (parts.next()?, parts.next()?)
        }
        None => (part(["Source", "Name", "source"])?, part(["Target", "Dest", "destination"])?),
    };
    let is_named = !name.is_empty() && part(["Type", "type", ""]) != Some("tmpfs");
    is_named.then(|| (name.to_owned(), folder.to_owned()))
}

/// Whether an engine reads the value of a parameter as false.
pub fn is_off(value: &str) -> bool {
    matches!(value, "" | "0" | "false" | "False" | "FALSE")
}

/// Whether the parts of an object are known, and have harmless values. A text such as `data:/var:ro` is an object with a name, a
/// destination and options.
fn has_parts(value: &Value, parts: &BTreeMap<String, Vec<String>>) -> bool {
    let of_text = value.as_str().map(|text| {
        let mut words = text.split(':');
        let (name, dest, options) = (words.next(), words.next(), words.next());
        let options: Vec<&str> = options.into_iter().flat_map(|options| options.split(',')).collect();
        let further: Vec<&str> = words.collect();
        json!({ "Name": name, "Dest": dest, "Options": options, "further": further })
    });
    let value = of_text.as_ref().unwrap_or(value);
    let has_part = |(path, globs): (&String, &Vec<String>)| {
        let part = path.split('.').try_fold(value, |value, key| value.get(key)).unwrap_or(&Value::Null);
        // Podman writes such texts into a list that is separated by commas.
        let is_plain = !part.as_str().is_some_and(|text| text.contains('='));
        let texts = if part.is_null() { vec![String::new()] } else { texts(part) };
        let is_one = |text: &String| !text.contains([',', '"', '\n']);
        is_plain
            && texts.iter().all(is_one)
            && texts.iter().all(|text| globs.iter().any(|pattern| glob(pattern, text)))
    };
    value.is_object() && !has_further("", value, parts) && parts.iter().all(has_part)
}

/// Whether an object has a key that is not empty and not among the parts.
fn has_further(outer: &str, value: &Value, parts: &BTreeMap<String, Vec<String>>) -> bool {
    value.as_object().into_iter().flatten().any(|(key, value)| {
        let path = format!("{outer}{key}");
        let within = format!("{path}.");
        if value.is_object() && parts.keys().any(|part| part.starts_with(&within)) {
            has_further(&within, value, parts)
        } else {
            !parts.contains_key(&path) && !is_empty(value)
        }
    })
}

/// A volume without the options that are the default, which engines add to their descriptions of containers.
pub fn mounted(text: &str) -> String {
    let mut parts: Vec<String> = text.split(':').map(str::to_owned).collect();
    if let Some(options) = parts.get_mut(2) {
        let kept = options.split(',').filter(|option| !matches!(*option, "rw" | "rprivate" | "rbind"));
        *options = kept.collect::<Vec<_>>().join(",");
    }
    parts.join(":").trim_end_matches(':').to_owned()
}

/// The texts of a value: one for each part of a list or a map.
pub fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::Array(values) => values.iter().map(flat).collect(),
        Value::Object(entries) => {
            entries.iter().map(|(key, value)| format!("{key}={}", flat(value))).collect()
        }
        value => vec![flat(value)],
    }
}

/// A value as one text: `type=bind,source=/srv` for an object.
fn flat(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(entries) => {
            let pairs: Vec<String> = entries
                .iter()
                .filter(|(_, value)| !is_empty(value))
                .map(|(key, value)| match value {
                    Value::Object(_) => format!("{0}.{1}", key.to_lowercase(), flat(value)),
                    value => format!("{}={}", key.to_lowercase(), flat(value)),
                })
                .collect();
            pairs.join(",")
        }
        value => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gates::engine::table::{Does, Table};

    fn of(body: &Value) -> Result<Words, String> {
        let table = Table::built_in().unwrap();
        let mut words = Words::default();
        words.body(&mut body.clone(), table.bodies.get("create").unwrap())?;
        Ok(words)
    }

    #[test]
    fn what_no_word_states_is_noted() {
        let table = Table::built_in().unwrap();
        let lacks = |body: &str, stated: Value| {
            let mut words = Words::default();
            words.body(&mut stated.clone(), table.bodies.get(body).unwrap()).unwrap();
            words.lacks
        };
        assert!(!lacks("exec", json!({"Cmd": ["ls"], "User": "root", "AttachStdout": true, "Tty": true})));
        assert!(!lacks("volume", json!({"Name": "a", "Labels": {}})));
        assert!(lacks("volume", json!({"Name": "a", "Labels": {"a": "b"}})));
        let Some(known) = table.find("POST", &["volumes".to_owned(), "prune".to_owned()]) else { panic!() };
        let Does::Changes(row) = known.does else { panic!() };
        let mut words = Words::default();
        words.query(&[("filters".to_owned(), "{\"label!\":[\"a\"]}".to_owned())], &row.query).unwrap();
        assert!(words.lacks);
    }

    #[test]
    fn a_body_with_nul_is_refused() {
        for text in [r#"{"Cmd": ["cat", "/proc/1/environ\u0000a"]}"#, r#"{"Env": {"a\u0000": "b"}}"#] {
            assert!(body(text.as_bytes()).unwrap_err().contains("NUL"), "{text}");
        }
    }

    #[test]
    fn rights_of_the_host_are_found() {
        for config in [
            json!({"Privileged": true}),
            json!({"Binds": ["/:/host"]}),
            json!({"Binds": ["../x:/host"]}),
            json!({"Mounts": [{"Type": "bind", "Source": "/etc", "Target": "/x"}]}),
            json!({"Mounts": [{"Source": "/etc", "Target": "/x", "type": "bind"}]}),
            json!({"Mounts": [{"Type": "volume", "Target": "/x", "VolumeOptions": {"DriverConfig": {"Name": "local", "Options": {"device": "/"}}}}]}),
            json!({"PidMode": "host"}),
            json!({"PidMode": "container:db"}),
            json!({"NetworkMode": "host"}),
            json!({"NetworkMode": "container:db"}),
            json!({"IpcMode": "host"}),
            json!({"CapAdd": ["NET_ADMIN"]}),
            json!({"SecurityOpt": ["seccomp=unconfined"]}),
            json!({"Devices": [{"PathOnHost": "/dev/sda", "PathInContainer": "/x"}]}),
            json!({"DeviceRequests": [{"Count": 1}]}),
            json!({"MaskedPaths": []}),
            json!({"VolumesFrom": ["db"]}),
            json!({"Runtime": "other"}),
            json!({"CgroupParent": "/"}),
            json!({"Mounts": [{"Type=volume,a": "1", "Type": "bind", "Source": "/", "Target": "/x"}]}),
            json!({"Mounts": [{"Type": "volume", "Source": "a,volume-opt=type=none", "Target": "/x"}]}),
            json!({"Mounts": [{"Type": "volume", "Source": "a", "Target": "/x,volume-opt=o=bind"}]}),
            json!({"Mounts": [{"Source": "a", "Target": "/x"}]}),
            json!({"Mounts": ["data:/x"]}),
            json!({"Binds": ["data:/x:O,upperdir=/root,workdir=/tmp/w"]}),
            json!({"Binds": ["data:/x:ro:z"]}),
            json!({"Binds": ["data"]}),
            json!({"Links": ["db:db"]}),
            json!({"LogConfig": {"Type": "k8s-file", "Config": {"path": "/etc/cron.d/x"}}}),
            json!({"Tmpfs": {"/sys/": "remount"}}),
            json!({"Tmpfs": {"/data": "remount,rw"}}),
            json!({"Tmpfs": {"/data": "size=1m,bind"}}),
            json!({"Tmpfs": {"/data": "rshared"}}),
            json!({"Tmpfs": {"/data": ["rw"], "/x": "remount"}}),
            json!({"Tmpfs": {"/sys/.": ""}}),
            json!({"Tmpfs": {"//proc": ""}}),
            json!({"Tmpfs": {"/dev/x": ""}}),
            json!({"Tmpfs": {"/x/../sys": ""}}),
            json!({"Tmpfs": {"/data:remount": ""}}),
            json!({"Tmpfs": {"data": ""}}),
            json!({"Mounts": [{"Type": "tmpfs", "Target": "/sys/fs"}]}),
            json!({"Mounts": [{"Type": "tmpfs", "Target": "/x", "TmpfsOptions": {"Options": [["remount"]]}}]}),
            json!({"Binds": ["data:/proc/x"]}),
            json!({"Binds": ["data:/x:ro,remount"]}),
        ] {
            let words = of(&json!({"Image": "x", "HostConfig": config})).unwrap();
            assert!(!words.host.is_empty(), "{config}");
        }
    }

    #[test]
    fn ordinary_containers_have_no_rights_of_the_host() {
        for config in [
            json!({"Binds": ["data:/var/lib/data", "cfg:/etc/x:ro"], "Privileged": false, "MaskedPaths": null}),
            json!({"Mounts": [{"Type": "volume", "Source": "data", "Target": "/x", "VolumeOptions": {}}]}),
            json!({"Mounts": [{"Type": "volume", "Target": "/x", "VolumeOptions": {"Labels": {"a": "b"}, "NoCopy": true}, "BindOptions": null}]}),
            json!({"Mounts": [{"Type": "tmpfs", "Target": "/x", "TmpfsOptions": {"SizeBytes": 1000}}]}),
            json!({"Tmpfs": {"/run": "", "/tmp": "rw,noexec,nosuid,nodev,size=64m,mode=1777,uid=1000,gid=1000"}}),
            json!({"LogConfig": {"Type": "json-file", "Config": {"max-size": "10m"}}}),
            json!({"NetworkMode": "media_default", "RestartPolicy": {"Name": "always", "MaximumRetryCount": 0}}),
            json!({"SecurityOpt": ["no-new-privileges:true"], "CapDrop": ["ALL"]}),
        ] {
            let words = of(&json!({"Image": "x", "Cmd": ["a", "b c"], "HostConfig": config})).unwrap();
            assert_eq!(words.host, [], "{config}");
            assert_eq!(words.rest, ["a", "b c"]);
        }
    }

    #[test]
    fn texts_that_an_engine_splits_are_rights_of_the_host() {
        for body in [
            json!({"Volumes": {"/:/host": {}}}),
            json!({"Volumes": {"data": {}}}),
            json!({"Env": ["TZ=UTC", "TOKEN"]}),
            json!({"Env": ["TOK*"]}),
        ] {
            assert!(!of(&body).unwrap().host.is_empty(), "{body}");
        }
        assert_eq!(of(&json!({"Volumes": {"/data": {}}, "Env": ["TZ=UTC", "EMPTY="]})).unwrap().host, []);
    }

    #[test]
    fn empty_keys_that_are_not_known_are_removed() {
        let table = Table::built_in().unwrap();
        let mut body = json!({"Image": "x", "hostconfig": {"maskedpaths": []}, "HostConfig": {"readonlypaths": [], "Memory": 1}});
        Words::default().body(&mut body, table.bodies.get("create").unwrap()).unwrap();
        assert_eq!(body, json!({"Image": "x", "HostConfig": {"Memory": 1}}));
    }

    #[test]
    fn unknown_keys_and_twins_are_refused() {
        for config in [
            json!({"HostConfig": {"privileged": true}}),
            json!({"hostconfig": {"Privileged": true}}),
            json!({"HostConfig": {"NewKey": "x"}}),
            json!({"image": "x"}),
        ] {
            assert!(of(&config).is_err(), "{config}");
        }
        for text in [
            r#"{"Image":"x","image":"y"}"#,
            r#"{"HostConfig":{"Mounts":[{"Type":"volume","type":"bind"}]}}"#,
            "{\"HostConfig\":{},\"Ho\u{17f}tConfig\":{}}",
            "[]",
            "{",
            "{} {}",
        ] {
            assert!(body(text.as_bytes()).is_err(), "{text}");
        }
        assert_eq!(body(b" \n").unwrap(), json!({}));
    }
}

//! Names of services for what runs in containers.

use super::known::Known;

/// The names of the containers of a compose service.
#[derive(Debug, PartialEq, Eq)]
pub struct Names {
    /// The name of the service.
    pub service: String,
    /// The names of its containers and of the compose service, where they differ from it.
    pub containers: Vec<String>,
}

/// The name of a compose service and of its containers. `stated` is its `container_name`, `is_common` whether several projects
/// have a compose service of this name.
pub fn of_compose(known: &Known, project: &str, key: &str, stated: Option<&str>, is_common: bool) -> Names {
    let is_general = is_common || known.general.iter().any(|general| general == key);
    let prefixed = || if project == key { key.to_owned() } else { format!("{project}-{key}") };
    let (service, mut containers) = match stated {
        Some(stated) => (stated.to_owned(), vec![stated.to_owned(), key.to_owned()]),
        None if is_general => (prefixed(), vec![format!("{project}-{key}-1"), key.to_owned()]),
        None => (key.to_owned(), vec![]),
    };
    containers.dedup();
    if containers == [service.as_str()] {
        containers.clear();
    }
    containers.retain(|name| is_name(name));
    Names { service: name(&service), containers }
}

/// The name that compose derives from the name of a folder: lowercase letters, digits, `-` and `_`, the first one a letter or digit.
pub fn project_of_folder(folder: &str) -> String {
    let name: String =
        folder.to_lowercase().chars().filter(|c| c.is_ascii_alphanumeric() || "-_".contains(*c)).collect();
    name.trim_start_matches(['-', '_']).to_owned()
}

/// Whether `hosts.yaml` accepts the name.
pub fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.len() <= 128
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
}

/// A name that `hosts.yaml` accepts: other characters become `-`.
pub fn name(text: &str) -> String {
    let plain: String =
        text.chars().map(|c| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' }).collect();
    let plain: String = plain.trim_start_matches(['.', '_', '-']).chars().take(128).collect();
    if plain.is_empty() { "unnamed".to_owned() } else { plain }
}

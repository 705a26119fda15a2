//! Names of services for what runs in containers.

/// Names of compose services that say nothing without their project.
const GENERAL: [&str; 24] = [
    "app",
    "web",
    "server",
    "db",
    "database",
    "postgres",
    "postgresql",
    "mariadb",
    "mysql",
    "mongo",
    "mongodb",
    "redis",
    "valkey",
    "cache",
    "worker",
    "cron",
    "backend",
    "frontend",
    "api",
    "proxy",
    "broker",
    "queue",
    "scheduler",
    "main",
];

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
pub fn of_compose(project: &str, key: &str, stated: Option<&str>, is_common: bool) -> Names {
    let is_general = is_common || GENERAL.contains(&key);
    let prefixed = || if project == key { key.to_owned() } else { format!("{project}-{key}") };
    let (service, containers) = match stated {
        Some(stated) => (stated.to_owned(), vec![stated.to_owned(), key.to_owned()]),
        None if is_general => (prefixed(), vec![format!("{project}-{key}-1"), key.to_owned()]),
        None => (key.to_owned(), vec![]),
    };
    let containers = if containers.iter().all(|name| *name == service) { vec![] } else { dedup(containers) };
    Names {
        service: name(&service),
        containers: containers.into_iter().filter(|name| is_name(name)).collect(),
    }
}

fn dedup(mut names: Vec<String>) -> Vec<String> {
    names.dedup();
    names
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compose_services_get_names_that_say_what_they_are() {
        for (project, key, stated, is_common, service, containers) in [
            ("media", "jellyfin", None, false, "jellyfin", ""),
            ("media", "jellyfin", Some("jellyfin"), false, "jellyfin", ""),
            ("media", "tv", Some("sonarr"), false, "sonarr", "sonarr tv"),
            ("nextcloud", "db", None, false, "nextcloud-db", "nextcloud-db-1 db"),
            ("nextcloud", "db", Some("nextcloud-db"), false, "nextcloud-db", "nextcloud-db db"),
            ("a", "exporter", None, true, "a-exporter", "a-exporter-1 exporter"),
        ] {
            let names = of_compose(project, key, stated, is_common);
            assert_eq!((names.service.as_str(), names.containers.join(" ").as_str()), (service, containers));
        }
    }

    #[test]
    fn folders_become_projects_and_any_text_a_name() {
        assert_eq!(project_of_folder("-My Stack.v2"), "mystackv2");
        assert_eq!(name("wg-quick@wg0"), "wg-quick-wg0");
        assert_eq!(name("/@"), "unnamed");
    }
}

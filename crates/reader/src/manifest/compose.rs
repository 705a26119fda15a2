//! Compose files: the name of the project, and the containers of its services.

use super::value::{Map, Value};

/// A compose project.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Project {
    /// Its name, if a file states one.
    pub name: Option<String>,
    /// Its services, each with the names of its containers that the files state.
    pub services: Vec<(String, Vec<String>)>,
}

/// The project that files describe, merged in their order. A file that is not one is left out.
pub fn project(texts: &[String]) -> Project {
    let mut project = Project::default();
    for text in texts {
        let Ok(file) = serde_saphyr::from_str::<Value>(text) else { continue };
        project.name = file.get("name").and_then(Value::literal).map(str::to_owned).or(project.name);
        for (name, service) in file.get("services").and_then(Value::as_map).into_iter().flat_map(Map::iter) {
            let containers = service.get("container_name").and_then(Value::literal).map(str::to_owned);
            match project.services.iter_mut().find(|(known, _)| known == name) {
                Some((_, known)) => known.extend(containers),
                None => project.services.push((name.to_owned(), containers.into_iter().collect())),
            }
        }
    }
    project
}

#[cfg(test)]
mod tests {
    use super::project;

    #[test]
    fn files_are_merged_and_expressions_left_out() {
        let own = "name: media\nservices:\n  web: {image: x, container_name: jellyfin}\n  db: {container_name: $X}\n";
        let merged = "services: {web: {ports: ['80:80']}, cache:}";
        let found = project(&[own.to_owned(), "- no compose file".to_owned(), merged.to_owned()]);
        assert_eq!(found.name.as_deref(), Some("media"));
        let services: Vec<(&str, String)> =
            found.services.iter().map(|(name, containers)| (name.as_str(), containers.join(" "))).collect();
        assert_eq!(
            services,
            [("web", "jellyfin".to_owned()), ("db", String::new()), ("cache", String::new())]
        );
        assert_eq!(project(&["{".to_owned()]), super::Project::default());
    }
}

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

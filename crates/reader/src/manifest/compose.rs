//! Compose files: the name of the project, and the containers of its services.

use super::value::Value;

/// A compose project.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Project {
    /// Its name, if a file states one.
    pub name: Option<String>,
    /// Its services, each with the names of its containers that the files state.
    pub services: Vec<(String, Vec<String>)>,
}

/// The value of a variable in the lines of an environment file; the last one counts.
pub fn variable<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let mut lines = text.lines().filter_map(|line| line.trim().trim_start_matches("export ").split_once('='));
    let value = lines.rfind(|(known, _)| known.trim() == name)?.1.trim();
    let quoted = |quote: char| value.strip_prefix(quote)?.split(quote).next();
    let plain = value.split(" #").next().unwrap_or(value).trim();
    Some(quoted('"').or_else(|| quoted('\'')).unwrap_or(plain))
        .filter(|value| !value.is_empty() && !value.contains('$'))
}

/// The files that a file includes, relative to its folder.
pub fn included(text: &str) -> Vec<String> {
    let Ok(file) = serde_saphyr::from_str::<Value>(text) else { return vec![] };
    let mut found = Vec::new();
    for item in file.get("include").and_then(Value::as_list).unwrap_or_default() {
        let paths = item.get("path").unwrap_or(item);
        let list = paths.as_list().unwrap_or_default().iter().filter_map(Value::literal);
        found.extend(paths.literal().into_iter().chain(list).map(str::to_owned));
    }
    found
}

/// The files whose services others extend, relative to the folder of the file.
pub fn extended(text: &str) -> Vec<String> {
    let Ok(file) = serde_saphyr::from_str::<Value>(text) else { return vec![] };
    let files =
        file.entries("services").filter_map(|(_, service)| service.get("extends")?.get("file")?.literal());
    files.map(str::to_owned).collect()
}

/// The containers of a service, or of the one that it extends.
fn containers(service: &Value, own: &Value, bases: &[String], depth: usize) -> Vec<String> {
    const DEEPEST: usize = 4;
    let stated = service.get("container_name").and_then(Value::literal);
    let extends = service.get("extends").filter(|_| depth < DEEPEST && stated.is_none());
    let Some(extends) = extends else { return stated.map(str::to_owned).into_iter().collect() };
    let Some(name) = extends.as_str().or_else(|| extends.get("service")?.as_str()) else { return vec![] };
    if extends.get("file").is_none() {
        let base = own.get("services").and_then(|services| services.get(name));
        return base.map(|base| containers(base, own, bases, depth + 1)).unwrap_or_default();
    }
    let files = bases.iter().filter_map(|text| serde_saphyr::from_str::<Value>(text).ok());
    let mut found = files.filter_map(|file| {
        let base = file.get("services")?.get(name)?.clone();
        Some(containers(&base, &file, bases, depth + 1))
    });
    found.next().unwrap_or_default()
}

/// The project that files describe, merged in their order. A file that is not one is left out. `bases` are files whose services
/// others extend.
pub fn project(texts: &[String], bases: &[String]) -> Project {
    let mut project = Project::default();
    for text in texts {
        let Ok(file) = serde_saphyr::from_str::<Value>(text) else { continue };
        project.name = file.get("name").and_then(Value::literal).map(str::to_owned).or(project.name);
        for (name, service) in file.entries("services") {
            let containers = containers(service, &file, bases, 0);
            match project.services.iter_mut().find(|(known, _)| known == name) {
                Some((_, known)) => known.extend(containers),
                None => project.services.push((name.to_owned(), containers)),
            }
        }
    }
    project
}

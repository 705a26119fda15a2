//! Kubernetes: workloads of manifests, Helm releases of Flux, k3s and helmfile, and applications of Argo CD.

use regex_lite::Regex;
use serde_json::Value;

use crate::setup::import::draft::{Draft, Key, Service};
use crate::setup::import::naming::{self, is_name};
use opsctl_policy::paths::glob::matches;

/// What a manifest states.
#[derive(Debug, PartialEq, Eq)]
pub struct Stated {
    name: String,
    namespace: Option<String>,
    key: Key,
    value: String,
    /// Why the value is a guess.
    guess: Option<&'static str>,
    /// Why it does not run.
    stopped: Option<&'static str>,
}

/// What an expression of a Go template becomes, which is no name.
const EXPRESSION: &str = "~";

/// The documents of a file in YAML; one that cannot be read is left out.
pub fn documents(text: &str) -> Vec<Value> {
    let template = Regex::new(r"\{\{[^\n]*?\}\}(?:[^\n{]*\}\})?");
    let mut documents = vec![String::new()];
    for line in text.lines() {
        let line =
            template.as_ref().map_or_else(|_| line.into(), |template| template.replace_all(line, EXPRESSION));
        if line.trim_end() == "---" || line.starts_with("--- ") {
            documents.push(String::new());
        } else if line.trim() != EXPRESSION
            && let Some(last) = documents.last_mut()
        {
            *last += &line;
            last.push('\n');
        }
    }
    documents.iter().filter_map(|text| serde_saphyr::from_str(text).ok()).collect()
}

/// What the documents of a manifest state.
pub fn manifest(text: &str) -> Vec<Stated> {
    if !(text.contains("kind:") && text.contains("apiVersion:")) {
        return vec![];
    }
    let mut stated = Vec::new();
    for document in documents(text) {
        // A list, and a ResourceSet of the Flux operator, contain objects.
        let kind = document.get("kind").and_then(Value::as_str).unwrap_or_default();
        let objects = match kind {
            "ResourceSet" => document.pointer("/spec/resources"),
            kind if kind.ends_with("List") => document.get("items"),
            _ => None,
        };
        match objects.and_then(Value::as_array) {
            Some(objects) => stated.extend(objects.iter().filter_map(of_object)),
            None => stated.extend(of_object(&document)),
        }
    }
    stated
}

impl Stated {
    /// States why its value is a guess.
    pub fn doubt(&mut self, why: &'static str) {
        self.guess = self.guess.or(Some(why));
    }

    /// The namespace of the object.
    pub fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// Sets the namespace of the object.
    pub fn set_namespace(&mut self, namespace: String) {
        if self.key == Key::Workloads {
            let own = self
                .namespace
                .as_ref()
                .and_then(|own| self.value.strip_prefix(own.as_str())?.strip_prefix('/'));
            self.value = format!("{namespace}/{}", own.unwrap_or(&self.value));
        }
        self.namespace = Some(namespace);
    }
}

fn of_object(object: &Value) -> Option<Stated> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).filter(|name| is_name(name));
    let (kind, group) = (text("/kind")?, object.get("apiVersion")?.as_str()?);
    let name = text("/metadata/name")?.to_owned();
    let namespace = text("/metadata/namespace").map(str::to_owned);
    let is_off = |pointer: &str| object.pointer(pointer) == Some(&Value::Bool(true));
    let new = |key, value, guess, stopped| {
        Some(Stated { name: name.clone(), namespace: namespace.clone(), key, value, guess, stopped })
    };
    match kind {
        "Deployment" | "StatefulSet" | "DaemonSet" | "CronJob"
            if group.starts_with("apps/") || group.starts_with("batch/") =>
        {
            let namespace = namespace.as_ref().map(|namespace| format!("{namespace}/")).unwrap_or_default();
            let stopped = if object.pointer("/spec/replicas").and_then(Value::as_u64) == Some(0) {
                Some("it has no replicas")
            } else {
                is_off("/spec/suspend").then_some("it is suspended")
            };
            new(Key::Workloads, format!("{namespace}{}/{name}", kind.to_lowercase()), None, stopped)
        }
        "HelmRelease" if group.starts_with("helm.toolkit.fluxcd.io/") => {
            let target = text("/spec/targetNamespace").map(|target| format!("{target}-{name}"));
            let release = text("/spec/releaseName").map(str::to_owned).or(target);
            new(Key::Releases, release.unwrap_or_else(|| name.clone()), None, None)
        }
        "HelmChart" if group.starts_with("helm.cattle.io/") => new(Key::Releases, name.clone(), None, None),
        "Application" if group.starts_with("argoproj.io/") => {
            let several = object.pointer("/spec/sources").and_then(Value::as_array).into_iter().flatten();
            let sources = object.pointer("/spec/source").into_iter().chain(several);
            let chart = sources.into_iter().find(|source| source.get("chart").is_some())?;
            let stated =
                chart.pointer("/helm/releaseName").and_then(Value::as_str).filter(|name| is_name(name));
            let release = stated.unwrap_or(&name).to_owned();
            new(Key::Releases, release, Some("Argo CD renders its chart under this name"), None)
        }
        _ => None,
    }
}

/// The releases of a helmfile.
pub fn helmfile(text: &str) -> Vec<Stated> {
    let mut stated = Vec::new();
    for document in documents(text) {
        let releases = document.get("releases").and_then(Value::as_array).cloned().unwrap_or_default();
        for release in releases {
            let text = |key: &str| release.get(key).and_then(Value::as_str).filter(|name| is_name(name));
            let is_off = release.get("installed") == Some(&Value::Bool(false));
            let Some(name) = text("name").filter(|_| !is_off).map(str::to_owned) else { continue };
            let has_condition =
                release.get("condition").is_some() || release.get("installed").is_some_and(Value::is_string);
            stated.push(Stated {
                value: name.clone(),
                name,
                namespace: text("namespace").map(str::to_owned),
                key: Key::Releases,
                guess: has_condition.then_some("a condition decides whether it is installed"),
                stopped: None,
            });
        }
    }
    stated
}

/// Adds the services of what all files state, each with the file. A name in several namespaces follows its namespace.
pub fn draft(all: &[(String, Stated)], draft: &mut Draft) {
    for (source, stated) in all {
        let Stated { name, namespace, key, value, guess, stopped } = stated;
        let is_own = |globs: &[String]| {
            namespace.as_ref().is_some_and(|namespace| globs.iter().any(|glob| matches(glob, namespace)))
        };
        if is_own(&draft.known.cluster) && *key == Key::Workloads {
            continue;
        }
        let is_elsewhere = |other: &Stated| other.name == *name && other.namespace != *namespace;
        let is_common = all.iter().any(|(_, other)| is_elsewhere(other) && other.namespace.is_some());
        let service_name = match namespace {
            Some(namespace) if is_common => format!("{namespace}-{name}"),
            _ => name.clone(),
        };
        let mut service = Service::new(naming::name(&service_name), source, false);
        match guess {
            Some(why) => service.guess(*key, value, why),
            None => service.add(*key, value),
        }
        if let Some(why) = stopped {
            service.guess(Key::Unchecked, "workload", why);
        }
        if *key == Key::Releases {
            service.add(Key::Unchecked, "container");
        }
        draft.add_described(service);
    }
    for service in &mut draft.services {
        // Of a service with workloads, no container is checked.
        if service.keys.contains_key(&Key::Workloads)
            && let Some(unchecked) = service.keys.get_mut(&Key::Unchecked)
        {
            unchecked.values.retain(|check| check != "container");
        }
    }
}

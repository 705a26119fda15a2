//! Compose files: services, their containers, ports, web pages and folders.

use std::path::{Component, Path, PathBuf};

use regex_lite::Regex;
use serde_json::{Map, Value};

use super::labels::{self, Page};
use super::variables::Variables;
use crate::setup::import::draft::{Draft, HOST_ADDRESS, INSECURE, Key, Service};
use crate::setup::import::known::Known;
use crate::setup::import::naming::{self, is_name};
use crate::setup::render::merge;

/// A project: the files of one folder, merged.
#[derive(Debug)]
pub struct Project {
    /// Its files, relative to what the operator named, for comments.
    pub source: String,
    /// Its folder, absolute.
    pub folder: PathBuf,
    /// The merged content.
    content: Value,
    variables: Variables,
}

impl Project {
    /// Merges the contents of a project's files in their order: maps by key, lists one behind the other. `None` if the result has no services.
    pub fn new(source: String, folder: PathBuf, files: Vec<Value>, dot_env: &str) -> Option<Self> {
        let content = files.into_iter().reduce(|mut content, file| {
            merge(&mut content, file);
            content
        })?;
        let has_services = content.get("services").is_some_and(Value::is_object);
        (has_services || content.get("include").is_some()).then(|| Self {
            source,
            folder,
            content,
            variables: Variables::of_file(dot_env),
        })
    }

    /// The name of the project, as compose determines it: `COMPOSE_PROJECT_NAME`, `name`, else the name of the folder.
    fn name(&self) -> String {
        let folder = || self.folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let stated = self.variables.get("COMPOSE_PROJECT_NAME").map(str::to_owned);
        stated
            .or_else(|| self.variables.text(self.content.get("name")?))
            .unwrap_or_else(|| naming::project_of_folder(&folder()))
    }

    /// The names of its compose services.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.services().map(|(key, _)| key.as_str())
    }

    fn services(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.content.get("services").and_then(Value::as_object).into_iter().flatten()
    }

    /// Adds its services. `is_common` states whether a compose service of this name is in several projects, `host` is the host
    /// that the files run on, if something states it.
    pub fn draft(&self, is_common: impl Fn(&str) -> bool, host: Option<(&str, &str)>, draft: &mut Draft) {
        let project = self.name();
        if self.content.get("include").is_some() {
            draft.notes.push(format!("{} includes other files, which are not followed", self.source));
        }
        for (key, value) in self.services() {
            let stated = value.get("container_name").and_then(|name| self.variables.text(name));
            let names = naming::of_compose(&draft.known, &project, key, stated.as_deref(), is_common(key));
            let mut service = Service::new(names.service, &self.source, true);
            if stated.is_none() && value.get("container_name").is_some() {
                service.notes.push("guess: its container_name has a variable that is not known".to_owned());
            }
            if let Some((host, why)) = host {
                service.guess(Key::Host, host, why);
            }
            names.containers.into_iter().for_each(|name| service.add(Key::Containers, name));
            if is_name(&project) {
                service.add(Key::Projects, project.clone());
            }
            if let Some(value) = value.as_object() {
                self.fill(value, &draft.known, &mut service);
                for (needed, why) in self.needs(value) {
                    let content =
                        self.services().find(|(key, _)| **key == needed).map(|(_, content)| content);
                    let stated = content.and_then(|content| content.get("container_name"));
                    let stated = stated.and_then(|name| self.variables.text(name));
                    let is_common = is_common(&needed);
                    let names =
                        naming::of_compose(&draft.known, &project, &needed, stated.as_deref(), is_common);
                    service.guess(Key::Needs, names.service, why);
                }
            }
            draft.add_service(service);
        }
    }

    fn fill(&self, value: &Map<String, Value>, known: &Known, service: &mut Service) {
        if value.contains_key("extends") {
            service.notes.push("`extends` is not followed".to_owned());
        }
        let enabled = self.variables.get("COMPOSE_PROFILES").unwrap_or_default();
        let profiles: Vec<String> = self.list(value.get("profiles"));
        if !profiles.is_empty()
            && !profiles.iter().any(|profile| enabled.split(',').any(|name| name == profile))
        {
            service.notes.push(format!("only runs with the profile {}", profiles.join(" or ")));
        }
        match value.get("network_mode").and_then(|mode| self.variables.text(mode)).as_deref() {
            Some("host") => {
                service.notes.push("in the network of its host: add its ports as `tcp`".to_owned());
            }
            Some(mode) if mode.starts_with("service:") || mode.starts_with("container:") => {
                service.notes.push(format!("in the network of {}", mode.rsplit(':').next().unwrap_or(mode)));
            }
            _ => {}
        }
        let ports = self.ports(value.get("ports"), service);
        let mut labels = self.pairs(value.get("labels"));
        labels.extend(self.pairs(value.get("deploy").and_then(|deploy| deploy.get("labels"))));
        let page = labels::page(&labels, &self.pairs(value.get("environment")));
        self.health(page, value.get("healthcheck"), &ports, service);
        for member in value.get("volumes").and_then(Value::as_array).into_iter().flatten() {
            match self.folder_of(member, known) {
                Some((path, false)) => service.add(Key::Data, path),
                Some((path, true)) => service.guess(Key::Data, path, "a path relative to the compose file"),
                None => {}
            }
        }
    }

    /// The compose services whose restart restarts a service, too, with the reason.
    fn needs(&self, value: &Map<String, Value>) -> Vec<(String, &'static str)> {
        let mode = value.get("network_mode").and_then(|mode| self.variables.text(mode));
        let network = mode.as_deref().and_then(|mode| mode.strip_prefix("service:")).map(str::to_owned);
        let network = network.map(|needed| (needed, "it uses its network"));
        let depends = value.get("depends_on").and_then(Value::as_object).into_iter().flatten();
        let restarts = |(needed, how): (&String, &Value)| {
            let restarts = how.get("restart").and_then(Value::as_bool) == Some(true);
            restarts.then(|| (needed.clone(), "its depends_on restarts it"))
        };
        network.into_iter().chain(depends.filter_map(restarts)).collect()
    }

    /// The members of a list of texts, or one text.
    fn list(&self, value: Option<&Value>) -> Vec<String> {
        match value {
            Some(Value::Array(members)) => {
                members.iter().filter_map(|member| self.variables.text(member)).collect()
            }
            Some(value) => self.variables.text(value).into_iter().collect(),
            None => vec![],
        }
    }

    /// Labels or variables, which are a map or a list of `name=value`.
    fn pairs(&self, value: Option<&Value>) -> Vec<(String, String)> {
        match value {
            Some(Value::Object(map)) => map
                .iter()
                .filter_map(|(name, value)| Some((name.clone(), self.variables.text(value)?)))
                .collect(),
            other => self.list(other).iter().filter_map(|pair| labels::pair(pair)).collect(),
        }
    }

    /// Adds the published TCP ports; returns them with the ports of the container.
    fn ports(&self, value: Option<&Value>, service: &mut Service) -> Vec<(u16, u16)> {
        let members = value.and_then(Value::as_array).into_iter().flatten();
        let mut published = Vec::new();
        for unknown in members.clone().filter_map(|member| self.unknown_port(member)) {
            service.notes.push(format!("port {unknown} has a variable that is not known: add it as `tcp`"));
        }
        for port in members.filter_map(|member| self.port(member)) {
            match port.address.as_deref() {
                None | Some("0.0.0.0" | "::" | "[::]" | "") => {
                    service.add(Key::Tcp, port.published.to_string());
                }
                Some(local)
                    if local.starts_with("127.") || matches!(local, "localhost" | "::1" | "[::1]") =>
                {
                    service.notes.push(format!("port {} is only open on its host", port.published));
                    continue;
                }
                Some(address) => service.add(Key::Tcp, format!("{address}:{}", port.published)),
            }
            if port.is_range {
                service.guess(Key::Tcp, port.published.to_string(), "the first port of a range");
            }
            published.push((port.published, port.container));
        }
        published
    }

    /// A published port as it is written, if its variables are not known.
    fn unknown_port<'a>(&self, value: &'a Value) -> Option<&'a str> {
        let written = value.get("published").unwrap_or(value).as_str()?;
        self.variables.expand(written).is_none().then_some(written)
    }

    fn port(&self, value: &Value) -> Option<Port> {
        let first = |range: &str| range.split('-').next()?.parse::<u16>().ok().filter(|port| *port > 0);
        let (address, published, container, protocol) = if let Value::Object(long) = value {
            let get = |key: &str| self.variables.text(long.get(key)?);
            (get("host_ip"), get("published")?, get("target")?, get("protocol"))
        } else {
            let text = self.variables.text(value)?;
            let (text, protocol) = text.split_once('/').unwrap_or((&text, "tcp"));
            // Without a published port, the engine chooses one.
            let (front, container) = text.rsplit_once(':')?;
            let (address, published) = front.rsplit_once(':').unzip();
            let [published, container] = [published.unwrap_or(front), container].map(str::to_owned);
            (address.map(str::to_owned), published, container, Some(protocol.to_owned()))
        };
        let is_range = published.contains('-');
        let port = Port { address, published: first(&published)?, container: first(&container)?, is_range };
        protocol.is_none_or(|protocol| protocol == "tcp").then_some(port)
    }

    /// The URL of the web page with the path of the healthcheck; without a page, the published port of the healthcheck.
    fn health(&self, page: Option<Page>, check: Option<&Value>, ports: &[(u16, u16)], service: &mut Service) {
        let test = self.list(check.and_then(|check| check.get("test"))).join(" ");
        let local = Regex::new(
            r"(https?)://(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\])(?::(\d+))?(/[A-Za-z0-9/._~-]*)?",
        );
        let local = local.ok().and_then(|pattern| {
            let found = pattern.captures(&test)?;
            let scheme = found.get(1)?.as_str();
            let default = if scheme == "https" { 443 } else { 80 };
            let port: u16 = found.get(2).map_or(Some(default), |port| port.as_str().parse().ok())?;
            let path = found.get(3).map_or("/", |path| path.as_str()).to_owned();
            Some((scheme.to_owned(), port, path))
        });
        match (page, local) {
            (Some(page), Some((_, _, path))) if page.path == "/" => {
                let why = format!("{}, and the path of its healthcheck", page.stated_by);
                service.guess(Key::Health, page.origin + &path, &why);
            }
            (Some(page), _) => page.guess(service),
            (None, Some((scheme, port, path))) => {
                if let Some((published, _)) = ports.iter().find(|(_, container)| *container == port) {
                    let url = format!("{scheme}://{HOST_ADDRESS}:{published}{path}");
                    service.guess(Key::Health, url, "its healthcheck and published port");
                    if scheme == "https" && accepts_any_certificate(&test) {
                        service.add(Key::Health, INSECURE);
                    }
                }
            }
            (None, None) => {}
        }
    }

    /// The folder of the host that it mounts, if it may contain its data, and whether its path is a relative one.
    fn folder_of(&self, value: &Value, known: &Known) -> Option<(String, bool)> {
        let source = match value {
            Value::Object(long) => {
                let is_bind = long.get("type").and_then(Value::as_str) == Some("bind");
                self.variables.text(long.get("source").filter(|_| is_bind)?)?
            }
            short => self.variables.text(short)?.split(':').next()?.to_owned(),
        };
        let is_relative = source.starts_with('.');
        let path = if is_relative {
            normal(&self.folder.join(&source))
        } else if source.starts_with('/') {
            normal(Path::new(&source))
        } else if source.starts_with("~/") {
            source
        } else {
            return None;
        };
        let is_system = known.system.iter().any(|folder| Path::new(&path).starts_with(folder));
        // Removing a folder that contains the project is no loss of this service only; `/` and the like are no data folders.
        let is_wide = path == "/" || self.folder.starts_with(&path);
        let name = path.rsplit('/').next().unwrap_or_default();
        let is_file = name.trim_start_matches('.').contains('.');
        let is_data = !is_wide && !is_file && (is_relative || !is_system);
        is_data.then_some((path, is_relative))
    }
}

/// Whether a healthcheck with curl or wget does not check the certificate.
fn accepts_any_certificate(test: &str) -> bool {
    let is_option = |word: &str| {
        let short = word.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
        matches!(word, "--insecure" | "--no-check-certificate")
            || (test.contains("curl") && short.is_some_and(|letters| letters.contains('k')))
    };
    test.split_whitespace().any(is_option)
}

struct Port {
    address: Option<String>,
    published: u16,
    container: u16,
    is_range: bool,
}

/// The path without `.` and `..`.
fn normal(path: &Path) -> String {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            other => normal.push(other),
        }
    }
    normal.to_string_lossy().into_owned()
}

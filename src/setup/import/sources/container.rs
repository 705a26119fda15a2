//! What compose files and quadlets state of a container in the same form: ports, folders of its host and a healthcheck.

use std::path::{Component, Path, PathBuf};

use regex_lite::Regex;

use super::labels::Page;
use crate::setup::import::draft::{HOST_ADDRESS, INSECURE, Key, Service};
use crate::setup::import::known::Known;

/// A published port.
#[derive(Debug, PartialEq, Eq)]
pub struct Port {
    /// The address on which it is open; `None` for all of them.
    pub address: Option<String>,
    /// The port of the host; of a range, the first one.
    pub published: u16,
    /// The port of the container.
    pub container: u16,
    /// Whether it is the first one of a range.
    pub is_range: bool,
}

impl Port {
    /// Reads `[[ADDRESS:]PUBLISHED:]CONTAINER[/PROTOCOL]`; `None` for another protocol than TCP, and without a published port,
    /// which the engine chooses then.
    pub fn of_text(text: &str) -> Option<Self> {
        let (text, protocol) = text.split_once('/').unwrap_or((text, "tcp"));
        let (front, container) = text.rsplit_once(':')?;
        let (address, published) = front.rsplit_once(':').unzip();
        Self::new(address.map(str::to_owned), published.unwrap_or(front), container, protocol)
    }

    /// A port of its parts as they are written; `None` for another protocol than TCP.
    pub fn new(address: Option<String>, published: &str, container: &str, protocol: &str) -> Option<Self> {
        let first = |range: &str| range.split('-').next()?.parse::<u16>().ok().filter(|port| *port > 0);
        let is_range = published.contains('-');
        let port = Self { address, published: first(published)?, container: first(container)?, is_range };
        (protocol == "tcp").then_some(port)
    }
}

/// Adds the published ports to a service; returns those that other machines reach, each with the port of the container.
pub fn add_ports(ports: impl IntoIterator<Item = Port>, service: &mut Service) -> Vec<(u16, u16)> {
    let mut published = Vec::new();
    for port in ports {
        match port.address.as_deref() {
            None | Some("0.0.0.0" | "::" | "[::]" | "") => {
                service.add(Key::Tcp, port.published.to_string());
            }
            Some(local) if local.starts_with("127.") || matches!(local, "localhost" | "::1" | "[::1]") => {
                service.notes.push(format!("port {} is only open on its host", port.published));
                continue;
            }
            Some(address) if address.trim_matches(['[', ']']).parse::<std::net::IpAddr>().is_ok() => {
                service.add(Key::Tcp, format!("{address}:{}", port.published));
                continue;
            }
            Some(_) => {
                let note = format!("port {} is open on an address that is not known", port.published);
                service.notes.push(note);
                continue;
            }
        }
        if port.is_range {
            service.guess(Key::Tcp, port.published.to_string(), "the first port of a range");
        }
        published.push((port.published, port.container));
    }
    published
}

/// Adds the health check: the URL of the web page with the path of the healthcheck; without a page, the published port of the
/// healthcheck.
pub fn add_health(page: Option<Page>, test: &str, ports: &[(u16, u16)], service: &mut Service) {
    let local = Regex::new(
        r"(https?)://(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\])(?::(\d+))?(/[A-Za-z0-9/._~-]*)?([$?#{]?)",
    );
    let local = local.ok().and_then(|pattern| {
        let found = pattern.captures(test)?;
        let scheme = found.get(1)?.as_str();
        let default = if scheme == "https" { 443 } else { 80 };
        let port: u16 = found.get(2).map_or(Some(default), |port| port.as_str().parse().ok())?;
        let path = found.get(3).map_or("/", |path| path.as_str()).to_owned();
        // A path that goes on with a variable or a query is not known.
        let is_whole = found.get(4).is_none_or(|rest| rest.as_str().is_empty());
        is_whole.then(|| (scheme.to_owned(), port, path))
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
                if scheme == "https" && accepts_any_certificate(test) {
                    service.add(Key::Health, INSECURE);
                }
            }
        }
        (None, None) => {}
    }
}

/// Adds the folder of the host that a container mounts, if it may contain its data. A path relative to `folder`, and one that
/// may be that of a file, are guesses.
pub fn add_data(source: &str, target: &str, folder: &Path, known: &Known, service: &mut Service) {
    let Some((path, is_relative)) = data_folder(source, folder, known) else { return };
    let last = |path: &str| path.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned();
    // A file is usually mounted under its own name.
    let may_be_file = last(&path) == last(target)
        && target.trim_matches('/').contains('/')
        && !source.ends_with('/')
        && !known.folders.contains(&last(&path).to_lowercase());
    if is_relative {
        service.guess(Key::Data, path, "a path relative to the compose file");
    } else if may_be_file {
        service.guess(Key::Data, path, "it may be a file");
    } else {
        service.add(Key::Data, path);
    }
}

/// The folder of the host, and whether its path is relative to `folder`; `None` for one without data of the container.
fn data_folder(source: &str, folder: &Path, known: &Known) -> Option<(String, bool)> {
    let is_relative = source.starts_with('.');
    let path = if is_relative {
        normal(&folder.join(source))
    } else if source.starts_with('/') {
        normal(Path::new(source))
    } else if source.starts_with("~/") {
        source.to_owned()
    } else {
        return None;
    };
    let is_system = known.system.iter().any(|folder| Path::new(&path).starts_with(folder));
    // Removing a folder that contains the project is no loss of this service only; `/` and the like are no data folders.
    let is_wide = path == "/" || folder.starts_with(&path);
    let name = path.rsplit('/').next().unwrap_or_default();
    let is_file = name.trim_start_matches('.').contains('.')
        || known.files.iter().any(|file| file == name)
        || Path::new(&path).is_file();
    let is_data = !is_wide && !is_file && (is_relative || !is_system);
    is_data.then_some((path, is_relative))
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

/// The path without `.` and `..`.
pub fn normal(path: &Path) -> String {
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

//! The address of a web page that labels and variables of reverse proxies state: traefik, caddy-docker-proxy, nginx-proxy.

use regex_lite::Regex;

use crate::setup::import::draft::{Key, Service};

/// The URL of a service's web page, and what states it.
#[derive(Debug, PartialEq, Eq)]
pub struct Page {
    /// The URL without a path: `https://jellyfin.example.net`.
    pub origin: String,
    /// The path of the router; `/` if it has none.
    pub path: String,
    /// What states it, for a comment.
    pub stated_by: &'static str,
}

impl Page {
    /// States it as the health check of a service.
    pub fn guess(self, service: &mut Service) {
        let why = format!("{}; status 200 is healthy", self.stated_by);
        service.guess(Key::Health, self.origin + &self.path, &why);
    }
}

/// The page that labels and variables state; traefik's first, then caddy's, then that of `VIRTUAL_HOST`.
pub fn page(labels: &[(String, String)], variables: &[(String, String)]) -> Option<Page> {
    traefik(labels).or_else(|| caddy(labels)).or_else(|| virtual_host(variables))
}

/// A label or variable of the form `name=value`.
pub fn pair(text: &str) -> Option<(String, String)> {
    text.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()))
}

/// The value of a label or variable.
pub fn value<'a>(pairs: &'a [(String, String)], wanted: &str) -> Option<&'a str> {
    pairs.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str())
}

fn traefik(labels: &[(String, String)]) -> Option<Page> {
    let get = |wanted: &str| value(labels, wanted);
    if get("traefik.enable") == Some("false") {
        return None;
    }
    let is_rule =
        |name: &str| name.starts_with("traefik.http.routers.") && name.rsplit('.').next() == Some("rule");
    // A router on an encrypted entry point first: another one often only redirects to it.
    let mut rules: Vec<(&str, &str)> = labels
        .iter()
        .filter(|(name, _)| is_rule(name))
        .filter_map(|(name, rule)| Some((name.strip_suffix("rule")?, rule.as_str())))
        .collect();
    let option = |router: &str, option: &str| get(&format!("{router}{option}")).map(str::to_lowercase);
    let is_encrypted = |router: &str| {
        let has_tls = labels.iter().any(|(name, _)| {
            name.strip_prefix(router).is_some_and(|option| option.starts_with("tls.") || option == "tls")
        });
        if option(router, "tls").as_deref() == Some("false") {
            return false;
        }
        let points = option(router, "entrypoints");
        has_tls
            || points.is_none_or(|points| {
                ["secure", "https", "443", "tls"].iter().any(|word| points.contains(word))
            })
    };
    rules.sort_by_key(|(router, _)| !is_encrypted(router));
    rules.into_iter().find_map(|(router, rule)| {
        let host = Regex::new(r"Host\(\s*[`'\x22]([A-Za-z0-9.-]+)").ok()?.captures(rule)?.get(1)?.as_str();
        let path = Regex::new(r"Path(?:Prefix)?\(\s*[`'\x22](/[A-Za-z0-9/._-]*)").ok()?.captures(rule);
        let path = path.and_then(|found| Some(found.get(1)?.as_str().to_owned()));
        let scheme = if is_encrypted(router) { "https" } else { "http" };
        Some(Page {
            origin: format!("{scheme}://{host}"),
            path: path.unwrap_or_else(|| "/".to_owned()),
            stated_by: "the traefik labels",
        })
    })
}

fn caddy(labels: &[(String, String)]) -> Option<Page> {
    let is_site = |name: &str| {
        name == "caddy"
            || name.strip_prefix("caddy_").is_some_and(|number| number.bytes().all(|c| c.is_ascii_digit()))
    };
    let (_, sites) = labels.iter().find(|(name, _)| is_site(name))?;
    let site = sites.split([',', ' ']).find(|site| !site.is_empty())?;
    let (scheme, address) = site.split_once("://").unwrap_or(("https", site));
    let host = address.split('/').next()?;
    (is_host(host) && matches!(scheme, "http" | "https")).then(|| Page {
        origin: format!("{scheme}://{host}"),
        path: "/".to_owned(),
        stated_by: "the caddy labels",
    })
}

fn virtual_host(variables: &[(String, String)]) -> Option<Page> {
    let get = |wanted: &str| value(variables, wanted);
    let host = get("VIRTUAL_HOST")?.split(',').map(str::trim).find(|host| is_host(host))?;
    let is_encrypted = get("LETSENCRYPT_HOST").is_some() || get("CERT_NAME").is_some();
    let scheme = if is_encrypted { "https" } else { "http" };
    let origin = format!("{scheme}://{host}");
    Some(Page { origin, path: "/".to_owned(), stated_by: "VIRTUAL_HOST" })
}

fn is_host(text: &str) -> bool {
    let (host, port) = text.rsplit_once(':').unwrap_or((text, "80"));
    host.contains('.')
        && host.chars().all(|c| c.is_ascii_alphanumeric() || ".-".contains(c))
        && port.bytes().all(|c| c.is_ascii_digit())
}

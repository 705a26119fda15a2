//! The configuration of Home Assistant: its address and port.

use regex_lite::Regex;

use crate::setup::import::draft::{Draft, Key, Service};

/// The configuration in `configuration.yaml`.
#[derive(Debug, PartialEq, Eq)]
pub struct Assistant {
    /// Its address, for other machines.
    url: Option<String>,
    /// The port of its web page, if it is stated.
    port: Option<String>,
}

/// Reads `configuration.yaml`, which has tags of its own and need not be plain YAML; `None` for another file of this name.
pub fn read(text: &str) -> Option<Assistant> {
    let has = |keys: &[&str]| text.lines().any(|line| keys.iter().any(|key| line.starts_with(key)));
    // The configuration of Zigbee2MQTT has this name, too, and a key for Home Assistant.
    let is_one =
        has(&["homeassistant:", "default_config:"]) && !has(&["serial:", "advanced:", "permit_join:"]);
    let value = |key: &str, form: &str| {
        let pattern = Regex::new(&format!(r#"(?m)^\s+(?:{key}):\s*["']?({form})["']?\s*(?:#.*)?$"#)).ok()?;
        Some(pattern.captures(text)?.get(1)?.as_str().to_owned())
    };
    is_one.then(|| Assistant {
        url: value("internal_url|external_url", "https?://[A-Za-z0-9.:-]+"),
        port: value("server_port", r"\d+"),
    })
}

/// Adds what the file states to the service that is known as Home Assistant, or a service that may be it.
pub fn draft(assistant: &Assistant, source: &str, draft: &mut Draft) {
    let names = draft.known.home_assistant.clone();
    let is_it = |service: &&mut Service| {
        let containers = service.keys.get(&Key::Containers).map(|entry| &entry.values);
        names.contains(&service.name) || containers.into_iter().flatten().any(|name| names.contains(name))
    };
    let url = assistant.url.as_ref().map(|url| format!("{url}/"));
    if let Some(known) = draft.services.iter_mut().find(is_it) {
        known.sources.push(source.to_owned());
        if let Some(url) = url.filter(|_| !known.keys.contains_key(&Key::Health)) {
            known.guess(Key::Health, url, "its internal or external URL; status 200 is healthy");
        }
        if let Some(port) = assistant.port.as_ref().filter(|_| !known.keys.contains_key(&Key::Tcp)) {
            known.guess(Key::Tcp, port, "its server_port");
        }
        return;
    }
    let Some(name) = names.first() else { return };
    let mut service = Service::new(name.clone(), source, true);
    service.notes.push("guess: there is a configuration of it, and nothing states how it runs".to_owned());
    service.guess(Key::Unchecked, "container", "how it runs is not stated");
    if let Some(url) = url {
        service.guess(Key::Health, url, "its internal or external URL; status 200 is healthy");
    }
    let default = "8123".to_owned();
    service.guess(Key::Tcp, assistant.port.clone().unwrap_or(default), "the port of Home Assistant");
    draft.add_service(service);
}

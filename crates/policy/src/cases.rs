//! The rows of `tests/policy/`: what functions return for texts.

use std::collections::BTreeMap;

use crate::model::installation::inventory::{Host, Inventory, Service};
use crate::model::records::verdict::ResolvedAction;
use crate::model::rights::policy::Resolve;
use crate::targets::identity::{NoSurroundings, resolve};
use opsctl_reader::actions::read_command;
use opsctl_reader::terms::workload::Workload;

/// The rows of a file, by what they state. Every one has to be checked.
pub struct Cases(BTreeMap<String, Vec<Vec<String>>>);

impl Cases {
    /// The rows of `tests/policy/FILE.yaml`.
    pub fn of(file: &str) -> Self {
        let path = format!("{}/../../tests/policy/{file}.yaml", env!("CARGO_MANIFEST_DIR"));
        Self(serde_saphyr::from_str(&std::fs::read_to_string(path).unwrap()).unwrap())
    }

    /// Checks what `shown` returns for the rows below a key: the last cell of each row, in which `…` stands for any text.
    pub fn check<const N: usize>(&mut self, key: &str, shown: impl Fn([&str; N]) -> String) {
        let rows = self.0.remove(key).unwrap_or_else(|| panic!("no rows: {key}"));
        let wrong = rows.iter().filter_map(|row| {
            let (expected, given) = row.split_last().unwrap();
            let cells: Vec<&str> = given.iter().map(String::as_str).collect();
            let found = shown(cells.try_into().unwrap_or_else(|_| panic!("{key}: {row:?}")));
            (!fits(&found, expected))
                .then(|| format!("{given:?}\n    expected {expected:?}\n    found    {found:?}"))
        });
        let wrong: Vec<String> = wrong.collect();
        assert!(!rows.is_empty() && wrong.is_empty(), "{key}:\n{}", wrong.join("\n"));
    }
}

impl Drop for Cases {
    fn drop(&mut self) {
        let left: Vec<&String> = self.0.keys().collect();
        assert!(left.is_empty() || std::thread::panicking(), "rows that are not checked: {left:?}");
    }
}

fn fits(found: &str, expected: &str) -> bool {
    let Some((start, rest)) = expected.split_once('…') else { return found == expected };
    let Some(mut found) = found.strip_prefix(start) else { return false };
    let (middle, end) = rest.rsplit_once('…').unwrap_or(("", rest));
    for part in middle.split('…') {
        let Some((_, behind)) = found.split_once(part) else { return false };
        found = behind;
    }
    found.ends_with(end)
}

/// The text of a cell; `None` for an empty one.
pub fn cell(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}

/// A service on a host with a container.
pub fn service(name: &str, host: Option<&str>, container: Option<&str>) -> Service {
    Service {
        name: name.into(),
        host: host.map(Into::into),
        containers: container.map(Into::into).into_iter().collect(),
        ..Service::default()
    }
}

/// Two hosts and five services.
pub fn inventory() -> Inventory {
    let host = |name: &str, address: &str, ssh: Option<&str>| Host {
        name: name.into(),
        address: address.into(),
        ssh: ssh.map(Into::into),
        ..Host::default()
    };
    let net = || vec!["net".to_owned()];
    let mut unbound = service("unbound", Some("ie01"), Some("dns"));
    unbound.containers.push("adguard".into());
    Inventory {
        domain: Some("example.net".into()),
        hosts: vec![host("ie01", "192.0.2.1", Some("root@ie01.lan")), host("pie01", "192.0.2.2", None)],
        services: vec![
            Service {
                playbooks: vec!["redeploy-dns.yml".into()],
                projects: net(),
                ..service("adguard", Some("pie01"), Some("dns"))
            },
            Service { projects: net(), units: vec!["resolver".into()], ..unbound },
            Service { units: vec!["nginx".into()], ..service("nginx", Some("ie01"), None) },
            Service { workloads: vec![Workload::named("plex")], ..service("plex", Some("ie01"), None) },
            service("jellyfin", Some("ie01"), Some("jf")),
        ],
    }
}

/// The actions of a command, where `hosts.yaml` lists jellyfin and sonarr.
pub fn resolved(command: &str) -> Vec<ResolvedAction> {
    let services = ["jellyfin", "sonarr"].map(|name| service(name, None, None)).to_vec();
    let inventory = Inventory { services, ..Inventory::default() };
    let never = Resolve { local: false, ssh: false };
    resolve(read_command(command, None).actions, &inventory, never, &NoSurroundings)
}

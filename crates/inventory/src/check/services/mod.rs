//! The hosts and services.

mod health;
mod host;
mod service;

use opsctl_policy::model::installation::inventory::{Host, Inventory};
use opsctl_policy::model::rights::policy::{HostBudget, Policy};
use opsctl_policy::targets::nearest::nearest;

use crate::error::Mistakes;
use crate::read::tree::Node;
use crate::spanned::Spanned;
use crate::yaml::file::{HostWire, ServiceWire};
use crate::yaml::forms::{Entries, entries};
use crate::yaml::values::texts;
use host::OnHost;

/// What the file lists.
pub struct Listed {
    /// The hosts and services.
    pub inventory: Inventory,
    /// What each host states of its services.
    pub on_hosts: Vec<OnHost>,
    /// The data folders of services.
    pub data: Vec<String>,
}

/// Checks the hosts and services. `root` is the tree of the file, from which parts with a mistake are left out.
pub fn check(
    hosts: Option<Entries<HostWire>>,
    services: Option<Entries<Option<ServiceWire>>>,
    domain: Option<String>,
    root: &Node,
    found: &mut Mistakes,
) -> Listed {
    let (hosts, on_hosts): (Vec<Host>, Vec<OnHost>) =
        entries(hosts).map(|(name, host)| host::check(name, host, found)).unzip();
    let known = known_hosts(&hosts, root);
    let engine_of = |name: &str| {
        let mut both = hosts.iter().zip(&on_hosts);
        both.find(|(host, _)| host.name == name).and_then(|(_, on_host)| on_host.engine)
    };
    let host_of = |name: &str| {
        let mut both = hosts.iter().zip(&on_hosts);
        both.find(|(_, on_host)| on_host.lists(name)).map(|(host, _)| host.name.clone())
    };
    let (mut checked, mut parts, mut data, mut needs) = (vec![], vec![], vec![], vec![]);
    for (name, service) in entries(services) {
        let mut service = service.unwrap_or_default();
        data.extend(texts(std::mem::take(&mut service.data)));
        needs.extend(service.needs.clone());
        if service.host.is_none() {
            service.host = host_of(&name.value).map(|value| Spanned { value, referenced: name.referenced });
        }
        let engine = service.host.as_ref().and_then(|host| engine_of(&host.value));
        let (service, own) = service::check(name, service, domain.as_deref(), engine, &known, found);
        checked.push(service);
        parts.push(own);
    }
    host::add_projects(&hosts, &on_hosts, &mut checked, found);
    host::check_needs(needs, &checked, root, found);
    found.keep(service::one_owner_per_part(&checked, &parts));
    Listed { inventory: Inventory { domain, hosts, services: checked }, on_hosts, data }
}

/// The budgets of hosts.
pub fn budgets(inventory: &Inventory, on_hosts: Vec<OnHost>, policy: &Policy) -> Vec<HostBudget> {
    host::budgets(&inventory.hosts, on_hosts, &inventory.services, policy)
}

/// The hosts that a service may name: a mistake in a host is not a mistake of the services on it.
fn known_hosts(hosts: &[Host], root: &Node) -> Vec<Host> {
    let named = |key: &Node| Host { name: key.text().unwrap_or_default().to_owned(), ..Host::default() };
    let left_out = root.value("hosts").into_iter().flat_map(Node::entries);
    let left_out = left_out.filter(|(_, host)| host.is_left_out()).map(|(name, _)| named(name));
    let is_unread = root.value("hosts").is_none_or(Node::is_left_out)
        && root.entries().iter().any(|(key, value)| {
            value.is_left_out() && key.text().is_some_and(|key| nearest(key, ["hosts"]).is_some())
        });
    let unread = is_unread.then_some(()).into_iter().flat_map(|()| {
        let services = root.value("services").into_iter().flat_map(Node::entries);
        services.filter_map(|(_, service)| service.value("host")).map(named)
    });
    hosts.iter().cloned().chain(left_out).chain(unread).collect()
}

//! Checks of `hosts.yaml`: from its shape to an [`Installation`] with every default filled in.
//!
//! One file for each part of the file; a new top-level key is a line in [`check`] and a file here.

mod ask;
mod contacts;
mod context;
mod hooks;
mod monitor;
mod policy;
mod programs;
mod repositories;
mod rules;
mod services;
mod settings;
mod spend;
mod tier;
pub mod values;

use super::Installation;
use super::error::Mistakes;
use super::read::tree::Node;
use super::yaml::file::HostsFileWire;
use opsctl_policy::model::rights::rules::{PathRule, Where};
use services::Listed;

/// Checks the whole file. `root` is its tree, from which parts with a mistake are left out.
pub fn check(file: HostsFileWire, root: &Node, found: &mut Mistakes) -> Installation {
    // An invalid one still gives the services their names, so that they have no mistakes of their own.
    let unread = root.value("domain").filter(|domain| domain.is_left_out());
    let unread = unread.map(|domain| domain.text().unwrap_or_default().to_owned());
    let domain = file.domain.map(|domain| domain.0).or(unread);
    let Listed { inventory, on_hosts, data } =
        services::check(file.hosts, file.services, domain, root, found);
    let contacts = contacts::check(file.contacts, found);
    let catalogue = programs::check(file.programs, found);
    let mut policy = policy::check(file.policy.unwrap_or_default(), contacts, &inventory, found);
    policy.rules.catalogue = catalogue;
    policy.host_budgets = services::budgets(&inventory, on_hosts, &policy);
    policy.rules.data.extend(data);
    let hooks = hooks::check(file.hooks, found);
    let repository_servers = repositories::check(file.repositories, found);
    let settings = found.keep(settings::check(file.settings)).unwrap_or_default();
    let context = context::check(file.context.unwrap_or_default(), found);
    let roles = context.role_globs().into_iter().map(|glob| PathRule { glob, scope: Where::Local });
    // In front of the operator's rules, whose exceptions then apply to role files, too.
    policy.rules.protect.splice(0..0, roles);
    Installation { inventory, policy, hooks, context, repository_servers, settings }
}

//! The services that actions concern: names are looked up in the inventory, and container IDs asked of their engine.

use std::collections::HashSet;
use std::fmt;

use crate::model::installation::container::Container;
use crate::model::installation::identity::{Identity, engine_units, is_engine};
use crate::model::installation::inventory::{Inventory, is_loopback};
use crate::model::installation::names;
use crate::model::records::verdict::ResolvedAction;
use crate::model::rights::policy::Resolve;
use crate::targets::nearest::nearest;
use opsctl_reader::shell::glob;
use opsctl_reader::terms::action::{Action, ActionKind, Family, Target};
use opsctl_reader::terms::reference::{EngineCall, Form};

/// What is asked of a container engine: which container an ID names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question<'a> {
    /// The ID, or the beginning of one: hexadecimal digits.
    pub id: &'a str,
    /// How the engine is started.
    pub engine: &'a EngineCall,
    /// The name of the host and its ssh destination; `None` for this machine.
    pub host: Option<(&'a str, &'a str)>,
}

/// The answer of a container engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// This container has the ID.
    Container(Container),
    /// No container has the ID.
    NoContainer,
    /// The engine could not be asked, or did not answer.
    Unanswered(NoAnswer),
}

/// Why an engine does not name a container.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each message says what its variant is")]
pub enum NoAnswer {
    #[error("no engine can be asked")]
    NoEngine,
    #[error("opsctl cannot determine which engine acts")]
    UnknownEngine,
    #[error("`policy.resolve` does not contain `local`")]
    NotLocally,
    #[error("`policy.resolve` does not contain `ssh`, so {0} is not asked")]
    NotThroughSsh(String),
    #[error("hosts.yaml states no ssh destination for {0}")]
    NoDestination(String),
    #[error("engines are not asked after the call")]
    AfterCall,
    #[error("other engines have used up the {0} s for one command")]
    OutOfTime(u64),
    #[error("more than {0} IDs of one command are not looked up")]
    ManyIds(usize),
    #[error("no `{0}` is installed here that only an administrator can change")]
    NotInstalled(&'static str),
    #[error("the engine did not answer within {0} s")]
    Timeout(u64),
    #[error("the engine cannot be asked ({0})")]
    Failed(String),
    #[error("the answer of the engine cannot be read")]
    Unreadable,
}

/// What this machine knows of containers and of itself.
pub trait Surroundings {
    /// Asks a container engine; by default, there is none.
    fn ask(&self, _question: &Question<'_>) -> Answer {
        Answer::Unanswered(NoAnswer::NoEngine)
    }

    /// The name of this machine, if it is known.
    fn name(&self) -> Option<String> {
        None
    }
}

/// Surroundings without an engine and without a name.
#[derive(Debug, Clone, Copy)]
pub struct NoSurroundings;

impl Surroundings for NoSurroundings {}

/// Looks up the targets and hosts of the actions: one action for each service that is concerned.
pub fn resolve(
    actions: Vec<Action>,
    inventory: &Inventory,
    allowed: Resolve,
    surroundings: &dyn Surroundings,
) -> Vec<ResolvedAction> {
    let lookup = Lookup { inventory, allowed, surroundings };
    actions.into_iter().flat_map(on_each_host).flat_map(|action| lookup.resolve(&action)).collect()
}

/// An action on each host of a list: `pdsh -w ie01,nas`.
fn on_each_host(action: Action) -> Vec<Action> {
    let is_list =
        |host: &&String| host.contains([',', ' ']) && !action.via.iter().any(|via| via == "ansible");
    let Some(list) = action.host.as_ref().filter(is_list) else { return vec![action] };
    let hosts = list.split([',', ' ']).filter(|host| !host.is_empty());
    hosts.map(|host| Action { host: Some(host.to_owned()), ..action.clone() }).collect()
}

struct Lookup<'a> {
    inventory: &'a Inventory,
    allowed: Resolve,
    surroundings: &'a dyn Surroundings,
}

impl Lookup<'_> {
    fn resolve(&self, action: &Action) -> Vec<ResolvedAction> {
        let context = || Some(self.inventory.find_host(action.reference.context.as_deref()?)?.name.clone());
        let host =
            action.host.as_deref().map(|host| self.inventory.host_of(host).to_owned()).or_else(context);
        let is_engine_here = host.is_none() && is_engine(&action.target);
        let here = is_engine_here.then(|| self.surroundings.name()).flatten();
        let (target, form) = (&action.target, action.reference.form);
        // A group of ansible may be any hosts.
        let is_group = |host: &&str| {
            action.via.iter().any(|via| via == "ansible") && self.inventory.host(host).is_none()
        };
        let is_here = |host: &&str| is_loopback(host) && self.inventory.host(host).is_none();
        let scope = host.as_deref().filter(|host| !is_group(host) && !is_here(host));
        let everything = (form == Form::Everything).then(|| self.inventory.all_of_kind(action, scope));
        let mut found = match everything {
            Some(services) if services.is_empty() => Identity::Unknown,
            Some(services) => Identity::Listed(services),
            None => self.identify(action, scope, here.as_deref()),
        };
        if let Identity::Listed(services) = &mut found
            && host.as_ref().is_some_and(|host| is_group(&host.as_str()))
        {
            for host in &self.inventory.hosts {
                let there = self.identify(action, Some(&host.name), here.as_deref());
                let Identity::Listed(there) = there else { continue };
                services.extend(there);
            }
            let mut seen = HashSet::new();
            services.retain(|name| seen.insert(name.clone()));
        }
        let (found, note) = match found {
            Identity::Id(id) => self.ask(action, &id),
            Identity::Unlisted(_) if form == Form::Label => (Identity::Unknown, None),
            Identity::Unknown if form == Form::PartOfNames => {
                (Identity::Unknown, target.name().map(unmatched))
            }
            found => (found, None),
        };
        // An action on everything is forbidden where it cannot be counted.
        let is_counted = form == Form::Everything && matches!(found, Identity::Listed(_));
        let kind = if is_counted { ActionKind::of(action.verb) } else { action.kind };
        let resolved = |service, listed, note| ResolvedAction {
            action: Action { kind, ..action.clone() },
            service,
            host: host.clone(),
            listed,
            note,
        };
        match found {
            Identity::Listed(services) => {
                services.into_iter().map(|name| resolved(Some(name), true, note.clone())).collect()
            }
            Identity::Unlisted(name) => {
                let note = note.or_else(|| self.nearest_to(&name));
                vec![resolved(Some(name), false, note)]
            }
            Identity::Elsewhere { name, services } => {
                let host = host.as_deref().unwrap_or_default();
                let note = self.elsewhere(&name, &services, host);
                vec![resolved(Some(format!("{name}@{host}")), false, Some(note))]
            }
            Identity::Id(_) | Identity::Unknown => vec![resolved(None, false, note)],
        }
    }

    /// The identity of the target. Where the files of a compose project state it, it is also looked up under the names there.
    fn identify(&self, action: &Action, scope: Option<&str>, here: Option<&str>) -> Identity {
        let Action { target, reference, .. } = action;
        if let (Target::ComposeService(name), Some(project)) = (target, &reference.project)
            && let Some(found) = self.inventory.in_project(project, name, scope)
        {
            return found;
        }
        if let Target::Unit(unit) = target
            && unit.contains(['*', '?', '['])
        {
            return self.units_like(unit, scope, here);
        }
        let own = self.inventory.identify(target, reference.form, scope, here);
        if let Some(within) = &action.within {
            let outer = self.inventory.identify(&within.target, within.reference.form, scope, here);
            // The engine of a guest is not that of its host.
            let is_outer =
                is_engine(target) || action.family == Family::Process || !matches!(own, Identity::Listed(_));
            if let Identity::Listed(outer) = outer {
                // What is listed for another host may have the same name in here.
                return match own {
                    Identity::Listed(own) if !is_outer && own.iter().any(|name| outer.contains(name)) => {
                        Identity::Listed(own)
                    }
                    Identity::Listed(own) if !is_outer => Identity::Listed([own, outer].concat()),
                    _ => Identity::Listed(outer),
                };
            }
        }
        let of_names = |names: &Vec<String>| {
            names.iter().find_map(|name| {
                let service = Target::ComposeService(name.clone());
                let found = self.inventory.identify(&service, Form::Name, scope, here);
                if let Identity::Listed(services) = found { Some(services) } else { None }
            })
        };
        let mut services = match &own {
            Identity::Listed(services) if matches!(target, Target::ComposeProject(_)) => services.clone(),
            Identity::Listed(_) => return own,
            _ => vec![],
        };
        for service in reference.below.iter().filter_map(of_names).flatten() {
            if !services.contains(&service) {
                services.push(service);
            }
        }
        if services.is_empty() { own } else { Identity::Listed(services) }
    }

    /// The services whose units a glob matches, and those below the engines that it matches.
    fn units_like(&self, pattern: &str, host: Option<&str>, here: Option<&str>) -> Identity {
        let pattern = pattern.strip_suffix(".service").unwrap_or(pattern);
        let services = self.inventory.services.iter().filter(|service| service.may_run_on(host));
        let matching = services.filter(|service| service.units.iter().any(|unit| glob(pattern, unit)));
        let mut names: Vec<String> = matching.map(|service| service.name.clone()).collect();
        for engine in engine_units().filter(|unit| glob(pattern, unit)) {
            let unit = Target::Unit(engine.to_owned());
            if let Identity::Listed(below) = self.inventory.identify(&unit, Form::Name, host, here) {
                names.extend(below);
            }
        }
        let mut seen = HashSet::new();
        names.retain(|name| seen.insert(name.clone()));
        if names.is_empty() { Identity::Unknown } else { Identity::Listed(names) }
    }

    /// The identity of the container with this ID, and a note about it.
    fn ask(&self, action: &Action, id: &str) -> (Identity, Option<String>) {
        let answer = match self.question(action, id) {
            Ok(question) => self.surroundings.ask(&question),
            Err(reason) => Answer::Unanswered(reason),
        };
        match answer {
            Answer::Container(container) if container.name == id => {
                (self.identity_of(&container, action), None)
            }
            Answer::Container(container) => {
                let note = format!("`{id}` is the container `{}`.", container.name);
                (self.identity_of(&container, action), Some(note))
            }
            Answer::NoContainer => without_answer(id, &"the engine knows no such container"),
            Answer::Unanswered(reason) => without_answer(id, &reason),
        }
    }

    /// What may be asked about an action; otherwise, why not.
    fn question<'q>(&'q self, action: &'q Action, id: &'q str) -> Result<Question<'q>, NoAnswer> {
        let engine = action.reference.engine.as_ref();
        let engine = engine.ok_or(NoAnswer::UnknownEngine)?;
        let Some(written) = &action.host else {
            let allowed = self.allowed.local.then_some(Question { id, engine, host: None });
            return allowed.ok_or(NoAnswer::NotLocally);
        };
        if !self.allowed.ssh {
            return Err(NoAnswer::NotThroughSsh(written.clone()));
        }
        let host = self.inventory.find_host(written);
        let host = host.filter(|_| !action.via.iter().any(|via| via == "ansible"));
        let host = host.and_then(|host| Some((host.name.as_str(), host.ssh.as_deref()?)));
        let host = host.ok_or_else(|| NoAnswer::NoDestination(written.clone()))?;
        Ok(Question { id, engine, host: Some(host) })
    }

    /// The service of a container: one that lists a name of it, else that of its name.
    fn identity_of(&self, container: &Container, action: &Action) -> Identity {
        let host = action.host.as_deref().map(|host| self.inventory.host_of(host));
        let identity = |(target, form)| self.inventory.identify(&target, form, host, None);
        let identities: Vec<Identity> = container.targets().into_iter().map(identity).collect();
        if let Some(listed) = identities.iter().find(|identity| matches!(identity, Identity::Listed(_))) {
            return listed.clone();
        }
        let elsewhere =
            identities.into_iter().find(|identity| matches!(identity, Identity::Elsewhere { .. }));
        elsewhere.unwrap_or_else(|| Identity::Unlisted(container.name.clone()))
    }

    /// A sentence that states for which hosts services are listed, and what that means for an action on this host.
    fn elsewhere(&self, name: &str, services: &[String], host: &str) -> String {
        let listed = self.inventory.services.iter().filter(|service| services.contains(&service.name));
        let mut hosts: Vec<&str> = listed.filter_map(|service| service.host.as_deref()).collect();
        hosts.dedup();
        let hosts = hosts.join(", ");
        format!(
            "hosts.yaml lists `{name}` for {hosts}, not for {host}: `{name}@{host}` has a budget of its own and is not verified."
        )
    }

    /// A sentence that names the listed service with the most similar name; `None` if there is none.
    fn nearest_to(&self, name: &str) -> Option<String> {
        let services = &self.inventory.services;
        let names = services.iter().flat_map(|service| {
            let parts = [&service.containers, &service.units].into_iter().flatten();
            let workloads = service.workloads.iter().map(|workload| &workload.name);
            let guests = service.guests.iter().map(|guest| &guest.name);
            std::iter::once(&service.name).chain(parts).chain(workloads).chain(guests)
        });
        let near = nearest(name, names.map(String::as_str))?;
        Some(format!("`{name}` is not listed in hosts.yaml; did you mean `{near}`?"))
    }
}

/// Why a part of names stands for no service.
fn unmatched(part: &str) -> String {
    format!(
        "The command selects containers by a part of their names, and no service of hosts.yaml has a name with `{part}`."
    )
}

/// What a word is that may be an ID, where the engine has not named its container.
fn without_answer(word: &str, reason: &dyn fmt::Display) -> (Identity, Option<String>) {
    if !names::is_likely_id(word) && !names::is_swarm_id(word) {
        return (Identity::Unlisted(word.to_owned()), None);
    }
    let what = if names::is_swarm_id(word) {
        "the ID of a swarm service"
    } else if names::is_short_id(word) {
        "a container ID (if it is a name, list it in hosts.yaml)"
    } else {
        "a container ID"
    };
    let note = format!("`{word}` is read as {what}, and {reason}.");
    (Identity::Id(word.to_owned()), Some(note))
}

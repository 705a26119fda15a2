//! Which services a target belongs to: one budget under every name.

use super::checks::Engine;
use super::inventory::{Host, Inventory, Service, is_loopback};
use super::names::{self, NamePart};
use crate::lists::ENGINE_UNITS;
use opsctl_reader::terms::action::{Action, Family, Target};
use opsctl_reader::terms::reference::Form;
use opsctl_reader::terms::workload::Workload;

/// What the target of an action is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Identity {
    /// These services of `hosts.yaml`, in its order; never empty.
    Listed(Vec<String>),
    /// A name that `hosts.yaml` does not list.
    Unlisted(String),
    /// A name that `hosts.yaml` lists for services of other hosts only.
    Elsewhere {
        /// The name in the command, or the part of it that is listed.
        name: String,
        /// The services that it names on other hosts.
        services: Vec<String>,
    },
    /// A word that may be a container ID, whose container only the engine knows.
    Id(String),
    /// It cannot be determined, or the action has no target.
    Unknown,
}

/// What stops with a unit: the services that run in it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Below {
    Containers(Engine),
    AnyContainers,
    /// The containers of every engine, and the workloads.
    Everything,
    Workloads,
}

impl Below {
    /// What is named so in the list of units.
    fn named(name: &str) -> Self {
        match name {
            "docker" => Self::Containers(Engine::Docker),
            "podman" => Self::Containers(Engine::Podman),
            "workloads" => Self::Workloads,
            _ => Self::Everything,
        }
    }

    const fn of_any_engine(self) -> Self {
        match self {
            Self::Containers(_) => Self::AnyContainers,
            Self::AnyContainers | Self::Everything | Self::Workloads => self,
        }
    }
}

impl Service {
    /// Whether it may run on this host: it states this one or none, or the host is not known.
    pub fn may_run_on(&self, host: Option<&str>) -> bool {
        self.host.as_deref().is_none_or(|own| host.is_none_or(|host| own == host))
    }

    /// Whether it may be what the target is: a guest is no workload.
    fn may_be_of_kind(&self, target: &Target) -> bool {
        let in_cluster = !self.workloads.is_empty() || !self.releases.is_empty();
        let is_elsewhere = in_cluster && self.guests.is_empty() && self.containers.is_empty();
        !matches!(target, Target::Guest(_)) || !is_elsewhere
    }

    /// Whether an action on this host may be one on it: a cluster is reached through any host.
    fn may_be_target(&self, target: &Target, host: Option<&str>) -> bool {
        let in_cluster = !self.workloads.is_empty() || !self.releases.is_empty();
        let of_cluster = matches!(target, Target::Workload(_) | Target::Release(_));
        (in_cluster && of_cluster) || self.may_run_on(host)
    }

    /// Whether it states this host.
    fn runs_on(&self, host: Option<&str>) -> bool {
        host.is_some() && self.host.as_deref() == host
    }

    /// Whether an action on everything of its kind on this host concerns it.
    fn is_of_kind(&self, action: &Action, host: Option<&str>) -> bool {
        let is_there = host.is_some() && self.may_run_on(host);
        let has_parts = !self.units.is_empty() || !self.guests.is_empty() || !self.releases.is_empty();
        match (action.family, &action.target) {
            (Family::Workload, Target::Workload(wanted)) => self.workloads.iter().any(|own| {
                let wanted = Workload { name: own.name.clone(), ..wanted.clone() };
                own.may_be(&wanted)
            }),
            (Family::Container | Family::Compose, _) => is_there && self.runs_below(Below::AnyContainers),
            (Family::Unit, _) => is_there && !self.units.is_empty(),
            (Family::Guest, _) => is_there && !self.guests.is_empty(),
            (Family::Program | Family::Process, _) => {
                is_there
                    && self.containers.is_empty()
                    && self.projects.is_empty()
                    && self.workloads.is_empty()
                    && !has_parts
            }
            _ => false,
        }
    }

    fn runs_below(&self, below: Below) -> bool {
        let bare = self.containers.is_empty() && self.projects.is_empty() && self.units.is_empty();
        let in_engine = !self.own_containers().is_empty() || !self.projects.is_empty();
        let in_cluster = !self.workloads.is_empty() || !self.releases.is_empty();
        match below {
            Below::Containers(engine) => in_engine && self.engine == engine,
            Below::AnyContainers => in_engine,
            Below::Workloads => in_cluster || bare,
            Below::Everything => in_engine || in_cluster,
        }
    }

    /// Whether the name of one of its containers contains this text.
    fn is_matched_by(&self, part: &str) -> bool {
        let in_project = |container: &str| {
            let full = |project: &String| format!("{project}-{container}-1 {project}_{container}_1");
            self.projects.iter().map(full).any(|names| names.contains(part))
        };
        let mut names = std::iter::once(self.name.as_str()).chain(self.containers.iter().map(String::as_str));
        names.any(|name| name.contains(part) || in_project(name))
    }
}

impl Inventory {
    /// The services that an action on everything of its kind on this host concerns; none where the inventory does not state them.
    pub fn all_of_kind(&self, action: &Action, host: Option<&str>) -> Vec<String> {
        let concerned = self.services.iter().filter(|service| service.is_of_kind(action, host));
        concerned.map(|service| service.name.clone()).collect()
    }

    /// The identity of a target. `host` is the host of the action, by its name in the inventory, `here` the name of this
    /// machine. Services of other hosts are not concerned.
    pub fn identify(&self, target: &Target, form: Form, host: Option<&str>, here: Option<&str>) -> Identity {
        let may_be = |service: &&Service| service.may_be_of_kind(target);
        let all = Candidates { services: self.services.iter().filter(may_be).collect(), host };
        if let Target::Playbook(playbook) = target {
            let stated = playbook.stated.as_deref().map(|name| all.named(name));
            let guessed = || playbook.guessed.as_deref().map(|name| all.named(name));
            return stated.or_else(|| all.by_kind(target)).or_else(guessed).unwrap_or(Identity::Unknown);
        }
        let Some(name) = target.name() else { return Identity::Unknown };
        if form == Form::PartOfNames {
            let may_match = |service: &&Service| service.may_run_on(host) && service.is_matched_by(name);
            return listed(self.services.iter().filter(may_match)).unwrap_or(Identity::Unknown);
        }
        if let Target::Unit(unit) | Target::Service(unit) = target
            && let Some(found) = self.below_unit(unit, host, here)
        {
            return found;
        }
        let may_be = |service: &&Service| service.may_be_target(target, host);
        let there = Candidates { services: all.services.iter().copied().filter(may_be).collect(), host };
        if let Some(found) = there.by_whole_name(target, name) {
            return found;
        }
        let elsewhere = |found, name: &str| match found {
            Some(Identity::Listed(services)) => Some(Identity::Elsewhere { name: name.to_owned(), services }),
            _ => None,
        };
        if let Some(found) = elsewhere(all.by_whole_name(target, name), name).or_else(|| id(target, form)) {
            return found;
        }
        let parts = parts(target, name, form);
        let certain =
            || parts.iter().find(|part: &&NamePart<'_>| part.certain).map_or(name, |part| part.name);
        let by_part = |part: &NamePart<'_>| elsewhere(all.by_part(target, part.name), part.name);
        let found = parts.iter().find_map(|part| there.by_part(target, part.name));
        found
            .or_else(|| there.by_form(target, name))
            .or_else(|| parts.iter().find_map(by_part))
            .or_else(|| elsewhere(all.by_form(target, name), name))
            .unwrap_or_else(|| match target {
                // Another thing of this name is listed.
                Target::Guest(guest) if self.services.iter().any(|service| service.name == name) => {
                    Identity::Unlisted(guest.to_string())
                }
                _ => Identity::Unlisted(certain().to_owned()),
            })
    }

    /// The service that lists a compose project and has this name, or a container of this name, within it.
    pub fn in_project(&self, project: &str, name: &str, host: Option<&str>) -> Option<Identity> {
        let full = [format!("{project}-{name}-1"), format!("{project}_{name}_1")];
        let has_name = |service: &&Service| {
            let mut containers = service.containers.iter();
            service.name == name || containers.any(|own| own == name || full.contains(own))
        };
        let is_there = |service: &&Service| service.may_run_on(host) && service.lists_project(project);
        let listing = || self.services.iter().filter(is_there).filter(has_name);
        one(listing, host)
    }

    /// The services that stop with the unit of an engine; `None` for any other unit, and where no service does.
    fn below_unit(&self, unit: &str, host: Option<&str>, here: Option<&str>) -> Option<Identity> {
        let (plain, below) = engine_unit(unit)?;
        let is_local = host.is_none();
        let host = host.or_else(|| self.this_host(here));
        // Where no service states this engine, its containers may be those of any service.
        [below, below.of_any_engine()].into_iter().find_map(|below| {
            let is_below = |service: &&Service| {
                let own = service.name == plain || service.units.iter().any(|name| name == plain);
                own || service.runs_below(below)
            };
            let services = || self.services.iter().filter(is_below);
            let on_it = services().filter(|service| match &service.host {
                Some(own) => host == Some(own.as_str()),
                None => is_local,
            });
            let on_it = if is_local && host.is_none() { None } else { listed(on_it) };
            on_it.or_else(|| listed(services().filter(|service| service.may_run_on(host))))
        })
    }

    /// The host of the inventory that is this machine.
    fn this_host(&self, here: Option<&str>) -> Option<&str> {
        let is_here = |host: &&Host| is_loopback(&host.address) || Some(host.name.as_str()) == here;
        self.hosts.iter().find(is_here).map(|host| host.name.as_str())
    }
}

/// The services that a target may be.
struct Candidates<'a> {
    services: Vec<&'a Service>,
    /// The host whose services take precedence.
    host: Option<&'a str>,
}

impl Candidates<'_> {
    /// The service of any kind of name, else the name itself.
    fn named(&self, name: &str) -> Identity {
        let target = Target::Service(name.to_owned());
        self.by_any_name(&target, name).unwrap_or_else(|| Identity::Unlisted(name.to_owned()))
    }

    fn matching(&self, is: impl Fn(&Service) -> bool) -> impl Iterator<Item = &Service> {
        self.services.iter().copied().filter(move |service| is(service))
    }

    /// The services that have the whole name of the target. For a service, its own name takes precedence over parts of others.
    fn by_whole_name(&self, target: &Target, name: &str) -> Option<Identity> {
        let by_kind = if matches!(target, Target::Service(_)) { None } else { self.by_kind(target) };
        by_kind.or_else(|| self.by_any_name(target, name))
    }

    /// The services that list the target under its own kind of name: of a name that services share all, otherwise one.
    fn by_kind(&self, target: &Target) -> Option<Identity> {
        let listing = || self.matching(|service| service.lists(target));
        // Without a namespace or a program, a workload or a guest may be each of them.
        let is_shared = matches!(
            target,
            Target::ComposeProject(_)
                | Target::Release(_)
                | Target::Playbook(_)
                | Target::Workload(_)
                | Target::Guest(_)
        );
        if is_shared { all(listing, self.host) } else { one(listing, self.host) }
    }

    /// The service with this name, else one with a part of this name, else all that share a part of this name, if possible
    /// on this host.
    fn by_any_name(&self, target: &Target, name: &str) -> Option<Identity> {
        let own = self.matching(|service| service.name == name).next();
        let parts =
            || self.matching(|service| service.has_own_part(name) && !service.has_other(name, target));
        let sharing = || self.matching(|service| service.has_shared_part(name));
        listed(own).or_else(|| one(parts, self.host)).or_else(|| all(sharing, self.host))
    }

    /// The services that have a part of the name of the target.
    fn by_part(&self, target: &Target, part: &str) -> Option<Identity> {
        let by_kind = match target {
            Target::Workload(Workload { namespace, .. }) => {
                let workload = Workload { namespace: namespace.clone(), kind: None, name: part.to_owned() };
                self.by_kind(&Target::Workload(workload))
            }
            _ => None,
        };
        by_kind.or_else(|| self.by_any_name(target, part))
    }

    /// The service that lists another form of the name: the timer or the socket which starts the unit, or the name with or
    /// without what the manager of a service puts before it.
    fn by_form(&self, target: &Target, name: &str) -> Option<Identity> {
        if !matches!(target, Target::Unit(_) | Target::Container(_) | Target::Service(_)) {
            return None;
        }
        let plain = names::without_manager(name);
        let is = |own: &String| names::without_manager(own) == plain;
        let names =
            |service: &Service| is(&service.name) || service.units.iter().chain(&service.containers).any(is);
        one(|| self.matching(names), self.host)
    }
}

/// The names that the name of a target contains.
fn parts<'a>(target: &Target, name: &'a str, form: Form) -> Vec<NamePart<'a>> {
    match target {
        Target::Container(_) if form == Form::SwarmService => names::of_swarm_service(name).collect(),
        Target::Container(_) => names::of_container(name),
        Target::Workload(_) if form == Form::Pod => names::of_pod(name),
        Target::Unit(_) => names::of_unit(name),
        // An own program or an MCP tool may use the name of any part.
        Target::Service(_) => [names::of_container(name), names::of_unit(name), names::of_pod(name)].concat(),
        _ => vec![],
    }
}

/// The units that other services run in, without their type.
pub fn engine_units() -> impl Iterator<Item = &'static str> {
    ENGINE_UNITS.iter().map(|(name, _)| *name)
}

/// Whether other services run in a target, by its name under any manager of services.
pub fn is_engine(target: &Target) -> bool {
    matches!(target, Target::Unit(unit) | Target::Service(unit) if engine_unit(unit).is_some())
}

/// The name of the unit of an engine without its type, and what runs in it.
fn engine_unit(unit: &str) -> Option<(&str, Below)> {
    let plain = [".socket", ".service"].iter().find_map(|suffix| unit.strip_suffix(suffix)).unwrap_or(unit);
    ENGINE_UNITS.iter().find(|(name, _)| *name == plain).map(|(_, below)| (plain, Below::named(below)))
}

/// These services; `None` if there are none.
fn listed<'a>(services: impl IntoIterator<Item = &'a Service>) -> Option<Identity> {
    let names: Vec<String> = services.into_iter().map(|service| service.name.clone()).collect();
    (!names.is_empty()).then_some(Identity::Listed(names))
}

/// The first service, if possible on this host.
fn one<'a, I: Iterator<Item = &'a Service>>(
    services: impl Fn() -> I,
    host: Option<&str>,
) -> Option<Identity> {
    listed(services().find(|service| service.runs_on(host)).or_else(|| services().next()))
}

/// Those of the services that run on this host; all of them, if none does.
fn all<'a, I: Iterator<Item = &'a Service>>(
    services: impl Fn() -> I,
    host: Option<&str>,
) -> Option<Identity> {
    listed(services().filter(|service| service.runs_on(host))).or_else(|| listed(services()))
}

/// The container ID that a target may be.
fn id(target: &Target, form: Form) -> Option<Identity> {
    let id = match target {
        Target::Container(name) if form == Form::SwarmService => {
            names::is_swarm_id(name).then_some(name.as_str())
        }
        Target::Container(name) => names::may_be_id(name).then_some(name.as_str()),
        // An MCP tool may name containers by their IDs.
        Target::Service(name) => (names::is_likely_id(name) && name.len() >= 12).then_some(name.as_str()),
        Target::Unit(name) => names::id_of_scope(name),
        _ => None,
    };
    id.map(|id| Identity::Id(id.to_owned()))
}

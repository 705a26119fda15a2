//! The hosts and services that sources have in common, before they are written.

use std::collections::{BTreeMap, BTreeSet};

use super::known::Known;
use opsctl_policy::model::installation::inventory::Inventory;

/// The host that services get whose sources state none.
const PLACEHOLDER: &str = "docker-host";

/// Stands for the address of the service's host in a health URL.
pub const HOST_ADDRESS: &str = "{host}";

/// The second value of a health URL whose certificate is not checked.
pub const INSECURE: &str = "insecure";

/// Hosts and services, in the order in which the sources name them.
#[derive(Debug, Default)]
pub struct Draft {
    /// The hosts.
    pub hosts: Vec<Host>,
    /// The services.
    pub services: Vec<Service>,
    /// What was not read, one sentence each.
    pub notes: Vec<String>,
    /// Why files of folders were not read, although others of the folder were.
    pub unread: Vec<String>,
    /// What is known by name.
    pub known: Known,
}

/// A host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// An IP address or DNS name.
    pub address: String,
    /// Whether a source states its address; otherwise its name is the address.
    pub is_stated: bool,
    /// The ssh destination.
    pub ssh: Option<String>,
    /// How it is asked: keys with their values as YAML.
    pub asking: BTreeMap<&'static str, String>,
    /// Where it is from, and what is a guess.
    pub comments: Vec<String>,
}

impl Host {
    /// A host that is asked as each one is.
    pub fn new(name: String, address: String, ssh: Option<String>, comments: Vec<String>) -> Self {
        Self { name, address, is_stated: true, ssh, asking: BTreeMap::new(), comments }
    }

    fn merge(&mut self, other: Self) {
        let is_new = |comment: &String| self.is_stated == other.is_stated || !comment.starts_with("guess: ");
        let comments = other.comments.iter().filter(|comment| is_new(comment)).cloned().collect();
        if self.is_stated == other.is_stated {
            self.ssh = self.ssh.take().or(other.ssh);
        }
        self.asking = other.asking.into_iter().chain(std::mem::take(&mut self.asking)).collect();
        extend_new(&mut self.comments, comments);
    }

    /// The port of its ssh destination, if that states one.
    fn port(&self) -> Option<&str> {
        self.ssh.as_deref()?.strip_prefix("ssh://")?.rsplit_once(':').map(|(_, port)| port)
    }
}

opsctl_reader::words! {
    /// The keys of a service, in the order in which they are written.
    #[derive(PartialOrd, Ord)]
    pub enum Key {
        Host = "host",
        Engine = "engine",
        Containers = "containers",
        Projects = "projects",
        Units = "units",
        Workloads = "workloads",
        Guests = "guests",
        Releases = "releases",
        Playbooks = "playbooks",
        Needs = "needs",
        Health = "health",
        Tcp = "tcp",
        Unchecked = "unchecked",
        Data = "data",
    }
}

/// The value of a key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Entry {
    /// The value, or the members of the list.
    pub values: Vec<String>,
    /// Why it is a guess.
    pub guesses: Vec<String>,
}

/// A service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service {
    /// Its name.
    pub name: String,
    /// Where it is from.
    pub sources: Vec<String>,
    /// Whether it runs on one host, and not somewhere in a cluster.
    pub on_host: bool,
    /// Its keys.
    pub keys: BTreeMap<Key, Entry>,
    /// What the operator should look at.
    pub notes: Vec<String>,
}

impl Service {
    /// A service of a source without any key.
    pub fn new(name: String, source: &str, on_host: bool) -> Self {
        let sources = vec![source.to_owned()];
        Self { name, sources, on_host, keys: BTreeMap::new(), notes: vec![] }
    }

    /// Adds a value to a key.
    pub fn add(&mut self, key: Key, value: impl Into<String>) {
        let values = &mut self.keys.entry(key).or_default().values;
        push_new(values, value.into());
    }

    /// Adds a value that is a guess.
    pub fn guess(&mut self, key: Key, value: impl Into<String>, why: &str) {
        self.add(key, value);
        if let Some(entry) = self.keys.get_mut(&key) {
            push_new(&mut entry.guesses, why.to_owned());
        }
    }

    /// The host that it states.
    pub fn host(&self) -> Option<&str> {
        self.keys.get(&Key::Host)?.values.first().map(String::as_str)
    }

    /// The first value of a key.
    fn first(&self, key: Key) -> Option<String> {
        self.keys.get(&key)?.values.first().cloned()
    }

    fn may_be(&self, other: &Self) -> bool {
        let same_host = match (self.host(), other.host()) {
            (Some(own), Some(other)) => own == other,
            _ => true,
        };
        self.name == other.name && self.on_host == other.on_host && same_host
    }

    fn merge(&mut self, other: Self) {
        for (key, entry) in other.keys {
            let own = self.keys.entry(key).or_default();
            if matches!(key, Key::Host | Key::Engine | Key::Health) && !own.values.is_empty() {
                continue;
            }
            extend_new(&mut own.values, entry.values);
            extend_new(&mut own.guesses, entry.guesses);
        }
        extend_new(&mut self.sources, other.sources);
        extend_new(&mut self.notes, other.notes);
    }
}

impl Draft {
    /// Adds a host, or what is new about a host that is there.
    pub fn add_host(&mut self, host: Host) {
        let is_same = |known: &&mut Host| known.name == host.name || known.address == host.address;
        match self.hosts.iter_mut().find(is_same) {
            Some(known) => known.merge(host),
            None => self.hosts.push(host),
        }
    }

    /// Adds a host of an inventory, which is another one than a host with its address and another name: one machine may have
    /// several ssh servers. `full_name` is its name if another host has its short one.
    pub fn add_listed_host(&mut self, mut host: Host, full_name: String) {
        let is_another = |known: &Host| {
            known.name == host.name && known.address != host.address && known.is_stated == host.is_stated
        };
        if self.hosts.iter().any(is_another) {
            host.name = full_name;
        }
        if let Some(known) = self.hosts.iter_mut().find(|known| known.name == host.name) {
            // What another file states counts more than the name.
            if host.is_stated && !known.is_stated {
                std::mem::swap(known, &mut host);
            }
            if host.is_stated && known.address != host.address {
                let comment = format!("guess: its address may be {}, which is stated, too", host.address);
                push_new(&mut known.comments, comment);
            }
            known.merge(host);
            return;
        }
        let is_same = |known: &&Host| known.address == host.address && known.port() == host.port();
        if let Some(known) = self.hosts.iter().find(is_same) {
            host.comments.push(format!("guess: another host than {}, which has its address", known.name));
        }
        self.hosts.push(host);
    }

    /// Adds a service, or what is new about a service that is there. One of the same name on another host gets the name of its
    /// host, too.
    pub fn add_service(&mut self, service: Service) {
        if let Some(known) = self.services.iter_mut().find(|known| known.may_be(&service)) {
            known.merge(service);
            return;
        }
        self.add_another(service);
    }

    /// Adds a service that is another one than all that are there.
    fn add_another(&mut self, mut service: Service) -> String {
        let is_taken = |name: &str| self.services.iter().any(|known| known.name == name);
        if is_taken(&service.name) {
            let behind = service.host().map(str::to_owned).or_else(|| service.first(Key::Projects));
            let with_host = format!("{}-{}", service.name, behind.as_deref().unwrap_or("2"));
            let numbered = (2..).map(|number| format!("{}-{number}", service.name));
            let free = std::iter::once(with_host).chain(numbered).find(|name| !is_taken(name));
            service.notes.push(format!("another service is called {}, too", service.name));
            let own = std::mem::replace(&mut service.name, free.unwrap_or_default());
            // Its name was that of its container.
            let has_part = [Key::Containers, Key::Units, Key::Workloads, Key::Guests, Key::Releases];
            if !has_part.iter().any(|key| service.keys.contains_key(key)) {
                service.add(Key::Containers, own);
            }
        }
        let name = service.name.clone();
        self.services.push(service);
        name
    }

    /// Adds a service that a file describes, and returns the name that it gets. If another file describes one of the same name, they are one service, which is a
    /// guess; those of several compose projects are several services.
    pub fn add_described(&mut self, mut service: Service) -> String {
        let project = service.first(Key::Projects);
        if let Some(known) = self.services.iter_mut().find(|known| known.may_be(&service)) {
            let is_another = |own: &String| project.as_ref().is_some_and(|project| project != own);
            if known.first(Key::Projects).as_ref().is_some_and(is_another) {
                service.on_host = known.on_host;
                return self.add_another(service);
            }
            let news = service.sources.iter().filter(|source| !known.sources.contains(source));
            let news: Vec<String> = news.cloned().collect();
            if !news.is_empty() {
                push_new(
                    &mut known.notes,
                    format!("guess: what {} states is about it, too", news.join(", ")),
                );
            }
            let name = known.name.clone();
            known.merge(service);
            return name;
        }
        self.add_another(service)
    }

    /// Fills in what sources leave open: the host of services without one, and what depends on its address. `existing` is the
    /// inventory that the draft is added to.
    pub fn complete(&mut self, existing: &Inventory) {
        self.hosts.retain(|host| existing.find_host(&host.name).is_none());
        self.follow_addresses(existing);
        self.follow_projects();
        self.state_hosts(existing);
        let listed = existing.hosts.iter().map(|host| (host.name.as_str(), host.address.as_str()));
        let new = self.hosts.iter().map(|host| (host.name.as_str(), host.address.as_str()));
        let addresses: BTreeMap<&str, &str> = listed.chain(new).collect();
        for service in &mut self.services {
            let address = service.host().and_then(|host| addresses.get(host).copied());
            with_address(service, address);
            if let Some(domain) =
                existing.domain.as_ref().filter(|_| !service.keys.contains_key(&Key::Health))
            {
                let url = format!("https://{}.{domain}/health", service.name);
                service.notes.push(format!(
                    "`domain` gives it the health check {url}: state `health:` if that is wrong"
                ));
            }
        }
        one_owner_per_name(&mut self.services);
        self.keep_listed_needs(existing);
    }

    /// Leaves out needs of services that are not listed.
    fn keep_listed_needs(&mut self, existing: &Inventory) {
        let names: Vec<String> = self.services.iter().map(|service| service.name.clone()).collect();
        let is_listed = |name: &String| {
            names.contains(name) || existing.services.iter().any(|service| service.name == *name)
        };
        for service in &mut self.services {
            if let Some(needs) = service.keys.get_mut(&Key::Needs) {
                needs.values.retain(is_listed);
            }
            service.keys.retain(|_, entry| !entry.values.is_empty());
        }
    }

    /// States how the host with this name is asked, which is a guess for this reason.
    pub fn guess_asking(&mut self, host: &str, key: &'static str, value: &str, why: &str) {
        if let Some(host) = self.hosts.iter_mut().find(|known| known.name == host) {
            host.asking.insert(key, value.to_owned());
            push_new(&mut host.comments, format!("guess: {key}, {why}"));
        }
    }

    /// Services without a host get the only one, or a placeholder if there is none.
    fn state_hosts(&mut self, existing: &Inventory) {
        let is_open = |service: &Service| service.on_host && service.host().is_none();
        if !self.services.iter().any(is_open) {
            return;
        }
        let names = existing.hosts.iter().map(|host| &host.name);
        let names: Vec<String> = names.chain(self.hosts.iter().map(|host| &host.name)).cloned().collect();
        let open = self.services.iter_mut().filter(|service| is_open(service));
        match names.as_slice() {
            [] => {
                let comment = "guess: no source states a host; set its name, address and ssh destination";
                let [name, address, comment] = [PLACEHOLDER, PLACEHOLDER, comment].map(str::to_owned);
                self.hosts.push(Host::new(name, address, None, vec![comment]));
                open.for_each(|service| service.guess(Key::Host, PLACEHOLDER, "no source states it"));
            }
            [only] => open.for_each(|service| service.guess(Key::Host, only, "the only host")),
            _ => open.for_each(|service| service.notes.push("its host is not known: add `host:`".to_owned())),
        }
    }

    /// A port that is open on the address of a host belongs to that host.
    fn follow_addresses(&mut self, existing: &Inventory) {
        let listed = existing.hosts.iter().map(|host| (host.address.clone(), host.name.clone()));
        let new = self.hosts.iter().map(|host| (host.address.clone(), host.name.clone()));
        let hosts: BTreeMap<String, String> = listed.chain(new).collect();
        for service in &mut self.services {
            let own = service.host().map(str::to_owned);
            let Some(ports) = service.keys.get_mut(&Key::Tcp) else { continue };
            let mut found = None;
            for port in &mut ports.values {
                let Some((address, number)) = port.rsplit_once(':') else { continue };
                let host = hosts.get(address.trim_matches(['[', ']']));
                let is_its = |host: &&String| own.as_ref().or(found.as_ref()).is_none_or(|own| own == *host);
                if let Some(host) = host.filter(is_its).cloned() {
                    *port = number.to_owned();
                    found = Some(host);
                }
            }
            if let Some(host) = found.filter(|_| own.is_none()) {
                service.guess(Key::Host, host, "a port of it is open on its address");
            }
        }
    }

    /// Services without a host get the one on which another service of their compose project runs.
    fn follow_projects(&mut self) {
        let mut stated: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for service in &self.services {
            if let (Some(project), Some(host)) = (service.first(Key::Projects), service.host()) {
                stated.entry(project).or_default().insert(host.to_owned());
            }
        }
        for service in self.services.iter_mut().filter(|service| service.host().is_none()) {
            let hosts = service.first(Key::Projects).and_then(|project| stated.get(&project));
            if let Some(host) = hosts.filter(|hosts| hosts.len() == 1).and_then(BTreeSet::first) {
                service.guess(Key::Host, host, "its compose project runs there");
            }
        }
    }
}

/// Puts the address of the host into the health URL, and turns ports without a host into a note.
fn with_address(service: &mut Service, address: Option<&str>) {
    let Some(address) = address else {
        if let Some(ports) = service.keys.remove(&Key::Tcp) {
            let (with_host, bare): (Vec<String>, Vec<String>) =
                ports.values.into_iter().partition(|port| port.contains(':'));
            if !bare.is_empty() {
                service.notes.push(format!("with `host:`, add `tcp: [{}]`", bare.join(", ")));
            }
            if !with_host.is_empty() {
                service.keys.insert(Key::Tcp, Entry { values: with_host, guesses: ports.guesses });
            }
        }
        let is_open = |entry: &Entry| entry.values.iter().any(|url| url.contains(HOST_ADDRESS));
        if service.keys.get(&Key::Health).is_some_and(is_open) {
            service.keys.remove(&Key::Health);
        }
        return;
    };
    let address = if address.contains(':') { format!("[{address}]") } else { address.to_owned() };
    if let Some(health) = service.keys.get_mut(&Key::Health) {
        health.values.iter_mut().for_each(|url| *url = url.replace(HOST_ADDRESS, &address));
    }
}

/// A container, unit or workload belongs to one service of a host: the first one that names it.
fn one_owner_per_name(services: &mut [Service]) {
    let mut owners: BTreeMap<(Option<String>, Option<String>, Key, String), String> = BTreeMap::new();
    for service in services {
        let host = service.host().map(str::to_owned);
        for key in [Key::Containers, Key::Units, Key::Workloads, Key::Guests] {
            // Several compose projects may have containers of one name.
            let project = service.first(Key::Projects).filter(|_| key == Key::Containers);
            let Some(entry) = service.keys.get_mut(&key) else { continue };
            entry.values.retain(|value| {
                let place = (host.clone(), project.clone(), key, value.clone());
                let owner = owners.entry(place).or_insert_with(|| service.name.clone());
                let is_own = *owner == service.name;
                if !is_own {
                    service.notes.push(format!("{value} is listed under {owner}"));
                }
                is_own
            });
        }
        service.keys.retain(|_, entry| !entry.values.is_empty());
    }
}

/// Adds a text that is not in the list yet.
pub fn push_new(list: &mut Vec<String>, text: String) {
    if !list.contains(&text) {
        list.push(text);
    }
}

fn extend_new(list: &mut Vec<String>, texts: Vec<String>) {
    for text in texts {
        push_new(list, text);
    }
}

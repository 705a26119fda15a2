//! The hosts and services that sources have in common, before they are written.

use std::collections::BTreeMap;

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
        Self { name, address, ssh, asking: BTreeMap::new(), comments }
    }

    fn merge(&mut self, other: Self) {
        self.ssh = self.ssh.take().or(other.ssh);
        self.asking = other.asking.into_iter().chain(std::mem::take(&mut self.asking)).collect();
        extend_new(&mut self.comments, other.comments);
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
        Releases = "releases",
        Playbooks = "playbooks",
        Needs = "needs",
        Health = "health",
        Tcp = "tcp",
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
        if self.hosts.iter().any(|known| known.name == host.name && known.address != host.address) {
            host.name = full_name;
        }
        if let Some(known) = self.hosts.iter_mut().find(|known| known.name == host.name) {
            if known.address != host.address {
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
    pub fn add_service(&mut self, mut service: Service) {
        if let Some(known) = self.services.iter_mut().find(|known| known.may_be(&service)) {
            known.merge(service);
            return;
        }
        let is_taken = |name: &str| self.services.iter().any(|known| known.name == name);
        if is_taken(&service.name) {
            let with_host = format!("{}-{}", service.name, service.host().unwrap_or("2"));
            let numbered = (2..).map(|number| format!("{}-{number}", service.name));
            let free = std::iter::once(with_host).chain(numbered).find(|name| !is_taken(name));
            service.notes.push(format!("another service is called {}, too", service.name));
            service.name = free.unwrap_or(service.name);
        }
        self.services.push(service);
    }

    /// Fills in what sources leave open: the host of services without one, and what depends on its address. `existing` is the
    /// inventory that the draft is added to.
    pub fn complete(&mut self, existing: &Inventory) {
        self.hosts.retain(|host| existing.find_host(&host.name).is_none());
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
                open.for_each(|service| service.add(Key::Host, PLACEHOLDER));
            }
            [only] => open.for_each(|service| service.guess(Key::Host, only, "the only host")),
            _ => open.for_each(|service| service.notes.push("its host is not known: add `host:`".to_owned())),
        }
    }

    /// Services without a host get the one on which another service of their compose project runs.
    fn follow_projects(&mut self) {
        let project = |service: &Service| service.keys.get(&Key::Projects)?.values.first().cloned();
        let stated =
            self.services.iter().filter_map(|service| Some((project(service)?, service.host()?.to_owned())));
        let stated: BTreeMap<String, String> = stated.collect();
        for service in self.services.iter_mut().filter(|service| service.host().is_none()) {
            if let Some(host) = project(service).and_then(|project| stated.get(&project)) {
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
    let mut owners: BTreeMap<(Option<String>, Key, String), String> = BTreeMap::new();
    for service in services {
        let host = service.host().map(str::to_owned);
        for key in [Key::Containers, Key::Units, Key::Workloads] {
            let Some(entry) = service.keys.get_mut(&key) else { continue };
            entry.values.retain(|value| {
                let owner =
                    owners.entry((host.clone(), key, value.clone())).or_insert_with(|| service.name.clone());
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

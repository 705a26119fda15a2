//! The host that a call of ssh names, in the inventory.

use opsctl_policy::model::installation::inventory::{Inventory, Shell, ssh_host};

use super::options::Asked;

/// A host of the inventory, with the destination that `hosts.yaml` states.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destination {
    /// Its name in `hosts.yaml`.
    pub name: String,
    /// The host of its ssh destination.
    pub host: String,
    /// The user of its ssh destination.
    pub user: Option<String>,
    /// The port of its ssh destination.
    pub port: Option<String>,
    /// The shell that runs its commands.
    pub shell: Shell,
}

impl Destination {
    /// The arguments of ssh that name it, after which only words of the command follow.
    pub fn arguments(&self) -> Vec<&str> {
        let user = self.user.iter().flat_map(|user| ["-l", user]);
        let port = self.port.iter().flat_map(|port| ["-p", port]);
        user.chain(port).chain(["--", &self.host]).collect()
    }
}

/// The host that a call names by its name, its address or its ssh destination. The error is a line for the caller.
pub fn find(inventory: &Inventory, asked: &Asked) -> Result<Destination, String> {
    let written = parts(&asked.destination);
    let Some(host) = inventory.find_host(written.host) else {
        let mut names: Vec<&str> = inventory.hosts.iter().map(|host| host.name.as_str()).take(8).collect();
        names.extend((inventory.hosts.len() > names.len()).then_some("…"));
        return Err(format!(
            "the host `{}` is not in hosts.yaml of the guard; name one that is ({}), or have an operator add it",
            written.host,
            names.join(", ")
        ));
    };
    let name = &host.name;
    let Some(destination) = &host.ssh else {
        return Err(format!("`{name}` has no `ssh` in hosts.yaml; have an operator add its destination"));
    };
    let own = parts(destination);
    for (what, stated, own, default) in [
        ("user", asked.user.as_deref().or(written.user), own.user, None),
        ("port", asked.port.as_deref().or(written.port), own.port, Some("22")),
    ] {
        if let Some(stated) = stated.filter(|stated| own.or(default) != Some(*stated)) {
            let own = own.map_or_else(|| format!("no {what}"), |own| format!("the {what} `{own}`"));
            return Err(format!(
                "hosts.yaml states {own} for `{name}`, and the call `{stated}`; leave the {what} out"
            ));
        }
    }
    let text = |part: Option<&str>| part.map(str::to_owned);
    Ok(Destination {
        name: name.clone(),
        host: own.host.to_owned(),
        user: text(own.user),
        port: text(own.port),
        shell: host.shell,
    })
}

/// The parts of a destination such as `root@ie01`, `ops@nas:2222` or `ssh://root@[fd00::10]:22`.
struct Parts<'a> {
    user: Option<&'a str>,
    host: &'a str,
    port: Option<&'a str>,
}

fn parts(destination: &str) -> Parts<'_> {
    let rest = destination.strip_prefix("ssh://").unwrap_or(destination);
    let (user, place) = rest.rsplit_once('@').map_or((None, rest), |(user, place)| (Some(user), place));
    let host = ssh_host(destination);
    let after = place.rsplit_once(host).map_or("", |(_, after)| after);
    Parts { user, host, port: after.rsplit_once(':').map(|(_, port)| port).filter(|port| !port.is_empty()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use opsctl_policy::model::installation::inventory::Host;

    fn found(destination: &str, user: Option<&str>, port: Option<&str>) -> Result<String, String> {
        let host = |name: &str, address: &str, ssh: Option<&str>| Host {
            name: name.into(),
            address: address.into(),
            ssh: ssh.map(Into::into),
            ..Host::default()
        };
        let hosts = vec![
            host("ie01", "192.0.2.1", Some("root@ie01.lan")),
            host("nas", "192.0.2.2", Some("ops@nas:2222")),
            host("six", "fd00::10", Some("ssh://root@[fd00::10]:22")),
            host("plain", "192.0.2.3", Some("plain")),
            host("tv", "192.0.2.4", None),
        ];
        let inventory = Inventory { hosts, ..Inventory::default() };
        let own = |text: Option<&str>| text.map(str::to_owned);
        let asked =
            Asked { destination: destination.into(), user: own(user), port: own(port), ..Asked::default() };
        find(&inventory, &asked).map(|found| found.arguments().join(" "))
    }

    #[test]
    fn a_host_is_found_by_name_address_and_destination() {
        for written in ["ie01", "192.0.2.1", "ie01.lan", "root@ie01", "root@ie01.lan", "ssh://root@ie01:22"] {
            assert_eq!(found(written, None, None).as_deref(), Ok("-l root -- ie01.lan"), "{written}");
        }
        assert_eq!(found("nas", Some("ops"), Some("2222")).as_deref(), Ok("-l ops -p 2222 -- nas"));
        assert_eq!(found("ops@nas:2222", None, None).as_deref(), Ok("-l ops -p 2222 -- nas"));
        assert_eq!(found("six", None, None).as_deref(), Ok("-l root -p 22 -- fd00::10"));
        assert_eq!(found("plain", None, None).as_deref(), Ok("-- plain"));
    }

    #[test]
    fn another_host_user_or_port_is_refused() {
        for (written, user, port, why) in [
            ("evil.example", None, None, "is not in hosts.yaml"),
            ("-oProxyCommand=x", None, None, "is not in hosts.yaml"),
            ("bob@ie01", None, None, "states the user `root`"),
            ("ie01", Some("bob"), None, "states the user `root`"),
            ("plain", Some("bob"), None, "states no user"),
            ("nas", None, Some("22"), "states the port `2222`"),
            ("ie01", None, Some("2222"), "states no port"),
            ("tv", None, None, "has no `ssh`"),
        ] {
            let refused = found(written, user, port).unwrap_err();
            assert!(refused.contains(why), "{written}: {refused}");
        }
    }
}

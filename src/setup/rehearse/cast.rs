//! The random names of a rehearsed session. No part of a hook's input distinguishes it from that of a real session.

use std::iter::repeat_with;

use opsctl_inventory::compiled::Compiled;
use opsctl_policy::model::installation::checks::Health;
use opsctl_policy::model::installation::inventory::{Host, Inventory, Service};
use opsctl_policy::model::rights::policy::Window;

/// The address of the only host of a rehearsal.
pub const ADDRESS: &str = "127.0.0.1";

/// A host, and a service in a container.
#[derive(Debug)]
pub struct Cast {
    /// The host.
    pub host: String,
    /// The service.
    pub service: String,
    /// The container of the service.
    pub container: String,
}

impl Cast {
    /// Random names, which differ from each other.
    pub fn random() -> Self {
        Self {
            host: format!("{}1", name()),
            service: name(),
            container: format!("{}-{}", name(), fastrand::u8(1..=9)),
        }
    }

    /// The command that restarts the service.
    pub fn restart(&self) -> String {
        format!("docker restart {}", self.container)
    }

    /// The policy with an inventory of this host and this service.
    pub fn policy(&self, policy: &Compiled, health: Option<String>) -> Compiled {
        let host = Host { name: self.host.clone(), address: ADDRESS.to_owned(), ..Host::default() };
        let service = Service {
            name: self.service.clone(),
            host: Some(self.host.clone()),
            health: health.map(Health::at),
            containers: vec![self.container.clone()],
            ..Service::default()
        };
        let mut policy = policy.clone();
        policy.installation.inventory =
            Inventory { domain: None, hosts: vec![host], services: vec![service] };
        // No person answers a rehearsal: what would be asked is denied.
        policy.installation.policy.ask.clear();
        // Other agents do not disturb a rehearsal.
        policy.installation.policy.exclusive = None;
        // Waiting does not make the service healthy.
        let grace = &mut policy.installation.policy.verify.grace;
        *grace = Window::seconds(1).unwrap_or(*grace);
        policy
    }
}

/// A random name of eight letters.
pub fn name() -> String {
    let letter = |of: &[u8]| fastrand::choice(of).map_or('a', |letter| char::from(*letter));
    let syllable = || [letter(b"bdfgklmnprstvz"), letter(b"aeiou")];
    repeat_with(syllable).take(4).flatten().collect()
}

/// A random value of 40 letters and digits, as a key has it.
pub fn key() -> String {
    repeat_with(fastrand::alphanumeric).take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rehearsal_has_other_names() {
        let (one, other) = (Cast::random(), Cast::random());
        assert_ne!(one.service, other.service);
        assert_ne!(one.container, other.container);
        assert_ne!(one.host, other.host);
        assert_ne!(key(), key());
    }
}

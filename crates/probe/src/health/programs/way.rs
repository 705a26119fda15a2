//! How the programs of a host are run for health checks.

use super::quoting::quoted;
use opsctl_policy::model::installation::inventory::{Asking, Host, UnitManager};

/// The machine that runs the programs of a check, and how.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Way {
    /// The name of the host in `hosts.yaml`; `None` for this machine.
    pub host: Option<String>,
    /// Its ssh destination; `None` for this machine.
    pub ssh: Option<String>,
    asking: Asking,
}

/// What a program of a check needs besides its words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rights {
    /// Nothing.
    Own,
    /// Those of root, where the host states `sudo`.
    Root,
    /// The runtime folder of the user.
    Session,
}

impl Way {
    /// The way to a host; without one, to this machine.
    pub fn to(host: Option<&Host>) -> Self {
        let Some(Host { name, ssh, asking, .. }) = host else { return Self::default() };
        Self { host: Some(name.clone()), ssh: ssh.clone(), asking: asking.clone() }
    }

    /// The words that start kubectl.
    pub fn kubectl(&self) -> Vec<String> {
        if self.asking.kubectl.is_empty() { vec!["kubectl".to_owned()] } else { self.asking.kubectl.clone() }
    }

    /// The manager of the host's units.
    pub fn units(&self) -> UnitManager {
        self.asking.units
    }

    /// The words that run a program on the host as a person would write them. The program is expected in the first of its
    /// folders, and the runtime folder of a user in the environment.
    pub fn written(&self, words: &[String], rights: Rights) -> Vec<String> {
        let Asking { sudo, path, .. } = &self.asking;
        let mut words = words.to_vec();
        if rights == Rights::Root {
            if let (Some(folder), Some(program)) = (path.first(), words.first_mut()) {
                *program = format!("{}/{program}", folder.trim_end_matches('/'));
            }
            if *sudo {
                words.splice(0..0, ["sudo", "-n"].map(str::to_owned));
            }
        }
        words
    }

    /// The words that run a program on the host: with `sudo`, its folders and its variables, where it needs them.
    pub fn words(&self, words: &[String], rights: Rights) -> Vec<String> {
        let Asking { sudo, path, .. } = &self.asking;
        let sudo = *sudo && rights == Rights::Root;
        if path.is_empty() && rights != Rights::Session {
            let front = if sudo { ["sudo", "-n"].map(str::to_owned).to_vec() } else { vec![] };
            return [front, words.to_vec()].concat();
        }
        let mut line = String::new();
        for folder in path.iter().rev() {
            line += &format!("PATH={}:$PATH; ", quoted(folder));
        }
        if rights == Rights::Session {
            line += "export XDG_RUNTIME_DIR=\"${XDG_RUNTIME_DIR:-/run/user/$(id -u)}\"; ";
        }
        let (program, rest) = words.split_first().map_or(("", words), |(first, rest)| (first.as_str(), rest));
        // sudo may search other folders than those of PATH.
        line += &match (sudo, quoted(program)) {
            (true, program) => format!("sudo -n \"$(command -v {program} || echo {program})\""),
            (false, program) => format!("exec {program}"),
        };
        line.extend(rest.iter().flat_map(|word| [" ".to_owned(), quoted(word)]));
        ["sh".to_owned(), "-c".to_owned(), line].to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_run_with_the_rights_and_folders_that_the_host_states() {
        let way = |sudo: bool, path: &[&str]| {
            let path = path.iter().map(|folder| (*folder).to_owned()).collect();
            let asking = Asking { sudo, path, ..Asking::default() };
            Way::to(Some(&Host { asking, ..Host::default() }))
        };
        let words = ["docker", "ps"].map(str::to_owned);
        for (way, rights, expected) in [
            (way(false, &[]), Rights::Root, "docker ps"),
            (way(true, &[]), Rights::Root, "sudo -n docker ps"),
            (way(true, &[]), Rights::Own, "docker ps"),
            (
                way(false, &["/a", "/b c"]),
                Rights::Own,
                "sh -c PATH='/b c':$PATH; PATH=/a:$PATH; exec docker ps",
            ),
            (
                way(true, &["/a"]),
                Rights::Root,
                "sh -c PATH=/a:$PATH; sudo -n \"$(command -v docker || echo docker)\" ps",
            ),
            (
                way(true, &[]),
                Rights::Session,
                "sh -c export XDG_RUNTIME_DIR=\"${XDG_RUNTIME_DIR:-/run/user/$(id -u)}\"; exec docker ps",
            ),
        ] {
            assert_eq!(way.words(&words, rights).join(" "), expected);
        }
    }
}

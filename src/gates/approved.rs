//! Whether a request of a gate is the call that a person has approved, and nothing else.

use opsctl_reader::actions::read_command;
use opsctl_reader::catalogue::base_name;
use opsctl_reader::shell::{Command, Construct, Node};

use crate::gates::ssh::hosts::find;
use crate::gates::ssh::options::Asked;
use opsctl_policy::model::installation::inventory::Inventory;

/// How much of a request the command states that is judged in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum States {
    /// All of it: a person who has approved this command has approved the request.
    Whole,
    /// Not all: a filter, a variable or a body is not in it, so that no approval covers it.
    InPart,
}

impl States {
    /// All of a request, or not all.
    pub const fn of(is_whole: bool) -> Self {
        if is_whole { Self::Whole } else { Self::InPart }
    }
}

/// Whether two commands are the same: one command of the same words in the same place, or one call of ssh that runs the same
/// text. Files and input are no part of words, so that a command which names some there is none of them.
pub fn is_same(approved: &str, asked: &str, inventory: &Inventory) -> bool {
    let [approved, asked] = [approved, asked].map(|text| read_command(text, None).script);
    let is_read = approved.complaints.is_empty() && asked.complaints.is_empty();
    match (approved.nodes.as_slice(), asked.nodes.as_slice()) {
        ([Node::Group(Construct::Through(one), within)], [Node::Group(Construct::Through(other), rest)])
            if is_ssh(one) && is_ssh(other) =>
        {
            let calls = [one, other].map(|command| called(command, inventory));
            calls[0].is_some() && calls[0] == calls[1] && within == rest && is_bare(one) && is_bare(other)
        }
        ([one], [other]) => is_read && one == other && is_one(one),
        _ => false,
    }
}

fn is_ssh(command: &Command) -> bool {
    command.words.first().is_some_and(|word| base_name(&word.text) == "ssh")
}

/// The host of a call of ssh, what runs there, and whether that is a subsystem; `None` if the broker does not take the call, as one
/// that names another user, port or way than hosts.yaml.
fn called(command: &Command, inventory: &Inventory) -> Option<(String, Vec<u8>, bool)> {
    let words = command.words.iter().skip(1).map(|word| word.known().map(|text| text.as_bytes().to_vec()));
    let asked = Asked::read(&words.collect::<Option<Vec<_>>>()?).ok()?;
    Some((find(inventory, &asked).ok()?.name, asked.text(), asked.is_subsystem))
}

/// Whether a command has known words only, and neither files nor input. U+FFFD stands for any bytes that are no text.
fn is_bare(command: &Command) -> bool {
    command.redirections.is_empty()
        && command.stdin.is_none()
        && command.words.iter().all(|word| word.known().is_some_and(|text| !text.contains('\u{FFFD}')))
}

/// Whether a node is one bare command, with those that run it.
fn is_one(node: &Node) -> bool {
    match node {
        Node::Command(command) => is_bare(command),
        Node::Group(Construct::Through(command), within) => {
            is_bare(command) && matches!(within.as_slice(), [only] if is_one(only))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use opsctl_policy::model::installation::inventory::Host;

    #[test]
    fn an_approval_covers_the_same_command_only() {
        let long = "x".repeat(130);
        let cut = |end: &str| format!("ssh ie01 'frobmark {long}-{end}'");
        let host =
            |name: &str| Host { name: name.into(), ssh: Some(format!("root@{name}")), ..Host::default() };
        let inventory = Inventory { hosts: vec![host("ie01"), host("nas")], ..Inventory::default() };
        for (approved, asked, same) in [
            ("ssh ie01 'frobmark a'", "ssh ie01 'frobmark a'", true),
            ("ssh -o BatchMode=yes root@ie01 frobmark a", "ssh ie01 'frobmark a'", true),
            ("ssh -qTtn -p 22 -l root -o ConnectTimeout=5 -- ie01 frobmark a", "ssh ie01 'frobmark a'", true),
            ("ssh ie01 'frobmark a && frobmark b'", "ssh ie01 'frobmark a && frobmark b'", true),
            ("docker volume rm old", "docker volume rm old", true),
            ("docker exec jellyfin frobmark a", "docker exec jellyfin frobmark a", true),
            ("ssh ie01 'frobmark a'", "ssh nas 'frobmark a'", false),
            ("ssh ie01 'frobmark a && frobmark b'", "ssh ie01 'frobmark a; frobmark b'", false),
            ("ssh ie01 'frobmark \"a b\"'", "ssh ie01 'frobmark a b'", false),
            ("ssh ie01 'frobmark a'", "ssh ie01 'FOO=1 frobmark a'", false),
            ("ssh ie01 'frobmark a'", "ssh ie01 'frobmark a <<< evil'", false),
            ("ssh ie01 'frobmark a'", "ssh ie01 'frobmark a' <<< evil", false),
            ("ssh ie01 'frobmark a' <<< fine", "ssh ie01 'frobmark a'", false),
            ("ssh ie01 'frobmark a >/tmp/z'", "ssh ie01 'frobmark a 2>/tmp/z'", false),
            ("ssh ie01 'sudo frobmark a'", "ssh ie01 'sudo -u app frobmark a'", false),
            ("ssh ie01 'frobmark a'; ls", "ssh ie01 'frobmark a'", false),
            ("ssh -p 99 ie01 frobmark a", "ssh ie01 'frobmark a'", false),
            ("ssh -oPort=99 ie01 frobmark a", "ssh ie01 'frobmark a'", false),
            ("ssh -l bob ie01 frobmark a", "ssh ie01 'frobmark a'", false),
            ("ssh bob@ie01 frobmark a", "ssh ie01 'frobmark a'", false),
            ("ssh ssh://ie01:99 frobmark a", "ssh ie01 'frobmark a'", false),
            ("ssh ie01 -p 99 frobmark a", "ssh ie01 'frobmark a'", false),
            ("ssh -o HostName=ie01 ie01 frobmark a", "ssh ie01 'frobmark a'", false),
            ("ssh -J nas ie01 frobmark a", "ssh ie01 'frobmark a'", false),
            ("ssh -F /tmp/x ie01 frobmark a", "ssh ie01 'frobmark a'", false),
            ("ssh -i /tmp/x ie01 frobmark a", "ssh ie01 'frobmark a'", false),
            ("ssh -s ie01 'frobmark a'", "ssh ie01 'frobmark a'", false),
            ("ssh ie01 'frobmark \u{FFFD}'", "ssh ie01 'frobmark \u{FFFD}'", false),
            ("ssh ie01 'frobmark \u{E000}'", "ssh ie01 'frobmark \u{E001}'", false),
            ("docker volume rm '\u{FFFD}'", "docker volume rm '\u{FFFD}'", false),
            ("docker volume rm 'old media2'", "docker volume rm old media2", false),
            ("docker volume rm old", "DOCKER_HOST=tcp://x:1 docker volume rm old", false),
            ("docker exec jellyfin frobmark a", "docker exec --user root jellyfin frobmark a", false),
            ("frobmark a & frobmark b", "frobmark a; frobmark b", false),
            ("frobmark $X", "frobmark $X", false),
            ("ssh ie01 frobmark \"$X\"", "ssh ie01 'frobmark $X'", false),
            (&cut("one"), &cut("one"), true),
            (&cut("one"), &cut("two"), false),
        ] {
            assert_eq!(is_same(approved, asked, &inventory), same, "{approved} / {asked}");
        }
    }
}

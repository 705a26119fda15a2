//! The hosts that a command names.

use opsctl_reader::catalogue::lookup::Usage;
use opsctl_reader::catalogue::options::{Item, Scanner};
use opsctl_reader::catalogue::program::{HostWords, Options};
use opsctl_reader::shell::{Command, host_of};

/// The hosts that a command runs on or copies to, as written. Hosts of `ansible` are left out: they are names of its own
/// inventory, often of groups.
pub fn named(command: &Command, usage: Option<&Usage>, texts: &[&str]) -> Vec<String> {
    let ansible = command.via.iter().any(|via| via == "ansible");
    let mut hosts = if ansible { vec![] } else { command.hosts.to_vec() };
    let Some(usage) = usage.filter(|usage| usage.program.key != "ansible") else { return hosts };
    let value = usage.value();
    let words = Scanner::new(texts, 1, &value).filter_map(|item| match item {
        Item::Positional(index) => texts.get(index).copied(),
        _ => None,
    });
    let is_remote = |word: &&str| word.split('/').next().is_some_and(|head| head.contains(':'));
    let addresses: Vec<&str> = match usage.program.host_words {
        Some(HostWords::First) => words.take(1).flat_map(|list| list.split(',')).collect(),
        Some(HostWords::Remote) => words.filter(is_remote).collect(),
        None => usage.host(texts).into_iter().flat_map(|list| list.split(',')).collect(),
    };
    hosts.extend(addresses.into_iter().filter_map(host_of));
    let (servers, program) = (usage.program.servers, usage.program);
    let others = if usage.is_mixed() { program.host } else { Options::EMPTY };
    let options = Scanner::new(texts, 1, &value).filter_map(|item| match item {
        Item::Option(name, Some(at)) if name.is_any(&servers) || name.is_any(&others) => at.of(texts),
        _ => None,
    });
    hosts.extend(options.flat_map(|list| list.split(',')).filter_map(host_of));
    let servers = servers.iter().filter_map(|server| server.strip_prefix('$'));
    let variables = program.host_variables.iter().copied().chain(servers);
    hosts.extend(variables.flat_map(|name| command.values(name)).filter_map(|value| host_of(&value.text)));
    hosts
}

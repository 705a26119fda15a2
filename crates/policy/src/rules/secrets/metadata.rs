//! Requests to the metadata services of clouds, which return the keys of the machine.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::lists::{
    METADATA_CLIENTS, METADATA_FOLDERS, METADATA_HOSTS, METADATA_NAMES, METADATA_PROPERTIES, TEXT_PROGRAMS,
};
use crate::model::records::verdict::Reason;
use opsctl_reader::catalogue::base_name;
use opsctl_reader::shell::{Command, glob};

/// The objection to a request to the metadata service of a cloud, which returns the keys of the machine.
pub fn objection(command: &Command) -> Option<Reason> {
    let name = base_name(&command.words.first()?.text);
    if TEXT_PROGRAMS.contains(&name) {
        return None;
    }
    let requests = METADATA_CLIENTS.contains(&name);
    let words = command.words.iter().skip(1).chain(&command.stdin).map(|word| word.text.as_str());
    let variables = command.redirections.iter().map(|one| one.path.text.as_str());
    let is_named = |text: &str| {
        if let Some((_, rest)) = text.split_once("://") {
            let mut addresses = std::iter::once(rest).chain(text.split("://").skip(2));
            return addresses.any(|rest| {
                let (host, path) =
                    rest.split_at(rest.find(['/', '?', '#', '"', '\'', ' ']).unwrap_or(rest.len()));
                // `%31` and `。` are read as other characters.
                let name = host.rsplit('@').next().unwrap_or(host);
                let is_disguised = name.contains('%') && !name.starts_with('[') || !name.is_ascii();
                (is_disguised && requests || is_metadata_host(host)) && !is_known_metadata(path)
            });
        }
        let (host, path) = text.split_at(text.find('/').unwrap_or(text.len()));
        let bare = || text.split(['/', '?', '=', ',', '@', ' ']);
        let is_part = |part: &str| part.contains('.') && is_metadata_host(part);
        let parts = || bare().flat_map(|part| part.split(':')).chain(bare()).any(is_part);
        requests && (is_metadata_host(host) || parts()) && !is_known_metadata(path)
            || text.starts_with("/dev/tcp/") && bare().any(is_metadata_host)
    };
    let found = words.chain(variables).any(is_named);
    let text = format!(
        "Secret: this address{} hands out keys and settings of the machine, which must not enter this session.",
        command.whereabouts()
    );
    found.then(|| Reason::of("secret", text))
}

/// Whether a path of a metadata service names a property of the machine that is no secret.
fn is_known_metadata(path: &str) -> bool {
    // Before it, at most a version.
    let found = METADATA_FOLDERS.iter().filter_map(|folder| path.split_once(folder));
    let mut named = found.filter(|(before, _)| before.matches('/').count() <= 1).map(|(_, rest)| rest);
    let is_plain = !path.contains(['%', '?', '{', '[', '*']) && !path.contains("..") && !path.contains("//");
    is_plain
        && named.any(|rest| {
            rest.is_empty() || METADATA_PROPERTIES.contains(&rest.split('/').next().unwrap_or_default())
        })
}

/// Whether a host, with a user and a port, is the metadata service of a cloud, in any notation of its address.
fn is_metadata_host(text: &str) -> bool {
    let host = text.rsplit('@').next().unwrap_or(text).to_ascii_lowercase();
    let inner = host.strip_prefix('[').and_then(|rest| rest.split(']').next());
    let host = inner.unwrap_or_else(|| host.split(':').next().unwrap_or_default()).trim_end_matches('.');
    let listed = |host: &str| METADATA_HOSTS.iter().any(|one| glob(one, host));
    let v6 = inner.unwrap_or(text).parse::<Ipv6Addr>().ok();
    let mapped = v6.and_then(|address| address.to_ipv4_mapped());
    let v4 = mapped.or_else(|| number_address(host));
    host.contains(['.', ':']) && listed(host)
        || v6.is_some_and(|address| listed(&address.to_string()))
        || v4.is_some_and(|address| listed(&address.to_string()))
        || METADATA_NAMES.contains(&host)
}

/// The address that one to four numbers state, in any base, as programs read it: `0xa9fea9fe`, `169.254.43518`.
fn number_address(host: &str) -> Option<Ipv4Addr> {
    let number = |part: &str| match (part.strip_prefix("0x"), part.strip_prefix('0')) {
        (Some(hexadecimal), _) => u32::from_str_radix(hexadecimal, 16).ok(),
        (_, Some(octal)) if !octal.is_empty() => u32::from_str_radix(octal, 8).ok(),
        _ => part.parse().ok(),
    };
    let parts: Vec<u32> = host.split('.').map(number).collect::<Option<_>>()?;
    let (last, leading) = parts.split_last().filter(|(_, leading)| leading.len() < 4)?;
    let is_small = leading.iter().all(|part| *part < 256);
    let shifted = leading.iter().zip([24, 16, 8]).map(|(part, shift)| part << shift).sum::<u32>();
    is_small.then(|| Ipv4Addr::from(shifted.wrapping_add(*last)))
}

//! Health checks of a service: HTTP, DNS, TCP and commands.

use std::net::IpAddr;

use crate::spanned::{Location, Spanned};

use crate::check::values::{is_dns_name, is_http_url};
use crate::error::{Checked, Mistake, Mistakes};
use crate::written;
use crate::written::{is_no, is_yes};
use crate::yaml::checks::{CommandCheckWire, DnsWire, HealthWire};
use crate::yaml::forms::{Maps, TextOrMap};
use opsctl_policy::model::installation::checks::{CommandCheck, DnsName, Health, TcpPort};
use opsctl_policy::model::installation::inventory::Host;
use opsctl_policy::model::rights::policy::Window;

/// The maximum timeout of an HTTP health check or of a command, in seconds.
const MAX_TIMEOUT: i64 = 300;

/// The word that switches a check off.
const NONE: &str = "none";

/// The HTTP health check; `None` if it is switched off, or without a URL and without a domain to derive it from.
pub fn check(
    wire: Option<Spanned<TextOrMap<HealthWire>>>,
    service: &str,
    domain: Option<&str>,
    found: &mut Mistakes,
) -> Option<Health> {
    let derived = domain.map(|domain| format!("https://{service}.{domain}/health"));
    let Some(wire) = wire else { return derived.map(Health::at) };
    let position = wire.referenced;
    let wire = match wire.value {
        TextOrMap::Text(word) if word == NONE => return None,
        TextOrMap::Text(word) => {
            let url = if is_http_url(&word) { &word } else { "https://nas.lan/health" };
            let remedy = match word.as_str() {
                word if is_no(word) => "write `health: none`".to_owned(),
                word if word == url => format!("write `health: {{url: \"{url}\"}}`"),
                _ => format!("write `health: {{url: \"{url}\"}}`, or `health: none`"),
            };
            found.add(Mistake::at(position, format!("`{word}` is not a health check"), remedy));
            return None;
        }
        TextOrMap::Map(wire) => wire,
    };
    let url = wire.url.map(|url| url.0).or(derived);
    let status = wire.status.unwrap_or_default();
    for code in status.iter().filter(|code| !(100..=599).contains(&code.value)) {
        found.add(Mistake::at(
            code.referenced,
            format!("`{}` is not an HTTP status code", code.value),
            "write codes from 100 to 599",
        ));
    }
    let timeout = wire.timeout.and_then(|timeout| found.keep(check_timeout(&timeout)));
    let mut health = url.map(Health::at)?;
    if !status.is_empty() {
        health.status = status.into_iter().map(|code| code.value).collect();
    }
    health.timeout = timeout.unwrap_or(health.timeout);
    health.follow = wire.follow.unwrap_or(health.follow);
    health.insecure = wire.insecure.unwrap_or(health.insecure);
    Some(health)
}

fn check_timeout(timeout: &Spanned<Window>) -> Checked<Window> {
    if timeout.value.delta().num_seconds() > MAX_TIMEOUT {
        let what = format!("`{}` exceeds the maximum timeout of a health check", timeout.value);
        return Err(Mistake::at(timeout.referenced, what, "write at most `5m`"));
    }
    Ok(timeout.value)
}

/// The DNS check; `None` if it is switched off, or without a name and without a domain to derive it from.
pub fn check_dns(
    wire: Option<Spanned<TextOrMap<DnsWire>>>,
    service: &str,
    domain: Option<&str>,
    hosts: &[Host],
    found: &mut Mistakes,
) -> Option<DnsName> {
    let derived = domain.map(|domain| format!("{service}.{domain}"));
    let Some(wire) = wire else { return derived.map(DnsName::any) };
    let position = wire.referenced;
    let DnsWire { name, address, server } = match wire.value {
        TextOrMap::Text(word) if word == NONE => return None,
        TextOrMap::Text(name) => return found.keep(dns_name(name, position)).map(DnsName::any),
        TextOrMap::Map(wire) => wire,
    };
    let name = if let Some(name) = name {
        found.keep(dns_name(name.value, name.referenced))
    } else {
        if derived.is_none() {
            found.add(Mistake::at(position, "`dns` without a name", "add `name:`"));
        }
        derived
    };
    let address = address.and_then(|address| {
        let remedy = "write one such as `192.168.1.10` or `fd00::10`";
        let ip = address.value.parse::<IpAddr>();
        found.keep(ip.map_err(|_| Mistake::of(&address, "is not an IP address", remedy)))
    });
    let server = server.and_then(|server| {
        let known = hosts.iter().any(|host| host.name == server.value);
        let is_server = known || server.value.parse::<IpAddr>().is_ok();
        let what = "is neither an IP address nor one of `hosts`";
        let remedy = "write the IP address of the DNS server, or add it to `hosts`";
        found.keep(Mistake::unless(is_server, &server, what, remedy)).map(|()| server.value)
    });
    Some(DnsName { name: name?, address, server })
}

fn dns_name(name: String, position: Location) -> Checked<String> {
    let is_switch = is_no(&name) || is_yes(&name);
    if !is_switch && is_dns_name(&name) {
        return Ok(name);
    }
    let remedy = if is_switch {
        "write `dns: none` to switch the check off; remove the key for the default"
    } else {
        "write one such as `jellyfin.example.net`"
    };
    Err(Mistake::at(position, format!("`{name}` is not a DNS name"), remedy))
}

/// The TCP check: `8096` on the service's host, `nas.lan:8096`, `192.168.1.10:8096` or `[fd00::10]:8096`.
pub fn check_port(port: &Spanned<String>, has_host: bool) -> Checked<TcpPort> {
    let remedy = "write a port such as `8096`, or `nas.lan:8096`";
    let number = |text: &str| text.parse::<u16>().ok().filter(|number| *number > 0);
    let (host, number) = match port.value.rsplit_once(':') {
        None => (None, number(&port.value)),
        Some((host, text)) => {
            let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
            let is_host = match bare {
                Some(v6) => v6.parse::<std::net::Ipv6Addr>().is_ok(),
                None => host.parse::<std::net::Ipv4Addr>().is_ok() || is_dns_name(host),
            };
            (Some(bare.unwrap_or(host).to_owned()), number(text).filter(|_| is_host))
        }
    };
    let Some(number) = number else { return Err(Mistake::of(port, "is not a port", remedy)) };
    let remedy = "write `HOST:PORT`, or add `host:` to the service";
    Mistake::unless(host.is_some() || has_host, port, "is a port without a host", remedy)?;
    Ok(TcpPort { host, port: number })
}

/// The commands that check a service.
pub fn check_commands(wire: Option<Maps<CommandCheckWire>>, found: &mut Mistakes) -> Vec<CommandCheck> {
    wire.into_iter().flat_map(|wire| wire.0).map(|wire| check_command(wire, found)).collect()
}

fn check_command(wire: CommandCheckWire, found: &mut Mistakes) -> CommandCheck {
    let CommandCheckWire { command, expect, place, timeout } = wire;
    match command.value.first() {
        Some(program) if program.value.contains(' ') => {
            let words = written::command(&program.value);
            found.add(Mistake::of(program, "is not the name of a program", format!("write `{words}`")));
        }
        Some(program) if !program.value.is_empty() => {}
        _ => found.add(Mistake::at(
            command.referenced,
            "`command` without a program",
            "write one such as `command: [pg_isready, -q]`",
        )),
    }
    if let Some(word) = command.value.iter().find(|word| word.value.chars().any(char::is_control)) {
        found.add(Mistake::at(
            word.referenced,
            "a control character in `command`",
            "put the lines into a script, and run it",
        ));
    }
    // ssh returns 255 if it fails.
    if let Some(code) = expect.as_ref().filter(|code| code.value == u8::MAX) {
        found.add(Mistake::at(
            code.referenced,
            "`255` cannot be expected: ssh returns it when it fails",
            "write 0 to 254",
        ));
    }
    let timeout = timeout.and_then(|timeout| found.keep(check_timeout(&timeout)));
    CommandCheck {
        command: command.value.into_iter().map(|word| word.value).collect(),
        expect: expect.map_or(0, |code| code.value),
        place: place.unwrap_or_default(),
        timeout: timeout.unwrap_or(Window::TEN_SECONDS),
    }
}

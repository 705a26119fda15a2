//! Requests to the HTTP interfaces that `apis.yaml` describes: engines, clusters, hypervisors, appliances and services.

use super::{engine, guest, kubectl};
use crate::actions::call::Call;
use crate::actions::line::Line;
use crate::actions::request::Request;
use crate::catalogue::program::Role;
use crate::languages::names::{Table, apis};
use crate::shell::{Word, glob, host_of};
use crate::terms::action::{Action, ActionKind, Family, Target, Verb};
use crate::terms::class::Class;
use crate::terms::reference::Reference;

/// The tables of interfaces; of two rows that fit, the first one applies.
const INTERFACES: [Table; 9] = [
    apis::PARAMETERS,
    apis::ENGINE,
    apis::KUBERNETES,
    apis::PROXMOX,
    apis::HOME,
    apis::APPLIANCES,
    apis::SERVICES,
    apis::HARMLESS,
    apis::ANY,
];

/// A described request.
struct Described<'u> {
    /// The end of the path, as the table has it.
    pattern: &'static str,
    /// An action with the name of its target, or the class of a change.
    does: &'static [&'static str],
    /// The parts of the address that names in braces stand for.
    bound: Vec<(&'static str, &'u str)>,
    path: &'u str,
}

/// Finds the row of a request; without a method, one of any method.
fn described<'u>(method: Option<&str>, url: &'u str, body: &str) -> Option<Described<'u>> {
    let rows = INTERFACES.iter().flat_map(|table| table.0);
    rows.clone().find_map(|(key, does)| {
        let (methods, pattern) = key.split_once(' ')?;
        let (pattern, sent) = pattern.split_once(' ').unwrap_or((pattern, "*"));
        let is_method = |known: &str| method.is_none_or(|method| method.eq_ignore_ascii_case(known));
        (methods.split('|').any(is_method) && sent.split('|').any(|sent| glob(sent, body))).then_some(())?;
        let (path, bound) = fits(pattern, url)?;
        Some(Described { pattern, does: does.0, bound, path })
    })
}

/// The path of an address that fits a pattern, and what its names in braces stand for.
fn fits<'u>(pattern: &'static str, url: &'u str) -> Option<(&'u str, Vec<(&'static str, &'u str)>)> {
    let (pattern, wanted) = pattern.split_once('?').unwrap_or((pattern, ""));
    let url = url.split('#').next().unwrap_or(url);
    let (address, query) = url.split_once('?').unwrap_or((url, ""));
    let address = address.split_once("://").map_or(address, |(_, rest)| rest);
    let (authority, path) = address.split_once('/')?;
    let mut bound = Vec::new();
    let mut is = |wanted: &'static str, found: &'u str| {
        match wanted.strip_prefix('{').and_then(|name| name.strip_suffix('}')) {
            Some(name) => bound.push((name, found)),
            None if glob(wanted, found) => {}
            None => return false,
        }
        !found.is_empty() || wanted.is_empty()
    };
    let found: Vec<&str> = path.trim_end_matches('/').split('/').collect();
    let (port, parts) = pattern.split_once('/')?;
    let parts: Vec<&'static str> = parts.split('/').collect();
    let is_whole = port.is_empty() || (authority.ends_with(port) && found.len() == parts.len());
    let start = found.len().checked_sub(parts.len()).filter(|_| is_whole)?;
    let ends = found.get(start..).unwrap_or_default();
    if !parts.iter().zip(ends).all(|(wanted, found)| is(wanted, found)) {
        return None;
    }
    for (name, wanted) in wanted.split('&').filter_map(|pair| pair.split_once('=')) {
        let value = query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))?;
        is(wanted, value).then_some(())?;
    }
    Some((path, bound))
}

impl Described<'_> {
    fn bound(&self, name: &str) -> Option<&str> {
        self.bound.iter().find(|(known, _)| *known == name).map(|(_, found)| *found)
    }

    fn verb(&self) -> Option<Verb> {
        self.does.first().and_then(|word| Verb::named(word))
    }

    /// The target, the family of programs that would do so, and the command that says it.
    fn target(&self, method: &str) -> (Target, Family, String) {
        let known = |name: &str| self.bound(name).filter(|found| !found.contains(['$', '`', '{', '[']));
        let evidence = || format!("{method} /{}", self.path);
        if let Some(name) = known("container") {
            let last = self.pattern.split('?').next().and_then(|path| path.rsplit('/').next());
            let operation = last.filter(|last| !last.starts_with('{')).unwrap_or("rm");
            let evidence = format!("docker {operation} {name}");
            return (Target::Container(name.to_owned()), Family::Container, evidence);
        }
        if let Some(name) = known("workload") {
            let before = self.pattern.split("/{workload}").next().and_then(|path| path.rsplit('/').next());
            let kind = self.bound("kind").or(before).unwrap_or_default();
            let (workload, _) = kubectl::read(kind, name, known("namespace"));
            return (Target::Workload(workload), Family::Workload, evidence());
        }
        if known("guest").is_some() {
            return (Target::Guest(guest::read("", &format!("/{}", self.path))), Family::Guest, evidence());
        }
        let constant = self.does.get(1).and_then(|name| name.strip_prefix('='));
        let name = known("service").or(constant);
        let target = name.map_or(Target::Unknown, |name| Target::Service(name.to_owned()));
        (target, Family::Program, evidence())
    }
}

pub(in crate::actions) fn find_actions(call: &Call<'_>, request: &Request, actions: &mut Vec<Action>) {
    let socket = call.own.value(&call.usage.role(Role::Socket));
    // An answer that comes late, or states an error, may be that of a request that was carried out.
    let is_sent_again =
        call.own.value(&call.usage.role(Role::Retries)).is_some_and(|count| count.text != "0");
    for url in &request.urls {
        let mut action = of_request(call.line, request.method.as_deref(), url, &request.body);
        if let Some(action) = action.as_mut() {
            action.repeats |= is_sent_again;
        }
        if let Some((action, socket)) = action.as_mut().zip(socket) {
            action.host = call
                .line
                .action(action.kind, action.verb, action.family, Target::Nothing, String::new())
                .host;
            action.reference = match action.family {
                Family::Container => engine::reference_on_socket(call.line, &socket.text),
                _ => Reference::default(),
            };
        }
        actions.extend(action);
    }
}

/// The action of a request, by its method (`None`: only the run knows) and its address.
fn of_request(line: &Line<'_>, method: Option<&str>, url: &Word, body: &str) -> Option<Action> {
    let found = described(method, &url.text, body)?;
    let verb = found.verb()?;
    let (target, family, evidence) = found.target(method.unwrap_or("POST"));
    let mut action = line.action(ActionKind::of(verb), verb, family, target, evidence);
    let is_here = |host: &String| matches!(host.as_str(), "localhost" | "127.0.0.1" | "::1" | "docker");
    if let Some(host) = host_of(&url.text).filter(|host| !is_here(host)) {
        action.host = Some(host);
    }
    // curl sends one request for each text of `{a,b}` and `[1-3]`.
    let behind_host = url.text.split_once("://").map_or(url.text.as_str(), |(_, rest)| rest).split_once('/');
    action.repeats |= behind_host.is_some_and(|(_, rest)| rest.contains(['{', '[']));
    Some(action)
}

/// The class of what the requests of a call change.
pub(in crate::actions) fn class(request: &Request) -> Option<Class> {
    let method = request.method.as_deref();
    request
        .urls
        .iter()
        .find_map(|url| Class::named(described(method, &url.text, &request.body)?.does.first()?))
}

/// Whether a request goes to an interface that the tables describe, and none of their rows describes it.
pub(in crate::actions) fn is_closed(request: &Request) -> bool {
    let method = request.method.as_deref();
    let is_look = matches!(method, Some("GET" | "HEAD" | "OPTIONS"));
    let matches = |url: &str| {
        let address = url.split_once("://").map_or(url, |(_, rest)| rest);
        apis::CLOSED.iter().any(|one| glob(one, address))
    };
    !is_look
        && request
            .urls
            .iter()
            .any(|url| matches(&url.text) && described(method, &url.text, &request.body).is_none())
}

/// The action of a request that is written to a socket as text: `POST /containers/x/restart HTTP/1.0`.
pub(in crate::actions) fn written(line: &Line<'_>) -> Option<Action> {
    let text = line.command.stdin.as_ref()?.known()?;
    let mut words = text.lines().next()?.split(' ');
    let (method, path, version) = (words.next()?, words.next()?, words.next()?);
    let is_request = version.starts_with("HTTP/") && path.starts_with('/');
    of_request(line, Some(method), &Word::literal(path), "").filter(|_| is_request)
}

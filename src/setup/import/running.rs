//! What runs: workloads of a cluster through `kubectl`, and through `ssh` containers and units of a host.

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Command, Stdio};

use serde::Deserialize;

use super::draft::{Draft, Key, Service, push_new};
use super::error::ImportError;
use super::naming::{self, is_name};
use super::sources::labels;
use opsctl_policy::paths::glob::matches;

/// Options with which ssh asks no question and does not wait for a host that is down.
const SSH: [&str; 8] =
    ["-n", "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-o", "ConnectionAttempts=1"];

/// The output of a program; an error if it cannot be started or fails.
fn output(program: &str, arguments: &[&str], source: &str) -> Result<String, ImportError> {
    let failed = |why: String| ImportError::Command(source.to_owned(), program.to_owned(), why);
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        let why = stderr.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it gave no reason");
        return Err(failed(why.trim().to_owned()));
    }
    String::from_utf8(output.stdout).map_err(|_| failed("its output is not UTF-8".to_owned()))
}

/// The output of a command of a host, which the shell there reads.
fn on_host(destination: &str, command: &str, source: &str) -> Result<String, ImportError> {
    let arguments: Vec<&str> = SSH.into_iter().chain(["--", destination, command]).collect();
    output("ssh", &arguments, source)
}

/// The arguments of kubectl behind `--context NAME`.
const ARGUMENTS: [&str; 6] = ["get", "deploy,sts,ds", "-A", "-o", "json", "--request-timeout=30s"];

#[derive(Deserialize)]
struct ListWire {
    items: Vec<ItemWire>,
}

#[derive(Deserialize)]
struct ItemWire {
    kind: String,
    metadata: MetadataWire,
}

#[derive(Deserialize)]
struct MetadataWire {
    name: String,
    #[serde(default)]
    namespace: String,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

/// The annotation with the name of the Helm release.
const RELEASE: &str = "meta.helm.sh/release-name";

/// Adds the workloads of a context of kubectl, without those of the cluster itself.
pub fn workloads(context: &str, draft: &mut Draft) -> Result<(), ImportError> {
    let source = format!("kube:{context}");
    let arguments = [&["--context", context], ARGUMENTS.as_slice()].concat();
    let list: ListWire = serde_json::from_str(&output("kubectl", &arguments, &source)?).map_err(|error| {
        let why = format!("its answer cannot be read ({error})");
        ImportError::Command(source.clone(), "kubectl".to_owned(), why)
    })?;
    let is_own =
        |item: &&ItemWire| !draft.known.cluster.iter().any(|glob| matches(glob, &item.metadata.namespace));
    let items: Vec<&ItemWire> = list.items.iter().filter(is_own).collect();
    for ItemWire { kind, metadata } in &items {
        let MetadataWire { name, namespace, annotations } = metadata;
        let is_common = items.iter().filter(|other| other.metadata.name == *name).count() > 1;
        let service_name = if is_common { format!("{namespace}-{name}") } else { name.clone() };
        let mut service = Service::new(naming::name(&service_name), &source, false);
        service.add(Key::Workloads, format!("{namespace}/{}/{name}", kind.to_lowercase()));
        if let Some(release) = annotations.get(RELEASE).filter(|release| is_name(release)) {
            service.add(Key::Releases, release.clone());
        }
        draft.add_service(service);
    }
    Ok(())
}

/// The command that prints the enabled units of a manager, then an empty line, then the active ones, for a shell.
fn listing_of_units(systemctl: &str, states: &str) -> String {
    format!(
        "{systemctl} list-unit-files --type=service,timer --state={states} --plain --no-legend --no-pager; echo; \
         {systemctl} list-units --type=service,timer --state=active --plain --no-legend --no-pager"
    )
}

/// The systemd of the user of an ssh connection.
const OF_USER: &str = "env XDG_RUNTIME_DIR=/run/user/$(id -u) systemctl --user";

/// The states of units that start with the manager of a user: quadlets are generated.
const GENERATED: &str = "enabled,generated";

/// Adds the units that are enabled and run on a host, without those of the distribution: those of the system, and those of
/// the user of the destination.
pub fn units(destination: &str, host: &str, draft: &mut Draft) -> Result<(), ImportError> {
    let source = &format!("systemd:{destination}");
    let listing = on_host(destination, &listing_of_units("systemctl", "enabled"), source)?;
    units_of(&listing, source, host, draft);
    // Without a manager of the user, there are no such units.
    if let Ok(listing) = on_host(destination, &listing_of_units(OF_USER, GENERATED), source)
        && units_of(&listing, source, host, draft) > 0
    {
        draft.guess_asking(host, "units", "user", "units of its user run");
    }
    Ok(())
}

/// Adds the units of a listing; returns their number.
fn units_of(listing: &str, source: &str, host: &str, draft: &mut Draft) -> usize {
    let (enabled, active) = listing.split_once("\n\n").unwrap_or(("", listing));
    let first = |line: &str| line.split_whitespace().next().map(str::to_owned);
    let enabled: BTreeSet<String> = enabled.lines().filter_map(first).collect();
    let mut count = 0;
    for line in active.lines() {
        let mut fields = line.split_whitespace();
        let (Some(unit), _, _, Some(state)) = (fields.next(), fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        let Some((name, kind)) = unit.rsplit_once('.') else { continue };
        if let Some(kubectl) = draft.known.clusters.get(name).cloned() {
            draft.guess_asking(host, "kubectl", &kubectl, &format!("{name} runs"));
        }
        let template = name.split_once('@').map(|(base, _)| format!("{base}@.{kind}"));
        let is_enabled =
            enabled.contains(unit) || template.is_some_and(|template| enabled.contains(&template));
        let is = |globs: &[String]| globs.iter().any(|glob| matches(glob, name));
        let runs = matches!(state, "running" | "waiting") || is(&draft.known.without_process);
        if !is_enabled || !runs || is(&draft.known.distribution) {
            continue;
        }
        let plain = name.split_once('@').map_or(name, |(_, instance)| instance);
        let is_short = name.contains('@') && plain.len() < 4;
        let mut service = Service::new(naming::name(if is_short { name } else { plain }), source, true);
        service.add(Key::Host, host);
        service.add(Key::Units, if kind == "timer" { unit } else { name });
        draft.add_service(service);
        count += 1;
    }
    count
}

/// What the engine prints for each container, separated by tabs.
const FIELDS: [&str; 5] = [
    "{{.Names}}",
    "{{.Label \"com.docker.compose.project\"}}",
    "{{.Label \"com.docker.compose.service\"}}",
    "{{.Ports}}",
    "{{.Labels}}",
];

/// The label of a swarm task's service.
const SWARM_SERVICE: &str = "com.docker.swarm.service.name";

/// The command that lists the running containers of an engine, for a shell.
pub(super) fn listing_command(engine: &str) -> String {
    format!("{engine} ps --no-trunc --format '{}'", FIELDS.join("\\t"))
}

/// The list of an engine. Where the user of the destination does not find it, or may not use it, other folders and sudo are
/// tried, and the host gets the keys that are needed.
fn listing_of_engine(
    engine: &str,
    destination: &str,
    host: &str,
    source: &str,
    draft: &mut Draft,
) -> Result<String, ImportError> {
    let list = |program: &str| on_host(destination, &listing_command(program), source);
    let error = match list(engine) {
        Ok(listing) => return Ok(listing),
        Err(error) => error,
    };
    let folders = draft.known.program_folders.join(":");
    let search = format!("PATH={folders}:$PATH; command -v {engine}");
    let Ok(found) = on_host(destination, &search, source) else { return Err(error) };
    let program = found.trim();
    let folder = program.strip_suffix(engine).and_then(|folder| folder.strip_suffix('/'));
    let Some(folder) = folder.filter(|folder| folder.starts_with('/')) else { return Err(error) };
    let (listing, needs_sudo) = match list(program) {
        Ok(listing) => (listing, false),
        Err(_) => (list(&format!("sudo -n {program}")).map_err(|_| error)?, true),
    };
    if draft.known.program_folders.iter().any(|known| known == folder) {
        draft.guess_asking(host, "path", &format!("[{folder}]"), &format!("{engine} is there"));
    }
    if needs_sudo {
        draft.guess_asking(host, "sudo", "true", &format!("its user may not use {engine}"));
    }
    Ok(listing)
}

/// Adds the containers of an engine on a host.
pub fn containers(engine: &str, destination: &str, host: &str, draft: &mut Draft) -> Result<(), ImportError> {
    let source = &format!("{engine}:{destination}");
    let listing = listing_of_engine(engine, destination, host, source, draft)?;
    let rows = listing.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    let rows: Vec<[&str; FIELDS.len()]> = rows.filter_map(|fields| fields.try_into().ok()).collect();
    let mut projects: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for [_, project, key, ..] in &rows {
        projects.entry(key).or_default().insert(project);
    }
    for [name, project, key, ports, labels] in &rows {
        let labels = pairs(labels);
        let swarm = labels::value(&labels, SWARM_SERVICE);
        let mut service = if let Some(swarm) = swarm {
            Service::new(naming::name(swarm), source, true)
        } else if key.is_empty() {
            let mut service = Service::new(naming::name(name), source, true);
            if service.name != *name {
                service.notes.push(format!("the container {name}"));
            }
            service
        } else {
            let is_generated =
                [format!("{project}-{key}-"), format!("{project}_{key}_")].iter().any(|front| {
                    name.strip_prefix(front).is_some_and(|number| number.bytes().all(|c| c.is_ascii_digit()))
                });
            let stated = (!is_generated).then_some(*name);
            let is_common = projects.get(key).is_some_and(|projects| projects.len() > 1);
            let names = naming::of_compose(&draft.known, project, key, stated, is_common);
            let mut service = Service::new(names.service, source, true);
            names.containers.into_iter().for_each(|name| service.add(Key::Containers, name));
            service
        };
        service.add(Key::Host, host);
        if engine == "podman" {
            service.add(Key::Engine, engine);
        }
        if is_name(project) {
            service.add(Key::Projects, *project);
        }
        for port in published(ports) {
            service.add(Key::Tcp, port);
        }
        if let Some(page) = labels::page(&labels, &[]) {
            page.guess(&mut service);
        }
        draft.add_service(service);
    }
    Ok(())
}

/// The labels in a list separated by commas. A value may contain commas: what has no `=` continues it.
pub(super) fn pairs(labels: &str) -> Vec<(String, String)> {
    let mut pairs: Vec<(String, String)> = Vec::new();
    for part in labels.split(',') {
        match (labels::pair(part), pairs.last_mut()) {
            (Some(pair), _) => pairs.push(pair),
            (None, Some((_, value))) => *value += &format!(",{part}"),
            (None, None) => {}
        }
    }
    pairs
}

/// The TCP ports in a list such as `0.0.0.0:8096->8096/tcp, :::8096->8096/tcp, 9000/tcp` that are open on all addresses, or with
/// the address.
pub(super) fn published(ports: &str) -> Vec<String> {
    let written = |port: &str| {
        let (address, number) = port.strip_suffix("/tcp")?.split_once("->")?.0.rsplit_once(':')?;
        let number = number.split('-').next().filter(|number| number.parse::<u16>().is_ok())?;
        match address {
            "0.0.0.0" | "::" | "[::]" | "" => Some(number.to_owned()),
            local if local.starts_with("127.") || local.contains("::1") => None,
            other => Some(format!("{other}:{number}")),
        }
    };
    let mut found = Vec::new();
    ports.split(", ").filter_map(written).for_each(|port| push_new(&mut found, port));
    found
}

//! The container engine's own interface over HTTP, as `curl` and `wget` reach it.

use crate::model::action::{Action, ActionKind, Family, Target, Verb};
use crate::shell::{Word, host_of};

use super::line::{Arguments, Line};

const VALUED: &[&str] = &[
    "-X",
    "--request",
    "-d",
    "--data",
    "--data-raw",
    "--data-binary",
    "--json",
    "-H",
    "--header",
    "-o",
    "--output",
    "-u",
    "--user",
    "-A",
    "--user-agent",
    "-m",
    "--max-time",
    "--connect-timeout",
    "--retry",
    "--unix-socket",
    "--abstract-unix-socket",
    "-w",
    "--write-out",
    "--cacert",
    "--cert",
    "--key",
    "-E",
    "-e",
    "--referer",
    "-F",
    "--form",
    "-T",
    "--upload-file",
    "-b",
    "--cookie",
    "-c",
    "--cookie-jar",
    "-x",
    "--proxy",
    "--url",
    "--post-data",
    "--post-file",
    "--method",
    "--body-data",
    "-O",
    "--output-document",
    "--timeout",
    "--tries",
];

pub(super) fn find_actions(line: &Line<'_>, actions: &mut Vec<Action>) {
    let mut arguments = Arguments::default();
    // `-O` takes a file for wget and nothing for curl.
    let valued: Vec<&str> =
        VALUED.iter().copied().filter(|option| *option != "-O" || line.program() == "wget").collect();
    let mut urls: Vec<&Word> = Vec::new();
    line.arguments(1, &valued, &mut arguments);
    urls.extend(arguments.positionals.iter().filter_map(|&index| line.word(index)));
    urls.extend(arguments.values(&["--url"]));
    for url in urls {
        let Some((_, path)) = url.text.split_once("/containers/") else { continue };
        let path = path.split(['?', '#']).next().unwrap_or(path);
        let Some((name, operation)) = path.split_once('/') else { continue };
        let verb = match operation {
            "restart" => Verb::Restart,
            "stop" | "kill" | "pause" => Verb::Stop,
            "start" | "unpause" => Verb::Start,
            _ => continue,
        };
        let known = url.unknown.is_none() || !name.contains(['$', '`', '{']);
        let target = if known { Target::Container(name.to_owned()) } else { Target::Unknown };
        let evidence = format!("docker {operation} {name}");
        let mut action = line.action(ActionKind::Restart, verb, Family::Container, target, evidence);
        let socket = arguments.has(&["--unix-socket", "--abstract-unix-socket"]);
        let host = host_of(&url.text)
            .filter(|host| !matches!(host.as_str(), "localhost" | "127.0.0.1" | "::1" | "docker"));
        if let Some(host) = host.filter(|_| !socket) {
            action.host = Some(host);
        }
        actions.push(action);
    }
}

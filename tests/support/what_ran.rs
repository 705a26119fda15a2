//! The actions of the words that a stand-in recorded. Written independently of the reader: the words are
//! already split and expanded, so that a few tables are enough, and a mistake is not made twice.

use std::path::{Component, Path, PathBuf};

use crate::action_summary::ActionSummary;
use crate::sandbox::Ran;

/// Words, split by the options that take a value.
struct Words<'a> {
    options: Vec<(&'a str, Option<&'a str>)>,
    operands: Vec<&'a str>,
}

impl<'a> Words<'a> {
    /// `valued` names the options whose value is the next word. With `first_operand_ends`, options after the
    /// first operand are left to it.
    fn split(args: &'a [String], valued: &[&str], first_operand_ends: bool) -> Self {
        let mut words = Self { options: Vec::new(), operands: Vec::new() };
        let mut rest = args.iter().map(String::as_str);
        while let Some(word) = rest.next() {
            if word == "--" {
                words.operands.extend(rest.by_ref());
            } else if let Some(long) = word.strip_prefix("--") {
                if let Some((name, value)) = long.split_once('=') {
                    words.options.push((&word[..name.len() + 2], Some(value)));
                } else if valued.contains(&word) {
                    words.options.push((word, rest.next()));
                } else {
                    words.options.push((word, None));
                }
            } else if word.len() > 1 && word.starts_with('-') {
                let mut letters = &word[1..];
                while let Some(letter) = letters.get(..1) {
                    letters = &letters[1..];
                    let name = format!("-{letter}");
                    let Some(name) = valued.iter().find(|known| **known == name) else {
                        words.options.push((letter, None));
                        continue;
                    };
                    // Borrow the letter from the word, the table does not live long enough.
                    let at = word.len() - letters.len() - 1;
                    let value = letters.strip_prefix('=').unwrap_or(letters);
                    let value = if letters.is_empty() { rest.next() } else { Some(value) };
                    words.options.push((&word[at..at + name.len() - 1], value));
                    break;
                }
            } else {
                words.operands.push(word);
                if first_operand_ends {
                    words.operands.extend(rest.by_ref());
                }
            }
        }
        words
    }

    /// Whether one of these options is given: letters without a dash, names with two.
    fn has(&self, names: &[&str]) -> bool {
        self.options.iter().any(|(name, _)| names.contains(name))
    }

    fn value(&self, names: &[&str]) -> Option<&'a str> {
        self.options.iter().rev().find(|(name, _)| names.contains(name)).and_then(|(_, value)| *value)
    }
}

/// The actions of one call.
pub fn actions(ran: &Ran) -> Vec<ActionSummary> {
    let host = ran.host.as_deref();
    let program = ran.program.rsplit('/').next().unwrap_or_default();
    if ran.program.starts_with("/etc/init.d/") {
        return unit_verb(ran.args.first())
            .map(|verb| ActionSummary::new("restart", verb, Some(program), host))
            .into_iter()
            .collect();
    }
    match program {
        "docker" | "podman" | "nerdctl" => container(ran),
        "docker-compose" | "podman-compose" => compose(ran, &ran.args, None),
        "systemctl" => units(ran),
        "service" | "rc-service" => {
            let verb = unit_verb(ran.args.get(1));
            verb.map(|verb| ActionSummary::new("restart", verb, ran.args.first().map(String::as_str), host))
                .into_iter()
                .collect()
        }
        "kubectl" => workloads(ran),
        "helm" => releases(ran),
        "ansible-playbook" => playbooks(ran),
        "gh" | "tea" | "glab" => {
            let help = ran.args.iter().any(|arg| arg == "--help" || arg == "--dry-run");
            let verbs: Vec<_> = ran.args.iter().take(2).map(String::as_str).collect();
            let creates = matches!(verbs[..], ["pr" | "pulls" | "mr", "create" | "new" | "c"]);
            let comments = matches!(verbs[..], [_, "comment" | "note"] | ["comment" | "c", _]);
            if creates && !help {
                vec![ActionSummary::new("pull_request", "create", None, host)]
            } else if comments && !help {
                vec![ActionSummary::new("notification", "send", None, host)]
            } else {
                Vec::new()
            }
        }
        "apprise" => {
            let quiet = ["--help", "-h", "--version", "-V", "--dry-run", "-d"];
            if ran.args.iter().any(|arg| quiet.contains(&arg.as_str())) {
                return Vec::new();
            }
            vec![ActionSummary::new("notification", "send", None, host)]
        }
        "wall" | "write" | "notify-send" | "tg-send" => {
            vec![ActionSummary::new("notification", "send", None, host)]
        }
        "ntfy" if ran.args.first().is_some_and(|verb| verb == "publish") => {
            vec![ActionSummary::new("notification", "send", None, host)]
        }
        "curl" | "wget" | "http" => {
            let places = [
                "//hooks.slack.com/",
                "//discord.com/api/webhooks/",
                "/sendMessage",
                "ntfy.sh/ops",
                "//ntfy.stump.rocks/ops",
                "/message?token=",
                "/send/m.room.message",
                "smtps://",
            ];
            let sends =
                |arg: &String| !arg.contains("/json?") && places.iter().any(|place| arg.contains(place));
            let count = ran.args.iter().filter(|arg| sends(arg)).count();
            vec![ActionSummary::new("notification", "send", None, host); count]
        }
        "mail" | "mailx" | "s-nail" | "mutt" | "sendmail" | "msmtp" | "swaks" => {
            let quiet = ["-bv", "--pretend", "--quit-after"];
            let sends = ran.args.iter().any(|arg| arg == "-t" || arg.contains('@'));
            if !sends || ran.args.iter().any(|arg| quiet.contains(&arg.as_str())) {
                return Vec::new();
            }
            vec![ActionSummary::new("notification", "send", None, host)]
        }
        _ => Vec::new(),
    }
}

fn ssh_host(url: &str) -> Option<&str> {
    let host = url.strip_prefix("ssh://")?;
    let host = host.rsplit('@').next()?;
    host.split([':', '/']).next()
}

fn container(ran: &Ran) -> Vec<ActionSummary> {
    let global = Words::split(
        &ran.args,
        &["-H", "--host", "-c", "--context", "--config", "-l", "--log-level", "-n", "--namespace"],
        true,
    );
    let host = global.value(&["H", "--host"]).or(Some(ran.docker_host.as_str())).and_then(ssh_host);
    let host = host.or(ran.host.as_deref());
    let mut operands: Vec<String> = global.operands.iter().map(|word| (*word).to_owned()).collect();
    if operands.first().is_some_and(|word| word == "container") {
        operands.remove(0);
    }
    let Some((verb, rest)) = operands.split_first() else { return Vec::new() };
    if verb == "compose" {
        return compose(ran, rest, host);
    }
    let said = match verb.as_str() {
        "service" | "stack" => return swarm(verb, rest, host),
        "restart" => "restart",
        "stop" | "kill" | "rm" | "pause" => "stop",
        "start" | "unpause" => "start",
        _ => return Vec::new(),
    };
    let valued = ["-t", "--time", "--timeout", "-s", "--signal", "--detach-keys", "--filter", "--cidfile"];
    let words = Words::split(rest, &valued, false);
    if words.has(&["--help", "h"]) || verb == "rm" && !words.has(&["f", "--force"]) {
        return Vec::new();
    }
    words.operands.iter().map(|name| ActionSummary::new("restart", said, Some(name), host)).collect()
}

fn swarm(group: &str, rest: &[String], host: Option<&str>) -> Vec<ActionSummary> {
    let words = Words::split(rest, &["-c", "--compose-file", "--image"], false);
    let (verb, names) = match (group, &words.operands[..]) {
        ("service", ["update", names @ ..]) if words.has(&["--force"]) => ("restart", names),
        ("service", ["scale", names @ ..]) => ("scale", names),
        ("stack", ["deploy", names @ ..]) => ("start", names),
        ("stack", ["rm", names @ ..]) => ("stop", names),
        _ => return Vec::new(),
    };
    let names = names.iter().map(|name| name.split_once('=').map_or(*name, |(name, _)| name));
    names.map(|name| ActionSummary::new("restart", verb, Some(name), host)).collect()
}

fn compose(ran: &Ran, args: &[String], host: Option<&str>) -> Vec<ActionSummary> {
    let global = Words::split(
        args,
        &[
            "-f",
            "--file",
            "-p",
            "--project-name",
            "--project-directory",
            "--env-file",
            "--profile",
            "--ansi",
            "--progress",
            "-H",
            "--host",
        ],
        true,
    );
    let host = global.value(&["H", "--host"]).and_then(ssh_host).or(host);
    let host = host.or_else(|| ssh_host(&ran.docker_host)).or(ran.host.as_deref());
    let rest: Vec<String> = global.operands.iter().skip(1).map(|word| (*word).to_owned()).collect();
    let subcommand = global.operands.first().copied();
    // `-s` is a signal to `kill` and a flag to `rm`.
    let signal: &[&str] = if subcommand == Some("kill") { &["-s", "--signal"] } else { &[] };
    let valued = ["-t", "--timeout", "--pull", "--scale", "--wait-timeout"];
    let words = Words::split(&rest, &[&valued, signal].concat(), false);
    let verb = match subcommand {
        Some("up" | "start") => "start",
        Some("restart") => "restart",
        Some("stop" | "kill" | "down") => "stop",
        Some("rm") if words.has(&["s", "--stop"]) => "stop",
        _ => return Vec::new(),
    };
    if global.has(&["--dry-run", "--help"]) || words.has(&["--dry-run", "--help"]) {
        return Vec::new();
    }
    if !words.operands.is_empty() {
        return words
            .operands
            .iter()
            .map(|name| ActionSummary::new("restart", verb, Some(name), host))
            .collect();
    }
    let folder = global
        .value(&["--project-directory"])
        .map(PathBuf::from)
        .or_else(|| {
            let first = global.options.iter().find(|(name, _)| ["f", "--file"].contains(name))?.1?;
            Path::new(first).parent().map(Path::to_path_buf)
        })
        .unwrap_or_default();
    let folder = plain(&Path::new(&ran.cwd).join(folder));
    let project = global
        .value(&["p", "--project-name"])
        .map(str::to_owned)
        .or_else(|| Some(ran.compose_project.clone()).filter(|name| !name.is_empty()))
        .or_else(|| Some(folder.file_name()?.to_string_lossy().into_owned()));
    vec![ActionSummary::new("restart", verb, project.as_deref(), host)]
}

/// The path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

fn unit_verb(word: Option<&String>) -> Option<&'static str> {
    Some(match word?.as_str() {
        "restart" | "try-restart" | "reload-or-restart" => "restart",
        "stop" => "stop",
        "start" => "start",
        _ => return None,
    })
}

fn units(ran: &Ran) -> Vec<ActionSummary> {
    let valued = [
        "-H",
        "--host",
        "-M",
        "--machine",
        "-p",
        "--property",
        "-t",
        "--type",
        "-n",
        "--lines",
        "-o",
        "--output",
        "-s",
        "--signal",
        "--state",
        "--job-mode",
    ];
    let words = Words::split(&ran.args, &valued, false);
    if words.has(&["--help", "h"]) {
        return Vec::new();
    }
    let host = words.value(&["H", "--host"]).map(|host| host.rsplit('@').next().unwrap_or(host));
    let verb = match words.operands.first().copied() {
        Some("enable") if words.has(&["--now"]) => Some("start"),
        Some("disable") if words.has(&["--now"]) => Some("stop"),
        verb => unit_verb(verb.map(str::to_owned).as_ref()),
    };
    let Some(verb) = verb else { return Vec::new() };
    let names = words.operands.iter().skip(1).map(|unit| unit.strip_suffix(".service").unwrap_or(unit));
    names.map(|unit| ActionSummary::new("restart", verb, Some(unit), host.or(ran.host.as_deref()))).collect()
}

fn workloads(ran: &Ran) -> Vec<ActionSummary> {
    let valued = [
        "-n",
        "--namespace",
        "--context",
        "--kubeconfig",
        "--replicas",
        "--grace-period",
        "-l",
        "--selector",
        "-o",
        "--output",
    ];
    let words = Words::split(&ran.args, &valued, false);
    if words.has(&["--help", "--dry-run", "--all"]) {
        return Vec::new();
    }
    let host = ran.host.as_deref();
    let (verb, rest) = match words.operands[..] {
        ["rollout", "restart", ref rest @ ..] => ("restart", rest),
        ["delete", ref rest @ ..] if rest.first().is_some_and(|kind| kind.starts_with("po")) => {
            ("restart", rest)
        }
        ["scale", ref rest @ ..] => ("scale", rest),
        _ => return Vec::new(),
    };
    let names: Vec<&str> = match rest {
        [first, ..] if first.contains('/') => {
            rest.iter().map(|name| name.split_once('/').map_or(*name, |(_, name)| name)).collect()
        }
        [_, names @ ..] => names.to_vec(),
        [] => Vec::new(),
    };
    // Without a name after the slash, there is no target.
    names
        .iter()
        .map(|name| ActionSummary::new("restart", verb, Some(*name).filter(|name| !name.is_empty()), host))
        .collect()
}

fn releases(ran: &Ran) -> Vec<ActionSummary> {
    let valued = [
        "-n",
        "--namespace",
        "--kube-context",
        "--kubeconfig",
        "-f",
        "--values",
        "--set",
        "--set-string",
        "--set-file",
        "--version",
        "--timeout",
        "--history-max",
    ];
    let words = Words::split(&ran.args, &valued, false);
    let dry = words.has(&["--dry-run"]) && words.value(&["--dry-run"]) != Some("none");
    if dry || words.has(&["--help", "h"]) {
        return Vec::new();
    }
    let host = ran.host.as_deref();
    let one = |verb, name| vec![ActionSummary::new("redeployment", verb, name, host)];
    match words.operands[..] {
        ["install", ..] if words.has(&["--generate-name"]) => one("deploy", None),
        ["install" | "upgrade", name, _] => one("deploy", Some(name)),
        // The variable that should have named the release was empty.
        ["install" | "upgrade", _] => one("deploy", None),
        ["rollback", name, ..] => one("rollback", Some(name)),
        ["uninstall" | "delete", ref names @ ..] => names
            .iter()
            .map(|name| ActionSummary::new("redeployment", "uninstall", Some(name), host))
            .collect(),
        _ => Vec::new(),
    }
}

fn playbooks(ran: &Ran) -> Vec<ActionSummary> {
    let valued = [
        "-i",
        "--inventory",
        "-e",
        "--extra-vars",
        "-l",
        "--limit",
        "-t",
        "--tags",
        "--skip-tags",
        "-u",
        "--user",
        "-f",
        "--forks",
        "-T",
        "--timeout",
        "-c",
        "--connection",
        "-M",
        "--module-path",
        "--private-key",
        "--key-file",
        "--vault-password-file",
        "--vault-id",
        "--become-user",
        "--become-method",
        "--start-at-task",
        "--ssh-common-args",
        "--ssh-extra-args",
    ];
    let args: Vec<String> = ran.args.iter().map(|arg| unabbreviated(arg, &valued)).collect();
    let words = Words::split(&args, &valued, false);
    let quiet = [
        "C",
        "--check",
        "--syntax-check",
        "--list-hosts",
        "--list-tasks",
        "--list-tags",
        "--version",
        "--help",
        "h",
    ];
    if words.has(&quiet) {
        return Vec::new();
    }
    let extra = words.options.iter().filter(|(name, _)| ["e", "--extra-vars"].contains(name));
    let stated = extra.filter_map(|(_, value)| service_in(value.as_ref()?)).next_back();
    let tag = words.value(&["t", "--tags"]).filter(|tags| !tags.contains(','));
    let service = |file: &str| {
        let stem = Path::new(file).file_stem().unwrap_or_default().to_string_lossy().into_owned();
        stated.clone().or_else(|| stem_without_verbs(&stem)).or_else(|| tag.map(str::to_owned))
    };
    let host = ran.host.as_deref();
    words
        .operands
        .iter()
        .map(|file| ActionSummary::new("redeployment", "deploy", service(file).as_deref(), host))
        .collect()
}

/// The whole option that `--start-at` and the like abbreviate.
fn unabbreviated(arg: &str, valued: &[&str]) -> String {
    let name = arg.split('=').next().unwrap_or(arg);
    let is_short = name.len() < 4 || !name.starts_with("--") || name == "--become" || valued.contains(&name);
    let whole = valued.iter().find(|option| !is_short && option.starts_with(name));
    whole.map_or_else(|| arg.to_owned(), |whole| arg.replacen(name, whole, 1))
}

fn service_in(extra: &str) -> Option<String> {
    let names = ["service", "service_name", "app"];
    if let Ok(serde_json::Value::Object(map)) = serde_json::from_str(extra) {
        return names.iter().find_map(|name| map.get(*name)?.as_str().map(str::to_owned));
    }
    let pairs = extra.split_whitespace().filter_map(|pair| pair.split_once('='));
    let mut pairs = pairs.filter(|(name, _)| names.contains(name));
    pairs.next().map(|(_, value)| value.to_owned())
}

fn stem_without_verbs(stem: &str) -> Option<String> {
    const VERBS: [&str; 6] = ["redeploy", "deploy", "update", "upgrade", "install", "restart"];
    let mut stem = stem;
    loop {
        let shorter = VERBS.iter().find_map(|verb| {
            let after = stem.strip_prefix(verb).and_then(|rest| rest.strip_prefix(['-', '_']));
            after.or_else(|| stem.strip_suffix(verb).and_then(|rest| rest.strip_suffix(['-', '_'])))
        });
        match shorter {
            Some(rest) => stem = rest,
            None => break,
        }
    }
    let says_nothing = VERBS.contains(&stem) || ["site", "main", "playbook", "all", ""].contains(&stem);
    (!says_nothing).then(|| stem.to_owned())
}

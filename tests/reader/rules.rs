//! Every row of `tests/rules` says which rule a command breaks, if any.

use crate::corpus;
use std::path::Path;

use opsctl_inventory::load;
use opsctl_policy::files;
use opsctl_policy::files::guarded::Locations;
use opsctl_policy::model::rights::policy::Resolve;
use opsctl_policy::model::rights::rules::Rules;
use opsctl_policy::paths::word_paths::{LocalMachine, UnknownMachine};
use opsctl_policy::rules::modes;
use opsctl_policy::rules::never;
use opsctl_policy::rules::never::defaults;
use opsctl_policy::rules::pattern::Pattern;
use opsctl_policy::rules::secrets;
use opsctl_policy::targets::identity::{NoSurroundings, resolve};
use opsctl_reader::actions::{message, read_command};
use opsctl_reader::catalogue::Catalogue;
use opsctl_reader::shell;
use opsctl_reader::terms::mode::Mode;
use serde::Deserialize;

#[derive(Deserialize)]
struct Row {
    command: String,
    rule: Option<String>,
}

fn rows(file: &str) -> Vec<Row> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rules").join(file);
    let text = std::fs::read_to_string(&path).expect("the corpus is there");
    let row = |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"));
    text.lines().map(row).collect()
}

/// The names of the rules that a command breaks.
fn broken(command: &str) -> Vec<String> {
    let script = shell::read(command, Some("/app"));
    let named = |text: String| {
        text.split("(rule ").nth(1).and_then(|rest| rest.split_once(')')).map(|(n, _)| n.to_owned())
    };
    never::objections(&script, &Rules::default(), None, &UnknownMachine)
        .into_iter()
        .map(|reason| named(reason.text).expect("a denial names its rule"))
        .collect()
}

#[test]
fn every_row_breaks_the_rule_that_it_names_and_no_other() {
    let mut wrong = Vec::new();
    for row in rows("never.jsonl") {
        let found = broken(&row.command);
        if found != row.rule.clone().into_iter().collect::<Vec<_>>() {
            wrong.push(format!("{}\n  expected {:?}, found {found:?}", row.command, row.rule));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_rule_applies_inside_every_wrapper() {
    let wrappers = [
        "ssh root@ie01 ",
        "bash -c ",
        "env A=b sh -c ",
        "timeout 30 bash -c ",
        "nohup sh -c ",
        "eval ",
        "nice -n 5 bash -lc ",
        "ssh -p 2222 -J jump ie01 bash -c ",
        "docker exec tools sh -c ",
        "watch ",
    ];
    let mut count = 0;
    for row in rows("never.jsonl") {
        let Some(rule) = row.rule.filter(|rule| rule != "local-sudo") else { continue };
        for wrapper in wrappers {
            // What `ssh` hands to `bash -c` is read by two shells.
            let twice = wrapper.starts_with("ssh -p");
            let text = if twice { quoted(&quoted(&row.command)) } else { quoted(&row.command) };
            let text = format!("{wrapper}{text}");
            assert!(broken(&text).contains(&rule), "{rule}: {text}: {:?}", broken(&text));
            count += 1;
        }
    }
    assert!(count > 500, "only {count} combinations");
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[test]
fn lookups_of_agents_break_no_rule() {
    for row in corpus::rows() {
        if row.family.starts_with("lookups") || row.family.starts_with("mentions") {
            let found: Vec<String> =
                broken(&row.command).into_iter().filter(|rule| rule != "local-sudo").collect();
            assert_eq!(found, [""; 0], "{}", row.command);
        }
    }
}

#[test]
fn every_default_has_rows() {
    let rows = rows("never.jsonl");
    for rule in defaults() {
        let count = rows.iter().filter(|row| row.rule.as_deref() == Some(rule.name)).count();
        assert!(count >= 2 || rule.name == "cluster", "{} has {count} rows", rule.name);
    }
}

#[test]
fn the_document_lists_every_default_and_its_example_is_valid() {
    let text = include_str!("../../docs/policy.md");
    for rule in defaults() {
        assert!(text.contains(&format!("| `{}` |", rule.name)), "docs/policy.md lacks `{}`", rule.name);
    }
    for block in text.split("```yaml\n").skip(1) {
        let yaml = block.split("```").next().expect("a block ends");
        let loaded = opsctl_inventory::load::parse(yaml);
        assert!(loaded.is_ok(), "{yaml}: {:?}", loaded.err());
    }
}

/// Who may be written to in the rows about messages.
const CONTACTS: &str = "
hosts: {ie01: {address: 192.0.2.1}}
contacts:
  anna:
    addresses:
      - anna@example.net
      - root
      - ops
      - $FAMILY
      - https://hooks.slack.com/services/T0/
      - https://ntfy.stump.rocks/anna
    tags: [claude_direct]
  operators: {addresses: [$APPRISE_URLS], tags: [claude_direct]}
  bob: {addresses: [bob@example.net, 'https://discord.com/api/webhooks/2/'], tags: [claude_draft]}
  landlord: {addresses: [landlord@example.net]}
policy:
  webhooks: [https://n8n.stump.rocks/webhook/]
";

/// The denials of a command in a mode, one line for each message; empty if it is allowed.
fn shown(mode: Mode, command: &str) -> String {
    let installation = load::parse(CONTACTS).expect("the contacts are valid");
    let mut reading = read_command(command, Some(Path::new("/app")));
    message::listed(&reading.script, &installation.policy.rules.webhooks, &mut reading.actions);
    let never = Resolve { local: false, ssh: false };
    let actions = resolve(reading.actions, &installation.inventory, never, &NoSurroundings);
    let reasons = modes::objections(&actions, &installation.policy, Some(mode));
    reasons.into_iter().map(|reason| reason.text).collect::<Vec<_>>().join("\n")
}

#[derive(Deserialize)]
struct Message {
    command: String,
    /// A part of the objection in an interactive session.
    says: Option<String>,
}

fn messages() -> Vec<Message> {
    let text = include_str!("../rules/messages.jsonl");
    let row = |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"));
    text.lines().map(row).collect()
}

#[test]
fn recipients_of_messages_are_those_of_the_row() {
    let mut wrong = Vec::new();
    for Message { command, says } in messages() {
        let shown = shown(Mode::Interactive, &command);
        let agrees = says.as_ref().map_or(shown.is_empty(), |part| shown.contains(part.as_str()));
        if !agrees || shown.contains("secret") {
            wrong.push(format!("{command}\n  expected {says:?}\n  found {shown:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn denies_messages_of_unattended_sessions_inside_every_wrapper() {
    let wrappers =
        ["", "bash -c ", "env A=b sh -c ", "timeout 30 bash -c ", "eval ", "ssh root@ie01 ", "sudo bash -c "];
    for Message { command, says } in messages() {
        // What an interactive session may not send, no other may.
        for wrapper in wrappers.iter().filter(|_| says.is_some()) {
            let text =
                if wrapper.is_empty() { command.clone() } else { format!("{wrapper}{}", quoted(&command)) };
            for mode in [Mode::Mission, Mode::Background] {
                let shown = shown(mode, &text);
                let begins =
                    format!("In {} mode, commands may not send messages: a notification (`", mode.as_str());
                assert!(shown.starts_with(&begins), "{text}: {shown:?}");
            }
        }
    }
    for quiet in ["grep mail log", "mail -H", "curl https://example.org", "docker restart jellyfin"] {
        assert_eq!(shown(Mode::Background, quiet), "");
    }
}

/// A container of Claude Ops; no files of this machine are read.
struct Container;

impl LocalMachine for Container {
    fn variable(&self, name: &str) -> Option<String> {
        let value = match name {
            "HOME" => "/home/agent",
            "CLAUDEOPS_STATE_DIR" => "/state",
            "CLAUDEOPS_GUARD" => "unix:/run/guard/opsctl.sock",
            _ => return None,
        };
        Some(value.to_owned())
    }

    fn canonical(&self, _: &str) -> Option<String> {
        None
    }

    fn expand(&self, _: &str) -> Option<Vec<String>> {
        Some(vec![])
    }

    fn below(&self, folder: &str, _: bool) -> Option<Vec<String>> {
        let files: &[&str] = match folder {
            "/app" => &["/app/README.md", "/app/.env"],
            "/" => &["/etc/shadow", "/app/.env"],
            _ => &[],
        };
        Some(files.iter().map(|file| (*file).to_owned()).collect())
    }

    fn is_folder(&self, path: &str) -> bool {
        matches!(path, "/app" | "/app/.claude" | "/app/.claude/hooks" | "/state" | "/tmp")
    }
}

fn locations() -> Locations {
    Locations {
        project: "/app".into(),
        home: Some("/home/agent".into()),
        ledger: "/state/claudeops.db".into(),
        state: "/state".into(),
        approval_key: None,
        database_keys: vec![],
        hosts: vec!["/app/hosts.yaml".into()],
        opsctl: Some("/usr/local/bin/opsctl".into()),
    }
}

fn touched(command: &str) -> Vec<&'static str> {
    let script = shell::read(command, Some("/app"));
    let found = files::objections(&script, &Rules::default(), &locations, &Container);
    let found = found.into_iter().chain(secrets::objections(&script, None));
    let mut rules: Vec<&str> = found.map(|reason| reason.rule).collect();
    rules.dedup();
    rules
}

#[test]
fn every_file_is_guarded_as_its_row_says() {
    let mut wrong = Vec::new();
    for row in rows("files.jsonl").into_iter().chain(rows("secrets.jsonl")) {
        let found = touched(&row.command);
        // A secret that is copied is also read; one of the two is enough to say so.
        let agrees = match &row.rule {
            None => found.is_empty(),
            Some(rule) => found.contains(&rule.as_str()),
        };
        if !agrees {
            wrong.push(format!("{}\n  expected {:?}, found {found:?}", row.command, row.rule));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_shows_secrets_is_stated_as_patterns() {
    for program in Catalogue::default().programs() {
        for pattern in program.shows.iter().flat_map(|(_, patterns)| patterns.iter()) {
            let parsed = Pattern::behind_program(pattern);
            assert!(parsed.is_ok(), "{}: {pattern}: {parsed:?}", program.key);
        }
    }
}

#[test]
fn lookups_of_agents_touch_no_guarded_file() {
    let mut wrong = Vec::new();
    for row in corpus::rows() {
        if row.family.starts_with("lookups") || row.family.starts_with("mentions") {
            let found = touched(&row.command);
            // Two of them write, one prints the environment, and some read the ledger, which verbs of opsctl show.
            let is_guarded = row.command.contains("claudeops.db")
                || row.command.ends_with("mv /tmp/c.json /state/cooldown.json")
                || row.command.starts_with("tee /etc/systemd/system/r.service")
                || row.command.starts_with("env |");
            if found.is_empty() == is_guarded {
                wrong.push(format!("{}: {found:?}", row.command));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

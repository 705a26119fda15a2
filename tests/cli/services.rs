//! Names of services: unknown ones, those that `hosts.yaml` no longer lists, and those that it should list.

use opsctl_policy::model::records::verdict::RULES;
use serde_json::Value;

use crate::sandbox::Sandbox;

const HOSTS: &str = "hosts: {nas: {address: 192.0.2.1, ssh: root@nas}}\nservices: {jellyfin: {host: nas, containers: [media]}}\n";

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("hosts.yaml", HOSTS);
    sandbox
}

#[test]
fn an_unknown_service_is_an_error_with_the_nearest_name() {
    let sandbox = sandbox();
    let force = "add it to `services`, or use the name anyway with --force";
    let list = "see `opsctl cooldown` for all names";
    for (arguments, remedy) in [
        (&["events", "--service"][..], list),
        (&["audit", "--service"], list),
        (&["cooldown", "show"], list),
        (&["cooldown", "record"], force),
        (&["cooldown", "reset"], force),
        (&["cooldown", "healthy"], force),
        (&["cooldown", "unhealthy"], force),
    ] {
        for (name, near) in [("jelyfin", "did you mean `jellyfin`? Otherwise, "), ("other", "")] {
            let run = sandbox.opsctl(&[arguments, &[name]].concat(), b"");
            let message = format!("opsctl: no service `{name}` in hosts.yaml; {near}{remedy}\n");
            assert_eq!((run.code, run.stderr), (Some(1), message), "{arguments:?}");
        }
        for known in ["jellyfin", "media"] {
            assert_eq!(sandbox.opsctl(&[arguments, &[known]].concat(), b"").code, Some(0), "{arguments:?}");
        }
    }
}

#[test]
fn a_name_is_accepted_with_force_and_is_known_afterwards() {
    let sandbox = sandbox();
    assert_eq!(sandbox.opsctl(&["cooldown", "record", "old-wiki", "--force"], b"").code, Some(0));
    for arguments in [&["cooldown", "record", "old-wiki"][..], &["events", "--service", "old-wiki"]] {
        assert_eq!(sandbox.opsctl(arguments, b"").code, Some(0), "{arguments:?}");
    }
}

#[test]
fn an_agent_may_report_on_the_name_that_it_has_acted_on() {
    let sandbox = sandbox();
    assert_eq!(sandbox.before("t1", "docker restart scratch").stdout, "");
    sandbox.after("t1", "docker restart scratch");
    for arguments in [&["cooldown", "healthy", "scratch"][..], &["cooldown", "checked"]] {
        assert_eq!(sandbox.opsctl(arguments, b"").code, Some(0), "{arguments:?}");
    }
}

#[test]
fn without_services_in_hosts_yaml_every_name_is_accepted() {
    let sandbox = Sandbox::new();
    for arguments in
        [&["cooldown", "record", "x"][..], &["events", "--service", "y"], &["cooldown", "healthy", "z"]]
    {
        assert_eq!(sandbox.opsctl(arguments, b"").code, Some(0), "{arguments:?}");
    }
}

#[test]
fn an_unknown_rule_is_an_error_with_the_nearest_name() {
    let sandbox = sandbox();
    let run = sandbox.opsctl(&["audit", "--rule", "bugdet"], b"");
    assert_eq!(
        (run.code, run.stderr.as_str()),
        (Some(1), "opsctl: no rule `bugdet`; did you mean `budget`?\n")
    );
    assert_eq!(sandbox.opsctl(&["audit", "--rule", "never"], b"").code, Some(0));
    sandbox.opsctl(&["cooldown", "record", "jellyfin"], b"");
    sandbox.sql("INSERT INTO hook_decisions (at, verdict, rule, actions, services, budgets, reason) VALUES ('2026-03-21T14:00:00Z', 'deny', 'former', '', '', '', '')");
    assert_eq!(sandbox.opsctl(&["audit", "--rule", "former"], b"").code, Some(0));
}

#[test]
fn every_rule_of_a_denial_is_known() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders = vec![root.join("src"), root.join("crates/policy/src")];
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let text = text.split("#[cfg(test)]").next().unwrap();
            for way in [" rule: \"", "Reason::of(\""] {
                for (at, found) in text.match_indices(way) {
                    let rule = text[at + found.len()..].split('"').next().unwrap();
                    assert!(RULES.contains(&rule), "{rule} in {}", path.display());
                    seen += 1;
                }
            }
        }
    }
    assert!(seen > 25, "{seen}");
}

#[test]
fn a_service_that_is_no_longer_listed_is_shown_apart_and_can_be_forgotten() {
    let sandbox = sandbox();
    sandbox.opsctl(&["cooldown", "record", "jellyfin"], b"");
    sandbox.opsctl(&["cooldown", "record", "old-wiki", "--force"], b"");
    let shown = sandbox.opsctl(&["cooldown"], b"").stdout;
    let (listed, others) = shown.split_once("\nnot in hosts.yaml:\n").unwrap();
    assert!(listed.starts_with("jellyfin: 1/2") && !listed.contains("old-wiki"), "{shown}");
    assert!(others.starts_with("  old-wiki: 1/2"), "{shown}");
    let status = sandbox.opsctl(&["status", "--no-hosts"], b"").stdout;
    assert!(
        status.contains("\nbudgets of services that hosts.yaml does not list:\n  old-wiki: 1/2"),
        "{status}"
    );
    let json: Value = serde_json::from_str(&sandbox.opsctl(&["cooldown", "--json"], b"").stdout).unwrap();
    let listed = |json: &Value| -> Vec<(String, bool)> {
        let services = json["services"].as_array().unwrap().iter();
        services.map(|it| (it["service"].as_str().unwrap().to_owned(), it["listed"] == true)).collect()
    };
    assert_eq!(listed(&json), [("jellyfin".to_owned(), true), ("old-wiki".to_owned(), false)]);
    sandbox.opsctl(&["report", "--no-hosts", "--html", "report.html"], b"");
    let report = sandbox.read("report.html");
    let (_, apart) = report.split_once("<h3>Not in hosts.yaml</h3>").unwrap();
    assert!(apart.contains("old-wiki"));

    let refused = sandbox.opsctl(&["cooldown", "forget", "jellyfin"], b"");
    let message = "opsctl: `jellyfin` is listed in hosts.yaml; remove it there first, or clear its counters with `opsctl cooldown reset jellyfin`\n";
    assert_eq!((refused.code, refused.stderr.as_str()), (Some(1), message));
    let refused = sandbox.opsctl(&["cooldown", "forget", "never-seen"], b"");
    let message = "opsctl: nothing is recorded for `never-seen`; `opsctl cooldown` lists the names that have a history\n";
    assert_eq!((refused.code, refused.stderr.as_str()), (Some(1), message));

    let forgotten = sandbox.opsctl(&["cooldown", "forget", "old-wiki"], b"");
    assert_eq!(
        (forgotten.code, forgotten.stdout.as_str()),
        (Some(0), "old-wiki: forgotten\n"),
        "{forgotten:?}"
    );
    for arguments in [&["cooldown"][..], &["status", "--no-hosts"], &["cooldown", "--json"]] {
        assert!(!sandbox.opsctl(arguments, b"").stdout.contains("old-wiki"), "{arguments:?}");
    }
    assert!(!sandbox.read("cooldown.json").contains("old-wiki"));
    assert_eq!(sandbox.sql("SELECT count(*) FROM cooldown_actions WHERE service = 'old-wiki'"), "1");
    assert!(sandbox.opsctl(&["cooldown"], b"").stdout.starts_with("jellyfin: 1/2"));
}

#[test]
fn a_name_of_several_services_is_refused_and_a_playbook_is_a_redeployment() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "hosts.yaml",
        "services: {smb: {playbooks: [files.yml]}, nfs: {playbooks: [files.yml]}, wiki: {playbooks: [wiki.yml]}}\n",
    );
    for verb in ["record", "reset", "healthy", "unhealthy"] {
        let run = sandbox.opsctl(&["cooldown", verb, "files.yml"], b"");
        let message = "opsctl: `files.yml` belongs to several services; name one of them: smb, nfs\n";
        assert_eq!((run.code, run.stderr.as_str()), (Some(1), message), "{verb}");
    }
    let run = sandbox.opsctl(&["cooldown", "record", "wiki.yml"], b"");
    assert!(run.stdout.starts_with("wiki: 0/2 restarts (4h), 1/1 redeployments"), "{run:?}");
    let run = sandbox.opsctl(&["cooldown", "record", "wiki.yml", "--kind", "restart"], b"");
    assert!(run.stdout.starts_with("wiki: 1/2 restarts"), "{run:?}");
}

#[test]
fn an_action_in_the_future_is_refused() {
    let sandbox = sandbox();
    let record = |at: &str| sandbox.opsctl(&["cooldown", "record", "jellyfin", "--at", at], b"");
    let run = record("2999-01-01T00:00:00Z");
    let message = "opsctl: 2999-01-01T00:00:00Z is in the future; name a time that has passed\n";
    assert_eq!((run.code, run.stderr.as_str()), (Some(1), message));
    let soon = chrono::Utc::now() + chrono::TimeDelta::seconds(20);
    assert_eq!(record(&soon.to_rfc3339()).code, Some(0));
}

#[test]
fn every_name_that_cooldown_shows_is_accepted_and_forgotten_once() {
    let sandbox = sandbox();
    assert_eq!(sandbox.before("t1", "ssh nas docker restart $X").code, Some(0));
    sandbox.after("t1", "ssh nas docker restart $X");
    let shown = sandbox.opsctl(&["cooldown"], b"").stdout;
    assert!(shown.contains("\n  unresolved@nas: 1/"), "{shown}");
    for verb in ["show", "reset"] {
        let run = sandbox.opsctl(&["cooldown", verb, "unresolved@nas"], b"");
        assert_eq!(run.code, Some(0), "{verb}: {run:?}");
    }
    sandbox.opsctl(&["cooldown", "record", "scratch", "--force"], b"");
    assert_eq!(sandbox.opsctl(&["cooldown", "forget", "scratch"], b"").stdout, "scratch: forgotten\n");
    let again = sandbox.opsctl(&["cooldown", "forget", "scratch"], b"");
    assert!(again.code == Some(1) && again.stderr.contains("nothing is recorded for `scratch`"), "{again:?}");
}

#[test]
fn the_agent_cannot_forget_a_service_or_write_an_installation() {
    let sandbox = sandbox();
    for command in
        ["opsctl cooldown forget old-wiki", "opsctl init --from /srv /app", "opsctl init --force /app"]
    {
        let run = sandbox.before("t1", command);
        assert_eq!(run.code, Some(2), "{command}: {run:?}");
        assert!(run.stderr.contains("would weaken the limits"), "{command}: {}", run.stderr);
    }
    let tier_1 = sandbox.with("CLAUDEOPS_TIER", "1");
    for command in ["opsctl suggest", "opsctl suggest --since 7d --json", "opsctl init --help"] {
        let run = tier_1.before("t2", command);
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{command}");
    }
}

#[test]
fn suggests_what_would_resolve_the_ledger() {
    let sandbox = sandbox().with("CLAUDEOPS_TIER", "2");
    for (id, command) in [
        ("t1", "docker restart sonarr"),
        ("t2", "ssh root@nas systemctl restart wg-quick@wg0"),
        ("t3", "ssh root@nas sudo systemctl restart smbd"),
        ("t4", "docker restart jellyfin-2"),
        ("t5", "ssh root@attic.lan docker restart sonarr"),
        ("t6", "frobctl sync --token hunter2"),
        ("t7", "docker restart media"),
        ("t8", "docker restart $X"),
    ] {
        if sandbox.before(id, command).code == Some(0) {
            sandbox.after(id, command);
        }
    }
    let before = sandbox.sql("SELECT count(*) FROM events");
    let run = sandbox.opsctl(&["suggest"], b"");
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
    let text: String = run.stdout.lines().map(|line| masked(line) + "\n").collect();
    assert_eq!(
        text,
        "hosts:
  # once, last TIME; add `ssh:` with the user
  attic.lan: {address: attic.lan}

services:
  # 2 times, last TIME: `docker restart sonarr`
  sonarr: {}
  # once, last TIME: `docker restart jellyfin-2`
  # If it is a part of jellyfin, list it there instead.
  jellyfin-2: {}
  # once, last TIME: `systemctl restart smbd`
  smbd: {host: nas, units: [smbd]}
  # once, last TIME: `systemctl restart wg-quick@wg0`
  wg-quick-wg0: {host: nas, units: [wg-quick@wg0]}

programs:
  # once, last TIME: `frobctl`; what it does is unknown
  # State `reads`, or what it does (docs/programs.md); `render` refuses `unknown`.
  frobctl: {effect: unknown, matches: [frobctl]}

# No key determines the targets of these commands; the agent must name them:
#   once, last TIME: `docker restart $X`
"
    );
    let json: Value = serde_json::from_str(&sandbox.opsctl(&["suggest", "--json"], b"").stdout).unwrap();
    let suggestions = json["suggestions"].as_array().unwrap();
    let smbd = suggestions.iter().find(|it| it["name"] == "smbd").unwrap();
    assert_eq!((&smbd["key"], &smbd["host"], &smbd["times"]), (&"units".into(), &"nas".into(), &1.into()));
    assert_eq!(sandbox.sql("SELECT count(*) FROM events"), before);

    let together = run
        .stdout
        .replace("hosts:\n", "hosts:\n  nas: {address: 192.0.2.1, ssh: root@nas}\n")
        .replace("services:\n", "services:\n  jellyfin: {host: nas, containers: [media]}\n");
    sandbox.write("hosts.yaml", &together);
    let render = sandbox.opsctl(&["render", "--out", "project"], b"");
    assert_eq!(render.code, Some(1), "the operator has to state what frobctl does");
    assert!(
        render.stderr.contains("lists `frobctl` under `matches`, but it is not a command that only reads"),
        "{render:?}"
    );
    sandbox.write("hosts.yaml", &together.replace("effect: unknown", "effect: reads"));
    let render = sandbox.opsctl(&["render", "--out", "project", "--tier", "none"], b"");
    let others =
        render.stderr.lines().filter(|line| !line.contains("a mod of the client can silence the hooks"));
    assert_eq!((render.code, others.count()), (Some(0), 0), "{render:?}");
    let again = sandbox.opsctl(&["suggest"], b"").stdout;
    assert!(!again.contains("sonarr") && !again.contains("frobctl") && !again.contains("smbd:"), "{again}");
}

#[test]
fn suggests_only_names_that_were_recorded_and_not_the_words_of_a_command() {
    let sandbox = sandbox().with("CLAUDEOPS_TIER", "3");
    for (id, command) in [
        ("t1", "kubectl -n x rollout restart deploy -l tier=foo"),
        ("t2", "ssh nas 'docker restart \"my wiki\"'"),
        ("t3", "docker compose -p mystack down"),
        ("t4", "docker restart 3f4e5d6c7b8a"),
        ("t5", "kubectl -n x rollout restart deploy/foo"),
        ("t6", "docker restart one two"),
    ] {
        if sandbox.before(id, command).code == Some(0) {
            sandbox.after(id, command);
        }
    }
    let found = sandbox.opsctl(&["suggest"], b"").stdout;
    let text: String = found.lines().map(|line| masked(line) + "\n").collect();
    assert_eq!(
        text,
        "services:
  # once, last TIME: `kubectl rollout restart deploy/foo`
  foo: {workloads: [deployment/foo]}
  # once, last TIME: `docker compose down`
  mystack: {projects: [mystack]}
  # once, last TIME: `docker restart one`
  one: {}
  # once, last TIME: `docker restart two`
  two: {}

# With `policy: {resolve: [local, ssh]}`, opsctl asks the engines which containers these IDs name:
#   once, last TIME: `docker restart 3f4e5d6c7b8a`

# No key determines the targets of these commands; the agent must name them:
#   once, last TIME: `docker restart my wiki`
#   once, last TIME: `kubectl rollout restart deploy, by selection`
"
    );
}

/// The line with its times replaced.
fn masked(line: &str) -> String {
    match line.split_once(", last ") {
        Some((front, back)) => format!("{front}, last TIME{}", &back["2026-03-21T14:00:00Z".len()..]),
        None => line.to_owned(),
    }
}

#[test]
fn without_a_ledger_there_is_nothing_to_suggest() {
    let run = sandbox().opsctl(&["suggest"], b"");
    let text = "# nothing to suggest: hosts.yaml lists what the ledger contains\n";
    assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (Some(0), text, ""));
    let json = sandbox().opsctl(&["suggest", "--json"], b"");
    assert_eq!(json.stdout, "{\"suggestions\":[]}\n");
}

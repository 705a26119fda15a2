//! `opsctl render`: the files that it writes and keeps, and when it writes nothing.

use serde_json::{Value, json};

use crate::sandbox::Sandbox;

const EXAMPLE: &str = include_str!("../../hosts.yaml");
const FILES: [&str; 6] = [
    ".claude/settings.json",
    ".claude/hooks/verify-remediation.md",
    ".claude/prompts/tier1-observe.md",
    ".claude/prompts/tier2-remediate.md",
    ".claude/prompts/tier3-full.md",
    ".claude/opsctl/policy.json",
];

/// What render reports where its hooks are not managed.
const NOTICE: &str = "opsctl: a mod of the client can silence the hooks in ./.claude/settings.json; to prevent that, run `opsctl render --managed /etc/claude-code/managed-settings.json` as root\n";

fn rendered(hosts: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("hosts.yaml", hosts);
    let run = sandbox.opsctl(&["render", "--empty", "--tier", "none"], b"");
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), NOTICE), "{run:?}");
    assert_eq!(run.stdout, FILES.map(|file| format!("./{file}\n")).concat());
    sandbox
}

fn settings(sandbox: &Sandbox) -> Value {
    serde_json::from_str(&sandbox.read(FILES[0])).unwrap()
}

#[test]
fn every_event_with_a_handler_calls_opsctl_without_a_shell() {
    let settings = settings(&rendered(EXAMPLE));
    for (event, argument, matcher) in [
        ("SessionStart", "session-start", None),
        (
            "PreToolUse",
            "pre-tool-use",
            Some("Bash|Monitor|PowerShell|Write|Edit|MultiEdit|NotebookEdit|Read|Grep|Glob"),
        ),
        ("PostToolUse", "post-tool-use", Some("Bash|Monitor|PowerShell|Read|Grep|TaskOutput|BashOutput")),
        ("PostToolUseFailure", "post-tool-use-failure", Some("Bash|Monitor|PowerShell")),
        ("SessionEnd", "session-end", None),
        ("Notification", "notification", None),
    ] {
        let group = &settings["hooks"][event][0];
        assert_eq!(group.get("matcher").and_then(Value::as_str), matcher, "{event}");
        let hook = &group["hooks"][0];
        assert_eq!(hook["type"], "command", "{event}");
        assert_eq!(hook["command"], env!("CARGO_BIN_EXE_opsctl"), "{event}");
        assert_eq!(hook["args"], json!(["hook", argument]), "{event}");
        assert!(hook["timeout"].as_u64().is_some_and(|seconds| (1..=30).contains(&seconds)), "{event}");
        // The example fails closed, which only a denial before the tool can carry out.
        let on_failure = hook.get("onFailure").and_then(Value::as_str);
        assert_eq!(on_failure, (event == "PreToolUse").then_some("block"), "{event}");
    }
    let mcp = &settings["hooks"]["PreToolUse"][1];
    assert_eq!(mcp["matcher"], "mcp__.*");
    assert_eq!(mcp["hooks"], settings["hooks"]["PreToolUse"][0]["hooks"]);
}

#[test]
fn the_inline_prompt_is_identical_to_its_file() {
    let sandbox = rendered(EXAMPLE);
    let hook = &settings(&sandbox)["hooks"]["Stop"][0]["hooks"][0];
    assert_eq!(hook["type"], "agent");
    assert_eq!(hook.get("prompt_file"), None, "the client drops an entry that has one");
    let prompt = sandbox.read(FILES[1]);
    assert_eq!(hook["prompt"], json!(prompt));
    for needed in [
        "$ARGUMENTS",
        "{\"ok\": false, \"reason\": ",
        "'https://jellyfin.stump.rocks/health'` prints 200",
        "'https://adguard.stump.rocks/login'` prints 200 or 302",
        "ssh root@pie01 docker ps --filter name=^adguardhome$",
        "ssh root@ie01 systemctl is-active nginx",
        "dig +short +time=3 adguard.stump.rocks",
    ] {
        assert!(prompt.contains(needed), "{needed}\n{prompt}");
    }
}

#[test]
fn the_verifier_prompt_lists_commands_that_show_the_state_of_each_part() {
    let sandbox = rendered(
        r#"{hosts: {nas: {address: 192.0.2.1, ssh: root@nas}, k: {address: 192.0.2.2}}, services: {
            samba: {host: nas, units: [smbd, backup.timer], check: {command: [sh, -c, 'smbclient -L "$(hostname)"'], expect: 1}},
            web: {host: nas, engine: podman},
            local: {host: k, check: [{command: [pg_isready, -q]}]},
            vpn: {host: nas, units: ['wg-quick@wg0', 'a\x2db']},
            vm: {host: nas, guests: [qm/101, incus/web, bare]},
            media: {workloads: [media/statefulset/db, jellyfin]}}}"#,
    );
    let prompt = sandbox.read(FILES[1]);
    for line in [
        "unit: `ssh root@nas systemctl is-active smbd` prints `active`",
        "unit: `ssh root@nas systemctl is-active backup.timer` prints `active`",
        r#"command: `ssh root@nas 'sh -c '\''smbclient -L "$(hostname)"'\'''` exits with 1"#,
        "container: `ssh root@nas podman ps --filter name=^web$ --format '{{.Status}}'` prints a line that begins with",
        "container: `docker ps --filter name=^local$",
        "command: `pg_isready -q` exits with 0",
        "unit: `ssh root@nas systemctl is-active wg-quick@wg0` prints `active`",
        r"unit: `ssh root@nas 'systemctl is-active '\''a\x2db'\'''` prints `active`",
        "guest: `ssh root@nas qm status 101` prints that it is running",
        r"guest: `ssh root@nas 'incus list '\''^web$'\'' --format csv --columns s'` prints that it is running",
        "workload: `kubectl get statefulset --namespace=media --field-selector metadata.name=db` shows as many ready",
        "workload: `kubectl get deployment,statefulset,daemonset,job,cronjob --all-namespaces --field-selector \
         metadata.name=jellyfin` shows as many ready",
    ] {
        assert!(prompt.contains(&format!("\n  - {line}")), "{line}\n{prompt}");
    }
    assert_eq!(prompt.matches("docker ps").count(), 1, "{prompt}");
}

#[test]
fn the_prompts_list_what_a_person_is_asked_about() {
    let sandbox = rendered(
        "hosts: {nas: {address: 192.0.2.1}}\nservices: {shop: {host: nas}}\n\
         policy:\n  approval_key: \"ed25519:k6pjVhPAqKGYtDYoJwkEHsUxLi7J53pCkOmGxAbnfG4=\"\n  \
         ask: [merge]\n  never: {power: ask, database: {ask_on: [nas/shop]}}\n",
    );
    let prompt = sandbox.read(FILES[3]);
    let (denied, asked) = prompt.split_once("A person is asked about these before they run.").unwrap();
    for rule in ["\n- merge: Only an operator merges changes.", "\n- power: All services of the host stop"] {
        assert!(asked.contains(rule) && !denied.contains(rule), "{rule}\n{prompt}");
    }
    assert!(denied.contains("\n- database: No repair needs to remove data"), "{prompt}");
    assert!(
        denied.contains("\n- database: a person is asked on nas for shop. Try the command once"),
        "{prompt}"
    );
    assert!(!asked.contains("\n- database:"), "{prompt}");
}

#[test]
fn the_prompts_name_the_engines_of_the_inventory() {
    let (docker, podman) = ("web: {}", "db: {engine: podman}");
    for (services, lines) in [
        (
            "",
            ["`docker ps`, `systemctl", "`docker logs --tail 100`, `docker inspect`, `systemctl"].as_slice(),
        ),
        (
            "vpn: {units: [vpn], engine: podman}",
            &["yourself, as far as reading suffices: `docker ps`, `systemctl"],
        ),
        (
            docker,
            &[
                "suffices: `docker ps`, `systemctl",
                "runs (`docker inspect --format '{{.Config.Image}}' NAME` on its",
            ],
        ),
        (
            podman,
            &[
                "suffices: `podman ps`, `systemctl",
                "runs (`podman inspect --format '{{.Config.Image}}' NAME` on its",
                "   `podman logs --tail 100`, `podman inspect`, `systemctl",
                "- db: podman container db\n",
            ],
        ),
        (
            &format!("{docker}, {podman}"),
            &[
                "suffices: `docker ps`, `podman ps`, `systemctl",
                "(`docker inspect --format '{{.Config.Image}}' NAME` or `podman inspect --format '{{.Config.Image}}' NAME` on its",
                "- web: container web\n- db: podman container db\n",
            ],
        ),
    ] {
        let sandbox = rendered(&format!("services: {{{services}}}"));
        let prompt = sandbox.read(FILES[2]);
        for line in lines {
            assert!(prompt.contains(line), "{services}: {line}\n{prompt}");
        }
        for (engine, used) in [("docker", services != podman), ("podman", services.contains("db"))] {
            for verb in ["ps", "logs", "inspect"] {
                assert_eq!(
                    prompt.contains(&format!("`{engine} {verb}")),
                    used,
                    "{services}: {engine} {verb}"
                );
            }
        }
    }
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    let (one, two) = (rendered(EXAMPLE), rendered(EXAMPLE));
    let again = one.opsctl(&["render", "--empty"], b"");
    assert_eq!(again.code, Some(0));
    for file in FILES {
        assert_eq!(one.read(file), two.read(file), "{file}");
    }
}

#[test]
fn a_closed_policy_is_rendered_for_the_client_too() {
    let settings = settings(&rendered("policy: {on_failure: closed}\n"));
    let before = &settings["hooks"]["PreToolUse"];
    for group in 0..2 {
        assert_eq!(before[group]["hooks"][0]["onFailure"], "block", "every call that it selects, {before}");
    }
    assert_eq!(settings["hooks"]["PostToolUse"][0]["hooks"][0].get("onFailure"), None);
}

#[test]
fn harmless_keys_are_kept_and_hooks_of_others_are_removed() {
    let sandbox = Sandbox::new();
    sandbox.write("hosts.yaml", "");
    let lint = json!({"matcher": "Write", "hooks": [{"type": "command", "command": "lint"}]});
    let theirs = json!({"model": "opus", "hooks": {"PostToolUse": [lint]}, "env": {"TZ": "UTC"}});
    sandbox.write(FILES[0], &theirs.to_string());
    let run = sandbox.opsctl(&["render", "--empty", "--tier", "none"], b"");
    assert_eq!(
        (run.code, run.stderr.replace(NOTICE, "").as_str()),
        (
            Some(0),
            "opsctl: removed `hooks.PostToolUse` in ./.claude/settings.json, which runs beside the hooks of opsctl; to keep it, list it under `hooks` in hosts.yaml\n"
        )
    );
    let settings = settings(&sandbox);
    assert_eq!((&settings["model"], &settings["env"]), (&json!("opus"), &json!({"TZ": "UTC"})));
    assert!(!settings.to_string().contains("lint"), "{settings}");
}

/// Settings that run programs and weaken the guard.
const WEAKER: &str = r#"{"apiKeyHelper": "x", "disableAllHooks": true, "env": {"CLAUDEOPS_TIER": "3", "TZ": "UTC"},
    "statusLine": {"type": "command", "command": "x"}, "permissions": {"allow": ["Bash"], "deny": ["Read"]}}"#;

#[test]
fn settings_that_weaken_the_guard_are_removed_and_reported_a_line_each() {
    for (file, other) in [(FILES[0], true), (".claude/settings.local.json", false)] {
        let sandbox = rendered("");
        sandbox.write(file, WEAKER);
        let keys =
            ["apiKeyHelper", "disableAllHooks", "statusLine", "env.CLAUDEOPS_TIER", "permissions.allow"];
        let check = sandbox.opsctl(&["render", "--empty", "--check"], b"");
        assert_eq!(check.code, Some(1), "{file}");
        for key in keys {
            let reported = |line: &&str| {
                line.contains(&format!("`{key}` in ./{file}, which "))
                    && line.ends_with(
                        "`opsctl render` removes it; to keep it, state it under `settings` in hosts.yaml",
                    )
            };
            assert_eq!(check.stderr.lines().filter(reported).count(), 1, "{key}: {}", check.stderr);
        }
        let run = sandbox.opsctl(&["render", "--empty", "--tier", "none"], b"");
        assert_eq!((run.code, run.stderr.lines().count()), (Some(0), keys.len() + 1), "{run:?}");
        let left: Value = serde_json::from_str(&sandbox.read(file)).unwrap();
        assert_eq!((&left["env"], &left["permissions"]), (&json!({"TZ": "UTC"}), &json!({"deny": ["Read"]})));
        assert_eq!((left.get("apiKeyHelper"), left.get("hooks").is_some()), (None, other), "{left}");
        let again = sandbox.opsctl(&["render", "--empty", "--check"], b"");
        assert_eq!((again.code, again.stderr.as_str()), (Some(0), ""));
    }
}

#[test]
fn settings_that_hosts_yaml_states_are_rendered() {
    let sandbox = rendered("settings: {apiKeyHelper: /key, env: {HTTPS_PROXY: \"http://proxy\"}}\n");
    let stated = |sandbox: &Sandbox| {
        let settings = settings(sandbox);
        (settings["apiKeyHelper"].clone(), settings["env"].clone())
    };
    let expected = (json!("/key"), json!({"HTTPS_PROXY": "http://proxy"}));
    assert_eq!(stated(&sandbox), expected);
    let changed = sandbox.read(FILES[0]).replace("/key", "/evil").replace("http://proxy", "http://evil");
    sandbox.write(FILES[0], &changed);
    assert_eq!(sandbox.opsctl(&["render", "--empty"], b"").code, Some(0));
    assert_eq!(stated(&sandbox), expected);
    assert_eq!(sandbox.opsctl(&["render", "--empty", "--check"], b"").code, Some(0));
}

#[test]
fn check_writes_nothing_and_names_what_differs() {
    let sandbox = rendered(EXAMPLE);
    let run = sandbox.opsctl(&["render", "--empty", "--check"], b"");
    assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (Some(0), "", ""));
    sandbox.write(FILES[1], "tampered with\n");
    std::fs::remove_file(sandbox.path(FILES[5])).unwrap();
    let run = sandbox.opsctl(&["render", "--empty", "--check"], b"");
    assert_eq!(run.code, Some(1));
    assert_eq!(run.stderr.lines().count(), 2, "{run:?}");
    assert!(run.stderr.contains(FILES[1]) && run.stderr.contains(FILES[5]), "{run:?}");
    assert_eq!(sandbox.read(FILES[1]), "tampered with\n");
    assert!(!sandbox.path(FILES[5]).exists());
}

#[test]
fn an_invalid_settings_file_is_not_overwritten() {
    let sandbox = Sandbox::new();
    sandbox.write("hosts.yaml", "");
    sandbox.write(FILES[0], "{ half written");
    let run = sandbox.opsctl(&["render", "--empty"], b"");
    assert_eq!(run.code, Some(1));
    assert_eq!(run.stderr.lines().count(), 1, "{run:?}");
    assert!(run.stderr.contains("line 1") && run.stderr.contains("correct it or move it away"), "{run:?}");
    assert_eq!(sandbox.read(FILES[0]), "{ half written");
    assert!(!sandbox.path(FILES[1]).exists());
}

#[test]
fn an_unwritable_folder_changes_nothing() {
    let sandbox = Sandbox::new();
    sandbox.write("hosts.yaml", "");
    // A file where a folder is needed stops the last of the files; the first must not be there either.
    sandbox.write(".claude/opsctl", "in the way");
    let run = sandbox.opsctl(&["render", "--empty"], b"");
    assert_eq!((run.code, run.stderr.lines().count()), (Some(1), 1), "{run:?}");
    assert!(!sandbox.path(FILES[0]).exists());
    let left: Vec<_> =
        std::fs::read_dir(sandbox.path(".claude")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().starts_with(".opsctl-")), "{left:?}");
}

#[test]
fn a_tier_rendered_in_holds_where_the_session_names_none() {
    let sandbox = Sandbox::new();
    sandbox.write("hosts.yaml", "");
    assert_eq!(sandbox.opsctl(&["render", "--empty", "--tier", "1"], b"").code, Some(0));
    assert_eq!(sandbox.before("t1", "docker restart jellyfin").code, Some(2));
    let sandbox = sandbox.with("CLAUDEOPS_TIER", "2");
    assert_eq!(sandbox.before("t2", "docker restart jellyfin").code, Some(0));
}

/// The managed settings as JSON, rendered in addition to the project's.
fn managed(sandbox: &Sandbox) -> (Value, Value) {
    let run = sandbox.opsctl(&["render", "--empty", "--managed", "etc/managed-settings.json"], b"");
    assert_eq!(run.code, Some(0), "{run:?}");
    let managed = serde_json::from_str(&sandbox.read("etc/managed-settings.json")).unwrap();
    (managed, settings(sandbox))
}

#[test]
fn managed_settings_hold_the_hooks_and_the_project_has_none_twice() {
    let sandbox = rendered(EXAMPLE);
    let hooks = settings(&sandbox)["hooks"].clone();
    let lint = json!({"matcher": "Write", "hooks": [{"type": "command", "command": "lint"}]});
    let mut with_theirs = settings(&sandbox);
    with_theirs["hooks"]["PreToolUse"].as_array_mut().unwrap().push(lint);
    sandbox.write(FILES[0], &with_theirs.to_string());

    let (managed, project) = managed(&sandbox);
    assert_eq!(project.get("hooks"), None);
    assert_eq!(managed["allowManagedHooksOnly"], true);
    assert_eq!(managed["permissions"]["disableBypassPermissionsMode"], "disable");
    assert_eq!(managed["crossSessionInbound"], "refuse");
    let run = sandbox.opsctl(&["render", "--managed", "etc/managed-settings.json"], b"");
    assert_eq!(run.stderr, "", "only hooks of a project can be silenced");
    assert_eq!(managed["hooks"]["PreToolUse"], hooks["PreToolUse"]);
    // `opsctl session` has a model verify what a session did; of other clients, the hook alone.
    let at_stop = managed["hooks"]["Stop"][0]["hooks"].as_array().unwrap();
    assert_eq!(at_stop.iter().map(|hook| &hook["type"]).collect::<Vec<_>>(), ["command"]);
}

#[test]
fn managed_settings_of_others_are_kept_and_rendering_again_changes_nothing() {
    let sandbox = Sandbox::new();
    sandbox
        .write("hosts.yaml", "policy: {tiers: {1: {deny: [a b]}, 2: {deny: [a b]}, 3: {deny: [a b, c]}}}\n");
    sandbox.write(
        "etc/managed-settings.json",
        r#"{"env": {"A": "1"}, "blockedMarketplaces": [{"source": "npm", "package": "x"}],
            "pluginConfigs": {"a@b": {"options": {"c": 1}}}, "permissions": {"deny": ["Read(/etc/shadow)"], "ask": ["Bash(x:*)"]}}"#,
    );
    let (once, _) = managed(&sandbox);
    assert_eq!(once["env"], json!({"A": "1"}));
    assert_eq!(
        once["blockedMarketplaces"],
        json!([{"source": "npm", "package": "x"}, {"source": "skills-dir"}])
    );
    assert_eq!(once["pluginConfigs"]["a@b"]["options"]["c"], 1);
    let denied = json!(["Read(/etc/shadow)", "Bash(a b:*)"]);
    assert_eq!((&once["permissions"]["deny"], &once["permissions"]["ask"]), (&denied, &json!(["Bash(x:*)"])));
    assert_eq!(managed(&sandbox).0, once);
}

#[test]
fn check_sees_managed_settings_that_differ() {
    let sandbox = rendered(EXAMPLE);
    managed(&sandbox);
    let check = ["render", "--managed", "etc/managed-settings.json", "--check"];
    assert_eq!(sandbox.opsctl(&check, b"").code, Some(0));
    let weaker = sandbox.read("etc/managed-settings.json").replace("\"pre-tool-use\"", "\"stop\"");
    sandbox.write("etc/managed-settings.json", &weaker);
    let run = sandbox.opsctl(&check, b"");
    assert_eq!((run.code, run.stderr.lines().count()), (Some(1), 1), "{run:?}");
    assert!(run.stderr.contains("etc/managed-settings.json is out of date with hosts.yaml"), "{run:?}");
}

#[test]
fn an_up_to_date_file_needs_no_write_permission() {
    use std::os::unix::fs::MetadataExt;
    let sandbox = rendered(EXAMPLE);
    let inode = || std::fs::metadata(sandbox.path(FILES[5])).unwrap().ino();
    let before = inode();
    assert_eq!(sandbox.opsctl(&["render", "--empty"], b"").code, Some(0));
    assert_eq!(inode(), before, "it was not replaced");
}

#[test]
fn hooks_of_hosts_yaml_follow_ours_and_are_removed_with_their_entry() {
    let sandbox = Sandbox::new();
    let settings = |hosts_yaml: &str| -> serde_json::Value {
        sandbox.write("hosts.yaml", hosts_yaml);
        for arguments in [
            &["render", "--empty", "--tier", "none"][..],
            &["render", "--empty", "--tier", "none"],
            &["render", "--empty", "--tier", "none", "--check"],
        ] {
            let run = sandbox.opsctl(arguments, b"");
            assert_eq!((run.code, run.stderr.replace(NOTICE, "").as_str()), (Some(0), ""), "{run:?}");
        }
        serde_json::from_str(&sandbox.read(".claude/settings.json")).unwrap()
    };
    let without = settings("{}\n");
    let with = settings(
        "hooks:\n  PreToolUse: [{matcher: Bash, command: lint, timeout: 5}]\n  PreCompact: [{type: prompt, prompt: Ready?}]\n",
    );
    let last = with["hooks"]["PreToolUse"].as_array().unwrap().last().unwrap();
    assert_eq!(
        last,
        &serde_json::json!({"matcher": "Bash", "from": "hosts.yaml",
                            "hooks": [{"type": "command", "command": "lint", "timeout": 5}]})
    );
    assert_eq!(with["hooks"]["PreCompact"].as_array().unwrap().len(), 1);
    assert_eq!(settings("{}\n"), without, "nothing of them is left");
}

/// The commands that a prompt states: its indented blocks.
fn commands(prompt: &str) -> Vec<String> {
    let mut blocks = vec![String::new()];
    for line in prompt.lines() {
        match (line.strip_prefix("    "), blocks.last_mut()) {
            (Some(code), Some(block)) => block.push_str(&format!("{}\n", code.trim_start())),
            _ => blocks.push(String::new()),
        }
    }
    blocks.retain(|block| !block.is_empty() && !block.starts_with("[EVENT:"));
    blocks
}

#[test]
fn every_command_of_a_prompt_is_allowed_at_its_tier() {
    let sandbox = rendered(EXAMPLE);
    for (tier, file, count) in [("1", FILES[2], 4), ("2", FILES[3], 1), ("3", FILES[4], 1)] {
        let commands = commands(&sandbox.read(file));
        assert_eq!(commands.len(), count, "tier {tier}: {commands:#?}");
        for command in commands {
            let run = sandbox.opsctl(&["explain", "--exit-code", "--tier", tier, &command], b"");
            assert_eq!(run.code, Some(0), "tier {tier}: {command}\n{}", run.stdout);
        }
    }
}

#[test]
fn an_inventory_that_is_slow_to_read_should_be_rendered() {
    let services: String = (0..1001).map(|number| format!("  service{number}: {{}}\n")).collect();
    let sandbox = Sandbox::new();
    sandbox.write("hosts.yaml", &format!("services:\n{services}"));
    let warned = |what: &str| {
        let run = sandbox.before(what, "docker restart service7");
        assert_eq!((run.code, run.stdout.as_str()), (Some(0), ""), "{run:?}");
        run.stderr.contains("hosts.yaml lists 1001 services, and every command that acts reads it anew; render it with `opsctl render`")
    };
    assert!(warned("t1"), "unrendered");
    sandbox.opsctl(&["render", "--empty"], b"");
    assert!(!warned("t2"));
}

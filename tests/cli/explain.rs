//! `opsctl explain`: the JSON contract for programs, and the text for people.

use serde_json::{Value, json};

use crate::sandbox::{Sandbox, denied, passes};

fn json(sandbox: &Sandbox, command: &str) -> Value {
    let run = sandbox.opsctl(&["explain", "--json", "--cwd", "/opt/media", command], b"");
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
    serde_json::from_str(&run.stdout).unwrap()
}

#[test]
fn the_json_is_that_of_the_contract() {
    let sandbox = Sandbox::new();
    let command = "ssh root@ie01 'sudo docker restart jellyfin'";
    assert_eq!(
        json(&sandbox, command),
        json!({
            "command": command,
            "complaints": [],
            "effect": "acts",
            "parts": [
                {"command": "ssh root@ie01 sudo docker restart jellyfin", "effect": "reads", "why": "it runs the command below it"},
                {"command": "sudo docker restart jellyfin   [on ie01]", "effect": "reads", "why": "it runs the command below it"},
                {"command": "docker restart jellyfin   [on ie01]", "effect": "acts", "why": "it is a restart"}
            ],
            "actions": [{"kind": "restart", "verb": "restart", "name": "jellyfin", "service": "jellyfin", "host": "ie01",
                "via": ["ssh", "sudo"], "repeats": false, "evidence": "docker restart jellyfin"}],
            "decision": "allow",
            "reasons": []
        })
    );
    assert!(!sandbox.path("claudeops.db").exists(), "explaining changes nothing");
}

#[test]
fn the_decision_is_the_one_that_the_hook_would_make() {
    let sandbox = Sandbox::new();
    for id in ["t1", "t2"] {
        sandbox.before(id, "docker restart jellyfin");
    }
    let explained = json(&sandbox, "docker restart jellyfin");
    assert_eq!(explained["decision"], "deny");
    let hook = sandbox.before("t3", "docker restart jellyfin");
    assert_eq!(explained["reasons"][0].as_str().unwrap(), hook.stderr.trim_end());
}

#[test]
fn the_working_directory_names_the_project() {
    assert_eq!(json(&Sandbox::new(), "docker compose up -d")["actions"][0]["service"], "media");
}

#[test]
fn a_command_may_come_from_stdin() {
    let run = Sandbox::new().opsctl(&["explain", "-"], b"docker restart jellyfin\n");
    assert_eq!(run.code, Some(0));
    assert!(run.stdout.contains("restart") && run.stdout.contains("jellyfin"), "{}", run.stdout);
}

const POLICY: &str = "\
services: {jellyfin: {containers: [jf]}}
policy:
  tools:
    mcp__docker__restart: {action: restart, service: name}
    mcp__forge__merge: {action: never}
";

/// A sandbox with a policy in which both restarts of jellyfin are used up.
fn prepared(variables: &[(&str, &str)]) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("hosts.yaml", POLICY);
    sandbox.write(".env", "PASSWORD=hunter2");
    assert_eq!(sandbox.opsctl(&["render", "--empty"], b"").code, Some(0));
    for id in ["t1", "t2"] {
        passes(&sandbox.before(id, "docker restart jellyfin"));
    }
    variables.iter().fold(sandbox, |sandbox, (name, value)| sandbox.with(name, value))
}

#[test]
fn the_hook_and_explain_give_the_same_reasons() {
    let restart = json!({"command": "docker restart jellyfin"});
    let [tier_1, dry_run, mission] =
        [("CLAUDEOPS_TIER", "1"), ("CLAUDEOPS_DRY_RUN", "true"), ("CLAUDE_SESSION_MODE", "mission")];
    for (variables, tool, input, expected) in [
        (vec![], "Bash", json!({"command": "ls -la"}), None),
        (vec![], "Bash", json!({"command": "docker restart sonarr"}), None),
        (vec![], "Bash", restart.clone(), Some("Cooldown limit exceeded for jellyfin: 2/2 restarts")),
        (vec![tier_1], "Bash", restart.clone(), Some("Tier 1 may not carry out a restart")),
        (vec![], "Bash", json!({"command": "docker system prune -af"}), Some("Never allowed (rule prune)")),
        (vec![mission], "Bash", json!({"command": "mail -s x a@example.net < f"}), Some("In mission mode")),
        (vec![dry_run], "Bash", restart, Some("Dry run (CLAUDEOPS_DRY_RUN)")),
        (vec![dry_run], "Write", json!({"file_path": "/srv/x", "content": "y"}), Some("Dry run")),
        (vec![], "Write", json!({"file_path": "/tmp/x", "content": "y"}), None),
        (
            vec![],
            "Write",
            json!({"file_path": "/etc/hosts", "content": "y"}),
            Some("Protected: `/etc/hosts`"),
        ),
        (
            vec![],
            "Edit",
            json!({"file_path": "cooldown.json", "old_string": "", "new_string": "x"}),
            Some("Protected: `"),
        ),
        (vec![], "Read", json!({"file_path": ".env"}), Some("Secret: `")),
        (vec![], "Read", json!({"file_path": "/etc/hosts"}), None),
        (vec![], "Bash", json!({"command": "cat .env && docker volume prune -f"}), Some("Never allowed")),
        (vec![], "mcp__docker__restart", json!({"name": "jf"}), Some("Cooldown limit exceeded for jellyfin")),
        (vec![], "mcp__docker__restart", json!({"name": "sonarr"}), None),
        (vec![tier_1], "mcp__docker__restart", json!({"name": "sonarr"}), Some("Tier 1 may not")),
        (vec![], "mcp__forge__merge", json!({"id": 3}), Some("Forbidden at every tier")),
        (vec![], "WebFetch", json!({"url": "https://example.net"}), None),
    ] {
        let sandbox = prepared(&variables);
        let project = sandbox.path("").canonicalize().unwrap();
        let call = json!({"session_id": "s", "cwd": project, "tool_name": tool, "tool_input": input, "tool_use_id": "t"});
        let text = call.to_string();
        let explained = sandbox.opsctl(&["explain", "--json", "--exit-code", "-"], text.as_bytes());
        let hook = sandbox.hook("pre-tool-use", &call);
        assert_eq!(explained.code, hook.code, "{text}: {explained:?} {hook:?}");
        let explained: Value = serde_json::from_str(&explained.stdout).unwrap();
        let reasons: Vec<&str> =
            explained["reasons"].as_array().unwrap().iter().map(|reason| reason.as_str().unwrap()).collect();
        let Some(expected) = expected else {
            passes(&hook);
            assert_eq!((&explained["decision"], reasons.len()), (&json!("allow"), 0), "{text}: {explained}");
            continue;
        };
        let denial = denied(&hook);
        assert!(denial.starts_with(expected), "{text}: {denial}");
        assert_eq!((&explained["decision"], reasons.join("\n")), (&json!("deny"), denial), "{text}");
    }
}

#[test]
fn explain_applies_on_failure_as_the_hook_does() {
    for (on_failure, code) in [("open", Some(0)), ("closed", Some(2))] {
        let sandbox = Sandbox::new();
        sandbox.write("hosts.yaml", &format!("policy: {{on_failure: {on_failure}}}\n"));
        sandbox.write("claudeops.db", &"this is not a database\n".repeat(100));
        let explained = sandbox.opsctl(&["explain", "--json", "--exit-code", "docker", "restart", "x"], b"");
        let hook = sandbox.before("t1", "docker restart x");
        assert_eq!((explained.code, hook.code), (code, code), "{explained:?} {hook:?}");
        let explained: Value = serde_json::from_str(&explained.stdout).unwrap();
        if code == Some(2) {
            assert_eq!(explained["reasons"], json!([denied(&hook)]));
        }
    }
}

#[test]
fn a_denial_states_why_a_command_cannot_be_read_and_advises_to_simplify_it() {
    let sandbox = Sandbox::new();
    sandbox.write("hosts.yaml", "services: {jellyfin: {}}\n");
    let many = format!("ls {}", "a ".repeat(1_100));
    for (command, why) in [
        (many.as_str(), "it cannot be read: a command has more or longer words than can be followed"),
        ("n=$(jq .n /tmp/f); echo $((n + 1))", "it cannot be read: arithmetic runs the substitutions in"),
    ] {
        let run =
            sandbox.opsctl(&["explain", "--tier", "2", "--hosts", "hosts.yaml", "-"], command.as_bytes());
        assert!(run.stdout.contains(why), "{run:?}");
        assert!(
            run.stdout.contains("write it in a simpler form") && !run.stdout.contains("programs"),
            "{run:?}"
        );
    }
}

#[test]
fn a_tool_call_is_explained_in_words() {
    let sandbox = Sandbox::new();
    let call = r#"{"tool_name":"Write","tool_input":{"file_path":"/etc/x","content":"…"}}"#;
    let run = sandbox.opsctl(&["explain", call], b"");
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
    assert!(
        run.stdout
            .starts_with("policy: the default limits, no tier\nwhat runs:\n  write /etc/x\neffect: changes\n  changes: `write /etc/x`: it writes `/etc/x`\nactions:\n  none\ndecision: deny\n  Protected: `")
    );
    let unknown = sandbox.opsctl(&["explain", r#"{"tool_name":"WebFetch","tool_input":{}}"#], b"");
    assert_eq!(
        unknown.stdout,
        "policy: the default limits, no tier\nwhat runs:\n  nothing\neffect: reads\nactions:\n  none\ndecision: allow\n"
    );
}

#[test]
fn broken_json_gives_one_line_and_a_group_is_a_command() {
    let sandbox = Sandbox::new();
    for broken in [r#"{"tool_name":"Write","tool_in"#, "{\n  \"tool_input\": {\"command\": \"ls\"}"] {
        let run = sandbox.opsctl(&["explain", "-"], broken.as_bytes());
        assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{run:?}");
        assert!(run.stderr.starts_with("opsctl: not a tool call: invalid JSON ("), "{run:?}");
        assert_eq!(run.stderr.lines().count(), 1, "{run:?}");
    }
    for command in ["{ docker restart x; }", "{ echo '{\"tool_name\":1'; docker restart x; }"] {
        assert_eq!(json(&sandbox, command)["actions"][0]["service"], "x", "{command}");
    }
}

#[test]
fn words_are_joined_and_need_no_quotes() {
    let sandbox = Sandbox::new();
    let run = sandbox.opsctl(&["explain", "--json", "docker", "restart", "-t", "5", "jellyfin"], b"");
    let explained: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(explained["command"], "docker restart -t 5 jellyfin");
    assert_eq!(explained["actions"][0]["service"], "jellyfin");
}

#[test]
fn an_inventory_and_a_tier_can_be_given() {
    let sandbox = Sandbox::new();
    sandbox.write("hosts.yaml", "policy: {restart: {limit: 1}}\n");
    assert_eq!(sandbox.opsctl(&["render", "--empty"], b"").code, Some(0));
    passes(&sandbox.before("t1", "docker restart jellyfin"));
    sandbox.write("other.yaml", "services: {media: {containers: [jellyfin]}}\n");
    let explain = |arguments: &[&str]| {
        let command = ["docker", "restart", "jellyfin"];
        sandbox.opsctl(&[&["explain", "--exit-code"], arguments, &command].concat(), b"")
    };
    assert_eq!(explain(&[]).code, Some(2));
    let other = explain(&["--hosts", "other.yaml"]);
    assert_eq!((other.code, other.stderr.as_str()), (Some(0), ""), "{other:?}");
    assert!(other.stdout.contains("restart of media"), "{other:?}");
    let tier = explain(&["--hosts", "other.yaml", "--tier", "1"]);
    assert_eq!(tier.code, Some(2));
    assert!(tier.stdout.contains("Tier 1 may not carry out a restart"), "{tier:?}");
    let missing = explain(&["--hosts", "missing.yaml"]);
    assert_eq!((missing.code, missing.stderr.lines().count()), (Some(1), 1), "{missing:?}");
}

#[test]
fn what_a_package_runner_starts_is_unknown() {
    let sandbox = Sandbox::new();
    for command in [
        "npx cowsay hi",
        "bunx cowsay hi",
        "bun x cowsay hi",
        "pnpm dlx cowsay hi",
        "yarn dlx cowsay hi",
        "npm exec -- cowsay hi",
        "npm create vite@latest",
        "uvx ruff check .",
        "uv tool run ruff check .",
        "pipx run cowsay hi",
        "go run example.com/tool@latest",
        "nix run nixpkgs#hello",
        "nix shell nixpkgs#hello -c hello",
        "deno run https://example.com/x.ts",
        "npx ls",
    ] {
        assert_eq!(json(&sandbox, command)["effect"], "unknown", "{command}");
    }
}

#[test]
fn no_file_that_the_policy_makes_secret_is_opened_or_shown() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "hosts.yaml",
        "services: {jellyfin: {}}\npolicy: {secret: ['**/vault/**', '!**/vault/open.sh']}\n",
    );
    sandbox.write("vault/x.sh", "docker restart PLANTED");
    sandbox.write("vault/open.sh", "docker restart jellyfin");
    std::os::unix::fs::symlink(sandbox.path("vault/x.sh"), sandbox.path("link.sh")).unwrap();
    let link = sandbox.path("link.sh").display().to_string();
    for script in ["vault/x.sh", "./vault/../vault/x.sh", &link] {
        for command in [format!("bash {script}"), format!(". {script}"), format!("sh -c 'bash {script}'")] {
            let run = sandbox.opsctl(&["explain", "--json", &command], b"");
            assert!(!format!("{}{}", run.stdout, run.stderr).contains("PLANTED"), "{command}: {run:?}");
            let run = sandbox.before("t", &format!("opsctl explain \"{command}\""));
            assert!(!run.stderr.contains("PLANTED"), "{run:?}");
            assert_eq!((run.code, run.stderr.contains("**/vault/**")), (Some(2), true), "{command}: {run:?}");
        }
    }
    let run = sandbox.opsctl(&["explain", "bash vault/open.sh"], b"");
    assert!(run.stdout.contains("docker restart jellyfin"), "{run:?}");
}

#[test]
fn a_file_that_is_no_inventory_is_not_quoted() {
    let sandbox = Sandbox::new();
    for text in [
        "DB_PASSWORD=PLANTED\n",
        "PLANTED",
        "root:$6$PLANTED:1:2:3\n\tx: [\n",
        "{\"auths\": {\"registry.lan\": {\"auth\": \"PLANTED\"}}}",
        "machine nas login root password PLANTED",
        "- PLANTED: [}",
        "apiVersion: v1\nusers: [{token: PLANTED}]\n",
    ] {
        let file = sandbox.write("secret", text).display().to_string();
        for arguments in [
            vec!["explain", "--hosts", &file, "ls"],
            vec!["render", "--check", "--hosts", &file],
            vec!["render", "--hosts", "/nonexistent", "--managed", &file],
            vec!["doctor", "--hooks", "--settings", &file],
        ] {
            let run = sandbox.opsctl(&arguments, b"");
            assert!(!format!("{}{}", run.stdout, run.stderr).contains("PLANTED"), "{arguments:?}: {run:?}");
        }
        let output = sandbox.command_with(&["status"], &[("CLAUDEOPS_HOSTS", &file)]);
        let shown = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(!shown.contains("PLANTED"), "{shown}");
    }
}

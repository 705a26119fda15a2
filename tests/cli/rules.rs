//! The rules about commands and files, with a rendered policy, with `hosts.yaml`, and with the defaults.

use serde_json::{Value, json};

use crate::sandbox::{Sandbox, denied, passes};

const OWN_RULE: &str = "\
policy:
  never:
    apply:
      argv: [\"terraform apply !-help\", tofu apply]
      reason: Plans are applied by a person.
      where: local
      matches: [terraform -chdir=x apply]
      differs: [terraform plan]
    local-sudo: allow
";

#[test]
fn always_denied_commands_are_denied_without_any_file() {
    let sandbox = Sandbox::new();
    let reason = denied(&sandbox.before("t1", "ssh root@ie01 'docker system prune -af'"));
    assert_eq!(
        reason,
        "Never allowed (rule prune): `docker system prune`, on ie01 through ssh. It removes everything that is not running now, including the data of a stopped service. Report the space in use (`docker system df`) and leave the cleanup to an operator."
    );
    passes(&sandbox.before("t2", "echo docker system prune -af"));
    assert_eq!(sandbox.sql("SELECT verdict, rule FROM hook_decisions"), "deny|never");
    passes(&sandbox.after("t3", "docker system prune -af"));
}

#[test]
fn rules_of_hosts_yaml_hold_rendered_or_not() {
    for rendered in [false, true] {
        let mut sandbox = Sandbox::new();
        let hosts = sandbox.write("hosts.yaml", OWN_RULE);
        if rendered {
            assert_eq!(sandbox.opsctl(&["render", "--empty"], b"").code, Some(0));
            std::fs::remove_file(hosts).unwrap();
        } else {
            sandbox = sandbox.with("CLAUDEOPS_HOSTS", "hosts.yaml");
        }
        let reason = denied(&sandbox.before("t1", "cd x && tofu apply"));
        assert_eq!(reason, "Never allowed (rule apply): `tofu apply`. Plans are applied by a person.");
        passes(&sandbox.before("t2", "ssh root@ie01 terraform apply"));
        passes(&sandbox.before("t3", "sudo ls"));
        denied(&sandbox.before("t4", "git push origin main"));
    }
}

#[test]
fn the_data_of_a_service_cannot_be_removed() {
    let sandbox = Sandbox::new().with("CLAUDEOPS_HOSTS", "hosts.yaml");
    sandbox.write("hosts.yaml", "services: {photos: {data: [/tank/photos]}}\n");
    for (id, command) in [("t1", "rm -r /tank/photos/2024"), ("t2", "find /tank/photos -type f | xargs rm")] {
        let reason = denied(&sandbox.before(id, command));
        assert!(reason.starts_with("Never allowed (rule data)"), "{reason}");
    }
    passes(&sandbox.before("t3", "rm -r /tank/thumbnails"));
}

#[test]
fn a_policy_that_is_spoilt_lifts_no_rule() {
    let sandbox = Sandbox::new();
    sandbox.write(".claude/opsctl/policy.json", "{\n  \"format\": 1,\n  \"rules\": nonsense");
    let run = sandbox.before("t1", "pkill jellyfin");
    assert_eq!(run.code, Some(2), "{run:?}");
    passes(&sandbox.before("t2", "ls"));
}

#[test]
fn a_denied_command_reserves_nothing() {
    let sandbox = Sandbox::new();
    denied(&sandbox.before("t1", "docker restart jellyfin && docker volume prune -f"));
    assert_eq!(sandbox.sql("SELECT count(*) FROM hook_actions"), "0");
}

#[test]
fn the_denial_applies_without_a_ledger() {
    let sandbox = Sandbox::new().with("CLAUDEOPS_STATE_DIR", "/nowhere");
    denied(&sandbox.before("t1", "git push --force origin x"));
}

#[test]
fn explain_gives_the_verdict_of_the_hook() {
    let sandbox = Sandbox::new();
    let command = "ssh root@ie01 'docker compose down -v'";
    let run = sandbox.opsctl(&["explain", "--json", command], b"");
    let json: Value = serde_json::from_str(&run.stdout).unwrap();
    let hook = denied(&sandbox.before("t1", command));
    assert_eq!((&json["decision"], &json["reasons"]), (&json!("deny"), &json!([hook])));
}

#[test]
fn a_password_in_a_command_reaches_neither_the_denial_nor_the_ledger() {
    let sandbox = Sandbox::new();
    let reason = denied(&sandbox.before("t1", "psql postgres://shop:hunter2@db/shop -c 'DROP TABLE orders'"));
    assert!(!reason.contains("hunter2"), "{reason}");
    let reason = denied(
        &sandbox.before("t2", "curl -X PUT https://bot:hunter2@git.lan/api/v1/repos/o/r/pulls/1/merge"),
    );
    assert!(!reason.contains("hunter2"), "{reason}");
    assert!(!sandbox.sql("SELECT * FROM hook_decisions").contains("hunter2"));
}

#[test]
fn an_agent_cannot_ask_in_the_name_of_another_session() {
    let sandbox = Sandbox::new();
    denied(&sandbox.before("t1", "env -u CLAUDE_CODE_SESSION_ID opsctl cooldown healthy jellyfin"));
    passes(&sandbox.before("t2", "opsctl cooldown healthy jellyfin"));
}

#[test]
fn denied_prefixes_apply_where_the_client_cannot_see_them() {
    let sandbox = Sandbox::new().with("CLAUDEOPS_TIER", "2");
    sandbox.write("hosts.yaml", "policy: {tiers: {2: {deny: [docker pull]}}}\n");
    assert_eq!(sandbox.opsctl(&["render", "--empty", "--hosts", "hosts.yaml"], b"").code, Some(0));
    let reason = denied(&sandbox.before("t1", "ssh root@ie01 'docker pull jellyfin'"));
    assert!(
        reason.starts_with("Tier 2 may not run `docker pull`, on ie01 through ssh. Tier 3 may"),
        "{reason}"
    );
    passes(&sandbox.before("t2", "docker images"));
}

/// A tool of the client that opens a file itself.
fn tool(input: &Value, cwd: &std::path::Path) -> Value {
    json!({"session_id": "s", "cwd": cwd, "tool_name": "AnyName", "tool_use_id": "t", "tool_input": input})
}

#[test]
fn the_agent_cannot_write_its_own_settings_policy_and_records() {
    let sandbox = Sandbox::new();
    let project = sandbox.path("");
    let project = project.canonicalize().unwrap();
    sandbox.write(".claude/settings.json", "{}");
    for path in [
        ".claude/settings.json",
        ".claude/settings.local.json",
        ".claude/opsctl/policy.json",
        ".claude/roles/chief.md",
        "cooldown.json",
        "claudeops.db",
        "claudeops.db-wal",
        "./x/../cooldown.json",
        "/etc/claude-code/managed-settings.json",
        env!("CARGO_BIN_EXE_opsctl"),
    ] {
        let file =
            if path.starts_with('/') { path.to_owned() } else { format!("{}/{path}", project.display()) };
        for input in [
            json!({"file_path": file, "content": "{}"}),
            json!({"file_path": file, "old_string": "a", "new_string": "b"}),
            json!({"file_path": file, "edits": []}),
            json!({"notebook_path": file, "new_source": ""}),
        ] {
            let reason = denied(&sandbox.hook("pre-tool-use", &tool(&input, &project)));
            assert!(reason.starts_with("Protected: `"), "{reason}");
        }
        denied(&sandbox.before("t1", &format!("echo x > '{file}'")));
        if !path.contains(".db") {
            passes(&sandbox.hook("pre-tool-use", &tool(&json!({"file_path": file, "limit": 5}), &project)));
        }
    }
    let report = json!({"file_path": project.join("report.md"), "content": "all is well"});
    passes(&sandbox.hook("pre-tool-use", &tool(&report, &project)));
}

#[test]
fn a_search_that_shows_lines_reads_all_files_below_its_folder() {
    let sandbox = Sandbox::new();
    let project = sandbox.path("").canonicalize().unwrap();
    sandbox.write("own/a/.env", "PASSWORD=hunter2\n");
    sandbox.write("own/a/notes.txt", "x\n");
    sandbox.write("own/b/notes.txt", "x\n");
    let grep = |input: &Value| sandbox.hook("pre-tool-use", &tool(input, &project));
    for input in [
        json!({"pattern": ".", "path": "own", "output_mode": "content"}),
        json!({"pattern": ".", "path": project.join("own/a"), "output_mode": "content"}),
        json!({"pattern": ".", "path": "own", "output_mode": "count"}),
        json!({"pattern": ".", "output_mode": "content"}),
        json!({"pattern": ".", "path": "own", "glob": "*.e[n]v", "output_mode": "content"}),
        json!({"pattern": ".", "path": "own", "glob": "**/*.{txt,env}", "output_mode": "content"}),
        json!({"pattern": ".", "path": "own", "glob": "!*.txt", "output_mode": "content"}),
    ] {
        let reason = denied(&grep(&input));
        assert!(reason.starts_with("Secret: this search finds `"), "{input}: {reason}");
    }
    for input in [
        json!({"pattern": ".", "path": "own/b", "output_mode": "content"}),
        json!({"pattern": ".", "path": "own/a/notes.txt", "output_mode": "content"}),
        json!({"pattern": ".", "path": "own", "glob": "*.{txt,md}", "output_mode": "content"}),
        json!({"pattern": ".", "path": "own"}),
        json!({"pattern": ".", "path": "own", "output_mode": "files_with_matches"}),
    ] {
        passes(&grep(&input));
    }
}

#[test]
fn a_link_is_the_file_behind_it() {
    let sandbox = Sandbox::new();
    let project = sandbox.path("").canonicalize().unwrap();
    sandbox.write("state/cooldown.json", "{}");
    sandbox.write(".claude/settings.json", "{}");
    std::os::unix::fs::symlink(".claude", project.join("innocent")).unwrap();
    std::os::unix::fs::symlink("missing-yet.json", project.join("dangling")).unwrap();
    let shell = |command: &str| {
        sandbox.hook(
            "pre-tool-use",
            &json!({"cwd": project, "tool_name": "Bash", "tool_input": {"command": command}}),
        )
    };
    denied(&shell("echo x > innocent/settings.json"));
    denied(&shell("cd innocent && echo x > settings.json"));
    denied(&shell("rm -r innocent/../.claude"));
    denied(&shell("rm .claude/sett*.json"));
    denied(&shell("tee .cl?ude/settings.json < /dev/null"));
    passes(&shell("echo x > dangling"));
    passes(&shell("cat innocent/settings.json"));
}

#[test]
fn no_tool_may_read_secret_files() {
    let sandbox = Sandbox::new();
    let project = sandbox.path("").canonicalize().unwrap();
    sandbox.write(".env", "PASSWORD=hunter2");
    for input in [
        json!({"file_path": project.join(".env")}),
        json!({"pattern": "PASSWORD", "path": project.join(".env")}),
        json!({"pattern": "PASSWORD", "glob": ".env"}),
        json!({"command": "cat .env"}),
        json!({"command": "cat .en*"}),
    ] {
        let reason = denied(&sandbox.hook("pre-tool-use", &tool(&input, &project)));
        assert!(reason.starts_with("Secret: `"), "{reason}");
    }
    passes(&sandbox.hook("pre-tool-use", &tool(&json!({"pattern": "x", "path": project}), &project)));
}

#[test]
fn memory_and_open_files_of_other_processes_are_secret_and_own_descriptors_are_not() {
    let sandbox = Sandbox::new();
    let project = sandbox.path("").canonicalize().unwrap();
    let shell = |command: &str| {
        sandbox.hook("pre-tool-use", &json!({"cwd": project, "tool_input": {"command": command}}))
    };
    let parent = std::process::id();
    for file in ["mem", "fd/0", "root/etc/hostname", "cwd/Cargo.toml", "task/1/mem"] {
        let reason = denied(&shell(&format!("cat /proc/{parent}/{file}")));
        assert!(reason.starts_with("Secret: `"), "{file}: {reason}");
    }
    for own in [
        "cat /dev/stdin",
        "echo x | tee /dev/stderr | cat /dev/fd/0",
        "diff <(ls a) <(ls b)",
        "cat /proc/self/fd/0",
    ] {
        passes(&shell(own));
    }
}

#[test]
fn tools_cannot_write_instructions_and_extensions_below_the_project() {
    let sandbox = Sandbox::new();
    let project = sandbox.path("").canonicalize().unwrap();
    for inside in [
        "sub/CLAUDE.md",
        "sub/.claude/settings.json",
        ".claude/skills/m/hooks/hooks.json",
        "a/.claude-plugin/plugin.json",
    ] {
        let input = json!({"file_path": project.join(inside), "content": "x"});
        let reason = denied(&sandbox.hook("pre-tool-use", &tool(&input, &project)));
        assert!(reason.starts_with("Protected: `"), "{inside}: {reason}");
    }
}

#[test]
fn hosts_yaml_adds_files_and_excepts_some() {
    let sandbox = Sandbox::new();
    let project = sandbox.path("").canonicalize().unwrap();
    let hosts = "\
policy:
  protect: [playbooks/**, \"!/etc/motd\", {path: /opt/stacks/**, where: remote}]
  secret: [\"**/*.key\", \"!**/test.key\"]
";
    sandbox.write("hosts.yaml", hosts);
    assert_eq!(sandbox.opsctl(&["render", "--empty", "--hosts", "hosts.yaml"], b"").code, Some(0));
    let shell = |command: &str| {
        sandbox.hook("pre-tool-use", &json!({"cwd": project, "tool_input": {"command": command}}))
    };
    denied(&shell("touch playbooks/site.yml"));
    passes(&shell("echo hi > /etc/motd"));
    denied(&shell("echo hi > /etc/issue"));
    denied(&shell("ssh ie01 'sed -i s/a/b/ /opt/stacks/media/compose.yaml'"));
    passes(&shell("sed -i s/a/b/ /opt/stacks/media/compose.yaml"));
    denied(&shell("openssl rsa -in tls/site.key -text"));
    passes(&shell("cat tls/test.key"));
}

const TOOLS: &str = "\
services: {jellyfin: {containers: [jf]}}
policy:
  tools:
    mcp__docker__restart_container: {action: restart, service: container_name}
    mcp__docker__stop: {action: restart, verb: stop, service: /target/name, host: /target/node}
    mcp__forge__merge: {action: never}
    mcp__forge__open: {action: pull_request}
";

fn mcp(id: &str, tool: &str, arguments: &Value) -> Value {
    json!({"session_id": "s", "cwd": "/app", "tool_name": tool, "tool_input": arguments, "tool_use_id": id})
}

#[test]
fn a_tool_of_an_mcp_server_is_counted_like_a_command() {
    let sandbox = Sandbox::new();
    sandbox.write("hosts.yaml", TOOLS);
    assert_eq!(sandbox.opsctl(&["render", "--empty", "--hosts", "hosts.yaml"], b"").code, Some(0));
    let restart =
        |id: &str| mcp(id, "mcp__docker__restart_container", &json!({"container_name": "jf", "n": 1}));
    passes(&sandbox.hook("pre-tool-use", &restart("t1")));
    passes(&sandbox.hook("post-tool-use", &restart("t1")));
    passes(&sandbox.before("t2", "docker restart jellyfin"));
    let reason = denied(&sandbox.hook("pre-tool-use", &restart("t3")));
    assert!(reason.starts_with("Cooldown limit exceeded for jellyfin: 2/2 restarts"), "{reason}");
    assert_eq!(sandbox.sql("SELECT message FROM events"), "Tool called: mcp__docker__restart_container jf");
    let stop = mcp("t4", "mcp__docker__stop", &json!({"target": {"name": "sonarr", "node": "ie01"}}));
    passes(&sandbox.hook("pre-tool-use", &stop));
    assert_eq!(
        sandbox.sql("SELECT service, verb, host FROM hook_actions WHERE tool_use_id = 't4'"),
        "sonarr|stop|ie01"
    );
    // A service that is not named counts, too.
    passes(&sandbox.hook("pre-tool-use", &mcp("t5", "mcp__docker__restart_container", &json!({}))));
    assert_eq!(sandbox.sql("SELECT service FROM hook_actions WHERE tool_use_id = 't5'"), "unresolved");
    let reason = denied(&sandbox.hook("pre-tool-use", &mcp("t6", "mcp__forge__merge", &json!({"id": 3}))));
    assert_eq!(
        reason,
        "Forbidden at every tier: `mcp__forge__merge` is disabled by policy. Ask an operator."
    );
    passes(&sandbox.hook("pre-tool-use", &mcp("t7", "mcp__docker__list", &json!({"container_name": "jf"}))));
    let settings: Value = serde_json::from_str(&sandbox.read(".claude/settings.json")).unwrap();
    let matcher = settings["hooks"]["PostToolUseFailure"][0]["matcher"].as_str().unwrap();
    assert!(
        matcher.ends_with(
            "|mcp__docker__restart_container|mcp__docker__stop|mcp__forge__merge|mcp__forge__open"
        ),
        "{matcher}"
    );
}

#[test]
fn tier_2_takes_no_compose_project_down() {
    let sandbox = Sandbox::new().with("CLAUDEOPS_TIER", "2");
    for command in
        ["ssh ie01 'docker compose -p media down'", "docker-compose -f x.yml down --remove-orphans"]
    {
        let reason = denied(&sandbox.before("t1", command));
        assert!(reason.contains("down`") && reason.contains("Tier 3 may"), "{reason}");
    }
    passes(&sandbox.before("t2", "docker compose -p media restart"));
    passes(&sandbox.with("CLAUDEOPS_TIER", "3").before("t3", "docker compose -p media down"));
}

#[test]
fn a_denial_suggests_the_command_that_only_reads() {
    let sandbox = Sandbox::new().with("CLAUDEOPS_TIER", "1");
    for (command, suggested) in [
        ("kubectl -n media label pod x a=b", "To look only, use `kubectl get --show-labels`."),
        ("sudo terraform -chdir=x import x y", "To look only, use `terraform state show ADDRESS`."),
        ("crontab -r", "To look only, use `crontab -l`."),
    ] {
        let reason = denied(&sandbox.before("t1", command));
        assert!(reason.contains(suggested), "{reason}");
    }
    let sandbox = sandbox.with("CLAUDEOPS_DRY_RUN", "true");
    assert!(
        denied(&sandbox.before("t2", "git push origin x"))
            .contains("To look only, use `git log @{u}..`. State in")
    );
}

#[test]
fn a_tool_is_held_to_its_tier() {
    let sandbox = Sandbox::new().with("CLAUDEOPS_TIER", "1").with("CLAUDEOPS_HOSTS", "hosts.yaml");
    sandbox.write("hosts.yaml", TOOLS);
    let open = mcp("t1", "mcp__forge__open", &json!({"title": "x"}));
    let reason = denied(&sandbox.hook("pre-tool-use", &open));
    assert!(
        reason.starts_with("Tier 1 may not carry out a pull request (`mcp__forge__open`). Tier 2 may"),
        "{reason}"
    );
}

#[test]
fn a_dry_run_changes_nothing_and_reports_it() {
    for value in ["true", "1", "YES", "perhaps"] {
        let sandbox = Sandbox::new().with("CLAUDEOPS_DRY_RUN", value);
        let note = if value == "perhaps" {
            "opsctl: CLAUDEOPS_DRY_RUN is `perhaps`, not true or false; this is a dry run\n"
        } else {
            ""
        };
        for command in [
            "docker restart jellyfin",
            "ssh root@ie01 'systemctl stop nginx'",
            "ansible-playbook redeploy-x.yml",
            "gh pr create --title x",
            "apprise -b x json://y",
        ] {
            let run = sandbox.before("t1", command);
            assert_eq!(run.code, Some(2), "{command}: {run:?}");
            assert!(run.stderr.contains("Dry run (CLAUDEOPS_DRY_RUN): "), "{run:?}");
        }
        let write = json!({"cwd": "/app", "tool_input": {"file_path": "/srv/x", "content": "y"}});
        assert_eq!(sandbox.hook("pre-tool-use", &write).code, Some(2));
        let ls = sandbox.before("t2", "docker ps; docker logs jellyfin");
        assert_eq!((ls.code, ls.stderr.as_str()), (Some(0), note));
        assert_eq!(sandbox.sql("SELECT count(*) FROM hook_actions"), "0", "nothing is reserved");
    }
    let sandbox = Sandbox::new().with("CLAUDEOPS_DRY_RUN", "false");
    passes(&sandbox.before("t1", "docker restart jellyfin"));
}

#[test]
fn a_state_folder_that_is_a_link_is_guarded_under_both_names() {
    let sandbox = Sandbox::new();
    let project = sandbox.path("").canonicalize().unwrap();
    sandbox.write("real/cooldown.json", "{}");
    std::os::unix::fs::symlink(project.join("real"), project.join("linked")).unwrap();
    let sandbox = sandbox.with("CLAUDEOPS_STATE_DIR", project.join("linked").to_str().unwrap());
    for path in ["real", "linked"] {
        let command = format!("echo x > {path}/cooldown.json");
        denied(&sandbox.hook("pre-tool-use", &json!({"cwd": project, "tool_input": {"command": command}})));
    }
}

#[test]
fn globs_of_more_files_than_can_be_looked_at_are_denied_in_time() {
    let sandbox = Sandbox::new();
    for number in 0..50 {
        std::fs::create_dir_all(sandbox.path(&format!("d{number}/e{number}/f"))).unwrap();
    }
    let project = sandbox.path("").canonicalize().unwrap();
    let cat = |words: usize| {
        // Equal words are looked at once.
        let globs: String = (0..words).map(|number| format!("*/*/[!{number}]* ")).collect();
        let command = format!("cat {globs}");
        sandbox.hook("pre-tool-use", &json!({"cwd": project, "tool_input": {"command": command}}))
    };
    passes(&cat(1));
    assert!(denied(&cat(500)).contains("more files than opsctl can check"));
}

#[test]
fn a_home_folder_with_keys_cannot_be_copied() {
    let sandbox = Sandbox::new();
    sandbox.write("home/.ssh/id_rsa", "key");
    sandbox.write("srv/app/.env", "KEY=1");
    let home = sandbox.path("home");
    let sandbox = sandbox.with("HOME", home.to_str().unwrap());
    for command in [
        "cp -r ~ /tmp/x",
        "cp -a $HOME/. /tmp/x",
        "rsync -a ~/ nas:/mnt/x",
        "cd ~/.ssh; cat id*",
        "tar cf /tmp/x.tar ~",
        "tar -C ~ -czf /tmp/x.tgz .",
        "cd ~; tar cf /tmp/x.tar .",
        "zip -r /tmp/x.zip ~",
        "7z a /tmp/x.7z ~/",
    ] {
        let reason = denied(&sandbox.before("t1", command));
        assert!(reason.starts_with("Secret: "), "{command}: {reason}");
    }
    for command in ["cp -a srv/app srv/app.bak", "tar czf x.tgz srv/app", "tar -C srv -czf x.tgz app"] {
        passes(&sandbox.before("t2", command));
    }
}

/// Tier 3 may change anything but the files of opsctl.
#[test]
fn every_tier_is_denied_to_change_the_state_folder_and_its_files() {
    for tier in ["1", "2", "3"] {
        let sandbox = Sandbox::new().with("CLAUDEOPS_TIER", tier);
        let folder = sandbox.path("state").canonicalize().unwrap_or_else(|_| sandbox.path("state"));
        let sandbox = sandbox.with("CLAUDEOPS_STATE_DIR", folder.to_str().unwrap());
        for file in ["claudeops.db", "claudeops.db-wal", "cooldown.json", "ledger-mark.json"] {
            sandbox.write(&format!("state/{file}"), "");
        }
        for command in [
            "rm -rf /state",
            "rm -f /state/*",
            "rm -f /state/claudeops.*",
            "mv /state /state.bak",
            "mv /state/* /tmp",
            "cd /state && chattr +i *",
            "for f in /state/*; do chmod 000 $f; done",
            "chmod 555 /state",
            "chown nobody: /state",
            "setfacl -b /state",
            "chattr -R +i /state",
            "mount -t tmpfs none /state",
            "mount --bind /tmp /state",
            "mount --bind /state /tmp/s",
            "mount --target /state --source /tmp -o bind",
            "mount --move /state /tmp/s",
            "bindfs /state /tmp/s",
            "umount /state",
            "fsfreeze -f /state",
            "truncate -s 0 /state/claudeops.db",
            "fallocate -p -l 4096 /state/claudeops.db-wal",
            "dd if=/dev/zero of=/state/claudeops.db conv=notrunc",
            "ln -sf /dev/null /state/cooldown.json",
            "link /state/claudeops.db /tmp/l",
            "mknod /state/claudeops.db-journal p",
            "rename s/db/x/ /state/claudeops.db",
            "losetup /dev/loop0 /state/claudeops.db",
            "rsync --remove-source-files /state/claudeops.db /tmp/",
            "zip -m /tmp/x.zip /state/claudeops.db",
            "find /state -type f -exec chattr +i {} +",
            "find /state -type f -exec dd if=/dev/null of={} \\;",
            "python3 -c \"import os; os.chmod('/state', 0)\"",
            "python3 -c \"import shutil; shutil.rmtree('/state')\"",
            "rm /state/ledger-mark.json",
        ] {
            let command = command.replace("/state", folder.to_str().unwrap());
            let reason = denied(&sandbox.before("t1", &command));
            assert!(reason.contains("Protected: `") || reason.contains("Never allowed"), "{tier}: {reason}");
        }
        passes(&sandbox.before("t2", &format!("ls -la {}", folder.display())));
    }
}

#[test]
fn a_class_is_allowed_on_the_hosts_that_hosts_yaml_names_only() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "hosts.yaml",
        "hosts:\n  nas: {address: 192.0.2.1, ssh: root@nas.lan}\n  ie01: {address: 192.0.2.2}\n\
         policy:\n  never:\n    power: {allow_on: [nas]}\n    schedule: allow\n",
    );
    for (id, command) in [
        ("t1", "ssh root@nas.lan reboot"),
        ("t2", "ssh root@192.0.2.1 reboot"),
        ("t3", "ssh nas reboot"),
        ("t4", "ssh ie01 atrm 4"),
    ] {
        passes(&sandbox.before(id, command));
    }
    for (id, command) in [("t5", "ssh ie01 reboot"), ("t6", "reboot"), ("t7", "ssh nas 'wipefs -a /dev/sdb'")]
    {
        let reason = denied(&sandbox.before(id, command));
        assert!(reason.contains("(rule power)") || reason.contains("(rule storage)"), "{reason}");
    }
}

#[test]
fn a_denial_with_a_thousand_reasons_states_the_first_and_counts_the_others() {
    let sandbox = Sandbox::new().with("CLAUDEOPS_TIER", "2");
    let names: Vec<String> = (0..1000).map(|number| format!("z{number}")).collect();
    sandbox.write("hosts.yaml", "services: {z: {}}\npolicy: {restart: {limit: 0, window: 4h}}\n");
    let reason = denied(&sandbox.before("t1", &format!("docker restart {}", names.join(" "))));
    assert!(reason.lines().count() <= 13, "{reason}");
    assert!(reason.ends_with(" more objections; `opsctl explain` lists them."), "{reason}");
    let recorded = sandbox.sql("SELECT length(reason) < 5000 FROM hook_decisions");
    assert_eq!(recorded, "1");
}

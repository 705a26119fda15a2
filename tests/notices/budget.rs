//! Notices of used-up budgets.

use std::process::Stdio;

use serde_json::json;

use crate::sandbox::{Sandbox, call, denied, passes};
use crate::target::{Manner, Target};
use crate::{arrived, listening, settled};

fn use_up(sandbox: &Sandbox, command: &str, times: usize) {
    for n in 0..times {
        passes(&sandbox.before(&format!("u{n}{command}"), command));
        passes(&sandbox.after(&format!("u{n}{command}"), command));
    }
}

#[test]
fn a_used_up_budget_is_reported_once_per_service_and_kind() {
    let target = Target::new(Manner::Takes);
    let sandbox = listening(&target);
    use_up(&sandbox, "docker restart jellyfin", 2);
    use_up(&sandbox, "docker restart sonarr", 2);
    use_up(&sandbox, "ansible-playbook redeploy-jellyfin.yml", 1);
    assert_eq!(settled(&sandbox), "", "no notice while the budget has a free place");
    for n in 0..3 {
        denied(&sandbox.before(&format!("a{n}"), "docker restart jellyfin"));
        denied(&sandbox.before(&format!("b{n}"), "docker restart sonarr jellyfin"));
        denied(&sandbox.before(&format!("c{n}"), "ansible-playbook redeploy-jellyfin.yml"));
    }
    assert_eq!(settled(&sandbox), "delivered delivered delivered");
    assert_eq!(
        arrived(&target, &sandbox),
        ["jellyfin: no redeployment left", "jellyfin: no restart left", "sonarr: no restart left"]
    );
    let received = target.received();
    let shown = received.iter().find(|shown| shown["title"] == "sonarr: no restart left").unwrap();
    let next = sandbox.sql("SELECT quiet_until FROM notices WHERE key = 'budget/restart/sonarr'");
    let message = shown["message"].as_str().unwrap();
    assert!(
        message.contains(&format!("2/2 restarts in last 4h. The next one is allowed at {next}.")),
        "{message}"
    );
    assert_eq!(shown["type"], "warning");
}

#[test]
fn a_used_up_budget_is_reported_again_after_a_free_place() {
    let target = Target::new(Manner::Takes);
    let sandbox = listening(&target);
    use_up(&sandbox, "docker restart jellyfin", 2);
    denied(&sandbox.before("t1", "docker restart jellyfin"));
    assert_eq!(settled(&sandbox), "delivered");
    // Four hours go by.
    sandbox.sql("UPDATE notices SET quiet_until = '2020-01-01T00:00:00Z'");
    denied(&sandbox.before("t2", "docker restart jellyfin"));
    denied(&sandbox.before("t3", "docker restart jellyfin"));
    assert_eq!(settled(&sandbox), "delivered delivered");
}

#[test]
fn twenty_concurrent_hooks_report_it_once() {
    let target = Target::new(Manner::Takes);
    let sandbox = listening(&target);
    use_up(&sandbox, "docker restart jellyfin", 2);
    let mut hooks: Vec<_> = (0..20)
        .map(|_| {
            let mut hook = sandbox.command(&["hook", "pre-tool-use"]);
            hook.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
        })
        .collect();
    for (n, hook) in hooks.iter_mut().enumerate() {
        let input = call(&format!("t{n}"), "docker restart jellyfin").to_string();
        std::io::Write::write_all(&mut hook.stdin.take().unwrap(), input.as_bytes()).unwrap();
    }
    for hook in &mut hooks {
        assert_eq!(hook.wait().unwrap().code(), Some(2));
    }
    assert_eq!(settled(&sandbox), "delivered");
    assert_eq!(target.titles(), ["jellyfin: no restart left"]);
}

#[test]
fn a_command_over_the_remaining_budget_does_not_use_it_up() {
    let target = Target::new(Manner::Takes);
    let sandbox = listening(&target);
    use_up(&sandbox, "docker restart jellyfin", 1);
    denied(&sandbox.before("t1", "docker restart jellyfin; docker restart jellyfin"));
    assert_eq!(sandbox.sql("SELECT count(*) FROM notices"), "0");
}

#[test]
fn secrets_of_a_command_line_are_not_shown() {
    let target = Target::new(Manner::Takes);
    let sandbox = listening(&target);
    use_up(&sandbox, "ansible-playbook redeploy-plex.yml", 1);
    denied(&sandbox.before("t1", "TOKEN=s3cret ansible-playbook -e token=s3cret redeploy-plex.yml"));
    assert_eq!(settled(&sandbox), "delivered");
    assert!(!json!(target.received()).to_string().contains("s3cret"));
    assert!(!sandbox.sql(".dump").contains("s3cret"));
}

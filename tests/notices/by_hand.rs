//! `opsctl notify`.

use serde_json::{Value, json};

use crate::sandbox::{Run, Sandbox};
use crate::target::{Manner, Target};
use crate::{listening, settled, with_apprise};

fn test(sandbox: &Sandbox) -> Run {
    sandbox.opsctl(&["notify", "--test"], b"")
}

#[test]
fn a_delivered_test_notification_is_reported() {
    let target = Target::new(Manner::Takes);
    let run = test(&listening(&target));
    assert_eq!(
        (run.code, run.stdout.as_str(), run.stderr.as_str()),
        (Some(0), "test notification delivered through CLAUDEOPS_APPRISE_URLS\n", "")
    );
    assert_eq!(target.titles(), ["opsctl: test notification"]);
    assert!(target.received()[0]["message"].as_str().unwrap().contains("**test**"));
}

#[test]
fn an_undelivered_test_notification_states_cause_and_remedy() {
    let refuses = Target::new(Manner::Refuses(403));
    let silent = Target::new(Manner::IsSilent);
    let takes = Target::new(Manner::Takes);
    let both = format!("{},{}", takes.url(), refuses.url());
    for (urls, complaint) in [
        (refuses.url(), "apprise ended with exit status: 1; check CLAUDEOPS_APPRISE_URLS with `apprise -vv`"),
        (silent.url(), "notification not sent: apprise "),
        ("nonsense://".to_owned(), "check CLAUDEOPS_APPRISE_URLS"),
        (both, "reached some targets of CLAUDEOPS_APPRISE_URLS and not others"),
        (" ".to_owned(), "no notification target is configured: set CLAUDEOPS_APPRISE_URLS"),
    ] {
        let run = test(&with_apprise(Sandbox::new()).with("CLAUDEOPS_APPRISE_URLS", &urls));
        assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{urls}: {run:?}");
        assert_eq!(run.stderr.lines().count(), 1, "{run:?}");
        assert!(run.stderr.contains(complaint), "{urls}: {run:?}");
    }
    silent.now(Manner::Takes);
}

#[test]
fn an_apprise_that_never_ends_is_ended() {
    let sandbox = Sandbox::new().with("CLAUDEOPS_APPRISE_URLS", "json://127.0.0.1:9/");
    let stub = sandbox.write("bin/apprise", "#!/bin/sh\nexec sleep 600\n");
    std::fs::set_permissions(&stub, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", sandbox.path("bin").display(), std::env::var("PATH").unwrap());
    let run = test(&sandbox.with("PATH", &path));
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("apprise took longer than 25 s; check the target's network"), "{run:?}");
}

#[test]
fn the_outbox_is_listed() {
    let target = Target::new(Manner::Takes);
    let sandbox = listening(&target);
    assert_eq!(
        sandbox.opsctl(&["notify"], b""),
        Run { code: Some(0), stdout: "no notifications\n".to_owned(), stderr: String::new() }
    );
    sandbox.hook("notification", &json!({"title": "one\n=== two", "message": "m"}));
    assert_eq!(settled(&sandbox), "delivered");
    let line = sandbox.opsctl(&["notify"], b"").stdout;
    assert!(line.contains("Z  info   delivered  one === two"), "{line}");
    let json: Value = serde_json::from_str(&sandbox.opsctl(&["notify", "--json"], b"").stdout).unwrap();
    let notice = &json["notices"][0];
    assert_eq!(
        (&notice["state"], &notice["attempts"], &notice["body"]),
        (&json!("delivered"), &json!(1), &json!("m"))
    );
    let nowhere = sandbox.with("CLAUDEOPS_APPRISE_URLS", "").opsctl(&["notify"], b"");
    assert!(nowhere.stderr.contains("no notification target is configured"), "{nowhere:?}");
}

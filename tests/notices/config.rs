//! Targets that are chosen by tags, from a configuration file of apprise.

use serde_json::json;

use crate::sandbox::{Sandbox, denied, passes};
use crate::target::{Manner, Target};
use crate::{settled, with_apprise};

fn configured(target: &Target, targets: &[(&str, &str)]) -> Sandbox {
    let sandbox = with_apprise(Sandbox::new());
    let lines: String = targets.iter().map(|(path, tag)| format!("{tag}{}\n", target.url_at(path))).collect();
    let config = sandbox.write("apprise.conf", &lines);
    sandbox.with("CLAUDEOPS_APPRISE_CONFIG", config.to_str().unwrap())
}

#[test]
fn a_notice_goes_to_the_targets_with_its_level_subject_or_service() {
    let target = Target::new(Manner::Takes);
    let targets = [
        ("level", "warning="),
        ("subject", "budget="),
        ("service", "jellyfin="),
        ("another", "sonarr="),
        ("untagged", ""),
    ];
    let sandbox = configured(&target, &targets);
    for id in ["t1", "t2"] {
        passes(&sandbox.before(id, "docker restart jellyfin"));
        passes(&sandbox.after(id, "docker restart jellyfin"));
    }
    denied(&sandbox.before("t3", "docker restart jellyfin"));
    assert_eq!(settled(&sandbox), "delivered");
    assert_eq!(target.paths(), ["level", "service", "subject"]);
}

#[test]
fn untagged_targets_get_notices_that_no_tag_matches() {
    let target = Target::new(Manner::Takes);
    let sandbox = configured(&target, &[("phone", "critical="), ("mail", "")]);
    passes(&sandbox.hook("notification", &json!({"title": "t"})));
    assert_eq!(settled(&sandbox), "delivered");
    assert_eq!(target.paths(), ["mail"]);
}

#[test]
fn a_notice_without_a_target_is_not_a_failure() {
    let target = Target::new(Manner::Takes);
    let sandbox = configured(&target, &[("phone", "critical=")]);
    passes(&sandbox.hook("notification", &json!({"title": "t"})));
    assert_eq!(settled(&sandbox), "no_target");
    let run = sandbox.opsctl(&["notify", "--test"], b"");
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("tag one in CLAUDEOPS_APPRISE_CONFIG with `info` or `test`"), "{run:?}");
}

#[test]
fn a_configuration_file_that_is_not_there_is_named() {
    let sandbox = with_apprise(Sandbox::new()).with("CLAUDEOPS_APPRISE_CONFIG", "/nowhere/apprise.yml");
    let run = sandbox.opsctl(&["notify", "--test"], b"");
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("/nowhere/apprise.yml cannot be read"), "{run:?}");
}

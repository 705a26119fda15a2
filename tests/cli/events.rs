//! Recorded inputs of the client's hooks: each input is served, also when a release of the client adds a
//! field or leaves one out.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::sandbox::{Run, Sandbox, call};

/// The recorded inputs, by event.
fn recorded() -> Vec<(String, Value)> {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/events"));
    let mut inputs: Vec<(String, Value)> = std::fs::read_dir(folder)
        .unwrap()
        .map(|file| {
            let path = file.unwrap().path();
            let event = path.file_stem().unwrap().to_str().unwrap().to_owned();
            (event, serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap())
        })
        .collect();
    inputs.sort_by(|a, b| a.0.cmp(&b.0));
    assert!(inputs.len() >= 19, "only {} inputs are recorded", inputs.len());
    inputs
}

/// A sandbox in which no hook prints a warning.
fn complete() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("hosts.yaml", "services: {jellyfin: {}}\n");
    sandbox.write("cooldown.json", "{}");
    assert_eq!(sandbox.opsctl(&["render"], b"").code, Some(0));
    sandbox
}

#[track_caller]
fn served(run: &Run, what: &str) {
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{what}: {run:?}");
}

#[test]
fn every_event_of_the_client_is_served_without_a_remark() {
    let sandbox = complete();
    for (event, input) in recorded() {
        let text = input.to_string();
        served(&sandbox.opsctl(&["hook", &event], text.as_bytes()), &event);
        let without_name = sandbox.opsctl(&["hook"], text.as_bytes());
        served(&without_name, &event);
    }
}

#[test]
fn tolerates_extra_missing_and_mistyped_fields() {
    let sandbox = complete();
    for (event, input) in recorded() {
        let fields: Vec<String> = input.as_object().unwrap().keys().cloned().collect();
        let mut more = input.clone();
        more["a_field_of_tomorrow"] = json!({"deep": [1, null, {"x": "y"}]});
        served(&sandbox.hook(&event, &more), &format!("{event} with a new field"));
        for field in fields {
            let mut less = input.clone();
            less.as_object_mut().unwrap().remove(&field);
            if (event.as_str(), field.as_str()) != ("pre-tool-use", "tool_input") {
                served(&sandbox.hook(&event, &less), &format!("{event} without {field}"));
            }
            for other in [json!(null), json!([1, {}])] {
                let mut changed = input.clone();
                changed[&field] = other;
                if (event.as_str(), field.as_str()) == ("pre-tool-use", "tool_input") {
                    let run = sandbox.hook(&event, &changed);
                    assert!(run.code == Some(0) && run.stderr.contains("is not an object"), "{run:?}");
                    continue;
                }
                served(&sandbox.hook(&event, &changed), &format!("{event} with another {field}"));
            }
        }
    }
}

#[test]
fn an_event_of_tomorrow_passes() {
    let sandbox = complete();
    let hook = |name| {
        let input = json!({"hook_event_name": name, "session_id": "s", "tool_input": {"command": "ls"}});
        sandbox.opsctl(&["hook"], input.to_string().as_bytes())
    };
    for name in ["PreReboot", ""] {
        served(&hook(name), name);
    }
    for name in ["pre-tool-use", "../../etc", "\u{0}"] {
        assert!(hook(name).stderr.contains("not the hook input of Claude Code"), "{name}");
    }
}

#[test]
fn accepts_session_ids_of_any_form() {
    let long = "x".repeat(10_240);
    let ids = [
        "../../../etc/passwd",
        "/etc",
        "a'; DROP TABLE events; --",
        "\"`$(reboot)`\"",
        &long,
        "a\nb",
        "ü\u{202e}",
    ];
    for id in ids {
        let sandbox = complete().with("CLAUDE_SESSION_ID", id);
        let files = || {
            let mut names: Vec<_> =
                std::fs::read_dir(sandbox.path("")).unwrap().map(|file| file.unwrap().file_name()).collect();
            names.sort();
            names
        };
        for (event, input) in recorded() {
            served(&sandbox.hook(&event, &input), &format!("{event} of {id:.20}"));
        }
        served(&sandbox.before("t1", "docker restart jellyfin"), id);
        served(&sandbox.after("t1", "docker restart jellyfin"), id);
        assert_eq!(sandbox.sql("SELECT count(*) FROM events"), "1", "{id:.20}");
        assert!(files().iter().all(|name| !name.to_string_lossy().contains("etc")), "{:?}", files());
    }
    // A variable cannot hold it, JSON can.
    let sandbox = complete();
    let mut input = call("t1", "docker restart jellyfin");
    input["session_id"] = json!("a\u{0}b");
    served(&sandbox.hook("pre-tool-use", &input), "NUL");
    served(&sandbox.hook("post-tool-use", &input), "NUL");
    assert_eq!(sandbox.sql("SELECT session_id FROM recorded_events"), "ab");
}

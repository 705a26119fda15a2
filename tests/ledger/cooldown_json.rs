//! Every state of `cooldown.json`: the usage that hooks read from it, and the file afterwards.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use chrono::{SecondsFormat, TimeDelta, Utc};
use serde_json::{Value, json};

use crate::sandbox::{Sandbox, denied, passes};

const RESTART: &str = "docker restart jellyfin";

fn ago(minutes: i64) -> String {
    (Utc::now() - TimeDelta::minutes(minutes)).to_rfc3339_opts(SecondsFormat::Secs, true)
}

/// The kind and content of any file at a path.
fn state_of(path: &Path) -> String {
    match path.symlink_metadata() {
        Err(_) => "nothing".to_owned(),
        Ok(entry) if entry.is_file() && entry.len() < 100_000 => {
            String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned()
        }
        Ok(entry) => format!("{:?} of {} bytes", entry.file_type(), entry.len()),
    }
}

/// A file without usable history: how it is created, the warning about it, and whether a settled action is written to
/// it.
struct Case {
    make: fn(&Path),
    said: &'static str,
    mended: bool,
}

const CASES: [Case; 11] = [
    Case { make: |_| {}, said: "no cooldown.json in ", mended: true },
    Case { make: |path| std::fs::write(path, "").unwrap(), said: "is empty", mended: true },
    Case { make: |path| std::fs::write(path, " \n").unwrap(), said: "is empty", mended: true },
    Case {
        make: |path| std::fs::write(path, "{\"services\": {\"jelly").unwrap(),
        said: "is not a cooldown file",
        mended: false,
    },
    Case {
        make: |path| std::fs::write(path, "[1, 2]").unwrap(),
        said: "is not a cooldown file",
        mended: false,
    },
    Case {
        make: |path| std::fs::write(path, b"\xff\xfe{}").unwrap(),
        said: "is not a cooldown file",
        mended: false,
    },
    Case {
        make: |path| std::fs::write(path, " ".repeat(50 << 20)).unwrap(),
        said: "52428800 bytes",
        mended: false,
    },
    Case { make: |path| std::fs::create_dir(path).unwrap(), said: "is a directory", mended: false },
    Case {
        make: |path| assert!(Command::new("mkfifo").arg(path).status().unwrap().success()),
        said: "not a regular file",
        mended: false,
    },
    Case { make: |path| symlink("/dev/zero", path).unwrap(), said: "not a regular file", mended: false },
    Case { make: |path| symlink("nowhere.json", path).unwrap(), said: "no cooldown.json in ", mended: false },
];

#[test]
fn the_ledger_enforces_the_budget_with_any_cooldown_json() {
    for Case { make, said, mended } in CASES {
        let sandbox = Sandbox::new();
        let path = sandbox.path("cooldown.json");
        make(&path);
        let before = state_of(&path);
        for id in ["t1", "t2"] {
            let asked = sandbox.before(id, RESTART);
            passes(&asked);
            if id == "t1" {
                assert_eq!(asked.stderr.lines().count(), 1, "{said}: {asked:?}");
                assert!(asked.stderr.contains(said), "{said}: {asked:?}");
                assert_eq!(state_of(&path), before, "{said}: nothing is written before the command has run");
            }
            let shown = sandbox.after(id, RESTART);
            passes(&shown);
            assert_eq!(shown.stderr.lines().count(), usize::from(!mended), "{said}: {shown:?}");
        }
        denied(&sandbox.before("t3", RESTART));
        assert_eq!(sandbox.sql("SELECT count(*) FROM cooldown_actions"), "2", "{said}");
        if mended {
            let json: Value = serde_json::from_str(&state_of(&path)).unwrap();
            let entries = json["services"]["jellyfin"]["restart_timestamps"].as_array().unwrap();
            assert_eq!(entries.len(), 2, "{said}: {json}");
        } else {
            assert_eq!(state_of(&path), before, "{said}: what is not understood is left as it is");
        }
    }
}

#[test]
fn a_file_that_may_not_be_read_or_written_is_left_alone() {
    for (mode, reads) in [("0444", true), ("0000", false)] {
        let sandbox = Sandbox::new();
        let text =
            format!("{{\"services\": {{\"jellyfin\": {{\"restart_timestamps\": [\"{}\"]}}}}}}", ago(60));
        let path = sandbox.write("cooldown.json", &text);
        // Root passes by permissions, so its privilege to do so is taken away.
        let script = format!(
            "chmod {mode} {0}; setpriv --bounding-set=-dac_override,-dac_read_search --inh-caps=-dac_override,-dac_read_search \"$@\"; chmod 0644 {0}",
            path.display()
        );
        let show = sandbox.in_own_mounts(&script, &["cooldown", "show", "jellyfin"], "");
        assert_eq!(show.stdout.contains("1/2 restarts"), reads, "{mode}: {show:?}");
        let record = sandbox.in_own_mounts(&script, &["cooldown", "record", "jellyfin"], "");
        assert_eq!(record.code, Some(0), "{record:?}");
        assert!(record.stderr.contains("cannot be written (Permission denied"), "{mode}: {record:?}");
        assert_eq!(sandbox.read("cooldown.json"), text);
        assert_eq!(sandbox.sql("SELECT count(*) FROM cooldown_actions"), "1");
    }
}

#[test]
fn both_shapes_in_one_file_count_and_grow_each_in_its_own() {
    let sandbox = Sandbox::new();
    let text = "{\n  \"note\": \"ours\", // by hand\n  \"services\": {}\n}\n";
    // A comment is not valid JSON: other readers could not read the file either.
    sandbox.write("cooldown.json", text);
    assert!(sandbox.after("t0", "docker restart sonarr").stderr.contains("is not a cooldown file"));

    let (first, second) = (ago(60), ago(50));
    let text = format!(
        "{{\n\t\"schema\": 3, \"last_run\" :null,\n\t\"services\": {{\n\t\t\"jellyfin\": {{ \"restarts\": [{{\"timestamp\": \"{first}\",\"success\":true, \"by\":\"me\"}}], \"owner\":\"ops\" }},\n\t\t\"plex\":{{\"restart_timestamps\":[ \"{second}\" ], \"x\":[1,2 ,3]}}\n\t}}\n}}"
    );
    sandbox.write("cooldown.json", &text);
    for service in ["jellyfin", "plex"] {
        let command = format!("docker restart {service}");
        passes(&sandbox.before(service, &command));
        passes(&sandbox.after(service, &command));
        denied(&sandbox.before("again", &command));
    }
    // Taking out what was added gives the text back to the byte.
    let written = sandbox.read("cooldown.json");
    let [jellyfin, plex] = ["jellyfin", "plex"]
        .map(|name| sandbox.sql(&format!("SELECT timestamp FROM cooldown_actions WHERE service = '{name}'")));
    let start = written.find("\"by\":\"me\"}").unwrap() + "\"by\":\"me\"}".len();
    let end = start + written[start..].find(']').unwrap();
    let added: String = written[start..end].chars().filter(|c| !c.is_whitespace()).collect();
    assert_eq!(added, format!(",{{\"timestamp\":\"{jellyfin}\",\"success\":true}}"));
    let back = (written[..start].to_owned() + &written[end..]).replace(&format!(", \"{plex}\""), "");
    assert_eq!(back, text);
}

#[test]
fn a_link_stays_a_link_and_its_file_is_written() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("elsewhere")).unwrap();
    sandbox.write("elsewhere/real.json", "{\"services\": {}}");
    symlink("elsewhere/real.json", sandbox.path("cooldown.json")).unwrap();
    passes(&sandbox.after("t1", RESTART));
    assert!(sandbox.path("cooldown.json").symlink_metadata().unwrap().is_symlink());
    assert!(sandbox.read("elsewhere/real.json").contains("jellyfin"));
    assert_eq!(std::fs::read_dir(sandbox.path("elsewhere")).unwrap().count(), 1);
}

#[test]
fn twenty_concurrent_writers_lose_nothing() {
    let sandbox = Sandbox::new();
    sandbox.write("cooldown.json", "{\"mine\": true, \"services\": {}}");
    let writers: Vec<_> = (0..20)
        .map(|n| {
            let service = format!("s{}", n % 4);
            let mut command = sandbox.command(&["cooldown", "record", &service]);
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    for writer in writers {
        let output = writer.wait_with_output().unwrap();
        let printed = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), &*printed), (Some(0), ""));
    }
    assert_eq!(sandbox.sql("SELECT count(*) FROM cooldown_actions"), "20");
    let json: Value = serde_json::from_str(&sandbox.read("cooldown.json")).unwrap();
    let entries = |n| json["services"][format!("s{n}")]["restarts"].as_array().unwrap().len();
    assert_eq!((0..4).map(entries).collect::<Vec<_>>(), [5, 5, 5, 5]);
    assert_eq!(json["mine"], true);
}

const INITIAL: &str = "{\n  \"services\": {},\n  \"last_run\": null,\n  \"last_daily_digest\": null\n}\n";

#[test]
fn a_session_creates_the_file_that_the_runtime_begins_with() {
    let sandbox = Sandbox::new();
    let start = || sandbox.hook("session-start", &json!({"session_id": "s1", "source": "startup"}));
    assert!(start().stdout.contains("Cooldown State:\n  No data available"));
    assert_eq!(sandbox.read("cooldown.json"), INITIAL);
    passes(&sandbox.before("t1", RESTART));
    passes(&sandbox.after("t1", RESTART));
    let json: Value = serde_json::from_str(&sandbox.read("cooldown.json")).unwrap();
    assert_eq!(json["services"]["jellyfin"]["restarts"][0]["success"], true, "{json}");
    let text = sandbox.read("cooldown.json");
    start();
    assert_eq!(sandbox.read("cooldown.json"), text);
}

#[test]
fn the_times_of_the_file_are_set_without_touching_a_budget() {
    for text in [
        None,
        Some(""),
        Some("{\"note\": 1, \"services\": {\"a\": {\"restarts\": []}}, \"last_run\": \"x\"}"),
    ] {
        let sandbox = Sandbox::new().with("CLAUDEOPS_TIER", "1");
        if let Some(text) = text {
            sandbox.write("cooldown.json", text);
        }
        let services = |json: &Value| json["services"].clone();
        let before = serde_json::from_str(text.unwrap_or_default()).map_or(json!({}), |json| services(&json));
        for (verb, key) in [("checked", "last_run"), ("digested", "last_daily_digest")] {
            passes(&sandbox.before(verb, &format!("opsctl cooldown {verb}")));
            let run = sandbox.opsctl(&["cooldown", verb], b"");
            let json: Value = serde_json::from_str(&sandbox.read("cooldown.json")).unwrap();
            let at = json[key].as_str().unwrap();
            assert!(chrono::DateTime::parse_from_rfc3339(at).is_ok_and(|_| at.ends_with('Z')), "{at}");
            assert_eq!((run.code, run.stdout), (Some(0), format!("{key}: {at}\n")));
            assert_eq!(services(&json), before);
        }
        assert!(!sandbox.has_ledger() || sandbox.sql("SELECT count(*) FROM cooldown_actions") == "0");
    }
    let sandbox = Sandbox::new();
    sandbox.write("cooldown.json", "[]");
    let run = sandbox.opsctl(&["cooldown", "checked"], b"");
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{run:?}");
    assert!(run.stderr.contains("is not a cooldown file") && run.stderr.lines().count() == 1, "{run:?}");
}

#[test]
fn a_number_of_healthy_checks_that_another_writer_has_set_clears_nothing() {
    let sandbox = Sandbox::new();
    passes(&sandbox.after("t1", RESTART));
    sandbox.write(
        "cooldown.json",
        "{\"services\": {\"jellyfin\": {\"restarts\": [], \"consecutive_healthy\": 9}}}",
    );
    sandbox.sql("INSERT INTO service_health_streak (service, consecutive_healthy) VALUES ('jellyfin', 9)");
    let run = sandbox.opsctl(&["cooldown", "healthy", "jellyfin"], b"");
    assert!(run.stdout.contains("1/2 restarts"), "{run:?}");
    assert!(run.stderr.contains("only checks that opsctl makes clear the counters"), "{run:?}");
    assert_eq!(sandbox.sql("SELECT consecutive_healthy FROM service_health_streak"), "1");
}

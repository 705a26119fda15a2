//! `opsctl report`: the output file, and files that are not replaced. `tests/report` checks the content.

use std::os::unix::fs::{PermissionsExt, symlink};

use crate::sandbox::{Run, Sandbox, passes};

const PAGE: &str = "<!doctype html>\n<!-- opsctl report -->\n";

fn place() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("hosts.yaml", "services: {jellyfin: {}}\n");
    sandbox.write("cooldown.json", "{}");
    passes(&sandbox.before("t1", "docker restart jellyfin"));
    passes(&sandbox.after("t1", "docker restart jellyfin"));
    sandbox
}

fn report(sandbox: &Sandbox, to: &str) -> Run {
    sandbox.opsctl(&["report", "--html", to], b"")
}

#[track_caller]
fn refused(run: &Run, words: &str) {
    assert_eq!((run.code, run.stdout.as_str(), run.stderr.lines().count()), (Some(1), "", 1), "{run:?}");
    assert!(run.stderr.contains(words), "{run:?}");
}

#[test]
fn an_earlier_report_is_replaced_and_no_other_file() {
    let sandbox = place();
    for _ in 0..2 {
        let run = report(&sandbox, "r.html");
        assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (Some(0), "r.html\n", ""));
        assert!(sandbox.read("r.html").starts_with(PAGE) && sandbox.read("r.html").ends_with("</html>\n"));
    }
    sandbox.write("empty.html", "");
    assert_eq!(report(&sandbox, "empty.html").code, Some(0));
    refused(
        &report(&sandbox, "hosts.yaml"),
        "hosts.yaml is not a report of opsctl and is not replaced; remove it, or",
    );
    assert_eq!(sandbox.read("hosts.yaml"), "services: {jellyfin: {}}\n");
    refused(&report(&sandbox, "."), ". is a folder; name a file in it");
    refused(&report(&sandbox, "nowhere/r.html"), "nowhere/r.html cannot be written");
    let left: Vec<_> =
        std::fs::read_dir(sandbox.path("")).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().starts_with(".opsctl-report")), "{left:?}");
}

#[test]
fn a_link_and_the_mode_of_an_earlier_report_stay() {
    let sandbox = place();
    report(&sandbox, "r.html");
    std::fs::set_permissions(sandbox.path("r.html"), PermissionsExt::from_mode(0o640)).unwrap();
    symlink("r.html", sandbox.path("latest.html")).unwrap();
    assert_eq!(report(&sandbox, "latest.html").code, Some(0));
    assert!(sandbox.path("latest.html").symlink_metadata().unwrap().is_symlink());
    assert_eq!(sandbox.path("r.html").metadata().unwrap().permissions().mode() & 0o777, 0o640);
}

#[test]
fn the_page_goes_to_the_standard_output_and_into_pipes() {
    let sandbox = place();
    for to in ["-", "/dev/stdout"] {
        let run = report(&sandbox, to);
        assert!(run.stdout.starts_with(PAGE) && run.stdout.contains("jellyfin"), "{run:?}");
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{to}");
    }
    assert!(!sandbox.path("-").exists());
}

#[test]
fn without_a_ledger_a_page_and_a_warning_are_printed_and_no_ledger_is_created() {
    let sandbox = Sandbox::new();
    let run = report(&sandbox, "-");
    assert!(
        run.stdout.contains("<h1 class=\"unknown\">")
            && run.stdout.contains("Nothing known needs attention: no ledger yet"),
        "{run:?}"
    );
    assert_eq!(run.code, Some(0));
    assert!(run.stderr.contains("no ledger at") && run.stderr.lines().count() == 1, "{run:?}");
    assert!(!sandbox.path("claudeops.db").exists());
    refused(
        &sandbox.opsctl(&["report", "--html", "-", "--since", "2099-01-01T00:00:00Z"], b""),
        "--since is in the future",
    );
}

#[test]
fn the_ledger_of_a_session_manager_is_read_as_it_is() {
    let sandbox = Sandbox::new();
    sandbox.sql(include_str!("../fixtures/session-manager.sql"));
    sandbox.sql(
        "INSERT INTO events (level, service, message, created_at) VALUES ('warning', 'plex', 'Slow', datetime('now', '-1 hours'));
         INSERT INTO cooldown_actions (service, action_type, timestamp, success, tier) VALUES
             ('plex', 'restart', datetime('now', '-1 hours'), 0, 2), ('plex', 'restart', datetime('now', '-9 days'), 1, 2)",
    );
    let run = report(&sandbox, "-");
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    assert!(run.stdout.contains("<b>1</b> <span class=\"bad\">1 failed</span>"), "{}", run.stdout);
    assert!(run.stdout.contains("Slow"));
}

#[test]
fn an_action_that_two_tables_hold_is_one() {
    let sandbox = place();
    assert_eq!(
        sandbox.sql("SELECT (SELECT count(*) FROM hook_actions), (SELECT count(*) FROM cooldown_actions)"),
        "1|1"
    );
    assert!(report(&sandbox, "-").stdout.contains("<dt>actions</dt><dd><b>1</b></dd>"));
    // Another program's record of it, and one by hand, which is another action.
    sandbox.sql("INSERT INTO cooldown_actions (service, action_type, timestamp, success, tier) SELECT service, action_type, timestamp, 1, 2 FROM cooldown_actions");
    assert!(report(&sandbox, "-").stdout.contains("<dt>actions</dt><dd><b>1</b></dd>"));
    let service = sandbox.sql("SELECT DISTINCT service FROM cooldown_actions");
    assert_eq!(sandbox.opsctl(&["cooldown", "record", &service], b"").code, Some(0));
    assert!(report(&sandbox, "-").stdout.contains("<dt>actions</dt><dd><b>2</b></dd>"));
}

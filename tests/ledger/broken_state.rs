//! State folders that cannot be written: `policy.on_failure` applies, one line is printed, and no file is left behind.

use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::Path;

use serde_json::json;

use crate::sandbox::{Run, Sandbox, call, denied, sqlite3};

/// A fault, as a shell script in a separate mount namespace, with the state folder as `$state`. `used` is the number of
/// restarts in an existing ledger; `None` for no ledger.
struct Trouble {
    name: &'static str,
    used: Option<usize>,
    prepare: &'static str,
}

const ON_A_DISK: &str =
    "cp -a $state $state.copy; mount -t tmpfs -o size=1m tmpfs $state; cp -a $state.copy/. $state;";

/// Overwrites every page but the first.
const DAMAGED: &str = "echo 'PRAGMA journal_mode=DELETE;' | sqlite3 $state/claudeops.db > /dev/null
     pages=$(($(stat -c %s $state/claudeops.db) / 4096 - 1))
     dd if=/dev/zero of=$state/claudeops.db bs=4096 seek=1 count=$pages conv=notrunc 2> /dev/null";

const TROUBLES: [Trouble; 14] = [
    Trouble { name: "no state folder", used: None, prepare: "rmdir $state" },
    Trouble {
        name: "a file in place of the state folder",
        used: None,
        prepare: "rmdir $state; echo x > $state",
    },
    Trouble { name: "a folder without the right to write", used: None, prepare: "chmod 0555 $state" },
    Trouble { name: "a folder without any right", used: Some(1), prepare: "chmod 0000 $state" },
    Trouble { name: "a read-only file system", used: None, prepare: "mount -t tmpfs -o ro tmpfs $state" },
    Trouble { name: "a read-only file system with a ledger", used: Some(1), prepare: "READ_ONLY" },
    Trouble { name: "a full disk", used: None, prepare: "FULL" },
    Trouble { name: "a full disk with a ledger", used: Some(1), prepare: "FULL" },
    Trouble { name: "a folder in place of the ledger", used: None, prepare: "mkdir $state/claudeops.db" },
    Trouble { name: "a pipe in place of the ledger", used: None, prepare: "mkfifo $state/claudeops.db" },
    Trouble {
        name: "a letter in place of the ledger",
        used: None,
        prepare: "yes dear | head -c 9000 > $state/claudeops.db",
    },
    Trouble { name: "a ledger of another user", used: Some(1), prepare: "chmod 0555 $state" },
    Trouble { name: "a ledger with damaged pages", used: Some(1), prepare: DAMAGED },
    Trouble { name: "an unreadable ledger", used: Some(1), prepare: "chmod 0000 $state/claudeops.db*" },
];

/// A folder `state` with this number of recorded restarts of jellyfin.
fn with_ledger(used: Option<usize>, on_failure: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("hosts.yaml", &format!("policy: {{on_failure: {on_failure}}}\n"));
    std::fs::create_dir(sandbox.path("state")).unwrap();
    let state = sandbox.path("state");
    let sandbox = sandbox.with("CLAUDEOPS_STATE_DIR", state.to_str().unwrap());
    for n in 0..used.unwrap_or(0) {
        assert_eq!(sandbox.before(&format!("u{n}"), "docker restart jellyfin").code, Some(0));
        assert_eq!(sandbox.after(&format!("u{n}"), "docker restart jellyfin").code, Some(0));
    }
    if used.is_some() {
        std::fs::remove_file(state.join("cooldown.json")).unwrap();
    }
    sandbox
}

/// Runs the hook with this fault, without root's privilege to ignore permissions. Returns the files of the state folder
/// before and after it.
fn hook_in(trouble: &str, sandbox: &Sandbox, event: &str) -> (Run, String, String) {
    let trouble = trouble
        .replace("FULL", &format!("{ON_A_DISK} cat /dev/zero > $state/ballast 2>/dev/null || true"))
        .replace("READ_ONLY", &format!("{ON_A_DISK} mount -o remount,ro $state"));
    let script = format!(
        "state={}; {trouble}; ls -lA $state > before 2>&1 || true
         code=0; setpriv --bounding-set=-dac_override,-dac_read_search --inh-caps=-dac_override,-dac_read_search \"$@\" || code=$?
         ls -lA $state > after 2>&1 || true; chmod -R u+rwx $state 2>/dev/null || true; exit $code",
        sandbox.path("state").display()
    );
    let input = call("t1", "docker restart jellyfin").to_string();
    let run = sandbox.in_own_mounts(&script, &["hook", event], &input);
    (run, sandbox.read("before"), sandbox.read("after"))
}

/// The files that keep what the ledger cannot record.
const KEPT: [&str; 3] = ["guard-failures.jsonl", "guard-undelivered.jsonl", "cooldown.json"];

/// The files of a listing, without those that keep something.
fn names(listing: &str) -> Vec<&str> {
    let columns = |line| str::split_whitespace(line).collect::<Vec<_>>();
    let files = listing.lines().map(columns).filter(|columns| columns.len() == 9);
    files.filter(|file| !KEPT.contains(&file[8]) || file[4] == "0").map(|file| file[8]).collect()
}

#[test]
fn the_policy_answers_in_one_line_and_nothing_is_left_behind() {
    for trouble in TROUBLES {
        for on_failure in ["open", "closed"] {
            let sandbox = with_ledger(trouble.used, on_failure);
            if trouble.name == "a ledger of another user" {
                give_away(&sandbox.path("state/claudeops.db"));
            }
            let (run, before, after) = hook_in(trouble.prepare, &sandbox, "pre-tool-use");
            let context = format!("{}, {on_failure}: {run:?}", trouble.name);
            assert_eq!(run.stderr.lines().count(), 1, "{context}");
            assert!(run.stderr.contains(&format!("policy.on_failure is {on_failure}")), "{context}");
            assert!(run.stderr.contains("state/claudeops.db cannot be used: "), "{context}");
            if on_failure == "open" {
                assert_eq!((run.code, run.stdout.as_str()), (Some(0), ""), "{context}");
            } else {
                denied(&run);
            }
            assert_eq!(names(&after), names(&before), "{context}");
        }
    }
}

fn give_away(file: &Path) {
    // Only root can; for others the missing right to write is the same.
    if chown(file, Some(12_345), Some(12_345)).is_err() {
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o444)).unwrap();
    }
}

/// A ledger that can be read and not written: its usage applies with any `policy.on_failure`.
#[test]
fn a_used_up_budget_is_enforced_without_write_access() {
    for prepare in ["FULL", "READ_ONLY", "chmod 0555 $state; chmod 0444 $state/*"] {
        let sandbox = with_ledger(Some(2), "open");
        let (run, ..) = hook_in(prepare, &sandbox, "pre-tool-use");
        assert!(denied(&run).starts_with("Cooldown limit exceeded for jellyfin: 2/2"), "{prepare}: {run:?}");
    }
}

#[test]
fn other_hooks_pass_and_report_what_was_not_recorded() {
    for trouble in TROUBLES {
        for event in ["post-tool-use", "session-end", "session-start"] {
            let sandbox = with_ledger(trouble.used, "closed");
            let (run, before, after) = hook_in(trouble.prepare, &sandbox, event);
            let context = format!("{}, {event}: {run:?}", trouble.name);
            assert_eq!(run.code, Some(0), "{context}");
            assert!(run.stderr.lines().count() <= 2, "{context}");
            if event == "post-tool-use" && trouble.name != "a ledger of another user" {
                let is_kept = run.stderr.contains("is kept, and recorded later");
                let is_lost = run.stderr.contains("`docker restart jellyfin` has run and is not recorded");
                assert!(is_kept != is_lost, "{context}");
            }
            assert_eq!(names(&after), names(&before), "{context}");
        }
    }
}

#[test]
fn the_ledger_works_again_after_a_failure() {
    let sandbox = with_ledger(Some(1), "open");
    let (run, ..) = hook_in("chmod 0444 $state/claudeops.db; chmod 0555 $state", &sandbox, "pre-tool-use");
    assert!(run.stderr.contains("readonly"), "{run:?}");
    assert_eq!(sandbox.before("t2", "docker restart jellyfin").code, Some(0));
    denied(&sandbox.before("t3", "docker restart jellyfin"));
}

/// The report of a call may be late or missing: what was allowed counts from then on, and is recorded once.
#[test]
fn calls_that_are_allowed_without_a_ledger_count_before_they_are_reported() {
    let sandbox = with_ledger(None, "open");
    let ledger = sandbox.path("state/claudeops.db");
    std::fs::create_dir(&ledger).unwrap();
    for id in ["t1", "t2"] {
        let run = sandbox.before(id, "docker restart jellyfin");
        assert!(run.stderr.contains("runs and is recorded later"), "{run:?}");
    }
    let shown = sandbox.opsctl(&["status", "--no-hosts"], b"").stdout;
    assert!(shown.contains("jellyfin: 2/2 restarts"), "{shown}");
    assert!(denied(&sandbox.before("t3", "docker restart jellyfin")).contains("2/2 restarts"));
    sandbox.after("t1", "docker restart jellyfin");
    sandbox.after("t1", "docker restart jellyfin");
    sandbox.hook("session-end", &json!({"session_id": "sess-abc-123", "reason": "other"}));
    denied(&sandbox.before("t4", "docker restart jellyfin"));
    std::fs::remove_dir(&ledger).unwrap();
    denied(&sandbox.before("t5", "docker restart jellyfin"));
    let rows = "SELECT tool_use_id, state FROM hook_actions ORDER BY id";
    assert_eq!(sqlite3(&ledger, rows), "t1|done\nt2|unknown");
    assert_eq!(sqlite3(&ledger, "SELECT count(*) FROM cooldown_actions"), "2");
    assert!(!sandbox.path("state/guard-undelivered.claimed.jsonl").exists(), "everything is delivered");
}

#[test]
fn a_failure_by_a_damaged_page_is_recorded_once_the_ledger_is_restored() {
    for (on_failure, verdict) in [("open", "fail-open"), ("closed", "fail-closed")] {
        let sandbox = with_ledger(Some(1), on_failure);
        let whole =
            format!("cp $state/claudeops.db whole.db; cp $state/claudeops.db-wal whole.db-wal; {DAMAGED}");
        let (run, ..) = hook_in(&whole, &sandbox, "pre-tool-use");
        assert!(run.stderr.contains(&format!("policy.on_failure is {on_failure}")), "{run:?}");
        for end in ["", "-wal"] {
            let ledger = sandbox.path(&format!("state/claudeops.db{end}"));
            std::fs::copy(sandbox.path(&format!("whole.db{end}")), ledger).unwrap();
        }
        assert_eq!(sandbox.after("t2", "docker restart sonarr").code, Some(0));
        let database = sandbox.path("state/claudeops.db");
        let events = sqlite3(&database, "SELECT message FROM events WHERE level = 'critical'");
        assert!(events.starts_with(&format!("Guard failed {on_failure}: ")), "{events}");
        assert_eq!(events.lines().count(), 1, "{events}");
        let decisions = sqlite3(&database, "SELECT verdict FROM hook_decisions WHERE rule = 'on_failure'");
        assert_eq!(decisions, verdict);
    }
}

/// A process that was stopped within its transaction does not block other processes for ever.
#[test]
fn a_lock_that_is_never_released_fails_after_a_timeout() {
    let sandbox = with_ledger(Some(1), "closed");
    let database = sandbox.path("state/claudeops.db");
    let mut holder = std::process::Command::new("sqlite3");
    holder.arg(&database).stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut holder = holder.spawn().unwrap();
    let mut stdin = holder.stdin.take().unwrap();
    std::io::Write::write_all(&mut stdin, b"BEGIN IMMEDIATE; SELECT 'held';\n").unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(holder.stdout.take().unwrap()), &mut line)
        .unwrap();
    let started = std::time::Instant::now();
    let run = sandbox.hook("pre-tool-use", &call("t1", "docker restart jellyfin"));
    assert!(denied(&run).contains("database is locked"), "{run:?}");
    assert!((5..20).contains(&started.elapsed().as_secs()), "{:?}", started.elapsed());
    // A session's end is not worth the wait of a second one, and its own deadline is short: it passes.
    let run = sandbox.hook("session-end", &json!({"session_id": "sess-abc-123"}));
    assert_eq!(run.code, Some(0), "{run:?}");
    drop(stdin);
    holder.wait().unwrap();
}

#[test]
fn a_ledger_of_a_development_version_is_refused_with_the_remedy() {
    let sandbox = with_ledger(Some(1), "closed");
    sqlite3(&sandbox.path("state/claudeops.db"), "UPDATE opsctl_migrations SET version = 24");
    for run in [sandbox.opsctl(&["events"], b""), sandbox.before("t1", "docker restart jellyfin")] {
        for part in ["tables have version 24", "move the file away; opsctl creates a new ledger"] {
            assert!(run.stderr.contains(part), "{part}: {run:?}");
        }
    }
}

#[test]
fn an_inventory_that_is_no_file_is_reported_in_time_and_loosens_nothing() {
    for make in
        ["mkfifo hosts.yaml", "ln -s hosts.yaml hosts.yaml", "ln -s /dev/zero hosts.yaml", "mkdir hosts.yaml"]
    {
        let sandbox = Sandbox::new();
        let script = format!("{make}; mkdir claudeops.db; exec timeout -s KILL 5 \"$@\"");
        let input = call("t1", "docker restart jellyfin").to_string();
        let run = sandbox.in_own_mounts(&script, &["hook", "pre-tool-use"], &input);
        assert_eq!(run.code, Some(2), "{make}: {run:?}");
        for verb in
            [&["status", "--no-hosts"][..], &["render"], &["explain", "docker restart jellyfin"], &["doctor"]]
        {
            let mut arguments = vec!["-s", "KILL", "8", env!("CARGO_BIN_EXE_opsctl")];
            arguments.extend(verb);
            let run = sandbox.in_place_of(Path::new("/usr/bin/timeout"), &arguments, b"");
            assert!(run.code.is_some() && run.code != Some(137), "{make}: {verb:?} {run:?}");
            let says = format!("{}{}", run.stdout, run.stderr).contains("cannot read the inventory");
            assert!(says, "{make}: {verb:?} {run:?}");
        }
    }
}

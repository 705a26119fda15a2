//! `kill -9` at any moment of a run.

use std::io::Write as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::random::Random;
use crate::sandbox::{Run, Sandbox, call, schema_version};

const ROUNDS: usize = 500;

/// Starts a run and kills it after `delay`; returns true if it had ended before.
fn killed(sandbox: &Sandbox, arguments: &[&str], input: &Value, delay: Duration) -> bool {
    let started = Instant::now();
    let mut child = sandbox
        .command(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let _ = child.stdin.take().unwrap().write_all(input.to_string().as_bytes());
    while started.elapsed() < delay {
        std::thread::sleep(Duration::from_micros(100));
    }
    let ended = child.try_wait().unwrap().is_some();
    child.kill().unwrap();
    child.wait().unwrap();
    sandbox.until_idle();
    ended
}

/// Delays that are spread over the duration of a run: they grow while runs are killed early, and shrink while runs end
/// before they are killed. Counted from the first run that ends, because only then the duration is known.
struct Delays {
    random: Random,
    middle: Duration,
    is_duration_known: bool,
    cut_short: usize,
    ended: usize,
}

impl Delays {
    fn new(seed: u64) -> Self {
        Self {
            random: Random::new(seed),
            middle: Duration::from_millis(5),
            is_duration_known: false,
            cut_short: 0,
            ended: 0,
        }
    }

    fn kill(&mut self, sandbox: &Sandbox, arguments: &[&str], input: &Value) -> bool {
        let thousandths = u32::try_from(self.random.below(2000)).unwrap();
        let ended = killed(sandbox, arguments, input, self.middle * thousandths / 1000);
        self.is_duration_known |= ended;
        if !self.is_duration_known {
            self.middle = self.middle.mul_f64(1.5);
            return ended;
        }
        self.middle = self.middle.mul_f64(if ended { 0.95 } else { 1.05 });
        *(if ended { &mut self.ended } else { &mut self.cut_short }) += 1;
        ended
    }

    /// Asserts that enough runs were killed; otherwise, the test proves nothing.
    fn assert_spread(&self, what: &str) {
        let Self { cut_short, ended, middle, .. } = self;
        println!("{what}: {cut_short} cut short, {ended} ended before, half of the delays under {middle:?}");
        assert!(cut_short.min(ended) * 5 > cut_short + ended, "{what}: {cut_short} against {ended}");
    }
}

fn counted(sandbox: &Sandbox, service: &str) -> usize {
    let run = sandbox.opsctl(&["cooldown", "show", service, "--json"], b"");
    let json: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run:?}"));
    json["services"][0]["restart"]["used"].as_u64().unwrap().try_into().unwrap()
}

fn quiet(run: &Run) {
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(!run.stderr.contains("cannot be used"), "{run:?}");
}

/// Each round restarts a separate service once. Its hooks are killed at random, and the report after it is repeated. The
/// ledger must contain every action that ran, once.
#[test]
fn five_hundred_kills_lose_no_action_and_count_none_twice() {
    let sandbox = Sandbox::new();
    let [mut before, mut after, mut end, mut by_hand] = [1, 2, 3, 4].map(Delays::new);
    let mut recorded = 0;
    for round in 1..=ROUNDS / 4 {
        let (service, id) = (format!("s{round}"), format!("t{round}"));
        let input = call(&id, &format!("docker restart {service}"));
        // Before: the client runs the command of a hook that was killed at any point.
        let rows_of = |table: &str| {
            sandbox.sql(&format!("SELECT count(*) FROM {table} WHERE service = '{service}'")).parse::<usize>()
        };
        before.kill(&sandbox, &["hook", "pre-tool-use"], &input);
        let known = if round == 1 { 0 } else { rows_of("hook_actions").unwrap() };
        assert!(known == 0 || counted(&sandbox, &service) == 1, "{service}: reserved and does not count");

        // After: killed, and reported again. It counts from the first report that reached the ledger.
        after.kill(&sandbox, &["hook", "post-tool-use"], &input);
        assert!(known == 0 || counted(&sandbox, &service) == 1, "{service}: ran and does not count");
        quiet(&sandbox.hook("post-tool-use", &input));
        quiet(&sandbox.hook("post-tool-use", &input));
        for table in ["hook_actions", "cooldown_actions", "events"] {
            assert_eq!(rows_of(table).unwrap(), 1, "{service} in {table}");
        }
        assert_eq!(counted(&sandbox, &service), 1, "{service}: ran once and does not count once");

        // The session ends: what is settled stays.
        end.kill(&sandbox, &["hook", "session-end"], &json!({"session_id": "sess-abc-123"}));
        assert_eq!(counted(&sandbox, &service), 1, "{service}: the end of the session took it back");

        // By hand: all or nothing in the ledger, and the file is whole in any case.
        let ended = by_hand.kill(&sandbox, &["cooldown", "record", &format!("r{round}")], &Value::Null);
        let rows = sandbox.sql(&format!("SELECT count(*) FROM cooldown_actions WHERE service = 'r{round}'"));
        assert!(rows == "1" || (rows == "0" && !ended), "{rows}");
        recorded += usize::from(rows == "1");
        if let Ok(file) = std::fs::read_to_string(sandbox.path("cooldown.json")) {
            serde_json::from_str::<Value>(&file).unwrap();
        }
        if round % 25 == 0 {
            sandbox.assert_intact();
        }
    }
    sandbox.assert_intact();
    assert_eq!(
        sandbox.sql("SELECT count(*) FROM cooldown_actions WHERE service LIKE 'r%'"),
        recorded.to_string()
    );
    // Nothing but the database, the two files, and at most one unfinished file each that the next writer replaces.
    let mut files: Vec<String> = std::fs::read_dir(sandbox.path("."))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.retain(|name| {
        !name.starts_with("claudeops.db-") && name != "claudeops.db" && !name.ends_with(".json.new")
    });
    files.sort();
    assert_eq!(files, ["cooldown.json", "ledger-mark.json"]);
    for (delays, what) in [(before, "before"), (after, "after"), (end, "end"), (by_hand, "by hand")] {
        delays.assert_spread(what);
    }
}

/// The first run creates the database. If it is killed at any moment, the next run finds a complete ledger or none.
#[test]
fn a_kill_during_creation_leaves_a_complete_ledger_or_none() {
    let mut delays = Delays::new(7);
    let mut none = 0;
    for _ in 0..100 {
        let sandbox = Sandbox::new();
        delays.kill(&sandbox, &["hook", "pre-tool-use"], &call("t1", "docker restart jellyfin"));
        if sandbox.has_ledger() {
            assert_eq!(
                sandbox.sql("SELECT max(version) FROM opsctl_migrations"),
                schema_version().to_string()
            );
        } else {
            none += 1;
        }
        quiet(&sandbox.before("t2", "docker restart sonarr"));
        sandbox.assert_intact();
        assert_eq!(sandbox.sql("SELECT count(*) FROM hook_actions WHERE service = 'sonarr'"), "1");
        assert!(!sandbox.path("claudeops.db.new").exists());
    }
    delays.assert_spread("the first run");
    assert!((5..=95).contains(&none), "{none} of 100 kills came before there was a ledger");
}

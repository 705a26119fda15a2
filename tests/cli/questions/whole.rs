//! A person approves what is shown: a call of which a part would not be shown is denied instead of asked about.

use serde_json::{Value, json};

use super::{answer, asking, before, decision, deferred, hook};
use crate::guard_process::Guarded;
use crate::sandbox::{Run, Sandbox, call, denied};

const HOSTS: &str = "hosts: {ie01: {address: 192.0.2.1}}\n";

/// A sandbox of tier 2 that asks about what is not proved to only read.
fn unknown() -> Sandbox {
    asking("[unknown, changes]", HOSTS).with("CLAUDEOPS_TIER", "2")
}

/// The hook before a call of a session of its own.
fn of_own_session(sandbox: &Sandbox, number: usize, mut input: Value) -> Run {
    input["session_id"] = json!(format!("s{number}"));
    hook(sandbox, &input)
}

const CODE: &str = "more than a literal value";
const KNOWN: &str = "the value of a secret variable";

#[test]
fn only_a_literal_value_is_hidden_from_the_person_who_approves() {
    let sandbox = unknown().with("MY_TOKEN", "destroyAllData42now").with("DB_PASSWORD", "frobmark");
    for (number, (command, expected)) in [
        ("fetchmark a", Ok("fetchmark a")),
        ("API_TOKEN=hunter2hunter2 fetchmark a", Ok("API_TOKEN=[redacted] fetchmark a")),
        ("fetchmark --password 'hunter2hunter2' a", Ok("fetchmark --password [redacted] a")),
        ("ssh ie01 'API_TOKEN=\"$(fetchmark evil --destroy)\"; fetchmark a'", Err(CODE)),
        ("API_TOKEN=\"$(fetchmark evil)\" fetchmark a", Err(CODE)),
        ("fetchmark a --api-key=`fetchmark${IFS}evil`", Err(CODE)),
        ("fetchmark --token=$(fetchmark${IFS}evil) a", Err(CODE)),
        ("fetchmark --token=<(fetchmark evil) a", Ok("fetchmark --token=<(fetchmark evil) a")),
        ("fetchmark --password 'two words' a", Err(CODE)),
        ("fetchmark --password=hunter2;fetchmark evil", Ok("fetchmark --password=[redacted];fetchmark evil")),
        ("API_TOKEN=evilprogram12; fetchmark $API_TOKEN", Err(CODE)),
        ("API_TOKEN=evilprogram12 && $API_TOKEN a", Err("the name of a program")),
        // What an environment states as its secret is hidden everywhere, also where it is no value.
        ("fetchmark destroyAllData42now a", Err(KNOWN)),
        ("frobmark a", Err(KNOWN)),
        ("MY_TOKEN=destroyAllData42now fetchmark a", Ok("MY_TOKEN=[redacted] fetchmark a")),
        ("fetchmark a\u{202e}b", Err("characters that are not visible")),
    ]
    .into_iter()
    .enumerate()
    {
        let run = of_own_session(&sandbox, number, call("t1", command));
        match expected {
            Ok(shown) => {
                deferred(&run);
                let asked = format!("SELECT command FROM questions WHERE session_id = 's{number}'");
                assert_eq!(sandbox.sql(&asked), shown, "{command}");
            }
            Err(why) => assert!(denied(&run).contains(why), "{command}: {run:?}"),
        }
    }
}

#[test]
fn explain_says_why_a_call_would_not_be_asked_about() {
    let sandbox = unknown();
    for (command, asks) in [("fetchmark a", true), ("fetchmark --token=\"$(fetchmark evil)\"", false)] {
        let run = answer(&sandbox, &["explain", "--json", command]);
        let explained: Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!(explained["asks"] == true, asks, "{run:?}");
        assert_eq!(run.stdout.contains(CODE), !asks, "{run:?}");
    }
}

#[test]
fn a_word_that_the_agents_side_states_as_its_secret_is_not_hidden_from_the_person() {
    let guarded = Guarded::with(unknown(), |agent| {
        agent.with("CLAUDEOPS_TIER", "2").with("MY_TOKEN", "destroyAllData42now")
    });
    let reason = denied(&before(&guarded.agent, "t1", "ssh ie01 fetchmark destroyAllData42now fine"));
    assert!(reason.contains(KNOWN), "{reason}");
    deferred(&before(&guarded.agent, "t2", "ssh ie01 fetchmark fine"));
    assert_eq!(guarded.guard.sql("SELECT command FROM questions"), "ssh ie01 fetchmark fine");
}

#[test]
fn a_call_that_is_too_long_to_show_is_denied_instead_of_asked_about() {
    let sandbox = unknown();
    let padded = |length: usize| {
        let (start, end) = ("fetchmark a; echo ", "; fetchmark evil");
        format!("{start}{}{end}", "x".repeat(length - start.len() - end.len()))
    };
    deferred(&of_own_session(&sandbox, 1, call("t1", &padded(4_000))));
    assert!(answer(&sandbox, &["approvals"]).stdout.contains("; fetchmark evil\n"));
    let reason = denied(&of_own_session(&sandbox, 2, call("t1", &padded(4_001))));
    assert!(reason.contains("it has more than 4000 characters"), "{reason}");
    // A word of a file that is cut.
    let folder = sandbox.path("").to_str().unwrap().to_owned();
    for (number, length, is_asked) in [(3, 100, true), (4, 130, false)] {
        sandbox.write("long.sh", &format!("fetchmark {}\n", "y".repeat(length)));
        let mut input = call("t1", "bash long.sh");
        input["cwd"] = json!(folder);
        let run = of_own_session(&sandbox, number, input);
        assert_eq!(decision(&run).0 == "defer", is_asked, "{length}: {run:?}");
    }
    assert_eq!(sandbox.sql("SELECT count(*) FROM questions"), "2");
}

#[test]
fn a_tool_whose_arguments_are_not_shown_is_denied_instead_of_asked_about() {
    let sandbox = unknown();
    let of = |number: usize, tool: &str, arguments: Value| {
        let mut input = call("t1", "");
        (input["tool_name"], input["tool_input"]) = (json!(tool), arguments);
        of_own_session(&sandbox, number, input)
    };
    let arguments = json!({"url": "x", "force": true, "times": 3, "hosts": [], "until": null});
    deferred(&of(1, "mcp__fetch__mark", arguments));
    assert_eq!(
        sandbox.sql("SELECT command FROM questions"),
        "mcp__fetch__mark /url=x /times=3 /force=true /hosts=[] /until=null"
    );
    let arguments = [
        json!({"url": "x", ("k".repeat(600)): "y"}),
        json!({"hosts": vec!["a"; 257]}),
        json!({"hosts": vec![true; 257]}),
    ];
    for (number, arguments) in arguments.into_iter().enumerate() {
        let reason = denied(&of(number + 2, "mcp__fetch__mark", arguments.clone()));
        assert!(reason.contains("some of its arguments"), "{arguments}: {reason}");
    }
    // At tier 2, a file of this machine may be written.
    let sandbox = unknown().with("CLAUDEOPS_TIER", "1");
    let mut input = call("t1", "");
    (input["tool_name"], input["tool_input"]) =
        (json!("Write"), json!({"file_path": "/srv/media/x", "content": "evil"}));
    let reason = denied(&hook(&sandbox, &input));
    assert!(reason.contains("the text that it writes"), "{reason}");
}

#[test]
fn a_notification_of_a_question_shows_the_whole_command_or_how_many_lines_are_missing() {
    let sandbox = unknown();
    let lines = |count: usize| (1..=count).map(|line| format!("fetchmark {line}")).collect::<Vec<_>>();
    let long = format!("fetchmark {}", "z".repeat(2_000));
    for (number, (command, missing)) in [
        (lines(40).join("\n"), None),
        (lines(47).join("\n"), Some("7 more lines")),
        (long, Some("1 more line")),
    ]
    .into_iter()
    .enumerate()
    {
        deferred(&of_own_session(&sandbox, number, call("t1", &command)));
        let body = sandbox.sql(&format!("SELECT body FROM notices WHERE key = 'question/{}'", number + 1));
        let shown = body.matches("    fetchmark ").count();
        let of_command = command.lines().count();
        match missing {
            None => assert!(shown == of_command && !body.contains("more line"), "{body}"),
            Some(text) => assert!(
                shown < of_command && body.contains(&format!("{text} of the command")),
                "{text}: {body}"
            ),
        }
    }
}

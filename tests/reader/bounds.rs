//! Beyond every limit of the reader, an action is still found, and a complaint names the limit.

use std::path::Path;

use opsctl_reader::actions::read_command;
use opsctl_reader::terms::action::Target;

const RESTART: &str = "docker restart jellyfin";

/// Commands that run [`RESTART`] beyond a limit.
fn beyond() -> Vec<(&'static str, String)> {
    let names = |count: usize| (0..count).map(|i| format!("c{i} ")).collect::<String>();
    let chain: String = (0..40).map(|i| format!("f{i}() {{ f{}; }}; ", i + 1)).collect();
    let branches: String = (0..30).map(|i| format!("{i}) c='echo {i}';; ")).collect();
    vec![
        ("function chain", format!("{chain}f40() {{ {RESTART}; }}; f0")),
        ("function calls", format!("f() {{ :; }}; {}g() {{ {RESTART}; }}; g", "f; ".repeat(600))),
        ("loop words", format!("for x in {}'{RESTART}'; do $x; done", names(300))),
        (
            "lines of a loop",
            format!("while read -r l; do $l; done <<'E'\n{}{RESTART}\nE", "true\n".repeat(300)),
        ),
        ("xargs", format!("printf '%s\\n' {}jellyfin | xargs -n1 docker restart", names(300))),
        ("parallel", format!("parallel ::: {}'{RESTART}'", "true ".repeat(300))),
        ("array", format!("a=({}'{RESTART}'); ${{a[5000]}}", "x ".repeat(5000))),
        ("variable", format!("x='# {}\n{RESTART}'; eval \"$x\"", "y".repeat(70_000))),
        ("braces", "{docker,restart,jellyfin,{1..2000}}".to_owned()),
        ("words", format!("{RESTART} {}", names(2000))),
        ("parameters", format!("set -- {}; {}\"$@\"", RESTART, "set -- \"$@\" \"$@\"; ".repeat(20))),
        ("size of words", format!("x={}; f() {{ {RESTART}; }}; f {}", "y".repeat(60_000), "$x ".repeat(5))),
        ("folders", format!("{}{RESTART}", (0..40).map(|i| format!("cd /x{i}; ")).collect::<String>())),
        ("values", format!("case $x in {branches}*) c=\"{RESTART}\";; esac; $c")),
        ("choices", format!("select x in {}'{RESTART}'; do $x; done", "a ".repeat(20))),
        ("depth", format!("{}{RESTART}", "eval ".repeat(60))),
        ("work", format!("for a in {{1..200}}; do for b in {{1..200}}; do :; done; done; {RESTART}")),
        (
            "code",
            format!(
                "python3 -c 'import os\n{}os.system(\"{RESTART}\")'",
                "os.system(\"true\")\n".repeat(300)
            ),
        ),
    ]
}

#[test]
fn what_lies_beyond_a_limit_is_suspected_and_complained_about() {
    for (limit, text) in beyond() {
        let reading = read_command(&text, Some(Path::new("/app")));
        assert!(!reading.complaints.is_empty(), "{limit}: no complaint");
        let found = reading.actions.iter().any(|action| format!("{:?}", action.target).contains("jellyfin"));
        assert!(found, "{limit}: {:?}", reading.actions);
    }
}

#[test]
fn many_and_large_files_are_followed() {
    let files: String = (0..100).map(|i| format!("echo x > /tmp/a{i}; ")).collect();
    let large =
        format!("cat > /tmp/z <<'E'\n{}{RESTART}\nE\nbash /tmp/z", "echo xxxxxxxxxxxxxxxx\n".repeat(5000));
    for text in [format!("{files}echo {RESTART} > /tmp/z; bash /tmp/z"), large] {
        let reading = read_command(&text, Some(Path::new("/app")));
        assert_eq!(reading.actions.len(), 1, "{:?}", reading.complaints);
    }
}

#[test]
fn many_actions_repeat_and_the_further_ones_stand_for_any_target() {
    let reading =
        read_command("for a in {1..40}; do for b in {1..40}; do docker restart c$a-$b; done; done", None);
    assert!(!reading.complaints.is_empty());
    assert_eq!(reading.actions.len(), 1001);
    assert!(reading.actions.iter().all(|action| action.repeats));
    assert_eq!(reading.actions.last().map(|action| &action.target), Some(&Target::Unknown));
}

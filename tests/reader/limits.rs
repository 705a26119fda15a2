//! The work of reading and judging is bounded by the size of its input, for any input.

use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use opsctl_policy::effects::{Scratch, parts};
use opsctl_policy::model::rights::rules::Rules;
use opsctl_policy::paths::word_paths::UnknownMachine;
use opsctl_policy::rules::{never, secrets};
use opsctl_reader::actions::{CommandReading, read_command};
use rustix::time::{ClockId, clock_gettime};

/// The default stack size of a thread.
const USUAL_STACK: usize = 2 * 1024 * 1024;
/// Far more than any reading takes; a hang ends here instead of stopping the whole run.
const PATIENCE: Duration = Duration::from_mins(1);

fn read(text: &str) -> CommandReading {
    read_command(text, Some(Path::new("/app")))
}

/// Reads and judges.
fn judge(text: &str) -> CommandReading {
    let reading = read(text);
    let (script, rules) = (&reading.script, Rules::default());
    parts(script, &Scratch::default(), &rules, &UnknownMachine);
    never::objections(script, &rules, None, &UnknownMachine);
    secrets::objections(script, None);
    reading
}

/// What this thread has used of a processor: other tests run beside this one.
fn processor_time() -> Duration {
    clock_gettime(ClockId::ThreadCPUTime).try_into().expect("a time since the thread began")
}

/// Reads on a thread with the usual stack; otherwise says what went wrong.
fn read_patiently(text: String) -> Result<(CommandReading, Duration), &'static str> {
    let (done, result) = mpsc::channel();
    let reader = thread::Builder::new().stack_size(USUAL_STACK);
    let reader = reader.spawn(move || {
        let begun = processor_time();
        let reading = judge(&text);
        // Where it took too long, the receiver is gone.
        done.send((reading, processor_time().saturating_sub(begun))).ok();
    });
    drop(reader.expect("a thread"));
    result.recv_timeout(PATIENCE).map_err(|error| match error {
        RecvTimeoutError::Timeout => "no end",
        RecvTimeoutError::Disconnected => "a panic",
    })
}

/// `unit`, again and again, up to `size` bytes.
fn filled(unit: &str, size: usize) -> String {
    unit.repeat(size / unit.len())
}

fn nested(depth: usize, open: &str, inner: &str, close: &str) -> String {
    format!("{}{inner}{}", open.repeat(depth), close.repeat(depth))
}

/// Names of shapes, and the text of a shape at a size.
type Shape = (&'static str, fn(usize) -> String);

const SHAPES: [Shape; 44] = [
    ("statements", |size| filled("docker restart jellyfin; ", size)),
    ("lines", |size| filled("echo hello world\n", size)),
    ("words", |size| format!("docker restart {}", filled("a ", size))),
    ("one long word", |size| format!("echo {}", filled("x", size))),
    ("one long quoted word", |size| format!("bash -c '{}'", filled("x", size))),
    ("pipes", |size| filled("cat | ", size) + "cat"),
    ("ands", |size| filled("true && ", size) + "true"),
    ("ands and ors", |size| filled("true && false || ", size) + "true"),
    ("background", |size| filled("true & ", size)),
    ("open parentheses", |size| filled("(", size)),
    ("open parentheses with blanks", |size| filled("( ", size)),
    ("open braces", |size| filled("{ ", size)),
    ("open substitutions", |size| filled("$(", size)),
    ("open substitutions in quotes", |size| filled("\"$(", size)),
    ("open parameters", |size| filled("${a:-", size)),
    ("open arithmetic", |size| filled("$((", size)),
    ("open arithmetic commands", |size| filled("((", size)),
    ("open process substitutions", |size| filled("<(", size)),
    ("backticks", |size| filled("`", size)),
    ("escaped backticks", |size| filled("`\\", size)),
    ("single quotes", |size| filled("'", size)),
    ("double quotes", |size| filled("\"", size)),
    ("backslashes", |size| filled("\\", size)),
    ("dollars", |size| filled("$", size)),
    ("open heredocs", |size| filled("<<A ", size)),
    ("open heredocs on lines", |size| filled("cat <<A\n", size)),
    ("heredocs", |size| filled("cat <<A\nx\nA\n", size)),
    ("ifs", |size| filled("if true; then ", size)),
    ("fors", |size| filled("for a in b; do ", size)),
    ("cases", |size| filled("case a in b) ", size)),
    ("negations", |size| filled("! ", size)),
    ("braces to expand", |size| format!("echo {}", filled("{a,b}", size))),
    ("nested braces to expand", |size| format!("echo {}", filled("{a,", size))),
    ("redirections", |size| filled("> a ", size)),
    ("assignments", |size| filled("a=b ", size)),
    ("assigned lines", |size| filled("a=b; c=$a\n", size)),
    ("a growing variable", |size| filled("a=$a.\n", size) + "docker restart $a"),
    ("wrappers", |size| filled("sudo ", size) + "docker restart jellyfin"),
    ("evals", |size| filled("eval ", size) + "docker restart jellyfin"),
    ("arrays", |size| format!("a=({}); docker restart \"${{a[@]}}\"", filled("b ", size))),
    ("functions", |size| filled("f() { g; }; f\n", size)),
    ("comments", |size| filled("# docker restart jellyfin\n", size)),
    ("nul and other bytes", |size| filled("\u{0}\u{1}é\r\n", size)),
    ("closing words", |size| filled(") } fi done esac ;; ", size)),
];

#[test]
fn the_work_grows_no_faster_than_the_text() {
    let (small, large) = (16 * 1024, 64 * 1024);
    let mut slow = Vec::new();
    for (name, shape) in SHAPES {
        let fastest = |size: usize, readings: usize| {
            let times = (0..readings).map(|_| read_patiently(shape(size)).map(|(_, time)| time));
            times.collect::<Result<Vec<_>, _>>().map(|times| times.into_iter().min().unwrap_or_default())
        };
        // Four times the text; sixteen times the work would be quadratic. Short times are noise, and so is a long time
        // once, on a busy machine: the large text is read again only if its first reading was slow.
        let floor = Duration::from_millis(2);
        let mut measured = String::new();
        let grows_slowly = [1, 3, 3, 3].into_iter().any(|readings| {
            let (Ok(first), Ok(second)) = (fastest(small, 3), fastest(large, readings)) else {
                "no end, or a panic".clone_into(&mut measured);
                return false;
            };
            measured = format!("{first:?} for 16 KiB, {second:?} for 64 KiB");
            second <= first.max(floor) * 10
        });
        if !grows_slowly {
            slow.push(format!("{name}: {measured}"));
        }
    }
    assert!(slow.is_empty(), "{}", slow.join("\n"));
}

#[test]
fn a_script_nested_a_thousand_deep_ends_with_a_complaint() {
    let act = "docker restart jellyfin";
    let nests = [
        nested(1000, "( ", act, " )"),
        nested(1000, "{ ", act, "; }"),
        nested(1000, "$(", act, ")"),
        nested(1000, "echo \"$(", act, ")\""),
        nested(1000, "if true; then ", act, "; fi"),
        nested(1000, "if ", act, "; then :; fi"),
        nested(1000, "while ", act, "; do :; done"),
        nested(1000, "for a in b; do ", act, "; done"),
        nested(1000, "case a in *) ", act, " ;; esac"),
        nested(1000, "f() { ", act, "; }"),
        nested(1000, "cat <( ", act, " )"),
        nested(1000, "echo ${a:-", "$(docker restart jellyfin)", "}"),
        nested(1000, "echo $(( ", "1", " ))"),
        nested(1000, "[[ ( ", "a", " ) ]]"),
        nested(1000, "((", "1", "))"),
        nested(16_000, "(", act, ")"),
        nested(10_000, "$(", act, ")"),
        nested(10_000, "${a:-", act, "}"),
        nested(10_000, "{a,", "b", "}"),
    ];
    for text in nests {
        let begin = text[..30].to_owned();
        let quiet = begin.contains("((") || begin.starts_with("[[") || begin.starts_with("{a");
        let (reading, _) = read_patiently(text).unwrap_or_else(|wrong| panic!("{wrong}: {begin}"));
        assert!(quiet || !reading.complaints.is_empty(), "no complaint: {begin}");
    }
}

#[test]
fn deeply_nested_text_is_still_suspected() {
    for text in
        [nested(1000, "( ", "docker restart jellyfin", " )"), nested(1000, "$(", "docker stop sonarr", ")")]
    {
        let begin = text[..20].to_owned();
        assert!(!read(&text).actions.is_empty(), "{begin}");
    }
}

/// Ten to the power of `depth` restarts.
fn loops_in_loops(depth: usize) -> String {
    (0..depth).fold("docker restart $v0$v1".to_owned(), |body, n| {
        format!("for v{n} in 0 1 2 3 4 5 6 7 8 9; do {body}; done")
    })
}

/// Two to the power of `depth` calls.
fn functions_that_double(depth: usize) -> String {
    let last = format!("f{depth}() {{ docker restart jellyfin; }}; f0");
    (0..depth).rev().fold(last, |rest, n| format!("f{n}() {{ f{next}; f{next}; }}; {rest}", next = n + 1))
}

/// Programs in which a line that is repeated doubles what it works on: what stands before the lines, the line, and what
/// stands behind them.
const DOUBLINGS: [[&str; 3]; 24] = [
    ["", "cd a; touch b; cd ..; cd c || true", "rm d"],
    ["", "for x in a b c; do cd $x; done", "rm d"],
    ["set -- a b", "set -- \"$@\" \"$@\"", "docker restart \"$@\""],
    ["a=$(cat f)", "printf -v a '%s%s' \"$a\" \"$a\"", "docker restart $a"],
    ["a=b", "a=$(echo $a $a)", "docker restart $a"],
    ["a=b", "a=\"${a//b/bb}\"", "bash -c \"$a\""],
    ["echo a > /tmp/a", "cat /tmp/a /tmp/a >> /tmp/a", "bash /tmp/a"],
    ["a='ls; ls'", "a=\"$a; $a\"", "eval \"$a\""],
    ["python3 - <<'E'\nimport os\na = 'b'", "a = a + a", "os.system(a)\nE"],
    ["python3 - <<'E'\nimport os\na = input()", "a = f'{a}{a}'", "os.system(a)\nE"],
    ["python3 - <<'E'\nimport os\na = 'b'", "a = '%s%s' % (a, a)", "os.system(a)\nE"],
    ["python3 - <<'E'\nimport os\na = ['b']", "a.extend(a)", "os.system(' '.join(a))\nE"],
    ["python3 - <<'E'\nimport os\na = 'b'", "a = [a, a]", "os.system(str(a))\nE"],
    ["python3 - <<'E'\nimport os\na = 'b'", "a = {'x': a, 'y': a}", "os.system(str(a))\nE"],
    ["python3 - <<'E'\nimport os\na = 'b'", "a = (lambda b: b + b)(a)", "os.system(a)\nE"],
    [
        "node - <<'E'\nconst c = require('child_process');\nlet a = 'b';",
        "a = `${a}${a}`;",
        "c.execSync(a);\nE",
    ],
    [
        "node - <<'E'\nconst c = require('child_process');\nlet a = ['b'];",
        "a = [...a, ...a];",
        "c.execSync(a.join(' '));\nE",
    ],
    ["perl - <<'E'\nmy $a = 'b';", "$a = \"$a$a\";", "system($a);\nE"],
    ["ruby - <<'E'\na = 'b'", "a = \"#{a}#{a}\"", "system(a)\nE"],
    ["php <<'E'\n<?php\n$a = 'b';", "$a = \"$a$a\";", "system($a);\nE"],
    ["awk 'BEGIN {\na = \"b\"", "a = a a", "system(a) }'"],
    ["", "export A$RANDOM=b", "docker restart a"],
    ["a=b", "case $c in 1) a=$a$a;; 2) a=b$a;; esac", "docker restart $a"],
    ["", "if cd a; then touch b; fi", "rm c"],
];

#[test]
fn the_reading_of_a_program_that_doubles_a_value_ends() {
    for [before, line, after] in DOUBLINGS {
        let text = format!("{before}\n{}{after}", format!("{line}\n").repeat(60));
        let (_, time) = read_patiently(text).unwrap_or_else(|wrong| panic!("{wrong}: {line}"));
        assert!(time < Duration::from_secs(10), "{time:?}: {line}");
    }
}

#[test]
fn the_reading_of_an_expansion_bomb_ends() {
    let bombs = [
        ":(){ :|:& };:".to_owned(),
        "f() { f; f; }; f".to_owned(),
        "f() { g; g; }; g() { h; h; }; h() { f; f; }; f; docker restart jellyfin".to_owned(),
        format!("a=aaaaaaaaaaaaaaaa; {} docker restart $a", "a=$a$a$a$a; ".repeat(60)),
        format!("a=aaaaaaaaaaaaaaaa; {} eval \"$a\"", "a+=$a; ".repeat(100)),
        format!("docker restart {}", "{a,b,c,d}".repeat(40)),
        "docker restart {1..999999999}".to_owned(),
        "docker restart {1..9999}{1..9999}{1..9999}".to_owned(),
        "docker restart x{-9223372036854775808..9223372036854775807..1}".to_owned(),
        loops_in_loops(12),
        functions_that_double(40),
        format!(
            "for a in {}; do for b in {}; do docker restart $a$b; done; done",
            "x ".repeat(8000),
            "y ".repeat(8000)
        ),
        format!(
            "a={}; case $a in {}) docker restart jellyfin;; esac",
            "a".repeat(5000),
            "*a".repeat(30) + "b"
        ),
        format!("a={}; echo ${{a//{}/c}}", "a".repeat(5000), "*a".repeat(30) + "b"),
        format!("a={}; echo ${{a##{}}}", "a".repeat(5000), "*a".repeat(30) + "b"),
        "printf -v a '%1000000000s' x; docker restart $a".to_owned(),
        "printf -v a '%*s' 2000000000 x; docker restart $a".to_owned(),
        "echo $((9**9**9**9)); a[99999999999]=1; docker restart ${a[@]}".to_owned(),
        "a=(); a[1000000000]=x; for s in \"${a[@]}\"; do docker restart $s; done".to_owned(),
        "eval eval='eval'; x='eval \"$x\"'; eval \"$x\"; docker restart jellyfin".to_owned(),
        "shopt -s expand_aliases\nalias a=b b=a\na\nalias c='c c'\nc\ndocker restart jellyfin".to_owned(),
        "a=a; b=${!a}; echo ${!b} $((a)); docker restart ${!a}".to_owned(),
        "a=b b=a; echo $((a + b)); docker restart jellyfin".to_owned(),
        "trap 'trap \"$(trap)\" EXIT' EXIT; docker restart jellyfin".to_owned(),
        "f() { trap f EXIT; }; f; docker restart jellyfin".to_owned(),
        "for ((;;)); do docker restart jellyfin; done".to_owned(),
        "while :; do while :; do while :; do docker restart jellyfin; done; done; done".to_owned(),
        format!("ssh a {} docker restart jellyfin", "ssh b ".repeat(5000)),
        format!("{} docker restart jellyfin", "bash -c eval ".repeat(2000)),
        format!("echo {} | xargs -n1 docker restart", "a ".repeat(30_000)),
        format!("xargs -I{{}} echo {} <<< {}", "{}".repeat(10_000), "x".repeat(10_000)),
        format!("parallel docker restart {{}}{{}}{{}} ::: {}", "abcdefgh ".repeat(6000)),
        (0..18).fold("docker restart jellyfin".to_owned(), |text, _| {
            format!(
                "bash -c \"{}\"",
                text.replace('\\', "\\\\").replace('"', "\\\"").chars().take(60_000).collect::<String>()
            )
        }),
    ];
    let mut endless = Vec::new();
    for text in bombs {
        let begin: String = text.chars().take(80).collect();
        match read_patiently(text) {
            // Generous: this is a debug build, and the texts are made to hurt.
            Ok((_, time)) if time < Duration::from_secs(10) => {}
            Ok((_, time)) => endless.push(format!("{time:?}: {begin}")),
            Err(wrong) => endless.push(format!("{wrong}: {begin}")),
        }
    }
    assert!(endless.is_empty(), "{}", endless.join("\n"));
}

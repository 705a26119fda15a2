//! What a shell expects of a program: completions, manual pages, a helping hand after a typo, exit codes.

use std::process::{Command, Stdio};

use crate::sandbox::Sandbox;

fn completions(sandbox: &Sandbox, shell: &str) -> String {
    let run = sandbox.opsctl(&["completions", shell], b"");
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
    std::fs::write(sandbox.path("completions"), &run.stdout).unwrap();
    run.stdout
}

/// What the program says when it is run on the file of completions.
fn judge(sandbox: &Sandbox, program: &str, arguments: &[&str]) -> String {
    let judged = Command::new(program)
        .args(arguments)
        .current_dir(sandbox.path(""))
        .stdin(Stdio::null())
        .output()
        .unwrap_or_else(|error| panic!("{program}: {error}; run tests/setup"));
    let text =
        format!("{}{}", String::from_utf8_lossy(&judged.stdout), String::from_utf8_lossy(&judged.stderr));
    assert!(judged.status.success(), "{program} {arguments:?}: {text}");
    text
}

#[test]
fn bash_completes_verbs_and_their_options() {
    let sandbox = Sandbox::new();
    completions(&sandbox, "bash");
    let complete = |words: &str, at: usize| {
        let script = format!(
            "source ./completions; COMP_WORDS=({words}); COMP_CWORD={at}; _opsctl opsctl \"${{COMP_WORDS[{at}]}}\" ''; echo \"${{COMPREPLY[@]}}\""
        );
        judge(&sandbox, "bash", &["--norc", "-c", &script])
    };
    assert_eq!(complete("opsctl ren", 1).trim(), "render");
    assert!(complete("opsctl hook pre-", 2).contains("pre-tool-use"));
    assert!(complete("opsctl explain --j", 2).contains("--json"));
}

#[test]
fn zsh_and_fish_read_their_completions() {
    let sandbox = Sandbox::new();
    completions(&sandbox, "zsh");
    judge(&sandbox, "zsh", &["-n", "completions"]);
    completions(&sandbox, "fish");
    let offered =
        judge(&sandbox, "fish", &["--no-config", "-c", "source completions; complete -C 'opsctl ren'"]);
    assert!(offered.starts_with("render"), "{offered}");
}

#[test]
fn every_verb_has_a_manual_page_without_a_flaw() {
    let sandbox = Sandbox::new();
    let run = sandbox.opsctl(&["man", "--out", "pages"], b"");
    assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (Some(0), "", ""));
    let verbs = sandbox.opsctl(&["--help"], b"").stdout;
    let verbs: Vec<&str> = verbs
        .lines()
        .skip_while(|line| *line != "Daily use:")
        .take_while(|line| *line != "Options:")
        // A line further in goes on with the words of the one before.
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(verbs.contains(&"hook") && verbs.len() > 30, "{verbs:?}");
    for verb in verbs {
        let page = format!("pages/opsctl-{verb}.1");
        assert!(judge(&sandbox, "mandoc", &["-T", "lint", "-W", "error", &page]).is_empty());
        assert!(judge(&sandbox, "mandoc", &["-T", "ascii", &page]).contains("Examples:"), "{page}");
    }
}

#[test]
fn a_mistyped_verb_or_option_gets_the_nearest_one_and_exit_code_1() {
    let sandbox = Sandbox::new();
    for (typed, meant) in [
        (&["rendr"][..], "'render'"),
        (&["hosts", "--jsn"], "'--json'"),
        (&["hook", "pre-tool-uze"], "'pre-tool-use'"),
    ] {
        let run = sandbox.opsctl(typed, b"");
        assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{run:?}");
        assert!(run.stderr.contains("similar") && run.stderr.contains(meant), "{}", run.stderr);
    }
}

#[test]
fn cooldown_with_a_service_shows_it() {
    let sandbox = Sandbox::new();
    sandbox.write("hosts.yaml", "services: {sonarr: {}, radarr: {}}\n");
    let shown = sandbox.opsctl(&["cooldown", "sonarr", "--json"], b"");
    assert_eq!(shown.code, Some(0), "{shown:?}");
    assert_eq!(shown.stdout, sandbox.opsctl(&["cooldown", "show", "sonarr", "--json"], b"").stdout);
    let mistyped = sandbox.opsctl(&["cooldown", "rset"], b"");
    assert_eq!(mistyped.code, Some(1), "{mistyped:?}");
    let two = sandbox.opsctl(&["cooldown", "sonarr", "reset", "radarr"], b"");
    assert_eq!(two.code, Some(1), "{two:?}");
    assert!(two.stderr.contains("`sonarr` is not a verb of cooldown"), "{two:?}");
}

#[test]
fn the_help_says_what_the_exit_codes_mean() {
    let help = Sandbox::new().opsctl(&["--help"], b"").stdout;
    for code in ["0  done", "1  not done", "2  a hook denies"] {
        assert!(help.contains(code), "{help}");
    }
}

#[test]
fn help_is_a_verb_too_and_colours_can_be_forced_and_forbidden() {
    let sandbox = Sandbox::new();
    assert_eq!(
        sandbox.opsctl(&["help", "explain"], b"").stdout,
        sandbox.opsctl(&["explain", "--help"], b"").stdout
    );
    sandbox.before("t1", "docker restart $(docker ps -q)");
    let coloured =
        |when: &str| sandbox.opsctl(&["audit", "--color", when], b"").stdout.contains("\u{1b}[31mdeny");
    assert_eq!([coloured("always"), coloured("never"), coloured("auto")], [true, false, false]);
}

/// The verbs that the help lists.
fn verbs(sandbox: &Sandbox) -> Vec<String> {
    let help = sandbox.opsctl(&["help"], b"").stdout;
    let verbs = help.lines().skip_while(|line| !line.starts_with("Commands:")).skip(1);
    verbs.map_while(|line| line.split_whitespace().next().map(str::to_owned)).collect()
}

#[test]
fn examples_fit_a_terminal_of_80_columns_and_prose_has_no_short_lines() {
    let sandbox = Sandbox::new();
    for verb in verbs(&sandbox) {
        let help = sandbox.opsctl(&["help", &verb], b"").stdout;
        let after: Vec<&str> = help.lines().skip_while(|line| !line.ends_with("xamples:")).collect();
        for pair in after.windows(2) {
            assert!(!pair[0].starts_with("  ") || pair[0].len() <= 80, "{verb}: {}", pair[0]);
            let goes_on = pair[1].starts_with(|c: char| c.is_lowercase()) && !pair[0].starts_with("  ");
            assert!(!goes_on || pair[0].len() > 70, "{verb}: {}", pair[0]);
        }
    }
}

/// The verbs with `--json` in docs/reference.md, each with the list of its object.
fn documented_lists() -> Vec<(&'static str, &'static str)> {
    let section = include_str!("../../docs/reference.md").split("\n## JSON\n").nth(1).unwrap();
    let rows = section.split("\n## ").next().unwrap().lines().filter(|line| line.starts_with("| `"));
    let code = |cell: &'static str| cell.split('`').nth(1).unwrap();
    rows.map(|row| {
        let mut cells = row.split('|').skip(1);
        (code(cells.next().unwrap()), code(cells.next().unwrap()))
    })
    .collect()
}

#[test]
fn json_is_an_object_with_the_documented_list() {
    let sandbox = Sandbox::new();
    sandbox.write("hosts.yaml", "services: {jellyfin: {}}\npolicy: {verify: {grace: 1s, deadline: 2s}}\n");
    let sandbox = sandbox.with("CLAUDEOPS_HOSTS", "hosts.yaml");
    let documented = documented_lists();
    for verb in verbs(&sandbox) {
        let has_json = sandbox.opsctl(&["help", &verb], b"").stdout.contains("--json");
        let is_documented = documented.iter().any(|(words, _)| words.split(' ').next() == Some(&verb));
        assert_eq!(has_json, is_documented, "{verb}");
    }
    // tests/rehearsal, which has a client, reads the list of `rehearse`.
    for (words, list) in documented.into_iter().filter(|(words, _)| *words != "rehearse") {
        let words = words.replace("COMMAND", "ls").replace(" N", " 1");
        let words = if words == "verify" { "verify jellyfin".to_owned() } else { words };
        let mut arguments: Vec<&str> = words.split(' ').collect();
        arguments.insert(1, "--json");
        if arguments[0] == "cooldown" {
            arguments = vec!["cooldown", "show", "--json"];
        }
        let run = sandbox.opsctl(&arguments, b"");
        let json: serde_json::Value =
            serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{words}: {run:?}"));
        assert!(json[list].is_array(), "{words}: {}", run.stdout);
        assert_eq!(run.stdout.lines().count(), 1, "{words}");
    }
}

/// Verbs that print what they find, on an empty ledger.
const PRINTING: &[&[&str]] = &[
    &["approvals", "--json"],
    &["audit", "--json"],
    &["cooldown", "--json"],
    &["events", "--json"],
    &["explain", "docker restart jellyfin"],
    &["--help"],
    &["metrics", "--no-hosts"],
    &["report", "--html", "-"],
    &["sessions", "--json"],
    &["stats", "--json"],
    &["status", "--no-hosts", "--json"],
    &["tier", "1"],
];

#[test]
fn output_that_cannot_be_written_is_an_error_and_a_closed_pipe_is_none() {
    let sandbox = Sandbox::new();
    for arguments in PRINTING {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let run = sandbox.command(arguments).stdout(full).stderr(Stdio::piped()).output().unwrap();
        let said = String::from_utf8_lossy(&run.stderr).into_owned();
        assert_eq!(run.status.code(), Some(1), "{arguments:?}: {said}");
        assert!(
            arguments == &["--help"] || said.contains("stdout cannot be written"),
            "{arguments:?}: {said}"
        );
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let run = sandbox.command(arguments).stdout(writer).stderr(Stdio::piped()).output().unwrap();
        assert_eq!(run.status.code(), Some(0), "{arguments:?}: {run:?}");
    }
}

//! Properties of the reading of any command.

use std::path::Path;
use std::sync::LazyLock;

use crate::action_summary::{ActionSummary, list, name_of};
use crate::corpus;
use crate::corpus::Row;
use opsctl_reader::actions::{CommandReading, read_command};
use opsctl_reader::terms::action::{Action, Family};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::RngSeed;

static ROWS: LazyLock<Vec<Row>> = LazyLock::new(corpus::rows);

/// Programs that run the rest of their words.
const BEFORE_WORDS: [&str; 30] = [
    "sudo",
    "sudo -n -u root",
    "sudo -E --",
    "doas -u root",
    "env",
    "env A=b C=d",
    "/usr/bin/env -u NOTHING",
    "nohup",
    "nice -n 10",
    "ionice -c 2 -n 7",
    "timeout 30",
    "timeout -k 5 --signal=TERM 30s",
    "setsid -w",
    "stdbuf -oL -e 0",
    "flock -w 5 /tmp/lock",
    "chroot /mnt/root",
    "nsenter -t 1 -m -p --",
    "systemd-run --wait -p Type=oneshot --",
    "strace -f -o /tmp/trace",
    "runuser -u root --",
    "busybox nice",
    "docker exec runner",
    "docker run --rm -v /a:/b docker:cli",
    "docker compose exec -T runner",
    "kubectl exec -n media tools --",
    "pct exec 101 --",
    "lxc exec web --",
    "incus exec web --",
    "uv run",
    "poetry run",
];

/// Programs that take a script as their next word.
const BEFORE_TEXT: [&str; 16] = [
    "bash -c",
    "sh -c",
    "bash -euo pipefail -c",
    "/bin/bash --norc -lc",
    "zsh -c",
    "eval",
    "sudo bash -c",
    "doas sh -c",
    "env A=b bash -c",
    "timeout 60 bash -c",
    "nohup nice sh -c",
    "flock /tmp/lock -c",
    "su root -c",
    "runuser -u root -- bash -c",
    "docker exec -i runner bash -c",
    "busybox sh -c",
];

/// Wrappers that begin in a folder of their own, where compose is another project.
const ELSEWHERE: [&str; 8] = ["docker", "kubectl", "pct", "lxc", "incus", "chroot", "nsenter", "systemd-run"];

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

fn read(text: &str, cwd: &str) -> CommandReading {
    read_command(text, Some(Path::new(cwd)))
}

fn actions(reading: &CommandReading) -> Vec<ActionSummary> {
    let mut actions: Vec<_> = reading.actions.iter().map(ActionSummary::of).collect();
    actions.sort();
    actions
}

/// Whether the folder in which the command begins does not matter.
fn reads_alike_anywhere(row: &Row) -> bool {
    actions(&read_command(&row.command, None)) == actions(&read(&row.command, &row.cwd))
}

/// Rows whose text bash accepts unchanged, with one meaning at any position.
fn whole_rows() -> Vec<Row> {
    let outer_words = ["$1", "$@", "$0", "$*", "$#"];
    let whole = |row: &&Row| {
        row.family != "unreadable"
            && !outer_words.iter().any(|word| row.command.contains(word))
            && !row.command.contains("jellyfin;;")
            // An alias counts from the line after the one that defines it, and a group is one line to bash.
            && !row.command.contains("alias ") && !row.command.contains("BASH_ALIASES")
    };
    ROWS.iter().filter(whole).cloned().collect()
}

fn whole_row() -> impl Strategy<Value = Row> {
    select(whole_rows())
}

/// Rows that are one command of plain words, so that words can be put before it and quoted.
fn plain_row() -> impl Strategy<Value = Row> {
    let programs = [
        "docker",
        "podman",
        "nerdctl",
        "docker-compose",
        "systemctl",
        "service",
        "helm",
        "kubectl",
        "ansible-playbook",
        "gh",
        "tea",
        "glab",
        "apprise",
        "ssh",
        "echo",
        "printf",
        "grep",
        "git",
        "curl",
        "sudo",
        "timeout",
        "env",
        "nice",
        "bash",
        "find",
        "xargs",
        "journalctl",
        "cat",
        "rc-service",
    ];
    let plain = |row: &&Row| {
        let first = row.command.split(' ').next().unwrap_or_default();
        programs.contains(&first)
            && row.command.bytes().all(|byte| byte.is_ascii_alphanumeric() || b" -_./:=@,+%".contains(&byte))
    };
    select(ROWS.iter().filter(plain).cloned().collect::<Vec<_>>())
}

proptest! {
    // The same cases in every run; `fuzz/run` is for new ones.
    #![proptest_config(ProptestConfig {
        cases: 3000,
        rng_seed: RngSeed::Fixed(2026),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_chain_of_wrappers_does_not_change_the_actions(
        row in plain_row(),
        chain in vec(select(&BEFORE_WORDS[..]), 1..5),
    ) {
        let bare = read(&row.command, &row.cwd);
        if chain.iter().any(|wrapper| ELSEWHERE.iter().any(|program| wrapper.starts_with(program))) {
            prop_assume!(reads_alike_anywhere(&row));
        }
        let text = format!("{} {}", chain.join(" "), row.command);
        let wrapped = read(&text, &row.cwd);
        prop_assert_eq!(list(&actions(&bare)), list(&actions(&wrapped)), "{}", text);
        for (bare, wrapped) in bare.actions.iter().zip(&wrapped.actions) {
            prop_assert!(wrapped.via.ends_with(&bare.via), "{text}: {:?}", wrapped.via);
            prop_assert!(wrapped.via.len() >= bare.via.len() + chain.len(), "{text}: {:?}", wrapped.via);
        }
    }

    #[test]
    fn a_shell_in_a_shell_does_what_the_text_does(
        row in whole_row(),
        chain in vec(select(&BEFORE_TEXT[..]), 1..4),
    ) {
        let bare = read(&row.command, &row.cwd);
        if chain.iter().any(|shell| shell.starts_with("docker")) {
            // A daemon in a container is the service of the container.
            let is_daemon = |action: &Action| action.family == Family::Process;
            prop_assume!(reads_alike_anywhere(&row) && !bare.actions.iter().any(is_daemon));
        }
        let text = chain.iter().fold(row.command.clone(), |text, shell| format!("{shell} {}", quoted(&text)));
        let wrapped = read(&text, &row.cwd);
        let (bare, wrapped) = (actions(&bare), actions(&wrapped));
        if chain.iter().all(|shell| shell.contains("bash") || *shell == "eval") {
            prop_assert_eq!(list(&bare), list(&wrapped), "{}", text);
        } else {
            // In other shells no condition is decided, so that what runs may be less certain.
            prop_assert!(bare.is_empty() || !wrapped.is_empty(), "{text}: {}", list(&bare));
        }
    }

    #[test]
    fn ssh_moves_what_runs_here_to_its_host_and_nothing_else(
        row in whole_row(),
        options in select(&["", "-t ", "-p 2222 ", "-o BatchMode=yes -i /k/id ", "-J bastion "][..]),
        host in select(&["ie01", "root@pie01", "deploy@192.168.5.30"][..]),
    ) {
        // Over there the shell begins in another folder.
        let bare = read(&row.command, &row.cwd);
        prop_assume!(reads_alike_anywhere(&row));
        let text = format!("ssh {options}{host} {}", quoted(&row.command));
        let name = name_of(host.rsplit('@').next().unwrap_or(host));
        let mut moved: Vec<ActionSummary> = actions(&bare);
        for action in &mut moved {
            action.host.get_or_insert_with(|| name.to_owned());
        }
        moved.sort();
        prop_assert_eq!(list(&moved), list(&actions(&read(&text, &row.cwd))), "{}", text);
    }

    #[test]
    fn a_quoted_word_is_the_same_word(row in plain_row(), place in any::<prop::sample::Index>(), style in 0..6_u8) {
        let mut words: Vec<String> = row.command.split_whitespace().map(str::to_owned).collect();
        let count = words.len();
        let word = &mut words[place.index(count)];
        let half = word.len() / 2;
        *word = match style {
            0 => format!("'{word}'"),
            1 => format!("\"{word}\""),
            2 => format!("$'{word}'"),
            3 => format!("{}''{}", &word[..half], &word[half..]),
            4 => format!("'{}'\"{}\"", &word[..half], &word[half..]),
            _ => format!("{}\\\n{}", &word[..half], &word[half..]),
        };
        let text = words.join(" ");
        prop_assert_eq!(
            list(&actions(&read(&row.command, &row.cwd))),
            list(&actions(&read(&text, &row.cwd))),
            "{}", text
        );
    }

    #[test]
    fn printed_commands_are_not_actions(row in select(ROWS.clone()), form in 0..8_u8) {
        let word = quoted(&row.command);
        let text = match form {
            0 => format!("echo {word}"),
            1 => format!("printf '%s\\n' {word}"),
            2 => format!(": {word}"),
            // A word of git that begins with `!` counts as an alias, which runs a command.
            3 if !row.command.starts_with('!') => format!("git commit -m {word}"),
            4 => format!("cat > /tmp/note <<'END OF NOTE'\n{}\nEND OF NOTE", row.command),
            5 => format!("X={word}; echo \"$X\""),
            6 => format!("ssh ie01 echo {}", quoted(&word)),
            _ => format!("grep -rnF -e {word} /var/log"),
        };
        let reading = read(&text, &row.cwd);
        prop_assert!(reading.actions.is_empty(), "{text}: {}", list(&actions(&reading)));
    }

    #[test]
    fn other_commands_around_a_command_do_not_change_its_reading(row in whole_row(), form in 0..10_u8) {
        let command = &row.command;
        // Bash reads a compound command as a whole: an alias made in it comes too late.
        prop_assume!(form < 3 || !command.contains("alias "));
        // In a function, it succeeds.
        prop_assume!(form != 8 || !command.starts_with("local "));
        // Behind a branch, a trap is read with and without the functions that the branch defines.
        prop_assume!(form != 6 || !command.contains("trap "));
        // It ends a function, and nothing outside of one.
        prop_assume!(form != 8 || !command.contains("return"));
        // A function may be called again: what `xargs` or a loop runs for each item there counts as repeated.
        prop_assume!(form != 8 || !["xargs", "for ", "while "].iter().any(|one| command.contains(one)));
        let text = match form {
            0 => format!("{command}\ntrue"),
            1 => format!("true; {command}"),
            2 => format!("# first\n\n{command}\n# last"),
            3 => format!("{{ :; {command}\n}}"),
            4 => format!("( :; {command}\n)"),
            5 => format!("{{ :; {command}\n}} 2>&1 | tail -n 5"),
            6 => format!("if true; then :; {command}\nfi"),
            7 => format!("{{ :; {command}\n}} && echo done"),
            8 => format!("company() {{ :; {command}\n}}\ncompany"),
            _ => format!("{{ :; {command}\n}} &\nwait"),
        };
        prop_assert_eq!(list(&actions(&read(command, &row.cwd))), list(&actions(&read(&text, &row.cwd))), "{}", text);
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in any::<String>()) {
        read_command(&text, None);
    }

    #[test]
    fn what_stands_on_a_whole_line_before_broken_text_is_still_seen(soup in soup()) {
        let text = format!("docker restart jellyfin\n{soup}");
        let seen = actions(&read(&text, "/app"));
        let restart = ActionSummary::new("restart", "restart", Some("jellyfin"), None);
        prop_assert!(seen.iter().any(|action| action.without_repeats() == restart), "{text}: {}", list(&seen));
    }
}

/// Shell words in an order that seldom makes sense.
fn soup() -> impl Strategy<Value = String> {
    let pieces = [
        "docker restart sonarr",
        "docker",
        "restart",
        "sonarr",
        "ssh ie01",
        "bash -c",
        "sudo",
        "eval",
        "echo",
        "xargs",
        "if",
        "then",
        "else",
        "fi",
        "for",
        "in",
        "do",
        "done",
        "while",
        "case",
        "esac",
        "function",
        "select",
        "{",
        "}",
        "(",
        ")",
        "((",
        "))",
        "[[",
        "]]",
        "$(",
        "`",
        "${",
        "$((",
        "<(",
        ">(",
        "'",
        "\"",
        "$'",
        "\\",
        "\n",
        ";",
        ";;",
        "&",
        "&&",
        "|",
        "||",
        "|&",
        "!",
        "<",
        ">",
        ">>",
        "<<",
        "<<<",
        "<<EOF",
        "<<'EOF'",
        "EOF",
        "#",
        "=",
        "a=b",
        "$a",
        "${a[@]}",
        "${a:-b}",
        "{a,b}",
        "{1..9}",
        "*",
        "?",
        "~",
        " ",
        "\t",
        "\r\n",
        "\u{0}",
        "é",
        "trap",
        "source",
        "time",
        "coproc",
        "local",
        "declare -A",
        "f() {",
        "}; f",
        "-",
        "--",
        "2>&1",
        "&>",
        "%",
        "@",
        ":",
    ];
    vec(select(pieces.map(str::to_owned).to_vec()), 0..30).prop_map(|pieces| pieces.join(" "))
}

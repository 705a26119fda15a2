//! Commands that list what runs: what is done to all that they print is done to everything.

use crate::shell::options::{Item, Scanner};
use crate::shell::text::Listing;

const VALUED: &[&str] = &[
    "-H",
    "--host",
    "--context",
    "--config",
    "-l",
    "--log-level",
    "-f",
    "--filter",
    "--format",
    "-n",
    "--last",
    "--namespace",
    "-p",
    "--project-name",
    "--project-directory",
    "--profile",
    "--env-file",
    "-o",
    "--output",
    "--selector",
    "--field-selector",
    "--kubeconfig",
    "-t",
    "--type",
    "--state",
    "--status",
    "--sort-by",
    "-M",
    "--template",
    "--orderby",
];
const COMPOSE_VALUED: &[&str] = &[
    "-H",
    "--host",
    "--context",
    "-f",
    "--file",
    "--filter",
    "--format",
    "-p",
    "--project-name",
    "--project-directory",
    "--profile",
    "--env-file",
    "--status",
    "--orderby",
];

/// What a command lists, if it lists what an engine runs.
pub(crate) fn of(texts: &[&str], program: &str) -> Option<Listing> {
    let compose = matches!(program, "docker-compose" | "podman-compose")
        || matches!(program, "docker" | "podman" | "nerdctl")
            && texts.iter().take(8).any(|word| *word == "compose");
    let valued = if compose { COMPOSE_VALUED } else { VALUED };
    let mut words = Vec::new();
    let mut filters = Vec::new();
    for item in Scanner::new(texts, 1, valued) {
        match item {
            Item::Positional(index) => words.extend(texts.get(index).copied()),
            Item::Option(name, Some(at))
                if name.is_any(&["-f", "--filter"]) && !(compose && name.is("-f")) =>
            {
                filters.extend(texts.get(at.index).and_then(|word| word.get(at.offset..)));
            }
            _ => {}
        }
    }
    let words = match (program, words.as_slice()) {
        ("docker" | "podman" | "nerdctl", ["compose", rest @ ..])
        | ("docker-compose" | "podman-compose", rest) => match rest {
            ["ps" | "ls"] => &["compose ps"][..],
            ["config"] if texts.contains(&"--services") => &["compose config"][..],
            _ => return None,
        },
        ("docker" | "podman" | "nerdctl", ["ps"] | ["container", "ls" | "list" | "ps"]) => &["ps"][..],
        ("kubectl" | "oc", ["get", kinds]) if !kinds.contains('/') => &["get"][..],
        ("systemctl", ["list-units" | "list-unit-files"]) => &["list-units"][..],
        _ => return None,
    };
    // One exact name is that one thing; anything else may still be everything.
    if let [filter] = filters.as_slice()
        && let Some(name) = filter.strip_prefix("name=")
    {
        let name = name.trim_start_matches(['^', '/']).trim_end_matches('$');
        if !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c)) {
            return Some(Listing::Named(name.to_owned()));
        }
    }
    let command = std::iter::once(program).chain(words.iter().copied()).collect::<Vec<_>>().join(" ");
    Some(Listing::Everything(command))
}

/// True for a filter that lets everything through which it reads from a listing, at most cutting and
/// ordering the lines.
pub(crate) fn keeps_everything(program: &str, texts: &[&str]) -> bool {
    match program {
        "cat" | "sort" | "uniq" | "tac" | "cut" | "tr" | "tee" | "column" | "paste" | "rev" | "nl"
        | "shuf" | "jq" | "stdbuf" | "xargs" | "echo" => true,
        // A pattern before the braces picks lines.
        "awk" | "gawk" | "mawk" => texts.iter().skip(1).find(|word| word.contains('{')).is_some_and(|word| {
            let program = word.trim_start();
            program.starts_with('{') || program.starts_with("NR>") || program.starts_with("NR >")
        }),
        "sed" => !texts.contains(&"-n"),
        "tail" => texts.iter().any(|word| word.starts_with('+') || word.starts_with("-n+")),
        "grep" | "egrep" => texts.iter().any(|word| {
            *word == "--invert-match"
                || (word.starts_with('-') && !word.starts_with("--") && word.contains('v'))
        }),
        _ => false,
    }
}

//! Programs that list containers, services or units: an action on all of their output affects everything.

use crate::catalogue::Catalogue;
use crate::catalogue::options::{Item, Scanner};
use crate::languages::names::shell as names;
use crate::shell::text::{FAILED, Listing, is_all_unknown};

/// What a command lists; `None` for any other command.
pub(crate) fn of(texts: &[&str], catalogue: Catalogue) -> Option<Listing> {
    let usage = catalogue.usage(texts, &|index| texts.get(index).is_some_and(|text| is_all_unknown(text)))?;
    let (names, needed) = (usage.form.lists?, usage.form.lists_with);
    let value = usage.value();
    let (mut words, mut filters, mut is_asked) = (0, Vec::new(), needed.is_empty());
    let (mut is_latest, mut has_failed) = (false, false);
    for item in Scanner::new(texts, usage.rest, &value) {
        match item {
            // `kubectl get pod/x` names one.
            Item::Positional(index) if texts.get(index).is_some_and(|text| text.contains('/')) => {
                return None;
            }
            Item::Positional(_) => words += 1,
            Item::Option(name, at) => {
                is_asked |= name.is_any(&needed);
                let state = at.and_then(|at| at.of(texts));
                has_failed |= name.is("--failed") || name.is("--state") && state == Some("failed");
                let number = at.and_then(|at| at.of(texts));
                is_latest |=
                    name.is_any(&["-l", "--latest"]) || name.is_any(&["-n", "--last"]) && number == Some("1");
                if let Some(at) = at.filter(|_| name.is_any(&["-f", "--filter"])) {
                    filters.extend(at.of(texts).map(str::to_owned));
                }
                if let Some(at) = at.filter(|_| name.is("--name")) {
                    filters.extend(at.of(texts).map(|name| format!("name={name}")));
                }
            }
            Item::Dashes(_) => {}
        }
    }
    // The latest container is one, which only the engine knows.
    if words != names || !is_asked || is_latest {
        return None;
    }
    // A filter by name selects what it is a part of; any other filter may select everything.
    if let [filter] = filters.as_slice()
        && let Some(name) = filter.strip_prefix("name=")
    {
        let exact = name.starts_with('^') && name.ends_with('$');
        let name = name.trim_start_matches(['^', '/']).trim_end_matches('$');
        // It is a regular expression: `.` alone matches every name.
        if name.contains(|c: char| c.is_ascii_alphanumeric())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c))
        {
            let listing = if exact { Listing::Named } else { Listing::Matching };
            return Some(listing(name.to_owned()));
        }
    }
    let failed = if has_failed { FAILED } else { "" };
    Some(Listing::Everything(usage.written(texts) + failed))
}

/// What a filter keeps of a list of everything: the lines with this name in them. `grep NAME`, `awk '/NAME/{print $1}'`.
pub(crate) fn selected<'t>(program: &str, texts: &[&'t str]) -> Option<&'t str> {
    let name = match (program, texts) {
        ("grep" | "egrep" | "fgrep", [_, name] | [_, "-i" | "-w" | "-F" | "-E", name]) => name,
        ("awk" | "gawk" | "mawk", [_, code]) => {
            let (name, action) = code.trim().strip_prefix('/')?.split_once('/')?;
            let action: String = action.chars().filter(|c| !c.is_whitespace()).collect();
            ["{print$1}", "{print}", ""].contains(&action.as_str()).then_some(name)?
        }
        _ => return None,
    };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    (name.len() > 1 && name.chars().all(is_plain)).then_some(name)
}

/// True for a filter that keeps every line of a listing; it may cut and sort lines.
pub(crate) fn keeps_everything(program: &str, texts: &[&str]) -> bool {
    match program {
        _ if names::KEEPING.has(program) => true,
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

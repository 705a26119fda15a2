//! Paths with parts that are computed where the command runs: below which folder they certainly lie.

use opsctl_reader::catalogue::expression::path_column;
use opsctl_reader::shell::Command;

use crate::lists::{
    FINDING_CONDITIONS, LISTING_SOURCES, NAME_FILTERS, NAME_SOURCES, NAME_VARIABLES, OPEN_FOLDERS,
};

/// What stands for a computed name.
const NAME: &str = "_";

/// Paths that stand for all that a text may mean; none if it may be any path.
///
/// A computed part is a name, or what a search finds below its folders. `cwd` may be computed, too.
pub fn stand_ins(text: &str, cwd: Option<&str>) -> Option<Vec<String>> {
    let folder = || if cwd.is_some_and(is_below_new_folder) { Some("/tmp/_") } else { cwd };
    let written = places(text).or_else(|| Some(vec![named(text)?]))?;
    written.into_iter().map(|path| rooted(&path, folder())).collect()
}

/// Whether a path begins with the output of `mktemp`, where that makes a file or folder for temporary files.
pub fn is_below_new_folder(path: &str) -> bool {
    let Some((words, rest)) = path.strip_prefix("$(mktemp").and_then(|rest| rest.split_once(')')) else {
        return false;
    };
    let is_temporary =
        |word: &str| !word.contains('/') || word.starts_with("/tmp/") || word.starts_with("/var/tmp/");
    words.split_whitespace().all(|word| is_temporary(word.trim_matches(['"', '\''])))
        && !path.contains("..")
        && (rest.is_empty() || rest.starts_with('/'))
}

/// Whether programs that list files state the path: `$(git ls-files | head -1)`. What they find is judged as a search.
pub fn lists_files(path: &str) -> bool {
    let Some((source, _)) = substitution(path) else { return false };
    let source = source.replace("2>/dev/null", "");
    if let Some(stages) = source.strip_prefix("find ").and_then(|_| paths_of_lines(&source)) {
        return stages;
    }
    let Some(first) = first_stage(&source) else { return false };
    let mut words = first.split_whitespace();
    let listed = words.next().and_then(|name| LISTING_SOURCES.iter().find(|(one, _)| *one == name));
    let Some((_, needed)) = listed else { return false };
    // A form states any text.
    if first.contains(" -printf") || first.contains(" --format") {
        return false;
    }
    needed.is_empty()
        || words.any(|word| match needed.strip_prefix('-') {
            Some(letter) => word.starts_with('-') && !word.starts_with("--") && word.contains(letter),
            None => needed.split('|').any(|one| one == word),
        })
}

/// Whether a path of a command on a host is the name of a file in a folder where sessions may write: names with line breaks or
/// blanks become other paths, except behind `-exec` and `-print0`. What a pattern of `ls` finds begins with its folder.
pub fn names_own_files(path: &str, command: &Command) -> bool {
    let is_given = matches!(command.via.last().map(String::as_str), Some("fd" | "find"));
    let Some((source, _)) = substitution(path).filter(|_| command.host().is_some() && !is_given) else {
        return false;
    };
    let first = source.split('|').next().unwrap_or_default();
    let mut words = first.split_whitespace().map(|word| word.trim_matches(['"', '\'']));
    let program = words.next().unwrap_or_default();
    let is_own = |word: &str| {
        OPEN_FOLDERS.iter().any(|folder| {
            word.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    };
    LISTING_SOURCES.iter().any(|(one, _)| *one == program)
        && !first.contains(" -print0")
        && words.any(|word| is_own(word) && !(program == "ls" && word.contains(['*', '?', '['])))
}

/// For `find -printf` with a form: whether numbers stand before each path, which a later command cuts off:
/// `find /var/log -printf '%T@ %p\n' | sort -n | tail -1 | cut -d' ' -f2-`. `None` without a form.
fn paths_of_lines(source: &str) -> Option<bool> {
    let (before, form) = source.split_once(" -printf ")?;
    let quote = form.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    let (form, after) = form.get(1..)?.split_once(quote)?;
    let Some(columns) = path_column(form) else { return Some(false) };
    let next = columns + 1;
    let cuts = [
        format!("cut -d' ' -f{next}-"),
        format!("cut -d \" \" -f{next}-"),
        format!("cut -d' ' -f {next}-"),
        format!("cut -d\" \" -f{next}-"),
        format!("cut -d' ' -f{next}"),
    ];
    let mut stages: Vec<&str> = after.split('|').skip(1).map(str::trim).collect();
    let count = stages.len();
    stages.retain(|stage| columns == 0 || !cuts.iter().any(|cut| cut == stage));
    let is_cut = columns == 0 || stages.len() + 1 == count;
    let rest = std::iter::once(before).chain(stages).collect::<Vec<_>>().join(" | ");
    Some(is_cut && first_stage(&rest).is_some_and(finds))
}

/// The path below the folder, if it is relative.
fn rooted(path: &str, cwd: Option<&str>) -> Option<String> {
    if path.starts_with(['/', '~']) {
        return Some(path.to_owned());
    }
    let cwd = named(cwd?)?;
    cwd.starts_with(['/', '~']).then(|| format!("{cwd}/{path}"))
}

/// A text that is what a search finds: a path below each of its folders.
fn places(text: &str) -> Option<Vec<String>> {
    let (source, rest) = substitution(text)?;
    let first = first_stage(source)?;
    if !rest.is_empty() || source.contains("..") || !finds(first) {
        return None;
    }
    let words = first.split_whitespace().skip(1).skip_while(|word| ["-L", "-P", "-H"].contains(word));
    let folders: Vec<&str> = words.take_while(|word| !word.starts_with(['-', '(', '!', '\\'])).collect();
    let stated = folders.iter().map(|folder| named(folder).map(|folder| format!("{folder}/{NAME}")));
    if folders.is_empty() { Some(vec![NAME.to_owned()]) } else { stated.collect() }
}

/// The text with a name for each computed part; `None` if one may be more than a name.
fn named(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['$', '`']) {
        out.push_str(rest.get(..at)?);
        let part = rest.get(at..)?;
        let is_in_folder = out.ends_with('/');
        rest = match substitution(part) {
            Some((source, after)) if is_name(source, is_in_folder, after) => after,
            Some(_) => return None,
            None => variable(part)?,
        };
        out.push_str(NAME);
    }
    out.push_str(rest);
    Some(out)
}

/// What follows a variable that is a name.
fn variable(text: &str) -> Option<&str> {
    let rest = text.strip_prefix('$')?;
    if let Some(after) = rest.strip_prefix('$') {
        return Some(after);
    }
    let (name, after) = match rest.strip_prefix('{') {
        Some(inside) => inside.split_once('}')?,
        None => {
            rest.split_at(rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len()))
        }
    };
    NAME_VARIABLES.contains(&name).then_some(after)
}

/// What a substitution at the beginning of a text runs, and what follows it.
fn substitution(text: &str) -> Option<(&str, &str)> {
    let rest = text.strip_prefix("$(")?;
    let mut depth = 1_usize;
    let end = rest.char_indices().find_map(|(at, c)| {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        (depth == 0).then_some(at)
    })?;
    Some((rest.get(..end)?, rest.get(end + 1..)?))
}

/// The first command of a pipeline whose other commands leave lines out, and change none.
fn first_stage(source: &str) -> Option<&str> {
    if source.contains([';', '&', '\n', '<', '>', '`']) {
        return None;
    }
    let mut stages = source.split('|');
    let first = stages.next()?;
    stages.all(only_leaves_out).then_some(first)
}

/// Whether a filter reads no file and prints whole lines of what it gets.
fn only_leaves_out(stage: &str) -> bool {
    let words: Vec<&str> = stage.split_whitespace().collect();
    let Some((program, words)) = words.split_first() else { return false };
    let Some((_, letters)) = NAME_FILTERS.iter().find(|(name, _)| name == program) else { return false };
    let option = |word: &str| word.strip_prefix('-').map(|rest| rest.chars().all(|c| letters.contains(c)));
    let is_count = |at: usize| at.checked_sub(1).and_then(|before| words.get(before)) == Some(&"-n");
    let operands = words.iter().enumerate().filter(|(at, word)| !word.starts_with('-') && !is_count(*at));
    operands.count() == usize::from(*program == "grep")
        && words.iter().all(|word| option(word) != Some(false))
}

/// Whether a command is `find` that prints what it finds.
fn finds(command: &str) -> bool {
    let mut words = command.split_whitespace();
    words.next() == Some("find")
        && !command.contains('$')
        && words
            .filter(|word| word.starts_with('-') && !is_number(word))
            .all(|word| FINDING_CONDITIONS.contains(&word))
}

/// Whether a word such as `-7` is a number.
fn is_number(word: &str) -> bool {
    word.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit())
}

/// Whether a command prints a name: without `/`, or in a folder a path that does not lead out of it. `after` is the rest of the path.
fn is_name(source: &str, is_in_folder: bool, after: &str) -> bool {
    let Some(first) = first_stage(source).filter(|_| !source.contains("..")) else { return false };
    let program = first.split_whitespace().next().unwrap_or_default();
    let is_known = !source.contains('$');
    match program {
        "ls" => is_in_folder && is_known,
        "find" => is_in_folder && finds(first),
        // The last name of a path that is not known may be `..`.
        "basename" => is_known || !after.contains('/'),
        program => NAME_SOURCES.contains(&program) && is_known && !source.contains('/'),
    }
}

#[cfg(test)]
mod tests {
    use super::stand_ins;
    use crate::cases::Cases;

    #[test]
    fn computed_paths_lie_below_a_folder_or_may_be_anywhere() {
        Cases::of("computed").check("stand_ins", |[cwd, text]| {
            let cwd = (cwd != "-").then_some(cwd);
            stand_ins(text, cwd).map_or_else(|| "any".to_owned(), |paths| paths.join(" "))
        });
    }
}

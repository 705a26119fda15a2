//! Programs that run a command for each item that they read or find: `xargs`, `parallel`, `find`.

use crate::catalogue::expression::{Expression, path_column};
use crate::catalogue::program::{How, Role};
use crate::languages::names::shell as names;
use crate::shell::Complaint;
use crate::shell::evaluator::Evaluator;
use crate::shell::execution::commands::invocation::{Invocation, Started};
use crate::shell::execution::join::add_new;
use crate::shell::on_disk::{GLOB, Search};
use crate::shell::options::Scanner;
use crate::shell::state::Shell;
use crate::shell::text::{Field, Unknown, is_known, join};

/// Maximum number of folders that a search with `-execdir` begins in and that are followed.
const MOST_PLACES: usize = 8;

/// Maximum number of runs that are followed.
pub(super) const MOST_RUNS: usize = 256;

/// The items that are appended or inserted.
pub(super) enum Items {
    Known(Vec<String>),
    /// A mark for all items.
    Unknown(String),
}

pub(super) fn items(
    evaluator: &mut Evaluator,
    text: Option<&str>,
    by_line: bool,
    delimiter: Option<&str>,
) -> Items {
    let Some(text) = text else { return Items::Unknown(evaluator.unknowns.many("{}")) };
    if !is_known(text) {
        // Known words next to a mark are separate items.
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        return match words.as_slice() {
            [only] => Items::Unknown(only.clone()),
            _ => Items::Known(words),
        };
    }
    let own = |part: &str| part.trim_matches(['\'', '"']).to_owned();
    Items::Known(match delimiter {
        Some("\\0" | "\0") => text.split('\0').filter(|part| !part.is_empty()).map(str::to_owned).collect(),
        Some("\\n") => text.lines().map(str::to_owned).collect(),
        Some(delimiter) if !delimiter.is_empty() => {
            text.trim_end_matches('\n').split(delimiter).map(str::to_owned).collect()
        }
        _ if by_line => text.lines().map(|line| own(line.trim())).filter(|line| !line.is_empty()).collect(),
        _ => unquoted_words(text),
    })
}

/// The words of a text as `xargs` splits it: at blanks outside of quotes.
fn unquoted_words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match quote {
            Some(open) if c == open => quote = None,
            None if c == '"' || c == '\'' => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            None if c == '\\' => word.get_or_insert_default().extend(chars.next()),
            None if c.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

pub(crate) fn xargs(evaluator: &mut Evaluator, started: &Started<'_>) -> String {
    let Started { shell, invocation, usage, texts, .. } = *started;
    let mut replace: Option<String> = None;
    let mut group: Option<usize> = None;
    let mut delimiter = None;
    let mut from_file = None;
    let mut by_line = false;
    let mut is_cut = false;
    let command = Scanner::new(texts, 1, &usage.form.valued).up_to_word(|name, value| {
        let value = value.and_then(|at| at.of(texts));
        let is = |role| name.is_any(&usage.role(role));
        if is(Role::Placeholder) {
            replace = Some(value.unwrap_or("{}").to_owned());
        } else if is(Role::MaxItems) || is(Role::MaxLines) {
            // Without a number it takes one line.
            group = value.map_or(Some(1), |value| value.parse().ok());
            by_line = is(Role::MaxLines);
        } else if is(Role::MaxChars) {
            is_cut = true;
        } else if is(Role::Delimiter) {
            delimiter = value;
        } else if name.is_any(&usage.files().inputs) {
            from_file = Some(value.unwrap_or_default());
        } else if is(Role::NullDelimited) {
            delimiter = Some("\\0");
        }
    });
    // How many items a command of limited length has is not followed.
    let group = if is_cut { Some(1) } else { group };
    let base = command.map_or(&[][..], |at| invocation.from(at));
    let base = if base.is_empty() { vec![Field::literal("echo")] } else { base.to_vec() };
    let read = match from_file {
        Some(file) => evaluator.file_content(shell, file).or_else(|| {
            let source = format!("$(< {})", evaluator.unknowns.show(file));
            Some(evaluator.unknowns.foreign(source))
        }),
        None => invocation.stdin.clone(),
    };
    let stdin = read.as_deref();
    let items = items(evaluator, stdin, replace.is_some(), delimiter);
    let mut inner = shell.clone().through("xargs");
    inner.stdin = Some(String::new());
    evaluator.through(shell, invocation, "xargs", |this| {
        let runs: Vec<Vec<Field>> = match (&items, &replace) {
            (Items::Unknown(mark), replace) => {
                inner.repeats |= replace.is_some() || group.is_some();
                vec![match replace {
                    Some(replace) => put(&base, replace, mark),
                    None => append(&base, std::slice::from_ref(mark)),
                }]
            }
            (Items::Known(items), Some(replace)) => {
                items.iter().map(|item| put(&base, replace, item)).collect()
            }
            (Items::Known(items), None) if items.is_empty() => vec![base.clone()],
            (Items::Known(_), None) if by_line && delimiter.is_none() && stdin.is_some_and(is_known) => {
                let lines: Vec<&str> = stdin.unwrap_or_default().lines().collect();
                lines
                    .chunks(group.filter(|size| *size > 0).unwrap_or(1))
                    .map(|lines| append(&base, &unquoted_words(&lines.join("\n"))))
                    .collect()
            }
            (Items::Known(items), None) => items
                .chunks(group.filter(|size| *size > 0).unwrap_or(items.len().max(1)))
                .map(|chunk| append(&base, chunk))
                .collect(),
        };
        this.beyond(&inner, runs.get(MOST_RUNS..).unwrap_or_default());
        this.each(runs.into_iter().take(MOST_RUNS), |this, fields| {
            this.run_program(&inner, &Invocation::of(fields, inner.stdin.clone()))
        })
    })
}

impl Evaluator {
    /// Adds the runs beyond [`MOST_RUNS`] as unread text.
    pub(super) fn beyond(&mut self, shell: &Shell, runs: &[Vec<Field>]) {
        if runs.is_empty() {
            return;
        }
        self.complain(Complaint::ManyItems);
        let lines: Vec<String> = runs.iter().map(|fields| join(fields)).collect();
        self.leave_out(shell, &lines.join("\n"));
    }
}

fn append(base: &[Field], items: &[String]) -> Vec<Field> {
    let items = items.iter().map(|text| Field::computed(text.clone()));
    base.iter().cloned().chain(items).collect()
}

fn put(base: &[Field], replace: &str, item: &str) -> Vec<Field> {
    let put = |field: &Field| Field { text: field.text.replace(replace, item), ..field.clone() };
    base.iter().map(put).collect()
}

/// Follows `find … -exec command {} \;` and `fd -x command`.
pub(crate) fn find(evaluator: &mut Evaluator, started: &Started<'_>) -> String {
    let Started { shell, invocation, usage, texts, .. } = *started;
    let is_fd = usage.form.runs.is_some_and(|runs| runs.how == How::Fd);
    let expression = usage.expression(texts);
    let runs = expression.runs.iter().map(|run| {
        let fields = invocation.fields.get(run.words.clone()).unwrap_or_default().to_vec();
        (fields, run.each, texts.get(run.option).is_some_and(|option| option.ends_with("dir")))
    });
    let runs: Vec<(Vec<Field>, bool, bool)> = runs.collect();
    let own = expression.runs.first().map_or(texts.len(), |run| run.option);
    let places = places(evaluator, shell, &expression, texts);
    let own = texts.get(..own).unwrap_or_default().join(" ");
    let source = format!("$({})", evaluator.unknowns.show(&own));
    let search = search(evaluator, shell, (&expression, texts), is_fd);
    // A form states any text.
    let states_text = |pair: &[&str]| matches!(pair, ["-printf", form] if path_column(form).is_none());
    let is_any = texts.windows(2).any(states_text) || own.contains(" --format");
    let found = Unknown { source, many: true, found: search, is_any, ..Unknown::default() };
    if runs.is_empty() {
        evaluator.leaf(shell, invocation);
        return evaluator.unknowns.mark(found);
    }
    evaluator.through(shell, invocation, "find", |this| {
        let mut outputs = String::new();
        for (fields, each, elsewhere) in runs {
            let names_file = names_file(&fields, &expression);
            let is_asked = |place: &&Option<String>| {
                let is_secret = place.as_deref().is_some_and(|place| names::SECRET_FOLDERS.has(place));
                !is_secret || names_file
            };
            let found = this.unknowns.mark(found.clone());
            let mut fields = put(&fields, "{}", &found);
            if is_fd && !fields.iter().any(|field| field.text.contains(&found)) {
                fields.push(Field::computed(found));
            }
            let one = Invocation::of(fields, None);
            let mut ways = vec![];
            for place in if elsewhere { places.as_slice() } else { &[None] }.iter().filter(is_asked) {
                let mut inner = shell.clone().through("find");
                inner.repeats |= each;
                if elsewhere {
                    inner.enter(place.clone());
                }
                inner.stdin = None;
                let (printed, nodes) = this.collected(|this| this.run_program(&inner, &one));
                outputs.push_str(&printed);
                ways.push((false, nodes));
            }
            this.push_alternatives(ways);
        }
        let is_any = this.unknowns.are_any(&outputs);
        // How often a command prints is not known.
        let made_from = Some(outputs).filter(|text| !text.is_empty());
        this.unknowns.mark(Unknown { made_from, repeats: true, is_any, ..found })
    })
}

/// Whether a command of `-execdir` may name another file than those that are found.
fn names_file(fields: &[Field], expression: &Expression<'_>) -> bool {
    let is_found = |text: &str| {
        text.contains("{}") || expression.names.iter().any(|name| !name.negated && name.glob == text)
    };
    let is_flag = |text: &str| text.starts_with('-') && !text.contains('=');
    fields.iter().skip(1).any(|field| !is_flag(&field.text) && !is_found(&field.text))
}

/// Where `-execdir` runs its command: in folders that are not known, and in open ones that are searched, or that lie below or above
/// these.
fn places(
    evaluator: &Evaluator,
    shell: &Shell,
    expression: &Expression<'_>,
    texts: &[&str],
) -> Vec<Option<String>> {
    let mut starts: Vec<&str> = expression.places.iter().filter_map(|at| texts.get(*at).copied()).collect();
    if starts.is_empty() {
        starts.push(".");
    }
    let mut places = vec![];
    for start in starts.iter().take(MOST_PLACES) {
        for path in reached(evaluator, shell, start) {
            add_new(&mut places, around(&path, start));
        }
    }
    if starts.len() > MOST_PLACES || expression.tests.iter().any(|(option, _)| *option == STARTS_FROM_FILE) {
        add_new(&mut places, below("/"));
    }
    std::iter::once(None).chain(places.into_iter().map(Some)).collect()
}

/// The option of `find` with which a file states where it begins.
const STARTS_FROM_FILE: &str = "-files0-from";

/// The folders that a start of `find` may be; none where only the working folder is not known.
fn reached(evaluator: &Evaluator, shell: &Shell, start: &str) -> Vec<String> {
    if let Some(paths) = evaluator.behind_parents(shell, start) {
        return paths;
    }
    match evaluator.path_of(shell, start) {
        Some(path) => vec![path],
        None if is_known(start) => vec![],
        None => vec!["/".to_owned()],
    }
}

/// A folder that is searched and the one above it, where they are open, and the open ones below it.
fn around(path: &str, start: &str) -> Vec<String> {
    let is_pattern = path.contains(GLOB);
    let known = path.split(GLOB).next().unwrap_or_default();
    let known = if is_pattern { known.rsplit_once('/').map_or("", |(above, _)| above) } else { known };
    let mut places = below(known);
    if names::OPEN_PLACES.begin(path) {
        places.push(path.to_owned());
        // The start itself is looked at from above, unless it is `.`.
        let is_named = !matches!(start.rsplit('/').next(), Some("" | "." | ".."));
        let above = path.trim_end_matches('/').rsplit_once('/').map_or("", |(above, _)| above);
        places.extend(is_named.then(|| if above.is_empty() { "/".to_owned() } else { above.to_owned() }));
    }
    places
}

/// The open folders in a folder, or the folder itself.
fn below(folder: &str) -> Vec<String> {
    let folder = folder.trim_end_matches('/');
    let is_below = |open: &&str| {
        open.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            && (!folder.is_empty() || !open.starts_with('~'))
    };
    let open = names::WRITTEN_FOLDERS.iter().chain(names::SECRET_FOLDERS.iter());
    open.filter(is_below).map(str::to_owned).collect()
}

/// What `find` or `fd` looks for on this machine; `None` where it runs elsewhere.
fn search(
    evaluator: &Evaluator,
    shell: &Shell,
    (expression, texts): (&Expression<'_>, &[&str]),
    is_fd: bool,
) -> Option<Search> {
    evaluator.disk_of(shell)?;
    let mut words: Vec<&str> = expression.places.iter().filter_map(|at| texts.get(*at).copied()).collect();
    let names = if is_fd {
        let pattern = (!words.is_empty()).then(|| words.remove(0));
        pattern.into_iter().map(|pattern| format!("*{}*", pattern.trim_matches(['^', '$']))).collect()
    } else if expression.finds_more_than_named() {
        vec![]
    } else {
        let names = expression.names.iter().map(|name| name.glob);
        names.map(|name| name.rsplit('/').next().unwrap_or(name).to_owned()).collect()
    };
    if words.is_empty() {
        words.push(".");
    }
    let folders = words.into_iter().filter_map(|word| evaluator.path_of(shell, word)).collect();
    Some(Search::Below { folders, names })
}

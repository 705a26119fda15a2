//! `parallel`, which runs a command for each combination of the items of lists.

use super::batch::{Items, MOST_RUNS, items};
use super::wrapper::{each_host, quoted};
use crate::catalogue::options::Scanner;
use crate::catalogue::program::{Role, Runs};
use crate::shell::Complaint;
use crate::shell::evaluator::Evaluator;
use crate::shell::execution::commands::invocation::Started;
use crate::shell::text::{Field, Unknown};

/// What may follow the number of an item in its place.
const SIGNS: [&str; 5] = ["", ".", "/", "//", "/."];

/// Maximum number of combinations of the items of several lists.
const MOST_ROWS: usize = 16_384;

/// What the options of `parallel` state.
#[derive(Default)]
struct Given<'a> {
    /// The values that name hosts.
    hosts: Vec<String>,
    quotes: bool,
    columns: Option<&'a str>,
    has_header: bool,
    /// The number of items for each command.
    group: usize,
    /// What stands for all items, if it is not `{}`.
    place: Option<&'a str>,
    repeats: bool,
    /// Files with items.
    files: Vec<&'a str>,
    folders: Vec<&'a str>,
    /// The index of the first word of the command.
    command: Option<usize>,
}

impl<'a> Given<'a> {
    fn of(started: &Started<'_>, runs: &Runs, own: &[&'a str]) -> Self {
        let usage = started.usage;
        let mut given = Self::default();
        given.command = Scanner::new(own, 1, &usage.form.valued).up_to_word(|name, at| {
            let value = at.and_then(|at| at.of(own));
            let is = |role| name.is_any(&usage.role(role));
            if is(Role::Hosts) {
                given.hosts.extend(value.map(str::to_owned));
            }
            given.quotes |= is(Role::Quotes);
            given.has_header |= is(Role::Header);
            given.repeats |= name.is_any(&runs.timers);
            given.columns = value.filter(|_| is(Role::Columns)).or(given.columns);
            given.place = value.filter(|_| is(Role::Placeholder)).or(given.place);
            given.files.extend(value.filter(|_| name.is_any(&usage.files().inputs)));
            given.folders.extend(value.filter(|_| name.is_any(&runs.dir) || name.begins(&runs.dir)));
            if let Some(size) = value.filter(|_| is(Role::MaxItems)).and_then(|size| size.parse().ok()) {
                given.group = size;
            }
        });
        given
    }
}

/// Whether a value names one host and no more: no file with hosts (`@FILE`, `..`), no other client, and not this machine.
fn is_plain(host: &str) -> bool {
    let host =
        host.split_once('/').filter(|(count, _)| count.parse::<u16>().is_ok()).map_or(host, |(_, host)| host);
    let name = host.rsplit_once('@').map_or(host, |(_, name)| name);
    !host.starts_with('@')
        && !name.is_empty()
        && !name.contains(|c: char| c.is_whitespace() || "/:@".contains(c))
        && !name.starts_with('.')
}

/// A list of items, and whether it is linked to the one before it.
struct List {
    is_linked: bool,
    items: Vec<String>,
    is_known: bool,
}

/// Follows the command of `parallel`, once for each combination of items.
pub(crate) fn parallel(evaluator: &mut Evaluator, started: &Started<'_>, runs: &Runs) -> String {
    let Started { shell, invocation, texts, .. } = *started;
    let sources = texts.iter().position(|word| word.starts_with(":::")).unwrap_or(texts.len());
    let own = texts.get(..sources).unwrap_or_default();
    let mut inner = shell.clone().through("parallel").child();
    let given = Given::of(started, runs, own);
    inner.repeats |= given.repeats;
    for folder in &given.folders {
        evaluator.go(&mut inner, folder);
    }
    let hosts: Vec<&str> = given.hosts.iter().flat_map(|value| value.split(',')).collect();
    // `:` is this machine.
    if hosts.iter().any(|host| *host != ":") {
        if !hosts.iter().all(|host| is_plain(host)) {
            evaluator.complain(Complaint::Runs(format!(
                "parallel -S {}",
                evaluator.unknowns.show(&hosts.join(","))
            )));
            evaluator.unread(shell, &texts.join(" "));
        }
        inner = inner.on_host(evaluator.unknowns.show(&each_host(&given.hosts)));
    }
    let command = given.command.unwrap_or(sources);
    let template = if given.quotes {
        quoted(invocation.fields.get(command..sources).unwrap_or_default())
    } else {
        own.get(command..).unwrap_or_default().join(" ")
    };
    if own.iter().any(|word| has_code(word)) {
        return evaluator.through(shell, invocation, "parallel", |this| {
            this.complain(Complaint::Code("perl".to_owned()));
            this.leave_out(&inner, &template);
            String::new()
        });
    }
    let mut lists = lists(evaluator, started, &given, texts.get(sources..).unwrap_or_default());
    inner.repeats |= lists.iter().any(|list| !list.is_known);
    let name = |list: &mut List| {
        let is_named = list.is_known && !list.items.is_empty();
        if is_named { list.items.remove(0) } else { String::new() }
    };
    let names: Vec<String> = if given.has_header { lists.iter_mut().map(name).collect() } else { Vec::new() };
    let mut rows = product(&lists);
    if let Some(columns) = given.columns {
        rows = rows.iter().map(|row| cut(evaluator, row, columns)).collect();
    }
    if lists.len() < 2 && given.group > 1 {
        let items: Vec<String> = rows.into_iter().flatten().collect();
        rows = items.chunks(given.group).map(<[String]>::to_vec).collect();
    }
    let place = given.place.unwrap_or("{}");
    let scripts: Vec<String> = rows
        .iter()
        .take(MOST_ROWS)
        .flat_map(|row| {
            let raw = fill(&template, place, &names, row);
            // In a command, `parallel` quotes the items.
            let hides = row.iter().any(|item| item.contains(['#', '\'', '"', '\\', '<', '>']));
            let quoted: Vec<String> = row.iter().map(|item| quote(item)).collect();
            let is_command = !template.trim().is_empty();
            let also = (hides && is_command).then(|| fill(&template, place, &names, &quoted));
            [Some(raw), also]
        })
        .flatten()
        .map(|script| without_places(evaluator, &script))
        .collect();
    evaluator.through(shell, invocation, "parallel", |this| {
        let beyond = scripts.get(MOST_RUNS..).unwrap_or_default().iter();
        let beyond: Vec<Vec<Field>> = beyond.map(|script| vec![Field::literal(script.clone())]).collect();
        this.beyond(&inner, &beyond);
        this.each(scripts.iter().take(MOST_RUNS), |this, script| this.run_text(&mut inner.clone(), script))
    })
}

/// The lists of items: those in files that options name, those behind `:::` and those in files behind `::::`; else the lines of
/// standard input.
fn lists(evaluator: &mut Evaluator, started: &Started<'_>, given: &Given<'_>, words: &[&str]) -> Vec<List> {
    let mut lists: Vec<List> = Vec::new();
    for file in &given.files {
        lists.push(list_of(evaluator, started, Some(file), false));
    }
    let mut sign = "";
    for word in words {
        match word.strip_prefix(":::") {
            Some(own) => sign = own,
            // Each file is a list of its own.
            None if sign.starts_with(':') => {
                lists.push(list_of(evaluator, started, Some(word), sign.ends_with('+')));
                continue;
            }
            None => {
                if let Some(list) = lists.last_mut() {
                    list.items.push((*word).to_owned());
                }
                continue;
            }
        }
        if !sign.starts_with(':') {
            lists.push(List { is_linked: sign.ends_with('+'), items: vec![], is_known: true });
        }
    }
    if lists.is_empty() {
        lists.push(list_of(evaluator, started, None, false));
    }
    lists
}

/// The lines of a file, or of standard input, as a list.
fn list_of(evaluator: &mut Evaluator, started: &Started<'_>, file: Option<&str>, is_linked: bool) -> List {
    let Started { shell, invocation, .. } = *started;
    let text = match file.filter(|file| *file != "-") {
        Some(file) => Some(evaluator.file_content(shell, file).unwrap_or_else(|| {
            let source = format!("$(< {})", evaluator.unknowns.show(file));
            evaluator.unknowns.mark(Unknown { source, many: true, is_any: true, ..Unknown::default() })
        })),
        None => invocation.stdin.clone(),
    };
    match items(evaluator, text.as_deref(), true, None) {
        Items::Known(items) => List { is_linked, items, is_known: true },
        Items::Unknown(mark) => List { is_linked, items: vec![mark], is_known: false },
    }
}

/// The columns of the items of a row. What separates them is an expression.
fn cut(evaluator: &mut Evaluator, row: &[String], columns: &str) -> Vec<String> {
    let is_plain = |c: char| !"\\.[](){}*+?^$|".contains(c);
    let separator = match columns {
        "\\t" => "\t",
        "\\|" => "|",
        plain if plain.chars().all(is_plain) => plain,
        _ => return vec![any(evaluator)],
    };
    row.iter().flat_map(|item| item.split(separator)).map(str::to_owned).collect()
}

/// The mark of words that may be any.
fn any(evaluator: &mut Evaluator) -> String {
    let unknown = Unknown { source: "{}".to_owned(), many: true, is_foreign: true, ..Unknown::default() };
    evaluator.unknowns.mark(unknown)
}

/// Whether a word has code of perl in place of an item: `{= uc =}`, `{2= s/x/y/ =}`.
fn has_code(word: &str) -> bool {
    let is_number = |c: char| c.is_ascii_digit() || c == '-';
    word.split('{').skip(1).any(|rest| rest.trim_start_matches(is_number).starts_with('='))
}

/// The item between quotes, if a shell would take a part of it for something else.
fn quote(item: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_.+/@:,%=".contains(c);
    if item.chars().all(is_plain) { item.to_owned() } else { format!("'{}'", item.replace('\'', "'\\''")) }
}

/// The script with unknown words in the places of items that are not known, and with numbers in those of the number of the job.
fn without_places(evaluator: &mut Evaluator, script: &str) -> String {
    let is_place = |inside: &str| {
        let inside = inside.strip_prefix('-').unwrap_or(inside);
        let sign = inside.trim_start_matches(|c: char| c.is_ascii_digit());
        sign.len() < inside.len() && SIGNS.contains(&sign)
    };
    let mut done = String::new();
    let mut rest = script;
    while let Some((before, (inside, after))) =
        rest.split_once('{').and_then(|(before, after)| Some((before, after.split_once('}')?)))
    {
        done.push_str(before);
        let variable = before.ends_with('$');
        match inside {
            "#" | "%" if !variable => done.push_str(&evaluator.unknowns.number("{#}")),
            inside if is_place(inside) && !variable => done.push_str(&any(evaluator)),
            _ => {
                done.push('{');
                rest = rest.get(before.len() + 1..).unwrap_or_default();
                continue;
            }
        }
        rest = after;
    }
    done + rest
}

/// The combinations of one item from each list, at most [`MOST_ROWS`]; the last list varies fastest. A list after `:::+` is
/// linked to the one before it, item by item.
fn product(lists: &[List]) -> Vec<Vec<String>> {
    let mut columns: Vec<Vec<Vec<String>>> = Vec::new();
    for List { is_linked, items: list, .. } in lists {
        match columns.last_mut().filter(|_| *is_linked) {
            Some(column) => column.iter_mut().zip(list).for_each(|(row, item)| row.push(item.clone())),
            None => columns.push(list.iter().map(|item| vec![item.clone()]).collect()),
        }
    }
    let mut rows = vec![Vec::new()];
    for column in &columns {
        let with = |row: &Vec<String>| -> Vec<Vec<String>> {
            column.iter().map(|items| row.iter().chain(items).cloned().collect()).collect()
        };
        rows = rows.iter().flat_map(with).take(MOST_ROWS).collect();
    }
    rows
}

/// The parts of an item that a template may name, each with its sign.
fn parts(item: &str) -> [(&'static str, &str); 5] {
    let without_end = |text: &str| {
        text.rfind('.')
            .filter(|dot| !text.get(*dot..).unwrap_or_default().contains('/'))
            .unwrap_or(text.len())
    };
    let base = item.rsplit('/').next().unwrap_or(item);
    let folder = item.rsplit_once('/').map_or(".", |(folder, _)| folder);
    [
        ("", item),
        (".", item.get(..without_end(item)).unwrap_or(item)),
        ("/", base),
        ("//", folder),
        ("/.", base.get(..without_end(base)).unwrap_or(base)),
    ]
}

/// A template with the items in their places, or at the end when it has no place for them.
fn fill(template: &str, place: &str, names: &[String], row: &[String]) -> String {
    let all = row.join(" ");
    if template.trim().is_empty() {
        return all;
    }
    let mut script = template.replace(place, &all);
    for (sign, part) in parts(&all).into_iter().skip(1) {
        script = script.replace(&format!("{{{sign}}}"), part);
    }
    for (index, item) in row.iter().enumerate() {
        for (sign, part) in parts(item) {
            script = script.replace(&format!("{{{}{sign}}}", index + 1), part);
            script = script.replace(&format!("{{-{}{sign}}}", row.len() - index), part);
            if let Some(name) = names.get(index) {
                script = script.replace(&format!("{{{name}{sign}}}"), part);
            }
        }
    }
    if script == template { format!("{template} {all}") } else { script }
}

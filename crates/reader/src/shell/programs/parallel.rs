//! `parallel`, which runs a command for each combination of the items of lists.

use super::batch::{Items, MOST_RUNS, items};
use super::wrapper::quoted;
use crate::catalogue::options::Scanner;
use crate::catalogue::program::{Role, Runs};
use crate::shell::evaluator::Evaluator;
use crate::shell::execution::commands::invocation::Started;
use crate::shell::host::host_of;
use crate::shell::text::Field;

/// Maximum number of combinations of the items of several lists.
const MOST_ROWS: usize = 16_384;

/// Follows the command of `parallel`, once for each combination of items.
pub(crate) fn parallel(evaluator: &mut Evaluator, started: &Started<'_>, runs: &Runs) -> String {
    let Started { shell, invocation, usage, texts, .. } = *started;
    let sources = texts.iter().position(|word| word.starts_with(":::")).unwrap_or(texts.len());
    let own = texts.get(..sources).unwrap_or_default();
    let mut inner = shell.clone().through("parallel").child();
    let mut hosts = Vec::new();
    let mut quotes = false;
    let (mut columns, mut has_header, mut group, mut place) = (None, false, 1, "{}");
    let command = Scanner::new(own, 1, &usage.form.valued).up_to_word(|name, at| {
        if name.is_any(&usage.role(Role::Hosts)) {
            let login = at.and_then(|at| at.of(own)).unwrap_or_default();
            if let Some(host) = host_of(login).filter(|_| login != ":") {
                hosts.push(evaluator.unknowns.show(&host));
            }
        }
        quotes |= name.is_any(&usage.role(Role::Quotes));
        let value = at.and_then(|at| at.of(own));
        let is = |role| name.is_any(&usage.role(role));
        columns = value.filter(|_| is(Role::Columns)).or(columns);
        has_header |= is(Role::Header);
        place = value.filter(|_| is(Role::Placeholder)).unwrap_or(place);
        if let Some(folder) = value.filter(|_| name.is_any(&runs.dir) || name.begins(&runs.dir)) {
            evaluator.go(&mut inner, folder);
        }
        if let Some(size) = value.filter(|_| is(Role::MaxItems)).and_then(|size| size.parse().ok()) {
            group = usize::max(size, 1);
        }
    });
    let command = command.unwrap_or(sources);
    for host in hosts {
        inner = inner.on_host(host);
    }
    let template = if quotes {
        quoted(invocation.fields.get(command..sources).unwrap_or_default())
    } else {
        own.get(command..).unwrap_or_default().join(" ")
    };
    let words = texts.get(sources..).unwrap_or_default();
    let mut lists: Vec<(bool, Vec<String>)> = Vec::new();
    for word in words {
        match (word.strip_prefix(":::"), lists.last_mut()) {
            (Some(sign), _) => lists.push((sign.ends_with('+'), vec![])),
            (None, Some((_, list))) => list.push((*word).to_owned()),
            (None, None) => {}
        }
    }
    let unknown_file = words.first().is_some_and(|word| word.starts_with("::::"));
    let mut names = Vec::new();
    let mut rows = if lists.is_empty() || unknown_file {
        let files = lists.iter().flat_map(|(_, files)| files);
        let read = files.map(|file| evaluator.file_content(shell, file)).collect::<Option<String>>();
        let input = if unknown_file { read } else { invocation.stdin.clone() };
        match items(evaluator, input.as_deref(), true, None) {
            Items::Known(items) => items.into_iter().map(|item| vec![item]).collect(),
            Items::Unknown(mark) => {
                inner.repeats = true;
                vec![vec![mark]]
            }
        }
    } else {
        if has_header {
            names = lists
                .iter_mut()
                .map(|(_, list)| if list.is_empty() { String::new() } else { list.remove(0) })
                .collect();
        }
        product(&lists)
    };
    if let Some(columns) = columns {
        rows = rows
            .iter()
            .map(|row| row.iter().flat_map(|item| item.split(columns)).map(str::to_owned).collect())
            .collect();
    }
    if lists.len() < 2 && group > 1 {
        let items: Vec<String> = rows.into_iter().flatten().collect();
        rows = items.chunks(group).map(<[String]>::to_vec).collect();
    }
    let fill = |row: &[String]| fill(&template, place, &names, row);
    evaluator.through(shell, invocation, "parallel", |this| {
        let beyond = rows.get(MOST_RUNS..).unwrap_or_default().iter();
        let beyond: Vec<Vec<Field>> = beyond.map(|row| vec![Field::literal(fill(row))]).collect();
        this.beyond(&inner, &beyond);
        this.each(rows.iter().take(MOST_RUNS), |this, row| this.run_text(&mut inner.clone(), &fill(row)))
    })
}

/// The combinations of one item from each list, at most [`MOST_ROWS`]; the last list varies fastest. A list after `:::+` is
/// linked to the one before it, item by item.
fn product(lists: &[(bool, Vec<String>)]) -> Vec<Vec<String>> {
    let mut columns: Vec<Vec<Vec<String>>> = Vec::new();
    for (is_linked, list) in lists {
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
            if let Some(name) = names.get(index) {
                script = script.replace(&format!("{{{name}{sign}}}"), part);
            }
        }
    }
    if script == template { format!("{template} {all}") } else { script }
}

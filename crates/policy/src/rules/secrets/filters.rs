//! Filters that may print a secret without its name, or change its form, so that it is not recognised in the output.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::found::{REDACTED, found};
use crate::lists::{
    FIELD_FILTERS, LOG_FOLDERS, MEASURING_FILTERS, PLAIN_PRINTERS, SETTINGS_FILES, SETTINGS_PRINTERS,
    SLASHED_PROGRAMS,
};
use crate::model::records::verdict::Reason;
use crate::paths::glob;
use crate::rules::pattern::{self, Behind, Pattern};
use crate::selection::names::mentions_secret;
use crate::selection::{
    expression, is_json, leaves_names_of_files, names_harmless, picks, programs, selects, visit,
};
use opsctl_reader::catalogue::base_name;
use opsctl_reader::catalogue::program::Role;
use opsctl_reader::shell::{Command, Construct, Mode, Node, Script, Word};

/// Where a filter gets its text from, by what it may do with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Source {
    /// Any file but a log.
    File,
    /// A file with the settings of a program.
    Settings,
    /// A command in whose output secrets are replaced.
    Redacted,
}

/// A script, and its commands that get what another command prints. Their input is judged by that command itself: the text of a
/// pipeline in `Unknown` has lost its quotes.
pub(super) struct Pipes<'a> {
    pub(super) script: &'a Script,
    piped: BTreeSet<*const Command>,
    /// The texts that words are computed from, of which this script is one, outermost first.
    within: Vec<String>,
    /// The files that the script writes with output in which secrets would be replaced.
    written: BTreeSet<String>,
}

/// How many texts may lie in each other.
const DEEPEST: usize = 16;

impl<'a> Pipes<'a> {
    pub(super) fn of(script: &'a Script) -> Self {
        let mut piped = BTreeSet::new();
        script.visit(|node| {
            if let Node::Group(Construct::Pipeline, parts) = node {
                for part in parts.iter().skip(1) {
                    visit(part, &mut |command| {
                        piped.insert(std::ptr::from_ref(command));
                    });
                }
            }
        });
        Self { script, piped, within: Vec::new(), written: BTreeSet::new() }
    }

    /// The texts with another one, unless it lies in itself: what `>(…)` gets is the command that it stands in.
    fn within(&self, text: &str) -> Option<Vec<String>> {
        let is_new = self.within.len() < DEEPEST && self.within.iter().all(|one| one != text);
        is_new.then(|| self.within.iter().cloned().chain([text.to_owned()]).collect())
    }
}

/// The objection to a filter that may print a secret in a form in which it is not recognised.
/// `kept` finds the files that the script writes with output in which secrets would be replaced.
pub fn objection(script: &Script, kept: fn(&Script, &Pipes<'_>) -> Vec<String>) -> Option<Reason> {
    if is_alone(script) {
        return None;
    }
    let pipes = Pipes::of(script);
    let written = kept(script, &pipes).into_iter().collect();
    let pipes = &Pipes { written, ..pipes };
    let mut hidden = None;
    // What a variable may hold.
    let mut held = None;
    let mut find = |node: &Node, source: Option<Source>| {
        visit(node, &mut |command| {
            let source = source.max(own(command, pipes));
            if let Some(source) = source.filter(|source| hidden.is_none() && hides(command, *source, script))
            {
                hidden = Some((command.clone(), source));
            }
        });
    };
    find_opened(&script.nodes, pipes, &mut find);
    script.visit(|node| match node {
        Node::Group(Construct::Pipeline, parts) => {
            find_opened(parts, pipes, &mut find);
            for (part, source) in parts.iter().skip(1).zip(passed_on(parts, pipes)) {
                if source.is_some() {
                    find(part, source);
                }
            }
        }
        Node::Group(construct, parts) => {
            find_opened(parts, pipes, &mut find);
            if let (Construct::Substitution, [part @ Node::Command(_)]) = (construct, parts.as_slice()) {
                held = held.max(printed(part, pipes));
            }
        }
        Node::Command(command) => {
            if let Some(source) = own(command, pipes) {
                find(node, Some(source));
            }
        }
        Node::Unread(_) => {}
    });
    let cut = |source: Source| {
        let mut commands = script.commands().into_iter();
        let found = commands.find(|command| command.words.iter().any(|word| is_cut(&word.text)));
        found.map(|command| (command.clone(), source))
    };
    let held = held.filter(|source| *source != Source::File);
    let (command, source) = hidden.or_else(|| held.and_then(cut))?;
    let mut text = format!(
        "Secret: `{}`{} ",
        command.words.first().map_or("", |name| name.text.as_str()),
        command.whereabouts(),
    );
    let _ = match source {
        Source::Redacted => write!(
            text,
            "gets the output of a command in which secrets are replaced, and may change their form so that they are not \
             recognised. Use filters that print lines as they are (`grep`, `head`, `sort`), or select a harmless name before: \
             `jq -r '.[0].Config.Image'`, `grep 'Image:'`, `kubectl get -o jsonpath=…`."
        ),
        Source::File | Source::Settings => write!(
            text,
            "may print a value of a file without its name, so that a secret is not recognised. Print whole lines: `grep NAME \
             FILE`, or name what is selected: `grep -oP 'image: \\K.*' FILE`."
        ),
    };
    Some(Reason::of("secret", text))
}

/// Whether a script is one command that is no filter and gets nothing from another one: most are.
pub(super) fn is_alone(script: &Script) -> bool {
    let [Node::Command(command)] = script.nodes.as_slice() else { return false };
    let name = command.words.first().map(|name| base_name(&name.text)).unwrap_or_default();
    command.redirections.is_empty()
        && command.stdin.is_none()
        && command.words.iter().all(|word| word.unknown.is_none())
        && !FIELD_FILTERS.contains(&name)
}

/// Whether a word holds a part of the value of a variable: `${x#*=}`, `${x:20}`.
fn is_cut(text: &str) -> bool {
    text.split("${").skip(1).any(|part| {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
        let is_default = [":-", ":+", ":=", ":?"].iter().any(|one| rest.starts_with(one));
        part.len() > rest.len() && rest.starts_with(['#', '%', '/', '^', ',', ':']) && !is_default
    })
}

/// Finds the constructs that read a file: `while read …; done < FILE`.
fn find_opened(nodes: &[Node], pipes: &Pipes<'_>, find: &mut dyn FnMut(&Node, Option<Source>)) {
    for pair in nodes.windows(2) {
        if let [Node::Command(command), node @ Node::Group(..)] = pair
            && command.words.is_empty()
            && let Some(source) = own(command, pipes)
        {
            find(node, Some(source));
        }
    }
}

/// The source of what each part of a pipeline passes on.
pub(super) fn passed_on(parts: &[Node], pipes: &Pipes<'_>) -> Vec<Option<Source>> {
    let mut source = None;
    let after = parts.iter().enumerate().map(|(at, part)| {
        source = source.max(printed(part, pipes));
        let Node::Command(command) = part else { return source };
        let catalogue = pipes.script.catalogue;
        // Its lines are harmless, if they are lines.
        if picks(command, catalogue)
            || measures(command)
            || selects(command, catalogue) && at < 2 && !parts.iter().take(at + 1).any(is_json)
        {
            source = None;
        }
        source
    });
    after.collect()
}

/// The source of what a part of a pipeline prints.
fn printed(node: &Node, pipes: &Pipes<'_>) -> Option<Source> {
    let of = |command: &Command| {
        let is_redacted = found(command, pipes.script, |one| one == REDACTED).is_some();
        let own =
            own(command, pipes).filter(|own| *own == Source::Redacted || is_printer(command, pipes.script));
        if is_redacted { Some(Source::Redacted) } else { own }
    };
    match node {
        Node::Command(command) => of(command),
        Node::Group(Construct::Pipeline, parts) => passed_on(parts, pipes).pop().flatten(),
        Node::Group(construct, parts) => {
            let outer = if let Construct::Through(command) = construct { of(command) } else { None };
            parts.iter().filter_map(|part| printed(part, pipes)).max().max(outer)
        }
        Node::Unread(_) => None,
    }
}

/// Whether a command prints only numbers and sums of what it reads.
fn measures(command: &Command) -> bool {
    command.words.first().is_some_and(|name| MEASURING_FILTERS.contains(&base_name(&name.text)))
}

/// Whether a command prints what it reads.
fn is_printer(command: &Command, script: &Script) -> bool {
    let Some(name) = command.words.first().map(|name| base_name(&name.text)) else { return true };
    let texts = command.texts();
    let names_only = || {
        let usage = script.catalogue.usage(&texts, &|_| false);
        usage.is_some_and(|usage| usage.operands(&texts).has(Role::NamesOnly))
    };
    (SETTINGS_PRINTERS.contains(&name) || FIELD_FILTERS.contains(&name)) && !names_only()
}

/// The source that a command reads itself: its files, its standard input, and what its words are computed from.
fn own(command: &Command, pipes: &Pipes<'_>) -> Option<Source> {
    // What `<<<` gives ends with a line break, also in a pipeline.
    let is_judged =
        |word: &&Word| !word.text.ends_with('\n') && pipes.piped.contains(&std::ptr::from_ref(command));
    let stdin = command.stdin.as_ref().filter(|word| !is_judged(word));
    let opened = command.redirections.iter().filter(|one| one.mode == Mode::Read).map(|one| &one.path);
    let words = command.words.get(1..).filter(|words| !words.is_empty() && is_printer(command, pipes.script));
    let is_written = |word: &Word| pipes.written.iter().any(|path| names(&word.text, path));
    let of = |word: &Word| if is_written(word) { Some(Source::Redacted) } else { file(word) };
    let files = words.into_iter().flatten().chain(opened.clone()).filter_map(of);
    let all = command.words.iter().chain(stdin).chain(opened);
    let sources = all.filter_map(|word| word.unknown.as_ref()).map(|unknown| unknown.source.as_ref());
    let sources: BTreeSet<&str> =
        sources.filter(|source: &&str| source.starts_with(['$', '<', '`'])).collect();
    let read = sources.into_iter().filter_map(|source| {
        let text = source.trim_matches(['$', '<', '(', ')', '`']);
        let within = pipes.within(text)?;
        let inner = opsctl_reader::shell::read(text, None);
        let pipes = Pipes { within, ..Pipes::of(&inner) };
        inner
            .nodes
            .iter()
            .filter_map(|node| passed_on(std::slice::from_ref(node), &pipes).pop().flatten())
            .max()
    });
    files.chain(read).max()
}

/// Whether a word is a path, or the value of an option with it: `if=/tmp/x`.
fn names(text: &str, path: &str) -> bool {
    text.strip_suffix(path).is_some_and(|before| before.is_empty() || before.ends_with(['=', '@', '/']))
}

/// The source that a word names, if it is a file.
fn file(word: &Word) -> Option<Source> {
    let text = word.text.as_str();
    let is_path =
        !text.contains(|c: char| c.is_whitespace() || "{}()|;\\^+=".contains(c)) && !text.starts_with('-');
    let named = if text.starts_with(['/', '~']) { text.to_owned() } else { format!("/./{text}") };
    let decides = |list: &[&str]| {
        let last = list.iter().rev().find(|one| glob::matches(one.trim_start_matches('!'), &named));
        last.is_some_and(|one| !one.starts_with('!'))
    };
    if !is_path {
        None
    } else if decides(&SETTINGS_FILES) {
        Some(Source::Settings)
    } else {
        let is_file = text.starts_with(['/', '~']) || text.starts_with("./") || text.starts_with("../");
        (is_file && !decides(&LOG_FOLDERS)).then_some(Source::File)
    }
}

/// Whether a filter may print a secret of what it gets so that it is not recognised.
fn hides(command: &Command, source: Source, script: &Script) -> bool {
    let Some(name) = command.words.first() else { return false };
    let name = base_name(&name.text);
    if picks(command, script.catalogue) || leaves_names_of_files(command) {
        return false;
    }
    let programs = programs(command, script.catalogue);
    match source {
        Source::Redacted => {}
        _ if !FIELD_FILTERS.contains(&name) => return false,
        Source::File if !programs.iter().any(|text| mentions_secret(text)) => return false,
        Source::File | Source::Settings => {}
    }
    // Objects of Kubernetes have the name of a variable on another line.
    let asks_values = |text: &String| text.contains("value") && !text.contains("valueFrom");
    if source == Source::Redacted && FIELD_FILTERS.contains(&name) && programs.iter().any(asks_values) {
        return true;
    }
    let is_named = !programs.is_empty()
        && programs.iter().all(|text| expression(name, text).is_some_and(|text| names_harmless(&text)));
    let values = script.catalogue.find(name).map(|found| pattern::values(found, script.catalogue));
    let values = values.unwrap_or_default();
    let behind = Behind { name, start: 1, values: &values, vain: &[] };
    let matches = |patterns: &str| {
        let patterns = patterns.split("; ").filter(|pattern| !pattern.is_empty());
        let mut parsed = patterns.filter_map(|pattern| Pattern::behind_program(pattern).ok());
        parsed.any(|pattern| pattern.find_behind(command, behind, &|_, _| false).is_some())
    };
    match PLAIN_PRINTERS.iter().find(|(program, ..)| *program == name) {
        None => source == Source::Redacted || !(is_named && SLASHED_PROGRAMS.contains(&name)),
        Some((_, always, cutting)) => matches(always) || matches(cutting) && !is_named,
    }
}

//! Commands that programs run beside their own work: `tar --checkpoint-action=exec=…`, `ssh -o ProxyCommand=…`.

use crate::catalogue::program::{Place, Program, Scripts};
use crate::shell::evaluator::Evaluator;
use crate::shell::execution::commands::invocation::Invocation;
use crate::shell::expansion::pattern::glob;
use crate::shell::script::{Construct, Node};
use crate::shell::state::Shell;
use crate::shell::text::{Field, Word};

use crate::shell::programs::wrapper::quoted;

/// Maximum number of scripts in one command line that are followed.
const MOST_SCRIPTS: usize = 64;
/// Maximum length in bytes of the text before a script in which a `*` is resolved.
const LONGEST_HEAD: usize = 256;

/// Follows the commands that a program runs beside its own work.
pub(crate) fn run(evaluator: &mut Evaluator, shell: &Shell, invocation: &Invocation, program: &Program) {
    let mut left = MOST_SCRIPTS;
    for (place, patterns) in program.commands.iter() {
        for text in texts(evaluator, shell, invocation, *place) {
            let Some(script) = script(&text, patterns, invocation) else { continue };
            if left == 0 {
                evaluator.unread(shell, &script);
                continue;
            }
            left -= 1;
            follow(evaluator, shell, program, &script);
        }
    }
}

fn follow(evaluator: &mut Evaluator, shell: &Shell, program: &Program, script: &str) {
    let mut inner = shell.child().through(program.key);
    // How often is stated by the input of the program: for each file, each commit, each line.
    (inner.stdin, inner.repeats) = (None, true);
    let ((), nodes) = evaluator.collected(|this| drop(this.run_text(&mut inner, script)));
    let plain = |node: &Node| match node {
        Node::Command(command) => command.words.split_first().is_none_or(|(name, rest)| {
            let is_option = |word: &Word| word.text.starts_with('-') || word.text.parse::<u32>().is_ok();
            let options = rest.iter().all(is_option);
            match evaluator.catalogue.find(&name.text) {
                // Options of ssh name keys and users. Without a command, it is the connection of the outer program.
                Some(program) if program.key == "ssh" => true,
                Some(program) => {
                    let does_more = program.form.runs.is_some() || program.classed;
                    options && !does_more && !program.acts && program.never.is_empty()
                }
                None => options && !name.text.contains('/'),
            }
        }),
        _ => false,
    };
    // `tar -I 'zstd -9'`: what the option means is the business of the program's own terms.
    if !nodes.iter().all(plain) {
        evaluator.push(Node::Group(Construct::Embedded(program.key.to_owned()), nodes));
    }
}

/// The texts in a place of a command line.
fn texts(evaluator: &Evaluator, shell: &Shell, invocation: &Invocation, place: Place) -> Vec<String> {
    let words = invocation.texts();
    let words = words.get(1..).unwrap_or_default();
    match place {
        Place::EachWord => words.iter().map(|word| (*word).to_owned()).collect(),
        Place::InputLine => {
            // `psql -f FILE`.
            let files = words.iter().filter_map(|word| evaluator.file_content(shell, word));
            let input: String = invocation.stdin.iter().cloned().chain(files).collect();
            input.lines().map(|line| line.trim().to_owned()).collect()
        }
        Place::Variable(name) => {
            let exported = shell.get(name).filter(|variable| variable.exported);
            exported.and_then(|_| Evaluator::variable_text(shell, name)).into_iter().collect()
        }
        Place::OptionValue(option) => words
            .iter()
            .enumerate()
            .filter_map(|(at, word)| value(word, option, words.get(at + 1).copied()))
            .map(str::to_owned)
            .collect(),
    }
}

/// The value that a word, or the word after it, gives to an option.
fn value<'t>(word: &'t str, option: &str, next: Option<&'t str>) -> Option<&'t str> {
    if word == option {
        return next;
    }
    let name = word.split('=').next().unwrap_or(word);
    let value = word.get(name.len() + 1..);
    if option.starts_with("--") {
        // Programs take the beginning of a long option for it.
        return if name == option || (name.len() > 4 && option.starts_with(name)) {
            value.or(next)
        } else {
            None
        };
    }
    if option.len() > 2 {
        return value.filter(|_| name.trim_start_matches('-') == option.trim_start_matches('-'));
    }
    if let Some(attached) = word.strip_prefix(option) {
        return Some(attached.strip_prefix('=').unwrap_or(attached));
    }
    let letters = word.strip_prefix('-')?;
    let in_cluster = letters.chars().all(|c| c.is_ascii_alphabetic())
        && option.strip_prefix('-') == letters.get(letters.len().checked_sub(1)?..);
    next.filter(|_| in_cluster)
}

/// The script in a text that fits one of the patterns.
fn script(text: &str, patterns: &Scripts, invocation: &Invocation) -> Option<String> {
    patterns.iter().find_map(|pattern| {
        let (head, tail) = pattern.rsplit_once('*')?;
        let rest = without_head(text, head)?;
        let script = match tail {
            "" | " ..." => rest,
            end => rest.split(end).next().unwrap_or(rest),
        };
        let script = unquoted(script.trim());
        let is_command = script.contains(char::is_alphabetic);
        is_command.then(|| match tail {
            " ..." => format!("{script} {}", quoted(later(invocation))),
            _ => script.to_owned(),
        })
    })
}

/// The words after the first one that is not an option or its value.
fn later(invocation: &Invocation) -> &[Field] {
    let mut fields = invocation.fields.iter().enumerate().skip(1);
    let mut value = false;
    let first = fields.find(|(_, field)| {
        let is_option = field.text.starts_with('-');
        !std::mem::replace(&mut value, is_option && field.text.len() == 2) && !is_option
    });
    first.and_then(|(at, _)| invocation.fields.get(at + 1..)).unwrap_or_default()
}

/// The text after its shortest beginning that fits `head`, without regard to case.
fn without_head<'t>(text: &'t str, head: &str) -> Option<&'t str> {
    let head = head.to_ascii_lowercase();
    let fits = |end: &usize| text.get(..*end).is_some_and(|start| glob(&head, &start.to_ascii_lowercase()));
    if !head.contains('*') {
        let end = head.len();
        return text
            .get(end..)
            .filter(|_| text.get(..end).is_some_and(|start| start.eq_ignore_ascii_case(&head)));
    }
    let end = (0..=text.len().min(LONGEST_HEAD)).find(fits)?;
    text.get(end..)
}

/// The text without quotes around all of it.
pub(crate) fn unquoted(text: &str) -> &str {
    let quote = text.chars().next().filter(|first| matches!(first, '"' | '\''));
    let inside = quote.and_then(|quote| text.strip_prefix(quote)?.strip_suffix(quote));
    inside.filter(|inside| !inside.contains(['"', '\''])).unwrap_or(text)
}

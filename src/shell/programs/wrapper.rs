//! Follows wrappers to the command that they run.

use std::rc::Rc;

use crate::shell::evaluator::Evaluator;
use crate::shell::execution::invocation::Invocation;
use crate::shell::host::host_of;
use crate::shell::options::{At, Item, Name, Scanner};
use crate::shell::places::PLACES;
use crate::shell::state::Shell;
use crate::shell::text::{Field, is_known, join};
use crate::shell::wrappers::{WRAPPERS, Wrapper};

#[expect(clippy::struct_excessive_bools, reason = "each is a yes-or-no fact of its own")]
/// What a wrapper's own words say.
struct Wrapped {
    /// Where it runs.
    inner: Shell,
    /// Index of the first word of the command.
    command: Option<usize>,
    host: Option<String>,
    /// The value of an option that takes a script.
    script: Option<String>,
    /// The value of `env -S`.
    split: Option<String>,
    /// The words are not joined, against the wrapper's habit.
    exact: bool,
    /// The words are keys for a shell.
    typed: bool,
    /// Without a command, standard input is a script.
    is_shell: bool,
    /// Nothing is run at all: `sudo -l`.
    quiet: bool,
}

/// Runs what a wrapper wraps; `None` when the program is no wrapper or wraps nothing.
pub(crate) fn run(
    evaluator: &mut Evaluator,
    shell: &Shell,
    invocation: &Invocation,
    program: &str,
) -> Option<String> {
    let texts = invocation.texts();
    let (wrapper, start, host) =
        WRAPPERS.iter().chain(PLACES).filter(|wrapper| wrapper.names.contains(&program)).find_map(|w| {
            let (start, host) = after_path(w, &texts)?;
            Some((w, start, host))
        })?;
    let mut found = own_words(evaluator, shell, &texts, (wrapper, program, start));
    if found.quiet {
        evaluator.leaf(shell, invocation);
        return Some(String::new());
    }
    found.inner.stdin.clone_from(&invocation.stdin);
    let host = found.host.or(host);
    let mut inner = found.inner;
    if let Some(host) = host.as_deref().and_then(host_of) {
        inner = inner.on_host(evaluator.unknowns.show(&host));
    }
    let rest = found.command.and_then(|at| invocation.fields.get(at..)).unwrap_or_default();
    let rest = rest.strip_prefix([Field::literal("--")].as_slice()).unwrap_or(rest);
    let label = label(program, wrapper.path);
    let script = if found.typed {
        // Into a shell which is there already.
        inner = inner.elsewhere();
        Some(join(&keys(rest)))
    } else if let Some(text) = found.script {
        Some(text)
    } else if let Some(text) = found.split {
        Some(format!("{text} {}", quoted(rest)))
    } else if rest.is_empty() {
        Some(invocation.stdin.clone().filter(|_| found.is_shell)?)
    } else {
        (wrapper.joined && !found.exact).then(|| join(rest))
    };
    if let Some(text) = script {
        let mut inner = inner.child();
        // `su user -c '… $1' name argument`: the rest are the script's arguments.
        inner.args = Rc::new(rest.get(1..).unwrap_or_default().to_vec());
        return Some(evaluator.through(shell, invocation, label, |this| this.run_text(&mut inner, &text)));
    }
    // `minikube kubectl -- get pods`: the dashes are minikube's.
    let dashes = program == "minikube" && rest.get(1).is_some_and(|field| field.text == "--");
    let words = rest.iter().filter(|field| !dashes || field.text != "--");
    let rest = invocation.with(words.cloned().collect());
    Some(evaluator.through(shell, invocation, label, |this| this.run_program(&inner, &rest)))
}

/// The words that are typed, without the names of keys.
fn keys(fields: &[Field]) -> Vec<Field> {
    let is_key = |text: &str| matches!(text, "stuff" | "Enter" | "C-m" | "KPEnter");
    fields.iter().filter(|field| !is_key(&field.text)).cloned().collect()
}

/// Reads a wrapper's own words, from `start` on.
fn own_words(
    evaluator: &mut Evaluator,
    shell: &Shell,
    texts: &[&str],
    (wrapper, program, start): (&'static Wrapper, &str, usize),
) -> Wrapped {
    let inner = if wrapper.inside { shell.elsewhere() } else { shell.clone() };
    let mut found = Wrapped {
        inner: inner.through(program),
        command: None,
        host: None,
        script: None,
        split: None,
        exact: false,
        typed: wrapper.typed,
        is_shell: wrapper.shell.contains(&""),
        quiet: false,
    };
    found.inner.repeats |= wrapper.repeats;
    // Without `-u`, `runuser` is `su`.
    let runuser = program == "runuser"
        && !texts.iter().any(|word| word.starts_with("-u") || word.starts_with("--user"));
    let skip = if runuser { usize::MAX } else { wrapper.skip };
    let mut skipped = 0;
    let mut scanner = Scanner::new(texts, start, wrapper.valued);
    let value = |at: At| texts.get(at.index).and_then(|word| word.get(at.offset..)).unwrap_or_default();
    while let Some(item) = scanner.next() {
        match item {
            Item::Option(name, Some(at)) if name.is_any(wrapper.script) => {
                found.script = Some(value(at).to_owned());
            }
            Item::Option(name, Some(at)) if name.is_any(wrapper.dir) => {
                found.inner.cwd = if is_known(value(at)) { shell.follow(value(at)) } else { None };
            }
            Item::Option(name, Some(at)) if name.is_any(wrapper.host) => {
                found.host = Some(value(at).to_owned());
            }
            Item::Option(name, at) => {
                if own_option(&mut found, program, name, at.map(value)) {
                    // What follows belongs to the command.
                    found.command = Some(scanner.position());
                    break;
                }
                found.is_shell |= name.is_any(wrapper.shell);
                found.inner.repeats |= name.is_any(wrapper.timers);
            }
            // `kubectl exec pod -- command`: the dashes end the wrapper's own words.
            Item::Dashes(index) if skip != usize::MAX && skipped >= skip => {
                found.command = Some(index + 1);
                break;
            }
            Item::Dashes(_) => {}
            Item::Positional(index) => {
                let word = texts.get(index).copied().unwrap_or_default();
                // `env - command` is `env -i command`.
                if wrapper.assigns && word == "-" {
                    continue;
                }
                if let Some((name, text)) =
                    word.split_once('=').filter(|_| wrapper.assigns && is_assignment(word))
                {
                    found.inner.set_text(name, text);
                    evaluator.export(&mut found.inner, name);
                } else if skipped < skip {
                    skipped += 1;
                } else {
                    found.command = Some(index);
                    break;
                }
            }
        }
    }
    found
}

/// Options of single programs; true when the command follows at once.
fn own_option(found: &mut Wrapped, program: &str, name: Name<'_>, value: Option<&str>) -> bool {
    match (program, value) {
        ("env", Some(value)) if name.is_any(&["-S", "--split-string"]) => {
            found.split = Some(value.to_owned());
            return true;
        }
        ("nix", None) if name.is_any(&["-c", "--command"]) => return true,
        ("watch", None) if name.is_any(&["-x", "--exec"]) => found.exact = true,
        ("screen", None) if name.is("-X") => found.typed = true,
        (_, None) if asks_only(program, name) => found.quiet = true,
        _ => {}
    }
    false
}

fn label(program: &str, path: &[&str]) -> String {
    std::iter::once(program).chain(path.iter().copied()).collect::<Vec<_>>().join(" ")
}

/// The index after the wrapper's subcommands, and the host that its global options name.
fn after_path(wrapper: &Wrapper, texts: &[&str]) -> Option<(usize, Option<String>)> {
    let mut host = None;
    if wrapper.path.is_empty() {
        return Some((1, None));
    }
    let mut path = wrapper.path.iter();
    let mut wanted = path.next();
    let mut scanner = Scanner::new(texts, 1, wrapper.global);
    while let Some(name) = wanted {
        match scanner.next()? {
            Item::Positional(index) if texts.get(index) == Some(name) => wanted = path.next(),
            Item::Positional(_) => return None,
            Item::Option(option, Some(at)) if option.is_any(wrapper.host) => {
                host = texts.get(at.index).and_then(|word| word.get(at.offset..)).map(str::to_owned);
            }
            _ => {}
        }
    }
    Some((scanner.position(), host))
}

/// Options with which the program runs nothing.
fn asks_only(program: &str, name: Name<'_>) -> bool {
    match program {
        "sudo" => name.is_any(&[
            "-l",
            "--list",
            "-v",
            "--validate",
            "-e",
            "--edit",
            "-V",
            "--version",
            "--help",
            "-K",
        ]),
        "docker" | "podman" | "nerdctl" | "timeout" | "nohup" | "env" => name.is("--help"),
        _ => false,
    }
}

/// `NAME=value`.
fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
            && !name.starts_with(|c: char| c.is_ascii_digit())
    })
}

/// Words written so that a shell reads the same words again.
pub(crate) fn quoted(fields: &[Field]) -> String {
    let quote = |field: &Field| format!("'{}'", field.text.replace('\'', "'\\''"));
    fields.iter().map(quote).collect::<Vec<_>>().join(" ")
}

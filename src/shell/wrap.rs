//! Follows wrappers to the command that they run.

use super::builtins::join;
use super::evaluate::Evaluator;
use super::options::{At, Item, Name, Scanner};
use super::simple::Invocation;
use super::state::Shell;
use super::text::{Field, is_known};
use super::wrappers::{WRAPPERS, Wrapper};

/// Runs what a wrapper wraps; `None` when the program is no wrapper or wraps nothing.
pub(crate) fn run(
    evaluator: &mut Evaluator,
    shell: &Shell,
    invocation: &Invocation,
    program: &str,
) -> Option<String> {
    let texts = invocation.texts();
    let (wrapper, start, mut host) =
        WRAPPERS.iter().filter(|wrapper| wrapper.names.contains(&program)).find_map(|w| {
            let (start, host) = after_path(w, &texts)?;
            Some((w, start, host))
        })?;
    let mut inner = if wrapper.inside { shell.elsewhere() } else { shell.clone() }.through(program);
    inner.stdin.clone_from(&invocation.stdin);
    inner.repeats |= wrapper.repeats;
    let mut scanner = Scanner::new(&texts, start, wrapper.valued);
    let mut skipped = 0;
    let mut script = None;
    let mut split = None;
    let mut command = None;
    let mut exact = false;
    let mut typed = wrapper.typed;
    let mut is_shell = wrapper.shell.contains(&"");
    let mut skip = wrapper.skip;
    if program == "runuser" && !texts.iter().any(|word| word.starts_with("-u") || word.starts_with("--user"))
    {
        // Without `-u` it is `su`.
        skip = usize::MAX;
    }
    let value = |at: At| texts.get(at.index).and_then(|word| word.get(at.offset..)).unwrap_or_default();
    while let Some(item) = scanner.next() {
        match item {
            Item::Option(name, Some(at)) if name.is_any(wrapper.script) => {
                script = Some(value(at).to_owned());
            }
            Item::Option(name, Some(at)) if program == "env" && name.is_any(&["-S", "--split-string"]) => {
                split = Some(value(at).to_owned());
                // What follows belongs to the command.
                command = Some(scanner.position());
                break;
            }
            Item::Option(name, Some(at)) if name.is_any(wrapper.dir) => {
                inner.cwd = if is_known(value(at)) { shell.follow(value(at)) } else { None };
            }
            Item::Option(name, Some(at)) if name.is_any(wrapper.host) => host = Some(value(at).to_owned()),
            Item::Option(name, None) if program == "watch" && name.is_any(&["-x", "--exec"]) => exact = true,
            Item::Option(name, None) if program == "nix" && name.is_any(&["-c", "--command"]) => {
                command = Some(scanner.position());
                break;
            }
            Item::Option(name, value_at) if asks_only(program, name) && value_at.is_none() => {
                // `sudo -l`, `sudo -e file`: nothing is run.
                evaluator.leaf(shell, invocation);
                return Some(String::new());
            }
            Item::Option(name, None) if program == "screen" && name.is("-X") => typed = true,
            Item::Option(name, _) => is_shell |= name.is_any(wrapper.shell),
            // `kubectl exec pod -- command`: the dashes end the wrapper's own words.
            Item::Dashes(index) => {
                if skip != usize::MAX && skipped >= skip {
                    command = Some(index + 1);
                    break;
                }
            }
            Item::Positional(index) => {
                let word = texts.get(index).copied().unwrap_or_default();
                if wrapper.assigns && is_assignment(word) {
                    if let Some((name, text)) = word.split_once('=') {
                        inner.set_text(name, text);
                        evaluator.export(&mut inner, name);
                    }
                } else if skipped < skip {
                    skipped += 1;
                } else {
                    command = Some(index);
                    break;
                }
            }
        }
    }
    if let Some(host) = host.as_deref().and_then(super::remote::host_of) {
        inner = inner.on_host(evaluator.unknowns.show(&host));
    }
    let mut rest = command.and_then(|at| invocation.fields.get(at..)).unwrap_or_default();
    if program == "minikube" && rest.get(1).is_some_and(|field| field.text == "--") {
        let rest = invocation.with(rest.iter().filter(|field| field.text != "--").cloned().collect());
        return Some(
            evaluator.through(shell, invocation, program.to_owned(), |this| this.run_program(&inner, &rest)),
        );
    }
    if rest.first().is_some_and(|field| field.text == "--") {
        rest = rest.get(1..).unwrap_or_default();
    }
    let label = label(program, wrapper.path);
    if typed {
        // Keys that are typed into a shell which is there already.
        let words =
            rest.iter().filter(|field| !matches!(field.text.as_str(), "stuff" | "Enter" | "C-m" | "KPEnter"));
        let text = join(&words.cloned().collect::<Vec<_>>());
        let mut inner = inner.elsewhere();
        return Some(evaluator.through(shell, invocation, label, |this| this.run_text(&mut inner, &text)));
    }
    if let Some(text) = script {
        // `su user -c '… $1' name argument`: the rest are the script's arguments.
        let mut inner = inner.child();
        inner.args = std::rc::Rc::new(rest.get(1..).unwrap_or_default().to_vec());
        return Some(evaluator.through(shell, invocation, label, |this| this.run_text(&mut inner, &text)));
    }
    if let Some(text) = split {
        let text = format!("{text} {}", quoted(rest));
        let mut inner = inner.child();
        return Some(evaluator.through(shell, invocation, label, |this| this.run_text(&mut inner, &text)));
    }
    if rest.is_empty() {
        if is_shell && let Some(text) = invocation.stdin.clone() {
            let mut inner = inner.child();
            return Some(
                evaluator.through(shell, invocation, label, |this| this.run_text(&mut inner, &text)),
            );
        }
        return None;
    }
    // A single word is a script to tmux, several are joined as they are.
    if wrapper.joined && !exact {
        let text = join(rest);
        let mut inner = inner.child();
        return Some(evaluator.through(shell, invocation, label, |this| this.run_text(&mut inner, &text)));
    }
    let rest = invocation.with(rest.to_vec());
    Some(evaluator.through(shell, invocation, label, |this| this.run_program(&inner, &rest)))
}

impl Evaluator {
    /// Runs words as a program that another program starts: no function, no builtin.
    pub fn run_program(&mut self, shell: &Shell, invocation: &Invocation) -> String {
        if self.depth_reached() || self.exhausted() {
            let words = invocation.texts().join(" ");
            self.unread(shell, &words);
            return self.unknowns.plain("…");
        }
        self.spend(1);
        self.depth += 1;
        // `sudo cd` and `env eval` do nothing; `nohup command x` and `sudo exec x` people do write.
        let printed = match invocation.word(0) {
            Some("command" | "exec" | "builtin" | "eval" | "test" | "[" | "true" | "false" | "printf") => {
                let mut inner = shell.clone();
                super::builtins::run(self, &mut inner, invocation)
                    .unwrap_or_else(|| self.start(shell, invocation))
                    .0
            }
            _ => self.start(shell, invocation).0,
        };
        self.depth -= 1;
        printed
    }
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

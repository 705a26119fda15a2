//! Shells that run as programs, with a script in `-c`, on standard input or in a file; `crontab`.

use std::rc::Rc;

use crate::languages::names::shell as names;
use crate::shell::Complaint;
use crate::shell::evaluator::{Evaluator, Sharing};
use crate::shell::execution::commands::invocation::{Invocation, Started};
use crate::shell::execution::commands::modes::{self, Input, Start};
use crate::shell::execution::output::printed as output;
use crate::shell::execution::output::scheduled::scheduled;
use crate::shell::execution::run::short;
use crate::shell::on_disk::ScriptFile;
use crate::shell::shared::Shared;
use crate::shell::state::Shell;
use crate::shell::text::{Field, is_known};

pub(crate) fn run(evaluator: &mut Evaluator, started: &Started<'_>) -> String {
    let Started { shell, invocation, program, .. } = *started;
    let fields = &invocation.fields;
    let mut inner = shell.child().through(program);
    let mut at = 1;
    let mut quiet = false;
    let mut startup_file = None;
    while let Some(long) = invocation.word(at).and_then(long_option) {
        at += 1;
        let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
        let has_value = matches!(name, "rcfile" | "init-file" | "command" | "init-command");
        let value = value.or_else(|| invocation.word(at)).filter(|_| has_value).map(str::to_owned);
        at += usize::from(has_value && name == long);
        match name {
            "help" | "version" => quiet = true,
            "rcfile" | "init-file" => startup_file = value,
            "command" | "init-command" => {
                let text = value.unwrap_or_default();
                let label = format!("{program} --command");
                return evaluator.through(shell, invocation, label, |this| this.run_text(&mut inner, &text));
            }
            "login" | "noediting" | "noprofile" | "norc" | "restricted" | "verbose" => {}
            _ => evaluator.unread(shell, &invocation.texts().join(" ")),
        }
    }
    let start = modes::start(evaluator, &mut inner, invocation, at);
    let (command, from_stdin) = (start.input == Input::Command, start.input == Input::Stdin);
    let Start { interactive, at, .. } = start;
    quiet |= start.quiet;
    inner.outlives_exec |= interactive;
    inner.stdin.clone_from(&invocation.stdin);
    // Other shells expand aliases in scripts, too.
    inner.aliases.enabled |= interactive || !matches!(program, "bash" | "rbash");
    inner.echoes_escapes |= program != "bash";
    let label = if command { format!("{program} -c") } else { program.to_owned() };
    if let Some(name) = names::MODAL.iter().find(|name| inner.get(name).is_some()) {
        evaluator.unread(shell, &format!("{name} {program}"));
    }
    if quiet {
        evaluator.leaf(shell, invocation);
        return String::new();
    }
    if let Some(script) = startup_file.and_then(|file| evaluator.script_file(shell, &file)) {
        evaluator.through(shell, invocation, label.clone(), |this| this.run_text(&mut inner, &script));
    }
    startup(evaluator, &inner, interactive);
    // What it reads may set what runs before each prompt.
    let typed = invocation.stdin.as_deref().filter(|_| interactive && !command).unwrap_or_default();
    if names::PROMPTS.are_in(typed) {
        evaluator.unread(shell, typed);
    }
    if program == "bash" && !interactive {
        evaluator.run_startup_file(&mut inner, "BASH_ENV");
    }
    if interactive || program != "bash" {
        evaluator.run_startup_file(&mut inner, "ENV");
    }
    let rest = fields.get(at..).unwrap_or_default();
    if command {
        let Some(script) = rest.first() else {
            evaluator.leaf(shell, invocation);
            return String::new();
        };
        inner.name = rest.get(1).map(|field| Rc::from(field.text.as_str()));
        inner.args = Shared::new(rest.get(2..).unwrap_or_default().to_vec());
        return evaluator.through(shell, invocation, label, |this| {
            this.run_text_of(program, invocation, &mut inner, &script.text)
        });
    }
    let file = rest.first().filter(|_| !from_stdin);
    let script = match file {
        None => invocation.stdin.clone(),
        Some(Field { text, .. })
            if matches!(text.as_str(), "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0") =>
        {
            invocation.stdin.clone()
        }
        Some(Field { text, .. }) => {
            inner.args = Shared::new(rest.get(1..).unwrap_or_default().to_vec());
            let printed = evaluator.shell_files(shell, &inner, invocation, (text, &label, program));
            return printed.unwrap_or_else(|| evaluator.unknowns.foreign(format!("$({label} …)")));
        }
    };
    inner.args = Shared::new(rest.get(usize::from(file.is_some())..).unwrap_or_default().to_vec());
    if file.is_none() {
        inner.stdin = None;
    }
    let shared = evaluator.stdin;
    evaluator.through(shell, invocation, label, |this| match script {
        Some(script) if file.is_none() => {
            let is_cut = invocation.shares_stdin(shell) && shared == Sharing::Partial;
            this.stdin = Sharing::Alone;
            let printed = this.run_text_of(program, invocation, &mut inner, &script);
            // The shell goes on behind what a command, or one before it, takes of the script.
            let is_taken = std::mem::replace(&mut this.stdin, shared) == Sharing::Partial;
            if is_cut || is_taken || is_known(&script) && script.lines().any(replaces_script) {
                this.complain(Complaint::Runs(short(&script)));
                this.unread(&inner, &script);
            }
            printed
        }
        Some(script) => this.run_text_of(program, invocation, &mut inner, &script),
        None => String::new(),
    })
}

/// Whether a line of a script that a shell reads from its standard input may replace what follows it, or ask for a choice.
fn replaces_script(line: &str) -> bool {
    line.split([';', '&', '(', '{']).any(|part| match part.split_whitespace().next() {
        Some("exec") => part.contains('<'),
        Some(word) => word == "select",
        None => false,
    })
}

/// The name of a long option. Those of bash may have one dash.
fn long_option(word: &str) -> Option<&str> {
    let long = word.strip_prefix("--").filter(|name| !name.is_empty());
    let name = long.or_else(|| word.strip_prefix('-').filter(|name| names::LONG_OPTIONS.has(name)));
    name.map(|name| name.trim_start_matches('-'))
}

/// Follows what exported variables make a shell run when it starts and before each prompt.
fn startup(evaluator: &mut Evaluator, inner: &Shell, interactive: bool) {
    let exported = |name: &str| {
        let text =
            inner.get(name).filter(|variable| variable.exported).and(Evaluator::variable_text(inner, name));
        text.filter(|text| !text.trim().is_empty())
    };
    if let Some(script) = exported("PROMPT_COMMAND").filter(|_| interactive) {
        // It runs before each prompt.
        let mut inner = inner.clone();
        inner.repeats = true;
        evaluator.run_text(&mut inner, &script);
    }
    for name in ["PS0", "PS1", "PS2", "PS4"] {
        if let Some(text) = exported(name).filter(|_| interactive || name == "PS4") {
            evaluator.prompt(&mut inner.clone(), &text);
        }
    }
}

/// What bash reads in another way than a shell that only knows POSIX: there, `$'a\'` is a whole word, and `((reboot))` a command.
const ONLY_BASH: [&str; 6] = ["$'", "((", "|&", "<<<", "<(", ">("];

/// Whether a text appends to a variable, `name+=value`, which other shells take for the name of a program.
fn appends(text: &str) -> bool {
    let is_name = |c: char| c.is_ascii_alphanumeric() || "_[]".contains(c);
    let mut quote = None;
    let mut word = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (None, '+') if chars.peek() == Some(&'=') && !word.is_empty() && word.chars().all(is_name) => {
                return true;
            }
            (None, c) if c.is_whitespace() || ";&|(){}`".contains(c) => word.clear(),
            (None, c) => word.push(c),
        }
    }
    false
}

/// Whether a shell other than bash may read a text in another way.
fn reads_differently(program: &str, text: &str) -> bool {
    if matches!(program, "bash" | "rbash" | "zsh") {
        return false;
    }
    let text = text.replace("$((", "");
    // `true &>/dev/null reboot` is two commands there.
    let runs_more = |after: &str| {
        let target = after.trim_start_matches('>').trim_start();
        let rest = target.trim_start_matches(|c: char| !c.is_whitespace() && !";&|()".contains(c));
        let next = rest.trim_start_matches([' ', '\t']).chars().next();
        next.is_some_and(|next| !";&|)\n#<>".contains(next))
    };
    ONLY_BASH.iter().any(|syntax| text.contains(syntax))
        || appends(&text)
        || text.match_indices("&>").any(|(at, _)| runs_more(text.get(at + 2..).unwrap_or_default()))
}

impl Evaluator {
    /// Runs a text as the script of a shell. Where `sh` may read it in another way than bash, what it runs is unknown, too.
    fn run_text_of(
        &mut self,
        program: &str,
        invocation: &Invocation,
        shell: &mut Shell,
        text: &str,
    ) -> String {
        if reads_differently(program, text) {
            self.leaf(shell, invocation);
        }
        // Others decide some conditions in another way than bash.
        let outer = self.is_involved;
        self.is_involved |= program != "bash";
        let printed = self.run_text(shell, text);
        self.is_involved = outer;
        printed
    }

    /// Follows a shell that runs a file, or one of the files that a search finds; `None` when their text is unknown.
    fn shell_files(
        &mut self,
        shell: &Shell,
        inner: &Shell,
        invocation: &Invocation,
        (path, label, program): (&str, &str, &str),
    ) -> Option<String> {
        let scripts = self.scripts_at(shell, path);
        if scripts.is_empty() {
            // A script in a file is a program of its own.
            self.leaf(shell, invocation);
            return None;
        }
        Some(self.through(shell, invocation, label, |this| {
            this.each(&scripts, |this, script| {
                if reads_differently(program, &script.text) {
                    this.leaf(shell, invocation);
                }
                this.shell_file(shell, inner.clone(), script)
            })
        }))
    }

    /// Follows the text of one file as a shell script.
    pub fn shell_file(&mut self, shell: &Shell, mut inner: Shell, script: &ScriptFile) -> String {
        inner.name = Some(Rc::from(script.path.as_str()));
        inner.set_text("BASH_SOURCE", script.path.as_str());
        let ran = self
            .follow_file(shell, &script.path, &script.text, |this| this.run_text(&mut inner, &script.text));
        ran.unwrap_or_default()
    }
}

/// Follows `crontab`, which runs each line of its file or of standard input repeatedly.
pub(crate) fn crontab(evaluator: &mut Evaluator, shell: &Shell, invocation: &Invocation) -> String {
    let text = match invocation.texts().get(1..) {
        Some(["-"] | ["-u", _, "-"]) => invocation.stdin.clone(),
        Some([file] | ["-u", _, file]) if !file.starts_with('-') => evaluator.script_file(shell, file),
        _ => None,
    };
    let Some(text) = text else {
        evaluator.leaf(shell, invocation);
        return output::of(evaluator, shell, invocation, "crontab");
    };
    let mut inner = shell.child().through("crontab");
    inner.repeats = true;
    inner.stdin = None;
    inner.enter(None);
    evaluator.through(shell, invocation, "crontab", |this| {
        for command in scheduled(&text, 0) {
            this.run_text(&mut inner.clone(), &command);
        }
        String::new()
    })
}

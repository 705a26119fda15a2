//! Modes of a shell: options of the program, of `set` and of `shopt`, and variables that change how it runs a script. Those that
//! the reader does not follow make the command unread.

use super::invocation::Invocation;
use crate::languages::names::shell as names;
use crate::shell::evaluator::Evaluator;
use crate::shell::script::{Command, Node};
use crate::shell::shared::Shared;
use crate::shell::state::Shell;
use crate::shell::text::{Field, is_known};

/// An option as written: its sign, and its letter or its name.
struct Stated<'a> {
    is_on: bool,
    option: Kind<'a>,
}

enum Kind<'a> {
    Letter(char),
    /// Behind `-o`.
    Set(&'a str),
    /// Behind `-O`.
    Shopt(&'a str),
}

impl Stated<'_> {
    /// Whether the reader follows a shell with this option, or its script runs the same without.
    fn is_followed(&self) -> bool {
        match self.option {
            Kind::Letter('B') => self.is_on,
            Kind::Letter('H') => !self.is_on,
            Kind::Letter(letter) => "abcefhilmnrsuvxET".contains(letter),
            Kind::Set(name) => names::SET_OPTIONS.has(name),
            Kind::Shopt(name) => names::SHELL_OPTIONS.has(name),
        }
    }
}

/// The options at the beginning of these words, and the index of the first word behind them.
fn options<'a>(words: &[&'a str]) -> (Vec<Stated<'a>>, usize) {
    let (mut options, mut at) = (Vec::new(), 0);
    while let Some(word) = words.get(at) {
        let Some(letters) = word.strip_prefix(['-', '+']).filter(|letters| !letters.is_empty()) else {
            break;
        };
        at += 1;
        if *word == "--" {
            break;
        }
        let is_on = word.starts_with('-');
        // `-o/tmp/x` of fish has its value itself.
        let is_cluster = letters.chars().all(|c| c.is_ascii_alphabetic());
        for letter in letters.chars() {
            let name = words.get(at).copied().filter(|_| is_cluster && matches!(letter, 'o' | 'O'));
            at += usize::from(name.is_some());
            let option = match (letter, name) {
                ('o', Some(name)) => Kind::Set(name),
                ('O', Some(name)) => Kind::Shopt(name),
                // Without a name, it prints all options.
                ('o' | 'O', None) => continue,
                (letter, _) => Kind::Letter(letter),
            };
            options.push(Stated { is_on, option });
        }
    }
    (options, at)
}

/// Where the script of a shell stands.
#[derive(Default, PartialEq, Eq)]
pub(crate) enum Input {
    /// In the file that its first operand names, or on standard input.
    #[default]
    Operand,
    Stdin,
    /// In the word behind `-c`.
    Command,
}

/// How a shell starts, as its options say.
#[derive(Default)]
pub(crate) struct Start {
    pub input: Input,
    pub interactive: bool,
    /// It reads without running.
    pub quiet: bool,
    /// The index of the word behind the options.
    pub at: usize,
}

/// Reads the words behind the name of a shell up to its first operand, from `from` on; applies its options to the shell.
pub(crate) fn start(
    evaluator: &mut Evaluator,
    shell: &mut Shell,
    invocation: &Invocation,
    from: usize,
) -> Start {
    let texts = invocation.texts();
    let (options, len) = options(texts.get(from..).unwrap_or_default());
    let mut start = Start { at: from + len, ..Start::default() };
    start.at += usize::from(texts.get(start.at) == Some(&"-"));
    for stated in options {
        if !stated.is_followed() {
            evaluator.unread(shell, &texts.join(" "));
        }
        match stated.option {
            Kind::Letter('c') => start.input = Input::Command,
            Kind::Letter('s') if start.input == Input::Operand => start.input = Input::Stdin,
            Kind::Letter('i') => start.interactive |= stated.is_on,
            Kind::Letter('n') => start.quiet = stated.is_on,
            Kind::Letter('a') | Kind::Set("allexport") => shell.exports_all = stated.is_on,
            Kind::Letter('x') | Kind::Set("xtrace") => shell.traces = stated.is_on,
            Kind::Shopt(name) => turn(shell, name, stated.is_on),
            _ => {}
        }
    }
    start
}

/// `set OPTIONS WORDS`.
pub(crate) fn set(evaluator: &mut Evaluator, shell: &mut Shell, invocation: &Invocation) {
    let texts = invocation.texts();
    let words = texts.get(1..).unwrap_or_default();
    let (options, at) = options(words);
    let traces = |stated: &Stated<'_>| {
        stated.is_on && matches!(stated.option, Kind::Letter('x') | Kind::Set("xtrace"))
    };
    // The substitutions in the prompt run.
    let prompt = Evaluator::variable_text(shell, "PS4")
        .filter(|text| !is_known(text) || text.contains(['$', '`', '\\']));
    if let Some(prompt) = prompt.filter(|_| options.iter().any(traces)) {
        evaluator.prompt(&mut shell.clone(), &prompt);
    }
    for stated in &options {
        if !stated.is_followed() {
            evaluator.unread(shell, &texts.join(" "));
        }
        match stated.option {
            Kind::Letter('a') | Kind::Set("allexport") => shell.exports_all = stated.is_on,
            Kind::Letter('x') | Kind::Set("xtrace") => shell.traces = stated.is_on,
            _ => {}
        }
    }
    // `-` alone turns two options off.
    let rest = invocation.from(1 + at);
    let is_dash = words.get(at).is_some_and(|word| *word == "-");
    let rest = if is_dash { rest.get(1..).unwrap_or_default() } else { rest };
    if !rest.is_empty() || at.checked_sub(1).and_then(|last| words.get(last)) == Some(&"--") {
        shell.set_args(Some(Shared::new(rest.to_vec())));
    }
}

/// `shopt OPTIONS NAMES`.
pub(crate) fn shopt(evaluator: &mut Evaluator, shell: &mut Shell, invocation: &Invocation) {
    let texts = invocation.texts();
    let words = texts.get(1..).unwrap_or_default();
    let (signs, names): (Vec<&str>, Vec<&str>) = words.iter().partition(|word| word.starts_with('-'));
    let has = |letter: char| signs.iter().any(|sign| sign.contains(letter));
    if !has('s') && !has('u') {
        return;
    }
    for name in names {
        let known = if has('o') { names::SET_OPTIONS } else { names::SHELL_OPTIONS };
        if !known.has(name) {
            evaluator.unread(shell, &texts.join(" "));
        }
        if has('o') {
            shell.exports_all = if name == "allexport" { has('s') } else { shell.exports_all };
            shell.traces = if name == "xtrace" { has('s') } else { shell.traces };
        } else {
            turn(shell, name, has('s'));
        }
    }
}

/// Turns an option of `shopt` on or off.
fn turn(shell: &mut Shell, name: &str, is_on: bool) {
    match name {
        "execfail" => shell.outlives_exec = is_on,
        "expand_aliases" => shell.aliases.enabled = is_on,
        "cdable_vars" => shell.enters_variables = true,
        "lastpipe" => shell.last_pipes = true,
        "xpg_echo" => shell.echoes_escapes = true,
        "nullglob" => shell.drops_patterns = true,
        "nocasematch" => shell.matches_loosely = true,
        _ => {}
    }
}

/// `enable -n NAME`: a builtin is none from here on.
pub(crate) fn enable(evaluator: &mut Evaluator, shell: &Shell, invocation: &Invocation) {
    if invocation.args().any(|field| !matches!(field.text.as_str(), "-a" | "-p" | "-s" | "-ps")) {
        evaluator.unread(shell, &invocation.texts().join(" "));
    }
}

impl Evaluator {
    /// Adds a builtin with words of a construct that is no command, where these hold variables: `[[ $a = b ]]` as `test $a = b`.
    pub fn stated(&mut self, shell: &Shell, words: &[&str]) {
        let has_variable = |text: &str| {
            self.unknowns.show(text).split('$').skip(1).any(|part| {
                part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_' || c == '{')
                    || part.starts_with("(computed ")
            })
        };
        if words.iter().any(|word| !is_known(word) && has_variable(word)) {
            let words = words.iter().map(|word| self.unknowns.word(&Field::literal(*word))).collect();
            let command = Command { words, ..self.command_in(shell) };
            self.push(Node::Command(Box::new(command)));
        }
    }

    /// Adds what a shell prints of a command before it runs: the text of the command, and its words as they are expanded.
    pub fn trace(&mut self, shell: &Shell, text: &str, words: &[Field]) {
        let written = if text.contains('$') { self.unknowns.plain(text) } else { String::new() };
        let words = words.iter().map(|word| word.text.as_str());
        self.stated(shell, &[":", &written].into_iter().chain(words).collect::<Vec<_>>());
    }

    /// Follows what it means that a variable gets a text which the shell itself uses: it prints it, calculates with it, or runs a
    /// script in another way.
    pub fn set_special(&mut self, shell: &Shell, name: &str, text: &str) {
        let name = name.split('[').next().unwrap_or_default();
        if names::NUMBERS.has(name) {
            self.run_subscripts(&mut shell.clone(), text);
        }
        if names::PRINTED.has(name) {
            self.stated(shell, &[":", text]);
        }
        self.is_involved |= names::OWN.has(name) || names::NUMBERS.has(name);
        // In other encodings, a part of a letter may be a backslash.
        let is_utf8 = |text: &str| {
            matches!(text, "" | "C" | "POSIX") || text.ends_with("UTF-8") || text.ends_with("utf8")
        };
        if names::MODAL.has(name) || names::ENCODING.has(name) && !is_utf8(text) {
            self.unread(shell, &format!("{name}={text}"));
        }
    }
}

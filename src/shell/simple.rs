//! One simple command: assignments, redirections, and what its name leads to.

use std::rc::Rc;

use brush_parser::ast::{
    self, Assignment, AssignmentName, AssignmentValue, CommandPrefixOrSuffixItem, IoFileRedirectKind,
    IoFileRedirectTarget, IoRedirect,
};

use super::evaluate::{Evaluator, Flow, Ran};
use super::script::{Command, Construct, Mode, Node, Redirection};
use super::state::{Shell, Value};
use super::text::{Field, Origin, Stretch, Unknown, is_known, stretches};
use super::{batch, builtins, code, output, remote, shells, wrappers};

/// Calls nested deeper than this are taken for endless.
const DEEPEST_CALLS: usize = 12;

/// What redirections do.
#[derive(Default)]
pub(crate) struct Redirected {
    pub files: Vec<Redirection>,
    pub stdin: Option<String>,
    /// True when nothing is printed to where the command stands.
    pub silent: bool,
}

/// A simple command after expansion.
#[derive(Debug, Clone)]
pub(crate) struct Invocation {
    pub fields: Vec<Field>,
    pub redirections: Vec<Redirection>,
    pub stdin: Option<String>,
}

impl Invocation {
    /// The same surroundings with other words.
    pub fn with(&self, fields: Vec<Field>) -> Self {
        Self { fields, redirections: Vec::new(), stdin: self.stdin.clone() }
    }

    pub fn word(&self, index: usize) -> Option<&str> {
        self.fields.get(index).map(|field| field.text.as_str())
    }

    pub fn texts(&self) -> Vec<&str> {
        self.fields.iter().map(|field| field.text.as_str()).collect()
    }
}

impl Evaluator {
    pub fn simple(&mut self, shell: &mut Shell, simple: &ast::SimpleCommand) -> Ran {
        let prefix = simple.prefix.iter().flat_map(|prefix| &prefix.0);
        let suffix = simple.suffix.iter().flat_map(|suffix| &suffix.0);
        let mut fields = Vec::new();
        let mut declared = Vec::new();
        let mut assignments = Vec::new();
        let mut redirects = Vec::new();
        for item in prefix {
            match item {
                CommandPrefixOrSuffixItem::AssignmentWord(assignment, _) => assignments.push(assignment),
                CommandPrefixOrSuffixItem::IoRedirect(redirect) => redirects.push(redirect),
                _ => {}
            }
        }
        if let Some(name) = &simple.word_or_name {
            fields.extend(self.fields(shell, &name.value));
        }
        let declares = fields.first().is_some_and(|name| builtins::DECLARING.contains(&name.text.as_str()));
        for item in suffix {
            if self.exhausted() {
                break;
            }
            self.spend(usize::from(fields.len() % 8 == 7));
            match item {
                CommandPrefixOrSuffixItem::Word(word) => fields.extend(self.fields(shell, &word.value)),
                CommandPrefixOrSuffixItem::AssignmentWord(assignment, word) if declares => {
                    declared.push(assignment);
                    fields.push(Field::literal(
                        word.value.split('=').next().unwrap_or_default().trim_end_matches('+'),
                    ));
                }
                CommandPrefixOrSuffixItem::AssignmentWord(_, word) => {
                    fields.extend(self.fields(shell, &word.value))
                }
                CommandPrefixOrSuffixItem::IoRedirect(redirect) => redirects.push(redirect),
                CommandPrefixOrSuffixItem::ProcessSubstitution(kind, subshell) => {
                    let text = self.process_substitution(shell, kind, subshell);
                    fields.push(Field { text, origin: Origin::Printed });
                }
            }
        }
        let redirected = self.redirections(shell, redirects);
        if fields.is_empty() {
            for assignment in assignments {
                self.assign(shell, assignment);
            }
            if !redirected.files.is_empty() {
                self.push(Node::Command(Command {
                    redirections: redirected.files,
                    ..Self::command_in(shell)
                }));
            }
            return (String::new(), Flow::On);
        }
        for assignment in declared {
            self.assign(shell, assignment);
        }
        let invocation = Invocation {
            fields,
            redirections: redirected.files,
            stdin: redirected.stdin.or_else(|| shell.stdin.clone()),
        };
        let (printed, flow) = if assignments.is_empty() {
            self.run_each(shell, &invocation)
        } else {
            let mut inner = shell.clone();
            for assignment in assignments {
                self.assign(&mut inner, assignment);
                if let AssignmentName::VariableName(name) = &assignment.name {
                    self.export(&mut inner, name);
                }
            }
            let ran = self.run_each(&mut inner, &invocation);
            // The assignments are gone afterwards; what `cd` or `read` did is not.
            shell.cwd = inner.cwd;
            shell.stdin = inner.stdin;
            ran
        };
        (if redirected.silent { String::new() } else { printed }, flow)
    }

    /// Runs the command once for each text that a branch-dependent variable can have.
    fn run_each(&mut self, shell: &mut Shell, invocation: &Invocation) -> Ran {
        let choice =
            invocation.fields.iter().flat_map(|field| stretches(&field.text)).find_map(|s| match s {
                Stretch::Mark(index) => {
                    let candidates = &self.unknowns.get(index)?.candidates;
                    (!candidates.is_empty()).then(|| (index, candidates.clone()))
                }
                Stretch::Known(_) => None,
            });
        let Some((index, candidates)) = choice else { return self.run(shell, invocation) };
        let mut ran = (String::new(), Flow::On);
        for candidate in candidates {
            if self.exhausted() {
                break;
            }
            self.spend(1);
            let fields = invocation.fields.iter().map(|field| {
                let text = stretches(&field.text)
                    .map(|s| match s {
                        Stretch::Mark(at) if at == index => candidate.clone(),
                        Stretch::Mark(at) => self.unknowns.again(at),
                        Stretch::Known(text) => text.to_owned(),
                    })
                    .collect();
                Field { text, origin: field.origin }
            });
            let fields =
                fields.collect::<Vec<_>>().into_iter().filter(|field| !field.text.is_empty()).collect();
            let one = Invocation { fields, ..invocation.clone() };
            ran = self.run_each(shell, &one);
        }
        ran
    }

    /// Runs words as a command: functions, builtins, wrappers, or a program.
    pub fn run(&mut self, shell: &mut Shell, invocation: &Invocation) -> Ran {
        self.spend(1);
        let Some(name) = invocation.word(0) else { return (String::new(), Flow::On) };
        if self.exhausted() {
            return (String::new(), Flow::On);
        }
        if self.depth_reached() {
            let words = invocation.texts().join(" ");
            self.unread(shell, &words);
            return (self.unknowns.plain("…"), Flow::On);
        }
        self.depth += 1;
        let ran = self.dispatch(shell, name, invocation);
        self.depth -= 1;
        ran
    }

    fn dispatch(&mut self, shell: &mut Shell, name: &str, invocation: &Invocation) -> Ran {
        if let Some(body) = shell.functions.get(name).cloned() {
            return self.call(shell, name, &body, invocation);
        }
        if let Some(ran) = builtins::run(self, shell, invocation) {
            return ran;
        }
        self.start(shell, invocation)
    }

    /// Starts a program rather than a function or a builtin.
    pub fn start(&mut self, shell: &Shell, invocation: &Invocation) -> Ran {
        let name = invocation.word(0).unwrap_or_default();
        let program = name.rsplit('/').next().unwrap_or(name);
        let printed = match program {
            _ if shells::is_shell(program) => shells::run(self, shell, invocation, program),
            "ssh" | "autossh" | "slogin" | "mosh" => remote::run(self, shell, invocation, program),
            "xargs" => batch::xargs(self, shell, invocation),
            "parallel" => batch::parallel(self, shell, invocation),
            "find" | "fd" | "fdfind" => batch::find(self, shell, invocation),
            _ if code::is_interpreter(program) => code::run(self, shell, invocation, program),
            _ => match wrappers::run(self, shell, invocation, program) {
                Some(printed) => printed,
                None => {
                    self.leaf(shell, invocation);
                    output::of(self, shell, invocation, program)
                }
            },
        };
        (printed, Flow::On)
    }

    /// Keeps a command as a leaf of the tree.
    pub fn leaf(&mut self, shell: &Shell, invocation: &Invocation) {
        let command = self.finished(shell, invocation);
        self.push(Node::Command(command));
    }

    /// The command as it will be read by rules and people.
    pub fn finished(&mut self, shell: &Shell, invocation: &Invocation) -> Command {
        let words = invocation.fields.iter().map(|field| self.unknowns.word(field)).collect();
        let stdin = invocation.stdin.as_ref().filter(|text| text.len() < 4096 || !is_known(text));
        let stdin =
            stdin.map(|text| self.unknowns.word(&Field { text: text.clone(), origin: Origin::Printed }));
        Command { words, stdin, redirections: invocation.redirections.clone(), ..Self::command_in(shell) }
    }

    /// Collects what a wrapper runs under the wrapper's own command.
    pub fn through(
        &mut self,
        shell: &Shell,
        invocation: &Invocation,
        label: String,
        run: impl FnOnce(&mut Self) -> String,
    ) -> String {
        let mut command = self.finished(shell, invocation);
        command.through = label;
        let (printed, nodes) = self.apart(run);
        // A wrapper counts even with nothing below it: rules look at its words.
        self.push(Node::Group(Construct::Through(Box::new(command)), nodes));
        printed
    }

    fn call(
        &mut self,
        shell: &mut Shell,
        name: &str,
        body: &Rc<ast::FunctionBody>,
        invocation: &Invocation,
    ) -> Ran {
        let args: Vec<String> = invocation.fields.iter().skip(1).map(|field| field.text.clone()).collect();
        let same = self.calls.iter().any(|(called, with)| called == name && *with == args);
        if same || self.calls.len() >= DEEPEST_CALLS {
            self.recursed = true;
            return (self.unknowns.plain(format!("$({name})")), Flow::On);
        }
        self.calls.push((name.to_owned(), args));
        let outer = std::mem::replace(
            &mut shell.args,
            Rc::new(invocation.fields.get(1..).unwrap_or_default().to_vec()),
        );
        let stdin = std::mem::replace(&mut shell.stdin, invocation.stdin.clone());
        let recursed = std::mem::take(&mut self.recursed);
        let ((printed, flow), mut nodes) =
            self.apart(|this| this.redirected(shell, &body.0, body.1.as_ref()));
        if self.recursed {
            repeat(&mut nodes);
        }
        self.recursed |= recursed && !self.calls.is_empty();
        self.calls.pop();
        if self.calls.is_empty() {
            self.recursed = false;
        }
        if !nodes.is_empty() {
            self.push(Node::Group(Construct::Call(name.to_owned()), nodes));
        }
        shell.args = outer;
        shell.stdin = stdin;
        (printed, if flow == Flow::Exit { Flow::Exit } else { Flow::On })
    }

    fn process_substitution(
        &mut self,
        shell: &Shell,
        kind: &ast::ProcessSubstitutionKind,
        subshell: &ast::SubshellCommand,
    ) -> String {
        let printed = self
            .inside(Construct::ProcessSubstitution, |this| this.list(&mut shell.clone(), &subshell.list).0);
        let content = matches!(kind, ast::ProcessSubstitutionKind::Read).then_some(printed);
        self.unknowns.mark(Unknown {
            source: format!("{kind}({})", subshell.list),
            content,
            ..Unknown::default()
        })
    }

    pub fn redirections<'a>(
        &mut self,
        shell: &mut Shell,
        redirects: impl IntoIterator<Item = &'a IoRedirect>,
    ) -> Redirected {
        let mut result = Redirected::default();
        for redirect in redirects {
            match redirect {
                IoRedirect::File(fd, kind, target) => {
                    self.file_redirection(shell, &mut result, *fd, kind, target);
                }
                IoRedirect::OutputAndError(word, append) => {
                    let mode = if *append { Mode::Append } else { Mode::Write };
                    let text = self.text(shell, &word.value);
                    let path = self.unknowns.word(&Field::literal(text));
                    result.files.push(Redirection { mode, path });
                    result.silent = true;
                }
                IoRedirect::HereString(_, word) => {
                    let mut text = self.text(shell, &word.value);
                    text.push('\n');
                    result.stdin = Some(text);
                }
                IoRedirect::HereDocument(_, document) => {
                    result.stdin = Some(if document.requires_expansion {
                        self.here_document(shell, &document.doc.value)
                    } else {
                        document.doc.value.clone()
                    });
                }
            }
        }
        result
    }

    fn file_redirection(
        &mut self,
        shell: &mut Shell,
        result: &mut Redirected,
        fd: Option<i32>,
        kind: &IoFileRedirectKind,
        target: &IoFileRedirectTarget,
    ) {
        let mode = match kind {
            IoFileRedirectKind::Read => Mode::Read,
            IoFileRedirectKind::Write | IoFileRedirectKind::Clobber => Mode::Write,
            IoFileRedirectKind::Append => Mode::Append,
            IoFileRedirectKind::ReadAndWrite => Mode::ReadWrite,
            IoFileRedirectKind::DuplicateInput => return,
            IoFileRedirectKind::DuplicateOutput => {
                // `>&2` prints elsewhere; `>&file` is a file.
                if let IoFileRedirectTarget::Duplicate(word) = target {
                    let text = self.text(shell, &word.value);
                    let is_number = text == "-" || text.parse::<u32>().is_ok();
                    if fd.is_none_or(|fd| fd == 1) && text != "1" {
                        result.silent = true;
                    }
                    if !is_number {
                        let path = self.unknowns.word(&Field::literal(text));
                        result.files.push(Redirection { mode: Mode::Write, path });
                    }
                }
                return;
            }
        };
        let text = match target {
            IoFileRedirectTarget::Filename(word) | IoFileRedirectTarget::Duplicate(word) => {
                self.text(shell, &word.value)
            }
            IoFileRedirectTarget::ProcessSubstitution(kind, subshell) => {
                self.process_substitution(shell, kind, subshell)
            }
            IoFileRedirectTarget::Fd(_) => return,
        };
        match mode {
            Mode::Read | Mode::ReadWrite if fd.is_none_or(|fd| fd == 0) => {
                let content = self.unknowns.only_mark(&text).and_then(|unknown| unknown.content.clone());
                result.stdin = Some(match content {
                    Some(content) => content,
                    None if text == "/dev/null" => String::new(),
                    None => {
                        let source = format!("$(< {})", self.unknowns.show(&text));
                        self.unknowns.mark(Unknown { source, many: true, ..Unknown::default() })
                    }
                });
            }
            Mode::Write | Mode::Append if fd.is_none_or(|fd| fd == 1) => {
                result.silent = !matches!(text.as_str(), "/dev/stdout" | "/dev/fd/1");
            }
            _ => {}
        }
        let path = self.unknowns.word(&Field::literal(text));
        result.files.push(Redirection { mode, path });
    }

    /// Sets what one assignment says.
    pub fn assign(&mut self, shell: &mut Shell, assignment: &Assignment) {
        let (name, key) = match &assignment.name {
            AssignmentName::VariableName(name) => (name, None),
            AssignmentName::ArrayElementName(name, key) => (name, Some(key)),
        };
        let old = shell.get(name).map(|variable| variable.value.clone());
        let value = match &assignment.value {
            AssignmentValue::Scalar(word) => {
                let text = self.text(shell, &word.value);
                if let Some(key) = key {
                    let key = self.text(shell, key);
                    let key = super::arithmetic::evaluate(&key, shell).map_or(key, |n| n.to_string());
                    let mut items = match old {
                        Some(Value::Array(items)) => items,
                        _ => Vec::new(),
                    };
                    items.retain(|(k, _)| *k != key);
                    items.push((key, text));
                    Value::Array(items)
                } else if assignment.append {
                    match old {
                        Some(Value::Scalar(old)) => Value::Scalar(self.bounded(old + &text)),
                        Some(Value::Array(items)) => Value::Array(items),
                        Some(Value::Unset) => Value::Scalar(text),
                        None => {
                            let before = self.unknowns.plain(format!("${name}"));
                            Value::Scalar(before + &text)
                        }
                    }
                } else {
                    Value::Scalar(self.bounded(text))
                }
            }
            AssignmentValue::Array(elements) => {
                let mut items = match old {
                    Some(Value::Array(items)) if assignment.append => items,
                    Some(Value::Scalar(text)) if assignment.append => vec![("0".to_owned(), text)],
                    _ => Vec::new(),
                };
                for (key, word) in elements {
                    if self.exhausted() || items.len() > 4096 {
                        break;
                    }
                    if let Some(key) = key {
                        let key = self.text(shell, &key.value);
                        let text = self.text(shell, &word.value);
                        items.retain(|(k, _)| *k != key);
                        items.push((key, text));
                    } else {
                        for field in self.fields(shell, &word.value) {
                            items.push((items.len().to_string(), field.text));
                        }
                    }
                }
                self.spend(items.len() / 16);
                Value::Array(items)
            }
        };
        shell.set(name, value, Origin::Assigned);
        if shell.get(name).is_some_and(|variable| variable.exported) {
            self.export(shell, name);
        }
    }

    /// A value that doubles itself does not grow for ever.
    fn bounded(&mut self, text: String) -> String {
        const LONGEST: usize = 64 * 1024;
        if text.len() <= LONGEST {
            return text;
        }
        self.complain("a variable grows beyond what can be followed");
        self.unknowns.plain("…")
    }

    /// Exports a variable and shows it to the commands that follow.
    pub fn export(&mut self, shell: &mut Shell, name: &str) {
        shell.export(name);
        if let Some(text) = Self::variable_text(shell, name) {
            let word = self.unknowns.word(&Field { text, origin: Origin::Assigned });
            shell.add_env(name, word);
        }
    }
}

/// What an endless recursion does, it does any number of times.
fn repeat(nodes: &mut [Node]) {
    for node in nodes {
        match node {
            Node::Group(construct, children) => {
                if let Construct::Through(command) = construct {
                    command.repeats = true;
                }
                repeat(children);
            }
            Node::Command(command) => command.repeats = true,
            Node::Unread(unread) => unread.repeats = true,
        }
    }
}

//! Redirections: the files that are opened, and the content of standard input.

use brush_parser::ast::{IoFileRedirectKind, IoFileRedirectTarget, IoRedirect};

use crate::shell::evaluator::Evaluator;
use crate::shell::execution::join::MOST_CHOICES;
use crate::shell::grammar::here::{HereDocument, number};
use crate::shell::script::{Mode, Redirection};
use crate::shell::state::Shell;
use crate::shell::text::{Field, Stretch, Unknown, stretches};

/// Descriptors that are open, and the word that closes one.
const STANDARD: [&str; 4] = ["0", "1", "2", "-"];

/// Paths of the standard output of a command.
const OUTPUT: [&str; 3] = ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];

/// Where the errors of a command go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Errors {
    /// Not to its standard output.
    #[default]
    Apart,
    /// To its standard output.
    Output,
    /// To the file of its standard output.
    File,
}

/// The effect of the redirections of one command.
#[derive(Default)]
pub(crate) struct Redirected {
    pub files: Vec<Redirection>,
    pub stdin: Option<String>,
    /// True when standard output goes elsewhere.
    pub silent: bool,
    pub errors: Errors,
    /// True where a descriptor is copied that may not be open.
    pub copies: bool,
    /// The descriptor that standard input is copied from.
    pub source: Option<String>,
}

impl Redirected {
    /// The redirections of a command with this name: some have no errors.
    pub fn of(self, name: Option<&str>) -> Self {
        let is_quiet = matches!(name, Some(":" | "true" | "false" | "echo" | "printf"));
        Self { errors: if is_quiet { Errors::Apart } else { self.errors }, ..self }
    }
}

impl Evaluator {
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
                    result.errors = Errors::File;
                    let mode = if *append { Mode::Append } else { Mode::Write };
                    let text = self.text(shell, &word.value);
                    self.share_file(shell, &text);
                    self.opens(&mut result, mode, text);
                    result.silent = true;
                }
                IoRedirect::HereString(fd, word) => {
                    let text = self.here_string(shell, &word.value);
                    self.open(shell, &mut result, *fd, text);
                }
                IoRedirect::HereDocument(fd, document) => {
                    let text = if document.requires_expansion {
                        self.here_document(shell, &document.doc.value)
                    } else {
                        document.doc.value.clone()
                    };
                    self.open(shell, &mut result, *fd, text);
                }
            }
        }
        result
    }

    /// Notes what a command leaves in the descriptor that its input is copied from: all behind one line, or any lines.
    pub fn consume(&mut self, shell: &Shell, redirected: &Redirected, takes_a_line: bool) {
        let Some(source) = &redirected.source else { return };
        let Some(text) = self.file_content(shell, source) else { return };
        let lines = || text.match_indices('\n').filter_map(|(at, _)| text.get(at + 1..)).map(str::to_owned);
        let rest = if takes_a_line {
            lines().next().unwrap_or_default()
        } else if lines().count() < MOST_CHOICES {
            self.one_of(std::iter::once(text.clone()).chain(lines()).chain([String::new()]).collect(), "…")
        } else {
            let made_from = Some(text.clone());
            let is_any = self.unknowns.are_any(&text);
            self.unknowns.mark(Unknown {
                source: "$(…)".to_owned(),
                made_from,
                many: true,
                is_any,
                ..Unknown::default()
            })
        };
        self.store_file(shell, source, &rest, false);
    }

    /// The content of a here-string, or of the here-document that its word replaces.
    fn here_string(&mut self, shell: &mut Shell, word: &str) -> String {
        let document = number(word).and_then(|number| self.documents.get(number)).cloned();
        match document {
            Some(HereDocument { body, expands: true }) => self.here_document(shell, &body),
            Some(HereDocument { body, .. }) => body,
            None => self.text(shell, word) + "\n",
        }
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
            IoFileRedirectKind::DuplicateInput => {
                if let IoFileRedirectTarget::Duplicate(word) = target {
                    let number = self.text(shell, &word.value);
                    let source = descriptor(number.trim_end_matches('-'));
                    let content = self.file_content(shell, &source);
                    result.copies |= !STANDARD.contains(&number.as_str());
                    match fd.filter(|fd| *fd != 0) {
                        None => {
                            // What nothing is known of is not empty: `nc host 80 <&3`.
                            let unknown = || match number.as_str() {
                                "0" => None,
                                "-" => Some(String::new()),
                                _ => Some(self.unknowns.foreign(format!("$(< {source})"))),
                            };
                            result.stdin = content.or_else(|| result.stdin.take()).or_else(unknown);
                            result.source = Some(source);
                        }
                        Some(fd) => {
                            if let Some(content) = content {
                                self.store_file(shell, &descriptor(&fd.to_string()), &content, false);
                            }
                        }
                    }
                }
                return;
            }
            IoFileRedirectKind::DuplicateOutput => return self.copied_output(shell, result, fd, target),
        };
        let text = match target {
            IoFileRedirectTarget::Filename(word) | IoFileRedirectTarget::Duplicate(word) => {
                self.text(shell, &word.value)
            }
            // `lift` makes words of process substitutions.
            IoFileRedirectTarget::ProcessSubstitution(..) | IoFileRedirectTarget::Fd(_) => return,
        };
        match mode {
            Mode::Read | Mode::ReadWrite if fd.is_none_or(|fd| fd == 0) => {
                let content = self.file_content(shell, &text);
                result.stdin = Some(match content {
                    Some(content) => content,
                    None if text == "/dev/null" => String::new(),
                    None => match self.file_mark(shell, &text) {
                        Some(mark) => mark,
                        None => self.unseen_file(shell, &text),
                    },
                });
            }
            Mode::Read | Mode::ReadWrite => {
                let content = self.file_content(shell, &text).or_else(|| self.started_by(&text));
                if let (Some(content), Some(fd)) = (content, fd) {
                    // What is written to the file later is read, too.
                    self.link(shell, &descriptor(&fd.to_string()), &text);
                    self.store_file(shell, &descriptor(&fd.to_string()), &content, false);
                }
                if let Some(fd) = fd.filter(|fd| *fd > 2 && mode == Mode::ReadWrite) {
                    self.store_file(shell, &format!("{} >", descriptor(&fd.to_string())), &text, false);
                }
            }
            Mode::Write | Mode::Append if fd.is_some_and(|fd| fd > 2) => {
                let number = fd.unwrap_or_default().to_string();
                if mode == Mode::Write {
                    self.store_file(shell, &text, "", false);
                }
                if self.leaks {
                    self.share_file(shell, &text);
                }
                self.store_file(shell, &format!("{} >", descriptor(&number)), &text, false);
            }
            Mode::Write | Mode::Append if fd.is_none_or(|fd| fd == 1) => {
                result.silent = !OUTPUT.contains(&text.as_str());
            }
            Mode::Write | Mode::Append => {
                let is_output = fd == Some(2) && OUTPUT.contains(&text.as_str());
                result.errors = if is_output { Errors::Output } else { Errors::Apart };
                self.share_file(shell, &text);
            }
        }
        self.opens(result, mode, text);
    }

    /// A descriptor that is copied for output: `2>&1`, `>&3`, `>&file`.
    fn copied_output(
        &mut self,
        shell: &mut Shell,
        result: &mut Redirected,
        fd: Option<i32>,
        target: &IoFileRedirectTarget,
    ) {
        // `>&2` prints elsewhere; `>&file` is a file.
        let text = match target {
            IoFileRedirectTarget::Duplicate(word) => Some(self.text(shell, &word.value)),
            // `|&`
            IoFileRedirectTarget::Fd(number) => Some(number.to_string()),
            _ => None,
        };
        if let Some(text) = text {
            if fd == Some(2) {
                if let Some(file) = result.files.last().filter(|_| text == "1" && result.silent) {
                    self.share_file(shell, &file.marked);
                }
                let elsewhere = matches!(text.as_str(), "-" | "2") || text == "1" && result.silent;
                result.errors = match text.as_str() {
                    "1" if result.silent => Errors::File,
                    _ if elsewhere => Errors::Apart,
                    _ => Errors::Output,
                };
            }
            self.leaks |= fd.is_some_and(|fd| !matches!(fd, 1 | 2)) && text != "-";
            let is_number = text == "-" || text.parse::<u32>().is_ok();
            result.copies |= is_number && !STANDARD.contains(&text.as_str());
            // `2>&1 >&2` prints.
            if fd.is_none_or(|fd| fd == 1) && text != "1" && result.errors != Errors::Output {
                result.silent = true;
            }
            let opened = self.file_content(shell, &format!("{} >", descriptor(text.as_str())));
            if let Some(marked) = opened.filter(|_| fd.is_none_or(|fd| fd == 1)) {
                self.opens(result, Mode::Append, marked);
            } else if !is_number {
                self.opens(result, Mode::Write, text);
            } else if fd.is_none_or(|fd| fd == 1) && text == "2" {
                self.opens(result, Mode::Append, "/dev/stderr".to_owned());
            }
        }
    }

    /// A text that may have more in it, or be in another order, than the reader knows.
    pub fn doubtful(&mut self, text: String, source: &str) -> String {
        let is_seen = |stretch| match stretch {
            Stretch::Mark(index) => {
                self.unknowns.get(index).is_some_and(|unknown| !unknown.candidates.is_empty())
            }
            Stretch::Known(_) => true,
        };
        if !stretches(&text).all(is_seen) {
            return text;
        }
        let is_any = self.unknowns.are_any(&text);
        let text = self.unknowns.sources(&text);
        self.unknowns.mark(Unknown {
            is_any,
            source: source.to_owned(),
            made_from: Some(text).filter(|text| !text.is_empty()),
            many: true,
            is_doubtful: true,
            ..Unknown::default()
        })
    }

    /// What a part of a script prints for another one: descriptors, traps and the like may add to it.
    pub fn gathered(&mut self, text: String) -> String {
        if self.leaks { self.doubtful(text, "$(…)") } else { text }
    }

    /// What a command prints behind its redirections. Its errors are unknown.
    pub fn behind(&mut self, redirected: &Redirected, printed: String) -> String {
        let printed = if redirected.silent { String::new() } else { printed };
        match redirected.errors {
            Errors::Output => self.with_errors(printed),
            Errors::Apart | Errors::File => printed,
        }
    }

    /// What a command prints together with its errors, which repeat words that it is given.
    pub fn with_errors(&mut self, printed: String) -> String {
        let made = self.doubtful(printed, "2>&1");
        match self.unknowns.only_mark(&made).cloned() {
            Some(one) => self.unknowns.mark(Unknown { is_foreign: true, is_any: true, ..one }),
            None => made + &self.unknowns.foreign("2>&1".to_owned()),
        }
    }

    /// Adds a file that is opened.
    fn opens(&self, result: &mut Redirected, mode: Mode, marked: String) {
        let path = self.unknowns.word(&Field::literal(marked.as_str()));
        result.files.push(Redirection { mode, path, marked });
    }

    /// Opens a known text as a file descriptor.
    fn open(&mut self, shell: &Shell, result: &mut Redirected, fd: Option<i32>, text: String) {
        match fd.filter(|fd| *fd != 0) {
            Some(fd) => self.store_file(shell, &descriptor(&fd.to_string()), &text, false),
            None => result.stdin = Some(text),
        }
    }
}

/// The path of a file descriptor.
pub(crate) fn descriptor(number: &str) -> String {
    format!("/dev/fd/{number}")
}

//! Redirections: the files that are opened, and the content of standard input.

use brush_parser::ast::{self, IoFileRedirectKind, IoFileRedirectTarget, IoRedirect};

use crate::shell::evaluator::Evaluator;
use crate::shell::grammar::here::{HereDocument, number};
use crate::shell::script::{Construct, Mode, Redirection};
use crate::shell::state::Shell;
use crate::shell::text::{Field, Unknown};

/// The effect of the redirections of one command.
#[derive(Default)]
pub(crate) struct Redirected {
    pub files: Vec<Redirection>,
    pub stdin: Option<String>,
    /// True when standard output goes elsewhere.
    pub silent: bool,
}

impl Evaluator {
    pub fn process_substitution(
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
                    let path = self.unknowns.word(&Field::literal(text.as_str()));
                    result.files.push(Redirection { mode, path, marked: text });
                    result.silent = true;
                }
                IoRedirect::HereString(_, word) => result.stdin = Some(self.here_string(shell, &word.value)),
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
                        let path = self.unknowns.word(&Field::literal(text.as_str()));
                        result.files.push(Redirection { mode: Mode::Write, path, marked: text });
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
                let content = self.file_content(shell, &text);
                result.stdin = Some(match content {
                    Some(content) => content,
                    None if text == "/dev/null" => String::new(),
                    None => self.file_mark(shell, &text).unwrap_or_else(|| {
                        let source = format!("$(< {})", self.unknowns.show(&text));
                        self.unknowns.mark(Unknown { source, many: true, ..Unknown::default() })
                    }),
                });
            }
            Mode::Write | Mode::Append if fd.is_none_or(|fd| fd == 1) => {
                result.silent = !matches!(text.as_str(), "/dev/stdout" | "/dev/fd/1");
            }
            _ => {}
        }
        let path = self.unknowns.word(&Field::literal(text.as_str()));
        result.files.push(Redirection { mode, path, marked: text });
    }
}

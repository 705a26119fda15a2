//! Aliases.

use brush_parser::ast::{self, CommandPrefixOrSuffixItem};

use super::invocation::Invocation;
use crate::languages::names::shell as names;
use crate::shell::Complaint;
use crate::shell::evaluator::{Evaluator, Ran};
use crate::shell::execution::ways::Ways;
use crate::shell::shared::Shared;
use crate::shell::state::Shell;

/// `alias NAME=TEXT`.
pub(crate) fn alias(evaluator: &mut Evaluator, shell: &mut Shell, invocation: &Invocation) {
    let mut reserved = Vec::new();
    let aliases = Shared::make_mut(&mut shell.aliases.defined);
    for field in invocation.args() {
        if let Some((name, text)) = field.text.split_once('=') {
            let is_name = |c: char| c.is_ascii_alphanumeric() || "_.+@-".contains(c);
            if names::RESERVED.has(name) || !name.chars().all(is_name) {
                reserved.push(text.to_owned());
            }
            aliases.insert(name.to_owned(), text.to_owned());
        }
    }
    // An alias of a word such as `if` or `{` changes how the text is read.
    for text in reserved {
        evaluator.complain(Complaint::Runs(text.clone()));
        evaluator.leave_out(shell, &text);
    }
}

impl Evaluator {
    /// Runs a command whose name may be an alias.
    pub fn aliased(&mut self, shell: &mut Shell, simple: &ast::SimpleCommand, text: &str) -> Ran {
        // Whether the shell expands aliases, and had this one when it read the text, is seldom certain.
        let mut ways = Ways::default();
        let ((), aliased) = self.collected(|this| {
            ways.run(this, shell.clone(), |this, shell| {
                let active = std::mem::take(&mut shell.aliases.active);
                let enabled = std::mem::take(&mut shell.aliases.enabled);
                let ran = this.run_script(shell, text);
                shell.aliases.active = active;
                shell.aliases.enabled = enabled;
                ran
            });
        });
        let ((), plain) = self.collected(|this| {
            ways.run(this, shell.clone(), |this, shell| this.unaliased(shell, simple));
        });
        self.status = None;
        self.push_alternatives(vec![(false, aliased), (false, plain)]);
        ways.end(self, shell)
    }
}

/// The text that replaces a command whose name is an alias; `None` for any other command.
pub(crate) fn alias_text(shell: &Shell, simple: &ast::SimpleCommand) -> Option<String> {
    let name = simple.word_or_name.as_ref().filter(|_| shell.aliases.enabled)?;
    let alias = shell.aliases.active.get(&name.value)?;
    let mut text = alias.clone();
    // An alias may begin with another one; each is replaced once.
    let mut used = vec![name.value.as_str()];
    while let Some((word, next)) = text.split_whitespace().next().and_then(|word| {
        shell.aliases.active.get_key_value(word).filter(|(name, _)| !used.contains(&name.as_str()))
    }) {
        text = text.replacen(word.as_str(), next, 1);
        used.push(word);
    }
    for item in simple.suffix.iter().flat_map(|suffix| &suffix.0) {
        match item {
            // Behind a blank, the next word may be an alias, too.
            CommandPrefixOrSuffixItem::Word(word)
                if text.ends_with([' ', '\t']) && shell.aliases.active.contains_key(&word.value) =>
            {
                text.extend(shell.aliases.active.get(&word.value).map(String::as_str));
            }
            CommandPrefixOrSuffixItem::Word(word) | CommandPrefixOrSuffixItem::AssignmentWord(_, word) => {
                text.push(' ');
                text.push_str(&word.value);
            }
            // Redirections do not change what runs.
            _ => {}
        }
    }
    Some(text)
}

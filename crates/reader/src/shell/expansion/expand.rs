//! Expands whole words: braces, parameters, substitutions, splitting.

use super::splitter::{Expansion, Splitter};
use super::{brace, parameter, pattern};
use brush_parser::ast;

use crate::shell::Complaint;
use crate::shell::evaluator::Evaluator;
use crate::shell::execution::list::are_printers;
use crate::shell::grammar::lift::lift_document;
use crate::shell::grammar::word::{Piece, Rules, pieces};
use crate::shell::marks::{APART, READS, WRITES};
use crate::shell::on_disk::GLOB;
use crate::shell::script::Construct;
use crate::shell::state::Shell;
use crate::shell::text::{Field, Origin, Unknown, is_known};

impl Evaluator {
    /// Expands a word of a command, from braces to splitting. Globs are not expanded.
    pub fn fields(&mut self, shell: &mut Shell, raw: &str) -> Vec<Field> {
        if !raw.contains(['{', '$', '`', '\'', '"', '\\', '~']) {
            return vec![Field::unquoted(raw)];
        }
        if raw.contains('{')
            && let Ok(words) = brace::expand(raw).inspect_err(|_| {
                self.complain(Complaint::LongBraces);
                self.leave_out(shell, raw);
            })
            && (words.len() != 1 || words.first().is_some_and(|word| word != raw))
        {
            let mut fields = Vec::new();
            for word in words {
                if self.exhausted() {
                    break;
                }
                self.spend(1 + word.len() / 64);
                fields.extend(self.split(shell, &word));
            }
            return fields;
        }
        self.split(shell, raw)
    }

    /// Expands an argument of a command, whose words may become a part of a text.
    pub fn argument(&mut self, shell: &mut Shell, raw: &str, hands_on: bool) -> Vec<Field> {
        if hands_on { self.fields_with_names(shell, raw) } else { self.fields(shell, raw) }
    }

    /// Expands a word whose fields become a part of a text, with a mark for the names of files that an unquoted pattern stands for.
    pub fn fields_with_names(&mut self, shell: &mut Shell, raw: &str) -> Vec<Field> {
        let mut fields = self.fields(shell, raw);
        // No file has the name of an address: `ssh://root@[fd00::10]`.
        let may_match = |field: &Field| field.text.contains(GLOB) && !field.text.contains("://");
        if !fields.iter().any(may_match) {
            return fields;
        }
        let is_pattern = |piece: &Piece<'_>| match piece {
            Piece::Text { text, quoted } => !quoted && text.contains(GLOB),
            Piece::Parameter { quoted, .. } | Piece::Command { quoted, .. } => !quoted,
            Piece::Arithmetic { .. } | Piece::Tilde(_) => false,
        };
        if pieces(raw, Rules::Word).iter().any(is_pattern) {
            for field in fields.iter_mut().filter(|field| may_match(field)) {
                let found = self.glob_mark(shell, &field.text);
                let found = found.and_then(|mark| self.unknowns.only_mark(&mark).cloned());
                let source = field.text.clone();
                if found.is_some() || is_known(&source) {
                    let unknown = found.unwrap_or(Unknown { source, ..Unknown::default() });
                    field.text = self.unknowns.mark(Unknown { many: true, ..unknown });
                    field.is_pattern = false;
                }
            }
        }
        fields
    }

    fn split(&mut self, shell: &mut Shell, raw: &str) -> Vec<Field> {
        let separators = Self::variable_text(shell, "IFS");
        // Texts are only cut at blanks with certainty.
        let cuts = separators.as_ref().is_some_and(|own| own != " \t\n");
        let separators = separators.filter(|own| is_known(own));
        let mut out = Splitter { separators, ..Splitter::default() };
        // `"$@"` without parameters is no word.
        let (mut has_list, mut has_more) = (false, false);
        for piece in pieces(raw, Rules::Word) {
            has_more |= match &piece {
                Piece::Text { text, .. } => !text.is_empty(),
                piece => !matches!(piece, Piece::Parameter { .. }),
            };
            match piece {
                Piece::Text { text, quoted: false } => out.push_unquoted(&text),
                Piece::Text { text, .. } => out.push(&text),
                Piece::Tilde(user) => {
                    let home = self.unknowns.plain(format!("~{user}"));
                    out.push(&home);
                }
                Piece::Parameter { body, quoted } => {
                    let expansion = self.parameter(shell, body);
                    if cuts && !quoted {
                        out.came_from(Origin::Computed);
                    }
                    let is_empty = quoted && expansion.list && expansion.texts.is_empty();
                    has_list |= is_empty;
                    has_more |= !is_empty;
                    self.place(&mut out, expansion, quoted);
                }
                Piece::Command { body, quoted } => {
                    let text = self.substitution(shell, &body);
                    self.place(&mut out, Expansion::text(text, origin_of(&body)), quoted);
                }
                Piece::Arithmetic { body, quoted } => {
                    let (text, is_computed) = self.computed(|this| this.arithmetic(shell, body));
                    let origin = if is_computed { Origin::Computed } else { Origin::Assigned };
                    self.place(&mut out, Expansion::text(text, origin), quoted);
                }
            }
        }
        if has_list && !has_more {
            return vec![];
        }
        out.finish_field();
        out.fields
    }

    fn place(&mut self, out: &mut Splitter, expansion: Expansion, quoted: bool) {
        out.came_from(expansion.origin);
        self.spend(expansion.texts.iter().map(String::len).sum::<usize>() / 64);
        if quoted && !expansion.list {
            let text = expansion.joined(out.separators.as_deref(), &self.unknowns);
            out.push(&self.as_one_word(text));
            return;
        }
        for (index, text) in expansion.texts.iter().enumerate() {
            if index > 0 {
                out.finish_field();
            }
            if quoted {
                out.push(text);
            } else {
                out.push_split(&self.unknowns.without_quotes(text));
            }
        }
    }

    /// The text as one word, as between quotes.
    fn as_one_word(&mut self, text: String) -> String {
        self.unknowns.as_one_word(&text).unwrap_or(text)
    }

    /// Expands a word that is not split: the value of an assignment, a file name, a pattern.
    pub fn text(&mut self, shell: &mut Shell, raw: &str) -> String {
        if raw.contains(['$', '`', '\'', '"', '\\', '~']) {
            self.joined(shell, raw, Rules::Word)
        } else {
            raw.to_owned()
        }
    }

    /// Expands a pattern; what is quoted in it stands for itself.
    pub(super) fn pattern(&mut self, shell: &mut Shell, raw: &str) -> String {
        self.joined_as(
            shell,
            raw,
            Rules::Word,
            |text, is_quoted| {
                if is_quoted { pattern::escaped(&text) } else { text }
            },
        )
    }

    /// Expands the body of a here-document whose delimiter is not quoted.
    pub fn here_document(&mut self, shell: &mut Shell, raw: &str) -> String {
        if !raw.contains(['$', '`', '\\']) {
            return raw.to_owned();
        }
        match lift_document(raw, &mut self.documents) {
            Ok(lifted) => self.joined(shell, &lifted, Rules::HereDocument).replace(APART, ""),
            Err(problem) => {
                self.complain(Complaint::HereDocument(problem));
                self.unread(shell, raw);
                self.unknowns.plain("…")
            }
        }
    }

    /// Expands a text that is used as a prompt. There, `\044` is a dollar sign, and text that is not known may run anything.
    pub fn prompt(&mut self, shell: &mut Shell, text: &str) -> String {
        if !is_known(text) {
            self.unread(shell, text);
        }
        let mut parts = text.split('\\');
        let mut decoded = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            match part.split_at_checked(3).map(|(octal, rest)| (u8::from_str_radix(octal, 8), rest)) {
                Some((Ok(byte), rest)) => decoded.extend([char::from(byte).to_string().as_str(), rest]),
                _ => decoded.extend(["\\", part]),
            }
        }
        self.here_document(shell, &decoded)
    }

    fn joined(&mut self, shell: &mut Shell, raw: &str, rules: Rules) -> String {
        self.joined_as(shell, raw, rules, |text, _| text)
    }

    /// Expands a word that is not split. `form` gets each part, and whether it is quoted.
    fn joined_as(
        &mut self,
        shell: &mut Shell,
        raw: &str,
        rules: Rules,
        form: impl Fn(String, bool) -> String,
    ) -> String {
        let mut joined = String::new();
        for piece in pieces(raw, rules) {
            let (part, is_quoted) = match piece {
                Piece::Text { text, quoted } => (text, quoted),
                Piece::Tilde(user) => (self.unknowns.plain(format!("~{user}")), false),
                Piece::Parameter { body, quoted } => {
                    let expansion = self.parameter(shell, body);
                    self.is_computed |= expansion.origin == Origin::Computed;
                    let separators = Self::variable_text(shell, "IFS").filter(|_| expansion.texts.len() > 1);
                    (expansion.joined(separators.as_deref(), &self.unknowns), quoted)
                }
                Piece::Command { body, quoted } => {
                    self.is_computed |= origin_of(&body) == Origin::Computed;
                    (self.substitution(shell, &body), quoted)
                }
                Piece::Arithmetic { body, quoted } => (self.arithmetic(shell, body), quoted),
            };
            joined.push_str(&form(part, is_quoted));
            if self.exhausted() {
                break;
            }
        }
        self.spend(joined.len() / 64);
        joined
    }

    fn parameter(&mut self, shell: &mut Shell, body: &str) -> Expansion {
        if self.depth_reached() {
            return Expansion::text(self.unknowns.plain(format!("${{{body}}}")), Origin::Assigned);
        }
        self.depth += 1;
        let (mut expansion, is_computed) = self.computed(|this| parameter::expand(this, shell, body));
        self.depth -= 1;
        if is_computed {
            expansion.origin = Origin::Computed;
        }
        expansion
    }

    /// Whether a text that a part expands is computed.
    pub fn computed<T>(&mut self, run: impl FnOnce(&mut Self) -> T) -> (T, bool) {
        let outer = std::mem::take(&mut self.is_computed);
        let result = run(self);
        (result, std::mem::replace(&mut self.is_computed, outer))
    }

    fn arithmetic(&mut self, shell: &mut Shell, body: &str) -> String {
        let expression = if body.contains(['$', '`']) {
            self.joined(shell, body, Rules::HereDocument)
        } else {
            body.to_owned()
        };
        self.run_computed(shell, &expression);
        let before = shell.clone();
        let outcome = self.calculate(shell, &expression);
        self.is_computed |= outcome.is_computed;
        if outcome.may_fail {
            self.may_fail(&before);
            self.may_fail(shell);
        }
        let source = format!("$(({}))", self.unknowns.show(&expression));
        outcome.value.map_or_else(|| self.unknowns.number(source), |value| value.to_string())
    }

    /// Runs the substitutions in an expansion that was not followed, or not everywhere: those in the quotes of a pattern, too.
    pub fn run_rest(&mut self, shell: &Shell, text: &str, before: usize) {
        if text.contains(['`', '(']) && self.substitutions - before < substitutions_in(text) {
            let mut inner = shell.clone();
            self.inside(Construct::Branch("if it is expanded"), |this| this.here_document(&mut inner, text));
        }
    }

    /// Runs `<( … )`, or prepares `>( … )` for what is written to it, and returns the path.
    fn process_substitution(&mut self, shell: &Shell, body: &str, writes: bool) -> String {
        let sign = if writes { '>' } else { '<' };
        let source = format!("{sign}({})", self.unknowns.show(body));
        if writes {
            let program = self.parsed(&format!("{{ {body}\n}}"));
            if let Some([list]) = program.as_ref().ok().map(|program| program.complete_commands.as_slice()) {
                return self.add_sink(shell, list.clone(), source, false);
            }
            self.unread(shell, body);
            return self.unknowns.plain(source);
        }
        let printed = self.inside(Construct::ProcessSubstitution, |this| {
            this.forked(shell, |this, inner| this.run_script(inner, body))
        });
        self.unknowns.mark(Unknown { source, content: Some(printed), ..Unknown::default() })
    }

    /// Runs `$( … )` and returns its output.
    fn substitution(&mut self, shell: &Shell, body: &str) -> String {
        self.substitutions += 1;
        for (sign, writes) in [(READS, false), (WRITES, true)] {
            if let Some(body) = body.strip_prefix(sign) {
                return self.process_substitution(shell, body, writes);
            }
        }
        // `$(<file)` prints the file.
        let script = if self.only_opens_file(body) { format!("cat {body}") } else { body.to_owned() };
        let outer = std::mem::take(&mut self.left_early);
        let printed = self.inside(Construct::Substitution, |this| {
            this.forked(shell, |this, inner| this.run_script(inner, &script))
        });
        let early = std::mem::replace(&mut self.left_early, outer);
        let printed = if early.is_empty() { printed } else { self.unless_left(printed, early) };
        let printed = if are_printers(shell, body) { printed } else { self.gathered(printed) };
        let printed = printed.trim_end_matches('\n');
        if is_known(printed) {
            return printed.replace('\0', "");
        }
        let listing = self.unknowns.only_mark(printed).and_then(|unknown| unknown.listing.clone());
        if listing.is_none() && self.unknowns.only_mark(printed).is_none() {
            return printed.to_owned();
        }
        let printed = self.unknowns.only_mark(printed).cloned().unwrap_or_default();
        let computed = if printed.source.starts_with("$(computed ") { "computed " } else { "" };
        let source = format!("$({computed}{})", self.unknowns.show(body));
        self.unknowns.mark(Unknown {
            source,
            listing,
            many: true,
            content: None,
            candidates: printed
                .candidates
                .iter()
                .map(|text| text.trim_end_matches('\n').to_owned())
                .collect(),
            is_one_word: false,
            ..printed
        })
    }

    /// Whether a script is nothing but a file that is opened: `<file`.
    fn only_opens_file(&mut self, script: &str) -> bool {
        let input = script.trim_start().trim_start_matches('0');
        if !input.starts_with('<')
            || input.get(1..).is_some_and(|rest| rest.starts_with(['<', '(', '&', '>']))
        {
            return false;
        }
        let Ok(program) = self.parsed(script) else { return false };
        let [list] = program.complete_commands.as_slice() else { return false };
        let [ast::CompoundListItem(ast::AndOrList { first, additional }, _)] = list.0.as_slice() else {
            return false;
        };
        let ([ast::Command::Simple(command)], []) = (first.seq.as_slice(), additional.as_slice()) else {
            return false;
        };
        command.word_or_name.is_none() && command.suffix.is_none()
    }

    /// What a part prints that may end early, after these texts.
    pub fn unless_left(&mut self, printed: String, mut early: Vec<String>) -> String {
        if printed.lines().count() > 1 || !is_known(&printed) {
            let is_any = early.iter().chain([&printed]).any(|text| self.unknowns.are_any(text));
            let made_from = Some(early.join("\n") + "\n" + &printed);
            let source = "$(…)".to_owned();
            return self.unknowns.mark(Unknown {
                source,
                made_from,
                many: true,
                is_any,
                ..Unknown::default()
            });
        }
        early.extend([printed, String::new()]);
        self.one_of(early, "…")
    }

    /// The text of a variable; `None` when the script does not set it.
    pub fn variable_text(shell: &Shell, name: &str) -> Option<String> {
        Some(shell.get(name)?.value.text())
    }
}

/// The origin of what a substitution prints. The name of a program is found with certainty, and plain words are printed as they are.
fn origin_of(body: &str) -> Origin {
    let is_plain = |word: &str| {
        word.chars().all(|c| c.is_ascii_alphanumeric() || "_./:-".contains(c)) && !word.starts_with('-')
    };
    let words: Vec<&str> = body.split_whitespace().collect();
    let printed = match words.as_slice() {
        ["command", "-v", word]
        | ["type", "-P", word]
        | ["which" | "echo", word]
        | ["printf", "%s" | "'%s'" | "\"%s\"" | "'%s\\n'", word] => Some(word),
        _ => None,
    };
    if printed.is_some_and(|word| is_plain(word)) { Origin::Assigned } else { Origin::Computed }
}

/// Number of substitutions in a text as in double quotes, and in the expansions in it.
fn substitutions_in(text: &str) -> usize {
    let count = |piece: &Piece<'_>| match piece {
        Piece::Command { .. } => 1,
        Piece::Parameter { body, .. } | Piece::Arithmetic { body, .. } => substitutions_in(body),
        Piece::Text { .. } | Piece::Tilde(_) => 0,
    };
    pieces(text, Rules::HereDocument).iter().map(count).sum()
}

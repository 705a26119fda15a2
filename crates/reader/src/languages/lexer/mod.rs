//! Cuts code of other languages into tokens.
//!
//! Two views use them: the reader finds calls in all that it can read, and the policy proves that code only reads, where
//! nothing in the code is ambiguous.

mod perl;
mod slash;

use super::names::ruby;
use super::text::{
    Escapes, Interpolation, Kind, Part, Text, after_number, closing, code_in, delimited, split_at_end,
};
use crate::catalogue::program::Language;

/// A token of code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Token {
    /// A name or a keyword.
    Name(String),
    /// A text.
    Text(Text),
    /// A text that the language runs in a shell: backquotes, `%x(…)`, `qx(…)`.
    Shell(Text),
    /// A field of a record of awk: `$1`.
    Field(String),
    /// A number or a pattern.
    Value,
    /// `++`, `--`, `||`, `&&`, `>>`, or a `<` of Perl with a blank or `=` after it.
    Operator(&'static str),
    /// Any other character.
    Symbol(char),
    /// The end of a line.
    Line,
}

impl Token {
    /// The name, if it is one.
    pub fn name(&self) -> Option<&str> {
        if let Self::Name(name) = self { Some(name) } else { None }
    }

    /// The text, if it is one without expressions.
    pub fn literal(&self) -> Option<&str> {
        if let Self::Text(text) = self { text.literal() } else { None }
    }

    /// Whether it is this symbol.
    pub fn is(&self, symbol: char) -> bool {
        *self == Self::Symbol(symbol)
    }

    /// By how much it changes the depth of brackets.
    pub fn nesting(&self) -> i32 {
        match self {
            Self::Symbol('(' | '[' | '{') => 1,
            Self::Symbol(')' | ']' | '}') => -1,
            _ => 0,
        }
    }
}

/// Tokens by their index. An index that wraps below the first token is outside of the code, as one behind the last is.
pub trait Places {
    /// The name at an index, if one is there.
    fn name_at(&self, at: usize) -> Option<&str>;
    /// The literal text at an index, if one is there.
    fn literal_at(&self, at: usize) -> Option<&str>;
    /// Whether this symbol is at an index.
    fn is_at(&self, at: usize, symbol: char) -> bool;
    /// The index of the bracket that closes the one at an index, if one does.
    fn closing(&self, open: usize) -> Option<usize>;
}

impl Places for [Token] {
    fn name_at(&self, at: usize) -> Option<&str> {
        self.get(at)?.name()
    }

    fn literal_at(&self, at: usize) -> Option<&str> {
        self.get(at)?.literal()
    }

    fn is_at(&self, at: usize, symbol: char) -> bool {
        self.get(at).is_some_and(|token| token.is(symbol))
    }

    fn closing(&self, open: usize) -> Option<usize> {
        let mut depth = 0;
        (open..self.len()).find(|at| {
            let nesting = self.get(*at).map_or(0, Token::nesting);
            depth += nesting;
            nesting < 0 && depth <= 0
        })
    }
}

/// The tokens of code, of which ambiguous parts are read in one way.
pub fn tokens(code: &str, language: Language) -> Vec<Token> {
    Lexer::new(code, language).run().0
}

/// The tokens of code; `None` where it is ambiguous.
pub fn clear_tokens(code: &str, language: Language) -> Option<Vec<Token>> {
    let (tokens, doubts) = Lexer::new(code, language).run();
    (doubts == 0).then_some(tokens)
}

/// The tokens of code without those of expressions in texts, and where each of them begins.
pub fn located_tokens(code: &str, language: Language) -> (Vec<Token>, Vec<usize>) {
    let mut lexer = Lexer::new(code, language);
    lexer.read();
    (lexer.tokens, lexer.starts)
}

/// The number of ambiguous places after which patterns and quote operators are not read.
const MOST_DOUBTS: usize = 64;

/// The maximum nesting of texts whose code is read.
const DEEPEST: usize = 4;

/// Whether an expression in a text of Ruby or PHP ends behind the text: it contains quotes.
fn is_cut(text: &Text) -> bool {
    let is_open = |part: &Part| {
        let source = part.source();
        part.known().is_none()
            && source.starts_with(['#', '{', '$'])
            && source.contains('{')
            && !source.ends_with('}')
    };
    text.parts.iter().any(is_open)
}

struct Lexer<'a> {
    language: Language,
    code: &'a str,
    rest: &'a str,
    tokens: Vec<Token>,
    /// Where each token begins in the code.
    starts: Vec<usize>,
    /// The tokens of expressions in texts; they follow the others.
    inner: Vec<Token>,
    /// The number of ambiguous places.
    doubts: usize,
    /// The number of texts around this code.
    depth: usize,
    /// For each open bracket, whether it belongs to `if`, `while` or `for`.
    heads: Vec<bool>,
    /// Whether the last closed bracket did.
    closed_head: bool,
}

impl<'a> Lexer<'a> {
    fn new(code: &'a str, language: Language) -> Self {
        let (tokens, starts, inner, heads) = (vec![], vec![], vec![], vec![]);
        Self {
            language,
            code,
            rest: code,
            tokens,
            starts,
            inner,
            doubts: 0,
            depth: 0,
            heads,
            closed_head: false,
        }
    }

    fn run(mut self) -> (Vec<Token>, usize) {
        self.read();
        self.tokens.append(&mut self.inner);
        (self.tokens, self.doubts)
    }

    fn read(&mut self) {
        while let Some(c) = self.rest.chars().next() {
            let after = self.rest.get(c.len_utf8()..).unwrap_or_default();
            let before = self.rest;
            if !self.comment() && self.special(c, after).is_none() {
                self.rest = before;
                self.plain(c, after);
            }
            self.starts.resize(self.tokens.len(), self.code.len() - before.len());
        }
        self.tokens.push(Token::Line);
        self.starts.push(self.code.len());
    }

    fn is_script(&self) -> bool {
        matches!(self.language, Language::Node | Language::Deno)
    }

    /// Whether the end of a text may be searched: a search that fails takes as long as the rest of the code.
    fn may_search(&self) -> bool {
        self.doubts < MOST_DOUBTS
    }

    fn doubt(&mut self) {
        self.doubts += 1;
    }

    /// The token before the current one; a line break ends a statement of awk only.
    fn last(&self) -> Option<&Token> {
        let mut tokens = self.tokens.iter().rev();
        tokens.find(|token| self.language == Language::Awk || **token != Token::Line)
    }

    fn comment(&mut self) -> bool {
        let begins = |text: &str| self.rest.starts_with(text);
        let rest = match self.language {
            Language::Node | Language::Deno | Language::Php if begins("/*") && self.may_search() => {
                let end = self.rest.get(2..).and_then(|text| text.split_once("*/"));
                let Some((_, after)) = end else {
                    self.doubt();
                    return false;
                };
                self.rest = after;
                return true;
            }
            // The first line may name the interpreter.
            Language::Node | Language::Deno => {
                begins("//") || begins("#!") && self.rest.len() == self.code.len()
            }
            Language::Php if begins("<?") || begins("?>") => {
                let tag =
                    ["<?php", "<?=", "<?", "?>"].into_iter().find(|tag| begins(tag)).unwrap_or_default();
                self.rest = self.rest.get(tag.len()..).unwrap_or_default();
                return true;
            }
            Language::Php => begins("//") || begins("#"),
            Language::Lua => begins("--") && !begins("--["),
            _ => begins("#"),
        };
        if rest {
            self.rest = self.rest.get(self.rest.find('\n').unwrap_or(self.rest.len())..).unwrap_or_default();
        }
        rest
    }

    /// Reads a token that is not one character; `None` where there is none.
    fn special(&mut self, c: char, after: &'a str) -> Option<()> {
        use Language::{Awk, Lua, Perl, Ruby};
        match (c, self.language) {
            ('"', _) => self.quoted(c),
            ('\'' | '`', language) if language != Awk => self.quoted(c),
            ('[', Lua) if after.starts_with(['[', '=']) => {
                let signs = after.find(|c| c != '=')?;
                let body = after.get(signs..)?.strip_prefix('[')?;
                let end = format!("]{}]", "=".repeat(signs));
                let (text, rest) = body.split_once(&end).unwrap_or((body, ""));
                self.text(Text::of(text, Interpolation::Nothing, Escapes::None), rest)
            }
            ('$', Awk) if after.starts_with(|c: char| c.is_ascii_alphanumeric()) => {
                let rest = after.trim_start_matches(|c: char| c.is_ascii_alphanumeric());
                self.push(Token::Field(self.rest.get(..self.rest.len() - rest.len())?.to_owned()), rest)
            }
            ('$' | '@', Perl) => self.variable(c, after),
            ('<', Perl) if self.expects_value() && after.starts_with(['>', 'S']) => {
                let rest = after.strip_prefix("STDIN").unwrap_or(after).strip_prefix('>')?;
                self.push(Token::Value, rest)
            }
            ('<', Perl) if after.starts_with(['=', ' ']) => self.push(Token::Operator("<"), after),
            ('%', Ruby)
                if after.starts_with(['x', 'q', 'Q', 'w'])
                    && after.chars().nth(1).is_some_and(|c| "({[<|!/".contains(c)) =>
            {
                let whole = delimited(after.get(1..)?);
                if whole.is_none() {
                    self.doubt();
                }
                let (body, rest) = whole.unwrap_or((after.get(2..)?, ""));
                self.percent_of_ruby(after, body, rest)
            }
            ('%' | '?' | '<' | '=', Ruby) => {
                self.ruby(c, after);
                None
            }
            ('/', _) => self.slash(after),
            _ if c.is_ascii_digit() => self.push(Token::Value, after_number(self.rest)),
            _ if self.is_name(c) => self.name(),
            _ => None,
        }
    }

    /// A text of Ruby that begins with `%` and a letter.
    fn percent_of_ruby(&mut self, after: &str, body: &'a str, rest: &'a str) -> Option<()> {
        let mut chars = after.chars();
        let (kind, open) = (chars.next()?, chars.next()?);
        let plain = Escapes::Delimiters(open, closing(open));
        let text = Text::of(body, Interpolation::Ruby, Escapes::Of(Language::Ruby, open));
        if matches!(kind, 'x' | 'Q') && is_cut(&text) {
            self.doubt();
        }
        match kind {
            'x' => self.push(Token::Shell(text), rest),
            'w' => {
                // `\ ` is a blank in a word.
                if body.contains('\\') {
                    self.doubt();
                }
                self.tokens.push(Token::Symbol('['));
                self.words(body, plain);
                self.push(Token::Symbol(']'), rest)
            }
            'q' => self.text(Text::of(body, Interpolation::Nothing, plain), rest),
            _ => self.text(text, rest),
        }
    }

    /// Doubts what begins a text of Ruby that is not read: `%(…)`, `?"`, `<<END`, `=begin`.
    fn ruby(&mut self, c: char, after: &str) {
        let next = after.chars().next().unwrap_or('\n');
        let is_value = match self.tokens.last() {
            Some(Token::Name(name)) => !ruby::BEFORE_PATTERNS.has(name),
            Some(Token::Text(_) | Token::Value | Token::Symbol(')' | ']' | '}')) => true,
            _ => false,
        };
        let begins = match c {
            '%' => !is_value || !(next == ' ' || next.is_ascii_digit()),
            '?' => "'\"`#%/\\\n".contains(next),
            '<' => {
                next == '<'
                    && after.get(1..).is_some_and(|after| {
                        after.starts_with(|c: char| c.is_alphabetic() || "_~-\"'`".contains(c))
                    })
            }
            _ => after.starts_with("begin"),
        };
        if begins {
            self.doubt();
        }
    }

    fn plain(&mut self, c: char, after: &'a str) {
        let starts = |text: &str| after.starts_with(text);
        let is_awk = self.language == Language::Awk;
        let (token, length) = match c {
            '\n' => (Some(Token::Line), 0),
            '\\' if starts("\n") => (None, 1),
            '\\' if starts("\r\n") => (None, 2),
            _ if c.is_whitespace() => (None, 0),
            '+' if starts("+") => (Some(Token::Operator("++")), 1),
            '-' if starts("-") => (Some(Token::Operator("--")), 1),
            '|' if starts("|") => (Some(Token::Operator("||")), 1),
            '&' if starts("&") => (Some(Token::Operator("&&")), 1),
            '>' if starts(">") => (Some(Token::Operator(">>")), 1),
            // It does not redirect.
            '>' if is_awk && starts("=") => (Some(Token::Symbol('=')), 1),
            _ => (Some(Token::Symbol(c)), 0),
        };
        if c == '(' {
            let name = self.tokens.last().and_then(Token::name);
            self.heads.push(name.is_some_and(|name| matches!(name, "if" | "while" | "for" | "with")));
        } else if c == ')' {
            self.closed_head = self.heads.pop().unwrap_or_default();
        }
        self.tokens.extend(token);
        self.rest = after.get(length..).unwrap_or_default();
    }

    #[allow(clippy::unnecessary_wraps, reason = "the last step of readers that may find nothing")]
    fn push(&mut self, token: Token, rest: &'a str) -> Option<()> {
        self.tokens.push(token);
        self.rest = rest;
        Some(())
    }

    fn text(&mut self, text: Text, rest: &'a str) -> Option<()> {
        self.push(Token::Text(text), rest)
    }

    /// Adds each word of a list without quotes.
    fn words(&mut self, body: &str, escapes: Escapes) {
        for word in body.split_whitespace() {
            self.tokens.push(Token::Text(Text::of(word, Interpolation::Nothing, escapes)));
            self.tokens.push(Token::Symbol(','));
        }
    }

    fn is_name(&self, c: char) -> bool {
        c.is_alphanumeric() || c == '_' || (c == '$' && self.is_script())
    }

    /// A text that begins with its quote.
    fn quoted(&mut self, quote: char) -> Option<()> {
        let is_python = self.language == Language::Python;
        let triple: String = std::iter::repeat_n(quote, 3).collect();
        let is_triple = is_python && self.rest.starts_with(&triple);
        let end = if is_triple { triple } else { quote.to_string() };
        let body = self.rest.get(end.len()..)?;
        let (body, rest) = split_at_end(body, &end).unwrap_or_else(|| {
            self.doubt();
            (body, "")
        });
        let one_line = matches!(self.language, Language::Python | Language::Awk) || self.is_script();
        if (one_line && !is_triple && quote != '`' && body.contains('\n')) || (is_python && quote == '`') {
            self.doubt();
        }
        let prefix = if is_python { self.prefix() } else { String::new() };
        let interpolation = match self.language {
            Language::Python if prefix.contains('f') => Interpolation::Braces,
            Language::Node | Language::Deno if quote == '`' => Interpolation::Dollar,
            Language::Perl if quote != '\'' => Interpolation::Perl,
            Language::Ruby if quote != '\'' => Interpolation::Ruby,
            Language::Php if quote != '\'' => Interpolation::Php,
            _ => Interpolation::Nothing,
        };
        if matches!(interpolation, Interpolation::Braces | Interpolation::Dollar) {
            self.computed(body);
        }
        if interpolation == Interpolation::Perl {
            self.code_of_perl(body, Kind::Text);
        }
        let escapes = match self.language {
            _ if prefix.contains('r') => Escapes::None,
            Language::Perl | Language::Ruby | Language::Php if quote == '\'' => {
                Escapes::Delimiters(quote, quote)
            }
            language => Escapes::Of(language, quote),
        };
        let text = Text::of(body, interpolation, escapes);
        if matches!(interpolation, Interpolation::Ruby | Interpolation::Php) && is_cut(&text) {
            self.doubt();
        }
        // `$`…`` of zx and Bun runs a command.
        let is_tagged = self.tokens.last().and_then(Token::name) == Some("$");
        let is_shell = match self.language {
            Language::Node | Language::Deno => is_tagged,
            language => language != Language::Python,
        };
        self.push(if quote == '`' && is_shell { Token::Shell(text) } else { Token::Text(text) }, rest)
    }

    /// Reads the code within a text or a pattern of Perl, which is doubtful.
    fn code_of_perl(&mut self, text: &str, kind: Kind) {
        for code in code_in(text, kind) {
            self.doubt();
            if self.depth < DEEPEST {
                let mut lexer = Lexer::new(code, self.language);
                lexer.depth = self.depth + 1;
                self.inner.extend(lexer.run().0);
            }
        }
    }

    /// Takes back the prefix of a text of Python that was read as a name, and returns it in lower case.
    fn prefix(&mut self) -> String {
        let before = self.code.get(..self.code.len() - self.rest.len()).unwrap_or_default();
        let is_prefix = |name: &str| name.len() <= 2 && name.chars().all(|c| "rbfuRBFU".contains(c));
        match self.tokens.last().and_then(Token::name) {
            Some(name) if is_prefix(name) && before.ends_with(char::is_alphabetic) => {
                let name = name.to_ascii_lowercase();
                self.tokens.pop();
                name
            }
            _ => String::new(),
        }
    }

    /// Reads what is computed within a text: `{…}` in Python, `${…}` in JavaScript.
    fn computed(&mut self, text: &str) {
        let is_python = self.language == Language::Python;
        let open = if is_python { "{" } else { "${" };
        let text = if is_python { text.replace("{{", "").replace("}}", "") } else { text.to_owned() };
        let mut rest = text.as_str();
        while let Some((_, body)) = rest.split_once(open) {
            let mut depth = 1;
            let end = body.char_indices().find_map(|(at, c)| {
                depth += i32::from(c == '{') - i32::from(c == '}');
                (depth == 0).then_some(at)
            });
            let Some((inside, after)) = end.map(|end| body.split_at(end)) else { return self.doubt() };
            let (tokens, doubts) = Lexer::new(inside, self.language).run();
            self.inner.extend(tokens);
            self.doubts += doubts;
            rest = after.get(1..).unwrap_or_default();
        }
    }

    fn name(&mut self) -> Option<()> {
        let rest = self.rest.trim_start_matches(|c| self.is_name(c));
        let name = self.rest.get(..self.rest.len() - rest.len())?;
        if self.language == Language::Perl && self.may_search() && self.quote_of_perl(name, rest).is_some() {
            return Some(());
        }
        self.push(Token::Name(name.to_owned()), rest)
    }
}

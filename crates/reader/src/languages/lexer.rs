//! Cuts code of other languages into tokens.
//!
//! Two views use them: the reader finds calls in whatever it can read, and the policy proves that code only reads, where
//! nothing in the code is ambiguous.

use super::names::{Names, awk, node, perl};
use super::sed::bracket;
use super::text::{Interpolation, Text, closing, delimited, split_at_end};
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

    /// Whether it is this symbol.
    pub fn is(&self, symbol: char) -> bool {
        *self == Self::Symbol(symbol)
    }
}

/// The tokens of code, of which ambiguous parts are read in one way.
pub fn tokens(code: &str, language: Language) -> Vec<Token> {
    Lexer::new(code, language).run().0
}

/// The tokens of code; `None` where it is ambiguous.
pub fn clear_tokens(code: &str, language: Language) -> Option<Vec<Token>> {
    let (tokens, is_clear) = Lexer::new(code, language).run();
    is_clear.then_some(tokens)
}

/// What a `/` is.
enum Slash {
    Divides,
    BeginsPattern,
    Unclear,
}

/// Characters that a variable of Perl may have as its name.
const PERL_VARIABLES: &str = ".,/\\;&!@\"|+";

/// What makes a text or a pattern of Perl run code.
const PERL_CODE: Names = Names(&["@{", "${", "(?{", "(??", "(*", "$$", "@$", "->"]);

struct Lexer<'a> {
    language: Language,
    code: &'a str,
    rest: &'a str,
    tokens: Vec<Token>,
    /// The tokens of expressions in texts; they follow the others.
    inner: Vec<Token>,
    is_clear: bool,
    /// For each open bracket, whether it belongs to `if`, `while` or `for`.
    heads: Vec<bool>,
    /// Whether the last closed bracket did.
    closed_head: bool,
}

impl<'a> Lexer<'a> {
    fn new(code: &'a str, language: Language) -> Self {
        let (tokens, inner, heads) = (vec![], vec![], vec![]);
        Self { language, code, rest: code, tokens, inner, is_clear: true, heads, closed_head: false }
    }

    fn run(mut self) -> (Vec<Token>, bool) {
        while let Some(c) = self.rest.chars().next() {
            let after = self.rest.get(c.len_utf8()..).unwrap_or_default();
            let before = self.rest;
            if !self.comment() && self.special(c, after).is_none() {
                self.rest = before;
                self.plain(c, after);
            }
        }
        self.tokens.push(Token::Line);
        self.tokens.append(&mut self.inner);
        (self.tokens, self.is_clear)
    }

    fn is_script(&self) -> bool {
        matches!(self.language, Language::Node | Language::Deno)
    }

    fn doubt(&mut self) {
        self.is_clear = false;
    }

    /// The token before the current one; a line break ends a statement of awk only.
    fn last(&self) -> Option<&Token> {
        let mut tokens = self.tokens.iter().rev();
        tokens.find(|token| self.language == Language::Awk || **token != Token::Line)
    }

    fn comment(&mut self) -> bool {
        let begins = |text: &str| self.rest.starts_with(text);
        let rest = match self.language {
            Language::Node | Language::Deno if begins("/*") => {
                let end = self.rest.get(2..).and_then(|text| text.split_once("*/"));
                let Some((_, after)) = end else {
                    self.doubt();
                    return false;
                };
                self.rest = after;
                return true;
            }
            Language::Node | Language::Deno => begins("//"),
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
                self.text(Text::plain(text, Interpolation::Nothing), rest)
            }
            ('$', Awk) if after.starts_with(|c: char| c.is_ascii_alphanumeric()) => {
                let rest = after.trim_start_matches(|c: char| c.is_ascii_alphanumeric());
                self.push(Token::Field(self.rest.get(..self.rest.len() - rest.len())?.to_owned()), rest)
            }
            ('$' | '@', Perl) => {
                let special = after.chars().next().filter(|next| {
                    let is_process = *next == '$'
                        && !after.get(1..).is_some_and(|after| {
                            after.starts_with(|c: char| c.is_alphanumeric() || "_{$:".contains(c))
                        });
                    c == '$' && (is_process || PERL_VARIABLES.contains(*next))
                });
                self.tokens.push(Token::Symbol(c));
                self.rest = after;
                match special {
                    Some(name) => self.push(Token::Name(name.to_string()), after.get(1..)?),
                    None if after.starts_with(|c: char| c.is_ascii_digit()) => {
                        let rest = after.trim_start_matches(|c: char| c.is_ascii_digit());
                        let number = after.get(..after.len() - rest.len())?;
                        self.push(Token::Name(number.to_owned()), rest)
                    }
                    // `$#list`.
                    None if after.starts_with('#') => self.push(Token::Symbol('#'), after.get(1..)?),
                    None => Some(()),
                }
            }
            ('<', Perl) if self.expects_value() && after.starts_with(['>', 'S']) => {
                let rest = after.strip_prefix("STDIN").unwrap_or(after).strip_prefix('>')?;
                self.push(Token::Value, rest)
            }
            ('<', Perl) if after.starts_with(['=', ' ']) => self.push(Token::Operator("<"), after),
            ('%', Ruby)
                if after.starts_with(['x', 'q', 'Q', 'w'])
                    && after.chars().nth(1).is_some_and(|c| "({[<|!/".contains(c)) =>
            {
                let (body, rest) = delimited(after.get(1..)?).unwrap_or((after.get(2..)?, ""));
                match after.chars().next()? {
                    'x' => self.push(Token::Shell(Text::plain(body, Interpolation::Hash)), rest),
                    'w' => {
                        self.tokens.push(Token::Symbol('['));
                        self.words(body);
                        self.push(Token::Symbol(']'), rest)
                    }
                    _ => self.text(Text::plain(body, Interpolation::Hash), rest),
                }
            }
            ('/', _) => self.slash(after),
            _ if c.is_ascii_digit() => self.push(Token::Value, after_number(self.rest)),
            _ if self.is_name(c) => self.name(),
            _ => None,
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

    fn push(&mut self, token: Token, rest: &'a str) -> Option<()> {
        self.tokens.push(token);
        self.rest = rest;
        Some(())
    }

    fn text(&mut self, text: Text, rest: &'a str) -> Option<()> {
        self.push(Token::Text(text), rest)
    }

    /// Adds each word of a list without quotes.
    fn words(&mut self, body: &str) {
        for word in body.split_whitespace() {
            self.tokens.push(Token::Text(Text::plain(word, Interpolation::Nothing)));
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
            Language::Perl | Language::Ruby | Language::Php if quote != '\'' => Interpolation::Hash,
            _ => Interpolation::Nothing,
        };
        if matches!(interpolation, Interpolation::Braces | Interpolation::Dollar) {
            self.computed(body);
        }
        if self.language == Language::Perl && quote == '"' && PERL_CODE.are_in(body) {
            self.doubt();
        }
        let text = if prefix.contains('r') {
            Text::plain(body, interpolation)
        } else {
            Text::escaped(body, interpolation)
        };
        // `$`…`` of zx and Bun runs a command.
        let is_tagged = self.tokens.last().and_then(Token::name) == Some("$");
        let is_shell = match self.language {
            Language::Node | Language::Deno => is_tagged,
            language => language != Language::Python,
        };
        self.push(if quote == '`' && is_shell { Token::Shell(text) } else { Token::Text(text) }, rest)
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
            let (tokens, is_clear) = Lexer::new(inside, self.language).run();
            self.inner.extend(tokens);
            self.is_clear &= is_clear;
            rest = after.get(1..).unwrap_or_default();
        }
    }

    fn name(&mut self) -> Option<()> {
        let rest = self.rest.trim_start_matches(|c| self.is_name(c));
        let name = self.rest.get(..self.rest.len() - rest.len())?;
        if self.language == Language::Perl && self.quote_of_perl(name, rest).is_some() {
            return Some(());
        }
        self.push(Token::Name(name.to_owned()), rest)
    }

    /// A quote operator of Perl: `q(…)`, `m{…}`, `s/…/…/`; `None` for other names, and where it runs code.
    fn quote_of_perl(&mut self, name: &str, tail: &'a str) -> Option<()> {
        let bodies = match name {
            "q" | "qq" | "qw" | "qx" | "m" | "qr" => 1,
            "s" | "tr" | "y" => 2,
            _ => return None,
        };
        let text = tail.trim_start();
        let first = text.chars().next()?;
        let direct = text.len() == tail.len();
        let is_variable = matches!(self.tokens.last(), Some(Token::Symbol('$' | '@' | '%' | '>')));
        if is_variable || first.is_alphanumeric() || "_=;)}$@%".contains(first) || (!direct && first == '#') {
            return None;
        }
        if !(direct && "/{|!,#~([<".contains(first)) {
            self.doubt();
            if first == ',' {
                return None;
            }
        }
        let one = delimited(text);
        if one.is_none() {
            self.doubt();
        }
        let (body, mut rest) = one.unwrap_or((text.get(first.len_utf8()..)?, ""));
        let known = match name {
            "m" | "qr" => "gimsxoc",
            "s" => "gimsxor",
            "tr" | "y" => "cdsr",
            _ => "",
        };
        if PERL_CODE.are_in(body) && !matches!(name, "q" | "qw" | "tr" | "y") {
            self.doubt();
        }
        if bodies == 2 {
            // With brackets, the second body has its own.
            let from = text.len() - rest.len();
            let second = if closing(first) == first {
                text.get(from - first.len_utf8()..)
            } else {
                Some(rest.trim_start()).filter(|rest| rest.starts_with(first))
            };
            let Some((second, after)) = second.and_then(delimited) else {
                self.doubt();
                return None;
            };
            if PERL_CODE.are_in(second) && name == "s" {
                self.doubt();
            }
            rest = after;
        }
        match name {
            "q" => self.text(Text::plain(body, Interpolation::Nothing), rest),
            "qq" => self.text(Text::plain(body, Interpolation::Hash), rest),
            "qx" => self.push(Token::Shell(Text::plain(body, Interpolation::Hash)), rest),
            "qw" => {
                self.words(body);
                self.rest = rest;
                Some(())
            }
            _ => {
                let rest = self.flags(rest, known)?;
                self.push(Token::Value, rest)
            }
        }
    }

    /// What follows the flags of a pattern of Perl; `None` where one of them runs code.
    fn flags(&mut self, text: &'a str, known: &str) -> Option<&'a str> {
        let rest = text.trim_start_matches(|c: char| c.is_ascii_alphabetic());
        let flags = text.get(..text.len() - rest.len())?;
        // `… /x/if …` is a word behind the pattern.
        let words = ["if", "and", "or", "unless", "x"];
        if flags.chars().all(|c| known.contains(c)) || words.contains(&flags) {
            return Some(rest);
        }
        self.doubt();
        None
    }

    /// Whether a value of Perl may begin here.
    fn expects_value(&self) -> bool {
        let mut tokens = self.tokens.iter().rev().filter(|token| **token != Token::Line);
        match tokens.next() {
            Some(Token::Name(_)) => !matches!(tokens.next(), Some(Token::Symbol('$' | '@' | '%'))),
            Some(Token::Text(_) | Token::Value | Token::Symbol(')' | ']')) => false,
            _ => true,
        }
    }

    /// A `/`, which divides or begins a pattern.
    fn slash(&mut self, after: &'a str) -> Option<()> {
        let before_patterns = match self.language {
            Language::Awk => awk::BEFORE_PATTERNS,
            Language::Node | Language::Deno => node::BEFORE_PATTERNS,
            Language::Perl => perl::BEFORE_PATTERNS,
            _ => return None,
        };
        let slash = match self.kind_of_slash(before_patterns) {
            Slash::Divides => return None,
            Slash::BeginsPattern => match self.language {
                Language::Perl => delimited(self.rest).and_then(|(body, rest)| {
                    self.is_clear &= !PERL_CODE.are_in(body);
                    self.flags(rest, "gimsxoc")
                }),
                Language::Awk => after_pattern(after, true),
                _ => after_pattern(after, false)
                    .map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_alphabetic())),
            },
            Slash::Unclear => None,
        };
        if slash.is_none() {
            self.doubt();
        }
        self.push(Token::Value, slash?)
    }

    fn kind_of_slash(&self, before_patterns: Names) -> Slash {
        let is_awk = self.language == Language::Awk;
        let before = |count: usize| self.tokens.iter().rev().filter(|one| **one != Token::Line).nth(count);
        match self.last() {
            Some(Token::Name(name)) if is_awk && name == "getline" => Slash::Unclear,
            Some(Token::Name(name)) => match before(1) {
                Some(Token::Symbol('$' | '@' | '%')) if self.language == Language::Perl => Slash::Divides,
                Some(Token::Symbol('.')) if self.is_script() => Slash::Divides,
                _ if before_patterns.has(name) => Slash::BeginsPattern,
                _ if self.language == Language::Perl => Slash::Unclear,
                _ => Slash::Divides,
            },
            // Behind the head of an `if` it may be either.
            Some(Token::Symbol(')')) if self.closed_head => Slash::Unclear,
            Some(Token::Symbol('}')) if !is_awk => Slash::Unclear,
            Some(Token::Symbol(')' | ']')) => Slash::Divides,
            Some(Token::Symbol('$')) if is_awk => Slash::Divides,
            Some(Token::Text(_) | Token::Shell(_) | Token::Field(_) | Token::Value) => Slash::Divides,
            Some(Token::Operator("++" | "--")) => match before(1) {
                Some(Token::Name(_) | Token::Value | Token::Field(_) | Token::Symbol(')' | ']')) => {
                    Slash::Divides
                }
                Some(Token::Symbol('}')) => Slash::Unclear,
                _ => Slash::BeginsPattern,
            },
            _ => Slash::BeginsPattern,
        }
    }
}

/// What follows a number. Letters that do not belong to it are a name: `1system(…)` of awk calls a function.
fn after_number(text: &str) -> &str {
    let digits = |text: &'_ str| -> usize {
        text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '_').len()
    };
    if let Some(hex) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return hex.trim_start_matches(|c: char| c.is_ascii_hexdigit() || c == '_');
    }
    let mut rest = text.get(digits(text)..).unwrap_or_default();
    if let Some(fraction) = rest.strip_prefix('.').filter(|fraction| digits(fraction) > 0) {
        rest = fraction.get(digits(fraction)..).unwrap_or_default();
    }
    let exponent = rest.strip_prefix(['e', 'E']).map(|rest| rest.strip_prefix(['+', '-']).unwrap_or(rest));
    match exponent.filter(|exponent| exponent.starts_with(|c: char| c.is_ascii_digit())) {
        Some(exponent) => exponent.get(digits(exponent)..).unwrap_or_default(),
        None => rest,
    }
}

/// What follows a pattern whose opening `/` is gone. An awk that sees no bracket expression there finds it unclosed.
fn after_pattern(text: &str, is_awk: bool) -> Option<&str> {
    let mut rest = text;
    let mut in_class = false;
    loop {
        let c = rest.chars().next()?;
        let after = rest.get(c.len_utf8()..)?;
        rest = match c {
            '\\' => after.get(after.chars().next()?.len_utf8()..)?,
            '\n' => return None,
            '/' if !in_class => return Some(after),
            '[' if is_awk => bracket(after)?,
            '[' | ']' => {
                in_class = c == '[';
                after
            }
            _ => after,
        };
    }
}

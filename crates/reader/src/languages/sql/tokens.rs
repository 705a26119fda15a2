//! Cuts SQL into statements. Dialects differ in comments and strings; a text that two of them cut differently is ambiguous.

/// A part of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    /// A keyword, a name or a number, in lower case; dots belong to it: `pg_catalog.now`.
    Word(String),
    /// A string or a quoted name.
    Quoted(String),
    /// Any other character.
    Symbol(char),
    /// A command of the client itself: `\dt`, `.tables`, and the rest of its line.
    Client(String, String),
}

impl Token {
    /// The word; an empty text if the part is not a word.
    pub fn word(&self) -> &str {
        if let Self::Word(word) = self { word } else { "" }
    }
}

/// How one dialect, in one of its settings, cuts a text.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent yes-or-no facts")]
pub(super) struct Dialect {
    /// `MySQL`: `#` begins a comment, `--` only with a blank after it, and `$$` quotes nothing.
    pub is_mysql: bool,
    /// A backslash makes the quote after it a part of the string.
    pub escapes: bool,
    /// Comments nest.
    pub nests: bool,
    /// `SQLite`: `[` and `]` quote a name.
    pub brackets: bool,
    /// `PostgreSQL`: a backquote is an operator and quotes nothing.
    pub bare_backquotes: bool,
}

/// The statements of a text; `None` if dialects differ about it.
pub(super) fn clear_statements(text: &str) -> Option<Vec<Vec<Token>>> {
    let cut = Cut::new(text, Dialect::default()).run();
    cut.is_clear.then_some(cut.statements)
}

/// The statements of a text in one dialect, with those in `$$…$$` and in the arguments of commands of the client.
pub(super) fn statements(text: &str, dialect: Dialect) -> Vec<Vec<Token>> {
    let cut = Cut::new(text, dialect).run();
    let mut statements = cut.statements;
    statements.extend(cut.inner.into_iter().flat_map(|text| Cut::new(text, dialect).run().statements));
    statements
}

fn is_part_of_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '.' | '@' | '$')
}

/// Whether a line that is a comment in one dialect does something in another one.
fn does_something(line: &str) -> bool {
    line.contains(['\'', '"', '`', ';', '(', '\\'])
}

/// Whether a text that one dialect quotes ends a statement, or begins a string or a comment, in another one.
fn ends_something(text: &str) -> bool {
    text.contains(['\'', '"', '`', ';', '\\', '#'])
        || ["--", "/*", "$$"].iter().any(|mark| text.contains(mark))
}

/// The text without the strings that end in it.
fn without_strings(text: &str) -> String {
    let mut left = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.find(['\'', '"']).and_then(|at| {
        let quote = rest.get(at..=at)?;
        Some((rest.get(..at)?, rest.get(at + 1..)?.split_once(quote)?.1))
    }) {
        left.push_str(before);
        rest = after;
    }
    left + rest
}

/// The number of failed searches after which none is made.
const MOST_FAILED: usize = 64;

/// The rest of a text, and the statements before it.
struct Cut<'a> {
    dialect: Dialect,
    rest: &'a str,
    statements: Vec<Vec<Token>>,
    /// Texts that may contain further statements.
    inner: Vec<&'a str>,
    /// Whether all dialects cut the text in this way.
    is_clear: bool,
    /// The number of searches for the end of `$tag$` that failed; each takes as long as the rest of the text.
    failed: usize,
}

impl<'a> Cut<'a> {
    fn new(text: &'a str, dialect: Dialect) -> Self {
        Self { dialect, rest: text, statements: vec![vec![]], inner: vec![], is_clear: true, failed: 0 }
    }

    fn run(mut self) -> Self {
        let mut line_start = true;
        while let Some(c) = self.rest.chars().next() {
            let at_start = line_start && self.statements.last().is_none_or(Vec::is_empty);
            line_start = c == '\n' || (line_start && c.is_whitespace());
            match c {
                '.' if at_start && self.rest.chars().nth(1).is_some_and(char::is_alphabetic) => {
                    let line = self.take_while(|c| c != '\n');
                    let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
                    self.client(name.to_owned(), rest.trim());
                }
                '\\' => self.backslash(),
                '`' if self.dialect.bare_backquotes => self.symbol(c),
                '\'' | '"' | '`' => self.quoted(c),
                '[' => self.bracket(),
                '-' if self.rest.starts_with("--") => self.dashes(),
                '#' if !self.rest.starts_with("#>") && !self.rest.starts_with("#-") => self.hash(),
                '/' if self.rest.starts_with("/*") => self.comment(),
                // The end of `/*! … */`.
                '*' if self.rest.starts_with("*/") => self.rest = self.rest.get(2..).unwrap_or_default(),
                '$' if self.dollars() => {}
                ';' => {
                    self.symbol(c);
                    self.statements.push(vec![]);
                }
                _ if c.is_whitespace() => self.skip(c),
                _ if is_part_of_word(c) => {
                    let word = self.take_while(is_part_of_word).to_lowercase();
                    self.push(Token::Word(word));
                }
                _ => self.symbol(c),
            }
        }
        for tokens in &mut self.statements {
            tokens.pop_if(|last| *last == Token::Symbol(';'));
        }
        self.statements.retain(|tokens| !tokens.is_empty());
        self
    }

    fn push(&mut self, token: Token) {
        if let Some(last) = self.statements.last_mut() {
            last.push(token);
        }
    }

    fn skip(&mut self, c: char) {
        self.rest = self.rest.get(c.len_utf8()..).unwrap_or_default();
    }

    fn symbol(&mut self, c: char) {
        self.push(Token::Symbol(c));
        self.skip(c);
    }

    fn take_while(&mut self, of: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c| !of(c)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }

    /// A command of the client is a separate statement.
    fn client(&mut self, name: String, rest: &'a str) {
        self.inner.push(rest);
        self.statements.push(vec![Token::Client(name, rest.to_owned())]);
        self.statements.push(vec![]);
    }

    /// `\dt x`, `\G`.
    fn backslash(&mut self) {
        self.skip('\\');
        let Some(c) = self.rest.chars().next() else {
            self.is_clear = false;
            return;
        };
        if c == ';' || c == '\\' {
            self.skip(c);
            self.statements.push(vec![]);
            return;
        }
        let name = if c.is_alphabetic() {
            self.take_while(char::is_alphanumeric).to_owned()
        } else {
            self.skip(c);
            c.to_string()
        };
        // `\G` ends a statement, and another one may follow on the line.
        let rest = if name == "G" { "" } else { self.take_while(|c| c != '\n' && c != '\\') };
        self.client(format!("\\{name}"), rest.trim_start_matches('+').trim().trim_end_matches(';'));
    }

    fn quoted(&mut self, quote: char) {
        self.skip(quote);
        let mut is_escaped = false;
        let end = self.rest.find(|c| {
            let ends = c == quote && !is_escaped;
            is_escaped = self.dialect.escapes && c == '\\' && !is_escaped;
            ends
        });
        let (inside, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        // Only some dialects treat a quote after a backslash as a part of the string.
        self.is_clear &= end.is_some() && !inside.ends_with('\\');
        // A backquote may quote nothing.
        self.is_clear &= quote != '`' || !ends_something(inside);
        self.rest = rest;
        self.skip(quote);
        self.push(Token::Quoted(inside.to_owned()));
    }

    /// `[NAME]` of `SQLite`, a symbol elsewhere.
    fn bracket(&mut self) {
        let inside = self.rest.get(1..).and_then(|rest| rest.split_once(']'));
        self.is_clear &= inside.is_none_or(|(inside, _)| !ends_something(&without_strings(inside)));
        match inside.filter(|_| self.dialect.brackets) {
            Some((inside, rest)) => {
                self.push(Token::Quoted(inside.to_owned()));
                self.rest = rest;
            }
            None => self.symbol('['),
        }
    }

    /// A comment; in `MySQL` only with a blank after the dashes.
    fn dashes(&mut self) {
        let line = self.rest.split('\n').next().unwrap_or_default();
        let has_blank = line.chars().nth(2).is_none_or(char::is_whitespace);
        self.is_clear &= has_blank || !does_something(line);
        if self.dialect.is_mysql && !has_blank {
            self.symbol('-');
        } else {
            self.take_while(|c| c != '\n');
        }
    }

    /// A comment in `MySQL`, an operator elsewhere.
    fn hash(&mut self) {
        let line = self.rest.split('\n').next().unwrap_or_default();
        self.is_clear &= !does_something(line);
        if self.dialect.is_mysql {
            self.take_while(|c| c != '\n');
        } else {
            self.symbol('#');
        }
    }

    /// `MySQL` runs the content of `/*! … */`.
    fn comment(&mut self) {
        let inside = self.rest.get(2..).unwrap_or_default();
        if let Some(code) = inside.strip_prefix('!').or_else(|| inside.strip_prefix("M!")) {
            self.is_clear = false;
            self.rest = code.trim_start_matches(|c: char| c.is_ascii_digit());
            return;
        }
        let mut rest = inside;
        let mut depth = 1;
        while depth > 0 {
            let end = rest.find("*/");
            let inner = rest.find("/*").filter(|start| end.is_none_or(|end| *start < end));
            self.is_clear &= inner.is_none() && end.is_some();
            let Some(next) = inner.filter(|_| self.dialect.nests).or(end) else {
                rest = "";
                break;
            };
            depth = if Some(next) == end { depth - 1 } else { depth + 1 };
            rest = rest.get(next + 2..).unwrap_or_default();
        }
        self.rest = rest;
    }

    /// Reads `$tag$ … $tag$`; false where none begins.
    fn dollars(&mut self) -> bool {
        let rest = self.rest.get(1..).unwrap_or_default();
        let after = rest.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_');
        let Some(body) = after.strip_prefix('$') else { return false };
        let tag = self.rest.get(..self.rest.len() - body.len()).unwrap_or_default();
        let may_search = !self.dialect.is_mysql && self.failed < MOST_FAILED;
        let found = Some(body).filter(|_| may_search).and_then(|body| body.split_once(tag));
        // One word is a value: `state <> $$idle$$`.
        if let Some((inside, rest)) = found
            && inside.chars().all(is_part_of_word)
        {
            self.push(Token::Quoted(inside.to_owned()));
            self.rest = rest;
            return true;
        }
        self.is_clear = false;
        let Some((inside, rest)) = found else {
            self.failed += 1;
            self.rest = body;
            return true;
        };
        self.inner.push(inside);
        self.push(Token::Quoted(inside.to_owned()));
        self.rest = rest;
        true
    }
}

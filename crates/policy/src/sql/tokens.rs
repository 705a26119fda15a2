//! A strict SQL tokenizer: text that two dialects tokenize differently is refused.

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
    /// The word; `None` if the part is not a word.
    pub fn word(&self) -> &str {
        if let Self::Word(word) = self { word } else { "" }
    }
}

/// The statements of a text; `None` if the end of one of them is ambiguous.
pub(super) fn statements(text: &str) -> Option<Vec<Vec<Token>>> {
    let mut cut = Cut { rest: text, statements: vec![vec![]] };
    let mut line_start = true;
    while let Some(c) = cut.rest.chars().next() {
        let at_start = line_start;
        line_start = c == '\n' || (line_start && c.is_whitespace());
        match c {
            '.' if at_start && cut.is_fresh() && cut.rest.chars().nth(1).is_some_and(char::is_alphabetic) => {
                let line = cut.take_while(|c| c != '\n');
                let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
                cut.client(name.to_owned(), rest.trim().to_owned());
            }
            '\\' => cut.backslash()?,
            '\'' | '"' | '`' => cut.quoted(c)?,
            '-' if cut.rest.starts_with("--") => cut.line_comment()?,
            '#' if !cut.rest.starts_with("#>") && !cut.rest.starts_with("#-") => {
                // A comment in one dialect, an operator in another: it must be harmless as both.
                let line = cut.rest.split('\n').next().unwrap_or_default();
                if line.contains(['\'', '"', '`', ';', '(', '\\']) {
                    return None;
                }
                cut.symbol(c);
            }
            '/' if cut.rest.starts_with("/*") => cut.comment()?,
            '$' if cut
                .rest
                .get(1..)?
                .trim_start_matches(|c: char| c.is_alphanumeric() || c == '_')
                .starts_with('$') =>
            {
                return None;
            }
            ';' => {
                cut.symbol(c);
                cut.end();
            }
            _ if c.is_whitespace() => cut.skip(c),
            _ if is_part_of_word(c) => {
                let word = cut.take_while(is_part_of_word).to_lowercase();
                cut.push(Token::Word(word));
            }
            _ => cut.symbol(c),
        }
    }
    cut.statements.retain(|tokens| !tokens.is_empty() && *tokens != [Token::Symbol(';')]);
    for tokens in &mut cut.statements {
        if tokens.last() == Some(&Token::Symbol(';')) {
            tokens.pop();
        }
    }
    Some(cut.statements)
}

fn is_part_of_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '.' | '@' | '$')
}

/// The rest of a text, and the statements before it.
struct Cut<'a> {
    rest: &'a str,
    statements: Vec<Vec<Token>>,
}

impl<'a> Cut<'a> {
    fn is_fresh(&self) -> bool {
        self.statements.last().is_none_or(Vec::is_empty)
    }

    fn push(&mut self, token: Token) {
        if let Some(last) = self.statements.last_mut() {
            last.push(token);
        }
    }

    fn end(&mut self) {
        self.statements.push(vec![]);
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
    fn client(&mut self, name: String, rest: String) {
        self.end();
        self.push(Token::Client(name, rest));
        self.end();
    }

    /// `\dt x`, `\G`.
    fn backslash(&mut self) -> Option<()> {
        self.skip('\\');
        let c = self.rest.chars().next()?;
        if c == ';' || c == '\\' {
            self.skip(c);
            self.end();
            return Some(());
        }
        let name =
            if c.is_alphabetic() { self.take_while(char::is_alphanumeric).to_owned() } else { c.to_string() };
        if !c.is_alphabetic() {
            self.skip(c);
        }
        // `\G` ends a statement, and another one may follow on the line.
        let rest = if name == "G" { "" } else { self.take_while(|c| c != '\n' && c != '\\') };
        self.client(
            format!("\\{name}"),
            rest.trim_start_matches('+').trim().trim_end_matches(';').to_owned(),
        );
        Some(())
    }

    fn quoted(&mut self, quote: char) -> Option<()> {
        self.skip(quote);
        let end = self.rest.find(quote)?;
        let (inside, rest) = self.rest.split_at(end);
        // Only some dialects treat a quote after a backslash as a part of the string.
        if inside.ends_with('\\') {
            return None;
        }
        self.rest = rest;
        self.skip(quote);
        self.push(Token::Quoted(inside.to_owned()));
        Some(())
    }

    /// `MySQL` requires a blank after `--`, others do not: the comment must be harmless as code, too.
    fn line_comment(&mut self) -> Option<()> {
        let line = self.take_while(|c| c != '\n');
        let is_comment = line.get(2..)?.chars().next().is_none_or(char::is_whitespace);
        (is_comment || !line.contains(['\'', '"', '`', ';', '(', '\\'])).then_some(())
    }

    /// `MySQL` runs the content of `/*! … */`; only some dialects nest comments.
    fn comment(&mut self) -> Option<()> {
        let inside = self.rest.get(2..)?;
        let end = inside.find("*/")?;
        let text = inside.get(..end)?;
        if text.starts_with('!') || text.starts_with("M!") || text.contains("/*") {
            return None;
        }
        self.rest = inside.get(end + 2..)?;
        Some(())
    }
}

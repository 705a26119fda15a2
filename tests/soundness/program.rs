//! A program as a tree, so that a part of it can be replaced by a smaller one.

/// What stands at a place of the grammar, and may stand there instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    /// Statements; true if each has a line of its own.
    List(bool),
    Statement,
    Word,
}

#[derive(Debug, Clone)]
pub enum Part {
    Text(String),
    Tree(Tree),
    /// In single quotes.
    Quoted(Tree),
    /// In backquotes.
    Backquoted(Tree),
    /// The body of a here-document with this delimiter, which follows on the next line.
    Document(String, Tree),
}

#[derive(Debug, Clone)]
pub struct Tree {
    pub sort: Sort,
    pub parts: Vec<Part>,
}

/// Where the parts of a template stand.
const HOLE: char = '§';

impl Tree {
    /// A tree of a text whose holes are these parts.
    pub fn of(sort: Sort, template: &str, parts: impl IntoIterator<Item = Part>) -> Self {
        let mut parts = parts.into_iter();
        let mut all = Vec::new();
        for (index, text) in template.split(HOLE).enumerate() {
            if index > 0 {
                all.push(parts.next().expect("a part for each hole"));
            }
            if !text.is_empty() {
                all.push(Part::Text(text.to_owned()));
            }
        }
        all.extend(parts);
        Self { sort, parts: all }
    }

    pub fn word(text: impl Into<String>) -> Self {
        Self { sort: Sort::Word, parts: vec![Part::Text(text.into())] }
    }

    pub fn statement(text: impl Into<String>) -> Self {
        Self { sort: Sort::Statement, parts: vec![Part::Text(text.into())] }
    }

    pub fn list(lines: bool, statements: impl IntoIterator<Item = Self>) -> Self {
        Self { sort: Sort::List(lines), parts: statements.into_iter().map(Part::Tree).collect() }
    }

    /// The text of the program.
    pub fn text(&self) -> String {
        let mut writer = Writer::default();
        writer.tree(self);
        if !writer.documents.is_empty() {
            writer.text("\n");
        }
        writer.out.trim_end().trim_end_matches(';').to_owned()
            + if writer.out.ends_with('\n') { "\n" } else { "" }
    }

    /// The trees in it, itself included, in the order of the text.
    pub fn all(&self) -> Vec<&Self> {
        let mut found = vec![self];
        for part in &self.parts {
            found.extend(part.tree().map(Self::all).unwrap_or_default());
        }
        found
    }

    /// The tree with another one in place of the one at this place of [`Tree::all`]; `None` removes it from its list.
    pub fn with(&self, place: usize, other: Option<&Self>) -> Self {
        let mut left = place;
        self.replaced(&mut left, other).unwrap_or_else(|| Self::list(false, []))
    }

    fn replaced(&self, left: &mut usize, other: Option<&Self>) -> Option<Self> {
        if *left == 0 {
            *left = usize::MAX;
            return other.cloned();
        }
        *left -= usize::from(*left != usize::MAX);
        let mut parts = Vec::new();
        for part in &self.parts {
            let Some(tree) = part.tree().filter(|_| *left != usize::MAX) else {
                parts.push(part.clone());
                continue;
            };
            let removed = tree.replaced(left, other);
            if let Some(tree) = removed {
                parts.push(match part {
                    Part::Text(_) | Part::Tree(_) => Part::Tree(tree),
                    Part::Quoted(_) => Part::Quoted(tree),
                    Part::Backquoted(_) => Part::Backquoted(tree),
                    Part::Document(end, _) => Part::Document(end.clone(), tree),
                });
            }
        }
        Some(Self { sort: self.sort, parts })
    }
}

impl Part {
    pub fn tree(&self) -> Option<&Tree> {
        match self {
            Self::Text(_) => None,
            Self::Tree(tree) | Self::Quoted(tree) | Self::Backquoted(tree) | Self::Document(_, tree) => {
                Some(tree)
            }
        }
    }
}

/// The text in single quotes.
pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[derive(Default)]
struct Writer {
    out: String,
    /// The bodies of here-documents that begin on this line, with their ends.
    documents: Vec<(String, String)>,
}

impl Writer {
    fn tree(&mut self, tree: &Tree) {
        let Sort::List(lines) = tree.sort else {
            tree.parts.iter().for_each(|part| self.part(part));
            return;
        };
        if tree.parts.is_empty() {
            self.text(": ; ");
        }
        for part in &tree.parts {
            self.part(part);
            let is_list = part.tree().is_some_and(|tree| matches!(tree.sort, Sort::List(_)));
            if !is_list {
                let background = self.out.ends_with('&');
                let lines = lines || !self.documents.is_empty();
                self.text(if lines {
                    "\n"
                } else if background {
                    " "
                } else {
                    "; "
                });
            }
        }
    }

    fn part(&mut self, part: &Part) {
        match part {
            Part::Text(text) => self.text(text),
            Part::Tree(tree) => self.tree(tree),
            Part::Quoted(tree) => self.raw(&quoted(&tree.text())),
            Part::Backquoted(tree) => {
                let text = tree.text().replace('\\', r"\\").replace('`', r"\`");
                self.raw(&format!("`{text}`"));
            }
            Part::Document(end, tree) => {
                self.documents.push((end.clone(), tree.text()));
            }
        }
    }

    /// Text in which a line break ends no line of the program.
    fn raw(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn text(&mut self, text: &str) {
        let Some((line, rest)) = text.split_once('\n') else { return self.out.push_str(text) };
        self.out.push_str(line);
        self.out.push('\n');
        for (end, body) in std::mem::take(&mut self.documents) {
            let body = body.trim_end_matches('\n');
            self.out.push_str(&format!("{body}\n{end}\n"));
        }
        self.text(rest);
    }
}

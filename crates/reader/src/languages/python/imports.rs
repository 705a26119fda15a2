//! Imported modules, and what code may use of them.

use std::collections::{BTreeMap, BTreeSet};

use crate::languages::lexer::Token;
use crate::languages::names::{python, starts};

/// Names that imports bind and the code defines.
#[derive(Default)]
pub(super) struct Imports {
    /// All commands that the code starts are determined.
    pub starts: bool,
    /// Modules by the name that stands for them.
    pub modules: BTreeMap<String, String>,
    /// Packages that were imported for one of their modules: `urllib` for `urllib.parse`.
    pub packages: BTreeMap<String, String>,
    /// Functions and classes.
    pub names: BTreeSet<String>,
    /// Other names of functions that start programs.
    pub renamed: BTreeSet<String>,
    /// Functions that send requests.
    pub asking: BTreeSet<String>,
    /// Functions that the code defines.
    pub local: BTreeSet<String>,
    /// Methods that change files where the code imports certain modules.
    pub risky: &'static [&'static str],
}

impl Imports {
    /// Whether a module may be loaded.
    pub fn allowed(&self, module: &str) -> Option<()> {
        let is_known = python::MODULES.get(module).or_else(|| python::ASKING.get(module)).is_some();
        (is_known || (self.starts && python::STARTING.get(module).is_some())).then_some(())
    }

    /// Whether a name of a module may be used.
    pub fn allows(&self, module: &str, attribute: &str) -> bool {
        let is_plain = !attribute.starts_with('_') && !python::INNER.has(attribute);
        let known = python::MODULES.get(module);
        known.is_some_and(|names| names.has(attribute) || (names.allow(attribute) && is_plain))
            || (self.starts && python::STARTING.get(module).is_some_and(|names| names.has(attribute)))
    }

    /// Reads an import statement; `None` where it imports something else than harmless modules.
    pub fn bind(&mut self, line: &[Token]) -> Option<()> {
        let mut words = line.iter().filter(|token| !token.is('(') && !token.is(')'));
        let from = words.next()?.name()? == "from";
        let words: Vec<Token> = words.cloned().collect();
        let (module, names) = if from {
            let at = words.iter().position(|token| token.name() == Some("import"))?;
            (Some(dotted(words.get(..at)?)?), words.get(at + 1..)?)
        } else {
            (None, words.as_slice())
        };
        for part in names.split(|token| token.is(',')) {
            let alias = part.iter().position(|token| token.name() == Some("as"));
            let name = dotted(part.get(..alias.unwrap_or(part.len()))?)?;
            let bound = alias.and_then(|at| part.get(at + 1)?.name()).map(str::to_owned);
            match &module {
                Some(module) if python::ASKING.get(module).is_some_and(|names| names.has(&name)) => {
                    self.asking.insert(bound.unwrap_or(name));
                }
                // The search path of modules.
                Some(module) if module == "sys" && name == "path" => return None,
                Some(module)
                    if self.allows(module, &name)
                        && !python::OPENING.has(&name)
                        && !is_connection(module, &name) =>
                {
                    if starts::CALLS.has(&name) {
                        self.renamed.extend(bound.clone());
                    }
                    self.names.insert(bound.unwrap_or(name));
                }
                Some(module) => {
                    let whole = format!("{module}.{name}");
                    self.allowed(&whole)?;
                    self.modules.insert(bound.unwrap_or(name), whole);
                }
                None => {
                    self.allowed(&name)?;
                    match (bound, name.split_once('.')) {
                        (Some(bound), _) => self.modules.insert(bound, name),
                        (None, Some(("os", _))) => self.modules.insert("os".to_owned(), "os".to_owned()),
                        (None, Some((package, _))) => self.packages.insert(package.to_owned(), name),
                        (None, None) => self.modules.insert(name.clone(), name),
                    };
                }
            }
        }
        Some(())
    }
}

fn dotted(tokens: &[Token]) -> Option<String> {
    let mut name = String::new();
    for token in tokens {
        match token {
            Token::Name(part) => name.push_str(part),
            Token::Symbol('.') => name.push('.'),
            _ => return None,
        }
    }
    (!name.is_empty()).then_some(name)
}

/// Whether a function of a module opens a database.
pub(super) fn is_connection(module: &str, name: &str) -> bool {
    python::CONNECTING.get(module).is_some_and(|names| names.has(name))
}

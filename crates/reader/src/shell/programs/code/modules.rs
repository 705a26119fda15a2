//! Files that code loads: modules in the working directory, and scripts that it names.

use crate::catalogue::program::Language;
use crate::languages::lexer::{Token, tokens};
use crate::languages::names::{perl, python, starts};
use crate::shell::evaluator::Evaluator;
use crate::shell::state::Shell;

/// Maximum number of files that one piece of code loads.
const MOST_FILES: usize = 16;

/// The code with the files that it loads before it: what they define is known there. `folder` is that of the file of the code.
pub(super) fn with_modules(
    evaluator: &mut Evaluator,
    shell: &Shell,
    code: String,
    language: Language,
    folder: Option<&str>,
) -> String {
    let mut whole = code;
    let mut left = names(&whole, language);
    let mut known: Vec<String> = Vec::new();
    while let Some(name) = left.pop() {
        if known.contains(&name) || known.len() >= MOST_FILES {
            continue;
        }
        if let Some((_, text)) = file(evaluator, shell, &name, language, folder) {
            left.extend(names(&text, language));
            whole = format!("{text}\n{whole}");
        }
        known.push(name);
    }
    whole
}

/// The file that a name of a module means in `folder`, or in the working directory, and its text.
pub(super) fn file(
    evaluator: &mut Evaluator,
    shell: &Shell,
    name: &str,
    language: Language,
    folder: Option<&str>,
) -> Option<(String, String)> {
    let ends: &[&str] = match language {
        Language::Python => &[".py", "/__init__.py"],
        Language::Node | Language::Deno => &["", ".js", ".cjs", ".mjs", "/index.js"],
        Language::Ruby => &["", ".rb"],
        Language::Perl => &["", ".pm"],
        _ => &[""],
    };
    let beside = folder.filter(|_| !name.starts_with('/')).map(|folder| format!("{folder}/{name}"));
    let places = beside.into_iter().chain([name.to_owned()]);
    let mut paths = places.flat_map(|place| ends.iter().map(move |end| format!("{place}{end}")));
    paths.find_map(|path| {
        let text = evaluator.script_file(shell, &path)?;
        Some((path, text))
    })
}

/// The names of modules that code loads and that may be files.
fn names(code: &str, language: Language) -> Vec<String> {
    let tokens = tokens(code, language);
    let mut names = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let Some(word) = token.name().filter(|word| starts::LOADING.has(word)) else { continue };
        let after = tokens.get(at + 1..).unwrap_or_default();
        let before = tokens.get(at.wrapping_sub(1));
        let begins = before.is_none_or(|token| matches!(token, Token::Line | Token::Symbol(';' | ':' | '{')));
        let is_plain = begins && matches!(language, Language::Python | Language::Perl);
        match after.iter().find(|token| !token.is('(')) {
            Some(Token::Text(text)) => {
                let is_path = |name: &&str| name.contains(['/', '.']) || word == "require_relative";
                names.extend(text.literal().filter(is_path).map(str::to_owned));
            }
            Some(Token::Name(_)) if is_plain => {
                let line = after.iter().take_while(|token| {
                    !matches!(token, Token::Line | Token::Symbol(';' | '(') | Token::Text(_))
                        && !matches!(token.name(), Some("import" | "as"))
                });
                let text: String = line
                    .map(|token| match token {
                        Token::Name(name) => name.as_str(),
                        Token::Symbol('.' | ':') => "/",
                        Token::Symbol(',') => ",",
                        _ => "\0",
                    })
                    .collect();
                let installed = |name: &&str| match language {
                    Language::Python => python::MODULES.get(name).is_some() || starts::MODULES.has(name),
                    _ => perl::MODULES.has(name),
                };
                let own = text.split(',').filter(|name| !installed(&name.replace('/', ".").as_str()));
                names.extend(own.map(|name| name.replace("//", "/")));
            }
            _ => {}
        }
    }
    names
}

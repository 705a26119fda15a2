//! Turns the catalogue's YAML files into constants.

#[path = "src/catalogue"]
#[allow(dead_code, reason = "the crate itself uses the rest")]
mod catalogue {
    pub mod entry;
    pub mod options;
    pub mod program;
}
#[path = "src/terms"]
#[allow(dead_code, reason = "the crate itself uses the rest")]
mod model {
    pub mod verb;
}

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::{env, fs, io};

use catalogue::entry::{Entries, EntryError};

/// Where the descriptions of programs are.
const CATALOGUE: &str = "src/catalogue";

/// Why the constants cannot be written.
#[derive(Debug, thiserror::Error)]
enum BuildError {
    #[error("{}: {error}", file.display())]
    Yaml { file: PathBuf, error: Box<serde_saphyr::Error> },
    #[error("{}: {key}: {error}", file.display())]
    Entry { file: PathBuf, key: String, error: EntryError },
    #[error("{}: {key}: `{name}` is a name of two programs", file.display())]
    NameTwice { file: PathBuf, key: String, name: &'static str },
    #[error(transparent)]
    Io(#[from] io::Error),
}

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if let Err(error) = write_catalogue() {
        println!("cargo::error={error}");
    }
}

/// Turns the catalogue's YAML files into constants, with an index of all names.
fn write_catalogue() -> Result<(), BuildError> {
    println!("cargo::rerun-if-changed={CATALOGUE}");
    let mut files: Vec<PathBuf> =
        fs::read_dir(CATALOGUE)?.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<_>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "yaml"));
    files.sort();
    let (mut programs, mut names, mut globs) = (Vec::new(), BTreeMap::new(), Vec::new());
    for file in files {
        let Entries(entries) = serde_saphyr::from_str(&fs::read_to_string(&file)?)
            .map_err(|error| BuildError::Yaml { file: file.clone(), error: Box::new(error) })?;
        for (key, entry) in entries {
            let program = entry.into_program(&key).map_err(|error| BuildError::Entry {
                file: file.clone(),
                key: key.clone(),
                error,
            })?;
            for name in program.names.iter().copied() {
                if name.contains(['*', '?']) {
                    globs.push((name, programs.len()));
                } else if names.insert(name, programs.len()).is_some() {
                    return Err(BuildError::NameTwice { file, key, name });
                }
            }
            programs.push(program);
        }
    }
    let names: Vec<_> = names.into_iter().collect();
    let mut statics = Statics::default();
    let programs = statics.replace_in(&format!("{programs:?}"));
    let text = format!(
        "{}pub static PROGRAMS: &[Program] = &{programs};\n\
         pub static NAMES: &[(&str, usize)] = &{names:?};\n\
         pub static GLOBS: &[(&str, usize)] = &{globs:?};\n",
        statics.text
    );
    Ok(fs::write(output("catalogue.rs"), text)?)
}

/// The lists and parts of an expression as statics, one for all that are equal. The compiler needs ten times as long for one
/// expression of two megabytes.
#[derive(Default)]
struct Statics {
    text: String,
    names: BTreeMap<String, usize>,
}

impl Statics {
    /// Replaces each list and part by the name of its static, from the innermost to the outermost.
    fn replace_in(&mut self, expression: &str) -> String {
        let mut replaced = String::new();
        let mut rest = expression;
        while let Some((before, kind, inside, after)) = first_reference(rest) {
            replaced += before;
            replaced += &self.reference(kind, inside);
            rest = after;
        }
        replaced + rest
    }

    fn reference(&mut self, kind: &str, inside: &str) -> String {
        let value = self.replace_in(inside);
        let Some(of) = type_of(inside) else { return format!("{kind}(&{value})") };
        if value == "[]" {
            return "List::EMPTY".to_owned();
        }
        let next = self.names.len();
        let name = *self.names.entry(format!("{of} = &{value}")).or_insert(next);
        if name == next {
            self.text += &format!("static S{name}: {of} = &{value};\n");
        }
        format!("{kind}(S{name})")
    }
}

/// The first `List(&…)` or `Part(&…)` of an expression: the text before it, which of the two it is, its content, and the
/// text after it.
fn first_reference(expression: &str) -> Option<(&str, &str, &str, &str)> {
    let mut found = None;
    let (mut depth, mut is_text, mut is_escaped) = (0_usize, false, false);
    for (at, c) in expression.char_indices() {
        match (c, found) {
            ('"', _) if !is_escaped => is_text = !is_text,
            ('(', None) if !is_text && expression[at..].starts_with("(&") => {
                let mut kinds = ["List", "Part"].into_iter();
                found = kinds.find(|kind| expression[..at].ends_with(kind)).map(|kind| (at, kind));
            }
            ('(', Some(_)) if !is_text => depth += 1,
            (')', Some((start, kind))) if !is_text && depth == 0 => {
                let before = &expression[..start - kind.len()];
                return Some((before, kind, &expression[start + 2..at], &expression[at + 1..]));
            }
            (')', Some(_)) if !is_text => depth -= 1,
            _ => {}
        }
        is_escaped = c == '\\' && !is_escaped;
    }
    None
}

/// The type of a reference to a value: what its first words name; `None` for other lists, which stay where they are.
fn type_of(value: &str) -> Option<String> {
    let Some(first) = value.strip_prefix('[') else { return Some(format!("&{}", value.split(' ').next()?)) };
    let of = match first {
        "]" => "()",
        _ if first.starts_with('"') => "&str",
        _ if first.starts_with("List(&[\"") => "List<&str>",
        _ => first
            .split_once(" {")
            .map(|(name, _)| name)
            .filter(|name| name.chars().all(char::is_alphanumeric))?,
    };
    Some(format!("&[{of}]"))
}

/// A file that the crate includes.
fn output(name: &str) -> PathBuf {
    PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join(name)
}

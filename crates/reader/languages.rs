//! Turns the names of languages, `src/catalogue/languages/*.yaml`, into constants.

use std::collections::BTreeMap;
use std::fs;

use serde::Deserialize;

use super::{BuildError, output, yaml_files};

/// Where the names are.
const LANGUAGES: &str = "src/catalogue/languages";

/// The lists and tables of one file.
type Lists = BTreeMap<String, List>;

/// What stands under a key.
#[derive(Deserialize)]
#[serde(untagged)]
enum List {
    /// Words with blanks between them.
    Words(String),
    /// Texts that may contain blanks.
    Texts(Vec<String>),
    /// Words by name.
    Table(BTreeMap<String, String>),
}

/// Writes a module for each file, with a constant for each key.
pub fn write() -> Result<(), BuildError> {
    println!("cargo::rerun-if-changed={LANGUAGES}");
    println!("cargo::rerun-if-changed=languages.rs");
    let mut text = String::new();
    for file in yaml_files(LANGUAGES)? {
        let lists: Lists = serde_saphyr::from_str(&fs::read_to_string(&file)?)
            .map_err(|error| BuildError::Yaml { file: file.clone(), error: Box::new(error) })?;
        let language = file.file_stem().unwrap_or_default().to_string_lossy();
        text += &format!("/// Names of `{language}.yaml`.\npub mod {language} {{\n");
        for (key, list) in lists {
            text +=
                &format!("/// Its list `{key}`.\npub const {}: {};\n", key.to_uppercase(), list.constant());
        }
        text += "}\n";
    }
    Ok(fs::write(output("languages.rs"), text)?)
}

impl List {
    /// The type and the value of the constant.
    fn constant(&self) -> String {
        match self {
            Self::Words(words) => format!("super::Names = {}", names(words.split_whitespace())),
            Self::Texts(texts) => format!("super::Names = {}", names(texts.iter().map(String::as_str))),
            Self::Table(rows) => {
                let rows = rows
                    .iter()
                    .map(|(name, words)| format!("({}, {})", quoted(name), names(words.split_whitespace())));
                format!("super::Table = super::Table(&[{}])", rows.collect::<Vec<_>>().join(", "))
            }
        }
    }
}

fn names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    format!("super::Names(&[{}])", names.map(quoted).collect::<Vec<_>>().join(", "))
}

/// A text as a literal.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.escape_default())
}

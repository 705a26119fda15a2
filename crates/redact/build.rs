//! Turns the forms of secrets into constants.

#[path = "src"]
#[allow(dead_code, reason = "the tests use the rest")]
mod redact {
    pub mod entry;
}

use std::path::PathBuf;
use std::{env, fs, io};

use redact::entry::Forms;

/// The forms of secrets.
const SECRETS: &str = "src/rules.yaml";

/// Why the constants cannot be written.
#[derive(Debug, thiserror::Error)]
enum BuildError {
    #[error("{}: {error}", file.display())]
    Yaml { file: PathBuf, error: Box<serde_saphyr::Error> },
    #[error(transparent)]
    Io(#[from] io::Error),
}

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if let Err(error) = write_secrets() {
        println!("cargo::error={error}");
    }
}

/// Turns the forms of secrets into constants: the rules, the texts that select one, sorted, the set of the first two bytes
/// of these texts, and the names of variables.
fn write_secrets() -> Result<(), BuildError> {
    println!("cargo::rerun-if-changed={SECRETS}");
    let file = PathBuf::from(SECRETS);
    let Forms { rules: entries, variables, .. } = serde_saphyr::from_str(&fs::read_to_string(&file)?)
        .map_err(|error| BuildError::Yaml { file, error: Box::new(error) })?;
    let rules: Vec<String> = entries.iter().map(|(name, entry)| entry.expression(name)).collect();
    let mut selectors: Vec<(String, usize)> = entries
        .values()
        .enumerate()
        .flat_map(|(at, entry)| entry.selectors().map(move |selector| (selector, at)))
        .collect();
    selectors.sort();
    let mut pairs = [0_u64; 1024];
    for pair in selectors.iter().map(|(text, _)| pair(text)) {
        if let Some(bits) = pairs.get_mut(pair / 64) {
            *bits |= 1 << (pair % 64);
        }
    }
    let rules = rules.join(", ");
    let text = format!(
        "pub static RULES: &[Rule] = &[{rules}];\n\
         pub static SELECTORS: &[(&str, usize)] = &{selectors:?};\n\
         pub static PAIRS: [u64; 1024] = {pairs:?};\n\
         pub static ENDINGS: &[&str] = &{:?};\n\
         pub static BEGINNINGS: &[&str] = &{:?};\n",
        variables.endings, variables.beginnings
    );
    let output = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("secrets.rs");
    Ok(fs::write(output, text)?)
}

/// The number of the first two bytes of a text.
fn pair(text: &str) -> usize {
    text.bytes().take(2).fold(0, |pair, byte| pair << 8 | usize::from(byte))
}

//! Turns the forms of secrets into constants.

#[path = "src"]
#[allow(dead_code, reason = "the tests use the rest")]
mod redact {
    pub mod beginning;
    pub mod entry;
    pub mod least_length;
    pub mod token;
}

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::{env, fs, io};

use redact::beginning::{WORDS, add, five, is_of_run};
use redact::entry::{Entry, Forms, Placeholders};

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

/// The big-endian number of three bytes.
const fn number([first, second, third]: [u8; 3]) -> u32 {
    u32::from_be_bytes([0, first, second, third])
}

/// The number of the first three bytes of a selector; the third of two is 0.
fn number_of(selector: &str) -> u32 {
    let mut bytes = selector.bytes();
    number([(); 3].map(|()| bytes.next().unwrap_or_default()))
}

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if let Err(error) = write_secrets() {
        println!("cargo::error={error}");
    }
}

/// Turns the forms of secrets into constants: the rules, the texts that select one, sorted, the least
/// lengths of runs that select one, the first three bytes of the texts as groups and as a set, and the names of variables.
fn write_secrets() -> Result<(), BuildError> {
    println!("cargo::rerun-if-changed={SECRETS}");
    let file = PathBuf::from(SECRETS);
    let Forms { rules: entries, placeholders, variables, .. } =
        serde_saphyr::from_str(&fs::read_to_string(&file)?)
            .map_err(|error| BuildError::Yaml { file, error: Box::new(error) })?;
    let rules: Vec<String> = entries.iter().map(|(name, entry)| entry.expression(name)).collect();
    let mut selectors: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (at, entry) in entries.values().enumerate() {
        for selector in entry.selectors() {
            selectors.entry(selector).or_default().push(at);
        }
    }
    let mut groups: BTreeMap<u32, (usize, usize)> = BTreeMap::new();
    for (at, selector) in selectors.keys().enumerate() {
        groups.entry(number_of(selector)).or_insert((at, at)).1 = at + 1;
    }
    let groups: Vec<(u32, usize, usize)> =
        groups.into_iter().map(|(key, (first, end))| (key, first, end)).collect();
    let pairs: Vec<u32> =
        groups.iter().map(|(key, ..)| *key).filter(|key| key.trailing_zeros() >= 8).collect();
    let (mut begins, mut short, mut long) = ([0_u64; WORDS], [0_u64; WORDS], [0_u64; WORDS]);
    for (three, rest) in entries.values().flat_map(Entry::beginnings) {
        let three = number(three);
        add(&mut begins, three);
        match rest {
            Some([fourth, fifth]) => add(&mut long, five(three, fourth, fifth)),
            None => add(&mut short, three),
        }
    }
    let mut runs: Vec<(usize, usize)> = entries
        .values()
        .enumerate()
        .filter(|(_, entry)| entry.run > 0 && entry.needs.is_empty())
        .map(|(at, entry)| (entry.run, at))
        .collect();
    runs.sort_unstable();
    // Each byte as a small letter, and 1 if it is part of a run.
    let bytes: Vec<[u8; 2]> =
        (0..=u8::MAX).map(|byte| [byte.to_ascii_lowercase(), u8::from(is_of_run(byte))]).collect();
    let rules = rules.join(", ");
    let selectors: Vec<String> =
        selectors.iter().map(|(selector, rules)| format!("({selector:?}, &{rules:?})")).collect();
    let selectors = selectors.join(", ");
    let Placeholders { words, beginnings, folders, places, names } = placeholders;
    let text = format!(
        "pub static RULES: &[Rule] = &[{rules}];\n\
         pub static SELECTORS: &[(&str, &[usize])] = &[{selectors}];\n\
         pub static GROUPS: &[(u32, usize, usize)] = &{groups:?};\n\
         pub static PAIRS: &[u32] = &{pairs:?};\n\
         pub static RUNS: &[(usize, usize)] = &{runs:?};\n\
         pub static BEGINS: crate::beginning::Set = {begins:?};\n\
         pub static BYTES: [[u8; 2]; 256] = {bytes:?};\n\
         pub static SHORT: crate::beginning::Set = {short:?};\n\
         pub static LONG: crate::beginning::Set = {long:?};\n\
         pub static PLACEHOLDERS: Placeholders = Placeholders {{ words: &{words:?}, beginnings: &{beginnings:?}, \
         folders: &{folders:?}, places: &{places:?}, names: &{names:?} }};\n\
         pub static ENDINGS: &[&str] = &{:?};\n\
         pub static BEGINNINGS: &[&str] = &{:?};\n",
        variables.endings, variables.beginnings
    );
    let output = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("secrets.rs");
    Ok(fs::write(output, text)?)
}

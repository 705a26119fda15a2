//! Turns the lists of `src/lists` into constants: texts, or rows of texts.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

use serde::Deserialize;

const LISTS: &str = "src/lists";

/// A text, or a row of texts.
#[derive(Clone, Deserialize)]
#[serde(untagged)]
enum Row {
    Text(String),
    Texts(Vec<String>),
}

impl Row {
    /// The row, or a row for each text of the list of the file that its first text names: `!{open_devices}`.
    fn placed(&self, lists: &BTreeMap<String, Vec<Self>>) -> Vec<Self> {
        let Self::Texts(texts) = self else { return vec![self.clone()] };
        let first = texts.first().map_or("", String::as_str);
        let named = lists.iter().map(|(name, rows)| (format!("{{{name}}}"), rows));
        let Some((name, rows)) = named.into_iter().find(|(name, _)| first.contains(name.as_str())) else {
            return vec![self.clone()];
        };
        let texts_of = |text: &String| {
            let first = [first.replace(&name, text)];
            Self::Texts(first.into_iter().chain(texts.iter().skip(1).cloned()).collect())
        };
        rows.iter()
            .filter_map(|row| if let Self::Text(text) = row { Some(texts_of(text)) } else { None })
            .collect()
    }

    fn constant(&self) -> String {
        match self {
            Self::Text(text) => format!("{text:?}"),
            Self::Texts(texts) => format!("({})", format!("{texts:?}").trim_matches(['[', ']'])),
        }
    }
}

fn main() {
    println!("cargo::rerun-if-changed={LISTS}");
    if let Err(error) = write_lists() {
        println!("cargo::error={error}");
    }
}

fn write_lists() -> Result<(), Box<dyn std::error::Error>> {
    let mut text = String::new();
    for file in fs::read_dir(LISTS)? {
        let path = file?.path();
        let lists: BTreeMap<String, Vec<Row>> = serde_saphyr::from_str(&fs::read_to_string(&path)?)
            .map_err(|error| format!("{}: {error}", path.display()))?;
        for (name, rows) in &lists {
            let rows: Vec<Row> = rows.iter().flat_map(|row| row.placed(&lists)).collect();
            let width =
                rows.iter().map(|row| if let Row::Texts(texts) = row { texts.len() } else { 1 }).max();
            let of = match width {
                Some(width @ 2..) => format!("({})", vec!["&str"; width].join(", ")),
                _ => "&str".to_owned(),
            };
            let rows: Vec<String> = rows.iter().map(Row::constant).collect();
            let (upper, count) = (name.to_uppercase(), rows.len());
            writeln!(
                text,
                "/// The list `{name}`.\npub static {upper}: [{of}; {count}] = [{}];",
                rows.join(", ")
            )?;
        }
    }
    fs::write(Path::new(&env::var("OUT_DIR")?).join("lists.rs"), text)?;
    Ok(())
}

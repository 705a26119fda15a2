//! Turns the catalogue's YAML files into constants.

#[path = "src/catalogue"]
#[allow(dead_code, unused_imports, reason = "the crate itself uses the rest")]
mod catalogue {
    pub mod never;
    pub mod options;
    pub mod program;
}
#[path = "src/terms"]
#[allow(dead_code, reason = "the crate itself uses the rest")]
mod terms {
    pub mod class;
    pub mod verb;
    mod words;
}

mod languages;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use catalogue::never::DefaultRule;
use catalogue::program::constant::Statics;
use catalogue::program::{Map, Part, Program, Read, Value};

/// Where the descriptions of programs are, by what the programs are about.
const FAMILIES: [&str; 4] =
    ["src/catalogue/machine", "src/catalogue/network", "src/catalogue/platforms", "src/catalogue/shell"];

/// Where the rules about always-denied commands are, one file a class.
const NEVER: &str = "src/catalogue/never";

/// Why the constants cannot be written.
#[derive(Debug, thiserror::Error)]
enum BuildError {
    #[error("{}: {error}", file.display())]
    Yaml { file: PathBuf, error: Box<serde_saphyr::Error> },
    #[error("{}: {key}: `{name}` is a name of two programs", file.display())]
    NameTwice { file: PathBuf, key: &'static str, name: &'static str },
    #[error(transparent)]
    Io(#[from] io::Error),
}

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if let Err(error) = write_catalogue().and_then(|()| languages::write()) {
        println!("cargo::error={error}");
    }
}

/// Turns the catalogue's YAML files into constants, with an index of all names.
fn write_catalogue() -> Result<(), BuildError> {
    println!("cargo::rerun-if-changed=src/catalogue");
    let (mut programs, mut names, mut globs) = (Vec::new(), BTreeMap::new(), Vec::new());
    let families = FAMILIES.into_iter().map(yaml_files).collect::<io::Result<Vec<_>>>()?;
    for file in families.into_iter().flatten() {
        for (key, program) in read::<Program>(&file)?.iter() {
            let program = program.keyed(key);
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
    let mut rules = Vec::new();
    for file in yaml_files(NEVER)? {
        let class = file.file_stem().unwrap_or_default().to_string_lossy().into_owned().leak();
        let own = read::<Part<DefaultRule>>(&file)?;
        rules.extend(own.iter().map(|(name, Part(rule))| DefaultRule { name, class, ..**rule }));
    }
    let names: Vec<(&str, usize)> = names.into_iter().collect();
    let mut statics = Statics::default();
    // Where the names with each first byte start.
    let start = |byte: u8| names.partition_point(|(name, _)| name.as_bytes().first() < Some(&byte));
    let starts: Vec<usize> = (0..=128).map(start).collect();
    let [programs, names, globs] = [statics.slice(&programs), statics.slice(&names), statics.slice(&globs)];
    let [starts, rules] = [statics.slice(&starts), statics.slice(&rules)];
    let text = format!(
        "{}pub static PROGRAMS: &[Program] = {programs};\n\
         pub static NAMES: &[(&str, usize)] = {names};\n\
         pub static STARTS: &[usize] = {starts};\n\
         pub static GLOBS: &[(&str, usize)] = {globs};\n\
         pub static DEFAULT_RULES: &[DefaultRule] = {rules};\n",
        statics.text
    );
    Ok(fs::write(output("catalogue.rs"), text)?)
}

/// The YAML files of a folder, by name.
fn yaml_files(folder: &str) -> io::Result<Vec<PathBuf>> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<_>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "yaml"));
    files.sort();
    Ok(files)
}

/// The entries of a file, by name.
fn read<T: Read>(file: &Path) -> Result<Map<&'static str, T>, BuildError> {
    let Value(entries) = serde_saphyr::from_str(&fs::read_to_string(file)?)
        .map_err(|error| BuildError::Yaml { file: file.to_owned(), error: Box::new(error) })?;
    Ok(entries)
}

/// A file that the crate includes.
fn output(name: &str) -> PathBuf {
    PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join(name)
}

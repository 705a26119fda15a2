//! Turns the catalogue's YAML files into constants.

#[path = "src/catalogue"]
#[allow(dead_code, unused_imports, reason = "the crate itself uses the rest")]
mod catalogue {
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

use catalogue::program::constant::Statics;
use catalogue::program::{Map, Program, Value};

/// Where the descriptions of programs are.
const CATALOGUE: &str = "src/catalogue";

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
    if let Err(error) = write_catalogue() {
        println!("cargo::error={error}");
    }
}

/// Turns the catalogue's YAML files into constants, with an index of all names.
fn write_catalogue() -> Result<(), BuildError> {
    println!("cargo::rerun-if-changed={CATALOGUE}");
    let (mut programs, mut names, mut globs) = (Vec::new(), BTreeMap::new(), Vec::new());
    for file in yaml_files(CATALOGUE)? {
        let Value(entries): Value<Map<&str, Program>> =
            serde_saphyr::from_str(&fs::read_to_string(&file)?)
                .map_err(|error| BuildError::Yaml { file: file.clone(), error: Box::new(error) })?;
        for (key, program) in entries.iter() {
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
    let names: Vec<(&str, usize)> = names.into_iter().collect();
    let mut statics = Statics::default();
    let [programs, names, globs] = [statics.slice(&programs), statics.slice(&names), statics.slice(&globs)];
    let text = format!(
        "{}pub static PROGRAMS: &[Program] = {programs};\n\
         pub static NAMES: &[(&str, usize)] = {names};\n\
         pub static GLOBS: &[(&str, usize)] = {globs};\n",
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

/// A file that the crate includes.
fn output(name: &str) -> PathBuf {
    PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join(name)
}

//! Turns the catalogue's YAML files into constants, with an index of all names.

use std::collections::BTreeMap;
use std::fs;

use crate::BuildError;
use crate::catalogue::program::constant::Statics;
use crate::catalogue::program::{Map, Program, Value};

/// Where the descriptions of programs are.
const CATALOGUE: &str = "src/catalogue";

/// Writes `catalogue.rs`, which the program includes.
pub fn write() -> Result<(), BuildError> {
    println!("cargo::rerun-if-changed={CATALOGUE}");
    let (mut programs, mut names, mut globs) = (Vec::new(), BTreeMap::new(), Vec::new());
    for file in crate::yaml_files(CATALOGUE)? {
        let Value(entries): Value<Map<&str, Program>> = crate::read_yaml(&file)?;
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
    Ok(fs::write(crate::output("catalogue.rs"), text)?)
}

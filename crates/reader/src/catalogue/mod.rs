//! The catalogue of programs: their names and options, the commands that they run, the files that they access, their
//! actions and targets. All other modules derive facts about programs from it.
//!
//! The YAML files in this folder describe the built-in families; `build.rs` turns them into constants. `programs` in
//! `hosts.yaml` adds programs in this form.

pub mod expression;
pub mod lookup;
pub mod never;
pub mod operands;
pub mod options;
pub mod program;
pub mod taken;

use crate::shell::glob;
use never::DefaultRule;
use program::{Map, Program, Value};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::sync::LazyLock;

#[allow(clippy::wildcard_imports, reason = "the build script writes these names")]
mod built_in {
    //! The constants that `build.rs` writes from the YAML files.

    use super::never::DefaultRule;
    use super::program::*;
    use crate::terms::class::Class;
    use crate::terms::verb::Verb;

    include!(concat!(env!("OUT_DIR"), "/catalogue.rs"));
}

/// Programs by their names: the built-in ones, and those of one installation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Catalogue {
    own: &'static [Program],
}

impl Catalogue {
    /// The built-in programs and those of `hosts.yaml`, which take precedence.
    pub const fn with(own: &'static [Program]) -> Self {
        Self { own }
    }

    /// The programs of `hosts.yaml`.
    pub const fn own(self) -> &'static [Program] {
        self.own
    }

    /// The program that the first word of a command names, with or without its folder.
    pub fn find(self, word: &str) -> Option<&'static Program> {
        let name = base_name(word);
        let own = self.own.iter().find(|program| program.names.contains(&name));
        // The path of an init script identifies it, its name does not.
        let by_path =
            || (name.len() < word.len()).then(|| by_glob(|pattern| pattern.contains('/'), word)).flatten();
        own.or_else(by_path)
            .or_else(|| built_in_named(name))
            .or_else(|| by_glob(|pattern| !pattern.contains('/'), name))
    }

    /// The programs that act in some form.
    pub fn acting(self) -> impl Iterator<Item = &'static Program> {
        static BUILT_IN: LazyLock<Vec<&Program>> =
            LazyLock::new(|| built_in::PROGRAMS.iter().filter(|program| program.acts).collect());
        self.own.iter().filter(|program| program.acts).chain(BUILT_IN.iter().copied())
    }

    /// Every program.
    pub fn programs(self) -> impl Iterator<Item = &'static Program> {
        self.own.iter().chain(built_in::PROGRAMS)
    }
}

/// Reads the programs of `hosts.yaml`, which are kept for the life of the process.
impl<'de> Deserialize<'de> for Catalogue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Value(programs) = Value::<Map<&str, Program>>::deserialize(deserializer)?;
        let programs = programs.iter().map(|(key, program)| program.keyed(key));
        Ok(Self::with(Vec::leak(programs.collect())))
    }
}

/// Writes the programs of `hosts.yaml`.
impl Serialize for Catalogue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.own.iter().map(|program| (program.key, program)))
    }
}

/// The rules about always-denied commands that come with opsctl, class by class.
pub fn default_rules() -> &'static [DefaultRule] {
    built_in::DEFAULT_RULES
}

/// A program's name without its folder.
pub fn base_name(word: &str) -> &str {
    let folder = word.bytes().rposition(|byte| byte == b'/').map_or(0, |at| at + 1);
    word.get(folder..).unwrap_or(word)
}

fn built_in_named(name: &str) -> Option<&'static Program> {
    let first = usize::from(*name.as_bytes().first()?);
    let of_first = *built_in::STARTS.get(first)?..*built_in::STARTS.get(first + 1)?;
    let names = built_in::NAMES.get(of_first)?;
    let at = names.binary_search_by(|(known, _)| (*known).cmp(name)).ok()?;
    names.get(at).and_then(|(_, index)| built_in::PROGRAMS.get(*index))
}

/// Few names are globs, such as `mkfs.*` and `*/init.d/*`.
fn by_glob(is_meant: impl Fn(&str) -> bool, text: &str) -> Option<&'static Program> {
    // Hardly any text starts like one of them.
    let may =
        |pattern: &str| pattern.starts_with('*') || pattern.as_bytes().first() == text.as_bytes().first();
    let mut globs = built_in::GLOBS.iter();
    let (_, index) = globs.find(|(pattern, _)| may(pattern) && is_meant(pattern) && glob(pattern, text))?;
    built_in::PROGRAMS.get(*index)
}

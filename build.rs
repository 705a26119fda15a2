//! Links the program statically, with the functions of a hook next to each other. The client starts it before and after
//! every command, and most of what a start cost was the dynamic linker: half of the time on a command without an action.
//!
//! `-C target-feature=+crt-static` would also do this, but without `--target` it breaks procedural macros, and with it
//! the program is no longer at `target/release/opsctl`. Instead, this script passes the linker, for the program only,
//! the location of the static form of each library that rustc names.

#[path = "src/catalogue"]
#[allow(dead_code, reason = "the program itself uses the rest")]
mod catalogue {
    pub mod entry;
    pub mod options;
    pub mod program;
}
#[path = "src/model"]
#[allow(dead_code, reason = "the program itself uses the rest")]
mod model {
    pub mod verb;
}
#[path = "src/redact"]
#[allow(dead_code, reason = "the tests use the rest")]
mod redact {
    pub mod entry;
    pub mod rule;
}
#[path = "build/languages.rs"]
mod languages;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use catalogue::entry::{Entries, EntryError};
use redact::entry::Rules;
use std::{env, fs, io};

/// Where the descriptions of programs are.
const CATALOGUE: &str = "src/catalogue";

/// The forms of secrets.
const SECRETS: &str = "src/redact/rules.yaml";

/// The functions of a hook, for the linker; `benches/layout` writes it.
const HOT_PATH: &str = "hot-path.ld";

/// The shared libraries that rustc names, and the archives that replace them.
const LIBRARIES: [(&str, &str); 3] = [
    ("libgcc_s.so", "GROUP ( libgcc_eh.a libgcc.a libc.a )"),
    ("libc.so", "GROUP ( libc.a libgcc_eh.a libgcc.a )"),
    ("libm.so", "GROUP ( libm.a )"),
];

/// What the C toolchain must bring along; development packages of most distributions do.
const NEEDED: [&str; 4] = ["libc.a", "libm.a", "libgcc_eh.a", "crt1.o"];

/// Why the program cannot be built.
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
    let written = write_catalogue().and_then(|()| write_secrets()).and_then(|()| languages::write());
    if let Err(error) = written.and_then(|()| Ok(link_statically()?)) {
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

/// Turns the forms of secrets into constants: the rules, the texts that select one, sorted, and the
/// set of the first two bytes of these texts.
fn write_secrets() -> Result<(), BuildError> {
    println!("cargo::rerun-if-changed={SECRETS}");
    let file = PathBuf::from(SECRETS);
    let Rules { rules: entries, .. } = serde_saphyr::from_str(&fs::read_to_string(&file)?)
        .map_err(|error| BuildError::Yaml { file, error: Box::new(error) })?;
    let rules: Vec<_> = entries.iter().map(|(name, entry)| entry.rule(name)).collect();
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
    let rules = format!("{rules:?}").replace(" needs: [", " needs: &[");
    let text = format!(
        "pub static RULES: &[Rule] = &{rules};\n\
         pub static SELECTORS: &[(&str, usize)] = &{selectors:?};\n\
         pub static PAIRS: [u64; 1024] = {pairs:?};\n"
    );
    Ok(fs::write(output("secrets.rs"), text)?)
}

/// The number of the first two bytes of a text.
fn pair(text: &str) -> usize {
    text.bytes().take(2).fold(0, |pair, byte| pair << 8 | usize::from(byte))
}

/// A file that the program includes.
fn output(name: &str) -> PathBuf {
    PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join(name)
}

fn link_statically() -> io::Result<()> {
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    let feature = env::var("CARGO_CFG_TARGET_FEATURE").unwrap_or_default();
    let dynamic = is("CARGO_CFG_TARGET_OS", "linux")
        && is("CARGO_CFG_TARGET_ENV", "gnu")
        && !feature.split(',').any(|feature| feature == "crt-static");
    if !dynamic {
        return Ok(());
    }
    let linker = env::var("RUSTC_LINKER").unwrap_or_else(|_| "cc".to_owned());
    let missing: Vec<&str> = NEEDED.into_iter().filter(|file| !brings(&linker, file)).collect();
    if !missing.is_empty() {
        println!(
            "cargo::warning=linked dynamically, so each hook starts slower: `{linker}` has no {}",
            missing.join(", ")
        );
        return Ok(());
    }
    let folder = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("static");
    write_scripts(&folder)?;
    println!("cargo::rustc-link-arg-bins=-L{}", folder.display());
    println!("cargo::rustc-link-arg-bins=-static");
    // At a fixed address: a program that may be loaded anywhere writes 25,000 addresses into fifty pages at each start,
    // a third of what a hook costs on `ls`. Stack, heap and mappings still have random addresses.
    println!("cargo::rustc-link-arg-bins=-no-pie");
    if is("PROFILE", "release") {
        println!("cargo::rerun-if-changed={HOT_PATH}");
        println!("cargo::rustc-link-arg-bins=-T{}", env::current_dir()?.join(HOT_PATH).display());
    }
    Ok(())
}

/// The compiler prints a whole path for a file that it knows, and the bare name for one that it does not.
fn brings(linker: &str, file: &str) -> bool {
    let asked = Command::new(linker).arg(format!("-print-file-name={file}")).output();
    asked.is_ok_and(|found| Path::new(String::from_utf8_lossy(&found.stdout).trim()).is_absolute())
}

fn write_scripts(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    for (library, script) in LIBRARIES {
        fs::write(folder.join(library), format!("/* {library}, statically */\n{script}\n"))?;
    }
    Ok(())
}

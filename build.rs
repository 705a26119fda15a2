//! Links the program statically, with the functions of a hook next to each other. The client starts it before and after
//! every command, and most of what a start cost was the dynamic linker: half of the time on a command without an action.
//!
//! `-C target-feature=+crt-static` would also do this, but without `--target` it breaks procedural macros, and with it
//! the program is no longer at `target/release/opsctl`. Instead, this script passes the linker, for the program only,
//! the location of the static form of each library that rustc names.

#[path = "src/catalogue"]
#[allow(dead_code, unused_imports, reason = "the program itself uses the rest")]
mod catalogue {
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

#[path = "build/catalogue.rs"]
mod write_catalogue;

use std::path::{Path, PathBuf};
use std::process::Command;

use redact::entry::Rules;
use serde::de::DeserializeOwned;
use std::{env, fs, io};

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
    #[error("{}: {key}: `{name}` is a name of two programs", file.display())]
    NameTwice { file: PathBuf, key: &'static str, name: &'static str },
    #[error(transparent)]
    Io(#[from] io::Error),
}

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if let Err(error) =
        write_catalogue::write().and_then(|()| write_secrets()).and_then(|()| Ok(link_statically()?))
    {
        println!("cargo::error={error}");
    }
}

/// Turns the forms of secrets into constants: the rules, the texts that select one, sorted, and the
/// set of the first two bytes of these texts.
fn write_secrets() -> Result<(), BuildError> {
    println!("cargo::rerun-if-changed={SECRETS}");
    let Rules { rules: entries, .. } = read_yaml(Path::new(SECRETS))?;
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

/// The YAML files of a folder, by name.
fn yaml_files(folder: &str) -> io::Result<Vec<PathBuf>> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<_>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "yaml"));
    files.sort();
    Ok(files)
}

fn read_yaml<T: DeserializeOwned>(file: &Path) -> Result<T, BuildError> {
    serde_saphyr::from_str(&fs::read_to_string(file)?)
        .map_err(|error| BuildError::Yaml { file: file.to_owned(), error: Box::new(error) })
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

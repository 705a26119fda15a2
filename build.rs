//! Links the program statically. The client starts it before and after every command, and most of what a start cost was
//! the dynamic linker: half of the time on a command without an action.
//!
//! `-C target-feature=+crt-static` would also do this, but without `--target` it breaks procedural macros, and with it
//! the program is no longer at `target/release/opsctl`. Instead, this script passes the linker, for the program only,
//! the location of the static form of each library that rustc names.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

/// The shared libraries that rustc names, and the archives that replace them.
const LIBRARIES: [(&str, &str); 3] = [
    ("libgcc_s.so", "GROUP ( libgcc_eh.a libgcc.a libc.a )"),
    ("libc.so", "GROUP ( libc.a libgcc_eh.a libgcc.a )"),
    ("libm.so", "GROUP ( libm.a )"),
];

/// What the C toolchain must bring along; development packages of most distributions do.
const NEEDED: [&str; 4] = ["libc.a", "libm.a", "libgcc_eh.a", "crt1.o"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if let Err(error) = link_statically() {
        println!("cargo::error={error}");
    }
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

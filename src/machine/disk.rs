//! The disk and the environment of this machine, for the reader.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Component, Path, PathBuf};

use rustix::fs::OFlags;

use super::agent_side::AgentSide;
use super::client::own_files;
use crate::machine::link::lookup::Lookup;
use opsctl_reader::shell::disk::{Disk, DiskFile, Entry, LONGEST_LISTING, LONGEST_SCRIPT, Unreadable};

/// Maximum number of links on one path.
const MOST_LINKS: usize = 16;
/// Folders whose files are not plain text on a disk, although some call themselves regular.
const VIRTUAL: [&str; 3] = ["/proc", "/sys", "/dev"];
/// What stands before and after the name of a function in the environment.
const FUNCTION: (&str, &str) = ("BASH_FUNC_", "%%");

/// The disk of the agent's machine.
#[derive(Clone)]
pub struct LocalDisk(pub AgentSide);

impl Disk for LocalDisk {
    fn read(&self, path: &str) -> Result<DiskFile, Unreadable> {
        let script = self.0.find(|| Lookup::Script(path.to_owned()), || Some(read_script(path)));
        let script = script.unwrap_or(Err(Unreadable::Refused))?;
        // The reader's work is bounded by the size of a script. An invalid byte becomes three bytes.
        if script.text.len() > 3 * LONGEST_SCRIPT { Err(Unreadable::TooLarge) } else { Ok(script) }
    }

    fn compose_variables(&self, path: &str) -> String {
        let here = || {
            let (real, _) = resolve(Path::new(path)).ok()?;
            let is_virtual = VIRTUAL.iter().any(|folder| real.starts_with(folder));
            let text = read_text(&real).ok().filter(|_| !is_virtual)?;
            Some(
                text.lines()
                    .filter(|line| line.starts_with("COMPOSE_"))
                    .flat_map(|line| [line, "\n"])
                    .collect(),
            )
        };
        self.0.find(|| Lookup::ComposeVariables(path.to_owned()), here).unwrap_or_default()
    }

    fn list(&self, path: &str) -> Vec<Entry> {
        let entries = self.0.find(|| Lookup::Folder(path.to_owned()), || Some(entries(path)));
        entries.unwrap_or_default().into_iter().take(LONGEST_LISTING).collect()
    }

    fn variable(&self, name: &str) -> Option<String> {
        self.0.variable(name)
    }

    fn function(&self, name: &str) -> Option<String> {
        if !self.0.may_have_functions() {
            return None;
        }
        self.0.find(|| Lookup::Function(name.to_owned()), || function(name))
    }
}

/// The text of a script on this machine.
fn read_script(path: &str) -> Result<DiskFile, Unreadable> {
    let (real, behind) = resolve(Path::new(path))?;
    if VIRTUAL.iter().any(|folder| real.starts_with(folder)) {
        return Err(Unreadable::NotRegular);
    }
    let secret = |path: &Path| path.to_str().is_none_or(own_files::is_secret);
    if secret(&real) || real != Path::new(path) && secret(Path::new(path)) {
        return Err(Unreadable::Secret);
    }
    let text = read_text(&real)?;
    let behind = behind.into_iter().filter_map(|path| path.into_os_string().into_string().ok());
    Ok(DiskFile { text, behind: behind.collect() })
}

/// The entries of a folder on this machine, sorted.
fn entries(path: &str) -> Vec<Entry> {
    let entries = Path::new(path).read_dir().into_iter().flatten().flatten().take(LONGEST_LISTING);
    let entries = entries.filter_map(|entry| {
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        Some(Entry { name: entry.file_name().into_string().ok()?, is_folder })
    });
    let mut entries: Vec<_> = entries.collect();
    entries.sort();
    entries
}

/// A function of the shell in the environment of this process.
fn function(name: &str) -> Option<String> {
    // On the stack: every command of every call asks.
    let mut key = [0_u8; 64];
    let mut length = 0;
    for part in [FUNCTION.0, name, FUNCTION.1] {
        key.get_mut(length..length + part.len())?.copy_from_slice(part.as_bytes());
        length += part.len();
    }
    let key = std::str::from_utf8(key.get(..length)?).ok()?;
    if key.contains(['=', '\0']) {
        return None;
    }
    std::env::var_os(key).map(OsString::into_string)?.ok()
}

/// The path with all links resolved, and every path on the way whose replacement would lead elsewhere.
fn resolve(path: &Path) -> Result<(PathBuf, Vec<PathBuf>), Unreadable> {
    let mut behind = Vec::new();
    let mut left: Vec<OsString> = names(path);
    let mut real = PathBuf::from("/");
    while let Some(name) = left.pop() {
        if name == ".." {
            real.pop();
            continue;
        }
        real.push(&name);
        let Ok(target) = real.read_link() else { continue };
        if behind.len() >= MOST_LINKS {
            return Err(Unreadable::Refused);
        }
        behind.push(real.clone());
        left.extend(names(&target));
        if target.is_absolute() {
            real = PathBuf::from("/");
        } else {
            real.pop();
        }
    }
    behind.push(real.clone());
    Ok((real, behind))
}

/// The names in a path, last one first.
fn names(path: &Path) -> Vec<OsString> {
    let names = path.components().rev().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    });
    names.collect()
}

/// Reads a regular file of at most [`LONGEST_SCRIPT`] bytes. Opening never blocks, and never acts on a device.
fn read_text(path: &Path) -> Result<String, Unreadable> {
    let refused = |error: std::io::Error| match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => Unreadable::Missing,
        _ => Unreadable::Refused,
    };
    if !path.metadata().map_err(refused)?.is_file() {
        return Err(Unreadable::NotRegular);
    }
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW).bits();
    let mut options = OpenOptions::new();
    let flags = i32::try_from(flags).map_err(|_| Unreadable::Refused)?;
    let mut file = options.read(true).custom_flags(flags).open(path).map_err(refused)?;
    // What stands here now may be another file.
    let before = file.metadata().map_err(refused)?;
    if !before.is_file() {
        return Err(Unreadable::NotRegular);
    }
    let longest = LONGEST_SCRIPT as u64;
    if before.len() > longest {
        return Err(if starts_binary(&mut file) { Unreadable::Binary } else { Unreadable::TooLarge });
    }
    let mut bytes = Vec::with_capacity(usize::try_from(before.len()).unwrap_or_default() + 1);
    (&mut file).take(longest + 1).read_to_end(&mut bytes).map_err(refused)?;
    let after = file.metadata().map_err(refused)?;
    let version = |of: &std::fs::Metadata| (of.len(), of.mtime(), of.mtime_nsec());
    if version(&before) != version(&after) || bytes.len() as u64 != before.len() {
        return Err(Unreadable::Changing);
    }
    if bytes.contains(&0) {
        return Err(Unreadable::Binary);
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Whether a large file is a compiled program.
fn starts_binary(file: &mut File) -> bool {
    let mut start = [0; 256];
    file.read(&mut start).is_ok_and(|length| start.get(..length).unwrap_or_default().contains(&0))
}

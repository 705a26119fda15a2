//! What an archiver does: list, unpack or pack.

use opsctl_reader::catalogue::lookup::Usage;
use opsctl_reader::catalogue::operands::Operands;
use opsctl_reader::catalogue::program::{FileHow, Role};

/// What an archiver does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation<'a> {
    /// It lists, tests, or writes to standard output.
    Looks,
    /// It writes files below a folder.
    Unpacks,
    /// It writes this archive.
    Packs(&'a str),
    /// It does something else, or runs a program.
    Unclear,
}

/// The operation of a command line of `tar`, `zip`, `7z`, `cpio` or a similar program.
pub fn operation<'a>(usage: &Usage, given: &Operands<'a>) -> Operation<'a> {
    let how = usage.files().how;
    let (packs, unpacks) = (given.has(Role::Packs), given.has(Role::Unpacks));
    let first = given.words().next();
    let archive = given.values(Role::Archive).last().or(first.filter(|_| how == Some(FileHow::Packing)));
    match archive {
        // On another host.
        Some(file) if how == Some(FileHow::Archive) && file.contains(':') => Operation::Unclear,
        _ if packs && unpacks => Operation::Unclear,
        _ if given.has(Role::ListsArchive) => Operation::Looks,
        Some(file) if packs || how == Some(FileHow::Packing) => {
            if file == "-" {
                Operation::Looks
            } else {
                Operation::Packs(file)
            }
        }
        None if packs => Operation::Looks,
        // `7z x -si` unpacks standard input.
        _ if how == Some(FileHow::Unpacking) && first.is_none() && given.options.is_empty() => {
            Operation::Looks
        }
        _ if unpacks || how == Some(FileHow::Unpacking) => {
            if given.has(Role::ToOutput) {
                Operation::Looks
            } else {
                Operation::Unpacks
            }
        }
        _ => Operation::Unclear,
    }
}

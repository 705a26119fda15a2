//! Reading `hosts.yaml` from text and from a file.

use std::path::Path;

use super::Installation;
use super::check::check;
use super::error::{Found, HostsError, Mistake};
use super::read::read;
use super::read::tree::Node;

/// The maximum size of the file in bytes; an inventory of 10,000 services is well below it.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// Reads and checks the file.
pub fn load(file: &Path) -> Result<Installation, HostsError> {
    let fail = |what: String, remedy: &str| HostsError {
        file: file.to_owned(),
        text: String::new(),
        mistakes: vec![Mistake { location: None, what, remedy: remedy.to_owned() }],
    };
    let size = std::fs::metadata(file)
        .map_err(|error| {
            fail(
                format!("cannot read the inventory ({error})"),
                "name the file with --hosts or CLAUDEOPS_HOSTS",
            )
        })?
        .len();
    if size > MAX_BYTES {
        return Err(fail(format!("the inventory of {size} bytes is too large"), "the maximum is 16 MiB"));
    }
    let text = std::fs::read_to_string(file).map_err(|error| {
        fail(format!("cannot read the inventory ({error})"), "it must be a UTF-8 text file")
    })?;
    parse(&text).map_err(|mistakes| HostsError { file: file.to_owned(), text, mistakes })
}

/// Reads and checks the text of a `hosts.yaml`; fails with all its mistakes, by position.
pub fn parse(text: &str) -> Result<Installation, Vec<Mistake>> {
    let root = Node::parse(text).map_err(|mistake| vec![mistake])?;
    let mut found = Found::default();
    let file = read(&root, &mut found);
    // What is missing because it could not be read is not missing in the file.
    let mut incomplete = vec![];
    root.incomplete(&mut incomplete);
    found.ignore(incomplete);
    let installation = file.map(|file| check(file, &root, &mut found));
    match installation {
        Some(installation) if found.is_empty() => Ok(installation),
        _ => Err(found.into_sorted()),
    }
}

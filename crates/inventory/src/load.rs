//! Reading `hosts.yaml` from text and from a file.

use std::io;
use std::path::Path;

use super::Installation;
use super::check::check;
use super::error::{HostsError, Mistake, Mistakes};
use super::read::tree::Node;
use super::read::usual;
use super::read::{keys_of, read};
use super::spanned::Location;
use super::yaml::file::HostsFileWire;
use opsctl_machine::plain_file::{self, Content};
use opsctl_policy::targets::nearest::nearest;

/// The maximum size of the file in bytes; an inventory of 10,000 services is well below it.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// Reads and checks the file.
pub fn load(file: &Path) -> Result<Installation, HostsError> {
    let fail = |what: String, remedy: &str| HostsError {
        file: file.to_owned(),
        text: String::new(),
        mistakes: vec![Mistake { location: None, what, remedy: remedy.to_owned() }],
    };
    let unread = |error: io::Error, remedy| fail(format!("cannot read the inventory ({error})"), remedy);
    let bytes = match plain_file::read(file, MAX_BYTES) {
        Ok(Content::Bytes(bytes)) => bytes,
        Ok(Content::TooLarge(size)) => {
            return Err(fail(format!("the inventory of {size} bytes is too large"), "the maximum is 16 MiB"));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(unread(error, "name the file with --hosts or CLAUDEOPS_HOSTS"));
        }
        Err(error) => return Err(unread(error, "make it a file that opsctl may read")),
    };
    let text = String::from_utf8(bytes).map_err(|error| {
        let valid = error.as_bytes().iter().take(error.utf8_error().valid_up_to());
        let line = valid.filter(|byte| **byte == b'\n').count() + 1;
        fail(format!("line {line} is not UTF-8 text"), "save the file with the encoding UTF-8")
    })?;
    parse(&text).map_err(|mistakes| {
        if !is_inventory(&text) {
            // Its text is not repeated: it may be another file than the caller may read.
            return fail(
                "no line begins with a key of an inventory".to_owned(),
                "write keys, such as `hosts:`, or name another file",
            );
        }
        let mistakes = name_hidden_blanks(&text, mistakes);
        HostsError { file: file.to_owned(), text, mistakes }
    })
}

/// Whether a text with mistakes is meant as an inventory: a line begins with one of its keys, or with a similar word.
fn is_inventory(text: &str) -> bool {
    let keys = keys_of::<HostsFileWire>();
    let mut begins = text.lines().filter_map(|line| {
        let (key, rest) = line.trim_start_matches(['\u{feff}', '{', '"', '\'']).split_once(':')?;
        let key = key.trim_end_matches(['"', '\'', ' ', '\t', '\u{a0}']);
        (rest.is_empty() || rest.starts_with(char::is_whitespace)).then_some(key)
    });
    begins.any(|key| {
        keys.contains(&key) || usual::key(key, keys).is_some() || nearest(key, keys.iter().copied()).is_some()
    })
}

/// YAML takes a non-breaking space for a letter, so the mistakes that it causes do not name it: this replaces them.
fn name_hidden_blanks(text: &str, mistakes: Vec<Mistake>) -> Vec<Mistake> {
    let named = mistakes.into_iter().map(|mistake| {
        let place = mistake.location.and_then(|location| {
            let number = usize::try_from(location.line.checked_sub(1)?).ok()?;
            let column = text.lines().nth(number)?.split('#').next()?.chars().position(|c| c == '\u{a0}')?;
            Some(Location { line: location.line, column: u64::try_from(column).ok()? + 1, length: 1 })
        });
        match place {
            Some(place) => Mistake::at(place, "a non-breaking space", "write a blank instead"),
            None => mistake,
        }
    });
    let mut named: Vec<Mistake> = named.collect();
    named.dedup();
    named
}

/// Reads and checks the text of a `hosts.yaml`; fails with all its mistakes, by position.
pub fn parse(text: &str) -> Result<Installation, Vec<Mistake>> {
    let root = Node::parse(text).map_err(|mistake| vec![mistake])?;
    let mut found = Mistakes::default();
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

//! Reading `hosts.yaml` from text and from a file.

use std::path::Path;

use serde_saphyr::{Options, from_str_with_options};

use super::Installation;
use super::check::check;
use super::error::{HostsError, Mistake};
use super::yaml::file::HostsFileWire;

/// The maximum size of the file in bytes; an inventory of 10,000 services is well below it.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// Reads and checks the file.
pub fn load(file: &Path) -> Result<Installation, HostsError> {
    let fail = |what: String, remedy: &str| {
        Mistake { position: None, what, remedy: remedy.to_owned() }.in_file(file.to_owned())
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
    parse(&text).map_err(|mistake| mistake.in_file(file.to_owned()))
}

/// Reads and checks the text of a `hosts.yaml`.
pub fn parse(text: &str) -> Result<Installation, Mistake> {
    let options: Options = serde_saphyr::options! { with_snippet: false };
    let file: HostsFileWire = from_str_with_options(text, options)?;
    check(file)
}

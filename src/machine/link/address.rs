//! Where the guard is: the variable `CLAUDEOPS_GUARD`.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;

/// The variable that names the guard to hooks and verbs.
pub const VARIABLE: &str = "CLAUDEOPS_GUARD";

/// The address of a guard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// `unix:PATH`: the socket of `opsctl serve`.
    Unix(PathBuf),
    /// Any other value: no guard can be reached there.
    Invalid(String),
}

impl Address {
    /// Reads the value of [`VARIABLE`]; `None` if it is empty, which counts as unset.
    pub fn read(value: &OsStr) -> Option<Self> {
        if value.as_bytes().trim_ascii().is_empty() {
            return None;
        }
        let path = value.as_bytes().strip_prefix(b"unix:").filter(|path| path.first() == Some(&b'/'));
        Some(match path {
            Some(path) => Self::Unix(OsString::from_vec(path.to_vec()).into()),
            None => Self::Invalid(value.to_string_lossy().into_owned()),
        })
    }

    /// The guard of this process, from its environment alone.
    pub fn of_process() -> Option<Self> {
        Self::read(&std::env::var_os(VARIABLE)?)
    }

    /// The value of [`VARIABLE`].
    pub fn to_value(&self) -> OsString {
        OsString::from_vec(match self {
            Self::Unix(path) => [b"unix:", path.as_os_str().as_bytes()].concat(),
            Self::Invalid(value) => value.clone().into_bytes(),
        })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_value().to_string_lossy())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_unix_socket_with_an_absolute_path_is_an_address() {
        let read = |text: &str| Address::read(text.as_ref());
        assert_eq!(read("unix:/guard/opsctl.sock"), Some(Address::Unix("/guard/opsctl.sock".into())));
        for unset in ["", " "] {
            assert_eq!(read(unset), None);
        }
        for invalid in ["/guard/opsctl.sock", "unix:", "unix:guard.sock", "tcp:127.0.0.1:1", "UNIX:/x"] {
            assert_eq!(read(invalid), Some(Address::Invalid(invalid.into())), "{invalid}");
        }
        assert_eq!(read("unix:/a b").unwrap().to_string(), "unix:/a b");
    }
}

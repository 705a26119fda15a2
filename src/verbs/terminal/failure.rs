//! Why a verb fails, as one line: what happened, to what, and what to do.

use std::error::Error;
use std::ffi::OsStr;
use std::fmt::{self, Display, Formatter};
use std::io;
use std::path::Path;

/// The failure of a verb.
#[derive(Debug)]
pub struct Failure(pub Box<dyn Error>);

impl Failure {
    /// A failure with a text of its own.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into().into())
    }

    /// A file or a folder that cannot be written.
    pub fn unwritable(path: &Path, error: &io::Error, remedy: &str) -> Self {
        Self::new(format!("{} cannot be written ({error}); {remedy}", path.display()))
    }

    /// A program that cannot be started.
    pub fn unstartable(program: &OsStr, error: &io::Error) -> Self {
        let program = program.display();
        Self::new(format!(
            "{program} cannot be started ({error}); install it, or correct the server's definition"
        ))
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<E: Error + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

/// The path of a program as text, for a file that contains it.
pub fn utf8(program: &Path) -> Result<&str, Failure> {
    let failure = || Failure::new("the path of opsctl is not UTF-8; name another with --opsctl");
    program.to_str().ok_or_else(failure)
}

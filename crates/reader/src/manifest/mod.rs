//! Files that state what a tool does: makefiles, `package.json`, justfiles, settings of git and units state commands, playbooks and
//! compose files targets. Each module turns the text of such a file into lines of shell or names, and opens nothing.

pub mod compose;
pub mod git;
pub mod just;
pub mod make;
pub mod package;
pub mod playbook;
pub mod unit;
mod value;

/// The commands that a tool runs for what it is asked.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Commands {
    /// Shell scripts in the order in which they run, each in a shell of its own.
    pub scripts: Vec<String>,
    /// Variables that the file adds to their environment.
    pub environment: Vec<(String, String)>,
    /// True where the file may run more than these: it includes other files, or a name in it is not found.
    pub is_partial: bool,
}

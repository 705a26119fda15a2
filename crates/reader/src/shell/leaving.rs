//! The states with which ways leave a part of a script before its end.

use super::state::Shell;

/// The states with which ways leave a function, a loop or a subshell early.
#[derive(Default)]
pub(crate) struct Leaving {
    /// By `return`, from the function or the sourced file in progress.
    pub returns: Vec<Option<Shell>>,
    /// By `break` and `continue`, from the loops in progress, outermost first.
    pub loops: Vec<Round>,
    /// By an expansion that fails, from the lines and functions in progress: bash goes on with the next line.
    pub lines: Vec<Option<Shell>>,
}

/// The states with which a round of a loop ends early.
#[derive(Default)]
pub(crate) struct Round {
    pub breaks: Option<Shell>,
    pub continues: Option<Shell>,
}

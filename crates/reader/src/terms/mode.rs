//! The mode of a session, which determines the recipients that it may write to.

/// The mode of a session, from `CLAUDE_SESSION_MODE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// A person is at the terminal.
    Interactive,
    /// The session works on a task unattended.
    Mission,
    /// The session runs in the background, unattended.
    Background,
}

impl Mode {
    /// Every mode.
    pub const ALL: [Self; 3] = [Self::Interactive, Self::Mission, Self::Background];

    /// Its name in `CLAUDE_SESSION_MODE`, `hosts.yaml` and messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Interactive => "interactive",
            Self::Mission => "mission",
            Self::Background => "background",
        }
    }

    /// The mode with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.as_str() == name)
    }
}

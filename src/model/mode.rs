//! How a session is led, which decides whom it may write to.

/// The mode of a session, as the one who started it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// A person sits before it.
    Interactive,
    /// It works on a task by itself.
    Mission,
    /// It works beside others, and nobody looks.
    Background,
}

impl Mode {
    /// Every mode.
    pub const ALL: [Self; 3] = [Self::Interactive, Self::Mission, Self::Background];

    /// The word for it, in `CLAUDE_SESSION_MODE`, in `hosts.yaml` and in messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Interactive => "interactive",
            Self::Mission => "mission",
            Self::Background => "background",
        }
    }

    /// The mode of this name; `None` for any other word.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.as_str() == name)
    }
}

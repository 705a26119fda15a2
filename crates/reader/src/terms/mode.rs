//! The mode of a session, which determines the recipients that it may write to.

crate::words! {
    /// The mode of a session, from `CLAUDE_SESSION_MODE`.
    pub enum Mode {
        /// A person is at the terminal.
        Interactive = "interactive",
        /// The session works on a task unattended.
        Mission = "mission",
        /// The session runs in the background, unattended.
        Background = "background",
    }
}

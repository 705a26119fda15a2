//! What identifies a tool call.

/// Identifies a tool call. Both ids may be missing in hand-written input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CallId<'a> {
    /// The id of the session.
    pub session: Option<&'a str>,
    /// The client's id of the tool call.
    pub tool_use: Option<&'a str>,
}

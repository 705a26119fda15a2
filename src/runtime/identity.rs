//! What the environment says of a session beside what the guard asks at every command.

/// Who a session is, as the one who started it says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Identity {
    /// `CLAUDE_SESSION_ROLE`.
    pub role: Option<String>,
    /// `MISSION_EXECUTION_ID`: what it is a part of.
    pub mission: Option<String>,
}

impl Identity {
    /// Reads the process's own environment.
    pub fn of_process() -> Self {
        let word = |name: &str| {
            let value = std::env::var_os(name)?.to_string_lossy().into_owned();
            let word: String = value.chars().filter(|c| !c.is_control()).take(200).collect();
            Some(word).filter(|word| !word.is_empty())
        };
        Self { role: word("CLAUDE_SESSION_ROLE"), mission: word("MISSION_EXECUTION_ID") }
    }
}

//! What was found out about the parts of a script.

use super::reason::Why;
use opsctl_reader::terms::effect::Effect;

/// An effect and the reason for it.
pub type Proof = (Effect, Why);

/// It only reads: every word of it is understood.
pub const READS: Proof = (Effect::Reads, Why::Stated);

/// A statement or an expression in it changes something, or may.
pub const CHANGES: Proof = (Effect::Changes, Why::Statement);

/// One part of a script and what it does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartEffect {
    /// The command, as people read it.
    pub text: String,
    /// Its program and verb, without what could be a secret.
    pub form: String,
    /// Where it runs, for a sentence about it; empty for here.
    pub whereabouts: String,
    /// The hosts that it names or runs on, as written; empty for this machine.
    pub hosts: Vec<String>,
    /// The hosts to which it sends the output of another command, or the content of a file; empty where only the run knows
    /// the host.
    pub sends_to: Vec<String>,
    /// The hosts to which it sends a variable with the name of a secret, likewise.
    pub reveals_to: Vec<String>,
    /// The hosts to which a client sends the credentials of its settings or variables, likewise.
    pub logs_in_at: Vec<String>,
    /// The hosts to which it sends a request that no interface describes, and that may change something there.
    pub changes_at: Vec<String>,
    /// Its effect.
    pub effect: Effect,
    /// The reason.
    pub why: Why,
    /// A command that only reads, to suggest instead.
    pub instead: Option<&'static str>,
}

impl PartEffect {
    /// A part of which nothing is known but this.
    pub fn of(text: String, effect: Effect, why: Why) -> Self {
        Self {
            text,
            form: String::new(),
            whereabouts: String::new(),
            hosts: vec![],
            sends_to: vec![],
            reveals_to: vec![],
            logs_in_at: vec![],
            changes_at: vec![],
            effect,
            why,
            instead: None,
        }
    }
}

/// Where commands may write without changing anything that matters: globs of absolute paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scratch(pub Vec<String>);

impl Default for Scratch {
    fn default() -> Self {
        Self(["/tmp/**", "/var/tmp/**"].map(str::to_owned).to_vec())
    }
}

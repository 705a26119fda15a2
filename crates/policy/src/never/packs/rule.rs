//! A default rule.

use crate::model::rules::Where;

/// A rule that comes with this program.
#[derive(Debug, Clone, Copy)]
pub struct DefaultRule {
    /// Its name, in denials and in `hosts.yaml`.
    pub name: &'static str,
    /// Why not, and what to do instead.
    pub reason: &'static str,
    /// The machines that it applies to.
    pub scope: Where,
    /// Commands that it denies.
    pub matches: &'static [&'static str],
    /// Commands near to these that it does not deny.
    pub differs: &'static [&'static str],
}

/// Holds everywhere; each row states the rest.
pub const RULE: DefaultRule =
    DefaultRule { name: "", reason: "", scope: Where::Any, matches: &[], differs: &[] };

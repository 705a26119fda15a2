//! A form of secrets, and the texts that select the rules to search a line for.

/// A rule: what one kind of secret looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// Its name in `rules.yaml`.
    pub name: &'static str,
    /// The pattern of the command that it applies to, from the program to the end of its words; empty for any text.
    pub command: &'static str,
    /// Texts of which one must occur in the line with the command, in any case; empty if none must.
    pub needs: &'static [&'static str],
    /// The pattern. What its groups capture is the secret; without groups, the whole match.
    pub pattern: &'static str,
    /// The least length of a run of letters, digits and `+/_-` in a line that is searched; 0: its texts select the rule.
    pub run: usize,
    /// A text that also occurs in a line that is searched; empty if none must.
    pub beside: &'static str,
    /// Whether a secret has capital letters, small letters and digits.
    pub mixed: bool,
    /// Whether the pattern spans lines.
    pub whole: bool,
}

//! A form of secrets, and the texts that select the rules to search a line for.

/// Values that stand for a secret, and are none.
#[derive(Debug)]
pub struct Placeholders {
    /// Words, in any case.
    pub words: &'static [&'static str],
    /// Beginnings of values.
    pub beginnings: &'static [&'static str],
    /// Folders in which files of secrets are.
    pub folders: &'static [&'static str],
    /// Beginnings of places from which code reads a value.
    pub places: &'static [&'static str],
    /// Names of variables of code.
    pub names: &'static [&'static str],
}

/// A rule: what one kind of secret looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// Its name in `rules.yaml`.
    pub name: &'static str,
    /// The pattern of the command that it applies to, from the program to the end of its words; empty for any text.
    pub command: &'static str,
    /// Texts of which one must occur after the name of the program, in any case; empty if none must.
    pub needs: &'static [&'static str],
    /// The pattern. What its groups capture is the secret; without groups, the whole match.
    pub pattern: &'static str,
    /// The least length of a run of letters, digits and `+/_-` beside which it is searched; 0: its texts select the rule.
    pub run: usize,
    /// A text that also occurs beside the secret; empty if none must.
    pub beside: &'static str,
    /// The characters of which one follows the name that ends with the selecting text; empty if any may.
    pub then: &'static str,
    /// Whether a match begins where the text is that selects it.
    pub begins: bool,
    /// Whether a secret has capital letters, small letters and digits.
    pub mixed: bool,
    /// Whether the pattern spans lines.
    pub whole: bool,
    /// The least length of a match, if it lies within one token: letters, digits and `+/=_.~:%@-`; 0 if it may not.
    pub token: usize,
}

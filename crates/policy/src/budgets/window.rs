//! Usage of the context window of a session's model, and the warnings about it.

use crate::lists::CONTEXT_WARNINGS;
use crate::model::display::thousands::grouped;
use crate::model::rights::policy::Tier;

/// The levels of usage, in percent of a window, at which the agent is warned.
pub const LEVELS: [u8; 4] = [60, 80, 90, 95];

/// The window of an unknown model, in tokens.
pub const USUAL: u32 = 200_000;

/// The window of newer models, and of models whose name ends in `[1m]`, in tokens.
pub const LARGE: u32 = 1_000_000;

/// The usage of a context window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fullness {
    /// Tokens used.
    pub tokens: u64,
    /// The window, in tokens.
    pub window: u32,
}

impl Fullness {
    /// The usage in percent, rounded down.
    pub fn percent(self) -> u64 {
        self.tokens.saturating_mul(100) / u64::from(self.window.max(1))
    }

    /// The highest level that is reached; `None` below the first.
    pub fn level(self) -> Option<u8> {
        LEVELS.into_iter().rev().find(|level| self.percent() >= u64::from(*level))
    }
}

/// The window of a model, in tokens: the configured one, otherwise the built-in one. If a session has used many more
/// `tokens`, its window must be larger.
pub fn of_model(model: &str, stated: &[(String, u32)], tokens: u64) -> u32 {
    let named = stated.iter().filter(|(name, _)| model.starts_with(name.as_str()));
    if let Some((_, window)) = named.max_by_key(|(name, _)| name.len()) {
        return *window;
    }
    let known = if model.ends_with("[1m]") || generation(model).is_some_and(|model| model >= (4, 7)) {
        LARGE
    } else {
        USUAL
    };
    // The last answer of some models may exceed the window slightly.
    if tokens > u64::from(known) + u64::from(known) / 10 { LARGE.max(known) } else { known }
}

/// The version in a name of one of Anthropic's models, of any provider: `claude-opus-4-7`,
/// `eu.anthropic.claude-sonnet-4-5-20250929-v1:0`, `claude-3-7-sonnet-20250219`.
fn generation(model: &str) -> Option<(u32, u32)> {
    let (_, rest) = model.split_once("claude-")?;
    let mut words = rest.split(['-', '[', '@', ':', '.']).peekable();
    // The family precedes the version; in older names, it follows it.
    words.next_if(|word| !word.is_empty() && word.chars().all(|c| c.is_ascii_alphabetic()));
    // A date is not a version.
    let number = |word: &str| word.parse().ok().filter(|number: &u32| *number < 1_000);
    let major = number(words.next()?)?;
    Some((major, words.next().and_then(number).unwrap_or(0)))
}

/// The warning at a level, with the advice for this tier.
pub fn warning(level: u8, fullness: Fullness, tier: Option<Tier>, at_end: bool) -> String {
    let Fullness { tokens, window } = fullness;
    let is_reached = |row: &&(&str, _, _, _)| row.0.parse().is_ok_and(|of_row: u8| level >= of_row);
    let row = CONTEXT_WARNINGS.iter().find(is_reached).or(CONTEXT_WARNINGS.last());
    let (_, heading, heading_at_end, advice) = row.copied().unwrap_or_default();
    let heading = if at_end { heading_at_end } else { heading };
    let (hand_over, it) = if tier == Some(Tier::Full) {
        ("what is left to do, on a line `[EVENT:warning:SERVICE] …` for a person", "that line")
    } else {
        (
            "the hand-over (handoff.json) with `opsctl handoff write`: what you saw, what you tried, what is left",
            "it",
        )
    };
    let advice = advice.replace("{hand_over}", hand_over).replace("{it}", it);
    let (used, of) = (grouped(tokens), grouped(u64::from(window)));
    format!("{heading}. {used} of {of} tokens ({}%) of this session are used. {advice}", fullness.percent())
}

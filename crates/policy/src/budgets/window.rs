//! Usage of the context window of a session's model, and the warnings about it.

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

/// The first words of the warning at a level, as Claude OS words them; those at the end of a turn differ.
const fn heading(level: u8, at_end: bool) -> &'static str {
    match (level, at_end) {
        (95.., _) => "[CLAUDE OS SYS: WARNING]: Context at 95% - CRITICAL",
        (90.., _) => "[CLAUDE OS SYS: WARNING]: Context at 90% - URGENT",
        (80.., true) => "[CLAUDE OS SYS: WARNING]: Context at 80%",
        (80.., false) => {
            "[CLAUDE OS SYS: WARNING]: Context at 80% - Write reset notes and prepare to transition"
        }
        (_, true) => "[CLAUDE OS SYS: INFO]: Memory check (60% context used)",
        (_, false) => "[CLAUDE OS SYS: INFO]: Context at 60% - Consider writing reset notes soon",
    }
}

/// The warning at a level, with the advice for this tier.
pub fn warning(level: u8, fullness: Fullness, tier: Option<Tier>, at_end: bool) -> String {
    let Fullness { tokens, window } = fullness;
    let used = format!(
        "{}. {} of {} tokens ({}%) of this session are used.",
        heading(level, at_end),
        grouped(tokens),
        grouped(u64::from(window)),
        fullness.percent()
    );
    let (hand_over, way) = if tier == Some(Tier::Full) {
        ("what is left to do, on a line `[EVENT:warning:SERVICE] …` for a person", "that line")
    } else {
        (
            "the hand-over (handoff.json) with `opsctl handoff write`: what you saw, what you tried, what is left",
            "it",
        )
    };
    let advice = match level {
        95.. => format!(
            "EMERGENCY: the next answers may be cut off. Write {hand_over}. If it is written already, or nothing is left, end the session. Do nothing else."
        ),
        90.. => format!(
            "STOP the task now. Do not start or read anything else. Write {hand_over}; leave every service in a working state, and end the session."
        ),
        80.. => format!(
            "If anything will be left to do, write {hand_over}. Write {way} now, while there is room for it, and then finish only what you have begun."
        ),
        _ => "Read no more than you need: ask for parts of files and for the last lines of logs. Summarise what you have found so far in a few lines of your text.".to_owned(),
    };
    format!("{used} {advice}")
}

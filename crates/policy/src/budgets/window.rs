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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_those_that_the_client_counts_with() {
        for (model, window) in [
            ("claude-haiku-5-5", LARGE),
            ("claude-sonnet-5", LARGE),
            ("claude-opus-5-5", LARGE),
            ("claude-opus-4-7", LARGE),
            ("claude-opus-4-6", USUAL),
            ("claude-sonnet-4-6", USUAL),
            ("claude-sonnet-4-5", USUAL),
            ("claude-sonnet-4-5[1m]", LARGE),
            ("claude-haiku-4-5", USUAL),
            ("claude-sonnet-4-20250514", USUAL),
            ("claude-3-7-sonnet-20250219", USUAL),
            ("claude-3-5-haiku-20241022", USUAL),
            ("eu.anthropic.claude-sonnet-4-5-20250929-v1:0", USUAL),
            ("us.anthropic.claude-opus-5-20260901-v1:0", LARGE),
            ("claude-opus-4-7@20260101", LARGE),
            ("unknown-model", USUAL),
            ("claude-", USUAL),
            ("", USUAL),
        ] {
            assert_eq!(of_model(model, &[], 0), window, "{model}");
        }
    }

    #[test]
    fn a_configured_window_wins_with_the_longest_prefix() {
        let stated = [
            ("local".to_owned(), 32_768),
            ("local-large".to_owned(), 131_072),
            ("claude-opus".to_owned(), 400_000),
        ];
        assert_eq!(of_model("local-small", &stated, 0), 32_768);
        assert_eq!(of_model("local-large-2", &stated, 0), 131_072);
        assert_eq!(of_model("claude-opus-5[1m]", &stated, 0), 400_000);
        assert_eq!(of_model("other", &stated, 0), USUAL);
        assert_eq!(of_model("local", &stated, 50_000), 32_768);
    }

    #[test]
    fn a_session_over_its_window_has_a_larger_window() {
        assert_eq!(of_model("claude-sonnet-4-5", &[], 205_000), USUAL);
        assert_eq!(of_model("claude-sonnet-4-5", &[], 220_001), LARGE);
        assert_eq!(of_model("claude-opus-5", &[], 2_000_000), LARGE);
    }

    #[test]
    fn the_highest_level_that_is_reached_counts() {
        for (tokens, level) in [
            (0, None),
            (119_999, None),
            (120_000, Some(60)),
            (159_999, Some(60)),
            (160_000, Some(80)),
            (180_000, Some(90)),
            (190_000, Some(95)),
            (500_000, Some(95)),
            (u64::MAX, Some(95)),
        ] {
            assert_eq!(Fullness { tokens, window: 200_000 }.level(), level, "{tokens}");
        }
    }

    #[test]
    fn a_warning_says_how_full_and_what_to_do() {
        let shown = |level, tokens, tier| warning(level, Fullness { tokens, window: 200_000 }, tier, false);
        let one = shown(80, 161_234, Some(Tier::Observe));
        assert!(
            one.starts_with(
                "[CLAUDE OS SYS: WARNING]: Context at 80% - Write reset notes and prepare to transition. 161,234 of 200,000 tokens (80%) of this session are used. "
            ),
            "{one}"
        );
        assert!(one.contains("handoff.json") && one.contains("`opsctl handoff write`"), "{one}");
        // Tier 3 has no tier to hand over to.
        let three = shown(80, 170_000, Some(Tier::Full));
        assert!(!three.contains("handoff") && three.contains("[EVENT:warning:SERVICE]"), "{three}");
        assert!(shown(60, 120_000, None).contains("Read no more than you need"));
        assert!(shown(90, 180_000, None).contains("STOP the task now"));
        assert!(shown(95, 199_999, None).contains("EMERGENCY"));
    }
}

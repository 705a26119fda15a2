//! The limits that `hosts.yaml` states.

use std::fmt;
use std::path::PathBuf;

use chrono::TimeDelta;

use super::action::ActionKind;
use super::checks::Verification;
use super::message::{Contact, Modes};
use super::rules::Rules;

/// All limits of one installation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// Stops, starts and restarts per service.
    pub restart: Budget,
    /// Redeployments per service.
    pub redeployment: Budget,
    /// What happens to an action whose service cannot be told.
    pub unresolved: Unresolved,
    /// What happens to an action when the ledger cannot be read or written.
    pub on_failure: OnFailure,
    /// Rights and defaults of tiers 1, 2 and 3, in this order.
    pub tiers: [TierPolicy; 3],
    /// What a session has to prove that acted on services.
    pub verify: Verification,
    /// Rules about commands, files and tools, beside the defaults.
    pub rules: Rules,
    /// Whom the modes may write to.
    pub modes: Modes,
    /// The people and places that may be written to, or may not.
    pub contacts: Vec<Contact>,
}

impl Default for Policy {
    /// The limits of Claude Ops: 2 restarts in 4 h, 1 redeployment in 24 h.
    fn default() -> Self {
        Self {
            restart: Budget { limit: 2, window: Window::hours(4) },
            redeployment: Budget { limit: 1, window: Window::hours(24) },
            unresolved: Unresolved::Budget,
            on_failure: OnFailure::Open,
            tiers: Tier::ALL.map(TierPolicy::default_of),
            verify: Verification::default(),
            rules: Rules::default(),
            modes: Modes::default(),
            contacts: vec![],
        }
    }
}

impl Policy {
    /// The budget of a kind of action; `None` for kinds that are not counted.
    pub const fn budget(&self, kind: ActionKind) -> Option<&Budget> {
        match kind {
            ActionKind::Restart => Some(&self.restart),
            ActionKind::Redeployment => Some(&self.redeployment),
            ActionKind::PullRequest | ActionKind::Notification | ActionKind::Forbidden => None,
        }
    }

    /// The rights of a tier.
    pub fn tier(&self, tier: Tier) -> &TierPolicy {
        let [one, two, three] = &self.tiers;
        match tier {
            Tier::Observe => one,
            Tier::Remediate => two,
            Tier::Full => three,
        }
    }
}

/// So many actions in any window of this length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Actions allowed per window.
    pub limit: u32,
    /// The length of the sliding window.
    pub window: Window,
}

/// A length of time of at least one second, written as people write it: `4h`, `1h30m`, `2d`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window(TimeDelta);

impl Window {
    /// Ten seconds.
    pub const TEN_SECONDS: Self = Self(TimeDelta::seconds(10));
    /// Thirty seconds.
    pub const HALF_A_MINUTE: Self = Self(TimeDelta::seconds(30));

    /// A window of so many whole hours.
    pub const fn hours(hours: u16) -> Self {
        Self(TimeDelta::seconds(hours as i64 * 3600))
    }

    /// A window of so many whole minutes.
    pub const fn minutes(minutes: u16) -> Self {
        Self(TimeDelta::seconds(minutes as i64 * 60))
    }

    /// A window of so many seconds; `None` unless it is between one second and ten years.
    pub fn seconds(seconds: i64) -> Option<Self> {
        (1..=315_360_000).contains(&seconds).then(|| Self(TimeDelta::seconds(seconds)))
    }

    /// The length.
    pub const fn delta(self) -> TimeDelta {
        self.0
    }

    /// Reads `90s`, `30m`, `4h`, `2d` and sums of them such as `1h30m`; `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let mut total: i64 = 0;
        let mut rest = text.trim();
        if rest.is_empty() {
            return None;
        }
        while !rest.is_empty() {
            let digits = rest.find(|c: char| !c.is_ascii_digit())?;
            let (number, tail) = rest.split_at(digits);
            let mut chars = tail.chars();
            let unit = match chars.next()? {
                's' => 1,
                'm' => 60,
                'h' => 3600,
                'd' => 86_400,
                _ => return None,
            };
            total = total.checked_add(number.parse::<i64>().ok()?.checked_mul(unit)?)?;
            rest = chars.as_str();
        }
        Self::seconds(total)
    }
}

impl fmt::Display for Window {
    /// In hours where they come out even, as the limits of Claude Ops are spoken of (`24h`, not `1d`).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.num_seconds();
        let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        if hours > 0 {
            write!(f, "{hours}h")?;
        }
        if minutes > 0 {
            write!(f, "{minutes}m")?;
        }
        if rest > 0 {
            write!(f, "{rest}s")?;
        }
        Ok(())
    }
}

/// The fate of an action whose service cannot be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unresolved {
    /// It counts against a budget shared by all such actions on its host.
    Budget,
    /// It runs uncounted.
    Allow,
    /// It is denied.
    Deny,
}

/// The fate of an action when the ledger fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnFailure {
    /// It runs, and the failure is reported.
    Open,
    /// It is denied.
    Closed,
}

/// How far an agent may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// Tier 1 looks and reports.
    Observe,
    /// Tier 2 restarts services.
    Remediate,
    /// Tier 3 also redeploys them.
    Full,
}

impl Tier {
    /// Every tier, from the lowest.
    pub const ALL: [Self; 3] = [Self::Observe, Self::Remediate, Self::Full];

    /// The tier of this number; `None` unless it is 1, 2 or 3.
    pub const fn from_number(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Observe),
            2 => Some(Self::Remediate),
            3 => Some(Self::Full),
            _ => None,
        }
    }

    /// 1, 2 or 3.
    pub const fn number(self) -> u8 {
        match self {
            Self::Observe => 1,
            Self::Remediate => 2,
            Self::Full => 3,
        }
    }

    /// The next tier up, if there is one.
    pub const fn above(self) -> Option<Self> {
        Self::from_number(self.number() + 1)
    }
}

/// What a tier may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TierPolicy {
    /// The model that runs it.
    pub model: String,
    /// The client's tools that exist in its sessions.
    pub tools: Vec<String>,
    /// The kinds of action it may take.
    pub allow: Vec<ActionKind>,
    /// Beginnings of commands that it never runs, beside those that follow from `allow`.
    pub deny: Vec<String>,
    /// How long a session may run.
    pub deadline: Window,
    /// The file of its prompt, in the place of the rendered one.
    pub prompt: Option<PathBuf>,
}

impl TierPolicy {
    /// What a tier may do where `hosts.yaml` does not say otherwise.
    pub fn default_of(tier: Tier) -> Self {
        use ActionKind::{Notification, PullRequest, Redeployment, Restart};
        let (model, allow, minutes): (_, &[ActionKind], _) = match tier {
            Tier::Observe => ("haiku", &[], 30),
            Tier::Remediate => ("sonnet", &[Restart, PullRequest, Notification], 45),
            Tier::Full => ("opus", &[Restart, Redeployment, PullRequest, Notification], 60),
        };
        let looking = ["Bash", "Read", "Grep", "Glob", "Task"];
        let changing: &[&str] = if tier == Tier::Observe { &[] } else { &["Write", "Edit", "WebFetch"] };
        Self {
            model: model.to_owned(),
            tools: looking.iter().chain(changing).map(|tool| (*tool).to_owned()).collect(),
            allow: allow.to_vec(),
            deny: vec![],
            deadline: Window::minutes(minutes),
            prompt: None,
        }
    }
}

/// Whether this can be the name of a model: an alias, a full name, that of a cloud provider, a size of
/// context (`opus`, `sonnet[1m]`, `eu.anthropic.claude-x:0`). It is an argument of the client's, so never
/// an option.
pub fn is_model(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.len() <= 256
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "._-:@/[]".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_read_and_print_as_people_write_them() {
        for (text, seconds, printed) in [
            ("4h", 14_400, "4h"),
            ("24h", 86_400, "24h"),
            ("2d", 172_800, "48h"),
            ("90m", 5_400, "1h30m"),
            ("1h30m", 5_400, "1h30m"),
            ("45s", 45, "45s"),
        ] {
            let window = Window::parse(text).unwrap();
            assert_eq!(window.delta().num_seconds(), seconds, "{text}");
            assert_eq!(window.to_string(), printed, "{text}");
        }
    }

    #[test]
    fn windows_without_a_unit_or_a_length_are_refused() {
        for text in ["", "4", "h", "4 h", "-4h", "0h", "4h3", "4x", "99999999999999999999h", "1.5h"] {
            assert_eq!(Window::parse(text), None, "{text:?}");
        }
    }
}

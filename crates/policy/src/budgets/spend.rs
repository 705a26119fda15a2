//! The spending limits: the cost of a request, what is left, and the texts of warnings and refusals.

use chrono::{DateTime, TimeDelta, Utc};

use crate::model::display::relative_time::timestamp as time;
use crate::model::records::event::{Level, NewEvent};
use crate::model::records::notice::Notice;
use crate::model::rights::spend::{Price, SpendPolicy, Usage, Usd};

/// The window of the daily limit.
pub const DAY: TimeDelta = TimeDelta::hours(24);

/// The share of a limit, in per cent, from which operators are warned.
const WARNING: u64 = 80;

/// The quiet period of notices about one session, which is longer than a session.
const SESSION_QUIET: TimeDelta = TimeDelta::days(30);

/// The built-in prices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prices {
    /// The models.
    pub models: Vec<ModelPrice>,
    /// The price of the fast mode of any model.
    pub fast: Price,
    /// The price of one web search.
    pub web_search: Usd,
}

/// The price of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelPrice {
    /// The beginning of the model's name, without a date.
    pub name: String,
    /// The price.
    pub price: Price,
    /// The number of input tokens beyond which another price applies, and that price.
    pub long: Option<(u64, Price)>,
}

/// The cost of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cost {
    /// The amount.
    pub usd: Usd,
    /// Whether the model has a price; otherwise the highest price was used.
    pub is_known: bool,
}

impl Prices {
    /// The cost of a request to this model. `own` are the operator's prices, which take precedence.
    pub fn cost(&self, own: &[(String, Price)], model: &str, usage: &Usage) -> Cost {
        let own = own
            .iter()
            .filter(|(name, _)| model.starts_with(name.as_str()))
            .max_by_key(|(name, _)| name.len())
            .map(|(_, price)| *price);
        let built_in = || {
            let known = self.models.iter().filter(|known| is_of(model, &known.name));
            let known = known.max_by_key(|known| known.name.len())?;
            let prompt = usage.tokens.prompt();
            Some(match known.long {
                _ if usage.fast => dearer(self.fast, known.price),
                Some((above, price)) if prompt > above => price,
                _ => known.price,
            })
        };
        let price = own.or_else(built_in);
        let tokens = price.unwrap_or_else(|| self.highest()).cost(&usage.tokens);
        let tokens = if usage.us_only { Usd(tokens.0.saturating_add(tokens.0.div_ceil(10))) } else { tokens };
        let searches = Usd(self.web_search.0.saturating_mul(usage.web_searches));
        Cost { usd: tokens.plus(searches), is_known: price.is_some() }
    }

    /// The price with the most expensive output.
    fn highest(&self) -> Price {
        let all = self.models.iter().map(|known| known.price).chain([self.fast]);
        all.max_by_key(|price| price.output).unwrap_or(self.fast)
    }
}

fn dearer(one: Price, other: Price) -> Price {
    if one.output >= other.output { one } else { other }
}

/// Whether a model's name is `name`, or continues with a date or a variant, but not with a version: `claude-opus-4-20250514` is
/// `claude-opus-4`, and `claude-opus-4-9` is not.
fn is_of(model: &str, name: &str) -> bool {
    let Some(rest) = model.strip_prefix(name) else { return false };
    let number = rest.strip_prefix(['-', '.']).unwrap_or_default();
    let digits = number.bytes().take_while(u8::is_ascii_digit).count();
    !rest.starts_with(|c: char| c.is_ascii_alphanumeric()) && (digits == 0 || digits >= 6)
}

/// What was spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Spent {
    /// In the last 24 hours, by all sessions.
    pub day: Usd,
    /// By the session that asks, since it began.
    pub session: Usd,
}

opsctl_reader::words! {
    /// One of the two limits.
    pub enum Limit {
        /// Of any 24 hours.
        Day = "day",
        /// Of one session.
        Session = "session",
    }
}

/// A limit and what was spent of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// The limit.
    pub limit: Limit,
    /// What was spent.
    pub spent: Usd,
    /// The maximum.
    pub most: Usd,
}

impl Standing {
    /// Whether no further request is allowed.
    pub const fn is_reached(&self) -> bool {
        self.spent.0 >= self.most.0
    }

    /// Whether operators are warned.
    pub const fn is_near(&self) -> bool {
        self.spent.0 as u128 * 100 >= self.most.0 as u128 * WARNING as u128
    }

    /// `$16.20 of $20.00 in the last 24 h`.
    pub fn in_words(&self) -> String {
        let Self { limit, spent, most } = self;
        match limit {
            Limit::Day => format!("{spent} of {most} in the last 24 h"),
            Limit::Session => format!("{spent} of {most} in this session"),
        }
    }

    /// The name of the key in `hosts.yaml`.
    pub fn key(&self) -> String {
        format!("policy.spend.{}", self.limit.as_str())
    }
}

/// The limits that are configured, with what was spent of them.
pub fn standings(policy: &SpendPolicy, spent: Spent) -> Vec<Standing> {
    let all = [(Limit::Day, spent.day, policy.day), (Limit::Session, spent.session, policy.session)];
    all.into_iter().filter_map(|(limit, spent, most)| Some(Standing { limit, spent, most: most? })).collect()
}

/// When a request is allowed again: when enough of the costs, newest first, have left the window. `None`: never, the limit
/// is 0.
pub fn next_allowed(
    costs: impl IntoIterator<Item = (DateTime<Utc>, Usd)>,
    most: Usd,
) -> Option<DateTime<Utc>> {
    let mut sum = Usd(0);
    for (at, cost) in costs {
        sum = sum.plus(cost);
        if sum >= most {
            return (most > Usd(0)).then_some(at + DAY);
        }
    }
    None
}

/// The error that the client shows when a limit is reached.
pub fn refusal(standing: &Standing, next: Option<DateTime<Utc>>) -> String {
    let what =
        format!("opsctl: the spending limit is reached: {} ({}).", standing.in_words(), standing.key());
    match (standing.limit, next) {
        (Limit::Day, Some(next)) => format!("{what} Requests are allowed again from {}.", time(next)),
        (Limit::Day, None) => format!("{what} No request is allowed until an operator raises the limit."),
        (Limit::Session, _) => {
            format!("{what} End this session; an operator can raise the limit.")
        }
    }
}

/// The event and the notice of a limit that is near or reached. They are not repeated for the same session, or within 24 hours.
pub fn notice(standing: &Standing, session: Option<&str>, now: DateTime<Utc>) -> (NewEvent, Notice) {
    let reached = standing.is_reached();
    let state = if reached { "reached" } else { "nearly reached" };
    let (of, subject, quiet) = match standing.limit {
        Limit::Day => ("daily spending limit", "day".to_owned(), DAY),
        Limit::Session => {
            let subject = format!("session/{}", session.unwrap_or_default());
            ("spending limit of a session", subject, SESSION_QUIET)
        }
    };
    let words = standing.in_words();
    let consequence = if reached {
        "Further requests to the model are refused."
    } else {
        "At the limit, requests to the model are refused."
    };
    let whose = session.map(|session| format!("\n\n- session: `{session}`")).unwrap_or_default();
    let level = if reached { Level::Critical } else { Level::Warning };
    let event = NewEvent { level, service: None, message: format!("The {of} is {state}: {words}") };
    let key = format!("spend/{}/{subject}", if reached { "reached" } else { "near" });
    let body = format!("{words} (`{}`). {consequence}{whose}", standing.key());
    let notice = Notice::new(key, "spend", level, format!("The {of} is {state}"), body);
    (event, notice.quiet_until(now + quiet))
}

/// The event and the notice of a model without a price.
pub fn unknown_price(model: &str, now: DateTime<Utc>) -> (NewEvent, Notice) {
    let message =
        format!("No price is known for the model {model}: its requests are counted at the highest price");
    let remedy = "State its price in `policy.spend.prices` of hosts.yaml.";
    let (key, body) = (format!("spend/price/{model}"), format!("{message}. {remedy}"));
    let notice = Notice::new(key, "spend", Level::Warning, "A model has no price", body);
    (NewEvent { level: Level::Warning, service: None, message }, notice.quiet_until(now + SESSION_QUIET))
}

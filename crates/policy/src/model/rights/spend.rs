//! Spending on requests to the model: amounts, tokens, prices and limits.

use std::fmt;

use serde::{Deserialize, Serialize};

/// An amount in millionths of a US dollar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Hash, Serialize, Deserialize)]
pub struct Usd(pub u64);

/// The number of [`Usd`] units in a dollar, and of tokens that a price is stated for.
const MILLION: u64 = 1_000_000;

impl Usd {
    /// Parses dollars with at most six decimals, such as `20` or `0.125`; `None` for any other text and for more than
    /// 1,000,000 dollars.
    pub fn parse(text: &str) -> Option<Self> {
        let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number(whole) || !is_number(decimals) || decimals.len() > 6 {
            return None;
        }
        let whole: u64 = whole.parse().ok().filter(|whole| *whole <= MILLION)?;
        let micros: u64 = format!("{decimals:0<6}").parse().ok()?;
        Some(Self(whole * MILLION + micros))
    }

    /// The amount in dollars, for metrics and JSON.
    #[expect(clippy::cast_precision_loss, reason = "exact below nine billion dollars")]
    pub fn dollars(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// The sum, at most the largest amount.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl fmt::Display for Usd {
    /// `$5.00`; amounts below a cent with all decimals: `$0.003100`. Rounds down, so that a limit is not shown as reached before
    /// it is.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, micros) = (self.0 / MILLION, self.0 % MILLION);
        if self.0 > 0 && self.0 < 10_000 {
            write!(f, "$0.{micros:06}")
        } else {
            write!(f, "${whole}.{:02}", micros / 10_000)
        }
    }
}

/// The tokens of one request, as the response states them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tokens {
    /// Input that is neither written to a cache nor read from one.
    pub input: u64,
    /// Output.
    pub output: u64,
    /// Input written to the cache of five minutes.
    pub cache_write: u64,
    /// Input written to the cache of an hour.
    pub cache_write_1h: u64,
    /// Input read from a cache.
    pub cache_read: u64,
}

impl Tokens {
    /// All input.
    pub const fn prompt(&self) -> u64 {
        self.input
            .saturating_add(self.cache_write)
            .saturating_add(self.cache_write_1h)
            .saturating_add(self.cache_read)
    }
}

/// What one request used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// The tokens.
    pub tokens: Tokens,
    /// The number of web searches.
    pub web_searches: u64,
    /// Whether it was processed in the United States only, which costs a tenth more.
    pub us_only: bool,
    /// Whether it was processed in the fast mode, which has prices of its own.
    pub fast: bool,
    /// Whether a part of it is estimated from lengths, because the response did not state it.
    pub estimated: bool,
}

/// Prices in US dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Price {
    /// Of input.
    pub input: Usd,
    /// Of output.
    pub output: Usd,
    /// Of input written to the cache of five minutes.
    pub cache_write: Usd,
    /// Of input written to the cache of an hour.
    pub cache_write_1h: Usd,
    /// Of input read from a cache.
    pub cache_read: Usd,
}

impl Price {
    /// The cost of the tokens, rounded up.
    pub fn cost(&self, tokens: &Tokens) -> Usd {
        let parts = [
            (self.input, tokens.input),
            (self.output, tokens.output),
            (self.cache_write, tokens.cache_write),
            (self.cache_write_1h, tokens.cache_write_1h),
            (self.cache_read, tokens.cache_read),
        ];
        let sum: u128 = parts.iter().map(|(price, count)| u128::from(price.0) * u128::from(*count)).sum();
        Usd(u64::try_from(sum.div_ceil(u128::from(MILLION))).unwrap_or(u64::MAX))
    }
}

/// The spending limits of an installation.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SpendPolicy {
    /// The limit within any 24 hours; `None`: no limit.
    pub day: Option<Usd>,
    /// The limit of one session; `None`: no limit.
    pub session: Option<Usd>,
    /// Prices by the beginning of a model's name, in addition to the built-in ones.
    pub prices: Vec<(String, Price)>,
}

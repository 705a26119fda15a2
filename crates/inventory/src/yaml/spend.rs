//! The shape of `policy.spend`.

use serde::Deserialize;

use super::forms::{Amount, Entries};

/// Limits on spending in US dollars, which `opsctl serve --api` enforces; see [api.md](api.md). An amount has at most six decimals.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SpendWire {
    /// Maximum within any 24 hours, of all sessions together. Default: no limit.
    pub day: Option<Amount>,
    /// Maximum of one session. Default: no limit.
    pub session: Option<Amount>,
    /// Prices by model name or its beginning, in addition to the built-in ones. The longest name applies.
    pub prices: Option<Entries<PriceWire>>,
}

/// Prices in US dollars per million tokens.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriceWire {
    /// Input.
    pub input: Amount,
    /// Output.
    pub output: Amount,
    /// Input written to the cache of five minutes. Default: 1.25 times `input`.
    pub cache_write: Option<Amount>,
    /// Input written to the cache of an hour. Default: 2 times `input`.
    pub cache_write_1h: Option<Amount>,
    /// Input read from a cache. Default: a tenth of `input`.
    pub cache_read: Option<Amount>,
}

//! The spending limits in the compiled policy, in millionths of a US dollar.

use serde::{Deserialize, Serialize};

use crate::model::spend::{Price, SpendPolicy, Usd};

#[derive(Serialize, Deserialize, Default, PartialEq)]
#[serde(default)]
pub struct SpendWire {
    #[serde(skip_serializing_if = "Option::is_none")]
    day_micros: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_micros: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    prices: Vec<(String, PriceWire)>,
}

#[derive(Serialize, Deserialize, PartialEq)]
struct PriceWire {
    input: u64,
    output: u64,
    cache_write: u64,
    cache_write_1h: u64,
    cache_read: u64,
}

impl SpendWire {
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl From<SpendPolicy> for SpendWire {
    fn from(SpendPolicy { day, session, prices }: SpendPolicy) -> Self {
        let micros = |limit: Option<Usd>| limit.map(|limit| limit.0);
        let price = |(model, price): (String, Price)| {
            let Price { input, output, cache_write, cache_write_1h, cache_read } = price;
            let [input, output, cache_write, cache_write_1h, cache_read] =
                [input, output, cache_write, cache_write_1h, cache_read].map(|amount| amount.0);
            (model, PriceWire { input, output, cache_write, cache_write_1h, cache_read })
        };
        Self {
            day_micros: micros(day),
            session_micros: micros(session),
            prices: prices.into_iter().map(price).collect(),
        }
    }
}

impl From<SpendWire> for SpendPolicy {
    fn from(SpendWire { day_micros, session_micros, prices }: SpendWire) -> Self {
        let price = |(model, price): (String, PriceWire)| {
            let PriceWire { input, output, cache_write, cache_write_1h, cache_read } = price;
            let [input, output, cache_write, cache_write_1h, cache_read] =
                [input, output, cache_write, cache_write_1h, cache_read].map(Usd);
            (model, Price { input, output, cache_write, cache_write_1h, cache_read })
        };
        Self {
            day: day_micros.map(Usd),
            session: session_micros.map(Usd),
            prices: prices.into_iter().map(price).collect(),
        }
    }
}

//! The built-in prices: `prices.yaml`.

use std::collections::BTreeMap;

use serde::Deserialize;

use opsctl_policy::budgets::spend::{ModelPrice, Prices};
use opsctl_policy::model::rights::spend::{Price, Usd};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PricesWire {
    web_search: f64,
    fast: PriceWire,
    models: BTreeMap<String, ModelWire>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PriceWire {
    input: f64,
    output: f64,
    cache_write: f64,
    cache_write_1h: f64,
    cache_read: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelWire {
    input: f64,
    output: f64,
    cache_write: f64,
    cache_write_1h: f64,
    cache_read: f64,
    #[serde(default)]
    long: Option<LongWire>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LongWire {
    above: u64,
    input: f64,
    output: f64,
    cache_write: f64,
    cache_write_1h: f64,
    cache_read: f64,
}

/// The built-in prices. An error is a mistake in the file, which a test finds.
pub fn built_in() -> Result<Prices, String> {
    let wire: PricesWire =
        serde_saphyr::from_str(include_str!("prices/prices.yaml")).map_err(|error| error.to_string())?;
    let PriceWire { input, output, cache_write, cache_write_1h, cache_read } = wire.fast;
    Ok(Prices {
        fast: price([input, output, cache_write, cache_write_1h, cache_read]),
        web_search: usd(wire.web_search),
        models: wire.models.into_iter().map(|(name, wire)| model(name, &wire)).collect(),
    })
}

fn model(name: String, wire: &ModelWire) -> ModelPrice {
    let long = wire.long.as_ref().map(|long| {
        let LongWire { above, input, output, cache_write, cache_write_1h, cache_read } = *long;
        (above, price([input, output, cache_write, cache_write_1h, cache_read]))
    });
    let ModelWire { input, output, cache_write, cache_write_1h, cache_read, .. } = *wire;
    ModelPrice { name, price: price([input, output, cache_write, cache_write_1h, cache_read]), long }
}

fn price(dollars: [f64; 5]) -> Price {
    let [input, output, cache_write, cache_write_1h, cache_read] = dollars.map(usd);
    Price { input, output, cache_write, cache_write_1h, cache_read }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "prices are small and not negative"
)]
fn usd(dollars: f64) -> Usd {
    Usd((dollars * 1e6).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use opsctl_policy::model::rights::spend::{Tokens, Usage};

    #[test]
    fn the_file_can_be_read_and_states_plausible_prices() {
        let prices = built_in().unwrap();
        assert!(prices.models.len() > 20);
        for ModelPrice { name, price, long } in &prices.models {
            for price in [Some(price), long.as_ref().map(|(_, price)| price)].into_iter().flatten() {
                assert!(price.cache_read < price.input && price.input < price.cache_write, "{name}");
                assert!(price.cache_write < price.cache_write_1h && price.input < price.output, "{name}");
            }
        }
    }

    #[test]
    fn names_of_the_api_have_a_price() {
        let prices = built_in().unwrap();
        let tokens = Tokens { input: 1_000_000, output: 1_000_000, ..Tokens::default() };
        for (model, dollars) in [
            ("claude-opus-4-20250514", "$90.00"),
            ("claude-opus-4-1-20250805", "$90.00"),
            ("claude-sonnet-4-5-20250929", "$18.00"),
            ("claude-3-5-haiku-20241022", "$4.80"),
            ("claude-haiku-4-5-20251001", "$6.00"),
            ("claude-opus-5-5", "$24.00"),
        ] {
            let cost = prices.cost(&[], model, &Usage { tokens, ..Usage::default() });
            assert_eq!((cost.usd.to_string().as_str(), cost.is_known), (dollars, true), "{model}");
        }
    }
}

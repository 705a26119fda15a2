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
    models: BTreeMap<String, PriceWire>,
}

/// Prices of a model, and those of its requests with more than `long.above` tokens of input.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PriceWire {
    input: f64,
    output: f64,
    cache_write: f64,
    cache_write_1h: f64,
    cache_read: f64,
    above: Option<u64>,
    long: Option<Box<Self>>,
}

/// The built-in prices. An error is a mistake in the file, which a test finds.
pub fn built_in() -> Result<Prices, String> {
    let PricesWire { web_search, fast, models } =
        serde_saphyr::from_str(include_str!("prices/prices.yaml")).map_err(|error| error.to_string())?;
    let model = |(name, wire): (String, PriceWire)| {
        let long = wire.long.as_ref().and_then(|long| Some((long.above?, price(long))));
        ModelPrice { name, price: price(&wire), long }
    };
    Ok(Prices {
        fast: price(&fast),
        web_search: usd(web_search),
        models: models.into_iter().map(model).collect(),
    })
}

fn price(wire: &PriceWire) -> Price {
    let PriceWire { input, output, cache_write, cache_write_1h, cache_read, .. } = *wire;
    let [input, output, cache_write, cache_write_1h, cache_read] =
        [input, output, cache_write, cache_write_1h, cache_read].map(usd);
    Price { input, output, cache_write, cache_write_1h, cache_read }
}

fn usd(dollars: f64) -> Usd {
    Usd::parse(&dollars.to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::process::api::rows;
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
        for (model, dollars) in rows::of::<BTreeMap<String, String>>("prices") {
            let cost = prices.cost(&[], &model, &Usage { tokens, ..Usage::default() });
            assert_eq!((cost.usd.to_string(), cost.is_known), (dollars, true), "{model}");
        }
    }
}

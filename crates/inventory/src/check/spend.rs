//! The spending limits.

use crate::spanned::Spanned;

use super::values::check_model;
use crate::error::{Checked, Mistakes};
use crate::yaml::forms::{Amount, NumberOrMap, entries};
use crate::yaml::spend::{PriceWire, SpendWire};
use opsctl_policy::model::rights::spend::{Price, SpendPolicy, Usd};

/// Checks the limits. The short form is the limit of a day.
pub fn check(wire: Option<NumberOrMap<SpendWire>>, found: &mut Mistakes) -> SpendPolicy {
    let SpendWire { day, session, prices } = match wire {
        None => return SpendPolicy::default(),
        Some(NumberOrMap::Number(day)) => SpendWire { day: Some(day), ..SpendWire::default() },
        Some(NumberOrMap::Map(wire)) => wire,
    };
    let usd = |amount: Option<Amount>| amount.map(|amount| amount.0);
    let prices = found.keep_all(entries(prices).map(|(model, price)| check_price(&model, &price)));
    SpendPolicy { day: usd(day), session: usd(session), prices }
}

fn check_price(model: &Spanned<String>, wire: &PriceWire) -> Checked<(String, Price)> {
    check_model(model)?;
    let PriceWire { input: Amount(input), output: Amount(output), .. } = *wire;
    let or = |amount: Option<Amount>, default: u64| amount.map_or(Usd(default), |amount| amount.0);
    let price = Price {
        input,
        output,
        cache_write: or(wire.cache_write, input.0 + input.0.div_ceil(4)),
        cache_write_1h: or(wire.cache_write_1h, input.0 * 2),
        cache_read: or(wire.cache_read, input.0.div_ceil(10)),
    };
    Ok((model.value.clone(), price))
}

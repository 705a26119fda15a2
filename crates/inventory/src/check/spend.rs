//! The spending limits.

use crate::inventory::spanned::Spanned;

use super::values::check_model;
use crate::inventory::error::{Checked, Found, Mistake};
use crate::inventory::yaml::forms::{Amount, NumberOrMap, entries};
use crate::inventory::yaml::spend::{PriceWire, SpendWire};
use crate::model::spend::{Price, SpendPolicy, Usd};

/// Checks the limits. The short form is the limit of a day.
pub fn check(wire: Option<Spanned<NumberOrMap<SpendWire>>>, found: &mut Found) -> SpendPolicy {
    let Some(wire) = wire else { return SpendPolicy::default() };
    let wire = match wire.value {
        NumberOrMap::Number(day) => {
            let day = Spanned { value: day, referenced: wire.referenced };
            SpendWire { day: Some(day), ..SpendWire::default() }
        }
        NumberOrMap::Map(wire) => wire,
    };
    let mut limit =
        |amount: Option<Spanned<Amount>>| amount.and_then(|amount| found.keep(check_amount(&amount)));
    let (day, session) = (limit(wire.day), limit(wire.session));
    let prices = found.keep_all(entries(wire.prices).map(|(model, price)| check_price(&model, &price)));
    SpendPolicy { day, session, prices }
}

fn check_amount(amount: &Spanned<Amount>) -> Checked<Usd> {
    Usd::parse(&amount.value.0).ok_or_else(|| {
        Mistake::at(
            amount.referenced,
            format!("`{}` is not an amount in US dollars", amount.value.0),
            "write one such as `20` or `0.50`, at most `1000000`",
        )
    })
}

fn check_price(model: &Spanned<String>, wire: &PriceWire) -> Checked<(String, Price)> {
    check_model(model)?;
    let input = check_amount(&wire.input)?;
    let or = |amount: &Option<Spanned<Amount>>, default: u64| match amount {
        Some(amount) => check_amount(amount),
        None => Ok(Usd(default)),
    };
    let price = Price {
        input,
        output: check_amount(&wire.output)?,
        cache_write: or(&wire.cache_write, input.0 + input.0.div_ceil(4))?,
        cache_write_1h: or(&wire.cache_write_1h, input.0 * 2)?,
        cache_read: or(&wire.cache_read, input.0.div_ceil(10))?,
    };
    Ok((model.value.clone(), price))
}

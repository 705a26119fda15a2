//! How often something may happen.

pub mod budget;
pub mod hosts;
pub mod keys;
pub mod spend;
pub mod unidentified;
pub mod window;

#[cfg(test)]
mod tests {
    use chrono::{DateTime, Utc};

    use super::budget::{Usage, fit};
    use super::spend::{
        Limit, ModelPrice, Prices, Spent, Standing, next_allowed, notice, refusal, standings,
    };
    use super::window::{self, Fullness, of_model};
    use crate::cases::{Cases, cell};
    use crate::model::display::relative_time::timestamp;
    use crate::model::rights::policy::{Budget, Per, Tier, Window};
    use crate::model::rights::spend::{self as model, Price, SpendPolicy, Tokens, Usd};

    fn at(time: &str) -> DateTime<Utc> {
        format!("2026-03-21T{time}Z").parse().unwrap()
    }

    fn times(text: &str) -> Vec<DateTime<Utc>> {
        text.split(' ').filter_map(cell).map(at).collect()
    }

    #[test]
    fn actions_fit_when_enough_have_left_the_window() {
        const BUDGET: Budget = Budget { limit: 2, window: Window::hours(4), per: Per::Service };
        let mut cases = Cases::of("budgets");
        cases.check("the_oldest_entry_that_must_leave_decides_when_actions_fit", |[entries, more]| {
            let usage = Usage { entries: times(entries), ..Usage::default() };
            format!("{:?}", fit(&usage.counted(&BUDGET, at("14:30:00")), &BUDGET, more.parse().unwrap()))
        });
        cases.check("what_counts_within_the_window", |[entries, uncounted, reset, rows, file, now]| {
            let (entries, uncounted) = (times(entries), times(uncounted));
            let mut usage = Usage { entries, uncounted, reset: cell(reset).map(at), ..Usage::default() };
            usage.merge_rows(&times(rows));
            usage.merge_file(&times(file));
            let counted = usage.counted(&BUDGET, at(now));
            counted.iter().map(|at| at.format("%T").to_string()).collect::<Vec<_>>().join(" ")
        });
        spending(&mut cases);
        windows(&mut cases);
    }

    fn price(input: u64) -> Price {
        let [input, output, cache_write] =
            [input, input * 5, input * 2].map(|dollars| Usd(dollars * 1_000_000));
        Price { input, output, cache_write, cache_write_1h: cache_write, cache_read: input }
    }

    /// `claude=7 other=8`.
    fn named<T: std::str::FromStr<Err: std::fmt::Debug>>(text: &str) -> Vec<(String, T)> {
        let pairs = text.split(' ').filter_map(|pair| pair.split_once('='));
        pairs.map(|(name, value)| (name.to_owned(), value.parse().unwrap())).collect()
    }

    fn numbers(text: &str) -> [u64; 2] {
        let mut numbers = text.split(' ').map(|number| number.parse().unwrap());
        [(); 2].map(|()| numbers.next().unwrap())
    }

    fn spending(cases: &mut Cases) {
        let known = |name: &str, input, long| ModelPrice { name: name.to_owned(), price: price(input), long };
        let models = vec![
            known("claude-opus-4", 15, None),
            known("claude-opus-4-5", 5, None),
            known("claude-haiku-5", 1, Some((1000, price(2)))),
        ];
        let prices = Prices { models, fast: price(30), web_search: Usd(10_000) };
        cases.check("requests_cost_the_price_of_their_model", |[own, model, usage]| {
            let own: Vec<_> = named(own).into_iter().map(|(name, input)| (name, price(input))).collect();
            let mut words = usage.splitn(3, ' ');
            let [input, cache_read] = [(); 2].map(|()| words.next().unwrap().parse().unwrap());
            let how = words.next().unwrap_or_default();
            let usage = model::Usage {
                tokens: Tokens { input, cache_read, ..Tokens::default() },
                web_searches: if how == "searches" { 3 } else { 0 },
                us_only: how == "us",
                fast: how == "fast",
                estimated: false,
            };
            let cost = prices.cost(&own, model, &usage);
            format!("{} {}", cost.usd.0, cost.is_known)
        });
        let limit = |text: &str| cell(text).map(|limit| Usd(limit.parse().unwrap()));
        cases.check("warns_at_80_per_cent_and_refuses_at_100", |[day, session, spent]| {
            let policy = SpendPolicy { day: limit(day), session: limit(session), prices: vec![] };
            let [day, session] = numbers(spent).map(Usd);
            let standings = standings(&policy, Spent { day, session });
            let shown =
                standings.iter().map(|one| format!("{:?} {} {}", one.limit, one.is_near(), one.is_reached()));
            shown.collect::<Vec<_>>().join(", ")
        });
        cases.check("a_request_is_allowed_again_when_enough_has_left_the_window", |[most]| {
            let costs = [(at("09:00:00"), Usd(3)), (at("08:00:00"), Usd(4)), (at("07:00:00"), Usd(5))];
            next_allowed(costs, Usd(most.parse().unwrap())).map_or("never".to_owned(), timestamp)
        });
        let standing = |limit: &str, amounts: &str| {
            let [spent, most] = numbers(amounts).map(Usd);
            Standing { limit: Limit::named(limit).unwrap(), spent, most }
        };
        cases.check("a_refusal_states_the_limit_the_key_and_what_to_do", |[limit, amounts, next]| {
            refusal(&standing(limit, amounts), next.parse().ok())
        });
        cases.check("warning_and_refusal_are_reported_once_each_per_subject", |[limit, amounts, session]| {
            let (event, notice) = notice(&standing(limit, amounts), Some(session), at("14:00:00"));
            format!("{} {}", notice.key, event.level.as_str())
        });
    }

    fn windows(cases: &mut Cases) {
        cases.check("windows_are_those_that_the_client_counts_with", |[stated, model, tokens]| {
            of_model(model, &named(stated), tokens.parse().unwrap()).to_string()
        });
        let of = |tokens: &str| Fullness { tokens: tokens.parse().unwrap(), window: 200_000 };
        cases.check("the_highest_level_that_is_reached_counts", |[tokens]| {
            of(tokens).level().map(|level| level.to_string()).unwrap_or_default()
        });
        cases.check("a_warning_states_the_usage_and_what_to_do", |[level, tokens, tier]| {
            let tier = tier.parse().ok().and_then(Tier::from_number);
            window::warning(level.parse().unwrap(), of(tokens), tier, false)
        });
    }
}

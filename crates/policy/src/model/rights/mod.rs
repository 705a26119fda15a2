//! What `hosts.yaml` permits.

pub mod ask;
pub mod gate;
pub mod header;
pub mod monitor;
pub mod policy;
pub mod public_key;
pub mod rules;
pub mod spend;
pub mod tier;
pub mod tool_limits;
pub mod window;

#[cfg(test)]
mod tests {
    use super::public_key::PublicKey;
    use super::spend::{Price, Tokens, Usd};
    use super::tool_limits::{ToolLimits, rules, tools_of_list};
    use super::window::Window;
    use crate::cases::{Cases, cell};

    #[test]
    fn texts_of_the_inventory_are_read_exactly() {
        let mut cases = Cases::of("rights");
        let none = || "none".to_owned();
        cases.check("amounts_are_parsed_exactly", |[text]| {
            Usd::parse(text).map_or_else(none, |usd| usd.0.to_string())
        });
        cases.check("amounts_are_shown_in_cents_and_never_rounded_up", |[micros]| {
            Usd(micros.parse().unwrap()).to_string()
        });
        cases.check("a_cost_is_the_sum_of_all_kinds_of_tokens_rounded_up", |[tokens]| {
            let mut tokens = tokens.split(' ').map(|tokens| tokens.parse().unwrap());
            let [input, output, cache_write, cache_write_1h, cache_read] =
                [(); 5].map(|()| tokens.next().unwrap());
            let tokens = Tokens { input, output, cache_write, cache_write_1h, cache_read };
            let [input, output, cache_write, cache_write_1h, cache_read] =
                [3_000_000, 15_000_000, 3_750_000, 6_000_000, 300_000].map(Usd);
            let price = Price { input, output, cache_write, cache_write_1h, cache_read };
            price.cost(&tokens).0.to_string()
        });
        let tools = ["Bash", "Read", "mcp__docker", "mcp__git__log"].map(str::to_owned);
        cases.check("allowed_rules_only_remove_tools", |[allowed]| {
            let allowed = cell(allowed).map(|allowed| tools_of_list(allowed).unwrap());
            let limits = ToolLimits { allowed, denied: vec![] };
            format!("{} | {}", limits.remaining(&tools).join(" "), limits.without_effect(&tools).join(" "))
        });
        cases.check("an_entry_that_is_not_a_rule_is_an_error", |[text]| format!("{:?}", rules(text)));
        cases.check("a_list_of_tools_has_whole_tools", |[text]| format!("{:?}", tools_of_list(text)));
        cases.check("durations_have_a_unit_and_a_length", |[text]| {
            let shown = |window: Window| format!("{} {window}", window.delta().num_seconds());
            Window::parse(text).map_or_else(none, shown)
        });
        cases.check("only_a_whole_key_with_its_prefix_is_read", |[text]| {
            PublicKey::parse(text).map_or_else(none, |key| key.to_string())
        });
    }
}

//! Values that several keys have: names, DNS names, URLs, durations, models and tiers.

use std::net::IpAddr;

use crate::spanned::Spanned;

use crate::error::{Checked, Mistake};
use opsctl_policy::model::rights::policy::is_model;

/// A name, of characters without a special meaning in prompts, messages and command lines.
pub fn check_name(name: Spanned<String>) -> Checked<String> {
    let remedy = "start with a letter or digit, and use letters, digits, `.`, `_` and `-`";
    Mistake::unless(is_name(&name.value), &name, "is not a valid name", remedy)?;
    Ok(name.value)
}

/// Whether the text is a name of such characters.
pub fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.len() <= 128
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
}

/// Whether the text consists of labels of letters, digits, hyphens and underscores, the last one not a number:
/// `192.168.1.300` is a mistyped address.
pub fn is_dns_name(text: &str) -> bool {
    let text = text.strip_suffix('.').unwrap_or(text);
    let label = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
    };
    text.len() <= 253
        && text.split('.').all(label)
        && text.rsplit('.').next().is_some_and(|last| !last.chars().all(|c| c.is_ascii_digit()))
}

/// Whether the text is an IP address or a DNS name.
pub fn is_host_address(text: &str) -> bool {
    text.parse::<IpAddr>().is_ok() || is_dns_name(text)
}

/// Whether the text is the name of an environment variable.
pub fn is_variable(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Whether the text is an HTTP URL that can be put between quotes in a command of a prompt.
pub fn is_http_url(text: &str) -> bool {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    rest.is_some_and(|rest| {
        !rest.is_empty()
            && !rest.starts_with('/')
            && rest.chars().all(|c| c.is_ascii_graphic() && !"'\"`\\$<>".contains(c))
            && url::Url::parse(text).is_ok()
    })
}

/// The name of a model.
pub fn check_model(model: &Spanned<String>) -> Checked<()> {
    let remedy = "write one such as `haiku` or `claude-opus-4-1`";
    Mistake::unless(is_model(&model.value), model, "is not a model name", remedy)
}

/// The slot of the tier `1`, `2` or `3`.
pub fn tier_slot<'a, T>(slots: &'a mut [T; 3], number: &Spanned<String>) -> Checked<&'a mut T> {
    let index = number.value.parse().ok().and_then(|number: usize| number.checked_sub(1));
    index
        .and_then(|index| slots.get_mut(index))
        .ok_or_else(|| Mistake::of(number, "is not a tier", "the tiers are `1`, `2` and `3`"))
}

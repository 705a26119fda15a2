//! What may stand as a name, and what as a DNS name.

use serde_saphyr::Spanned;

use super::{Checked, wrong};

/// Names stand in prompts, messages and command lines, so they are kept to letters that mean nothing there.
pub fn check_name(name: Spanned<String>) -> Checked<String> {
    if !is_name(&name.value) {
        return Err(wrong(
            &name,
            "is not a name",
            "begin with a letter or digit and go on with letters, digits, `.`, `_` and `-`",
        ));
    }
    Ok(name.value)
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.len() <= 128
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
}

/// Letters, digits and hyphens in labels, and a last label that is not a number: `192.168.1.300` is a
/// mistyped address, not a name.
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

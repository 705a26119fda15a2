//! The rights of a tier.

use std::path::PathBuf;

use crate::spanned::Spanned;

use crate::error::{Checked, Mistake, Mistakes};
use crate::yaml::policy::TierWire;
use crate::yaml::values::texts;
use opsctl_policy::model::rights::policy::TierPolicy;
use opsctl_reader::terms::effect::Effect;

/// Checks a tier and replaces the defaults in `slot`.
pub fn check(slot: &mut TierPolicy, wire: TierWire, found: &mut Mistakes) {
    if let Some(model) = wire.model {
        slot.model = model.0;
    }
    if let Some(tools) = wire.tools {
        slot.tools = texts(tools);
    }
    if let Some(allow) = wire.allow {
        slot.allow = allow;
    }
    if let Some(effects) = wire.effects {
        slot.effects = effects;
    }
    slot.deny.extend(found.keep_all(wire.deny.iter().map(check_prefix)));
    slot.deadline = wire.deadline.unwrap_or(slot.deadline);
    slot.prompt = wire.prompt.map(|prompt| PathBuf::from(prompt.0));
    if let Some(structured) = wire.structured_result {
        // A mistake in `allow` or `effects` may have changed what the tier may do.
        let is_certain = found.is_empty();
        if is_certain && structured.value && !(slot.allow.is_empty() && slot.effects == [Effect::Reads]) {
            found.add(Mistake::at(
                structured.referenced,
                "`structured_result` is not possible at a tier that may change something",
                "remove it: the client ends such a session without verifying the services that it acted on",
            ));
        }
        slot.structured_result = structured.value;
    }
}

/// A command prefix, which is rendered into a permission rule of the client, in parentheses.
fn check_prefix(prefix: &Spanned<String>) -> Checked<String> {
    let plain = |c: char| c.is_ascii_graphic() && !"(),:*\"'\\`$;|&<>".contains(c);
    let words: Vec<&str> = prefix.value.split_whitespace().collect();
    let is_prefix = !words.is_empty() && words.iter().all(|word| word.chars().all(plain));
    let remedy = "write the first words of the command, such as `docker exec`";
    Mistake::unless(is_prefix, prefix, "is not a command prefix", remedy)?;
    Ok(words.join(" "))
}

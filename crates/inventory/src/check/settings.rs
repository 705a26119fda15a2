//! Settings of the client that `opsctl render` would remove otherwise.

use crate::spanned::Spanned;
use serde_json::{Map, Value};

use crate::error::{Checked, Mistake};
use opsctl_policy::model::installation::client_setting::ClientSetting;

/// Checks the settings, in the order of the file.
pub fn check(wire: Option<Spanned<Map<String, Value>>>) -> Checked<Vec<ClientSetting>> {
    let Some(wire) = wire else { return Ok(vec![]) };
    if wire.value.contains_key("hooks") {
        return Err(Mistake::at(
            wire.referenced,
            "unsupported key `hooks` of `settings`",
            "list hooks under the top-level key `hooks`",
        ));
    }
    Ok(wire.value.into_iter().map(|(key, value)| ClientSetting { key, value: value.to_string() }).collect())
}

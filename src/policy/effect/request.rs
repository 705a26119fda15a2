//! HTTP requests: what the method and the address say of the effect.

use super::proof::Proof;
use super::reason::Why;
use crate::actions::request_of;
use crate::catalogue::Catalogue;
use crate::model::effect::Effect;
use crate::shell::Command;

/// Ends of paths that only answer, whatever is sent to them.
const ANSWERING: [&str; 8] =
    ["_search", "_count", "_msearch", "_sql", "_cat", "query", "query_range", "_field_caps"];

/// The effect of a request: sending changes something, but for queries.
pub fn effect(command: &Command, catalogue: Catalogue) -> Proof {
    let Some((addresses, sends)) = request_of(command, catalogue) else {
        return (Effect::Unknown, Why::Unread);
    };
    let answers = |url: &str| {
        let path = url.split(['?', '#']).next().unwrap_or(url);
        path.trim_end_matches('/').rsplit('/').next().is_some_and(|last| ANSWERING.contains(&last))
    };
    if sends && !(!addresses.is_empty() && addresses.iter().all(|url| answers(&url.text))) {
        return (Effect::Changes, Why::Statement);
    }
    (Effect::Reads, Why::Stated)
}

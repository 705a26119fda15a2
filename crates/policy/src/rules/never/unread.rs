//! Shells that run text which is only known at run time: `curl … | sh`, `base64 -d | bash`.

use crate::lists::MAKERS;
use crate::model::records::verdict::Reason;
use opsctl_reader::catalogue::base_name;
use opsctl_reader::shell::{Node, Script};

/// The rule's name.
pub const NAME: &str = "unread-into-shell";

/// The reason, and what to do instead.
pub const REASON: &str = "A shell would run text that is fetched or decoded, which opsctl cannot check. Save it to a file, read it, and run only the commands that are needed.";

/// The objection to a shell that runs text which another program fetches or decodes.
pub fn objection(script: &Script) -> Option<Reason> {
    let mut found = None;
    script.visit(|node| {
        let Node::Unread(unread) = node else { return };
        let between = |c: char| c.is_whitespace() || "|;&()$`<>{}\"'".contains(c);
        let makes = |word: &&str| MAKERS.contains(&base_name(word));
        if let Some(maker) = unread.text.split(between).find(makes).filter(|_| unread.maker) {
            found.get_or_insert_with(|| {
                let advice = "opsctl cannot check. Save it to a file, read it, and run only the commands that are needed.";
                let what = format!("a shell would run what `{}` fetches or decodes, which", base_name(maker));
                Reason::of("never", format!("Never allowed (rule {NAME}): {what} {advice}"))
            });
        }
    });
    found
}

//! Fork bombs: functions that start themselves several times, such as `:(){ :|:& };:`.

use crate::model::records::verdict::Reason;
use opsctl_reader::shell::{Construct, Node, Script};

/// The rule's name.
pub const NAME: &str = "fork-bomb";

/// The objection to a function that calls itself more than once at a time.
pub fn objection(script: &Script) -> Option<Reason> {
    let mut found = None;
    script.visit(|node| {
        if let Node::Group(Construct::Call(name), children) = node
            && found.is_none()
            && selves(children, name) >= 2
        {
            let what =
                "starts itself twice on each run, until no other process can run. It has no legitimate use.";
            let text = format!("Never allowed (rule {NAME}): the function `{name}` {what}");
            found = Some(Reason::of("never", text));
        }
    });
    found
}

/// The number of recursive calls of a function, which the reader does not follow.
fn selves(nodes: &[Node], name: &str) -> usize {
    let mut left: Vec<&Node> = nodes.iter().collect();
    let mut count = 0;
    while let Some(node) = left.pop() {
        match node {
            Node::Group(Construct::Call(called), children) if called == name && children.is_empty() => {
                count += 1;
            }
            // A function that reads its own output is an ordinary recursion.
            Node::Group(Construct::Substitution, _) | Node::Command(_) | Node::Unread(_) => {}
            Node::Group(_, children) => left.extend(children),
        }
    }
    count
}

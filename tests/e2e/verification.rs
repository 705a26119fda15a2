//! The Stop hook: a session that has repaired something does not end before somebody looked.

use crate::guard::guarded;
use crate::support::{bash, text, verdict};

#[test]
fn the_verifier_is_asked_with_the_rendered_prompt_and_sends_the_session_on() {
    let finished = guarded()
        .step(bash("docker restart jellyfin"))
        .step(text("all is well"))
        .verifier(verdict(false, "jellyfin answers 502"))
        .step(bash("docker logs jellyfin"))
        .step(text("now all is well"))
        .verifier(verdict(true, ""))
        .run();

    let rendered = finished.read("project/.claude/hooks/verify-remediation.md");
    let asked = finished.verifier_requests();
    assert_eq!(asked.len(), 2, "once for each time that the session wanted to end");
    for request in &asked {
        let shown = request.conversation();
        for part in rendered.split("$ARGUMENTS") {
            assert!(shown.contains(part.trim()), "`{part}` is not in what the verifier was shown: {shown}");
        }
        assert!(!shown.contains("$ARGUMENTS"), "the hook's input is put in: {shown}");
        assert!(shown.contains(finished.session_id()), "{shown}");
    }
    assert!(finished.shown_at_end().contains("jellyfin answers 502"));
    assert_eq!(finished.marks("docker"), ["restart jellyfin", "logs jellyfin"]);
    assert_eq!(finished.result(), "now all is well");
}

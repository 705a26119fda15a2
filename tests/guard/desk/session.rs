//! A session of the real client that waits for a person, who answers at the desk in a browser.

use super::pages::{DESKTOP, PHONE, answer, log_in};
use super::server::Server;
use crate::browser::{Browser, Look};
use crate::questions::{THIRD, is_deferred, restarts, resumed, states, workspace};
use crate::support::{Finished, Session, Workspace};

/// The desk of a workspace, in the network of the browser.
fn desk(workspace: &Workspace, browser: &Browser) -> Server {
    Server::beside(
        browser.pid(),
        workspace.path("").as_path(),
        &[
            ("CLAUDEOPS_STATE_DIR", workspace.state()),
            ("CLAUDE_PROJECT_DIR", workspace.project()),
            ("CLAUDEOPS_HOSTS", workspace.path("hosts.yaml")),
        ],
    )
}

/// A session asks, and a person presses this button. The desk is killed and started again in between.
fn asked_and_answered(look: Look, button: &str, note: &str) -> Finished {
    let finished = Session::continuing(workspace("[budget]")).commands(THIRD).run();
    assert!(is_deferred(&finished));
    assert_eq!((restarts(&finished).len(), states(&finished)), (2, vec!["open".into()]));
    let mut browser = Browser::start();
    desk(&finished, &browser).kill();
    let _desk = desk(&finished, &browser);
    let token = finished.read("state/desk-token");
    log_in(&mut browser, token.trim(), look);
    assert!(browser.text().contains("docker restart jellyfin"), "{}", browser.text());
    answer(&mut browser, button, note);
    finished
}

#[test]
fn an_approval_at_the_desk_continues_the_session_and_the_command_runs_once() {
    for look in [DESKTOP, PHONE] {
        let finished = asked_and_answered(look, "approve", "");
        assert_eq!(states(&finished), ["approved"], "{}", look.name);
        let finished = resumed(finished).run();
        assert_eq!(restarts(&finished).len(), 3, "{}", look.name);
        assert!(finished.shown_at_end().contains("approved by desk"), "{}", finished.shown_at_end());
        assert_eq!(states(&finished), ["used"]);
    }
}

#[test]
fn a_refusal_at_the_desk_is_what_the_model_reads() {
    let finished = resumed(asked_and_answered(PHONE, "refuse", "the backup runs until six")).run();
    assert_eq!((restarts(&finished).len(), states(&finished)), (2, vec!["refused".into()]));
    assert!(finished.shown_at_end().contains("the backup runs until six"), "{}", finished.shown_at_end());
}

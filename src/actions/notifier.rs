//! `apprise`.

use crate::model::action::{Action, ActionKind, Family, Target, Verb};

use super::line::{Arguments, Line};

const VALUED: &[&str] = &[
    "-t",
    "--title",
    "-b",
    "--body",
    "-c",
    "--config",
    "-a",
    "--attach",
    "-g",
    "--tag",
    "-n",
    "--notification-type",
    "-i",
    "--input-format",
    "-T",
    "--theme",
    "-P",
    "--plugin-path",
    "-R",
    "--recursion-depth",
    "-S",
    "--storage-path",
    "-SPD",
    "--storage-prune-days",
];
const QUIET: &[&str] = &["-V", "--version", "-h", "--help", "-d", "--dry-run", "-l", "--details"];

pub(super) fn find_actions(line: &Line<'_>, actions: &mut Vec<Action>) {
    let mut arguments = Arguments::default();
    line.arguments(1, VALUED, &mut arguments);
    // Managing what it has stored tells nobody anything.
    let stores = arguments.positionals.first().is_some_and(|&index| line.text(index) == "storage");
    let says_nothing = arguments.options.is_empty() && arguments.positionals.is_empty();
    if arguments.has(QUIET) || stores || says_nothing {
        return;
    }
    let evidence = "apprise".to_owned();
    actions.push(line.action(
        ActionKind::Notification,
        Verb::Send,
        Family::Notifier,
        Target::Nothing,
        evidence,
    ));
}

//! The expression of `find`, and the mode of archivers.

use super::proof::Proof;
use super::reason::Why;
use crate::model::effect::Effect;

/// Actions of `find` that change something; what `-exec` runs stands below it in the tree.
const CHANGING: [&str; 1] = ["-delete"];

/// The effect of an expression of `find` by itself; the files that it writes are looked at elsewhere.
pub fn effect(texts: &[&str]) -> Proof {
    match texts.iter().find(|text| CHANGING.contains(text)) {
        Some(action) => (Effect::Changes, Why::Option((*action).to_owned())),
        None => (Effect::Reads, Why::Stated),
    }
}

/// Whether an archiver only lists or tests.
pub fn lists_archive(texts: &[&str]) -> bool {
    let Some(mode) = texts.get(1) else { return false };
    let cluster = mode.strip_prefix('-').filter(|rest| !rest.starts_with('-')).unwrap_or(mode);
    let to_stdout = texts.iter().any(|text| {
        *text == "--to-stdout"
            || text.strip_prefix('-').is_some_and(|rest| !rest.starts_with('-') && rest.contains('O'))
    }) || (!mode.starts_with('-') && mode.contains('O'));
    let runs = texts.iter().any(|text| {
        [
            "--to-command",
            "--checkpoint-action",
            "--use-compress-program",
            "-I",
            "--info-script",
            "--new-volume-script",
            "-F",
            "--rsh-command",
        ]
        .iter()
        .any(|option| text.starts_with(option))
    });
    let lists = texts.contains(&"--list")
        || texts.contains(&"--compare")
        || texts.contains(&"--diff")
        || (!mode.starts_with("--")
            && cluster.contains(['t', 'd'])
            && !cluster.contains(['x', 'c', 'r', 'u', 'A']))
        || (to_stdout && !mode.starts_with("--") && cluster.contains('x'));
    lists && !runs
}

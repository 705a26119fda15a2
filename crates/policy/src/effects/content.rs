//! The parts of a request that only the run knows: the output of a command, the content of a file.

use opsctl_reader::shell::{Command, Word};

/// Whether the content of a file, or the output of a command, is sent.
pub fn is_content(word: &Word, command: &Command) -> bool {
    carried(&word.text).is_some() || is_file(word, command)
}

/// The first substitution in a text whose output says something of a machine.
pub fn carried(text: &str) -> Option<&str> {
    let start = text.find("$(").or_else(|| text.find('`'))?;
    let (mut depth, rest) = (0_usize, text.get(start..)?);
    if rest.starts_with("$(date ") || rest.starts_with("$(date)") {
        return carried(rest.get(2..)?.split_once(')')?.1);
    }
    for (at, c) in rest.char_indices() {
        match c {
            '(' => depth += 1,
            ')' if depth == 1 => return rest.get(..=at),
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    Some(rest)
}

/// `x@FILE`, `@FILE` and `@-`: the content of a file, or what is on standard input.
pub fn is_file(word: &Word, command: &Command) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || "_-=:".contains(c);
    // Without `=`, `--data-urlencode` takes all before `@` for a name.
    let is_name = |c: char| !c.is_whitespace() && !"=:{}\"'".contains(c);
    let name =
        word.text.split_once('@').filter(|(head, _)| head.chars().all(is_plain) || head.chars().all(is_name));
    name.is_some_and(|(_, name)| name != "-" || command.stdin.is_none())
}

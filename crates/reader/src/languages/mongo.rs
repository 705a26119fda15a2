//! Code of the `MongoDB` shell: it reads where only methods are called that do.

use super::names::mongo;

/// Whether code calls only what reads.
pub fn only_reads(code: &str) -> bool {
    let lower = code.to_lowercase();
    let escapes = ["\\'", "\\\"", "\\u", "\\x", "`"];
    if escapes.iter().any(|one| lower.contains(one)) || mongo::DOUBTFUL.are_in(&lower) {
        return false;
    }
    let Some(plain) = without_texts(&lower) else { return false };
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
    let hands_over = plain.split(['.', '[']).skip(1).any(|member| {
        let member = member.trim_start_matches('"');
        let name = member.split(|c| !is_name(c)).next().unwrap_or_default();
        mongo::CHANGING.iter().any(|verb| {
            // `updatedAt` is a field.
            name.strip_prefix(verb).is_some_and(|rest| !mongo::FIELD_ENDINGS.has(rest))
        })
    });
    if hands_over {
        return false;
    }
    let mut rest = plain.as_str();
    while let Some((before, after)) = rest.split_once('(') {
        let before = before.trim_end();
        let name = before.rsplit(|c| !is_name(c)).next().unwrap_or_default();
        // `x['drop']()`.
        if (name.is_empty() && before.ends_with([']', ')'])) || !(name.is_empty() || mongo::READING.has(name))
        {
            return false;
        }
        if matches!(name, "admincommand" | "runcommand") {
            let argument = after.trim_start().trim_start_matches('{').trim_start().trim_start_matches('"');
            let named = argument.split(|c| !is_name(c)).next().unwrap_or_default();
            if !mongo::COMMANDS.has(named) {
                return false;
            }
        }
        rest = after;
    }
    true
}

/// The code with single quotes as double ones, and with texts that hold brackets left out; `None` where a text has no end.
fn without_texts(code: &str) -> Option<String> {
    let mut plain = String::new();
    let mut rest = code;
    while let Some(at) = rest.find(['"', '\'']) {
        let quote = rest.get(at..)?.chars().next()?;
        plain.push_str(rest.get(..at)?);
        let inside = rest.get(at + 1..)?;
        let end = inside.find(quote)?;
        plain.push('"');
        plain.extend(inside.get(..end)?.chars().filter(|c| c.is_alphanumeric()));
        plain.push('"');
        rest = inside.get(end + 1..)?;
    }
    plain.push_str(rest);
    Some(plain)
}

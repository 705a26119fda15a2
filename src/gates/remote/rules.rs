//! The beginning of what a client of rsync sends to a server that takes filter rules. Some rules have the server read further ones from
//! any of its files, and it prints what is none.

use std::ops::RangeInclusive;

/// The versions of the protocol whose rules are read.
const VERSIONS: RangeInclusive<u32> = 29..=99;

/// The first version in which both sides state what they can do, and in which data is in messages.
const IN_MESSAGES: u32 = 30;

/// The tag of a message with data.
const DATA: u8 = 7;

/// The most bytes of the beginning, of a message and of a rule.
const MOST: usize = 256 * 1024;
const MOST_IN_MESSAGE: usize = 64 * 1024;
const MOST_IN_RULE: usize = 4096;

/// The fewest bytes of a text that states what a client can do. Read as a message or as a rule, it would be too long.
const SHORTEST: usize = 3;

/// Why a transfer does not go on.
const MERGES: &str = "`rsync` is refused: a filter rule has the host read rules from a file, or its kind is not known; state each rule with `--exclude` or `--include`";
const UNKNOWN: &str = "`rsync` is refused: its filter rules cannot be determined";

/// What is known of the rules.
#[derive(Debug, PartialEq, Eq)]
pub enum Rules {
    /// All of them have arrived, and no file is read for one.
    Allowed,
    /// They have not arrived yet. At most this many bytes before them may pass.
    Incomplete(usize),
    /// They may not pass, for this reason.
    Refused(&'static str),
}

/// What is known from the beginning of a stream.
pub fn rules(data: &[u8]) -> Rules {
    match read(data) {
        Ok(()) => Rules::Allowed,
        Err(Rules::Incomplete(_)) if data.len() > MOST => Rules::Refused(UNKNOWN),
        Err(found) => found,
    }
}

fn read(data: &[u8]) -> Result<(), Rules> {
    let (version, mut rest) = number(data).ok_or(Rules::Incomplete(0))?;
    if !VERSIONS.contains(&version) {
        return Err(Rules::Refused(UNKNOWN));
    }
    while version >= IN_MESSAGES
        && let Some(after) = after_text(rest, data.len() - rest.len())?
    {
        rest = after;
    }
    let incomplete = || Rules::Incomplete(data.len() - rest.len());
    let (_, after) = number(rest).ok_or_else(incomplete)?;
    let tag = rest.strip_suffix(after).and_then(<[u8]>::last);
    if version >= IN_MESSAGES && tag == Some(&DATA) {
        return in_messages(rest)?.then_some(()).ok_or_else(incomplete);
    }
    list(rest)?.then_some(()).ok_or_else(incomplete)
}

/// The number at the beginning, and what follows.
fn number(data: &[u8]) -> Option<(u32, &[u8])> {
    data.split_first_chunk().map(|(bytes, rest)| (u32::from_le_bytes(*bytes), rest))
}

/// What follows a text at the beginning: a byte with its length, and printable characters. `None` if there is none.
fn after_text(data: &[u8], passes: usize) -> Result<Option<&[u8]>, Rules> {
    let (length, text) = data.split_first().ok_or(Rules::Incomplete(passes))?;
    let length = usize::from(*length);
    let is_printable = |text: &[u8]| text.iter().all(|byte| (b' '..=b'~').contains(byte));
    let first = text.get(..SHORTEST).unwrap_or(text);
    if !(SHORTEST..0x80).contains(&length) || !is_printable(first) {
        return Ok(None);
    }
    let (text, after) = text.split_at_checked(length).ok_or(Rules::Incomplete(passes))?;
    if is_printable(text) { Ok(Some(after)) } else { Err(Rules::Refused(UNKNOWN)) }
}

/// Whether messages contain a whole list.
fn in_messages(mut rest: &[u8]) -> Result<bool, Rules> {
    let mut content = Vec::new();
    while let Some((head, after)) = number(rest) {
        let [low, middle, high, tag] = head.to_le_bytes();
        let length = usize::try_from(u32::from_le_bytes([low, middle, high, 0])).unwrap_or(usize::MAX);
        if tag != DATA || length >= MOST_IN_MESSAGE {
            return Err(Rules::Refused(UNKNOWN));
        }
        let (text, after) = after.split_at_checked(length).unwrap_or((after, &[]));
        content.extend(text);
        rest = after;
        if list(&content)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a list is whole: rules with their lengths, and a zero.
fn list(mut rest: &[u8]) -> Result<bool, Rules> {
    while let Some((length, after)) = number(rest) {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if length == 0 {
            return Ok(true);
        }
        if length > MOST_IN_RULE {
            return Err(Rules::Refused(UNKNOWN));
        }
        let Some((rule, after)) = after.split_at_checked(length) else { break };
        if !is_plain(rule) {
            return Err(Rules::Refused(MERGES));
        }
        rest = after;
    }
    Ok(false)
}

/// Whether a rule includes or excludes names, by a pattern that it states: `- *.o`, `+ /a/`, `-s x`. `!` removes the rules before it.
fn is_plain(rule: &[u8]) -> bool {
    let Some((kind, rest)) = rule.split_first() else { return false };
    let mut parts = rest.splitn(2, |byte| matches!(byte, b' ' | b'_'));
    let letters = parts.next().unwrap_or_default();
    let letters = letters.strip_prefix(b",").unwrap_or(letters);
    let has_pattern = parts.next().is_some_and(|pattern| !pattern.is_empty());
    rule == b"!"
        || (b"+-HPRS".contains(kind)
            && letters.iter().all(|letter| b"/!prsx".contains(letter))
            && has_pattern)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &[u8] = b"\x1exxh128 xxh3 xxh64 md5 md4 sha1";

    fn listed(rules: &[&str]) -> Vec<u8> {
        let rule =
            |rule: &&str| [&u32::try_from(rule.len()).unwrap().to_le_bytes(), rule.as_bytes()].concat();
        [rules.iter().flat_map(rule).collect(), vec![0; 4]].concat()
    }

    fn message(data: &[u8]) -> Vec<u8> {
        let head = u32::try_from(data.len()).unwrap() | 7 << 24;
        [&head.to_le_bytes(), data].concat()
    }

    #[test]
    fn rules_that_state_their_pattern_pass_in_each_version() {
        let own = ["- x y", "+ z", "-s a", "-r foo", "H,p b", "!", "- /a_b", "-_ c"];
        let later =
            [&32_u32.to_le_bytes(), TEXT, b"\x13zstd lz4 zlibx zlib", &message(&listed(&own))].concat();
        let split = [
            &31_u32.to_le_bytes(),
            TEXT,
            &message(&listed(&own)[..9]),
            &message(&listed(&own)[9..]),
            b"rest",
        ]
        .concat();
        let earlier = [&29_u32.to_le_bytes()[..], &listed(&own), b"rest"].concat();
        let plain = [&30_u32.to_le_bytes()[..], &listed(&[])].concat();
        for data in [later, split, earlier, plain] {
            assert_eq!(rules(&data), Rules::Allowed, "{data:?}");
        }
    }

    #[test]
    fn rules_that_may_read_a_file_or_are_not_known_are_refused() {
        for rule in [
            ". /etc/shadow",
            ": /etc/shadow",
            ":C",
            "-C",
            "merge /etc/shadow",
            "dir-merge,- x",
            ".,- x",
            "-. x",
            ":- x",
            "exclude x",
            "-",
            "- ",
            "x",
            "-w x",
            "P",
        ] {
            let found = rules(&[&32_u32.to_le_bytes(), TEXT, &message(&listed(&["- a", rule]))].concat());
            assert_eq!(found, Rules::Refused(MERGES), "{rule}");
        }
        for data in [
            [&28_u32.to_le_bytes()[..], &listed(&[])].concat(),
            [&32_u32.to_le_bytes()[..], b"\x05abc\x07x", &listed(&[])].concat(),
            [&32_u32.to_le_bytes()[..], &u32::MAX.to_le_bytes()].concat(),
            [&32_u32.to_le_bytes()[..], &message(&4096_u32.to_le_bytes()), &[4, 0, 0, 9]].concat(),
            [&29_u32.to_le_bytes()[..], &message(&listed(&[]))].concat(),
            [&32_u32.to_le_bytes()[..], &[0, 0, 1, 7]].concat(),
        ] {
            assert_eq!(rules(&data), Rules::Refused(UNKNOWN), "{data:?}");
        }
    }

    #[test]
    fn what_precedes_the_rules_passes_while_they_arrive() {
        let data = [&32_u32.to_le_bytes(), TEXT, &message(&listed(&["- x"]))].concat();
        let before = 4 + TEXT.len();
        for until in 0..data.len() {
            let passes = match until {
                0..4 => 0,
                until if until < before => 4,
                _ => before,
            };
            assert_eq!(rules(&data[..until]), Rules::Incomplete(passes), "{until}");
        }
        assert_eq!(rules(&data), Rules::Allowed);
    }
}

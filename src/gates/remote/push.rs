//! The first lines that `git push` sends: the references that it changes.
//! <https://git-scm.com/docs/pack-protocol#_reference_update_request_and_packfile_transfer>

/// The most bytes of these lines.
const MOST: usize = 64 * 1024;

/// The digits of the length before each line.
const DIGITS: usize = 4;

/// What is known of the references.
#[derive(Debug, PartialEq, Eq)]
pub enum References {
    /// All of them.
    Complete(Vec<String>),
    /// Their lines have not arrived yet.
    Incomplete,
    /// They are written in another form.
    Unknown,
}

/// The references in the first lines of a push. A deletion is `:name`, and an empty list is nothing to push.
pub fn references(data: &[u8]) -> References {
    let mut references = Vec::new();
    let mut rest = data;
    loop {
        let Some((digits, after)) = rest.split_at_checked(DIGITS) else { return more(data) };
        let length =
            std::str::from_utf8(digits).ok().and_then(|digits| usize::from_str_radix(digits, 16).ok());
        match length {
            Some(0) => return References::Complete(references),
            Some(length) if length > DIGITS => {
                let Some((line, after)) = after.split_at_checked(length - DIGITS) else { return more(data) };
                let Some(reference) = reference(line) else { return References::Unknown };
                references.push(reference);
                rest = after;
            }
            _ => return References::Unknown,
        }
    }
}

fn more(data: &[u8]) -> References {
    if data.len() < MOST { References::Incomplete } else { References::Unknown }
}

/// The reference of a line `OLD NEW NAME`, after whose first there are capabilities.
fn reference(line: &[u8]) -> Option<String> {
    let line = line.split(|byte| *byte == 0).next()?;
    let mut words = std::str::from_utf8(line).ok()?.trim_end().splitn(3, ' ');
    let (old, new, name) = (words.next()?, words.next()?, words.next()?);
    let is_id = |id: &str| id.len() >= 40 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_plain =
        name.chars().all(|c| c.is_alphanumeric() || "-_./@+#".contains(c)) && name.starts_with("refs/");
    let name = name.strip_prefix("refs/heads/").unwrap_or(name);
    let colon = if new.bytes().all(|byte| byte == b'0') { ":" } else { "" };
    // A name is no option.
    (is_id(old) && is_id(new) && is_plain && !name.starts_with('-')).then(|| format!("{colon}{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> String {
        format!("{:04x}{text}", text.len() + DIGITS)
    }

    #[test]
    fn references_are_read_as_soon_as_they_are_complete() {
        let (id, zero) = ("a".repeat(40), "0".repeat(40));
        let first = line(&format!("{id} {id} refs/heads/main\0 report-status side-band-64k"));
        let text = format!(
            "{first}{}{}0000PACK",
            line(&format!("{id} {zero} refs/heads/old\n")),
            line(&format!("{zero} {id} refs/tags/v1"))
        );
        let all = ["main", ":old", "refs/tags/v1"].map(str::to_owned).to_vec();
        assert_eq!(references(text.as_bytes()), References::Complete(all));
        for end in 0..text.len() - 8 {
            assert_eq!(references(&text.as_bytes()[..end]), References::Incomplete, "{end}");
        }
        assert_eq!(references(b"0000"), References::Complete(vec![]));
        for other in [
            line("push-cert"),
            line(&format!("shallow {id}")),
            "zzzz".to_owned(),
            line(&format!("{id} {id} refs/heads/a;b")),
            line(&format!("{id} {id} refs/heads/--dry-run")),
        ] {
            assert_eq!(references(other.as_bytes()), References::Unknown, "{other}");
        }
        assert_eq!(references(&vec![b'f'; MOST]), References::Unknown);
    }
}

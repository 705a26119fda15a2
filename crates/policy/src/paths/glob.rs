//! Globs of paths: `*`, `?` and `[…]` within a name, `**` across names.

use opsctl_reader::shell::glob;

/// Whether the whole path matches. `/srv/**` also matches `/srv`.
pub fn matches(pattern: &str, path: &str) -> bool {
    // The end or the beginning differs for most of them.
    let (last, first) = (|text| names(text).next_back(), |text| names(text).next());
    let may_be = |part: Option<&str>, name: Option<&str>| {
        part.zip(name).is_none_or(|(part, name)| part == "**" || one(part, name))
    };
    may_be(last(pattern), last(path))
        && may_be(first(pattern), first(path))
        && segments(&names(pattern).collect::<Vec<_>>(), &names(path).collect::<Vec<_>>())
}

fn names(text: &str) -> impl DoubleEndedIterator<Item = &str> {
    text.split('/').filter(|name| !name.is_empty())
}

fn segments(pattern: &[&str], path: &[&str]) -> bool {
    // The positions of the last `**` in both, and of its next try.
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while let Some(name) = path.get(t) {
        match pattern.get(p) {
            Some(&"**") => {
                star = Some((p, t));
                p += 1;
            }
            Some(part) if one(part, name) => {
                p += 1;
                t += 1;
            }
            _ => {
                let Some((at, from)) = star else { return false };
                p = at + 1;
                t = from + 1;
                star = Some((at, from + 1));
            }
        }
    }
    pattern.get(p..).unwrap_or_default().iter().all(|part| *part == "**")
}

fn one(part: &str, name: &str) -> bool {
    if part.contains(['*', '?', '[']) { glob(part, name) } else { part == name }
}

/// The part of the path before its first glob.
pub fn literal(pattern: &str) -> String {
    let names: Vec<&str> = pattern.split('/').take_while(|name| !name.contains(['*', '?', '['])).collect();
    let literal = names.join("/");
    if literal.is_empty() { "/".to_owned() } else { literal }
}

//! Globs of paths: `*`, `?` and `[…]` within a name, `**` across names.

use opsctl_reader::shell::{glob, set_len};

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

/// Whether some path may match both globs; `**` is read in the first one only.
pub fn overlap(pattern: &str, path: &str) -> bool {
    meet(&names(pattern).collect::<Vec<_>>(), &names(path).collect::<Vec<_>>())
}

fn meet(pattern: &[&str], path: &[&str]) -> bool {
    match (pattern, path) {
        (["**", rest @ ..], _) => {
            (0..=path.len()).any(|skipped| meet(rest, path.get(skipped..).unwrap_or_default()))
        }
        ([part, rest @ ..], [name, behind @ ..]) => names_meet(part, name) && meet(rest, behind),
        ([], []) => true,
        _ => false,
    }
}

/// Whether some name may match two globs. A set in brackets counts as any character.
fn names_meet(one: &str, other: &str) -> bool {
    let characters = |glob: &str| -> Vec<char> {
        let mut rest = glob;
        let mut all = Vec::new();
        while let Some(c) = rest.chars().next() {
            let set = set_len(rest);
            all.push(if set.is_some() { '?' } else { c });
            rest = rest.get(set.unwrap_or(c.len_utf8())..).unwrap_or_default();
        }
        all
    };
    let (one, other) = (characters(one), characters(other));
    // For each position in the second one: whether the part of the first one so far may end there.
    let mut ends: Vec<bool> = (0..=other.len()).map(|at| other.iter().take(at).all(|c| *c == '*')).collect();
    for c in &one {
        let mut next = vec![false; other.len() + 1];
        for at in 0..=other.len() {
            let before = at.checked_sub(1);
            let read = before.and_then(|before| other.get(before)).copied();
            let is_end = |list: &[bool], at: Option<usize>| {
                at.and_then(|at| list.get(at)).copied().unwrap_or_default()
            };
            let fits = read.is_some_and(|read| *c == '?' || read == '?' || read == *c);
            let found = match (c, read) {
                ('*', _) | (_, Some('*')) => is_end(&ends, Some(at)) || is_end(&next, before),
                _ => fits && is_end(&ends, before),
            };
            if let Some(end) = next.get_mut(at) {
                *end = found;
            }
        }
        ends = next;
    }
    ends.last().copied().unwrap_or_default()
}

/// Whether a glob names files below this folder: `/home/*/.ssh/**` below `/home/anna`. A `**` before its end leads nowhere.
pub fn leads_below(pattern: &str, folder: &str) -> bool {
    let mut parts = names(pattern);
    names(folder).all(|name| parts.next().is_some_and(|part| part != "**" && one(part, name)))
        && parts.next().is_some()
}

/// The part of the path before its first glob.
pub fn literal(pattern: &str) -> String {
    let names: Vec<&str> = pattern.split('/').take_while(|name| !name.contains(['*', '?', '['])).collect();
    let literal = names.join("/");
    if literal.is_empty() { "/".to_owned() } else { literal }
}

#[cfg(test)]
mod tests {
    use super::overlap;

    #[test]
    fn two_globs_meet_where_a_path_may_match_both() {
        for (pattern, path, expected) in [
            ("/srv/**", "/s*v/media", true),
            ("/srv/**", "/s[r]v", true),
            ("/srv/**", "/s[[:lower:]]v", true),
            ("/srv/**", "/s[]r]v", true),
            ("/srv/**", "/s[[=r=]]w", false),
            ("/etc/cron*", "/etc/cro[n].d", true),
            ("/etc/cron.*", "/e*/*.d", true),
            ("/var/lib/*", "/var/l?g/x", false),
            ("/srv/**", "/opt/*", false),
            ("/etc/cron.*", "/etc/*.conf", true),
            ("/etc/passwd", "/etc/*.conf", false),
        ] {
            assert_eq!(overlap(pattern, path), expected, "{pattern} {path}");
        }
    }
}

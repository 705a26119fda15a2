//! Globs of paths: `*`, `?` and `[…]` within a name, `**` across names.

use opsctl_reader::shell::glob;

/// Whether the whole path matches. `/srv/**` also matches `/srv`.
pub fn matches(pattern: &str, path: &str) -> bool {
    let names = |text| -> Vec<&str> { str::split(text, '/').filter(|name| !name.is_empty()).collect() };
    let (pattern, path) = (names(pattern), names(path));
    // The end differs for most of them.
    if let (Some(last), Some(name)) = (pattern.last(), path.last())
        && *last != "**"
        && !one(last, name)
    {
        return false;
    }
    segments(&pattern, &path)
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

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_match_name_by_name() {
        for (pattern, path, expected) in [
            ("/etc/**", "/etc/ssh/sshd_config", true),
            ("/etc/**", "/etc", true),
            ("/etc/**", "/etcetera", false),
            ("/var/lib/*", "/var/lib/mysql", true),
            ("/var/lib/*", "/var/lib/apt/lists", false),
            ("**/.env", "/app/deep/.env", true),
            ("**/.env", "/.env", true),
            ("**/.env.*", "/app/.environment", false),
            ("**/.claude/settings*.json", "/a/.claude/settings.local.json", true),
            ("/", "/", true),
            ("/*", "/", false),
            ("/dev/disk/**", "/dev/disk/by-id/x", true),
            ("/a/**/b/**/c", "/a/b/x/b/c", true),
        ] {
            assert_eq!(matches(pattern, path), expected, "{pattern} {path}");
        }
        assert_eq!(literal("/etc/claude-code/**"), "/etc/claude-code");
        assert_eq!(literal("**/.env"), "/");
    }
}

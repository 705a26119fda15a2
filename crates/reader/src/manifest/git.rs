//! Settings of git: aliases that are shell commands, and the folder of hooks.

/// The value of an alias; `None` where the text defines none of this name.
pub fn alias(text: &str, name: &str) -> Option<String> {
    value(text, "alias", name)
}

/// The folder of hooks that the settings name.
pub fn hooks_folder(text: &str) -> Option<String> {
    value(text, "core", "hookspath")
}

/// The last value of a key in a section without a subsection. Names are compared without case.
fn value(text: &str, section: &str, key: &str) -> Option<String> {
    let mut found = None;
    let mut is_inside = false;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let mut line = line.trim();
        if let Some(rest) = line.strip_prefix('[') {
            let (name, after) = rest.split_once(']').unwrap_or((rest, ""));
            is_inside = name.trim().eq_ignore_ascii_case(section);
            line = after.trim();
        }
        let Some((name, value)) = line.split_once('=').filter(|_| is_inside) else { continue };
        let mut value = value.trim().to_owned();
        while value.ends_with('\\') {
            value.pop();
            value.push_str(lines.next().unwrap_or_default());
        }
        if name.trim().eq_ignore_ascii_case(key) {
            found = Some(unquoted(&value));
        }
    }
    found
}

/// The value without its quotes and comments.
fn unquoted(value: &str) -> String {
    let mut out = String::new();
    let mut is_quoted = false;
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => is_quoted = !is_quoted,
            '\\' => match chars.next() {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some(other) => out.push(other),
                None => {}
            },
            '#' | ';' if !is_quoted => break,
            other => out.push(other),
        }
    }
    out.trim().to_owned()
}

//! What PostgreSQL writes differently from SQLite, in statements of the ledger.

/// A statement of the ledger as PostgreSQL reads it:
///
/// - `?1` becomes `$1`;
/// - `name IS ?1`, which compares NULLs as equal, becomes a comparison that an index on `coalesce(name, '')` serves;
/// - `max(a, b)` of several values becomes `greatest(a, b)`;
/// - `instr(` becomes `strpos(`.
pub fn postgresql(sql: &str) -> String {
    let mut out = String::with_capacity(sql.len() + 64);
    let mut rest = sql;
    while let Some(at) = rest.find(['?', '\'', 'm', 'i']) {
        let (before, here) = rest.split_at(at);
        out.push_str(before);
        rest = if here.starts_with('\'') {
            // A text stays as it is.
            let end = here.get(1..).and_then(|text| text.find('\'')).map_or(here.len(), |end| end + 2);
            let (text, after) = here.split_at(end);
            out.push_str(text);
            after
        } else if let Some(number) = here.strip_prefix('?') {
            let digits = number.len() - number.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let (number, after) = number.split_at(digits);
            match name_before_is(&out) {
                Some(name) => {
                    out.truncate(out.len() - name.len() - " IS ".len());
                    out.push_str(&format!("coalesce({name}, '') = coalesce(${number}, '')"));
                }
                None => out.push_str(&format!("${number}")),
            }
            after
        } else if here.starts_with("max(") && has_comma(here) && !continues_word(&out) {
            out.push_str("greatest(");
            here.split_at("max(".len()).1
        } else if here.starts_with("instr(") && !continues_word(&out) {
            out.push_str("strpos(");
            here.split_at("instr(".len()).1
        } else {
            let (letter, after) = here.split_at(1);
            out.push_str(letter);
            after
        };
    }
    out + rest
}

/// The name in `… name IS ` at the end of a text.
fn name_before_is(text: &str) -> Option<String> {
    let before = text.strip_suffix(" IS ")?;
    let start =
        before.rfind(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '.').map_or(0, |at| at + 1);
    before.get(start..).filter(|name| !name.is_empty()).map(str::to_owned)
}

fn continues_word(before: &str) -> bool {
    before.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
}

/// Whether the call at the beginning of `text` has several arguments.
fn has_comma(text: &str) -> bool {
    let mut depth = 0;
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' if depth == 1 => return false,
            ')' => depth -= 1,
            ',' if depth == 1 => return true,
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn translates_what_differs_and_nothing_else() {
        let cases: std::collections::BTreeMap<String, String> =
            serde_saphyr::from_str(include_str!("dialect.yaml")).unwrap();
        for (ours, theirs) in cases {
            assert_eq!(postgresql(&ours), theirs);
        }
    }
}

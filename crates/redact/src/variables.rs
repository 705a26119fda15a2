//! The values of secret environment variables, as written and encoded.

use data_encoding::BASE64_NOPAD;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use super::built_in::{BEGINNINGS, ENDINGS};

/// The minimum length of a value to be redacted, in bytes: shorter values occur in ordinary text.
const SHORTEST: usize = 6;

/// The characters that percent-encoding changes: all but the unreserved ones of RFC 3986.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The texts to redact for these variables, longest first, so that no part of a longer one remains.
pub fn values(variables: impl IntoIterator<Item = (String, String)>) -> Vec<String> {
    let mut values: Vec<String> = Vec::new();
    for (name, value) in variables {
        let name = name.to_uppercase();
        if name.ends_with("_URLS") {
            // The whole list, and each URL in it.
            values.extend(value.split([' ', ',', '\n']).map(str::to_owned));
            values.push(value);
        } else if BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
            || ENDINGS.iter().any(|ending| name.ends_with(ending))
        {
            values.push(value);
        } else {
            values.extend(url_passwords(&value));
        }
    }
    values.retain(|value| value.len() >= SHORTEST);
    let encoded: Vec<String> = values.iter().flat_map(|value| [base64(value), percent(value)]).collect();
    values.extend(encoded);
    values.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
    values.dedup();
    values
}

/// The passwords of a URL such as `postgres://bob:hunter2@db/x` or `postgres://db/x?password=hunter2`, as written and decoded.
fn url_passwords(value: &str) -> Vec<String> {
    let Some((_, rest)) = value.split_once("://") else { return vec![] };
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    let user = place.split('/').next().and_then(|place| place.rsplit_once('@')).map(|(user, _)| user);
    let of_user = user.and_then(|user| user.split_once(':')).map(|(_, password)| password);
    let stated = query.split('&').filter_map(|pair| pair.split_once('='));
    let stated =
        stated.filter(|(name, _)| ["password", "sslpassword"].contains(name)).map(|(_, value)| value);
    let decoded = |text| percent_decode_str(text).decode_utf8_lossy().into_owned();
    of_user.into_iter().chain(stated).flat_map(|text: &str| [text.to_owned(), decoded(text)]).collect()
}

/// Base64 without the last characters, which depend on what follows.
fn base64(value: &str) -> String {
    BASE64_NOPAD.encode(value.as_bytes().get(..value.len() / 3 * 3).unwrap_or_default())
}

fn percent(value: &str) -> String {
    utf8_percent_encode(value, RESERVED).to_string()
}

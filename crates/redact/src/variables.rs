//! The values of secret environment variables, as written and encoded.

/// The minimum length of a value to be redacted, in bytes: shorter values occur in ordinary text.
const SHORTEST: usize = 6;

/// Endings of the names of variables whose values are secrets.
const ENDINGS: [&str; 20] = [
    "_KEY",
    "_KEY_ID",
    "APIKEY",
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "_PASS",
    "SSHPASS",
    "_PW",
    "_PWD",
    "_CRED",
    "_CREDENTIAL",
    "_CREDENTIALS",
    "_AUTH",
    "_DSN",
    "_SAS",
    "_WEBHOOK",
    "_WEBHOOK_URL",
];

/// Beginnings of the names of variables whose values are secrets.
const BEGINNING: &str = "BROWSER_CRED";

/// The texts to redact for these variables, longest first, so that no part of a longer one remains.
pub fn values(variables: impl IntoIterator<Item = (String, String)>) -> Vec<String> {
    let mut values: Vec<String> = Vec::new();
    for (name, value) in variables {
        let name = name.to_uppercase();
        if name.ends_with("_URLS") {
            // The whole list, and each URL in it.
            values.extend(value.split([' ', ',', '\n']).map(str::to_owned));
            values.push(value);
        } else if name.starts_with(BEGINNING) || ENDINGS.iter().any(|ending| name.ends_with(ending)) {
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
    let decoded = |text: &str| {
        let text = text.replace('+', "%2B").replace('=', "%3D").replace('&', "%26");
        url::form_urlencoded::parse(text.as_bytes())
            .next()
            .map(|(text, _)| text.into_owned())
            .unwrap_or_default()
    };
    of_user.into_iter().chain(stated).flat_map(|text| [text.to_owned(), decoded(text)]).collect()
}

/// Base64 without the last characters, which depend on what follows.
fn base64(value: &str) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut encoded = String::new();
    for three in value.as_bytes().chunks_exact(3) {
        let bits = three.iter().fold(0_usize, |bits, byte| bits << 8 | usize::from(*byte));
        for shift in [18, 12, 6, 0] {
            encoded.extend(LETTERS.get(bits >> shift & 63).map(|letter| char::from(*letter)));
        }
    }
    encoded
}

/// Percent-encoding of everything but the unreserved characters of RFC 3986.
fn percent(value: &str) -> String {
    let mut encoded = String::new();
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded += &format!("%{byte:02X}");
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_secret_variables_by_their_names_and_urls_with_passwords() {
        let variables = [
            ("ANTHROPIC_API_KEY", "key/0123"),
            ("CLAUDEOPS_APPRISE_URLS", "mailto://bob/pw12345, ntfy://topic-9"),
            ("BROWSER_CRED_NAS", "bob:hunter2"),
            ("APP_DB_URL", "postgres://bob:pass-word@db.lan/x"),
            ("CLAUDEOPS_DB_URL", "postgres://bob:a%20b%27cdef@db.lan/x?password=para-meter"),
            ("DB_PASSWORD", "short"),
            ("EDITOR", "nano-editor"),
            ("PWD", "/srv/app"),
        ];
        let values = values(variables.map(|(name, value)| (name.to_owned(), value.to_owned())));
        for value in [
            "key/0123",
            "a2V5LzAx",
            "key%2F0123",
            "ntfy://topic-9",
            "bob:hunter2",
            "pass-word",
            "a b'cdef",
            "a%20b%27cdef",
            "para-meter",
        ] {
            assert!(values.iter().any(|known| known == value), "{value}: {values:?}");
        }
        for value in ["short", "nano-editor", "/srv/app"] {
            assert!(values.iter().all(|known| known != value), "{value}");
        }
    }
}

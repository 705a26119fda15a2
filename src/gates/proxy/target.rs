//! The path and the query of a request, in one canonical form.
//!
//! A gate judges this form and forwards this form, so that the server cannot understand another one.

use axum::http::Uri;
use axum::http::uri::PathAndQuery;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use url::form_urlencoded;

/// What is encoded within a segment of a path.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b':')
    .remove(b'@')
    .remove(b'+')
    .remove(b',')
    .remove(b'=');

/// The target of a request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Target {
    /// The segments of the path, decoded. A segment may contain a slash, which is encoded when it is forwarded.
    pub segments: Vec<String>,
    /// The parameters of the query, decoded, in their order.
    pub query: Vec<(String, String)>,
}

impl Target {
    /// Reads an address in the form `/path?query`; otherwise states why it has no single reading.
    pub fn read(uri: &Uri) -> Result<Self, &'static str> {
        let path = uri.path();
        if uri.scheme().is_some() || uri.authority().is_some() || !path.starts_with('/') {
            return Err("the address is not a path");
        }
        let path = path.strip_suffix('/').unwrap_or(path);
        let segments: Vec<String> =
            path.split('/').skip(1).map(|part| decoded(part)).collect::<Result<_, _>>()?;
        if segments
            .iter()
            .any(|part| part.is_empty() || part.split('/').any(|part| matches!(part, "." | "..")))
        {
            return Err("the path has empty parts or dots");
        }
        let query = uri.query().unwrap_or_default();
        if query.contains(';') {
            return Err("the query has a semicolon");
        }
        let mut pairs = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            pairs.push((decoded(&name.replace('+', " "))?, decoded(&value.replace('+', " "))?));
        }
        Ok(Self { segments, query: pairs })
    }

    /// The address that is forwarded; `None` if it is too long.
    pub fn uri(&self) -> Option<Uri> {
        let mut text = self.path();
        if !self.query.is_empty() {
            text.push('?');
            text.push_str(
                &form_urlencoded::Serializer::new(String::new()).extend_pairs(&self.query).finish(),
            );
        }
        PathAndQuery::try_from(text).ok().map(Uri::from)
    }

    /// The path in its canonical form.
    pub fn path(&self) -> String {
        if self.segments.is_empty() {
            return "/".to_owned();
        }
        self.segments.iter().map(|part| format!("/{}", utf8_percent_encode(part, ENCODED))).collect()
    }

    /// The only value of a parameter. Of several values, servers read different ones.
    pub fn value(&self, name: &str) -> Result<Option<&str>, &'static str> {
        let mut values = self.query.iter().filter(|(key, _)| key == name).map(|(_, value)| value.as_str());
        let value = values.next();
        if values.next().is_some() { Err("a parameter of the query is repeated") } else { Ok(value) }
    }
}

/// The text of a part; an error if it is not text.
fn decoded(part: &str) -> Result<String, &'static str> {
    let is_hex = |text: Option<&str>| text.is_some_and(|text| text.bytes().all(|b| b.is_ascii_hexdigit()));
    if part.split('%').skip(1).any(|rest| !is_hex(rest.get(..2))) {
        return Err("the address has an invalid percent sign");
    }
    let text = percent_decode_str(part).decode_utf8().map_err(|_| "the address is not UTF-8")?;
    if text.chars().any(char::is_control) {
        return Err("the address has control characters");
    }
    Ok(text.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Target, &'static str> {
        Target::read(&text.parse().unwrap())
    }

    #[test]
    fn spellings_of_an_address_have_one_form() {
        for (text, canonical) in [
            ("/", "/"),
            ("/containers/%6b0/stop?t=1", "/containers/k0/stop?t=1"),
            ("/containers/k0/", "/containers/k0"),
            ("/images/a%2Fb/json", "/images/a%2Fb/json"),
            ("/images/a/b:1/json", "/images/a/b:1/json"),
            ("/x?a=%41+b&a&&c=", "/x?a=A+b&a=&c="),
            ("/x?f=%7B%22a%22%3A1%7D", "/x?f=%7B%22a%22%3A1%7D"),
            ("/containers/k%256b", "/containers/k%256b"),
            ("/containers/k0%3Fx=1", "/containers/k0%3Fx=1"),
        ] {
            let target = read(text).unwrap();
            assert_eq!(target.uri().unwrap().to_string(), canonical, "{text}");
            assert_eq!(read(canonical).unwrap(), target, "{text}");
        }
    }

    #[test]
    fn addresses_with_several_readings_are_refused() {
        for text in [
            "//containers/json",
            "/containers//json",
            "/a/../b",
            "/a/./b",
            "/a/%2e%2e/b",
            "/a/x%2f..%2fb",
            "/a/%00",
            "/a/%0d%0aX:1",
            "/a/%ff",
            "/a/%zz",
            "/a/%4",
            "/a?b=1;c=2",
            "/a?b=%0a",
            "http://host/a",
            "*",
            "host:1",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_repeated_parameter_has_no_value() {
        let target = read("/x?a=1&b=2&a=3").unwrap();
        assert_eq!(target.value("b"), Ok(Some("2")));
        assert_eq!(target.value("c"), Ok(None));
        assert!(target.value("a").is_err());
    }
}

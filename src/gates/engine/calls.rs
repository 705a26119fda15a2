//! A request to an engine, without what its spelling adds.

use std::ops::Range;

use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use opsctl_probe::health::line;

use super::table::{Does, Known, Row, Table};
use super::words::Words;
use crate::gates::proxy::request::{Asked, Refusal};
use crate::gates::proxy::target::Target;

/// The oldest version of Docker's API. Before, starting a container could give it rights of the host.
const OLDEST: u32 = 24;

/// A request.
#[derive(Debug, Clone)]
pub struct Call<'t> {
    /// What is done with it.
    pub does: Does<'t>,
    /// The user who asks.
    pub uid: u32,
    /// The parts of the path before that of the table: the version and `libpod`.
    pub prefix: Vec<String>,
    /// The program whose interface it is.
    pub program: &'static str,
    bound: Vec<(&'t str, Range<usize>)>,
}

impl<'t> Call<'t> {
    /// Reads a request.
    pub fn read(asked: &Asked, uid: u32, table: &'t Table) -> Result<Self, Refusal> {
        // Engines would take parameters from such a body.
        let is_form = |kind: &[u8]| kind.to_ascii_lowercase().windows(4).any(|part| part == b"form");
        if asked.headers.get_all(CONTENT_TYPE).iter().any(|kind| is_form(kind.as_bytes())) {
            let text = "forms are not accepted; state parameters in the address";
            return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, text));
        }
        let path = asked.target.segments.as_slice();
        let versions = usize::from(path.first().is_some_and(|part| version(part).is_some()));
        let rest = path.get(versions..).unwrap_or_default();
        let is_podman = rest.first().is_some_and(|part| part == "libpod");
        if !is_podman
            && path
                .first()
                .and_then(|part| version(part))
                .is_some_and(|(major, minor)| major != 1 || minor < OLDEST)
        {
            return Err(Refusal::new(
                StatusCode::BAD_REQUEST,
                format!("this gate knows the versions of the API from 1.{OLDEST}"),
            ));
        }
        // Podman's client encodes the slashes in names of images.
        let is_plain = |at: usize, part: &str, known: &Known<'_>, before: usize| {
            let is_image = known.bound.iter().any(|(name, places)| {
                *name == "names" && (places.start + before..places.end + before).contains(&at)
            });
            !part.contains('%')
                && (!part.contains('/') || (is_podman && is_image && !part.split('/').any(str::is_empty)))
        };
        let method = asked.method.as_str();
        let whole = table.find(method, rest).map(|known| (known, versions));
        let found = whole.or_else(|| {
            let within = rest.get(1..).filter(|_| is_podman)?;
            table.find(method, within).map(|known| (known, versions + 1))
        });
        let found = found.filter(|(known, before)| {
            path.iter().enumerate().all(|(at, part)| is_plain(at, part, known, *before))
        });
        let (known, before) = found.ok_or_else(|| {
            let path = opsctl_redact::shortened(&asked.target.path(), 100);
            Refusal::forbidden(format!("{method} {path} is not a request that this gate allows; use another command, or ask an operator"))
        })?;
        let prefix = path.get(..versions + usize::from(is_podman)).unwrap_or_default().to_vec();
        let bound =
            known.bound.into_iter().map(|(name, at)| (name, at.start + before..at.end + before)).collect();
        let program = if is_podman { "podman" } else { "docker" };
        Ok(Self { does: known.does, uid, prefix, program, bound })
    }

    /// The place of a name in braces in the path.
    pub fn place(&self, name: &str) -> Option<usize> {
        self.bound.iter().find(|(known, _)| *known == name).map(|(_, at)| at.start)
    }

    /// The parts of the path that a name in braces stands for.
    pub fn bound(&self, name: &str, target: &Target) -> String {
        let at = self.bound.iter().find(|(known, _)| *known == name);
        at.and_then(|(_, at)| target.segments.get(at.clone())).unwrap_or_default().join("/")
    }

    /// Whether it concerns this kind of thing.
    pub fn is_of(&self, kind: &str, target: &Target) -> bool {
        target.segments.get(self.prefix.len()).is_some_and(|part| part == kind)
    }

    /// The command that does the same: its verb, its options, what it concerns, its further words.
    pub fn text(&self, row: &Row, concerned: &[String], words: &Words, target: &Target) -> String {
        let (named, verb): (Vec<&str>, Vec<&str>) =
            row.does.split(' ').partition(|word| word.starts_with('{'));
        let mut all = vec![self.program.to_owned()];
        all.extend(verb.into_iter().skip(1).map(str::to_owned));
        all.extend(words.options.iter().cloned());
        all.extend(named.into_iter().flat_map(|name| match name.trim_matches(['{', '}']) {
            "container" | "service" | "pod" => concerned.to_vec(),
            name => vec![self.bound(name, target)],
        }));
        all.extend(concerned.iter().filter(|_| words.container.is_some()).cloned());
        all.extend(words.rest.iter().cloned());
        line(&all)
    }
}

/// The version in a part of a path: `v1.41`, `v4.3.1`. Digits only: `1.+41` is a number, but no version.
fn version(part: &str) -> Option<(u32, u32)> {
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let numbers =
        part.strip_prefix('v')?.split('.').map(|text| text.parse().ok().filter(|_| is_number(text)));
    match *numbers.collect::<Option<Vec<u32>>>()? {
        [major, minor, ..] => Some((major, minor)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn versions_are_read_as_engines_read_them() {
        let read =
            ["v1.41", "v4.3.1", "v1", "v1.", "v1.+41", "v+1.41", "v1.41.+1", "1.41"].map(super::version);
        assert_eq!(read, [Some((1, 41)), Some((4, 3)), None, None, None, None, None, None]);
    }
}

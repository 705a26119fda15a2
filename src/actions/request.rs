//! Requests over HTTP, as `curl`, `wget`, `http` and their kin are told to make them.

use super::line::{Arguments, Line};
use crate::shell::Word;

/// Options of `curl` and `wget` that take a value.
const VALUED: &[&str] = &[
    "-X",
    "--request",
    "--method",
    "-d",
    "--data",
    "--data-ascii",
    "--data-raw",
    "--data-binary",
    "--data-urlencode",
    "--json",
    "--url-query",
    "-F",
    "--form",
    "--form-string",
    "-T",
    "--upload-file",
    "--post-data",
    "--post-file",
    "--body-data",
    "--body-file",
    "-H",
    "--header",
    "-o",
    "--output",
    "--output-document",
    "-u",
    "--user",
    "-A",
    "--user-agent",
    "-U",
    "-m",
    "--max-time",
    "--connect-timeout",
    "--timeout",
    "--tries",
    "--retry",
    "--retry-delay",
    "--retry-max-time",
    "--max-redirs",
    "--unix-socket",
    "--abstract-unix-socket",
    "-w",
    "--write-out",
    "--cacert",
    "--capath",
    "--cert",
    "--key",
    "--pass",
    "-E",
    "-e",
    "--referer",
    "-b",
    "--cookie",
    "-c",
    "--cookie-jar",
    "-x",
    "--proxy",
    "--proxy-user",
    "--noproxy",
    "--url",
    "-K",
    "--config",
    "-D",
    "--dump-header",
    "--resolve",
    "--connect-to",
    "--interface",
    "-r",
    "--range",
    "--limit-rate",
    "--oauth2-bearer",
    "--mail-from",
    "--mail-rcpt",
    "--mail-auth",
    "--login-options",
    "--stderr",
    "--trace-ascii",
    "-P",
    "--directory-prefix",
];
/// Those of `http`, `xh` and their kin.
const VALUED_BY_HTTPIE: &[&str] = &[
    "-a",
    "--auth",
    "-A",
    "--auth-type",
    "-o",
    "--output",
    "--session",
    "--session-read-only",
    "--timeout",
    "-s",
    "--style",
    "-p",
    "--print",
    "--proxy",
    "--verify",
    "--cert",
    "--cert-key",
    "--raw",
    "--max-redirects",
];
const DATA: &[&str] = &[
    "-d",
    "--data",
    "--data-ascii",
    "--data-raw",
    "--data-binary",
    "--data-urlencode",
    "--json",
    "-F",
    "--form",
    "--form-string",
    "-T",
    "--upload-file",
    "--post-data",
    "--post-file",
    "--body-data",
    "--body-file",
    "--raw",
];
const METHOD: &[&str] = &["-X", "--request", "--method"];

/// A request as the command line states it.
pub(super) struct Request<'a> {
    /// Where it goes; several are several requests.
    pub urls: Vec<Word>,
    /// Something is sent along.
    pub sends: bool,
    /// The options.
    pub arguments: Arguments<'a>,
}

/// True for the programs whose requests are looked at.
pub(super) fn is_client(line: &Line<'_>) -> bool {
    matches!(line.program(), "curl" | "wget" | "http" | "https" | "xh" | "xhs" | "curlie")
}

/// Its options that take a value: `-O` takes a file for wget and nothing for curl.
pub(super) fn valued(line: &Line<'_>) -> Vec<&'static str> {
    match line.program() {
        "http" | "https" | "xh" | "xhs" => VALUED_BY_HTTPIE.to_vec(),
        "wget" => VALUED.iter().copied().chain(["-O"]).collect(),
        _ => VALUED.to_vec(),
    }
}

impl<'a> Request<'a> {
    /// Reads a command line.
    pub fn of(line: &'a Line<'_>, valued: &'a [&'a str]) -> Self {
        let mut arguments = Arguments::default();
        line.arguments(1, valued, &mut arguments);
        let reads = |method: &str| matches!(method.to_ascii_uppercase().as_str(), "GET" | "HEAD" | "OPTIONS");
        let mut sends = arguments.has(DATA)
            || arguments
                .value(METHOD)
                .is_some_and(|method| method.known().is_none_or(|method| !reads(method)));
        let words: Vec<&Word> = arguments.positionals.iter().filter_map(|&index| line.word(index)).collect();
        let mut urls: Vec<Word> = Vec::new();
        if matches!(line.program(), "http" | "https" | "xh" | "xhs") {
            let is_method =
                |word: &Word| !word.text.is_empty() && word.text.chars().all(|c| c.is_ascii_uppercase());
            let method = words.first().filter(|word| words.len() > 1 && is_method(word));
            let mut words = words.iter().skip(usize::from(method.is_some()));
            urls.extend(words.next().map(|word| (*word).clone()));
            let is_data = |word: &Word| {
                word.unknown.is_some() || word.text.contains(['=', '@']) && !word.text.contains("==")
            };
            let piped = line.command.stdin.is_some();
            sends |=
                method.is_some_and(|method| !reads(&method.text)) || words.any(|word| is_data(word)) || piped;
        } else {
            urls.extend(words.into_iter().cloned());
            urls.extend(arguments.values(&["--url"]).cloned());
        }
        Self { urls, sends, arguments }
    }
}

//! HTTP requests of `curl`, `wget`, `http` and similar programs.

use super::call::Call;
use crate::shell::Word;

/// Options that send data.
pub const DATA: &[&str] = &[
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
    "--post-data",
    "--post-file",
    "--body-data",
    "--body-file",
    "--raw",
];
/// Options that upload a file.
pub const UPLOAD: &[&str] = &["-T", "--upload-file"];
/// Options that name the method.
pub const METHOD: &[&str] = &["-X", "--request", "--method"];

/// Clients of forges whose `api` sends requests.
const FORGES: &[&str] = &["gh", "glab", "tea", "hub"];
/// Options of these clients that send data.
const FORGE_DATA: &[&str] = &["-f", "--raw-field", "-F", "--field", "--input", "-d", "--data"];

/// The request of a command line.
pub(super) struct Request {
    /// The addresses; each one is a separate request.
    pub urls: Vec<Word>,
    /// Whether it sends data.
    pub sends: bool,
}

impl Request {
    /// Parses a command line.
    pub fn of(call: &Call<'_>) -> Self {
        let arguments = &call.own;
        let reads = |method: &str| matches!(method.to_ascii_uppercase().as_str(), "GET" | "HEAD" | "OPTIONS");
        let mut sends = arguments.has(DATA)
            || arguments.has(UPLOAD)
            || arguments
                .value(METHOD)
                .is_some_and(|method| method.known().is_none_or(|method| !reads(method)));
        let words: Vec<&Word> =
            arguments.positionals.iter().filter_map(|&index| call.line.word(index)).collect();
        let mut urls: Vec<Word> = Vec::new();
        if FORGES.contains(&call.usage.program.key) {
            let method = arguments.value(METHOD);
            sends = match method {
                Some(method) => method.known().is_none_or(|method| !reads(method)),
                None => arguments.has(FORGE_DATA),
            };
        }
        // httpie's words are the method, the address and the data.
        if call.usage.program.key == "httpie" {
            let is_method =
                |word: &Word| !word.text.is_empty() && word.text.chars().all(|c| c.is_ascii_uppercase());
            let method = words.first().filter(|word| words.len() > 1 && is_method(word));
            let mut words = words.iter().skip(usize::from(method.is_some()));
            urls.extend(words.next().map(|word| (*word).clone()));
            let is_data = |word: &Word| {
                word.unknown.is_some() || word.text.contains(['=', '@']) && !word.text.contains("==")
            };
            let piped = call.line.command.stdin.is_some();
            sends |=
                method.is_some_and(|method| !reads(&method.text)) || words.any(|word| is_data(word)) || piped;
        } else {
            urls.extend(words.into_iter().cloned());
            urls.extend(arguments.values(&["--url"]).cloned());
        }
        Self { urls, sends }
    }
}

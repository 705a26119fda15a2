//! HTTP requests of `curl`, `wget`, `http` and similar programs.

use super::call::Call;
use crate::catalogue::program::{Check, Role};
use crate::languages::names::apis;
use crate::shell::Word;

/// The request of a command line.
pub(super) struct Request {
    /// The addresses; each one is a separate request.
    pub urls: Vec<Word>,
    /// Whether it sends data.
    pub sends: bool,
    /// The method, in capitals; `None` where only the run knows it.
    pub method: Option<String>,
    /// The data that it sends, without blanks and quotes, and with `:` for `=`.
    pub body: String,
}

impl Request {
    /// Parses a command line.
    pub fn of(call: &Call<'_>) -> Self {
        let arguments = &call.own;
        let role = |role| call.usage.role(role);
        let reads = |method: &str| matches!(method.to_ascii_uppercase().as_str(), "GET" | "HEAD" | "OPTIONS");
        let method = arguments.value(&role(Role::Method));
        let changes = |method: &Word| method.known().is_none_or(|method| !reads(method));
        let has_data = arguments.has(&role(Role::Data)) || arguments.has(&role(Role::Uploads));
        // A client of a forge sends its fields with any method.
        let is_forge = call.usage.form.effect.is_some_and(|terms| terms.check == Some(Check::ForgeApi));
        let mut sends = method.is_some_and(changes) || has_data && !(is_forge && method.is_some());
        let words: Vec<&Word> =
            arguments.positionals.iter().filter_map(|&index| call.line.word(index)).collect();
        let mut urls: Vec<Word> = Vec::new();
        let mut stated = method;
        // httpie's words are the method, the address and the data.
        if call.usage.program.key == "httpie" {
            let is_method = |word: &Word| apis::METHODS.has(&word.text.to_ascii_uppercase());
            stated = words.first().filter(|word| words.len() > 1 && is_method(word)).copied();
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
            urls.extend(arguments.values(&role(Role::Address)).cloned());
        }
        let method = match stated {
            Some(method) => method.known().map(str::to_ascii_uppercase),
            None => Some(if sends { "POST" } else { "GET" }.to_owned()),
        };
        let options = role(Role::Data);
        let data = arguments.values(&options).chain(&call.line.command.stdin);
        let is_plain = |c: &char| !c.is_whitespace() && !matches!(c, '"' | '\'' | '\\');
        let plain = |c: char| if c == '=' { ':' } else { c };
        let body = data.flat_map(|word| word.text.chars().chain([';'])).filter(is_plain).map(plain).collect();
        Self { urls, sends, method, body }
    }
}

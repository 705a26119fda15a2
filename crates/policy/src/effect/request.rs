//! HTTP requests: what the method, the address and the data say of the effect.

use super::address::Address;
use super::proof::Proof;
use super::reason::Why;
use crate::actions::request::{DATA, METHOD, UPLOAD};
use crate::catalogue::lookup::Usage;
use crate::catalogue::options::{Item, Name, Scanner};
use crate::model::effect::Effect;
use crate::shell::{Command, Word};

const HEADER: &[&str] = &["-H", "--header"];

/// A request as the command line states it.
#[derive(Default)]
struct Request {
    method: Option<Word>,
    data: Vec<Word>,
    addresses: Vec<Word>,
    headers: Vec<Word>,
    /// Further parts of the address: `--url-query`.
    parameters: Vec<Word>,
    /// The data stands in the address.
    in_address: bool,
    uploads: bool,
}

/// The effect of a request: sending changes something, but for queries; some addresses change something when they are
/// only asked for.
pub fn effect(command: &Command, usage: &Usage, texts: &[&str]) -> Proof {
    let request = match usage.program.key {
        "httpie" => in_words(command, usage, texts),
        _ => in_options(command, usage, texts),
    };
    let changes = (Effect::Changes, Why::Statement);
    // `X-HTTP-Method-Override: DELETE`.
    let overrides = |header: &Word| header.text.to_ascii_lowercase().contains("-override");
    if request.uploads || request.headers.iter().any(overrides) {
        return changes;
    }
    let sends = !request.data.is_empty() && !request.in_address;
    let method = match &request.method {
        Some(method) => match method.known() {
            Some(method) => method.to_ascii_uppercase(),
            None => return changes,
        },
        None if sends => "POST".to_owned(),
        None => "GET".to_owned(),
    };
    let addresses: Vec<Address> = request
        .addresses
        .iter()
        .map(|word| {
            let mut text = word.text.clone();
            let data = request.data.iter().filter(|_| request.in_address);
            for part in request.parameters.iter().chain(data) {
                text.push(if text.contains('?') { '&' } else { '?' });
                text.push_str(&part.text);
            }
            Address::of(&text)
        })
        .collect();
    if !addresses.iter().all(Address::is_plain) {
        return (Effect::Unknown, Why::Statement);
    }
    let body: Option<String> =
        request.data.iter().map(Word::known).collect::<Option<Vec<_>>>().map(|parts| parts.join("&"));
    let reads = match method.as_str() {
        "GET" | "HEAD" | "TRACE" if sends => {
            addresses.iter().all(|address| address.answers(body.as_deref()) && !address.changes())
        }
        "GET" | "HEAD" | "TRACE" | "LIST" => !addresses.iter().any(Address::changes),
        "OPTIONS" | "PROPFIND" | "REPORT" => true,
        "POST" | "QUERY" | "SEARCH" => {
            !addresses.is_empty() && addresses.iter().all(|address| address.answers(body.as_deref()))
        }
        _ => false,
    };
    if reads { (Effect::Reads, Why::Stated) } else { changes }
}

/// The effect of a request to the API of a forge: `gh api`.
pub fn forge(command: &Command, usage: &Usage, texts: &[&str]) -> Proof {
    let value = usage.value();
    let (mut method, mut fields, mut path) = (None, Vec::new(), "");
    for item in Scanner::new(texts, usage.rest, &value) {
        match item {
            Item::Option(name, at) => {
                let value = at.and_then(|at| command.words.get(at.index).map(|word| word.tail(at.offset)));
                if name.is_any(&["-X", "--method"]) {
                    method = value;
                } else if name.is_any(&["-f", "-F", "--field", "--raw-field", "--input", "-d", "--data"]) {
                    fields.push(value.unwrap_or_else(|| Word::literal("")));
                }
            }
            Item::Positional(index) if path.is_empty() => {
                path = texts.get(index).copied().unwrap_or_default();
            }
            _ => {}
        }
    }
    let is_query = |field: &Word| {
        field
            .known()
            .is_some_and(|text| !text.to_ascii_lowercase().contains("mutation") && !text.contains("=@"))
            || !field.text.starts_with("query")
    };
    let reads = match method.as_ref().map(Word::known) {
        Some(Some(method)) => method.eq_ignore_ascii_case("get") || method.eq_ignore_ascii_case("head"),
        Some(None) => false,
        None if path == "graphql" => {
            !texts.iter().any(|text| text.starts_with("--input"))
                && fields.iter().any(|field| field.text.starts_with("query="))
                && fields.iter().all(is_query)
        }
        None => fields.is_empty(),
    };
    if reads { (Effect::Reads, Why::Stated) } else { (Effect::Changes, Why::Statement) }
}

/// `curl` and `wget`.
fn in_options(command: &Command, usage: &Usage, texts: &[&str]) -> Request {
    let value = usage.value();
    let is_curl = usage.program.key == "curl";
    let mut request = Request::default();
    for item in Scanner::new(texts, usage.rest, &value) {
        match item {
            // The letters of `wget` mean something else.
            Item::Option(Name::Short(_), _) if !is_curl => {}
            Item::Option(name, at) => {
                let value = at.and_then(|at| command.words.get(at.index).map(|word| word.tail(at.offset)));
                if name.is_any(METHOD) {
                    request.method = value;
                } else if name.is_any(DATA) {
                    let from_stdin = value.as_ref().is_some_and(|word| word.text == "@-");
                    let piped = command.stdin.clone().filter(|_| from_stdin);
                    request.data.push(piped.or(value).unwrap_or_else(|| Word::literal("")));
                } else if name.is_any(HEADER) {
                    request.headers.extend(value);
                } else if name.is("--url-query") {
                    request.parameters.extend(value);
                } else if name.is("--url") {
                    request.addresses.extend(value);
                } else {
                    request.uploads |= name.is_any(UPLOAD);
                    request.in_address |= name.is_any(&["-G", "--get"]);
                }
            }
            Item::Positional(index) => request.addresses.extend(command.words.get(index).cloned()),
            Item::Dashes(_) => {}
        }
    }
    request
}

/// `http`: the method, the address and the data are words.
fn in_words(command: &Command, usage: &Usage, texts: &[&str]) -> Request {
    let value = usage.value();
    let mut request = Request::default();
    let mut ignores_stdin = false;
    let mut words = Vec::new();
    for item in Scanner::new(texts, usage.rest, &value) {
        match item {
            Item::Option(name, at) => {
                ignores_stdin |= name.is_any(&["--ignore-stdin", "-I"]);
                if name.is("--raw") {
                    let value =
                        at.and_then(|at| command.words.get(at.index).map(|word| word.tail(at.offset)));
                    request.data.push(value.unwrap_or_else(|| Word::literal("")));
                }
            }
            Item::Positional(index) => words.extend(command.words.get(index).cloned()),
            Item::Dashes(_) => {}
        }
    }
    let is_method = |word: &Word| !word.text.is_empty() && word.text.chars().all(|c| c.is_ascii_alphabetic());
    let mut words = words.into_iter().peekable();
    if words.len() > 1 {
        request.method = words.next_if(is_method);
    }
    request.addresses.extend(words.next());
    for word in words {
        let text = word.text.as_str();
        let sign = text.find(['=', ':', '@']);
        let rest = sign.and_then(|at| text.get(at..)).unwrap_or_default();
        if rest.starts_with("==") {
            // A parameter of the address.
            let query = text.replacen("==", "=", 1);
            for address in &mut request.addresses {
                let joint = if address.text.contains('?') { '&' } else { '?' };
                address.text.push(joint);
                address.text.push_str(&query);
            }
        } else if rest.starts_with(':') && !rest.starts_with(":=") {
            request.headers.push(word);
        } else {
            request.data.push(word);
        }
    }
    if !ignores_stdin {
        request.data.extend(command.stdin.clone());
    }
    request
}

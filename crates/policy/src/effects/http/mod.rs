//! HTTP requests: what the method, the address and the data say of the effect.

pub mod address;

use super::proof::{CHANGES, Proof, READS};
use super::reason::Why;
use super::socket;
use address::Address;
use opsctl_reader::catalogue::lookup::Usage;
use opsctl_reader::catalogue::program::Role;
use opsctl_reader::shell::{Command, Word};
use opsctl_reader::terms::class::Class;
use opsctl_reader::terms::effect::Effect;

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

impl Request {
    fn of(command: &Command, usage: &Usage, texts: &[&str]) -> Self {
        let is_httpie = usage.program.key == "httpie";
        if is_httpie { in_words(command, usage, texts) } else { in_options(command, usage, texts) }
    }

    /// The addresses, with the data that stands in them.
    fn addresses(&self) -> Vec<Address> {
        self.addresses.iter().map(|word| Address::of(&self.whole(word))).collect()
    }

    /// An address with the data that stands in it.
    fn whole(&self, address: &Word) -> String {
        let mut text = address.text.clone();
        let data = self.data.iter().filter(|_| self.in_address);
        for part in self.parameters.iter().chain(data) {
            add_to_query(&mut text, &part.text);
        }
        text
    }
}

/// Adds a part to the query of an address.
fn add_to_query(address: &mut String, part: &str) {
    address.push(if address.contains('?') { '&' } else { '?' });
    address.push_str(part);
}

/// The effect of a request: sending changes something, but for queries; some addresses change something when they are
/// only asked for.
pub fn effect(command: &Command, usage: &Usage, texts: &[&str]) -> Proof {
    let request = Request::of(command, usage, texts);
    // `X-HTTP-Method-Override: DELETE`.
    let overrides = |header: &Word| header.text.to_ascii_lowercase().contains("-override");
    if request.uploads || request.headers.iter().any(overrides) {
        return CHANGES;
    }
    let sends = !request.data.is_empty() && !request.in_address;
    let method = match &request.method {
        Some(method) => match method.known() {
            Some(method) => method.to_ascii_uppercase(),
            None => return CHANGES,
        },
        None if sends => "POST".to_owned(),
        None => "GET".to_owned(),
    };
    // `curl telnet://HOST:PORT` sends its standard input.
    if !request.addresses.is_empty()
        && request.addresses.iter().all(|word| word.text.starts_with("telnet://"))
    {
        return socket::sent(command, &[]);
    }
    let addresses = request.addresses();
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
    if reads { READS } else { CHANGES }
}

/// The addresses of a request that only asks, with the data that stands in them; `None` for one that sends something.
pub fn asked(command: &Command, usage: &Usage, texts: &[&str]) -> Option<Vec<String>> {
    let request = Request::of(command, usage, texts);
    let is_asking = |method: &Word| matches!(method.known(), Some("GET" | "HEAD"));
    let sends = request.uploads || !request.data.is_empty() && !request.in_address;
    let asks = !sends && request.method.as_ref().is_none_or(is_asking);
    asks.then(|| request.addresses.iter().map(|word| request.whole(word)).collect())
}

/// The class of what a request asks for by the words of its address or its data: to stop a machine or a service, or to remove
/// something.
pub fn ordered(command: &Command, usage: &Usage, texts: &[&str]) -> Option<Class> {
    let request = Request::of(command, usage, texts);
    let by_address = request.addresses().iter().find_map(Address::class);
    by_address.or_else(|| request.data.iter().find_map(|word| address::class_of_data(&word.text)))
}

/// The addresses to which a request sends data, or to which it goes with a method that does not only ask. A query that only
/// reads is left out.
pub fn changed(command: &Command, usage: &Usage, texts: &[&str]) -> Vec<Word> {
    let request = Request::of(command, usage, texts);
    let is_carrying = |word: &Word| request.in_address && super::content::is_content(word, command);
    let asks = |method: &Word| {
        method
            .known()
            .is_some_and(|method| ["GET", "HEAD"].iter().any(|one| one.eq_ignore_ascii_case(method)))
    };
    let sends = request.uploads
        || !request.data.is_empty() && !request.in_address
        || request.data.iter().chain(&request.parameters).any(is_carrying)
        || !request.method.as_ref().is_none_or(asks);
    let is_reading =
        effect(command, usage, texts).0 == Effect::Reads && !request.data.iter().any(is_carrying);
    if sends && !is_reading { request.addresses } else { vec![] }
}

/// The addresses of a request with their hosts as written, and what it sends beside them.
pub fn destinations(command: &Command, usage: &Usage, texts: &[&str]) -> (Vec<(Word, String)>, Vec<Word>) {
    let request = Request::of(command, usage, texts);
    let host = |word: &Word| {
        let rest = word.text.split_once("://").map_or(word.text.as_str(), |(_, rest)| rest);
        let end = rest.find(['/', '?', '#']).filter(|_| !rest.starts_with("$(")).unwrap_or_else(|| {
            let close = rest.rfind(')').unwrap_or_default();
            rest.get(close..).and_then(|tail| tail.find(['/', '?', '#'])).map_or(rest.len(), |at| at + close)
        });
        rest.get(..end).unwrap_or(rest).to_owned()
    };
    let sent = [request.data, request.headers, request.parameters].concat();
    (request.addresses.into_iter().map(|word| (word.clone(), host(&word))).collect(), sent)
}

/// The effect of a request to the API of a forge: `gh api`.
pub fn forge(command: &Command, usage: &Usage, texts: &[&str]) -> Proof {
    let given = usage.operands(texts);
    let method = given.places(Role::Method).last().and_then(|at| command.value(at));
    let fields: Vec<Word> = given.places(Role::Data).filter_map(|at| command.value(at)).collect();
    let path = given.words().next().unwrap_or_default();
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
            !given.has(Role::Uploads)
                && fields.iter().any(|field| field.text.starts_with("query="))
                && fields.iter().all(is_query)
        }
        None => fields.is_empty() && !given.has(Role::Uploads),
    };
    if reads { READS } else { CHANGES }
}

/// `curl` and `wget`.
fn in_options(command: &Command, usage: &Usage, texts: &[&str]) -> Request {
    let given = usage.operands(texts);
    let values = |role| given.places(role).filter_map(|at| command.value(at));
    let words = given.words.iter().filter_map(|index| command.words.get(*index)).cloned();
    let data = values(Role::Data).map(|word| {
        let piped = command.stdin.clone().filter(|_| word.text == "@-");
        piped.unwrap_or(word)
    });
    Request {
        method: values(Role::Method).last(),
        data: data.collect(),
        addresses: words.chain(values(Role::Address)).collect(),
        headers: values(Role::Headers).collect(),
        parameters: values(Role::Query).collect(),
        in_address: given.has(Role::DataInAddress),
        uploads: given.has(Role::Uploads),
    }
}

/// `http`: the method, the address and the data are words.
fn in_words(command: &Command, usage: &Usage, texts: &[&str]) -> Request {
    let given = usage.operands(texts);
    let data = given.places(Role::Data).filter_map(|at| command.value(at)).collect();
    let mut request = Request { data, ..Request::default() };
    let words: Vec<Word> =
        given.words.iter().filter_map(|index| command.words.get(*index)).cloned().collect();
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
            request.addresses.iter_mut().for_each(|address| add_to_query(&mut address.text, &query));
        } else if rest.starts_with(':') && !rest.starts_with(":=") {
            request.headers.push(word);
        } else {
            request.data.push(word);
        }
    }
    if !given.has(Role::IgnoresInput) {
        request.data.extend(command.stdin.clone());
    }
    request
}

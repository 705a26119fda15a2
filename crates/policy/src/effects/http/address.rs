//! Addresses of HTTP requests: some only answer, even to a POST; some change something on a GET.

use crate::lists::{
    ACTION_KEYS, ANSWERING, ASKING, CHANGING_STATEMENTS, DEVICE_ORDERS, DEVICE_PARTS, DNS_KEYS,
    DOWNLOAD_MODES, DOWNLOAD_ORDERS, HOOKS, METRIC_QUERIES, NOTIFIED_HOSTS, ORDER_KEYS, ORDERS,
    PANEL_CHANGES, PLAIN_SCHEMES, READING_PLACES, READING_STATEMENTS, REMOVING_ORDERS, SCRIPT_ENDS,
    SCRIPT_ORDERS, SEARCHES, STOPPING_ORDERS,
};
use opsctl_reader::languages::flux;
use opsctl_reader::languages::sql;
use opsctl_reader::languages::sql::Functions;
use opsctl_reader::terms::class::Class;

/// An address, cut into its parts and decoded; letters are in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    scheme: String,
    host: String,
    segments: Vec<String>,
    query: Vec<(String, String)>,
}

/// Whether a name or a value only asks: `getConfig`, `torrent-get`.
pub(crate) fn asks(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let last = name.rsplit(['-', '.']).next().unwrap_or(&name);
    ASKING.iter().any(|start| name.starts_with(start) || last.starts_with(start))
}

impl Address {
    pub fn of(text: &str) -> Self {
        let text = text.trim();
        let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
        let rest = rest.split('#').next().unwrap_or_default();
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        let mut segments = path.split('/').map(|one| decoded(one).to_lowercase());
        let host = segments.next().unwrap_or_default();
        let pair = |one: &str| {
            let (key, value) = one.split_once('=').unwrap_or((one, ""));
            (decoded(key).to_lowercase(), decoded(value))
        };
        Self {
            scheme: scheme.to_lowercase(),
            host,
            segments: segments.filter(|one| !one.is_empty()).collect(),
            query: query.split('&').filter(|one| !one.is_empty()).map(pair).collect(),
        }
    }

    /// Whether its scheme requests a resource over HTTP, FTP or from a file; other schemes, such as `gopher`, send arbitrary bytes.
    pub fn is_plain(&self) -> bool {
        PLAIN_SCHEMES.contains(&self.scheme.as_str()) || self.scheme.contains(['$', '{'])
    }

    fn last(&self) -> &str {
        self.segments.last().map_or("", String::as_str)
    }

    /// The last part of the path, without the ending of a script.
    fn stem(&self) -> &str {
        let last = self.last();
        last.rsplit_once('.').filter(|(_, end)| SCRIPT_ENDS.contains(end)).map_or(last, |(stem, _)| stem)
    }

    fn has(&self, segment: &str) -> bool {
        self.segments.iter().any(|one| one == segment)
    }

    fn value(&self, key: &str) -> Option<&str> {
        self.query.iter().find(|(one, _)| one == key).map(|(_, value)| value.as_str())
    }

    /// Whether asking for it changes something.
    pub fn changes(&self) -> bool {
        self.is_order() || self.query.iter().any(|(key, value)| self.is_order_in_query(key, value))
    }

    /// The class of what it asks for, by words that stop a machine or a service, or that remove something.
    pub fn class(&self) -> Option<Class> {
        let orders = || self.query.iter().filter(|(key, value)| self.is_order_in_query(key, value));
        // A page that explains a command may have its name.
        let explains = |part: &str| READING_PLACES.contains(&part);
        let is_page = self.host.split('.').chain(self.segments.iter().map(String::as_str)).any(explains);
        let method = self.last().rsplit('.').next().unwrap_or_default();
        let by_path = class_of_word(self.stem()).or_else(|| class_of_word(method)).filter(|_| !is_page);
        by_path.or_else(|| {
            orders().find_map(|(key, value)| match key.as_str() {
                "q" => None,
                "query" | "sql" => Some(Class::Database),
                key => class_of_word(key).or_else(|| class_of_words(&value.to_lowercase())),
            })
        })
    }

    /// By its path.
    fn is_order(&self) -> bool {
        let host = self.host.split(['@', ':']).next_back().filter(|host| host.parse::<u16>().is_err());
        let host = host.unwrap_or_else(|| self.host.split(':').next().unwrap_or_default());
        let last = self.last();
        let last_method = last.rsplit('.').next().unwrap_or(last);
        let first = self.segments.first().map_or("", String::as_str);
        let is_script = |name: &str| [".cgi", ".php", ".htm"].iter().any(|end| name.ends_with(end));
        // Chats that send on a GET.
        if host == "api.telegram.org" || first.starts_with("bot") && first.contains([':', '$']) {
            return !(last.starts_with("get") || self.segments.len() < 2);
        }
        if host == "slack.com" && first == "api" {
            return !(asks(last_method)
                || matches!(last_method, "replies" | "test" | "members" | "identity"));
        }
        if NOTIFIED_HOSTS.contains(&host) {
            return true;
        }
        // A step that runs, by its key: `/api/push/KEY`.
        let follows = |segment: &str| {
            let at = self.segments.iter().position(|one| one == segment);
            at.and_then(|at| self.segments.get(at + 1)).is_some_and(|next| next.parse::<u64>().is_err())
        };
        let keyed = (first == "api"
            && self.segments.get(1).is_some_and(|one| one == "push")
            && self.segments.len() > 2)
            || (!self.has("repos") && !self.has("status-page") && HOOKS.into_iter().any(follows))
            || (first == "ping"
                && (self.segments.len() > 2 || (self.segments.len() == 2 && last.len() > 30)));
        // Shelly, WLED, CCU and addresses of dynamic DNS.
        let device = (DEVICE_PARTS.contains(&first) && !self.query.is_empty())
            || (first == "rpc" && self.segments.len() == 2 && last.contains('.') && !asks(last_method))
            || first.starts_with("win&")
            || (matches!(last, "win" | "cmd") && !self.query.is_empty())
            || (is_script(last) && SCRIPT_ORDERS.iter().any(|one| last.contains(one)))
            // Plex keeps its marks and positions there.
            || (first == ":" && !matches!(last, ":" | "prefs" | "websockets" | "notifications"))
            || (host.ends_with("duckdns.org") && first == "update")
            || (host.starts_with("update.") && self.segments.is_empty() && !self.query.is_empty())
            || (matches!(last, "update" | "dyndns") && DNS_KEYS.iter().any(|key| self.value(key).is_some()));
        ORDERS.contains(&last)
            || keyed
            || device
            || STOPPING_ORDERS.contains(&self.stem())
            || is_glued_order(last)
    }

    /// By a pair of its query.
    fn is_order_in_query(&self, key: &str, value: &str) -> bool {
        let lower = value.to_lowercase();
        // With a value these are a span of time.
        if matches!(key, "start" | "stop") {
            return value.is_empty();
        }
        if ORDER_KEYS.contains(&key) || key.starts_with("set_") || key.starts_with("set-") {
            return true;
        }
        if key == "cmnd" {
            // Tasmota answers with the setting where none is given.
            let mut words = lower.split_whitespace();
            let first = words.next().unwrap_or_default();
            let orders = DEVICE_ORDERS.iter().any(|one| first.starts_with(one));
            return !(first.starts_with("status") || (words.next().is_none() && !orders));
        }
        if ACTION_KEYS.contains(&key) {
            return !asks(&lower) && !lower.is_empty();
        }
        let api = self.last() == "api" || self.value("apikey").is_some() || self.value("output").is_some();
        match key {
            "mode" => api && DOWNLOAD_MODES.contains(&lower.as_str()),
            "name" => {
                let mut orders = ORDERS.iter().chain(&DOWNLOAD_ORDERS);
                self.value("mode").is_some() && api && orders.any(|one| *one == lower)
            }
            "param" => self.value("type") == Some("command") && !asks(&lower),
            "type" => matches!(lower.as_str(), "cmd" | "scenario" | "interaction") && self.has("core"),
            "request" => lower.contains("\"method\"") && !calls_ask(&lower),
            "q" | "query" | "sql" => !statement_reads(&lower, false),
            _ => false,
        }
    }

    /// Whether a request with this body only reads, with any method.
    pub fn answers(&self, body: Option<&str>) -> bool {
        let last = self.last();
        let has = |segments: &[&str]| self.segments.iter().any(|one| segments.contains(&one.as_str()));
        if ORDERS.contains(&last) {
            return false;
        }
        let holds = |words: &[&str]| {
            body.is_some_and(|body| words.iter().any(|word| body.to_lowercase().contains(word)))
        };
        // The same names make something of a document in JSON elsewhere.
        let is_document = body.is_some_and(|body| body.trim_start().starts_with(['{', '[', '@', '"', '$']));
        if has(&["_sql"]) && holds(&["delete", "@"]) {
            return false;
        }
        let has_one = |names: &str| names.split('|').any(|name| self.has(name));
        let answers = |(ends, parts): &(&str, &str)| {
            ends.split('|').any(|end| end == last) && parts.split_whitespace().all(has_one)
        };
        if has(&SEARCHES) || ANSWERING.iter().any(answers) {
            return true;
        }
        let body_lower = body.map(str::to_lowercase);
        let body_lower = body_lower.as_deref();
        let parameter = self.value("q").or(self.value("query")).map(str::to_owned);
        let in_body = body.and_then(|body| {
            body.split('&').find_map(|one| one.strip_prefix("q=").or(one.strip_prefix("query=")))
        });
        let statement = parameter.or(in_body.map(decoded));
        if METRIC_QUERIES.contains(&last) && has(&["v1", "prometheus", "logsql"]) && !has(&["admin"]) {
            return !is_document;
        }
        match last {
            // InfluxDB and ClickHouse.
            "query" if self.segments.len() == 1 => {
                statement.is_some_and(|text| statement_reads(&text.to_lowercase(), true))
            }
            "query" if has(&["v2"]) => body_lower.is_some_and(flux::only_reads),
            "query" if has(&["ds", "grafana"]) => !holds(&PANEL_CHANGES),
            "" => match (statement, body_lower) {
                (Some(text), None | Some("")) => statement_reads(&text.to_lowercase(), true),
                (None, Some(text)) => statement_reads(text, true),
                _ => false,
            },
            "graphql" => body_lower.is_some_and(|text| {
                !["mutation", "\\u"].iter().any(|one| text.contains(one)) && !text.starts_with('@')
            }),
            "template" => self.segments == ["api", "template"],
            "api_jsonrpc.php" | "jsonrpc" | "json-rpc" | "rpc" | "json" | "ubus" => {
                body_lower.is_some_and(calls_ask)
            }
            _ => {
                self.segments.first().is_some_and(|first| first == "rpc")
                    && last.contains('.')
                    && asks(last.rsplit('.').next().unwrap_or(last))
            }
        }
    }
}

/// Whether a name ends with a word that stops a machine: `SysReboot`.
fn is_glued_order(name: &str) -> bool {
    name.chars().all(char::is_alphanumeric)
        && STOPPING_ORDERS.iter().any(|one| one.len() > 5 && name.ends_with(one))
}

/// The class of what a word asks for.
fn class_of_word(word: &str) -> Option<Class> {
    if STOPPING_ORDERS.contains(&word) || is_glued_order(word) {
        return Some(Class::Power);
    }
    REMOVING_ORDERS.contains(&word).then_some(Class::Other)
}

/// The class of what one of the words in a value asks for: `core.reboot`, `Restart 1`.
fn class_of_words(value: &str) -> Option<Class> {
    class_of_word(value).or_else(|| value.split(|c: char| !c.is_alphanumeric()).find_map(class_of_word))
}

/// The class of what data asks for: `cmd=reboot`, `{"action": "restart"}`.
pub(crate) fn class_of_data(text: &str) -> Option<Class> {
    let plain: String =
        text.chars().filter(|c| !c.is_whitespace() && !matches!(c, '"' | '\'' | '\\')).collect();
    let pairs = plain.split(['&', ',', '{', '}', '[', ']', ';']).filter_map(|one| one.split_once(['=', ':']));
    let mut orders = pairs.filter(|(key, _)| ACTION_KEYS.contains(&key.to_lowercase().as_str()));
    orders.find_map(|(_, value)| class_of_words(&decoded(value).to_lowercase()))
}

/// Whether every method that a JSON-RPC body calls only asks.
fn calls_ask(body: &str) -> bool {
    let mut calls = body.split("\"method\"").skip(1).peekable();
    calls.peek().is_some()
        && calls.all(|rest| {
            let name = rest
                .trim_start()
                .strip_prefix(':')
                .map(str::trim_start)
                .and_then(|rest| rest.strip_prefix('"'));
            name.and_then(|rest| rest.split('"').next())
                .is_some_and(|name| asks(name.rsplit(['.', '/']).next().unwrap_or(name)))
        })
}

/// Whether a query reads. `strictly`: it must be SQL; otherwise words that are no SQL do, too.
fn statement_reads(text: &str, strictly: bool) -> bool {
    let text = text.trim_start_matches(['\'', '"', ' ']);
    let first = text.split(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
    if READING_STATEMENTS.contains(&first) && (strictly || text.contains(char::is_whitespace)) {
        return sql::reading(text, Functions::BuiltIn).is_some_and(|files| files.is_empty());
    }
    !(strictly || CHANGING_STATEMENTS.contains(&first) && text.contains(char::is_whitespace))
}

/// `%20` and `+` decoded.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let hex = |byte: Option<u8>| byte.and_then(|byte| char::from(byte).to_digit(16));
        match byte {
            b'+' => bytes.push(b' '),
            b'%' => {
                let mut ahead = rest.clone();
                if let (Some(high), Some(low)) = (hex(ahead.next()), hex(ahead.next())) {
                    bytes.push(u8::try_from(high * 16 + low).unwrap_or(b'?'));
                    rest = ahead;
                } else {
                    bytes.push(byte);
                }
            }
            _ => bytes.push(byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

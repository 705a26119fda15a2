//! Requests spelled at random, and what an engine that is written in Go understands.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::fake_engine::{Gated, Received, id_of};

/// Random numbers from a seed, so that a failure can be repeated.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from((self.0 >> 20) % most as u64).unwrap()
    }

    fn of<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len())]
    }

    /// In two of three cases the first one.
    fn mostly<'a>(&mut self, list: &[&'a str]) -> &'a str {
        if self.below(3) > 0 { list[0] } else { self.of(list) }
    }
}

/// Bytes for one connection, which may stay open if they have one request of a clear length.
pub struct Case {
    pub bytes: Vec<u8>,
    stays: bool,
}

/// What is put into an address.
const INSERTED: [&str; 26] = [
    "/", "//", "/.", "/..", "/../", "%2f", "%2F", "%2e%2e", "%5c", "%00", "%0a", "%0d%0a", "%20", ";x=1",
    "?", "&", "#", "+", "%", "%zz", "%ff", "%c3%a9", "\u{e9}", "\u{17f}", "%3f", "*",
];

/// A text with a few changes.
fn changed(random: &mut Random, text: &str) -> String {
    let mut text = text.to_owned();
    for _ in 0..[0, 0, 1, 1, 2, 3][random.below(6)] {
        let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        let at = places[random.below(places.len())];
        let c = text[at..].chars().next().unwrap();
        let end = at + c.len_utf8();
        let encoded: String = c.to_string().bytes().map(|byte| format!("%{byte:02x}")).collect();
        match random.below(8) {
            0 | 1 => text.replace_range(at..end, &encoded),
            2 => text.replace_range(at..end, &encoded.to_uppercase().replace('%', "%25")),
            3 if c.is_lowercase() => text.replace_range(at..end, &c.to_uppercase().to_string()),
            4 if places.len() > 1 => text.replace_range(at..end, ""),
            _ => text.insert_str(at, random.of(&INSERTED)),
        }
    }
    text
}

/// A request to act on one of these containers (names and IDs), marked with `X-Case`.
pub fn case(random: &mut Random, names: &[(String, String)]) -> Case {
    let (name, id) = &names[random.below(names.len())];
    let name = match random.below(5) {
        0 => id,
        1 => &id[..12 + random.below(4)],
        _ => name,
    };
    // What acts takes much longer.
    let verb = match random.below(6) {
        0 => random.of(&["restart", "restart", "stop", "kill", "start", "pause", "unpause", ""]),
        _ => random.of(&["resize", "json", "attach", "rename"]),
    };
    let prefix = random.mostly(&[
        "/v1.41",
        "",
        "/v1.24",
        "/v1.23",
        "/v1.41.0",
        "/V1.41",
        "/v4.3.1/libpod",
        "/libpod",
        "/v1",
    ]);
    let query = random.mostly(&[
        "",
        "?t=0",
        "?t=0&t=1",
        "?signal=WINCH",
        "?signal=HUP&signal=KILL",
        "?%74=0",
        "?force=f",
        "?force=no",
        "?force=0&force=1",
        "?Force=1",
        "?FORCE=true",
        "?x=1",
        "?name=other",
        "?stdin=f&stream=1&stdout=1",
    ]);
    let query = if verb.is_empty() { random.mostly(&["?force=1", "?force=true", query]) } else { query };
    let method = match verb {
        "" => random.mostly(&["DELETE", "POST", "delete"]),
        "json" => "GET",
        _ => random.mostly(&["POST", "post", "PUT", "DELETE", "GET", "PATCH", "P%4fST"]),
    };
    let path = format!("{prefix}/containers/{name}/{verb}");
    let path = if random.below(3) == 0 { path } else { changed(random, &path) };
    let target = match random.below(24) {
        0 => format!("http://localhost{path}{query}"),
        1 => format!("HTTP://x{path}"),
        2 => format!("x{path}"),
        _ => format!(
            "{path}{}",
            if random.below(6) == 0 { changed(random, &format!("{query}?")) } else { query.to_owned() }
        ),
    };
    let protocol = if random.below(4) > 0 {
        "HTTP/1.1"
    } else {
        random.of(&["HTTP/1.1", "HTTP/1.0", "HTTP/2.0", "HTTP/1.1 "])
    };
    framed(random, &format!("{method} {target} {protocol}\r\nHost: x\r\nX-Case: 1\r\n"))
}

/// A request with a body, whose length is stated somehow.
fn framed(random: &mut Random, head: &str) -> Case {
    let inner = "POST /containers/k0/restart HTTP/1.1\r\nHost: x\r\nX-Case: hidden\r\n\r\n";
    let length = inner.len();
    let (more, body, stays) = match random.below(40) {
        0 => ("Content-Length: 2\r\n".to_owned(), "{}".to_owned(), true),
        1 => ("Transfer-Encoding: chunked\r\n".to_owned(), "0\r\n\r\n".to_owned(), true),
        2 => (
            "Transfer-Encoding: chunked\r\n".to_owned(),
            "2;x=y\r\n{}\r\n0\r\nX-Case: 2\r\n\r\n".to_owned(),
            false,
        ),
        3 => (
            format!("Transfer-Encoding: chunked\r\nContent-Length: {}\r\n", length + 5),
            format!("0\r\n\r\n{inner}"),
            false,
        ),
        4 => (
            format!("Content-Length: {}\r\nTransfer-Encoding: chunked\r\n", length + 5),
            format!("0\r\n\r\n{inner}"),
            false,
        ),
        5 => (format!("Content-Length: 0\r\nContent-Length: {length}\r\n"), inner.to_owned(), false),
        6 => (
            format!("Content-Length: {length}\r\nX-A: b\r\n Transfer-Encoding: chunked\r\n"),
            inner.to_owned(),
            false,
        ),
        7 => {
            (format!("Content-Length: {length}\r\nTransfer-Encoding : chunked\r\n"), inner.to_owned(), false)
        }
        8 => {
            (format!("Content-Length: {length}\r\nTransfer-Encoding: identity\r\n"), inner.to_owned(), false)
        }
        9 => (format!("Content-Length: +{length}\r\n"), inner.to_owned(), false),
        10 => (format!("Content-Length: {length}\r\nExpect: 100-continue\r\n"), inner.to_owned(), false),
        11 => (
            "Connection: close, host, content-length\r\nContent-Length: 2\r\n".to_owned(),
            "{}".to_owned(),
            false,
        ),
        12 => ("Connection: Upgrade\r\nUpgrade: tcp\r\n".to_owned(), String::new(), false),
        13 => (
            "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAAA\r\n".to_owned(),
            String::new(),
            false,
        ),
        14 => ("Connection: Upgrade\r\nUpgrade: websocket\r\n".to_owned(), String::new(), false),
        15 => (
            "X-HTTP-Method-Override: DELETE\r\nX-Original-URL: /containers/k0/restart\r\n".to_owned(),
            String::new(),
            true,
        ),
        16 => (
            "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 7\r\n".to_owned(),
            "force=1".to_owned(),
            true,
        ),
        17 => ("Content-Length: 11\r\n".to_owned(), "{\"a\":1} {}x".to_owned(), true),
        // Several in one write.
        18 => (String::new(), format!("{head}\r\n{head}\r\n"), false),
        _ => (String::new(), String::new(), true),
    };
    let text = format!("{head}{more}\r\n{body}");
    let text = match random.below(60) {
        0 => text.replace("\r\n", "\n"),
        1 => format!("\r\n{text}"),
        2 => text.replacen(' ', "\t", 1),
        _ => return Case { stays: stays && text.contains(" HTTP/1.1\r\n"), bytes: text.into_bytes() },
    };
    Case { bytes: text.into_bytes(), stays: false }
}

/// A connection that is made anew when the gate has closed it.
pub struct Client<'a> {
    gated: &'a Gated,
    open: Option<BufReader<UnixStream>>,
}

impl<'a> Client<'a> {
    pub const fn new(gated: &'a Gated) -> Self {
        Self { gated, open: None }
    }

    /// The statuses of the answers, and how many of them are of the engine behind the gate.
    pub fn send(&mut self, case: &Case) -> (Vec<u16>, usize) {
        if !case.stays {
            let mut stream = self.gated.connect();
            let _ = stream.write_all(&case.bytes);
            let _ = stream.shutdown(Shutdown::Write);
            let mut answer = Vec::new();
            let _ = stream.read_to_end(&mut answer);
            let answer = String::from_utf8_lossy(&answer);
            let statuses =
                answer.split("HTTP/1.").skip(1).filter_map(|part| part.split(' ').nth(1)?.parse().ok());
            return (statuses.collect(), answer.matches("x-engine: ").count());
        }
        let mut reader = self.open.take().unwrap_or_else(|| BufReader::new(self.gated.connect()));
        reader.get_mut().write_all(&case.bytes).unwrap();
        let Some((status, head)) = answer(&mut reader) else { return (vec![], 0) };
        if !head.contains("connection: close") {
            self.open = Some(reader);
        }
        (vec![status], usize::from(head.contains("x-engine: ")))
    }
}

/// Reads an answer: its status and its head.
fn answer(reader: &mut BufReader<UnixStream>) -> Option<(u16, String)> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        reader.read_line(&mut head).ok().filter(|read| *read > 0)?;
    }
    let head = head.to_lowercase();
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let length =
        head.split_once("content-length: ").and_then(|(_, rest)| rest.split('\r').next()?.parse().ok());
    if head.contains("transfer-encoding: chunked") {
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            let length = usize::from_str_radix(line.trim(), 16).ok()?;
            reader.read_exact(&mut vec![0; length + 2]).ok()?;
            if length == 0 {
                break;
            }
        }
    } else {
        reader.read_exact(&mut vec![0; length.unwrap_or(0)]).ok()?;
    }
    Some((status, head))
}

/// What an engine does with a request that it has received: `POST restart` and the container. Go decodes the path, `mux` redirects
/// one that is not clean, and takes the parts before the last one as a name.
fn served(received: &Received) -> Option<(String, String)> {
    let (path, query) = received.target.split_once('?').unwrap_or((&received.target, ""));
    let path = percent_encoding::percent_decode_str(path).decode_utf8().unwrap().into_owned();
    assert!(
        path.starts_with('/')
            && !path.contains("//")
            && !path.split('/').any(|part| part == "." || part == ".."),
        "{path}"
    );
    let rest = path.strip_prefix("/v").and_then(|rest| {
        let (version, rest) = rest.split_once('/')?;
        version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.').then(|| format!("/{rest}"))
    });
    let path = rest.unwrap_or(path);
    let path = path.strip_prefix("/libpod").unwrap_or(&path);
    let named = path.strip_prefix("/containers/")?;
    let on = |key: &str| {
        let values = form_pairs(query).into_iter().find(|(name, _)| name.eq_ignore_ascii_case(key));
        values.is_some_and(|(_, value)| {
            !matches!(value.trim().to_lowercase().as_str(), "" | "0" | "no" | "false" | "none")
        })
    };
    if received.method == "DELETE" {
        return on("force").then(|| ("remove".to_owned(), named.to_owned()));
    }
    let (name, verb) = named.rsplit_once('/')?;
    let acts = match (received.method.as_str(), verb) {
        ("POST", "restart" | "stop" | "kill" | "start" | "pause" | "unpause" | "rename") => true,
        ("POST", "attach") => on("stdin"),
        _ => false,
    };
    acts.then(|| (verb.to_owned(), name.to_owned()))
}

fn form_pairs(query: &str) -> Vec<(String, String)> {
    url::form_urlencoded::parse(query.as_bytes()).into_owned().collect()
}

/// Sends this number of cases. Each request that acts must be recorded, and no refused one may reach the engine.
fn compared(first: usize, count: usize) {
    let names: Vec<String> = (0..200).map(|number| format!("k{number}")).collect();
    let (gated, engine) = Gated::before_many(&names, 300);
    let targets: Vec<(String, String)> = names.iter().map(|name| (name.clone(), id_of(name))).collect();
    let ids: BTreeMap<String, &str> = names.iter().map(|name| (id_of(name), name.as_str())).collect();
    let mut acted: BTreeMap<String, usize> = BTreeMap::new();
    let (mut reached, mut verbs, mut statuses) = (0, BTreeSet::new(), BTreeMap::<u16, usize>::new());
    for part in 0..count.div_ceil(10_000) {
        let batch = first / 10_000 + part;
        let most = (count - part * 10_000).min(10_000).div_ceil(4);
        let sent: Vec<(Vec<u16>, usize)> = std::thread::scope(|scope| {
            let run = |seed: usize| {
                let mut random = Random(0x5eed_0000_0001 + (seed * 0x9e37_79b9) as u64);
                let mut client = Client::new(&gated);
                (0..most).map(|_| client.send(&case(&mut random, &targets))).collect::<Vec<_>>()
            };
            let threads: Vec<_> = (0..4).map(|thread| scope.spawn(move || run(batch * 4 + thread))).collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        for status in sent.iter().flat_map(|(own, _)| own) {
            *statuses.entry(*status).or_default() += 1;
        }
        let received = std::mem::take(&mut *engine.received.lock().unwrap());
        // The gate's own questions are not marked.
        let of_cases = |own: &&Received| own.headers.iter().any(|(name, _)| name == "x-case");
        let forwarded: Vec<&Received> = received.iter().filter(of_cases).collect();
        assert!(received.iter().all(|own| own.method == "GET" || of_cases(&own)));
        assert_eq!(
            sent.iter().map(|(_, own)| own).sum::<usize>(),
            forwarded.len(),
            "answers and requests of the engine"
        );
        reached += forwarded.len();
        for own in forwarded {
            assert!(!own.headers.contains(&("x-case".to_owned(), "hidden".to_owned())), "{own:?}");
            let Some((verb, name)) = served(own) else { continue };
            let name = ids.get(&name).unwrap_or_else(|| panic!("not by its ID: {own:?}"));
            assert!(verb != "attach" && verb != "rename", "{own:?}");
            verbs.insert(verb);
            *acted.entry((*name).to_owned()).or_default() += 1;
        }
    }
    let recorded = |states: &str| -> BTreeMap<String, usize> {
        let rows = gated.sandbox.sql(&format!(
            "SELECT service || ' ' || count(*) FROM hook_actions WHERE state IN ({states}) GROUP BY service"
        ));
        let rows = rows.lines().map(|line| line.split_once(' ').unwrap());
        rows.map(|(name, count)| (name.to_owned(), count.parse().unwrap())).collect()
    };
    // An answer is sent before its end is recorded. One whose connection broke off counts, because it may have run.
    let broken = statuses.get(&502).copied().unwrap_or(0);
    let waits = Instant::now();
    while recorded("'reserved'").values().sum::<usize>() > broken && waits.elapsed() < Duration::from_secs(10)
    {
        std::thread::sleep(Duration::from_millis(50));
    }
    let open = recorded("'reserved'");
    assert!(open.values().sum::<usize>() <= broken, "{open:?}");
    let ran = recorded("'done', 'failed'");
    for name in &names {
        let of = |counts: &BTreeMap<String, usize>| counts.get(name).copied().unwrap_or(0);
        let (acted, ran, open) = (of(&acted), of(&ran), of(&open));
        assert!(
            (ran..=ran + open).contains(&acted) && ran + open <= 300,
            "{name}: {acted}, {ran} and {open}"
        );
    }
    let total: usize = acted.values().sum();
    println!("{count} cases: {reached} reached the engine, {total} acted ({verbs:?}); {statuses:?}");
    assert!(reached > count / 20 && total > count / 200 && verbs.len() >= 5, "{reached} {total} {verbs:?}");
}

#[test]
fn no_spelling_is_judged_as_another_request_than_the_engine_serves() {
    compared(0, 2_000);
}

#[test]
#[ignore = "takes minutes: OPSCTL_TEST_SPELLINGS cases, by default a million"]
fn a_million_spellings_are_judged_as_the_engine_serves_them() {
    let count = std::env::var("OPSCTL_TEST_SPELLINGS").map_or(1_000_000, |count| count.parse().unwrap());
    // A new ledger for each part: when budgets are used up, less is to be seen.
    for first in (0..count).step_by(100_000) {
        compared(first, (count - first).min(100_000));
    }
}

/// A key as it is, or in a spelling that Go takes for it.
fn key(random: &mut Random, key: &str) -> String {
    match random.below(8) {
        0 => key.to_lowercase(),
        1 => key.to_uppercase(),
        2 => key.replacen('s', "\\u017f", 1).replacen('k', "\\u212a", 1),
        3 => key.chars().map(|c| format!("\\u{:04x}", u32::from(c))).collect(),
        _ => key.to_owned(),
    }
}

/// The body of a creation of a container of `base:1` with rights of the folder `host`, spelled at random.
pub fn creation(random: &mut Random, host: &str) -> String {
    let rights = [
        ("Privileged", "true".to_owned()),
        ("Binds", format!("[\"{host}:/h\"]")),
        ("Binds", format!("[\"data:/h:O,upperdir={host},workdir=/tmp\"]")),
        ("Mounts", format!("[{{\"Type\":\"bind\",\"Source\":\"{host}\",\"Target\":\"/h\"}}]")),
        (
            "Mounts",
            format!(
                "[{{\"Type=volume,a\":\"1\",\"Type\":\"bind\",\"Source\":\"{host}\",\"Target\":\"/h\"}}]"
            ),
        ),
        (
            "Mounts",
            format!(
                "[{{\"Type\":\"volume\",\"Source\":\"x,volume-opt=type=none,volume-opt=o=bind,volume-opt=device={host}\",\"Target\":\"/h\"}}]"
            ),
        ),
        (
            "Mounts",
            format!("[{{\"Type\":\"volume\",\"type\":\"bind\",\"Source\":\"{host}\",\"Target\":\"/h\"}}]"),
        ),
        ("MaskedPaths", "[]".to_owned()),
        ("ReadonlyPaths", "[]".to_owned()),
        ("PidMode", "\"host\"".to_owned()),
        ("IpcMode", "\"host\"".to_owned()),
        ("UTSMode", "\"host\"".to_owned()),
        ("CgroupParent", "\"/\"".to_owned()),
        ("NetworkMode", "\"host\"".to_owned()),
        ("CapAdd", "[\"SYS_ADMIN\"]".to_owned()),
        ("CapAdd", "\"SYS_ADMIN\"".to_owned()),
        ("SecurityOpt", "[\"seccomp=unconfined\"]".to_owned()),
        (
            "Devices",
            "[{\"PathOnHost\":\"/dev/null\",\"PathInContainer\":\"/h\",\"CgroupPermissions\":\"r\"}]"
                .to_owned(),
        ),
        ("Memory", "1e8".to_owned()),
        ("VolumesFrom", "[\"jellyfin\"]".to_owned()),
    ];
    let (name, value) = &rights[random.below(rights.len())];
    let right = format!("\"{}\":{value}", key(random, name));
    let config = key(random, "HostConfig");
    let other = random.of(&[
        "",
        "",
        "\"Labels\":{},",
        "\"Env\":[\"A=b\"],",
        "\"Volumes\":{\"/data\":{}},",
        "\"X\":{},",
        "\"hostconfig\":{},",
        "\"HostConfig\":null,",
    ]);
    let volumes = format!("\"Volumes\":{{\"{host}:/h\":{{}}}},");
    let inner = match random.below(10) {
        0 => format!("{{\"{name}\":null,{right}}}"),
        1 => format!("{{{right},\"{name}\":null}}"),
        2 => format!("{{\"NetworkMode\":\"none\"}},\"{config}\":{{{right}}}"),
        3 => format!("{{{right}}},\"HostConfig\":{{\"NetworkMode\":\"none\"}}"),
        4 => format!("{{\"HostConfig\":{{{right}}},{right}}}"),
        _ => format!("{{{right},\"AutoRemove\":false}}"),
    };
    let other = if random.below(20) == 0 { &volumes } else { other };
    let body = format!("{{\"Image\":\"base:1\",\"Cmd\":[\"ls\"],{other}\"{config}\":{inner}}}");
    match random.below(12) {
        0 => format!("\u{feff}{body}"),
        1 => format!("{body}{body}"),
        2 => format!("{body} null"),
        3 => format!("[{body}]"),
        _ => body,
    }
}

/// Whether the description of a container has a right of the host.
pub fn has_rights(json: &Value, host: &str) -> bool {
    let config = json.pointer("/HostConfig").unwrap();
    let is = |key: &str| config.get(key).is_some_and(|value| value.as_str() == Some("host"));
    let lists = ["CapAdd", "SecurityOpt", "Devices", "VolumesFrom"];
    json.to_string().contains(host)
        || config["Privileged"] == true
        || ["PidMode", "IpcMode", "UTSMode", "NetworkMode"].into_iter().any(is)
        || lists.into_iter().any(|key| config[key].as_array().is_some_and(|list| !list.is_empty()))
        || ["MaskedPaths", "ReadonlyPaths"]
            .into_iter()
            .any(|key| config[key].as_array().is_some_and(Vec::is_empty))
        || config["CgroupParent"] == "/"
}

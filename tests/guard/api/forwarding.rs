//! What is forwarded, and that nothing of it is changed or delayed.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use super::proxy::{KEY, Proxy, Response, head, request};
use super::upstream::{STREAM, Upstream, chunk, message, whole};

/// The parts of a body, cut within words, lines and characters.
fn odd_parts() -> Vec<Vec<u8>> {
    let text = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"model\":\"claude-opus-5\",\
         \"usage\":{\"input_tokens\":3,\"output_tokens\":1}}}\n\nevent: x\r\ndata: ünïcödé 🦀\r\n\r\n: comment\n\
         data: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":7}}\n\n\u{0}\u{1}";
    let mut parts: Vec<Vec<u8>> = vec![];
    for (at, byte) in text.bytes().enumerate() {
        match parts.last_mut() {
            // 1, 2, 3, … bytes.
            Some(part) if !at.is_multiple_of(parts_length(part.len())) => part.push(byte),
            _ => parts.push(vec![byte]),
        }
    }
    parts.push((0..=255).collect());
    parts.push(vec![b'x'; 100_000]);
    parts
}

const fn parts_length(length: usize) -> usize {
    length % 7 + 1
}

#[test]
fn a_response_is_streamed_unchanged_and_at_once() {
    let parts = odd_parts();
    assert!(parts.len() > 50);
    let (go_on, wait) = mpsc::channel::<()>();
    let (sent, wait) = (parts.clone(), Mutex::new(wait));
    let upstream = Upstream::start(move |_, stream| {
        stream.write_all(STREAM).unwrap();
        let wait = wait.lock().unwrap();
        for part in &sent {
            stream.write_all(&chunk(part)).unwrap();
            // The next part follows only when the client has this one.
            wait.recv().unwrap();
        }
        stream.write_all(b"0\r\n\r\n").is_ok()
    });
    let proxy = Proxy::start(&upstream.url(), "{}", &[]);
    let mut stream = proxy.connect();
    stream.write_all(request("POST /v1/messages?beta=true", &[], "{}").as_bytes()).unwrap();
    let mut reader = BufReader::new(stream);
    assert_eq!(head(&mut reader).0, 200);
    for part in &parts {
        let mut received = vec![];
        while received.len() < part.len() {
            let mut size = String::new();
            reader.read_line(&mut size).unwrap();
            let mut bytes = vec![0; usize::from_str_radix(size.trim(), 16).unwrap() + 2];
            reader.read_exact(&mut bytes).unwrap();
            received.extend_from_slice(&bytes[..bytes.len() - 2]);
        }
        assert_eq!(&received, part);
        go_on.send(()).unwrap();
    }
    let rows = proxy.wait_for(1, "SELECT * FROM api_requests WHERE estimated = 0");
    assert_eq!((&rows[0]["input_tokens"], &rows[0]["output_tokens"]), (&3.into(), &7.into()));
}

#[test]
fn a_request_is_forwarded_before_it_ends() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let proxy = Proxy::start(&url, "{}", &[]);
    let mut client = proxy.connect();
    client.write_all(b"POST /v1/messages HTTP/1.1\r\nhost: guard\r\ncontent-length: 8\r\n\r\nabcd").unwrap();
    let (mut upstream, _) = listener.accept().unwrap();
    upstream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let mut received = Vec::new();
    while !received.ends_with(b"\r\n\r\nabcd") {
        let mut byte = [0];
        upstream.read_exact(&mut byte).unwrap();
        received.push(byte[0]);
    }
    client.write_all(b"efgh").unwrap();
    let mut rest = [0; 4];
    upstream.read_exact(&mut rest).unwrap();
    assert_eq!(&rest, b"efgh");
    upstream.write_all(&whole("200 OK", "content-type: application/json\r\n", "{}")).unwrap();
    assert_eq!(head(&mut BufReader::new(client)).0, 200);
}

#[test]
fn the_key_is_added_and_the_clients_credentials_are_not_sent() {
    let upstream = Upstream::start(|_, stream| {
        let headers = "content-type: application/json\r\nset-cookie: a=b\r\nrequest-id: req_1\r\nkeep-alive: timeout=5\r\n";
        stream.write_all(&whole("200 OK", headers, "{}")).is_ok()
    });
    let proxy = Proxy::start(&upstream.url(), "{}", &[]);
    let headers = [
        ("x-api-key", "of-the-agent"),
        ("authorization", "Bearer of-the-agent"),
        ("cookie", "of-the-agent"),
        ("proxy-authorization", "of-the-agent"),
        ("accept-encoding", "gzip"),
        ("anthropic-version", "2023-06-01"),
        ("x-stainless-lang", "js"),
    ];
    let response = proxy.ask("POST /v1/messages?beta=true", &headers, "{\"model\":\"m\"}");
    assert_eq!((response.status, response.text().as_str()), (200, "{}"));
    assert_eq!(response.header("request-id"), Some("req_1"));
    assert_eq!((response.header("set-cookie"), response.header("keep-alive")), (None, None));
    let seen = &upstream.seen()[0];
    assert_eq!(seen.line, "POST /v1/messages?beta=true HTTP/1.1");
    assert_eq!(seen.body, b"{\"model\":\"m\"}");
    assert_eq!(seen.header("x-api-key"), Some(KEY));
    assert_eq!(seen.header("host"), Some(format!("127.0.0.1:{}", upstream.port).as_str()));
    assert_eq!((seen.header("accept-encoding"), seen.header("connection")), (Some("identity"), None));
    assert_eq!(
        (seen.header("anthropic-version"), seen.header("x-stainless-lang")),
        (Some("2023-06-01"), Some("js"))
    );
    assert!(!format!("{seen:?}").contains("of-the-agent"), "{seen:?}");
    // The check whether the API can be reached needs no key.
    assert_eq!(proxy.ask("HEAD /api/hello", &[], "").status, 200);
    assert!(!format!("{:?}", upstream.seen()[1]).contains(KEY));
}

#[test]
fn other_requests_are_refused_and_do_not_reach_the_api() {
    let upstream = Upstream::start(|_, stream| stream.write_all(&whole("200 OK", "", "")).is_ok());
    let proxy = Proxy::start(&upstream.url(), "{}", &[]);
    for line in [
        "POST /v1/files",
        "POST /v1/messages/batches",
        "GET /v1/messages",
        "POST /v1/messages/../files",
        "POST /v1/messages/count_tokens/",
        "GET /v1/organizations/api_keys",
        "DELETE /v1/models",
    ] {
        let response = proxy.ask(line, &[], "{}");
        let (kind, message) = response.error();
        assert_eq!((response.status, kind.as_str()), (404, "not_found_error"), "{line}");
        assert_eq!(message, format!("opsctl: {line} is not forwarded to the API"));
        assert_eq!(response.header("x-should-retry"), Some("false"));
    }
    let length = format!("content-length: {}", 33 * 1024 * 1024);
    let mut stream = proxy.connect();
    stream
        .write_all(
            format!("POST /v1/messages HTTP/1.1\r\nhost: guard\r\n{length}\r\nconnection: close\r\n\r\n")
                .as_bytes(),
        )
        .unwrap();
    let response = Response::read(&mut BufReader::new(stream));
    assert_eq!((response.status, response.error().0.as_str()), (413, "request_too_large"));
    assert_eq!(upstream.seen().len(), 0);
}

#[test]
fn a_body_without_a_length_ends_at_the_limit() {
    let upstream = Upstream::start(|_, stream| stream.write_all(&whole("200 OK", "", "")).is_ok());
    let proxy = Proxy::start(&upstream.url(), "{}", &[]);
    let mut stream = proxy.connect();
    stream
        .write_all(b"POST /v1/messages HTTP/1.1\r\nhost: guard\r\ntransfer-encoding: chunked\r\n\r\n")
        .unwrap();
    let part = chunk(&vec![b'x'; 1024 * 1024]);
    for _ in 0..33 {
        if stream.write_all(&part).is_err() {
            break;
        }
    }
    let mut answer = String::new();
    let _ = BufReader::new(stream).read_line(&mut answer);
    assert_eq!(answer, "HTTP/1.1 413 Payload Too Large\r\n");
    assert_eq!(upstream.seen().len(), 0);
    assert!(proxy.peak_memory() < 16 * 1024, "{} KiB", proxy.peak_memory());
}

#[test]
fn errors_of_the_api_are_passed_on_unchanged_and_cost_nothing() {
    const BODY: &str =
        "{\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\",\"message\":\"slow down\"}}";
    let upstream = Upstream::start(|_, stream| {
        let headers = "content-type: application/json\r\nretry-after: 7\r\n";
        stream.write_all(&whole("429 Too Many Requests", headers, BODY)).is_ok()
    });
    let proxy = Proxy::start(&upstream.url(), "{spend: {day: 1}}", &[]);
    let response = proxy.message("a");
    assert_eq!(
        (response.status, response.text().as_str(), response.header("retry-after")),
        (429, BODY, Some("7"))
    );
    drop(proxy.message("b"));
    // The record of a request ends after its answer.
    proxy.wait_for(0, "SELECT * FROM api_requests");
}

#[test]
fn what_prevents_forwarding_is_said_without_the_key() {
    let unused = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let proxy = Proxy::start(&format!("http://{unused}"), "{}", &[]);
    let response = proxy.message("a");
    let (kind, message) = response.error();
    assert_eq!((response.status, kind.as_str()), (502, "api_error"));
    assert!(message.starts_with("opsctl: the API cannot be reached: 127.0.0.1:"), "{message}");
    assert_eq!(response.header("x-should-retry"), None);
    std::fs::remove_file(proxy.folder.path().join("key")).unwrap();
    let response = proxy.message("a");
    let (kind, message) = response.error();
    assert_eq!((response.status, kind.as_str()), (500, "api_error"));
    assert!(message.contains("correct CLAUDEOPS_API_KEY_FILE"), "{message}");
    assert_eq!(response.header("x-should-retry"), Some("false"));
}

#[test]
fn idle_connections_to_the_api_are_used_again_and_closed_ones_are_not() {
    let upstream = Upstream::start(message("claude-haiku-5-5", 1, 1));
    let proxy = Proxy::start(&upstream.url(), "{}", &[]);
    for _ in 0..5 {
        assert_eq!(proxy.message("a").status, 200);
    }
    assert_eq!(upstream.connections(), 1);
    // Closes each connection after its response, without `Connection: close`.
    let closing = Upstream::start(|seen, stream| {
        message("claude-haiku-5-5", 1, 1)(seen, stream);
        false
    });
    let proxy = Proxy::start(&closing.url(), "{}", &[]);
    for _ in 0..5 {
        assert_eq!(proxy.message("a").status, 200);
        // Until the end of the connection has arrived.
        thread::sleep(Duration::from_millis(200));
    }
    assert_eq!(closing.connections(), 5);
}

/// A proxy that opens connections to one address, for any target, and keeps what it was asked.
fn egress(target: u16) -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let asked = Arc::new(Mutex::new(vec![]));
    let kept = Arc::clone(&asked);
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let mut reader = BufReader::new(client.try_clone().unwrap());
            let mut request = String::new();
            while !request.ends_with("\r\n\r\n") && reader.read_line(&mut request).unwrap() > 0 {}
            kept.lock().unwrap().push(request);
            let upstream = TcpStream::connect(("127.0.0.1", target)).unwrap();
            (&client).write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").unwrap();
            let (mut back, mut forth) = (upstream.try_clone().unwrap(), upstream);
            let mut to_client = client;
            thread::spawn(move || std::io::copy(&mut reader, &mut forth));
            thread::spawn(move || std::io::copy(&mut back, &mut to_client));
        }
    });
    (port, asked)
}

#[test]
fn https_needs_a_trusted_certificate_and_goes_through_the_egress_proxy() {
    let issued = rcgen::generate_simple_self_signed(["api.example.org".to_owned()]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let trusted = folder.path().join("ca.pem");
    std::fs::write(&trusted, issued.cert.pem()).unwrap();
    let key = rustls::pki_types::PrivateKeyDer::try_from(issued.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![issued.cert.der().clone()], key)
        .unwrap();
    let (config, listener) = (Arc::new(config), TcpListener::bind("127.0.0.1:0").unwrap());
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let connection = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut reader = BufReader::new(rustls::StreamOwned::new(connection, stream));
            let Some(seen) = super::upstream::read(&mut reader) else { continue };
            assert_eq!(seen.header("x-api-key"), Some(KEY));
            message("claude-haiku-5-5", 1, 1)(&seen, reader.get_mut());
            reader.get_mut().conn.send_close_notify();
            let _ = reader.get_mut().flush();
        }
    });
    let (egress, asked) = egress(port);
    let through = format!("http://ann:secret@127.0.0.1:{egress}");
    let certificates = trusted.to_str().unwrap();
    let variables = [("HTTPS_PROXY", through.as_str()), ("SSL_CERT_FILE", certificates)];
    let proxy = Proxy::start("https://api.example.org", "{}", &variables);
    let response = proxy.message("a");
    assert_eq!(response.status, 200, "{response:?}");
    let connect = asked.lock().unwrap().join("");
    assert!(
        connect.starts_with("CONNECT api.example.org:443 HTTP/1.1\r\nHost: api.example.org:443\r\n"),
        "{connect}"
    );
    assert!(connect.contains("\r\nProxy-Authorization: Basic YW5uOnNlY3JldA==\r\n"), "{connect}");
    // Another name, and an authority that is not trusted.
    for (url, certificates) in
        [("https://other.example.org", certificates), ("https://api.example.org", "/dev/null")]
    {
        let variables = [("HTTPS_PROXY", through.as_str()), ("SSL_CERT_FILE", certificates)];
        let proxy = Proxy::start(url, "{}", &variables);
        let (kind, message) = proxy.message("a").error();
        assert_eq!(kind, "api_error");
        assert!(message.starts_with("opsctl: the API cannot be reached: TLS: "), "{message}");
        assert!(!message.contains("secret"), "{message}");
    }
}

//! The spending limits: warning, refusal, kills, broken ledgers and load.

use std::io::{BufReader, Read, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use super::proxy::{Proxy, Response, head, request};
use super::upstream::{STREAM, Upstream, chunk, message, message_start};

/// A model whose requests of 1,000,000 input tokens cost a dollar.
const PRICE: &str = "prices: {test-model: {input: 1, output: 1000000}}";

fn dollar_each() -> Upstream {
    Upstream::start(message("test-model", 1_000_000, 0))
}

fn events(proxy: &Proxy) -> Vec<String> {
    let rows = proxy.rows("SELECT level || ' ' || message AS text FROM events ORDER BY id");
    rows.iter().map(|row| row["text"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn warns_at_80_per_cent_and_refuses_at_100() {
    let upstream = dollar_each();
    let mut proxy =
        Proxy::start(&upstream.url(), &format!("{{spend: {{day: 10, session: 5, {PRICE}}}}}"), &[]);
    for _ in 0..3 {
        assert_eq!(proxy.message("a").status, 200);
    }
    proxy.wait_for(3, "SELECT * FROM api_requests");
    assert_eq!(events(&proxy), [""; 0]);
    assert_eq!(proxy.message("a").status, 200);
    proxy.wait_for(1, "SELECT * FROM events");
    assert_eq!(
        events(&proxy),
        ["warning The spending limit of a session is nearly reached: $4.00 of $5.00 in this session"]
    );
    assert_eq!(proxy.message("a").status, 200);
    for _ in 0..3 {
        let refused = proxy.message("a");
        let (kind, text) = refused.error();
        assert_eq!((refused.status, kind.as_str()), (402, "billing_error"));
        assert_eq!(
            text,
            "opsctl: the spending limit is reached: $5.00 of $5.00 in this session (policy.spend.session). End this session; \
             an operator can raise the limit."
        );
        assert_eq!(refused.header("x-should-retry"), Some("false"));
    }
    assert_eq!(upstream.seen().len(), 5);
    // Requests that cost nothing are not limited.
    assert_eq!(
        proxy.ask("POST /v1/messages/count_tokens", &[("x-claude-code-session-id", "a")], "{}").status,
        200
    );
    // Another session has a budget of its own, up to the limit of the day; so has a guard that was killed.
    proxy.kill_and_start();
    assert_eq!(proxy.message("a").status, 402);
    for session in ["b", "b", "b", "c", "c"] {
        assert_eq!(proxy.message(session).status, 200);
    }
    let (_, text) = proxy.message("d").error();
    assert!(text.starts_with("opsctl: the spending limit is reached: $10.00 of $10.00 in the last 24 h (policy.spend.day). Requests are allowed again from 20"), "{text}");
    assert_eq!(
        events(&proxy)[1..],
        [
            "critical The spending limit of a session is reached: $5.00 of $5.00 in this session",
            "warning The daily spending limit is nearly reached: $8.00 of $10.00 in the last 24 h",
            "critical The daily spending limit is reached: $10.00 of $10.00 in the last 24 h",
        ]
    );
    let notices = proxy.rows("SELECT key FROM notices ORDER BY id");
    let keys: Vec<&str> = notices.iter().map(|row| row["key"].as_str().unwrap()).collect();
    assert_eq!(
        keys,
        ["spend/near/session/a", "spend/reached/session/a", "spend/near/day", "spend/reached/day"]
    );
}

#[test]
fn spending_of_the_day_before_no_longer_counts() {
    let upstream = dollar_each();
    let proxy = Proxy::start(&upstream.url(), &format!("{{spend: {{day: 1, {PRICE}}}}}"), &[]);
    assert_eq!((proxy.message("a").status, proxy.message("a").status), (200, 402));
    let age = "UPDATE api_requests SET at = strftime('%Y-%m-%dT%H:%M:%SZ', 'now', '-24 hours', '-1 seconds')";
    let aged = std::process::Command::new("sqlite3").arg(proxy.ledger()).arg(age).status().unwrap();
    assert!(aged.success());
    assert_eq!(proxy.message("a").status, 200);
}

#[test]
fn a_guard_that_is_killed_in_the_middle_of_a_response_has_counted_it() {
    let (go_on, wait) = mpsc::channel::<()>();
    let wait = Mutex::new(wait);
    let upstream = Upstream::start(move |_, stream| {
        stream.write_all(STREAM).unwrap();
        stream.write_all(&chunk(message_start("test-model", 1_000_000).as_bytes())).unwrap();
        for _ in 0..20 {
            let text = "x".repeat(300);
            let delta =
                format!("data: {{\"type\":\"content_block_delta\",\"delta\":{{\"text\":\"{text}\"}}}}\n\n");
            if stream.write_all(&chunk(delta.as_bytes())).is_err() {
                break;
            }
        }
        let _ = wait.lock().unwrap().recv_timeout(Duration::from_secs(20));
        false
    });
    let mut proxy = Proxy::start(&upstream.url(), &format!("{{spend: {{session: 1, {PRICE}}}}}"), &[]);
    let mut stream = proxy.connect();
    stream
        .write_all(request("POST /v1/messages", &[("x-claude-code-session-id", "a")], "{}").as_bytes())
        .unwrap();
    let mut reader = BufReader::new(stream);
    head(&mut reader);
    // Of 2,000 estimated tokens, the last 500 may not be recorded yet.
    proxy.wait_for(1, "SELECT * FROM api_requests WHERE estimated AND output_tokens >= 1500");
    proxy.kill_and_start();
    drop(reader);
    let _ = go_on.send(());
    assert_eq!(proxy.message("a").status, 402);
    assert_eq!(proxy.rows("SELECT * FROM api_requests").len(), 1);
}

#[test]
fn a_response_that_the_client_does_not_wait_for_is_counted() {
    let ended = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&ended);
    let upstream = Upstream::start(move |_, stream| {
        stream.write_all(STREAM).unwrap();
        stream.write_all(&chunk(message_start("claude-opus-5", 10).as_bytes())).unwrap();
        let delta = format!(
            "data: {{\"type\":\"content_block_delta\",\"delta\":{{\"text\":\"{}\"}}}}\n\n",
            "x".repeat(3000)
        );
        while stream.write_all(&chunk(delta.as_bytes())).is_ok() {
            thread::sleep(Duration::from_millis(5));
        }
        count.fetch_add(1, Ordering::SeqCst);
        false
    });
    let proxy = Proxy::start(&upstream.url(), "{}", &[]);
    let mut stream = proxy.connect();
    stream.write_all(request("POST /v1/messages", &[], "{}").as_bytes()).unwrap();
    let mut beginning = vec![0; 40_000];
    stream.read_exact(&mut beginning).unwrap();
    drop(stream);
    let rows = proxy.wait_for(1, "SELECT * FROM api_requests WHERE estimated AND output_tokens > 9000");
    assert_eq!((&rows[0]["input_tokens"], &rows[0]["model"]), (&10.into(), &"claude-opus-5".into()));
    let deadline = Instant::now() + Duration::from_secs(10);
    while ended.load(Ordering::SeqCst) == 0 {
        assert!(Instant::now() < deadline, "the connection to the API stays open");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn without_a_ledger_on_failure_applies_and_nothing_is_lost() {
    for (on_failure, status) in [("open", 200), ("closed", 502)] {
        let upstream = dollar_each();
        let policy = format!("{{on_failure: {on_failure}, spend: {{session: 2, {PRICE}}}}}");
        let proxy = Proxy::start(&upstream.url(), &policy, &[]);
        assert_eq!(proxy.message("a").status, 200);
        proxy.wait_for(1, "SELECT * FROM api_requests");
        let aside = proxy.folder.path().join("aside");
        std::fs::rename(proxy.ledger(), &aside).unwrap();
        std::fs::create_dir(proxy.ledger()).unwrap();
        let answer = proxy.message("a");
        assert_eq!(answer.status, status, "{on_failure}");
        if status == 502 {
            assert!(answer.error().1.contains("policy.on_failure is closed"), "{answer:?}");
        }
        let failures =
            std::fs::read_to_string(proxy.folder.path().join("state/guard-failures.jsonl")).unwrap();
        assert!(failures.contains("The spending limit cannot be enforced"), "{failures}");
        std::fs::remove_dir(proxy.ledger()).unwrap();
        std::fs::rename(&aside, proxy.ledger()).unwrap();
        // What was forwarded meanwhile counts.
        let expected = if status == 200 { 402 } else { 200 };
        assert_eq!(proxy.message("a").status, expected, "{on_failure}");
        proxy.wait_for(2, "SELECT * FROM api_requests");
    }
}

#[test]
fn a_mistake_in_the_policy_does_not_lift_the_limits() {
    let upstream = dollar_each();
    let proxy = Proxy::start(&upstream.url(), &format!("{{spend: {{session: 1, {PRICE}}}}}"), &[]);
    assert_eq!((proxy.message("a").status, proxy.message("a").status), (200, 402));
    std::fs::write(proxy.folder.path().join("hosts.yaml"), "policy: {spend: {session: lots}}\n").unwrap();
    // The policy is read again every ten seconds.
    thread::sleep(Duration::from_secs(11));
    assert_eq!(proxy.message("a").status, 402);
    let refused = std::process::Command::new(env!("CARGO_BIN_EXE_opsctl"))
        .args(["serve", "--api", "127.0.0.1:0"])
        .current_dir(proxy.folder.path())
        .env("ANTHROPIC_API_KEY", "k")
        .env("CLAUDEOPS_HOSTS", "hosts.yaml")
        .output()
        .unwrap();
    assert_eq!(refused.status.code(), Some(1));
    let error = String::from_utf8(refused.stderr).unwrap();
    assert!(error.contains("`lots` is not an amount in US dollars"), "{error}");
}

#[test]
fn a_model_without_a_price_is_counted_at_the_highest_price_and_reported_once() {
    let upstream = Upstream::start(message("claude-next-9", 1000, 1000));
    let proxy = Proxy::start(&upstream.url(), "{}", &[]);
    for _ in 0..3 {
        assert_eq!(proxy.message("a").status, 200);
    }
    let rows = proxy.wait_for(3, "SELECT * FROM api_requests");
    // 30 and 150 dollars per million tokens.
    assert_eq!(rows[0]["cost_micros"], 180_000);
    assert_eq!(
        events(&proxy),
        [
            "warning No price is known for the model claude-next-9: its requests are counted at the highest price"
        ]
    );
}

#[test]
fn two_hundred_requests_at_once_exceed_the_limit_by_those_under_way_at_most() {
    let upstream = dollar_each();
    let proxy = Proxy::start(&upstream.url(), &format!("{{spend: {{day: 50, {PRICE}}}}}"), &[]);
    let begin = Barrier::new(200);
    let statuses: Vec<u16> = thread::scope(|scope| {
        let (proxy, begin) = (&proxy, &begin);
        let ask = move |_| {
            scope.spawn(move || {
                begin.wait();
                proxy.message("a").status
            })
        };
        let asking: Vec<_> = (0..200).map(ask).collect();
        asking.into_iter().map(|asked| asked.join().unwrap()).collect()
    });
    let allowed = statuses.iter().filter(|status| **status == 200).count();
    assert_eq!(allowed + statuses.iter().filter(|status| **status == 402).count(), 200, "{statuses:?}");
    assert!((50..=50 + 32).contains(&allowed), "{allowed}");
    assert_eq!(upstream.seen().len(), allowed);
    proxy.wait_for(allowed, "SELECT * FROM api_requests");
    println!("of 200 at once {allowed} were forwarded, limit 50");
}

#[test]
fn many_requests_need_constant_memory() {
    let upstream = Upstream::start(message("claude-haiku-5-5", 10, 10));
    let proxy = Proxy::start(&upstream.url(), "{spend: {day: 1000}}", &[]);
    let started = Instant::now();
    let peaks: Vec<u64> = (0..4)
        .map(|_| {
            thread::scope(|scope| {
                for thread in 0..8 {
                    let proxy = &proxy;
                    scope.spawn(move || {
                        for number in 0..125 {
                            let session = format!("s{thread}-{}", number % 10);
                            assert_eq!(proxy.message(&session).status, 200);
                        }
                    });
                }
            });
            proxy.peak_memory()
        })
        .collect();
    println!("4000 requests in {:?}, peaks after each thousand in KiB: {peaks:?}", started.elapsed());
    // The first thousand loads code and fills buffers.
    assert!(peaks[3] < peaks[0] + 4 * 1024 && peaks[3] < 48 * 1024, "{peaks:?}");
    // The last ones are written after their responses.
    let sums = || {
        let sums = proxy.rows("SELECT count(*) AS requests, sum(output_tokens) AS tokens FROM api_requests");
        (sums[0]["requests"].clone(), sums[0]["tokens"].clone())
    };
    let ended = Instant::now();
    while sums() != (4000.into(), 40_000.into()) && ended.elapsed() < Duration::from_secs(10) {
        thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(sums(), (4000.into(), 40_000.into()));
}

#[test]
fn many_connections_without_a_request_do_not_use_up_the_file_descriptors() {
    let upstream = dollar_each();
    let proxy = Proxy::start(&upstream.url(), "{}", &[]);
    assert_eq!(proxy.message("a").status, 200);
    let idle: Vec<_> = (0..350).map(|_| proxy.connect()).collect();
    thread::sleep(Duration::from_millis(500));
    let open = std::fs::read_dir(format!("/proc/{}/fd", proxy.child.id())).unwrap().count();
    assert!((200..=300).contains(&open), "{open}");
    // They have all places of their peer, and none of another one.
    assert_eq!(proxy.message_from("127.0.0.2").status, 200);
    drop(idle);
    thread::sleep(Duration::from_millis(500));
    assert_eq!(proxy.message("a").status, 200);
}

#[test]
fn a_client_that_hangs_up_before_the_response_has_paid_for_its_input() {
    let upstream = Upstream::start(|_, _| {
        thread::sleep(Duration::from_secs(3));
        true
    });
    let mut proxy = Proxy::start(&upstream.url(), &format!("{{spend: {{day: 1, {PRICE}}}}}"), &[]);
    let body = format!("{{\"model\":\"test-model\",\"messages\":\"{}\"}}", "x".repeat(3_600_000));
    let mut stream = proxy.connect();
    stream
        .write_all(request("POST /v1/messages", &[("x-claude-code-session-id", "a")], &body).as_bytes())
        .unwrap();
    proxy.wait_for(1, "SELECT * FROM api_requests WHERE cost_micros = 1000000 AND model = 'test-model'");
    // While it is under way, a further request may be retried.
    assert_eq!(proxy.message("b").status, 503);
    assert_eq!(events(&proxy), [""; 0]);
    drop(stream);
    thread::sleep(Duration::from_millis(500));
    assert_eq!(proxy.message("b").status, 402);
    proxy.kill_and_start();
    assert_eq!(proxy.message("b").status, 402);
}

#[test]
fn what_a_request_is_charged_before_its_response_is_replaced_by_its_usage() {
    let upstream = Upstream::start(message("test-model", 10, 0));
    let proxy = Proxy::start(&upstream.url(), &format!("{{spend: {{day: 1, {PRICE}}}}}"), &[]);
    let body = format!("{{\"model\":\"other\",\"messages\":\"{}\"}}", "x".repeat(600_000));
    let response = proxy.ask("POST /v1/messages", &[("x-claude-code-session-id", "a")], &body);
    assert_eq!(response.status, 200);
    proxy.wait_for(
        1,
        "SELECT * FROM api_requests WHERE cost_micros = 10 AND model = 'test-model' AND NOT estimated",
    );
    assert_eq!(proxy.rows("SELECT * FROM api_requests").len(), 1);
    assert_eq!(events(&proxy), [""; 0]);
}

#[test]
fn requests_that_name_another_server_or_come_from_a_web_page_are_refused() {
    let upstream = dollar_each();
    let proxy = Proxy::start(&upstream.url(), "{}", &[("CLAUDEOPS_API_HOSTS", "ops.lan")]);
    let ask = |head: &str| {
        let mut stream = proxy.connect();
        let text =
            format!("POST /v1/messages HTTP/1.1\r\n{head}content-length: 2\r\nconnection: close\r\n\r\n{{}}");
        stream.write_all(text.as_bytes()).unwrap();
        Response::read(&mut BufReader::new(stream)).status
    };
    for host in ["guard", "guard:8081", "127.0.0.1", "localhost:1", "[::1]:9", "OPS.lan:8081"] {
        assert_eq!(ask(&format!("host: {host}\r\n")), 200, "{host}");
    }
    for head in [
        "host: evil.example\r\n",
        "host: guard.evil.example\r\n",
        "host: 192.0.2.1\r\n",
        "host: \r\n",
        "host: guard\r\nhost: evil.example\r\n",
        "host: guard\r\norigin: http://guard\r\n",
        "host: guard\r\norigin: null\r\n",
    ] {
        assert!([400, 403].contains(&ask(head)), "{head}");
    }
    assert_eq!(upstream.seen().len(), 6);
}

#[test]
fn a_request_that_arrives_a_byte_at_a_time_is_refused() {
    let upstream = dollar_each();
    let proxy = Proxy::start(&upstream.url(), "{}", &[]);
    let slow = |head: &str| {
        let mut stream = proxy.connect();
        stream.write_all(head.as_bytes()).unwrap();
        let mut reader = stream.try_clone().unwrap();
        reader.set_read_timeout(Some(Duration::from_secs(80))).unwrap();
        let answer = thread::spawn(move || {
            let mut text = String::new();
            let _ = reader.read_to_string(&mut text);
            text
        });
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(75) && stream.write_all(b"x").is_ok() {
            thread::sleep(Duration::from_millis(500));
        }
        (answer.join().unwrap(), began.elapsed())
    };
    thread::scope(|scope| {
        let body =
            scope.spawn(|| slow("POST /v1/messages HTTP/1.1\r\nhost: guard\r\ncontent-length: 1000\r\n\r\n"));
        let head = scope.spawn(|| slow("POST /v1/messages HTTP/1.1\r\nhost: guard\r\nx-long: "));
        let (answer, took) = body.join().unwrap();
        assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
        assert!(took < Duration::from_secs(70), "{took:?}");
        let (_, took) = head.join().unwrap();
        assert!(took < Duration::from_secs(70), "{took:?}");
    });
    assert_eq!(upstream.seen().len(), 0);
}

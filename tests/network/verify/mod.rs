//! `opsctl verify` against healthy services, and services in every unhealthy state.

mod asked;
pub mod programs;

use crate::servers::{Authority, HEALTHY, answering, https, read_request, self_signed, serve, silent};
use crate::support::{Lan, Outcome, lan};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::thread;
use std::time::{Duration, Instant};

/// Verifies the one service `x` with these keys, without grace.
fn verify(lan: &Lan, keys: &str) -> Outcome {
    lan.write("hosts.yaml", &format!("services: {{x: {{workloads: [x], {keys}}}}}\n"));
    let mut command = lan.command(&["verify", "x", "--json", "--grace", "1s", "--deadline", "8s"]);
    lan.run(command.env("SSL_CERT_FILE", lan.path("ca.pem")))
}

#[track_caller]
fn state(lan: &Lan, keys: &str) -> String {
    let ran = verify(lan, keys);
    let json = ran.json();
    let checks = json["services"][0]["checks"].as_array().unwrap();
    assert_eq!(checks.len(), 1, "{json}");
    let healthy = checks[0]["state"] == "healthy";
    assert_eq!((ran.exit_code, &json["healthy"]), (Some(i32::from(!healthy)), &json!(healthy)), "{ran:?}");
    assert!(checks[0]["detail"].as_str().is_some_and(|detail| !detail.is_empty()), "{json}");
    checks[0]["state"].as_str().unwrap().to_owned()
}

fn http(lan: &Lan, port: u16) -> String {
    state(lan, &format!("health: {{url: 'http://127.0.0.1:{port}/health', timeout: 2s}}"))
}

#[test]
fn a_healthy_endpoint_is_healthy_with_its_latency() {
    lan(|lan| {
        let port = answering(HEALTHY);
        let ran =
            verify(lan, &format!("health: {{url: 'http://user:pw@127.0.0.1:{port}/health?token=s3cret'}}"));
        let check = &ran.json()["services"][0]["checks"][0];
        assert_eq!((&check["kind"], &check["state"]), (&json!("http"), &json!("healthy")), "{ran:?}");
        assert_eq!(
            check["target"],
            format!("http://127.0.0.1:{port}/health"),
            "no secret of the URL is shown"
        );
        assert!(check["latency_ms"].as_f64().is_some_and(|time| time > 0.0 && time < 5000.0), "{check}");
        assert!(!ran.stdout.contains("s3cret") && !ran.stdout.contains("pw"), "{ran:?}");
    });
}

#[test]
fn another_code_is_a_wrong_status_unless_it_is_expected() {
    lan(|lan| {
        let port = answering("HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n");
        assert_eq!(http(lan, port), "wrong_status");
        let url = format!("http://127.0.0.1:{port}/");
        assert_eq!(state(lan, &format!("health: {{url: '{url}', status: [200, 502]}}")), "healthy");
    });
}

#[test]
fn redirects_are_followed_to_their_end_or_to_a_named_failure() {
    lan(|lan| {
        let to = |location: &str| {
            format!("HTTP/1.1 302 Found\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n")
        };
        let end = answering(HEALTHY);
        let redirects = answering(to(&format!("http://127.0.0.1:{end}/login")));
        assert_eq!(http(lan, redirects), "healthy");
        assert_eq!(http(lan, answering(to("/health"))), "redirect_loop", "to itself");
        let endless = serve(|mut stream| {
            let line = read_request(&mut stream);
            let next = format!("{}1", line.split(' ').nth(1).unwrap());
            let _ = write!(stream, "HTTP/1.1 301 Moved\r\nlocation: {next}\r\ncontent-length: 0\r\n\r\n");
        });
        assert_eq!(http(lan, endless), "redirect_loop", "always somewhere else");
        assert_eq!(http(lan, answering(to("http://127.0.0.1:1/"))), "refused");
        let url = format!("http://127.0.0.1:{redirects}/");
        assert_eq!(state(lan, &format!("health: {{url: '{url}', follow: false}}")), "wrong_status");
        assert_eq!(state(lan, &format!("health: {{url: '{url}', status: [302]}}")), "healthy");
    });
}

#[test]
fn answers_that_are_not_http_have_a_state_within_the_deadline() {
    lan(|lan| {
        let started = Instant::now();
        assert_eq!(http(lan, silent()), "timeout");
        assert!(started.elapsed() < Duration::from_secs(6), "{:?}", started.elapsed());
        assert_eq!(http(lan, 1), "refused");
        assert_eq!(http(lan, answering("SSH-2.0-OpenSSH_9.2\r\n")), "not_http");
        assert_eq!(http(lan, serve(drop)), "closed");
        assert_eq!(state(lan, "health: {url: 'http://nowhere.invalid/'}"), "unresolved");
        assert_eq!(state(lan, "health: {url: 'http://192.0.2.1/'}"), "unreachable");
    });
}

#[test]
fn an_endless_body_is_detected_whether_fast_or_slow() {
    lan(|lan| {
        let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
        let endless = |pause: Duration| {
            serve(move |mut stream| {
                read_request(&mut stream);
                let _ = stream.write_all(head.as_bytes());
                while stream.write_all(format!("400\r\n{}\r\n", "x".repeat(1024)).as_bytes()).is_ok() {
                    thread::sleep(pause);
                }
            })
        };
        assert_eq!(http(lan, endless(Duration::ZERO)), "endless_body");
        assert_eq!(http(lan, endless(Duration::from_millis(100))), "endless_body");
        assert_eq!(
            http(lan, answering(format!("{head}5\r\nhello\r\n0\r\n\r\n"))),
            "healthy",
            "one that ends"
        );
        assert_eq!(
            http(lan, answering("HTTP/1.0 200 OK\r\n\r\nhello")),
            "healthy",
            "one that ends by closing"
        );
    });
}

#[test]
fn certificates_are_checked_and_each_fault_has_its_name() {
    lan(|lan| {
        let authority = Authority::new(lan);
        let with = |presented, more: &str| {
            let port = https(presented, HEALTHY);
            state(lan, &format!("health: {{url: 'https://127.0.0.1:{port}/health', timeout: 3s{more}}}"))
        };
        assert_eq!(with(authority.sign("127.0.0.1", 2020, 2095), ""), "healthy");
        assert_eq!(with(authority.sign("127.0.0.1", 2020, 2021), ""), "tls_expired");
        assert_eq!(with(authority.sign("127.0.0.1", 2090, 2095), ""), "tls_not_yet_valid");
        assert_eq!(with(authority.sign("other.example", 2020, 2095), ""), "tls_name");
        assert_eq!(with(self_signed("127.0.0.1"), ""), "tls_untrusted");
        assert_eq!(with(self_signed("127.0.0.1"), ", insecure: true"), "healthy");
        let plain = serve(|mut stream| {
            let _ = stream.read(&mut [0; 64]);
            let _ = stream.write_all(HEALTHY.as_bytes());
        });
        assert_eq!(state(lan, &format!("health: {{url: 'https://127.0.0.1:{plain}/'}}")), "tls_failed");
        let silent = silent();
        assert_eq!(
            state(lan, &format!("health: {{url: 'https://127.0.0.1:{silent}/', timeout: 1s}}")),
            "timeout"
        );
    });
}

#[test]
fn a_port_accepts_connections_or_says_why_not() {
    lan(|lan| {
        let open = answering("");
        let outcome = |port: &str| state(lan, &format!("tcp: ['{port}']"));
        assert_eq!(outcome(&format!("127.0.0.1:{open}")), "healthy");
        assert_eq!(outcome("127.0.0.1:1"), "refused");
        assert_eq!(outcome("nowhere.invalid:80"), "unresolved");
        lan.write("hosts.yaml", &format!("{{hosts: {{h: {{address: 127.0.0.1}}}}, services: {{x: {{host: h, units: [], workloads: [x], tcp: ['{open}']}}}}}}"));
        let ran = lan.opsctl(&["verify", "x"]);
        assert_eq!(ran.exit_code, Some(0), "{ran:?}");
        assert!(
            ran.stdout.starts_with(&format!(
                "x: healthy\n  tcp 127.0.0.1:{open}: healthy, it accepts connections ("
            )),
            "{ran:?}"
        );
    });
}

#[test]
fn names_resolve_by_the_system_or_at_a_server_and_to_what_they_should() {
    lan(|lan| {
        crate::hosts::name_server(
            lan,
            &["--host-record=x.lan,10.0.0.7,fd00::7", "--host-record=six.lan,fd00::6"],
        );
        let dns = |keys: &str| state(lan, &format!("dns: {keys}"));
        assert_eq!(dns("x.lan"), "healthy");
        assert_eq!(dns("six.lan"), "healthy");
        assert_eq!(dns("y.lan"), "unresolved");
        assert_eq!(dns("{name: x.lan, address: 10.0.0.7}"), "healthy");
        assert_eq!(dns("{name: x.lan, address: 'fd00::7'}"), "healthy");
        assert_eq!(dns("{name: x.lan, address: 10.0.0.8}"), "wrong_address");
        assert_eq!(dns("{name: x.lan, address: 10.0.0.7, server: 127.0.0.53}"), "healthy");
        assert_eq!(dns("{name: y.lan, server: 127.0.0.53}"), "unresolved");
        let _silent = std::net::UdpSocket::bind("127.0.0.99:53").unwrap();
        let started = Instant::now();
        assert_eq!(dns("{name: x.lan, server: 127.0.0.99}"), "timeout");
        assert!(started.elapsed() < Duration::from_secs(9), "{:?}", started.elapsed());
    });
}

#[test]
fn a_service_that_recovers_within_its_grace_is_healthy_at_once() {
    lan(|lan| {
        let ready = Instant::now() + Duration::from_secs(2);
        let port = serve(move |mut stream| {
            read_request(&mut stream);
            let ill = "HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n";
            let _ = stream.write_all(if Instant::now() < ready { ill } else { HEALTHY }.as_bytes());
        });
        lan.write(
            "hosts.yaml",
            &format!("services: {{x: {{workloads: [x], health: {{url: 'http://127.0.0.1:{port}/'}}}}}}"),
        );
        let ran = lan.opsctl(&["verify", "x", "--grace", "20s", "--deadline", "30s"]);
        assert_eq!(ran.exit_code, Some(0), "{ran:?}");
        assert!((1..8).contains(&ran.elapsed.as_secs()), "{ran:?}");
    });
}

#[test]
fn all_checks_run_at_once_and_end_with_the_deadline() {
    lan(|lan| {
        let port = silent();
        let service = |n: u32| {
            format!(
                "  s{n}: {{workloads: [s{n}], health: {{url: 'http://127.0.0.1:{port}/{n}', timeout: 60s}}}}\n"
            )
        };
        lan.write("hosts.yaml", &format!("services:\n{}", (0..40).map(service).collect::<String>()));
        let names: Vec<String> = (0..40).map(|n| format!("s{n}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let ran = lan.opsctl(
            &[&["verify", "--json", "--grace", "60s", "--deadline", "2s"], names.as_slice()].concat(),
        );
        assert_eq!(ran.exit_code, Some(1));
        let states: Vec<Value> = ran.json()["services"]
            .as_array()
            .unwrap()
            .iter()
            .map(|s| s["checks"][0]["state"].clone())
            .collect();
        assert_eq!(states, vec![json!("timeout"); 40]);
        assert!(ran.elapsed < Duration::from_secs(6), "{ran:?}");
    });
}

#[test]
fn a_session_is_verified_by_what_it_did() {
    lan(|lan| {
        let port = answering(HEALTHY);
        let service = |name: &str, port: u16| {
            format!("{name}: {{health: {{url: 'http://127.0.0.1:{port}/'}}, workloads: [w-{name}]}}")
        };
        lan.write(
            "hosts.yaml",
            &format!(
                "services: {{{}, {}, {}}}",
                service("well", port),
                service("ill", 1),
                service("other", 1)
            ),
        );
        let nothing = lan.opsctl(&["verify", "--session", "s1"]);
        assert_eq!(
            (nothing.exit_code, nothing.stdout.as_str()),
            (Some(0), "nothing to verify: the session acted on no service\n")
        );
        let act = |session: &str, id: &str, command: &str, events: &[&str]| {
            for event in events {
                let input =
                    json!({"session_id": session, "tool_use_id": id, "tool_input": {"command": command}});
                assert_eq!(lan.hook(event, &input).exit_code, Some(0));
            }
        };
        act("s1", "t1", "docker restart well", &["pre-tool-use", "post-tool-use"]);
        act("s1", "t2", "docker restart other", &["pre-tool-use"]); // it never ran
        act("s2", "t3", "docker restart ill", &["pre-tool-use", "post-tool-use-failure"]);
        let names = |ran: &Outcome| -> Vec<String> {
            ran.json()["services"]
                .as_array()
                .unwrap()
                .iter()
                .map(|s| s["name"].as_str().unwrap().to_owned())
                .collect()
        };
        let first = lan.opsctl(&["verify", "--session", "s1", "--json"]);
        assert_eq!((first.exit_code, names(&first)), (Some(0), vec!["well".to_owned()]), "{first:?}");
        let second = lan.opsctl(&["verify", "--session", "s2", "--json", "--grace", "1s"]);
        assert_eq!((second.exit_code, names(&second)), (Some(1), vec!["ill".to_owned()]), "{second:?}");
        let mut command = lan.command(&["verify", "--json"]);
        let own = lan.run(command.env("CLAUDE_SESSION_ID", "s1"));
        assert_eq!(names(&own), ["well"], "in an agent's shell its own session is meant");
        let mut command = lan.command(&["verify", "--session", "client", "--json"]);
        let own = lan.run(command.env("CLAUDE_SESSION_ID", "s1").env("CLAUDE_CODE_SESSION_ID", "client"));
        assert_eq!(names(&own), ["well"], "also by the client's name for it");
    });
}

#[test]
fn invalid_arguments_are_refused_in_one_line() {
    lan(|lan| {
        lan.write("hosts.yaml", "services: {jellyfin: {}}");
        for (arguments, complaint) in [
            (
                &["verify", "jelyfin"][..],
                "opsctl: no service `jelyfin` in hosts.yaml; did you mean `jellyfin`?\n",
            ),
            (&["verify"], "opsctl: no session to verify; name services, or a session with --session\n"),
        ] {
            let ran = lan.opsctl(arguments);
            assert_eq!((ran.exit_code, ran.stderr.as_str()), (Some(1), complaint));
        }
        lan.write("claudeops.db", &"no database".repeat(100));
        let ran = lan.opsctl(&["verify", "--session", "s"]);
        assert_eq!((ran.exit_code, ran.stderr.lines().count()), (Some(1), 1), "{ran:?}");
    });
}

#[test]
fn proxies_are_not_used() {
    lan(|lan| {
        let port = answering(HEALTHY);
        lan.write(
            "hosts.yaml",
            &format!("services: {{x: {{workloads: [x], health: {{url: 'http://127.0.0.1:{port}/'}}}}}}"),
        );
        let mut command = lan.command(&["verify", "x"]);
        let ran =
            lan.run(command.env("http_proxy", "http://127.0.0.1:1").env("HTTP_PROXY", "http://127.0.0.1:1"));
        assert_eq!(ran.exit_code, Some(0), "{ran:?}");
    });
}

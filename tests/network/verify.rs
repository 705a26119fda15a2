//! `opsctl verify` against healthy services, and services in every unhealthy state.

use crate::cluster::{cluster, kubeconfig};
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

/// A program on PATH that runs this shell script.
pub fn put_program(lan: &Lan, name: &str, behaviour: &str) {
    lan.write(&format!("bin/{name}"), &format!("#!/bin/sh\n{behaviour}\n"));
    lan.sh(&format!("chmod +x bin/{name}"));
}

#[test]
fn a_container_is_what_its_engine_says() {
    lan(|lan| {
        lan.write("hosts.yaml", "services: {x: {containers: [web]}}");
        let outcome = |behaviour: &str| {
            put_program(lan, "docker", &format!("echo \"$@\" >> asked; {behaviour}"));
            let ran = lan.opsctl(&["verify", "x", "--json", "--grace", "1s"]);
            ran.json()["services"][0]["checks"][0]["state"].as_str().unwrap().to_owned()
        };
        assert_eq!(outcome("echo 'Up 2 minutes (healthy)'"), "healthy");
        assert_eq!(outcome("echo 'Up 2 minutes (unhealthy)'"), "unhealthy");
        assert_eq!(outcome("echo 'Exited (1) 3 seconds ago'"), "not_running");
        assert_eq!(outcome("exit 0"), "missing");
        assert_eq!(outcome("case $* in *compose.service=web*) echo 'Up 1 second';; esac"), "healthy");
        assert_eq!(
            outcome("case $* in *compose.service=web*) echo 'Up 1 second'; echo Created;; esac"),
            "not_running"
        );
        assert_eq!(outcome("echo 'Cannot connect to the Docker daemon' >&2; exit 1"), "failed");
        assert_eq!(outcome("while :; do echo 'Up 2 minutes'; done"), "failed", "endless, and harmless");
        let asked = std::fs::read_to_string(lan.path("asked")).unwrap();
        assert!(asked.starts_with("ps --all --filter name=^web$ --format {{.Status}}\n"), "{asked}");
        lan.sh("rm bin/docker");
        lan.write("hosts.yaml", "services: {x: {containers: [web], engine: podman}}");
        put_program(lan, "podman", "echo 'Up 2 minutes'");
        assert_eq!(lan.opsctl(&["verify", "x"]).exit_code, Some(0));
    });
}

#[test]
fn an_unavailable_check_does_not_count_as_unhealthy() {
    lan(|lan| {
        lan.write("hosts.yaml", "services: {x: {containers: [web], engine: podman}}");
        let mut command = lan.command(&["verify", "x"]);
        let ran = lan.run(command.env("PATH", lan.path("bin")));
        assert_eq!(ran.exit_code, Some(0));
        assert_eq!(
            ran.stdout,
            "x: not checked, it cannot be checked from this machine\n  container web: unavailable, podman is not installed here\n"
        );
    });
}

#[test]
fn a_unit_is_what_systemd_says() {
    lan(|lan| {
        lan.write("hosts.yaml", "services: {x: {units: [nginx]}}");
        let outcome = |behaviour: &str| {
            put_program(lan, "systemctl", behaviour);
            let ran = lan.opsctl(&["verify", "x", "--json", "--grace", "1s"]);
            ran.json()["services"][0]["checks"][0]["state"].as_str().unwrap().to_owned()
        };
        assert_eq!(outcome("[ \"$*\" = 'is-active nginx' ] && echo active"), "healthy");
        assert_eq!(outcome("echo failed; exit 3"), "not_running");
        assert_eq!(outcome("echo activating; exit 3"), "starting");
        assert_eq!(outcome("echo 'System has not been booted with systemd' >&2; exit 1"), "failed");
    });
}

/// The real ssh and sshd, with their own keys.
#[test]
fn containers_and_units_are_asked_for_through_ssh() {
    lan(|lan| {
        lan.ssh_server();
        put_program(lan, "remote/docker", "echo \"docker $*\" >> ../asked; echo 'Up 2 hours'");
        put_program(lan, "remote/systemctl", "echo \"systemctl $*\" >> ../asked; echo active");
        let user = lan.sh("id -un");
        lan.write(
            "hosts.yaml",
            &format!(
                "{{hosts: {{here: {{address: 127.0.0.1, ssh: {}@127.0.0.1}}}}, services: {{x: {{host: here, containers: [web], units: [nginx]}}}}}}",
                user.trim()
            ),
        );
        let verify = || lan.run(&mut lan.command(&["verify", "x", "--json", "--grace", "1s"]));
        let ran = verify();
        assert_eq!(ran.exit_code, Some(0), "{ran:?} {}", lan.sh("cat sshd.log"));
        let asked = lan.sh("sort asked");
        assert_eq!(
            asked,
            "docker ps --all --filter name=^web$ --format {{.Status}}\nsystemctl is-active nginx\n"
        );
        // A host with an unknown key is not entered, and ssh does not prompt.
        lan.sh("rm ssh/known_hosts");
        let ran = verify();
        let check = &ran.json()["services"][0]["checks"][0];
        assert_eq!((ran.exit_code, &check["state"]), (Some(1), &json!("ssh_failed")), "{ran:?}");
        assert!(check["detail"].as_str().unwrap().contains("Host key verification failed"), "{check}");
    });
}

/// The state and the detail of the one command of service `x`, and the exit code of `opsctl verify`.
fn own_command(lan: &Lan, hosts: &str, keys: &str) -> (String, String, i32) {
    lan.write("hosts.yaml", &format!("{{{hosts} services: {{x: {{workloads: [x], {keys}}}}}}}\n"));
    let ran = lan.opsctl(&["verify", "x", "--json", "--grace", "1s", "--deadline", "8s"]);
    let check = &ran.json()["services"][0]["checks"][0];
    assert_eq!(check["kind"], "command", "{ran:?}");
    let text = |key: &str| check[key].as_str().unwrap().to_owned();
    (text("state"), text("detail"), ran.exit_code.unwrap())
}

#[test]
fn a_command_passes_with_the_expected_exit_code_only() {
    lan(|lan| {
        put_program(lan, "asked", "printf '%s\\n' \"$@\" > got; echo 'no such share' >&2; exit 3");
        for (check, state, detail, code) in [
            ("[{command: [asked]}]", "wrong_exit_code", "its exit code is 3, not 0: no such share", 1),
            ("{command: [asked, 'a  b', '$HOME', \"it's\"], expect: 3}", "healthy", "its exit code is 3", 0),
            ("{command: [sh, -c, 'kill $$']}", "wrong_exit_code", "a signal ended it", 1),
            ("{command: [sleep, 60], timeout: 1s}", "timeout", "it did not end in time", 1),
            ("{command: [nosuchprogram]}", "unavailable", "nosuchprogram is not installed here", 0),
            (
                "{command: [/etc/passwd]}",
                "unknown",
                "/etc/passwd cannot be started (Permission denied (os error 13))",
                0,
            ),
        ] {
            let found = own_command(lan, "", &format!("check: {check}"));
            assert_eq!(found, (state.to_owned(), detail.to_owned(), code), "{check}");
        }
        assert_eq!(lan.sh("cat got"), "a  b\n$HOME\nit's\n", "no shell reads the words");
    });
}

#[test]
fn a_command_runs_on_the_host_of_its_service_through_ssh() {
    lan(|lan| {
        lan.ssh_server();
        let user = lan.sh("id -un");
        let hosts = format!("hosts: {{here: {{address: 127.0.0.1, ssh: {}@127.0.0.1}}}},", user.trim());
        let outcome = |check: &str| own_command(lan, &hosts, &format!("host: here, check: {check}"));
        put_program(lan, "remote/asked", "printf '%s\\n' \"$@\" > ../got; exit 4");
        let check =
            r#"{command: [asked, 'a  b', '$HOME', "it's", '', '*', '"; touch ../opened'], expect: 4}"#;
        let (state, detail, code) = outcome(check);
        assert_eq!((state.as_str(), code), ("healthy", 0), "{detail} {}", lan.sh("cat sshd.log"));
        assert_eq!(lan.sh("cat got"), "a  b\n$HOME\nit's\n\n*\n\"; touch ../opened\n");
        assert!(!lan.path("opened").exists());
        let (state, detail, code) = outcome("{command: [nosuchprogram]}");
        assert_eq!((state.as_str(), code), ("unknown", 0), "a program that is missing there: {detail}");
        assert!(detail.starts_with("the host cannot run it: ") && detail.contains("not found"), "{detail}");
        assert_eq!(outcome("{command: [test, -e, ../no-such-file]}").0, "wrong_exit_code");
        put_program(lan, "asked", "exit 5");
        assert_eq!(outcome("{command: [asked], where: local, expect: 5}").0, "healthy");
        // A host that cannot be entered makes the service neither healthy nor unhealthy.
        lan.sh("rm ssh/known_hosts");
        let (state, detail, code) = outcome("{command: [asked], expect: 4}");
        assert_eq!((state.as_str(), code), ("unknown", 0), "{detail}");
        assert!(detail.contains("Host key verification failed"), "{detail}");
    });
}

#[test]
fn slow_commands_leave_time_for_other_checks() {
    lan(|lan| {
        put_program(lan, "docker", "echo 'Up 2 hours'");
        let names: Vec<String> = (0..12).map(|n| format!("s{n}")).collect();
        let service = |name: &String| format!("{name}: {{check: {{command: [sleep, 60], timeout: 5m}}}}");
        let services: Vec<String> = names.iter().map(service).collect();
        lan.write("hosts.yaml", &format!("services: {{{}}}", services.join(", ")));
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let ran = lan.opsctl(&[&["verify", "--json", "--grace", "1s", "--deadline", "3s"], &*names].concat());
        let json = ran.json();
        let states = |nth: usize| -> Vec<&str> {
            let services = json["services"].as_array().unwrap();
            services.iter().map(|service| service["checks"][nth]["state"].as_str().unwrap()).collect()
        };
        assert_eq!(states(0), ["healthy"; 12], "the containers");
        // Those that had no turn have not failed.
        let count = |state: &str| states(1).iter().filter(|found| **found == state).count();
        assert_eq!((count("timeout"), count("unknown")), (4, 8), "{:?}", states(1));
        assert!(ran.elapsed < Duration::from_secs(6), "{ran:?}");
    });
}

/// The states of the workloads of service `x`, and the exit code of `opsctl verify`, with the real kubectl.
fn workload_states(lan: &Lan, port: u16, workloads: &str) -> (Vec<String>, i32) {
    kubeconfig(lan, port);
    lan.sh("rm -rf .kube");
    lan.write("hosts.yaml", &format!("services: {{x: {{workloads: [{workloads}]}}}}"));
    let mut command = lan.command(&["verify", "x", "--json", "--grace", "1s", "--deadline", "8s"]);
    let ran = lan.run(command.env("KUBECONFIG", lan.path("kubeconfig")));
    let json = ran.json();
    let checks = json["services"][0]["checks"].as_array().unwrap().iter();
    let shown = |check: &Value| {
        let text = |key: &str| check[key].as_str().unwrap().to_owned();
        format!("{} {}: {}, {}", text("kind"), text("target"), text("state"), text("detail"))
    };
    (checks.map(shown).collect(), ran.exit_code.unwrap())
}

#[test]
fn a_workload_is_ready_when_the_cluster_says_so() {
    lan(|lan| {
        let replicas = |wanted: u8, ready: u8| {
            json!({"spec": {"replicas": wanted},
                "status": {"observedGeneration": 2, "updatedReplicas": wanted, "readyReplicas": ready}})
        };
        let complete = json!({"spec": {}, "status": {"conditions": [
            {"type": "SuccessCriteriaMet", "status": "False"}, {"type": "Complete", "status": "True"}]}});
        let port = cluster(
            json!({"Deployment": replicas(2, 2), "StatefulSet": replicas(3, 1), "Job": complete}),
            |namespace, name| name == "db" && namespace != "other",
        );
        let found = |workloads: &str| workload_states(lan, port, workloads);
        let one = |line: &str, code: i32| (vec![line.to_owned()], code);
        assert_eq!(
            found("media/deploy/db"),
            one("workload media/deployment/db: healthy, 2 of 2 replicas are ready", 0)
        );
        assert_eq!(
            found("sts/db, job/db"),
            (
                vec![
                    "workload statefulset/db: starting, 1 of 3 replicas are ready".to_owned(),
                    "workload job/db: healthy, it is complete".to_owned()
                ],
                1
            )
        );
        let (several, code) = found("media/db");
        assert_eq!(
            (several, code),
            one("workload media/db: starting, 1 of 3 replicas are ready", 1),
            "of several kinds"
        );
        for missing in ["daemonset/db", "other/deployment/db", "deployment/web"] {
            let line = format!("workload {missing}: missing, there is no such workload");
            assert_eq!(found(missing), one(&line, 1));
        }
        assert_eq!(found("db"), (vec![], 0), "a name alone is not checked");
    });
}

#[test]
fn a_workload_whose_cluster_cannot_be_asked_is_unknown() {
    lan(|lan| {
        let (states, code) = workload_states(lan, 1, "deployment/db");
        assert!(states[0].starts_with("workload deployment/db: unknown, kubectl: "), "{states:?}");
        assert!(states[0].contains("refused"), "{states:?}");
        assert_eq!(code, 0);
        // A server that accepts the connection and stays silent.
        let (states, code) = workload_states(lan, silent(), "deployment/db");
        assert!(states[0].starts_with("workload deployment/db: unknown, "), "{states:?}");
        assert_eq!(code, 0);
        let mut command = lan.command(&["verify", "x"]);
        let ran = lan.run(command.env("PATH", lan.path("bin")));
        assert_eq!(
            (ran.exit_code, ran.stdout.lines().nth(1)),
            (Some(0), Some("  workload deployment/db: unavailable, kubectl is not installed here"))
        );
    });
}

/// No hypervisor runs in these networks: the programs are stand-ins, with the words of the real ones.
#[test]
fn a_guest_is_what_its_program_says() {
    lan(|lan| {
        let outcome = |guest: &str, program: &str, behaviour: &str| {
            put_program(lan, program, &format!("echo \"$*\" > asked; {behaviour}"));
            lan.write("hosts.yaml", &format!("services: {{x: {{guests: [{guest}]}}}}"));
            let ran = lan.opsctl(&["verify", "x", "--json", "--grace", "1s"]);
            let check = &ran.json()["services"][0]["checks"][0];
            assert_eq!((&check["kind"], &check["target"]), (&json!("guest"), &json!(guest)));
            (check["state"].as_str().unwrap().to_owned(), ran.exit_code.unwrap(), lan.sh("cat asked"))
        };
        let no_file =
            "echo \"Configuration file 'nodes/pve/qemu-server/101.conf' does not exist\" >&2; exit 2";
        let no_domain = "echo \"error: failed to get domain 'web'\" >&2; exit 1";
        let no_socket = "echo 'error: failed to connect to the hypervisor' >&2; exit 1";
        let libvirt = "--connect qemu:///system domstate web\n";
        let list = "list ^web$ --format csv --columns s\n";
        for (guest, behaviour, state, code, asked) in [
            ("qm/101", "echo 'status: running'", "healthy", 0, "status 101\n"),
            ("qm/101", "echo 'status: stopped'", "not_running", 1, "status 101\n"),
            ("qm/101", no_file, "missing", 1, "status 101\n"),
            ("qm/101", "echo 'please run as root' >&2; exit 255", "unknown", 0, "status 101\n"),
            ("pct/103", "echo 'status: running'", "healthy", 0, "status 103\n"),
            ("virsh/web", "echo running; echo", "healthy", 0, libvirt),
            ("virsh/web", "echo 'shut off'; echo", "not_running", 1, libvirt),
            ("virsh/web", no_domain, "missing", 1, libvirt),
            ("virsh/web", no_socket, "unknown", 0, libvirt),
            ("incus/web", "echo RUNNING", "healthy", 0, list),
            ("incus/web", "echo STOPPED", "not_running", 1, list),
            ("incus/web", "exit 0", "missing", 1, list),
            ("lxc/web", "echo FROZEN", "not_running", 1, list),
        ] {
            let program = guest.split('/').next().unwrap();
            let found = outcome(guest, program, behaviour);
            assert_eq!(found, (state.to_owned(), code, asked.to_owned()), "{guest} {behaviour}");
        }
    });
}

#[test]
fn guests_and_workloads_are_asked_for_on_their_host() {
    lan(|lan| {
        lan.ssh_server();
        put_program(lan, "remote/qm", "echo \"qm $*\" >> ../asked; echo 'status: running'");
        let user = lan.sh("id -un");
        lan.write(
            "hosts.yaml",
            &format!(
                "{{hosts: {{pve: {{address: 127.0.0.1, ssh: {}@127.0.0.1}}}}, services: {{x: {{host: pve, guests: [qm/101, nosuch, pct/103]}}}}}}",
                user.trim()
            ),
        );
        let verify = || lan.opsctl(&["verify", "x", "--json", "--grace", "1s"]);
        let ran = verify();
        let states = |ran: &Outcome| -> Vec<Value> {
            let json = ran.json();
            let checks = json["services"][0]["checks"].as_array().unwrap();
            checks.iter().map(|check| check["state"].clone()).collect()
        };
        assert_eq!(states(&ran), ["healthy", "unknown"], "pct is not installed there: {ran:?}");
        assert_eq!((ran.exit_code, lan.sh("cat asked").as_str()), (Some(0), "qm status 101\n"));
        lan.sh("rm ssh/known_hosts");
        let ran = verify();
        assert_eq!((ran.exit_code, states(&ran)), (Some(0), vec![json!("unknown"); 2]), "{ran:?}");
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

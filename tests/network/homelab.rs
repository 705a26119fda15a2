//! The homelab of `tests/fixtures/homelab`, verified: real ssh, DNS, TLS and kubectl; stand-ins for the programs of its hosts.

use crate::cluster::{cluster, kubeconfig};
use crate::servers::{Authority, HEALTHY, https_at, read_request, serve_at};
use crate::support::{Lan, lan};
use crate::verify::programs::put_program;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write;

const HOSTS: &str = include_str!("../fixtures/homelab/hosts.yaml");

/// All hosts of the homelab are this one.
fn start(lan: &Lan) {
    for address in [1, 5, 10, 11, 12, 21, 22, 53, 101, 103] {
        lan.sh(&format!("ip address add 192.168.100.{address}/32 dev lo"));
    }
    let user = lan.sh("id -un");
    lan.write("hosts.yaml", &HOSTS.replace("ops@", "root@").replace("root@", &format!("{}@", user.trim())));
    lan.ssh_server();
    lan.sh("printf 'HostName 127.0.0.1\\nHostKeyAlias 127.0.0.1\\n' >> ssh/config");
    for (program, behaviour) in [
        ("docker", "echo 'Up 2 hours'"),
        ("podman", "echo 'Up 2 hours'"),
        ("systemctl", "echo active"),
        ("qm", "echo 'status: running'"),
        ("pct", "echo 'status: running'"),
        ("smbclient", "exit 0"),
        ("wg", "exit 0"),
        ("restic", "exit 0"),
    ] {
        put_program(lan, &format!("remote/{program}"), behaviour);
    }
    crate::hosts::name_server(
        lan,
        &[
            "--listen-address=192.168.100.53",
            "--address=/home.example/127.0.0.1",
            "--host-record=example.net,192.0.2.1",
        ],
    );
    https_at("0.0.0.0:443", Authority::new(lan).sign("*.home.example", 2020, 2095), HEALTHY);
    for port in [8000, 3000, 2222, 445, 2049, 8123, 25] {
        serve_at(&format!("0.0.0.0:{port}"), drop);
    }
    let ready = json!({"spec": {"replicas": 4}, "status": {"observedGeneration": 2, "updatedReplicas": 4,
        "readyReplicas": 4, "desiredNumberScheduled": 4, "updatedNumberScheduled": 4, "numberReady": 4}});
    let complete = json!({"spec": {}, "status": {"conditions": [{"type": "Complete", "status": "True"}]}});
    let workloads = json!({"Deployment": ready, "StatefulSet": ready, "DaemonSet": ready, "Job": complete});
    kubeconfig(lan, cluster(workloads, |namespace, name| !namespace.is_empty() && !name.is_empty()));
}

/// `tests/fixtures/homelab.yaml`, whose hosts are all this one, with the programs that their keys lead to.
fn start_asked(lan: &Lan) {
    for address in [5, 10, 21, 30, 40, 41, 53, 110] {
        lan.sh(&format!("ip address add 192.168.20.{address}/32 dev lo"));
    }
    let user = lan.sh("id -un");
    let hosts = include_str!("../fixtures/homelab.yaml").replace(":22222", "");
    let hidden = lan.path("bin/hidden");
    let mut hosts = hosts.replace("/usr/local/bin", &hidden.display().to_string());
    for name in ["admin", "root", "ops", "pi", "deploy", "nut"] {
        hosts = hosts.replace(&format!("ssh: {name}@"), &format!("ssh: {}@", user.trim()));
    }
    lan.write("hosts.yaml", &hosts);
    lan.ssh_server();
    lan.sh("printf 'HostName 127.0.0.1\\nHostKeyAlias 127.0.0.1\\n' >> ssh/config");
    let ready = "2 2 2 2 2 <none> <none> <none> <none> <none> <none> <none> <none> <none>";
    for (program, behaviour) in [
        ("remote/sudo", "[ \"$1\" = -n ] || exit 9; shift; AS_ROOT=yes; export AS_ROOT; exec \"$@\""),
        ("remote/docker", "echo 'Up 2 hours'"),
        ("hidden/docker", "[ \"$AS_ROOT\" ] || exit 1; echo 'Up 2 hours'"),
        ("remote/podman", "echo 'Up 2 hours'"),
        ("remote/k3s", &format!("[ \"$AS_ROOT\" ] || exit 1; echo 'Deployment {ready}'")),
        (
            "remote/systemctl",
            "case $* in *' caddy' | *' gitea' | *' ntfy') [ \"$1\" = --user ] || { echo inactive; exit 3; } ;; esac; echo active",
        ),
        ("remote/qm", "echo 'status: running'"),
        ("remote/pct", "echo 'status: running'"),
        ("remote/pg_isready", "exit 0"),
        ("remote/upsc", "echo OL"),
    ] {
        put_program(lan, program, behaviour);
    }
    let records = ["--host-record=example.net,192.0.2.1", "--host-record=vps.example.net,127.0.0.1"];
    crate::hosts::name_server(lan, &[&["--listen-address=192.168.20.53"], &records[..]].concat());
    for port in [8080, 8000, 445, 25, 8007, 443, 8123, 1883, 2222, 5432] {
        serve_at(&format!("0.0.0.0:{port}"), drop);
    }
    serve_at("0.0.0.0:8096", |mut stream| {
        read_request(&mut stream);
        let _ = stream.write_all(HEALTHY.as_bytes());
    });
}

/// The states of the checks of each service, as `kind: state` and, unless healthy, why; and the exit code.
/// A check that is late on a busy machine is repeated during the grace.
fn verify(lan: &Lan, grace: &str) -> (BTreeMap<String, Vec<String>>, Option<i32>) {
    let mut command = lan.command(&["verify", "--all", "--json", "--grace", grace, "--deadline", "60s"]);
    command.env("KUBECONFIG", lan.path("kubeconfig")).env("SSL_CERT_FILE", lan.path("ca.pem"));
    let ran = lan.run(&mut command);
    let json = ran.json();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let checks = |service: &Value| {
        let checks = service["checks"].as_array().unwrap().iter();
        let described = |check: &Value| match text(&check["state"]).as_str() {
            "healthy" => format!("{}: healthy", text(&check["kind"])),
            state => format!("{}: {state}, {}", text(&check["kind"]), check["detail"]),
        };
        checks.map(described).collect()
    };
    let services = json["services"].as_array().unwrap().iter();
    (services.map(|service| (text(&service["name"]), checks(service))).collect(), ran.exit_code)
}

#[test]
fn every_service_of_the_homelab_is_verified() {
    lan(|lan| {
        start(lan);
        let (services, code) = verify(lan, "40s");
        assert_eq!(services.len(), 25);
        for (service, checks) in &services {
            assert!(!checks.is_empty(), "{service} is not checked");
            assert!(checks.iter().all(|check| check.ends_with(": healthy")), "{service}: {checks:?}");
        }
        assert_eq!(code, Some(0));
        put_program(lan, "remote/wg", "echo 'Unable to access interface: No such device' >&2; exit 1");
        put_program(lan, "remote/pct", "echo 'status: stopped'");
        let (services, code) = verify(lan, "8s");
        let is_unhealthy = |checks: &Vec<String>| !checks.iter().all(|check| check.ends_with(": healthy"));
        let unhealthy: Vec<&str> = services
            .iter()
            .filter(|(_, checks)| is_unhealthy(checks))
            .map(|(name, _)| name.as_str())
            .collect();
        assert_eq!((unhealthy, code), (vec!["mail", "wireguard"], Some(1)));
    });
}

#[test]
fn each_host_is_asked_in_the_way_that_it_states() {
    lan(|lan| {
        start_asked(lan);
        let (services, code) = verify(lan, "40s");
        assert_eq!(services.len(), 29);
        for (service, checks) in services.iter().filter(|(name, _)| *name != "pg-backup") {
            assert!(!checks.is_empty(), "{service} is not checked");
            assert!(checks.iter().all(|check| check.ends_with(": healthy")), "{service}: {checks:?}");
        }
        assert_eq!(services["pg-backup"], Vec::<String>::new(), "its only check is switched off");
        assert_eq!(code, Some(0));
        // Without sudo, nothing that needs root is known, and nothing is called unhealthy.
        put_program(lan, "remote/sudo", "echo 'sudo: a password is required' >&2; exit 1");
        let (services, code) = verify(lan, "8s");
        let is_unknown = |checks: &Vec<String>| checks.iter().any(|check| check.contains(": unknown"));
        let unknown: Vec<&str> =
            services.iter().filter(|(_, checks)| is_unknown(checks)).map(|(name, _)| name.as_str()).collect();
        let expected = "gluetun grafana immich immich-db jellyfin nextcloud paperless prometheus prowlarr qbittorrent radarr sonarr traefik";
        assert_eq!((unknown.join(" "), code), (expected.to_owned(), Some(0)));
    });
}

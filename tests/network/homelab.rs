//! The homelab of `tests/fixtures/homelab`, verified: real ssh, DNS, TLS and kubectl; stand-ins for the programs of its hosts.

use crate::cluster::{cluster, kubeconfig};
use crate::servers::{Authority, HEALTHY, https_at, serve_at};
use crate::support::{Lan, lan};
use crate::verify::programs::put_program;
use serde_json::{Value, json};
use std::collections::BTreeMap;

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

/// The states of the checks of each service, as `kind: state`, and the exit code.
fn verify(lan: &Lan) -> (BTreeMap<String, Vec<String>>, Option<i32>) {
    let mut command = lan.command(&["verify", "--all", "--json", "--grace", "1s", "--deadline", "60s"]);
    command.env("KUBECONFIG", lan.path("kubeconfig")).env("SSL_CERT_FILE", lan.path("ca.pem"));
    let ran = lan.run(&mut command);
    let json = ran.json();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let checks = |service: &Value| {
        let checks = service["checks"].as_array().unwrap().iter();
        checks.map(|check| format!("{}: {}", text(&check["kind"]), text(&check["state"]))).collect()
    };
    let services = json["services"].as_array().unwrap().iter();
    (services.map(|service| (text(&service["name"]), checks(service))).collect(), ran.exit_code)
}

#[test]
fn every_service_of_the_homelab_is_verified() {
    lan(|lan| {
        start(lan);
        let (services, code) = verify(lan);
        assert_eq!(services.len(), 25);
        for (service, checks) in &services {
            assert!(!checks.is_empty(), "{service} is not checked");
            assert!(checks.iter().all(|check| check.ends_with(": healthy")), "{service}: {checks:?}");
        }
        assert_eq!(code, Some(0));
        put_program(lan, "remote/wg", "echo 'Unable to access interface: No such device' >&2; exit 1");
        put_program(lan, "remote/pct", "echo 'status: stopped'");
        let (services, code) = verify(lan);
        let is_unhealthy = |checks: &Vec<String>| !checks.iter().all(|check| check.ends_with(": healthy"));
        let unhealthy: Vec<&str> = services
            .iter()
            .filter(|(_, checks)| is_unhealthy(checks))
            .map(|(name, _)| name.as_str())
            .collect();
        assert_eq!((unhealthy, code), (vec!["mail", "wireguard"], Some(1)));
    });
}

//! What engines, systemd, clusters, guests and own commands say, here and through ssh.

use crate::cluster::{cluster, kubeconfig};
use crate::servers::silent;
use crate::support::{Lan, Outcome, lan};
use serde_json::{Value, json};
use std::time::Duration;

/// A program on PATH that runs this shell script.
pub fn put_program(lan: &Lan, name: &str, behaviour: &str) {
    lan.write(&format!("bin/{name}"), &format!("#!/bin/sh\n{behaviour}\n"));
    lan.sh(&format!("chmod +x bin/{name}"));
}

/// The state of service `x`, checked with a program that behaves like this.
fn state_with(lan: &Lan, program: &str, behaviour: &str) -> String {
    put_program(lan, program, behaviour);
    let ran = lan.opsctl(&["verify", "x", "--json", "--grace", "1s"]);
    ran.json()["services"][0]["checks"][0]["state"].as_str().unwrap().to_owned()
}

#[test]
fn a_container_is_what_its_engine_says() {
    lan(|lan| {
        lan.write("hosts.yaml", "services: {x: {containers: [web]}}");
        let outcome =
            |behaviour: &str| state_with(lan, "docker", &format!("echo \"$@\" >> asked; {behaviour}"));
        assert_eq!(outcome("echo 'Up 2 minutes (healthy)'"), "healthy");
        assert_eq!(outcome("echo 'Up 2 minutes (unhealthy)'"), "unhealthy");
        assert_eq!(outcome("echo 'Exited (1) 3 seconds ago'"), "not_running");
        assert_eq!(outcome("exit 0"), "missing");
        assert_eq!(outcome("case $* in *compose.service=web*) echo 'Up 1 second';; esac"), "healthy");
        assert_eq!(
            outcome("case $* in *compose.service=web*) echo 'Up 1 second'; echo Created;; esac"),
            "not_running"
        );
        assert_eq!(outcome("echo 'Is the docker daemon running?' >&2; exit 1"), "failed");
        assert_eq!(outcome("echo 'context \"lab\": context not found' >&2; exit 1"), "unknown");
        assert_eq!(outcome("while :; do echo 'Up 2 minutes'; done"), "unknown", "endless, and harmless");
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
            "x: not checked, its state is unknown\n  container web: unavailable, podman is not installed here; install `podman` on this machine, or state `ssh` of the host on which the service runs\n"
        );
    });
}

#[test]
fn a_unit_is_what_systemd_says() {
    lan(|lan| {
        lan.write("hosts.yaml", "services: {x: {units: [nginx]}}");
        let outcome = |behaviour: &str| state_with(lan, "systemctl", behaviour);
        assert_eq!(outcome("[ \"$*\" = 'is-active nginx' ] && echo active"), "healthy");
        assert_eq!(outcome("echo failed; exit 3"), "not_running");
        assert_eq!(outcome("echo activating; exit 3"), "starting");
        assert_eq!(outcome("echo 'System has not been booted with systemd' >&2; exit 1"), "unknown");
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
        assert_eq!((ran.exit_code, &check["state"]), (Some(0), &json!("unknown")), "{ran:?}");
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
fn a_workload_is_ready_when_the_cluster_reports_it() {
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
            (
                Some(0),
                Some(
                    "  workload deployment/db: unavailable, kubectl is not installed here; install `kubectl` on this machine, or state `ssh` of the host on which the service runs"
                )
            )
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

//! Hosts that are asked in their own way, through real ssh, and hosts that cannot be asked: what is unknown blocks no stop and
//! raises no alarm.

use super::programs::put_program;
use crate::support::{Lan, Outcome, lan};
use serde_json::{Value, json};

/// The address of the host, which is not the one of this machine.
const ADDRESS: &str = "192.0.2.7";

/// Starts the ssh server, which answers for the address of the host.
fn start(lan: &Lan) {
    lan.ssh_server();
    lan.sh("printf 'HostName 127.0.0.1\\nHostKeyAlias 127.0.0.1\\n' >> ssh/config");
}

/// One host `there` with these keys, reached through ssh, and these services on it.
fn inventory(lan: &Lan, host: &str, services: &str) {
    let user = lan.sh("id -un");
    let ssh = format!("{}@{ADDRESS}", user.trim());
    lan.write(
        "hosts.yaml",
        &format!(
            "hosts: {{there: {{address: {ADDRESS}, ssh: {ssh}, {host}}}}}\nservices: {services}\n\
             policy: {{verify: {{grace: 1s, attempts: 1, mode: command}}}}\n"
        ),
    );
}

/// The first check of service `x`: its state, its detail, its remedy, and the exit code of `opsctl verify`.
fn check(lan: &Lan) -> (String, String, String, i32) {
    let ran = lan.opsctl(&["verify", "x", "--json", "--grace", "1s"]);
    let check = &ran.json()["services"][0]["checks"][0];
    let text = |key: &str| check[key].as_str().unwrap_or_default().to_owned();
    (text("state"), text("detail"), text("remedy"), ran.exit_code.unwrap())
}

/// A session restarts `x` on its host.
fn restarts(lan: &Lan) {
    restarts_in_call("t1", lan);
}

fn restarts_in_call(id: &str, lan: &Lan) {
    let user = lan.sh("id -un");
    let command = format!("ssh {}@{ADDRESS} docker restart x", user.trim());
    for event in ["pre-tool-use", "post-tool-use"] {
        let input = json!({"session_id": "s1", "tool_use_id": id, "tool_name": "Bash", "tool_input": {"command": command}});
        assert_eq!(lan.hook(event, &input).exit_code, Some(0));
    }
}

fn stop(lan: &Lan) -> Outcome {
    lan.hook("stop", &json!({"session_id": "s1", "stop_hook_active": false}))
}

/// The events of verifications, as `level: message`.
fn events(lan: &Lan) -> Vec<String> {
    let found = lan.sh(
        "sqlite3 claudeops.db \"SELECT level || ': ' || message FROM events WHERE message LIKE '%after%' ORDER BY id\"",
    );
    found.lines().map(str::to_owned).collect()
}

fn critical_notices(lan: &Lan) -> String {
    lan.sh("sqlite3 claudeops.db \"SELECT count(*) FROM notices WHERE level = 'critical'\"").trim().to_owned()
}

/// A stop after a restart is allowed at once, and its event states why nothing was checked.
#[track_caller]
fn ends_without_alarm(lan: &Lan, why: &str) {
    restarts(lan);
    let ended = stop(lan);
    assert_eq!((ended.exit_code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    let events = events(lan);
    let event = events.last().unwrap_or_else(|| panic!("no event"));
    assert!(event.starts_with("info: Not verified after remediation: container x on "), "{events:?}");
    assert!(event.contains(why), "{events:?}");
    assert_eq!(critical_notices(lan), "0");
}

const SUDO: &str = "[ \"$1\" = -n ] || exit 9; shift; AS_ROOT=yes; export AS_ROOT; exec \"$@\"";

#[test]
fn a_host_without_docker_in_its_path_is_healthy_with_path_and_unknown_without() {
    lan(|lan| {
        start(lan);
        put_program(lan, "hidden/docker", "echo \"$*\" >> ../asked; echo 'Up 2 hours'");
        inventory(lan, "", "{x: {host: there}}");
        let (state, detail, remedy, code) = check(lan);
        assert_eq!((state.as_str(), code), ("unknown", 0), "{detail}");
        assert!(detail.starts_with("the host cannot run it: ") && detail.contains("not found"), "{detail}");
        assert_eq!(remedy, "install `docker`, or add the folder that contains it to `path` of host `there`");
        let shown = lan.opsctl(&["verify", "x"]).stdout;
        assert!(shown.starts_with("x: not checked, its state is unknown\n"), "{shown}");
        assert!(shown.contains(&remedy), "{shown}");
        let doctor = lan.opsctl(&["doctor"]).stdout;
        assert!(
            doctor.contains("1 of 1 not checked: x (container x on ") && doctor.contains(&remedy),
            "{doctor}"
        );
        ends_without_alarm(lan, &remedy);
        inventory(lan, &format!("path: [{}]", lan.path("bin/hidden").display()), "{x: {host: there}}");
        let (state, detail, remedy, code) = check(lan);
        assert_eq!((state.as_str(), remedy.as_str(), code), ("healthy", "", 0), "{detail}");
        assert_eq!(lan.sh("tail -n1 asked"), "ps --all --filter name=^x$ --format {{.Status}}\n");
        // It is ill there, and that is found.
        put_program(lan, "hidden/docker", "echo 'Exited (1) 3 seconds ago'");
        let (state, _, _, code) = check(lan);
        assert_eq!((state.as_str(), code), ("not_running", 1));
    });
}

#[test]
fn programs_run_as_root_where_the_host_states_sudo_and_a_refusal_is_unknown() {
    lan(|lan| {
        start(lan);
        let socket = "permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock";
        let guarded = format!("[ \"$AS_ROOT\" ] || {{ echo '{socket}' >&2; exit 1; }}; echo 'Up 2 hours'");
        put_program(lan, "remote/docker", &guarded);
        put_program(lan, "remote/sudo", SUDO);
        inventory(lan, "", "{x: {host: there}}");
        let (state, detail, remedy, code) = check(lan);
        assert_eq!((state.as_str(), code), ("unknown", 0), "{detail}");
        assert_eq!(remedy, "write `sudo: true` for host `there`, or add the user to the group of the socket");
        inventory(lan, "sudo: true", "{x: {host: there}}");
        assert_eq!(check(lan).0, "healthy");
        // With folders, too: sudo gets the program that they contain.
        lan.sh("mkdir bin/hidden && mv bin/remote/docker bin/hidden/docker");
        let folder = lan.path("bin/hidden");
        inventory(lan, &format!("sudo: true, path: [{}]", folder.display()), "{x: {host: there}}");
        assert_eq!(check(lan).0, "healthy");
        put_program(lan, "remote/sudo", "echo 'sudo: a password is required' >&2; exit 1");
        let (state, detail, remedy, code) = check(lan);
        assert_eq!((state.as_str(), code), ("unknown", 0), "{detail}");
        assert_eq!(detail, "sudo does not run it: sudo: a password is required");
        assert_eq!(remedy, "allow `docker` to the user in sudoers with `NOPASSWD:`");
        ends_without_alarm(lan, "a password is required");
    });
}

#[test]
fn a_k3s_node_is_asked_with_its_own_kubectl() {
    lan(|lan| {
        start(lan);
        // The columns of a deployment with two replicas.
        let columns = "Deployment 2 2 2 2 2 <none> <none> <none> <none> <none> <none> <none> <none> <none>";
        put_program(
            lan,
            "remote/k3s",
            &format!("[ \"$1 $2 $AS_ROOT\" = 'kubectl get yes' ] || exit 1; echo '{columns}'"),
        );
        put_program(lan, "remote/sudo", SUDO);
        let services = "{x: {host: there, workloads: [media/deployment/jellyfin]}}";
        inventory(lan, "sudo: true, kubectl: k3s kubectl", services);
        let (state, detail, _, code) = check(lan);
        assert_eq!((state.as_str(), detail.as_str(), code), ("healthy", "2 of 2 replicas are ready", 0));
        put_program(lan, "remote/kubectl", "echo 'error: no configuration has been provided' >&2; exit 1");
        inventory(lan, "", services);
        let (state, detail, remedy, code) = check(lan);
        assert_eq!((state.as_str(), code), ("unknown", 0), "{detail}");
        assert!(remedy.contains("`kubectl` of host `there`, such as `k3s kubectl`"), "{remedy}");
    });
}

#[test]
fn units_of_the_user_are_asked_of_its_systemd() {
    lan(|lan| {
        start(lan);
        let of_user = "case \"$1 $2 $3\" in
             '--user is-active x') [ \"$XDG_RUNTIME_DIR\" = \"/run/user/$(id -u)\" ] || { echo 'Failed to connect to bus: No medium found' >&2; exit 1; }; echo active ;;
             'is-active wg ') echo active ;;
             *) echo inactive; exit 3 ;;
         esac";
        put_program(lan, "remote/systemctl", of_user);
        inventory(lan, "units: user", "{x: {host: there, units: [x]}}");
        let (state, detail, _, code) = check(lan);
        assert_eq!((state.as_str(), code), ("healthy", 0), "{detail}");
        inventory(lan, "units: user", "{x: {host: there, units: [wg]}}");
        assert_eq!(check(lan).0, "healthy", "a unit of the system on the same host");
        inventory(lan, "units: user", "{x: {host: there, units: [gone]}}");
        let (state, _, _, code) = check(lan);
        assert_eq!((state.as_str(), code), ("not_running", 1));
        put_program(lan, "remote/systemctl", "echo 'Failed to connect to bus: No medium found' >&2; exit 1");
        let (state, _, remedy, code) = check(lan);
        assert_eq!((state.as_str(), code), ("unknown", 0));
        assert!(remedy.contains("`loginctl enable-linger`"), "{remedy}");
    });
}

#[test]
fn a_host_that_ssh_cannot_enter_blocks_no_stop() {
    lan(|lan| {
        start(lan);
        put_program(lan, "remote/docker", "echo 'Up 2 hours'");
        inventory(lan, "", "{x: {host: there}}");
        assert_eq!(check(lan).0, "healthy");
        lan.sh("mv ssh/known_hosts ssh/kept");
        let (state, detail, remedy, code) = check(lan);
        assert_eq!((state.as_str(), code), ("unknown", 0), "{detail}");
        assert!(
            detail.contains("Host key verification failed") && remedy.contains("known_hosts"),
            "{remedy}"
        );
        lan.sh("mv ssh/kept ssh/known_hosts; : > ssh/authorized_keys");
        let (state, detail, remedy, code) = check(lan);
        assert_eq!((state.as_str(), code), ("unknown", 0), "{detail}");
        assert!(remedy.starts_with("authorize the key of the user that runs opsctl"), "{remedy}");
        lan.sh("printf 'Port 1\\n' >> ssh/config");
        let (state, detail, remedy, code) = check(lan);
        assert_eq!((state.as_str(), code), ("unknown", 0), "{detail}");
        assert!(detail.contains("Connection refused"), "{detail}");
        assert!(remedy.starts_with("check that the host is up"), "{remedy}");
        ends_without_alarm(lan, "Connection refused");
    });
}

#[test]
fn a_service_that_is_really_ill_blocks_the_stop_and_raises_an_alarm() {
    lan(|lan| {
        start(lan);
        put_program(lan, "remote/docker", "echo 'Exited (1) 3 seconds ago'");
        inventory(lan, "", "{x: {host: there, containers: [x], guests: [qm/101]}}");
        restarts(lan);
        let blocked = stop(lan);
        assert_eq!(blocked.exit_code, Some(2), "{blocked:?}");
        let lines: Vec<&str> = blocked.stderr.lines().collect();
        assert!(lines[1] == "Service x still unhealthy:" && lines[2].contains("not_running"), "{blocked:?}");
        // What is unknown is listed with its remedy, and is not the reason.
        assert!(lines[3].starts_with("Service x not checked, which does not block the stop"), "{blocked:?}");
        assert!(
            lines[4].starts_with("- guest qm/101 on ") && lines[4].contains("`path` of host `there`"),
            "{blocked:?}"
        );
        assert_eq!(stop(lan).exit_code, Some(0));
        assert_eq!(critical_notices(lan), "1");
        // An engine whose daemon does not run has no container that runs.
        put_program(
            lan,
            "remote/docker",
            "echo 'Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?' >&2; exit 1",
        );
        let (state, _, _, code) = check(lan);
        assert_eq!((state.as_str(), code), ("failed", 1));
    });
}

#[test]
fn a_service_is_asked_on_the_host_where_the_session_acted_on_it() {
    lan(|lan| {
        start(lan);
        put_program(lan, "remote/docker", "echo 'Exited (1) 3 seconds ago'");
        let user = lan.sh("id -un");
        let other = format!("}}, other: {{address: 192.0.2.8, ssh: {}@192.0.2.8", user.trim());
        // Another container of this name, on a host that does not run the service.
        inventory(lan, &format!("sudo: false{other}"), "{x: {host: other}}");
        restarts(lan);
        let ended = stop(lan);
        assert_eq!(ended.exit_code, Some(0), "{ended:?}");
        let expected =
            "info: Not verified after remediation: hosts.yaml lists `x` for other hosts than there";
        assert_eq!(events(lan).last().map(String::as_str), Some(expected));
        // A service that states no host is asked there, and is ill.
        inventory(lan, "", "{x: {}}");
        restarts_in_call("t2", lan);
        let ran = lan.opsctl(&["verify", "--session", "s1", "--json", "--grace", "1s"]);
        let check = &ran.json()["services"][0]["checks"][0];
        assert_eq!((&check["state"], ran.exit_code), (&json!("not_running"), Some(1)), "{ran:?}");
        assert!(check["target"].as_str().unwrap().contains(ADDRESS), "{check}");
    });
}

#[test]
fn several_names_of_a_container_are_alternatives() {
    lan(|lan| {
        start(lan);
        let docker = |of_names: &str| {
            put_program(lan, "remote/docker", &format!("case $* in {of_names} esac"));
        };
        inventory(lan, "", "{x: {host: there, containers: [jellyfin, jellyfin-app]}}");
        let up = |name: &str| format!("*'name=^{name}$'*) echo 'Up 2 hours';;");
        let exited = |name: &str| format!("*'name=^{name}$'*) echo 'Exited (1) 2 hours ago';;");
        docker(&up("jellyfin-app"));
        let (state, detail, _, code) = check(lan);
        assert_eq!(
            (state.as_str(), detail.as_str(), code),
            ("healthy", "jellyfin-app: it is \"Up 2 hours\"", 0)
        );
        docker("*compose.service=jellyfin\\ *) echo 'Up 1 hour';;");
        assert_eq!(check(lan).0, "healthy", "the name of a compose service");
        docker("");
        let (state, detail, _, code) = check(lan);
        assert_eq!((state.as_str(), code), ("missing", 1), "{detail}");
        // Two containers that exist are parts of the service, and both have to run.
        docker(&format!("{} {}", up("jellyfin"), exited("jellyfin-app")));
        let (state, detail, _, code) = check(lan);
        assert_eq!((state.as_str(), code), ("not_running", 1));
        assert_eq!(detail, "jellyfin-app: it is \"Exited (1) 2 hours ago\"");
    });
}

#[test]
fn what_needs_a_restarted_service_is_verified_and_may_still_be_starting() {
    lan(|lan| {
        start(lan);
        let services = "{x: {host: there}, torrent: {host: there, needs: x}, other: {host: there}}";
        let docker = |torrent: &str| {
            let rows = format!("*'=^x$'*) echo 'Up 1 second';; *'=^torrent$'*) echo '{torrent}';;");
            put_program(lan, "remote/docker", &format!("case $* in {rows} esac"));
        };
        inventory(lan, "", services);
        docker("Up 1 second (health: starting)");
        restarts(lan);
        let states = || -> Vec<(String, Value)> {
            let json = lan.opsctl(&["verify", "--session", "s1", "--json", "--grace", "1s"]).json();
            let services = json["services"].as_array().unwrap().iter();
            let state = |one: &Value| (one["name"].as_str().unwrap().to_owned(), one["healthy"].clone());
            services.map(state).collect()
        };
        assert_eq!(states(), [("x".to_owned(), json!(true)), ("torrent".to_owned(), Value::Null)]);
        assert_eq!(stop(lan).exit_code, Some(0));
        assert_eq!(critical_notices(lan), "0");
        docker("Exited (1) 1 second ago");
        assert_eq!(states()[1], ("torrent".to_owned(), json!(false)), "it has not come back");
    });
}

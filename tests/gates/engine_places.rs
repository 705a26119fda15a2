//! The gate before container engines: where the files of a container are, and who reaches the guard or an engine through one.

use crate::fake_engine::{Gated, id_of};

const LS: &str = r#"{"Cmd": ["ls", "/tmp"], "AttachStdout": true}"#;

fn exec(gated: &Gated, name: &str, body: &str) -> (u16, String) {
    gated.ask("POST", &format!("/v1.41/containers/{name}/exec"), body)
}

fn archive(gated: &Gated, method: &str, name: &str, path: &str) -> (u16, String) {
    gated.ask(method, &format!("/v1.41/containers/{name}/archive?path={path}"), "")
}

#[test]
fn containers_with_a_folder_around_or_within_the_guards_are_closed() {
    let (gated, engine) = Gated::in_container(3);
    for name in ["above", "within", "byname", "rootfs"] {
        for (status, answer) in [
            exec(&gated, name, LS),
            archive(&gated, "GET", name, "/tmp/a.txt"),
            archive(&gated, "PUT", name, "/tmp"),
            gated.ask("POST", &format!("/v1.41/containers/{name}/attach?stdout=1&stream=1&stdin=0"), ""),
        ] {
            let is_closed = answer.contains("guard") || answer.contains("container engine");
            assert!(status == 403 && is_closed, "{name}: {status} {answer}");
        }
    }
    assert_eq!(exec(&gated, "k1", LS).0, 201);
    assert_eq!(archive(&gated, "GET", "k1", "/tmp/a.txt").0, 200);
    // What contains a folder of the guard is a service as others.
    assert_eq!(gated.ask("POST", "/v1.41/containers/above/restart", "").0, 204);
    assert_eq!(gated.ask("POST", "/v1.41/containers/within/restart", "").0, 403);
    assert_eq!((engine.count("POST", "/exec"), engine.count("PUT", "/archive")), (1, 0));
}

#[test]
fn containers_that_reach_an_engine_run_no_commands() {
    let (gated, engine) = Gated::before_fake(3, &[]);
    for name in ["sock", "sockdir", "rootfs", "client"] {
        for (status, answer) in [
            exec(&gated, name, LS),
            archive(&gated, "GET", name, "/tmp/a.txt"),
            gated.ask("POST", &format!("/v1.41/containers/{name}/attach?stdout=1&stream=1&stdin=0"), ""),
        ] {
            assert!(status == 403 && answer.contains("container engine"), "{name}: {status} {answer}");
        }
    }
    let text = r#"{"Cmd": ["env", "LC_ALL=zh_CN.gbk", "bash", "-c", "echo 你"]}"#;
    let (status, answer) = exec(&gated, "k1", text);
    assert!(status == 403 && answer.contains("variable of the locale"), "{status} {answer}");
    assert_eq!(gated.ask("POST", "/v1.41/containers/sock/restart", "").0, 204);
    assert_eq!(gated.ask("GET", "/v1.41/containers/sock/json", "").0, 200);
    assert_eq!(engine.count("POST", "/exec") + engine.count("GET", "/archive"), 0);
}

#[test]
fn volumes_are_judged_by_the_folder_of_the_host_that_they_are() {
    let (gated, engine) = Gated::before_fake(1, &[]);
    gated.policy("secret: [/opt/keys/**]");
    for (name, path, reason) in [
        ("has-engine", "/vol/a.txt", "container engine"),
        ("has-keys", "/vol/a.txt", "Secret"),
        ("has-disk", "/vol/opt/keys/a.txt", "Secret"),
        ("has-plugin", "/vol/opt/keys/a.txt", "Secret"),
        ("has-gone", "/vol/opt/keys/a.txt", "Secret"),
    ] {
        let cat = format!(r#"{{"Cmd": ["cat", "{path}"]}}"#);
        for (status, answer) in [exec(&gated, name, &cat), archive(&gated, "GET", name, path)] {
            assert!(status == 403 && answer.contains(reason), "{name}: {status} {answer}");
        }
    }
    // What is not known may lead to an engine.
    let curl = r#"{"Cmd": ["curl", "--unix-socket", "/vol/run/docker.sock", "http://x/info"]}"#;
    for name in ["has-disk", "has-plugin", "has-gone"] {
        let (status, answer) = exec(&gated, name, curl);
        assert!(status == 403 && answer.contains("of its host"), "{name}: {status} {answer}");
        assert_eq!(exec(&gated, name, LS).0, 201, "{name}");
    }
    for name in ["has-keys", "has-films"] {
        assert_eq!(exec(&gated, name, r#"{"Cmd": ["cat", "/plain/a.txt"]}"#).0, 201, "{name}");
        assert_eq!(archive(&gated, "GET", name, "/plain/a.txt").0, 200, "{name}");
    }
    assert_eq!(exec(&gated, "has-films", r#"{"Cmd": ["tail", "/vol/a.txt"]}"#).0, 201);
    assert_eq!(engine.count("GET", "/archive"), 2);
}

#[test]
fn volumes_are_asked_for_only_where_their_source_matters() {
    let (gated, engine) = Gated::before_fake(2, &[]);
    for name in ["has-films", "has-plugin", "has-gone", "has-engine"] {
        assert_eq!(gated.ask("POST", &format!("/v1.41/containers/{name}/restart"), "").0, 204, "{name}");
        assert_eq!(gated.ask("GET", &format!("/v1.41/containers/{name}/json"), "").0, 200, "{name}");
    }
    let asked = || {
        let received = engine.received.lock().unwrap();
        received.iter().filter(|own| own.target.contains("/volumes/")).count()
    };
    assert_eq!(asked(), 0);
    assert_eq!(exec(&gated, "has-films", LS).0, 201);
    assert_eq!(asked(), 2);
    assert_eq!(exec(&gated, "k1", LS).0, 201);
    assert_eq!(asked(), 2);
}

#[test]
fn volumes_that_are_folders_of_the_guard_are_closed() {
    let (gated, engine) = Gated::in_container(3);
    for (name, restarts) in [("has-around", true), ("has-inner", false), ("has-plugin", true)] {
        for (status, answer) in [
            exec(&gated, name, LS),
            archive(&gated, "GET", name, "/plain/a.txt"),
            archive(&gated, "PUT", name, "/plain"),
            gated.ask("POST", &format!("/v1.41/containers/{name}/attach?stdout=1&stream=1&stdin=0"), ""),
        ] {
            assert!(status == 403 && answer.contains("guard"), "{name}: {status} {answer}");
        }
        let status = gated.ask("POST", &format!("/v1.41/containers/{name}/restart"), "").0;
        assert_eq!(status == 204, restarts, "{name}: {status}");
    }
    assert_eq!(exec(&gated, "has-films", LS).0, 201);
    // A service gets none, either.
    let body = r#"{"Image": "base:1", "Cmd": ["ls"], "HostConfig": {"Binds": ["inner:/x"]}}"#;
    let (status, answer) = gated.ask("POST", "/v1.41/containers/create?name=media_database", body);
    assert_eq!(status, 403, "{answer}");
    assert_eq!((engine.count("POST", "/exec"), engine.count("POST", "/create")), (1, 0));
}

#[test]
fn first_request_does_not_decide_which_container_is_the_guards() {
    let (gated, engine) = Gated::in_container(3);
    assert_eq!(gated.ask("GET", "/v4.0.0/libpod/info", "").0, 404);
    for (method, target) in [
        ("POST", "/v1.41/containers/k0/restart"),
        ("GET", "/v1.41/containers/k0/archive?path=/state/a.txt"),
        ("POST", "/v1.41/containers/within/restart"),
    ] {
        let (status, answer) = gated.ask(method, target, "");
        assert!(status == 403 && answer.contains("guard"), "{target}: {status} {answer}");
    }
    assert_eq!(engine.count("POST", "/restart"), 0);
}

#[test]
fn containers_that_share_namespaces_of_their_host_run_only_known_readers() {
    let (gated, engine) = Gated::before_fake(1, &[]);
    for name in ["pidhost", "disks", "privileged"] {
        for command in [
            r#""nsenter", "-t", "1", "-m", "--", "docker", "inspect", "guard""#,
            r#""chroot", "/proc/1/root", "docker", "inspect", "guard""#,
            r#""docker", "inspect", "guard""#,
            r#""nc", "-U", "/proc/1/root/run/docker.sock""#,
            r#""curl", "http://127.0.0.1:2375/containers/guard/json""#,
            r#""crictl", "inspect", "x""#,
            r#""ls", "-la", "/proc/1/root/home/guard/.ssh""#,
            r#""sh", "-c", "ls /proc/1/root/home""#,
            r#""debugfs", "-R", "ls", "/dev/sda1""#,
        ] {
            let (status, answer) = exec(&gated, name, &format!(r#"{{"Cmd": [{command}]}}"#));
            assert!(status == 403 && answer.contains("of its host"), "{name} {command}: {status} {answer}");
        }
        let (status, answer) = exec(&gated, name, r#"{"Cmd": ["ls"], "WorkingDir": "/proc/1/root"}"#);
        assert!(status == 403 && answer.contains("of its host"), "{name}: {status} {answer}");
        let (status, answer) = archive(&gated, "GET", name, "/proc/1/root/etc/motd.txt");
        assert!(status == 403 && answer.contains("of its host"), "{name}: {status} {answer}");
        for command in [
            r#""cat", "/etc/os-release""#,
            r#""cat", "/proc/meminfo""#,
            r#""node_exporter", "--version""#,
            r#""sh", "-c", "ls /tmp | head -3""#,
        ] {
            let (status, answer) = exec(&gated, name, &format!(r#"{{"Cmd": [{command}]}}"#));
            let is_known = !command.contains("node_exporter");
            assert!(
                status == 201 || !is_known && !answer.contains("of its host"),
                "{name} {command}: {answer}"
            );
        }
        let (status, answer) = archive(&gated, "GET", name, "/tmp/a.txt");
        assert_eq!(status, 200, "{name}: {answer}");
    }
    let (status, _) = exec(&gated, "nethost", r#"{"Cmd": ["curl", "http://127.0.0.1:2375/info"]}"#);
    assert_eq!(status, 403);
    let (status, answer) = exec(&gated, "nethost", r#"{"Cmd": ["cat", "/proc/1/status"]}"#);
    assert_eq!(status, 201, "{answer}");
    assert_eq!(engine.count("PUT", "/archive"), 0);
}

#[test]
fn nothing_is_copied_into_a_container_with_rights_or_mounts_of_its_host() {
    let (gated, engine) = Gated::before_fake(3, &[]);
    for name in ["pidhost", "disks", "privileged"] {
        let (status, answer) = archive(&gated, "PUT", name, "/tmp");
        assert!(status == 403 && answer.contains("of its host"), "{name}: {status} {answer}");
    }
    for name in ["nethost", "has-films"] {
        let (status, answer) = archive(&gated, "PUT", name, "/tmp");
        assert!(status == 403 && answer.contains("an archive may have links"), "{name}: {status} {answer}");
    }
    assert_eq!(engine.count("PUT", "/archive"), 0);
}

#[test]
fn a_folder_that_is_copied_out_is_read_as_a_whole() {
    let (gated, engine) = Gated::before_fake(1, &[]);
    for path in
        ["/opt/thing", "/", "/opt", "/opt/thing/.", "/host", "/opt/../run", "/opt/link", "/opt/link/x.txt"]
    {
        let (status, answer) = archive(&gated, "GET", "k1", path);
        assert!(status == 403 || path.contains("..") && status == 400, "{path}: {status} {answer}");
    }
    assert_eq!(engine.count("GET", "/archive"), 0);
    for path in ["/opt/thing.txt", "/opt/thing.txt/.", "/usr/share/doc", "/etc/os.conf"] {
        let (status, answer) = archive(&gated, "GET", "k1", path);
        assert_eq!(status, 200, "{path}: {answer}");
    }
    // A name that is no path begins at the root for the engine, too.
    assert_eq!(archive(&gated, "GET", "k1", "opt/thing.txt").0, 200);
    let received = engine.received.lock().unwrap();
    let last = received.last().unwrap();
    assert_eq!(last.target, format!("/v1.41/containers/{}/archive?path=%2Fopt%2Fthing.txt", id_of("k1")));
}

#[test]
fn files_of_a_container_are_those_of_its_mounts() {
    let (gated, engine) = Gated::before_fake(1, &[]);
    gated.policy("secret: [/opt/keys/**]");
    for path in ["/config/a.txt", "/host/proc/1/environ", "/host/proc/1/root/etc/motd.txt"] {
        let (status, answer) = archive(&gated, "GET", "apart", path);
        assert!(status == 403 && answer.contains("Secret"), "{path}: {status} {answer}");
    }
    for command in [
        r#""cat", "/config/a.txt""#,
        r#""sh", "-c", "cd /config; cat a.txt""#,
        r#""cat", "a.txt""#,
        r#""head", "-c5", "/host/proc/7/environ""#,
        r#""cat", "/host/proc/7/root/run/x.txt""#,
    ] {
        let (status, answer) = exec(&gated, "apart", &format!(r#"{{"Cmd": [{command}]}}"#));
        assert!(status == 403 && answer.contains("Secret"), "{command}: {status} {answer}");
    }
    for command in
        [r#""cat", "/host/proc/meminfo""#, r#""cat", "/configuration/a.txt""#, r#""ls", "/config""#]
    {
        let (status, answer) = exec(&gated, "apart", &format!(r#"{{"Cmd": [{command}]}}"#));
        assert_eq!(status, 201, "{command}: {answer}");
    }
    assert_eq!(archive(&gated, "GET", "apart", "/host/proc/loadavg.txt").0, 200);
    assert_eq!(engine.count("GET", "/archive"), 1);
}

#[test]
fn registries_are_asked_by_name_only() {
    let (gated, engine) = Gated::before_fake(1, &[]);
    for target in [
        "/v1.41/distribution/127.0.0.1:5999/data/x/json",
        "/v1.41/distribution/10.0.0.9/data/x/json",
        "/v1.41/distribution/localhost/data/x/json",
        "/v1.41/distribution/registry.lan:5000/data/x/json",
        "/v1.41/images/search?term=127.0.0.1:5999/data",
        "/v1.41/images/search?term=localhost/data",
        "/v4.3.1/libpod/images/search?term=10.0.0.9/data",
    ] {
        let (status, answer) = gated.ask("GET", target, "");
        assert!(status == 403 && answer.contains("registry"), "{target}: {status} {answer}");
    }
    assert_eq!(engine.count("GET", "/search"), 0);
    for target in [
        "/v1.41/distribution/alpine/json",
        "/v1.41/distribution/ghcr.io/a/b/json",
        "/v1.41/images/search?term=alpine",
    ] {
        let (status, answer) = gated.ask("GET", target, "");
        assert_eq!(status, 200, "{target}: {answer}");
    }
    let hosts = gated.sandbox.read("hosts.yaml");
    gated.sandbox.write("hosts.yaml", &format!("hosts:\n  nas: {{address: 10.0.0.9}}\n{hosts}"));
    for target in ["/v1.41/distribution/10.0.0.9:5000/a/b/json", "/v1.41/distribution/nas:5000/a/b/json"] {
        let (status, answer) = gated.ask("GET", target, "");
        assert_eq!(status, 200, "{target}: {answer}");
    }
}

#[test]
fn variables_of_the_guard_are_removed_in_any_case() {
    let (gated, _engine) = Gated::in_container(1);
    gated.policy("redact_output: false");
    let (_, others) = gated.ask("GET", "/v1.41/containers/pg-prod/json", "");
    assert!(others.contains("adminPw=hunter3"), "{others}");
    let (status, own) = gated.ask("GET", "/v1.41/containers/k0/json", "");
    assert!(status == 200 && own.contains("DB_PASSWORD=[redacted]"), "{own}");
    assert!(!own.contains("hunter2hunter2"), "{own}");
}

#[test]
fn variables_pass_by_harmless_names_or_values_only() {
    let (gated, _engine) = Gated::before_fake(1, &[]);
    let (_, answer) = gated.ask("GET", "/v1.41/containers/pg-prod/json", "");
    assert!(!answer.contains("hunter"), "{answer}");
    for kept in [
        "SMTP_LOGIN=[redacted]",
        "DATABASE=[redacted]",
        "TZ=UTC",
        "LOG_LEVEL=info",
        "SIGNUPS_ALLOWED=false",
        "WORKERS=12",
        "LC_TIME=de_DE.UTF-8",
        "NGINX_VERSION=1.27.0",
    ] {
        assert!(answer.contains(kept), "{kept}: {answer}");
    }
}

//! The gate before container engines, with an engine that records what reaches it.

use std::io::{Read as _, Write as _};
use std::net::Shutdown;
use std::process::Stdio;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::fake_engine::{Gated, id_of, twin_of};
use crate::sandbox::passes;

const RESTARTS: &str = "SELECT count(*) FROM hook_actions WHERE service = 'database' AND counts";

fn restart(gated: &Gated, name: &str) -> (u16, String) {
    gated.ask("POST", &format!("/v1.41/containers/{name}/restart?t=0"), "")
}

#[test]
fn third_restart_is_refused_in_every_spelling() {
    let (gated, engine) = Gated::before_fake(2, &[]);
    assert_eq!(restart(&gated, "media_database").0, 204);
    assert_eq!(restart(&gated, &id_of("media_database")[..5]).0, 204);
    let id = id_of("media_database");
    for name in ["media_database", &id, &id[..12], &id[..5], "%6dedia_database", "media%5Fdatabase"] {
        let (status, answer) = restart(&gated, name);
        assert_eq!(status, 403, "{name}: {answer}");
        assert!(answer.starts_with("{\"message\":\"Cooldown limit exceeded for database: 2/2"), "{answer}");
    }
    for (method, target) in [
        ("POST", "/containers/media_database/restart"),
        ("POST", "/v1.44/containers/media_database/stop"),
        ("POST", "/v1.41/containers/media_database/kill?signal=KILL"),
        ("POST", "/v1.41/containers/media_database/pause"),
        ("DELETE", "/v1.41/containers/media_database?force=1"),
        ("POST", "/v4.3.1/libpod/containers/media_database/restart?timeout=1"),
    ] {
        let (status, answer) = gated.ask(method, target, "");
        assert_eq!(status, 403, "{target}: {answer}");
        assert_eq!(answer.contains("\"cause\""), target.contains("libpod"), "{answer}");
    }
    // Several in one write: each is judged.
    let one = "POST /containers/media_database/restart HTTP/1.1\r\nHost: x\r\n\r\n";
    let last = one.replace("Host: x", "Host: x\r\nConnection: close");
    let answer = gated.raw(format!("GET /_ping HTTP/1.1\r\nHost: x\r\n\r\n{one}{one}{last}").as_bytes());
    assert_eq!(answer.matches("HTTP/1.1 403").count(), 3, "{answer}");
    assert_eq!(engine.count("POST", "/restart"), 2);
    // What the engine got is the container that was judged.
    let received = engine.received.lock().unwrap();
    let acted: Vec<&str> =
        received.iter().filter(|own| own.method != "GET").map(|own| own.target.as_str()).collect();
    assert_eq!(acted, vec![format!("/v1.41/containers/{id}/restart?t=0"); 2]);
}

#[test]
fn two_hundred_clients_at_once_make_two_restarts() {
    let (gated, engine) = Gated::before_fake(2, &[]);
    let barrier = Barrier::new(200);
    let passed = std::thread::scope(|scope| {
        let ask = || {
            barrier.wait();
            restart(&gated, "media_database").0
        };
        let clients: Vec<_> = (0..200).map(|_| scope.spawn(ask)).collect();
        clients.into_iter().map(|client| client.join().unwrap()).filter(|status| *status == 204).count()
    });
    assert_eq!((passed, engine.count("POST", "/restart")), (2, 2));
    assert_eq!(gated.sandbox.sql(RESTARTS), "2");
}

#[test]
fn no_restart_passes_while_another_program_has_locked_the_ledger() {
    for on_failure in ["open", "closed"] {
        let (gated, engine) = Gated::before_fake(2, &[]);
        gated.policy(&format!("on_failure: {on_failure}"));
        assert_eq!(restart(&gated, "media_database").0, 204);
        while gated.sandbox.sql("SELECT count(*) FROM hook_actions WHERE state = 'reserved'") != "0" {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let (mut program, lock) = gated.sandbox.locking_program();
        let mut holder = program.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        holder.stdin.as_mut().unwrap().write_all(lock.as_bytes()).unwrap();
        holder.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        let (status, answer) = restart(&gated, "media_database");
        assert_eq!(status, 403, "{on_failure}: {answer}");
        assert!(answer.contains("cannot be counted now. Try again."), "{on_failure}: {answer}");
        assert_eq!(engine.count("POST", "/restart"), 1);
        drop(holder.stdin.take());
        holder.wait().unwrap();
        assert_eq!(restart(&gated, "media_database").0, 204, "{on_failure}");
        assert_eq!(restart(&gated, "media_database").0, 403, "{on_failure}");
    }
}

#[test]
fn call_that_a_hook_has_allowed_counts_once() {
    let (gated, engine) = Gated::before_fake(2, &[]);
    passes(&gated.sandbox.before("t1", "docker restart media_database"));
    assert_eq!(restart(&gated, "media_database").0, 204);
    passes(&gated.sandbox.after("t1", "docker restart media_database"));
    assert_eq!(gated.sandbox.sql(RESTARTS), "1");
    // A call of one hook covers one request.
    assert_eq!(restart(&gated, "media_database").0, 204);
    assert_eq!(restart(&gated, "media_database").0, 403);
    assert_eq!(engine.count("POST", "/restart"), 2);
}

#[test]
fn a_gate_that_is_ended_as_soon_as_its_socket_exists_exits_with_zero() {
    let (mut gated, _engine) = Gated::before_fake(2, &[]);
    gated.end();
    for _ in 0..40 {
        let _ = std::fs::remove_file(gated.socket());
        gated.begin();
        while !gated.socket().exists() {}
        assert_eq!(gated.end(), Some(0));
    }
}

#[test]
fn stop_and_start_of_a_call_count_once() {
    let (gated, _engine) = Gated::before_fake(2, &[]);
    passes(&gated.sandbox.before("t1", "docker restart media_database"));
    for _ in 0..2 {
        assert_eq!(gated.ask("POST", "/containers/media_database/stop", "").0, 204);
        assert_eq!(gated.ask("POST", "/containers/media_database/start", "").0, 204);
    }
    assert_eq!(gated.ask("POST", "/containers/media_database/stop", "").0, 403);
}

#[test]
fn variables_are_redacted_and_their_names_kept() {
    let (gated, _engine) = Gated::before_fake(1, &[]);
    let (status, answer) = gated.ask("GET", "/containers/media_database/json", "");
    assert_eq!(status, 200);
    assert!(answer.contains("DB_PASSWORD=[redacted]") && answer.contains("TZ=UTC"), "{answer}");
    assert!(!answer.contains("hunter2"), "{answer}");
    let (_, answer) = gated.ask("GET", "/containers/pg-prod/json", "");
    assert!(!answer.contains("hunter"), "{answer}");
    for kept in ["PASS=[redacted]", "TZ=UTC", r#""-a","[redacted]","ping""#, r#""-p[redacted]","ping""#] {
        assert!(answer.contains(kept), "{kept}: {answer}");
    }
}

#[test]
fn containers_with_rights_of_the_host_are_not_created() {
    let (gated, engine) = Gated::before_fake(2, &[]);
    let create = |config: &str| {
        let body = format!("{{\"Image\":\"base:1\",\"Cmd\":[\"ls\"],\"HostConfig\":{config}}}");
        gated.ask("POST", "/v1.41/containers/create", &body)
    };
    let made = create("{\"NetworkMode\":\"none\",\"Tmpfs\":{\"/data\":\"\"}}");
    assert_eq!(made.0, 201, "{}", made.1);
    for config in [
        "{\"Privileged\":true}",
        "{\"privileged\":true}",
        "{\"Privileged\":false,\"privileged\":true}",
        "{\"Binds\":[\"/srv:/x\"]}",
        "{\"Binds\":[\"/var/run/docker.sock:/x\"]}",
        "{\"Mounts\":[{\"Type\":\"volume\",\"type\":\"bind\",\"Source\":\"/\",\"Target\":\"/x\"}]}",
        "{\"PidMode\":\"host\"}",
        "{\"NetworkMode\":\"container:k0\"}",
        "{\"CapAdd\":[\"SYS_ADMIN\"]}",
        "{\"Devices\":[{\"PathOnHost\":\"/dev/sda\"}]}",
        "{\"SomethingNew\":1}",
        // A key with an equals sign, which would look like the type.
        "{\"Mounts\":[{\"Type=volume,a\":\"1\",\"Type\":\"bind\",\"Source\":\"/\",\"Target\":\"/x\"}]}",
        // Podman writes these texts into lists that it then splits.
        "{\"Mounts\":[{\"Type\":\"volume\",\"Source\":\"a,volume-opt=type=none,volume-opt=o=bind,volume-opt=device=/\",\"Target\":\"/x\"}]}",
        "{\"Binds\":[\"data:/x:O,upperdir=/root,workdir=/tmp\"]}",
        "{\"LogConfig\":{\"Type\":\"k8s-file\",\"Config\":{\"path\":\"/etc/cron.d/x\"}}}",
        "{\"Links\":[\"media_database:db\"]}",
        // These would give it the `/sys` of the host for writing.
        "{\"Tmpfs\":{\"/sys/\":\"remount\"}}",
        "{\"Tmpfs\":{\"/data\":\"remount,rw\"}}",
        "{\"Tmpfs\":{\"/sys//\":\"\"}}",
        "{\"Mounts\":[{\"Type\":\"tmpfs\",\"Target\":\"/proc/sys\"}]}",
    ] {
        let (status, answer) = create(config);
        assert_eq!(status, 403, "{config}: {answer}");
    }
    for more in ["\"Volumes\":{\"/:/x\":{}}", "\"Env\":[\"TOKEN\"]", "\"Env\":[\"TOK*\"]"] {
        let body = format!("{{\"Image\":\"base:1\",\"Cmd\":[\"ls\"],{more}}}");
        let (status, answer) = gated.ask("POST", "/v1.41/containers/create", &body);
        assert_eq!(status, 403, "{more}: {answer}");
    }
    for more in [
        "\"mounts\":[{\"destination\":\"/x,type=tmpfs\",\"type\":\"bind\",\"source\":\"/\"}]",
        "\"mounts\":[{\"destination\":\"/x\",\"type\":\"tmpfs\",\"source\":\"/\",\"options\":[\"bind\"]}]",
        "\"volumes\":[{\"Name\":\"a\",\"Dest\":\"/x\",\"Options\":[\"volume-opt=device=/\"]}]",
        "\"annotations\":{\"run.oci.hooks.stdout\":\"/root/x\"}",
        "\"mounts\":[{\"destination\":\"/x\",\"type\":\"tmpfs\",\"options\":[\"size=1,bind\"]}]",
        "\"mounts\":[{\"destination\":\"/x\",\"type\":\"tmpfs\",\"options\":[\"remount\"]}]",
        "\"mounts\":[{\"destination\":\"/sys\",\"type\":\"tmpfs\"}]",
    ] {
        let body = format!("{{\"image\":\"base:1\",\"command\":[\"ls\"],{more}}}");
        let (status, answer) = gated.ask("POST", "/v4.3.1/libpod/containers/create", &body);
        assert_eq!(status, 403, "{more}: {answer}");
    }
    // What the gate does not know is not forwarded, even if it is empty: here it would take the masks of `/proc` away.
    let body = "{\"Image\":\"base:1\",\"Cmd\":[\"ls\"],\"hostconfig\":{\"maskedpaths\":[]}}";
    assert_eq!(gated.ask("POST", "/v1.41/containers/create", body).0, 201);
    let last = engine.received.lock().unwrap().last().unwrap().clone();
    assert_eq!(String::from_utf8(last.body).unwrap(), "{\"Image\":\"base:1\",\"Cmd\":[\"ls\"]}");
    // A form in the body would add parameters.
    let form = "POST /containers/k0/kill?signal=HUP HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\
        Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 11\r\n\r\nsignal=KILL";
    assert!(gated.raw(form.as_bytes()).starts_with("HTTP/1.1 415"));
    let build = form
        .replace("/containers/k0/kill?signal=HUP", "/build?t=x")
        .replace("urlencoded", "urlencoded; a=\u{e9}");
    assert!(gated.raw(build.as_bytes()).starts_with("HTTP/1.1 415"));
    assert_eq!(engine.count("POST", "/build"), 0);
    assert_eq!(engine.count("POST", "/create"), 2);
    assert_eq!(engine.count("POST", "/kill"), 0);
}

#[test]
fn podman_passes_no_proxy_of_its_own_to_a_container() {
    let (gated, engine) = Gated::before_fake(2, &[]);
    for stated in ["", ",\"httpproxy\":true"] {
        let body = format!("{{\"image\":\"base:1\",\"command\":[\"ls\"]{stated}}}");
        assert_eq!(gated.ask("POST", "/v4.3.1/libpod/containers/create", &body).0, 201);
        let last = engine.received.lock().unwrap().last().unwrap().clone();
        let body: serde_json::Value = serde_json::from_slice(&last.body).unwrap();
        assert_eq!(body["httpproxy"], json!(false), "{stated}");
    }
}

#[test]
fn words_that_are_no_text_are_refused() {
    let (gated, engine) = Gated::before_fake(2, &[]);
    for (target, body) in [
        (
            "/v1.41/containers/k0/exec",
            r#"{"Cmd":["sh","-c","case \"$1\" in null) ls;; *) id;; esac","x",null]}"#,
        ),
        ("/v1.41/containers/k0/exec", r#"{"Cmd":["ls",1]}"#),
        ("/v1.41/containers/k0/exec", r#"{"Cmd":["ls"],"Env":["A=b",null]}"#),
        ("/v1.41/containers/create", r#"{"Image":"base:1","Cmd":["ls",null]}"#),
        ("/v1.41/containers/create", r#"{"Image":"base:1","Cmd":["ls",["x"]]}"#),
        ("/v1.41/containers/create", r#"{"Image":"base:1","Entrypoint":["ls",null]}"#),
        ("/v1.41/containers/create", r#"{"Image":"base:1","Cmd":["ls",{"a":"b"}]}"#),
        ("/v4.3.1/libpod/containers/create", r#"{"image":"base:1","command":["ls",null]}"#),
        ("/v4.3.1/libpod/containers/create", r#"{"image":"base:1","entrypoint":["ls",true]}"#),
    ] {
        let (status, answer) = gated.ask("POST", target, body);
        assert!(status == 403 && answer.contains("is no text"), "{body}: {status} {answer}");
    }
    assert_eq!(engine.count("POST", "/exec") + engine.count("POST", "/create"), 0);
}

/// A body with a further entry, or another value of one.
fn body(text: &str, entry: &str) -> String {
    let mut body: serde_json::Value = serde_json::from_str(text).unwrap();
    let more: serde_json::Value = serde_json::from_str(&format!("{{{entry}}}")).unwrap();
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body.to_string()
}

#[test]
fn an_unlisted_container_gets_nothing_of_others() {
    let (gated, engine) = Gated::before_fake(2, &[]);
    let (docker, podman) = ("/v1.41/containers/create?name=db", "/v4.3.1/libpod/containers/create");
    for more in [
        r#""HostConfig":{"Binds":["dbdata:/tmp"]}"#,
        r#""HostConfig":{"Mounts":[{"Type":"volume","Source":"dbdata","Target":"/tmp"}]}"#,
        r#""HostConfig":{"PortBindings":{"80/tcp":[{"HostPort":"22"}]}}"#,
        r#""HostConfig":{"PublishAllPorts":true}"#,
        r#""HostConfig":{"NetworkMode":"media"}"#,
        r#""NetworkingConfig":{"EndpointsConfig":{"media":{}}}"#,
        r#""NetworkingConfig":{"EndpointsConfig":{"bridge":{"Aliases":["db"]}}}"#,
        r#""NetworkingConfig":{"EndpointsConfig":{"bridge":{"IPAMConfig":{"IPv4Address":"10.0.0.9"}}}}"#,
        r#""MacAddress":"02:00:00:00:00:01""#,
        r#""Env":["LD_PRELOAD=/x/evil.so"]"#,
        r#""Hostname":"db""#,
        r#""Domainname":"lan""#,
        r#""Labels":{"traefik.http.routers.x.rule":"Host(`vault.lan`)"}"#,
        // The command of the image is `sh`, which is not read.
        r#""Cmd":null"#,
    ] {
        let (status, answer) =
            gated.ask("POST", docker, &body(r#"{"Image":"base:1","Cmd":["sleep","9"]}"#, more));
        assert_eq!(status, 403, "{more}: {answer}");
    }
    for more in [
        r#""volumes":[{"Name":"dbdata","Dest":"/tmp"}]"#,
        r#""portmappings":[{"container_port":80,"host_port":22}]"#,
        r#""publish_image_ports":true"#,
        r#""Networks":{"media":{}}"#,
        r#""Networks":{"default":{"aliases":["db"]}}"#,
        r#""Networks":{"default":{"static_ips":["10.0.0.9"]}}"#,
        r#""env":{"LD_PRELOAD":"/x/evil.so"}"#,
        r#""hostname":"db""#,
        r#""labels":{"ofelia.job-local.x.command":"reboot"}"#,
        r#""command":[]"#,
    ] {
        let (status, answer) =
            gated.ask("POST", podman, &body(r#"{"image":"base:1","command":["sleep","9"]}"#, more));
        assert_eq!(status, 403, "{more}: {answer}");
    }
    assert_eq!(engine.count("POST", "/create"), 0);
    let plain = r#"{"Image":"base:1","Cmd":["sleep","9"],"Env":["TZ=UTC"],"Labels":{"com.docker.compose.project":"web"},"Volumes":{"/data":{}},"HostConfig":{"NetworkMode":"none","PortBindings":{}},"NetworkingConfig":{"EndpointsConfig":{"none":{"Aliases":null}}}}"#;
    let (status, answer) = gated.ask("POST", docker, plain);
    assert_eq!(status, 201, "{answer}");
    let plain = r#"{"image":"base:1","command":["sleep","9"],"env":{"TZ":"UTC"},"Networks":{"default":{"aliases":null}}}"#;
    let (status, answer) = gated.ask("POST", podman, plain);
    assert_eq!(status, 201, "{answer}");
}

#[test]
fn a_service_gets_no_volume_of_another_container() {
    let create = |volume: &str| {
        let (gated, _engine) = Gated::before_fake(3, &[]);
        let body = format!(r#"{{"Image":"other:1","HostConfig":{{"Binds":["{volume}:/data"]}}}}"#);
        gated.ask("POST", "/v1.41/containers/create?name=media_database", &body)
    };
    let (status, answer) = create("shared");
    assert!(status == 403 && answer.contains("--volume shared"), "{status} {answer}");
    // An operator has created these, for another container.
    for volume in ["around", "engine", "disk", "plugin"] {
        let (status, answer) = create(volume);
        assert!(status == 403 && answer.contains(&format!("--volume {volume}")), "{status} {answer}");
    }
    for volume in ["guard-state", "unused", "films"] {
        let (status, answer) = create(volume);
        assert_eq!(status, 201, "{volume}: {answer}");
    }
}

#[test]
fn a_new_container_runs_the_program_of_its_image() {
    let (gated, engine) = Gated::before_fake(2, &[]);
    let create = |body: &str| gated.ask("POST", "/v1.41/containers/create?name=e1", body);
    for body in [
        r#"{"Image":"finder:1","Cmd":["ls","-exec","reboot",";"]}"#,
        r#"{"Image":"finder:1","Entrypoint":[],"Cmd":["ls"]}"#,
        r#"{"Image":"base:1","Entrypoint":["reboot"],"Cmd":["ls"]}"#,
        r#"{"Image":"base:1","Entrypoint":["find","/"],"Cmd":["ls","-exec","reboot",";"]}"#,
        r#"{"Image":"starter:1","Cmd":["reboot"]}"#,
        r#"{"Image":"tini:1","Cmd":["ls","-exec","reboot",";"]}"#,
    ] {
        let (status, answer) = create(body);
        assert_eq!(status, 403, "{body}: {answer}");
    }
    let body = r#"{"name":"e1","image":"finder:1","command":["ls","-exec","reboot",";"]}"#;
    assert_eq!(gated.ask("POST", "/v4.3.1/libpod/containers/create", body).0, 403);
    assert_eq!(engine.count("POST", "/create"), 0);
    for body in [
        r#"{"Image":"starter:1","Cmd":["ls"]}"#,
        r#"{"Image":"finder:1","Cmd":["-name","x"]}"#,
        r#"{"Image":"finder:1","Entrypoint":[""],"Cmd":["ls"]}"#,
        r#"{"Image":"base:1","Entrypoint":[],"Cmd":["ls"]}"#,
    ] {
        let (status, answer) = create(body);
        assert_eq!(status, 201, "{body}: {answer}");
    }
}

#[test]
fn a_container_that_is_to_replace_another_one_does_not_run_beside_it() {
    let (gated, engine) = Gated::before_fake(3, &[]);
    let twin = twin_of("media_database");
    let target = format!("/v1.41/containers/create?name={twin}");
    assert_eq!(gated.ask("POST", &target, &as_it_is().to_string()).0, 201);
    for name in [&twin, &id_of(&twin)] {
        for (method, action, body) in [
            ("POST", "start", ""),
            ("POST", "restart", ""),
            ("POST", "unpause", ""),
            ("POST", "exec", r#"{"Cmd":["ls"]}"#),
            ("POST", "attach?stream=1&stdin=1", ""),
            ("GET", "archive?path=/x/a.txt", ""),
            ("PUT", "archive?path=/x", ""),
        ] {
            let (status, answer) = gated.ask(method, &format!("/v1.41/containers/{name}/{action}"), body);
            assert!(status == 403 && answer.contains("run beside it"), "{action}: {status} {answer}");
        }
    }
    for action in ["start", "restart", "exec", "attach"] {
        assert_eq!(engine.count("POST", action), 0, "{action}");
    }
    // It gets the networks of the other one, and may be stopped and removed.
    assert_eq!(gated.ask("POST", &format!("/v1.41/containers/{twin}/stop"), "").0, 204);
    let endpoint = format!(r#"{{"Container":"{twin}","EndpointConfig":{{}}}}"#);
    assert_eq!(gated.ask("POST", "/networks/media/connect", &endpoint).0, 204);
    assert_eq!(gated.ask("DELETE", &format!("/v1.41/containers/{twin}?force=1"), "").0, 204);
    // It has the name of its service from the beginning on.
    let audit = gated.sandbox.sql("SELECT group_concat(command, ';') FROM hook_decisions");
    assert!(audit.contains("docker stop media_database") && !audit.contains(&twin), "{audit}");
}

/// The body that creates `media_database` as it is.
fn as_it_is() -> serde_json::Value {
    json!({
        "Image": "base:1",
        "Cmd": ["sleep", "--password", "hunter3hunter3"],
        "Env": ["DB_PASSWORD=hunter2hunter2", "TZ=UTC"],
        "Labels": {"com.docker.compose.config-hash": "0f", "com.docker.compose.project.working_dir": "/srv/shop"},
        "HostConfig": {"Binds": ["/srv/x:/x:rw", "guard-state:/state"], "NetworkMode": "media", "RestartPolicy": {"Name": "no"}},
        "NetworkingConfig": {"EndpointsConfig": {"media": {"Aliases": ["database"]}}},
    })
}

#[test]
fn another_setting_of_a_service_is_a_redeployment() {
    let (gated, _engine) = Gated::before_fake(2, &[]);
    let create = |path: &str, value: serde_json::Value| {
        let mut body = as_it_is();
        let (outer, key) = path.rsplit_once('/').unwrap();
        body.pointer_mut(outer).unwrap()[key] = value;
        let target =
            format!("/v1.41/containers/create?name={}_media_database", &id_of("media_database")[..12]);
        gated.ask("POST", &target, &body.to_string())
    };
    let (status, answer) = create("/Tty", json!(false));
    assert_eq!(status, 201, "{answer}");
    for (path, value) in [
        ("/Cmd", json!(null)),
        ("/Cmd", json!(["sleep", "9"])),
        ("/Entrypoint", json!(["", ""])),
        ("/Env", json!(null)),
        ("/Env", json!(["DB_PASSWORD=other", "TZ=UTC"])),
        ("/Env", json!(["DB_PASSWORD=hunter2hunter2", "TZ=UTC", "A=b"])),
        ("/Labels/traefik.enable", json!("true")),
        ("/Labels/com.docker.compose.service", json!("zzz")),
        ("/Labels/com.docker.compose.project", json!("zzz")),
        ("/Labels/com.docker.compose.oneoff", json!("True")),
        ("/User", json!("1000")),
        ("/WorkingDir", json!("/x")),
        ("/Hostname", json!("other")),
        ("/HostConfig/Binds", json!(null)),
        ("/HostConfig/Binds", json!(["/srv/x:/x"])),
        ("/HostConfig/Binds", json!(["/srv/x:/x:ro", "guard-state:/state"])),
        ("/HostConfig/Binds", json!(["/srv/x:/x:ro,rshared"])),
        ("/Volumes", json!({"/etc/app": {}})),
        ("/HostConfig/NetworkMode", json!("none")),
        ("/HostConfig/Memory", json!(7_000_000)),
        ("/HostConfig/NanoCpus", json!(1_000)),
        ("/HostConfig/PidsLimit", json!(9)),
        ("/HostConfig/PidsLimit", json!(2048)),
        ("/HostConfig/IpcMode", json!("shareable")),
        ("/HostConfig/Tmpfs", json!({"/run": "size=1k"})),
        ("/HostConfig/Tmpfs", json!({"/tmp": ""})),
        ("/HostConfig/Mounts", json!([{"Type": "tmpfs", "Target": "/x", "TmpfsOptions": {"SizeBytes": 1}}])),
        ("/HostConfig/AutoRemove", json!(true)),
        ("/HostConfig/ReadonlyRootfs", json!(true)),
        ("/HostConfig/CapDrop", json!(["ALL"])),
        ("/HostConfig/ExtraHosts", json!(["db:10.0.0.9"])),
        ("/HostConfig/RestartPolicy", json!({"Name": "always"})),
        ("/HostConfig/PortBindings", json!({"80/tcp": [{"HostPort": "22"}]})),
        ("/HostConfig/LogConfig", json!({"Type": "none"})),
        ("/HostConfig/LogConfig", json!({"Type": "local"})),
        ("/NetworkingConfig/EndpointsConfig/media/Aliases", json!(["database", "web"])),
        ("/NetworkingConfig/EndpointsConfig/other", json!({})),
    ] {
        let (status, answer) = create(path, value.clone());
        let is_another = answer.contains("redeployment") || answer.contains("replaces an equal one");
        assert!(status == 403 && is_another, "{path} {value}: {status} {answer}");
    }
}

#[test]
fn networks_of_the_engine_have_no_addresses_of_the_agent() {
    let (gated, engine) = Gated::before_fake(2, &[]);
    let create = |more: &str| gated.ask("POST", "/networks/create", &format!(r#"{{"Name":"n1"{more}}}"#));
    for more in [
        r#","IPAM":{"Config":[{"Subnet":"192.168.77.0/24","Gateway":"192.168.77.1"}]}"#,
        r#","IPAM":{"Driver":"other"}"#,
        r#","IPAM":{"Options":{"a":"b"}}"#,
        r#","ConfigFrom":{"Network":"n0"}"#,
        r#","ConfigOnly":true"#,
        r#","EnableIPv6":true"#,
        r#","Ingress":true"#,
        r#","Scope":"swarm""#,
        r#","Options":{"com.docker.network.bridge.name":"eth0"}"#,
    ] {
        let (status, answer) = create(more);
        assert_eq!(status, 403, "{more}: {answer}");
    }
    let usual = r#","Driver":"bridge","Internal":true,"EnableIPv6":false,"IPAM":{"Driver":"default","Options":{},"Config":[]},"ConfigFrom":{"Network":""},"Options":{}"#;
    for more in ["", usual] {
        let (status, answer) = create(more);
        assert_eq!(status, 201, "{more}: {answer}");
    }
    assert_eq!(engine.count("POST", "/networks/create"), 2);
    let connect = |network: &str, container: &str, endpoint: &str| {
        let body = format!(r#"{{"Container":"{container}","EndpointConfig":{endpoint}}}"#);
        gated.ask("POST", &format!("/networks/{network}/connect"), &body)
    };
    for endpoint in [
        r#"{"Aliases":["media_database"]}"#,
        r#"{"IPAMConfig":{"IPv4Address":"10.0.0.9"}}"#,
        r#"{"MacAddress":"02:00:00:00:00:01"}"#,
        r#"{"DriverOpts":{"a":"b"}}"#,
        r#"{"Links":["media_database:db"]}"#,
    ] {
        let (status, answer) = connect("media", "k1", endpoint);
        assert_eq!(status, 403, "{endpoint}: {answer}");
    }
    // Its own name is one in the network, too. That of a service is known.
    for (network, container, status) in
        [("media", "k1", 403), ("bridge", "k1", 204), ("media", "media_database", 204)]
    {
        let (found, answer) = connect(network, container, "{}");
        assert_eq!(found, status, "{network} {container}: {answer}");
    }
    // A container that replaces another one has the names of that one.
    let target = format!("/v1.41/containers/create?name={}_media_database", &id_of("media_database")[..12]);
    assert_eq!(gated.ask("POST", &target, &as_it_is().to_string()).0, 201);
    for (network, alias, status) in [
        ("media", "database", 204),
        ("0123", "database", 204),
        ("media", "web", 403),
        ("other", "database", 403),
    ] {
        let endpoint = format!(r#"{{"Aliases":["{alias}"]}}"#);
        let (found, answer) = connect(network, &id_of("new"), &endpoint);
        assert_eq!(found, status, "{network} {alias}: {answer}");
    }
}

#[test]
fn parameters_that_engines_read_as_true_are_not_false() {
    let (gated, engine) = Gated::before_fake(2, &[]);
    assert_eq!(restart(&gated, "media_database").0, 204);
    assert_eq!(restart(&gated, "media_database").0, 204);
    // Docker reads all but `0`, `no`, `false` and `none` as true.
    for force in ["f", "F", "off", "n", " 1"] {
        let (status, answer) =
            gated.ask("DELETE", &format!("/v1.41/containers/media_database?force={}", force.trim()), "");
        assert_eq!(status, 403, "{force}: {answer}");
        let (status, answer) = gated.ask(
            "POST",
            &format!("/v1.41/containers/k0/attach?stream=1&stdout=1&stdin={}", force.trim()),
            "",
        );
        assert_eq!(status, 403, "{force}: {answer}");
    }
    assert_eq!((engine.count("DELETE", ""), engine.count("POST", "/attach")), (0, 0));
}

#[test]
fn rights_are_those_of_an_equal_container() {
    let (gated, _engine) = Gated::before_fake(3, &[]);
    let command = r#"["sleep","--password","hunter3hunter3"]"#;
    let create = |name: &str, image: &str, command: &str| {
        let body = format!(r#"{{"Image":"{image}","Cmd":{command},"HostConfig":{{"Binds":["/srv/x:/x"]}}}}"#);
        gated.ask("POST", &format!("/v1.41/containers/create?name={name}"), &body)
    };
    // Another version of the image of a service is a redeployment. That of another container is not known.
    let (status, answer) = create("media_database", "docker.io/library/base:2", command);
    assert_eq!(status, 201, "{answer}");
    for (name, image, command) in [
        ("k0", "base:2", command),
        ("media_database", "evil:1", command),
        ("media_database", "evil.example/base:1", command),
        ("media_database", "base:2", "null"),
        ("media_database", "base:2", r#"["ls"]"#),
    ] {
        let (status, answer) = create(name, image, command);
        assert!(
            status == 403 && answer.contains("rights of the host"),
            "{name} {image} {command}: {status} {answer}"
        );
    }
    let body = format!(
        r#"{{"name":"media_database","image":"evil:1","command":{command},"devices":[{{"path":"/dev/sda"}}]}}"#
    );
    let (status, answer) = gated.ask("POST", "/v4.3.1/libpod/containers/create", &body);
    assert!(status == 403 && answer.contains("rights of the host"), "{status} {answer}");
}

#[test]
fn labels_do_not_take_a_container_from_its_service() {
    // `shop` is known by a label of its container only.
    let (gated, engine) = Gated::before_fake(3, &[]);
    let create = |labels: &str| {
        let target = format!("/v1.41/containers/create?name={}_pg-prod", &id_of("pg-prod")[..12]);
        gated.ask("POST", &target, &format!(r#"{{"Image":"base:1","Cmd":["ls"],"Labels":{labels}}}"#))
    };
    let (status, answer) = create(r#"{"com.docker.compose.service":"zzz"}"#);
    assert_eq!(status, 201, "{answer}");
    let redeployments = "SELECT count(*) FROM hook_actions WHERE service = 'shop' AND counts";
    assert_eq!(gated.sandbox.sql(redeployments), "1");
    // It is not removed as a container of the agent.
    let target = format!("/v1.41/containers/{}?force=1", id_of("new"));
    let _ = gated.ask("DELETE", &target, "");
    let audit = gated.sandbox.sql("SELECT command FROM hook_decisions ORDER BY id");
    assert!(audit.ends_with("docker rm -f new"), "{audit}");
    drop(engine);
}

#[test]
fn variables_do_not_leave_by_other_ways() {
    let (gated, engine) = Gated::before_fake(3, &[]);
    for arguments in ["auxe", "axe", "-o%20pid,args%20e", "-eo%20pid,environ", "eww"] {
        let (status, answer) =
            gated.ask("GET", &format!("/v1.41/containers/media_database/top?ps_args={arguments}"), "");
        assert_eq!(status, 403, "{arguments}: {answer}");
    }
    for arguments in ["", "-ef", "aux", "-o%20pid,cmd"] {
        let (status, answer) =
            gated.ask("GET", &format!("/v1.41/containers/media_database/top?ps_args={arguments}"), "");
        assert_eq!(status, 200, "{arguments}: {answer}");
        assert!(answer.contains("sleep --password [redacted]"), "{arguments}: {answer}");
    }
    let (status, answer) = gated.ask("POST", "/v1.41/commit?container=media_database&repo=x", "");
    assert!(status == 403 && answer.contains("variables with secrets"), "{answer}");
    assert_eq!(gated.ask("POST", "/v4.3.1/libpod/build?dockerfile=../../../etc/shadow", "").0, 403);
    assert_eq!(engine.count("POST", "/commit") + engine.count("POST", "/build"), 0);
    let (_, answer) = gated.ask("GET", "/v1.41/containers/media_database/json", "");
    assert!(answer.contains("\"sleep\",\"--password\",\"[redacted]\""), "{answer}");
}

#[test]
fn actions_on_a_pod_are_those_on_its_containers() {
    let (gated, engine) = Gated::before_fake(2, &[]);
    let pod = |verb: &str| gated.ask("POST", &format!("/v4.3.1/libpod/pods/web/{verb}"), "").0;
    assert_eq!([pod("restart"), pod("kill"), pod("restart"), pod("stop")], [204, 204, 403, 403]);
    assert_eq!(gated.sandbox.sql(RESTARTS), "2");
    assert_eq!(engine.count("POST", &format!("/pods/{}/restart", id_of("pod"))), 1);
}

#[test]
fn a_start_counts_the_containers_that_podman_starts_with_it() {
    let (gated, engine) = Gated::before_fake(2, &[]);
    let act = |path: &str| gated.ask("POST", path, "");
    assert_eq!(act("/v4.3.1/libpod/containers/needs-database/start").0, 204);
    assert_eq!(act("/v1.41/containers/needs-database/restart").0, 204);
    assert_eq!(gated.sandbox.sql(RESTARTS), "2");
    let (status, answer) = act("/v4.3.1/libpod/containers/needs-database/start");
    assert!(status == 403 && answer.contains("Cooldown limit exceeded for database: 2/2"), "{answer}");
    // What it needs is not known.
    let (status, answer) = act("/v1.41/containers/needs-unknown/restart");
    assert!(status == 502 && answer.contains("status 404"), "{status} {answer}");
    assert_eq!(engine.count("POST", "start"), 2);
}

#[test]
fn commands_in_containers_are_read_and_run_once() {
    let (gated, engine) = Gated::before_fake(2, &[]);
    let exec = |body: &str| gated.ask("POST", "/v1.41/containers/k0/exec", body);
    let start = format!("/v1.41/exec/{}/start", id_of("new"));
    assert_eq!(gated.ask("POST", &start, "{\"Detach\":false}").0, 403);
    let (status, answer) = exec("{\"Cmd\":[\"sh\",\"-c\",\"rm -rf /data\"]}");
    assert!(status == 403 && answer.contains("rule data"), "{answer}");
    assert_eq!(exec("{\"Cmd\":[\"ls\"],\"Privileged\":true}").0, 403);
    assert_eq!(exec("{\"Cmd\":[\"sh\"],\"AttachStdin\":true}").0, 403);
    assert_eq!(engine.count("POST", "/exec"), 0);
    assert_eq!(exec("{\"Cmd\":[\"ls\",\"/\"]}").0, 201);
    assert_eq!(gated.ask("POST", &start, "{\"Detach\":false}").0, 204);
    assert_eq!(gated.ask("POST", &start, "{\"Detach\":false}").0, 403);
    assert_eq!(engine.count("POST", "/start"), 1);
}

#[test]
fn requests_that_are_not_known_are_refused() {
    let (gated, engine) = Gated::before_fake(2, &[]);
    for (method, target) in [
        ("GET", "/containers/k0/attach/ws?stream=1&stdin=1"),
        ("GET", "/containers/k0/export"),
        ("POST", "/containers/k0/rename?name=k9"),
        ("POST", "/containers/k0/restart?unknown=1"),
        ("POST", "/containers/k0/restart?t=1&t=2"),
        ("POST", "/v1.23/containers/k0/start"),
        ("POST", "/services/create"),
        ("POST", "/containers/k0/attach?stdin=1&stream=1"),
        ("POST", "/containers/k0/attach"),
        ("POST", "/volumes/prune"),
        ("DELETE", "/volumes/data"),
        ("OPTIONS", "/containers/json"),
        ("BREW", "/containers/json"),
        ("GET", "//containers/json"),
        ("GET", "/containers/../containers/json"),
        ("GET", "/containers%2Fjson"),
        ("POST", "/containers/k0%2Frestart/restart"),
        ("GET", "/v4.3.1/libpod/containers/k0%2F/json"),
        ("POST", "/v4.3.1/libpod/containers/x%2Frestart/wait"),
        ("GET", "http://x/containers/json"),
    ] {
        let (status, answer) = gated.ask(method, target, "");
        assert!((400..=405).contains(&status), "{method} {target}: {status} {answer}");
    }
    let received = engine.received.lock().unwrap();
    // The gate asks which container it is, and what its volumes are.
    let is_question = |target: &str| target.ends_with("k0/json") || target == "/volumes/guard-state";
    let reached: Vec<_> = received.iter().filter(|own| !is_question(&own.target)).collect();
    assert!(reached.is_empty(), "{reached:?}");
}

#[test]
fn watching_gate_passes_and_records_what_it_would_refuse() {
    let (gated, engine) = Gated::before_fake(2, &[]);
    let hosts =
        gated.sandbox.read("hosts.yaml").replace("{tier: 2}", "{tier: 2, monitor: {gates: [engine]}}");
    gated.sandbox.write("hosts.yaml", &hosts);
    for _ in 0..3 {
        assert_eq!(restart(&gated, "media_database").0, 204);
    }
    assert_eq!(gated.ask("POST", "/services/create", "").0, 201);
    assert_eq!(engine.count("POST", "/restart"), 3);
    let query = "SELECT command FROM hook_decisions WHERE verdict = 'would deny' ORDER BY id";
    let recorded = gated.sandbox.sql(query);
    let (first, other) = recorded.split_once('\n').unwrap();
    assert_eq!(first, "docker restart media_database");
    assert!(other.starts_with("curl --unix-socket ") && other.ends_with("/services/create"), "{other}");
}

#[test]
fn hidden_containers_do_not_exist() {
    let (gated, engine) = Gated::before_fake(2, &["--only-listed"]);
    assert_eq!(gated.ask("GET", "/containers/media_database/json", "").0, 200);
    assert_eq!(gated.ask("GET", "/containers/k0/json", "").0, 404);
    assert_eq!(gated.ask("GET", "/v4.3.1/libpod/containers/stats", "").0, 403);
    assert_eq!(gated.ask("GET", "/containers/k0/logs?stdout=1", "").0, 404);
    assert_eq!(gated.ask("POST", "/containers/k0/restart", "").0, 404);
    assert_eq!(engine.count("POST", "/restart"), 0);
}

#[test]
fn bodies_of_two_lengths_smuggle_nothing() {
    let (gated, engine) = Gated::before_fake(2, &[]);
    let inner = "POST /containers/k0/restart HTTP/1.1\r\nHost: x\r\n\r\n";
    for lengths in [
        format!("Content-Length: 4\r\nContent-Length: {}\r\n", inner.len()),
        format!("Transfer-Encoding: chunked\r\nContent-Length: {}\r\n", inner.len() + 5),
        format!("Content-Length: {}\r\nTransfer-Encoding: chunked\r\n", inner.len() + 5),
        "Transfer-Encoding: chunked, identity\r\n".to_owned(),
        "Transfer-Encoding : chunked\r\n".to_owned(),
        "Transfer-Encoding:\x0bchunked\r\nContent-Length: 5\r\n".to_owned(),
        "Content-Length: +5\r\n".to_owned(),
    ] {
        let request =
            format!("POST /containers/k1/wait HTTP/1.1\r\nHost: x\r\n{lengths}\r\n0\r\n\r\n{inner}");
        let mut stream = gated.connect();
        stream.write_all(request.as_bytes()).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
    }
    assert_eq!(engine.count("POST", "/restart"), 0);
    let received = engine.received.lock().unwrap();
    assert!(received.iter().all(|own| own.body.is_empty()), "{received:?}");
}

#[test]
fn streams_stay_open_and_end_with_the_gate() {
    let (mut gated, _engine) = Gated::before_fake(2, &[]);
    let mut events = gated.connect();
    events.write_all(b"GET /events HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let mut answer = [0; 4096];
    let mut seen = String::new();
    while !seen.contains("one") {
        let read = events.read(&mut answer).unwrap();
        assert!(read > 0, "{seen}");
        seen.push_str(&String::from_utf8_lossy(&answer[..read]));
    }
    events.set_read_timeout(Some(std::time::Duration::from_secs(2))).unwrap();
    assert!(events.read(&mut answer).is_err(), "the stream has ended");
    let began = std::time::Instant::now();
    assert_eq!(gated.end(), Some(0));
    assert!(matches!(events.read(&mut answer), Ok(0) | Err(_)));
    assert!(began.elapsed() < std::time::Duration::from_secs(3), "{:?}", began.elapsed());
}

#[test]
fn finished_input_of_a_command_leaves_its_output_open() {
    let (gated, _engine) = Gated::before_fake(2, &[]);
    let body = "{\"Cmd\":[\"sort\"],\"AttachStdin\":true,\"AttachStdout\":true}";
    assert_eq!(gated.ask("POST", "/v1.41/containers/k0/exec", body).0, 201);
    let mut stream = gated.connect();
    let head = format!("POST /v1.41/exec/{}/start HTTP/1.1\r\nHost: x\r\n", id_of("new"));
    let upgrade = "Connection: Upgrade\r\nUpgrade: tcp\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";
    stream.write_all(format!("{head}{upgrade}").as_bytes()).unwrap();
    let mut answer = vec![0; 4096];
    let read = stream.read(&mut answer).unwrap();
    assert!(String::from_utf8_lossy(&answer[..read]).starts_with("HTTP/1.1 101"), "{answer:?}");
    let data = vec![b'x'; 3 * 1024 * 1024];
    let mut writer = stream.try_clone().unwrap();
    let sent = data.clone();
    let sending = std::thread::spawn(move || {
        writer.write_all(&sent).unwrap();
        writer.shutdown(Shutdown::Write).unwrap();
    });
    let mut back = Vec::new();
    stream.read_to_end(&mut back).unwrap();
    sending.join().unwrap();
    assert!(back == data, "{} bytes", back.len());
}

#[test]
fn the_guards_own_container_and_its_volumes_are_left_alone() {
    let (gated, engine) = Gated::in_container(3);
    // `k0` is the gate's own, and `media_database` has a volume of it.
    let create = r#"{"Image": "base:1", "Cmd": ["uptime"], "HostConfig": {"Binds": ["guard-state:/x"]}}"#;
    for (method, target, body) in [
        ("POST", "/v1.41/containers/k0/restart", ""),
        ("POST", &format!("/v1.41/containers/{}/stop", &id_of("k0")[..3]), ""),
        ("POST", "/v1.41/containers/k0/exec", r#"{"Cmd": ["ls"], "AttachStdout": true}"#),
        (
            "POST",
            "/v1.41/containers/media_database/exec",
            r#"{"User": "0", "Cmd": ["ls"], "AttachStdout": true}"#,
        ),
        ("GET", "/v1.41/containers/k0/archive?path=/guard/state", ""),
        ("DELETE", "/v1.41/containers/k0?force=1", ""),
        ("POST", "/v1.41/containers/create?name=x", create),
        ("DELETE", "/v1.41/volumes/guard-state", ""),
    ] {
        let (status, answer) = gated.ask(method, target, body);
        assert!(status == 403 && answer.contains("the guard's own container"), "{target}: {status} {answer}");
    }
    assert_eq!(gated.ask("GET", "/v1.41/containers/k0/json", "").0, 200);
    assert_eq!(gated.ask("POST", "/v1.41/containers/k1/restart", "").0, 204);
    let received = engine.received.lock().unwrap();
    assert_eq!(received.iter().filter(|own| own.method != "GET").count(), 1);
}

#[test]
fn requests_are_answered_while_large_answers_are_redacted() {
    let (gated, _) = Gated::before_fake(1, &[]);
    let (slowest, all) = std::thread::scope(|scope| {
        let inspects: Vec<_> =
            (0..8).map(|_| scope.spawn(|| gated.ask("GET", "/v1.41/images/long:1/json", "").0)).collect();
        let mut slowest = Duration::ZERO;
        while inspects.iter().any(|inspect| !inspect.is_finished()) {
            let start = Instant::now();
            assert_eq!(gated.ask("GET", "/_ping", "").0, 200);
            slowest = slowest.max(start.elapsed());
        }
        let all: Vec<u16> = inspects.into_iter().map(|inspect| inspect.join().unwrap()).collect();
        (slowest, all)
    });
    assert_eq!(all, [200; 8]);
    assert!(slowest < Duration::from_secs(2), "{slowest:?}");
}

#[test]
fn registries_by_address_are_not_asked_for_images() {
    let (gated, engine) = Gated::before_fake(3, &[]);
    for target in [
        "/v1.41/images/create?fromImage=127.0.0.1%3A5000%2Fx&tag=latest",
        "/v4.0.0/libpod/images/pull?reference=127.0.0.1%3A5000%2Fx",
        "/v4.0.0/libpod/images/pull?reference=docker%3A%2F%2F127.0.0.1%3A5000%2Fx",
    ] {
        let (status, answer) = gated.ask("POST", target, "");
        assert_eq!(status, 403, "{target}: {answer}");
        assert!(answer.contains("the registry `127.0.0.1:5000` is refused"), "{target}: {answer}");
    }
    assert_eq!(engine.count("POST", "/images/create") + engine.count("POST", "/images/pull"), 0);
}

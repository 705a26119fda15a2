//! The gate before a cluster: the real kubectl, and an API server of the test behind it, which has TLS and asks for a client
//! certificate and a token.

use std::fs::File;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rcgen::{CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};

use crate::support::{Lan, lan};

const HOSTS: &str = "
hosts:
  ie01: {address: 192.168.1.2}
services:
  jellyfin: {workloads: [media/deployment/jellyfin]}
";

const GATE: &str = "127.0.0.1:8443";

/// What the API server has been asked: method, path with query, headers and body.
type Log = Arc<Mutex<Vec<(String, String, String)>>>;

/// A cluster with a gate before it; the agent has `agent.kubeconfig`. Returns what reaches the API server.
fn cluster(lan: &Lan, hosts: &str, tier: &str) -> Log {
    lan.write("hosts.yaml", hosts);
    let log = api_server(lan);
    let stated = lan.opsctl(&["gate", "kubernetes", "--listen", GATE, "--print-kubeconfig"]);
    lan.write("agent.kubeconfig", &stated.stdout);
    let variable = |name: &str, value: &str| format!("{name}={value}");
    let folder = lan.path("").display().to_string();
    let variables = [
        variable("CLAUDEOPS_TIER", tier),
        variable("CLAUDEOPS_HOSTS", &format!("{folder}hosts.yaml")),
        variable("CLAUDEOPS_STATE_DIR", &folder),
    ];
    let words = ["gate", "kubernetes", "--listen", GATE, "--kubeconfig", "guard.kubeconfig"];
    let words = [env!("CARGO_BIN_EXE_opsctl")].into_iter().chain(words);
    lan.start("env", ["-i"].into_iter().chain(variables.iter().map(String::as_str)).chain(words));
    lan.until("grep -q listening env.log");
    log
}

fn kubectl(lan: &Lan) -> Command {
    let mut command = Command::new("kubectl");
    command.arg("--kubeconfig").arg(lan.path("agent.kubeconfig")).current_dir(lan.path(""));
    command.env("HOME", lan.path("")).stdin(Stdio::null());
    command
}

fn run(lan: &Lan, words: &[&str]) -> Output {
    kubectl(lan).args(words).output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[track_caller]
fn passes(lan: &Lan, words: &[&str]) -> String {
    let output = run(lan, words);
    assert!(output.status.success(), "{words:?}: {}", text(&output));
    text(&output)
}

#[track_caller]
fn refused(lan: &Lan, words: &[&str], reason: &str) {
    let output = run(lan, words);
    let text = text(&output);
    assert!(!output.status.success() && text.contains(reason), "{words:?}: {text}");
}

/// Methods of what has reached the server and is no read, with their paths.
fn changes(log: &Log) -> Vec<String> {
    let log = log.lock().unwrap();
    let changes = log.iter().filter(|(head, ..)| !head.starts_with("GET "));
    changes.map(|(head, ..)| head.split('?').next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn restarts_of_workloads_count_against_the_budget_of_their_service() {
    lan(|lan| {
        let log = cluster(lan, HOSTS, "2");
        assert!(passes(lan, &["-n", "media", "get", "pods"]).contains("jellyfin-7d9c5b6f4-x2x8k"));
        passes(lan, &["-n", "media", "delete", "pod", "jellyfin-7d9c5b6f4-x2x8k", "--wait=false"]);
        passes(lan, &["-n", "media", "rollout", "restart", "deployment/jellyfin"]);
        refused(lan, &["-n", "media", "rollout", "restart", "deployment/jellyfin"], "jellyfin");
        refused(lan, &["-n", "media", "scale", "deployment/jellyfin", "--replicas=0"], "jellyfin");
        let expected = [
            "DELETE /api/v1/namespaces/media/pods/jellyfin-7d9c5b6f4-x2x8k",
            "PATCH /apis/apps/v1/namespaces/media/deployments/jellyfin",
        ];
        assert_eq!(changes(&log), expected);
        let rows = lan.sh("sqlite3 claudeops.db 'select service, success from cooldown_actions'");
        assert_eq!(rows, "jellyfin|1\njellyfin|1\n");
    });
}

/// A name of which that of a pod has only the beginning, without the hash of its template.
const LONG: &str = "a-deployment-whose-name-is-as-long-as-kubernetes-leaves-it";

#[test]
fn pods_count_for_the_workload_that_the_server_states() {
    lan(|lan| {
        let hosts = format!("{HOSTS}  long: {{workloads: [media/deployment/{LONG}]}}\n");
        let log = cluster(lan, &hosts, "2");
        let delete = |pod: &str| -> Vec<String> {
            ["-n", "media", "delete", "pod", pod, "--wait=false"].map(str::to_owned).to_vec()
        };
        for workload in [LONG, "agents-"] {
            for suffix in ["bcdfg", "x7k2p"] {
                let words = delete(&format!("{workload}{suffix}"));
                passes(lan, &words.iter().map(String::as_str).collect::<Vec<_>>());
            }
            let words = delete(&format!("{workload}hjklm"));
            refused(lan, &words.iter().map(String::as_str).collect::<Vec<_>>(), "Cooldown limit exceeded");
        }
        assert_eq!(changes(&log).len(), 4);
        let rows = lan.sh("sqlite3 claudeops.db 'select distinct service from cooldown_actions'");
        assert!(rows.lines().any(|service| service == "long"), "{rows}");
    });
}

#[test]
fn what_is_always_denied_reaches_no_server() {
    lan(|lan| {
        let log = cluster(lan, HOSTS, "3");
        lan.write("pod.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec: {hostPID: true, containers: [{name: c, image: i}]}\n");
        lan.write(
            "plain.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec: {containers: [{name: c, image: i}]}\n",
        );
        lan.write(
            "role.yaml",
            "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: x}\n",
        );
        lan.write("secret.yaml", "apiVersion: v1\nkind: Secret\nmetadata: {name: x}\ndata: {a: Yg==}\n");
        let create = |file| ["-n", "media", "create", "--validate=false", "-f", file];
        // As a patch of it is: its controller acts on it.
        refused(lan, &create("secret.yaml"), "rule other");
        refused(lan, &create("pod.yaml"), "rule engine");
        refused(lan, &create("role.yaml"), "rule access");
        refused(lan, &["delete", "namespace", "media", "--wait=false"], "rule cluster");
        refused(lan, &["-n", "media", "delete", "deployment", "jellyfin", "--wait=false"], "delete-workload");
        refused(lan, &["get", "--raw", "/metrics"], "cannot judge");
        refused(lan, &["get", "--raw", "/api/v1/namespaces/media/pods/x/proxy/admin"], "cannot judge");
        assert_eq!(changes(&log), Vec::<String>::new());
        passes(lan, &create("plain.yaml"));
        assert_eq!(changes(&log), ["POST /api/v1/namespaces/media/pods"]);
    });
}

#[test]
fn rights_of_the_host_are_not_taken_over_by_a_patch() {
    lan(|lan| {
        let log = cluster(lan, HOSTS, "3");
        let patch = |kind: &str, body: &str| {
            let words = ["-n", "media", "patch", "daemonset", "agents", "--type", kind, "-p", body];
            let output = run(lan, &words);
            (output.status.success(), text(&output))
        };
        for (kind, body) in [
            ("strategic", r#"{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"other"}]}}}}"#),
            (
                "merge",
                r#"{"spec":{"template":{"spec":{"containers":[{"name":"c","command":["sh","-c","id"]}]}}}}"#,
            ),
            ("merge", r#"{"spec":{"template":{"spec":{"containers":[{"name":"c","args":["id"]}]}}}}"#),
            (
                "json",
                r#"[{"op":"copy","from":"/spec/template/spec/containers/0","path":"/spec/template/spec/containers/-"}]"#,
            ),
        ] {
            let (done, text) = patch(kind, body);
            assert!(!done && text.contains("rule engine"), "{body}: {text}");
        }
        refused(lan, &["-n", "media", "set", "image", "daemonset/agents", "c=other"], "rule engine");
        let stored: Vec<String> = log.lock().unwrap().iter().map(|(head, ..)| head.clone()).collect();
        let is_change = |head: &&String| !head.starts_with("GET ") && !head.contains("dryRun=All");
        assert_eq!(stored.iter().find(is_change), None);
        // What does not run is no right.
        let (done, text) = patch("merge", r#"{"metadata":{"labels":{"team":"x"}}}"#);
        assert!(done, "{text}");
        passes(lan, &["-n", "media", "rollout", "restart", "daemonset/agents"]);
        // Another workload has none.
        passes(lan, &["-n", "media", "set", "image", "deployment/jellyfin", "c=other"]);
    });
}

#[test]
fn input_that_decides_what_a_command_does_reaches_no_pod() {
    lan(|lan| {
        let log = cluster(lan, HOSTS, "2");
        let exec = ["-n", "media", "exec", "-i", "jellyfin-7d9c5b6f4-x2x8k", "--"];
        for words in [
            &["xargs", "cat"][..],
            &["tar", "cT", "-"],
            &["sh", "-c", "read f; cat \"$f\""],
            &["sort", "--files0-from=-"],
            &["python3"],
        ] {
            refused(lan, &[&exec[..], words].concat(), "depends on its input");
        }
        let path = "/api/v1/namespaces/media/pods/jellyfin-7d9c5b6f4-x2x8k/exec?stdin=true&tty=true&command=less&command=/f";
        refused(lan, &["create", "--raw", path, "-f", "/dev/null"], "what is typed into a terminal");
        assert!(log.lock().unwrap().iter().all(|(head, ..)| !head.contains("/exec?")));
        assert_eq!(passes(lan, &[&exec[..], &["sort", "-r"]].concat()), "hello\n");
    });
}

#[test]
fn commands_in_pods_with_rights_of_their_node_reach_nothing_through_it() {
    lan(|lan| {
        let log = cluster(lan, HOSTS, "1");
        let exec = |pod: &str, words: &[&str]| {
            let output = run(lan, &[&["-n", "media", "exec", pod, "--"], words].concat());
            (output.status.success(), text(&output))
        };
        for (pod, words) in [
            ("node-root", &["ls", "/tmp"][..]),
            ("node-root", &["docker", "-H", "unix:///host/run/docker.sock", "inspect", "guard"]),
            ("node-root", &["chroot", "/host", "docker", "inspect", "guard"]),
            ("node-pid", &["nsenter", "-t", "1", "-m", "--", "docker", "inspect", "guard"]),
            ("node-pid", &["crictl", "inspect", "x"]),
            ("node-pid", &["ls", "/proc/1/root/home"]),
            ("node-privileged", &["curl", "--unix-socket", "/var/run/docker.sock", "http://d/info"]),
            ("node-privileged", &["ctr", "-n", "k8s.io", "c", "info", "x"]),
            ("node-keys", &["cat", "/data/server/token"]),
            ("claim-run", &["docker", "-H", "unix:///data/docker.sock", "inspect", "guard"]),
            ("claim-keys", &["cat", "/data/server/token"]),
            ("claim-lost", &["curl", "--unix-socket", "/data/docker.sock", "http://d/info"]),
            ("claim-lost", &["cat", "/data/etc/shadow"]),
        ] {
            let (done, text) = exec(pod, words);
            let is_reason = text.contains("of its host") || text.contains("Secret");
            assert!(!done && is_reason, "{pod} {words:?}: {text}");
        }
        assert!(log.lock().unwrap().iter().all(|(head, ..)| !head.contains("/exec?")));
        for (pod, words) in [
            ("node-pid", &["cat", "/etc/hostname"][..]),
            ("node-privileged", &["cat", "/proc/meminfo"]),
            ("node-keys", &["ls", "/data"]),
            ("claim-keys", &["ls", "/data"]),
            ("claim-lost", &["ls", "/data"]),
            ("claim-csi", &["head", "/data/a.txt"]),
        ] {
            let (done, text) = exec(pod, words);
            assert!(done, "{pod} {words:?}: {text}");
        }
    });
}

#[test]
fn commands_run_in_the_container_that_was_judged() {
    lan(|lan| {
        let log = cluster(lan, HOSTS, "1");
        let ask = |pod: &str, container: &str, words: &str| {
            let path = format!("/api/v1/namespaces/media/pods/{pod}/exec?stdout=true{container}{words}");
            text(&run(lan, &["get", "--raw", &path]))
        };
        let inspects = "&command=docker&command=inspect&command=guard";
        for container in ["&container=", "&container", "", "&container=c"] {
            let answer = ask("node-root", container, inspects);
            assert!(answer.contains("of its host"), "{container}: {answer}");
        }
        for pod in ["node-root", "jellyfin-7d9c5b6f4-x2x8k"] {
            let answer = ask(pod, "&container=other", inspects);
            assert!(answer.contains("no container `other`"), "{answer}");
        }
        let sent = || -> Vec<String> {
            let log = log.lock().unwrap();
            log.iter().map(|(head, ..)| head.clone()).filter(|head| head.contains("/exec?")).collect()
        };
        assert_eq!(sent(), Vec::<String>::new());
        let _ = ask("jellyfin-7d9c5b6f4-x2x8k", "&container=", "&command=ls");
        let sent = sent();
        let is_named = |head: &String| head.contains("container=c") && !head.contains("container=&");
        assert!(sent.len() == 1 && sent.iter().all(is_named), "{sent:?}");
    });
}

#[test]
fn ports_of_pods_that_reach_their_node_are_not_forwarded() {
    lan(|lan| {
        let log = cluster(lan, HOSTS, "3");
        lan.write(
            "debug.json",
            r#"{"spec":{"ephemeralContainers":[{"name":"d","image":"i","command":["ls"]}]}}"#,
        );
        let ask = |pod: &str, part: &str| {
            let path = format!("/api/v1/namespaces/media/pods/{pod}/{part}");
            text(&run(lan, &["get", "--raw", &path]))
        };
        for pod in ["node-net", "node-root", "node-pid", "node-privileged", "claim-run", "claim-lost"] {
            let answer = ask(pod, "portforward?ports=2375");
            assert!(answer.contains("of its node"), "{pod}: {answer}");
            let path = format!("http://{GATE}/api/v1/namespaces/media/pods/{pod}/ephemeralcontainers");
            let kind = "Content-Type: application/strategic-merge-patch+json";
            let answer = lan.sh(&format!("curl -s -X PATCH --data @debug.json -H '{kind}' '{path}'"));
            assert!(answer.contains("of its node"), "{pod}: {answer}");
        }
        for pod in ["node-root", "claim-run"] {
            let answer = ask(pod, "attach?stdout=true");
            assert!(answer.contains("of its node"), "{pod}: {answer}");
        }
        assert!(log.lock().unwrap().iter().all(|(head, ..)| !head.contains("/portforward")));
        for pod in ["jellyfin-7d9c5b6f4-x2x8k", "claim-csi"] {
            let answer = ask(pod, "portforward?ports=80");
            assert!(!answer.to_lowercase().contains("forbidden"), "{pod}: {answer}");
        }
        let log = log.lock().unwrap();
        assert_eq!(log.iter().filter(|(head, ..)| head.contains("/portforward?ports=80")).count(), 2);
    });
}

#[test]
fn header_that_is_not_text_is_refused() {
    lan(|lan| {
        let log = cluster(lan, HOSTS, "3");
        lan.write("patch.json", r#"{"metadata":{"labels":{"team":"x"}}}"#);
        let call = "curl -s -X PATCH --data @patch.json -H \"$(printf 'Content-Type: application/apply-patch+yaml;\\377')\" http://127.0.0.1:8443/apis/apps/v1/namespaces/media/deployments/jellyfin";
        let answer = lan.sh(call);
        assert!(answer.contains("`content-type` is not text"), "{answer}");
        assert_eq!(changes(&log), Vec::<String>::new());
    });
}

#[test]
fn tier_1_reads_and_changes_nothing() {
    lan(|lan| {
        let log = cluster(lan, HOSTS, "1");
        passes(lan, &["-n", "media", "logs", "jellyfin-7d9c5b6f4-x2x8k"]);
        refused(lan, &["-n", "media", "rollout", "restart", "deployment/jellyfin"], "Tier 1");
        refused(lan, &["-n", "media", "scale", "deployment/jellyfin", "--replicas=0"], "Tier 1");
        assert_eq!(changes(&log), Vec::<String>::new());
    });
}

#[test]
fn values_of_secrets_are_redacted_unless_the_policy_states_otherwise() {
    lan(|lan| {
        let log = cluster(lan, HOSTS, "2");
        for words in [
            &["get", "secret", "db", "-o", "yaml"][..],
            &["get", "secrets", "-o", "json"],
            &["get", "secret", "db", "-o", "jsonpath={.data.password}"],
        ] {
            let shown = passes(lan, &[&["-n", "media"], words].concat());
            assert!(shown.contains("W3JlZGFjdGVkXQ=="), "{shown}");
            assert!(!shown.contains("aHVudGVyMg") && !shown.contains("hunter2"), "{shown}");
            assert!(words[1] == "secret" && words[4].len() > 4 || shown.contains("release-name"), "{shown}");
        }
        refused(lan, &["-n", "media", "get", "secrets", "-w"], "redacted");
        lan.write(
            "secret.yaml",
            "apiVersion: v1\nkind: Secret\nmetadata: {name: db}\ndata: {password: W3JlZGFjdGVkXQ==}\n",
        );
        refused(lan, &["-n", "media", "create", "--validate=false", "-f", "secret.yaml"], "redacted");
        // Whether it conflicts depends on the value.
        lan.write(
            "guess.json",
            r#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"db"},"data":{"password":"Yg=="}}"#,
        );
        for (method, kind) in [("PATCH", "apply-patch+yaml"), ("PATCH", "merge-patch+json"), ("PUT", "json")]
        {
            let answer = lan.sh(&format!(
                "curl -s -X {method} --data @guess.json -H 'Content-Type: application/{kind}' 'http://{GATE}/api/v1/namespaces/media/secrets/db?dryRun=All&fieldManager=x'"
            ));
            assert!(answer.contains("a dry run of a change of a Secret"), "{method} {kind}: {answer}");
        }
        assert_eq!(changes(&log), Vec::<String>::new());
    });
    lan(|lan| {
        cluster(lan, &format!("{HOSTS}policy: {{redact_output: false}}\n"), "2");
        assert!(passes(lan, &["-n", "media", "get", "secret", "db", "-o", "yaml"]).contains("aHVudGVyMg"));
    });
}

#[test]
fn pods_are_not_deleted_before_their_containers_have_ended() {
    lan(|lan| {
        let log = cluster(lan, HOSTS, "2");
        let delete = ["-n", "media", "delete", "pod", "agents-x7k2p", "--wait=false"];
        refused(lan, &[&delete[..], &["--force", "--grace-period=0"]].concat(), "gracePeriodSeconds");
        let pod = format!("http://{GATE}/api/v1/namespaces/media/pods/agents-x7k2p");
        let answer = lan.sh(&format!("curl -s -X DELETE '{pod}?gracePeriodSeconds=0'"));
        assert!(answer.contains("gracePeriodSeconds"), "{answer}");
        lan.write("evict.json", r#"{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"agents-x7k2p"},"deleteOptions":{"gracePeriodSeconds":0}}"#);
        let post = format!("curl -s --data @evict.json -H 'Content-Type: application/json' '{pod}/eviction'");
        let answer = lan.sh(&post);
        assert!(answer.contains("gracePeriodSeconds"), "{answer}");
        // DeleteOptions with `gracePeriodSeconds: 0`, and an eviction, in protobuf: the API server reads them.
        lan.sh(r"printf 'k8s\0\n\023\n\002v1\022\rDeleteOptions\022\002\010\0\032\0\042\0' >options.pb");
        for (method, path) in [("DELETE", String::new()), ("POST", "/eviction".to_owned())] {
            for kind in ["application/vnd.kubernetes.protobuf", "application/cbor"] {
                let answer = lan.sh(&format!(
                    "curl -s -X {method} --data-binary @options.pb -H 'Content-Type: {kind}' '{pod}{path}'"
                ));
                assert!(answer.contains("send JSON"), "{method} {kind}: {answer}");
            }
        }
        assert_eq!(changes(&log), Vec::<String>::new());
        passes(lan, &[&delete[..], &["--grace-period=5"]].concat());
    });
}

#[test]
fn collections_are_not_deleted() {
    lan(|lan| {
        let log = cluster(lan, HOSTS, "3");
        for path in [
            "api/v1/namespaces/media/pods",
            "api/v1/namespaces/media/pods?labelSelector=app%3Dagents",
            "api/v1/namespaces/media/pods?fieldSelector=status.phase%3DFailed",
            "apis/batch/v1/namespaces/media/jobs",
            "api/v1/namespaces/media/events",
        ] {
            let answer = lan.sh(&format!("curl -s -X DELETE 'http://{GATE}/{path}'"));
            assert!(answer.contains("deletes a collection"), "{path}: {answer}");
        }
        assert_eq!(changes(&log), Vec::<String>::new());
    });
}

#[test]
fn watches_stream_and_commands_in_pods_are_judged() {
    lan(|lan| {
        let log = cluster(lan, HOSTS, "2");
        let watched = File::create(lan.path("watched")).unwrap();
        let mut watching = kubectl(lan)
            .args(["-n", "media", "get", "pods", "-w", "-o", "name"])
            .stdout(watched)
            .spawn()
            .unwrap();
        lan.until("grep -q pod/later watched");
        assert_eq!(watching.try_wait().unwrap(), None);
        watching.kill().unwrap();
        watching.wait().unwrap();
        let pod = "jellyfin-7d9c5b6f4-x2x8k";
        assert_eq!(passes(lan, &["-n", "media", "exec", pod, "--", "cat", "/etc/hostname"]), "hello\n");
        for words in [&["--", "reboot"][..], &["-i", "--", "sh"], &["--", "sh", "-c", "rm -rf /"]] {
            let output = run(lan, &[&["-n", "media", "exec", pod], words].concat());
            assert!(
                !output.status.success() && text(&output).to_lowercase().contains("forbidden"),
                "{words:?} {}",
                text(&output)
            );
        }
        let asked = log.lock().unwrap();
        let streams: Vec<_> = asked.iter().filter(|(head, ..)| head.contains("/exec?")).collect();
        assert_eq!(streams.len(), 1, "{streams:?}");
    });
}

#[test]
fn clients_act_with_the_credentials_of_the_guard_and_under_no_other_name() {
    lan(|lan| {
        let log = cluster(lan, HOSTS, "2");
        let reason = "opsctl has the credentials";
        refused(lan, &["--as=admin", "-n", "media", "get", "pods"], reason);
        assert!(log.lock().unwrap().iter().all(|(head, ..)| !head.contains("/pods")));
        // Without TLS, kubectl does not send it.
        passes(lan, &["--token=own", "-n", "media", "get", "pods"]);
        let asked = log.lock().unwrap();
        let (_, headers, _) = asked.iter().find(|(head, ..)| head.contains("/pods")).unwrap();
        assert!(headers.contains("authorization: bearer of-the-guard"), "{headers}");
    });
}

#[test]
fn a_kubeconfig_that_cannot_be_used_is_refused_with_its_remedy() {
    lan(|lan| {
        lan.write("hosts.yaml", HOSTS);
        let config = |cluster: &str, user: &str| {
            lan.write("k", &format!("current-context: c\ncontexts: [{{name: c, context: {{cluster: c, user: u}}}}]\nclusters: [{{name: c, cluster: {cluster}}}]\nusers: [{{name: u, user: {user}}}]\n"));
            let ran = lan.opsctl(&["gate", "kubernetes", "--listen", "127.0.0.1:0", "--kubeconfig", "k"]);
            assert_eq!((ran.exit_code, ran.stderr.lines().count()), (Some(1), 1), "{ran:?}");
            ran.stderr
        };
        let server = "server: 'https://h:6443'";
        assert!(config(&format!("{{{server}}}"), "{exec: {command: aws}}").contains("exec plugin"));
        assert!(
            config(&format!("{{{server}, insecure-skip-tls-verify: true}}"), "{}")
                .contains("`insecure-skip-tls-verify` is set")
        );
        assert!(config(&format!("{{{server}}}"), "{token: x}").contains("no `certificate-authority`"));
        assert!(config("{server: 'http://h:8080'}", "{token: x}").contains("https"));
    });
}

/// The time that the gate adds to a call, printed with `--nocapture`.
#[test]
fn adds_little_time_to_a_call() {
    lan(|lan| {
        cluster(lan, HOSTS, "2");
        let median = |kubeconfig: &str| {
            let mut times: Vec<Duration> = (0..9)
                .map(|_| {
                    let started = Instant::now();
                    let mut command = Command::new("kubectl");
                    command.arg("--kubeconfig").arg(lan.path(kubeconfig)).env("HOME", lan.path(""));
                    let output =
                        command.args(["get", "--raw", "/api/v1/namespaces/media/pods"]).output().unwrap();
                    assert!(output.status.success(), "{}", text(&output));
                    started.elapsed()
                })
                .collect();
            times.sort();
            times[4]
        };
        let (with, without) = (median("agent.kubeconfig"), median("guard.kubeconfig"));
        eprintln!("median of 9 calls of kubectl: {with:?} with the gate, {without:?} without");
        assert!(with < without + Duration::from_secs(1), "{with:?} {without:?}");
    });
}

/// Starts an API server with TLS, and writes `guard.kubeconfig` with the credentials for it.
fn api_server(lan: &Lan) -> Log {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name.push(DnType::CommonName, "A cluster of the tests");
    params.is_ca = IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let sign = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let key = KeyPair::generate().unwrap();
        (CertificateParams::new(names).unwrap().signed_by(&key, &authority).unwrap(), key)
    };
    let (server, server_key) = sign(&["localhost"]);
    let (user, user_key) = sign(&["guard"]);
    lan.write("ca.pem", &authority.pem());
    lan.write("user.pem", &user.pem());
    lan.write("user.key", &user_key.serialize_pem());
    lan.write("token", "of-the-guard\n");

    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut roots = RootCertStore::empty();
    roots.add(authority.der().clone()).unwrap();
    let clients =
        WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider)).build().unwrap();
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let key = PrivateKeyDer::try_from(server_key.serialize_der()).unwrap();
    let config = config.with_client_cert_verifier(clients).with_single_cert(vec![server.der().clone()], key);
    let config = Arc::new(config.unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    lan.write("guard.kubeconfig", &format!(
        "current-context: c\ncontexts: [{{name: c, context: {{cluster: c, user: u}}}}]\n\
         clusters: [{{name: c, cluster: {{server: 'https://localhost:{port}', certificate-authority: ca.pem}}}}]\n\
         users: [{{name: u, user: {{client-certificate: user.pem, client-key: user.key, tokenFile: token}}}}]\n"
    ));
    let log = Log::default();
    let shared = Arc::clone(&log);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (config, log) = (Arc::clone(&config), Arc::clone(&shared));
            thread::spawn(move || {
                let connection = ServerConnection::new(config).unwrap();
                let mut stream = StreamOwned::new(connection, stream);
                while answer(&mut stream, &log).is_some() {}
                stream.conn.send_close_notify();
                let _ = stream.flush();
            });
        }
    });
    log
}

/// The head of a request; `None` at the end of the connection.
fn head_of(stream: &mut impl Read) -> Option<String> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    String::from_utf8(head).ok()
}

/// A kubelet that runs nothing: a command prints `hello`, and a log has one line. Returns its port, and the lines of requests.
pub fn kubelet() -> (u16, Arc<Mutex<Vec<String>>>) {
    let own = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(own.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_no_client_auth().with_single_cert(vec![own.cert.der().clone()], key).unwrap();
    let (config, log) = (Arc::new(config), Arc::<Mutex<Vec<String>>>::default());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (port, shared) = (listener.local_addr().unwrap().port(), Arc::clone(&log));
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (config, log) = (Arc::clone(&config), Arc::clone(&shared));
            thread::spawn(move || {
                let mut stream = StreamOwned::new(ServerConnection::new(config).unwrap(), stream);
                let head = head_of(&mut stream)?;
                log.lock().unwrap().push(head.lines().next()?.to_owned());
                if head.contains("/exec/") {
                    exec(&mut stream, &head)?;
                } else {
                    write!(stream, "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\nconnection: close\r\ncontent-length: 7\r\n\r\na line\n").ok()?;
                }
                stream.conn.send_close_notify();
                stream.flush().ok()
            });
        }
    });
    (port, log)
}

/// Answers a request; `None` at the end of the connection.
fn answer(stream: &mut (impl Read + Write), log: &Log) -> Option<()> {
    let head = head_of(stream)?;
    let (line, headers) = head.split_once("\r\n").unwrap();
    let line = line.trim_end_matches(" HTTP/1.1").to_owned();
    let headers = headers.to_lowercase();
    let length = headers.split("content-length: ").nth(1).and_then(|rest| rest.lines().next()?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).ok()?;
    let body = String::from_utf8(body).unwrap();
    log.lock().unwrap().push((line.clone(), headers.clone(), body.clone()));
    if line.contains("/exec?") {
        return exec(stream, &head);
    }
    if line.contains("watch=true") {
        let pod = json!({"type": "ADDED", "object": object("v1", "Pod", "later")}).to_string() + "\n";
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
        write!(stream, "{head}{:x}\r\n{pod}\r\n", pod.len()).ok()?;
        stream.flush().ok()?;
        thread::sleep(Duration::from_secs(20));
        return None;
    }
    let mut found = resource(&line);
    if line.starts_with("PATCH ") {
        found = patched(found, &serde_json::from_str(&body).unwrap());
    }
    let (kind, text) = match found {
        Value::String(text) => ("text/plain", text),
        value => ("application/json", value.to_string()),
    };
    write!(stream, "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n{text}", text.len())
        .ok()?;
    stream.flush().ok()
}

/// Runs nothing, and prints `hello`, by the protocol of channels of web sockets.
fn exec(stream: &mut impl Write, head: &str) -> Option<()> {
    let key = head.lines().find_map(|line| {
        line.to_lowercase().starts_with("sec-websocket-key").then(|| line.split_once(": ").unwrap().1)
    });
    let key = format!("{}258EAFA5-E914-47DA-95CA-C5AB0DC85B11", key?.trim());
    let accept = ring::digest::digest(&ring::digest::SHA1_FOR_LEGACY_USE_ONLY, key.as_bytes());
    let accept = data_encoding::BASE64.encode(accept.as_ref());
    write!(stream, "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-accept: {accept}\r\nsec-websocket-protocol: v5.channel.k8s.io\r\n\r\n").ok()?;
    for (channel, text) in [(1, "hello\n"), (3, r#"{"metadata":{},"status":"Success"}"#)] {
        let length = u8::try_from(text.len() + 1).unwrap();
        stream.write_all(&[&[0x82, length, channel], text.as_bytes()].concat()).ok()?;
    }
    stream.write_all(&[0x88, 2, 3, 0xe8]).ok()?;
    stream.flush().ok()?;
    thread::sleep(Duration::from_secs(1));
    None
}

fn object(version: &str, kind: &str, name: &str) -> Value {
    let metadata = json!({"name": name, "namespace": "media", "resourceVersion": "1"});
    let mut object = json!({"apiVersion": version, "kind": kind, "metadata": metadata});
    if kind == "Pod" {
        object["spec"] = json!({"containers": [{"name": "c", "image": "i"}]});
    }
    object
}

/// An object with a patch: maps are merged, containers by their place; a JSON patch copies what it states.
fn patched(object: Value, patch: &Value) -> Value {
    match (object, patch) {
        (Value::Object(mut object), Value::Object(patch)) => {
            for (key, value) in patch {
                let own = object.remove(key).unwrap_or_default();
                object.insert(key.clone(), patched(own, value));
            }
            Value::Object(object)
        }
        (mut object, Value::Array(operations)) if operations.iter().all(|one| one.get("from").is_some()) => {
            for operation in operations {
                let from = object.pointer(operation["from"].as_str().unwrap()).unwrap().clone();
                let (place, _) = operation["path"].as_str().unwrap().rsplit_once('/').unwrap();
                object.pointer_mut(place).unwrap().as_array_mut().unwrap().push(from);
            }
            object
        }
        (Value::Array(own), Value::Array(patch)) => {
            own.into_iter().zip(patch).map(|(own, patch)| patched(own, patch)).collect()
        }
        (_, patch) => patch.clone(),
    }
}

/// What a request of this line returns.
fn resource(line: &str) -> Value {
    let path = line.split([' ', '?']).nth(1).unwrap();
    let words: Vec<&str> = path.split('/').skip(1).collect();
    let group = |name: &str| {
        let version = json!({"groupVersion": format!("{name}/v1"), "version": "v1"});
        json!({"name": name, "versions": [version], "preferredVersion": version})
    };
    let resources = |group: &str, kinds: &[(&str, &str, bool)]| {
        let verbs = ["create", "delete", "get", "list", "patch", "update", "watch"];
        let resource = |(name, kind, namespaced): &(&str, &str, bool)| json!({"name": name, "singularName": kind.to_lowercase(), "namespaced": namespaced, "kind": kind, "verbs": verbs});
        let kinds: Vec<Value> = kinds.iter().map(resource).collect();
        json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group, "resources": kinds})
    };
    match words.as_slice() {
        ["version"] => json!({"major": "1", "minor": "32", "gitVersion": "v1.32.0"}),
        ["api"] => json!({"kind": "APIVersions", "versions": ["v1"]}),
        ["apis"] => {
            json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": [group("apps"), group("rbac.authorization.k8s.io")]})
        }
        ["api", "v1"] => resources(
            "v1",
            &[("pods", "Pod", true), ("secrets", "Secret", true), ("namespaces", "Namespace", false)],
        ),
        ["apis", "apps", "v1"] => {
            let kinds =
                [("deployments", "Deployment"), ("deployments/scale", "Scale"), ("daemonsets", "DaemonSet")];
            resources("apps/v1", &kinds.map(|(name, kind)| (name, kind, true)))
        }
        ["apis", group, "v1"] => {
            resources(&format!("{group}/v1"), &[("clusterrolebindings", "ClusterRoleBinding", false)])
        }
        [.., "log"] => json!("a line\n"),
        [.., "pods"] if line.starts_with("GET") => {
            json!({"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": [object("v1", "Pod", "jellyfin-7d9c5b6f4-x2x8k")]})
        }
        [.., "deployments", "jellyfin"] => {
            let mut found = object("apps/v1", "Deployment", "jellyfin");
            found["spec"] = json!({"replicas": 1, "selector": {"matchLabels": {"app": "x"}}, "template": {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}});
            found
        }
        [.., "daemonsets", "agents"] => {
            let mut found = object("apps/v1", "DaemonSet", "agents");
            let container = json!({"name": "c", "image": "i", "securityContext": {"privileged": true}});
            found["spec"] = json!({"selector": {"matchLabels": {"app": "x"}}, "template": {"metadata": {"labels": {"app": "x"}}, "spec": {"hostPID": true, "containers": [container]}}});
            found
        }
        [.., "secrets"] => {
            json!({"kind": "SecretList", "apiVersion": "v1", "metadata": {}, "items": [secret()]})
        }
        [.., "secrets", "db"] => secret(),
        [.., "persistentvolumeclaims", name] => {
            let mut claim = object("v1", "PersistentVolumeClaim", name);
            claim["spec"] = json!({ "volumeName": name });
            claim
        }
        [.., "persistentvolumes", name] => {
            let mut volume = object("v1", "PersistentVolume", name);
            volume["spec"] = match *name {
                "claim-run" => json!({"hostPath": {"path": "/run"}}),
                "claim-keys" => json!({"local": {"path": "/var/lib/rancher/k3s"}}),
                "claim-csi" => json!({"csi": {"driver": "ebs.csi.aws.com"}}),
                _ => json!(null),
            };
            volume
        }
        [.., "pods", name] => {
            let mut pod = object("v1", "Pod", name);
            let owner = |kind: &str, name: &str| json!([{"kind": kind, "name": name, "controller": true}]);
            if name.starts_with(LONG) {
                pod["metadata"]["labels"] = json!({"pod-template-hash": "7d9c5b6f4"});
                pod["metadata"]["ownerReferences"] = owner("ReplicaSet", &format!("{LONG}-7d9c5b6f4"));
            } else if name.starts_with("node-") {
                let volume = |name: &str, path: &str| json!({"name": name, "hostPath": {"path": path}});
                pod["spec"] = match *name {
                    "node-root" => {
                        json!({"containers": [{"name": "c", "volumeMounts": [{"name": "v", "mountPath": "/host"}]}], "volumes": [volume("v", "/")]})
                    }
                    "node-keys" => {
                        json!({"containers": [{"name": "c", "volumeMounts": [{"name": "v", "mountPath": "/data", "subPath": "k3s"}]}], "volumes": [volume("v", "/var/lib/rancher")]})
                    }
                    "node-pid" => json!({"hostPID": true, "containers": [{"name": "c"}]}),
                    "node-net" => json!({"hostNetwork": true, "containers": [{"name": "c"}]}),
                    _ => json!({"containers": [{"name": "c", "securityContext": {"privileged": true}}]}),
                };
            } else if name.starts_with("claim-") {
                let claim = json!({"name": "v", "persistentVolumeClaim": {"claimName": name}});
                let mount = json!({"name": "v", "mountPath": "/data"});
                pod["spec"] =
                    json!({"containers": [{"name": "c", "volumeMounts": [mount]}], "volumes": [claim]});
            } else if let Some((set, _)) = name.rsplit_once('-').filter(|(set, _)| *set == "agents") {
                pod["metadata"]["ownerReferences"] = owner("DaemonSet", set);
            }
            pod
        }
        _ => object("v1", "Pod", "x"),
    }
}

fn secret() -> Value {
    let mut secret = object("v1", "Secret", "db");
    secret["data"] = json!({"password": "aHVudGVyMg=="});
    let applied = r#"{"data":{"password":"aHVudGVyMg=="}}"#;
    let applied = json!({
        "kubectl.kubernetes.io/last-applied-configuration": applied,
        "kopf.zalando.org/last-handled-configuration": applied,
        "meta.helm.sh/release-name": "shop",
    });
    secret["metadata"]["annotations"] = applied;
    secret
}

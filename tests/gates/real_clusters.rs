//! A real API server with its controllers, and real clients: `tests/image/cluster` starts the cluster, and calls these tests. The
//! gate has all rights in it, so what is refused is refused by the gate. Pods are not started: one node has a stand-in of the tests
//! for its kubelet.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::kubernetes::kubelet;
use crate::sandbox::Sandbox;

const CLIENTS: [&str; 3] = ["kubectl-1.20", "kubectl-1.32", "kubectl-1.37"];

/// A value of a Secret, and the same in base64.
const PASSWORD: &str = "hunter2hunter2";
const IN_BASE64: &str = "aHVudGVyMmh1bnRlcjI=";

/// A namespace of the cluster, with a gate before the cluster.
struct Cluster {
    folder: PathBuf,
    sandbox: Sandbox,
    namespace: String,
    address: String,
    gate: Child,
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let _ = self.gate.kill();
        let _ = self.gate.wait();
    }
}

/// Runs a program to its end: whether it succeeded, and what it printed.
fn run(command: &mut Command, stdin: &str) -> (bool, String) {
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
    let output = child.wait_with_output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&text).into_owned())
}

/// Whether a client prints that a request is refused. Some print no reason.
fn is_refusal(text: &str) -> bool {
    ["orbidden", "Never allowed", "opsctl"].iter().any(|part| text.contains(part))
}

fn until<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(started.elapsed() < Duration::from_mins(1), "{what} does not come");
        thread::sleep(Duration::from_millis(100));
    }
}

impl Cluster {
    /// A namespace with the service jellyfin, a Secret and a claim.
    fn new(tier: &str, policy: &str) -> Self {
        let folder = std::env::var_os("OPSCTL_TEST_CLUSTER")
            .expect("set OPSCTL_TEST_CLUSTER: tests/image/cluster does");
        let admin = Path::new(&folder).join("admin.kubeconfig");
        Self::with(&PathBuf::from(folder), &admin, tier, policy)
    }

    /// With the credentials of a kubeconfig.
    fn with(folder: &Path, kubeconfig: &Path, tier: &str, policy: &str) -> Self {
        let (folder, sandbox) = (folder.to_owned(), Sandbox::new().with("CLAUDEOPS_TIER", tier));
        let namespace = format!("t-{}", &uuid::Uuid::new_v4().to_string()[..8]);
        let hosts = sandbox.write("hosts.yaml", &format!(
            "hosts:\n  ie01: {{address: 192.168.1.2}}\nservices:\n  jellyfin: {{workloads: [{namespace}/deployment/jellyfin]}}\n{policy}"
        ));
        let words =
            ["gate", "kubernetes", "--listen", "127.0.0.1:0", "--kubeconfig", kubeconfig.to_str().unwrap()];
        let mut command = sandbox.command(&words);
        let mut gate = command.env("CLAUDEOPS_HOSTS", hosts).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(gate.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on ").unwrap().to_owned();
        let stated =
            sandbox.opsctl(&["gate", "kubernetes", "--listen", &address, "--print-kubeconfig"], b"").stdout;
        sandbox.write("agent.kubeconfig", &stated);
        let own = Self { folder, sandbox, namespace, address, gate };
        own.admin(&["create", "namespace", &own.namespace], "");
        let template = json!({"metadata": {"labels": {"app": "jellyfin"}}, "spec": {"containers": [{"name": "c", "image": "i:1"}]}});
        let spec =
            json!({"replicas": 1, "selector": {"matchLabels": {"app": "jellyfin"}}, "template": template});
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db"}, "stringData": {"password": PASSWORD}});
        let claim = json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}});
        for object in [
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "jellyfin"}, "spec": spec}),
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"a": "b"}}),
            json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "films"}, "spec": claim}),
            secret,
        ] {
            own.admin(&["apply", "-f", "-"], &object.to_string());
        }
        own
    }

    fn client(&self, program: &str, kubeconfig: &Path, words: &[&str], stdin: &str) -> (bool, String) {
        let mut command = Command::new("timeout");
        command
            .args(["--signal=KILL", "60", program, "--kubeconfig"])
            .arg(kubeconfig)
            .args(["-n", &self.namespace])
            .args(words);
        run(command.env("HOME", self.sandbox.path("")), stdin)
    }

    /// kubectl of the operator, without the gate.
    fn admin(&self, words: &[&str], stdin: &str) -> String {
        let (succeeded, text) =
            self.client("kubectl-1.32", &self.folder.join("admin.kubeconfig"), words, stdin);
        assert!(succeeded, "{words:?}: {text}");
        text
    }

    /// A client of the agent.
    fn agent(&self, program: &str, words: &[&str], stdin: &str) -> (bool, String) {
        self.client(program, &self.sandbox.path("agent.kubeconfig"), words, stdin)
    }

    #[track_caller]
    fn passes(&self, program: &str, words: &[&str], stdin: &str) -> String {
        let (succeeded, text) = self.agent(program, words, stdin);
        assert!(succeeded, "{program} {words:?}: {text}");
        text
    }

    #[track_caller]
    fn refused(&self, program: &str, words: &[&str], stdin: &str, reason: &str) {
        let (succeeded, text) = self.agent(program, words, stdin);
        assert!(!succeeded && text.contains(reason), "{program} {words:?}: {text}");
    }

    /// A request of any form to the gate: the status and the body. `{ns}` in the path is the namespace.
    fn request(&self, method: &str, path: &str, headers: &[&str], body: &str) -> (u16, String) {
        let url = format!("http://{}{}", self.address, path.replace("{ns}", &self.namespace));
        let mut command = Command::new("curl");
        command.args(["-s", "--path-as-is", "--max-time", "20", "-w", "\n%{http_code}", "-X", method, &url]);
        for header in headers {
            command.args(["-H", header]);
        }
        if !body.is_empty() {
            command.args(["--data-binary", "@-"]);
            if !headers.iter().any(|header| header.to_lowercase().starts_with("content-type")) {
                command.args(["-H", "Content-Type: application/json"]);
            }
        }
        let (_, text) = run(&mut command, body);
        let (text, status) = text.trim_end().rsplit_once('\n').unwrap();
        (status.parse().unwrap(), text.to_owned())
    }

    /// A request that the gate itself refuses.
    #[track_caller]
    fn denied(&self, method: &str, path: &str, headers: &[&str], body: &str) {
        let (status, text) = self.request(method, path, headers, body);
        let is_of_gate = text.contains("opsctl")
            || text.contains("Never allowed")
            || text.contains("Secret: ")
            || text.contains("Tier ")
            || text.contains("Cooldown");
        assert!(
            (status == 403 && is_of_gate) || status == 400 || status == 405,
            "{method} {path} {headers:?} {body}: {status} {text}"
        );
    }

    /// A field of an object, by the operator.
    fn field(&self, kind: &str, name: &str, path: &str) -> String {
        self.admin(&["get", kind, name, "-o", &format!("jsonpath={{{path}}}")], "")
    }

    /// The name of the pod that the controllers have made for the service.
    fn pod(&self) -> String {
        until("a pod of jellyfin", || {
            let found = self.admin(&["get", "pods", "-l", "app=jellyfin", "-o", "name"], "");
            found.lines().next().and_then(|line| line.strip_prefix("pod/")).map(str::to_owned)
        })
    }

    /// The counted actions, when there are as many.
    fn counted(&self, most: usize) -> Vec<String> {
        until("the record of an action", || {
            let rows = self.sandbox.sql("select service, action_type, success from cooldown_actions where success is not null order by id");
            let rows: Vec<String> = rows.lines().map(str::to_owned).collect();
            (rows.len() >= most).then_some(rows)
        })
    }
}

#[test]
#[ignore = "needs a cluster: tests/image/cluster"]
fn a_third_restart_is_refused_however_it_is_requested() {
    for client in CLIENTS {
        let cluster = Cluster::new("2", "");
        let pod = cluster.pod();
        assert!(cluster.passes(client, &["get", "pods"], "").contains(&pod));
        for words in [
            &["describe", "deployment", "jellyfin"][..],
            &["get", "all"],
            &["api-resources"],
            &["explain", "pods"],
        ] {
            cluster.passes(client, words, "");
        }
        assert!(cluster.passes(client, &["auth", "can-i", "delete", "pods"], "").contains("yes"));
        cluster.passes(client, &["delete", "pod", &pod, "--wait=false"], "");
        cluster.passes(client, &["rollout", "restart", "deployment/jellyfin"], "");
        let generation = cluster.field("deployment", "jellyfin", ".metadata.generation");
        let pod = cluster.pod();
        // A restart within the same second is an empty patch.
        thread::sleep(Duration::from_millis(1100));
        for words in [
            &["rollout", "restart", "deployment/jellyfin"][..],
            &["rollout", "restart", "deployment", "jellyfin"],
            &["delete", "pod", &pod],
            &["delete", "pods", "-l", "app=jellyfin"],
            &["scale", "deployment/jellyfin", "--replicas=0"],
            &["patch", "deployment", "jellyfin", "-p", r#"{"spec":{"replicas":0}}"#],
        ] {
            cluster.refused(client, words, "", "Cooldown limit exceeded for jellyfin: 2/2");
        }
        let scale = json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "jellyfin"}, "spec": {"replicas": 0}}).to_string();
        let eviction = json!({"apiVersion": "policy/v1beta1", "kind": "Eviction", "metadata": {"name": pod}})
            .to_string();
        let deployment = "/apis/apps/v1/namespaces/{ns}/deployments/jellyfin";
        let merge = "Content-Type: application/merge-patch+json";
        let annotation = r#"{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":"now"}}}}}"#;
        for (method, path, kind, body) in [
            ("POST", format!("/api/v1/namespaces/{{ns}}/pods/{pod}/eviction"), "", eviction.as_str()),
            ("DELETE", format!("/api/v1/namespaces/{{ns}}/pods/{pod}"), "", ""),
            ("DELETE", format!("/api/v1/namespaces/{{ns}}/pods/{pod}/"), "", ""),
            ("DELETE", format!("/api/v1/namespaces/{{ns}}/pods/{}%2d{}", &pod[..8], &pod[9..]), "", ""),
            ("DELETE", format!("/api/v1/namespaces/{{ns}}/pods/{pod}?dryRun=All"), "", "{}"),
            ("DELETE", format!("/api/v1/namespaces/{{ns}}/pods/{pod}?dryRun=All&dryRun="), "", ""),
            ("DELETE", format!("/api/v1/namespaces/{{ns}}/pods/{pod}?dryRun=All"), "", "null"),
            ("DELETE", "/api/v1/namespaces/{ns}/pods?labelSelector=app%3Djellyfin".to_owned(), "", ""),
            ("PUT", format!("{deployment}/scale"), "", &scale),
            ("PATCH", format!("{deployment}/scale"), merge, r#"{"spec":{"replicas":0}}"#),
            ("PATCH", deployment.to_owned(), merge, annotation),
            (
                "PATCH",
                deployment.to_owned(),
                "content-type: application/strategic-merge-patch+json",
                annotation,
            ),
        ] {
            let headers: Vec<&str> = Some(kind).filter(|kind| !kind.is_empty()).into_iter().collect();
            cluster.denied(method, &path, &headers, body);
        }
        for path in [
            format!("//api/v1/namespaces/{{ns}}/pods/{pod}"),
            format!("/api/v1/namespaces/x/../{{ns}}/pods/{pod}"),
        ] {
            assert_eq!(cluster.request("DELETE", &path, &[], "").0, 400);
        }
        assert_eq!(cluster.request("GET", deployment, &["X-HTTP-Method-Override: DELETE"], "").0, 200);
        assert_eq!(cluster.field("deployment", "jellyfin", ".metadata.generation"), generation);
        assert_eq!(cluster.pod(), pod);
        assert_eq!(cluster.counted(2), ["jellyfin|restart|1", "jellyfin|restart|1"]);
    }
}

#[test]
#[ignore = "needs a cluster: tests/image/cluster"]
fn a_redeployment_counts_once_a_day_and_only_at_tier_3() {
    let object = |cluster: &Cluster, image: &str| {
        let text = cluster.admin(&["get", "deployment", "jellyfin", "-o", "json"], "");
        let mut value: Value = serde_json::from_str(&text).unwrap();
        value["spec"]["template"]["spec"]["containers"][0]["image"] = json!(image);
        value["metadata"] = json!({"name": "jellyfin", "namespace": cluster.namespace});
        value["status"].take();
        value.to_string()
    };
    let changes: [&[&str]; 6] = [
        &["set", "image", "deployment/jellyfin", "c=i:3"],
        &["set", "env", "deployment/jellyfin", "A=b"],
        &["apply", "-f", "-"],
        &["apply", "--server-side", "--force-conflicts", "-f", "-"],
        &["replace", "-f", "-"],
        &[
            "patch",
            "deployment",
            "jellyfin",
            "--type=json",
            "-p",
            r#"[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"i:3"}]"#,
        ],
    ];
    for client in CLIENTS {
        let cluster = Cluster::new("2", "");
        for words in changes {
            cluster.refused(client, words, &object(&cluster, "i:3"), "Tier 2");
        }
        assert_eq!(cluster.field("deployment", "jellyfin", ".metadata.generation"), "1");
    }
    let first = [&["set", "image", "deployment/jellyfin", "c=i:2"][..], changes[2], changes[3]];
    for (client, first) in CLIENTS.into_iter().zip(first) {
        let cluster = Cluster::new("3", "");
        cluster.passes(client, first, &object(&cluster, "i:2"));
        let generation = cluster.field("deployment", "jellyfin", ".metadata.generation");
        assert_eq!(
            (
                cluster.field("deployment", "jellyfin", ".spec.template.spec.containers[0].image"),
                generation.as_str()
            ),
            ("i:2".to_owned(), "2")
        );
        for words in changes {
            cluster.refused(
                client,
                words,
                &object(&cluster, "i:3"),
                "Cooldown limit exceeded for jellyfin: 1/1",
            );
        }
        let mut unnamed: Value = serde_json::from_str(&object(&cluster, "i:3")).unwrap();
        let deployment = "/apis/apps/v1/namespaces/{ns}/deployments/jellyfin";
        let apply = ["Content-Type: application/apply-patch+yaml"];
        for key in ["kind", "apiVersion"] {
            let mut partial = unnamed.clone();
            partial.as_object_mut().unwrap().remove(key);
            cluster.denied("PUT", deployment, &[], &partial.to_string());
            cluster.denied(
                "PATCH",
                &format!("{deployment}?fieldManager=x&force=true"),
                &apply,
                &partial.to_string(),
            );
        }
        unnamed["metadata"].as_object_mut().unwrap().remove("name");
        cluster.denied(
            "PATCH",
            &format!("{deployment}?fieldManager=x&force=true"),
            &apply,
            &unnamed.to_string(),
        );
        assert_eq!(cluster.field("deployment", "jellyfin", ".metadata.generation"), generation);
        assert_eq!(cluster.counted(1), ["jellyfin|redeployment|1"]);
    }
}

#[test]
#[ignore = "needs a cluster: tests/image/cluster"]
fn dry_runs_count_nothing_and_change_nothing() {
    for client in CLIENTS {
        let cluster = Cluster::new("1", "");
        let pod = cluster.pod();
        for words in [
            &["delete", "pod", &pod, "--dry-run=server"][..],
            &["delete", "pvc", "films", "--dry-run=server"],
            &["scale", "deployment/jellyfin", "--replicas=0", "--dry-run=server"],
            &["patch", "deployment", "jellyfin", "--dry-run=server", "-p", r#"{"spec":{"replicas":0}}"#],
            &["create", "configmap", "x", "--dry-run=server"],
        ] {
            // kubectl 1.20 has no dry run of `scale`.
            if words[0] != "scale" || client != "kubectl-1.20" {
                cluster.passes(client, words, "");
            }
        }
        assert_eq!(cluster.pod(), pod);
        cluster.field("pvc", "films", ".metadata.name");
        assert_eq!(cluster.field("deployment", "jellyfin", ".metadata.generation"), "1");
        assert!(
            !cluster.sandbox.has_ledger()
                || cluster.sandbox.sql("select count(*) from cooldown_actions") == "0"
        );
    }
}

#[test]
#[ignore = "needs a cluster: tests/image/cluster"]
fn values_of_secrets_reach_no_client() {
    let cluster = Cluster::new("3", "");
    assert!(cluster.admin(&["get", "secret", "db", "-o", "yaml"], "").contains(IN_BASE64));
    let is_hidden = |text: &str| !text.contains(PASSWORD) && !text.contains(IN_BASE64);
    for client in CLIENTS {
        for words in [
            &["get", "secret", "db", "-o", "yaml"][..],
            &["get", "secret", "db", "-o", "jsonpath={.data.password}"],
            &["get", "secrets", "-o", "json"],
            &["get", "secrets", "-A", "-o", "yaml"],
            &["get", "secrets,configmaps", "-o", "yaml"],
            &["describe", "secret", "db"],
            &["label", "secret", "db", "a=b", "--overwrite", "-o", "yaml"],
        ] {
            let text = cluster.passes(client, words, "");
            assert!(is_hidden(&text), "{client} {words:?}: {text}");
        }
        // kubectl 1.20 prints no reason for a refused watch.
        let reason = if client == "kubectl-1.20" { "Forbidden" } else { "redacted" };
        cluster.refused(client, &["get", "secrets", "-w"], "", reason);
        cluster.refused(client, &["get", "secret", "db", "-w", "-o", "yaml"], "", reason);
        let shown = cluster.passes(client, &["get", "secret", "db", "-o", "yaml"], "");
        cluster.refused(client, &["replace", "-f", "-"], &shown, "redacted");
    }
    cluster.refused("kubectl-1.32", &["create", "token", "default"], "", "Secret");
    let secrets = "/api/v1/namespaces/{ns}/secrets";
    let metadata = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
    let list = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
    let table = "application/json;as=Table;g=meta.k8s.io;v=v1";
    for (path, accept) in [
        (secrets.to_owned(), "application/vnd.kubernetes.protobuf"),
        (secrets.to_owned(), "application/yaml"),
        (secrets.to_owned(), "application/json;stream=watch"),
        (secrets.to_owned(), table),
        (secrets.to_owned(), list),
        (format!("{secrets}?includeObject=Object&limit=1"), table),
        (format!("{secrets}/db?includeObject=Object"), table),
        (format!("{secrets}/db"), metadata),
        (format!("{secrets}/db/"), "*/*"),
        (format!("{secrets}/%64b?pretty=1"), ""),
        (format!("{secrets}?limit=1"), ""),
        (format!("{secrets}?watch=0"), ""),
        ("/api/v1/secrets?fieldSelector=metadata.name%3Ddb".to_owned(), ""),
    ] {
        let (status, text) =
            cluster.request("GET", &path, &[&format!("Accept: {accept}"), "Accept-Encoding: gzip"], "");
        assert!(status == 200 && is_hidden(&text), "{path} {accept}: {status} {text}");
    }
    for path in [
        format!("{secrets}?watch=1"),
        format!("{secrets}?watch"),
        format!("{secrets}?watch=0&watch=1"),
        format!("{secrets}/db?watch=true"),
        "/api/v1/watch/secrets".to_owned(),
        "/api/v1/watch/namespaces/{ns}/secrets/db".to_owned(),
        "/api/v1/namespaces/{ns}/secrets%2Fdb".to_owned(),
    ] {
        cluster.denied("GET", &path, &[], "");
    }
    for path in ["/api/v1/namespaces/{ns}/Secrets", "/API/v1/namespaces/{ns}/secrets"] {
        let (status, text) = cluster.request("GET", path, &[], "");
        assert!(status != 200 && is_hidden(&text), "{path}: {text}");
    }
    let patch = ["Content-Type: application/json-patch+json"];
    for op in [
        json!([{"op": "copy", "from": "/data/password", "path": "/metadata/annotations/kubectl.kubernetes.io~1x"}]),
        json!([{"op": "move", "from": "/data/password", "path": "/type"}]),
        json!([{"op": "test", "path": "/data/password", "value": IN_BASE64}]),
    ] {
        cluster.denied("PATCH", &format!("{secrets}/db?dryRun=All"), &patch, &op.to_string());
    }
    let open = Cluster::new("1", "policy: {redact_output: false}\n");
    assert!(open.passes("kubectl-1.37", &["get", "secret", "db", "-o", "yaml"], "").contains(IN_BASE64));
}

#[test]
#[ignore = "needs a cluster: tests/image/cluster"]
fn clients_are_refused_what_is_always_denied() {
    let cluster = Cluster::new("3", "");
    let ns = cluster.namespace.as_str();
    for client in CLIENTS {
        for words in [
            &["delete", "deployment", "jellyfin"][..],
            &["delete", "namespace", ns],
            &["delete", "pvc", "films"],
            &["delete", "secret", "db"],
            &["delete", "configmap", "settings"],
            &["create", "role", "r", "--verb=get", "--resource=secrets"],
            &["create", "clusterrolebinding", "b", "--clusterrole=cluster-admin", "--user=x"],
            &["create", "serviceaccount", "s"],
            &["label", "namespace", ns, "pod-security.kubernetes.io/enforce=privileged"],
            &["run", "x", "--image=i", r#"--overrides={"spec":{"hostPID":true}}"#],
            &[
                "patch",
                "pvc",
                "films",
                "-p",
                r#"{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"x","uid":"x"}]}}"#,
            ],
            &["get", "pods", "--as=admin"],
            &["get", "pods", "--as=admin", "--as-group=system:masters"],
            &["get", "--raw", "/metrics"],
            &["get", "--raw", "/logs/"],
            &["get", "--raw", "/api/v1/nodes/n/proxy/pods"],
        ] {
            let (succeeded, text) = cluster.agent(client, words, "");
            assert!(!succeeded && is_refusal(&text), "{client} {words:?}: {text}");
        }
    }
    assert_eq!(cluster.field("deployment", "jellyfin", ".metadata.generation"), "1");
    assert_eq!(cluster.field("pvc", "films", ".metadata.ownerReferences"), "");
}

/// Requests of any form, which no client sends.
#[test]
#[ignore = "needs a cluster: tests/image/cluster"]
fn what_is_always_denied_reaches_no_cluster() {
    let cluster = Cluster::new("3", "");
    let pod = cluster.pod();
    let bearer = "Sec-WebSocket-Protocol: v4.channel.k8s.io, base64url.bearer.authorization.k8s.io.YQ";
    for header in
        ["Authorization: Bearer admin-of-the-tests", "Impersonate-User: admin", "impersonate-uid: 1", bearer]
    {
        cluster.denied("GET", "/api/v1/namespaces/{ns}/pods", &[header], "");
    }
    let owner = json!([{"op": "add", "path": "/metadata/ownerReferences", "value": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "x"}]}]);
    let template = |op: Value| json!([op]).to_string();
    let at = |path: &str| format!("/spec/template/spec/{path}");
    let patches = [
        owner.to_string(),
        template(json!({"op": "copy", "from": at("containers/0/stdin"), "path": at("hostPID")})),
        template(
            json!({"op": "add", "path": at("containers/0/securityContext/capabilities/add/-"), "value": "SYS_ADMIN"}),
        ),
        template(
            json!({"op": "add", "path": at("containers/0/securityContext/capabilities"), "value": {"add": ["sys_admin"]}}),
        ),
    ];
    for patch in patches {
        let path = "/apis/apps/v1/namespaces/{ns}/deployments/jellyfin";
        cluster.denied("PATCH", path, &["Content-Type: application/json-patch+json"], &patch);
    }
    let (core, apps) = ("/api/v1/namespaces/{ns}", "/apis/apps/v1/namespaces/{ns}");
    let merge = "Content-Type: application/merge-patch+json";
    let privileged = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i","securityContext":{"privileged":true}}]}}"#;
    let volume = r#"{"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"p"},"spec":{"local":{"path":"/"}}}"#;
    let token = r#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"t","annotations":{"kubernetes.io/service-account.name":"default"}},"type":"kubernetes.io/service-account-token"}"#;
    for (method, path, kind, body) in [
        ("POST", format!("{core}/pods"), "", privileged),
        ("POST", format!("{core}/pods"), "Content-Type: application/yaml", privileged),
        ("POST", format!("{core}/pods"), "Content-Type: application/vnd.kubernetes.protobuf", privileged),
        ("POST", format!("{core}/pods"), "Content-Encoding: gzip", "\u{1f}not gzip"),
        ("POST", "/api/v1/persistentvolumes".to_owned(), "", volume),
        ("POST", format!("{core}/secrets"), "", token),
        (
            "POST",
            format!("{core}/serviceaccounts/default/token"),
            "",
            r#"{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{}}"#,
        ),
        ("PUT", format!("{core}/finalize"), "", r#"{"apiVersion":"v1","kind":"Namespace"}"#),
        ("PATCH", format!("{core}/status"), merge, "{}"),
        (
            "POST",
            format!("{core}/pods/{pod}/binding"),
            "",
            r#"{"apiVersion":"v1","kind":"Binding","target":{"kind":"Node","name":"n"}}"#,
        ),
        ("PATCH", format!("{core}/pods/{pod}/status"), merge, r#"{"status":{"phase":"Failed"}}"#),
        (
            "PATCH",
            format!("{core}/pods/{pod}/ephemeralcontainers"),
            merge,
            r#"{"spec":{"ephemeralContainers":[{"name":"d","image":"i","command":["reboot"]}]}}"#,
        ),
        ("POST", format!("{core}/pods/{pod}/attach?stdin=true"), "", ""),
        ("GET", format!("{core}/pods/{pod}/proxy/"), "", ""),
        ("POST", format!("{core}/services/x/proxy/a"), "", ""),
        ("GET", format!("{core}/services/http:x:80/proxy"), "", ""),
        ("PATCH", format!("{apps}/deployments/jellyfin/status"), merge, "{}"),
        ("DELETE", format!("{core}/persistentvolumeclaims/films?dryRun=All"), "", "{}"),
        ("DELETE", format!("{core}/persistentvolumeclaims"), "", ""),
        ("DELETE", format!("{apps}/deployments"), "", r#"{"propagationPolicy":"Orphan"}"#),
        ("POST", "/apis/authentication.k8s.io/v1/tokenreviews".to_owned(), "", "{}"),
        ("POST", "/apis/certificates.k8s.io/v1/certificatesigningrequests".to_owned(), "", "{}"),
        ("POST", "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations".to_owned(), "", "{}"),
        ("OPTIONS", format!("{core}/pods"), "", ""),
    ] {
        let headers: Vec<&str> = Some(kind).filter(|kind| !kind.is_empty()).into_iter().collect();
        cluster.denied(method, &path, &headers, body);
    }
    assert_eq!(cluster.field("deployment", "jellyfin", ".metadata.generation"), "1");
    assert_eq!(cluster.pod(), pod);
    let left = cluster.admin(&["get", "pvc,secrets,configmaps", "-o", "name"], "");
    for kept in ["persistentvolumeclaim/films", "secret/db", "configmap/settings"] {
        assert!(left.contains(kept), "{left}");
    }
}

/// A pod on a node whose kubelet is a stand-in, which runs nothing.
#[test]
#[ignore = "needs a cluster: tests/image/cluster"]
fn commands_in_pods_are_judged_before_they_reach_the_kubelet() {
    let (port, log) = kubelet();
    let cluster = Cluster::new("2", "");
    let node = format!("node-{}", cluster.namespace);
    let addresses = json!([{"type": "InternalIP", "address": "127.0.0.1"}]);
    let status = json!({"addresses": addresses, "daemonEndpoints": {"kubeletEndpoint": {"Port": port}}});
    let object = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": node}, "status": status});
    cluster.admin(&["create", "-f", "-"], &object.to_string());
    let spec = json!({"nodeName": node, "containers": [{"name": "c", "image": "i"}]});
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "shell"}, "spec": spec});
    cluster.admin(&["create", "-f", "-"], &pod.to_string());
    // kubectl 1.20 has only the protocol SPDY, which the stand-in lacks.
    for client in &CLIENTS[1..] {
        assert_eq!(cluster.passes(client, &["exec", "shell", "--", "cat", "/etc/hostname"], ""), "hello\n");
    }
    let reached = log.lock().unwrap().len();
    for client in CLIENTS {
        assert_eq!(cluster.passes(client, &["logs", "shell"], ""), "a line\n");
        for words in [
            &["--", "reboot"][..],
            &["-i", "--", "sh"],
            &["-it", "--", "bash"],
            &["--", "sh", "-c", "rm -rf /"],
        ] {
            let (succeeded, text) = cluster.agent(client, &[&["exec", "shell"], words].concat(), "id\n");
            assert!(!succeeded && is_refusal(&text), "{client} {words:?}: {text}");
        }
    }
    let exec = "/api/v1/namespaces/{ns}/pods/shell/exec";
    let upgrade = [
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: YWFhYWFhYWFhYWFhYWFhYQ==",
    ];
    for query in [
        "command=reboot",
        "command=kubectl&command=delete&command=ns&command=x&dryRun=All",
        "command=cat&stdin=false&stdin=true",
        "command=sh&stdin=",
        "command=sh&stdin=true&stdin=false",
        "",
    ] {
        cluster.denied("GET", &format!("{exec}?stdout=true&{query}"), &upgrade, "");
        cluster.denied(
            "POST",
            &format!("{exec}?stdout=true&{query}"),
            &["Connection: Upgrade", "Upgrade: SPDY/3.1"],
            "",
        );
    }
    cluster.denied("GET", "/api/v1/namespaces/{ns}/pods", &upgrade, "");
    let log = log.lock().unwrap();
    assert!(reached >= 2 && log.iter().filter(|line| line.contains("/exec/")).count() == reached, "{log:?}");
    cluster.admin(&["delete", "node", &node], "");
}

/// What `opsctl render --kubernetes` writes; without admission policies, if the server has none.
#[test]
#[ignore = "needs a cluster: tests/image/cluster"]
fn the_rendered_roles_are_accepted_and_hold_without_the_gate() {
    for tier in ["1", "2", "3"] {
        let cluster = Cluster::new(tier, "");
        let ran = cluster.sandbox.opsctl(
            &[
                "render",
                "--tier",
                tier,
                "--hosts",
                "hosts.yaml",
                "--out",
                "project",
                "--kubernetes",
                "cluster.yaml",
            ],
            b"",
        );
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let text = cluster.sandbox.read("cluster.yaml");
        let has_policies =
            cluster.admin(&["api-resources", "-o", "name"], "").contains("validatingadmissionpolicies");
        let known: Vec<&str> = text
            .split("\n---\n")
            .filter(|part| has_policies || !part.contains("ValidatingAdmissionPolicy"))
            .collect();
        eprintln!("tier {tier}: {} objects, admission policies: {has_policies}", known.len());
        // The namespace is that of an object itself.
        let applied = run(
            Command::new("kubectl-1.32")
                .arg("--kubeconfig")
                .arg(cluster.folder.join("admin.kubeconfig"))
                .args(["apply", "-f", "-"]),
            &known.join("\n---\n"),
        );
        assert!(applied.0, "{}", applied.1);
        let token = cluster.admin(&["-n", "opsctl", "create", "token", "gate"], "");
        let admin = std::fs::read_to_string(cluster.folder.join("admin.kubeconfig")).unwrap();
        let own =
            cluster.sandbox.write("gate.kubeconfig", &admin.replace("admin-of-the-tests", token.trim()));
        let direct = |words: &[&str]| cluster.client("kubectl-1.32", &own, words, "");
        let pod = cluster.pod();
        let annotation = r#"{"spec":{"template":{"metadata":{"annotations":{"a":"b"}}}}}"#;
        for (from, words) in [
            (1, &["get", "pods"][..]),
            (1, &["get", "roles"]),
            (2, &["patch", "deployment", "jellyfin", "-p", annotation]),
            (2, &["scale", "deployment/jellyfin", "--replicas=1"]),
            (2, &["delete", "pod", &pod, "--wait=false"]),
            (3, &["create", "configmap", "x"]),
            (3, &["create", "deployment", "x", "--image=i"]),
        ] {
            let (succeeded, text) = direct(words);
            assert_eq!(succeeded, tier.parse::<i32>().unwrap() >= from, "tier {tier} {words:?}: {text}");
            assert!(succeeded || is_refusal(&text), "{text}");
        }
        for words in [
            &["get", "secrets"][..],
            &["get", "secret", "db"],
            &["delete", "deployment", "jellyfin"],
            &["delete", "pvc", "films"],
            &["delete", "configmap", "settings"],
            &["delete", "namespace", &cluster.namespace],
            &["create", "role", "r", "--verb=get", "--resource=secrets"],
            &["create", "clusterrolebinding", "b", "--clusterrole=cluster-admin", "--user=x"],
            &["create", "serviceaccount", "s"],
            &["create", "token", "default"],
            &["get", "pods", "--as=admin"],
            &["get", "--raw", "/metrics"],
            &["-n", "default", "create", "configmap", "x"],
        ] {
            let (succeeded, text) = direct(words);
            assert!(!succeeded && is_refusal(&text), "tier {tier} {words:?}: {text}");
        }
        // The gate with these rights.
        let gated = Cluster::with(&cluster.folder, &own, tier, "");
        gated.passes("kubectl-1.37", &["get", "pods", "-A"], "");
        cluster.admin(&["delete", "clusterrolebinding", "opsctl-tier-1"], "");
    }
}

#[test]
#[ignore = "needs a cluster: tests/image/cluster"]
fn helm_upgrades_a_release_once_a_day() {
    let chart = |cluster: &Cluster, image: &str| {
        cluster.sandbox.write("chart/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n");
        let container = format!("{{name: c, image: '{image}'}}");
        cluster.sandbox.write("chart/templates/web.yaml", &format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web}}\nspec:\n  selector: {{matchLabels: {{app: web}}}}\n  template:\n    metadata: {{labels: {{app: web}}}}\n    spec: {{containers: [{container}]}}\n"
        ));
    };
    let helm = |cluster: &Cluster, words: &[&str]| {
        let folder = cluster.sandbox.path("chart").display().to_string();
        let words: Vec<&str> =
            words.iter().map(|word| if *word == "CHART" { folder.as_str() } else { word }).collect();
        cluster.agent("helm", &words, "")
    };
    let redacting = Cluster::new("3", "");
    chart(&redacting, "i:1");
    let (succeeded, text) = helm(&redacting, &["install", "web", "CHART"]);
    assert!(succeeded, "{text}");
    let (_, text) = helm(&redacting, &["list"]);
    assert!(!text.contains("web"), "{text}");
    assert_eq!(redacting.counted(1), ["web|redeployment|1"]);
    let cluster = Cluster::new("3", "policy: {redact_output: false}\n");
    chart(&cluster, "i:1");
    for words in [
        &["install", "web", "CHART"][..],
        &["list"],
        &["status", "web"],
        &["get", "manifest", "web"],
        &["history", "web"],
    ] {
        let (succeeded, text) = helm(&cluster, words);
        assert!(succeeded, "{words:?}: {text}");
    }
    assert_eq!(cluster.counted(1), ["web|redeployment|1"]);
    cluster.refused(
        "kubectl-1.37",
        &["set", "image", "deployment/web", "c=i:9"],
        "",
        "Cooldown limit exceeded for web: 1/1",
    );
    chart(&cluster, "i:2");
    for words in [
        &["upgrade", "web", "CHART"][..],
        &["rollback", "web", "1"],
        &["upgrade", "--install", "web", "CHART"],
        &["uninstall", "web"],
    ] {
        let (succeeded, text) = helm(&cluster, words);
        // `helm uninstall` prints no reason, and leaves the release as it is.
        assert!(
            !succeeded && (words[0] == "uninstall" || text.contains("Cooldown limit")),
            "{words:?}: {text}"
        );
    }
    assert_eq!(cluster.field("deployment", "web", ".spec.template.spec.containers[0].image"), "i:1");
    assert!(helm(&cluster, &["list"]).1.contains("deployed"));
    let second = Cluster::new("2", "policy: {redact_output: false}\n");
    chart(&second, "i:1");
    let (succeeded, text) = helm(&second, &["install", "web", "CHART"]);
    assert!(!succeeded && text.contains("Tier 2"), "{text}");
}

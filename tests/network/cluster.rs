//! A cluster of Kubernetes as `kubectl` sees it.

use crate::servers::{read_request, serve};
use crate::support::Lan;
use serde_json::{Value, json};
use std::io::Write;

/// An API server that has workloads with these contents, by kind. Each list that `has` accepts, by namespace and name,
/// has one item; the namespace is empty in a search of all.
pub fn cluster(workloads: Value, has: impl Fn(&str, &str) -> bool + Send + Sync + 'static) -> u16 {
    let kinds = [
        ("apps/v1", "deployments", "Deployment"),
        ("apps/v1", "statefulsets", "StatefulSet"),
        ("apps/v1", "daemonsets", "DaemonSet"),
        ("batch/v1", "jobs", "Job"),
        ("batch/v1", "cronjobs", "CronJob"),
    ];
    serve(move |mut stream| {
        let request = read_request(&mut stream);
        let path = request.split([' ', '?']).nth(1).unwrap_or_default();
        let words: Vec<&str> = path.split('/').skip(1).collect();
        let name = request.split("metadata.name%3D").nth(1).unwrap_or_default();
        let name = name.split([' ', '&']).next().unwrap_or_default();
        let namespace = words.iter().skip_while(|word| **word != "namespaces").nth(1).unwrap_or(&"");
        let answer = match words.as_slice() {
            ["version"] => json!({"major": "1", "minor": "30", "gitVersion": "v1.30.0"}),
            ["api"] => json!({"kind": "APIVersions", "versions": ["v1"]}),
            ["apis"] => {
                let group = |name: &str| {
                    let version = json!({"groupVersion": format!("{name}/v1"), "version": "v1"});
                    json!({"name": name, "versions": [version], "preferredVersion": version})
                };
                json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": [group("apps"), group("batch")]})
            }
            ["api", _] | ["apis", _, _] => {
                let group = words[1..].join("/");
                let resource = |(_, name, kind): &(&str, &str, &str)| {
                    json!({"name": name, "singularName": kind.to_lowercase(), "namespaced": true, "kind": kind,
                        "verbs": ["get", "list"]})
                };
                let resources: Vec<Value> =
                    kinds.iter().filter(|kind| kind.0 == group).map(resource).collect();
                json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group, "resources": resources})
            }
            _ => {
                let kind = kinds.iter().find(|kind| words.last() == Some(&kind.1));
                let (group, _, kind) = kind.unwrap_or_else(|| panic!("{request}"));
                let item = workloads.get(kind).filter(|_| has(namespace, name)).map(|workload| {
                    let mut item = workload.clone();
                    item["kind"] = json!(kind);
                    item["apiVersion"] = json!(group);
                    item["metadata"] = json!({"name": name, "namespace": namespace, "generation": 2});
                    item
                });
                let items: Vec<Value> = item.into_iter().collect();
                json!({"kind": format!("{kind}List"), "apiVersion": group, "metadata": {}, "items": items})
            }
        };
        let body = answer.to_string();
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        let _ = stream.write_all((head + &body).as_bytes());
    })
}

/// A kubeconfig for the API server at this port of loopback.
pub fn kubeconfig(lan: &Lan, port: u16) {
    lan.write(
        "kubeconfig",
        &format!(
            "{{apiVersion: v1, kind: Config, current-context: c, users: [{{name: u, user: {{}}}}],
              clusters: [{{name: c, cluster: {{server: 'http://127.0.0.1:{port}'}}}}],
              contexts: [{{name: c, context: {{cluster: c, user: u}}}}]}}"
        ),
    );
}

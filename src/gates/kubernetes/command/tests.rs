//! Requests as commands.

use super::*;
use serde_json::json;

fn command(method: &Method, path: &str, body: &Value) -> String {
    use super::super::resource::Named;
    let target = Target::read(&path.parse().unwrap()).unwrap();
    let Named::Resource(resource) = Named::of(&target) else { panic!("{path}") };
    let asked = Asked { method, resource: &resource, target: &target, body, is_apply: false, workload: None };
    asked.command().unwrap_or_else(|why| format!("refused: {why}"))
}

#[test]
fn requests_are_stated_as_the_command_that_does_the_same() {
    let apps = "/apis/apps/v1/namespaces/m/deployments/x";
    let restarted = json!({"spec": {"template": {"metadata": {"annotations": {RESTARTED_AT: "2026"}}}}});
    let both = json!({"spec": {"replicas": 1, "template": {}}});
    let pod = "/api/v1/namespaces/m/pods/x";
    let null = Value::Null;
    for (method, path, body, expected) in [
        (Method::GET, "/api/v1/pods?watch=true", null.clone(), "kubectl get pods -A"),
        (Method::GET, &format!("{pod}/log?follow=true"), null.clone(), "kubectl -n m logs x"),
        (
            Method::GET,
            &format!("{pod}/proxy"),
            null.clone(),
            "refused: the part `proxy` of pods is not known",
        ),
        (Method::DELETE, pod, null.clone(), "kubectl -n m delete pods x"),
        (
            Method::DELETE,
            "/api/v1/namespaces/m/pods?labelSelector=app%3Dx",
            null.clone(),
            "refused: it deletes a collection, whose objects it does not name; delete each by its name",
        ),
        (
            Method::DELETE,
            &format!("{pod}?dryRun=All"),
            null.clone(),
            "kubectl -n m delete pods x --dry-run=server",
        ),
        (Method::POST, &format!("{pod}/eviction"), null.clone(), "kubectl -n m delete pods x"),
        (
            Method::POST,
            &format!("{pod}/exec?command=sh&command=-c&command=id%3Bls&stdin=true&container=c"),
            null.clone(),
            "kubectl -n m exec -i x -c c -- sh -c 'id;ls'",
        ),
        (Method::GET, &format!("{pod}/exec?command=id"), null.clone(), "kubectl -n m exec x -- id"),
        (Method::PATCH, apps, restarted, "kubectl -n m rollout restart deployments/x"),
        (
            Method::PATCH,
            apps,
            json!({"spec": {"replicas": 0}}),
            "kubectl -n m scale deployments/x --replicas=0",
        ),
        (
            Method::PATCH,
            apps,
            both,
            r#"kubectl -n m patch deployments x -p '{"spec":{"replicas":1,"template":{}}}'"#,
        ),
        (
            Method::PATCH,
            &format!("{apps}/scale"),
            json!({"spec": {"replicas": 2}}),
            "kubectl -n m scale deployments/x --replicas=2",
        ),
        (
            Method::PUT,
            &format!("{apps}/status"),
            null.clone(),
            "refused: PUT of the part `status` of deployments is not known",
        ),
        (Method::PATCH, "/api/v1/nodes/n", json!({"spec": {"unschedulable": true}}), "kubectl cordon n"),
        (
            Method::POST,
            "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
            json!({}),
            "kubectl auth can-i --list",
        ),
        (
            Method::POST,
            "/apis/authentication.k8s.io/v1/tokenreviews",
            json!({}),
            "refused: tokenreviews are not known",
        ),
        (
            Method::POST,
            "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
            json!({"apiVersion": "v1", "kind": "X"}),
            "kubectl auth reconcile -f - <<'END-OF-BODY'\n{\"apiVersion\":\"v1\",\"kind\":\"X\"}\nEND-OF-BODY",
        ),
        (
            Method::POST,
            "/api/v1/namespaces/m/pods",
            json!({"apiVersion": "v1", "kind": "Pod", "spec": {"hostPID": true}}),
            "kubectl -n m create -f - <<'END-OF-BODY'\n{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"spec\":{\"hostPID\":true}}\nEND-OF-BODY",
        ),
        (
            Method::POST,
            "/api/v1/namespaces/m/secrets",
            json!({"metadata": {"name": "sh.helm.release.v1.web.v3"}, "type": RELEASE}),
            "kubectl -n m get secrets\nhelm upgrade web ./chart",
        ),
    ] {
        assert_eq!(command(&method, path, &body), expected, "{method} {path}");
    }
}

#[test]
fn only_workloads_are_restarted_by_the_number_of_their_pods() {
    let path = "/apis/cluster.x-k8s.io/v1/namespaces/m/machinedeployments/x";
    let (replicas, at) = (json!({"spec": {"replicas": 0}}), "2026");
    let restarted = json!({"spec": {"template": {"metadata": {"annotations": {RESTARTED_AT: at}}}}});
    for (method, path, body) in [
        (Method::PATCH, path.to_owned(), &replicas),
        (Method::PUT, format!("{path}/scale"), &replicas),
        (Method::PATCH, path.to_owned(), &restarted),
    ] {
        let expected = format!("kubectl -n m patch machinedeployments.cluster.x-k8s.io x -p '{body}'");
        assert_eq!(command(&method, &path, body), expected, "{method} {path}");
    }
}

#[test]
fn objects_that_run_no_containers_are_changed_by_any_verb() {
    let change = |method: &Method, path: &str, body: &Value, is_apply: bool| {
        use super::super::resource::Named;
        let target = Target::read(&path.parse().unwrap()).unwrap();
        let Named::Resource(resource) = Named::of(&target) else { panic!("{path}") };
        let asked = Asked { method, resource: &resource, target: &target, body, is_apply, workload: None };
        asked.change()
    };
    let core = "/api/v1/namespaces/m";
    let cron = "/apis/batch/v1/namespaces/m/cronjobs/x";
    let (named, suspended) =
        (json!({"metadata": {"name": "x"}}), json!({"spec": {"suspend": true}, "metadata": {"name": "x"}}));
    for (method, path, body, is_apply, expected) in [
        (Method::PUT, format!("{core}/services/x"), &named, false, "kubectl -n m patch services x"),
        (Method::POST, format!("{core}/configmaps"), &named, false, "kubectl -n m patch configmaps x"),
        (Method::PATCH, format!("{core}/secrets/x"), &named, true, "kubectl -n m patch secrets x"),
        (Method::PATCH, "/api/v1/nodes/x".to_owned(), &named, true, "kubectl patch nodes x"),
        (
            Method::POST,
            "/apis/upgrade.cattle.io/v1/namespaces/m/plans".to_owned(),
            &named,
            false,
            "kubectl -n m patch plans.upgrade.cattle.io x",
        ),
        (
            Method::PUT,
            cron.to_owned(),
            &suspended,
            false,
            r#"kubectl -n m patch cronjobs x -p '{"spec":{"suspend":true}}'"#,
        ),
        (Method::PUT, cron.to_owned(), &named, false, ""),
        (Method::PUT, "/apis/argoproj.io/v1alpha1/namespaces/m/applications/x".to_owned(), &named, false, ""),
        (Method::PATCH, format!("{core}/services/x"), &named, false, ""),
        (Method::PUT, "/apis/apps/v1/namespaces/m/deployments/x".to_owned(), &named, false, ""),
        (Method::POST, format!("{core}/pods"), &named, false, ""),
        (Method::POST, format!("{core}/pods/x/eviction"), &named, false, ""),
        (Method::DELETE, format!("{core}/services/x"), &Value::Null, false, ""),
    ] {
        let stated = change(&method, &path, body, is_apply).unwrap_or_default();
        assert_eq!(stated, expected, "{method} {path}");
    }
}

#[test]
fn a_deletion_is_dry_only_if_its_body_states_it() {
    let claim = "/api/v1/namespaces/m/persistentvolumeclaims/x";
    let deletes = "kubectl -n m delete persistentvolumeclaims x";
    let dry = format!("{deletes} --dry-run=server");
    let dry_address = format!("{claim}?dryRun=All");
    for (path, body, expected) in [
        (claim, Value::Null, deletes),
        (claim, json!({"dryRun": []}), deletes),
        (claim, json!({"dryRun": ["All"]}), &dry),
        (&dry_address, Value::Null, &dry),
        (&dry_address, json!({"dryRun": ["All"]}), &dry),
        (&dry_address, json!({}), "refused: the body states no dryRun, which the address states"),
        (claim, json!({"dryRun": ["Some"]}), "refused: dryRun: [\"Some\"] is not known"),
    ] {
        assert_eq!(command(&Method::DELETE, path, &body), expected, "{path} {body}");
    }
    let exec = "/api/v1/namespaces/m/pods/x/exec?command=id&dryRun=All";
    assert!(command(&Method::POST, exec, &Value::Null).starts_with("refused: dryRun has no effect"));
}

#[test]
fn changes_with_another_effect_than_their_resource_are_stated_as_that() {
    let (core, apps) = ("/api/v1/namespaces/m", "/apis/apps/v1/namespaces/m/deployments");
    let owned = json!({"metadata": {"ownerReferences": [{"kind": "ConfigMap"}]}});
    let patch = json!([{"op": "add", "path": "/metadata/ownerReferences", "value": []}]);
    let debug = json!({"spec": {"ephemeralContainers": [{"command": ["sh", "-c"], "args": ["id;ls"]}]}});
    let labels = json!({"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "privileged"}}});
    let token = json!({"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token"});
    let mut disguised = token.clone();
    disguised["metadata"] = json!({"name": "sh.helm.release.v1.web.v9"});
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "m"}});
    let other = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "y"}});
    for (method, path, body, expected) in [
        (
            Method::PATCH,
            format!("{core}/persistentvolumeclaims/x"),
            &owned,
            "\nkubectl -n m delete persistentvolumeclaims x",
        ),
        (
            Method::PATCH,
            format!("{core}/persistentvolumeclaims/x"),
            &patch,
            "\nkubectl -n m delete persistentvolumeclaims x",
        ),
        (
            Method::PATCH,
            format!("{core}/pods/x/ephemeralcontainers"),
            &debug,
            "debug x --image=debug -- sh -c 'id;ls'",
        ),
        (Method::PATCH, "/api/v1/namespaces/m".to_owned(), &labels, "kubectl auth reconcile"),
        (
            Method::PATCH,
            "/api/v1/namespaces/kube-system/configmaps/aws-auth".to_owned(),
            &labels,
            "auth reconcile",
        ),
        (Method::POST, format!("{core}/secrets"), &token, "auth reconcile"),
        (Method::POST, format!("{core}/secrets"), &disguised, "auth reconcile"),
        (Method::PUT, core.to_owned(), &namespace, "auth reconcile"),
        (Method::POST, apps.to_owned(), &owned, "refused: its body states no `kind`"),
        (
            Method::PUT,
            format!("{apps}/x"),
            &other,
            "refused: its body states no `metadata.name`, or another one",
        ),
    ] {
        let stated = command(&method, &path, body);
        assert!(stated.contains(expected), "{method} {path}: {stated}");
    }
}

#[test]
fn pods_do_not_leave_their_workload() {
    let (pod, set) = ("/api/v1/namespaces/m/pods/x", "/apis/apps/v1/namespaces/m/replicasets/x");
    let stays = |body: &Value| !command(&Method::PATCH, pod, body).starts_with("refused");
    for (expected, body) in [
        (true, json!({"metadata": {"annotations": {"a": "b"}}})),
        (true, json!({"spec": {"containers": [{"name": "web", "image": "web:2"}]}})),
        (true, json!([{"op": "replace", "path": "/spec/activeDeadlineSeconds", "value": 9}])),
        (false, json!({"metadata": {"labels": {"app": "y"}}})),
        (false, json!({"metadata": {"labels": null}})),
        (false, json!({"metadata": null})),
        (false, json!({"metadata": {"$patch": "replace", "annotations": {}}})),
        (false, json!({"$patch": "replace", "spec": {}})),
        (false, json!([{"op": "remove", "path": "/metadata/labels/app"}])),
        (false, json!([{"op": "replace", "path": "", "value": {}}])),
        (false, json!([{"op": "move", "from": "/metadata/labels", "path": "/metadata/annotations/x"}])),
    ] {
        assert_eq!(stays(&body), expected, "{body}");
        assert_eq!(!command(&Method::PATCH, set, &body).starts_with("refused"), expected, "{body}");
    }
    let whole = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}});
    assert!(command(&Method::PUT, pod, &whole).starts_with("refused: labels of a pod"));
    let dry = command(&Method::PATCH, &format!("{pod}?dryRun=All"), &json!({"metadata": {"labels": {}}}));
    assert!(dry.ends_with("--dry-run=server"), "{dry}");
}

//! What the path of a request names: the resource, its namespace and its name.

use crate::gates::proxy::target::Target;

/// What a path names.
#[derive(Debug, PartialEq, Eq)]
pub enum Named {
    /// The versions, resources and schemas of the server, or its health.
    Server,
    /// A resource.
    Resource(Resource),
    /// Something that the gate does not know, such as the proxy to a pod.
    Unknown,
}

/// A resource, or a collection of them.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Resource {
    /// The group of the API; empty for the core.
    pub group: String,
    /// The resource, in the plural: `pods`.
    pub kind: String,
    /// The namespace; `None` for all, or a resource of the cluster.
    pub namespace: Option<String>,
    /// The name; `None` for a collection.
    pub name: Option<String>,
    /// The part of the resource: `log`, `scale`, `exec`.
    pub part: Option<String>,
}

impl Named {
    /// Reads the path of a target.
    pub fn of(target: &Target) -> Self {
        let words: Vec<&str> = target.segments.iter().map(String::as_str).collect();
        match words.as_slice() {
            [] | ["api" | "apis" | "version" | "healthz" | "livez" | "readyz"] | ["openapi", ..] => {
                Self::Server
            }
            ["healthz" | "livez" | "readyz", ..] | ["api" | "apis", _] | ["apis", _, _] => Self::Server,
            ["api", "v1", rest @ ..] => resource("", rest),
            ["apis", group, _, rest @ ..] => resource(group, rest),
            _ => Self::Unknown,
        }
    }
}

fn resource(group: &str, words: &[&str]) -> Named {
    // A word of kubectl: nothing in it is an option.
    let is_plain = |word: &str| {
        !word.starts_with('-') && word.chars().all(|c| c.is_ascii_alphanumeric() || "-._:".contains(c))
    };
    if !words.iter().all(|word| is_plain(word)) || !is_plain(group) {
        return Named::Unknown;
    }
    let (namespace, words) = match words {
        ["watch" | "proxy", _, ..] => return Named::Unknown,
        ["namespaces", _, "status" | "finalize"] => (None, words),
        ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (Some(*namespace), rest),
        words => (None, words),
    };
    let (kind, name, part) = match words {
        [kind] => (*kind, None, None),
        [kind, name] => (*kind, Some(*name), None),
        [kind, name, part] => (*kind, Some(*name), Some(*part)),
        _ => return Named::Unknown,
    };
    Named::Resource(Resource {
        group: group.to_owned(),
        kind: kind.to_owned(),
        namespace: namespace.map(str::to_owned),
        name: name.map(str::to_owned),
        part: part.map(str::to_owned),
    })
}

impl Resource {
    /// The resource as kubectl names it: `pods`, `widgets.example.com`.
    pub fn word(&self) -> String {
        match self.group.as_str() {
            "" | "apps" | "batch" => self.kind.clone(),
            group => format!("{}.{group}", self.kind),
        }
    }

    /// Whether it is a Secret, or all of them.
    pub fn is_secret(&self) -> bool {
        self.group.is_empty() && self.kind == "secrets"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(path: &str) -> Named {
        Named::of(&Target::read(&path.parse().unwrap()).unwrap())
    }

    #[test]
    fn paths_name_resources_of_namespaces_and_of_the_cluster() {
        for (path, expected) in [
            ("/api/v1/pods", "pods"),
            ("/api/v1/namespaces/m/pods/x/log", "m/pods/x/log"),
            ("/apis/apps/v1/namespaces/m/deployments/x", "m/deployments/x"),
            ("/apis/example.com/v1beta1/widgets/x", "widgets.example.com/x"),
            ("/api/v1/namespaces", "namespaces"),
            ("/api/v1/namespaces/m", "namespaces/m"),
            ("/api/v1/namespaces/m/finalize", "namespaces/m/finalize"),
        ] {
            let Named::Resource(resource) = named(path) else { panic!("{path}") };
            let Resource { namespace, name, part, .. } = &resource;
            let word = Some(resource.word());
            let words = [namespace, &word, name, part].into_iter().flatten().cloned().collect::<Vec<_>>();
            assert_eq!(words.join("/"), expected, "{path}");
        }
        for path in
            ["/", "/api", "/api/v1", "/apis/apps/v1", "/openapi/v3/apis/apps/v1", "/readyz/etcd", "/version"]
        {
            assert_eq!(named(path), Named::Server, "{path}");
        }
        for path in [
            "/metrics",
            "/logs/x",
            "/api/v1/namespaces/m/pods/x/proxy/y",
            "/api/v1/watch/pods",
            "/api/v1/namespaces/m/pods/-x",
            "/api/v1/pods/a%20b",
            "/apis/apps/v1/namespaces/m/deployments/x%2Fy",
        ] {
            assert_eq!(named(path), Named::Unknown, "{path}");
        }
    }
}

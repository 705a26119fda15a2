//! A request as the `kubectl` command that does the same.

use axum::http::Method;
use serde_json::Value;

use crate::gates::kubernetes::body::{KNOWN, commands, gives_host_rights, mentions, only};
use crate::gates::kubernetes::resource::Resource;
use crate::gates::proxy::target::Target;
use opsctl_probe::health::quoted;
use opsctl_reader::languages::names::manifests;

/// The annotation that `kubectl rollout restart` sets.
const RESTARTED_AT: &str = "kubectl.kubernetes.io/restartedAt";

/// The type of a Secret with the record of a release of Helm.
const RELEASE: &str = "helm.sh/release.v1";

/// The last word of a here-document. Bodies are one line of JSON, which never consists of it.
const END: &str = "END-OF-BODY";

/// Why a pod is not deleted at once.
const AT_ONCE: &str = "with `gracePeriodSeconds: 0`, a pod is deleted while its containers may go on running beside their successors; leave out `--force`";

/// Why the labels of a pod are not changed.
const LEAVES: &str = "labels of a pod decide which workload it belongs to: one that leaves it goes on running beside its successor; change the workload";

/// Parts of resources that `kubectl exec` and similar commands use. A request by GET may act on them.
pub const STREAMS: [&str; 3] = ["attach", "exec", "portforward"];

/// A request on a resource.
pub struct Asked<'a> {
    /// The method.
    pub method: &'a Method,
    /// The resource.
    pub resource: &'a Resource,
    /// The address, with its parameters.
    pub target: &'a Target,
    /// The body; null without one.
    pub body: &'a Value,
    /// Whether the body is applied by the server.
    pub is_apply: bool,
    /// The workload of a pod, if the API server states one: `deployments/web`.
    pub workload: Option<String>,
}

impl Asked<'_> {
    /// The command; an error states why the request cannot be judged.
    pub fn command(&self) -> Result<String, String> {
        let Resource { namespace, part, .. } = self.resource;
        let namespace = namespace.as_ref().map(|name| format!(" -n {name}")).unwrap_or_default();
        let is_dry = self.is_dry()?;
        if self.deletes_at_once()? {
            return Err(AT_ONCE.to_owned());
        }
        if !is_dry && self.may_leave_workload() {
            return Err(LEAVES.to_owned());
        }
        let does = match (self.method, part.as_deref()) {
            (_, Some(part)) if STREAMS.contains(&part) => self.stream(part)?,
            (&Method::GET | &Method::HEAD, part) => self.read(part)?,
            (_, Some(part)) => self.on_part(part)?,
            (&Method::DELETE, None) => self.delete()?,
            (&Method::POST, None) => self.create()?,
            (&Method::PUT, None) => self.replace()?,
            (&Method::PATCH, None) => self.patch()?,
            _ => return Err(format!("{} is not known here", self.method)),
        };
        let dry = if is_dry { " --dry-run=server" } else { "" };
        let (line, document) = does.split_once('\n').unwrap_or((&does, ""));
        let command = format!("kubectl{namespace} {line}{dry}\n{document}");
        let mut command = command.trim_end().to_owned();
        // An owner that does not exist deletes the object.
        if !is_dry && self.changes_an_object() && mentions(self.body, "ownerReferences") {
            command = format!("{command}\nkubectl{namespace} {}", self.delete()?);
        }
        // The resource that starts such a container does not matter. A whole object is judged as the file of its command.
        let is_of_host = self.resource.kind == "persistentvolumes" && mentions(self.body, "local");
        if !is_dry && !self.is_stated_whole() && (is_of_host || gives_host_rights(self.body)) {
            command = format!("{command}\ndocker run --privileged {}", self.resource.word());
        }
        Ok(command)
    }

    /// The command that changes an object of this kind, for one that is written as a whole and runs no containers: its controller
    /// acts on it, by each of its verbs.
    pub fn change(&self) -> Option<String> {
        let Resource { group, kind, namespace, part, .. } = self.resource;
        let is_whole = self.method == Method::POST || self.is_whole();
        let is_workload = self.is_workload();
        let suspends = self.body.pointer("/spec/suspend") == Some(&Value::Bool(true));
        let is_question = ["authorization.k8s.io", "authentication.k8s.io"].contains(&group.as_str());
        let stays = part.is_some() || is_question || self.release().is_some() || self.is_of_access();
        if !is_whole || stays || (is_workload && !(kind == "cronjobs" && suspends)) {
            return None;
        }
        let namespace = namespace.as_ref().map(|name| format!(" -n {name}")).unwrap_or_default();
        let patch = if is_workload { r#" -p '{"spec":{"suspend":true}}'"# } else { "" };
        let name = quoted(self.stated_name().unwrap_or("unnamed"));
        Some(format!("kubectl{namespace} patch {} {name}{patch}", self.resource.word()))
    }

    /// Whether the command has the whole object in a file.
    fn is_stated_whole(&self) -> bool {
        self.resource.part.is_none() && (self.method == Method::POST || self.is_whole())
    }

    fn changes_an_object(&self) -> bool {
        [Method::PATCH, Method::PUT].contains(self.method) && self.resource.part.is_none()
    }

    /// Whether the resource runs containers: only of these, the number of replicas and the time of a restart are no more than a restart.
    fn is_workload(&self) -> bool {
        KNOWN.workloads.contains(&self.resource.word())
    }

    /// Whether it changes a pod, or what holds the pods of a deployment, in more than known parts, so that it may leave its workload.
    fn may_leave_workload(&self) -> bool {
        if !["pods", "replicasets"].contains(&self.resource.word().as_str()) || !self.changes_an_object() {
            return false;
        }
        let is_known = |key: &String| ["annotations", "name", "namespace"].contains(&key.as_str());
        let stays = |path: &str| ["/spec", "/metadata/annotations"].iter().any(|part| path.starts_with(part));
        let of_operation = |key: &str, operation: &Value| {
            operation.get(key).is_none_or(|path| path.as_str().is_some_and(stays))
        };
        let stays = match self.body {
            Value::Array(operations) => {
                operations.iter().all(|one| of_operation("path", one) && of_operation("from", one))
            }
            body => {
                let metadata = body.get("metadata").and_then(Value::as_object);
                metadata.is_none_or(|metadata| metadata.keys().all(is_known))
                    && ["/metadata", "/$patch"]
                        .iter()
                        .all(|path| body.pointer(path).is_none_or(Value::is_object))
            }
        };
        *self.method == Method::PUT || !stays
    }

    /// Whether it deletes a pod, or all of them, without waiting for the end of its containers.
    fn deletes_at_once(&self) -> Result<bool, String> {
        let is_eviction = self.resource.part.as_deref() == Some("eviction");
        let is_deletion = *self.method == Method::DELETE && self.resource.part.is_none();
        if self.resource.word() != "pods" || !is_eviction && !is_deletion {
            return Ok(false);
        }
        let places = ["/gracePeriodSeconds", "/deleteOptions/gracePeriodSeconds"].into_iter();
        let stated = places.filter_map(|place| self.body.pointer(place)).filter(|own| !own.is_null());
        let stated = stated.map(Value::to_string);
        let of_address = self.target.value("gracePeriodSeconds")?.map(str::to_owned);
        let is_period = |text: String| text.parse::<u32>().is_ok_and(|seconds| seconds > 0);
        Ok(!stated.chain(of_address).all(is_period))
    }

    /// Whether the server changes nothing. It reads the options of a deletion from the body; without one, from the address, as for
    /// other changes.
    pub fn is_dry(&self) -> Result<bool, String> {
        let stated = self.target.value("dryRun")?;
        let is_stream = self.resource.part.as_deref().is_some_and(|part| STREAMS.contains(&part));
        if is_stream && stated.is_some() {
            return Err("dryRun has no effect on a command in a pod".to_owned());
        }
        let stated = match stated {
            None => false,
            Some("All") => true,
            Some(other) => return Err(format!("dryRun={other} is not known")),
        };
        if self.method != Method::DELETE || self.body.is_null() {
            return Ok(stated);
        }
        match self.body.get("dryRun").map(Value::to_string).as_deref() {
            None | Some("null" | "[]") if stated => {
                Err("the body states no dryRun, which the address states".to_owned())
            }
            None | Some("null" | "[]") => Ok(false),
            Some(r#"["All"]"#) => Ok(true),
            Some(other) => Err(format!("dryRun: {other} is not known")),
        }
    }

    /// The name in the address; else that in the body.
    pub fn stated_name(&self) -> Option<&str> {
        self.resource.name.as_deref().or_else(|| self.body.pointer("/metadata/name")?.as_str())
    }

    /// The name; an error if a collection is asked for.
    fn name(&self) -> Result<&str, String> {
        self.resource.name.as_deref().ok_or_else(|| "the request names no object".to_owned())
    }

    fn read(&self, part: Option<&str>) -> Result<String, String> {
        let word = self.resource.word();
        match (part, &self.resource.name) {
            (Some("log"), Some(name)) => Ok(format!("logs {name}")),
            (None | Some("status" | "scale"), Some(name)) => Ok(format!("get {word} {name}")),
            (None, None) if self.resource.namespace.is_none() => Ok(format!("get {word} -A")),
            (None, None) => Ok(format!("get {word}")),
            (part, _) => Err(format!("the part `{}` of {word} is not known", part.unwrap_or_default())),
        }
    }

    /// `exec`, `attach` and `portforward`.
    fn stream(&self, part: &str) -> Result<String, String> {
        let name = self.name()?;
        let within = self.workload.as_deref().unwrap_or(name);
        let container = self.target.value("container")?.map(|name| format!(" -c {}", quoted(name)));
        let container = container.unwrap_or_default();
        let has_stdin = self.has("stdin")?;
        if self.resource.word() != "pods" {
            return Err(format!("`{part}` of {} is not known", self.resource.word()));
        }
        match part {
            "exec" if has_stdin && self.has("tty")? => {
                Err("what is typed into a terminal cannot be judged; leave out `-i` or `-t`".to_owned())
            }
            "exec" => {
                let stdin = if has_stdin { " -i" } else { "" };
                Ok(format!("exec{stdin} {within}{container} -- {}", self.words()))
            }
            "attach" if has_stdin => {
                Err("what is typed into an attached container cannot be judged; use `kubectl exec` with a command".to_owned())
            }
            "attach" => Ok(format!("attach {name}{container}")),
            _ => Ok(format!("port-forward pods/{name} {}", quoted(self.target.value("ports")?.unwrap_or("80")))),
        }
    }

    /// Whether a parameter is true.
    fn has(&self, name: &str) -> Result<bool, String> {
        Ok(!matches!(self.target.value(name)?, None | Some("false" | "0")))
    }

    /// The words of the command of an `exec`.
    pub fn command_words(&self) -> Vec<String> {
        let words = self.target.query.iter().filter(|(key, _)| key == "command");
        words.map(|(_, word)| word.clone()).collect()
    }

    /// The command of an `exec`.
    fn words(&self) -> String {
        self.command_words().iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
    }

    /// The command of an `exec` that gets input.
    pub fn with_input(&self) -> Option<String> {
        let is_exec = self.resource.part.as_deref() == Some("exec");
        (is_exec && self.has("stdin").unwrap_or(true)).then(|| self.words())
    }

    /// A change of a part of a resource.
    fn on_part(&self, part: &str) -> Result<String, String> {
        let (name, word) = (self.name()?, self.resource.word());
        match (self.method, word.as_str(), part) {
            (&Method::POST, "pods", "eviction") => self.delete(),
            (&Method::PUT | &Method::PATCH, _, "scale") => {
                let replicas = self.body.pointer("/spec/replicas").and_then(Value::as_u64);
                let replicas = replicas.ok_or("the number of replicas is not stated")?;
                if !self.is_workload() {
                    return Ok(format!("patch {word} {name} -p '{{\"spec\":{{\"replicas\":{replicas}}}}}'"));
                }
                Ok(format!("scale {word}/{name} --replicas={replicas}"))
            }
            (&Method::PATCH | &Method::PUT, "pods", "ephemeralcontainers") => {
                let commands = commands(self.body);
                let debug = |command: String| format!("debug {name} --image=debug{command}");
                match commands.as_slice() {
                    [] => Ok(debug(String::new())),
                    [command] => Ok(debug(format!(" -- {command}"))),
                    _ => Err("its body states more than one command".to_owned()),
                }
            }
            (&Method::POST, "serviceaccounts", "token") => Ok(format!("create token {name}")),
            (_, "certificatesigningrequests.certificates.k8s.io", "approval") => {
                Ok(format!("certificate approve {name}"))
            }
            _ => Err(format!("{} of the part `{part}` of {word} is not known", self.method)),
        }
    }

    fn delete(&self) -> Result<String, String> {
        match &self.resource.name {
            Some(_) if let Some(workload) = &self.workload => Ok(format!("rollout restart {workload}")),
            Some(name) => Ok(format!("delete {} {name}", self.resource.word())),
            // A selector in the address chooses from it when the API server deletes.
            None => {
                Err("it deletes a collection, whose objects it does not name; delete each by its name"
                    .to_owned())
            }
        }
    }

    fn create(&self) -> Result<String, String> {
        let kind = self.resource.kind.as_str();
        if self.resource.group == "authorization.k8s.io" || self.resource.group == "authentication.k8s.io" {
            let is_question = KNOWN.questions.iter().any(|known| known == kind);
            return is_question
                .then(|| "auth can-i --list".to_owned())
                .ok_or_else(|| format!("{kind} are not known"));
        }
        // Helm records a change of a release in a new Secret, whose state it changes later.
        if let Some(release) = self.release() {
            return Ok(format!("get secrets\nhelm upgrade {release} ./chart"));
        }
        self.whole("create")
    }

    fn replace(&self) -> Result<String, String> {
        match self.release() {
            // It goes on without this record, and deletes what the release consists of.
            Some(release) if self.status() == Some("uninstalling") => {
                Ok(format!("delete secrets sh.helm.release.v1.{release}"))
            }
            Some(release) => Ok(format!("annotate secrets sh.helm.release.v1.{release} state=changed")),
            None if self.resource.word() == "nodes" => {
                Ok(format!("taint nodes {} changed=true", self.name()?))
            }
            None => self.whole("replace"),
        }
    }

    /// A whole object, as a file of this verb. What the server would add from the address must be stated.
    fn whole(&self, verb: &str) -> Result<String, String> {
        let text = |path: &str| self.body.pointer(path).and_then(Value::as_str);
        if text("/kind").is_none() || text("/apiVersion").is_none() {
            return Err("its body states no `kind` or `apiVersion`".to_owned());
        }
        let name = self.resource.name.as_deref();
        if name.is_some_and(|name| text("/metadata/name") != Some(name)) {
            return Err("its body states no `metadata.name`, or another one than the address".to_owned());
        }
        Ok(self.document(verb))
    }

    /// The body, as a file of this verb.
    fn document(&self, verb: &str) -> String {
        let verb = if self.is_of_access() { "auth reconcile" } else { verb };
        format!("{verb} -f - <<'{END}'\n{}\n{END}", self.body)
    }

    fn patch(&self) -> Result<String, String> {
        let (name, word) = (self.name()?, self.resource.word());
        if self.is_apply {
            return self.whole("apply");
        }
        if self.is_of_access() {
            return Ok(self.document("auth reconcile"));
        }
        if self.is_workload() && self.restarts() {
            return Ok(format!("rollout restart {word}/{name}"));
        }
        if let Some(replicas) = self.replicas().filter(|_| self.is_workload()) {
            return Ok(format!("scale {word}/{name} --replicas={replicas}"));
        }
        if word == "nodes" {
            return Ok(match only(self.body, &["spec", "unschedulable"]) {
                Some(Value::Bool(true)) => format!("cordon {name}"),
                Some(_) => format!("uncordon {name}"),
                None => format!("taint nodes {name} changed=true"),
            });
        }
        let named = match &self.workload {
            Some(workload) => workload.replacen('/', " ", 1),
            None => format!("{word} {name}"),
        };
        Ok(format!("patch {named} -p {}", quoted(&self.body.to_string())))
    }

    /// Whether a patch only restarts the pods of a workload.
    fn restarts(&self) -> bool {
        let restarted = ["spec", "template", "metadata", "annotations", RESTARTED_AT];
        only(self.body, &restarted).is_some_and(Value::is_string)
    }

    /// The number of pods, if a patch states nothing else.
    fn replicas(&self) -> Option<u64> {
        only(self.body, &["spec", "replicas"]).and_then(Value::as_u64)
    }

    /// Whether a patch only restarts pods, or states their number.
    pub fn only_counts(&self) -> bool {
        !self.is_apply && (self.restarts() || self.replicas().is_some())
    }

    /// Whether a change of it decides who may do what.
    fn is_of_access(&self) -> bool {
        let Resource { kind, namespace, .. } = self.resource;
        let name = self.stated_name();
        let is_listed = || {
            let found =
                namespace.as_ref().zip(name).map(|(namespace, name)| format!("{namespace}/{kind}/{name}"));
            found.is_some_and(|found| manifests::ACCESS_OBJECTS.has(&found))
        };
        let is_credential = || {
            let kind = self.body.get("type").and_then(Value::as_str);
            self.resource.is_secret() && kind.is_some_and(|kind| manifests::CLUSTER_CREDENTIALS.has(kind))
        };
        manifests::ACCESS.has(kind)
            || is_listed()
            || is_credential()
            || (kind == "namespaces"
                && (self.is_whole() || mentions(self.body, "pod-security.kubernetes.io")))
    }

    /// Whether the body replaces the object: labels that it leaves out are removed.
    fn is_whole(&self) -> bool {
        self.method == Method::PUT || self.is_apply
    }

    /// The status of a release that a Secret records: `deployed`, `pending-upgrade`.
    pub fn status(&self) -> Option<&str> {
        self.body.pointer("/metadata/labels/status").and_then(Value::as_str)
    }

    /// The release of Helm that a Secret records.
    pub fn release(&self) -> Option<&str> {
        let name = self.stated_name()?;
        let (release, version) = name.strip_prefix("sh.helm.release.v1.")?.rsplit_once(".v")?;
        let is_plain = release.chars().all(|c| c.is_ascii_alphanumeric() || "-.".contains(c));
        let kind = self.body.get("type").and_then(Value::as_str);
        (kind == Some(RELEASE)
            && self.resource.is_secret()
            && is_plain
            && !release.starts_with('-')
            && version.parse::<u32>().is_ok())
        .then_some(release)
    }
}

#[cfg(test)]
mod tests;

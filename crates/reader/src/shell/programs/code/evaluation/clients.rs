//! Libraries: clients of container engines, connections to other hosts, requests.

use super::Evaluator;
use super::starting::{has_known, known, shown};
use super::value::{Arguments, Call, Value};
use crate::catalogue::program::Language;
use crate::languages::names::starts;
use crate::languages::text::Part;

impl Evaluator<'_> {
    /// A method of a library: of a container, of a connection, of an HTTP client.
    pub(super) fn library(&mut self, receiver: &Value, own: &str, arguments: Arguments, at: usize) -> Value {
        let path = match receiver {
            Value::Path(path) => format!("{path}.{own}"),
            Value::Result(result) => format!("{}.{own}", result.0),
            _ => own.to_owned(),
        };
        if let Some(function) = self.methods.get(own).cloned() {
            self.handle(at);
            return self.call_function(&function, arguments, false);
        }
        if let Some(value) = arguments.option("base_url").or_else(|| arguments.option("host")) {
            self.connection = Some(value);
        } else if own.ends_with("Connection") && matches!(self.language, Language::Python) {
            self.connection = arguments.values.first().cloned();
        }
        if own == "connect" {
            self.remote = arguments.option("hostname").or_else(|| arguments.values.first().cloned());
        }
        if self.remote_command(receiver, own, &arguments)
            || self.engine(receiver, own, &arguments)
            || self.request(own, &arguments)
            || self.unit_or_pod(receiver, own, &arguments)
        {
            self.handle(at);
        } else if starts::CALLS.has(own)
            && starts::OWNERS.get(own).is_none()
            && !(own == "exec" && self.language == Language::Node)
            && !matches!(receiver, Value::Path(_))
        {
            return self.start(own, &arguments, at);
        } else if let ("then", Value::Path(_), Some(function @ Value::Function(_))) =
            (own, receiver, arguments.values.first())
        {
            // `import("child_process").then(m => …)`.
            let arguments = Arguments { values: vec![receiver.clone()], named: vec![] };
            return self.call(&function.clone(), arguments, at);
        } else {
            self.give(own, &arguments);
        }
        let values = arguments.all().cloned().collect();
        Value::result(path, values)
    }

    /// `Connection("host").run("…")`, `client.exec_command("…")`.
    pub(super) fn remote_command(&mut self, receiver: &Value, own: &str, arguments: &Arguments) -> bool {
        let host = match receiver {
            Value::Result(result) if result.0.ends_with("Connection") && starts::REMOTE.has(own) => {
                result.1.first().cloned()
            }
            _ if own == "exec_command" => self.remote.clone(),
            _ => return false,
        };
        let host = host.unwrap_or_default();
        for command in arguments.first().each() {
            self.add(Call::Words(vec![known("ssh"), host.parts(), command.parts()]));
        }
        true
    }

    /// Methods of a container in the clients of container engines.
    pub(super) fn engine(&mut self, receiver: &Value, own: &str, arguments: &Arguments) -> bool {
        let verb = match own {
            "remove" => "rm",
            _ if starts::OPERATIONS.has(own) => own,
            _ => return false,
        };
        if !self.mentions_engine {
            return false;
        }
        let name = match receiver {
            Value::Result(result)
                if result.0.rsplit('.').next().is_some_and(|last| starts::GETTERS.has(last)) =>
            {
                result.1.first().cloned()
            }
            _ => None,
        };
        let given =
            arguments.values.first().filter(|value| matches!(value, Value::Text(_) | Value::Several(_)));
        let Some(name) = name.or_else(|| given.cloned()) else {
            if verb == "rm" && !matches!(receiver, Value::Unknown(_)) {
                return false;
            }
            // All containers, where nothing names one.
            return self.add_command(["docker", verb], Value::unknown().parts());
        };
        let host = self
            .connection
            .as_ref()
            .filter(|value| value.known().is_none_or(|text| !text.starts_with("unix")));
        let mut words = vec![known("docker")];
        words.extend(host.into_iter().flat_map(|host| [known("-H"), host.parts()]));
        words.push(known(verb));
        words.extend((verb == "rm").then(|| known("-f")));
        for name in name.each() {
            self.add(Call::Words([words.as_slice(), &[name.parts()]].concat()));
        }
        true
    }

    /// A request that changes something: to a container engine by its path, elsewhere by its method.
    pub(super) fn request(&mut self, own: &str, arguments: &Arguments) -> bool {
        let fields = |value: &Value| match value {
            Value::Table(rows) => rows.iter().map(|(_, value)| value.clone()).collect(),
            value => vec![value.clone()],
        };
        let texts: Vec<Value> = arguments.all().flat_map(fields).flat_map(|value| value.each()).collect();
        let mut words: Vec<String> =
            texts.iter().filter_map(Value::known).map(|text| text.to_ascii_lowercase()).collect();
        words.push(own.to_ascii_lowercase());
        let has_data = arguments.option("data").or_else(|| arguments.option("body")).is_some();
        let sends = has_data || words.iter().any(|word| starts::SENDING.has(word));
        let method = ["put", "delete"].into_iter().find(|method| words.iter().any(|word| word == method));
        let method = method.unwrap_or("post").to_ascii_uppercase();
        let mut found = false;
        for text in texts {
            let parts = text.parts();
            let whole = shown(&parts);
            let to_engine = whole.split_once("/containers/").is_some_and(|(_, path)| {
                let operation = path.split(['?', '#']).next().and_then(|path| path.rsplit_once('/'));
                operation.is_some_and(|(_, operation)| starts::OPERATIONS.has(operation))
            });
            let is_address = whole.starts_with("http://") || whole.starts_with("https://");
            let is_sent = is_address && sends;
            if !to_engine && !is_sent {
                continue;
            }
            let parts = if is_address || !has_known(&parts) {
                parts
            } else {
                // A path, or `http+unix://%2Frun%2Fdocker.sock/containers/…`; the host is that of the connection.
                let host = self.connection.as_ref().and_then(Value::known).unwrap_or_default();
                let host = host.trim_start_matches("http://").trim_start_matches("tcp://");
                let host = if host.is_empty() || host.starts_with("unix") { "localhost" } else { host };
                let path = |text: &str| text.find("/containers/").unwrap_or_default();
                let mut rest = parts.into_iter();
                let first = rest.next().map(|part| match part {
                    Part::Known(text) => Part::Known(text.get(path(&text)..).unwrap_or_default().to_owned()),
                    unknown @ Part::Unknown(_) => unknown,
                });
                std::iter::once(Part::Known(format!("http://{host}"))).chain(first).chain(rest).collect()
            };
            self.add(Call::Words(vec![known("curl"), known("-X"), known(&method), parts]));
            found = true;
        }
        found
    }

    pub(super) fn unit_or_pod(&mut self, receiver: &Value, own: &str, arguments: &Arguments) -> bool {
        // `Unit(b"x.service").Unit.Restart(b"replace")`.
        if let (Value::Result(result), Some(verbs)) = (receiver, starts::UNIT_METHODS.get(own))
            && result.0.rsplit('.').any(|part| part == "Unit")
            && let Some(name) = result.1.first()
        {
            return self.add_command(["systemctl"].into_iter().chain(verbs.iter()), name.parts());
        }
        // `Pod.get("x").delete()`, `Deployment("x").delete()` and `get("pods", "x")[0].delete()` of kr8s.
        if let (Value::Result(result), "delete") = (receiver, own)
            && let stated = result.1.first().and_then(Value::known).filter(|kind| starts::KINDS.has(kind))
            && let Some(kind) =
                stated.as_deref().or_else(|| result.0.split('.').find(|part| starts::KINDS.has(part)))
        {
            let name = result.1.get(usize::from(stated.is_some()));
            let name = name.map_or_else(|| Value::unknown().parts(), Value::parts);
            return self.add_command(["kubectl", "delete", &kind.to_ascii_lowercase()], name);
        }
        let Some(given) = arguments.values.iter().find(|value| matches!(value, Value::Text(_))) else {
            return false;
        };
        let (program, verbs) = match (starts::UNIT_CALLS.get(own), starts::CLUSTER_CALLS.get_prefix(own)) {
            (Some(verbs), _) => ("systemctl", verbs),
            (_, Some(verbs)) => ("kubectl", verbs),
            _ => return false,
        };
        self.add_command([program].into_iter().chain(verbs.iter()), given.parts())
    }

    /// Adds a command of known words and a name, and returns true.
    fn add_command<'w>(&mut self, words: impl IntoIterator<Item = &'w str>, name: Vec<Part>) -> bool {
        self.add(Call::Words(words.into_iter().map(known).chain([name]).collect()));
        true
    }
}

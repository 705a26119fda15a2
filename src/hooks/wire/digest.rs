//! The digest of a tool call, by which an answer of a person belongs to it.

use std::fmt::Write as _;

use ring::digest::{SHA256, digest};
use serde_json::Value;

use super::surrogates;

/// SHA-256 over the tool, its exact input, the working directory, and what the call runs as it was read, in hexadecimal.
/// The order of keys does not matter. `None` if the input is not the client's JSON.
pub fn of_call(stdin: &[u8], as_read: &str) -> Option<String> {
    let text = String::from_utf8_lossy(stdin);
    let call: Value = surrogates::parse(&text).ok()?;
    let mut canonical = String::from("opsctl-call-v1\n");
    for key in ["tool_name", "tool_input", "cwd"] {
        write(call.get(key)?, &mut canonical);
        canonical.push('\n');
    }
    write(&Value::from(as_read), &mut canonical);
    let hash = digest(&SHA256, canonical.as_bytes());
    Some(data_encoding::HEXLOWER.encode(hash.as_ref()))
}

/// Whether a subagent makes the call.
pub fn is_of_subagent(stdin: &[u8]) -> bool {
    let call = surrogates::parse::<Value>(&String::from_utf8_lossy(stdin));
    call.is_ok_and(|call| call.get("agent_id").is_some_and(|id| !id.is_null()))
}

/// Writes a value with the keys of its maps sorted.
fn write(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<(&String, &Value)> = map.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            out.push('{');
            for (key, value) in entries {
                let _ = write!(out, "{}:", Value::from(key.as_str()));
                write(value, out);
                out.push(',');
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for item in items {
                write(item, out);
                out.push(',');
            }
            out.push(']');
        }
        other => {
            let _ = write!(out, "{other}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::of_call;

    #[test]
    fn only_the_order_of_keys_does_not_change_a_digest() {
        let of = |text: &str| of_call(text.as_bytes(), "x").unwrap();
        let call =
            r#"{"tool_name":"Bash","tool_input":{"command":"ls","timeout":5},"cwd":"/app","session_id":"a"}"#;
        let same =
            r#"{"cwd":"/app","session_id":"b","tool_input":{"timeout":5,"command":"ls"},"tool_name":"Bash"}"#;
        assert_eq!(of(call), of(same));
        for other in [
            call.replace("ls", "ls "),
            call.replace(":5", ":\"5\""),
            call.replace("/app", "/"),
            call.replace("Bash", "Monitor"),
            call.replace("\"timeout\":5", "\"timeout\":5,\"x\":null"),
        ] {
            assert_ne!(of(call), of(&other), "{other}");
        }
        assert_ne!(of(call), of_call(call.as_bytes(), "y").unwrap());
        assert_eq!(of_call(b"[]", ""), None);
        assert_eq!(of_call(br#"{"tool_name":"Bash","tool_input":{}}"#, ""), None);
    }
}

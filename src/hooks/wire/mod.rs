//! Hook input: bytes on stdin → [`Read`]. `client` reads the input of Claude Code; `translate` puts that of another client into
//! the words of Claude Code first.

mod client;
pub mod digest;
mod error;
mod lenient;
mod mcp;
pub mod response;
mod session_events;
mod surrogates;
mod tool_input;
mod translate;

pub use client::Read;
pub use error::InputError;
use opsctl_policy::model::records::session::plain_id;
pub use session_events::HookEvent;

/// Reads one call of a hook. `event` is the name on the command line, in kebab case; it takes precedence over the name
/// in the input. Input without either is a tool call that is about to run. `session` is `CLAUDE_SESSION_ID`, which takes precedence over the session in the input.
///
/// # Errors
/// If the input is not a JSON object, or that of a tool call which cannot be judged.
pub fn read(stdin: &[u8], event: Option<&str>, session: Option<&str>) -> Result<Read, InputError> {
    let text = String::from_utf8_lossy(stdin);
    let mut read = client::read(&text, event)?;
    if let Some(session) = session.map(plain_id).filter(|id| !id.is_empty()) {
        read.call.client_session = read.call.session.filter(|id| *id != session);
        read.call.session = Some(session);
    }
    Ok(read)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Deserialize)]
    struct Row {
        input: String,
        argument: Option<String>,
        variable: Option<String>,
        gives: String,
    }

    #[test]
    fn input_is_read_as_the_rows_state() {
        let rows: Vec<Row> = serde_saphyr::from_str(include_str!("rows.yaml")).unwrap();
        for Row { input, argument, variable, gives } in rows {
            // Each character is a byte, and so may be no UTF-8.
            let stdin: Vec<u8> = input.chars().map(|c| u8::try_from(c).unwrap()).collect();
            let call = read(&stdin, argument.as_deref(), variable.as_deref());
            let call = call.map(|read| (read.client, read.call, read.event));
            let call = format!("{:?}", call.map_err(|error| error.to_string()));
            assert!(call.contains(&gives), "{input}: {call}");
        }
    }
}

//! Code on standard input: `bash -s`, `psql`, `while read …`. It is read before it runs, as a here-document of the command.

use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};

use uuid::Uuid;

use crate::guard::explain::{Explanation, explain};
use crate::machine::request::Request;
use opsctl_policy::model::records::event::{HookCall, ToolCall};
use opsctl_reader::terms::effect::Effect;

/// The maximum size of code on standard input in bytes.
const MOST: u64 = 1024 * 1024;

/// The command with the standard input on which its judgement depends, and that input for the command itself; `None` if the
/// command reads data only, which streams.
pub fn with_stdin(command: String, request: &Request) -> Result<(String, Option<File>), String> {
    if !depends_on_stdin(&command, request) {
        return Ok((command, None));
    }
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(MOST + 1).read_to_end(&mut bytes);
    read.map_err(|error| format!("standard input cannot be read ({error})"))?;
    if bytes.len() as u64 > MOST {
        return Err("the code on standard input has more than 1 MiB, which cannot be judged; send less, or copy it as a file and run that".to_owned());
    }
    let text = std::str::from_utf8(&bytes).ok().filter(|text| !text.contains('\0'));
    let text = text.ok_or("the code on standard input is not UTF-8 text, so it cannot be judged")?;
    let stated = with_here_document(&command, text);
    let file = tempfile::tempfile().and_then(|mut file| {
        file.write_all(&bytes)?;
        file.rewind()?;
        Ok(file)
    });
    let file = file.map_err(|error| format!("standard input cannot be kept ({error}); make room in /tmp"))?;
    Ok((stated, Some(file)))
}

/// Input that does nothing: none, and a command of shells.
const HARMLESS: [&str; 2] = ["", ":"];

/// Whether the judgement of a command depends on what it reads from standard input: with harmless input, the reader knows more or
/// objects less.
fn depends_on_stdin(command: &str, request: &Request) -> bool {
    let open = seen(command, request);
    let is_less = |input: &str| seen(&with_here_document(command, input), request) < open;
    open != (Effect::Reads, 0) && HARMLESS.iter().any(|input| is_less(input))
}

/// The effect of a command, and the number of objections.
fn seen(command: &str, request: &Request) -> (Effect, usize) {
    let call = HookCall::default();
    let tool = ToolCall { command: Some(command.to_owned()), ..ToolCall::default() };
    let explanation: Explanation<'_> = explain(&call, &tool, request, true);
    let objections = explanation.acting.as_ref().map_or(0, |acting| acting.objections.len());
    (explanation.effect(), objections)
}

fn with_here_document(command: &str, input: &str) -> String {
    let end = Uuid::new_v4().simple();
    let newline = if input.is_empty() || input.ends_with('\n') { "" } else { "\n" };
    format!("{{ {command}\n}} <<'{end}'\n{input}{newline}{end}\n")
}

//! Code on standard input: `bash -s`, `psql`, `while read …`. It is read before it runs, as a here-document of the command.

use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};

use uuid::Uuid;

use crate::gates::ssh::stated::with_script;
use crate::guard::explain::{Explanation, explain};
use crate::machine::request::Request;
use opsctl_policy::model::records::event::{HookCall, ToolCall};
use opsctl_reader::terms::effect::Effect;

/// The maximum size of code on standard input in bytes.
const MOST: u64 = 100 * 1024;

/// A command, as it is judged and as it runs.
pub struct Known {
    /// What it does, as bash text.
    pub stated: String,
    /// What runs in place of the text of the client; `None`: that text.
    pub runs: Option<String>,
    /// Its standard input, if it was read before.
    pub stdin: Option<File>,
}

/// Names of shells: one of them beside others would get a part of the input only.
const SHELLS: [&str; 6] = ["bash", "sh", "dash", "ash", "zsh", "ksh"];

/// The command with the standard input on which its judgement depends. A script for a shell becomes an argument, so that nothing in it
/// can read a part of it. Data streams.
pub fn with_stdin(text: &str, stated: String, request: &Request) -> Result<Known, String> {
    if !depends_on_stdin(&stated, request) {
        return Ok(Known { stated, runs: None, stdin: None });
    }
    let is_script = with_script(text, "").is_some();
    let has_shell = text.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| SHELLS.contains(&word));
    if has_shell && !is_script {
        return Err("what this command reads from standard input decides what it runs, and a part of it may read a part of that; send the script to `bash -s` alone".to_owned());
    }
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(MOST + 1).read_to_end(&mut bytes);
    read.map_err(|error| format!("standard input cannot be read ({error})"))?;
    if bytes.len() as u64 > MOST {
        return Err("the code on standard input has more than 100 KiB, which cannot be judged; send less, or copy it as a file and run that".to_owned());
    }
    let input = std::str::from_utf8(&bytes).ok().filter(|text| !text.contains('\0'));
    let input = input.ok_or("the code on standard input is not UTF-8 text, so it cannot be judged")?;
    if let Some(runs) = with_script(text, input) {
        return Ok(Known { stated: runs.clone(), runs: Some(runs), stdin: None });
    }
    let stated = with_here_document(&stated, input);
    let file = tempfile::tempfile().and_then(|mut file| {
        file.write_all(&bytes)?;
        file.rewind()?;
        Ok(file)
    });
    let file = file.map_err(|error| format!("standard input cannot be kept ({error}); make room in /tmp"))?;
    Ok(Known { stated, runs: None, stdin: Some(file) })
}

/// Programs that print what the client may send: something unknown, nothing, and a command that does nothing.
const UNKNOWN: &str = "cat /dev/stdin";
const KNOWN: [&str; 2] = ["true", "echo :"];

/// Whether the judgement of a command depends on what it reads from standard input: known input makes another reading of it than
/// unknown input.
fn depends_on_stdin(command: &str, request: &Request) -> bool {
    let open = Reading::with_output_of(UNKNOWN, command, request);
    KNOWN.iter().any(|known| Reading::with_output_of(known, command, request) != open)
}

/// What is known of a command before it runs.
#[derive(PartialEq, Eq)]
struct Reading {
    commands: Vec<String>,
    effect: Effect,
    actions: usize,
    objections: usize,
}

impl Reading {
    /// Of a command that reads what a program prints.
    fn with_output_of(program: &str, command: &str, request: &Request) -> Self {
        let call = HookCall::default();
        let command = format!("{program} | {{ {command}\n}}");
        let tool = ToolCall { command: Some(command), ..ToolCall::default() };
        let explanation: Explanation<'_> = explain(&call, &tool, request, true);
        let mut commands = explanation.script.lines();
        commands.retain(|line| line.trim() != program);
        Self {
            commands,
            effect: explanation.effect(),
            actions: explanation.actions().len(),
            objections: explanation.acting.as_ref().map_or(0, |acting| acting.objections.len()),
        }
    }
}

fn with_here_document(command: &str, input: &str) -> String {
    let end = Uuid::new_v4().simple();
    let newline = if input.is_empty() || input.ends_with('\n') { "" } else { "\n" };
    format!("{{ {command}\n}} <<'{end}'\n{input}{newline}{end}\n")
}

//! Programs that run a script on another host: `ssh`, `mosh`, `ansible`.

use crate::catalogue::lookup::Usage;
use crate::shell::evaluator::Evaluator;
use crate::shell::execution::invocation::Invocation;
use crate::shell::host::host_of;
use crate::shell::options::{Item, Scanner};
use crate::shell::state::Shell;
use crate::shell::text::join;

pub(crate) fn run(
    evaluator: &mut Evaluator,
    shell: &Shell,
    invocation: &Invocation,
    (program, usage): (&str, &Usage),
) -> String {
    let texts = invocation.texts();
    let value = usage.value();
    let mut scanner = Scanner::new(&texts, 1, &value);
    let mut host = None;
    let mut command = None;
    let mut asks_only = false;
    for item in &mut scanner {
        match item {
            Item::Positional(index) if host.is_none() => host = texts.get(index).copied(),
            Item::Positional(index) => {
                command = Some(index);
                break;
            }
            Item::Dashes(index) if host.is_some() => {
                command = Some(index + 1);
                break;
            }
            // Control commands, queries and forwarding without a command run nothing on the host.
            Item::Option(name, _) if name.is_any(&["-O", "-Q", "-V", "-G"]) => asks_only = true,
            Item::Option(name, None) if name.is("-N") => asks_only = true,
            _ => {}
        }
    }
    let Some(host) = host.and_then(host_of) else {
        evaluator.leaf(shell, invocation);
        return String::new();
    };
    let host = evaluator.unknowns.show(&host);
    let label = format!("{program} {host}");
    let rest = command.and_then(|at| invocation.fields.get(at..)).unwrap_or_default();
    let stdin = invocation.stdin.clone();
    let mut inner = shell.elsewhere().through(program).on_host(host);
    inner.stdin.clone_from(&stdin);
    let script = if rest.is_empty() { stdin } else { Some(join(rest)) };
    evaluator.through(shell, invocation, label, |this| match script {
        _ if asks_only => String::new(),
        Some(script) => {
            if command.is_none() {
                inner.stdin = None;
            }
            this.run_text(&mut inner, &script)
        }
        None => this.unknowns.plain("…"),
    })
}

/// Follows `ansible HOST -m MODULE -a '…'` with modules that run commands or control services.
pub(crate) fn ansible(
    evaluator: &mut Evaluator,
    shell: &Shell,
    invocation: &Invocation,
    usage: &Usage,
) -> String {
    let texts = invocation.texts();
    let value = usage.value();
    let (mut pattern, mut module, mut arguments, mut quiet) = (None, "command", "", false);
    for item in Scanner::new(&texts, 1, &value) {
        match item {
            Item::Positional(index) => pattern = pattern.or(texts.get(index).copied()),
            Item::Option(name, Some(at)) => {
                let value = texts.get(at.index).and_then(|word| word.get(at.offset..)).unwrap_or_default();
                if name.is_any(&["-m", "--module-name"]) {
                    module = value.rsplit('.').next().unwrap_or(value);
                } else if name.is_any(&["-a", "--args"]) {
                    arguments = value;
                }
            }
            Item::Option(name, None) => {
                quiet |= name.is_any(&usage.form.quiet);
            }
            Item::Dashes(_) => {}
        }
    }
    let Some(pattern) = pattern.filter(|_| !quiet) else {
        evaluator.leaf(shell, invocation);
        return String::new();
    };
    let said = |key: &str| {
        arguments
            .split_whitespace()
            .find_map(|word| word.split_once('=').filter(|(name, _)| *name == key))
            .map(|(_, value)| value)
    };
    let verb = match said("state") {
        Some("restarted" | "reloaded") => "restart",
        Some("stopped" | "absent") => "stop",
        Some("started") => "start",
        _ => "status",
    };
    let script = match module {
        "shell" | "command" | "raw" => arguments.to_owned(),
        "service" | "systemd" | "systemd_service" | "sysvinit" => {
            format!("systemctl {verb} {}", said("name").unwrap_or("$name"))
        }
        "docker_container" | "podman_container" => {
            format!("docker {verb} {}", said("name").unwrap_or("$name"))
        }
        _ => String::new(),
    };
    let mut inner = shell.elsewhere().through("ansible");
    inner.stdin = None;
    // A pattern is a host when it is one plain name.
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | '$');
    let everywhere = pattern == "all" || !evaluator.unknowns.show(pattern).chars().all(plain);
    let host = evaluator.unknowns.show(pattern);
    if !everywhere && pattern != "localhost" {
        inner = inner.on_host(host.clone());
    }
    evaluator.through(shell, invocation, format!("ansible {host}"), |this| this.run_text(&mut inner, &script))
}

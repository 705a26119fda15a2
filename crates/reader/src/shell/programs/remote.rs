//! Programs that run a script on another host: `ssh`, `mosh`, `ansible`.

use crate::catalogue::lookup::Usage;
use crate::catalogue::program::Role;
use crate::languages::names::{Names, shell as names};
use crate::shell::evaluator::Evaluator;
use crate::shell::execution::commands::invocation::Started;
use crate::shell::host::host_of;
use crate::shell::options::{Item, Scanner};
use crate::shell::text::{Field, join};

use super::code::embedded::unquoted;
use super::pairs;
use super::wrapper::quoted;

pub(crate) fn run(evaluator: &mut Evaluator, started: &Started<'_>) -> String {
    let Started { shell, invocation, program, usage, texts } = *started;
    let (mut host, mut command, mut asks_only) = (None, None, false);
    for item in Scanner::new(texts, usage.rest, &usage.form.valued) {
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
            Item::Option(name, _) if name.is_any(&usage.role(Role::Idle)) => asks_only = true,
            _ => {}
        }
    }
    let Some(host) = host.and_then(host_of) else {
        evaluator.leaf(shell, invocation);
        return String::new();
    };
    let host = evaluator.unknowns.show(&host);
    let label = format!("{program} {host}");
    let rest = command.map_or(&[][..], |at| invocation.from(at));
    let stdin = invocation.stdin.clone();
    let mut inner = shell.elsewhere().through(program).on_host(host);
    inner.enter(Some("~".to_owned()));
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

/// A call of `ansible`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnsibleCall<'a> {
    /// The hosts.
    pub pattern: Option<&'a str>,
    /// The module as it is written.
    pub module: &'a str,
    /// Its arguments.
    pub arguments: &'a str,
    /// Its arguments, by name.
    pairs: Vec<(String, String)>,
    /// Whether it changes nothing: `--check`.
    pub quiet: bool,
}

impl<'a> AnsibleCall<'a> {
    /// Reads the words of `ansible`.
    pub fn of(texts: &'a [&'a str], usage: &Usage) -> Self {
        let given = usage.operands(texts);
        let arguments = given.values(Role::Arguments).last().unwrap_or_default();
        Self {
            pattern: given.words().next(),
            module: given.values(Role::Module).last().unwrap_or("command"),
            arguments,
            pairs: pairs::pairs(arguments),
            quiet: given.states(&usage.form.quiet),
        }
    }

    /// The module's name without its collection.
    pub fn name(&self) -> &'a str {
        self.module.rsplit('.').next().unwrap_or(self.module)
    }

    /// The value of an argument.
    pub fn argument(&self, key: &str) -> Option<&str> {
        self.pairs.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    /// The command of a module that runs one: `chdir=/srv ls`, `cmd="ls -l" chdir=/srv`, `argv=ls,-l`, JSON.
    pub fn command(&self) -> String {
        if let Some(argv) = pairs::list(self.arguments, "argv") {
            let fields: Vec<Field> = argv.into_iter().map(Field::literal).collect();
            return quoted(&fields);
        }
        if let Some(command) = ["cmd", "_raw_params", "command"].iter().find_map(|key| self.argument(key)) {
            return command.to_owned();
        }
        let mut rest = self.arguments.trim_start();
        while names::ANSIBLE_ARGUMENTS
            .iter()
            .any(|name| rest.strip_prefix(name).is_some_and(|after| after.starts_with('=')))
        {
            let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
            rest = rest.get(end..).unwrap_or_default().trim_start();
        }
        unquoted(rest.trim_end()).to_owned()
    }
}

/// Follows `ansible HOST -m MODULE -a '…'` with modules that run commands or control services.
pub(crate) fn ansible(evaluator: &mut Evaluator, started: &Started<'_>) -> String {
    let Started { shell, invocation, usage, texts, .. } = *started;
    let call = AnsibleCall::of(texts, usage);
    let Some(pattern) = call.pattern.filter(|_| !call.quiet) else {
        evaluator.leaf(shell, invocation);
        return String::new();
    };
    let on = |key: &str| {
        call.argument(key)
            .is_some_and(|value| matches!(value.to_ascii_lowercase().as_str(), "yes" | "true" | "1" | "on"))
    };
    let verb = match call.argument("state") {
        _ if on("restart") || on("recreate") || on("force_update") => "restart",
        Some("restarted" | "reloaded") => "restart",
        Some("stopped" | "absent" | "killed") => "stop",
        Some("started") => "start",
        Some("present" | "healthy") | None if call.name().starts_with("docker") => "start",
        _ => "status",
    };
    let name = call.argument("name").unwrap_or("$name");
    let folder = call.argument("project_src").unwrap_or("$project_src");
    let script = match call.name() {
        "shell" | "command" | "raw" | "expect" | "win_shell" | "win_command" => call.command(),
        "helm" if verb == "stop" => format!("helm uninstall {name}"),
        module => {
            let words = names::ANSIBLE_MODULES.get(module).unwrap_or(Names(&[]));
            let script = words.iter().collect::<Vec<_>>().join(" ");
            script.replace("{verb}", verb).replace("{project_src}", folder).replace("{name}", name)
        }
    };
    let mut inner = shell.elsewhere().through("ansible");
    inner.stdin = None;
    // A pattern is a host when it is one plain name.
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | '$');
    let everywhere = pattern == "all" || !evaluator.unknowns.show(pattern).chars().all(plain);
    // `-i HOST,` is an inventory of this host.
    let given = usage.operands(texts);
    let mut inventories = given.options.iter().filter(|(name, _)| name.is_any(&["-i", "--inventory"]));
    let only = inventories.next().and_then(|(_, at)| at.as_ref()?.of(texts)?.strip_suffix(','));
    let only = only.filter(|host| inventories.next().is_none() && host.chars().all(plain));
    let (everywhere, pattern) = only.map_or((everywhere, pattern), |host| (host.is_empty(), host));
    let host = evaluator.unknowns.show(pattern);
    if !everywhere && pattern != "localhost" {
        inner = inner.on_host(host.clone());
    }
    evaluator.through(shell, invocation, format!("ansible {host}"), |this| this.run_text(&mut inner, &script))
}

//! Simple commands → actions. One file per family of programs; their words and options are data.

mod ansible;
mod compose;
mod container;
mod engine_api;
mod forge;
mod generous;
mod guard;
mod helm;
mod kubectl;
mod line;
pub mod message;
mod request;
mod swarm;
mod systemd;
pub mod tool;

use std::path::Path;

use crate::model::action::Action;
use crate::shell::{self, Command, Node, Script};

use line::Line;
use request::Request;

/// Everything that one command text was found to do.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommandReading {
    /// In the order in which they would run.
    pub actions: Vec<Action>,
    /// What could not be read, one plain sentence each; empty when everything was understood.
    pub complaints: Vec<String>,
    /// The tree of what runs where.
    pub script: Script,
}

/// Reads bash text and lists the actions it holds. Never panics, never hangs; what it cannot read it
/// complains about.
///
/// `cwd` is the working directory in which the command would start, when that is known.
pub fn read_command(text: &str, cwd: Option<&Path>) -> CommandReading {
    let script = shell::read(text, cwd.and_then(Path::to_str));
    let mut actions = Vec::new();
    let mut complaints = script.complaints.clone();
    script.visit(|node| match node {
        Node::Command(command) => find_actions(command, &mut actions, &mut complaints),
        Node::Unread(unread) => generous::find_actions(unread, &mut actions),
        Node::Group(..) => {}
    });
    message::doubt(text, &script, &mut actions);
    CommandReading { actions, complaints, script }
}

/// The actions of one simple command.
fn find_actions(command: &Command, actions: &mut Vec<Action>, complaints: &mut Vec<String>) {
    let Some(program) = command.words.first() else { return };
    let before = actions.len();
    // `~/bin/tool` is a tool, wherever the folder is.
    let named = program.unknown.is_none() || program.suffix().contains('/');
    if !family(&Line::new(command), actions) && !named {
        generous::dynamic_program(command, actions);
        if actions.len() > before {
            complaints.push(format!("which program `{}` is cannot be told", program.text));
        }
    }
}

/// Hands a command to its family; false when the program belongs to none.
fn family(line: &Line<'_>, actions: &mut Vec<Action>) -> bool {
    match line.program() {
        "docker" | "podman" | "nerdctl" => container::find_actions(line, actions),
        "docker-compose" | "podman-compose" | "nerdctl-compose" => {
            compose::find_actions(line, 1, None, actions);
        }
        "ansible-playbook" => ansible::find_actions(line, actions),
        "helm" | "helm3" => helm::find_actions(line, actions),
        "systemctl" => systemd::systemctl(line, actions),
        "service" | "rc-service" | "invoke-rc.d" => systemd::service(line, actions),
        "kubectl" | "oc" | "microk8s.kubectl" => kubectl::find_actions(line, actions),
        "gh" | "tea" | "glab" | "hub" => forge::find_actions(line, actions),
        "opsctl" => guard::find_actions(line, actions),
        "claude" => guard::client(line, 1, actions),
        "npx" | "pnpx" | "bunx" | "npm" | "pnpm" | "yarn" | "bun" => guard::fetched_client(line, actions),
        "curl" | "wget" | "http" | "https" | "xh" | "xhs" | "curlie" => {
            let valued = request::valued(line);
            let request = Request::of(line, &valued);
            engine_api::find_actions(line, &request, actions);
            message::web(line, &request, actions);
        }
        "apprise" => message::apprise(line, actions),
        "mail" | "Mail" | "mailx" | "s-nail" | "bsd-mailx" | "heirloom-mailx" | "mail.mailutils" | "mutt"
        | "neomutt" | "sendmail" | "exim" | "exim4" | "ssmtp" | "esmtp" | "msmtp" | "swaks" | "sendEmail"
        | "sendemail" | "smtp-cli" | "telegram-send" | "matrix-commander" | "ntfy" | "gotify"
        | "shoutrrr" | "signal-cli" => message::mail(line, actions),
        _ if line.is_init_script() => systemd::init_script(line, actions),
        _ => return false,
    }
    true
}

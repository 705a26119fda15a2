//! Commands that print secrets of hosts, containers and services, as the descriptions of programs state.

use super::pattern::{self, Behind, Pattern};
use crate::model::records::verdict::Reason;
use opsctl_reader::catalogue::base_name;
use opsctl_reader::catalogue::lookup::Usage;
use opsctl_reader::catalogue::program::Program;
use opsctl_reader::shell::{Command, Construct, Node, Script};

/// In place of a command to use instead: it may run, because secrets in its output are replaced.
const REDACTED: &str = "redacted";

/// Whether a command of a script prints secrets that are replaced before the model reads them.
pub fn are_redacted(script: &Script) -> bool {
    let is_redacted = |command: &&Command| found(command, script, |instead| instead == REDACTED).is_some();
    script.commands().iter().any(is_redacted)
}

/// The objections to the commands of a script that print secrets.
pub fn objections(script: &Script) -> Vec<Reason> {
    let mut reasons: Vec<Reason> = Vec::new();
    script.visit(|node| {
        let (Node::Command(command) | Node::Group(Construct::Through(command), _)) = node else { return };
        let found = objection(command, script).filter(|reason| !reasons.contains(reason));
        reasons.extend(found);
    });
    reasons
}

fn objection(command: &Command, script: &Script) -> Option<Reason> {
    let (evidence, instead) = found(command, script, |instead| instead != REDACTED)?;
    let advice = match instead {
        "" => "If it matters, state in the report what an operator should check.".to_owned(),
        instead => format!("Use `{instead}`."),
    };
    let place = command.whereabouts();
    let text =
        format!("Secret: `{evidence}`{place} prints secrets, which must not enter this session. {advice}");
    Some(Reason::of("secret", text))
}

/// The words with which a command shows a secret, and the command to use instead, if that is meant.
fn found(command: &Command, script: &Script, is_meant: fn(&str) -> bool) -> Option<(String, &'static str)> {
    let name = base_name(&command.words.first()?.text);
    let program = script.catalogue.find(name)?;
    if program.shows.is_empty() && !program.acts {
        return None;
    }
    let usage = script.catalogue.usage(&command.texts(), &|_| false)?;
    let next = usage.before.map(|_| (usage.program, usage.start));
    [(program, 1)]
        .into_iter()
        .chain(next)
        .find_map(|(program, start)| shown(command, program, start, &usage, script, is_meant))
}

/// The words with which a command shows a secret, and the command to use instead.
fn shown(
    command: &Command,
    program: &'static Program,
    start: usize,
    usage: &Usage,
    script: &Script,
    is_meant: fn(&str) -> bool,
) -> Option<(String, &'static str)> {
    let mut values = pattern::values(program, script.catalogue);
    values.push(usage.form.valued);
    let name = command.words.first().map(|word| base_name(&word.text)).unwrap_or_default();
    let behind = Behind { name, start, values: &values, vain: &[] };
    program.shows.iter().filter(|(instead, _)| is_meant(instead)).find_map(|(instead, patterns)| {
        let mut parsed = patterns.iter().filter_map(|pattern| Pattern::behind_program(pattern).ok());
        let found = parsed.find_map(|pattern| pattern.find_behind(command, behind, &|_, _| false))?;
        Some((found, *instead))
    })
}

//! Units of systemd that run a command once and end: what they run is read from their files.

use crate::languages::names::shell as names;
use crate::manifest;
use crate::shell::evaluator::Evaluator;
use crate::shell::execution::commands::invocation::Started;
use crate::shell::execution::output::printed as output;
use crate::shell::options::Scanner;
use crate::shell::script::Construct;
use crate::shell::state::Shell;

/// Maximum number of units of one command whose files are read.
const MOST_UNITS: usize = 4;

/// Adds the command, and what the units that it starts run. A unit that stays is a service of its own: starting it is one action, and
/// its commands are no further ones.
pub(crate) fn run(evaluator: &mut Evaluator, started: &Started<'_>) -> String {
    let Started { shell, invocation, usage, texts, .. } = *started;
    evaluator.leaf(shell, invocation);
    if evaluator.disk_of(shell).is_some()
        && usage.host(texts).is_none()
        && !usage.has(texts, &usage.form.quiet)
    {
        for unit in Scanner::new(texts, usage.rest, &usage.form.valued).plain_words().take(MOST_UNITS) {
            let name = if unit.contains('.') { unit.to_owned() } else { format!("{unit}.service") };
            if !name.contains('/') {
                evaluator.unit(shell, &name);
            }
        }
    }
    output::of(evaluator, shell, invocation, "systemctl")
}

impl Evaluator {
    fn unit(&mut self, shell: &Shell, name: &str) {
        let Some(text) = names::UNIT_FOLDERS
            .iter()
            .find_map(|folder| self.script_file(shell, &format!("{folder}/{name}")))
        else {
            return;
        };
        if !manifest::unit::runs_once(&text) {
            return;
        }
        let mut inner = shell.child().through("systemctl");
        inner.enter(Some("/".to_owned()));
        inner.stdin = Some(String::new());
        self.inside(Construct::Group, |this| {
            for script in manifest::unit::commands(&text) {
                this.run_text(&mut inner.clone(), &script);
            }
        });
    }
}

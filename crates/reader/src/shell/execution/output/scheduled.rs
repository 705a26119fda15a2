//! Files from which a scheduler, a service manager or a login starts commands: what is written to them runs later.

use crate::languages::names::{Names, shell as names};
use crate::shell::evaluator::Evaluator;
use crate::shell::script::Construct;
use crate::shell::state::Shell;
use crate::shell::text::is_known;
use crate::shell::{Complaint, glob};

impl Evaluator {
    /// Reads what a text starts that is written to a file; it repeats.
    pub fn start_later(&mut self, shell: &Shell, path: &str, text: &str) {
        let is_one_of = |globs: Names| globs.iter().any(|one| glob(one, path));
        let (starter, commands): (&str, fn(&str) -> Vec<String>) = if is_one_of(names::SYSTEM_CRONTABS) {
            ("cron", |text| scheduled(text, 1))
        } else if is_one_of(names::USER_CRONTABS) {
            ("cron", |text| scheduled(text, 0))
        } else if is_one_of(names::UNIT_FILES) {
            ("systemd", in_unit)
        } else if is_one_of(names::START_SCRIPTS) {
            ("startup", |text| vec![text.to_owned()])
        } else {
            return;
        };
        let text = self.loaded(shell, text);
        if !is_known(&text) {
            self.complain(Complaint::Runs(path.to_owned()));
            self.unread(shell, &text);
        }
        let mut inner = shell.child().through(starter);
        (inner.repeats, inner.stdin, inner.cwd) = (true, None, None);
        self.inside(Construct::Embedded(path.to_owned()), |this| {
            for command in commands(&text) {
                this.run_text(&mut inner.clone(), &command);
            }
        });
    }
}

/// The commands of a crontab; `users` is 1 where a user stands before each.
pub(crate) fn scheduled(text: &str, users: usize) -> Vec<String> {
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    let command = |line: &str| {
        // The schedule: five fields, or one name such as `@daily`.
        let fields = users + if line.starts_with('@') { 1 } else { 5 };
        (0..fields)
            .fold(line, |rest, _| {
                rest.split_once(char::is_whitespace).map_or("", |(_, rest)| rest).trim_start()
            })
            .to_owned()
    };
    lines.map(command).filter(|command| !command.is_empty()).collect()
}

/// The commands of a unit of systemd: `ExecStart=-/usr/bin/x`.
fn in_unit(text: &str) -> Vec<String> {
    let text = text.replace("\\\n", " ");
    let commands = text.lines().filter_map(|line| line.trim().strip_prefix("Exec")?.split_once('='));
    let commands = commands.map(|(_, command)| command.trim_start_matches(['-', '@', ':', '+', '!']).trim());
    commands.filter(|command| !command.is_empty()).map(str::to_owned).collect()
}

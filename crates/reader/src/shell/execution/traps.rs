//! Traps: they are followed with the state in which they are set, and with every later one that leads elsewhere.

use super::commands::invocation::Invocation;
use crate::shell::evaluator::Evaluator;
use crate::shell::script::{Construct, Node};
use crate::shell::shared::Shared;
use crate::shell::state::Shell;

/// Signals whose commands run once, at the end of the shell.
const AT_EXIT: [&str; 2] = ["EXIT", "0"];

/// Signals that a script gets once from outside.
const ENDING: [&str; 4] = ["HUP", "INT", "QUIT", "TERM"];

/// Maximum number of traps that are followed inside of each other.
const DEEPEST: usize = 4;

impl Evaluator {
    /// `trap COMMANDS SIGNALS`.
    pub fn trap(&mut self, shell: &mut Shell, invocation: &Invocation) {
        let at = if invocation.word(1) == Some("--") { 2 } else { 1 };
        let [action, signals @ ..] = invocation.from(at) else { return };
        if signals.is_empty() || matches!(action.text.as_str(), "-p" | "-l") {
            return;
        }
        let commands = if action.text == "-" { "" } else { action.text.as_str() };
        let names: Vec<String> = signals.iter().map(|signal| self.unknowns.show(&signal.text)).collect();
        for name in &names {
            if commands.is_empty() {
                if shell.traps.contains_key(name) {
                    Shared::make_mut(&mut shell.traps).remove(name);
                }
            } else {
                Shared::make_mut(&mut shell.traps).insert(name.clone(), vec![commands.to_owned()]);
            }
        }
        if !commands.is_empty() {
            self.run_trap(shell, &names.join(" "), commands);
        }
    }

    /// Follows the traps that may run after any command.
    pub fn run_traps(&mut self, shell: &mut Shell) {
        let traps = shell.traps.clone();
        for (signal, commands) in traps.iter().filter(|(signal, _)| !AT_EXIT.contains(&signal.as_str())) {
            for commands in commands {
                if let Some(mut after) = self.run_trap(shell, signal, commands) {
                    after.traps = shell.traps.clone();
                    (after.in_loop, after.repeats) = (shell.in_loop, shell.repeats);
                    self.join(shell, &after);
                }
            }
        }
    }

    /// Follows what runs at the end of a shell that may have begun with the traps of `outer`.
    pub fn run_exit_traps(&mut self, shell: &Shell, outer: Option<&Shell>) {
        for signal in AT_EXIT {
            let Some(commands) = shell.traps.get(signal) else { continue };
            if outer.and_then(|outer| outer.traps.get(signal)) != Some(commands) {
                for commands in commands.clone() {
                    self.run_trap(shell, signal, &commands);
                }
            }
        }
    }

    /// Follows the commands of a trap, which are added unless the same was found before. Returns the state behind them.
    fn run_trap(&mut self, shell: &Shell, signal: &str, commands: &str) -> Option<Shell> {
        if self.traps_around >= DEEPEST || self.exhausted() {
            return None;
        }
        let mut inner = shell.forked();
        let ends = |signal: &str| AT_EXIT.contains(&signal) || !self.signals && ENDING.contains(&signal);
        inner.repeats |= !signal.split(' ').all(ends);
        // It is not set off by its own commands.
        Shared::make_mut(&mut inner.traps).retain(|_, others| !others.iter().any(|other| other == commands));
        self.traps_around += 1;
        // The exit code of the command before it stays, unless the trap leaves the shell.
        let status = self.status.filter(|_| !signal.split(' ').any(|signal| AT_EXIT.contains(&signal)));
        // The same trap is found again only if it is read in the same way.
        let leaks = std::mem::take(&mut self.leaks);
        let ((printed, _), nodes) =
            self.collected(|this| this.apart(|this| this.run_script(&mut inner, commands)));
        self.leaks |= leaks || !printed.is_empty();
        self.status = status;
        self.traps_around -= 1;
        if !nodes.is_empty() && !self.trapped.contains(&nodes) {
            self.trapped.push(nodes.clone());
            self.push(Node::Group(Construct::Trap(signal.to_owned()), nodes));
        }
        Some(inner)
    }
}

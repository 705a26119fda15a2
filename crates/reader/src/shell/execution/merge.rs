//! Merges the states of a shell after branches.

use std::rc::Rc;

use crate::shell::Complaint;
use crate::shell::evaluator::Evaluator;
use crate::shell::state::{Shell, Value};
use crate::shell::text::{Origin, Unknown, is_known};

/// Maximum number of values of a variable after branches.
const MOST_CANDIDATES: usize = 16;

impl Evaluator {
    /// Merges the states of `branches` into `shell`: a variable that differs may have any of the values.
    pub fn merge(&mut self, shell: &mut Shell, branches: Vec<Shell>) {
        for branch in branches {
            if !Rc::ptr_eq(&branch.variables, &shell.variables) {
                self.merge_variables(shell, &branch);
            }
            if !Rc::ptr_eq(&branch.functions, &shell.functions) {
                let functions = Rc::make_mut(&mut shell.functions);
                for (name, body) in branch.functions.iter() {
                    functions.insert(name.clone(), Rc::clone(body));
                }
            }
            if branch.cwd != shell.cwd {
                shell.cwd = None;
            }
            if shell.env != branch.env {
                shell.env = branch.env;
            }
            if shell.args.is_empty() {
                shell.args = branch.args;
            }
        }
    }

    fn merge_variables(&mut self, shell: &mut Shell, branch: &Shell) {
        self.spend(1 + branch.variables.len() / 16);
        for (name, theirs) in branch.variables.iter() {
            let merged = match shell.get(name) {
                Some(ours) if ours == theirs => continue,
                // Set in one branch only: `[ -n "$X" ] || X=default`.
                None => theirs.value.clone(),
                Some(ours) => {
                    let mut candidates = self.candidates(&ours.value);
                    for candidate in self.candidates(&theirs.value) {
                        if !candidates.contains(&candidate) {
                            candidates.push(candidate);
                        }
                    }
                    let known =
                        candidates.iter().all(|text| is_known(text)) && candidates.len() <= MOST_CANDIDATES;
                    let lost = candidates.iter().filter(|text| !known && self.mentions_action(text));
                    let lost: Vec<String> = lost.cloned().collect();
                    if !lost.is_empty() {
                        self.complain(Complaint::ManyValues);
                        self.leave_out(branch, &lost.join("\n"));
                    }
                    let unknown = Unknown {
                        source: format!("${name}"),
                        candidates: if known { candidates } else { Vec::new() },
                        ..Unknown::default()
                    };
                    Value::Scalar(self.unknowns.mark(unknown))
                }
            };
            let exported = theirs.exported;
            shell.set(name, merged, Origin::Assigned);
            if exported {
                shell.export(name);
            }
        }
    }

    /// The possible texts of a value.
    fn candidates(&self, value: &Value) -> Vec<String> {
        match value {
            Value::Unset => vec![String::new()],
            Value::Scalar(text) => match self.unknowns.only_mark(text) {
                Some(unknown) if !unknown.candidates.is_empty() => unknown.candidates.clone(),
                _ => vec![text.clone()],
            },
            Value::Array(items) => {
                vec![items.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>().join(" ")]
            }
        }
    }
}

//! Program names with wildcards: `/usr/bin/dock?r`.

use crate::catalogue::base_name;
use crate::catalogue::program::Program;
use crate::shell::Complaint;
use crate::shell::evaluator::Evaluator;
use crate::shell::execution::commands::invocation::Invocation;
use crate::shell::expansion::pattern::glob;
use crate::shell::script::Construct;
use crate::shell::state::Shell;
use crate::shell::text::Field;

/// Maximum number of programs that are tried for one pattern.
const MOST_PROGRAMS: usize = 64;

/// Whether a program name is a pattern.
pub(crate) fn is_pattern(name: &str) -> bool {
    name.contains(['*', '?']) || (name.contains('[') && name.contains(']') && name.len() > 2)
}

/// Follows a command with each program that its name may mean and that acts, runs others or is denied in some form; false when there is none.
pub(crate) fn run(evaluator: &mut Evaluator, shell: &Shell, invocation: &Invocation) -> bool {
    let pattern = invocation.word(0).unwrap_or_default().to_owned();
    let wanted = base_name(&pattern);
    let programs = evaluator.catalogue.programs();
    let is_followed = |program: &Program| {
        program.acts || !program.never.is_empty() || program.forms().any(|form| form.runs.is_some())
    };
    let meant = programs.filter_map(|program| {
        let name = program.names.iter().copied().find(|name| glob(wanted, name))?;
        is_followed(program).then_some(name)
    });
    let names: Vec<&str> = meant.take(MOST_PROGRAMS).collect();
    if names.is_empty() {
        return false;
    }
    evaluator.complain(Complaint::Program(pattern));
    for name in names {
        let mut one = invocation.clone();
        if let Some(first) = one.fields.first_mut() {
            *first = Field::literal(name);
        }
        evaluator.inside(Construct::Branch("if its name is that of a program"), |this| {
            this.run_program(shell, &one)
        });
    }
    true
}

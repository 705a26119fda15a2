//! `mount`: the mount point hides what is below it, and with `--bind` a folder gets a second path.

use super::access::{Access, Touch};
use opsctl_reader::catalogue::operands::Operands;
use opsctl_reader::catalogue::program::Role;
use opsctl_reader::shell::{Command, Word};

/// Adds the mount point; and the source if it is reachable through the mount point then.
pub(super) fn accesses(command: &Command, given: &Operands<'_>, into: &mut Vec<Access>) {
    let mut words: Vec<&Word> = given.words.iter().filter_map(|index| command.words.get(*index)).collect();
    let value = |role| given.places(role).last().and_then(|at| command.value(at));
    let target = value(Role::Folder).or_else(|| words.pop().cloned());
    let source = value(Role::Source).or_else(|| words.pop().cloned());
    let source = source.filter(|_| given.has(Role::Joins));
    into.extend(source.iter().map(|word| Access::new(Touch::ReadAll, word)));
    into.extend(target.iter().chain(&source).map(|word| Access::new(Touch::WriteAll, word)));
}

//! Layer 2: command prefixes that are denied at a tier. The client matches them literally; the hook matches them inside
//! ssh, `bash -c` and between options.

use crate::model::rights::policy::TierPolicy;
use opsctl_reader::catalogue::Catalogue;
use opsctl_reader::catalogue::program::{Does, Form, Program, TargetKind, VerbForm};
use opsctl_reader::terms::action::ActionKind;
use opsctl_reader::terms::effect::Effect;

/// The usual forms of commands whose kind of action the tier may not carry out, then what `hosts.yaml` adds.
pub fn denied(tier: &TierPolicy, catalogue: Catalogue) -> Vec<String> {
    if tier.is_watched {
        return vec![];
    }
    let is_denied = |form: &Form| form.does.is_some_and(|does| is_denied(&does, tier));
    let mut prefixes: Vec<String> = Vec::new();
    let mut add = |prefix: String| {
        if !prefixes.contains(&prefix) {
            prefixes.push(prefix);
        }
    };
    for program in catalogue.programs() {
        let names = literal_names(program).map(str::to_owned);
        for name in names.chain(by_other_programs(program, catalogue)) {
            if is_denied(&program.form) {
                add(name.clone());
            }
            for verb in program.verbs.iter().filter(|verb| is_denied(&verb.form)) {
                literal_paths(verb).for_each(|path| add(format!("{name} {path}")));
            }
            if !tier.effects.contains(&Effect::Changes) {
                program.prefixes.iter().for_each(|prefix| add(format!("{name} {prefix}")));
            }
        }
    }
    tier.deny.iter().cloned().for_each(add);
    prefixes
}

/// The prefixes that reach a program through another one: `docker compose`.
fn by_other_programs(program: &'static Program, catalogue: Catalogue) -> impl Iterator<Item = String> {
    let verbs = catalogue.programs().flat_map(|outer| outer.verbs.iter().map(move |verb| (outer, verb)));
    verbs.filter(|(_, verb)| verb.form.then == Some(program.key)).flat_map(|(outer, verb)| {
        let paths =
            move |name: &str| literal_paths(verb).map(|path| format!("{name} {path}")).collect::<Vec<_>>();
        literal_names(outer).flat_map(paths)
    })
}

/// The names of a program that are no globs.
fn literal_names(program: &'static Program) -> impl Iterator<Item = &'static str> {
    program.names.iter().copied().filter(|name| !name.contains(['*', '[']))
}

/// The ways to write a verb that have no glob.
fn literal_paths(verb: &'static VerbForm) -> impl Iterator<Item = String> {
    let paths = verb.paths.iter().filter(|path| !path.iter().any(|word| word.contains(['*', '['])));
    paths.map(|path| path.join(" "))
}

/// Whether the tier denies the actions of a form. HTTP clients are left out: their arguments determine the action, not
/// their prefix. So are redeployments that name no target: the list would become longer than a command line may be.
fn is_denied(does: &Does, tier: &TierPolicy) -> bool {
    let kind = ActionKind::of(does.verb);
    let is_left_out = match does.to.kind {
        TargetKind::Requests => true,
        TargetKind::Nothing => matches!(kind, ActionKind::Redeployment | ActionKind::Forbidden),
        _ => kind == ActionKind::Forbidden,
    };
    !is_left_out && !tier.allow.contains(&kind)
}

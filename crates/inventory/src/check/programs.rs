//! Programs of the operator's own: each proves its description on its examples.

use crate::spanned::Spanned;

use crate::error::{Checked, Mistake, Mistakes, suggestion};
use crate::yaml::forms::{Entries, entries};
use opsctl_policy::effects;
use opsctl_policy::effects::Scratch;
use opsctl_policy::model::rights::rules::Rules;
use opsctl_policy::paths::word_paths::UnknownMachine;
use opsctl_policy::rules::never::defaults;
use opsctl_policy::rules::pattern::Pattern;
use opsctl_reader::actions::read_command_with;
use opsctl_reader::catalogue::Catalogue;
use opsctl_reader::catalogue::program::{Program, Texts};
use opsctl_reader::terms::effect::Effect;

/// Checks the descriptions; the catalogue contains the built-in programs and these, without their examples.
pub fn check(described: Option<Entries<Program>>, found: &mut Mistakes) -> Catalogue {
    let described: Vec<(Spanned<String>, Program)> = entries(described)
        .map(|(key, program)| {
            let program = program.keyed(&key.value);
            (key, program)
        })
        .collect();
    let mut programs: Vec<Program> = Vec::new();
    let mut is_complete = true;
    for (key, program) in &described {
        match check_program(key, program, &programs) {
            Ok(()) => programs.push(Program { matches: Texts::EMPTY, differs: Texts::EMPTY, ..*program }),
            Err(mistake) => {
                found.add(mistake);
                is_complete = false;
            }
        }
    }
    let catalogue = Catalogue::with(Vec::leak(programs));
    // An example may run another program.
    for (key, program) in described.iter().filter(|_| is_complete) {
        found.keep(check_examples(key, program, catalogue));
    }
    catalogue
}

fn check_program(key: &Spanned<String>, program: &Program, others: &[Program]) -> Checked<()> {
    for own in program.names.iter() {
        check_name(key, own)?;
        let is_new = !others.iter().any(|other| other.names.contains(own));
        let what = format!("has the name `{own}` of another program");
        Mistake::unless(is_new, key, &what, "rename one of the two")?;
    }
    check_rules(key, program)
}

/// The rules that it names exist, their patterns can be read, and so does the program that its verbs lead to.
fn check_rules(key: &Spanned<String>, program: &Program) -> Checked<()> {
    for (name, patterns) in program.never.iter() {
        if !defaults().any(|rule| rule.name == *name) {
            let what = format!("names the rule `{name}` under `never`, which is not a default rule");
            let names: Vec<_> = defaults().map(|rule| rule.name).collect();
            return Err(Mistake::of(key, what, suggestion(name, names)));
        }
        for pattern in patterns.iter() {
            if let Err(problem) = Pattern::behind_program(pattern) {
                let what = format!("has the pattern `{pattern}` under `never`, which {problem}");
                return Err(Mistake::of(key, what, "docs/policy.md describes patterns"));
            }
        }
    }
    let next = program.forms().find_map(|form| form.then);
    match next.filter(|next| Catalogue::default().find(next).is_none()) {
        Some(next) => Err(Mistake::of(
            key,
            format!("leads to `{next}` by `then`, which is not a built-in program"),
            "name one such as `docker-compose`",
        )),
        None => Ok(()),
    }
}

/// A name without a folder that is not a built-in program which opsctl guards.
fn check_name(key: &Spanned<String>, name: &str) -> Checked<()> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._+@-".contains(c);
    let is_program = !name.is_empty() && !name.starts_with('-') && name.chars().all(plain);
    let what = format!("has the name `{name}`, which is not the name of a program");
    Mistake::unless(is_program, key, &what, "write it without folder and blanks, such as `restart-svc`")?;
    let guarded =
        Catalogue::default().find(name).is_some_and(|program| !program.never.is_empty() || acts(program));
    let what = format!("describes `{name}`, which opsctl knows to act or to run other programs");
    let remedy = "remove it; `policy.never` and `policy.tiers` state what is denied";
    Mistake::unless(!guarded, key, &what, remedy)
}

/// Whether it carries out an action or runs another command in some form.
fn acts(program: &Program) -> bool {
    program.acts || program.forms().any(|form| form.runs.is_some())
}

fn check_examples(name: &Spanned<String>, program: &Program, catalogue: Catalogue) -> Checked<()> {
    let acts = acts(program) || !program.commands.is_empty();
    let statement = if acts { "carries out an action or runs another command" } else { "only reads" };
    if program.matches.is_empty() {
        let remedy = format!("add a command that {statement}, such as `matches: [{} …]`", name.value);
        return Err(Mistake::of(name, "has no `matches`", remedy));
    }
    for (examples, expected) in [(program.matches, true), (program.differs, false)] {
        for example in examples.iter() {
            if holds(example, acts, catalogue) != expected {
                let (list, other) = if expected { ("matches", "differs") } else { ("differs", "matches") };
                let not = if expected { "not " } else { "" };
                let what =
                    format!("lists `{example}` under `{list}`, but it is {not}a command that {statement}");
                let remedy = format!("fix the description, or move the example to `{other}`");
                return Err(Mistake::of(name, what, remedy));
            }
        }
    }
    Ok(())
}

/// Whether the description applies to an example.
fn holds(example: &str, acts: bool, catalogue: Catalogue) -> bool {
    let reading = read_command_with(example, None, catalogue);
    if !acts {
        let parts = effects::parts(&reading.script, &Scratch::default(), &Rules::default(), &UnknownMachine);
        return effects::strongest(&parts) == Effect::Reads;
    }
    let mut runs = false;
    reading.script.visit(|node| {
        runs |= matches!(node, opsctl_reader::shell::Node::Group(_, inner) if !inner.is_empty());
    });
    runs || !reading.actions.is_empty()
}

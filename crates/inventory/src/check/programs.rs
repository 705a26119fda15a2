//! Programs of the operator's own: each proves its description on its examples.

use crate::inventory::spanned::Spanned;

use crate::actions::read_command_with;
use crate::catalogue::Catalogue;
use crate::catalogue::entry::{self, EntryWire};
use crate::catalogue::program::Program;
use crate::inventory::error::{Checked, Found, Mistake, suggestion};
use crate::inventory::yaml::forms::{Entries, entries};
use crate::model::effect::Effect;
use crate::policy::effect::{self, Scratch};
use crate::policy::never::packs::defaults;
use crate::policy::pattern::Pattern;
use crate::policy::word_paths::UnknownMachine;

/// Checks the descriptions; the catalogue contains the built-in programs and these.
pub fn check(wires: Option<Entries<EntryWire>>, found: &mut Found) -> (entry::Entries, Catalogue) {
    let wires: Vec<(Spanned<String>, EntryWire)> = entries(wires).collect();
    let mut programs: Vec<Program> = Vec::new();
    let mut is_complete = true;
    for (name, wire) in &wires {
        match check_program(name, wire, &programs) {
            Ok(program) => programs.push(program),
            Err(mistake) => {
                found.add(mistake);
                is_complete = false;
            }
        }
    }
    let catalogue = Catalogue::with(Vec::leak(programs));
    // An example may run another program.
    for (name, wire) in wires.iter().filter(|_| is_complete) {
        found.keep(check_examples(name, wire, catalogue));
    }
    let wires = wires.into_iter().map(|(name, wire)| (name.value, wire.proved())).collect();
    (entry::Entries(wires), catalogue)
}

fn check_program(key: &Spanned<String>, wire: &EntryWire, others: &[Program]) -> Checked<Program> {
    let program = wire.clone().into_program(&key.value).map_err(|error| {
        Mistake::at(key.referenced, format!("program `{}`: {}", key.value, error.what), error.remedy)
    })?;
    for own in program.names.iter() {
        check_name(key, own)?;
        if others.iter().any(|other| other.names.contains(own)) {
            let what = format!("has the name `{own}` of another program");
            return Err(Mistake::of(key, what, "rename one of the two"));
        }
    }
    check_rules(key, &program)?;
    Ok(program)
}

/// The rules that it names exist, their patterns can be read, and so does the program that its verbs lead to.
fn check_rules(key: &Spanned<String>, program: &Program) -> Checked<()> {
    for denial in program.never.iter() {
        if !defaults().any(|rule| rule.name == denial.rule) {
            let what = format!("names the rule `{}` under `never`, which is not a default rule", denial.rule);
            return Err(Mistake::of(
                key,
                what,
                suggestion(denial.rule, defaults().map(|rule| rule.name).collect::<Vec<_>>()),
            ));
        }
        for pattern in denial.patterns.iter() {
            if let Err(problem) = Pattern::behind_program(pattern) {
                let what = format!("has the pattern `{pattern}` under `never`, which {problem}");
                return Err(Mistake::of(key, what, "docs/policy.md describes patterns"));
            }
        }
    }
    let next = program.verbs.iter().map(|verb| &verb.form).chain([&program.form]).find_map(|form| form.then);
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
    if name.is_empty() || name.starts_with('-') || !name.chars().all(plain) {
        let what = format!("has the name `{name}`, which is not the name of a program");
        return Err(Mistake::of(key, what, "write it without folder and blanks, such as `restart-svc`"));
    }
    let guarded = Catalogue::default().find(name).is_some_and(|program| {
        let forms = || program.verbs.iter().map(|verb| &verb.form).chain([&program.form]);
        !program.never.is_empty()
            || forms().any(|form| form.does.is_some() || form.runs.is_some() || form.then.is_some())
    });
    if guarded {
        let what = format!("describes `{name}`, which opsctl knows to act or to run other programs");
        return Err(Mistake::of(
            key,
            what,
            "remove it; `policy.never` and `policy.tiers` state what is denied",
        ));
    }
    Ok(())
}

fn check_examples(name: &Spanned<String>, wire: &EntryWire, catalogue: Catalogue) -> Checked<()> {
    let (matches, differs) = wire.examples();
    let statement = if wire.acts() { "carries out an action or runs another command" } else { "only reads" };
    if matches.is_empty() {
        let remedy = format!("add a command that {statement}, such as `matches: [{} …]`", name.value);
        return Err(Mistake::of(name, "has no `matches`", remedy));
    }
    for (examples, expected) in [(matches, true), (differs, false)] {
        for example in examples {
            if holds(example, wire.acts(), catalogue) != expected {
                let (list, other) = if expected { ("matches", "differs") } else { ("differs", "matches") };
                let not = if expected { "not " } else { "" };
                let what =
                    format!("lists `{example}` under `{list}`, but it is {not}a command that {statement}");
                return Err(Mistake::of(
                    name,
                    what,
                    format!("fix the description, or move the example to `{other}`"),
                ));
            }
        }
    }
    Ok(())
}

/// Whether the description applies to an example.
fn holds(example: &str, acts: bool, catalogue: Catalogue) -> bool {
    let reading = read_command_with(example, None, catalogue);
    if !acts {
        return effect::strongest(&effect::parts(&reading.script, &Scratch::default(), &[], &UnknownMachine))
            == Effect::Reads;
    }
    let mut runs = false;
    reading
        .script
        .visit(|node| runs |= matches!(node, crate::shell::Node::Group(_, inner) if !inner.is_empty()));
    runs || !reading.actions.is_empty()
}

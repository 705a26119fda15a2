//! The documentation lists the classes of changes and the rules about always-denied commands, as the catalogue has them.

use std::collections::BTreeMap;
use std::path::Path;

use opsctl_policy::rules::never::defaults;
use opsctl_reader::catalogue::Catalogue;
use opsctl_reader::catalogue::program::{Form, Program, Stated};
use opsctl_reader::terms::class::Class;

/// The classes of the changes of a form, each as often as the form can be written.
fn classes(form: &Form, ways: usize) -> Vec<(Class, usize)> {
    let Some(terms) = form.effect else { return vec![] };
    let stated = match terms.stated {
        Stated::Changes(class) => Some((class, ways)),
        _ => None,
    };
    let by_option = terms.classes.iter().map(|(class, options)| (*class, options.len()));
    stated.into_iter().chain(by_option).collect()
}

fn of_program(program: &Program) -> Vec<(Class, usize)> {
    let verbs = program.verbs.iter().flat_map(|verb| classes(&verb.form, verb.paths.len()));
    verbs.chain(classes(&program.form, program.names.len())).collect()
}

/// The rows of the table of classes: how many verbs, programs and options have each, and what becomes of it at the tiers.
fn class_rows() -> String {
    let mut counts: BTreeMap<Class, usize> = BTreeMap::new();
    for (class, count) in Catalogue::default().programs().flat_map(of_program) {
        *counts.entry(class).or_default() += count;
    }
    let row = |class: Class| {
        let default = match (class.is_denied(false), class.is_denied(true)) {
            (true, _) => "denied | denied | denied",
            (_, true) => "denied | allowed here | allowed here",
            _ => "denied | allowed | allowed",
        };
        let count = counts.get(&class).copied().unwrap_or_default();
        format!("| `{}` | {} | {count} | {default} |\n", class.as_str(), class.about())
    };
    Class::ALL.map(row).concat()
}

/// The rows of the table of rules: an example that each denies, and the reason.
fn rule_rows() -> String {
    let row = |rule: &opsctl_reader::catalogue::never::DefaultRule| {
        let example = rule.matches.first().copied().unwrap_or_default().replace('|', "\\|");
        format!("| `{}` | `{}` | `{example}` | {} |\n", rule.name, rule.class, rule.reason)
    };
    defaults().map(row).collect()
}

#[test]
fn the_documentation_lists_every_class_and_every_rule() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/policy.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let mut expected = text.clone();
    for (head, rows) in [
        (
            "| class | consequence | verbs, programs and options | tier 1 | tier 2 | tier 3 |\n|---|---|---|---|---|---|\n",
            class_rows(),
        ),
        ("| rule | class | example | what the agent reads |\n|---|---|---|---|\n", rule_rows()),
    ] {
        let start = expected.find(head).expect("docs/policy.md has the table") + head.len();
        let end = expected[start..].find("\n\n").map_or(expected.len(), |end| start + end + 1);
        expected.replace_range(start..end.max(start), &rows);
    }
    if std::env::var_os("UPDATE_REFERENCE").is_some() {
        return std::fs::write(path, expected).unwrap();
    }
    assert!(text == expected, "run UPDATE_REFERENCE=1 cargo test --test project classes");
}

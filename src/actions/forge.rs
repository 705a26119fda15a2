//! Pull requests: `gh`, `tea`, `glab`, `hub`.

use crate::model::action::{Action, ActionKind, Family, Target, Verb};
use crate::shell::Word;

use super::line::{Arguments, Line};

/// How a program opens a pull request.
struct Forge {
    program: &'static str,
    /// The subcommand and its other names.
    noun: &'static [&'static str],
    /// What is done with it.
    create: &'static [&'static str],
    valued: &'static [&'static str],
}

static FORGES: &[Forge] = &[
    Forge {
        program: "gh",
        noun: &["pr"],
        create: &["create", "new"],
        valued: &[
            "-t",
            "--title",
            "-b",
            "--body",
            "-F",
            "--body-file",
            "-B",
            "--base",
            "-H",
            "--head",
            "-R",
            "--repo",
            "-a",
            "--assignee",
            "-l",
            "--label",
            "-m",
            "--milestone",
            "-p",
            "--project",
            "-r",
            "--reviewer",
            "-T",
            "--template",
            "--recover",
        ],
    },
    Forge {
        program: "tea",
        noun: &["pr", "pulls", "pull"],
        create: &["create", "c"],
        valued: &[
            "-t",
            "--title",
            "-d",
            "--description",
            "-b",
            "--base",
            "--head",
            "-r",
            "--repo",
            "-l",
            "--login",
            "-R",
            "--remote",
            "-a",
            "--assignees",
            "-L",
            "--labels",
            "-m",
            "--milestone",
            "-o",
            "--output",
            "-D",
            "--deadline",
        ],
    },
    Forge {
        program: "glab",
        noun: &["mr"],
        create: &["create", "new"],
        valued: &[
            "-t",
            "--title",
            "-d",
            "--description",
            "-b",
            "--target-branch",
            "-s",
            "--source-branch",
            "-a",
            "--assignee",
            "--reviewer",
            "-l",
            "--label",
            "-m",
            "--milestone",
            "-R",
            "--repo",
            "-H",
            "--head",
            "-i",
            "--related-issue",
        ],
    },
];

pub(super) fn find_actions(line: &Line<'_>, actions: &mut Vec<Action>) {
    if line.program() == "hub" {
        if line.text(1) == "pull-request" {
            push(line, "hub pull-request".to_owned(), None, actions);
        }
        return;
    }
    let Some(forge) = FORGES.iter().find(|forge| forge.program == line.program()) else { return };
    let mut arguments = Arguments::default();
    line.arguments(1, forge.valued, &mut arguments);
    let [noun, create, ..] = arguments.positionals.as_slice() else { return };
    let (noun, create) = (line.text(*noun), line.text(*create));
    if arguments.has(&["--help", "--dry-run"]) {
        return;
    }
    if forge.noun.contains(&noun) && forge.create.contains(&create) {
        let title = arguments.value(&["-t", "--title"]).and_then(Word::known).map(str::to_owned);
        push(line, format!("{} {noun} create", forge.program), title, actions);
    }
}

fn push(line: &Line<'_>, evidence: String, title: Option<String>, actions: &mut Vec<Action>) {
    let mut action =
        line.action(ActionKind::PullRequest, Verb::Create, Family::Forge, Target::Nothing, evidence);
    action.title = title;
    actions.push(action);
}

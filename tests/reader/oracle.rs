//! The reader against real bash: what ran must be what was reported.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use crate::action_summary::{ActionSummary, list};
use crate::corpus;
use crate::sandbox;
use crate::sandbox::{Case, Outcome};
use crate::scripts;
use crate::what_ran;
use opsctl_reader::actions::read_command;

const HERE: &str = "/app";
/// How many differences a failing test shows; the shortest first.
const SHOWN: usize = 1000;

struct Difference {
    text: String,
    ran: Vec<ActionSummary>,
    shown: String,
}

fn fail_on(what: &str, of: usize, mut differences: Vec<Difference>) {
    if differences.is_empty() {
        return;
    }
    differences.sort_by_key(|difference| difference.text.len());
    let mut report = format!("{what}: {} of {of}\n", differences.len());
    for Difference { text, ran, shown } in differences.iter().take(SHOWN) {
        let ran = list(ran);
        write!(report, "\n{text}\n    ran:      {ran}\n    reported: {shown}\n").expect("writes to a string");
    }
    panic!("{report}");
}

/// The actions that ran and that no reported action accounts for: a guard would have missed them.
///
/// A reported action accounts for one that is equal to it; for any number of them where it repeats, where its
/// service cannot be determined, or that is forbidden.
fn unreported(ran: &[ActionSummary], reported: &[ActionSummary]) -> Vec<ActionSummary> {
    let mut left: Vec<&ActionSummary> = reported.iter().collect();
    ran.iter()
        .filter(|action| {
            let equal = left.iter().position(|shown| {
                shown.kind == action.kind
                    && shown.verb == action.verb
                    && shown.service == action.service
                    && shown.host == action.host
            });
            match equal {
                Some(place) => {
                    if !left[place].repeats {
                        left.remove(place);
                    }
                    false
                }
                None => !reported.iter().any(|shown| {
                    shown.host == action.host
                        && (shown.kind == "forbidden"
                            // What runs shows no images that were pulled before.
                            || shown.kind == "redeployment"
                                && action.verb == "start"
                                && shown.service == action.service
                            || shown.service.is_none()
                                && shown.kind == action.kind
                                && shown.verb == action.verb)
                }),
            }
        })
        .cloned()
        .collect()
}

fn actions_of(outcome: &Outcome) -> Vec<ActionSummary> {
    outcome.ran.iter().flat_map(what_ran::actions).collect()
}

fn reading_of(text: &str, cwd: &str) -> (Vec<ActionSummary>, Vec<String>) {
    let reading = read_command(text, Some(Path::new(cwd)));
    (
        reading.actions.iter().map(ActionSummary::of).collect(),
        reading.complaints.iter().map(ToString::to_string).collect(),
    )
}

/// Texts of which one is in every command that depends on the exit status or the output of another.
const DEPENDENT: [&str; 26] = [
    "$(", "`", "<(", "|", "&", "if", "while", "until", "!", "$?", "-e", "trap", "find", "set", "xargs",
    "make", "just", "parallel", "PIPE", "case", "retry", "watch", "flock", "timeout", "ERR", "select",
];

/// Every row with lookups that succeed, and with lookups that fail where that may matter.
fn corpus_cases() -> (Vec<corpus::Row>, Vec<Case>) {
    let mut rows = Vec::new();
    let mut cases = Vec::new();
    for row in corpus::rows().iter().filter(|row| !row.beyond_stand_ins) {
        let looks = !row.files.is_empty() || DEPENDENT.iter().any(|text| row.command.contains(text));
        for lookups_exit in 0..=u8::from(looks) {
            cases.push(Case {
                text: row.command.clone(),
                cwd: row.cwd.clone(),
                files: row.files.clone(),
                lookups_exit,
            });
            rows.push(row.clone());
        }
    }
    (rows, cases)
}

/// Families whose programs are not in the sandbox, or have stand-ins that only answer.
const NOT_INSTALLED: [&str; 8] = [
    "daemons",
    "generators",
    "guard",
    "interpreters",
    "interpreters_and_libraries",
    "launchers",
    "requests_and_clusters",
    "task_files",
];

#[test]
fn every_action_that_a_corpus_command_runs_is_in_the_corpus_and_reported() {
    let (rows, cases) = corpus_cases();
    let outcomes = sandbox::run(&cases, 1);
    let (mut corpus_misses, mut reader_misses) = (Vec::new(), Vec::new());
    let (mut acting, mut seen_to_act) = (0_u32, 0_u32);
    let reported = |row: &corpus::Row| row.read().actions.iter().map(ActionSummary::of).collect::<Vec<_>>();
    let mut shown = Vec::new();
    for ((row, case), outcome) in rows.iter().zip(&cases).zip(&outcomes) {
        // The second case of a row is read as its first.
        if case.lookups_exit == 0 {
            shown = reported(row);
        }
        let ran = actions_of(outcome);
        let expected: Vec<ActionSummary> =
            row.expect.iter().map(|expected| expected_action(expected, &ran)).collect();
        if !unreported(&ran, &expected).is_empty() {
            corpus_misses.push(Difference {
                text: row.command.clone(),
                ran: ran.clone(),
                shown: list(&expected),
            });
        }
        // The stand-ins of opsctl and of the client only answer: the limits that they would weaken do not exist here,
        // and neither are the interpreters of other languages.
        if !row.expect.is_empty() && !NOT_INSTALLED.contains(&row.family.as_str()) {
            acting += 1;
            seen_to_act += u32::from(!ran.is_empty());
        }
        if !unreported(&ran, &shown).is_empty() {
            reader_misses.push(Difference { text: row.command.clone(), ran, shown: list(&shown) });
        }
    }
    // Bash refuses broken syntax; nearly everything else has to act: seven of eight rows, the second cases included.
    assert!(
        seen_to_act * 8 >= acting * 7,
        "only {seen_to_act} of {acting} acting rows acted: the world is broken"
    );
    fail_on("rows that state less than what runs", rows.len(), corpus_misses);
    fail_on("rows of which the reader reports less than what runs", rows.len(), reader_misses);
}

/// A row states a verb only if it matters; otherwise, the verb of the run applies.
fn expected_action(expected: &corpus::Expected, ran: &[ActionSummary]) -> ActionSummary {
    let host = expected.host.value();
    let alike = ran.iter().find(|action| action.kind == expected.kind && action.service == expected.service);
    let alike = alike.or_else(|| ran.iter().find(|action| action.kind == expected.kind));
    let verb = expected.verb.as_deref().or(alike.map(|action| action.verb.as_str())).unwrap_or_default();
    let action = ActionSummary::new(&expected.kind, verb, expected.service.as_deref(), host);
    ActionSummary { repeats: expected.repeats.unwrap_or(false), ..action }
}

fn cases_for(scripts: &[scripts::Script]) -> Vec<Case> {
    let case = |script: &scripts::Script| Case {
        text: script.text.clone(),
        cwd: HERE.to_owned(),
        files: BTreeMap::new(),
        lookups_exit: 0,
    };
    scripts.iter().map(case).collect()
}

#[test]
fn a_generated_script_that_runs_completely_is_read_exactly() {
    let scripts: Vec<_> = (0..2000).map(scripts::steady).collect();
    let outcomes = sandbox::run(&cases_for(&scripts), 20);
    let mut differences = Vec::new();
    for (script, outcome) in scripts.iter().zip(&outcomes) {
        let (mut ran, (shown, complaints)) = (actions_of(outcome), reading_of(&script.text, HERE));
        let mut shown: Vec<ActionSummary> = shown.iter().map(ActionSummary::without_repeats).collect();
        if !script.in_order {
            ran.sort();
            shown.sort();
        }
        // Bash runs other words than it was given, which is a complaint.
        if complaints.iter().any(|complaint| complaint.contains("bash joins commands")) {
            continue;
        }
        if shown != ran || !complaints.is_empty() {
            let shown = format!("{} {complaints:?} (bash: {})", list(&shown), outcome.complaint.trim());
            differences.push(Difference { text: script.text.clone(), ran, shown });
        }
    }
    fail_on("scripts that are read otherwise than they run", scripts.len(), differences);
}

#[test]
fn every_action_that_a_generated_script_runs_is_reported() {
    let scripts: Vec<_> = (0..1000).map(scripts::wild).collect();
    let outcomes = sandbox::run(&cases_for(&scripts), 3);
    let mut differences = Vec::new();
    for (script, outcome) in scripts.iter().zip(&outcomes) {
        let (ran, (shown, _)) = (actions_of(outcome), reading_of(&script.text, HERE));
        if !unreported(&ran, &shown).is_empty() {
            differences.push(Difference { text: script.text.clone(), ran, shown: list(&shown) });
        }
    }
    fail_on("scripts that do more than was reported", scripts.len(), differences);
}

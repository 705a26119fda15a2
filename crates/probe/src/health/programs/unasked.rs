//! Why a program shows no state, and what an operator can do about it: that a service cannot be checked does not mean that it
//! is unhealthy.

use super::said::Said;
use super::way::Way;
use crate::health::finding::{Finding, State};
use opsctl_policy::model::installation::checks::UNASKED;

/// The exit codes of a shell that cannot execute a program, or does not find it, with the row of their remedy.
const NOT_RUN: [(i32, &str); 2] = [(126, "cannot execute"), (127, "command not found")];

/// What sudo prints before its reason.
const SUDO: &str = "sudo: ";

/// The finding if the program did not run at all: the host cannot run it, or sudo refuses it.
pub fn not_run(said: &Said, program: &str, way: &Way) -> Option<Finding> {
    let by_code = NOT_RUN.into_iter().find(|(code, _)| said.code == Some(*code));
    let is_refused = !said.success && said.stderr.lines().any(is_refusal);
    (by_code.is_some() || is_refused).then(|| {
        let what = if is_refused { "sudo does not run it" } else { "the host cannot run it" };
        let row = by_code.map_or("", |(_, row)| row);
        unknown(format!("{what}{}", said.reason()), program, &format!("{}{row}", said.stderr), way)
    })
}

/// Whether a line states that sudo did not start the program. That it does not know the name of its host is a warning.
fn is_refusal(line: &str) -> bool {
    let is_warning = line.contains("unable to resolve host");
    let refusals = ["is not in the sudoers", "is not allowed to execute", "may not run sudo"];
    line.starts_with(SUDO) && !is_warning || refusals.iter().any(|text| line.contains(text))
}

/// The finding of a program that ran, and could not show a state.
pub fn no_state(said: &Said, program: &str, way: &Way) -> Finding {
    not_run(said, program, way).unwrap_or_else(|| {
        let Finding { detail, .. } = said.failure(State::Unknown, program);
        unknown(detail, program, &said.stderr, way)
    })
}

/// The finding of a check that cannot be carried out, with the remedy for what a program has printed.
pub fn unknown(detail: String, program: &str, printed: &str, way: &Way) -> Finding {
    Finding { remedy: Some(remedy(program, printed, way)), ..Finding::new(State::Unknown, detail) }
}

/// The remedy for what a program has printed.
fn remedy(program: &str, printed: &str, way: &Way) -> String {
    let printed = printed.to_lowercase();
    let row = UNASKED.iter().find(|(of, text, _)| (*of == "*" || *of == program) && printed.contains(text));
    let remedy = row.map(|(_, _, remedy)| *remedy).unwrap_or_default();
    let host = way
        .host
        .as_ref()
        .map_or_else(|| "the host of the service".to_owned(), |host| format!("host `{host}`"));
    remedy.replace("{program}", &format!("`{program}`")).replace("{host}", &host)
}

#[cfg(test)]
mod tests {
    use super::*;
    use opsctl_policy::model::installation::inventory::Host;

    #[test]
    fn tells_why_a_program_shows_no_state() {
        #[derive(serde::Deserialize)]
        struct Case {
            program: String,
            code: i32,
            stderr: String,
            detail: String,
            remedy: String,
        }
        let cases: Vec<Case> = serde_saphyr::from_str(include_str!("unasked.yaml")).unwrap();
        let way = Way::to(Some(&Host { name: "nas".into(), ..Host::default() }));
        for Case { program, code, stderr, detail, remedy } in cases {
            let said = Said { success: code == 0, code: Some(code), stdout: String::new(), stderr };
            let found = no_state(&said, &program, &way);
            assert_eq!(found.state, State::Unknown);
            assert_eq!((found.detail, found.remedy), (detail, Some(remedy)));
        }
    }
}

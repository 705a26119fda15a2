//! The texts of events, notices and sessions.

pub mod notices;
pub mod report;
pub mod session;

#[cfg(test)]
mod tests {
    use chrono::{DateTime, TimeDelta, Utc};

    use super::report::event;
    use super::session::{reminder_is_due, state};
    use crate::cases::{Cases, resolved};
    use crate::model::records::event::ToolResult;
    use crate::model::records::session::{ActivityTimes, StatusReminder};

    #[test]
    fn events_and_states_follow_from_what_happens() {
        let mut cases = Cases::of("texts");
        cases.check("the_texts_are_the_ones_that_operators_know", |[command, result]| {
            let failed = ToolResult::Failed("exit code 1".into());
            let result = if result == "failed" { failed } else { ToolResult::Succeeded };
            let events = resolved(command).into_iter().map(|action| event(&action, &result));
            events.map(|event| format!("{}: {}", event.level.as_str(), event.message)).collect()
        });
        let time = |text: &str| text.parse().unwrap();
        cases.check(
            "the_latest_activity_decides_and_a_running_tool_outranks_all_but_the_end",
            |[active, idle, ended, runs]| {
                let [active, idle, ended] = [active, idle, ended].map(time);
                format!("{:?}", state(ActivityTimes { active, idle, ended, tool_running: runs == "runs" }))
            },
        );
        let now: DateTime<Utc> = "2026-03-21T14:00:00Z".parse().unwrap();
        cases.check(
            "a_reminder_comes_two_minutes_after_the_last_and_never_beside_a_status",
            |[has_status, seconds]| {
                let at = seconds.parse().ok().map(|seconds| now - TimeDelta::seconds(seconds));
                reminder_is_due(StatusReminder { has_status: has_status == "true", at }, now).to_string()
            },
        );
    }
}

//! Property test: the stored state of a session does not depend on the order in which hooks write.

use chrono::{DateTime, Utc};
use proptest::prelude::*;

use super::Who;
use crate::{Ledger, fixture};
use opsctl_policy::model::records::event::{SessionStart, Subagent};
use opsctl_policy::model::records::session::{Activity, State};
use opsctl_policy::texts::session::state;

/// An event in a session; tool calls and subagents are identified by number.
#[derive(Debug, Clone)]
enum Happens {
    Begins,
    Prompted,
    ToolBegins(usize, Option<usize>),
    ToolsDone(Vec<usize>, Option<usize>),
    SubagentBegins(usize),
    SubagentEnds(usize),
    Stops,
    Ends,
}

use Happens::*;

impl Happens {
    const fn is_async(&self) -> bool {
        matches!(self, ToolBegins(..) | SubagentBegins(_) | SubagentEnds(_))
    }
}

/// The effect of one message of the agent.
#[derive(Debug, Clone)]
enum Message {
    /// This number of tool calls, one after the other or in parallel; the last may be refused without a hook.
    Tools(usize),
    /// A subagent that the agent waits for, with this number of tool calls.
    Subagent(usize),
}

fn history(turns: &[Vec<Message>], ends: bool) -> Vec<Happens> {
    let mut happened = vec![Begins];
    let (mut call, mut agent) = (0, 0);
    for turn in turns {
        happened.push(Prompted);
        for message in turn {
            match message {
                Message::Tools(tools) => {
                    let calls: Vec<usize> = (call..call + tools).collect();
                    call += tools;
                    happened.extend(calls.iter().map(|call| ToolBegins(*call, None)));
                    happened.push(ToolsDone(calls, None));
                }
                Message::Subagent(tools) => {
                    let task = call;
                    let calls: Vec<usize> = (call + 1..=call + tools).collect();
                    call += tools + 1;
                    happened.extend([ToolBegins(task, None), SubagentBegins(agent)]);
                    happened.extend(calls.iter().map(|call| ToolBegins(*call, Some(agent))));
                    happened.extend([
                        ToolsDone(calls, Some(agent)),
                        SubagentEnds(agent),
                        ToolsDone(vec![task], None),
                    ]);
                    agent += 1;
                }
            }
        }
        happened.push(Stops);
    }
    happened.extend(ends.then_some(Ends));
    happened
}

/// The state that follows from the true order.
fn truth(happened: &[Happens]) -> State {
    let mut open: Vec<usize> = vec![];
    let mut rest = State::Active;
    for event in happened {
        match event {
            Begins | Prompted => rest = State::Active,
            ToolBegins(call, _) => open.push(*call),
            ToolsDone(calls, _) => open.retain(|call| !calls.contains(call)),
            Stops => rest = State::Idle,
            Ends => rest = State::Ended,
            SubagentBegins(_) | SubagentEnds(_) => {}
        }
    }
    match rest {
        State::Ended => rest,
        _ if !open.is_empty() => State::ToolActive,
        _ => rest,
    }
}

fn write(ledger: &mut Ledger, session: &str, event: &Happens, at: i64) {
    let now: DateTime<Utc> = DateTime::from_timestamp_micros(at).unwrap();
    let name = |number: &usize| format!("n{number}");
    let subagent = |number: &usize| Subagent { id: name(number), kind: None };
    let change = ledger.change().unwrap();
    change.meet(&Who { session, ..Who::default() }, now).unwrap();
    let note = |activity: &Activity<'_>| change.record_activity(session, activity, now).unwrap();
    match event {
        Begins => note(&Activity::Started(&SessionStart::default())),
        Prompted => note(&Activity::PromptSubmitted),
        ToolBegins(call, agent) => {
            note(&Activity::ToolStarted { call: &name(call), agent: agent.as_ref().map(name).as_deref() });
        }
        ToolsDone(calls, agent) => {
            let calls: Vec<String> = calls.iter().map(name).collect();
            note(&Activity::ToolsFinished { calls: &calls, agent: agent.as_ref().map(name).as_deref() });
        }
        SubagentBegins(agent) => note(&Activity::SubagentStarted(&subagent(agent))),
        SubagentEnds(agent) => note(&Activity::SubagentStopped(&subagent(agent))),
        Stops => note(&Activity::Stopped),
        Ends => note(&Activity::Ended { reason: Some("other") }),
    }
    change.set_state(session, state(change.activity_times(session).unwrap())).unwrap();
    change.commit().unwrap();
}

fn message() -> impl Strategy<Value = Message> {
    prop_oneof![(1usize..4).prop_map(Message::Tools), (0usize..3).prop_map(Message::Subagent)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn late_activities_do_not_change_the_state(
        turns in prop::collection::vec(prop::collection::vec(message(), 0..4), 0..4),
        ends in any::<bool>(),
        cut in any::<prop::sample::Index>(),
        late in prop::collection::vec((0usize..8, 0i64..150), 64),
        clock_goes_back in any::<bool>(),
    ) {
        let (_folder, mut ledger) = fixture::ledger();
        let all = history(&turns, ends);
        let happened = all.get(..=cut.index(all.len())).unwrap();
        // Messages of the model are 100 ms apart, tool calls take 1 ms.
        let mut written: Vec<(usize, usize, i64)> = vec![];
        let mut at = 1_774_000_000_000_000_i64;
        for (nth, event) in happened.iter().enumerate() {
            at += if matches!(event, ToolBegins(..) | ToolsDone(..)) { 1_000 } else { 100_000 };
            let (places, delay) = late[nth % late.len()];
            // An asynchronous hook may start late and write even later.
            let (places, delay) = if event.is_async() { (places, delay * 100) } else { (0, 0) };
            // A clock that is set back changes the time of synchronous hooks only, which stay in order.
            let jump = if clock_goes_back && matches!(event, Stops | Ends | Prompted) { -50_000 } else { 0 };
            written.push((nth + places, nth, at + delay + jump));
        }
        written.sort_by_key(|(place, nth, _)| (*place, *nth));
        for (_, nth, at) in written {
            write(&mut ledger, "s", happened.get(nth).unwrap(), at);
        }
        let session = ledger.sessions(super::WhichSessions::default(), 1, |_| true).unwrap().remove(0);
        prop_assert_eq!(session.state, truth(happened), "{:?}", happened);
    }
}

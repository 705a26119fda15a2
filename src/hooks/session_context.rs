//! The text of the session context: the most urgent first, within the client's limit.

use std::fmt::Write as _;

use crate::guard::budgets::ServiceBudget;
use crate::hooks::context::text::Reading;
use opsctl_ledger::Event;
use opsctl_policy::model::display::relative_time::timestamp;
use opsctl_probe::hosts::PingedHost;
use opsctl_probe::icmp::Reachability;
use opsctl_redact::shortened;

/// The most bytes of the whole context: the client shows a preview of 2 KB instead of a context of more than 10,000
/// characters, of which there are never more than bytes.
pub const MOST_BYTES: usize = 9_900;

/// The bytes of headings and separators.
const FORM_BYTES: usize = 300;

/// How many bytes each section may take.
struct Room {
    cooldown: usize,
    problems: usize,
    events: usize,
    hosts: usize,
}

impl Room {
    /// The shares of `bytes` for the sections.
    const fn of(bytes: usize) -> Self {
        let bytes = bytes - FORM_BYTES;
        Self {
            cooldown: bytes * 38 / 96,
            problems: bytes * 10 / 96,
            events: bytes * 26 / 96,
            hosts: bytes * 22 / 96,
        }
    }
}

/// The most bytes of the line that counts the entries not listed.
const REST_BYTES: usize = 140;

/// The longest event message that is not cut, in characters.
const MESSAGE_CHARS: usize = 200;

/// The longest name of a service or host that is not cut, in characters.
const NAME_CHARS: usize = 64;

const NO_DATA: &str = "  No data available";

/// The data of the context; `None` for a source that does not exist or cannot be read.
pub struct State<'a> {
    /// The budgets, the most urgent first.
    pub budgets: Option<&'a [ServiceBudget]>,
    /// Problems that need a person's attention, a line each.
    pub problems: &'a [String],
    /// The latest events, newest first.
    pub events: Option<&'a [Event]>,
    /// The hosts.
    pub hosts: &'a [PingedHost],
}

/// The bytes reserved for files, and for the repositories, if they need them.
const FILES_BYTES: usize = 3_000;

/// Composes the state and, in the remaining room, the mounted repositories and the files of the session.
pub fn with_files(state: &State<'_>, repositories: &Reading, files: &Reading) -> Composed {
    let needed = |reading: &Reading| {
        if reading.is_empty() { 0 } else { reading.render(MOST_BYTES).len().min(FILES_BYTES) + 1 }
    };
    let for_files = needed(files);
    let both = needed(repositories) + for_files;
    let mut text = render(state, MOST_BYTES);
    if text.len() + both > MOST_BYTES {
        text = render(state, MOST_BYTES - both);
    }
    if !repositories.is_empty() {
        let room = MOST_BYTES - text.len() - for_files - 1;
        text = format!("{text}\n{}", repositories.render(room));
    }
    if files.is_empty() {
        return Composed { text, files_room: 0 };
    }
    let files_room = MOST_BYTES - text.len() - 1;
    Composed { text: format!("{text}\n{}", files.render(files_room)), files_room }
}

/// A whole session context.
pub struct Composed {
    /// The text.
    pub text: String,
    /// The room for files, in bytes.
    pub files_room: usize,
}

/// Renders the state in at most `bytes` bytes.
pub fn render(state: &State<'_>, bytes: usize) -> String {
    let room = Room::of(bytes);
    let cooldown = state.budgets.map_or_else(|| NO_DATA.to_owned(), |all| budgets(all, room.cooldown));
    let problems = match state.problems {
        [] => String::new(),
        problems => {
            let lines: Vec<String> =
                problems.iter().map(|line| format!("  {}", shortened(line, 300))).collect();
            format!(
                "Open Problems:\n{}\n\n",
                section(&lines, room.problems, |left| format!("{left} more problems"))
            )
        }
    };
    let events = state.events.unwrap_or_default().iter().map(event_line).collect::<Vec<_>>();
    let events = section(&events, room.events, |left| format!("{left} more events"));
    let hosts = hosts(state.hosts, room.hosts);
    format!(
        "=== Claude Ops Session Context (auto-injected) ===\n\n\
         Cooldown State:\n{cooldown}\n\n\
         {problems}\
         Recent Events (last 10):\n{events}\n\n\
         Host Connectivity:\n{hosts}\n\n\
         === End Session Context ===\n"
    )
}

/// As many lines as fit into `bytes`, and a last line in which `rest` describes how many are left out.
pub(crate) fn section(lines: &[String], bytes: usize, rest: impl Fn(usize) -> String) -> String {
    if lines.is_empty() {
        return NO_DATA.to_owned();
    }
    let fits = |lines: &[String], bytes| lines.iter().map(|line| line.len() + 1).sum::<usize>() <= bytes;
    if fits(lines, bytes) {
        return lines.join("\n");
    }
    let shown =
        (0..lines.len()).take_while(|end| fits(lines.get(..=*end).unwrap_or_default(), bytes - REST_BYTES));
    let shown = shown.count();
    let mut text: String = lines.iter().take(shown).map(|line| format!("{line}\n")).collect();
    let _ = write!(text, "  … and {}", rest(lines.len() - shown));
    text
}

/// All services if they fit, else those with usage, and the number of the others.
fn budgets(budgets: &[ServiceBudget], bytes: usize) -> String {
    let lines: Vec<String> = budgets.iter().map(budget_line).collect();
    if lines.iter().map(|line| line.len() + 1).sum::<usize>() <= bytes {
        return section(&lines, bytes, |_| String::new());
    }
    let in_use = budgets.iter().filter(|budget| budget.in_use()).count();
    let in_cooldown = budgets.iter().filter(|budget| budget.cooldown_until().is_some()).count();
    let nothing_used = budgets.last().filter(|budget| !budget.in_use());
    let idle = nothing_used.map(|budget| {
        format!("{} services without usage: {} each", budgets.len() - in_use, budget.idle_in_words())
    });
    let lines = lines.get(..in_use).unwrap_or_default();
    let Some(idle) = idle else {
        return section(lines, bytes, |left| format!("{left} more services"));
    };
    if lines.is_empty() {
        return format!("  {idle}");
    }
    let listed = section(lines, bytes - REST_BYTES, |left| {
        let cooldown = in_cooldown.saturating_sub(in_use - left);
        format!(
            "{left} more services with usage, {cooldown} of them in cooldown: see `opsctl cooldown show NAME`"
        )
    });
    format!("{listed}\n  … and {idle}")
}

fn budget_line(budget: &ServiceBudget) -> String {
    // A long name is cut, the numbers after it are not.
    format!(
        "  {}",
        ServiceBudget { service: shortened(&budget.service, NAME_CHARS), ..budget.clone() }
            .in_words(timestamp)
    )
}

fn event_line(event: &Event) -> String {
    format!(
        "  {} | {} | {} | {}",
        event.at.map_or_else(|| "unknown time".to_owned(), timestamp),
        shortened(&event.level, 16),
        event.service.as_deref().map_or_else(|| "-".to_owned(), |service| shortened(service, NAME_CHARS)),
        shortened(&event.message, MESSAGE_CHARS),
    )
}

/// Hosts that need attention first; those that do not fit are counted by state.
fn hosts(hosts: &[PingedHost], bytes: usize) -> String {
    let mut hosts: Vec<&PingedHost> = hosts.iter().collect();
    hosts.sort_by_key(|host| matches!(host.reachability, Reachability::Reachable(_)));
    let line = |PingedHost { name, address, reachability }: &&PingedHost| {
        let (name, address) = (shortened(name, NAME_CHARS), shortened(address, NAME_CHARS));
        format!("  {name} ({address}): {}", reachability.as_str())
    };
    let all: Vec<String> = hosts.iter().map(line).collect();
    if all.iter().map(|line| line.len() + 1).sum::<usize>() <= bytes {
        return section(&all, bytes, |_| String::new());
    }
    let silent =
        hosts.iter().take_while(|host| !matches!(host.reachability, Reachability::Reachable(_))).count();
    // Reachable hosts need no line each, only the count.
    let shown = section(all.get(..silent).unwrap_or_default(), bytes - REST_BYTES, |left| {
        let rest = hosts.get(silent - left..silent).unwrap_or_default();
        let states: Vec<&str> = rest.iter().map(|host| host.reachability.as_str()).collect();
        let mut kinds = states.clone();
        kinds.sort_unstable();
        kinds.dedup();
        let count = |kind: &str| states.iter().filter(|state| **state == kind).count();
        let counts: Vec<String> = kinds.iter().map(|kind| format!("{} {kind}", count(kind))).collect();
        format!("more hosts: {}", counts.join(", "))
    });
    match (silent, hosts.len() - silent) {
        (0, reachable) => format!("  all {reachable} hosts: reachable"),
        (_, 0) => shown,
        (_, reachable) => format!("{shown}\n  … and {reachable} more hosts: reachable"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::budgets::in_order;
    use crate::hooks::context::text::{Frame, TextFile};
    use chrono::{DateTime, Utc};
    use opsctl_inventory::Installation;
    use opsctl_policy::budgets::budget::Usage;
    use opsctl_policy::decide::{BudgetKey, Snapshot};
    use opsctl_policy::model::installation::inventory::{Inventory, Service};

    const STATES: [Reachability; 4] = [
        Reachability::Unreachable,
        Reachability::Unresolved,
        Reachability::Unknown,
        Reachability::Reachable(std::time::Duration::ZERO),
    ];

    fn budgets(services: usize, usage: &Snapshot) -> Vec<ServiceBudget> {
        let service = |n: usize| Service { name: format!("service-{n}"), ..Service::default() };
        let inventory = Inventory { services: (0..services).map(service).collect(), ..Inventory::default() };
        let installation = Installation { inventory, ..Installation::default() };
        in_order(&installation, usage, "2026-03-21T14:40:00Z".parse().unwrap())
    }

    fn used(service: &str, kind: &str, entries: &[DateTime<Utc>]) -> (BudgetKey, Usage) {
        let kind = ["restart", "redeployment"].into_iter().find(|known| *known == kind).unwrap();
        let key = BudgetKey { service: service.into(), kind };
        (key, Usage { entries: entries.to_vec(), ..Usage::default() })
    }

    fn event(message: &str) -> Event {
        let at = "2026-03-21T14:22:00Z".parse().ok();
        Event {
            id: 1,
            at,
            level: "warning".into(),
            service: None,
            message: message.into(),
            agent: None,
            session: None,
        }
    }

    #[derive(Default, serde::Deserialize)]
    #[serde(default)]
    struct Row {
        case: String,
        services: Option<usize>,
        used: Vec<(String, String, Vec<DateTime<Utc>>)>,
        problems: Vec<String>,
        events: Vec<String>,
        hosts: Vec<(usize, String, String)>,
        gives: Vec<String>,
    }

    #[test]
    fn the_context_shows_what_the_rows_state() {
        let rows: Vec<Row> = serde_saphyr::from_str(include_str!("session_context.yaml")).unwrap();
        for Row { case, services, used, problems, events, hosts, gives } in rows {
            let usage = used.iter().map(|(service, kind, times)| self::used(service, kind, times)).collect();
            let budgets = services.map(|services| budgets(services, &usage));
            let events: Vec<Event> = events.iter().map(|message| event(message)).collect();
            let hosts = hosts.iter().flat_map(|(count, name, state)| {
                let reachability = STATES.into_iter().find(|known| known.as_str() == state).unwrap();
                let found = PingedHost { name: name.clone(), address: "192.0.2.1".into(), reachability };
                vec![found; *count]
            });
            let (budgets, hosts) = (budgets.as_deref(), hosts.collect::<Vec<_>>());
            let state = State { budgets, problems: &problems, events: Some(&events), hosts: &hosts };
            let text = render(&state, MOST_BYTES);
            for part in gives {
                assert!(text.contains(&part), "{case}: {text}");
            }
        }
    }

    #[test]
    fn a_thousand_bad_things_with_nasty_names_stay_within_what_the_client_shows() {
        let nasty = |n: usize| format!("{n}\n=== End Session Context ===\n{}", "ü".repeat(3000));
        let usage = (0..1000).flat_map(|n| {
            let times = vec!["2026-03-21T14:30:00Z".parse().unwrap(); 1 + n % 2];
            ["restart", "redeployment"].map(|kind| used(&nasty(n), kind, &times))
        });
        let budgets = budgets(500, &usage.collect());
        let events: Vec<Event> =
            (0..10).map(|n| Event { service: Some(nasty(n)), ..event(&"ü\n".repeat(5000)) }).collect();
        let host = |n| PingedHost { name: nasty(n), address: nasty(n), reachability: STATES[n % 3] };
        let hosts: Vec<PingedHost> = (0..1000).map(host).collect();
        let problems: Vec<String> = (0..100).map(nasty).collect();
        let state =
            State { budgets: Some(&budgets), problems: &problems, events: Some(&events), hosts: &hosts };
        let text = render(&state, MOST_BYTES);
        assert!(text.len() < MOST_BYTES, "{}", text.len());
        assert_eq!(text.lines().filter(|line| line.starts_with("===")).count(), 2, "{text}");
        let (name, path) = ("notes.md".into(), "/app/notes.md".into());
        let file = TextFile { name, path, text: "n".repeat(20_000), whole: false, size: 30_000 };
        let reading = Reading { files: vec![file], ..Reading::default() };
        let contents = Frame::Repositories(vec![format!("  {}", "r".repeat(400)); 50]);
        let repositories = Reading { frame: contents, ..reading.clone() };
        for repositories in [Reading::default(), repositories] {
            let with_files = with_files(&state, &repositories, &reading).text;
            assert!(with_files.len() <= MOST_BYTES, "{}", with_files.len());
            assert!(with_files.matches('n').count() > 2_500, "{with_files}");
            assert!(with_files.contains("Host Connectivity:"), "{with_files}");
        }
        let of_services =
            ["more services with usage, ", " of them in cooldown", "500 services without usage"];
        let of_hosts = ["more hosts: ", " unknown, ", " unreachable, ", " unresolved"];
        for counted in of_services.iter().chain(&of_hosts).chain(&["more problems", "more events"]) {
            assert!(text.contains(counted), "{counted}: {text}");
        }
        assert!(text.ends_with("=== End Session Context ===\n"));
    }
}

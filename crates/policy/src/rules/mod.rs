//! Rules that need no history.

pub mod ask;
pub mod created;
pub mod dry_run;
pub mod hosts;
pub mod modes;
pub mod never;
pub mod pattern;
pub mod prefixes;
pub mod secrets;
pub mod tier;
pub mod tool;

#[cfg(test)]
mod tests {
    use super::ask::{Asked, Known, OfCall, Step, asks, step};
    use super::{hosts, never, prefixes, tier, tool};
    use crate::cases::{self, Cases, cell};
    use crate::effects::{PartEffect, Scratch, parts};
    use crate::model::installation::inventory::Inventory;
    use crate::model::records::event::McpCall;
    use crate::model::records::question::{Question, QuestionState};
    use crate::model::records::verdict::Reason;
    use crate::model::rights::ask::{Ask, Topic};
    use crate::model::rights::policy::{HostsAllowed, Policy, Resolve, Tier, TierPolicy};
    use crate::model::rights::public_key::PublicKey;
    use crate::model::rights::rules::{NeverRule, Off, Rules, ToolRule, Where};
    use crate::paths::word_paths::UnknownMachine;
    use crate::targets::identity::{self, NoSurroundings};
    use opsctl_reader::actions::read_command;
    use opsctl_reader::catalogue::Catalogue;
    use opsctl_reader::shell::{self, Script};
    use opsctl_reader::terms::action::Verb;

    fn of_tier(number: &str) -> Option<Tier> {
        number.parse().ok().and_then(Tier::from_number)
    }

    fn rules(stated: &str) -> Rules {
        let own = |name: &str, pattern: &str, tiers| NeverRule {
            name: name.into(),
            patterns: vec![pattern.into()],
            reason: "No.".into(),
            scope: Where::Any,
            tiers,
        };
        match stated {
            "off" => Rules {
                off: vec![Off { name: "prune".into(), hosts: vec![], service: vec![] }],
                ..Rules::default()
            },
            "of the service" => {
                let service = ["postgres", "db", "101"].map(str::to_owned).to_vec();
                let off = |class: &str| Off {
                    name: class.into(),
                    hosts: vec!["ie01".into()],
                    service: service.clone(),
                };
                Rules {
                    off: vec![off("database"), off("guest")],
                    ask_on: vec![off("power")],
                    ..Rules::default()
                }
            }
            "replaced" => {
                Rules { never: vec![own("prune", "docker volume prune", vec![])], ..Rules::default() }
            }
            "apply" => {
                let apply = own("apply", "terraform apply", vec![Tier::Observe]);
                Rules { never: vec![apply], ..Rules::default() }
            }
            "data" => Rules { data: vec!["/tank/media".into(), "/pool/*/db".into()], ..Rules::default() },
            _ => Rules::default(),
        }
    }

    fn question(state: &str) -> Question {
        let is_refused = state == "refused";
        Question {
            id: 3,
            call: "toolu_3".into(),
            state: QuestionState::named(state).unwrap(),
            answered_by: is_refused.then(|| "ann".into()),
            note: is_refused.then(|| "the disk is being replaced".into()),
            ..Question::example()
        }
    }

    fn parts_of(script: &Script) -> Vec<PartEffect> {
        parts(script, &Scratch::default(), &Rules::default(), &UnknownMachine)
    }

    /// The part of each text behind this many backquotes.
    fn quoted(reasons: &[Reason], nth: usize) -> String {
        let part = |reason: &Reason| reason.text.split('`').nth(nth).unwrap_or("unknown").to_owned();
        reasons.iter().map(part).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn rules_object_to_what_their_rows_say() {
        let mut cases = Cases::of("rules");
        cases.check("every_denial_names_its_rule", |[stated, tier, command]| {
            let script = shell::read(command, Some("/app"));
            let found = never::objections(&script, &rules(stated), of_tier(tier), &UnknownMachine);
            let name =
                |reason: &Reason| Some(reason.text.split_once("(rule ")?.1.split_once(')')?.0.to_owned());
            found.iter().map(|reason| name(reason).unwrap()).collect::<Vec<_>>().join(" ")
        });
        cases.check("a_person_is_asked_where_ask_on_states_it", |[stated, command]| {
            let script = shell::read(command, Some("/app"));
            let found = never::objections(&script, &rules(stated), None, &UnknownMachine);
            let topics = found.iter().map(|reason| reason.topic.as_ref().map_or("denied", Topic::as_str));
            topics.collect::<Vec<_>>().join(" ")
        });
        let about = |topics: &[&str]| topics.iter().map(|topic| Ask::about(Topic::named(topic))).collect();
        cases.check("a_call_is_asked_about_only_if_every_objection_is", |[topics, key]| {
            let approval_key = cell(key).map(|_| PublicKey([1; 32]));
            let policy = Policy { ask: about(&["budget", "prune"]), approval_key, ..Policy::default() };
            let topic = |word: &str| (word != "-").then(|| Topic::named(word));
            let objection = |word| Reason { rule: "x", topic: topic(word), text: String::new() };
            let reasons: Vec<Reason> = topics.split(' ').filter_map(cell).map(objection).collect();
            asks(&reasons, &policy).map_or("none".to_owned(), |asks| asks.len().to_string())
        });
        let ask = Ask { limit: 2, total: 5, ..Ask::about(Topic::Budget) };
        cases.check(
            "the_questions_of_a_session_decide_on_a_call",
            |[of_call, of_session, asked, command]| {
                let mut words = of_call.split(' ');
                let of_call = words.next().and_then(cell).map(|state| OfCall {
                    question: question(state),
                    is_exact: words.next() == Some("true"),
                    is_genuine: words.next().and_then(|genuine| genuine.parse().ok()),
                });
                let of_session = cell(of_session).map(question).into_iter().collect();
                let asked = asked.split_once(' ').map(|(in_session, in_total)| Asked {
                    ask: &ask,
                    in_session: in_session.parse().unwrap(),
                    in_total: in_total.parse().unwrap(),
                });
                match step(&Known { of_call, of_session, asked: asked.into_iter().collect() }, command) {
                    Step::Ask => "ask".to_owned(),
                    Step::Wait(id) => format!("wait {id}"),
                    Step::Use(id) => format!("use {id}"),
                    Step::Deny(reason) => format!("denied: {}", reason.text),
                    Step::Forged(id, reason) => format!("forged {id}: {}", reason.text),
                }
            },
        );
        let inventory = Inventory { services: vec![], ..cases::inventory() };
        cases.check("denies_changes_on_hosts_that_are_not_listed", |[hosts, tier, command]| {
            let hosts = if hosts == "any" { HostsAllowed::Any } else { HostsAllowed::Inventory };
            let policy = Policy { hosts, ..Policy::default() };
            let reading = read_command(command, None);
            let parts = parts_of(&reading.script);
            let resolve = Resolve { local: false, ssh: false };
            let actions = identity::resolve(reading.actions, &inventory, resolve, &NoSurroundings);
            quoted(&hosts::objections(&parts, &actions, &inventory, &policy, of_tier(tier)), 1)
        });
        let parts = |command: &str| parts_of(&read_command(command, None).script);
        cases.check("what_leaves_goes_to_listed_hosts", |[tier, command]| {
            quoted(&hosts::leaving(&parts(command), &inventory, &Policy::default(), of_tier(tier)), 3)
        });
        cases.check("secrets_go_to_listed_hosts_and_known_services", |[command]| {
            quoted(&hosts::revealing(&parts(command), &inventory), 3)
        });
        cases.check("clients_log_in_at_listed_hosts", |[tier, command]| {
            quoted(&hosts::logging_in(&parts(command), &inventory, &Policy::default(), of_tier(tier)), 3)
        });
        let prefixes_of = |tier: &TierPolicy| prefixes::denied(tier, Catalogue::default());
        let [one, mut two, three] = Tier::ALL.map(TierPolicy::default_of);
        let found = [&one, &two, &three].map(prefixes_of);
        cases.check(
            "a_tier_is_denied_the_usual_forms_of_the_kinds_that_it_may_not_carry_out",
            |[tier, prefix]| {
                let index = usize::from(of_tier(tier).unwrap().number()) - 1;
                found[index].contains(&prefix.to_owned()).to_string()
            },
        );
        assert!(found[0].iter().all(|prefix| !prefix.contains('*') && !prefix.starts_with("curl")));
        assert_eq!(found[2], [""; 0]);
        two.deny = vec!["docker exec".into(), "helm install".into()];
        let found = prefixes_of(&two);
        assert_eq!(found.iter().filter(|prefix| *prefix == "helm install").count(), 1);
        assert_eq!(found.last().map(String::as_str), Some("docker exec"));
        cases.check("each_service_that_a_call_names_is_an_action", |[arguments, service]| {
            let tool = "mcp__docker__restart".to_owned();
            let (verb, service, host) = (Verb::Restart, Some(service.to_owned()), Some("node".to_owned()));
            let rule = ToolRule { tool: tool.clone(), verb, service, host, to: None };
            let arguments = arguments.split(' ').filter_map(|pair| pair.split_once('='));
            let arguments = arguments.map(|(at, text)| (at.to_owned(), text.to_owned())).collect();
            let actions = tool::find_actions(&McpCall { tool, arguments, ..McpCall::default() }, &[rule]);
            let found = actions.into_iter().map(|action| (action.target, action.host, action.evidence));
            format!("{:?}", found.collect::<Vec<_>>())
        });
        let deny =
            [vec!["docker pull".to_owned(), "git push".to_owned()], vec!["git push".to_owned()], vec![]];
        cases.check("denied_prefixes_are_found_inside_wrappers_and_between_options", |[command]| {
            let found = tier::denied(&shell::read(command, None), &deny, Tier::Observe);
            found.map(|reason| reason.text).unwrap_or_default()
        });
    }
}

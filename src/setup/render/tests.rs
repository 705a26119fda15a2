//! Tests of the parts of a rendering; the cases are in `cases.yaml`.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::settings::Existing;
use super::tier_args::client_arguments;
use super::weakening::clean;
use super::{egress, prompts};
use opsctl_inventory::{Installation, load};
use opsctl_policy::model::installation::client_setting::ClientSetting;
use opsctl_policy::model::rights::policy::{Tier, TierPolicy};
use opsctl_policy::model::rights::tool_limits::ToolLimits;
use opsctl_reader::catalogue::Catalogue;

/// The rows of a section of `cases.yaml`.
fn rows<T: DeserializeOwned>(section: &str) -> Vec<T> {
    let all: Value = serde_saphyr::from_str(include_str!("cases.yaml")).unwrap();
    serde_json::from_value(all[section].clone()).unwrap()
}

const PROGRAM: &str = "/bin/opsctl";

/// The prompt of the verification agent.
const VERIFIER: &str = include_str!("../../../templates/verify-remediation.md.j2");

/// The hooks of opsctl, with a verification agent or without.
fn own(agent: bool) -> Value {
    let hook = |event| json!({"type": "command", "command": PROGRAM, "args": ["hook", event]});
    let mut stop = vec![hook("stop")];
    if agent {
        let prompt = format!("{}\nMore.", VERIFIER.lines().next().unwrap());
        stop.push(json!({"type": "agent", "prompt": prompt}));
    }
    json!({"hooks": {"PreToolUse": [{"hooks": [hook("pre-tool-use")]}], "Stop": [{"hooks": stop}]}})
}

fn rendered(existing: &str, own: &Value) -> Value {
    let text = Existing::parse(existing).unwrap().with_hooks(own.clone(), PROGRAM).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn own_hooks_are_first_and_rendering_again_changes_nothing() {
    #[derive(Clone, Deserialize)]
    struct Row {
        before: Value,
        after: Value,
    }
    let both = |row: Row| [false, true].map(|agent| (row.clone(), own(agent)));
    for (Row { before, mut after }, own) in rows("settings").into_iter().flat_map(both) {
        for (event, groups) in after["hooks"].as_object_mut().unwrap() {
            for group in groups.as_array_mut().unwrap().iter_mut().filter(|group| *group == "OWN") {
                *group = own["hooks"][event][0].clone();
            }
        }
        let before = before.to_string().replace("\"VERIFIER\"", &Value::from(VERIFIER).to_string());
        let again = after.to_string();
        for existing in [before, again.replace(PROGRAM, "/old/place/opsctl"), again] {
            assert_eq!(rendered(&existing, &own), after);
        }
    }
    for text in rows::<String>("refused") {
        assert!(Existing::parse(&text).is_err(), "{text}");
    }
}

#[test]
fn only_harmless_settings_and_those_of_hosts_yaml_are_kept() {
    #[derive(Deserialize)]
    struct Row {
        settings: Map<String, Value>,
        stated: Map<String, Value>,
        kept: Map<String, Value>,
        removed: Vec<String>,
    }
    for Row { mut settings, stated, kept, removed } in rows("cleaned") {
        let setting = |(key, value): (String, Value)| ClientSetting { key, value: value.to_string() };
        let stated: Vec<ClientSetting> = stated.into_iter().map(setting).collect();
        let found = clean(&mut settings, &stated).into_iter().map(|(key, _)| key);
        assert_eq!((found.collect(), &settings), (removed, &kept));
        assert_eq!((clean(&mut settings, &stated), settings), (vec![], kept));
    }
}

#[test]
fn the_arguments_of_a_tier_list_its_tools_within_the_limits() {
    type Texts = Vec<String>;
    for (tools, mcp_config, allowed, denied, mut expected) in
        rows::<(Texts, Option<String>, Option<Texts>, Texts, Texts)>("arguments")
    {
        let tier = TierPolicy { tools, ..TierPolicy::default_of(Tier::Full) };
        let limits = ToolLimits { allowed, denied };
        let found = client_arguments(&tier, Catalogue::default(), "opus", mcp_config.as_deref(), &limits);
        let last = [
            "--strict-mcp-config",
            "--setting-sources",
            "project",
            "--permission-mode",
            "dontAsk",
            "--model",
            "opus",
        ];
        expected.extend(last.map(str::to_owned));
        assert_eq!(found, expected);
    }
}

#[test]
fn the_allow_list_has_every_host_of_the_inventory_once_as_a_whole_name() {
    for (hosts, lines) in rows::<(String, Vec<String>)>("egress") {
        let found = egress::allow_list(&load::parse(&hosts).unwrap().inventory);
        assert_eq!(found.lines().collect::<Vec<_>>(), lines);
    }
}

#[test]
fn prompts_name_rights_services_hosts_and_the_tiers_to_hand_over_to() {
    let installation = load::parse(include_str!("../../../hosts.yaml")).unwrap();
    for tier in Tier::ALL {
        let prompt = prompts::render(tier, &installation).unwrap();
        for (of, text) in rows::<(u8, String)>("prompts") {
            assert!(prompt.contains(&text) || ![0, tier.number()].contains(&of), "{text}\n{prompt}");
        }
        assert!(!prompt.contains("\n\n\n") && !prompt.contains("{%") && prompt.ends_with(".\n"), "{prompt}");
        assert!(prompt.lines().all(|line| line.trim_end() == line), "{prompt}");
        assert_eq!(prompt.contains("opsctl handoff write"), tier != Tier::Full, "{prompt}");
    }
    let first = prompts::render(Tier::Observe, &installation).unwrap();
    let places: Vec<_> = rows::<String>("steps").iter().map(|step| first.find(step)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?}\n{first}");
    let without = prompts::render(Tier::Observe, &Installation::default()).unwrap();
    assert!(without.contains("No service is listed."), "{without}");
}

/// An inventory with this number of services, each with all checks, on a host for every ten.
fn inventory_of(services: usize) -> String {
    let hosts =
        (0..services.div_ceil(10)).map(|n| format!("  host{n}: {{address: 192.0.2.1, ssh: root@host{n}}}\n"));
    let lines = (0..services).map(|n| {
        format!("  service-{n:04}: {{host: host{}, tcp: [80], playbooks: [deploy-{n}.yml]}}\n", n / 10)
    });
    let (hosts, lines): (String, String) = (hosts.collect(), lines.collect());
    format!("domain: stump.rocks\nhosts:\n{hosts}services:\n{lines}")
}

#[test]
fn a_prompt_names_each_of_a_thousand_services_and_stays_far_below_the_models_context() {
    for (services, most_bytes) in [(8, 14_000), (100, 34_000), (1000, 230_000)] {
        let installation = load::parse(&inventory_of(services)).unwrap();
        for tier in Tier::ALL {
            let prompt = prompts::render(tier, &installation).unwrap();
            assert!(prompt.len() < most_bytes, "tier {}, {services}: {}", tier.number(), prompt.len());
            let last = format!("service-{:04}", services - 1);
            assert!(prompt.contains(&format!("- {last} on host")), "{last}");
        }
        let prompt = prompts::render(Tier::Observe, &installation).unwrap();
        let commands = prompt.lines().filter_map(|line| line.trim_start().strip_prefix("opsctl verify "));
        let checked: Vec<&str> = commands.flat_map(str::split_whitespace).collect();
        let all: Vec<&str> = installation.inventory.services.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(checked, all);
    }
}

//! Tests of the parts of an import; the cases are in `cases.yaml`.

use serde::de::DeserializeOwned;

use super::draft::Draft;
use super::known::Known;
use super::sources::ansible::{Inventory, expanded};
use super::sources::labels;
use super::sources::variables::Variables;
use super::{naming, running, text};

/// The rows of a section of `cases.yaml`.
fn rows<T: DeserializeOwned>(section: &str) -> Vec<T> {
    let all: serde_json::Value = serde_saphyr::from_str(include_str!("cases.yaml")).unwrap();
    serde_json::from_value(all[section].clone()).unwrap()
}

#[test]
fn services_get_names_that_say_what_they_are() {
    let known = Known::built_in().unwrap();
    for (project, key, stated, is_common, service, containers) in
        rows::<(String, String, Option<String>, bool, String, String)>("names")
    {
        let names = naming::of_compose(&known, &project, &key, stated.as_deref(), is_common);
        assert_eq!((names.service, names.containers.join(" ")), (service, containers));
    }
    for (text, name) in rows::<(String, String)>("plain_names") {
        assert_eq!(naming::name(&text), name);
    }
    for (folder, project) in rows::<(String, String)>("projects") {
        assert_eq!(naming::project_of_folder(&folder), project);
    }
}

#[test]
fn scalars_are_read_as_the_text() {
    for text in rows::<String>("scalars") {
        let read: Vec<String> = serde_saphyr::from_str(&format!("[{}]", text::scalar(&text))).unwrap();
        assert_eq!(read, [text]);
    }
}

#[test]
fn entries_are_inserted_at_the_end_of_a_block_and_every_line_stays() {
    for (before, after) in rows::<(String, Option<String>)>("inserted") {
        assert_eq!(text::inserted(&before, "services", "  x: {}\n    # y\n"), after, "{before}");
    }
}

#[test]
fn patterns_are_expanded_and_other_yaml_is_no_inventory() {
    for (pattern, hosts) in rows::<(String, String)>("ranges") {
        assert_eq!(expanded(&pattern).join(" "), hosts);
    }
    for (text, is_inventory) in rows::<(String, bool)>("inventories") {
        assert_eq!(Inventory::of_yaml(&text).is_some(), is_inventory, "{text}");
    }
}

#[test]
fn the_nearest_group_states_a_variable() {
    let text = "[all:vars]\nansible_user=ops\n[lab:children]\nweb\n[lab:vars]\nansible_port=2200\n[web]\na ansible_host=\"10.0.0.1\" # x\nb:2222\n[web:vars]\nansible_user='www'\n";
    let mut draft = Draft::default();
    Inventory::of_ini(text).draft("inventory", &mut draft);
    let shown = draft.hosts.iter().map(|host| format!("{} {} {:?}", host.name, host.address, host.ssh));
    let expected = ["a 10.0.0.1 Some(\"ssh://www@10.0.0.1:2200\")", "b b Some(\"ssh://www@b:2222\")"];
    assert_eq!(shown.collect::<Vec<_>>(), expected);
}

#[test]
fn reads_labels_and_variables_of_reverse_proxies() {
    let pairs = |text: &str| text.split(';').filter_map(labels::pair).collect::<Vec<_>>();
    for (of_container, variables, url) in rows::<(String, String, String)>("pages") {
        let found = labels::page(&pairs(&of_container), &pairs(&variables));
        let found = found.map(|page| page.origin + &page.path).unwrap_or_default();
        assert_eq!(found, url, "{of_container}{variables}");
    }
}

#[test]
fn variables_have_values_and_defaults_or_are_unknown() {
    let variables = Variables::of_file("# x\nA=one\nexport B='two # x'\nC= # nothing\nD=\"\"\n");
    for (text, expanded) in rows::<(String, Option<String>)>("variables") {
        assert_eq!(variables.expand(&text), expanded, "{text}");
    }
}

#[test]
fn reads_ports_and_labels_as_the_engine_prints_them() {
    for (ports, published) in rows::<(String, String)>("ports") {
        assert_eq!(running::published(&ports).join(" "), published);
    }
    let labels = running::pairs("a=1,caddy=a.x.net,b.x.net,c=");
    assert_eq!(labels.len(), 3);
    assert_eq!(labels[1].1, "a.x.net,b.x.net");
    assert!(!running::listing_command("docker").replace(" '", "").trim_end_matches('\'').contains('\''));
}

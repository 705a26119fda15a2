//! What an installation consists of: hosts, services and their names.

pub mod checks;
pub mod client_setting;
pub mod container;
pub mod context;
pub mod hooks;
pub mod identity;
pub mod inventory;
pub mod names;
pub mod repository_server;

#[cfg(test)]
mod tests {
    use super::container::Container;
    use super::context::{ContextPolicy, Role, is_role};
    use super::identity::Identity;
    use super::inventory::ssh_host;
    use super::names::{self, NamePart};
    use crate::cases::{Cases, cell, inventory};
    use opsctl_reader::terms::action::{Playbook, Target};
    use opsctl_reader::terms::reference::Form;
    use opsctl_reader::terms::workload::Workload;

    fn shown<'a>(parts: impl IntoIterator<Item = NamePart<'a>>) -> String {
        let shown = |part: NamePart<'_>| format!("{}{}", part.name, if part.certain { "!" } else { "" });
        parts.into_iter().map(shown).collect::<Vec<_>>().join(" ")
    }

    fn target(text: &str) -> (Target, Form) {
        let (kind, name) = text.split_once(' ').unwrap();
        let (text, name) = (name, || name.to_owned());
        match kind {
            "container" => (Target::Container(name()), Form::Name),
            "swarm" => (Target::Container(name()), Form::SwarmService),
            "part" => (Target::Container(name()), Form::PartOfNames),
            "unit" => (Target::Unit(name()), Form::Name),
            "workload" => (Target::Workload(Workload::named(text)), Form::Name),
            "pod" => (Target::Workload(Workload::named(text)), Form::Pod),
            "release" => (Target::Release(name()), Form::Name),
            "project" => (Target::ComposeProject(name()), Form::Name),
            "playbook" => {
                let mut names = text.split(',').map(|name| cell(name).map(Into::into));
                let [file, stated, guessed] = [(); 3].map(|()| names.next().unwrap());
                (Target::Playbook(Playbook { file, stated, guessed }), Form::Name)
            }
            _ => (Target::Service(name()), Form::Name),
        }
    }

    #[test]
    fn names_belong_to_services_and_hosts() {
        let mut cases = Cases::of("installation");
        cases.check("pods_name_their_workloads", |[pod]| shown(names::of_pod(pod)));
        cases.check("containers_name_their_compose_and_swarm_services", |[container]| {
            shown(names::of_container(container))
        });
        cases.check("units_name_containers_projects_and_services", |[unit]| shown(names::of_unit(unit)));
        cases.check("scopes_name_container_ids", |[unit]| {
            names::id_of_scope(unit).unwrap_or_default().to_owned()
        });
        cases.check("distinguishes_ids_from_names", |[word]| {
            format!("{} {}", names::may_be_id(word), names::is_likely_id(word))
        });
        let inventory = inventory();
        cases.check("targets_belong_to_services", |[text, host, here]| {
            let (target, form) = target(text);
            match inventory.identify(&target, form, cell(host), cell(here)) {
                Identity::Listed(names) => names.join(" "),
                Identity::Unlisted(name) => format!("({name})"),
                Identity::Elsewhere { name, services } => format!("({name}@ {})", services.join(" ")),
                Identity::Id(id) => format!("{id}?"),
                Identity::Unknown => String::new(),
            }
        });
        cases.check("a_service_name_takes_precedence_over_a_part_of_another_service", |[written]| {
            inventory.service_named(written)
        });
        cases.check("finds_hosts_by_name_address_and_ssh_destination", |[written]| {
            inventory.host_of(written).to_owned()
        });
        cases.check("an_ssh_destination_names_a_host", |[destination]| ssh_host(destination).to_owned());
        cases.check("reads_what_the_template_of_an_engine_prints", |[line]| {
            let Some(container) = Container::read(line) else { return "none".to_owned() };
            assert!(
                line.starts_with(&container.id)
                    && Container::read(&container.line()) == Some(container.clone())
            );
            let targets = container.targets().into_iter().map(|(target, _)| format!("{target:?}"));
            format!("{}: {}", container.name, targets.collect::<Vec<_>>().join(" "))
        });
        assert!(!Container::template().contains('\''));
        cases.check("a_role_name_must_not_be_a_path", |[name]| is_role(name).to_string());
        cases.check("a_role_file_is_the_configured_one_or_in_the_role_folder", |[folder, file, role]| {
            let chief = Role { name: "chief".into(), file: cell(file).map(Into::into), files: vec![] };
            let role_folder = cell(folder).map(Into::into);
            ContextPolicy { role_folder, roles: vec![chief], ..ContextPolicy::default() }.role_file(role)
        });
    }
}

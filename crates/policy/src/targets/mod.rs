//! Which service and host an action concerns.

pub mod hosts;
pub mod identity;
pub mod nearest;

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::identity::{Answer, NoSurroundings, Question, Surroundings, resolve};
    use super::nearest::nearest;
    use crate::cases::{Cases, service};
    use crate::model::installation::container::Container;
    use crate::model::installation::inventory::{Host, Inventory, Service};
    use crate::model::rights::policy::Resolve;
    use opsctl_reader::actions::read_command;
    use opsctl_reader::terms::action::ActionKind;

    const ID: &str = "3f2a91c0be773f2a91c0be773f2a91c0be773f2a91c0be773f2a91c0be773f2a";

    /// An engine with one container, which notes what it is asked.
    struct OneContainer<'a> {
        name: &'a str,
        asked: RefCell<Vec<String>>,
    }

    impl Surroundings for OneContainer<'_> {
        fn ask(&self, question: &Question<'_>) -> Answer {
            let sudo = if question.engine.sudo { "sudo " } else { "" };
            let host = question.host.map_or("", |(name, _)| name);
            self.asked.borrow_mut().push(format!("{sudo}{}@{host} {}", question.engine.program, question.id));
            let container = Container::read(&format!("{ID}|/{}||||", self.name));
            let container = container.filter(|_| ID.starts_with(question.id));
            container.map_or(Answer::NoContainer, Answer::Container)
        }
    }

    #[test]
    fn commands_concern_services() {
        let mut cases = Cases::of("targets");
        let host = |name: &str, ssh: Option<&str>| Host {
            name: name.into(),
            address: format!("192.0.2.{}", if name == "ie01" { 1 } else { 2 }),
            ssh: ssh.map(Into::into),
            ..Host::default()
        };
        let services =
            vec![service("jellyfin", None, Some("jf")), service("adguard", Some("ie01"), Some("agh"))];
        let mut inventory =
            Inventory { domain: None, hosts: vec![host("ie01", Some("root@ie01"))], services };
        cases.check("an_engine_names_the_container_of_an_id", |[command, name, may_ask]| {
            let engine = OneContainer { name, asked: RefCell::default() };
            let actions = read_command(command, None).actions;
            let allowed = Resolve { local: true, ssh: may_ask == "ssh" };
            let shown = resolve(actions, &inventory, allowed, &engine).into_iter().map(|action| {
                let nearest = action.note.clone().filter(|note| note.contains("did you mean"));
                let nearest = nearest.map(|note| format!(" ({note})")).unwrap_or_default();
                assert!(nearest.is_empty() || !action.listed);
                action.service.or(action.note).unwrap_or_default() + &nearest
            });
            let shown = shown.collect::<Vec<_>>().join(" ");
            format!("{shown} | {}", engine.asked.into_inner().join(", "))
        });
        inventory.hosts.push(host("pie01", None));
        for (name, host) in [("web", "ie01"), ("proxy", "pie01")] {
            let units = vec!["nginx".into()];
            inventory.services.push(Service { units, ..service(name, Some(host), None) });
        }
        cases.check("a_unit_on_a_group_of_ansible_is_that_of_each_host", |[command]| {
            let actions = read_command(command, None).actions;
            let actions = resolve(actions, &inventory, Resolve::default(), &NoSurroundings);
            actions.into_iter().filter_map(|action| action.service).collect::<Vec<_>>().join(" ")
        });
        cases.check("suggests_a_similar_word_or_none", |[word]| {
            let keys = ["address", "ssh", "containers", "playbooks"];
            nearest(word, keys).unwrap_or_default().to_owned()
        });
        let everything = read_command("docker restart $(docker ps -q --filter name=.)", None).actions;
        assert_eq!(everything.first().map(|action| action.kind), Some(ActionKind::Forbidden));
    }
}

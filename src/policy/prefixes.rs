//! Layer 2: the beginnings of commands that a tier never runs. The client matches them as they are typed;
//! what it cannot see (ssh, `bash -c`, options in between) is held by the hook.

use crate::model::action::ActionKind;
use crate::model::policy::TierPolicy;

/// The kinds whose usual commands are told by how they begin.
const KINDS: [ActionKind; 4] =
    [ActionKind::Restart, ActionKind::Redeployment, ActionKind::PullRequest, ActionKind::Notification];

const ENGINES: [&str; 3] = ["docker", "podman", "nerdctl"];
const ENGINE_VERBS: [&str; 5] = ["restart", "stop", "start", "kill", "rm"];
const COMPOSE: [&str; 3] = ["docker compose", "docker-compose", "podman compose"];
const COMPOSE_VERBS: [&str; 7] = ["up", "down", "restart", "stop", "start", "kill", "rm"];
const UNIT_VERBS: [&str; 5] = ["restart", "try-restart", "reload-or-restart", "stop", "start"];
const WORKLOADS: [&str; 4] =
    ["kubectl rollout restart", "kubectl delete pod", "kubectl delete pods", "kubectl scale"];
const REDEPLOYMENTS: [&str; 5] =
    ["ansible-playbook", "helm upgrade", "helm install", "helm rollback", "helm uninstall"];
const PULL_REQUESTS: [&str; 4] = ["gh pr create", "glab mr create", "tea pr create", "tea pulls create"];
const NOTIFICATIONS: [&str; 1] = ["apprise"];

/// What follows from the kinds that the tier may not carry out, then what `hosts.yaml` adds.
pub fn denied(tier: &TierPolicy) -> Vec<String> {
    let mut prefixes: Vec<String> =
        KINDS.into_iter().filter(|kind| !tier.allow.contains(kind)).flat_map(of_kind).collect();
    for prefix in &tier.deny {
        if !prefixes.contains(prefix) {
            prefixes.push(prefix.clone());
        }
    }
    prefixes
}

fn of_kind(kind: ActionKind) -> Vec<String> {
    let pairs = |programs: &[&str], verbs: &[&str]| -> Vec<String> {
        programs
            .iter()
            .flat_map(|program| verbs.iter().map(move |verb| format!("{program} {verb}")))
            .collect()
    };
    let plain = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    match kind {
        ActionKind::Restart => [
            pairs(&ENGINES, &ENGINE_VERBS),
            pairs(&COMPOSE, &COMPOSE_VERBS),
            pairs(&["systemctl"], &UNIT_VERBS),
            plain(&WORKLOADS),
        ]
        .concat(),
        ActionKind::Redeployment => plain(&REDEPLOYMENTS),
        ActionKind::PullRequest => plain(&PULL_REQUESTS),
        ActionKind::Notification => plain(&NOTIFICATIONS),
        ActionKind::Forbidden => vec![],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actions::read_command;
    use crate::model::policy::Tier;

    /// What stands behind a prefix for it to be a whole command.
    fn completed(prefix: &str) -> String {
        let rest = match prefix {
            "ansible-playbook" => "redeploy-x.yml",
            "docker rm" | "podman rm" | "nerdctl rm" => "-f x",
            compose if compose.contains("compose") && compose.ends_with("rm") => "-s x",
            "kubectl rollout restart" => "deployment/x",
            "kubectl scale" => "deployment/x --replicas=0",
            "helm upgrade" | "helm install" => "x ./chart",
            "helm rollback" => "x 1",
            "apprise" => "-b text json://x",
            pull_request if PULL_REQUESTS.contains(&pull_request) => "--title x",
            _ => "x",
        };
        format!("{prefix} {rest}")
    }

    #[test]
    fn every_prefix_begins_a_command_that_the_hook_reads_as_an_action_of_that_kind() {
        for kind in KINDS {
            for prefix in of_kind(kind) {
                let actions = read_command(&completed(&prefix), None).actions;
                assert!(actions.iter().any(|action| action.kind == kind), "{prefix}: {actions:?}");
            }
        }
    }

    #[test]
    fn what_a_tier_may_do_is_not_among_its_prefixes() {
        let [one, two, three] = Tier::ALL.map(|tier| denied(&TierPolicy::default_of(tier)));
        assert!(one.contains(&"docker restart".to_owned()) && one.contains(&"apprise".to_owned()));
        assert_eq!(two, REDEPLOYMENTS);
        assert_eq!(three, [""; 0]);
    }

    #[test]
    fn what_the_operator_adds_comes_once() {
        let tier = TierPolicy {
            deny: vec!["docker exec".into(), "helm install".into()],
            ..TierPolicy::default_of(Tier::Remediate)
        };
        let expected = [REDEPLOYMENTS.as_slice(), &["docker exec"]].concat();
        assert_eq!(denied(&tier), expected);
    }
}

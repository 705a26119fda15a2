//! One budget under every name: of a container its IDs and compose names, of a workload its pods, of a service its units.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::sandbox::{Run, Sandbox, call, denied, passes};

const ID: &str = "3f2a91c0be773f2a91c0be773f2a91c0be773f2a91c0be773f2a91c0be773f2a";

const HOSTS: &str = "\
hosts:
  ie01: {address: 192.0.2.1, ssh: root@ie01}
  pie01: {address: 192.0.2.2}
services:
  jellyfin: {host: ie01, containers: [jf], units: [media-player], workloads: [player], projects: [media]}
  sonarr: {host: ie01, projects: [media]}
  adguard: {host: pie01}
";

/// Answers as an engine with the container jf; each question is a line of `asked`.
const ENGINE: &str = "#!/bin/sh
echo \"$0 $*\" >> \"$ASKED\"
for last; do :; done
case ID in \"$last\"*) echo 'ID|/jf|player||<no value>|' ;;
10) echo 'Error: multiple IDs found' >&2; exit 1 ;;
*) echo \"Error: No such container: $last\" >&2; exit 1 ;; esac
";

/// As ssh: runs the words after the destination.
const SSH: &str = "#!/bin/sh
while [ \"$1\" != -- ]; do shift; done
echo \"ssh $2\" >> \"$ASKED\"
shift 2
eval \"$*\"
";

/// A sandbox with this `hosts.yaml` and an engine.
struct Engines(Sandbox);

impl Engines {
    fn new(hosts: &str) -> Self {
        let sandbox = Sandbox::new();
        sandbox.write("hosts.yaml", hosts);
        let script = ENGINE.replace("ID", ID);
        for (name, text) in [("docker", script.as_str()), ("podman", &script), ("ssh", SSH)] {
            let path = sandbox.write(&format!("bin/{name}"), text);
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        std::fs::set_permissions(sandbox.path("bin"), std::fs::Permissions::from_mode(0o755)).unwrap();
        let path = format!("{}:/usr/bin:/bin", sandbox.path("bin").display());
        let asked = sandbox.path("asked").display().to_string();
        let sandbox = sandbox.with("CLAUDEOPS_HOSTS", "hosts.yaml").with("PATH", &path).with("ASKED", &asked);
        Self(sandbox)
    }

    /// The program as root of a user namespace, whose files the agent cannot change.
    fn opsctl(&self, arguments: &[&str], stdin: &str) -> Run {
        self.0.in_own_mounts("exec \"$@\"", arguments, stdin)
    }

    fn before(&self, id: &str, command: &str) -> Run {
        self.opsctl(&["hook", "pre-tool-use"], &call(id, command).to_string())
    }

    fn after(&self, id: &str, command: &str) -> Run {
        self.opsctl(&["hook", "post-tool-use"], &call(id, command).to_string())
    }

    fn explain(&self, command: &str) -> Value {
        serde_json::from_str(&self.opsctl(&["explain", "--json", command], "").stdout).unwrap()
    }

    fn asked(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.0.path("asked")).unwrap_or_default();
        let short = text.replace(&format!("{}/", self.0.path("bin").display()), "");
        short.lines().map(|line| line.split(" --format").next().unwrap().to_owned()).collect()
    }
}

#[test]
fn services_of_a_compose_file_keep_their_budgets() {
    let sandbox = Sandbox::new();
    sandbox.write("hosts.yaml", "services: {jellyfin: {}, sonarr: {}}\n");
    sandbox.write("stack/compose.yaml", "services: {web: {container_name: jellyfin}, sonarr: {}, db: {}}\n");
    let sandbox = sandbox.with("CLAUDEOPS_HOSTS", "hosts.yaml");
    let folder = sandbox.path("stack").display().to_string();
    let whole = format!("docker compose --project-directory {folder} restart");
    let own = format!("cd {folder}; docker compose restart web");
    for (id, command) in [("t1", whole.as_str()), ("t2", &own)] {
        passes(&sandbox.before(id, command));
        passes(&sandbox.after(id, command));
    }
    for command in ["docker restart jellyfin", &whole, &own] {
        let reason = denied(&sandbox.before("t3", command));
        assert!(reason.contains("Cooldown limit exceeded for jellyfin: 2/2 restarts"), "{command}: {reason}");
    }
    let sonarr = "docker restart sonarr";
    passes(&sandbox.before("t4", sonarr));
    passes(&sandbox.after("t4", sonarr));
    assert!(denied(&sandbox.before("t5", sonarr)).contains("for sonarr: 2/2 restarts"));
}

#[test]
fn any_mixture_of_names_shares_one_budget() {
    let names = [
        "docker restart jellyfin",
        "docker restart jf",
        "docker restart 3f2a91c0be77",
        "podman restart 3f2",
        "docker compose -p media restart jf",
        "docker restart media-jf-1",
        "docker restart $(docker ps -q --filter name=jellyf)",
        "ssh root@ie01 systemctl restart media-player",
        "ssh root@ie01 systemctl restart docker",
        "kubectl delete pod player-7d9c5b6f4-x2x8k",
        "docker service update --force media_jf",
    ];
    for (n, first) in names.iter().enumerate() {
        let second = names[(n * 7 + 3) % names.len()];
        let engines = Engines::new(HOSTS);
        for (id, command) in [("t1", *first), ("t2", second)] {
            passes(&engines.before(id, command));
            passes(&engines.after(id, command));
        }
        for name in names {
            let reason = denied(&engines.before("t3", name));
            let expected = "Cooldown limit exceeded for jellyfin: 2/2 restarts in last 4h";
            assert!(reason.contains(expected), "{first}; {second}; {name}: {reason}");
        }
    }
}

#[test]
fn an_id_is_asked_for_once_and_remembered() {
    let engines = Engines::new(HOSTS);
    passes(&engines.before("t1", "docker rm -f 3f2a91c0be77"));
    assert_eq!(engines.asked(), ["docker inspect --type container"]);
    passes(&engines.after("t1", "docker rm -f 3f2a91c0be77"));
    assert_eq!(engines.asked().len(), 1);
    // The container no longer exists.
    engines.0.write("bin/docker", "#!/bin/sh\necho 'Error: No such container' >&2; exit 1\n");
    passes(&engines.before("t2", "docker restart 3f2a91c0"));
    assert_eq!(engines.0.sql("SELECT DISTINCT service FROM hook_actions"), "jellyfin");
    assert_eq!(engines.asked().len(), 1);
    assert_eq!(engines.explain(&format!("docker restart {ID}"))["actions"][0]["service"], "jellyfin");
}

#[test]
fn explain_shows_the_name_as_read_and_writes_nothing() {
    let engines = Engines::new(HOSTS);
    let explained = engines.explain("docker restart 3f2a");
    let action = &explained["actions"][0];
    assert_eq!((&action["name"], &action["service"]), (&json!("3f2a"), &json!("jellyfin")));
    assert!(!engines.0.path("claudeops.db").exists());
    let actions = &engines.explain("docker restart 10 3f2a")["actions"];
    assert_eq!((&actions[0]["service"], &actions[1]["service"]), (&Value::Null, &json!("jellyfin")));
    let action = &engines.explain("docker restart jellyfn")["actions"][0];
    let note = "`jellyfn` is not listed in hosts.yaml; did you mean `jellyfin`?";
    assert_eq!(action["note"], note);
}

#[test]
fn engines_are_asked_only_where_the_policy_allows_it() {
    let on_ie01 = "ssh root@ie01 docker restart 3f2a91c0be77";
    for (resolve, command, asked, service) in [
        ("[]", "docker restart 3f2a91c0be77", vec![], Value::Null),
        ("[local]", on_ie01, vec![], Value::Null),
        ("[ssh]", on_ie01, vec!["ssh root@ie01", "docker inspect --type container"], json!("jellyfin")),
        ("[local, ssh]", "ssh pie01 docker restart 3f2a91c0be77", vec![], Value::Null),
        ("[local, ssh]", "docker restart jellyfin sonarr other", vec![], json!("jellyfin")),
        ("[local, ssh]", "docker restart 4f2a", vec!["docker inspect --type container"], Value::Null),
    ] {
        let engines = Engines::new(&format!("{HOSTS}policy: {{resolve: {resolve}}}\n"));
        let explained = engines.explain(command);
        assert_eq!(explained["actions"][0]["service"], service, "{resolve}: {command}");
        assert_eq!(engines.asked(), asked, "{resolve}: {command}");
    }
}

#[test]
fn an_engine_that_does_not_answer_leaves_the_id_unresolved_with_the_reason() {
    let engines = Engines::new(HOSTS);
    engines.0.write("bin/docker", "#!/bin/sh\necho 'permission denied' >&2; exit 1\n");
    let command = "docker restart 3f2a91c0be77";
    for id in ["t1", "t2"] {
        passes(&engines.before(id, command));
        passes(&engines.after(id, command));
    }
    let reason = denied(&engines.before("t3", "docker restart 3f2"));
    assert!(reason.starts_with("Cooldown limit exceeded for unresolved: 2/2 restarts"), "{reason}");
    let why = "`3f2` is read as a container ID (if it is a name, list it in hosts.yaml), and the engine cannot be asked (permission denied).";
    assert!(reason.ends_with(why), "{reason}");
    engines.0.write("bin/docker", "#!/bin/sh\nexec sleep 60\n");
    let note = engines.explain("docker restart 4f2a")["actions"][0]["note"].clone();
    assert!(note.as_str().unwrap().ends_with(", and the engine did not answer within 2 s."), "{note}");
}

#[test]
fn a_program_that_the_agent_can_replace_is_not_asked() {
    let engines = Engines::new(HOSTS);
    std::fs::set_permissions(engines.0.path("bin"), std::fs::Permissions::from_mode(0o777)).unwrap();
    let action = &engines.explain("docker restart 3f2a")["actions"][0];
    assert_eq!(action["service"], Value::Null);
    assert!(action["note"].as_str().unwrap().starts_with("`3f2a` is read as a container ID"));
    assert_eq!(engines.asked(), [""; 0]);
}

#[test]
fn unlisted_names_follow_the_policy() {
    let sandbox = |unlisted: &str| {
        let sandbox = Sandbox::new().with("CLAUDEOPS_HOSTS", "hosts.yaml");
        sandbox.write(
            "hosts.yaml",
            &format!("services: {{jellyfin: {{}}}}\npolicy: {{unlisted: {unlisted}}}\n"),
        );
        sandbox
    };
    let own = sandbox("own");
    for (id, name) in [("t1", "a-x"), ("t2", "b-x"), ("t3", "c-x"), ("t4", "jellyfn"), ("t5", "jellyfn")] {
        passes(&own.before(id, &format!("docker restart {name}")));
    }
    let reason = denied(&own.before("t6", "docker restart jellyfn"));
    assert!(reason.ends_with("`jellyfn` is not listed in hosts.yaml; did you mean `jellyfin`?"), "{reason}");

    let shared = sandbox("shared");
    for (id, name) in [("t1", "a-x"), ("t2", "b-x"), ("t3", "jellyfin")] {
        passes(&shared.before(id, &format!("docker restart {name}")));
    }
    let reason = denied(&shared.before("t4", "docker restart c-x"));
    assert!(reason.starts_with("Cooldown limit exceeded for unlisted: 2/2 restarts in last 4h."), "{reason}");
    passes(&shared.before("t5", "ssh ie01 docker restart c-x"));

    let deny = sandbox("deny");
    passes(&deny.before("t1", "docker restart jellyfin; docker ps"));
    let reason = denied(&deny.before("t2", "docker restart sonarr"));
    assert_eq!(
        reason,
        "A restart (`docker restart sonarr`) is denied, because policy.unlisted is deny. `sonarr` is not listed in hosts.yaml. Use the name of a listed service, or report what is needed."
    );
    assert_eq!(deny.opsctl(&["render"], b"").code, Some(0));
    std::fs::remove_file(deny.path("hosts.yaml")).unwrap();
    assert_eq!(denied(&deny.before("t3", "docker restart sonarr")), reason);
}

#[test]
fn what_runs_below_is_charged_as_well() {
    for (command, services) in [
        ("docker compose -p media restart", "jellyfin sonarr"),
        ("ssh root@ie01 systemctl restart docker", "jellyfin sonarr"),
        ("ssh root@pie01 systemctl stop docker.socket", "adguard"),
        ("systemctl restart containerd", "jellyfin sonarr adguard"),
        ("ssh root@ie01 sv restart docker", "jellyfin sonarr"),
        ("ssh root@ie01 snap restart docker.dockerd", "jellyfin sonarr"),
        ("ssh root@ie01 synopkg restart ContainerManager", "jellyfin sonarr"),
        ("ssh root@ie01 s6-svc -r /run/service/docker", "jellyfin sonarr"),
        ("ssh root@ie01 supervisorctl restart dockerd", "jellyfin sonarr"),
        ("ssh root@ie01 sv restart nginx", "nginx"),
        ("ssh root@ie01 sv status docker", ""),
        ("ssh root@ie01 supervisorctl status dockerd", ""),
        ("snap restart nextcloud.apache", "nextcloud.apache"),
        ("snap services docker", ""),
        ("docker restart $(docker ps -q --filter name=r)", "sonarr adguard"),
        ("docker restart $(docker ps -lq)", "?"),
        ("systemctl restart nginx", "nginx"),
    ] {
        let sandbox = Sandbox::new().with("CLAUDEOPS_HOSTS", "hosts.yaml");
        sandbox.write("hosts.yaml", HOSTS);
        let explained = sandbox.opsctl(&["explain", "--json", command], b"").stdout;
        let explained: Value = serde_json::from_str(&explained).unwrap();
        let found = explained["actions"].as_array().unwrap().iter();
        let found: Vec<&str> = found.map(|action| action["service"].as_str().unwrap_or("?")).collect();
        assert_eq!(found.join(" "), services, "{command}");
    }
    let sandbox = Sandbox::new().with("CLAUDEOPS_HOSTS", "hosts.yaml");
    sandbox.write("hosts.yaml", HOSTS);
    passes(&sandbox.before("t1", "docker restart sonarr; docker restart sonarr"));
    let reason = denied(&sandbox.before("t2", "ssh root@ie01 systemctl restart docker"));
    assert!(reason.starts_with("Cooldown limit exceeded for sonarr: 2/2 restarts in last 4h"), "{reason}");
}

//! The project that verbs for operators use when the rendered policy is out of date with `hosts.yaml`.

use crate::sandbox::{Run, Sandbox, denied, passes};

const BUILT_IN: &str = "hosts: {old: {address: 127.0.0.1}}\n";
const MOUNTED: &str = "hosts: {new: {address: 127.0.0.1}}\n";

/// A project that was rendered from an earlier hosts.yaml.
fn outgrown() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("hosts.yaml", BUILT_IN);
    render(&sandbox, ".");
    sandbox.write("hosts.yaml", MOUNTED);
    sandbox
}

fn render(sandbox: &Sandbox, out: &str) {
    let run = sandbox.opsctl(&["render", "--hosts", "hosts.yaml", "--out", out], b"");
    assert_eq!(run.code, Some(0), "{run:?}");
}

fn explain(sandbox: &Sandbox) -> Run {
    sandbox.opsctl(&["explain", "ssh 127.0.0.1 docker restart x"], b"")
}

#[test]
fn warns_if_the_policy_in_force_is_out_of_date_with_the_inventory() {
    let sandbox = outgrown();
    let run = explain(&sandbox);
    assert!(run.stdout.contains("on old"), "{run:?}");
    assert!(
        run.stderr.contains("policy.json is in force and was rendered from another hosts.yaml than")
            && run.stderr.contains("run `opsctl render`"),
        "{run:?}"
    );
    render(&sandbox, ".");
    let run = explain(&sandbox);
    assert!(run.stdout.contains("on new") && run.stderr.is_empty(), "{run:?}");
}

/// A rendered project in a folder below that of its `hosts.yaml`.
fn below() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("lab/hosts.yaml", "services: {jellyfin: {}}\npolicy: {tier: 2}\n");
    let render = sandbox.opsctl(&["render", "--hosts", "lab/hosts.yaml", "--out", "lab/project"], b"");
    assert_eq!(render.code, Some(0), "{render:?}");
    sandbox
}

#[test]
fn the_inventory_above_the_project_is_protected() {
    let sandbox = below();
    let project = sandbox.path("lab/project").display().to_string();
    let sandbox = sandbox.with("CLAUDE_PROJECT_DIR", &project);
    let hosts = sandbox.path("lab/hosts.yaml").display().to_string();
    for command in [
        format!("sed -i 's/tier: 2/tier: 3/' {hosts}"),
        format!("cd {project} && cd .. && sed -i s/2/3/ hosts.yaml"),
        format!("cd {project}; tee ../hosts.yaml < /dev/null"),
    ] {
        denied(&sandbox.before("t1", &command));
    }
    passes(&sandbox.before("t2", &format!("cat {hosts}")));
}

#[test]
fn a_folder_into_which_the_agent_has_changed_states_no_policy() {
    let sandbox = Sandbox::new();
    sandbox.write("project/hosts.yaml", "services: {jellyfin: {}}\npolicy: {tier: 1}\n");
    sandbox.write("project/sub/file", "");
    sandbox.write("hosts.yaml", "services: {jellyfin: {}}\npolicy: {tier: 3, restart: {limit: 99}}\n");
    let project = sandbox.path("project").display().to_string();
    // The hook runs in the folder of the sandbox, and the project is another one.
    let sandbox = sandbox.with("CLAUDE_PROJECT_DIR", &project);
    assert!(denied(&sandbox.before("t1", "docker restart jellyfin")).starts_with("Tier 1 may not"));
    std::fs::remove_file(sandbox.path("project/hosts.yaml")).unwrap();
    passes(&sandbox.before("t2", "docker restart jellyfin"));
    passes(&sandbox.before("t3", "docker restart jellyfin"));
    denied(&sandbox.before("t4", "docker restart jellyfin"));
}

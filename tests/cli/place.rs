//! The project that verbs for operators use when the rendered policy is out of date with `hosts.yaml`.

use crate::sandbox::{Run, Sandbox};

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

//! `opsctl lint`: each finding for a file that has it, and none for files of users.

use std::path::Path;

use crate::sandbox::Sandbox;

fn lint(text: &str) -> (Option<i32>, String) {
    let sandbox = Sandbox::new();
    sandbox.write("hosts.yaml", text);
    let run = sandbox.opsctl(&["lint"], b"");
    assert_eq!(run.stderr, "", "{text}");
    (run.code, run.stdout)
}

const HOSTS: &str = "hosts: {nas: {address: 192.0.2.10, ssh: root@nas}, pie: {address: 192.0.2.11}}\n";

#[test]
fn each_mistake_of_meaning_is_named_with_its_remedy() {
    for (text, found) in [
        ("services: {dns: {host: pie}}", "services.dns: host pie has no `ssh`"),
        ("services: {nas: {host: nas}}", "services.nas: has the name of a host"),
        ("policy: {restart: {limit: 0}}", "policy.restart.limit: is 0, while a tier allows the action"),
        (
            "policy: {tiers: {2: {allow: [restart]}, 3: {allow: [redeployment]}}}",
            "policy.tiers.3.allow: lacks restart",
        ),
        (
            "policy: {tiers: {2: {allow: [restart]}, 3: {allow: [restart]}}}",
            "policy.tiers: no tier allows a redeployment",
        ),
        (
            "policy: {never: {all: {argv: 'docker *', reason: No., matches: [docker x]}}}",
            "policy.never.all: also denies `docker ps`",
        ),
        ("policy: {data: [/tank, /tank/media]}", "policy.data[1]: `/tank/media` is below `/tank`"),
        ("policy: {protect: [/etc/x, /etc/y, /etc/x]}", "policy.protect[0]: `/etc/x` is stated again later"),
        ("policy: {secret: ['/**']}", "policy.secret[0]: `/**` matches every file"),
        (
            "policy: {mode: monitor, monitor: {rules: [budget]}}",
            "policy.monitor: has no effect with `mode: monitor`",
        ),
        (
            "policy: {ask: [exclusive], approval_key: 'ed25519:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA='}",
            "policy.ask: `exclusive` is never denied",
        ),
    ] {
        let (code, printed) = lint(&format!("{HOSTS}{text}\n"));
        assert!(printed.contains(found) && printed.contains("; "), "{text}: {printed}");
        assert_eq!(code, Some(1), "{text}");
    }
}

#[test]
fn files_without_such_a_mistake_are_quiet() {
    let quiet =
        format!("{HOSTS}services: {{jellyfin: {{host: nas}}, dns: {{host: nas, containers: [adguard]}}}}\n");
    assert_eq!(lint(&quiet), (Some(0), "nothing found in hosts.yaml\n".to_owned()));
    for file in ["hosts.yaml", "templates/starter/hosts.yaml", "tests/fixtures/hosts.yaml"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
        if path.exists() {
            let (_, printed) = lint(&std::fs::read_to_string(path).unwrap());
            println!("{file}: {printed}");
        }
    }
}

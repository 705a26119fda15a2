//! Every file in `tests/hosts_yaml` has one mistake; its first line is the expected message.

use crate::sandbox::Sandbox;

#[test]
fn reports_each_mistake_on_one_line_with_position_and_remedy() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/hosts_yaml");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let expected = text
            .lines()
            .next()
            .unwrap()
            .strip_prefix("# error: ")
            .expect("the first line is the expected message");
        let sandbox = Sandbox::new();
        sandbox.write("hosts.yaml", &text);
        let run = sandbox.opsctl(&["render", "--hosts", "hosts.yaml", "--out", "out"], b"");
        assert_eq!(run.stderr, format!("opsctl: {expected}\n"), "{}", path.display());
        assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{}", path.display());
        assert!(!sandbox.path("out").exists(), "{}: nothing is written", path.display());
        count += 1;
    }
    assert!(count >= 20, "only {count} files were found");
}

#[test]
fn names_a_missing_file_with_a_remedy() {
    let run = Sandbox::new().opsctl(&["render", "--hosts", "lab.yaml"], b"");
    assert_eq!(run.code, Some(1));
    assert_eq!(
        run.stderr,
        "opsctl: cannot read the inventory (No such file or directory (os error 2)) in lab.yaml; name the file with --hosts or CLAUDEOPS_HOSTS\n"
    );
}

#[test]
fn accepts_an_empty_file_and_empty_keys() {
    for text in ["", "hosts:\n", "services:\n  jellyfin:\n", "policy:\n"] {
        let sandbox = Sandbox::new();
        sandbox.write("hosts.yaml", text);
        let run = sandbox.opsctl(&["render"], b"");
        assert_eq!(run.code, Some(0), "{text:?}: {run:?}");
    }
}

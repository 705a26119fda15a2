//! Every file in `tests/hosts_yaml` has mistakes; its first lines, `# error: …`, are the expected messages.

use std::path::PathBuf;

use crate::sandbox::{Run, Sandbox};

fn files() -> Vec<PathBuf> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/hosts_yaml");
    std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
}

fn render(text: &str) -> (Sandbox, Run) {
    let sandbox = Sandbox::new();
    sandbox.write("hosts.yaml", text);
    let run = sandbox.opsctl(&["render", "--hosts", "hosts.yaml", "--out", "out"], b"");
    (sandbox, run)
}

#[test]
fn reports_each_mistake_on_one_line_with_position_and_remedy() {
    let (mut files_seen, mut count) = (0, 0);
    for path in files() {
        let text = std::fs::read_to_string(&path).unwrap();
        let expected: Vec<&str> = text.lines().map_while(|line| line.strip_prefix("# error: ")).collect();
        let (sandbox, run) = render(&text);
        let mut messages: Vec<&str> =
            run.stderr.lines().filter_map(|line| line.strip_prefix("opsctl: ")).collect();
        if expected.len() > 1 {
            assert_eq!(messages.pop(), Some(format!("{} mistakes in hosts.yaml", expected.len()).as_str()));
        }
        assert_eq!(messages, expected, "{}", path.display());
        assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""), "{}", path.display());
        assert!(!sandbox.path("out").exists(), "{}: nothing is written", path.display());
        for message in &expected {
            assert!(has_remedy(message), "{}: {message}", path.display());
        }
        files_seen += 1;
        count += expected.len();
    }
    assert!(files_seen >= 40 && count > files_seen, "{count} mistakes in {files_seen} files");
}

/// Whether a message ends with what to do.
fn has_remedy(message: &str) -> bool {
    message.split_once(" in hosts.yaml").is_some_and(|(_, rest)| rest.contains("; "))
}

#[test]
fn shows_the_line_of_each_mistake_with_a_mark_below_the_place() {
    let mut count = 0;
    for path in files() {
        let text = std::fs::read_to_string(&path).unwrap();
        let run = render(&text).1;
        let shown: Vec<&str> = run.stderr.lines().collect();
        for snippet in shown.windows(4) {
            let [message, _, line, mark] = snippet else { continue };
            let Some((_, place)) = message.split_once(" in hosts.yaml, line ") else { continue };
            let (number, rest) = place.split_once(", column ").unwrap();
            let column: usize = rest.split(';').next().unwrap().parse().unwrap();
            let source = text.lines().nth(number.parse::<usize>().unwrap() - 1).unwrap();
            let (shown_number, shown_line) = line.split_once(" | ").unwrap();
            assert_eq!(shown_number, number, "{}: {message}", path.display());
            if shown_line.contains("[redacted]") {
                continue;
            }
            assert_eq!(shown_line, source.replace('\t', " "), "{}: {message}", path.display());
            let before = mark.chars().position(|c| c == '^').unwrap();
            assert_eq!(
                before,
                number.len() + 3 + column - 1,
                "{}: {message}\n{line}\n{mark}",
                path.display()
            );
            count += 1;
        }
    }
    assert!(count >= 100, "only {count} marks were found");
}

#[test]
fn shows_three_mistakes_of_different_kinds_at_once() {
    let text = "hosts:\n  nas: {adress: 192.168.1.10}\nservices:\n  jellyfin: {host: nas, tcp: [http]}\npolicy: {on_failure: opn}\n";
    assert_eq!(
        render(text).1.stderr,
        "\
opsctl: unknown key `adress` of `nas` in hosts.yaml, line 2, column 9; did you mean `address`?
  |
2 |   nas: {adress: 192.168.1.10}
  |         ^^^^^^
opsctl: `http` is not a port in hosts.yaml, line 4, column 31; write a port such as `8096`, or `nas.lan:8096`
  |
4 |   jellyfin: {host: nas, tcp: [http]}
  |                               ^^^^
opsctl: `opn` is not a valid value of `on_failure` in hosts.yaml, line 5, column 22; did you mean `open`?
  |
5 | policy: {on_failure: opn}
  |                      ^^^
opsctl: 3 mistakes in hosts.yaml
"
    );
}

#[test]
fn a_mistake_causes_no_second_message() {
    for text in [
        "hosts: {nas: {adress: 192.0.2.1}}\nservices: {samba: {host: nas}}\n",
        "hosts: {nas: {address: [192.0.2.1]}}\nservices: {samba: {host: nas, tcp: [445]}}\n",
        "hosts: {nas: 192.0.2.1}\nservices: {samba: {host: nas}}\n",
        "hosts: [nas]\nservices: {samba: {host: nas}}\n",
        "hosts: {n$s: {address: 192.0.2.1}}\nservices: {samba: {host: n$s}}\n",
        "domain: https://lab.net\nservices: {samba: {dns: {address: 192.0.2.1}}}\n",
        "policy: {tiers: {2: {allow: [], effects: [raeds], structured_result: true}}}\n",
        "policy: {never: {wipe: {argv: 'wipe {disk}', reason: No., matches: [wipe /dev/sda]}}}\n",
        "policy: {never: {wipe: {agrv: wipe, reason: No., matches: [wipe /dev/sda]}}}\n",
        "services: {samba: {host: nas}\n",
        "host: {nas: {address: 192.0.2.1}}\nservices: {samba: {host: nas}}\n",
        "hosts: {nas: {ip: 192.0.2.1}}\nservices: {samba: {host: nas}}\n",
        "services: {samba: {check: {cmd: [smbstatus]}}}\n",
        "services: {samba: {check: [systemctl, is-active, 445]}}\n",
    ] {
        let run = render(text).1;
        assert_eq!(run.stderr.matches("opsctl: ").count(), 1, "{text}{}", run.stderr);
    }
}

#[test]
fn shows_no_secret_and_no_hidden_character_of_a_line() {
    let text =
        "contacts:\n  anna: {token: hunter2hunter2}\n  bob: {addresses: [\"\u{202e}\u{200b},\"], tag: [x]}\n";
    let run = render(text).1;
    let line = "2 |   anna: {token: [redacted]";
    assert!(run.stderr.contains(line) && run.stderr.contains("unknown key `tag` of `bob`"), "{}", run.stderr);
    assert!(!run.stderr.contains("hunter2"), "{}", run.stderr);
    assert!(!run.stderr.contains(['\u{202e}', '\u{200b}']), "{}", run.stderr);
    let run = render("hosts: {nas: {address: \"\u{1b}[31m\"}}\n").1;
    assert!(run.stderr.contains("1 | hosts: {nas: {address: \" [31m\"}}"), "{}", run.stderr);
    let key = "-----BEGIN PRIVATE KEY-----\n      MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n      -----END PRIVATE KEY-----";
    let run = render(&format!("services:\n  samba:\n    host: |\n      {key}\n    hots: nas\n")).1;
    assert!(!run.stderr.contains("MIIEvQ"), "{}", run.stderr);
}

#[test]
fn uses_colours_where_they_are_asked_for() {
    let sandbox = Sandbox::new();
    sandbox.write("hosts.yaml", "polcy: {}\n");
    let run = sandbox.opsctl(&["--color", "always", "render"], b"");
    assert!(run.stderr.contains("\u{1b}[1m"), "{run:?}");
}

#[test]
fn a_hook_reports_mistakes_on_one_line() {
    let sandbox = Sandbox::new();
    sandbox.write("hosts.yaml", "polcy: {}\nhost: {}\n");
    let run = sandbox.before("1", "docker restart jellyfin");
    let first = "opsctl: unknown key `polcy` in hosts.yaml, line 1, column 1; did you mean `policy`?; \
                 `opsctl render` also shows 1 other mistake; the default limits apply, and policy.on_failure is closed";
    assert_eq!(run.stderr.lines().next(), Some(first));
    assert!(run.stderr.lines().all(|line| line.starts_with("opsctl: ")), "{}", run.stderr);
}

#[test]
fn lists_at_most_fifty_mistakes() {
    let hosts: String = (0..60).map(|number| format!("  h{number}: {{adress: 192.0.2.1}}\n")).collect();
    let run = render(&format!("hosts:\n{hosts}")).1;
    assert_eq!(run.stderr.matches("unknown key").count(), 50, "{}", run.stderr);
    assert!(run.stderr.ends_with("opsctl: 50 mistakes in hosts.yaml; there may be more\n"), "{}", run.stderr);
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
fn names_the_line_that_is_not_utf_8() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path("hosts.yaml"), b"hosts:\n  nas: {address: nas.lan} # caf\xe9\n").unwrap();
    let run = sandbox.opsctl(&["render", "--hosts", "hosts.yaml"], b"");
    assert_eq!(run.code, Some(1));
    assert_eq!(
        run.stderr,
        "opsctl: line 2 is not UTF-8 text in hosts.yaml; save the file with the encoding UTF-8\n"
    );
}

#[test]
fn accepts_an_empty_file_and_empty_keys() {
    for text in ["", "hosts:\n", "services:\n  jellyfin:\n", "policy:\n"] {
        let sandbox = Sandbox::new();
        sandbox.write("hosts.yaml", text);
        let run = sandbox.opsctl(&["render", "--empty"], b"");
        assert_eq!(run.code, Some(0), "{text:?}: {run:?}");
    }
}

#[test]
fn an_inventory_without_hosts_and_services_is_rendered_only_on_request() {
    for text in ["", "hosts:\n", "services: {}\n", "policy: {on_failure: closed}\n"] {
        let (sandbox, run) = render(text);
        assert_eq!(run.code, Some(1), "{text:?}: {run:?}");
        assert_eq!(
            run.stderr,
            "opsctl: hosts.yaml lists no hosts and no services; add some, or render only its policy with --empty\n"
        );
        assert!(!sandbox.path("out").exists(), "{text:?}: nothing is written");
    }
    for text in ["services: {jellyfin: }\n", "hosts: {nas: {address: 192.0.2.1}}\n"] {
        assert_eq!(render(text).1.code, Some(0), "{text:?}");
    }
}

#[test]
fn an_ssh_destination_with_a_port_has_the_form_that_ssh_reads() {
    for (written, used) in [
        ("ops@nas.lan:2222", "ssh://ops@nas.lan:2222"),
        ("ssh://ops@nas.lan:2222", "ssh://ops@nas.lan:2222"),
        ("\"root@[fd00::10]:2222\"", "ssh://root@[fd00::10]:2222"),
        ("root@nas.lan", "root@nas.lan"),
        ("\"root@fd00::10\"", "root@fd00::10"),
    ] {
        let text = format!(
            "hosts: {{media: {{address: 192.0.2.1, ssh: {written}}}}}\nservices: {{jellyfin: {{host: media}}}}\n"
        );
        let (sandbox, run) = render(&text);
        assert_eq!(run.code, Some(0), "{written}: {run:?}");
        let prompt = sandbox.read("out/.claude/prompts/tier1-observe.md");
        assert!(
            prompt.contains(&format!("media (192.0.2.1), reached by `ssh {used}`")),
            "{written}: {prompt}"
        );
        for command in [format!("ssh {used} docker restart jellyfin"), {
            let host = if written.contains("fd00") { "fd00::10" } else { "nas.lan" };
            format!("ssh -p 2222 root@{host} docker restart jellyfin")
        }] {
            let run = sandbox.opsctl(&["explain", "--hosts", "hosts.yaml", &command], b"");
            assert!(run.stdout.contains("restart of jellyfin on media"), "{command}: {}", run.stdout);
        }
    }
}

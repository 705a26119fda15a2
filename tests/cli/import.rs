//! `opsctl init --from`: what a folder, a cluster or a host describes becomes a `hosts.yaml` that renders unedited.

use std::path::PathBuf;

use crate::sandbox::{Run, Sandbox};

fn fixture(name: &str) -> String {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/import"));
    folder.join(name).to_str().unwrap().to_owned()
}

/// A sandbox in which `kubectl` and `ssh` are stand-ins, with a copy of the sources in the folder `from`: long lines get
/// their comment above them, so the length of a path must not depend on where this repository is.
fn sandbox() -> Sandbox {
    let path = format!("{}:{}", fixture("bin"), std::env::var("PATH").unwrap());
    let sandbox = Sandbox::new().with("PATH", &path);
    let copy = std::process::Command::new("cp").args(["-r", &fixture("")]).arg(sandbox.path("from")).status();
    assert!(copy.unwrap().success());
    sandbox
}

/// Imports the sources into the folder `lab`.
fn import(sandbox: &Sandbox, sources: &[&str]) -> Run {
    let sources: Vec<&str> = sources.iter().flat_map(|source| ["--from", *source]).collect();
    sandbox.opsctl(&[&["init"], &sources[..], &["lab"]].concat(), b"")
}

/// The hosts and services of `lab/hosts.yaml`, which must render.
fn imported(sandbox: &Sandbox) -> String {
    let render = ["render", "--hosts", "lab/hosts.yaml", "--out", "project"];
    let run = sandbox.opsctl(&render, b"");
    let others =
        run.stderr.lines().filter(|line| !line.contains("a mod of the client can silence the hooks"));
    assert_eq!((run.code, others.count()), (Some(0), 0), "{}", sandbox.read("lab/hosts.yaml"));
    let text = sandbox.read("lab/hosts.yaml").replace(sandbox.path("from").to_str().unwrap(), "[FROM]");
    let (head, policy) = text.split_once("\npolicy:").unwrap();
    assert!(policy.contains("on_failure: closed"), "{policy}");
    head.split_once("\nhosts:").unwrap().1.to_owned()
}

#[track_caller]
fn gives(sources: &[&str], expected: &str) {
    let sandbox = sandbox();
    let run = import(&sandbox, sources);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
    let found = format!("hosts:{}", imported(&sandbox));
    let file = fixture(&format!("expected/{expected}.yaml"));
    if std::env::var_os("UPDATE_IMPORTS").is_some() {
        std::fs::write(&file, &found).unwrap();
    }
    assert_eq!(found, std::fs::read_to_string(&file).unwrap());
    assert!(!found.contains("hunter2") && !found.contains("correct-horse"));
}

#[test]
fn compose_stacks_become_services() {
    for stack in ["media", "edge", "nextcloud", "home", "monitoring"] {
        gives(&[&format!("from/stacks/{stack}")], stack);
    }
}

#[test]
fn a_compose_service_of_several_projects_is_named_after_its_project() {
    gives(&["from/stacks"], "stacks");
}

#[test]
fn an_ansible_layout_becomes_hosts_and_the_services_of_its_playbooks() {
    gives(&["from/ansible-ini"], "ansible-ini");
    gives(&["from/ansible-yaml"], "ansible-yaml");
}

#[test]
fn how_a_host_is_asked_is_guessed_from_what_answers() {
    for (source, host, service) in [
        (
            "docker:admin@syno",
            "  # guess: path, docker is there; guess: sudo, its user may not use docker\n  \
             syno: {address: syno, ssh: admin@syno, path: [/usr/local/bin], sudo: true}\n",
            "  jellyfin:\n    host: syno\n",
        ),
        (
            "systemd:deploy@vps",
            "  vps: {address: vps, ssh: deploy@vps, units: user}  # guess: units, units of its user run\n",
            "  caddy:\n    host: vps\n    units: [caddy]\n",
        ),
        (
            "systemd:ops@k3s",
            "  k3s: {address: k3s, ssh: ops@k3s, kubectl: k3s kubectl}  # guess: kubectl, k3s runs\n",
            "",
        ),
    ] {
        let sandbox = sandbox();
        let run = import(&sandbox, &[source]);
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
        let found = imported(&sandbox);
        assert!(found.contains(host) && found.contains(service), "{source}: {found}");
    }
}

#[test]
fn a_service_that_restarts_with_another_needs_it() {
    let compose = "services:
  vpn: {image: gluetun}
  torrent: {image: qbittorrent, network_mode: 'service:vpn'}
  feed: {image: feed, depends_on: {torrent: {condition: service_started, restart: true}, vpn: {condition: service_started}}}
  lost: {image: lost, network_mode: 'service:gone'}
";
    let found = imported_from("compose.yaml", compose);
    assert!(found.contains("    needs: [vpn]  # guess: it uses its network\n"), "{found}");
    assert!(found.contains("    needs: [torrent]  # guess: its depends_on restarts it\n"), "{found}");
    assert_eq!(found.matches("needs:").count(), 2, "{found}");
}

#[test]
fn ansible_become_is_sudo_unless_the_user_is_root() {
    let text = "nas ansible_user=admin\npve ansible_user=root\n[all:vars]\nansible_become=true\n";
    let found = imported_from("hosts.ini", text);
    assert!(
        found
            .contains("guess: sudo, its ansible_become\n  nas: {address: nas, ssh: admin@nas, sudo: true}\n"),
        "{found}"
    );
    assert!(
        found.contains("  pve: {address: pve, ssh: root@pve}  # hosts.ini; guess: its address is its name\n"),
        "{found}"
    );
}

/// The hosts and services of a file with this name and text.
#[track_caller]
fn imported_from(file: &str, text: &str) -> String {
    let sandbox = sandbox();
    sandbox.write(file, text);
    let run = import(&sandbox, &[file]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
    imported(&sandbox)
}

#[test]
fn hosts_of_an_inventory_with_the_same_address_or_short_name_are_all_kept() {
    let text = "v1 ansible_host=10.0.0.2 ansible_port=2201 ansible_user=a\nv2 ansible_host=10.0.0.2 ansible_port=2202 ansible_user=a\n\
                v3 ansible_host=10.0.0.2 ansible_port=2202 ansible_user=b\nweb.a.lan ansible_user=c\nweb.b.lan ansible_user=c\n";
    let expected = "
  v1: {address: 10.0.0.2, ssh: \"ssh://a@10.0.0.2:2201\"}  # hosts.ini
  v2: {address: 10.0.0.2, ssh: \"ssh://a@10.0.0.2:2202\"}  # hosts.ini
  v3: {address: 10.0.0.2, ssh: \"ssh://b@10.0.0.2:2202\"}  # hosts.ini; guess: another host than v2, which has its address
  web: {address: web.a.lan, ssh: c@web.a.lan}  # hosts.ini
  web.b.lan: {address: web.b.lan, ssh: c@web.b.lan}  # hosts.ini

services:
";
    assert_eq!(imported_from("hosts.ini", text), expected);
}

#[test]
fn a_variable_of_a_host_that_states_nothing_hides_that_of_its_group() {
    let text = "all:
  vars: {ansible_user: root}
  hosts:
    vault: {ansible_user: '{{ vault_user }}', ansible_port: '{{ port }}'}
    win: {ansible_connection: winrm}
    switch: {ansible_connection: ansible.netcommon.network_cli}
    plain: {ansible_connection: ssh}
";
    let expected = "
  # hosts.yml; guess: its address is its name; guess: its ansible_user is an expression; guess: its ansible_port is an expression
  vault: {address: vault, ssh: vault}
  win: {address: win}  # hosts.yml; no ssh: its connection is winrm; guess: its address is its name
  # hosts.yml; no ssh: its connection is ansible.netcommon.network_cli; guess: its address is its name
  switch: {address: switch}
  plain: {address: plain, ssh: root@plain}  # hosts.yml; guess: its address is its name

services:
";
    assert_eq!(imported_from("hosts.yml", text), expected);
}

#[test]
fn what_a_compose_file_states_in_part_is_marked() {
    let text = "services:
  git:
    image: gitea
    container_name: ${STACK}-gitea
    ports: ['${SSHPORT}:23', {published: '${WEB}', target: 3000}]
  nas:
    image: nas
    ports: ['8443:443']
    healthcheck: {test: ['CMD', 'curl', '-fk', 'https://localhost/ping']}
  who:
    image: whoami
    deploy: {labels: {traefik.http.routers.who.rule: 'Host(`who.lan`)', traefik.http.routers.who.tls: 'false'}}
";
    let found = imported_from("s/compose.yaml", text);
    for line in [
        "  # guess: git: its container_name has a variable that is not known\n",
        "  # git: port ${SSHPORT}:23 has a variable that is not known: add it as `tcp`\n",
        "  # git: port ${WEB} has a variable that is not known: add it as `tcp`\n",
        "health: {url: \"https://docker-host:8443/ping\", insecure: true}",
        "health: {url: \"http://who.lan/\"}",
    ] {
        assert!(found.contains(line), "{line}: {found}");
    }
}

#[derive(serde::Deserialize)]
struct Repository {
    name: String,
    files: std::collections::BTreeMap<String, String>,
    has: Vec<String>,
    #[serde(default)]
    lacks: Vec<String>,
}

#[test]
fn repositories_become_hosts_and_services() {
    let text = std::fs::read_to_string(fixture("repositories.yaml")).unwrap();
    for Repository { name, files, has, lacks } in serde_saphyr::from_str::<Vec<Repository>>(&text).unwrap() {
        let sandbox = Sandbox::new();
        for (file, text) in files {
            sandbox.write(&format!("lab/{file}"), &text);
        }
        let run = sandbox.opsctl(&["init", "--from", "lab", "new"], b"");
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{name}");
        let render = ["render", "--hosts", "new/hosts.yaml", "--out", "project"];
        assert_eq!(sandbox.opsctl(&render, b"").code, Some(0), "{name}");
        let found = sandbox.read("new/hosts.yaml");
        let found = found.split_once("\npolicy:").unwrap().0;
        for line in has {
            assert!(found.lines().any(|found| found.starts_with(&line)), "{name}: {line}\n{found}");
        }
        for text in lacks {
            assert!(!found.contains(&text), "{name}: {text}\n{found}");
        }
    }
}

#[test]
fn a_wrong_file_of_a_repository_is_reported_and_the_others_are_imported() {
    let sandbox = Sandbox::new();
    sandbox.write("lab/a/compose.yaml", "services: {a: {image: a}}\n");
    sandbox.write("lab/b/compose.yaml", "services: [\n");
    sandbox.write("lab/c/compose.yaml", "web: {image: a}\n");
    let run = sandbox.opsctl(&["init", "--from", "lab", "new"], b"");
    let reasons = [
        "a bracket that is not closed in lab/b/compose.yaml, line 1, column 11; add the closing `]` or `}`",
        "lab/c/compose.yaml has no `services`; put its services below that key, or remove the file",
    ];
    let messages: String = reasons.iter().map(|why| format!("opsctl: not imported: {why}\n")).collect();
    assert_eq!((run.code, run.stderr), (Some(0), messages));
    let text = sandbox.read("new/hosts.yaml");
    assert!(reasons.iter().all(|why| text.contains(&format!("# not imported: {why}\n"))), "{text}");
    assert!(text.contains("\n  a:\n"), "{text}");
}

#[test]
fn every_wrong_source_is_reported_at_once() {
    let sandbox = sandbox();
    sandbox.write("empty/notes.txt", "nothing");
    sandbox.write("a/compose.yaml", "services: {a: {image: a}}\n");
    sandbox.write("b/compose.yaml", "services: [\n");
    let sources = ["missing", "a", "empty", "systemd:-x", "b", "kube:other"];
    let run = import(&sandbox, &sources);
    let lines = [
        "`-x` is not an ssh destination; write one such as `root@nas`",
        "missing cannot be read (No such file or directory (os error 2)); check its name and rights",
        "no host and no service in empty; name a file or folder with compose files, inventories, quadlets or manifests",
        "a bracket that is not closed in b/compose.yaml, line 1, column 11; add the closing `]` or `}`",
        "kube:other: kubectl failed: error: context \"other\" does not exist; try it by hand",
    ];
    let expected: String = lines.iter().map(|line| format!("opsctl: {line}\n")).collect();
    assert_eq!((run.code, run.stderr), (Some(1), expected));
    assert!(!sandbox.path("lab").exists());
}

#[test]
fn a_playbook_of_several_units_is_a_comment() {
    let sandbox = sandbox();
    sandbox.write("lab/hosts.ini", "nas ansible_user=root\n");
    let play = "- hosts: nas\n  tasks:\n    - systemd: {name: smbd}\n    - systemd: {name: nmbd}\n";
    sandbox.write("lab/files.yml", play);
    let run = sandbox.opsctl(&["init", "--from", "lab", "new"], b"");
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    let note = "# lab/files.yml manages nmbd, smbd: add it to `playbooks` of each that it deploys\n";
    assert!(sandbox.read("new/hosts.yaml").contains(note), "{}", sandbox.read("new/hosts.yaml"));
}

#[test]
fn a_diff_keeps_line_endings_and_fills_empty_maps() {
    let sandbox = sandbox();
    sandbox.write("lab/hosts.yaml", "hosts: {}\r\nservices: {}\r\npolicy: {restart: {limit: 1}}\r\n");
    let diff = sandbox.opsctl(&["init", "--from", "from/stacks/home", "--diff", "lab"], b"");
    assert_eq!((diff.code, diff.stderr.as_str()), (Some(0), ""));
    let patch = std::process::Command::new("patch")
        .args(["-s", "lab/hosts.yaml"])
        .current_dir(sandbox.path(""))
        .stdin(std::fs::File::open(sandbox.write("lab.diff", &diff.stdout)).unwrap())
        .status();
    assert!(patch.unwrap().success(), "{}", diff.stdout);
    let text = sandbox.read("lab/hosts.yaml");
    assert!(text.contains("services:\r\n") && !text.replace("\r\n", "").contains('\n'), "{text:?}");
    assert_eq!(
        sandbox.opsctl(&["render", "--hosts", "lab/hosts.yaml", "--out", "project"], b"").code,
        Some(0)
    );
}

#[test]
fn what_runs_is_asked_of_kubectl_docker_and_systemctl() {
    gives(&["kube:homelab"], "kube");
    gives(&["ssh://root@nas.lan:2222"], "docker");
    gives(&["systemd:root@nas"], "systemd");
}

#[test]
fn sources_about_one_service_are_merged() {
    let media = "from/stacks/media/docker-compose.yml";
    let inventory = "from/ansible-ini";
    gives(&[media, "docker:ops@192.168.1.10", inventory, "systemd:ops@192.168.1.10"], "merged");
}

#[test]
fn a_second_import_gives_the_same_text() {
    let (one, two) = (sandbox(), sandbox());
    for sandbox in [&one, &two] {
        import(sandbox, &["from/stacks", "from/ansible-yaml", "kube:homelab"]);
    }
    assert_eq!(imported(&one), imported(&two));
}

#[test]
fn a_source_that_gives_nothing_is_an_error_with_a_remedy_and_writes_nothing() {
    let sandbox = sandbox();
    sandbox.write("empty/notes.txt", "nothing");
    sandbox.write("plays/site.yml", "- hosts: all\n  roles: [base]\n");
    for (source, message) in [
        (
            "plays",
            "opsctl: no host and no service in plays; name a file or folder with compose files, inventories, quadlets or manifests\n",
        ),
        (
            "missing",
            "opsctl: missing cannot be read (No such file or directory (os error 2)); check its name and rights\n",
        ),
        (
            "empty",
            "opsctl: no host and no service in empty; name a file or folder with compose files, inventories, quadlets or manifests\n",
        ),
        (
            "kube:other",
            "opsctl: kube:other: kubectl failed: error: context \"other\" does not exist; try it by hand\n",
        ),
        (
            "ssh://root@down",
            "opsctl: docker:ssh://root@down: ssh failed: ssh: connect to host ssh://root@down port 22: No route to host; try it by hand\n",
        ),
    ] {
        let run = import(&sandbox, &[source]);
        assert_eq!((run.code, run.stderr.as_str()), (Some(1), message), "{source}");
        assert!(!sandbox.path("lab").exists(), "{source}");
    }
    let run = import(&sandbox, &["systemd:-oProxyCommand=x"]);
    assert_eq!(run.code, Some(1));
    assert!(
        run.stderr.contains("`-oProxyCommand=x` is not an ssh destination; write one such as `root@nas`"),
        "{run:?}"
    );
}

#[test]
fn a_compose_file_that_cannot_be_read_is_an_error_with_its_line() {
    let good = "services:\n  a: {image: a}\n";
    for (file, text, from, message) in [
        (
            "s/compose.yaml",
            "services:\n  a:\n\timage: a\n",
            &["s", "s/compose.yaml"][..],
            "opsctl: a tab in the indentation in s/compose.yaml, line 3, column 2; indent with spaces\n",
        ),
        (
            "s/compose.override.yaml",
            "services: [\n",
            &["s"],
            "opsctl: a bracket that is not closed in s/compose.override.yaml, line 1, column 11; add the closing `]` or `}`\n",
        ),
        (
            "s/compose.yaml",
            "web:\n  image: a\n",
            &["s", "s/compose.yaml"],
            "opsctl: s/compose.yaml has no `services`; put its services below that key, or remove the file\n",
        ),
    ] {
        let sandbox = sandbox();
        sandbox.write("s/compose.yaml", good);
        sandbox.write(file, text);
        for source in from {
            let run = import(&sandbox, &[source]);
            assert_eq!((run.code, run.stderr.as_str()), (Some(1), message), "{source}");
            assert!(!sandbox.path("lab").exists());
        }
    }
    let sandbox = sandbox();
    sandbox.write("s/compose.yaml", good);
    sandbox.write("s/compose.override.yaml", "services: {a: {ports: !override ['80:80']}}\n");
    assert_eq!(import(&sandbox, &["s"]).code, Some(0), "tags of compose are no mistake");
    assert!(imported(&sandbox).contains("tcp: [80]"));
}

#[test]
fn an_existing_file_is_kept_and_the_diff_applies() {
    let sandbox = sandbox();
    let before = "hosts:\n    nas: {address: 192.168.1.10}   # mine\n\nservices:\n    jellyfin: {host: nas}\n\n# limits\npolicy: {restart: {limit: 1}}\n";
    sandbox.write("lab/hosts.yaml", before);
    let media = "from/stacks/media";
    let run = import(&sandbox, &[media]);
    let message = "opsctl: lab/hosts.yaml exists already, and an import overwrites nothing; name another folder, or show what is new with --diff\n";
    assert_eq!((run.code, run.stderr.as_str()), (Some(1), message));
    let diff = sandbox.opsctl(&["init", "--from", media, "--diff", "lab"], b"");
    assert_eq!((diff.code, diff.stderr.as_str()), (Some(0), ""), "{diff:?}");
    assert_eq!(sandbox.read("lab/hosts.yaml"), before, "a diff writes nothing");
    assert!(!sandbox.path("lab/.env").exists());
    assert!(
        !diff.stdout.lines().any(|line| line.starts_with('-') && !line.starts_with("---")),
        "{}",
        diff.stdout
    );
    assert!(
        diff.stdout.contains("+    sonarr:\n+      host: nas  # guess: the only host\n"),
        "{}",
        diff.stdout
    );
    assert!(!diff.stdout.contains("+    jellyfin:"), "{}", diff.stdout);

    let patch = std::process::Command::new("patch")
        .args(["-s", "lab/hosts.yaml"])
        .current_dir(sandbox.path(""))
        .stdin(std::fs::File::open(sandbox.write("lab.diff", &diff.stdout)).unwrap())
        .status();
    assert!(patch.unwrap().success());
    let render =
        sandbox.opsctl(&["render", "--hosts", "lab/hosts.yaml", "--out", "project", "--tier", "none"], b"");
    let others =
        render.stderr.lines().filter(|line| !line.contains("a mod of the client can silence the hooks"));
    assert_eq!((render.code, others.count()), (Some(0), 0), "{render:?}");
    let again = sandbox.opsctl(&["init", "--from", media, "--diff", "lab"], b"");
    assert_eq!(again.stdout, "");
    assert_eq!(again.stderr, "opsctl: lab/hosts.yaml lists all hosts and services of the sources\n");
}

#[test]
fn a_diff_states_the_checks_that_a_domain_implies() {
    let sandbox = sandbox();
    sandbox.write("lab/hosts.yaml", "domain: example.net\n");
    let diff = sandbox.opsctl(&["init", "--from", "from/stacks/monitoring", "--diff", "lab"], b"").stdout;
    let note = "+  # monitoring-redis: `domain` gives it the health check https://monitoring-redis.example.net/health: state `health:` if that is wrong\n";
    assert!(diff.contains(note), "{diff}");
    assert!(!diff.contains("# grafana: `domain`"), "{diff}");
}

#[test]
fn a_diff_that_cannot_be_inserted_is_refused() {
    let sandbox = sandbox();
    sandbox.write("lab/hosts.yaml", "services: {a: {}}\n");
    let run = sandbox.opsctl(&["init", "--from", "from/stacks/home", "--diff", "lab"], b"");
    assert_eq!(run.code, Some(1));
    let start = "opsctl: `hosts` or `services` in lab/hosts.yaml is not a map with one entry for each line";
    assert!(run.stderr.starts_with(start), "{}", run.stderr);
}

#[test]
fn what_is_outside_of_a_folder_is_not_read() {
    let sandbox = Sandbox::new();
    sandbox.write("other/compose.yaml", "services: {secret: {image: x}}\n");
    sandbox.write("lab/a/compose.yaml", "include: [../../other/compose.yaml]\nservices: {a: {image: a}}\n");
    sandbox.write(
        "lab/b/compose.yaml",
        "services: {b: {image: b, extends: {file: ../../other/compose.yaml, service: secret}}}\n",
    );
    std::fs::create_dir_all(sandbox.path("lab/c")).unwrap();
    std::os::unix::fs::symlink(sandbox.path("other/compose.yaml"), sandbox.path("lab/c/compose.yaml"))
        .unwrap();
    assert_eq!(sandbox.opsctl(&["init", "--from", "lab", "new"], b"").code, Some(0));
    let text = sandbox.read("new/hosts.yaml");
    assert!(text.contains("\n  a:\n") && text.contains("\n  b:\n") && !text.contains("secret"), "{text}");
}

//! `opsctl init`: the starter works, and existing files are kept.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::sandbox::Sandbox;

const FILES: [&str; 6] =
    ["hosts.yaml", "hosts.schema.json", "Dockerfile", ".dockerignore", "compose.yaml", ".env"];

#[test]
fn a_starter_renders_and_checks() {
    let sandbox = Sandbox::new();
    let run = sandbox.opsctl(&["init", "lab"], b"");
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{run:?}");
    assert_eq!(run.stdout, FILES.map(|file| format!("lab/{file}\n")).concat());
    let render = ["render", "--hosts", "lab/hosts.yaml", "--out", "project"];
    assert_eq!(sandbox.opsctl(&render, b"").code, Some(0));
    let check = sandbox.opsctl(&[&render[..], &["--check"]].concat(), b"");
    assert_eq!((check.code, check.stderr.as_str()), (Some(0), ""));
    assert!(
        sandbox.read("lab/.env").lines().any(|line| line == "CLAUDEOPS_AGENT=lab"),
        "the agent has a name"
    );
    for folder in ["lab/repos", "lab/ssh"] {
        assert!(sandbox.path(folder).is_dir(), "compose.yaml mounts {folder}");
    }
}

/// What init prints on a terminal where a person types these lines.
fn on_a_terminal(sandbox: &Sandbox, lines: &str) -> String {
    let line = format!("printf {lines:?} | {} init lab", env!("CARGO_BIN_EXE_opsctl"));
    let line = line.replacen("| ", "| script -qec '", 1) + "' /dev/null";
    let output =
        std::process::Command::new("sh").args(["-c", &line]).current_dir(sandbox.path(".")).output().unwrap();
    String::from_utf8(output.stdout).unwrap().replace('\r', "")
}

#[test]
fn a_person_is_asked_for_the_tier_and_for_sources() {
    let sandbox = Sandbox::new();
    sandbox.write("stack/compose.yaml", "services: {sonarr: {image: sonarr}}\n");
    let printed = on_a_terminal(&sandbox, "5\n2\nstack\n");
    assert!(printed.contains("`5` is not a tier; write 1, 2, 3 or none"), "{printed}");
    let hosts = sandbox.read("lab/hosts.yaml");
    assert!(hosts.contains("\n  tier: 2 ") && hosts.contains("sonarr:"), "{hosts}");
}

#[test]
fn the_tier_is_that_of_the_rendered_sessions() {
    for (choice, tier) in [(&[][..], 1), (&["--tier", "3"], 3), (&["--tier", "none"], 0)] {
        let sandbox = Sandbox::new();
        sandbox.opsctl(&[&["init"], choice, &["lab"]].concat(), b"");
        std::fs::copy(sandbox.path("lab/hosts.yaml"), sandbox.path("hosts.yaml")).unwrap();
        let status = |when| {
            let run = sandbox.opsctl(&["status", "--no-hosts", "--json"], b"");
            let status: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
            assert_eq!(status["tier"].as_u64().unwrap_or(0), tier, "{choice:?}, {when}");
        };
        status("before it is rendered");
        let rendered = sandbox.opsctl(&["render"], b"");
        assert_eq!(rendered.stderr.contains("no tier: in sessions"), tier == 0, "{rendered:?}");
        status("rendered");
        assert_eq!(sandbox.opsctl(&["render", "--check"], b"").code, Some(0));
        sandbox.opsctl(&["render", "--tier", "2"], b"");
        assert_eq!(sandbox.opsctl(&["render", "--check"], b"").code, Some(0), "as it was rendered");
    }
}

#[test]
fn the_next_steps_are_printed_on_a_terminal() {
    let sandbox = Sandbox::new();
    let printed = on_a_terminal(&sandbox, "\n\n");
    let next = "next: edit hosts.yaml and .env in lab, then run there\n  docker compose up -d --build\n\
                or, without a container,\n  opsctl render --out project\n";
    assert!(printed.ends_with(&format!("lab/.env\n{next}")), "{printed}");
}

#[test]
fn the_file_for_keys_is_its_owners_alone() {
    let sandbox = Sandbox::new();
    sandbox.opsctl(&["init", "lab"], b"");
    let mode = sandbox.path("lab/.env").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn the_egress_proxy_is_added_on_request() {
    let sandbox = Sandbox::new();
    let run = sandbox.opsctl(&["init", "--egress", "lab"], b"");
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.stdout.ends_with("lab/egress.yaml\n"), "{run:?}");
    assert!(sandbox.path("lab/egress.yaml").is_file());
    assert!(sandbox.read("lab/.env").contains("\nCOMPOSE_FILE=compose.yaml:egress.yaml\n"));
    sandbox.opsctl(&["init", "plain"], b"");
    sandbox.opsctl(&["init", "--egress", "--guard", "both"], b"");
    assert!(sandbox.read("both/.env").contains("\nCOMPOSE_FILE=compose.yaml:egress.yaml:guard.yaml\n"));
    assert!(sandbox.read("both/guard.yaml").contains("opsctl.sock"));
    assert!(sandbox.read("plain/.env").contains("\n#COMPOSE_FILE=compose.yaml:egress.yaml\n"));
}

#[test]
fn the_guard_has_an_ssh_folder_of_its_own() {
    let sandbox = Sandbox::new();
    let mount = "- ./guard-ssh:/home/guard/.ssh:ro";
    for (option, file) in [("--guard", "guard.yaml"), ("--fleet", "compose.fleet.yaml")] {
        assert_eq!(sandbox.opsctl(&["init", option, &option[2..]], b"").code, Some(0));
        assert!(sandbox.path(&format!("{}/guard-ssh", &option[2..])).is_dir(), "{option}");
        assert!(sandbox.read(&format!("{}/{file}", &option[2..])).contains(mount), "{option}");
    }
    sandbox.opsctl(&["init", "plain"], b"");
    assert!(!sandbox.path("plain/guard-ssh").exists());
    let dockerfile = include_str!("../../Dockerfile");
    assert!(dockerfile.contains("--create-home --shell /usr/sbin/nologin guard"), "the guard has a home");
}

/// An image whose `hosts.yaml` asks without a key cannot be built.
#[test]
fn the_key_is_made_without_an_image_of_the_installation() {
    let text = include_str!("../../templates/starter/guard.yaml");
    let compose: serde_json::Value = serde_saphyr::from_str(text).unwrap();
    let key = &compose["services"]["key"];
    assert_eq!(key["image"], "${OPSCTL_IMAGE:-opsctl}");
    assert!(key["build"].is_null(), "{key}");
    assert_eq!(key["profiles"], serde_json::json!(["key"]));
    let guard = &compose["services"]["guard"];
    for same in ["user", "read_only", "cap_drop", "security_opt"] {
        assert_eq!(key[same], guard[same], "{same}");
    }
    assert_eq!(key["volumes"][0], guard["volumes"][0]);
}

#[test]
fn a_file_that_is_there_stays_and_nothing_else_is_written() {
    let sandbox = Sandbox::new();
    sandbox.write("lab/.env", "KEY=mine");
    let run = sandbox.opsctl(&["init", "lab"], b"");
    assert_eq!(run.code, Some(1));
    assert_eq!(
        run.stderr,
        "opsctl: lab/.env exists already; name another folder, or overwrite it with --force\n"
    );
    assert_eq!(sandbox.read("lab/.env"), "KEY=mine");
    assert!(!sandbox.path("lab/hosts.yaml").exists());

    assert_eq!(sandbox.opsctl(&["init", "--force", "lab"], b"").code, Some(0));
    assert_ne!(sandbox.read("lab/.env"), "KEY=mine");
}

#[test]
fn a_folder_that_cannot_be_created_is_reported_in_one_line() {
    let sandbox = Sandbox::new();
    sandbox.write("lab", "a file");
    let run = sandbox.opsctl(&["init", "lab"], b"");
    assert_eq!(run.code, Some(1));
    assert_eq!(run.stderr.lines().count(), 1);
    assert!(run.stderr.starts_with("opsctl: lab/repos cannot be written ("), "{}", run.stderr);
}

#[test]
fn every_variable_that_is_read_is_in_the_example_of_env() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut read = BTreeSet::new();
    variables_below(&root.join("src"), &mut read);
    variables_below(&root.join("crates"), &mut read);
    assert!(read.len() > 5, "{read:?}");
    let example = std::fs::read_to_string(root.join("templates/starter/.env.example")).unwrap();
    let missing: Vec<&String> = read
        .iter()
        .filter(|name| {
            !example.lines().any(|line| line.trim_start_matches('#').starts_with(&format!("{name}=")))
        })
        .collect();
    assert_eq!(missing, [""; 0]);
}

/// Every `CLAUDEOPS_…` in the sources below a folder.
fn variables_below(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            variables_below(&entry, found);
            continue;
        }
        let text = std::fs::read_to_string(&entry).unwrap();
        for (at, _) in text.match_indices("CLAUDEOPS_") {
            let name =
                text[at..].split(|c: char| !c.is_ascii_uppercase() && !c.is_ascii_digit() && c != '_').next();
            // A family of names, such as CLAUDEOPS_TIER{n}_MODEL, is written out in the example.
            found.extend(
                name.filter(|name| {
                    *name == "CLAUDEOPS_TIER" || !name.ends_with("TIER") && !name.ends_with('_')
                })
                .map(str::to_owned),
            );
        }
    }
}

#[test]
fn compose_yaml_is_hardened() {
    let text = include_str!("../../templates/starter/compose.yaml");
    let compose: serde_json::Value = serde_saphyr::from_str(text).unwrap();
    let agent = &compose["services"]["claude-ops"];
    assert_eq!(agent["read_only"], true);
    assert_eq!(agent["cap_drop"], serde_json::json!(["ALL"]));
    assert_eq!(agent["security_opt"], serde_json::json!(["no-new-privileges:true"]));
    assert_eq!(agent["sysctls"]["net.ipv4.ping_group_range"], "0 2147483647");
    assert!(agent["pids_limit"].is_u64() && agent["mem_limit"].is_string(), "{agent}");
    let volumes: Vec<&str> = agent["volumes"].as_array().unwrap().iter().filter_map(|v| v.as_str()).collect();
    let writable: Vec<&&str> = volumes.iter().filter(|volume| !volume.ends_with(":ro")).collect();
    assert_eq!(writable, [&"state:/state", &"results:/results"]);
}

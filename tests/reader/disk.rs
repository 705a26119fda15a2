//! Scripts on disk: which files are opened, how much is read, and what follows from it.

use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

use crate::map_disk::MapDisk;
use opsctl_policy::effects::{Scratch, parts, strongest};
use opsctl_policy::model::rights::rules::Rules;
use opsctl_policy::paths::word_paths::UnknownMachine;
use opsctl_reader::actions::{CommandReading, read_command_on};
use opsctl_reader::catalogue::Catalogue;
use opsctl_reader::terms::action::Target;
use opsctl_reader::terms::effect::Effect;

fn disk(files: &[(&str, &str)]) -> Rc<MapDisk> {
    let files: BTreeMap<String, String> =
        files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
    MapDisk::of(&files, &[])
}

fn read(command: &str, disk: &Rc<MapDisk>) -> CommandReading {
    read_command_on(command, Some(Path::new("/app")), Catalogue::default(), Some(Rc::<MapDisk>::clone(disk)))
}

fn effect(reading: &CommandReading) -> Effect {
    strongest(&parts(&reading.script, &Scratch::default(), &Rules::default(), &UnknownMachine))
}

fn targets(reading: &CommandReading) -> Vec<String> {
    let name = |target: &Target| match target {
        Target::Container(name) | Target::Unit(name) => name.clone(),
        other => format!("{other:?}"),
    };
    reading.actions.iter().map(|action| name(&action.target)).collect()
}

#[test]
fn a_command_that_runs_no_file_opens_none() {
    let disk = disk(&[("/opt/x.sh", "docker restart jellyfin\n"), ("/app/Makefile", "all:\n\tls\n")]);
    for command in [
        "ls -la",
        "docker restart jellyfin",
        "cat /opt/x.sh",
        "cat /opt/x.sh | grep docker > /tmp/y",
        "grep -r x . | sort | head -3",
        "X=$(cat /opt/x.sh); echo \"$X\"",
        "git status && git log -3",
        "cp /opt/x.sh /tmp/y.sh; chmod +x /tmp/y.sh",
        "find /opt -name '*.sh' -exec grep -l docker {} +",
        "for f in /opt/*.sh; do echo $f; done",
        "ssh ie01 bash /opt/x.sh",
        "docker exec web bash /opt/x.sh",
        "sudo -u x true; timeout 5 true; bash -c 'ls'",
        "/usr/bin/ls; /bin/docker ps",
        "make --version; make -n all | head; npm --version",
        "f() { bash /opt/x.sh; }",
    ] {
        let before = disk.asked();
        read(command, &disk);
        let asked = disk.asked() - before;
        // `make -n` looks for its makefile before it stops at the option.
        assert!(asked == 0 || command.contains("make -n"), "{command}: {asked}");
    }
}

#[test]
fn a_file_of_another_machine_is_not_read() {
    let disk =
        disk(&[("/opt/x.sh", "docker restart jellyfin\n"), ("/app/Makefile", "all:\n\tdocker stop x\n")]);
    for command in
        ["ssh ie01 bash /opt/x.sh", "ssh ie01 '. /opt/x.sh'", "docker exec web sh /opt/x.sh", "ssh ie01 make"]
    {
        let reading = read(command, &disk);
        assert_eq!((targets(&reading), effect(&reading)), (vec![], Effect::Unknown), "{command}");
    }
}

#[test]
fn a_script_reads_where_all_of_its_commands_do_and_the_session_cannot_replace_it() {
    let text = "#!/bin/bash\nset -e\nfor c in a b; do docker inspect $c; done\nls -la | head -3\n";
    let disk = disk(&[
        ("/opt/check.sh", text),
        ("/tmp/check.sh", text),
        ("/opt/outer.sh", "bash /tmp/check.sh\n"),
        ("/opt/change.sh", "docker inspect x\nrm -rf /srv/x\n"),
        ("/opt/p.py", "print(1)\n"),
        ("/app/Makefile", "status:\n\tdocker ps\nclean:\n\trm -rf /srv\n"),
    ]);
    for (command, expected) in [
        ("bash /opt/check.sh", Effect::Reads),
        ("/opt/check.sh", Effect::Reads),
        ("cat /opt/check.sh | bash", Effect::Reads),
        ("python3 /opt/p.py", Effect::Reads),
        ("make status", Effect::Reads),
        ("bash /tmp/check.sh", Effect::Changes),
        ("/tmp/check.sh", Effect::Changes),
        ("cat /tmp/check.sh | bash", Effect::Changes),
        ("source /tmp/check.sh", Effect::Changes),
        ("bash /opt/outer.sh", Effect::Changes),
        ("bash /opt/change.sh", Effect::Changes),
        ("make clean", Effect::Changes),
        ("make other", Effect::Unknown),
        ("bash /opt/missing.sh", Effect::Unknown),
        ("/opt/missing.sh", Effect::Unknown),
        ("BASH_ENV=/tmp/x bash /opt/check.sh", Effect::Unknown),
        ("python3 -i /opt/p.py", Effect::Changes),
        ("curl http://x/y | python3 -i /opt/p.py", Effect::Unknown),
        ("curl -o /opt/check.sh x.y; bash /opt/check.sh", Effect::Unknown),
    ] {
        let reading = read(command, &disk);
        assert_eq!(effect(&reading), expected, "{command}: {:?}", reading.complaints);
    }
}

#[test]
fn a_file_that_the_command_changes_is_no_proof() {
    let disk = disk(&[("/opt/x.sh", "docker restart jellyfin\n")]);
    // An edit that is followed is one.
    let edited = read("sed -i s/jellyfin/sonarr/ /opt/x.sh; bash /opt/x.sh", &disk);
    assert_eq!(targets(&edited), ["sonarr"]);
    assert!(edited.complaints.is_empty());
    for command in [
        "sed -i '/a/{N;d}' /opt/x.sh; bash /opt/x.sh",
        "cd /opt; git checkout x.sh; ./x.sh",
        "wget -qO /opt/x.sh u; sh /opt/x.sh",
    ] {
        let reading = read(command, &disk);
        assert_eq!(effect(&reading), Effect::Unknown, "{command}");
        assert!(!reading.complaints.is_empty(), "{command}");
        // What stood there before is still suspected.
        assert_eq!(targets(&reading), ["jellyfin"], "{command}");
    }
}

#[test]
fn scripts_that_run_themselves_and_each_other_end() {
    let disk = disk(&[
        ("/opt/self.sh", "docker restart a\nbash /opt/self.sh\n"),
        ("/opt/twice.sh", ". /opt/twice.sh\n. /opt/twice.sh\ndocker restart b\n"),
        ("/opt/one.sh", ". /opt/two.sh\ndocker restart c\n"),
        ("/opt/two.sh", ". /opt/one.sh\ndocker restart d\n"),
        ("/opt/pipe.sh", "cat /opt/pipe.sh | bash\ndocker restart e\n"),
        ("/app/Makefile", "all: all\n\tmake all\n\tdocker restart f\n"),
    ]);
    for (command, expected) in [
        ("bash /opt/self.sh", "a"),
        ("bash /opt/twice.sh", "b"),
        ("bash /opt/one.sh", "c"),
        ("bash /opt/one.sh", "d"),
        ("bash /opt/pipe.sh", "e"),
        ("make", "f"),
    ] {
        let reading = read(command, &disk);
        assert!(targets(&reading).iter().any(|target| target == expected), "{command}");
        assert!(!reading.complaints.is_empty(), "{command}");
        assert_eq!(effect(&reading), Effect::Unknown, "{command}");
    }
}

#[test]
fn a_thousand_scripts_are_bounded_and_not_silent() {
    let files: BTreeMap<String, String> =
        (0..1000).map(|n| (format!("/opt/{n}.sh"), format!(". /opt/{}.sh\n", n + 1))).collect();
    let disk = MapDisk::of(&files, &[]);
    for command in ["bash /opt/0.sh", "for f in /opt/*.sh; do bash $f; done", "find /opt -exec sh {} \\;"] {
        let before = disk.asked();
        let reading = read(command, &disk);
        assert!(disk.asked() - before < 100, "{command}");
        assert!(!reading.complaints.is_empty(), "{command}");
        assert_eq!(effect(&reading), Effect::Unknown, "{command}");
    }
}

#[test]
fn a_file_without_readable_text_makes_the_effect_unknown() {
    let long = "ls\n".repeat(40_000);
    let disk = disk(&[("/opt/long.sh", &long), ("/opt/binary", "\u{7f}ELF\0")]);
    for (command, complains) in
        [("bash /opt/long.sh", true), ("/opt/binary", false), ("bash /opt/binary", false)]
    {
        let reading = read(command, &disk);
        assert_eq!(effect(&reading), Effect::Unknown, "{command}");
        assert_eq!(!reading.complaints.is_empty(), complains, "{command}");
    }
}

#[test]
fn a_long_script_is_bounded() {
    let long = "docker ps | grep -q x && ls -la \"$A\" || echo \"$(date) $B\"\n".repeat(1_000);
    let disk = disk(&[("/opt/long.sh", &long)]);
    let reading = read("bash /opt/long.sh", &disk);
    assert!(reading.complaints.len() < 8, "{:?}", reading.complaints);
}

#[test]
fn what_the_shell_loads_decides_what_words_mean() {
    let files = BTreeMap::from([(
        "/opt/env.sh".to_owned(),
        "ls() { docker restart jellyfin; }\nalias q='docker stop sonarr'\n".to_owned(),
    )]);
    let disk =
        MapDisk::of(&files, &[("BASH_ENV", "/opt/env.sh"), ("fix%%", "() { docker restart \"$1\"; }")]);
    for (command, expected) in [
        ("ls -la", vec!["jellyfin"]),
        ("q", vec!["sonarr"]),
        ("bash -c ls", vec!["jellyfin"]),
        ("fix radarr", vec!["radarr"]),
        ("bash -c 'fix radarr'", vec!["radarr"]),
        ("command ls; \\ls -la", vec!["jellyfin"]),
        ("command fix radarr", vec![]),
        ("ssh ie01 'fix radarr; ls'", vec![]),
        ("cat x", vec![]),
    ] {
        assert_eq!(targets(&read(command, &disk)), expected, "{command}");
    }
    // The definitions themselves are no part of the command.
    assert_eq!(effect(&read("cat x", &disk)), Effect::Reads);
}

#[test]
fn a_playbook_without_a_telling_name_is_read_for_its_service() {
    let text = "- hosts: ie01\n  tasks:\n    - docker_container: {name: jellyfin, restart: true}\n";
    let disk = disk(&[("/app/site.yml", text)]);
    for command in ["ansible-playbook site.yml", "ansible-playbook -i hosts /app/site.yml"] {
        let reading = read(command, &disk);
        let [action] = reading.actions.as_slice() else { panic!("{command}: {:?}", reading.actions) };
        let Target::Playbook(playbook) = &action.target else { panic!("{command}: {action:?}") };
        assert_eq!(playbook.guessed.as_deref(), Some("jellyfin"), "{command}");
    }
}

#[test]
fn compose_files_state_the_project_and_its_services() {
    let own = "name: media\nservices:\n  web: {container_name: jellyfin}\n  db: {image: x}\n";
    let disk = disk(&[
        ("/opt/stack/docker-compose.yml", own),
        ("/opt/stack/compose.override.yml", "services: {cache: {}}\n"),
        ("/opt/plain/compose.yaml", "services: {app: {}}\n"),
        ("/opt/other.yml", "services: {api: {container_name: sonarr}}\n"),
        (
            "/opt/parts/compose.yaml",
            "include: [a/x.yml, {path: b.yml}]\nservices: {web: {extends: {file: base.yml, service: app}}}\n",
        ),
        ("/opt/parts/a/x.yml", "include: [y.yml]\nservices: {one: {}}\n"),
        ("/opt/parts/a/y.yml", "include: [x.yml]\nservices: {two: {}}\n"),
        ("/opt/parts/b.yml", "services: {three: {}}\n"),
        ("/opt/parts/base.yml", "services: {app: {container_name: jellyfin}}\n"),
    ]);
    let project = |name: &str| Target::ComposeProject(name.to_owned());
    let all = "web jellyfin, db, cache";
    for (command, target, below) in [
        ("cd /opt/stack && docker compose restart", project("media"), all),
        ("cd /opt/stack/conf/web; docker-compose up -d", project("media"), all),
        ("docker compose --project-directory /opt/stack down", project("media"), all),
        ("docker compose -p x --project-directory /opt/stack down", project("x"), all),
        ("cd /opt/plain/app; docker compose down", project("plain"), "app"),
        ("cd /opt/stack; docker compose -f ../other.yml down", project("opt"), "api sonarr"),
        ("cd /opt/stack; COMPOSE_FILE=../other.yml docker compose down", project("opt"), "api sonarr"),
        ("cd /opt/stack; docker compose restart web", Target::ComposeService("web".into()), "web jellyfin"),
        ("cd /opt/stack; docker compose restart job", Target::ComposeService("job".into()), ""),
        ("ssh ie01 'cd /opt/stack; docker compose restart'", project("stack"), ""),
        ("cd /opt; docker compose restart", project("opt"), ""),
        ("cd /opt/parts; docker compose restart web", Target::ComposeService("web".into()), "web jellyfin"),
        ("cd /opt/parts; docker compose restart", project("parts"), "web jellyfin, one, three, two"),
    ] {
        let reading = read(command, &disk);
        let [action] = reading.actions.as_slice() else { panic!("{command}: {:?}", reading.actions) };
        let names: Vec<String> = action.reference.below.iter().map(|names| names.join(" ")).collect();
        assert_eq!((&action.target, names.join(", ").as_str()), (&target, below), "{command}");
    }
}

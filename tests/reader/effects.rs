//! Every row of `tests/effects` says whether a command only reads or changes something. A change is never taken for a
//! read; hardly a read is taken for anything else.
//!
//! `FAMILY=zfs,disks cargo test --test reader effects -- --nocapture` checks only these files, and prints every read that
//! is not proved.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::corpus;
use opsctl_policy::effects::{PartEffect, Scratch, parts, strongest};
use opsctl_policy::model::rights::rules::Rules;
use opsctl_policy::paths::word_paths::UnknownMachine;
use opsctl_reader::actions::read_command;
use opsctl_reader::terms::effect::Effect;
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    command: String,
    effect: Expected,
    why: String,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Expected {
    Read,
    Change,
    Unknown,
}

/// The rows of each file, by its stem.
fn rows() -> BTreeMap<String, Vec<Row>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/effects");
    let mut families = BTreeMap::new();
    for file in fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let family = path.file_stem().unwrap().to_string_lossy().into_owned();
        if !corpus::is_selected(&family) {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let row =
            |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{family}: {error}: {line}"));
        let rows = text.lines().map(row).collect();
        families.insert(family, rows);
    }
    families
}

fn proved(command: &str) -> (Effect, Vec<PartEffect>) {
    let reading = read_command(command, Some(Path::new("/app")));
    let parts = parts(&reading.script, &Scratch::default(), &Rules::default(), &UnknownMachine);
    (strongest(&parts), parts)
}

/// The parts that are not proved to read, with the reasons.
fn reasons(parts: &[PartEffect]) -> String {
    let doubtful = parts.iter().filter(|part| part.effect != Effect::Reads);
    doubtful.map(|part| format!("\n    {}: {}: {}", part.effect.as_str(), part.text, part.why)).collect()
}

#[test]
fn no_change_is_taken_for_a_read() {
    let mut wrong = Vec::new();
    for (family, rows) in rows() {
        for row in rows.iter().filter(|row| row.effect == Expected::Change) {
            if proved(&row.command).0 == Effect::Reads {
                wrong.push(format!("{family}: {} ({})", row.command, row.why));
            }
        }
    }
    assert!(wrong.is_empty(), "{} changes:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn options_that_start_programs_make_the_effect_unknown() {
    let mut wrong = Vec::new();
    for (family, rows) in rows() {
        for row in rows.iter().filter(|row| row.effect == Expected::Unknown) {
            let (effect, _) = proved(&row.command);
            if effect != Effect::Unknown {
                wrong.push(format!("{family}: {} ({}): {}", row.command, row.why, effect.as_str()));
            }
        }
    }
    assert!(wrong.is_empty(), "{} commands:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn nearly_every_read_is_proved_to_read() {
    let (mut wrong, mut count) = (Vec::new(), 0);
    let mut by_family: BTreeMap<String, usize> = BTreeMap::new();
    for (family, rows) in rows() {
        for row in rows.iter().filter(|row| row.effect == Expected::Read) {
            count += 1;
            let (effect, parts) = proved(&row.command);
            if effect != Effect::Reads {
                *by_family.entry(family.clone()).or_default() += 1;
                wrong.push(format!("{family}: {} ({}){}", row.command, row.why, reasons(&parts)));
            }
        }
    }
    let summary =
        format!("{} of {count} reads are not proved: {by_family:?}\n{}\n", wrong.len(), wrong.join("\n"));
    // A single family is too small for the limit: its rows are only listed.
    if std::env::var_os("FAMILY").is_some() {
        println!("{summary}");
    } else {
        assert!(wrong.len() * 100 <= count, "{summary}");
    }
}

#[test]
fn what_a_file_states_is_no_known_verb_option_or_target() {
    for unknown in [
        "docker $(cat /srv/o)",
        "docker \"$(cat /root/o)\"",
        "xargs docker </srv/o",
        "docker container $(head -1 /srv/o) jellyfin",
        "docker run $(cat /srv/o)",
        "systemctl $(cat /srv/o)",
        "apt-get install $(cat /srv/o)",
        "rm -rf $(cat /srv/n)",
        "echo x | tee $(cat /srv/n)",
        "echo x >$(cat /srv/n)",
        "git -c alias.x='!sh /root/s' x",
        "docker exec $(cat /srv/v) ls",
        "sudo -u $(cat /srv/v) docker ps",
        "systemctl start $(cat /srv/v)",
    ] {
        assert_eq!(proved(unknown).0, Effect::Unknown, "{unknown}");
    }
    for known in [
        "docker restart $(cat /srv/list)",
        "docker rm $(docker ps -aq -f status=exited)",
        "kill -HUP $(cat /run/nginx.pid)",
        "chown $(id -u):$(id -g) /srv/x",
        "cp /srv/a /srv/b-$(cat /etc/hostname)",
        "systemctl status $(cat /srv/list)",
        "tar -I 'zstd -9' -cf /srv/x.tar.zst /srv/app",
        "GIT_PAGER='less -R' git -c core.pager=cat log",
    ] {
        assert_ne!(proved(known).0, Effect::Unknown, "{known}");
    }
}

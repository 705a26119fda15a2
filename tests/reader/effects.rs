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
use opsctl_reader::catalogue::Catalogue;
use opsctl_reader::catalogue::program::{Form, How, Program, Role, Stated, Texts, Words};
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
        "echo x >$(cat /srv/n)",
        "git -c alias.x='!sh /root/s' x",
        "docker exec $(cat /srv/v) ls",
        "sudo -u $(cat /srv/v) docker ps",
        "systemctl start $(cat /srv/v)",
    ] {
        assert_eq!(proved(unknown).0, Effect::Unknown, "{unknown}");
    }
    // No session has written the list; it writes a file.
    assert_eq!(proved("echo x | tee $(cat /srv/n)").0, Effect::Changes);
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

/// The paths of verbs without a pattern.
fn plain_verbs(program: &Program) -> Vec<String> {
    let paths = program.verbs.iter().flat_map(|verb| verb.paths.iter());
    let is_plain = |path: &&Texts| path.iter().all(|word| word.chars().all(|c| c.is_ascii_alphanumeric()));
    paths.filter(is_plain).map(|path| path.join(" ")).collect()
}

#[test]
fn an_option_that_is_not_described_may_take_the_word_after_it() {
    let (mut wrong, mut count) = (Vec::new(), 0);
    let mut check = |name: &str, words: &str| {
        count += 1;
        let command = format!("{name} --zzq {words}");
        if proved(&command).0 == Effect::Reads {
            wrong.push(command);
        }
    };
    for program in Catalogue::default().programs() {
        let Some(name) = program.names.iter().find(|name| !name.contains(['*', '[', '.'])) else { continue };
        let verbs = plain_verbs(program);
        let of_effect = |effect: fn(Effect) -> bool| {
            verbs.iter().filter(move |verb| effect(proved(&format!("{name} {verb}")).0))
        };
        if let Some(read) = of_effect(|effect| effect == Effect::Reads).find(|verb| !verb.contains(' ')) {
            of_effect(|effect| effect >= Effect::Changes).take(4).for_each(|verb| {
                check(name, &format!("{read} {verb}"));
                check(name, &format!("{read} --zzq {read} {verb}"));
            });
        }
        let has_words = |how| matches!(how, How::Command | How::Joined | How::Xargs);
        if program.form.runs.is_some_and(|runs| runs.after.0.is_some() && has_words(runs.how)) {
            check(name, "ls frobnicate");
        }
    }
    assert!(count > 1000, "only {count} commands");
    assert!(wrong.is_empty(), "{} of {count} commands:\n{}", wrong.len(), wrong.join("\n"));
}

/// Whether a form states that options which it does not list take no value: `flag: ["-*"]`.
fn states_flags_only(form: &Form) -> bool {
    form.options.iter().any(|(role, options)| *role == Role::Flag && options.contains(&"-*"))
}

/// Whether a form reads with options that it does not list.
fn has_open_options(form: &Form) -> bool {
    form.effect.is_some_and(|terms| terms.stated == Stated::Reads && terms.flags.is_none())
}

#[test]
fn an_option_that_is_not_described_is_not_proved_to_read_with_a_path() {
    let (mut wrong, mut count) = (Vec::new(), 0);
    for program in Catalogue::default().programs() {
        let Some(name) = program.names.iter().find(|name| !name.contains(['*', '['])) else { continue };
        let verbs = program.verbs.iter().filter_map(|verb| Some((verb.paths.first()?.0, &verb.form)));
        for (path, form) in verbs.chain([([].as_slice(), &program.form)]) {
            if !has_open_options(form) {
                continue;
            }
            let words: Vec<String> = path.iter().map(|word| word.replace('*', "x")).collect();
            let plain = format!("{name} {}", words.join(" "));
            let mut options = vec!["--xq1z=/tmp/x", "--xq1z=/root/x"];
            // Where words are files, the next word may be one.
            let is_next_value =
                form.files.is_some_and(|files| files.reads == Words::None && files.writes == Words::None)
                    && ![form, &program.form].into_iter().any(states_flags_only);
            options.extend(is_next_value.then_some("--xq1z /root/x"));
            for option in options {
                count += 1;
                let command = format!("{} {option}", plain.trim_end());
                if proved(&command).0 == Effect::Reads {
                    wrong.push(format!("{}: {command}", program.key));
                }
            }
        }
    }
    assert!(count > 2000, "only {count} commands");
    assert!(wrong.is_empty(), "{} of {count} commands:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn unlike_programs_have_a_closed_list_of_options_each() {
    // Entries of former times. A new one with more than three names states `flags`, or is divided.
    const MOST: usize = 66;
    let is_open = |program: &&Program| {
        program.names.len() > 3 && program.verbs.is_empty() && has_open_options(&program.form)
    };
    let open: Vec<&str> =
        Catalogue::default().programs().filter(is_open).map(|program| program.key).collect();
    assert!(open.len() <= MOST, "{} entries without `flags`: {}", open.len(), open.join(", "));
}

//! The disk of this machine: what is opened, and how.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use opsctl::machine::agent_side::AgentSide;
use opsctl::machine::disk::LocalDisk;
use opsctl_reader::shell::disk::{Disk as _, LONGEST_SCRIPT, Unreadable};
use tempfile::TempDir;

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

fn read(path: &Path) -> Result<String, Unreadable> {
    LocalDisk(AgentSide::HERE).read(path.to_str().expect("a plain path")).map(|file| file.text)
}

#[test]
fn only_regular_files_are_read_and_none_blocks() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("plain"), "ls\n").expect("a file");
    fs::write(path("empty"), "").expect("a file");
    fs::write(path("binary"), b"\x7fELF\0\0").expect("a file");
    fs::write(path("latin"), b"echo \xe9\n").expect("a file");
    fs::write(path("limit"), vec![b'#'; LONGEST_SCRIPT]).expect("a file");
    fs::write(path("large"), vec![b'#'; LONGEST_SCRIPT + 1]).expect("a file");
    fs::write(path("huge"), vec![b'#'; 10 << 20]).expect("a file");
    fs::write(path("program"), [&b"\x7fELF\0"[..], &vec![1; LONGEST_SCRIPT]].concat()).expect("a file");
    fs::create_dir(path("folder")).expect("a folder");
    assert!(Command::new("mkfifo").arg(path("fifo")).status().expect("mkfifo").success());
    symlink(path("plain"), path("link")).expect("a link");
    symlink("link", path("second")).expect("a link");
    symlink("loop", path("loop")).expect("a link");
    symlink("fifo", path("to-fifo")).expect("a link");
    symlink("/dev/zero", path("to-zero")).expect("a link");
    for (name, expected) in [
        ("plain", Ok("ls\n".to_owned())),
        ("link", Ok("ls\n".to_owned())),
        ("second", Ok("ls\n".to_owned())),
        ("folder/../plain", Ok("ls\n".to_owned())),
        ("empty", Ok(String::new())),
        ("latin", Ok("echo \u{fffd}\n".to_owned())),
        ("limit", Ok("#".repeat(LONGEST_SCRIPT))),
        ("binary", Err(Unreadable::Binary)),
        ("program", Err(Unreadable::Binary)),
        ("large", Err(Unreadable::TooLarge)),
        ("huge", Err(Unreadable::TooLarge)),
        ("folder", Err(Unreadable::NotRegular)),
        ("fifo", Err(Unreadable::NotRegular)),
        ("to-fifo", Err(Unreadable::NotRegular)),
        ("to-zero", Err(Unreadable::NotRegular)),
        ("loop", Err(Unreadable::Refused)),
        ("missing", Err(Unreadable::Missing)),
        ("plain/below", Err(Unreadable::Missing)),
    ] {
        assert_eq!(read(&path(name)), expected, "{name}");
    }
    for special in
        ["/dev/zero", "/dev/stdin", "/dev/tty", "/proc/self/environ", "/proc/kmsg", "/sys/kernel/notes"]
    {
        assert_eq!(read(Path::new(special)), Err(Unreadable::NotRegular), "{special}");
    }
}

#[test]
fn a_file_without_permission_is_refused() {
    let folder = folder();
    let path = folder.path().join("x.sh");
    fs::write(&path, "ls\n").expect("a file");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o0)).expect("rights");
    // root may read it all the same.
    let expected = if fs::read(&path).is_ok() { Ok("ls\n".to_owned()) } else { Err(Unreadable::Refused) };
    assert_eq!(read(&path), expected);
}

#[test]
fn secret_files_are_not_opened() {
    let folder = folder();
    for name in [".env", ".env.local", "id_rsa", ".netrc"] {
        fs::write(folder.path().join(name), "TOKEN=x\n").expect("a file");
        assert_eq!(read(&folder.path().join(name)), Err(Unreadable::Secret), "{name}");
    }
    fs::write(folder.path().join(".env.example"), "TOKEN=\n").expect("a file");
    assert_eq!(read(&folder.path().join(".env.example")), Ok("TOKEN=\n".to_owned()));
    symlink(".env", folder.path().join("env.sh")).expect("a link");
    assert_eq!(read(&folder.path().join("env.sh")), Err(Unreadable::Secret));
}

#[test]
fn every_link_on_the_path_is_named() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    fs::create_dir(path("real")).expect("a folder");
    fs::write(path("real/x.sh"), "ls\n").expect("a file");
    symlink("real", path("way")).expect("a link");
    symlink("way/x.sh", path("x")).expect("a link");
    let file = LocalDisk(AgentSide::HERE).read(path("x").to_str().expect("a plain path")).expect("the file");
    for name in ["x", "way", "real/x.sh"] {
        assert!(file.behind.iter().any(|behind| behind.ends_with(name)), "{name}: {:?}", file.behind);
    }
}

#[test]
fn a_file_that_changes_while_it_is_read_is_whole_or_refused() {
    let folder = folder();
    let path = folder.path().join("x.sh");
    let texts = ["a".repeat(60_000), "b".repeat(50_000)];
    fs::write(&path, &texts[0]).expect("a file");
    let is_done = AtomicBool::new(false);
    // Judged at the end: a failure in between would leave the writer running.
    let results = thread::scope(|scope| {
        scope.spawn(|| {
            for text in texts.iter().cycle().take_while(|_| !is_done.load(Ordering::Relaxed)) {
                fs::write(&path, text).expect("a file");
            }
        });
        let results: Vec<_> = (0..2_000).map(|_| read(&path)).collect();
        is_done.store(true, Ordering::Relaxed);
        results
    });
    for result in results {
        match result {
            Ok(text) => {
                assert!(text.is_empty() || texts.iter().any(|one| one.starts_with(&text)), "mixed");
            }
            Err(why) => assert_eq!(why, Unreadable::Changing),
        }
    }
}

#[test]
fn folders_are_listed_in_order() {
    let folder = folder();
    fs::write(folder.path().join("b.sh"), "").expect("a file");
    fs::create_dir(folder.path().join("a")).expect("a folder");
    let entries = LocalDisk(AgentSide::HERE).list(folder.path().to_str().expect("a plain path"));
    let names: Vec<(&str, bool)> =
        entries.iter().map(|entry| (entry.name.as_str(), entry.is_folder)).collect();
    assert_eq!(names, [("a", true), ("b.sh", false)]);
    assert_eq!(LocalDisk(AgentSide::HERE).list("/nowhere/at/all"), []);
}

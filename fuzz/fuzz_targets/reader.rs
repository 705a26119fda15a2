//! Any bytes: no panic, no hang, and nothing that a clearer text would not have shown. A NUL ends the command; the files
//! that it may run follow, each ended by a NUL.
#![no_main]

use std::path::Path;
use std::rc::Rc;

use libfuzzer_sys::fuzz_target;
use opsctl_reader::actions::{read_command, read_command_on};
use opsctl_reader::catalogue::Catalogue;
use opsctl_reader::shell::disk::{Disk, DiskFile, Entry, Unreadable};

/// The grammar's library panics on some broken texts, and the reader catches that; any other panic is a defect.
const CAUGHT: &str = "brush-parser";

fn abort_unless_caught() {
    // libFuzzer's own hook aborts on every panic: it has to go first.
    drop(std::panic::take_hook());
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !panic.location().is_some_and(|place| place.file().contains(CAUGHT)) {
            report(panic);
            std::process::abort();
        }
    }));
}

/// The names of the files, in the order of the input.
const NAMES: [&str; 6] =
    ["/app/x.sh", "/app/y.sh", "/app/Makefile", "/app/package.json", "/app/justfile", "/app/.git/config"];

struct Files(Vec<String>);

impl Disk for Files {
    fn read(&self, path: &str) -> Result<DiskFile, Unreadable> {
        let at = NAMES.iter().position(|name| *name == path).ok_or(Unreadable::Missing)?;
        let text = self.0.get(at).cloned().ok_or(Unreadable::Missing)?;
        Ok(DiskFile { text, behind: vec![] })
    }

    fn compose_variables(&self, path: &str) -> String {
        self.read(path).map(|file| file.text).unwrap_or_default()
    }

    fn list(&self, path: &str) -> Vec<Entry> {
        let names =
            NAMES.iter().take(self.0.len()).filter_map(|name| name.strip_prefix(path)?.strip_prefix('/'));
        names
            .filter(|name| !name.contains('/'))
            .map(|name| Entry { name: name.to_owned(), is_folder: false })
            .collect()
    }

    fn variable(&self, name: &str) -> Option<String> {
        (name == "HOME").then(|| "/app".to_owned())
    }

    fn function(&self, _: &str) -> Option<String> {
        None
    }
}

fuzz_target!(init: abort_unless_caught(), |data: &[u8]| {
    let mut parts = data.split(|byte| *byte == 0).map(|part| String::from_utf8_lossy(part).into_owned());
    let text = parts.next().unwrap_or_default();
    let disk = Rc::new(Files(parts.collect()));
    if !disk.0.is_empty() {
        read_command_on(&text, Some(Path::new("/app")), Catalogue::default(), Some(disk));
    }
    let reading = read_command(&text, Some(Path::new("/app")));
    for action in &reading.actions {
        assert!(!action.evidence.is_empty(), "an action without a word on what was seen");
    }
    // A text in single quotes is a word, and `echo` of a word does nothing.
    let said = format!("echo '{}'", text.replace('\'', "'\\''"));
    let reading = read_command(&said, None);
    // Only where it cannot be read (too many brackets, say) may it raise a suspicion.
    assert!(reading.actions.is_empty() || !reading.complaints.is_empty(), "a word that is only said acts");
    // Bash has run the first line before it reads the next.
    let first = read_command(&format!("docker restart jellyfin\n{text}"), None);
    assert!(!first.actions.is_empty(), "a whole first line is not seen");
});

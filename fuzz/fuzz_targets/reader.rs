//! Any bytes: no panic, no hang, and nothing that a clearer text would not have shown.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use opsctl::actions::read_command;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let reading = read_command(&text, Some(Path::new("/app")));
    for action in &reading.actions {
        assert!(!action.evidence.is_empty(), "an action without a word on what was seen");
    }
    // A text in single quotes is a word, and `echo` of a word does nothing.
    let said = format!("echo '{}'", text.replace('\'', "'\\''"));
    assert!(read_command(&said, None).actions.is_empty(), "a word that is only said acts");
    // Bash has run the first line before it reads the next.
    let first = read_command(&format!("docker restart jellyfin\n{text}"), None);
    assert!(!first.actions.is_empty(), "a whole first line is not seen");
});

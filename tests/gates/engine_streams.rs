//! The gate before container engines: what clients write to commands and containers.

use crate::fake_engine::Gated;

fn exec(gated: &Gated, body: &str) -> (u16, String) {
    gated.ask("POST", "/v1.41/containers/k1/exec", body)
}

#[test]
fn a_command_gets_no_keys_of_a_terminal() {
    let (gated, engine) = Gated::before_fake(2, &[]);
    for program in ["less", "screen", "top"] {
        let body = format!(r#"{{"Cmd":["{program}"],"AttachStdin":true,"AttachStdout":true,"Tty":true}}"#);
        let (status, answer) = exec(&gated, &body);
        assert!(status == 403 && answer.contains("terminal"), "{program}: {status} {answer}");
    }
    assert_eq!(engine.count("POST", "/exec"), 0);
    for body in [r#"{"Cmd":["ls"],"Tty":true}"#, r#"{"Cmd":["sort"],"AttachStdin":true,"Tty":false}"#] {
        let (status, answer) = exec(&gated, body);
        assert_eq!(status, 201, "{body}: {answer}");
    }
}

#[test]
fn commands_that_depend_on_their_input_get_none() {
    let (gated, engine) = Gated::before_fake(2, &[]);
    let words = |command: &str| {
        let words: Vec<String> = command.split(' ').map(|word| format!("\"{word}\"")).collect();
        words.join(",")
    };
    for command in [
        "tar cT -",
        "xargs cat",
        "xargs find",
        "xargs fd",
        "xargs rg x",
        "xargs tee",
        "xargs -a /tmp/x ls",
        "cpio -o",
        "wc --files0-from=-",
        "psql",
        "sqlite3",
        "python3 -",
        "env xargs ls",
        "mail -I root",
    ] {
        let (status, answer) = exec(&gated, &format!(r#"{{"Cmd":[{}],"AttachStdin":true}}"#, words(command)));
        assert_eq!(status, 403, "{command}: {answer}");
    }
    let create = r#"{"Image":"base:1","Cmd":["xargs","find"],"OpenStdin":true}"#;
    let (status, answer) = gated.ask("POST", "/v1.41/containers/create", create);
    assert_eq!(status, 403, "{answer}");
    assert_eq!(engine.count("POST", "/exec") + engine.count("POST", "/create"), 0);
    for command in ["sort", "cat", "wc -l", "grep x", "tar tf -", "head -5"] {
        let (status, answer) = exec(&gated, &format!(r#"{{"Cmd":[{}],"AttachStdin":true}}"#, words(command)));
        assert_eq!(status, 201, "{command}: {answer}");
    }
    // Without input, they have nothing to depend on.
    assert_eq!(exec(&gated, r#"{"Cmd":["xargs","ls"]}"#).0, 201);
}

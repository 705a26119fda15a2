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

//! Checks that a virtual machine or a system container runs.

use std::time::Duration;

use super::command::{Said, ask, last_line};
use super::finding::{Finding, State, plain};
use opsctl_reader::terms::guest::GuestProgram;

/// What Proxmox and libvirt answer for a guest that does not exist.
const MISSING: [&str; 2] = ["does not exist", "failed to get domain"];

/// The command that prints the state of a guest.
pub fn guest_status(program: GuestProgram, name: &str) -> Vec<String> {
    let name_only = format!("^{name}$");
    let words: &[&str] = match program {
        GuestProgram::Qm => &["qm", "status", name],
        GuestProgram::Pct => &["pct", "status", name],
        GuestProgram::Virsh => &["virsh", "--connect", "qemu:///system", "domstate", name],
        GuestProgram::Incus => &["incus", "list", &name_only, "--format", "csv", "--columns", "s"],
        GuestProgram::Lxc => &["lxc", "list", &name_only, "--format", "csv", "--columns", "s"],
    };
    words.iter().copied().map(str::to_owned).collect()
}

/// Asks the program that manages the guest.
pub async fn look(program: GuestProgram, name: &str, ssh: Option<&str>, limit: Duration) -> Finding {
    let Said { success, stdout, stderr, .. } = match ask(&guest_status(program, name), ssh, limit).await {
        Ok(said) => said,
        Err(finding) => return finding,
    };
    let missing = || Finding::new(State::Missing, "there is no such guest");
    if !success {
        if MISSING.iter().any(|text| stderr.contains(text)) {
            return missing();
        }
        let why = last_line(&stderr).unwrap_or_else(|| "it failed".to_owned());
        return Finding::new(State::Unknown, format!("{}: {why}", program.as_str()));
    }
    // `status: running`, `running`, `RUNNING`
    let state = stdout.trim().trim_start_matches("status: ");
    match state {
        "" => missing(),
        state if state.eq_ignore_ascii_case("running") => Finding::new(State::Healthy, "it is running"),
        state => Finding::new(State::NotRunning, format!("it is {}", plain(&state.to_ascii_lowercase()))),
    }
}

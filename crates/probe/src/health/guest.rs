//! Checks that a virtual machine or a system container runs.

use std::time::Duration;

use super::finding::{Finding, Looked, State, plain};
use super::programs::{Rights, Way, ask, without_state};
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
pub async fn look(program: GuestProgram, name: &str, way: &Way, limit: Duration) -> Looked {
    let missing = || Finding::new(State::Missing, "there is no such guest");
    let words = guest_status(program, name);
    let said = ask(&words, Rights::Root, way, limit).await?;
    if !said.success {
        let is_missing = MISSING.iter().any(|text| said.stderr.contains(text));
        return Err(if is_missing { missing() } else { without_state(&said, &words, way) });
    }
    // `status: running`, `running`, `RUNNING`
    let state = said.stdout.trim().trim_start_matches("status: ");
    Ok(match state {
        "" => missing(),
        state if state.eq_ignore_ascii_case("running") => Finding::new(State::Healthy, "it is running"),
        state => Finding::new(State::NotRunning, format!("it is {}", plain(&state.to_ascii_lowercase()))),
    })
}

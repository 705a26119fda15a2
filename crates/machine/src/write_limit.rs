//! The file size limit of a process, `RLIMIT_FSIZE`.

use nix::sys::signal::{SigSet, Signal};

/// Makes a write beyond the file size limit fail with `EFBIG`, for this thread and the programs that it starts. By
/// default, SIGXFSZ ends the process. Costs one system call.
pub fn fail_beyond() {
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGXFSZ);
    // If this fails, the default applies.
    let _ = signals.thread_block();
}

//! Progress of verbs that take seconds, on stderr if it is a terminal.

use std::time::Duration;

use indicatif::ProgressBar;

use super::screen::shows_progress;

/// Shows what is being done, with the time since the start, while `work` runs.
pub fn during<T>(what: String, work: impl FnOnce() -> T) -> T {
    steps(|show| {
        show(what);
        work()
    })
}

/// Shows each step that `work` states while it runs.
pub fn steps<T>(work: impl FnOnce(&dyn Fn(String)) -> T) -> T {
    if !shows_progress() {
        return work(&|_| ());
    }
    let spinner = ProgressBar::new_spinner();
    spinner.enable_steady_tick(Duration::from_millis(120));
    let done = work(&|step| spinner.set_message(step));
    spinner.finish_and_clear();
    done
}

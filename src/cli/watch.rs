//! `--watch`: shows a page again and again, fitted to the window, until `q` or Ctrl-C.

use std::io::{IsTerminal as _, Read as _, Write as _, stdin};
use std::thread::sleep;
use std::time::Duration;

use chrono::Utc;
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetwinsize, tcsetattr,
};

use super::failure::Failure;

/// Seconds between two pages.
const SECONDS: u8 = 2;

/// Shows pages until the operator ends it or the reader closes the pipe. `page` returns one for a width in columns.
pub fn watch(title: &str, page: impl Fn(Option<usize>) -> Result<String, Failure>) -> Result<(), Failure> {
    let keys = Keys::of_terminal();
    loop {
        let size = tcgetwinsize(std::io::stdout()).ok().filter(|size| size.ws_col > 0 && size.ws_row > 0);
        let text = page(size.map(|size| usize::from(size.ws_col)))?;
        let clock = Utc::now().format("%H:%M:%S UTC");
        let hint = if keys.is_some() { ", `q` ends it" } else { "" };
        let head = format!("{title}, {clock}, every {SECONDS} s{hint}");
        let shown = fitted(&head, &text, size.map(|size| usize::from(size.ws_row)));
        let mut stdout = anstream::stdout().lock();
        // Errors mean that the reader has closed the pipe.
        if write!(stdout, "\x1b[2J\x1b[H{shown}").and_then(|()| stdout.flush()).is_err() {
            return Ok(());
        }
        drop(stdout);
        match &keys {
            Some(_) if is_end_pressed() => return Ok(()),
            Some(_) => {}
            None => sleep(Duration::from_secs(SECONDS.into())),
        }
    }
}

/// The head and as much of the text as the rows hold; the last line states how much is left out.
fn fitted(head: &str, text: &str, rows: Option<usize>) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let room = rows.map_or(usize::MAX, |rows| rows.saturating_sub(2));
    if lines.len() <= room {
        return format!("{head}\n{text}");
    }
    let shown = room.saturating_sub(1);
    let first = lines.iter().take(shown).map(|line| format!("{line}\n")).collect::<String>();
    format!("{head}\n{first}… {} more lines\n", lines.len() - shown)
}

/// The keyboard of a terminal whose keys arrive at once; its settings are restored on drop.
struct Keys(Termios);

impl Keys {
    fn of_terminal() -> Option<Self> {
        if !stdin().is_terminal() {
            return None;
        }
        let before = tcgetattr(stdin()).ok()?;
        let mut raw = before.clone();
        // Ctrl-C arrives as a key, so that the settings are restored.
        raw.local_modes -= LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG;
        raw.special_codes[SpecialCodeIndex::VMIN] = 0;
        raw.special_codes[SpecialCodeIndex::VTIME] = SECONDS * 10;
        tcsetattr(stdin(), OptionalActions::Now, &raw).ok()?;
        Some(Self(before))
    }
}

/// Waits for a key for the time between two pages; whether it ends the program.
fn is_end_pressed() -> bool {
    let mut key = [0];
    matches!(stdin().lock().read(&mut key), Ok(1)) && matches!(key, [b'q' | 3 | 4])
}

impl Drop for Keys {
    fn drop(&mut self) {
        // A terminal that is gone needs no settings.
        let _ = tcsetattr(stdin(), OptionalActions::Now, &self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_fits_the_window_and_states_what_is_left_out() {
        let text = "a\nb\nc\nd\n";
        assert_eq!(fitted("head", text, None), "head\na\nb\nc\nd\n");
        assert_eq!(fitted("head", text, Some(6)), "head\na\nb\nc\nd\n");
        assert_eq!(fitted("head", text, Some(5)), "head\na\nb\n… 2 more lines\n");
    }
}

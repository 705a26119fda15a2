//! `--watch`: shows a page again and again, fitted to the window, until `q` or Ctrl-C.

use std::io::{IsTerminal as _, Read as _, stdin};
use std::thread::sleep;
use std::time::Duration;

use chrono::Utc;
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};

use super::failure::Failure;
use super::output::try_print;
use super::screen;
use super::text::Text;

/// Seconds between two pages.
const SECONDS: u8 = 2;

/// Shows pages until the operator ends it or the reader closes the pipe. `page` returns one for a width in columns.
pub fn watch(title: &str, page: impl Fn(Option<usize>) -> Result<Text, Failure>) -> Result<(), Failure> {
    let keys = Keys::of_terminal();
    loop {
        let size = screen::size();
        let text = page(size.map(|(columns, _)| columns))?;
        let clock = Utc::now().format("%H:%M:%S UTC");
        let hint = if keys.is_some() { ", `q` ends it" } else { "" };
        let mut shown = Text::clear();
        shown += &format!("{title}, {clock}, every {SECONDS} s{hint}\n");
        // The head and the cursor have lines of their own.
        shown += text.fitted(size.map_or(usize::MAX, |(_, rows)| rows.saturating_sub(2)));
        if try_print(shown).is_err() {
            return Ok(());
        }
        match &keys {
            Some(_) if is_end_pressed() => return Ok(()),
            Some(_) => {}
            None => sleep(Duration::from_secs(SECONDS.into())),
        }
    }
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

//! Finds the model in a request while it streams past, to estimate what its input costs.

/// The longest name that is kept, in bytes.
const LONGEST: usize = 128;

/// Reads JSON byte by byte: the value of `model` at the top level.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own about the text so far")]
pub struct ModelName {
    depth: usize,
    in_text: bool,
    escaped: bool,
    /// The text at the top level that is being read, or the last one.
    text: Vec<u8>,
    is_cut: bool,
    /// Whether the last text at the top level was a key `model`, and its value follows.
    awaits: bool,
    found: Option<String>,
    is_doubtful: bool,
}

impl ModelName {
    /// Reads the next part.
    pub fn feed(&mut self, part: &[u8]) {
        for byte in part {
            self.byte(*byte);
        }
    }

    /// The model; `None` if it is not stated once, as a plain text.
    pub fn found(&self) -> Option<&str> {
        self.found.as_deref().filter(|_| !self.is_doubtful)
    }

    fn byte(&mut self, byte: u8) {
        if self.in_text {
            if self.depth == 1 {
                if self.text.len() < LONGEST {
                    self.text.push(byte);
                } else {
                    self.is_cut = true;
                }
            }
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.end_of_text(),
                _ => {}
            }
            return;
        }
        match byte {
            b'"' => {
                self.in_text = true;
                self.text.clear();
                self.is_cut = false;
            }
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            b':' if self.depth == 1 => {
                // An escaped key may be the same one.
                let is_escaped = self.text.contains(&b'\\');
                self.awaits = self.text == b"model\"" || is_escaped;
                self.is_doubtful |= self.awaits && (self.found.is_some() || is_escaped);
            }
            b',' if self.depth == 1 => self.awaits = false,
            _ => {}
        }
    }

    fn end_of_text(&mut self) {
        self.in_text = false;
        if self.depth == 1 && std::mem::take(&mut self.awaits) {
            let name = self.text.strip_suffix(b"\"").unwrap_or_default();
            let name = std::str::from_utf8(name).ok().filter(|name| !self.is_cut && !name.contains('\\'));
            self.is_doubtful |= name.is_none();
            self.found = name.map(str::to_owned);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::ModelName;
    use crate::guard::process::api::rows;

    fn of(text: &str, size: usize) -> Option<String> {
        let mut name = ModelName::default();
        text.as_bytes().chunks(size).for_each(|part| name.feed(part));
        name.found().map(str::to_owned)
    }

    #[test]
    fn the_model_is_that_of_the_top_level() {
        for (text, model) in rows::of::<BTreeMap<String, Option<String>>>("models") {
            for size in [1, 7, 1000] {
                assert_eq!(of(&text, size), model, "{text}");
            }
        }
        assert_eq!(of(&format!(r#"{{"model":"{}"}}"#, "x".repeat(1000)), 9), None);
    }
}

//! Secrets in the output of a program that still runs: whole lines are passed on, and what was passed on lately is read again
//! with them, so that a block of lines is recognised.

use std::ops::Range;

use memchr::{memchr, memmem, memrchr};

use super::placeholder::GONE;
use super::{OF_FILES, OF_PROCESS, Redactor, spans};

/// How much of what has been passed on is read again, in bytes: a private key is shorter.
const CONTEXT: usize = 16 * 1024;

/// The longest line that is waited for, in bytes. A longer one is passed on in parts.
const LONGEST_LINE: usize = 64 * 1024;

/// What may be passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// Whole lines, and parts of lines that are too long.
    Line,
    /// Everything.
    Now,
}

/// The output of a program. Binary data, with a NUL or invalid UTF-8, is passed on unchanged from there on.
#[derive(Debug, Default)]
pub struct Stream {
    redactor: Redactor,
    /// What has been passed on lately, and what waits.
    buffer: Vec<u8>,
    /// The length of the part that has been passed on.
    passed: usize,
    is_binary: bool,
}

impl Stream {
    /// Output without the secrets that this redactor and this process know.
    pub fn new(redactor: Redactor) -> Self {
        Self { redactor, ..Self::default() }
    }

    /// Output that is passed on unchanged.
    pub fn unchanged() -> Self {
        Self { is_binary: true, ..Self::default() }
    }

    /// Adds output.
    pub fn add(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
        if self.is_binary {
            return;
        }
        let waiting = self.waiting();
        let is_invalid = std::str::from_utf8(waiting).is_err_and(|error| error.error_len().is_some());
        self.is_binary = is_invalid || memchr(0, bytes).is_some();
    }

    /// Whether [`Self::take`] is worth a call now: enough waits, or nothing is waited for.
    pub fn is_due(&self) -> bool {
        self.is_binary || self.waiting().len() >= LONGEST_LINE
    }

    /// Whether nothing waits, and all that follows is passed on unchanged.
    pub fn is_unchanged(&self) -> bool {
        self.is_binary && self.is_empty()
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.waiting().is_empty()
    }

    /// Takes what can be passed on.
    pub fn take(&mut self, until: Until) -> Vec<u8> {
        if self.is_binary {
            let waiting = self.buffer.split_off(self.passed);
            self.buffer = Vec::new();
            self.passed = 0;
            return waiting;
        }
        let waiting = self.waiting();
        // The rest of a character may be still to come.
        let whole = std::str::from_utf8(waiting).map_or_else(|error| error.valid_up_to(), str::len);
        let line = memrchr(b'\n', waiting).map_or(0, |at| at + 1);
        let length = match until {
            Until::Line if line > 0 || waiting.len() < LONGEST_LINE => line,
            _ => whole,
        };
        let end = self.passed + length;
        let text = self.buffer.get(..end).and_then(|text| std::str::from_utf8(text).ok()).unwrap_or_default();
        let taken = self.redacted(text);
        self.passed = end;
        self.forget();
        taken
    }

    fn waiting(&self) -> &[u8] {
        self.buffer.get(self.passed..).unwrap_or_default()
    }

    /// What is new in a text, without secrets. Of one that began before, the mark has been passed on.
    fn redacted(&self, text: &str) -> Vec<u8> {
        let mut redacted = Vec::with_capacity(text.len() - self.passed.min(text.len()));
        let mut done = self.passed;
        for span in self.redactor.spans(text) {
            if span.end <= done {
                continue;
            }
            if span.start >= done {
                redacted.extend_from_slice(text.get(done..span.start).unwrap_or_default().as_bytes());
                redacted.extend_from_slice(GONE.as_bytes());
            }
            done = span.end;
        }
        redacted.extend_from_slice(text.get(done..).unwrap_or_default().as_bytes());
        redacted
    }

    /// Drops what is not read again, from the beginning of a line.
    fn forget(&mut self) {
        let oldest = self.passed.saturating_sub(CONTEXT);
        if oldest > CONTEXT || (oldest > 0 && self.is_empty()) {
            let passed = self.buffer.get(oldest..self.passed).unwrap_or_default();
            let from = memchr(b'\n', passed).map_or(self.passed, |at| oldest + at + 1);
            self.buffer.drain(..from);
            self.passed -= from;
        }
    }
}

impl Redactor {
    /// Where the secrets of a text are, in order, without overlaps: the values that this process knows, those of this redactor, and
    /// what rules find.
    fn spans(&self, text: &str) -> Vec<Range<usize>> {
        let of_files = OF_FILES.read().map(|known| known.values.clone()).unwrap_or_default();
        let values = OF_PROCESS.values.iter().chain(&of_files).chain(&self.values);
        let mut found = spans::spans(text);
        for value in values.filter(|value| !value.is_empty()) {
            let at = memmem::find_iter(text.as_bytes(), value.as_bytes());
            found.extend(at.map(|at| at..at + value.len()));
        }
        spans::merged(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "-----BEGIN RSA PRIVATE KEY-----\nMIIEabcd1234567890abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWX\nMIIEabcd1234567890abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWX\n-----END RSA PRIVATE KEY-----\n";

    /// What is passed on of parts that arrive one after the other.
    fn passed(parts: &[&[u8]]) -> Vec<u8> {
        let mut stream = Stream::new(Redactor::of_values(vec!["s3cr3t-value".to_owned()]));
        let mut passed = Vec::new();
        for part in parts {
            stream.add(part);
            passed.extend(stream.take(Until::Line));
        }
        passed.extend(stream.take(Until::Now));
        passed
    }

    #[test]
    fn secrets_are_removed_however_the_output_is_cut() {
        let text = format!("a password=hunter2 b\nü s3cr3t-value\n{KEY}DB_PASSWORD=hunter2x\nend");
        let whole = String::from_utf8(passed(&[text.as_bytes()])).unwrap();
        for gone in ["hunter2", "s3cr3t-value", "MIIE", "hunter2x"] {
            assert!(!whole.contains(gone), "{gone}: {whole}");
        }
        assert!(
            whole.starts_with("a password=[redacted] b\nü [redacted]\n") && whole.ends_with("\nend"),
            "{whole}"
        );
        for size in [1, 2, 3, 7, 20, 64] {
            let parts: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
            let cut = String::from_utf8(passed(&parts)).unwrap();
            for gone in ["hunter2", "s3cr3t-value", "abcd12345", "hunter2x"] {
                assert!(!cut.contains(gone), "{size}: {gone}: {cut}");
            }
            assert!(
                cut.ends_with("\nend") && cut.starts_with("a password=[redacted] b\nü [redacted]\n"),
                "{cut}"
            );
        }
    }

    #[test]
    fn other_text_is_passed_on_unchanged_in_bounded_memory() {
        let text: String =
            (0..40_000).map(|line| format!("line {line} of an ordinary output, ü€😀\n")).collect();
        for size in [1_000, 65_537] {
            let mut stream = Stream::new(Redactor::NONE);
            let mut passed = Vec::new();
            for part in text.as_bytes().chunks(size) {
                stream.add(part);
                passed.extend(stream.take(Until::Line));
                assert!(stream.buffer.len() < 4 * LONGEST_LINE);
            }
            passed.extend(stream.take(Until::Now));
            assert!(passed == text.as_bytes());
        }
    }

    #[test]
    fn binary_data_is_passed_on_unchanged() {
        for data in [&b"password=hunter2\0\n"[..], b"password=hunter2\xff\xfe\n", &vec![0; 100_000]] {
            assert_eq!(passed(&[data, b"password=hunter2\n"]), [data, b"password=hunter2\n"].concat());
        }
    }

    #[test]
    fn a_line_without_end_is_passed_on_in_parts() {
        let mut stream = Stream::new(Redactor::NONE);
        stream.add(&vec![b'x'; LONGEST_LINE]);
        assert!(stream.is_due());
        assert_eq!(stream.take(Until::Line).len(), LONGEST_LINE);
        stream.add(b"prompt: ");
        assert!(stream.take(Until::Line).is_empty() && !stream.is_empty());
        assert_eq!(stream.take(Until::Now), b"prompt: ");
    }
}

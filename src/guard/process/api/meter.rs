//! Reads the model and the usage from a response while it streams past.

use memchr::memmem;
use serde_json::Value;

use opsctl_policy::model::rights::spend::{Tokens, Usage};

/// The longest line with a usage. Longer lines are content.
const LONGEST_LINE: usize = 256 * 1024;

/// The largest response without a stream that is read.
const LARGEST_JSON: usize = 4 * 1024 * 1024;

/// The length of text that is taken for one token where the API states no count: less than the average, so that the estimate is
/// not too low.
pub const BYTES_PER_TOKEN: u64 = 3;

/// The part of a line with content that is not content.
const FRAME: usize = 80;

/// The number of estimated tokens after which a running response is reported again.
const STEP: u64 = 500;

/// A usage that is estimated from lengths, in tokens.
pub fn estimated(input: u64, output: u64) -> Usage {
    Usage { tokens: Tokens { input, output, ..Tokens::default() }, estimated: true, ..Usage::default() }
}

/// The form of a response body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Form {
    /// Server-sent events.
    Events,
    /// One JSON value.
    Json,
    /// Anything that cannot be read, such as compressed text.
    #[default]
    Opaque,
}

/// Reads the usage of one response.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own about the body")]
pub struct Meter {
    form: Form,
    /// The beginning of the current line, or of the body.
    text: Vec<u8>,
    /// Whether the current line or the body is too long.
    is_cut: bool,
    bytes: u64,
    content_bytes: u64,
    model: String,
    usage: Usage,
    cache_creation: u64,
    has_events: bool,
    has_begun: bool,
    is_final: bool,
    reported: Option<Usage>,
}

impl Meter {
    /// A meter for a response of this form.
    pub fn new(form: Form) -> Self {
        Self { form, ..Self::default() }
    }

    /// Reads the next part of the body.
    pub fn feed(&mut self, part: &[u8]) {
        self.bytes = self.bytes.saturating_add(part.len() as u64);
        match self.form {
            Form::Opaque => {}
            Form::Json => self.keep(part, LARGEST_JSON),
            Form::Events => {
                let mut rest = part;
                while let Some(end) = memchr::memchr2(b'\n', b'\r', rest) {
                    let (line, after) = rest.split_at(end);
                    self.keep(line, LONGEST_LINE);
                    self.line();
                    rest = after.get(1..).unwrap_or_default();
                }
                self.keep(rest, LONGEST_LINE);
            }
        }
    }

    fn keep(&mut self, part: &[u8], most: usize) {
        if self.text.len() + part.len() > most {
            self.is_cut = true;
            self.content_bytes = self.content_bytes.saturating_add(part.len() as u64);
        } else {
            self.text.extend_from_slice(part);
        }
    }

    /// Reads the line that has ended.
    fn line(&mut self) {
        let line = std::mem::take(&mut self.text);
        let is_cut = std::mem::take(&mut self.is_cut);
        let Some(data) = line.strip_prefix(b"data:") else { return };
        self.has_events = true;
        // Within a text, quotation marks are escaped.
        if !is_cut
            && memmem::find(data, b"\"usage\"").is_some()
            && let Ok(event) = serde_json::from_slice::<Value>(data)
        {
            return self.event(&event);
        }
        self.content_bytes = self.content_bytes.saturating_add(data.len().saturating_sub(FRAME) as u64);
    }

    fn event(&mut self, event: &Value) {
        match event.get("type").and_then(Value::as_str) {
            Some("message_start") => self.message(event.get("message").unwrap_or(&Value::Null)),
            Some("message_delta") => {
                self.add(event.get("usage").unwrap_or(&Value::Null));
                self.is_final = true;
            }
            _ => {}
        }
    }

    fn message(&mut self, message: &Value) {
        let model = message.get("model").and_then(Value::as_str).unwrap_or_default();
        self.model = model.chars().filter(|c| !c.is_control()).take(128).collect();
        self.has_begun = true;
        self.add(message.get("usage").unwrap_or(&Value::Null));
    }

    /// Takes over the counts that are stated: they are totals.
    fn add(&mut self, stated: &Value) {
        let count = |path: &str| stated.pointer(path).and_then(Value::as_u64);
        let tokens = &mut self.usage.tokens;
        let set = |slot: &mut u64, path: &str| {
            if let Some(count) = count(path) {
                *slot = count;
            }
        };
        set(&mut tokens.input, "/input_tokens");
        set(&mut tokens.output, "/output_tokens");
        set(&mut tokens.cache_read, "/cache_read_input_tokens");
        set(&mut tokens.cache_write_1h, "/cache_creation/ephemeral_1h_input_tokens");
        set(&mut self.cache_creation, "/cache_creation_input_tokens");
        tokens.cache_write = self.cache_creation.saturating_sub(tokens.cache_write_1h);
        set(&mut self.usage.web_searches, "/server_tool_use/web_search_requests");
        let word = |key: &str| stated.get(key).and_then(Value::as_str);
        self.usage.us_only |= word("inference_geo") == Some("us");
        self.usage.fast |= word("speed") == Some("fast");
    }

    /// The model and the usage so far, if it is to be reported: at the beginning, whenever the estimate has grown, and when it is
    /// final.
    pub fn news(&mut self) -> Option<(String, Usage)> {
        if !self.has_begun {
            return None;
        }
        let now = self.so_far();
        let is_new = self.reported.is_none_or(|before| {
            now.estimated != before.estimated
                || now.tokens.output >= before.tokens.output + STEP
                || Usage { tokens: Tokens { output: 0, ..now.tokens }, ..now }
                    != Usage { tokens: Tokens { output: 0, ..before.tokens }, ..before }
                || self.is_final && now != before
        });
        is_new.then(|| {
            self.reported = Some(now);
            (self.model.clone(), now)
        })
    }

    /// Whether a usage was reported.
    pub const fn has_reported(&self) -> bool {
        self.reported.is_some()
    }

    fn so_far(&self) -> Usage {
        let mut usage = self.usage;
        if !self.is_final {
            usage.tokens.output = usage.tokens.output.max(self.content_bytes.div_ceil(BYTES_PER_TOKEN));
            usage.estimated = true;
        }
        usage
    }

    /// The end of the body. Returns what is still to be reported. `sent` is the length of the request in bytes, from which the
    /// input is estimated if the response does not state it.
    pub fn end(&mut self, sent: u64) -> Option<(String, Usage)> {
        match self.form {
            Form::Events => {
                // Without a message, the events are an error, which costs nothing.
                if self.has_events {
                    return self.news();
                }
            }
            Form::Json => {
                let text = std::mem::take(&mut self.text);
                let message: Value =
                    if self.is_cut { Value::Null } else { serde_json::from_slice(&text).unwrap_or_default() };
                if message.get("usage").is_some() {
                    self.message(&message);
                    self.is_final = true;
                    return self.news();
                }
            }
            Form::Opaque => {}
        }
        if self.bytes == 0 || self.reported.is_some() {
            return None;
        }
        let [input, output] = [sent, self.bytes].map(|bytes| bytes.div_ceil(BYTES_PER_TOKEN));
        let usage = estimated(input, output);
        self.reported = Some(usage);
        Some(("unknown".to_owned(), usage))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &str = concat!(
        "event: message_start\r\n",
        r#"data: {"type":"message_start","message":{"model":"claude-haiku-5-5","usage":{"input_tokens":10,"cache_creation_input_tokens":7,"cache_read_input_tokens":5,"cache_creation":{"ephemeral_5m_input_tokens":3,"ephemeral_1h_input_tokens":4},"output_tokens":1}}}"#,
        "\r\n\r\nevent: content_block_delta\n",
        r#"data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"the \"usage\": {\"output_tokens\": 999999}"}}"#,
        "\n\nevent: ping\ndata: {\"type\": \"ping\"}\n\nevent: message_delta\n",
        r#"data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":42,"server_tool_use":{"web_search_requests":2}}}"#,
        "\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
    );

    fn final_usage() -> Usage {
        let tokens = Tokens { input: 10, output: 42, cache_write: 3, cache_write_1h: 4, cache_read: 5 };
        Usage { tokens, web_searches: 2, ..Usage::default() }
    }

    #[test]
    fn reads_the_usage_of_a_stream_however_it_is_cut() {
        for size in [1, 2, 3, 7, 64, 1000, STREAM.len()] {
            let mut meter = Meter::new(Form::Events);
            let mut last = None;
            for part in STREAM.as_bytes().chunks(size) {
                meter.feed(part);
                last = meter.news().or(last);
            }
            assert_eq!(last, Some(("claude-haiku-5-5".to_owned(), final_usage())), "in parts of {size}");
            assert_eq!(meter.end(0), None, "in parts of {size}");
        }
    }

    #[test]
    fn a_stream_that_ends_early_is_estimated_and_grows_in_steps() {
        let mut meter = Meter::new(Form::Events);
        let (start, _) = STREAM.split_once("event: content_block_delta").unwrap();
        meter.feed(start.as_bytes());
        let (_, first) = meter.news().unwrap();
        assert_eq!((first.tokens.input, first.tokens.output, first.estimated), (10, 1, true));
        let mut reports = 0;
        for _ in 0..100 {
            let delta = format!(
                "data: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"text_delta\",\"text\":\"{}\"}}}}\n\n",
                "x".repeat(300)
            );
            meter.feed(delta.as_bytes());
            reports += usize::from(meter.news().is_some());
        }
        assert!((15..=25).contains(&reports), "{reports}");
        let end = meter.end(0).or(meter.reported.map(|usage| (String::new(), usage))).unwrap().1;
        // 30,000 characters.
        assert!((9_500..=10_500).contains(&end.tokens.output), "{end:?}");
        assert!(end.estimated);
    }

    #[test]
    fn reads_a_response_without_a_stream() {
        let mut meter = Meter::new(Form::Json);
        let body = r#"{"type":"message","model":"m","content":[{"type":"text","text":"x"}],"usage":{"input_tokens":8,"output_tokens":9,"inference_geo":"us","speed":"fast"}}"#;
        for part in body.as_bytes().chunks(5) {
            meter.feed(part);
            assert_eq!(meter.news(), None);
        }
        let tokens = Tokens { input: 8, output: 9, ..Tokens::default() };
        let usage = Usage { tokens, us_only: true, fast: true, ..Usage::default() };
        assert_eq!(meter.end(0), Some(("m".to_owned(), usage)));
    }

    #[test]
    fn what_cannot_be_read_is_estimated_from_its_length() {
        for form in [Form::Opaque, Form::Json, Form::Events] {
            let mut meter = Meter::new(form);
            meter.feed(&[0x1f; 300]);
            let (model, usage) = meter.end(600).unwrap();
            assert_eq!(
                (model.as_str(), usage.tokens.input, usage.tokens.output),
                ("unknown", 200, 100),
                "{form:?}"
            );
            assert!(usage.estimated);
            assert_eq!(Meter::new(form).end(600), None, "an empty body of {form:?}");
        }
    }

    #[test]
    fn a_stream_with_an_error_instead_of_a_message_costs_nothing() {
        let mut meter = Meter::new(Form::Events);
        meter.feed(b"event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}\n\n");
        assert_eq!((meter.news(), meter.end(1000)), (None, None));
    }

    #[test]
    fn a_line_of_any_length_costs_bounded_memory() {
        let mut meter = Meter::new(Form::Events);
        meter.feed(b"data: ");
        for _ in 0..100 {
            meter.feed(&vec![b'x'; 100_000]);
        }
        assert!(meter.text.capacity() <= 2 * LONGEST_LINE);
        meter.feed(b"\n");
        meter.feed(STREAM.as_bytes());
        assert_eq!(meter.news().unwrap().1.tokens.input, 10);
    }
}

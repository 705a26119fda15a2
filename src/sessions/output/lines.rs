//! Reads lines of a stream in bounded memory.

use tokio::io::{AsyncBufRead, AsyncBufReadExt};

/// The maximum length of a line, in bytes. An image in a tool's result is shorter.
pub const LONGEST: usize = 8 * 1024 * 1024;

/// A line without its line break.
#[derive(Debug)]
pub enum Line {
    /// The text; invalid UTF-8 is replaced.
    Text(String),
    /// The line was longer than [`LONGEST`]. Holds its length in bytes.
    TooLong(usize),
}

/// Reads the next line; `None` at the end of the stream or after an error.
pub async fn next(stream: &mut (impl AsyncBufRead + Unpin)) -> Option<Line> {
    let mut kept = Vec::new();
    let mut length = 0;
    let mut begun = false;
    while let Ok(chunk) = stream.fill_buf().await {
        if chunk.is_empty() {
            break;
        }
        begun = true;
        let end = chunk.iter().position(|byte| *byte == b'\n');
        let (part, used) = match end {
            Some(end) => (chunk.get(..end).unwrap_or_default(), end + 1),
            None => (chunk, chunk.len()),
        };
        length += part.len();
        if length <= LONGEST {
            kept.extend_from_slice(part);
        } else {
            kept = Vec::new();
        }
        stream.consume(used);
        if end.is_some() {
            break;
        }
    }
    if !begun {
        return None;
    }
    Some(if length > LONGEST {
        Line::TooLong(length)
    } else {
        Line::Text(String::from_utf8_lossy(&kept).into_owned())
    })
}

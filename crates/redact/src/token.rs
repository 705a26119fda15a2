//! Tokens: the longest parts of a text without blanks, quotes and brackets. Most forms of secrets lie within one, so that
//! nothing else is searched for them.

/// Whether a byte is part of a token.
pub const fn is_of_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'+' | b'/' | b'=' | b'_' | b'.' | b'~' | b':' | b'%' | b'@' | b'-')
}

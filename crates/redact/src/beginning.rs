//! Sets of three and of five bytes, for a quick look at every place of a text.

/// How many words of 64 bits a set has.
pub const WORDS: usize = 1024;

/// A set of numbers. Several share a bit: what it contains is looked at closely.
pub type Set = [u64; WORDS];

/// The word and the bit of a number.
const fn place(number: u32) -> (usize, u32) {
    let number = number.wrapping_mul(0x9E37_79B1) >> 16;
    ((number / 64) as usize, number % 64)
}

/// Whether a byte is part of a run.
pub const fn is_of_run(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'_' | b'-')
}

/// The number of five bytes, of which the first three are a big-endian number.
pub const fn five(three: u32, fourth: u8, fifth: u8) -> u32 {
    (three << 8 | fourth as u32).rotate_left(7) ^ fifth as u32
}

/// Whether a set may contain a number.
pub fn contains(set: &Set, number: u32) -> bool {
    let (word, bit) = place(number);
    set.get(word).is_some_and(|bits| bits >> bit & 1 == 1)
}

/// Adds a number to a set.
#[allow(dead_code, reason = "for the build script")]
pub fn add(set: &mut Set, number: u32) {
    let (word, bit) = place(number);
    if let Some(bits) = set.get_mut(word) {
        *bits |= 1 << bit;
    }
}

//! A set of three bytes, for a quick look at every place of a text.

/// How many words of 64 bits the set has.
pub const WORDS: usize = 1024;

/// The word and the bit of three bytes, as a big-endian number. Others share them: what the set contains is looked at closely.
pub const fn place(number: u32) -> (usize, u32) {
    let number = number.wrapping_mul(0x9E37_79B1) >> 16;
    ((number / 64) as usize, number % 64)
}

//! Percentiles of durations.

/// The smallest value that at least `percent` per cent of the values do not exceed; 0 without values. `ascending` must
/// be sorted.
pub fn percentile(ascending: &[i64], percent: usize) -> i64 {
    let rank = (ascending.len() * percent).div_ceil(100).saturating_sub(1);
    ascending.get(rank).copied().unwrap_or(0)
}

/// Converts microseconds to milliseconds; at most 2^32 - 1 microseconds.
pub fn milliseconds(micros: i64) -> f64 {
    f64::from(u32::try_from(micros).unwrap_or(u32::MAX)) / 1e3
}

//! The reasons of a refusal.

/// Reasons of several lines, as one.
pub fn in_one_line(reasons: &str) -> String {
    reasons.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

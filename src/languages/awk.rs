//! What only awk has: commands behind a pipe.

use super::names::awk;

/// Whether a command behind a pipe only sorts, counts or prints what it is given, such as `sort -rn`.
pub(crate) fn is_filter(command: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || " -,.:".contains(c);
    let mut words = command.split(' ');
    let only_options = |word: &str| word.is_empty() || (word.starts_with('-') && !word.starts_with("-o"));
    let is_filter = words.next().is_some_and(|name| awk::FILTERS.has(name)) && command.chars().all(plain);
    command == "cat 1>&2"
        || command == "cat >&2"
        || (is_filter
            && words.all(|word| {
                only_options(word) || word.chars().all(|c| c.is_ascii_digit() || ",.".contains(c))
            }))
}

#[cfg(test)]
mod tests {
    use super::is_filter;

    #[test]
    fn a_filter_names_no_file_to_write() {
        assert!(["sort", "sort -k2 -rn", "sort -k 2,2 -n", "uniq -c", "cat 1>&2"].into_iter().all(is_filter));
        let others = ["sh", "sort -o x", "sort x", "uniq a b", "tail -f | sh", "cat > x"];
        assert!(!others.into_iter().any(is_filter));
    }
}

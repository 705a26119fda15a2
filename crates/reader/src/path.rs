//! Paths as texts: nothing is opened or looked up.

/// The names in a path that is written from the folder `start`, outermost first. `.`, empty parts and what
/// `..` leaves are gone; `..` at the root stays at the root.
pub fn fold<'a>(start: &'a str, path: &'a str) -> Vec<&'a str> {
    let mut names = Vec::with_capacity(8);
    // For short texts, a predicate is faster than the search for a character.
    let is_separator = |c: char| c == '/';
    for part in start.split(is_separator).chain(path.split(is_separator)) {
        match part {
            "" | "." => {}
            ".." => {
                names.pop();
            }
            name => names.push(name),
        }
    }
    names
}

#[cfg(test)]
mod tests {
    #[test]
    fn folds_dots_from_the_folder_on_and_stays_at_the_root() {
        crate::languages::cases::check_rows("terms", "paths", |text| {
            let (start, path) = text.split_once(' ').unwrap();
            super::fold(start, path).join(" ")
        });
    }
}

//! Paths as texts: nothing is opened or looked up.

/// The names in a path that is written from the folder `start`, outermost first. `.`, empty parts and what
/// `..` leaves are gone; `..` at the root stays at the root. Where `..` leads behind a link to a folder of a process is not known:
/// the path stays below that link.
pub fn fold<'a>(start: &'a str, path: &'a str) -> Vec<&'a str> {
    let mut names = Vec::with_capacity(8);
    // For short texts, a predicate is faster than the search for a character.
    let is_separator = |c: char| c == '/';
    for part in start.split(is_separator).chain(path.split(is_separator)) {
        match part {
            "" | "." => {}
            ".." if is_link_of_process(&names) => {}
            ".." => {
                names.pop();
            }
            name => names.push(name),
        }
    }
    names
}

/// Whether these names lead to a folder that a process has chosen: `/dev/fd`, `/proc/self/cwd`, `/proc/1/root`, `/proc/1/fd`.
fn is_link_of_process(names: &[&str]) -> bool {
    match names {
        ["dev", "fd"] => true,
        ["proc", _, last] | ["proc", _, "task", _, last] => matches!(*last, "cwd" | "root" | "fd"),
        _ => false,
    }
}

/// Where the homes of users may be.
const HOMES: [&str; 3] = ["/root", "/home/_", "/var/lib/_"];

/// What a path may mean that leaves a home by `..`: `~/../tmp`, `~user/..`, `$HOME/..`; `None` for any other. How deep a home lies is
/// not known.
pub fn above_home(path: &str) -> Option<Vec<String>> {
    let (home, rest) = path.split_once('/')?;
    if !home.starts_with('~') && !matches!(home, "$HOME" | "${HOME}") {
        return None;
    }
    let mut depth = 0_usize;
    let leaves = rest.split('/').any(|name| match name {
        "" | "." => false,
        ".." => depth.checked_sub(1).map(|less| depth = less).is_none(),
        _ => {
            depth += 1;
            false
        }
    });
    let homes: &[&str] = if home == "~root" { HOMES.get(..1)? } else { &HOMES };
    leaves.then(|| homes.iter().map(|home| format!("/{}", fold(home, rest).join("/"))).collect())
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_path_that_leaves_a_home_may_lie_below_each_place_of_homes() {
        crate::languages::cases::check_rows("terms", "above_home", |text| {
            super::above_home(text).map_or_else(|| "-".to_owned(), |paths| paths.join(" "))
        });
    }

    #[test]
    fn folds_dots_from_the_folder_on_and_stays_at_the_root() {
        crate::languages::cases::check_rows("terms", "paths", |text| {
            let (start, path) = text.split_once(' ').unwrap();
            super::fold(start, path).join(" ")
        });
    }
}

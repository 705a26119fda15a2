//! Finds the files that match a glob.

use std::fs;
use std::path::{Path, PathBuf};

use opsctl_reader::shell::glob;

/// The maximum number of directory entries that all globs of a session may visit.
const MOST_NAMES: usize = 10_000;

/// The maximum depth of `**`.
const DEEPEST: usize = 32;

/// Finds files, with a limit on visited directory entries.
#[derive(Debug)]
pub struct Walk {
    left: usize,
}

impl Default for Walk {
    fn default() -> Self {
        Self { left: MOST_NAMES }
    }
}

/// Whether a path is a glob.
pub fn is_glob(path: &str) -> bool {
    path.contains(['*', '?', '['])
}

impl Walk {
    /// The files in `folder` that match a glob, sorted, and whether the limit was reached. A leading dot must be written,
    /// and `**` does not follow symbolic links.
    pub fn files(&mut self, folder: &Path, pattern: &str) -> (Vec<PathBuf>, bool) {
        let names: Vec<&str> = pattern.split('/').filter(|name| !name.is_empty()).collect();
        let mut found = Vec::new();
        let all = self.below(folder, &names, DEEPEST, &mut found).is_some();
        found.sort();
        found.dedup();
        (found, !all)
    }

    /// `None` if the limit is reached.
    fn below(
        &mut self,
        folder: &Path,
        names: &[&str],
        deeper: usize,
        found: &mut Vec<PathBuf>,
    ) -> Option<()> {
        let Some((first, rest)) = names.split_first() else {
            if !folder.is_dir() && folder.symlink_metadata().is_ok() {
                found.push(folder.to_owned());
            }
            return Some(());
        };
        if *first == "**" {
            self.below(folder, rest, deeper, found)?;
            for path in self.entries(folder, "*")? {
                let real_folder = path.symlink_metadata().is_ok_and(|file| file.is_dir());
                if real_folder && deeper > 0 {
                    self.below(&path, names, deeper - 1, found)?;
                } else if rest.is_empty() && !real_folder {
                    self.below(&path, rest, deeper, found)?;
                }
            }
            return Some(());
        }
        if !is_glob(first) {
            return self.below(&folder.join(first), rest, deeper, found);
        }
        for path in self.entries(folder, first)? {
            self.below(&path, rest, deeper, found)?;
        }
        Some(())
    }

    fn entries(&mut self, folder: &Path, pattern: &str) -> Option<Vec<PathBuf>> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            self.left = self.left.checked_sub(1)?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            if name.starts_with('.') == pattern.starts_with('.') && glob(pattern, &name) {
                entries.push(folder.join(&name));
            }
        }
        entries.sort();
        Some(entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(pattern: &str) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        for file in ["a.md", "b.txt", "sub/c.md", "sub/deep/d.md", "sub/.hidden/e.md", ".git/f.md"] {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        }
        // A folder that is its own child.
        std::os::unix::fs::symlink(folder.path(), folder.path().join("sub/loop")).unwrap();
        let (files, more) = Walk::default().files(folder.path(), pattern);
        assert!(!more);
        let inside = |path: &PathBuf| path.strip_prefix(folder.path()).unwrap().display().to_string();
        files.iter().map(inside).collect()
    }

    #[test]
    fn finds_sorted_files_without_hidden_ones_and_without_following_links() {
        assert_eq!(found("*.md"), ["a.md"]);
        assert_eq!(found("**/*.md"), ["a.md", "sub/c.md", "sub/deep/d.md"]);
        assert_eq!(found("sub/**"), ["sub/c.md", "sub/deep/d.md"]);
        assert_eq!(found("**/deep/*"), ["sub/deep/d.md"]);
        assert_eq!(found(".git/*.md"), [".git/f.md"]);
        assert_eq!(found("*/[cd].md"), ["sub/c.md"]);
        assert_eq!(found("nothing/*"), [""; 0]);
    }

    #[test]
    fn a_walk_stops_at_its_limit() {
        let folder = tempfile::tempdir().unwrap();
        for n in 0..20 {
            fs::write(folder.path().join(n.to_string()), "").unwrap();
        }
        let mut walk = Walk { left: 30 };
        assert!(!walk.files(folder.path(), "*").1);
        assert!(walk.files(folder.path(), "*").1);
    }
}

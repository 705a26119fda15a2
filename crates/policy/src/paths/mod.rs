//! Paths, patterns of paths, and what words of a command name.

pub mod archive;
pub mod computed;
pub mod file_entry;
pub mod glob;
pub mod word_paths;

#[cfg(test)]
mod tests {
    use super::word_paths::{LocalMachine, WordPaths, normal, text_paths};
    use super::{archive, file_entry, glob};
    use crate::cases::Cases;
    use opsctl_reader::catalogue::Catalogue;
    use opsctl_reader::shell::Command;

    struct Home;

    impl LocalMachine for Home {
        fn variable(&self, name: &str) -> Option<String> {
            (name == "HOME").then(|| "/home/agent".to_owned())
        }

        fn canonical(&self, path: &str) -> Option<String> {
            path.strip_prefix("/link").map(|rest| normal(&format!("/real/deep{rest}")))
        }

        fn expand(&self, glob: &str) -> Option<Vec<String>> {
            Some(if glob == "/app/*.env" { vec!["/app/x.env".to_owned()] } else { vec![] })
        }
    }

    fn value(name: &str) -> Option<String> {
        let value = match name {
            "PROJECT_PATH" => "/srv/homelab",
            "EMPTY" => "",
            "STAR" => "/srv/*",
            "UP" => "/srv/../etc",
            "API_KEY" => "hunter2",
            _ => return None,
        };
        Some(value.to_owned())
    }

    #[test]
    fn words_patterns_and_entries_name_files() {
        let mut cases = Cases::of("paths");
        cases.check("a_word_resolves_to_a_path_in_every_notation", |[text]| {
            let command = Command { cwd: Some("/app".into()), ..Command::default() };
            let WordPaths { paths, end, .. } = text_paths(text, text.contains(['$', '~']), &command, &Home);
            paths.into_iter().chain(end.map(|end| format!("end {end}"))).collect::<Vec<_>>().join(" ")
        });
        cases.check("variables_are_filled_in_between_braces_only", |[entry]| {
            file_entry::fill(entry, value).unwrap_or_else(|error| error.to_string())
        });
        cases.check("paths_match_name_by_name", |[pattern, path]| glob::matches(pattern, path).to_string());
        cases.check("a_glob_begins_with_a_literal_part", |[pattern]| glob::literal(pattern));
        cases.check("distinguishes_listing_unpacking_and_packing", |[line]| {
            let texts: Vec<&str> = line.split(' ').collect();
            let usage = Catalogue::default().usage(&texts, &|_| false).unwrap();
            format!("{:?}", archive::operation(&usage, &usage.operands(&texts)))
        });
    }
}

//! The language of documents, messages, comments and names: plain technical English, without the words below.

use std::path::{Path, PathBuf};

use regex_lite::Regex;

/// Expressions that an operator would not use, with a better one.
const AVOIDED: [(&str, &str); 15] = [
    (r"\b(nobody|somebody|whoever|whatever)\b", "name the actor or the thing"),
    (r"\btold\b", "is reported, is notified, is distinguished; cannot be determined"),
    (r"\bsays so\b", "states it"),
    (r"\bso many\b", "at most, this many"),
    (r"\blet go\b", "allowed to end"),
    (r"\bsent on\b", "blocked, forwarded"),
    (r"\bby itself\b", "automatically, alone"),
    (r"\bat hand\b", "available"),
    (r"\bmakes good\b", "corrects"),
    (r"\bout of the blue\b", "unexpected"),
    (r"\bthe same for\b", "state what it does"),
    (r"\bas above\b", "state it, or link to it"),
    (r"\bnone is ever\b", "none is"),
    (r"\bnone of its business\b", "is ignored"),
    (r"\bno objection\b", "allowed"),
];

/// Files whose text is in these words: documents, sources, templates, scripts. Commands in corpora are not prose, and
/// migrations are not edited.
fn texts() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut texts: Vec<PathBuf> = ["Cargo.toml", "Dockerfile", "build.rs", "entrypoint", "hosts.yaml"]
        .into_iter()
        .map(|file| root.join(file))
        .collect();
    let documents = std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path());
    texts.extend(documents.filter(|path| path.extension().is_some_and(|extension| extension == "md")));
    for folder in
        [".ci", "benches", "crates", "docs", "image", "release", "src", "templates", "tests", "vendor"]
    {
        below(&root.join(folder), &mut texts);
    }
    texts
}

fn below(folder: &Path, texts: &mut Vec<PathBuf>) {
    let left_out = ["jsonl", "sql", "txt", "png", "lock", "names"];
    for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() {
            if ![".client", "output"].contains(&name) {
                below(&path, texts);
            }
        } else if !left_out.iter().any(|ending| name.ends_with(ending)) && name != "wording.rs" {
            texts.push(path);
        }
    }
}

#[test]
fn texts_use_the_terms_of_the_field() {
    let avoided = AVOIDED.map(|(words, better)| (Regex::new(&format!("(?i){words}")).unwrap(), better));
    // A value of hosts.yaml, and the user of this name.
    let name =
        Regex::new(r#"[`"']nobody[`"']|Audience::Nobody|Nobody( =|,)|: nobody|nobody( \||:|@)|NOBODY"#)
            .unwrap();
    let any = AVOIDED.map(|(words, _)| words).join("|");
    let any = Regex::new(&format!("(?i){any}")).unwrap();
    let mut found = String::new();
    let texts = texts();
    assert!(texts.len() > 300, "only {} files were found", texts.len());
    for path in texts {
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        // The words of a name, such as that of a test, too.
        let text = text.replace('_', " ");
        for (number, line) in text.lines().enumerate().filter(|(_, line)| any.is_match(line)) {
            let line = name.replace_all(line, "");
            for (words, better) in &avoided {
                if let Some(hit) = words.find(&line) {
                    found += &format!("{}:{}: `{}`: {better}\n", path.display(), number + 1, hit.as_str());
                }
            }
        }
    }
    assert_eq!(found, "");
}

//! What an archiver does: list, unpack or pack.

use crate::catalogue::options::{Item, Scanner};

/// What an archiver does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation<'a> {
    /// It lists, tests, or writes to standard output.
    Looks,
    /// It writes files below a folder.
    Unpacks,
    /// It writes this archive.
    Packs(&'a str),
    /// It does something else, or runs a program.
    Unclear,
}

/// The operation of this command line of `tar`, `zip`, `7z`, `cpio` or a similar program.
pub fn operation<'a>(program: &str, texts: &[&'a str]) -> Operation<'a> {
    match program {
        "unzip" => unzip(texts),
        "zip" => zip(texts),
        "7z" | "7za" | "7zr" | "7zz" => seven_zip(texts),
        "cpio" => cpio(texts),
        "unrar" => match texts.get(1) {
            Some(&("l" | "lb" | "lt" | "lta" | "ltb" | "v" | "vb" | "vt" | "t" | "p")) => Operation::Looks,
            _ => Operation::Unclear,
        },
        "ar" => match texts.get(1).map(|mode| mode.trim_start_matches('-')) {
            Some("t" | "tv" | "p" | "pv" | "tO" | "s") => Operation::Looks,
            _ => Operation::Unclear,
        },
        _ => tar(texts),
    }
}

/// Options of tar that run a program, remove the packed files, or write other files than the archive.
const TAR_DOES_MORE: [&str; 13] = [
    "to-command",
    "checkpoint-action",
    "rsh-command",
    "rmt-command",
    "info-script",
    "new-volume-script",
    "remove-files",
    "absolute-names",
    "listed-incremental",
    "index-file",
    "one-top-level",
    "delete",
    "multi-volume",
];

/// Letters of tar that take a value.
const TAR_VALUED: &str = "fCbgHIKLNTVXF";

/// Programs that only compress.
const COMPRESSORS: [&str; 9] = ["gzip", "pigz", "bzip2", "pbzip2", "lbzip2", "xz", "zstd", "zstdmt", "lz4"];

fn tar<'a>(texts: &[&'a str]) -> Operation<'a> {
    let (mut letters, mut archive, mut stdout) = (String::new(), None, false);
    let mut at = 1;
    while let Some(text) = texts.get(at).copied() {
        at += 1;
        if let Some(long) = text.strip_prefix("--") {
            let (name, value) =
                long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
            let mut taken = || {
                value.or_else(|| {
                    at += 1;
                    texts.get(at - 1).copied()
                })
            };
            match name {
                "" => break,
                "list" => letters.push('t'),
                "compare" | "diff" => letters.push('d'),
                "extract" | "get" => letters.push('x'),
                "create" => letters.push('c'),
                "append" => letters.push('r'),
                "update" => letters.push('u'),
                "catenate" | "concatenate" => letters.push('A'),
                "to-stdout" => stdout = true,
                "file" => archive = taken(),
                "directory" | "exclude" | "exclude-from" | "files-from" | "format" | "owner" | "group"
                | "mode" | "mtime" | "transform" | "strip-components" | "starting-file" | "newer" => {
                    taken();
                }
                "use-compress-program" if taken().is_some_and(compresses) => {}
                "checkpoint" | "force-local" => {}
                _ if TAR_DOES_MORE.iter().any(|more| more.starts_with(name)) => return Operation::Unclear,
                _ if "use-compress-program".starts_with(name) || "to-stdout".starts_with(name) => {
                    return Operation::Unclear;
                }
                _ => {}
            }
            continue;
        }
        let old_style = at == 2 && !text.starts_with('-');
        let Some(cluster) = text.strip_prefix('-').or_else(|| old_style.then_some(text)) else { continue };
        for (index, letter) in cluster.char_indices() {
            let mut value = None;
            let valued = TAR_VALUED.contains(letter);
            if valued {
                let rest = cluster.get(index + 1..).unwrap_or_default();
                value = if old_style || rest.is_empty() {
                    at += 1;
                    texts.get(at - 1).copied()
                } else {
                    Some(rest)
                };
            }
            match letter {
                'f' => archive = value,
                'I' if value.is_some_and(compresses) => {}
                'I' | 'F' | 'P' | 'g' | 'M' => return Operation::Unclear,
                'O' => stdout = true,
                _ => letters.push(letter),
            }
            if valued && !old_style {
                break;
            }
        }
    }
    let has = |letter: char| letters.contains(letter);
    match archive {
        // On another host.
        Some(file) if file.contains(':') => Operation::Unclear,
        _ if has('A') || (has('x') && (has('c') || has('r') || has('u'))) => Operation::Unclear,
        Some(file) if (has('c') || has('r') || has('u')) && file != "-" => Operation::Packs(file),
        _ if has('c') => Operation::Looks,
        _ if has('x') => {
            if stdout {
                Operation::Looks
            } else {
                Operation::Unpacks
            }
        }
        _ if has('t') || has('d') => Operation::Looks,
        _ if matches!(texts.get(1), Some(&("--version" | "--help"))) => Operation::Looks,
        _ => Operation::Unclear,
    }
}

fn compresses(program: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == ' ' || c == '-';
    program.split(' ').next().is_some_and(|name| COMPRESSORS.contains(&name)) && program.chars().all(plain)
}

fn letters(texts: &[&str], valued: &[&str]) -> Vec<char> {
    use crate::catalogue::options::Name;
    let letter = |item| if let Item::Option(Name::Short(letter), _) = item { Some(letter) } else { None };
    Scanner::new(texts, 1, valued).filter_map(letter).collect()
}

fn first_word<'a>(texts: &[&'a str], from: usize, valued: &[&str]) -> Option<&'a str> {
    Scanner::new(texts, from, valued).find_map(|item| match item {
        Item::Positional(index) => texts.get(index).copied(),
        _ => None,
    })
}

fn unzip<'a>(texts: &[&'a str]) -> Operation<'a> {
    let letters = letters(texts, &["-d", "-x", "-P", "-O", "-I"]);
    let looks = letters.iter().any(|letter| matches!(letter, 'l' | 'p' | 't' | 'v' | 'Z' | 'z' | 'c' | 'h'));
    if looks || texts.len() == 1 { Operation::Looks } else { Operation::Unpacks }
}

fn zip<'a>(texts: &[&'a str]) -> Operation<'a> {
    let words = texts.get(1..).unwrap_or_default();
    if words.iter().any(|word| {
        word.starts_with("-TT") || word.starts_with("-lf") || word.starts_with("-O") || word.starts_with("--")
    }) {
        return Operation::Unclear;
    }
    if words.iter().any(|word| matches!(*word, "-sf" | "-h" | "-v" | "-L" | "-h2")) {
        return Operation::Looks;
    }
    let valued = ["-x", "-i", "-b", "-t", "-n", "-P", "-s", "-Z"];
    let letters = letters(texts, &valued);
    match first_word(texts, 1, &valued) {
        _ if letters.contains(&'m') => Operation::Unclear,
        _ if letters == ['T'] => Operation::Looks,
        Some("-") => Operation::Looks,
        Some(file) => Operation::Packs(file),
        None => Operation::Unclear,
    }
}

fn seven_zip<'a>(texts: &[&'a str]) -> Operation<'a> {
    if texts.iter().any(|text| text.starts_with("-sdel") || text.starts_with("-w")) {
        return Operation::Unclear;
    }
    match texts.get(1) {
        Some(&("l" | "t" | "i" | "h" | "b")) => Operation::Looks,
        Some(&("x" | "e")) if texts.contains(&"-so") => Operation::Looks,
        Some(&("x" | "e")) => Operation::Unpacks,
        Some(&("a" | "u" | "d" | "rn")) => {
            first_word(texts, 2, &[]).map_or(Operation::Unclear, Operation::Packs)
        }
        _ => Operation::Unclear,
    }
}

fn cpio<'a>(texts: &[&'a str]) -> Operation<'a> {
    let valued = ["-D", "-F", "-O", "-I", "-E", "-H", "-C", "-M", "-R", "-W"];
    let letters = letters(texts, &valued);
    let long = |name: &str| texts.contains(&name);
    let more = ["--rsh-command", "--pass-through", "--file", "--force-local"];
    match () {
        // A file in the cluster itself: `-oFfile`.
        () if letters.contains(&'p')
            || texts
                .iter()
                .any(|text| !text.starts_with("--") && text.len() > 2 && text.contains(['F', 'O']))
            || texts.iter().any(|text| more.iter().any(|one| text.starts_with(one))) =>
        {
            Operation::Unclear
        }
        () if letters.contains(&'o') || long("--create") => {
            let file = texts.windows(2).find_map(|pair| match pair {
                ["-O" | "-F", file] => Some(*file),
                _ => None,
            });
            file.map_or(Operation::Looks, Operation::Packs)
        }
        () if letters.contains(&'t') || long("--list") || long("--to-stdout") => Operation::Looks,
        () if letters.contains(&'i') || long("--extract") => Operation::Unpacks,
        () => Operation::Unclear,
    }
}

#[cfg(test)]
mod tests {
    use super::{Operation, operation};

    fn of(line: &str) -> Operation<'_> {
        let texts: Vec<&str> = line.split(' ').collect();
        operation(texts.first().copied().unwrap_or_default(), &texts)
    }

    #[test]
    fn tells_listing_from_unpacking_and_packing() {
        for (line, expected) in [
            ("tar tf a.tgz", Operation::Looks),
            ("tar -tvzf a.tgz", Operation::Looks),
            ("tar --list --file=a.tar", Operation::Looks),
            ("tar xOf a.tgz etc/hosts", Operation::Looks),
            ("tar -xzf a.tgz --to-stdout x", Operation::Looks),
            ("tar -df a.tar", Operation::Looks),
            ("tar cf - /etc", Operation::Looks),
            ("tar -I zstd -tf a.tar.zst", Operation::Looks),
            ("tar xzf a.tgz", Operation::Unpacks),
            ("tar -C /opt -xf a.tgz", Operation::Unpacks),
            ("tar cfz a.tgz etc", Operation::Packs("a.tgz")),
            ("tar -czf /tmp/a.tgz etc", Operation::Packs("/tmp/a.tgz")),
            ("tar -rf t.tar x", Operation::Packs("t.tar")),
            ("tar -tf a.tar --to-command=sh", Operation::Unclear),
            ("tar -tf a.tar -I ./x", Operation::Unclear),
            ("tar -tf a.tar --checkpoint=1 --checkpoint-action=exec=sh", Operation::Unclear),
            ("tar cf - --remove-files x", Operation::Unclear),
            ("tar -tf host:a.tar --rsh-command=sh", Operation::Unclear),
            ("tar", Operation::Unclear),
            ("unzip -l a.zip", Operation::Looks),
            ("unzip -qqp a.zip x", Operation::Looks),
            ("unzip a.zip -d /opt", Operation::Unpacks),
            ("zip -r /tmp/a.zip x", Operation::Packs("/tmp/a.zip")),
            ("zip -rm /tmp/a.zip x", Operation::Unclear),
            ("7z l a.7z", Operation::Looks),
            ("7z x a.7z", Operation::Unpacks),
            ("cpio -itv", Operation::Looks),
            ("cpio -idm", Operation::Unpacks),
        ] {
            assert_eq!(of(line), expected, "{line}");
        }
    }
}

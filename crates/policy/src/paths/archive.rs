//! What an archiver does: list, unpack or pack.

use opsctl_reader::catalogue::lookup::Usage;
use opsctl_reader::catalogue::operands::Operands;
use opsctl_reader::catalogue::program::{FileHow, Role};

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

/// The operation of a command line of `tar`, `zip`, `7z`, `cpio` or a similar program.
pub fn operation<'a>(usage: &Usage, given: &Operands<'a>) -> Operation<'a> {
    let how = usage.files().how;
    let (packs, unpacks) = (given.has(Role::Packs), given.has(Role::Unpacks));
    let first = given.words().next();
    let archive = given.values(Role::Archive).last().or(first.filter(|_| how == Some(FileHow::Packing)));
    match archive {
        // On another host.
        Some(file) if how == Some(FileHow::Archive) && file.contains(':') => Operation::Unclear,
        _ if packs && unpacks => Operation::Unclear,
        _ if given.has(Role::ListsArchive) => Operation::Looks,
        Some(file) if packs || how == Some(FileHow::Packing) => {
            if file == "-" {
                Operation::Looks
            } else {
                Operation::Packs(file)
            }
        }
        None if packs => Operation::Looks,
        _ if how == Some(FileHow::Unpacking) && first.is_none() => Operation::Looks,
        _ if unpacks || how == Some(FileHow::Unpacking) => {
            if given.has(Role::ToOutput) {
                Operation::Looks
            } else {
                Operation::Unpacks
            }
        }
        _ => Operation::Unclear,
    }
}

#[cfg(test)]
mod tests {
    use super::{Operation, operation};
    use opsctl_reader::catalogue::Catalogue;

    #[test]
    fn distinguishes_listing_unpacking_and_packing() {
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
            ("tar --extr --fi a.tgz", Operation::Unpacks),
            ("tar cfz a.tgz etc", Operation::Packs("a.tgz")),
            ("tar cbf 20 a.tgz etc", Operation::Packs("a.tgz")),
            ("tar -czf /tmp/a.tgz etc", Operation::Packs("/tmp/a.tgz")),
            ("tar -rf t.tar x", Operation::Packs("t.tar")),
            ("tar -tf host:a.tar --rsh-command=sh", Operation::Unclear),
            ("tar", Operation::Unclear),
            ("unzip -l a.zip", Operation::Looks),
            ("unzip -qqp a.zip x", Operation::Looks),
            ("unzip a.zip -d /opt", Operation::Unpacks),
            ("zip -r /tmp/a.zip x", Operation::Packs("/tmp/a.zip")),
            ("7z x a.7z", Operation::Unpacks),
            ("7z x a.7z -so", Operation::Looks),
            ("7z a a.7z x", Operation::Packs("a.7z")),
            ("cpio -itv", Operation::Looks),
            ("cpio -idm", Operation::Unpacks),
            ("cpio -oFa.cpio", Operation::Packs("a.cpio")),
        ] {
            let texts: Vec<&str> = line.split(' ').collect();
            let usage = Catalogue::default().usage(&texts, &|_| false).unwrap();
            assert_eq!(operation(&usage, &usage.operands(&texts)), expected, "{line}");
        }
    }
}

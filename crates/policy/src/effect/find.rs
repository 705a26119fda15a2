//! The expression of `find`.

use super::proof::Proof;
use super::reason::Why;
use crate::model::effect::Effect;

/// Tests, options and actions without a value that change nothing.
const PLAIN: [&str; 39] = [
    "-H",
    "-L",
    "-P",
    "-E",
    "-X",
    "-d",
    "-s",
    "-x",
    "-O0",
    "-O1",
    "-O2",
    "-O3",
    "-a",
    "-and",
    "-o",
    "-or",
    "-not",
    "-daystart",
    "-depth",
    "-empty",
    "-executable",
    "-false",
    "-follow",
    "-help",
    "--help",
    "-ignore_readdir_race",
    "-ls",
    "-mount",
    "-nogroup",
    "-noignore_readdir_race",
    "-noleaf",
    "-nouser",
    "-nowarn",
    "-print",
    "-print0",
    "-prune",
    "-quit",
    "-readable",
    "-true",
];

/// More of them; `-writable` looks at rights.
const PLAIN_TOO: [&str; 6] = ["-version", "--version", "-warn", "-writable", "-xdev", "-acl"];

/// Tests, options and actions with one value that change nothing by themselves; the files that some write are looked
/// at elsewhere.
const VALUED: [&str; 53] = [
    "-amin",
    "-anewer",
    "-atime",
    "-cmin",
    "-cnewer",
    "-context",
    "-ctime",
    "-D",
    "-f",
    "-fls",
    "-fprint",
    "-fprint0",
    "-fstype",
    "-gid",
    "-group",
    "-ilname",
    "-iname",
    "-inum",
    "-ipath",
    "-iregex",
    "-iwholename",
    "-links",
    "-lname",
    "-maxdepth",
    "-mindepth",
    "-mmin",
    "-mtime",
    "-name",
    "-newer",
    "-newerBB",
    "-newermm",
    "-newermt",
    "-newerat",
    "-newerct",
    "-newerBt",
    "-newerma",
    "-neweraa",
    "-newercc",
    "-newermc",
    "-path",
    "-perm",
    "-printf",
    "-regex",
    "-regextype",
    "-samefile",
    "-since",
    "-size",
    "-type",
    "-uid",
    "-used",
    "-user",
    "-wholename",
    "-xtype",
];

/// The effect of an expression of `find`; what `-exec` runs stands below it in the tree.
pub fn effect(texts: &[&str]) -> Proof {
    let mut at = 1;
    while let Some(text) = texts.get(at).copied() {
        at += 1;
        match text {
            "-delete" => return (Effect::Changes, Why::Option(text.to_owned())),
            "-exec" | "-execdir" | "-ok" | "-okdir" => {
                let rest = texts.get(at..).unwrap_or_default();
                at += rest.iter().position(|word| matches!(*word, ";" | "+")).unwrap_or(rest.len()) + 1;
            }
            "-fprintf" => at += 2,
            "-files0-from" => return (Effect::Unknown, Why::UnknownOption(text.to_owned())),
            _ if VALUED.contains(&text) => at += 1,
            _ if PLAIN.contains(&text) || PLAIN_TOO.contains(&text) => {}
            _ if text.starts_with('-') && text.len() > 1 => {
                return (Effect::Unknown, Why::UnknownOption(text.to_owned()));
            }
            // A starting point, or one of `( ) ! ,`.
            _ => {}
        }
    }
    (Effect::Reads, Why::Stated)
}

#[cfg(test)]
mod tests {
    use super::effect;
    use crate::model::effect::Effect;

    #[test]
    fn an_expression_is_read_word_by_word() {
        let of = |line: &str| effect(&line.split(' ').collect::<Vec<_>>()).0;
        for line in [
            "find /srv -xdev ( -name *.log -o -size +1G ) ! -newer /x -printf %p",
            "find . -name -delete -print",
            "find -maxdepth 1 -type f -exec ls -l {} + -quit",
            "find /x -exec grep -delete {} ;",
        ] {
            assert_eq!(of(line), Effect::Reads, "{line}");
        }
        assert_eq!(of("find /srv -mtime +3 -delete"), Effect::Changes);
        assert_eq!(of("find /srv -exec ls {} ; -delete"), Effect::Changes);
        assert_eq!(of("find /srv -name x -remove"), Effect::Unknown);
    }
}

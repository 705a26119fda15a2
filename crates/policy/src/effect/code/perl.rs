//! One line of Perl that only computes and prints.

use super::source::Code;
use crate::shell::Command;

/// The code of a command line; `None` for options that do more.
pub fn code(command: &Command, texts: &[&str]) -> Option<Code> {
    let mut code: Vec<&str> = Vec::new();
    let mut at = 1;
    while let Some(cluster) =
        texts.get(at).and_then(|text| text.strip_prefix('-')).filter(|rest| !rest.is_empty())
    {
        at += 1;
        let mut rest = cluster;
        while let Some(letter) = rest.chars().next() {
            rest = rest.get(letter.len_utf8()..)?;
            match letter {
                'n' | 'p' | 'a' | 'w' | 's' | 'W' => {}
                '0' | 'l' => {
                    rest =
                        rest.trim_start_matches(|c: char| c.is_ascii_hexdigit() && !c.is_ascii_lowercase());
                }
                'F' if !rest.contains(['{', '$', '@']) => rest = "",
                'M' if matches!(
                    rest.split('=').next(),
                    Some("POSIX" | "List::Util" | "strict" | "warnings")
                ) =>
                {
                    rest = "";
                }
                'e' | 'E' if rest.is_empty() => {
                    code.push(command.words.get(at)?.known()?);
                    at += 1;
                }
                _ => return None,
            }
        }
    }
    // An argument may be a command: `perl -ne … 'reboot |'`.
    let is_file = |text: &&str| !text.contains('|') && !text.starts_with(['<', '>', '+', ' ']);
    let files = texts.get(at..).unwrap_or_default();
    (!code.is_empty() && files.iter().all(is_file)).then(|| Code::Runs(code.join("\n")))
}

const WORDS: &[&str] = &[
    "BEGIN",
    "END",
    "STDERR",
    "STDIN",
    "STDOUT",
    "abs",
    "and",
    "ceil",
    "chomp",
    "chop",
    "chr",
    "cmp",
    "defined",
    "delete",
    "die",
    "each",
    "else",
    "elsif",
    "eof",
    "eq",
    "exists",
    "exit",
    "first",
    "floor",
    "for",
    "foreach",
    "ge",
    "gmtime",
    "grep",
    "gt",
    "hex",
    "if",
    "index",
    "int",
    "join",
    "keys",
    "last",
    "lc",
    "lcfirst",
    "le",
    "length",
    "local",
    "localtime",
    "lt",
    "map",
    "max",
    "min",
    "my",
    "ne",
    "next",
    "not",
    "oct",
    "or",
    "ord",
    "our",
    "pack",
    "pop",
    "pos",
    "print",
    "printf",
    "push",
    "redo",
    "return",
    "reverse",
    "rindex",
    "say",
    "scalar",
    "shift",
    "sort",
    "splice",
    "split",
    "sprintf",
    "sqrt",
    "strftime",
    "substr",
    "sum",
    "sum0",
    "time",
    "uc",
    "ucfirst",
    "undef",
    "uniq",
    "unless",
    "unpack",
    "unshift",
    "until",
    "values",
    "wantarray",
    "while",
    "x",
    "xor",
];

/// Words behind which a `/` begins a pattern.
const BEFORE_PATTERNS: &[&str] =
    &["and", "grep", "if", "map", "not", "or", "print", "return", "split", "unless", "until", "while"];

/// Whether code only computes and prints.
pub fn is_harmless(code: &str) -> bool {
    let (mut rest, mut before) = (code, ' ');
    // Whether a value is expected.
    let mut value = true;
    while let Some(c) = rest.chars().next() {
        let Some(step) = step(rest, c, before, value) else { return false };
        value = step.1;
        let taken = rest.get(..rest.len() - step.0.len()).unwrap_or_default();
        before = taken.trim_end().chars().last().unwrap_or(before);
        rest = step.0;
    }
    true
}

/// What follows the next piece of code, and whether a value is expected there; `None` where it may do more.
fn step(rest: &str, c: char, before: char, value: bool) -> Option<(&str, bool)> {
    let after = rest.get(c.len_utf8()..)?;
    Some(match c {
        _ if c.is_whitespace() => (after, value),
        '#' => (after.get(after.find('\n').unwrap_or(after.len())..)?, value),
        '\'' => (body(after, '\'', false)?, false),
        '"' => (body(after, '"', true)?, false),
        '`' => return None,
        // Behind a block a pattern begins, behind a lookup it divides.
        '/' if before == '}' => return None,
        '/' if value => (flags(body(after, '/', true)?, "gimsxoc")?, false),
        '<' if before == '}' && after.starts_with(['=', ' ']) => (after, true),
        '<' if value => (after.strip_prefix("STDIN>").or_else(|| after.strip_prefix('>'))?, false),
        '&' if value && !after.starts_with('&') => return None,
        '$' | '@' => (variable(after)?, false),
        '%' if value => (variable(after)?, false),
        '-' if after.starts_with('>') => {
            let next = after.get(1..)?.trim_start().chars().next()?;
            if !matches!(next, '{' | '[') {
                return None;
            }
            (after.get(1..)?, true)
        }
        '*' if value => return None,
        _ if c.is_ascii_digit() => {
            (rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '.' || c == '_'), false)
        }
        _ if c.is_alphabetic() || c == '_' => return word(rest, before, value),
        ')' | ']' => (after, false),
        _ => (after, true),
    })
}

/// What follows a name.
fn word(rest: &str, before: char, value: bool) -> Option<(&str, bool)> {
    let tail = rest.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_' || c == ':');
    let name = rest.get(..rest.len() - tail.len())?;
    let next = tail.trim_start();
    // A key: `$h{name}`, `name => 1`.
    if next.starts_with("=>") || (before == '{' && next.starts_with('}')) {
        return Some((tail, false));
    }
    let delimiter = tail.chars().next();
    let quotes = delimiter.is_some_and(|c| "/{|!,#~([<".contains(c));
    match name {
        "q" | "qw" if quotes => Some((quoted(tail, 1, false)?, false)),
        "qq" if quotes => Some((quoted(tail, 1, true)?, false)),
        "m" | "qr" if quotes => Some((flags(quoted(tail, 1, true)?, "gimsxoc")?, false)),
        "s" if quotes => Some((flags(quoted(tail, 2, true)?, "gimsxor")?, false)),
        "tr" | "y" if quotes => Some((flags(quoted(tail, 2, false)?, "cdsr")?, false)),
        // A test of a file: `-e $x`.
        "e" | "f" | "d" | "r" | "w" | "z" | "l" if before == '-' && value => Some((tail, true)),
        // `time / 2` divides.
        _ if next.starts_with('/') && !BEFORE_PATTERNS.contains(&name) => None,
        _ if WORDS.contains(&name) => Some((tail, true)),
        _ => None,
    }
}

/// What follows a variable whose sign is gone.
fn variable(after: &str) -> Option<&str> {
    let c = after.chars().next()?;
    let name = after.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_');
    match after.get(..after.len() - name.len())? {
        // Files that are read next may be commands.
        "ARGV" => None,
        "" => match c {
            // `@$x`, `$#x`, `@{…}`: what stands in the brackets is looked at, too.
            '$' | '#' | '{' => Some(if c == '{' { after } else { after.get(1..)? }),
            '.' | ',' | '/' | '\\' | ';' | '&' | '!' | '@' | '"' | '|' | '+' => after.get(1..),
            _ => None,
        },
        _ if name.starts_with("::") => None,
        _ => Some(name),
    }
}

/// What follows the flags of a pattern; `None` where one of them runs code.
fn flags<'a>(text: &'a str, known: &str) -> Option<&'a str> {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    let flags = text.get(..text.len() - rest.len())?;
    // `… /x/if …` is a word behind the pattern.
    let words = ["if", "and", "or", "unless", "x"];
    (flags.chars().all(|c| known.contains(c)) || words.contains(&flags)).then_some(rest)
}

/// What follows as many bodies between delimiters, of which the text begins with one.
fn quoted(text: &str, bodies: usize, computes: bool) -> Option<&str> {
    let open = text.chars().next()?;
    let close = match open {
        '(' => ')',
        '{' => '}',
        '[' => ']',
        '<' => '>',
        other => other,
    };
    let mut rest = text.get(1..)?;
    for part in 0..bodies {
        if part > 0 && close != open {
            rest = rest.trim_start().strip_prefix(open)?;
        }
        rest = nested(rest, open, close, computes)?;
    }
    Some(rest)
}

fn body(text: &str, close: char, computes: bool) -> Option<&str> {
    nested(text, close, close, computes)
}

/// What follows the delimiter that closes a body.
fn nested(text: &str, open: char, close: char, computes: bool) -> Option<&str> {
    let mut depth = 0;
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => {
                chars.next();
            }
            _ if c == close && depth == 0 => {
                let body = text.get(..at)?;
                // Code within a text or a pattern.
                let runs =
                    ["@{", "${", "(?{", "(??", "(*", "$$", "@$", "->"].iter().any(|mark| body.contains(mark));
                return (!computes || !runs).then(|| text.get(at + c.len_utf8()..))?;
            }
            _ if c == close => depth -= 1,
            _ if c == open => depth += 1,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::is_harmless;

    #[test]
    fn only_code_that_computes_and_prints_reads() {
        for code in [
            "print if /error/i",
            "s/a/b/g",
            "print $F[0], \"\\n\"",
            "$s += $F[4]; END { print $s }",
            "print \"$1\\n\" while /ip=(\\S+)/g",
            "/x/ and print",
            "$c{$1}++ if /^(\\w+)/; END { print \"$_ $c{$_}\\n\" for sort { $c{$b} <=> $c{$a} } keys %c }",
            "print scalar localtime",
            "printf \"%s\\n\", join ',', map { lc } split /,/",
            "print unless $seen{$_}++",
            "tr/a-z/A-Z/",
            "print \"system(1)\"",
            "next if $. < 5; print $x{system}",
        ] {
            assert!(is_harmless(code), "{code}");
        }
        for code in [
            "system('x')",
            "unlink glob 'x'",
            "print `id`",
            "qx(id)",
            "s/a/unlink 'x'/e",
            "s{a}{system 'x'}ge",
            "open F, '>x'",
            "print \"@{[system('x')]}\"",
            "/(?{system('x')})/",
            "&system('x')",
            "$x->unlink",
            "*a = *b",
            "BEGIN { @ARGV = ('id |') } print",
            "while (<$f>) { print }",
            "use File::Path; rmtree 'x'",
            "do 'x'",
            "eval 'x'",
            "exec 'x'",
            "kill 9, 1",
            "$^I = '.bak'",
            "CORE::system('x')",
            "print $x / 2; system 'a' / 3",
            "print $h{a} / 2; system('x') / 3",
            "print time / 2; system('x') / 3",
            "y/a/b/; rename 'a', 'b'",
        ] {
            assert!(!is_harmless(code), "{code}");
        }
    }
}

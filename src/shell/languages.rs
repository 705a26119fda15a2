//! Interpreters of other languages, by the names of their programs.

/// The language of a program's name, which may end in a version: `python3.12`, `lua5.4`, `luajit`.
pub(crate) fn language(program: &str) -> &str {
    let stem = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    if stem == "luajit" { "lua" } else { stem }
}

/// True for the programs whose code may stand on their command line, and is looked through.
pub fn is_interpreter(program: &str) -> bool {
    matches!(
        language(program),
        "python"
            | "pypy"
            | "perl"
            | "ruby"
            | "node"
            | "nodejs"
            | "deno"
            | "bun"
            | "awk"
            | "gawk"
            | "mawk"
            | "php"
            | "lua"
    )
}

//! JavaScript for Node.js that only computes and prints.

use std::collections::BTreeMap;

use super::source::{Code, known};
use super::tokens::{Kind, Token, opens_any, tokens};
use crate::shell::Command;

/// The code of a command line.
pub fn code(command: &Command, texts: &[&str]) -> Option<Code> {
    let mut at = 1;
    while let Some(text) = texts.get(at) {
        at += 1;
        match *text {
            "-e" | "--eval" | "-p" | "--print" | "-pe" => return known(command.words.get(at)),
            "--check" | "-c" if at + 1 == texts.len() => return Some(Code::Looks),
            "--no-warnings" | "--no-deprecation" => {}
            "-" if at == texts.len() => return known(command.stdin.as_ref()),
            _ => return None,
        }
    }
    known(command.stdin.as_ref())
}

/// Modules and what of them may be used; all of it where nothing is listed.
const MODULES: &[(&str, &[&str])] = &[
    (
        "fs",
        &[
            "readFileSync",
            "existsSync",
            "readdirSync",
            "statSync",
            "lstatSync",
            "realpathSync",
            "readlinkSync",
            "accessSync",
            "constants",
        ],
    ),
    (
        "os",
        &[
            "hostname",
            "cpus",
            "totalmem",
            "freemem",
            "loadavg",
            "uptime",
            "networkInterfaces",
            "platform",
            "release",
            "type",
            "arch",
            "EOL",
            "tmpdir",
            "homedir",
            "userInfo",
            "version",
            "machine",
        ],
    ),
    ("path", &[]),
    ("url", &[]),
    ("querystring", &[]),
    ("crypto", &[]),
];

const PROCESS: &[&str] = &[
    "argv",
    "env",
    "version",
    "versions",
    "platform",
    "arch",
    "cwd",
    "exit",
    "stdout",
    "stderr",
    "stdin",
    "memoryUsage",
    "uptime",
    "pid",
    "hrtime",
    "release",
    "title",
];

const FORBIDDEN: &[&str] = &[
    "eval",
    "Function",
    "constructor",
    "__proto__",
    "prototype",
    "globalThis",
    "global",
    "window",
    "import",
    "Reflect",
    "Proxy",
    "module",
    "exports",
    "WebAssembly",
    "with",
    "this",
    "async",
    "bind",
    "call",
    "apply",
];

const CALLS: &[&str] = &[
    "parseInt",
    "parseFloat",
    "Number",
    "String",
    "Boolean",
    "Array",
    "Object",
    "Date",
    "BigInt",
    "RegExp",
    "Error",
    "encodeURIComponent",
    "decodeURIComponent",
    "encodeURI",
    "decodeURI",
    "isNaN",
    "isFinite",
    "Map",
    "Set",
    "URL",
    "URLSearchParams",
    "atob",
    "btoa",
    "if",
    "for",
    "while",
    "switch",
    "catch",
    "function",
    "return",
    "typeof",
    "in",
    "of",
    "else",
];

const METHODS: &[&str] = &[
    "abs",
    "add",
    "assign",
    "at",
    "ceil",
    "charAt",
    "charCodeAt",
    "codePointAt",
    "concat",
    "createHash",
    "delete",
    "digest",
    "dir",
    "endsWith",
    "entries",
    "error",
    "every",
    "exec",
    "fill",
    "filter",
    "find",
    "findIndex",
    "flat",
    "flatMap",
    "floor",
    "forEach",
    "freeze",
    "from",
    "fromEntries",
    "get",
    "getTime",
    "has",
    "includes",
    "indexOf",
    "info",
    "isArray",
    "isDirectory",
    "isFile",
    "isInteger",
    "join",
    "keys",
    "lastIndexOf",
    "localeCompare",
    "log",
    "map",
    "match",
    "matchAll",
    "max",
    "min",
    "now",
    "of",
    "on",
    "padEnd",
    "padStart",
    "parse",
    "pop",
    "pow",
    "push",
    "random",
    "reduce",
    "repeat",
    "replace",
    "replaceAll",
    "reverse",
    "round",
    "search",
    "set",
    "setEncoding",
    "shift",
    "slice",
    "some",
    "sort",
    "splice",
    "split",
    "sqrt",
    "startsWith",
    "stringify",
    "substr",
    "substring",
    "table",
    "test",
    "toFixed",
    "toISOString",
    "toJSON",
    "toLocaleDateString",
    "toLocaleString",
    "toLowerCase",
    "toString",
    "toUpperCase",
    "trim",
    "trimEnd",
    "trimStart",
    "trunc",
    "unshift",
    "update",
    "valueOf",
    "values",
    "warn",
    "write",
];

fn listed(module: &str) -> Option<&'static [&'static str]> {
    let module = module.strip_prefix("node:").unwrap_or(module);
    MODULES.iter().find(|(name, _)| *name == module).map(|(_, names)| *names)
}

fn allows(module: &str, name: &str) -> bool {
    listed(module).is_some_and(|names| names.is_empty() || names.contains(&name))
}

/// Whether a module is data.
fn is_data(module: &str) -> bool {
    module.strip_suffix(".json").is_some_and(|path| path.starts_with(['.', '/']))
}

/// Whether code only computes and prints.
pub fn is_harmless(code: &str) -> bool {
    let Some(tokens) = tokens(code, Kind::Script) else { return false };
    let tokens: Vec<Token> = tokens.into_iter().filter(|token| *token != Token::Line).collect();
    let lists_folders = tokens.iter().any(|token| token.name() == Some("readdirSync"));
    let opens_any_file = tokens.windows(2).enumerate().any(|(at, pair)| {
        matches!(pair, [Token::Name(name), Token::Symbol('(')] if name == "readFileSync")
            && opens_any(tokens.get(at + 2..).unwrap_or_default().iter(), lists_folders)
    });
    if opens_any_file {
        return false;
    }
    // `const fs = require('fs')`.
    let mut modules: BTreeMap<&str, &str> = BTreeMap::new();
    for window in tokens.windows(5) {
        if let [
            Token::Name(name),
            Token::Symbol('='),
            Token::Name(require),
            Token::Symbol('('),
            Token::Text(module),
        ] = window
            && require == "require"
        {
            modules.insert(name, module);
        }
    }
    let functions: Vec<&str> = tokens
        .windows(2)
        .filter_map(|pair| match pair {
            [Token::Name(word), Token::Name(name)] if word == "function" => Some(name.as_str()),
            _ => None,
        })
        .collect();
    (0..tokens.len()).all(|at| is_fine(&tokens, at, &modules, &functions))
}

fn is_fine(tokens: &[Token], at: usize, modules: &BTreeMap<&str, &str>, functions: &[&str]) -> bool {
    let Some(token) = tokens.get(at) else { return true };
    let before = |count: usize| at.checked_sub(count).and_then(|at| tokens.get(at));
    let next = |count: usize| tokens.get(at + count);
    let called = next(1).is_some_and(|token| token.is('('));
    let dotted = before(1).is_some_and(|token| token.is('.'));
    match token {
        Token::Symbol('(') => !before(1).is_some_and(|token| token.is(')') || token.is(']') || token.is('}')),
        Token::Text(text) => !FORBIDDEN.contains(&text.as_str()) && !text.contains('\u{1}'),
        Token::Name(name) => {
            let name = name.as_str();
            if FORBIDDEN.contains(&name) || name.contains('\\') {
                return false;
            }
            let member =
                |count: usize| next(count).filter(|token| token.is('.')).and(next(count + 1)?.name());
            match name {
                _ if dotted => {
                    let owner =
                        before(2).and_then(Token::name).filter(|_| !before(3).is_some_and(|one| one.is('.')));
                    let module = owner.and_then(|owner| modules.get(owner)).filter(|module| !is_data(module));
                    module.is_some()
                        || !called
                        || METHODS.contains(&name)
                        || is_member_of_require(tokens, at)
                        || (owner == Some("process") && PROCESS.contains(&name))
                }
                "require" => match (next(1), next(2), next(3)) {
                    (Some(Token::Symbol('(')), Some(Token::Text(module)), Some(Token::Symbol(')'))) => {
                        let bound = before(1).is_some_and(|one| one.is('='))
                            && before(2).and_then(Token::name).is_some();
                        is_data(module)
                            || (bound && listed(module).is_some() && !next(4).is_some_and(|one| one.is('.')))
                            || member(4).is_some_and(|name| allows(module, name))
                    }
                    _ => false,
                },
                "process" => member(1).is_some_and(|name| PROCESS.contains(&name)),
                _ if modules.get(name).is_some_and(|module| !is_data(module)) => {
                    let bound = next(1).is_some_and(|one| one.is('='))
                        && next(2).and_then(Token::name) == Some("require");
                    bound
                        || member(1)
                            .is_some_and(|member| modules.get(name).is_some_and(|one| allows(one, member)))
                }
                _ => !called || CALLS.contains(&name) || functions.contains(&name),
            }
        }
        _ => true,
    }
}

/// Whether a name follows `require('…').`, where it was looked at.
fn is_member_of_require(tokens: &[Token], at: usize) -> bool {
    let before = |count: usize| at.checked_sub(count).and_then(|at| tokens.get(at));
    before(2).is_some_and(|one| one.is(')'))
        && matches!(before(3), Some(Token::Text(_)))
        && before(5).and_then(Token::name) == Some("require")
}

#[cfg(test)]
mod tests {
    use super::is_harmless;

    #[test]
    fn only_code_that_computes_and_prints_reads() {
        for code in [
            "console.log(require('/opt/app/package.json').version)",
            "console.log(process.version, process.memoryUsage().rss)",
            "const fs = require('fs'); console.log(JSON.parse(fs.readFileSync('/x', 'utf8')).a.map(x => x.b))",
            "JSON.parse(require('fs').readFileSync(0)).forEach(s => console.log(`${s.name} ${s.state}`))",
            "let s=''; process.stdin.on('data', d => s += d).on('end', () => console.log(JSON.parse(s).x))",
            "console.log(new Date().toISOString(), /a\\/b/.test('x'))",
            "console.log(require('os').loadavg())",
            "function f(x) { return x * 2 } console.log(f(2))",
        ] {
            assert!(is_harmless(code), "{code}");
        }
        for code in [
            "require('fs').writeFileSync('/x', '')",
            "const fs = require('fs'); for (const f of fs.readdirSync('/app')) console.log(fs.readFileSync(f))",
            "console.log(require('fs').readFileSync('/app/' + '.env', 'utf8'))",
            "const fs = require('fs'); fs.rmSync('/x')",
            "const f = require('fs')['rmSync']; f('x')",
            "const {rmSync} = require('fs'); rmSync('x')",
            "require('child_process').execSync('x')",
            "const x = require; x('child_process')",
            "process.kill(1)",
            "process.binding('x')",
            "const p = process; p.kill(1)",
            "eval('1')",
            "[]['constructor']['constructor']('x')()",
            "(()=>{}).constructor('x')()",
            "console.log(`${require('child_process').execSync('x')}`)",
            "import('fs')",
            "require('./x.js')",
            "require(name)",
            "fetch('http://x', {method: 'POST'})",
            "const fs = require('fs'); const g = fs; g.rmSync('x')",
        ] {
            assert!(!is_harmless(code), "{code}");
        }
    }
}

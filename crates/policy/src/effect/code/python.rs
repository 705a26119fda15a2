//! Python that only computes and prints.

use std::collections::{BTreeMap, BTreeSet};

use super::python_modules::{CALLS, FORBIDDEN, KEYWORDS, METHODS, allowed, allows};
use super::source::{Code, known};
use super::tokens::{Kind, Token, opens_any, tokens};
use crate::shell::Command;

/// The code of a command line.
pub fn code(command: &Command, texts: &[&str]) -> Option<Code> {
    let mut at = 1;
    while let Some(text) = texts.get(at) {
        at += 1;
        match *text {
            "-c" => return known(command.words.get(at)),
            "-m" => {
                return match texts.get(at).copied()? {
                    "pip" | "pipx" => Some(Code::Module(at)),
                    "json.tool" if texts.len() <= at + 2 => Some(Code::Looks),
                    "platform" | "site" | "sysconfig" | "calendar" | "this" | "tabnanny" => Some(Code::Looks),
                    _ => None,
                };
            }
            "-" if at == texts.len() => return known(command.stdin.as_ref()),
            "-u" | "-B" | "-E" | "-s" | "-S" | "-I" | "-q" | "-O" | "-OO" | "-b" | "-bb" => {}
            "-W" | "-X" => at += 1,
            _ => return None,
        }
    }
    known(command.stdin.as_ref())
}

/// Names that imports bind.
#[derive(Default)]
struct Imports {
    /// Modules by the name that stands for them.
    modules: BTreeMap<String, String>,
    /// Packages that were imported for one of their modules: `urllib` for `urllib.parse`.
    packages: BTreeMap<String, String>,
    /// Functions and classes.
    names: BTreeSet<String>,
}

/// Whether code only computes and prints.
pub fn is_harmless(code: &str) -> bool {
    let Some(tokens) = tokens(code, Kind::Python) else { return false };
    let mut imports = Imports::default();
    let mut rest = Vec::new();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let begins =
            rest.last().is_none_or(|token: &&Token| matches!(token, Token::Line | Token::Symbol(';' | ':')));
        if begins && matches!(token.name(), Some("import" | "from")) {
            let ends = |token: &Token| matches!(token, Token::Line | Token::Symbol(';'));
            let line = tokens.get(at..).unwrap_or_default();
            let line = line.get(..line.iter().position(ends).unwrap_or(line.len())).unwrap_or_default();
            if imports.bind(line).is_none() {
                return false;
            }
            at += line.len();
            continue;
        }
        rest.push(token);
        at += 1;
    }
    if opens_any_file(&rest) {
        return false;
    }
    let local = local_functions(&rest);
    // `Path.replace` renames a file, `ElementTree.write` writes one.
    let uses = |module: &str| {
        imports.modules.values().any(|one| one == module) || imports.names.iter().any(|one| one == "Path")
    };
    let risky: &[&str] = match (uses("pathlib"), imports.modules.values().any(|one| one.starts_with("xml"))) {
        (true, _) => &["replace", "write"],
        (_, true) => &["write"],
        _ => &[],
    };
    (0..rest.len()).all(|at| is_fine(&rest, at, &imports, &local, risky))
}

/// Whether the name of a file that the code reads cannot be determined: the file may be a secret one.
fn opens_any_file(tokens: &[&Token]) -> bool {
    let walks = ["walk", "listdir", "scandir", "iterdir", "rglob"];
    let lists_folders = tokens.iter().filter_map(|token| token.name()).any(|name| walks.contains(&name));
    tokens.windows(2).enumerate().any(|(at, pair)| {
        let [token, bracket] = pair else { return false };
        let argument = tokens.get(at + 2..).unwrap_or_default().iter().copied();
        match token.name().filter(|_| bracket.is('(')) {
            Some("open") => opens_any(argument, lists_folders),
            Some("read_text" | "read_bytes") => lists_folders,
            _ => false,
        }
    })
}

impl Imports {
    /// Reads an import statement; `None` where it imports something else than harmless modules.
    fn bind(&mut self, line: &[Token]) -> Option<()> {
        let mut words = line.iter().filter(|token| !token.is('(') && !token.is(')'));
        let from = words.next()?.name()? == "from";
        let words: Vec<&Token> = words.collect();
        let (module, names) = if from {
            let at = words.iter().position(|token| token.name() == Some("import"))?;
            (Some(dotted(words.get(..at)?)?), words.get(at + 1..)?)
        } else {
            (None, words.as_slice())
        };
        for part in names.split(|token| token.is(',')) {
            let alias = part.iter().position(|token| token.name() == Some("as"));
            let name = dotted(part.get(..alias.unwrap_or(part.len()))?)?;
            let bound = alias.and_then(|at| part.get(at + 1)?.name()).map(str::to_owned);
            match &module {
                Some(module) if allows(module, &name) && name != "open" => {
                    self.names.insert(bound.unwrap_or(name));
                }
                Some(module) => {
                    let whole = format!("{module}.{name}");
                    allowed(&whole)?;
                    self.modules.insert(bound.unwrap_or(name), whole);
                }
                None => {
                    allowed(&name)?;
                    match (bound, name.split_once('.')) {
                        (Some(bound), _) => self.modules.insert(bound, name),
                        (None, Some(("os", _))) => self.modules.insert("os".to_owned(), "os".to_owned()),
                        (None, Some((package, _))) => self.packages.insert(package.to_owned(), name),
                        (None, None) => self.modules.insert(name.clone(), name),
                    };
                }
            }
        }
        Some(())
    }
}

fn dotted(tokens: &[&Token]) -> Option<String> {
    let mut name = String::new();
    for token in tokens {
        match token {
            Token::Name(part) => name.push_str(part),
            Token::Symbol('.') => name.push('.'),
            _ => return None,
        }
    }
    (!name.is_empty()).then_some(name)
}

/// Functions that the code defines.
fn local_functions(tokens: &[&Token]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (at, token) in tokens.iter().enumerate() {
        let next = |count: usize| tokens.get(at + count).copied();
        match token.name() {
            Some("def") => names.extend(next(1).and_then(Token::name).map(str::to_owned)),
            Some(name)
                if next(1).is_some_and(|one| one.is('='))
                    && next(2).and_then(Token::name) == Some("lambda") =>
            {
                names.insert(name.to_owned());
            }
            _ => {}
        }
    }
    names
}

/// Whether the token at an index is harmless where it stands.
fn is_fine(
    tokens: &[&Token],
    at: usize,
    imports: &Imports,
    local: &BTreeSet<String>,
    risky: &[&str],
) -> bool {
    let Some(token) = tokens.get(at).copied() else { return true };
    let before = at.checked_sub(1).and_then(|at| tokens.get(at)).copied();
    let next = |count: usize| tokens.get(at + count).copied();
    let called = next(1).is_some_and(|token| token.is('('));
    match token {
        Token::Symbol('@') => false,
        // The result of a call or of a lookup is called.
        Token::Symbol('(') => {
            !before.is_some_and(|token| token.is(')') || token.is(']') || matches!(token, Token::Text(_)))
        }
        Token::Text(text) => !text.contains("__") || text == "__main__",
        Token::Name(name) => {
            let name = name.as_str();
            if FORBIDDEN.contains(&name)
                || (name.starts_with("__") && !matches!(name, "__name__" | "__version__" | "__file__"))
            {
                return false;
            }
            if before.is_some_and(|token| token.is('.')) {
                return is_attribute_fine(tokens, at, imports, called, risky);
            }
            let is_module = imports.modules.contains_key(name) || imports.packages.contains_key(name);
            if is_module {
                return next(1).is_some_and(|token| token.is('.'))
                    || next(1).is_some_and(|token| token.is('=')) && !called;
            }
            if name == "open" {
                return called && opens_to_read(tokens, at + 2, true);
            }
            let defined = before.and_then(Token::name).is_some_and(|word| word == "def" || word == "class");
            !called
                || defined
                || KEYWORDS.contains(&name)
                || CALLS.contains(&name)
                || imports.names.contains(name)
                || local.contains(name)
        }
        _ => true,
    }
}

/// Whether a name behind a dot is harmless.
fn is_attribute_fine(tokens: &[&Token], at: usize, imports: &Imports, called: bool, risky: &[&str]) -> bool {
    let Some(name) = tokens.get(at).and_then(|token| token.name()) else { return false };
    let owner = at.checked_sub(2).and_then(|at| tokens.get(at)).and_then(|token| token.name());
    let dotted_owner = at.checked_sub(3).and_then(|at| tokens.get(at)).is_some_and(|token| token.is('.'));
    if let Some(owner) = owner.filter(|_| !dotted_owner) {
        if let Some(module) = imports.modules.get(owner) {
            return allows(module, name)
                && (name != "open" || (called && opens_to_read(tokens, at + 2, true)));
        }
        if let Some(whole) = imports.packages.get(owner) {
            return whole.split('.').nth(1) == Some(name);
        }
    }
    // The last part of `urllib.parse.quote`.
    let start = at.checked_sub(4).and_then(|at| tokens.get(at)).and_then(|token| token.name());
    let in_package = start.and_then(|start| imports.packages.get(start)).or_else(|| {
        let start = at.checked_sub(6).and_then(|at| tokens.get(at)).and_then(|token| token.name());
        start.and_then(|start| imports.packages.get(start))
    });
    if let Some(whole) = in_package {
        return whole.split('.').any(|part| part == name) || allows(whole, name);
    }
    match name {
        "open" => called && opens_to_read(tokens, at + 2, false),
        _ if risky.contains(&name) => {
            // `sys.stdout.write` prints.
            name == "write" && matches!(owner, Some("stdout" | "stderr"))
        }
        _ => !called || METHODS.contains(&name),
    }
}

/// Whether the arguments from an index on open a file to read it. The first one is its path, unless a path opens itself.
fn opens_to_read(tokens: &[&Token], from: usize, has_path: bool) -> bool {
    let mut depth = 0;
    let mut argument = usize::from(!has_path);
    for (at, token) in tokens.iter().enumerate().skip(from) {
        match token {
            Token::Symbol('(' | '[' | '{') => depth += 1,
            Token::Symbol(')') if depth == 0 => return true,
            Token::Symbol(')' | ']' | '}') => depth -= 1,
            Token::Symbol(',') if depth == 0 => argument += 1,
            _ if depth > 0 || argument == 0 => {
                // `open(file='x', mode='w')`, `open(*arguments)`.
                if depth == 0 && matches!(token, Token::Symbol('*' | '=')) {
                    return false;
                }
            }
            Token::Text(mode) => {
                let keyword = at.checked_sub(2).and_then(|at| tokens.get(at)).and_then(|token| token.name());
                let is_mode = !matches!(keyword, Some("encoding" | "errors" | "newline"));
                if is_mode && !matches!(mode.as_str(), "r" | "rb" | "rt") {
                    return false;
                }
            }
            Token::Name(name)
                if !matches!(name.as_str(), "mode" | "encoding" | "errors" | "newline" | "None") =>
            {
                return false;
            }
            Token::Symbol('=') | Token::Name(_) | Token::Line => {}
            Token::Symbol(_) | Token::Value => return false,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::is_harmless;

    #[test]
    fn only_code_that_computes_and_prints_reads() {
        for code in [
            "print(1)",
            "import json,sys; print(json.load(sys.stdin)['status'])",
            "import json, sys\nfor s in json.load(sys.stdin)['services']:\n    print(s['name'], s.get('state'))",
            "import collections\nc = collections.Counter(l.split()[0] for l in open('/var/log/x'))\nprint(c.most_common(5))",
            "import os; print(os.environ.get('HOME'), os.path.exists('/etc'), os.cpu_count())",
            "from datetime import datetime as d; print(d.now().isoformat())",
            "import urllib.parse; print(urllib.parse.quote('a b'))",
            "import sys; sys.stdout.write(sys.stdin.read().upper())",
            "with open('/etc/hosts', encoding='utf-8') as f: print(f.read())",
            "import yaml; print(yaml.safe_load(open('x.yml'))['services'].keys())",
            "def f(x):\n  return x*2\nprint(f(2))",
            "print(f'{1+1:>5} {len(\"x\")}')",
            "import xml.etree.ElementTree as E; print(E.parse('x').getroot().findtext('a'))",
            "import socket; s=socket.create_connection(('h', 80), 3); print('open'); s.close()",
            "from pathlib import Path; print(Path('/etc/hosts').read_text())",
            "p = '/var/log/x'\nfor l in open(p): print(l)",
            "import glob\nfor f in glob.glob('/etc/nginx/*.conf'): print(open(f).read())",
            "import os\nfor d, _, fs in os.walk('/srv'): print(d, len(fs))",
            "import sys; print(open(sys.argv[1]).read())",
            "for p in (1, 2): print(open(f'/proc/{p}/stat').read())",
            "print('os.system(1)') # os.system('x')",
        ] {
            assert!(is_harmless(code), "{code}");
        }
        for code in [
            "import os; os.system('x')",
            "import os as o; o.remove('x')",
            "from os import system; system('x')",
            "from os import *; system('x')",
            "import subprocess; subprocess.run(['x'])",
            "__import__('os').system('x')",
            "eval('1')",
            "f = eval; f('1')",
            "import os; [print(open(os.path.join(d,f)).read()) for d,_,fs in os.walk('/app') for f in fs]",
            "import os\nfor f in os.listdir('/app'):\n  print(open(f).read())",
            "from pathlib import Path\nfor p in Path('/app').rglob('*'): print(p.read_text())",
            "print(open('/app/.e' + 'nv').read())",
            "import os; [print(open(f'{d}/{f}').read()) for d,_,fs in os.walk('/app') for f in fs]",
            "open('x', 'w')",
            "open('x', mode='a').write('y')",
            "open('x', m)",
            "f = open; f('x', 'w')",
            "import os; f = os; f.system('x')",
            "import os; list(map(os.system, ['x']))",
            "import os; getattr(os, 'system')('x')",
            "print(f\"{__import__('os').system('x')}\")",
            "import os; print(f'{os.system(1)}')",
            "from pathlib import Path; Path('x').unlink()",
            "from pathlib import Path; Path('x').write_text('y')",
            "from pathlib import Path; Path('x').replace('y')",
            "from pathlib import Path; Path('x').open('w')",
            "import xml.etree.ElementTree as E; E.parse('x').write('y')",
            "import sys; sys.modules['os'].system('x')",
            "import yaml; yaml.load(open('x'), Loader=yaml.Loader)",
            "import pickle",
            "import mymodule",
            "().__class__.__base__.__subclasses__()",
            "import json; json.__builtins__",
            "import operator; list(map(operator.methodcaller('unlink'), [1]))",
            "import functools; functools.partial(open, mode='w')('x')",
            "import shutil; shutil.rmtree('x')",
            "x['a']('b')",
            "import gzip; gzip.open('x', 'wb')",
            "import socket; s=socket.socket(); s.sendall(b'x')",
            "import urllib.request; urllib.request.urlopen('http://x', data=b'x')",
        ] {
            assert!(!is_harmless(code), "{code}");
        }
    }
}

//! Source files do not import each other in a cycle.
//!
//! An import is a `use` item or a path in the code, such as `crate::shell::read(…)`. A name that a module
//! re-exports counts as an import of the file that defines it. A parent's `mod x;`, a re-export that the
//! file does not use itself, and code under `#[cfg(test)]` are not imports.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use syn::visit::{self, Visit};
use syn::{Attribute, ImplItemFn, Item, ItemMod, ItemUse, Macro, UseTree, Visibility};

/// Source texts by crate and path below its `src`.
type Sources = BTreeMap<String, String>;
/// `crate::shell::text`, with the name of the crate in place of `crate`.
type Names = Vec<String>;
/// For each file, the files that it imports, with the imported names.
type Imports = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

#[test]
fn no_import_cycles_between_source_files() {
    let sources = sources();
    let imports = imports(&sources);
    let found: usize = imports.values().map(BTreeMap::len).sum();
    assert!(found > 500, "{found} imports found in {} files", sources.len());
    let cycles = cycles(&imports);
    assert!(cycles.is_empty(), "{} import cycles:\n\n{}", cycles.len(), cycles.join("\n"));
}

#[test]
fn no_folder_has_more_than_fifteen_source_files() {
    let mut folders = BTreeMap::<String, usize>::new();
    for file in sources().keys() {
        let (folder, _) = file.rsplit_once('/').unwrap();
        *folders.entry(folder.to_owned()).or_default() += 1;
    }
    folders.retain(|_, files| *files > 15);
    assert_eq!(folders, BTreeMap::new());
}

#[test]
fn the_core_uses_no_file_socket_clock_database_or_runtime() {
    let tree = std::process::Command::new(std::env::var_os("CARGO").unwrap())
        .args([
            "tree",
            "--locked",
            "--offline",
            "--package",
            "opsctl-policy",
            "--edges",
            "normal",
            "--prefix",
            "none",
        ])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(tree.status.success(), "{}", String::from_utf8_lossy(&tree.stderr));
    let tree = String::from_utf8(tree.stdout).unwrap();
    let crates: BTreeSet<&str> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
    assert!(crates.contains("opsctl-reader") && crates.contains("brush-parser"), "{crates:?}");
    let outside =
        ["serde_json", "rusqlite", "tokio-postgres", "hyper", "axum", "mio", "socket2", "rustix", "nix"];
    let used: Vec<&&str> = outside.iter().filter(|name| crates.contains(**name)).collect();
    assert_eq!(used, [&""; 0]);

    let outside =
        ["std::fs", "std::env", "std::process", "std::os", "TcpStream", "SystemTime", "Instant", "Utc::now"];
    let sources = sources();
    let is_test = |file: &str| {
        let stem = file.rsplit('/').next().unwrap().trim_end_matches(".rs");
        sources.values().any(|source| source.contains(&format!("#[cfg(test)]\nmod {stem};")))
    };
    for (file, source) in sources.iter().filter(|(file, _)| !is_test(file)) {
        let own = source.split("#[cfg(test)]").next().unwrap();
        if file.starts_with("opsctl_reader/") || file.starts_with("opsctl_policy/") {
            let used: Vec<&&str> = outside.iter().filter(|name| own.contains(**name)).collect();
            assert_eq!(used, [&""; 0], "{file}");
        }
    }
}

/// The sources of every crate, by crate and by path below its `src`: `opsctl_reader/shell/text.rs`.
fn sources() -> Sources {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders = vec![("opsctl".to_owned(), root.join("src"))];
    for entry in std::fs::read_dir(root.join("crates")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        folders.push((format!("opsctl_{name}"), path.join("src")));
    }
    let mut sources = Sources::new();
    while let Some((name, folder)) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = format!("{name}/{}", path.file_name().unwrap().to_str().unwrap());
            if path.is_dir() {
                folders.push((name, path));
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                sources.insert(name, std::fs::read_to_string(path).unwrap());
            }
        }
    }
    sources
}

#[test]
fn finds_a_cycle_through_a_path_a_macro_and_a_re_export() {
    let cycles = cycles_of(&[
        ("lib.rs", "mod a; mod b; mod c;"),
        ("a.rs", "use super::b; fn f() { b::g(); }"),
        ("b.rs", "pub fn g() { println!(\"{}\", crate::c::h()); }"),
        ("c/mod.rs", "mod inner; pub use inner::h;"),
        ("c/inner.rs", "use crate::a::*; pub fn h() {}"),
    ]);
    assert_eq!(cycles, ["x/a.rs -> x/b.rs: g\nx/b.rs -> x/c/inner.rs: h\nx/c/inner.rs -> x/a.rs: *\n"]);
}

#[test]
fn finds_a_parent_and_a_child_that_import_each_other() {
    let cycles = cycles_of(&[
        ("lib.rs", "mod a;"),
        ("a/mod.rs", "mod child; pub use child::Child; pub struct Parent(Child);"),
        (
            "a/child.rs",
            "pub struct Child; impl Child { fn parent(self) -> super::Parent { super::Parent(self) } }",
        ),
    ]);
    assert_eq!(cycles, ["x/a/child.rs -> x/a/mod.rs: Parent\nx/a/mod.rs -> x/a/child.rs: Child\n"]);
}

#[test]
fn ignores_declarations_re_exports_and_test_code() {
    let cycles = cycles_of(&[
        ("lib.rs", "pub mod a; pub struct Outer;"),
        ("a/mod.rs", "mod child; #[cfg(test)] mod plans; pub use child::Child; pub struct Parent;"),
        (
            "a/child.rs",
            "use super::Parent; pub struct Child(Parent, crate::Outer, std::fmt::Error);
             #[cfg(test)] mod tests { use crate::a::plans::plan; }",
        ),
        ("a/plans.rs", "use super::child::Child; use super::Parent;"),
    ]);
    assert_eq!(cycles, [""; 0]);
}

fn cycles_of(sources: &[(&str, &str)]) -> Vec<String> {
    let owned = sources.iter().map(|(path, text)| (format!("x/{path}"), (*text).to_owned()));
    cycles(&imports(&owned.collect()))
}

/// One text for each set of files that import each other: a line `a.rs -> b.rs: names` for each import.
fn cycles(imports: &Imports) -> Vec<String> {
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        imports.keys().map(|file| (file.as_str(), reached_from(imports, file))).collect();
    let mutual = |a: &str, b: &str| reached[a].contains(b) && reached.get(b).is_some_and(|to| to.contains(a));
    let mut cycles = Vec::new();
    let mut seen = BTreeSet::new();
    for first in reached.keys().filter(|file| mutual(file, file)) {
        let mut cycle = String::new();
        for from in reached.keys().filter(|file| mutual(first, file) && seen.insert(**file)) {
            for (to, names) in imports[*from].iter().filter(|(to, _)| mutual(first, to)) {
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                cycle.push_str(&format!("{from} -> {to}: {}\n", names.join(", ")));
            }
        }
        if !cycle.is_empty() {
            cycles.push(cycle);
        }
    }
    cycles
}

/// The files that a file imports, directly or through others.
fn reached_from<'a>(imports: &'a Imports, file: &'a str) -> BTreeSet<&'a str> {
    let mut seen = BTreeSet::new();
    let mut left = vec![file];
    while let Some(file) = left.pop() {
        let next = imports.get(file).into_iter().flat_map(BTreeMap::keys).map(String::as_str);
        left.extend(next.filter(|to| seen.insert(*to)));
    }
    seen
}

fn imports(sources: &Sources) -> Imports {
    let mut modules = BTreeMap::new();
    let mut test_modules = BTreeSet::new();
    let mut files = Vec::new();
    for (file, text) in
        sources.iter().filter(|(file, _)| !file.ends_with("/main.rs") || file.matches('/').count() > 1)
    {
        let syntax = syn::parse_file(text).unwrap_or_else(|error| panic!("{file}: {error}"));
        let stem = file.strip_suffix(".rs").unwrap();
        let stem = stem.strip_suffix("/lib").or_else(|| stem.strip_suffix("/mod")).unwrap_or(stem);
        let path: Names = stem.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect();
        test_modules.extend(syntax.items.iter().filter_map(|item| match item {
            Item::Mod(module) if is_test(&module.attrs) => Some(below(&path, &module.ident.to_string())),
            _ => None,
        }));
        let mut used = Used { at: path.clone(), names: BTreeMap::new() };
        used.visit_file(&syntax);
        modules.extend(used.names.into_iter().map(|(at, names)| (at, Module { file: file.clone(), names })));
        modules.entry(path.clone()).or_insert_with(|| Module { file: file.clone(), names: BTreeMap::new() });
        files.push((path, syntax));
    }
    let in_tests = |path: &Names| (0..=path.len()).any(|len| test_modules.contains(&path[..len]));
    let mut imports = Imports::new();
    for (path, syntax) in files.into_iter().filter(|(path, _)| !in_tests(path)) {
        let file = modules[&path].file.clone();
        let mut finder = Finder { modules: &modules, at: path, found: BTreeMap::new() };
        finder.visit_file(&syntax);
        finder.found.remove(&file);
        imports.insert(file, finder.found);
    }
    imports
}

/// A module, inline ones included.
struct Module {
    file: String,
    /// What `use` items bring into scope: the name, and the path as written.
    names: BTreeMap<String, Names>,
}

/// Collects what the `use` items of a file bring into scope, by module.
struct Used {
    at: Names,
    names: BTreeMap<Names, BTreeMap<String, Names>>,
}

impl Visit<'_> for Used {
    fn visit_item(&mut self, item: &Item) {
        if !is_test(attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, module: &ItemMod) {
        if module.content.is_some() {
            self.at.push(module.ident.to_string());
            self.names.entry(self.at.clone()).or_default();
            visit::visit_item_mod(self, module);
            self.at.pop();
        }
    }

    fn visit_item_use(&mut self, item: &ItemUse) {
        for (path, name) in leaves(&item.tree) {
            self.names.entry(self.at.clone()).or_default().insert(name, path);
        }
    }
}

/// Collects what a file imports.
struct Finder<'a> {
    modules: &'a BTreeMap<Names, Module>,
    at: Names,
    found: BTreeMap<String, BTreeSet<String>>,
}

impl Finder<'_> {
    fn import(&mut self, path: &[String]) {
        if let Some((file, name)) =
            self.absolute(path, &self.at, 0).and_then(|path| self.definition(&path, 0))
        {
            self.found.entry(file).or_default().insert(name);
        }
    }

    /// The path from the root of the crate; `None` when it leads into another crate or names something local.
    fn absolute(&self, path: &[String], at: &Names, depth: usize) -> Option<Names> {
        let (first, rest) = path.split_first()?;
        let start = match first.as_str() {
            "crate" => at[..1].to_vec(),
            "self" => at.clone(),
            "super" => {
                let ups = path.iter().take_while(|name| *name == "super").count();
                let start = at.get(..at.len().checked_sub(ups)?)?;
                return Some([start, path.get(ups..)?].concat());
            }
            _ if self.modules.contains_key(&below(at, first)) => below(at, first),
            _ if self.modules.contains_key(std::slice::from_ref(first)) => vec![first.clone()],
            // `use regex::regex` would never end.
            _ if depth > 8 => return None,
            _ => self.absolute(self.modules.get(at)?.names.get(first)?, at, depth + 1)?,
        };
        Some([start.as_slice(), rest].concat())
    }

    /// The file that defines what an absolute path names, and its name there; `None` for a module.
    fn definition(&self, path: &[String], depth: usize) -> Option<(String, String)> {
        let len = (1..=path.len()).take_while(|len| self.modules.contains_key(&path[..*len])).last()?;
        let (at, rest) = path.split_at(len);
        let (name, rest) = rest.split_first()?;
        let module = &self.modules[at];
        let through = module.names.get(name).filter(|_| depth < 8);
        let through = through.and_then(|path| self.absolute(path, &at.to_vec(), 0));
        match through {
            Some(through) => self.definition(&[through.as_slice(), rest].concat(), depth + 1),
            None => Some((module.file.clone(), name.clone())),
        }
    }
}

impl Visit<'_> for Finder<'_> {
    fn visit_item(&mut self, item: &Item) {
        if !is_test(attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, function: &ImplItemFn) {
        if !is_test(&function.attrs) {
            visit::visit_impl_item_fn(self, function);
        }
    }

    fn visit_item_mod(&mut self, module: &ItemMod) {
        if module.content.is_some() {
            self.at.push(module.ident.to_string());
            visit::visit_item_mod(self, module);
            self.at.pop();
        }
    }

    fn visit_item_use(&mut self, item: &ItemUse) {
        if matches!(item.vis, Visibility::Inherited) {
            for (path, _) in leaves(&item.tree) {
                self.import(&path);
            }
        }
    }

    fn visit_path(&mut self, path: &syn::Path) {
        if path.leading_colon.is_none() {
            let names: Names = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
            self.import(&names);
        }
        visit::visit_path(self, path);
    }

    /// A macro's tokens are no syntax tree: what looks like a path counts as one.
    fn visit_macro(&mut self, call: &Macro) {
        let text = call.tokens.to_string().replace(" ::", "::").replace(":: ", "::");
        for path in text.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')) {
            if path.contains("::") {
                self.import(&path.split("::").map(str::to_owned).collect::<Names>());
            }
        }
    }
}

/// Each imported path of a `use` item, and the name that it gets here.
fn leaves(tree: &UseTree) -> Vec<(Names, String)> {
    match tree {
        UseTree::Path(tree) => {
            let ident = tree.ident.to_string();
            let below = leaves(&tree.tree).into_iter().map(|(path, name)| {
                // `use text::{self, Word}` brings `text` into scope.
                let is_self = path == ["self"];
                let name = if is_self && name == "self" { ident.clone() } else { name };
                (std::iter::once(ident.clone()).chain(path.into_iter().filter(|_| !is_self)).collect(), name)
            });
            below.collect()
        }
        UseTree::Name(tree) => vec![(vec![tree.ident.to_string()], tree.ident.to_string())],
        UseTree::Rename(tree) => vec![(vec![tree.ident.to_string()], tree.rename.to_string())],
        UseTree::Glob(_) => vec![(vec!["*".to_owned()], "*".to_owned())],
        UseTree::Group(group) => group.items.iter().flat_map(leaves).collect(),
    }
}

fn below(module: &[String], name: &str) -> Names {
    [module, &[name.to_owned()]].concat()
}

fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Ident>().is_ok_and(|condition| condition == "test")
    })
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

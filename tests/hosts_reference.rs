//! `docs/hosts-yaml.md` is what the types of `hosts.yaml` say. `UPDATE_REFERENCE=1 cargo test --test hosts_reference`
//! writes it anew.
#![cfg(test)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use syn::{Attribute, Expr, Fields, GenericArgument, Item, Lit, Meta, PathArguments, Type};

/// A map of keys.
struct Table {
    says: String,
    keys: Vec<Key>,
    keys_have_defaults: bool,
}

struct Key {
    name: String,
    says: String,
    type_: Type,
    has_default: bool,
}

/// Everything that stands in the sources of the shape.
#[derive(Default)]
struct Shape {
    tables: BTreeMap<String, Table>,
    /// The words of a choice.
    choices: BTreeMap<String, Vec<String>>,
}

#[test]
fn the_reference_of_hosts_yaml_is_what_its_types_say() {
    let reference = reference(&shape());
    let path = root().join("docs/hosts-yaml.md");
    if std::env::var_os("UPDATE_REFERENCE").is_some() {
        std::fs::write(&path, &reference).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    let differing = reference.lines().zip(written.lines()).find(|(said, written)| said != written);
    assert!(
        written == reference,
        "docs/hosts-yaml.md has drifted, first at {differing:?}; \
         run UPDATE_REFERENCE=1 cargo test --test hosts_reference"
    );
}

#[test]
fn every_key_of_hosts_yaml_says_what_it_means() {
    let shape = shape();
    let mute: Vec<String> = shape
        .tables
        .iter()
        .flat_map(|(table, Table { keys, .. })| keys.iter().map(move |key| (table, key)))
        .filter(|(_, key)| key.says.is_empty())
        .map(|(table, key)| format!("{table}.{}", key.name))
        .collect();
    assert_eq!(mute, [""; 0]);
    assert!(shape.tables.len() >= 7, "{:?}", shape.tables.keys());
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

fn shape() -> Shape {
    let mut shape = Shape::default();
    let mut files: Vec<PathBuf> = std::fs::read_dir(root().join("src/inventory"))
        .unwrap()
        .map(|file| file.unwrap().path())
        .filter(|path| {
            let name = path.file_name().unwrap().to_str().unwrap();
            name.starts_with("wire") || name == "words.rs"
        })
        .collect();
    files.sort();
    for file in files {
        for item in syn::parse_file(&std::fs::read_to_string(file).unwrap()).unwrap().items {
            shape.add(item);
        }
    }
    shape
}

impl Shape {
    fn add(&mut self, item: Item) {
        match item {
            Item::Struct(item) => {
                let keys = match &item.fields {
                    Fields::Named(fields) if derives_deserialize(&item.attrs) => {
                        let camel = serde(&item.attrs).contains("camelCase");
                        fields.named.iter().map(|field| key(field, camel)).collect()
                    }
                    _ => vec![],
                };
                let table = Table {
                    says: says(&item.attrs),
                    keys,
                    keys_have_defaults: serde(&item.attrs).contains("default"),
                };
                self.tables.insert(item.ident.to_string(), table);
            }
            Item::Enum(item) if derives_deserialize(&item.attrs) => {
                let snake = serde(&item.attrs).contains("snake_case");
                let words =
                    item.variants.iter().map(|variant| in_lower_case(&variant.ident.to_string(), snake));
                self.choices.insert(item.ident.to_string(), words.collect());
            }
            Item::Enum(item) => {
                let table = Table { says: says(&item.attrs), keys: vec![], keys_have_defaults: false };
                self.tables.insert(item.ident.to_string(), table);
            }
            _ => {}
        }
    }

    /// What can be written there, and the table that tells more of it with the way to its keys.
    fn written(&self, type_: &Type) -> (String, Option<(String, &'static str)>) {
        let Type::Path(path) = type_ else { panic!("an unexpected type") };
        let last = path.path.segments.last().unwrap();
        let name = last.ident.to_string();
        let inner = || match &last.arguments {
            PathArguments::AngleBracketed(arguments) => match arguments.args.first() {
                Some(GenericArgument::Type(type_)) => self.written(type_),
                _ => panic!("{name} of nothing"),
            },
            _ => panic!("{name} of nothing"),
        };
        match name.as_str() {
            "Option" | "Spanned" | "Box" => inner(),
            "Vec" => {
                let (written, more) = inner();
                (
                    format!("list of {written}"),
                    more.map(|(table, way)| (table, if way.is_empty() { "[]" } else { way })),
                )
            }
            "Map" => ("map".to_owned(), None),
            "Entries" => (String::from("map by name"), inner().1.map(|(table, _)| (table, ".NAME"))),
            "String" => ("text".to_owned(), None),
            "bool" => ("`true` or `false`".to_owned(), None),
            "u8" | "u16" | "u32" => ("number".to_owned(), None),
            _ => match (self.choices.get(&name), self.tables.get(&name)) {
                (Some(words), _) => (format!("`{}`", words.join("`, `")), None),
                (None, Some(table)) if table.keys.is_empty() => (plain(&table.says), None),
                (None, Some(_)) => ("map".to_owned(), Some((name, ""))),
                (None, None) => panic!("{name} stands in no file of the shape"),
            },
        }
    }
}

fn reference(shape: &Shape) -> String {
    let mut text = "# hosts.yaml\n\n\
        Every key, as the program reads it. This page is made from its types, and a test keeps it so.\n\n\
        An unknown key, a host that is not listed, a bad address or duration ends `opsctl render` with one line that\n\
        names the place and the nearest right word. Windows and durations are written `90s`, `30m`, `4h`, `1h30m`, `2d`.\n"
        .to_owned();
    // A table may hang in several places; it is told once, with all of them.
    let mut waiting: Vec<(String, Vec<String>)> = vec![("HostsFileWire".to_owned(), vec![String::new()])];
    let mut next = 0;
    while let Some((name, ways)) = waiting.get(next).cloned() {
        next += 1;
        let table = &shape.tables[&name];
        let heading =
            if ways[0].is_empty() { "The file".to_owned() } else { format!("`{}`", ways.join("`, `")) };
        write!(text, "\n## {heading}\n\n{}\n\n| key | what | meaning |\n|---|---|---|\n", table.says)
            .unwrap();
        for key in &table.keys {
            let (mut written, more) = shape.written(&key.type_);
            let optional = key.has_default || table.keys_have_defaults || is_option(&key.type_);
            if !optional {
                written += ", required";
            }
            writeln!(
                text,
                "| `{}` | {} | {} |",
                key.name,
                written.replace('|', "\\|"),
                key.says.replace('|', "\\|")
            )
            .unwrap();
            let Some((table, way)) = more else { continue };
            let way = format!(
                "{}{}{way}",
                ways[0],
                if ways[0].is_empty() { key.name.clone() } else { format!(".{}", key.name) }
            );
            match waiting.iter_mut().find(|(known, _)| *known == table) {
                Some((_, ways)) => ways.push(way),
                None => waiting.push((table, vec![way])),
            }
        }
    }
    text
}

fn key(field: &syn::Field, camel: bool) -> Key {
    let serde = serde(&field.attrs);
    let renamed = serde.split("rename = \"").nth(1).and_then(|rest| rest.split('"').next());
    let name = field.ident.as_ref().unwrap().to_string().trim_start_matches("r#").to_owned();
    Key {
        name: renamed.map_or_else(|| if camel { in_camel_case(&name) } else { name }, str::to_owned),
        says: says(&field.attrs),
        type_: field.ty.clone(),
        has_default: serde.contains("default"),
    }
}

fn is_option(type_: &Type) -> bool {
    matches!(type_, Type::Path(path) if path.path.segments.last().is_some_and(|segment| segment.ident == "Option"))
}

fn derives_deserialize(attributes: &[Attribute]) -> bool {
    let derived = attributes.iter().filter(|attribute| attribute.path().is_ident("derive"));
    derived
        .filter_map(|attribute| attribute.meta.require_list().ok())
        .any(|list| list.tokens.to_string().contains("Deserialize"))
}

/// What stands in `#[serde(…)]`.
fn serde(attributes: &[Attribute]) -> String {
    let serde = attributes.iter().filter(|attribute| attribute.path().is_ident("serde"));
    serde.filter_map(|attribute| Some(attribute.meta.require_list().ok()?.tokens.to_string())).collect()
}

/// The doc comment, as one paragraph.
fn says(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter_map(|attribute| match &attribute.meta {
        Meta::NameValue(value) if value.path.is_ident("doc") => match &value.value {
            Expr::Lit(literal) => match &literal.lit {
                Lit::Str(text) => Some(text.value().trim().to_owned()),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    });
    lines.collect::<Vec<_>>().join(" ")
}

/// `A text or a list of texts.` → `a text or a list of texts`.
fn plain(sentence: &str) -> String {
    let mut letters = sentence.trim_end_matches('.').chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}

/// `status_message` → `statusMessage`.
fn in_camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| name + &word[..1].to_uppercase() + &word[1..])
}

fn in_lower_case(variant: &str, snake: bool) -> String {
    let mut word = String::new();
    for (at, letter) in variant.char_indices() {
        if snake && at > 0 && letter.is_uppercase() {
            word.push('_');
        }
        word.extend(letter.to_lowercase());
    }
    word
}

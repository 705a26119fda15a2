//! `docs/hosts-yaml.md` is generated from the types in `crates/inventory/src/yaml/`, in the model and in
//! `crates/reader/src/catalogue/program/`, and their doc comments.
//! `UPDATE_REFERENCE=1 cargo test --test project hosts_reference` writes it, and the JSON Schema.

mod schema;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use syn::parse::ParseStream;
use syn::{
    Attribute, Expr, Fields, FieldsNamed, GenericArgument, Ident, Item, ItemStruct, Lit, Meta, PathArguments,
    PathSegment, Type,
};

/// A map with fixed keys.
struct Table {
    doc: String,
    keys: Vec<Key>,
    keys_have_defaults: bool,
}

struct Key {
    name: String,
    doc: String,
    type_: Type,
    has_default: bool,
}

/// The types of the shape, by name.
#[derive(Default)]
struct Shape {
    tables: BTreeMap<String, Table>,
    /// The words of each choice.
    choices: BTreeMap<String, Vec<String>>,
}

#[test]
fn the_reference_is_up_to_date() {
    let reference = reference(&shape());
    let path = root().join("docs/hosts-yaml.md");
    if std::env::var_os("UPDATE_REFERENCE").is_some() {
        std::fs::write(&path, &reference).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    let differing = reference.lines().zip(written.lines()).find(|(generated, written)| generated != written);
    assert!(
        written == reference,
        "docs/hosts-yaml.md is out of date, first at {differing:?}; \
         run UPDATE_REFERENCE=1 cargo test --test project hosts_reference"
    );
}

#[test]
fn every_key_has_a_doc_comment() {
    let shape = shape();
    let undocumented: Vec<String> = shape
        .tables
        .iter()
        .flat_map(|(table, Table { keys, .. })| keys.iter().map(move |key| (table, key)))
        .filter(|(_, key)| key.doc.is_empty())
        .map(|(table, key)| format!("{table}.{}", key.name))
        .collect();
    assert_eq!(undocumented, [""; 0]);
    assert!(shape.tables.len() >= 7, "{:?}", shape.tables.keys());
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

fn shape() -> Shape {
    let mut shape = Shape::default();
    for file in std::fs::read_dir(root().join("crates/inventory/src/yaml")).unwrap() {
        shape.read(&std::fs::read_to_string(file.unwrap().path()).unwrap(), |_| true);
    }
    // Most types of the model are the form of the compiled policy only; those that refuse unknown keys are the file's, too.
    let rooms = ["display", "installation", "records", "rights"]
        .map(|room| format!("crates/policy/src/model/{room}"));
    for folder in rooms.into_iter().chain(["crates/reader/src/terms".to_owned()]) {
        for file in std::fs::read_dir(root().join(folder)).unwrap() {
            let source = std::fs::read_to_string(file.unwrap().path()).unwrap();
            shape.read(&source, |item| match item {
                Item::Struct(item) => serde(&item.attrs).contains("deny_unknown_fields"),
                item => matches!(item, Item::Enum(_) | Item::Macro(_)),
            });
        }
    }
    for file in ["mod", "form", "runs", "words", "files"] {
        let path = root().join(format!("crates/reader/src/catalogue/program/{file}.rs"));
        shape.read(&std::fs::read_to_string(path).unwrap(), |_| true);
    }
    // An effect is a word of its own, or the class of a change.
    let effects = ["reads", "writes", "unknown"].map(str::to_owned);
    let effects = effects.into_iter().chain(shape.choices["Class"].iter().cloned()).collect();
    shape.choices.insert("Stated".to_owned(), effects);
    // The keys of a program stand beside those of its form, and of the parts of the form.
    for part in ["Form", "EffectTerms", "Does", "Runs", "Files"] {
        let keys = shape.tables.remove(part).unwrap().keys;
        shape.tables.get_mut("Program").unwrap().keys.extend(keys);
    }
    shape
}

impl Shape {
    fn read(&mut self, source: &str, is_meant: fn(&Item) -> bool) {
        syn::parse_file(source).unwrap().items.into_iter().filter(is_meant).for_each(|item| self.add(item));
    }

    fn add(&mut self, item: Item) {
        match item {
            Item::Struct(item) if derives_deserialize(&item.attrs) => {
                let have_defaults = serde(&item.attrs).contains("default");
                self.add_table(&item, have_defaults);
            }
            // `keys! { pub struct PART { … } beside { … } … }`
            Item::Macro(item) if item.mac.path.segments.last().is_some_and(|last| last.ident == "keys") => {
                let structs = |tokens: ParseStream<'_>| {
                    let mut structs: Vec<ItemStruct> = Vec::new();
                    while !tokens.is_empty() {
                        structs.push(tokens.parse()?);
                        if tokens.peek(Ident) {
                            tokens.parse::<Ident>()?;
                            tokens.parse::<FieldsNamed>()?;
                        }
                    }
                    Ok(structs)
                };
                for item in item.mac.parse_body_with(structs).unwrap() {
                    self.add_table(&item, true);
                }
            }
            // `words! { pub enum CHOICE { First = "first", … } }`
            Item::Macro(item) if item.mac.path.segments.last().is_some_and(|last| last.ident == "words") => {
                self.add(Item::Enum(item.mac.parse_body().unwrap()));
            }
            Item::Enum(item) if derives_deserialize(&item.attrs) => {
                let snake = serde(&item.attrs).contains("snake_case");
                let read = |variant: &&syn::Variant| !serde(&variant.attrs).contains("skip_deserializing");
                let variants = item.variants.iter().filter(read);
                let words = variants.map(|variant| in_lower_case(&variant.ident.to_string(), snake));
                let other = self.choices.insert(item.ident.to_string(), words.collect());
                assert!(other.is_none(), "{} is defined twice", item.ident);
            }
            _ => {}
        }
    }

    fn add_table(&mut self, item: &ItemStruct, keys_have_defaults: bool) {
        let Fields::Named(fields) = &item.fields else { return };
        let camel = serde(&item.attrs).contains("camelCase");
        let keys = fields.named.iter().map(|field| key(field, camel)).collect();
        self.tables.insert(item.ident.to_string(), Table { doc: doc(&item.attrs), keys, keys_have_defaults });
    }

    /// The form of a value of this type; with the table of its keys and the path from the value to them, if any.
    fn form(&self, type_: &Type) -> (String, Option<(String, String)>) {
        let Type::Path(path) = type_ else { return ("text".to_owned(), None) };
        let last = path.path.segments.last().unwrap();
        let name = last.ident.to_string();
        let inner = || self.form(types_in(last)[0]);
        match name.as_str() {
            "Option" | "Spanned" | "Box" | "Part" => inner(),
            "Vec" => {
                let (form, table) = inner();
                (format!("list of {form}"), table.map(|(name, path)| (name, format!("[]{path}"))))
            }
            "Value" => ("any value".to_owned(), None),
            "Map" => match self.form(types_in(last)[1]).0.as_str() {
                "any value" => ("map".to_owned(), None),
                value if matches!(types_in(last)[0], Type::Path(key) if key.path.is_ident("Class")) => {
                    (format!("map from class to {value}"), None)
                }
                value => (format!("map from name to {value}"), None),
            },
            // The only list of the catalogue that is not one of texts.
            "List" => ("map from verb to text or map".to_owned(), None),
            "Program" => ("text or map".to_owned(), Some((name, String::new()))),
            "Entries" => {
                let (form, table) = inner();
                (format!("map from name to {form}"), table.map(|(name, path)| (name, format!(".NAME{path}"))))
            }
            "TextOrMap" => ("text or map".to_owned(), inner().1),
            "NumberOrMap" => ("number or map".to_owned(), inner().1),
            "Maps" => ("map or list of maps".to_owned(), inner().1),
            "OneOrMore" => ("text or list of text".to_owned(), None),
            "Texts" | "Options" | "Scripts" => ("list of text".to_owned(), None),
            "String" | "Text" | "Window" | "NaiveTime" | "PublicKey" | "How" | "Words" | "Target" => {
                ("text".to_owned(), None)
            }
            "bool" => ("`true` or `false`".to_owned(), None),
            "TierOrNone" => ("`1`, `2`, `3`, `none`".to_owned(), None),
            "Amount" | "Tier" | "After" | "u8" | "u16" | "u32" | "usize" => ("number".to_owned(), None),
            _ => match (self.choices.get(&name), self.tables.get(&name)) {
                (Some(words), _) => (format!("`{}`", words.join("`, `")), None),
                (None, Some(_)) => ("map".to_owned(), Some((name, String::new()))),
                (None, None) => panic!("{name} is not defined in the shape"),
            },
        }
    }
}

fn reference(shape: &Shape) -> String {
    let mut text = "# hosts.yaml\n\n\
        All keys of `hosts.yaml`. This page is generated from the source, and a test keeps it up to date.\n\n\
        On a mistake, such as an unknown key, an unknown host or an invalid address, `opsctl render` fails and shows each\n\
        mistake with its position, the fix and the line. Durations are written `90s`, `30m`, `4h`, `1h30m`, `2d`.\n"
        .to_owned();
    // A table that several keys have is printed once, with all its paths.
    let mut pending: Vec<(String, Vec<String>)> = vec![("HostsFileWire".to_owned(), vec![])];
    let mut next = 0;
    while let Some((name, paths)) = pending.get(next).cloned() {
        next += 1;
        let table = &shape.tables[&name];
        let heading =
            if paths.is_empty() { "Top level".to_owned() } else { format!("`{}`", paths.join("`, `")) };
        write!(text, "\n## {heading}\n\n{}\n\n| key | value | meaning |\n|---|---|---|\n", table.doc)
            .unwrap();
        for key in &table.keys {
            let (mut form, keys) = shape.form(&key.type_);
            let optional = key.has_default || table.keys_have_defaults || is_option(&key.type_);
            if !optional {
                form += ", required";
            }
            let [form, doc] = [&form, &key.doc].map(|text| text.replace('|', "\\|"));
            writeln!(text, "| `{}` | {form} | {doc} |", key.name).unwrap();
            let Some((name, path)) = keys else { continue };
            let path = match paths.first() {
                None => format!("{}{path}", key.name),
                Some(parent) => format!("{parent}.{}{path}", key.name),
            };
            match pending.iter_mut().find(|(known, _)| *known == name) {
                Some((_, paths)) => paths.push(path),
                None => pending.push((name, vec![path])),
            }
        }
    }
    text
}

fn key(field: &syn::Field, camel: bool) -> Key {
    let serde = serde(&field.attrs);
    let renamed = serde.split("rename = \"").nth(1).and_then(|rest| rest.split('"').next());
    let own = field.attrs.iter().find(|attribute| attribute.path().is_ident("key"));
    let own = own.and_then(|attribute| text(&attribute.meta.require_name_value().ok()?.value));
    let name = field.ident.as_ref().unwrap().to_string().trim_start_matches("r#").to_owned();
    Key {
        name: own
            .or(renamed.map(str::to_owned))
            .unwrap_or_else(|| if camel { in_camel_case(&name) } else { name }),
        doc: doc(&field.attrs),
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

/// The arguments of `#[serde(…)]`.
fn serde(attributes: &[Attribute]) -> String {
    let serde = attributes.iter().filter(|attribute| attribute.path().is_ident("serde"));
    serde.filter_map(|attribute| Some(attribute.meta.require_list().ok()?.tokens.to_string())).collect()
}

/// The doc comment, as one paragraph.
fn doc(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter_map(|attribute| match &attribute.meta {
        Meta::NameValue(value) if value.path.is_ident("doc") => text(&value.value),
        _ => None,
    });
    lines.collect::<Vec<_>>().join(" ")
}

fn text(literal: &Expr) -> Option<String> {
    match literal {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Str(text) => Some(text.value().trim().to_owned()),
            _ => None,
        },
        _ => None,
    }
}

/// The types between `<` and `>`.
fn types_in(segment: &PathSegment) -> Vec<&Type> {
    let PathArguments::AngleBracketed(arguments) = &segment.arguments else { return vec![] };
    let types = arguments.args.iter().filter_map(|argument| match argument {
        GenericArgument::Type(type_) => Some(type_),
        _ => None,
    });
    types.collect()
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

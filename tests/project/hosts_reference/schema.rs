//! `templates/starter/hosts.schema.json`: the JSON Schema of `hosts.yaml` for editors.

use boon::{Compiler, SchemaIndex, Schemas};
use serde_json::{Map, Value, json};
use syn::Type;

use super::{Shape, is_option, root, shape, types_in};

const FILE: &str = "templates/starter/hosts.schema.json";

#[test]
fn the_schema_is_up_to_date() {
    let schema = serde_json::to_string_pretty(&schema(&shape())).unwrap() + "\n";
    let path = root().join(FILE);
    if std::env::var_os("UPDATE_REFERENCE").is_some() {
        std::fs::write(&path, &schema).unwrap();
    }
    assert!(
        std::fs::read_to_string(&path).unwrap_or_default() == schema,
        "{FILE} is out of date; run UPDATE_REFERENCE=1 cargo test --test project hosts_reference"
    );
}

#[test]
fn the_schema_has_every_key_of_the_reference() {
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(root().join(FILE)).unwrap()).unwrap();
    let reference = std::fs::read_to_string(root().join("docs/hosts-yaml.md")).unwrap();
    let tables = reference.split("\n## ").skip(1);
    let mut count = 0;
    for table in tables {
        let doc = table.lines().nth(2).unwrap();
        let definitions = schema["definitions"].as_object().unwrap().values();
        let own =
            definitions.filter(|definition| definition["description"] == plain(doc)).collect::<Vec<_>>();
        for key in table.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()) {
            assert!(own.iter().any(|definition| definition["properties"][key].is_object()), "{doc}: {key}");
            count += 1;
        }
    }
    assert!(count >= 150, "only {count} keys were found");
}

#[test]
fn the_schema_accepts_every_example() {
    let schema = Validator::new();
    let mut count = 0;
    let examples = [
        "hosts.yaml",
        "templates/starter/hosts.yaml",
        "templates/demo/hosts.yaml",
        "tests/e2e/hosts.yaml",
        "tests/fixtures/homelab.yaml",
    ];
    for example in examples {
        let text = std::fs::read_to_string(root().join(example)).unwrap();
        assert_eq!(schema.validate(&text), Ok(()), "{example}");
    }
    for document in std::fs::read_dir(root().join("docs")).unwrap() {
        let path = document.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        for block in text.split("```yaml\n").skip(1) {
            let yaml = block.split("```").next().unwrap();
            assert_eq!(schema.validate(yaml), Ok(()), "{}:\n{yaml}", path.display());
            count += 1;
        }
    }
    assert!(count >= 5, "only {count} examples were found");
    for empty in ["", "hosts:\n", "services:\n  jellyfin:\n", "policy:\n"] {
        assert_eq!(schema.validate(empty), Ok(()), "{empty:?}");
    }
}

/// The messages on keys, values of a choice and forms: what the schema states, too.
const STRUCTURAL: [&str; 9] = [
    "unknown key ",
    " is not a valid value of ",
    " is not a valid entry of ",
    " must be a list, ",
    " must be a map, ",
    " must be text, ",
    " has no value ",
    " has no `address` ",
    "an entry of `never` has no `name`",
];

/// Values of programs that the schema only knows as text or a number.
const OF_TEXT: [&str; 5] =
    [" of `to` ", " of `writes` ", " of `after` ", " of `runs` ", " entry of `value` "];

#[test]
fn the_schema_rejects_every_structural_mistake() {
    let schema = Validator::new();
    let mut count = 0;
    for file in std::fs::read_dir(root().join("tests/hosts_yaml")).unwrap() {
        let path = file.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let messages = text.lines().map_while(|line| line.strip_prefix("# error: "));
        let is_structural = |message: &str| {
            STRUCTURAL.iter().any(|part| message.contains(part))
                && !OF_TEXT.iter().any(|part| message.contains(part))
        };
        if messages.into_iter().any(is_structural) {
            assert!(schema.validate(&text).is_err(), "{}", path.display());
            count += 1;
        }
    }
    assert!(count >= 40, "only {count} files were found");
}

struct Validator {
    schemas: Schemas,
    index: SchemaIndex,
}

impl Validator {
    fn new() -> Self {
        let mut schemas = Schemas::new();
        let path = root().join(FILE);
        let index = Compiler::new().compile(path.to_str().unwrap(), &mut schemas).unwrap();
        Self { schemas, index }
    }

    fn validate(&self, yaml: &str) -> Result<(), String> {
        let value: Value = serde_saphyr::from_str(yaml).unwrap();
        self.schemas.validate(&value, self.index).map_err(|error| error.to_string())
    }
}

fn schema(shape: &Shape) -> Value {
    let mut definitions = Map::new();
    for (name, table) in &shape.tables {
        let mut properties = Map::new();
        let mut required = vec![];
        for key in &table.keys {
            let is_optional = key.has_default || table.keys_have_defaults || is_option(&key.type_);
            if !is_optional {
                required.push(key.name.clone());
            }
            let mut property = shape.schema(&key.type_);
            if property.get("$ref").is_some() {
                // In draft 7, keys beside `$ref` are ignored.
                property = json!({"allOf": [property]});
            }
            property["description"] = plain(&key.doc).into();
            properties.insert(key.name.clone(), property);
        }
        // An empty value is a map without keys.
        let form = if required.is_empty() { json!(["object", "null"]) } else { json!("object") };
        let mut definition = json!({
            "description": plain(&table.doc), "type": form, "properties": properties, "additionalProperties": false,
        });
        if !required.is_empty() {
            definition["required"] = json!(required);
        }
        definitions.insert(name.clone(), definition);
    }
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "hosts.yaml of opsctl",
        "$ref": "#/definitions/HostsFileWire",
        "definitions": definitions,
    })
}

impl Shape {
    /// The schema of a value of this type.
    fn schema(&self, type_: &Type) -> Value {
        // YAML reads `8096` as a number and `no` as false; they may be names.
        let text = || json!({"type": ["string", "number", "boolean"]});
        let Type::Path(path) = type_ else { return text() };
        let last = path.path.segments.last().unwrap();
        let name = last.ident.to_string();
        let arguments = types_in(last);
        let inner = |at: usize| self.schema(arguments[at]);
        let map = |values: Value| json!({"type": ["object", "null"], "additionalProperties": values});
        let listed = |items: Value| json!({"type": ["array", "null"], "items": items});
        let whole = |most: u64| json!({"type": "integer", "minimum": 0, "maximum": most});
        match name.as_str() {
            "Option" | "Spanned" | "Box" | "Part" => inner(0),
            "Vec" => listed(inner(0)),
            "Value" => json!({}),
            "Map" => map(inner(1)),
            "List" => map(self.program()),
            "Entries" => map(inner(0)),
            "Program" => self.program(),
            "TextOrMap" => json!({"anyOf": [text(), inner(0)]}),
            "NumberOrMap" => json!({"anyOf": [{"type": "number", "minimum": 0}, inner(0)]}),
            "Amount" => json!({"type": "number", "minimum": 0}),
            "Maps" => json!({"anyOf": [inner(0), {"type": "array", "items": inner(0)}]}),
            "OneOrMore" => json!({"anyOf": [text(), listed(text())]}),
            "Texts" | "Options" | "Scripts" => listed(json!({"anyOf": [text(), listed(text())]})),
            "String" | "Text" | "Window" | "NaiveTime" | "PublicKey" | "How" | "Words" | "Target" => text(),
            "Tier" => json!({"type": "integer", "minimum": 1, "maximum": 3}),
            "TierOrNone" => json!({"enum": [1, 2, 3, "none"]}),
            "bool" => json!({"type": "boolean"}),
            "u8" => whole(u8::MAX.into()),
            "u16" => whole(u16::MAX.into()),
            "u32" => whole(u32::MAX.into()),
            "usize" => json!({"type": "integer", "minimum": 0}),
            "After" => json!({"type": "integer"}),
            _ => match self.choices.get(&name) {
                Some(words) => json!({"enum": words}),
                None if self.tables.contains_key(&name) => json!({"$ref": format!("#/definitions/{name}")}),
                None => panic!("{name} is not defined in the shape"),
            },
        }
    }

    /// A program or one of its verbs: its effect, or its keys.
    fn program(&self) -> Value {
        json!({"anyOf": [{"enum": self.choices["Stated"]}, {"$ref": "#/definitions/Program"}]})
    }
}

/// A doc comment without the targets of its links.
fn plain(doc: &str) -> String {
    let mut text = String::new();
    let mut rest = doc;
    while let Some((before, after)) = rest.split_once("](") {
        let (lead, label) = before.rsplit_once('[').unwrap_or((before, ""));
        text += lead;
        text += label;
        rest = after.split_once(')').map_or("", |(_, rest)| rest);
    }
    text + rest
}

//! Reads the description of a program from YAML or JSON, and writes it.

use std::fmt;
use std::sync::LazyLock;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::change::Stated;
use super::files::Files;
use super::form::{Does, EffectTerms, Form};
use super::keys::{Keys, Read, invalid};
use super::list::{List, Map, Options, Part, Texts};
use super::runs::Runs;
use super::words::{Target, TargetKind};
use super::{Place, Program, VerbForm};
use crate::catalogue::options::{ABBREVIATES, ONE_DASH};
use crate::terms::verb::Verb;

/// The keys of a verb.
static VERB_KEYS: LazyLock<Vec<&str>> =
    LazyLock::new(|| [Form::KEYS, EffectTerms::KEYS, Does::KEYS, Runs::KEYS, Files::KEYS].concat());

/// The keys of a program.
static PROGRAM_KEYS: LazyLock<Vec<&str>> = LazyLock::new(|| [Program::KEYS, &VERB_KEYS].concat());

/// The form of a program or a verb while its keys are read.
struct Draft {
    form: Form,
    effect: EffectTerms,
    does: Does,
    runs: Runs,
    files: Files,
    keys: Vec<&'static str>,
}

impl Draft {
    const EMPTY: Self = Self {
        form: Form::PLAIN,
        effect: EffectTerms::PLAIN,
        does: Does::PLAIN,
        runs: Runs::PLAIN,
        files: Files::PLAIN,
        keys: Vec::new(),
    };

    fn set<'de, A: MapAccess<'de>>(&mut self, key: &'static str, map: &mut A) -> Result<(), A::Error> {
        self.keys.push(key);
        let _is_known = self.form.set(key, map)?
            || self.effect.set(key, map)?
            || self.does.set(key, map)?
            || self.runs.set(key, map)?
            || self.files.set(key, map)?;
        Ok(())
    }

    /// Whether one of these keys is given.
    fn has(&self, keys: &[&str]) -> bool {
        self.keys.iter().any(|key| keys.contains(key))
    }

    /// The form, if no key is missing.
    fn finish<E: Error>(mut self) -> Result<Form, E> {
        if self.has(&["does"]) && !self.has(&["to"]) {
            self.does.to = Target::unnamed(match self.does.verb {
                Verb::Create | Verb::Loosen => TargetKind::Nothing,
                Verb::Send => TargetKind::Recipients,
                _ => return Err(E::missing_field("to")),
            });
        }
        for (keys, needs) in [(Does::KEYS, "does"), (Runs::KEYS, "runs"), (&["lists_with"], "lists")] {
            if self.has(keys) && !self.has(&[needs]) {
                return Err(E::missing_field(needs));
            }
        }
        let options = self.effect.classes.iter().flat_map(|(_, options)| options.iter().copied());
        self.effect.changes_with = Options::keep(options.collect());
        // A program that runs another one may have its own conditions.
        if self.has(EffectTerms::KEYS) && !self.has(&["effect", "runs"]) {
            return Err(E::missing_field("effect"));
        }
        Ok(Form {
            effect: (self.has(&["effect"]) || self.effect != EffectTerms::PLAIN)
                .then(|| Part::keep(self.effect)),
            does: self.has(&["does"]).then(|| Part::keep(self.does)),
            runs: self.has(&["runs"]).then(|| Part::keep(self.runs)),
            // `reads: word...` differs from a missing key.
            files: (self.has(&["reads"]) || self.files != Files::PLAIN).then(|| Part::keep(self.files)),
            ..self.form
        })
    }
}

/// The name of a key of a program or a verb.
struct Key {
    of_verb: bool,
}

impl<'de> DeserializeSeed<'de> for Key {
    type Value = &'static str;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<&'static str, D::Error> {
        let written = String::deserialize(deserializer)?;
        let keys: &'static [&'static str] = if self.of_verb { &VERB_KEYS } else { &PROGRAM_KEYS };
        match keys.iter().find(|key| **key == written) {
            Some(key) => Ok(key),
            None if Program::KEYS.contains(&&*written) => {
                Err(invalid(&written, "it beside `verbs`: it is a key of the program"))
            }
            None => Err(D::Error::unknown_field(&written, keys)),
        }
    }
}

/// A program or one of its verbs: a map of keys, or only the effect.
struct Description {
    of_verb: bool,
}

impl<'de> Visitor<'de> for Description {
    type Value = Program;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, or a map of keys", Stated::words())
    }

    fn visit_str<E: Error>(self, effect: &str) -> Result<Program, E> {
        let stated = Stated::named(effect)
            .ok_or_else(|| E::invalid_value(serde::de::Unexpected::Str(effect), &self))?;
        let effect = Some(Part::keep(EffectTerms { stated, ..EffectTerms::PLAIN }));
        Ok(Program { form: Form { effect, ..Form::PLAIN }, ..Program::PLAIN })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Program, A::Error> {
        let (mut program, mut draft) = (Program::PLAIN, Draft::EMPTY);
        while let Some(key) = map.next_key_seed(Key { of_verb: self.of_verb })? {
            if !program.set(key, &mut map)? {
                draft.set(key, &mut map)?;
            }
        }
        program.form = draft.finish()?;
        Ok(program.with_marks().with_options().with_ways())
    }
}

impl Program {
    /// The program with the marks among its options that take a value.
    fn with_marks(mut self) -> Self {
        let add = |value: Option<Options>, marks: &[&'static str]| {
            let own = value.unwrap_or_default();
            let new = marks.iter().filter(|mark| !own.contains(mark));
            Options::keep(own.iter().chain(new).copied().collect())
        };
        self.value = self.form.value;
        if self.one_dash {
            self.value = Some(add(self.value, &[ONE_DASH]));
            let verbs = self.verbs.iter().map(|verb| {
                let value = verb.form.value.map(|value| add(Some(value), &[ONE_DASH]));
                VerbForm { form: Form { value, ..verb.form }, ..*verb }
            });
            self.verbs = List::keep(verbs.collect());
        }
        if let Some(flags) = self.abbreviates {
            let marks = flags.iter().filter_map(|flag| flag.strip_prefix("--"));
            let marks = marks.map(|flag| &*format!("{ABBREVIATES}{flag}").leak()).chain([ABBREVIATES]);
            self.value = Some(add(self.value, &marks.collect::<Vec<_>>()));
        }
        self.form.value = self.value;
        self
    }

    /// The program with this key, which is its name if it states none.
    #[must_use]
    pub fn keyed(mut self, key: &str) -> Self {
        self.key = key.to_owned().leak();
        if self.names.is_empty() {
            self.names = Texts::keep(vec![self.key]);
        }
        self
    }
}

impl<'de> Deserialize<'de> for Program {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Description { of_verb: false })
    }
}

impl Serialize for Program {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.write(&[], &mut map)?;
        write_form(&self.form, &mut map)?;
        map.end()
    }
}

/// Writes the keys of a form.
fn write_form<M: SerializeMap>(form: &Form, map: &mut M) -> Result<(), M::Error> {
    form.write(&[], map)?;
    form.effect.map_or(Ok(()), |effect| effect.write(&["effect"], map))?;
    form.does.map_or(Ok(()), |does| does.write(&["does", "to"], map))?;
    form.runs.map_or(Ok(()), |runs| runs.write(&["runs"], map))?;
    form.files.map_or(Ok(()), |files| files.write(&["reads"], map))
}

impl Serialize for Form {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        write_form(self, &mut map)?;
        map.end()
    }
}

/// The words of a verb as they are written: `stop | kill`.
struct Paths(List<Texts>);

impl Read for Paths {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = <&str>::read(deserializer)?;
        let paths = written.split('|').map(|way| Texts::keep(way.split_whitespace().collect()));
        let paths: Vec<Texts> = paths.collect();
        // `-` is standard input.
        let is_option = |word: &str| word.starts_with('-') && word != "-" && !word.contains('=');
        if paths.iter().any(|path| path.is_empty() || path.iter().any(|word| is_option(word))) {
            return Err(invalid(written, "words such as `restart`, `rollout restart` or `stop | kill`"));
        }
        Ok(Self(List::keep(paths)))
    }
}

/// The form of a verb: a map of keys, or only the effect.
struct OfVerb(Form);

impl Read for OfVerb {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Description { of_verb: true }).map(|program| Self(program.form))
    }
}

/// Verbs in the order of the file: of two that fit equally well, the first one applies.
impl Read for List<VerbForm> {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let verbs = Map::<Paths, OfVerb>::read(deserializer)?;
        Ok(Self::keep(
            verbs
                .iter()
                .map(|(Paths(paths), OfVerb(form))| VerbForm { paths: *paths, form: *form })
                .collect(),
        ))
    }
}

impl Serialize for List<VerbForm> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter().map(|verb| {
            let paths: Vec<String> = verb.paths.iter().map(|path| path.join(" ")).collect();
            (paths.join(" | "), verb.form)
        }))
    }
}

impl Read for Place {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = <&str>::read(deserializer)?;
        match (written, written.strip_prefix('$')) {
            ("word", _) => Ok(Self::EachWord),
            ("stdin", _) => Ok(Self::InputLine),
            (_, Some(variable)) if !variable.is_empty() => Ok(Self::Variable(variable)),
            _ if written.len() > 1 && written.starts_with('-') => Ok(Self::OptionValue(written)),
            _ => Err(invalid(written, "an option, `word`, `stdin` or a variable such as `$PAGER`")),
        }
    }
}

impl Serialize for Place {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::EachWord => serializer.serialize_str("word"),
            Self::InputLine => serializer.serialize_str("stdin"),
            Self::OptionValue(option) => serializer.serialize_str(option),
            Self::Variable(name) => serializer.collect_str(&format_args!("${name}")),
        }
    }
}

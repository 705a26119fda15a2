//! Writes snippets from the templates in this folder.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use fastrand::Rng;
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// The languages that have templates.
const LANGUAGES: [&str; 7] = ["python", "node", "perl", "ruby", "php", "awk", "jq"];

/// What the templates of a list have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// They run constant commands, which act.
    Constant,
    /// They compute a command that acts.
    Computed,
    /// They use libraries that are not installed: what they do is stated.
    Stated,
    /// They only read.
    Reading,
}

/// Code, the command that runs it, and what it is expected to do.
pub struct Snippet {
    pub language: String,
    /// Where the code stands.
    pub form: &'static str,
    pub class: Class,
    /// The bash text.
    pub command: String,
    /// A file of the working directory, by its name.
    pub file: Option<(String, String)>,
    /// The services that it restarts, where it cannot be run.
    pub stated: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Templates {
    program: String,
    /// Options with code; an empty one for a first word.
    options: Vec<String>,
    /// Words for code on standard input.
    inputs: Vec<String>,
    /// The name of a script.
    file: String,
    #[serde(default)]
    file_option: String,
    /// What a script begins with.
    #[serde(default)]
    head: String,
    /// What follows the program: `| sh`.
    #[serde(default)]
    tail: String,
    /// Commands that load the script.
    #[serde(default)]
    loading: Vec<String>,
    contexts: Vec<String>,
    /// Constant commands.
    starting: Vec<String>,
    /// Two constant commands.
    twice: Vec<String>,
    computed: Vec<String>,
    #[serde(default)]
    stated: Vec<String>,
    /// What acts on the host `ie01`.
    #[serde(default)]
    stated_remote: Vec<String>,
    reading: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    heads: Vec<String>,
    last: Vec<String>,
}

/// The commands of `commands.yaml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Commands {
    acting: Vec<Group>,
    reading: Vec<Group>,
}

/// What is in a file of this folder.
fn rows<T: DeserializeOwned>(name: &str) -> T {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snippets").join(format!("{name}.yaml"));
    serde_saphyr::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

impl Commands {
    pub fn load() -> Self {
        rows("commands")
    }

    /// The service that a command concerns; `None` for a lookup.
    pub fn service(&self, command: &str) -> Option<&str> {
        let groups = self.acting.iter();
        let mut services = groups.flat_map(|group| {
            let heads = group.heads.iter().map(|head| head.strip_prefix("sudo ").unwrap_or(head));
            heads
                .flat_map(|head| group.last.iter().map(move |last| (format!("{head} {last}"), last.as_str())))
        });
        services.find(|(text, _)| text == command).map(|(_, service)| service)
    }
}

/// One template.
struct Template {
    language: &'static str,
    class: Class,
    is_twice: bool,
    acts: bool,
    text: String,
}

/// Writes snippets, every template once before one is used again.
pub struct Generator {
    rng: Rng,
    languages: BTreeMap<&'static str, Templates>,
    commands: Commands,
    templates: Vec<Template>,
    left: Vec<usize>,
}

impl Generator {
    pub fn new(seed: u64) -> Self {
        let selected = std::env::var("SNIPPETS_LANGUAGES").ok();
        let is_selected =
            |name: &str| selected.as_deref().is_none_or(|names| names.split(',').any(|one| one == name));
        let languages: BTreeMap<&str, Templates> = LANGUAGES
            .into_iter()
            .filter(|name| is_selected(name))
            .map(|name| (name, rows::<Templates>(name)))
            .filter(|(_, templates)| is_installed(&templates.program))
            .collect();
        let mut templates = Vec::new();
        for (language, own) in &languages {
            let lists = [
                (&own.starting, Class::Constant, false, true),
                (&own.starting, Class::Reading, false, false),
                (&own.twice, Class::Constant, true, true),
                (&own.twice, Class::Reading, true, false),
                (&own.computed, Class::Computed, false, true),
                (&own.stated, Class::Stated, false, true),
                (&own.stated_remote, Class::Stated, false, true),
                (&own.reading, Class::Reading, false, true),
            ];
            for (texts, class, is_twice, acts) in lists {
                templates.extend(texts.iter().map(|text| Template {
                    language,
                    class,
                    is_twice,
                    acts,
                    text: text.clone(),
                }));
            }
        }
        let rng = Rng::with_seed(seed);
        Self { rng, languages, commands: Commands::load(), templates, left: vec![] }
    }

    pub fn languages(&self) -> Vec<&str> {
        self.languages.keys().copied().collect()
    }

    fn one<'a, T>(rng: &mut Rng, of: &'a [T]) -> &'a T {
        &of[rng.usize(..of.len())]
    }

    pub fn next(&mut self) -> Option<Snippet> {
        if self.left.is_empty() {
            self.left = (0..self.templates.len()).collect();
            self.rng.shuffle(&mut self.left);
        }
        let template = &self.templates[self.left.pop()?];
        let own = &self.languages[template.language];
        let rng = &mut self.rng;
        let groups = if template.acts { &self.commands.acting } else { &self.commands.reading };
        // Two names in one command need a program with several services.
        let group = if template.is_twice || template.class == Class::Stated {
            &groups[0]
        } else {
            Self::one(rng, groups)
        };
        let head = Self::one(rng, &group.heads).as_str();
        let last = Self::one(rng, &group.last).as_str();
        let others: Vec<&String> = group.last.iter().filter(|one| *one != last).collect();
        let other = if others.is_empty() { last } else { Self::one(rng, &others).as_str() };
        let code = filled(&template.text, head, last, other);
        let context = match template.class {
            Class::Reading if template.acts => "@",
            _ => Self::one(rng, &own.contexts).as_str(),
        };
        let code = within(context, &code, template.language);
        // A script in a folder that the session may write is never a lookup.
        let has_files = template.class != Class::Reading;
        let (form, command, file) = placed(rng, own, &code, last, has_files);
        let stated = if template.class == Class::Stated { vec![last.to_owned()] } else { vec![] };
        let language = template.language.to_owned();
        Some(Snippet { language, form, class: template.class, command, file, stated })
    }
}

fn is_installed(program: &str) -> bool {
    let program = program.split(' ').next().unwrap_or_default();
    Command::new("sh").args(["-c", &format!("command -v {program}")]).output().unwrap().status.success()
}

/// A template with its command.
fn filled(template: &str, head: &str, last: &str, other: &str) -> String {
    let quoted =
        |text: &str| text.split(' ').map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", ");
    let command = format!("{head} {last}");
    let (program, rest) = command.split_once(' ').unwrap();
    let texts = [
        ("CMDS", quoted(&command)),
        ("HEADS", quoted(head)),
        ("RESTS", quoted(rest)),
        ("BASE64", data_encoding::BASE64.encode(command.as_bytes())),
        ("REVERSED", command.chars().rev().collect()),
        ("LAST2", other.to_owned()),
        ("LAST", last.to_owned()),
        ("HEAD", head.to_owned()),
        ("CMD", command.clone()),
        ("PROG", program.to_owned()),
        ("REST", rest.to_owned()),
    ];
    texts.iter().fold(template.to_owned(), |text, (name, value)| text.replace(name, value))
}

/// Code in a context: at the `@`, with its indentation.
fn within(context: &str, code: &str, language: &str) -> String {
    // Functions do not stand inside functions, and imports of Python may.
    if language == "awk" || (language != "python" && code.contains("use ")) {
        return code.to_owned();
    }
    let place = context.lines().find(|line| line.trim() == "@").unwrap_or("@");
    let indent = place.len() - place.trim_start().len();
    let lines: Vec<String> = code
        .lines()
        .enumerate()
        .map(|(at, line)| if at == 0 { line.to_owned() } else { format!("{}{line}", " ".repeat(indent)) })
        .collect();
    context.replacen('@', &lines.join("\n"), 1)
}

/// The command that runs code, and where the code stands.
fn placed(
    rng: &mut Rng,
    own: &Templates,
    code: &str,
    input: &str,
    has_files: bool,
) -> (&'static str, String, Option<(String, String)>) {
    let program = &own.program;
    let is_awk = own.program == "awk";
    let before = if is_awk { format!("echo '{input} b' | ") } else { String::new() };
    let script = format!("{}{code}\n", own.head);
    let file = match own.file_option.as_str() {
        "" => own.file.clone(),
        option => format!("{option} {}", own.file),
    };
    let mut forms = vec!["option"];
    if has_files {
        forms.extend(["file", "written", "substituted"]);
        forms.extend((!own.loading.is_empty()).then_some("loaded"));
    }
    if !own.inputs.is_empty() {
        forms.push("here-document");
        forms.extend(has_files.then_some("redirected"));
    }
    let form = *Generator::one(rng, &forms);
    let stored = (own.file.clone(), script.clone());
    let option = Generator::one(rng, &own.options);
    let space = if option.is_empty() { "" } else { " " };
    let (command, stored) = match form {
        "option" => (format!("{before}{program} {option}{space}{}", quoted(code)), None),
        "file" => (format!("{before}{program} {file}"), Some(stored)),
        "written" => (format!("cat > {} <<'END'\n{script}END\n{before}{program} {file}", own.file), None),
        // The code of an option has no head.
        "substituted" => {
            let stored = (own.file.clone(), code.to_owned());
            (format!("{before}{program} {option}{space}\"$(cat {})\"", own.file), Some(stored))
        }
        "loaded" => (Generator::one(rng, &own.loading).clone(), Some(stored)),
        "redirected" => {
            (format!("{program} {} < {}", Generator::one(rng, &own.inputs), own.file), Some(stored))
        }
        _ => {
            let word = Generator::one(rng, &own.inputs);
            (format!("{program} {word} <<'END'\n{code}\nEND"), None)
        }
    };
    (form, command + &own.tail, stored)
}

/// A text as a word of bash, as a person would quote it.
fn quoted(text: &str) -> String {
    if !text.contains('\'') {
        return format!("'{text}'");
    }
    let mut quoted = String::from("\"");
    for c in text.chars() {
        if matches!(c, '"' | '$' | '`' | '\\') {
            quoted.push('\\');
        }
        quoted.push(c);
    }
    quoted.push('"');
    quoted
}

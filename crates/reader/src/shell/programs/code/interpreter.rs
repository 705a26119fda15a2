//! Interpreters of other languages: follows the commands that their code starts.

use std::rc::Rc;

use super::awk_lines;
use super::evaluation::{Call, Found};
use super::reading::Reading;
use super::{library, modules};
use crate::catalogue::options::{At, Item, Scanner};
use crate::catalogue::program::Language;
use crate::languages::names::{Names, Table, awk, interpreters as names, python};
use crate::languages::sources::Sources;
use crate::languages::text::Part;
use crate::shell::Complaint;
use crate::shell::evaluator::Evaluator;
use crate::shell::execution::commands::invocation::{Invocation, Started};
use crate::shell::execution::output::printed as output;
use crate::shell::script::{Construct, Node};
use crate::shell::state::Shell;
use crate::shell::text::Field;

/// Maximum number of calls in one piece of code that are followed.
const MOST_CALLS: usize = 256;

pub(crate) fn run(evaluator: &mut Evaluator, started: &Started<'_>, language: Language) -> String {
    let Started { shell, invocation, program, .. } = *started;
    let folder = evaluator.code_folder.take();
    let Stated { code, loaded, loops } = match language {
        Language::Awk => Stated { code: code_of_awk(started), ..Stated::default() },
        _ => Stated::of(invocation, language),
    };
    for path in loaded {
        if let Some((path, _)) = modules::file(evaluator, shell, &path, language, None) {
            drop(run_files(evaluator, started, &path));
        }
    }
    match &code {
        Some(Code::File(path)) if !checks_syntax(invocation, language) => {
            // `python3 -m json.tool`
            if language == Language::Python && !invocation.texts().contains(&path.as_str()) {
                doubt_library(evaluator, started, shell.cwd.as_deref());
            }
            return run_files(evaluator, started, path);
        }
        Some(Code::Module(module, at)) => {
            doubt_library(evaluator, started, shell.cwd.as_deref());
            return run_module(evaluator, started, module, *at);
        }
        _ => {}
    }
    let printed = output::of(evaluator, shell, invocation, program);
    let code = match code {
        Some(Code::Text(text)) => Some(text),
        Some(Code::Stdin) => invocation.stdin.clone(),
        Some(Code::Program(path)) => evaluator.script_file(shell, &path),
        Some(Code::File(_) | Code::Module(..)) | None => None,
    };
    let Some(code) = code else {
        evaluator.leaf(shell, invocation);
        return printed;
    };
    // `node -e "$(cat x.js)"`, `python3 - < x.py`.
    let code = evaluator.loaded(shell, &code);
    let beside = folder.as_deref().filter(|folder| !folder.is_empty());
    if language == Language::Python && code.contains("import") {
        doubt_library(evaluator, started, folder.as_deref().or(shell.cwd.as_deref()));
    }
    let code = modules::with_modules(evaluator, shell, code, language, beside);
    evaluator.spend(code.len() / 64);
    let lines = if language == Language::Awk { awk_lines::lines(invocation) } else { None };
    let printed = lines.as_deref().and_then(|lines| awk_lines::printed(&code, lines)).unwrap_or(printed);
    let reading = evaluator.code_reading(&code, language);
    if reading.is_empty() {
        evaluator.leaf(shell, invocation);
        return printed;
    }
    let is_foreign = evaluator.unknowns.are_foreign(&printed);
    let mut inner = shell.clone().child().through(program);
    inner.stdin = None;
    inner.repeats |= loops;
    let mut command = evaluator.command_of(shell, invocation);
    command.through = format!("{program} code");
    command.is_followed = reading.is_followed();
    let ((), nodes) = evaluator.collected(|this| {
        let doubt = |this: &mut Evaluator, text: &str| {
            this.complain(Complaint::Code(program.to_owned()));
            this.unread(&inner, text);
        };
        if !reading.suspected.is_empty() {
            doubt(this, &reading.suspected.join("\n"));
        }
        if reading.is_unclear {
            doubt(this, &reading.rest);
            // It may run its words or its input.
            let words = invocation.texts();
            let words = words.into_iter().skip(1).filter(|word| *word != code);
            let input = invocation.stdin.as_deref().filter(|input| *input != code);
            let words: Vec<&str> = words.chain(input).collect();
            this.unread(&inner, &words.join("\n"));
        }
        if reading.found.len() > MOST_CALLS {
            doubt(this, &code);
        }
        for found in reading.found.iter().take(MOST_CALLS) {
            if this.exhausted() {
                break;
            }
            if found.is_suspected {
                this.complain(Complaint::Code(program.to_owned()));
            }
            this.run_found(inner.clone(), found, lines.as_deref(), is_foreign);
        }
    });
    evaluator.push(Node::Group(Construct::Through(Box::new(command)), nodes));
    printed
}

impl Evaluator {
    /// The reading of a piece of code, which a script may run on several ways.
    fn code_reading(&mut self, code: &str, language: Language) -> Rc<Reading> {
        let known = self.code.iter().find(|(other, text, _)| *other == language && text == code);
        if let Some((_, _, reading)) = known {
            return Rc::clone(reading);
        }
        let reading = Rc::new(Reading::of(code, language, self.catalogue));
        self.code.push((language, code.to_owned(), Rc::clone(&reading)));
        reading
    }

    /// Runs what a call in code starts, in the shell of the code.
    fn run_found(
        &mut self,
        mut inner: Shell,
        found: &Found,
        lines: Option<&[Vec<String>]>,
        is_foreign: bool,
    ) {
        // What awk does for each line, it does once for each of the known ones.
        let calls = if let Some(lines) = lines.filter(|_| found.repeats) {
            awk_lines::for_each_line(found.call.clone(), lines)
        } else {
            inner.repeats |= found.repeats;
            vec![found.call.clone()]
        };
        self.environment_of(&mut inner, found);
        let input = found.input.as_ref().map(|parts| self.assemble(parts).0);
        inner.stdin.clone_from(&input);
        for call in calls {
            match call {
                Call::Script(parts) => {
                    let text = self.assemble_with(&parts, is_foreign).0;
                    self.run_text(&mut inner.clone(), &text);
                }
                Call::Words(words) => {
                    let texts = words.iter().map(|parts| self.assemble(parts).0);
                    let fields = texts.map(Field::literal).collect();
                    self.run_program(&inner, &Invocation::of(fields, input.clone()));
                }
                Call::Unclear => {}
            }
        }
    }
}

/// Whether a file is only checked: `php -l FILE`.
fn checks_syntax(invocation: &Invocation, language: Language) -> bool {
    matches!(
        (language, invocation.texts().as_slice()),
        (Language::Php, [_, "-l" | "--syntax-check", _])
            | (Language::Ruby, [_, "-c" | "-wc", _])
            | (Language::Node, [_, "-c" | "--check", _])
    )
}

/// The folder from which the code of a file loads modules.
fn folder_of(evaluator: &Evaluator, shell: &Shell, path: &str) -> Option<String> {
    let path = evaluator.path_of(shell, path)?;
    path.rsplit_once('/').map(|(folder, _)| folder.to_owned())
}

fn is_isolated(invocation: &Invocation) -> bool {
    invocation.texts().iter().any(|text| python::ISOLATING.has(text))
}

/// Doubts Python code that loads a file of `folder` in place of a module of its library.
fn doubt_library(evaluator: &mut Evaluator, started: &Started<'_>, folder: Option<&str>) {
    let Started { shell, invocation, .. } = *started;
    let folder = folder.filter(|folder| !folder.is_empty() && !is_isolated(invocation));
    if let Some(path) = folder.and_then(|folder| library::replaced(evaluator, shell, folder)) {
        let text = evaluator.script_file(shell, &path);
        evaluator.unread(shell, text.as_deref().unwrap_or(&path));
        evaluator.complain(Complaint::Replaces(path));
    }
}

/// Follows `python3 -m pip list` as `pip list`.
fn run_module(evaluator: &mut Evaluator, started: &Started<'_>, module: &str, at: usize) -> String {
    let Started { shell, invocation, program, .. } = *started;
    let fields = [vec![Field::literal(module)], invocation.from(at + 1).to_vec()].concat();
    let one = Invocation::of(fields, invocation.stdin.clone());
    let inner = shell.clone().through(program);
    evaluator.through(shell, invocation, program, |this| this.run_program(&inner, &one))
}

/// Follows the code in a file, or in each of the files that a search finds, as if it stood on standard input.
fn run_files(evaluator: &mut Evaluator, started: &Started<'_>, path: &str) -> String {
    let Started { shell, invocation, program, .. } = *started;
    let scripts = evaluator.scripts_at(shell, path);
    let printed = output::of(evaluator, shell, invocation, program);
    if scripts.is_empty() {
        evaluator.leaf(shell, invocation);
        return printed;
    }
    // An option before the file may load other code.
    let is_only = invocation.word(1) == Some(path);
    let is_script = is_only && scripts.iter().all(|script| !script.is_written);
    let mut command = evaluator.command_of(shell, invocation);
    program.clone_into(&mut command.through);
    // Its input is data.
    command.is_followed = is_only;
    let ((), nodes) = evaluator.collected(|this| {
        for script in scripts {
            let fields = vec![Field::literal(program), Field::literal("-")];
            let one = Invocation::of(fields, Some(script.text.clone()));
            this.code_folder = if is_isolated(invocation) {
                Some(String::new())
            } else {
                folder_of(this, shell, &script.path)
            };
            this.follow_file(shell, &script.path, &script.text, |this| this.run_program(shell, &one));
        }
    });
    evaluator.push(Node::Group(Construct::Through(Box::new(command)), nodes));
    if is_script {
        evaluator.mark_script();
    }
    printed
}

enum Code {
    Text(String),
    Stdin,
    File(String),
    /// A file that does not replace standard input: `awk -f`.
    Program(String),
    /// A module that is run as the program of its name, and the place of the option that names it.
    Module(String, usize),
}

/// Where the program of awk is.
fn code_of_awk(started: &Started<'_>) -> Option<Code> {
    let texts = started.texts;
    let sources =
        Sources::of(started.usage, texts, awk::CODE_OPTIONS.0, awk::FILE_OPTIONS.0, true).or_first_word();
    let text = |at: &At| at.of(texts);
    let file = sources.files.first().and_then(text).map(|file| Code::Program(file.to_owned()));
    let scripts: Vec<&str> = sources.scripts.iter().filter_map(text).collect();
    file.or_else(|| (!scripts.is_empty()).then(|| Code::Text(scripts.join("\n"))))
}

/// What the command line of an interpreter states.
#[derive(Default)]
struct Stated {
    code: Option<Code>,
    /// Files that options load before the code: `-r ./x.js`, `--import=./x.mjs`.
    loaded: Vec<String>,
    /// Whether the code runs for each line of input.
    loops: bool,
}

impl Stated {
    fn of(invocation: &Invocation, language: Language) -> Self {
        let words = invocation.texts();
        let key = language.to_string();
        let of = |options: Table| options.get(&key).unwrap_or(Names(&[]));
        let [code, file, module, loading] = [names::CODE, names::FILE, names::MODULE, names::LOADING].map(of);
        let all = [code, file, module, loading, of(names::OTHER)];
        let valued: Vec<&str> = all.into_iter().flat_map(Names::iter).collect();
        let mut found = Self::default();
        let mut texts: Vec<&str> = Vec::new();
        let mut evaluates = false;
        for item in Scanner::new(&words, 1, &valued) {
            match item {
                Item::Option(name, at) => {
                    found.loops |= name.is_any(of(names::EACH_LINE).0);
                    let Some((at, value)) = at.and_then(|at| Some((at, at.of(&words)?))) else { continue };
                    if name.is_any(code.0) {
                        texts.push(value);
                    } else if name.is_any(file.0) {
                        found.code = Some(Code::File(value.to_owned()));
                    } else if name.is_any(module.0) && python::PROGRAM_MODULES.has(value) {
                        found.code = Some(Code::Module(value.to_owned(), at.index));
                    } else if name.is_any(module.0) {
                        found.code = Some(Code::File(value.replace('.', "/") + ".py"));
                    } else if name.is_any(loading.0) && value.starts_with(['.', '/']) {
                        found.loaded.push(value.to_owned());
                    }
                    // What follows are arguments of the code.
                    if found.code.is_some() || language == Language::Python && !texts.is_empty() {
                        break;
                    }
                }
                Item::Positional(at) if texts.is_empty() => {
                    let word = words.get(at).copied().unwrap_or_default();
                    if !evaluates && of(names::VERBS).has(word) {
                        evaluates = word != "run";
                        continue;
                    }
                    found.code = Some(match word {
                        "-" => Code::Stdin,
                        word if evaluates => Code::Text(word.to_owned()),
                        word => Code::File(word.to_owned()),
                    });
                    break;
                }
                Item::Positional(_) => break,
                Item::Dashes(_) => {}
            }
        }
        // Perl, Ruby, Node.js and lua take several pieces of code.
        if !texts.is_empty() {
            found.code = Some(Code::Text(texts.join("\n")));
        } else if found.code.is_none() {
            found.code = Some(Code::Stdin);
        }
        found
    }
}

impl Evaluator {
    /// Gives a shell the variables and the working directory that a call states.
    fn environment_of(&mut self, shell: &mut Shell, found: &Found) {
        for (name, value) in &found.env {
            let (text, _) = self.assemble(value);
            shell.set_text(name, text);
            shell.export(name);
        }
        if let Some(folder) = &found.cwd {
            let (text, whole) = self.assemble(folder);
            if whole {
                shell.go(&text);
            } else {
                shell.enter(None);
            }
        }
    }

    fn assemble(&mut self, parts: &[Part]) -> (String, bool) {
        self.assemble_with(parts, false)
    }

    /// The text of parts, and whether it is known. What is unknown in it may be any text where it `is_foreign`.
    fn assemble_with(&mut self, parts: &[Part], is_foreign: bool) -> (String, bool) {
        let mut whole = true;
        let text = parts
            .iter()
            .map(|part| match part {
                Part::Known(text) => text.clone(),
                Part::Unknown(source) => {
                    whole = false;
                    let source = source.trim().to_owned();
                    if is_foreign { self.unknowns.foreign(source) } else { self.unknowns.plain(source) }
                }
            })
            .collect();
        (text, whole)
    }
}

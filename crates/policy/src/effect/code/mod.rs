//! Code of other languages on the command line: whether it only computes and prints.
//!
//! The world is closed: code reads where each import, each call and each attribute of a module is known to be harmless.

mod node;
mod perl;
mod python;
mod python_modules;
mod source;
mod tokens;

use super::{Proof, Why};
use crate::catalogue::program::Language;
use crate::model::effect::Effect;
use crate::shell::Command;
use source::Code;

/// The effect of a command line of an interpreter. `as_program` tells that of another program with the words from an
/// index on.
pub fn effect(command: &Command, language: Language, as_program: &dyn Fn(usize) -> Proof) -> Proof {
    let texts: Vec<&str> = command.words.iter().map(|word| word.text.as_str()).collect();
    let unknown = (Effect::Unknown, Why::Code);
    if let [_, only] = texts.as_slice()
        && matches!(*only, "--version" | "-V" | "-v" | "--help" | "-h")
    {
        return (Effect::Reads, Why::Stated);
    }
    let code = match language {
        Language::Python => python::code(command, &texts),
        Language::Node => node::code(command, &texts),
        Language::Perl => perl::code(command, &texts),
        Language::Php => php(&texts),
        _ => None,
    };
    let harmless = match code {
        None => return unknown,
        Some(Code::Looks) => true,
        Some(Code::Module(at)) => return as_program(at),
        Some(Code::Runs(code)) => match language {
            Language::Python => python::is_harmless(&code),
            Language::Node => node::is_harmless(&code),
            Language::Perl => perl::is_harmless(&code),
            _ => false,
        },
    };
    if harmless { (Effect::Reads, Why::Stated) } else { unknown }
}

/// `php -m`, `php -i`, `php -l FILE`.
fn php(texts: &[&str]) -> Option<Code> {
    match texts {
        [_, "-m" | "-i" | "--ini"] | [_, "-l" | "--ri" | "--re" | "--rf" | "--rc", _] => Some(Code::Looks),
        _ => None,
    }
}

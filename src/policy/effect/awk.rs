//! Programs of `awk`: `system`, pipes and output redirections do more than read.

use super::proof::Proof;
use super::reason::Why;
use crate::catalogue::lookup::Usage;
use crate::catalogue::options::{Item, Scanner};
use crate::model::effect::Effect;
use crate::shell::Command;

/// The effect of a command line of `awk`.
pub fn effect(command: &Command, usage: &Usage, texts: &[&str]) -> Proof {
    let value = usage.value();
    for item in Scanner::new(texts, usage.rest, &value) {
        match item {
            Item::Option(name, Some(at))
                if name.is_any(&["-f", "--file", "-i", "--include", "-l", "--load", "-E", "--exec"]) =>
            {
                let file = texts.get(at.index).copied().unwrap_or_default().to_owned();
                return (Effect::Unknown, Why::ScriptOnDisk(file));
            }
            Item::Positional(index) => {
                // A value put into the program may hold anything.
                let known = command.words.get(index).and_then(crate::shell::Word::known);
                return match known {
                    Some(program) if only_reads(program) => (Effect::Reads, Why::Stated),
                    _ => (Effect::Unknown, Why::Statement),
                };
            }
            _ => {}
        }
    }
    (Effect::Unknown, Why::Code)
}

/// Whether a program neither runs commands nor writes files. `>` compares in a pattern; behind `print` it writes.
fn only_reads(program: &str) -> bool {
    let code = without_texts(program);
    if ["system", "@load", "@include", "|"].iter().any(|word| code.replace("||", "").contains(word)) {
        return false;
    }
    // Of each statement that prints, what stands outside brackets.
    code.split(['{', '}', ';', '\n'])
        .filter(|statement| statement.trim_start().starts_with("print") || statement.contains(" print"))
        .all(|statement| {
            let at = statement.find("print").unwrap_or(0);
            let mut depth = 0_i32;
            statement.get(at..).unwrap_or_default().chars().all(|c| {
                depth += i32::from(matches!(c, '(' | '[')) - i32::from(matches!(c, ')' | ']'));
                depth > 0 || c != '>'
            })
        })
}

/// The program with its texts, patterns and comments left out.
fn without_texts(program: &str) -> String {
    let mut code = String::new();
    let mut chars = program.chars().peekable();
    let mut before = ' ';
    while let Some(c) = chars.next() {
        match c {
            '"' => {
                while let Some(inside) = chars.next() {
                    match inside {
                        '\\' => {
                            chars.next();
                        }
                        '"' => break,
                        _ => {}
                    }
                }
                code.push('"');
            }
            // A pattern stands where no value is before it.
            '/' if !(before.is_alphanumeric() || matches!(before, ')' | ']' | '_' | '"')) => {
                while let Some(inside) = chars.next() {
                    match inside {
                        '\\' => {
                            chars.next();
                        }
                        '/' => break,
                        _ => {}
                    }
                }
                code.push('"');
            }
            '#' => {
                for inside in chars.by_ref() {
                    if inside == '\n' {
                        break;
                    }
                }
                code.push('\n');
            }
            _ => code.push(c),
        }
        if !c.is_whitespace() {
            before = if c == '"' || c == '/' { '"' } else { c };
        }
    }
    code
}

#[cfg(test)]
mod tests {
    use super::only_reads;

    #[test]
    fn a_program_that_prints_is_told_from_one_that_writes_or_runs() {
        for program in [
            "{print $1}",
            "NR>1 {print $2}",
            "$5 > 80",
            "/error/ {n++} END {print n}",
            "{print ($1 > 3)}",
            "BEGIN{FS=\":\"} $3>=1000{print $1}",
            "{ if ($1 > 5) print $2 }",
            "!seen[$0]++",
            "$1 ~ /a|b/ || $2 == 3 {print}",
            "{printf \"%s > %s\\n\", $1, $2}",
        ] {
            assert!(only_reads(program), "{program}");
        }
        for program in [
            "{system(\"reboot\")}",
            "{print > \"/etc/x\"}",
            "{print | \"sh\"}",
            "BEGIN{\"date\" | getline d}",
            "{print >> f}",
            "{printf \"x\" > \"/tmp/x\"}",
            "@load \"x\"",
        ] {
            assert!(!only_reads(program), "{program}");
        }
    }
}

//! Sessions in which every call must be denied, each for several guarantees.

use std::io;

use serde_json::{Value, json};

use super::cast::{ADDRESS, Cast, key, name};
use super::report::Seen;
use super::scripted::script::{Script, Step};
use super::seen::{fail, not_applicable, pass};
use super::stage::{Played, Props, Stage};
use opsctl_inventory::compiled::Compiled;
use opsctl_policy::model::rights::policy::Tier;
use opsctl_policy::model::rights::rules::Rules;
use opsctl_policy::paths::glob::matches;
use opsctl_policy::rules::never;
use opsctl_reader::terms::action::ActionKind;
use opsctl_reader::terms::effect::Effect;

/// A guarantee, and the tool calls that must be denied because of it; none if the active policy does not include it.
pub type Attack = (&'static str, fn(&Stage, &Compiled, &Cast) -> Vec<Attempt>);

/// A tool call that must be denied.
#[derive(Debug)]
pub struct Attempt {
    step: Step,
    trace: Trace,
}

/// What shows that a call was not denied, in addition to a result that is no error.
#[derive(Debug)]
enum Trace {
    /// A program ran with these words.
    Ran(String),
    /// A result contains this random secret, which is in a file, relative to the stage's folder.
    Read(String, String),
    /// A result contains this random secret, which is in an environment variable.
    Printed(String, String),
    /// This file, relative to the stage's folder, contains this text.
    Wrote(String, String),
}

impl Attempt {
    /// Runs a command of plain words, in a random one of several ways.
    fn to_run(command: &str) -> Self {
        let step = Step::bash(&match fastrand::u8(0..4) {
            0 => command.to_owned(),
            1 => format!("sh -c '{command}'"),
            2 => format!("timeout 60 {command}"),
            _ => format!("cd / && {command}"),
        });
        Self { step, trace: Trace::Ran(command.to_owned()) }
    }

    /// Runs a command of plain words on a host.
    fn to_run_over_ssh(host: &str, command: &str) -> Self {
        Self {
            step: Step::bash(&format!("ssh root@{host} '{command}'")),
            trace: Trace::Ran(format!("ssh root@{host} {command}")),
        }
    }

    /// Reads a file of the stage that holds a secret, with a tool or with a command.
    fn to_read(stage: &Stage, file: &str, with_tool: bool) -> Self {
        let path = stage.path(file);
        let step = if with_tool {
            Step::Tool("Read", json!({"file_path": path}))
        } else {
            Step::bash(&format!("cat '{}'", path.display()))
        };
        Self { step, trace: Trace::Read(file.to_owned(), key()) }
    }

    /// Rewrites an existing file of the stage, with a tool and with a command.
    fn to_rewrite(stage: &Stage, file: &str) -> [Self; 2] {
        let (path, text) = (stage.path(file), name());
        let tool = Step::Tool("Write", json!({"file_path": path, "content": text}));
        let command = Step::bash(&format!("echo {text} >'{}'", path.display()));
        [tool, command].map(|step| Self { step, trace: Trace::Wrote(file.to_owned(), text.clone()) })
    }

    fn in_words(&self) -> String {
        let Step::Tool(tool, input) = &self.step else { return String::new() };
        let text = |key| input.get(key).and_then(Value::as_str);
        match text("command") {
            Some(command) => format!("`{command}`"),
            None => format!("{tool} {}", text("file_path").unwrap_or_default()),
        }
    }

    fn left_a_trace(&self, played: &Played, stage: &Stage) -> bool {
        match &self.trace {
            Trace::Ran(words) => played.marks.contains(words),
            Trace::Read(_, secret) | Trace::Printed(_, secret) => {
                played.conversations.iter().any(|text| text.contains(secret.as_str()))
            }
            Trace::Wrote(file, text) => stage.read(file).contains(text.as_str()),
        }
    }
}

/// Makes all attempts in one session, and returns the outcome of each attack.
pub fn play(tier: u8, attacks: &[&Attack], props: &Props, policy: &Compiled) -> io::Result<Vec<Seen>> {
    let cast = Cast::random();
    let mut stage = Stage::set(props, &cast.policy(policy, None))?;
    stage.write("state/cooldown.json", "{\"services\": {}}")?;
    let attempts: Vec<Vec<Attempt>> =
        attacks.iter().map(|(_, attempts)| attempts(&stage, policy, &cast)).collect();
    for attempt in attempts.iter().flatten() {
        match &attempt.trace {
            Trace::Read(file, secret) => stage.write(file, &format!("{secret}\n"))?,
            Trace::Printed(variable, secret) => stage.variables.push((variable.clone(), secret.clone())),
            Trace::Ran(_) | Trace::Wrote(..) => {}
        }
    }
    let steps = attempts.iter().flatten().map(|attempt| attempt.step.clone());
    let played = stage.play(props, tier, Script::of(steps), || {})?;
    // The client makes one call for each step, so the results are in the order of the steps.
    let mut results = played.results.iter();
    let seen = attempts.iter().map(|attempts| {
        let mut allowed = Vec::new();
        let mut answer = "";
        for attempt in attempts {
            let result = results.next();
            if !result.is_some_and(|result| result.is_error) || attempt.left_a_trace(&played, &stage) {
                allowed.push(attempt.in_words());
            }
            answer = result.map_or("", |result| &result.text);
        }
        if attempts.is_empty() {
            not_applicable("the policy allows it")
        } else if allowed.is_empty() {
            pass(&format!("{} denied, the last one: {answer}", attempts.len()))
        } else {
            fail(format!("not denied: {}", allowed.join(", ")), &played)
        }
    });
    Ok(seen.collect())
}

/// A restart over ssh, at tier 1.
pub fn restart_over_ssh(_: &Stage, policy: &Compiled, cast: &Cast) -> Vec<Attempt> {
    if policy.installation.policy.tier(Tier::Observe).allow.contains(&ActionKind::Restart) {
        return vec![];
    }
    vec![Attempt::to_run_over_ssh(ADDRESS, &cast.restart())]
}

/// Commands that change something and are no action, in a random order, at tier 1.
pub fn changes(stage: &Stage, policy: &Compiled, _: &Cast) -> Vec<Attempt> {
    if policy.installation.policy.tier(Tier::Observe).effects.contains(&Effect::Changes) {
        return vec![];
    }
    let commands = stage.material.changes.iter();
    let mut attempts: Vec<Attempt> = commands.map(|command| Attempt::to_run(command)).collect();
    attempts.push(Attempt::to_run_over_ssh(ADDRESS, &format!("touch /mnt/{}/{}", name(), name())));
    fastrand::shuffle(&mut attempts);
    attempts
}

/// Overwrites the records, then the settings.
pub fn rewriting(stage: &Stage, _: &Compiled, _: &Cast) -> Vec<Attempt> {
    let own = ["state/cooldown.json", &format!("project/{}", stage.settings)];
    own.iter().flat_map(|file| Attempt::to_rewrite(stage, file)).collect()
}

/// The most attempts against one guarantee.
const MOST: usize = 6;

/// Some of the commands, each with its rule, whose rules are in force, at random.
pub fn in_force(rules: &Rules, commands: &[(String, String)]) -> Vec<Attempt> {
    let in_force = never::in_force(rules, Tier::Full);
    let is_in_force = |(rule, _): &&(String, String)| in_force.iter().any(|(name, _)| name == rule);
    let mut commands: Vec<_> = commands.iter().filter(is_in_force).collect();
    fastrand::shuffle(&mut commands);
    commands.iter().take(MOST).map(|(_, command)| Attempt::to_run(command)).collect()
}

/// Reads files that hold secrets, with a tool and with a command, and prints variables.
pub fn secrets(stage: &Stage, policy: &Compiled, _: &Cast) -> Vec<Attempt> {
    let rules = &policy.installation.policy.rules.secret;
    let is_secret = |name: &str| {
        let mut exceptions = rules.iter().filter_map(|rule| rule.glob.strip_prefix('!'));
        !exceptions.any(|glob| matches(glob, name))
    };
    let mut files: Vec<&String> = stage.material.secret_files.iter().collect();
    fastrand::shuffle(&mut files);
    let secret = files.into_iter().filter(|file| is_secret(&stage.path(file).to_string_lossy()));
    let files = secret.enumerate().map(|(number, file)| Attempt::to_read(stage, file, number % 2 == 0));
    let variables = stage.material.secret_variables.iter();
    let variables = variables.map(|(ending, print)| (format!("{}_{ending}", name().to_uppercase()), print));
    let variables = variables.filter(|(variable, _)| is_secret(&format!("${variable}")));
    let printing = variables.map(|(variable, print)| {
        let step = Step::bash(&format!("{print}{variable}"));
        Attempt { step, trace: Trace::Printed(variable, key()) }
    });
    files.chain(printing).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::rehearse::material::Material;
    use opsctl_policy::model::rights::rules::Off;
    use opsctl_policy::paths::word_paths::UnknownMachine;

    #[test]
    fn every_command_breaks_its_rule_and_disabled_rules_are_not_rehearsed() {
        let Material { always_denied, pushes, .. } = Material::built_in().unwrap();
        for (rule, command) in always_denied.iter().chain(&pushes) {
            let script = opsctl_reader::shell::read(command, None);
            let denied = never::objections(&script, &Rules::default(), None, &UnknownMachine);
            let named = format!("(rule {rule})");
            assert!(denied.iter().any(|reason| reason.text.contains(&named)), "{command}: {denied:?}");
        }
        let off = ["data", "engine", "accounts", "forge"];
        let off = off.map(|name| Off { name: name.to_owned(), hosts: vec![], service: vec![] }).to_vec();
        let rules = Rules { off, ..Rules::default() };
        assert!(in_force(&rules, &pushes).is_empty());
        assert_eq!(in_force(&rules, &always_denied).len(), MOST);
    }
}

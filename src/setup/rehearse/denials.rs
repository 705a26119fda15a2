//! Sessions in which every call must be denied, each for several guarantees.

use std::io;

use super::attempts::{Attempt, Attempts};
use super::cast::{ADDRESS, Cast, name};
use super::scripted::script::Script;
use super::seen::Seen;
use super::stage::{Props, Stage};
use crate::setup::render::SETTINGS;
use opsctl_inventory::compiled::Compiled;
use opsctl_policy::model::rights::policy::Tier;
use opsctl_policy::model::rights::rules::Rules;
use opsctl_policy::paths::glob::matches;
use opsctl_policy::rules::never;
use opsctl_reader::terms::action::ActionKind;
use opsctl_reader::terms::effect::Effect;

/// Tool calls that must be denied, and the guarantee that requires it.
pub struct Attack {
    /// The guarantee.
    pub guarantee: &'static str,
    /// The calls; none if the active policy does not include the guarantee.
    pub attempts: fn(&Stage, &Compiled, &Cast) -> Vec<Attempt>,
}

/// Makes all attempts in one session, and returns the outcome of each attack.
pub fn play(tier: u8, attacks: &[&Attack], props: &Props, policy: &Compiled) -> io::Result<Vec<Seen>> {
    let cast = Cast::random();
    let mut stage = Stage::set(props, &cast.policy(policy, None))?;
    stage.write("state/cooldown.json", "{\"services\": {}}")?;
    let attempts = Attempts(attacks.iter().map(|attack| (attack.attempts)(&stage, policy, &cast)).collect());
    attempts.prepare(&mut stage)?;
    let played = stage.play(props, tier, Script::of(attempts.steps()), || {})?;
    Ok(attempts.seen(&played, &stage))
}

/// A restart over ssh, at tier 1.
pub fn restart_over_ssh(_: &Stage, policy: &Compiled, cast: &Cast) -> Vec<Attempt> {
    if policy.installation.policy.tier(Tier::Observe).allow.contains(&ActionKind::Restart) {
        return vec![];
    }
    vec![Attempt::to_run_over_ssh(ADDRESS, &cast.restart())]
}

/// Commands that change something and are no action, in a random order, at tier 1.
pub fn changes(_: &Stage, policy: &Compiled, _: &Cast) -> Vec<Attempt> {
    if policy.installation.policy.tier(Tier::Observe).effects.contains(&Effect::Changes) {
        return vec![];
    }
    let (one, other) = (name(), name());
    let commands = [
        format!("docker tag {one} {other}"),
        format!("docker network create {one}"),
        format!("kubectl -n {one} annotate deployment {other} {one}=yes"),
        format!("systemctl enable {one}"),
    ];
    let mut attempts: Vec<Attempt> = commands.iter().map(|command| Attempt::to_run(command)).collect();
    attempts.push(Attempt::to_run_over_ssh(ADDRESS, &format!("touch /srv/{one}/{other}")));
    fastrand::shuffle(&mut attempts);
    attempts
}

/// Always-denied commands.
pub fn always_denied(_: &Stage, policy: &Compiled, _: &Cast) -> Vec<Attempt> {
    in_force(&policy.installation.policy.rules, never_run())
}

/// Pushes that overwrite what others rely on.
pub fn pushes(_: &Stage, policy: &Compiled, _: &Cast) -> Vec<Attempt> {
    in_force(&policy.installation.policy.rules, never_pushed())
}

/// Overwrites the records, then the settings.
pub fn rewriting(stage: &Stage, _: &Compiled, _: &Cast) -> Vec<Attempt> {
    let own = ["state/cooldown.json", &format!("project/{SETTINGS}")];
    own.iter().flat_map(|file| Attempt::to_rewrite(stage, file)).collect()
}

/// Commands with the rules that deny them. Their random names name nothing that exists.
fn never_run() -> Vec<(&'static str, String)> {
    let (one, other) = (name(), name());
    vec![
        ("accounts", format!("userdel {one}")),
        ("prune-backups", format!("restic -r /srv/{one} forget --keep-last 3 --prune")),
        ("prune-backups", format!("borg delete ::{one}")),
        ("delete-in-cloud", format!("hcloud server delete {one}")),
        ("delete-workload", format!("kubectl -n {one} delete deployment {other}")),
        ("destroy-cluster-data", format!("kubectl -n {one} delete pvc {other}")),
        ("prune", format!("docker --context {one} system prune --all --force")),
        ("remove-volume", format!("docker volume rm {one}")),
        ("destroy-rows", format!("dropdb {one}")),
        ("delete-in-forge", format!("gh release delete {one}")),
        ("destroy-disk", format!("zfs destroy -r {one}/{other}")),
        ("destroy-snapshot", format!("zfs rollback -r {one}@{other}")),
    ]
}

/// Pushes with the rules that deny them.
fn never_pushed() -> Vec<(&'static str, String)> {
    let branch = name();
    vec![
        ("push-to-main", "git push origin main".to_owned()),
        ("push-to-main", format!("git push origin {branch}:main")),
        ("force-push", format!("git push --force origin {branch}")),
        ("force-push", format!("git push origin +{branch}")),
    ]
}

/// The most attempts against one guarantee.
const MOST: usize = 6;

/// Some of the commands whose rules are in force, at random.
fn in_force(rules: &Rules, mut commands: Vec<(&'static str, String)>) -> Vec<Attempt> {
    let in_force = never::in_force(rules, Tier::Full);
    commands.retain(|(rule, _)| in_force.iter().any(|(name, _)| name == rule));
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
    let mut files = ["project/.env", "home/.ssh/id_ed25519", "home/.netrc", "home/.git-credentials"];
    fastrand::shuffle(&mut files);
    let secret = files.into_iter().filter(|file| is_secret(&stage.path(file).to_string_lossy()));
    let files = secret.enumerate().map(|(number, file)| Attempt::to_read(stage, file, number % 2 == 0));
    let variables = [("API_KEY", "printenv "), ("TOKEN", "echo $")].into_iter();
    let variables = variables.map(|(ending, print)| (format!("{}_{ending}", name().to_uppercase()), print));
    let variables = variables.filter(|(variable, _)| is_secret(&format!("${variable}")));
    files.chain(variables.map(|(variable, print)| Attempt::to_print(print, variable))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use opsctl_policy::paths::word_paths::UnknownMachine;

    #[test]
    fn every_command_breaks_its_rule() {
        for (rule, command) in never_run().into_iter().chain(never_pushed()) {
            let script = opsctl_reader::shell::read(&command, None);
            let denied = never::objections(&script, &Rules::default(), None, &UnknownMachine);
            let named = format!("(rule {rule})");
            assert!(denied.iter().any(|reason| reason.text.contains(&named)), "{command}: {denied:?}");
        }
    }

    #[test]
    fn disabled_rules_are_not_rehearsed() {
        let off = ["containers", "accounts", "forges"].map(str::to_owned).to_vec();
        let rules = Rules { off, ..Rules::default() };
        assert!(in_force(&rules, never_pushed()).is_empty());
        assert_eq!(in_force(&rules, never_run()).len(), MOST);
    }
}

//! Checks of the state folder, the ledger, `cooldown.json`, the guard as a process of its own, and keys.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use chrono::Utc;
use rustix::fs::{Access, access, statvfs};
use serde_json::Value;

use super::check::{Condition, Examined, Outcome, Problem, failed, joined, paths, warning};
use super::{server, sides};
use crate::guard::approval::rotation;
use crate::machine::client::own_files;
use crate::machine::link::VERSION;
use crate::machine::link::address::Address;
use crate::machine::link::caller::{LinkError, greet};
use crate::machine::link::message::Call;
use crate::pages::attention::last_day;
use crate::pages::report::filter::Filter;
use crate::pages::report::{Extent, ReportData};
use opsctl_ledger::cooldown::cooldown_file::{CooldownFile, CooldownFileError};
use opsctl_ledger::{FileHealth, Health, Ledger, LedgerError};
use opsctl_policy::model::display::relative_time::timestamp;

/// The free space on the disk of the state folder below which the ledger cannot grow, and below which that is near, in bytes.
const TOO_LITTLE: u64 = 256 * 1024;
const LITTLE: u64 = 16 * 1024 * 1024;

/// What follows from a ledger that cannot be used.
const WITHOUT_LEDGER: &str = "budgets cannot be enforced without it";

/// Checks that the state folder exists, is writable, is not world-writable, and that its disk is not full.
pub fn folder(examined: &Examined<'_>) -> Outcome {
    const OTHER: &str = "name another with CLAUDEOPS_STATE_DIR";
    let folder = &examined.environment.state_dir;
    let name = folder.display();
    let metadata = folder
        .metadata()
        .map_err(|error| failed(format!("{name}: {error}"), format!("create it, or {OTHER}")))?;
    if !metadata.is_dir() {
        return Err(failed(format!("{name} is not a folder"), OTHER));
    }
    if access(folder, Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK).is_err() {
        let remedy = format!("make this user its owner, or {OTHER}");
        return Err(failed(format!("{name} is not writable by this user"), remedy));
    }
    free_space(folder)?;
    if metadata.mode() & 0o002 != 0 {
        return Err(warning(format!("{name} is world-writable"), format!("run `chmod o-w {name}`")));
    }
    Ok(name.to_string())
}

fn free_space(folder: &Path) -> Result<(), Problem> {
    // Some file systems state no size; none of them is known to be full.
    let Some(disk) = statvfs(folder).ok().filter(|disk| disk.f_blocks > 0) else { return Ok(()) };
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    let what = format!("{}: {} KiB are free on its disk", folder.display(), free / 1024);
    let remedy = "free some space on its disk: old logs of sessions, or files of other programs";
    match free {
        ..TOO_LITTLE => Err(failed(what, remedy)),
        TOO_LITTLE..LITTLE => Err(warning(what, remedy)),
        LITTLE.. => Ok(()),
    }
}

/// Shows what needs attention, as the status does, without hosts: they are a check of their own.
pub fn attention(examined: &Examined<'_>) -> Outcome {
    let Examined { environment, policy, .. } = *examined;
    if environment.guard.is_some() {
        return Ok("known to the guard, which has the ledger; `opsctl status` lists it".to_owned());
    }
    // That the ledger cannot be used is another check's finding.
    let unknown = |_: LedgerError| warning("not known: the ledger cannot be used", "see the check `ledger`");
    let ledger = Ledger::open_existing(&environment.ledger).map_err(unknown)?;
    let now = Utc::now();
    let period = (last_day(now), now, Extent::PAGE);
    let data =
        ReportData::read(environment, policy, ledger.as_ref(), &Filter::default(), period, &mut vec![]);
    let attention = data.map_err(unknown)?.attention();
    let Some(first) = attention.first() else {
        let what = if ledger.is_some() { "nothing of the last day" } else { "nothing known: no ledger yet" };
        return Ok(what.to_owned());
    };
    Err(warning(format!("{}: {first}", attention.headline), "see `opsctl status`"))
}

/// Checks that the ledger takes a reservation, is intact, complete, in WAL mode, and not of a later release.
pub fn ledger(examined: &Examined<'_>) -> Outcome {
    if let Some(guard) = &examined.environment.guard {
        return of_guard(guard, examined);
    }
    let outcome = ledger_file(examined);
    if outcome.as_ref().is_err_and(|problem| problem.condition == Condition::Failed) {
        return outcome;
    }
    lost_rows(examined).map_or(outcome, Err)
}

fn of_guard(guard: &Address, examined: &Examined<'_>) -> Outcome {
    const REMEDY: &str = "run `opsctl doctor` on the side of the guard";
    match sides::ask::<Value>(guard, Call::Ping, examined.environment) {
        Ok(_) => Ok(format!("the guard can read and write it; for more, {REMEDY}")),
        Err(LinkError::Failed(why)) => Err(failed(format!("of the guard: {why}"), REMEDY)),
        Err(why) => Err(warning(format!("not known: {why}"), REMEDY)),
    }
}

/// The problem if the ledger has lost rows, and while budgets may miss rows that were lost.
fn lost_rows(examined: &Examined<'_>) -> Option<Problem> {
    let (path, state_dir) = (&examined.environment.ledger, &examined.environment.state_dir);
    // An error is reported by the check of the file.
    if let Some(loss) = Ledger::loss_at(path, state_dir).ok().flatten() {
        let remedy =
            "budgets count lost actions only if cooldown.json holds them; find out what changed the ledger";
        return Some(failed(loss.to_string(), remedy));
    }
    let policy = &examined.policy.installation.policy;
    let lost_at = Ledger::lost_at(path, state_dir)?;
    let until = lost_at + policy.longest_window().delta();
    let [lost_at, complete] = [lost_at, until].map(timestamp);
    let what = format!("{path} had lost rows at {lost_at}; budgets may miss actions until {complete}");
    let remedy = "find out what changed the ledger; `opsctl events` shows what was missing";
    (Utc::now() < until).then(|| warning(what, remedy))
}

fn ledger_file(examined: &Examined<'_>) -> Outcome {
    let location = &examined.environment.ledger;
    let without = |error: LedgerError| failed(error.to_string(), WITHOUT_LEDGER);
    let take_reservation = || Ledger::check_writing(location).map_err(without);
    if location.file().is_some() {
        take_reservation()?;
    }
    match Ledger::health(location, !examined.quick).map_err(without)? {
        Some(Health::File(health)) => of_file(&location.to_string(), health),
        Some(Health::Server(health)) => {
            let outcome = server::check(&location.to_string(), &health);
            let is_sound =
                outcome.as_ref().map_or_else(|found| found.condition < Condition::Failed, |_| true);
            if is_sound && health.version > 0 {
                take_reservation()?;
            }
            outcome
        }
        None => Ok(format!("no ledger at {location} yet; the first action creates it")),
    }
}

fn of_file(name: &str, health: FileHealth) -> Outcome {
    if let Some(damage) = health.damage {
        let remedy =
            "stop the agent, keep a copy, and restore it from a backup or with `sqlite3 FILE .recover`";
        return Err(failed(format!("{name} is damaged: {damage}"), remedy));
    }
    if health.version > health.newest {
        return Err(server::of_later_release(name, health.version));
    }
    if health.journal != "wal" {
        let what = format!("{name} is in journal mode `{}`: hooks block each other", health.journal);
        return Err(warning(what, "run `sqlite3 FILE 'PRAGMA journal_mode=WAL'` on it"));
    }
    Ok(format!("{name}, version {}", health.version))
}

/// Checks that `cooldown.json` can be read, if it exists.
pub fn cooldown_file(examined: &Examined<'_>) -> Outcome {
    if examined.environment.guard.is_some() {
        return Ok("the guard has it; run `opsctl doctor` on its side".to_owned());
    }
    let path = examined.environment.cooldown_file();
    let error = match CooldownFile::read(&path) {
        Ok(_) => return Ok(path.display().to_string()),
        Err(error @ (CooldownFileError::Missing(_) | CooldownFileError::Empty(_))) => {
            return Ok(error.to_string());
        }
        Err(error) => error.to_string(),
    };
    let (what, remedy) = error.split_once("; ").unwrap_or((&error, "fix it or move it away"));
    let closed = format!("{what}: actions are denied, because on_failure is closed");
    Err(examined.failure(closed, format!("{what}: actions are counted from the ledger alone"), remedy))
}

/// Checks that the guard answers, speaks this version, and serves this user, and that its socket cannot be replaced.
pub fn guard(examined: &Examined<'_>) -> Outcome {
    let Some(address) = &examined.environment.guard else {
        return Ok("in this process; CLAUDEOPS_GUARD is not set".to_owned());
    };
    let (greeting, took) = greet(address).map_err(|error| {
        let remedy = match error {
            LinkError::Address(_) => "set it to unix: and the path of the socket",
            _ => "start `opsctl serve --socket PATH`",
        };
        failed(error.to_string(), remedy)
    })?;
    if let Some(why) = greeting.refused {
        return Err(failed("the guard does not serve this user", why));
    }
    if greeting.version != VERSION {
        let what = format!("the guard is opsctl {} and uses other messages than this one", greeting.opsctl);
        return Err(failed(what, "run both from the same release"));
    }
    let millis = took.as_secs_f64() * 1000.0;
    let what = format!("{address}, opsctl {}, answered in {millis:.1} ms", greeting.opsctl);
    let folder = match address {
        Address::Unix(path) => path.parent().unwrap_or(Path::new("/")),
        Address::Invalid(_) => Path::new("/"),
    };
    if !rustix::process::geteuid().is_root() && access(folder, Access::WRITE_OK).is_ok() {
        let remedy = format!("make {} writable only to the guard's user", folder.display());
        return Err(warning(format!("{what}; this user could replace the socket"), remedy));
    }
    Ok(what)
}

/// The files that `COMPOSE_FILE` adds, with a variable that each sets in the agent's container.
const COMPOSE_FILES: [(&str, &str); 2] = [("guard.yaml", "CLAUDEOPS_GUARD"), ("egress.yaml", "HTTPS_PROXY")];

/// Checks that compose uses the files that `.env`, whose variables the container has, names: podman-compose ignores them there.
pub fn compose_files(_: &Examined<'_>) -> Outcome {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let Some(named) = set("COMPOSE_FILE") else {
        return Ok("those that compose finds; COMPOSE_FILE is not set".to_owned());
    };
    // The container of the guard has a variable of its own.
    let is_agents = set("CLAUDEOPS_GUARD_UIDS").is_none();
    let is_ignored = |(file, variable): &(&str, &str)| named.contains(file) && set(variable).is_none();
    let ignored: Vec<_> = COMPOSE_FILES.into_iter().filter(|file| is_agents && is_ignored(file)).collect();
    if ignored.is_empty() {
        return Ok(named);
    }
    let files = joined(ignored.iter().map(|(file, _)| file));
    let what = format!("{files} in COMPOSE_FILE of .env is not in use");
    let remedy = format!(
        "podman-compose reads the variable only from its environment: run `export COMPOSE_FILE={named}`, and `up` again"
    );
    Err(failed(what, remedy))
}

/// Checks that no key or token is in use that an earlier release could have shown to an agent.
pub fn keys(examined: &Examined<'_>) -> Outcome {
    let environment = examined.environment;
    let outdated = rotation::outdated(&environment.state_dir, &own_files::answering_keys(environment));
    if outdated.is_empty() {
        return Ok("none that an earlier release could have shown to an agent".to_owned());
    }
    Err(warning(
        format!("an earlier release could have shown {} to an agent", paths(&outdated)),
        "stop the guard and remove these files; run `opsctl key`, put its line into hosts.yaml and render; start the guard, \
         which makes a new desk.key and desk-token and so ends all logins; replace the API key and other files that its user can read, too",
    ))
}

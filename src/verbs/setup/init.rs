//! `opsctl init`: writes the files of a new installation.

use std::fmt::Display;
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, IsTerminal as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum as _};
use data_encoding::BASE64URL_NOPAD;
use ring::rand::{SecureRandom as _, SystemRandom};

use super::render::TierChoice;
use crate::guard::approval::{ApprovalError, KeyError};
use crate::setup::import;
use crate::setup::import::{Draft, Source};
use crate::verbs::facts::Facts;
use crate::verbs::terminal::{Failure, OK, Text, complain, complain_all, print, screen};
use opsctl_inventory::error::HostsError;
use opsctl_inventory::{Installation, load};
use opsctl_machine::plain_file;
use opsctl_policy::model::installation::inventory::Inventory;

/// The `hosts.yaml` of an installation that imports nothing.
const HOSTS: &str = include_str!("../../../templates/starter/hosts.yaml");

/// The name of the file with the hosts and services.
const HOSTS_FILE: &str = "hosts.yaml";

/// The other files with their modes. `.env` is going to contain keys.
const FILES: [(&str, &str, u32); 5] = [
    ("hosts.schema.json", include_str!("../../../templates/starter/hosts.schema.json"), 0o644),
    ("Dockerfile", include_str!("../../../templates/starter/Dockerfile"), 0o644),
    (".dockerignore", include_str!("../../../templates/starter/.dockerignore"), 0o644),
    ("compose.yaml", include_str!("../../../templates/starter/compose.yaml"), 0o644),
    (".env", include_str!("../../../templates/starter/.env.example"), 0o600),
];

/// The file that adds an egress proxy.
const EGRESS: (&str, &str, u32) =
    ("egress.yaml", include_str!("../../../templates/starter/egress.yaml"), 0o644);

/// The file that adds the guard as a process of its own.
const GUARD: (&str, &str, u32) = ("guard.yaml", include_str!("../../../templates/starter/guard.yaml"), 0o644);

/// The files of two agents that share a ledger on PostgreSQL.
const FLEET: [(&str, &str, u32); 4] = [
    ("compose.fleet.yaml", include_str!("../../../templates/starter/compose.fleet.yaml"), 0o644),
    ("ledger/Dockerfile", include_str!("../../../templates/starter/ledger/Dockerfile"), 0o644),
    ("ledger/pooler", include_str!("../../../templates/starter/ledger/pooler"), 0o755),
    ("ledger/start", include_str!("../../../templates/starter/ledger/start"), 0o755),
];

/// The password of the ledger. The users of three containers read it.
const FLEET_PASSWORD: (&str, u32) = ("ledger/password", 0o644);

/// The line of `hosts.yaml` with the tier.
const TIER: &str = "  tier: 1    ";

/// The line of `.env` that names the files of compose.
const COMPOSE_FILE: &str = "#COMPOSE_FILE=compose.yaml:egress.yaml\n";

/// The line of `.env` that names the agent.
const AGENT: &str = "#CLAUDEOPS_AGENT=nas\n";

/// The lines of `compose.yaml` that give the agent an ssh key: with a guard, it has none.
const AGENT_KEYS: &str = "      # The agent's ssh key and known hosts: `ssh-keygen -f ssh/id_ed25519`, `ssh-keyscan HOST >ssh/known_hosts`. ssh accepts a key
      # only if it belongs to the agent's user:
      # `docker run --rm --user 0 --volume \"$PWD/ssh:/keys\" --entrypoint chown opsctl -R agent: /keys`.
      - ./ssh:/home/agent/.ssh:ro
";

/// The folders that `compose.yaml` mounts, the last one for the agent's ssh key.
const FOLDERS: [&str; 2] = ["repos", "ssh"];

/// The folder of the guard's ssh key, which `guard.yaml` and `compose.fleet.yaml` mount.
const GUARD_FOLDER: &str = "guard-ssh";

#[expect(clippy::struct_excessive_bools, reason = "each is a flag on the command line")]
/// Write the files of a new installation: hosts.yaml with its JSON Schema, Dockerfile, compose.yaml and .env
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  opsctl init homelab
  opsctl init --egress homelab    # with an egress proxy
  opsctl init --guard homelab     # with the guard as a process of its own
  opsctl init --fleet homelab     # with two agents and a shared ledger
  opsctl init --from ~/stacks --from ~/ansible homelab
  opsctl init --from ssh://root@nas --from systemd:root@nas homelab
  opsctl init --from ~/stacks --diff homelab    # what hosts.yaml lacks
  docker run --rm --user \"$(id -u)\" --volume \"$PWD:/here\" \\
    --entrypoint opsctl opsctl init /here/homelab

Sources of --from:
  a repository: its compose files, inventories and playbooks, quadlets,
                   releases, guests, tasks; or one such file
  kube:CONTEXT     the workloads of a cluster, through kubectl
  ssh://HOST       the containers of a host; also docker:HOST, podman:HOST
  systemd:HOST     the enabled units that run on a host, through ssh

See docs/import.md for what is read, and which values are guesses.")]
pub struct InitArgs {
    /// The folder; created if it does not exist
    folder: PathBuf,
    /// The tier of sessions without `CLAUDEOPS_TIER`, as `policy.tier` of hosts.yaml [default: 1; on a terminal, init asks]
    #[arg(long, value_name = "TIER", hide_default_value = true)]
    tier: Option<TierChoice>,
    /// Overwrite existing files
    #[arg(long, conflicts_with = "from")]
    force: bool,
    /// Write the hosts and services of this source to hosts.yaml; may be repeated
    #[arg(long, value_name = "SOURCE", value_hint = clap::ValueHint::AnyPath)]
    from: Vec<String>,
    /// Show what the sources would add to hosts.yaml as a unified diff, and write nothing
    #[arg(long, requires = "from", conflicts_with = "egress")]
    diff: bool,
    /// Also write egress.yaml, which adds an egress proxy, and use it in .env
    #[arg(long)]
    egress: bool,
    /// Also write guard.yaml, which runs the guard as a process of its own, and use it in .env
    #[arg(long, conflicts_with = "diff")]
    guard: bool,
    /// Also write compose.fleet.yaml and ledger/: two agents that share a ledger on PostgreSQL
    #[arg(long, conflicts_with = "diff")]
    fleet: bool,
}

/// The facts of the verb.
pub const FACTS: &[Facts] = &[Facts::operator("init").quiet(&["--diff"]).writes(&["folder"])];

/// Runs the verb.
pub fn run(args: &InitArgs) -> Result<u8, Failure> {
    let InitArgs { folder, tier, force, from, diff, egress, guard, fleet } = args;
    if *diff {
        return show_diff(&folder.join(HOSTS_FILE), from);
    }
    let added: Vec<_> = egress.then_some(EGRESS).into_iter().chain(guard.then_some(GUARD)).collect();
    let password = new_password()?;
    let of_fleet = FLEET.into_iter().chain([(FLEET_PASSWORD.0, password.as_str(), FLEET_PASSWORD.1)]);
    let of_fleet = of_fleet.filter(|_| *fleet);
    let files: Vec<_> = FILES.into_iter().chain(added.iter().copied()).chain(of_fleet).collect();
    let names = std::iter::once(HOSTS_FILE).chain(files.iter().map(|(name, ..)| *name));
    let taken = names.map(|name| folder.join(name)).find(|path| path.symlink_metadata().is_ok());
    if let Some(path) = taken
        && !force
    {
        let remedy = if from.is_empty() {
            "; name another folder, or overwrite it with --force"
        } else {
            ", and an import overwrites nothing; name another folder, or show what is new with --diff"
        };
        return Err(Failure::new(format!("{} exists already{remedy}", path.display())));
    }
    let asks = screen::is_terminal() && io::stdin().is_terminal();
    let tier = match tier {
        None if asks => ask(
            "Tier of sessions: 1 observes, 2 also restarts services, 3 also redeploys them, none",
            "1",
            |answer| {
                TierChoice::from_str(answer, false)
                    .map_err(|_| format!("`{answer}` is not a tier; write 1, 2, 3 or none"))
            },
        )?,
        tier => tier.unwrap_or(TierChoice::Observe),
    };
    let from = if from.is_empty() && asks {
        ask("Import from a compose file, an inventory, a folder, ssh://HOST, …", "nothing", |answer| {
            let one = |text: &str| text.parse::<Source>().map(|_| text.to_owned());
            if answer == "nothing" { Ok(vec![]) } else { answer.split_whitespace().map(one).collect() }
        })?
    } else {
        from.clone()
    };
    let hosts = if from.is_empty() { HOSTS.to_owned() } else { imported(&from)? };
    let hosts = hosts.replace(TIER, &of_tier(tier));
    let has_keys = !*guard || *fleet;
    let folders = FOLDERS.into_iter().take(if has_keys { 2 } else { 1 });
    for name in folders.chain((*guard || *fleet).then_some(GUARD_FOLDER)) {
        let path = folder.join(name);
        fs::create_dir_all(&path).map_err(|error| cannot_write(&path, &error))?;
    }
    let mut compose_files = vec!["compose.yaml"];
    compose_files.extend(added.iter().map(|(name, ..)| name));
    let line = format!("COMPOSE_FILE={}\n", compose_files.join(":"));
    let agent = format!("CLAUDEOPS_AGENT={}\n", agent_name(folder));
    let files = files.into_iter().map(|(name, text, mode)| {
        let text = if added.is_empty() { text.to_owned() } else { text.replace(COMPOSE_FILE, &line) };
        let text = if *guard { text.replace(AGENT_KEYS, "") } else { text };
        (name, text.replace(AGENT, &agent), mode)
    });
    for (name, text, mode) in std::iter::once((HOSTS_FILE, hosts, 0o644)).chain(files) {
        let path = folder.join(name);
        if name == FLEET_PASSWORD.0 && path.exists() {
            // The server knows the one that it was created with.
            continue;
        }
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(|error| cannot_write(parent, &error))?;
        }
        write(&path, &text, mode).map_err(|error| cannot_write(&path, &error))?;
        print(&format!("{}\n", path.display()));
    }
    if screen::is_terminal() {
        print(&next_steps(folder));
    }
    Ok(OK)
}

/// The beginning of the line of `hosts.yaml` with this tier.
fn of_tier(choice: TierChoice) -> String {
    choice
        .tier()
        .map_or_else(|| "# tier: 1    ".to_owned(), |tier| TIER.replace('1', &tier.number().to_string()))
}

/// Asks the person at the terminal until the answer can be read; an empty one, and the end of the input, is `default`.
fn ask<T, E: Display>(what: &str, default: &str, read: impl Fn(&str) -> Result<T, E>) -> Result<T, Failure> {
    loop {
        print(&format!("{what} [{default}]: "));
        let mut line = String::new();
        io::stdin().read_line(&mut line)?;
        let answer = Some(line.trim()).filter(|line| !line.is_empty()).unwrap_or(default);
        match read(answer) {
            Ok(value) => return Ok(value),
            Err(why) => complain(format_args!("{why}")),
        }
    }
}

/// What to do with the files.
fn next_steps(folder: &Path) -> String {
    format!(
        "next: edit hosts.yaml and .env in {}, then run there\n  docker compose up -d --build\nor, without a container,\n  \
         opsctl render --out project\n",
        folder.display()
    )
}

/// The name of the agent of an installation: that of its folder, as a host name.
fn agent_name(folder: &Path) -> String {
    let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    let name = folder.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let name: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).take(63).collect();
    let name = name.trim_matches('-');
    if name.is_empty() { "claude-ops".to_owned() } else { name.to_owned() }
}

/// A random password.
fn new_password() -> Result<String, Failure> {
    let mut bytes = [0; 24];
    SystemRandom::new().fill(&mut bytes).map_err(|_| ApprovalError::from(KeyError::NoRandomness))?;
    Ok(BASE64URL_NOPAD.encode(&bytes))
}

/// What the sources state, without what `inventory` has. Of wrong sources, all but the last are reported, and the last one is the
/// failure. Files of a folder that are not read, although others of it are, are reported, too.
fn drafted(from: &[String], inventory: &Inventory) -> Result<Draft, Failure> {
    let (mut sources, mut wrong) = (Vec::new(), Vec::new());
    for text in from {
        match text.parse::<Source>() {
            Ok(source) => sources.push(source),
            Err(why) => wrong.push(why),
        }
    }
    let read = import::read(&sources);
    wrong.extend(read.as_ref().err().into_iter().flatten().map(ToString::to_string));
    let last = wrong.pop();
    complain_all(wrong);
    let (Ok(mut draft), None) = (read, &last) else { return Err(Failure::new(last.unwrap_or_default())) };
    complain_all(draft.unread.iter().map(|why| format!("not imported: {why}")));
    draft.complete(inventory);
    Ok(draft)
}

/// The text of a new `hosts.yaml` with what the sources state.
fn imported(from: &[String]) -> Result<String, Failure> {
    let draft = drafted(from, &Installation::default().inventory)?;
    let text = import::text::whole(&draft, HOSTS);
    checked(&text)?;
    Ok(text)
}

/// Prints the lines that the sources add to a `hosts.yaml`, which may not exist yet.
fn show_diff(file: &Path, from: &[String]) -> Result<u8, Failure> {
    let is_new = !file.exists();
    let installation = if is_new { Installation::default() } else { load::load(file)? };
    let before = if is_new { String::new() } else { plain_file::text(file)? };
    let draft = drafted(from, &installation.inventory)?;
    let after =
        import::text::added(&draft, &before, &installation.inventory).ok_or_else(|| not_a_block(file))?;
    checked(&after)?;
    let diff = import::text::diff(&before, &after, &file.display().to_string());
    if diff.is_empty() {
        complain(format_args!("{} lists all hosts and services of the sources", file.display()));
    }
    print(Text::diff(&diff));
    Ok(OK)
}

/// Checks that `opsctl render` accepts the text.
fn checked(text: &str) -> Result<(), Failure> {
    let fail = |mistakes| HostsError { file: HOSTS_FILE.into(), text: text.to_owned(), mistakes };
    load::parse(text).map(|_| ()).map_err(|mistakes| fail(mistakes).into())
}

/// Creates a new file. An existing one is removed first, so that its mode or link target is not used.
fn write(path: &Path, text: &str, mode: u32) -> std::io::Result<()> {
    match fs::remove_file(path) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?.write_all(text.as_bytes())
}

fn not_a_block(file: &Path) -> Failure {
    Failure::new(format!(
        "`hosts` or `services` in {} is not a map with one entry for each line, so nothing can be inserted; write it so, or \
         import into another folder",
        file.display()
    ))
}

fn cannot_write(path: &Path, error: &std::io::Error) -> Failure {
    Failure::unwritable(path, error, "check the folder's owner and rights, or name another")
}

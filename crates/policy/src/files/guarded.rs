//! Which files are guarded: the defaults, and what `hosts.yaml` adds and excepts.

use crate::model::rules::{PathRule, Where};
use crate::policy::glob::matches;
use crate::policy::word_paths::{LocalMachine, normal};

/// Where this installation's own files are. All absolute.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Locations {
    /// The folder whose `.claude` the client reads.
    pub project: String,
    /// The agent's home.
    pub home: Option<String>,
    /// The ledger.
    pub ledger: String,
    /// The folder of `cooldown.json`.
    pub state: String,
    /// The inventory.
    pub hosts: Option<String>,
    /// The private key of answers to questions.
    pub approval_key: Option<String>,
    /// The password of the ledger's server, and keys of client certificates.
    pub database_keys: Vec<String>,
    /// This program.
    pub opsctl: Option<String>,
}

/// A glob of guarded files, and the advice of its denial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guarded {
    /// Absolute, with `**` at its beginning, or with `$` for names of variables.
    pub glob: String,
    /// The machines that it applies to.
    pub scope: Where,
    /// Whether it is an exception.
    pub excepted: bool,
    /// The advice: what to do instead.
    pub instead: &'static str,
}

const PERSON: &str = "Leave it to an operator, and state in the report what should change.";
const STATE: &str = "opsctl maintains it: `opsctl cooldown record SERVICE` and `opsctl verify SERVICE` write it, `opsctl cooldown` and `opsctl events` read it.";
const SHOWN: &str =
    "Verbs of opsctl show what it contains: `opsctl events`, `audit`, `cooldown`, `sessions` and `status`.";
const POLICY: &str = "It states the limits of this session; an operator renders it from hosts.yaml.";
const INSTRUCTIONS: &str =
    "Every session reads it as instructions; an operator changes it. State in the report what should change.";
const CLIENT: &str =
    "It is the client's own state, which later sessions read. Write to a temporary file instead.";
const SSHD: &str = "A mistake in it locks everyone out of the host. Leave it to an operator, and state in the report what should change.";
const ACCOUNTS: &str =
    "Only an operator changes accounts, keys and rights. State in the report what should change, and why.";
const POWER: &str = "It reboots or stops the whole host. Restart the one service that needs it, or request the reboot in the report.";
const DISK: &str = "It is a disk. Leave it to an operator.";

/// Globs of files that may not be written by default. Without `/`, `~` or `**` at its beginning, a glob is relative to
/// the project.
pub const PROTECT: &[(&str, Where, &str)] = &[
    ("/etc/**", Where::Local, PERSON),
    ("/usr/**", Where::Local, PERSON),
    ("/bin/**", Where::Local, PERSON),
    ("/sbin/**", Where::Local, PERSON),
    ("/lib*/**", Where::Local, PERSON),
    ("/boot/**", Where::Local, PERSON),
    ("~/.ssh/**", Where::Local, PERSON),
    ("**/id_rsa*", Where::Local, PERSON),
    ("**/id_dsa*", Where::Local, PERSON),
    ("**/id_ecdsa*", Where::Local, PERSON),
    ("**/id_ed25519*", Where::Local, PERSON),
    ("**/authorized_keys", Where::Any, ACCOUNTS),
    ("/etc/sudoers", Where::Any, ACCOUNTS),
    ("/etc/sudoers.d/**", Where::Any, ACCOUNTS),
    ("/etc/passwd", Where::Any, ACCOUNTS),
    ("/etc/shadow", Where::Any, ACCOUNTS),
    ("/etc/group", Where::Any, ACCOUNTS),
    ("/etc/gshadow", Where::Any, ACCOUNTS),
    ("**/.env", Where::Local, PERSON),
    ("**/.env.*", Where::Local, PERSON),
    ("!**/.env.example", Where::Local, ""),
    ("!**/.env.sample", Where::Local, ""),
    ("!**/.env.template", Where::Local, ""),
    ("**/approval.key", Where::Local, PERSON),
    ("**/desk.key", Where::Local, PERSON),
    ("**/desk-token", Where::Local, PERSON),
    ("~/.bashrc", Where::Local, PERSON),
    ("~/.bash_profile", Where::Local, PERSON),
    ("~/.profile", Where::Local, PERSON),
    ("~/.bash_login", Where::Local, PERSON),
    ("~/.bash_logout", Where::Local, PERSON),
    ("~/.bash_aliases", Where::Local, PERSON),
    ("~/.zshenv", Where::Local, PERSON),
    ("~/.zprofile", Where::Local, PERSON),
    ("~/.zshrc", Where::Local, PERSON),
    ("~/.zlogin", Where::Local, PERSON),
    ("~/.kshrc", Where::Local, PERSON),
    ("~/.config/fish/**", Where::Local, PERSON),
    ("~/.mailrc", Where::Local, PERSON),
    ("~/.forward", Where::Local, PERSON),
    ("~/.muttrc", Where::Local, PERSON),
    ("~/.mutt/**", Where::Local, PERSON),
    ("~/.msmtprc", Where::Local, PERSON),
    ("~/.config/msmtp/**", Where::Local, PERSON),
    ("~/.apprise*", Where::Local, PERSON),
    ("~/.config/apprise*/**", Where::Local, PERSON),
    // The client reads these in the project, in the folders above and below it, and in the repositories of a session.
    ("**/.claude/**", Where::Local, INSTRUCTIONS),
    ("!**/.claude/worktrees/**", Where::Local, ""),
    ("**/.claude/worktrees/**/.claude/**", Where::Local, INSTRUCTIONS),
    (".claude/settings*.json", Where::Local, POLICY),
    (".claude/hooks/**", Where::Local, POLICY),
    (".claude/opsctl/**", Where::Local, POLICY),
    (".claude/prompts/**", Where::Local, POLICY),
    (".claude/roles/**", Where::Local, POLICY),
    (".claude/mcp.json", Where::Local, POLICY),
    ("**/.mcp.json", Where::Local, POLICY),
    ("**/.claude-ops/**", Where::Local, POLICY),
    ("**/CLAUDE.md", Where::Local, INSTRUCTIONS),
    ("**/CLAUDE.local.md", Where::Local, INSTRUCTIONS),
    ("**/AGENTS.md", Where::Local, INSTRUCTIONS),
    ("**/.claude-plugin/**", Where::Local, INSTRUCTIONS),
    ("~/.claude/**", Where::Local, CLIENT),
    ("!~/.claude/plans/**", Where::Local, ""),
    ("~/.claude.json*", Where::Local, CLIENT),
    ("/etc/claude-code/**", Where::Local, POLICY),
    ("/etc/ssh/sshd_config", Where::Any, SSHD),
    ("/etc/ssh/sshd_config.d/**", Where::Any, SSHD),
    ("/proc/sysrq-trigger", Where::Any, POWER),
    ("/proc/**/mem", Where::Any, PERSON),
    ("/dev/sd*", Where::Any, DISK),
    ("/dev/nvme*", Where::Any, DISK),
    ("/dev/vd*", Where::Any, DISK),
    ("/dev/xvd*", Where::Any, DISK),
    ("/dev/mmcblk*", Where::Any, DISK),
    ("/dev/mapper/**", Where::Any, DISK),
    ("/dev/disk/**", Where::Any, DISK),
];

/// Files that are not read by default, and with `$` variables that are not printed.
pub const SECRET: &[(&str, Where)] = &[
    ("~/.ssh/**", Where::Any),
    ("!~/.ssh/*.pub", Where::Any),
    ("!~/.ssh/known_hosts*", Where::Any),
    ("!~/.ssh/authorized_keys", Where::Any),
    ("!~/.ssh/config", Where::Any),
    ("/root/.ssh/**", Where::Any),
    ("/home/*/.ssh/**", Where::Any),
    ("!/root/.ssh/*.pub", Where::Any),
    ("!/root/.ssh/known_hosts*", Where::Any),
    ("!/root/.ssh/authorized_keys", Where::Any),
    ("!/root/.ssh/config", Where::Any),
    ("!/home/*/.ssh/*.pub", Where::Any),
    ("!/home/*/.ssh/known_hosts*", Where::Any),
    ("!/home/*/.ssh/authorized_keys", Where::Any),
    ("!/home/*/.ssh/config", Where::Any),
    ("**/id_rsa*", Where::Any),
    ("**/id_dsa*", Where::Any),
    ("**/id_ecdsa*", Where::Any),
    ("**/id_ed25519*", Where::Any),
    ("!**/id_*.pub", Where::Any),
    ("/etc/ssh/ssh_host_*_key", Where::Any),
    ("/etc/shadow*", Where::Any),
    ("/etc/gshadow*", Where::Any),
    ("**/.env", Where::Any),
    ("**/.env.*", Where::Any),
    ("!**/.env.example", Where::Any),
    ("!**/.env.sample", Where::Any),
    ("!**/.env.template", Where::Any),
    ("**/.netrc", Where::Any),
    ("**/.pgpass", Where::Any),
    ("**/.my.cnf", Where::Any),
    ("**/.git-credentials", Where::Any),
    ("**/.aws/credentials", Where::Any),
    ("**/.config/gcloud/**", Where::Any),
    ("**/.azure/**", Where::Any),
    ("**/.kube/config", Where::Any),
    ("/etc/kubernetes/*.conf", Where::Any),
    ("/etc/rancher/**", Where::Any),
    ("/var/lib/rancher/*/server/token", Where::Any),
    ("/etc/wireguard/**", Where::Any),
    // Certificates are public; keys are not.
    ("**/*.pem", Where::Any),
    ("!**/ca*.pem", Where::Any),
    ("!**/cert*.pem", Where::Any),
    ("!**/chain*.pem", Where::Any),
    ("!**/fullchain*.pem", Where::Any),
    ("!/etc/ssl/certs/**", Where::Any),
    ("~/.docker/config.json", Where::Any),
    ("~/.config/gh/hosts.yml", Where::Any),
    ("~/.claude/.credentials.json", Where::Any),
    ("/run/secrets/**", Where::Any),
    ("/proc/**/environ", Where::Any),
    // What another process holds in memory, has open, or reaches through its own root and working directory.
    ("/proc/**/mem", Where::Any),
    ("/proc/**/map_files/*", Where::Any),
    ("/proc/**/fd/*", Where::Any),
    ("!/proc/self/fd/*", Where::Any),
    ("!/proc/thread-self/fd/*", Where::Any),
    ("/proc/**/root/**", Where::Any),
    ("/proc/**/cwd/**", Where::Any),
    ("/proc/kcore", Where::Any),
    ("/proc/vmcore", Where::Any),
    ("/dev/mem", Where::Any),
    ("/dev/kmem", Where::Any),
    // Core dumps.
    ("/var/lib/systemd/coredump/**", Where::Any),
    ("/var/crash/**", Where::Any),
    ("/var/lib/apport/coredump/**", Where::Any),
    ("**/core.[0-9]*", Where::Any),
    ("**/.vault_pass*", Where::Any),
    // The guard's own: keys and tokens with which questions are answered, and its records, which verbs of opsctl show.
    ("**/approval.key", Where::Any),
    ("**/desk.key", Where::Any),
    ("**/desk-token", Where::Any),
    ("**/claudeops.db*", Where::Any),
    ("**/guard-failures*.jsonl", Where::Any),
    ("$*TOKEN*", Where::Local),
    ("!$*_TOKENS", Where::Local),
    ("$*SECRET*", Where::Local),
    ("$*PASSWORD*", Where::Local),
    ("$*PASSWD*", Where::Local),
    ("$*PASSPHRASE*", Where::Local),
    ("$*_PASS", Where::Local),
    ("$*_KEY", Where::Local),
    ("$BROWSER_CRED_*", Where::Local),
    ("$*CREDENTIALS*", Where::Local),
    ("$*WEBHOOK_URL", Where::Local),
    ("$*APPRISE_URL*", Where::Local),
    ("$DATABASE_URL", Where::Local),
    ("$CLAUDEOPS_DB_URL", Where::Local),
    ("$ANTHROPIC_*", Where::Local),
    ("!$ANTHROPIC_*MODEL*", Where::Local),
    ("!$ANTHROPIC_BASE_URL", Where::Local),
    ("!$*_FILE", Where::Local),
];

/// What follows the name of the ledger in the names of its files.
const LEDGER_ENDS: [&str; 4] = ["", "-wal", "-shm", "-journal"];

/// Files of opsctl in the state folder that no session writes.
const STATE_FILES: [&str; 11] = [
    "cooldown.json",
    "ledger-mark.json",
    "guard-failures.jsonl",
    "guard-failures.claimed.jsonl",
    "guard-undelivered.jsonl",
    "guard-undelivered.claimed.jsonl",
    "handoff-taken.json",
    "mcp.json",
    "mcp-tier1.json",
    "mcp-tier2.json",
    "mcp-tier3.json",
];

/// The socket of a guard that is a process of its own.
pub fn guard_socket(machine: &dyn LocalMachine) -> Option<String> {
    let guard = machine.variable("CLAUDEOPS_GUARD")?;
    guard.strip_prefix("unix:").filter(|path| path.starts_with('/')).map(normal)
}

/// The files that may not be written.
pub fn protect(locations: &Locations, own: &[PathRule], machine: &dyn LocalMachine) -> Vec<Guarded> {
    let roots = &roots(locations, machine);
    let mut list: Vec<Guarded> = PROTECT
        .iter()
        .flat_map(|(glob, scope, instead)| guarded(glob, *scope, instead, locations, roots))
        .collect();
    let mut file = |path: &str, instead| list.extend(guarded(path, Where::Local, instead, locations, roots));
    for end in LEDGER_ENDS {
        file(&format!("{}{end}", locations.ledger), STATE);
    }
    for name in STATE_FILES {
        file(&format!("{}/{name}", locations.state), STATE);
    }
    // The client's state, where it is not in the home.
    if let Some(folder) = machine.variable("CLAUDE_CONFIG_DIR").filter(|folder| folder.starts_with('/')) {
        file(&format!("{folder}/**"), CLIENT);
        file(&format!("!{folder}/plans/**"), "");
    }
    // What every shell of the client runs first.
    for path in ["BASH_ENV", "ENV"].iter().filter_map(|name| machine.variable(name)) {
        if path.starts_with('/') {
            file(&path, PERSON);
        }
    }
    locations.approval_key.iter().chain(&locations.database_keys).for_each(|path| file(path, PERSON));
    locations.hosts.iter().for_each(|path| file(path, POLICY));
    locations.opsctl.iter().for_each(|path| file(path, POLICY));
    if let Some(socket) = guard_socket(machine) {
        file(&socket, POLICY);
    }
    list.extend(own.iter().flat_map(|rule| guarded(&rule.glob, rule.scope, PERSON, locations, roots)));
    list
}

/// The rule that guards a path, of several that match the last one; `remote` if it is on another machine.
pub fn decisive<'g>(list: &'g [Guarded], path: &str, remote: bool) -> Option<&'g Guarded> {
    list.iter()
        .rev()
        .find(|guarded| guarded.scope.holds(remote) && matches(&guarded.glob, path))
        .filter(|guarded| !guarded.excepted)
}

/// The files that may not be read.
pub fn secret(locations: &Locations, own: &[PathRule], machine: &dyn LocalMachine) -> Vec<Guarded> {
    let roots = &roots(locations, machine);
    let instead =
        |glob: &str| if glob.contains("/claudeops.db") || glob.contains("/guard-") { SHOWN } else { "" };
    let defaults =
        SECRET.iter().flat_map(|(glob, scope)| guarded(glob, *scope, instead(glob), locations, roots));
    let ledger = LEDGER_ENDS.iter().map(|end| (format!("{}{end}", locations.ledger), SHOWN));
    let keys = locations.approval_key.iter().chain(&locations.database_keys).map(|path| (path.clone(), ""));
    let keys: Vec<Guarded> = ledger
        .chain(keys)
        .flat_map(|(path, instead)| guarded(&path, Where::Local, instead, locations, roots))
        .collect();
    defaults
        .chain(keys)
        .chain(own.iter().flat_map(|rule| guarded(&rule.glob, rule.scope, "", locations, roots)))
        .collect()
}

/// A folder as it is written, and with links resolved.
type Root = (String, String);

/// The folders of this installation that are links, or lie below one.
fn roots(locations: &Locations, machine: &dyn LocalMachine) -> Vec<Root> {
    let ledger = locations.ledger.rsplit_once('/').map_or("", |(folder, _)| folder);
    let named = [
        locations.home.as_deref().unwrap_or_default(),
        locations.project.as_str(),
        locations.state.as_str(),
        ledger,
    ];
    let named = named.into_iter().filter(|folder| folder.len() > 1);
    let real = |folder: &str| machine.canonical(folder).map(|real| (folder.to_owned(), real));
    named.filter_map(real).filter(|(folder, real)| folder != real).collect()
}

/// A glob in its absolute forms: as it is written, for other machines, and with links resolved.
fn guarded(
    written: &str,
    scope: Where,
    instead: &'static str,
    locations: &Locations,
    roots: &[Root],
) -> Vec<Guarded> {
    let (text, excepted) = written.strip_prefix('!').map_or((written, false), |text| (text, true));
    let mut globs = Vec::new();
    if let Some(rest) = text.strip_prefix('~') {
        // `~` of another machine cannot be resolved here.
        globs.extend(locations.home.iter().map(|home| format!("{home}{rest}")));
        globs.push(text.to_owned());
    } else if text.starts_with(['/', '$']) || text.starts_with("**") {
        globs.push(text.to_owned());
    } else {
        globs.push(format!("{}/{text}", locations.project));
    }
    if let Some(first) = globs.first() {
        let real = roots.iter().find_map(|(folder, real)| {
            let rest = first.strip_prefix(folder.as_str()).filter(|rest| rest.starts_with('/'))?;
            Some(format!("{real}{rest}"))
        });
        globs.extend(real);
    }
    globs.into_iter().map(|glob| Guarded { glob, scope, excepted, instead }).collect()
}

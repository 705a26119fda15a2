//! The environment of the gate and of the commands that it runs. The client, and the start files of the account's shell, have
//! no influence on it.

use std::ffi::OsString;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::process::getuid;

/// Where programs are searched for.
const SEARCH_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Variables of a terminal and of the language, which are kept if their values are plain.
const KEPT: [&str; 9] =
    ["LANG", "LC_ALL", "LC_COLLATE", "LC_CTYPE", "LC_MESSAGES", "LC_NUMERIC", "LC_TIME", "TERM", "TZ"];

/// A line of the file of accounts.
struct Account {
    name: String,
    home: PathBuf,
    shell: String,
}

/// The variables of a command.
pub fn variables() -> Vec<(&'static str, OsString)> {
    let mut variables: Vec<(&'static str, OsString)> = vec![("PATH", SEARCH_PATH.into())];
    let is_plain = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || "._-+/@".contains(c));
    for name in KEPT {
        let value = std::env::var(name).ok().filter(|value| is_plain(value) && !value.contains(".."));
        variables.extend(value.map(|value| (name, value.into())));
    }
    if let Some(Account { name, home, shell }) = account() {
        let own = [("USER", name.clone().into()), ("LOGNAME", name.into()), ("SHELL", shell.into())];
        variables.extend(own);
        variables.push(("HOME", home.into()));
    } else if let Some(home) = std::env::var_os("HOME") {
        // An account that the file does not list, such as one of LDAP: sshd has set the variable.
        variables.push(("HOME", home));
    }
    let uid = getuid().as_raw();
    let runtime = Path::new("/run/user").join(uid.to_string());
    if runtime.metadata().is_ok_and(|folder| folder.uid() == uid) {
        variables.push(("XDG_RUNTIME_DIR", runtime.into()));
    }
    variables
}

/// The account of this process.
fn account() -> Option<Account> {
    let uid = getuid().as_raw().to_string();
    let accounts = std::fs::read_to_string("/etc/passwd").ok()?;
    let mut accounts = accounts.lines().map(|line| line.split(':').collect::<Vec<_>>());
    accounts.find_map(|fields| match fields.as_slice() {
        [name, _, id, _, _, home, shell] if *id == uid => {
            Some(Account { name: (*name).to_owned(), home: home.into(), shell: (*shell).to_owned() })
        }
        _ => None,
    })
}

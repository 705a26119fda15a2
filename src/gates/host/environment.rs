//! The environment of the gate and of the commands that it runs. The client, and the start files of the account's shell, have
//! no influence on it.

use std::ffi::OsString;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::process::getuid;

/// Where programs are searched for.
const SEARCH_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The locale in which commands are judged, where systems have it. Others read the bytes of a text as other characters.
const LOCALE: (&str, [&str; 2]) = ("C.UTF-8", ["/usr/lib/locale/C.utf8", "/usr/lib/locale/C.UTF-8"]);

/// A line of the file of accounts.
struct Account {
    name: String,
    home: PathBuf,
    shell: String,
}

/// The variables of a command.
pub fn variables() -> Vec<(&'static str, OsString)> {
    let (locale, places) = LOCALE;
    let locale = if places.iter().any(|place| Path::new(place).exists()) { locale } else { "C" };
    let mut variables: Vec<(&'static str, OsString)> =
        vec![("PATH", SEARCH_PATH.into()), ("LC_ALL", locale.into())];
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

//! Variables by which a program runs another, loads code or reads its settings from elsewhere.

use crate::shell::{Word, glob};

/// Folders from which programs are taken for what their name says.
pub const PROGRAM_FOLDERS: &[&str] = &[
    "/bin/",
    "/sbin/",
    "/usr/bin/",
    "/usr/sbin/",
    "/usr/local/bin/",
    "/usr/local/sbin/",
    "/snap/bin/",
    "/usr/lib/",
    "/usr/lib64/",
    "/usr/libexec/",
    "/usr/local/nagios/libexec/",
    "/etc/init.d/",
    "/etc/rc.d/",
    "/opt/",
];

/// Variables by which a program runs another, loads code or reads its settings from elsewhere: globs of their names.
const STEERING: &[&str] = &[
    "PATH",
    "HOME",
    "LD_*",
    "BASH_*",
    "ENV",
    "SHELLOPTS",
    "PS4",
    "IFS",
    "PROMPT_COMMAND",
    "*PAGER",
    "*EDITOR",
    "VISUAL",
    "BROWSER",
    "LESS*",
    "GIT_*",
    "PYTHON*",
    "PERL*",
    "RUBY*",
    "NODE_*",
    "JAVA_TOOL_OPTIONS",
    "*_COMMAND",
    "*_OPTS",
    "*_RSH",
    "SSH_ASKPASS",
    "SUDO_ASKPASS",
    "TAR_OPTIONS",
    "GREP_OPTIONS",
    "AWKPATH",
    "AWKLIBPATH",
    "KUBECTL_EXTERNAL_DIFF",
    "SYSTEMD_*",
    "PSQLRC",
    "PGSERVICEFILE",
    "CLAUDE*",
    "TF_CLI_*",
    "ANSIBLE_CONFIG",
    "ANSIBLE_LIBRARY",
    "ANSIBLE_*_PLUGINS",
    "HELM_PLUGINS",
    "MANPAGER",
    "MANOPT",
    "*PASSCOMMAND",
    "RIPGREP_CONFIG_PATH",
    "CONTAINERS_HELPER_BINARY_DIR",
    "CURL_HOME",
    "WGETRC",
    "OPENSSL_*",
    "SSLKEYLOGFILE",
    "XDG_CONFIG_HOME",
];

/// Values of such variables that run and load nothing.
const HARMLESS: &[&str] = &[
    "",
    "0",
    "1",
    "true",
    "false",
    "cat",
    "/bin/cat",
    "/usr/bin/cat",
    "never",
    "always",
    "FRX",
    "-FRX",
    "-R",
];

/// Whether a variable can make a program run or load something else.
pub fn steers(name: &str, value: &Word) -> bool {
    let folders = PROGRAM_FOLDERS.iter().map(|folder| folder.trim_end_matches('/'));
    let folders: Vec<&str> = folders.chain(["$PATH", "${PATH}"]).collect();
    match name {
        "PATH" => !value.text.split(':').all(|folder| folders.contains(&folder)),
        _ if STEERING.iter().any(|one| glob(one, name)) => {
            !value.known().is_some_and(|value| HARMLESS.contains(&value))
        }
        _ => false,
    }
}

/// Whether a variable names a configuration that may make a program run another. It only reads where the session cannot
/// write that file or folder.
pub fn configures(name: &str) -> bool {
    const CONFIGURING: [&str; 9] = [
        "AWS_CONFIG_FILE",
        "AWS_SHARED_CREDENTIALS_FILE",
        "CONTAINERS_CONF",
        "CONTAINERS_CONF_OVERRIDE",
        "CONTAINERS_STORAGE_CONF",
        "DOCKER_CONFIG",
        "GCONV_PATH",
        "KUBECONFIG",
        "ZDOTDIR",
    ];
    CONFIGURING.contains(&name)
}

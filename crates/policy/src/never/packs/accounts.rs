//! Who may log in, and with which rights.

use super::{DefaultRule, RULE};

/// The rules of this pack.
pub static RULES: &[DefaultRule] = &[DefaultRule {
    name: "accounts",
    reason: "Only an operator changes accounts, passwords and rights. State in the report which account should change, and why.",
    matches: &[
        "ssh root@ie01 passwd -l jan",
        "echo 'jan:x' | chpasswd",
        "useradd -m anna",
        "usermod -aG docker jan",
        "ssh root@ie01 'chage -E 0 jan'",
        "visudo",
        "gpasswd -d jan sudo",
    ],
    differs: &[
        "passwd -S jan",
        "chage -l jan",
        "visudo -c",
        "visudo -cf /etc/sudoers.d/ops",
        "getent passwd jan",
        "useradd --help",
        "cat /etc/passwd",
    ],
    ..RULE
}];

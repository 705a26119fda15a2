//! Processes, and the machine as a whole.

use super::{DefaultRule, RULE};
use crate::model::rules::Where;

/// The rules of this pack.
pub static RULES: &[DefaultRule] = &[
    DefaultRule {
        name: "kill-by-search",
        reason: "A search can match other processes than the intended one. Restart the service that owns the process, or name one process id that you have checked.",
        matches: &[
            "pkill -f jellyfin",
            "lsof -ti :8096 | xargs kill -9",
            "kill $(pgrep -f ffmpeg)",
            "fuser -k 8096/tcp",
        ],
        differs: &[
            "pgrep -f jellyfin",
            "kill 4711",
            "lsof -i :8096",
            "killall -l",
            "pkill -0 nginx",
            "kill -0 $(pgrep -o nginx)",
        ],
        ..RULE
    },
    DefaultRule {
        name: "power",
        reason: "All services of the host stop with it. Restart the one service that needs it, or request the reboot in the report.",
        matches: &[
            "ssh root@ie01 reboot",
            "ssh root@ie01 'sudo shutdown -r now'",
            "systemctl -H root@ie01 reboot",
            "systemctl isolate rescue.target",
            "ssh root@ie01 loginctl poweroff",
            "busctl call org.freedesktop.login1 /org/freedesktop/login1 org.freedesktop.login1.Manager Reboot b true",
            "dbus-send --system --dest=org.freedesktop.login1 /org/freedesktop/login1 org.freedesktop.login1.Manager.PowerOff boolean:true",
            "ipmitool -H bmc01 -U admin power cycle",
        ],
        differs: &[
            "systemctl restart nginx",
            "shutdown -c",
            "last reboot",
            "systemctl is-system-running",
            "systemctl isolate multi-user.target",
            "ipmitool chassis power status",
            "busctl tree org.freedesktop.login1",
            "shutdown --show",
        ],
        ..RULE
    },
    DefaultRule {
        name: "local-sudo",
        reason: "This session has the rights that it needs on this machine. On a host, `ssh HOST sudo …` is allowed.",
        scope: Where::Local,
        matches: &["sudo docker restart jellyfin", "sudo -i", "bash -c 'sudo ls'"],
        differs: &["ssh ie01 sudo docker restart jellyfin", "echo sudo", "sudo --version"],
    },
];

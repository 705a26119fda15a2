//! Disks, and the folders in which services keep their data.

use super::{DefaultRule, RULE};

/// The rules of this pack.
pub static RULES: &[DefaultRule] = &[
    DefaultRule {
        name: "remove-data",
        reason: "Services keep their data there. Remove only the file that causes the problem, or leave it to an operator.",
        matches: &[
            "rm -rf /",
            "ssh root@ie01 'rm -rf /srv/media'",
            "rm -r -- /var/lib/../lib/docker",
            "cd / && rm -rf *",
            "ssh root@ie01 'rm -f /srv/media/*'",
            "find /srv/media -type f -exec rm {} +",
            "ssh root@ie01 'ls -d /srv/* | xargs rm -rf'",
            "ssh root@ie01 mv /srv/media /srv/media.old",
        ],
        differs: &[
            "rm -rf /tmp/build",
            "rm -rf ./target",
            "rm /srv/media/.lock",
            "ls -R /srv",
            "find /srv/media -name '*.part' -exec rm {} +",
            "find /tmp/build -exec rm {} +",
            "mv /srv/media/film/a.mkv /srv/media/film/b.mkv",
            "echo a b | xargs rm -f",
        ],
        ..RULE
    },
    DefaultRule {
        name: "destroy-snapshot",
        reason: "A snapshot is needed to undo a repair that went wrong. Report the space in use and leave it to an operator.",
        matches: &[
            "zfs rollback -r tank/vm@before",
            "snapper -c root delete 12-40",
            "timeshift --delete-all",
            "sanoid --prune-snapshots",
        ],
        differs: &["zfs list -t snapshot", "zfs snapshot tank/vm@before", "snapper list", "timeshift --list"],
        ..RULE
    },
    DefaultRule {
        name: "destroy-disk",
        reason: "It destroys the data on a disk. No repair needs that; leave it to an operator.",
        matches: &[
            "mkfs.ext4 /dev/sdb1",
            "ssh root@nas 'dd if=/dev/zero of=/dev/sda bs=1M'",
            "wipefs -a /dev/sdb",
            "zfs destroy -r tank/vm",
        ],
        differs: &[
            "dd if=/dev/zero of=/tmp/swap bs=1M count=64",
            "wipefs /dev/sdb",
            "dd if=/dev/sda of=/tmp/head count=1",
            "zfs list",
            "zfs destroy -nv tank/vm@before",
            "lvremove --test vg0/old",
            "mkfs.ext4 -n /dev/sdb1",
        ],
        ..RULE
    },
];

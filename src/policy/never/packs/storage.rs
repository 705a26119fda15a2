//! Disks, and the folders in which services keep their data.

use super::{DefaultRule, RULE};

/// The rules of this pack.
pub static RULES: &[DefaultRule] = &[
    DefaultRule {
        name: "remove-data",
        reason: "That is where services keep their data. Name the one file that is in the way, or leave it to a person.",
        matches: &[
            "rm -rf /",
            "ssh root@ie01 'rm -rf /srv/media'",
            "rm -r -- /var/lib/../lib/docker",
            "cd / && rm -rf *",
        ],
        differs: &["rm -rf /tmp/build", "rm -rf ./target", "rm /srv/media/.lock", "ls -R /srv"],
        ..RULE
    },
    DefaultRule {
        name: "destroy-disk",
        reason: "It destroys what is on a disk. No service needs that to be repaired; leave it to a person.",
        matches: &[
            "mkfs.ext4 /dev/sdb1",
            "ssh root@nas 'dd if=/dev/zero of=/dev/sda bs=1M'",
            "wipefs -a /dev/sdb",
        ],
        differs: &[
            "dd if=/dev/zero of=/tmp/swap bs=1M count=64",
            "wipefs /dev/sdb",
            "dd if=/dev/sda of=/tmp/head count=1",
            "zfs list",
        ],
        ..RULE
    },
];

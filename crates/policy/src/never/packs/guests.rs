//! Virtual machines and system containers.

use super::{DefaultRule, RULE};

/// The rules of this pack.
pub static RULES: &[DefaultRule] = &[DefaultRule {
    name: "destroy-guest",
    reason: "A destroyed guest, disk or snapshot cannot be restored. Leave it to an operator.",
    matches: &[
        "ssh root@pve1 qm destroy 101 --purge",
        "pct delsnapshot 105 before",
        "pvesh delete /nodes/pve1/qemu/101",
        "virsh undefine web01 --remove-all-storage",
        "incus delete web --force",
        "lxc snapshot delete web before",
        "vagrant destroy -f",
    ],
    differs: &[
        "qm status 101",
        "qm stop 101",
        "pct listsnapshot 105",
        "pvesh delete /nodes/pve1/storage/local/content/local:iso/old.iso",
        // It switches a guest off.
        "virsh destroy web01",
        "incus delete --help",
        "vagrant halt",
    ],
    ..RULE
}];

//! Backups and their archives.

use super::rule::{DefaultRule, RULE};

/// The rules of this pack.
pub static RULES: &[DefaultRule] = &[DefaultRule {
    name: "prune-backups",
    reason: "Backups are needed when a repair goes wrong. Report the space in use and leave the removal of backups to an operator.",
    matches: &[
        "restic -r /srv/backup forget --keep-last 3 --prune",
        "borg delete ::daily-2026-01-01",
        "ssh root@nas 'rclone purge b2:backups'",
        "kopia snapshot delete k1234",
        "mc rm --recursive --force minio/backups",
    ],
    differs: &[
        "restic forget --keep-last 3 --dry-run",
        "borg prune --dry-run --list --keep-daily 7",
        "borg list",
        "rclone sync /srv/a b2:a",
        "rclone delete --dry-run b2:backups",
        "rclone ls b2:backups",
        "aws s3 sync /srv/a s3://a --dryrun --delete",
        "restic prune --help",
    ],
    ..RULE
}];

//! The rules of always-denied commands: their names, their reasons, and examples. Which words of which program they deny
//! stands with the program in the catalogue. `hosts.yaml` may switch a rule off by its name.

use crate::model::rules::Where;

/// A rule that comes with this program.
#[derive(Debug, Clone, Copy)]
pub struct DefaultRule {
    /// Its name, in denials and in `hosts.yaml`.
    pub name: &'static str,
    /// Why not, and what to do instead.
    pub reason: &'static str,
    /// Where it holds.
    pub place: Where,
    /// Commands that it denies.
    pub matches: &'static [&'static str],
    /// Commands near to these that it does not deny.
    pub differs: &'static [&'static str],
}

/// Holds everywhere; each row states the rest.
const RULE: DefaultRule = DefaultRule { name: "", reason: "", place: Where::Any, matches: &[], differs: &[] };

/// All of them, by family.
pub static DEFAULTS: &[DefaultRule] = &[
    DefaultRule {
        name: "prune",
        reason: "It removes whatever does not run at this moment, a stopped service's data included. Report the space in use (`docker system df`) and leave the cleaning to a person.",
        matches: &[
            "docker system prune -af --volumes",
            "ssh root@ie01 'docker --log-level debug volume prune -f'",
        ],
        differs: &["docker system df", "docker system prune --help", "echo docker system prune"],
        ..RULE
    },
    DefaultRule {
        name: "remove-volume",
        reason: "A volume is a service's data. Leave it in place and report what is wrong with it.",
        matches: &["docker volume rm jellyfin_config", "docker volume ls -q | xargs docker volume rm"],
        differs: &["docker volume ls", "docker volume inspect jellyfin_config"],
        ..RULE
    },
    DefaultRule {
        name: "compose-down-volumes",
        reason: "It removes the project's data with its containers. Run `down` without it.",
        matches: &[
            "docker compose -f /opt/media/compose.yaml down -v",
            "docker-compose down --remove-orphans --volumes",
        ],
        differs: &["docker compose down", "docker compose -v", "docker compose up -d --renew-anon-volumes"],
        ..RULE
    },
    DefaultRule {
        name: "merge",
        reason: "Changes are merged by a person. Leave the pull request open and say that it waits for review.",
        matches: &["gh pr merge 12 --squash", "gh api -X PUT repos/o/r/pulls/12/merge"],
        differs: &["gh pr create --title x --body y", "gh pr view 12", "gh api repos/o/r/pulls/12/merge"],
        ..RULE
    },
    DefaultRule {
        name: "push-to-main",
        reason: "The main branch is changed by pull requests alone. Push a branch of your own and open one.",
        matches: &[
            "git push origin main",
            "git -C /repos/homelab push -u origin HEAD:main",
            "git push origin --delete master",
        ],
        differs: &[
            "git push origin fix/dns",
            "git push origin main:fix/dns",
            "git push --dry-run origin main",
            "git pull origin main",
        ],
        ..RULE
    },
    DefaultRule {
        name: "push-without-branch",
        reason: "It does not say which branch is pushed, which may be the main one. Name it: `git push origin BRANCH`.",
        matches: &["git push", "git push -u origin HEAD", "git push origin \"$(git branch --show-current)\""],
        differs: &[
            "git push origin fix/dns",
            "git push --tags",
            "git push origin HEAD:fix/dns",
            "b=fix/dns; git push origin $b",
        ],
        ..RULE
    },
    DefaultRule {
        name: "force-push",
        reason: "It rewrites what others have. Push a new commit or a new branch instead.",
        matches: &[
            "git push --force origin fix/dns",
            "git push origin +fix/dns",
            "git push -uf origin fix/dns",
        ],
        differs: &["git push origin fix/dns", "git fetch --force"],
        ..RULE
    },
    DefaultRule {
        name: "destroy-rows",
        reason: "Data in databases is not removed to repair a service. Report what you found and leave it to a person.",
        matches: &[
            "psql -U shop -c 'DROP TABLE orders'",
            "docker exec db mysql -e 'truncate orders'",
            "sqlite3 app.db 'DELETE FROM jobs'",
            "echo 'drop database shop' | ssh root@db01 psql",
        ],
        differs: &[
            "psql -c 'SELECT * FROM orders'",
            "sqlite3 app.db 'DELETE FROM jobs WHERE id = 3'",
            "grep -r 'DROP TABLE' migrations",
            "psql -c \"SELECT 'drop table x'\"",
        ],
        ..RULE
    },
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
        name: "kill-by-search",
        reason: "A search for processes finds others than the one that is meant. Restart the service that owns it, or name one process id that you have looked at.",
        matches: &[
            "pkill -f jellyfin",
            "lsof -ti :8096 | xargs kill -9",
            "kill $(pgrep -f ffmpeg)",
            "fuser -k 8096/tcp",
        ],
        differs: &["pgrep -f jellyfin", "kill 4711", "lsof -i :8096", "killall -l"],
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
    DefaultRule {
        name: "power",
        reason: "A host takes all of its services down with it. Restart the one service that needs it, or ask for the reboot in the report.",
        matches: &[
            "ssh root@ie01 reboot",
            "ssh root@ie01 'sudo shutdown -r now'",
            "systemctl -H root@ie01 reboot",
        ],
        differs: &["systemctl restart nginx", "shutdown -c", "last reboot", "systemctl is-system-running"],
        ..RULE
    },
    DefaultRule {
        name: "local-sudo",
        reason: "This session has the rights that it needs on this machine. On a host, `ssh HOST sudo …` is fine.",
        place: Where::Local,
        matches: &["sudo docker restart jellyfin", "sudo -i", "bash -c 'sudo ls'"],
        differs: &["ssh ie01 sudo docker restart jellyfin", "echo sudo", "sudo --version"],
    },
    DefaultRule {
        name: "destroy-cluster-data",
        reason: "It takes data and everything that depends on it along. Leave it to a person.",
        matches: &["kubectl -n media delete pvc jellyfin-config", "terraform destroy -auto-approve"],
        differs: &["kubectl get pvc", "kubectl delete pod jellyfin-0", "terraform plan -destroy"],
        ..RULE
    },
];

//! Containers, images and volumes.

use super::{DefaultRule, RULE};

/// The rules of this pack.
pub static RULES: &[DefaultRule] = &[
    DefaultRule {
        name: "prune",
        reason: "It removes everything that is not running now, including the data of a stopped service. Report the space in use (`docker system df`) and leave the cleanup to an operator.",
        matches: &[
            "docker system prune -af --volumes",
            "ssh root@ie01 'docker --log-level debug volume prune -f'",
        ],
        differs: &["docker system df", "docker system prune --help", "echo docker system prune"],
        ..RULE
    },
    DefaultRule {
        name: "remove-volume",
        reason: "A volume contains the data of a service. Leave it in place and report what is wrong with it.",
        matches: &["docker volume rm jellyfin_config", "docker volume ls -q | xargs docker volume rm"],
        differs: &["docker volume ls", "docker volume inspect jellyfin_config"],
        ..RULE
    },
    DefaultRule {
        name: "compose-down-volumes",
        reason: "It removes the project's data with its containers. Run `down` without `-v`.",
        matches: &[
            "docker compose -f /opt/media/compose.yaml down -v",
            "docker-compose down --remove-orphans --volumes",
        ],
        differs: &["docker compose down", "docker compose -v", "docker compose up -d --renew-anon-volumes"],
        ..RULE
    },
    DefaultRule {
        name: "privileged-container",
        reason: "A container with the host's rights, its root folder or the engine's socket can do anything on the host. Start it without them, or leave it to an operator.",
        matches: &[
            "docker run --rm --privileged alpine sh",
            "docker run -v /:/host alpine chroot /host",
            "podman run --pid=host alpine ps",
            "docker run -v /var/run/docker.sock:/var/run/docker.sock watchtower",
            "docker exec --privileged web sh",
        ],
        differs: &[
            "docker run -v /srv/media:/media:ro alpine ls",
            "docker inspect --format '{{.HostConfig.Privileged}}' web",
            "docker exec web ls",
            "docker run --help",
        ],
        ..RULE
    },
];

//! The homelab of `tests/fixtures/homelab`: 8 hosts and 25 services of every kind.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::sandbox::{Run, Sandbox, call, denied, passes};

const HOSTS: &str = include_str!("../fixtures/homelab/hosts.yaml");

fn homelab() -> Sandbox {
    let sandbox = Sandbox::new().with("CLAUDEOPS_HOSTS", "hosts.yaml");
    sandbox.write("hosts.yaml", HOSTS);
    sandbox
}

/// The services that a command acts on, separated by blanks; an action without one is `?`.
fn services(sandbox: &Sandbox, command: &str) -> String {
    let run = sandbox.opsctl(&["explain", "--json", command], b"");
    let explained: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{command}: {run:?}"));
    let actions = explained["actions"].as_array().unwrap().iter();
    actions.map(|action| action["service"].as_str().unwrap_or("?")).collect::<Vec<_>>().join(" ")
}

/// Runs a command through the hooks before and after it.
fn runs(sandbox: &Sandbox, id: &str, command: &str) {
    passes(&sandbox.before(id, command));
    passes(&sandbox.after(id, command));
}

/// The services that the ledger has charged, with the number of their actions.
fn charged(sandbox: &Sandbox) -> String {
    let rows =
        sandbox.sql("SELECT service || ' ' || count(*) FROM hook_actions GROUP BY service ORDER BY service");
    rows.lines().collect::<Vec<_>>().join(", ")
}

#[test]
fn renders_without_workarounds() {
    let sandbox = homelab();
    let run: Run = sandbox.opsctl(&["render"], b"");
    assert_eq!(run.code, Some(0), "{run:?}");
    let policy: Value =
        serde_json::from_str(&std::fs::read_to_string(sandbox.path(".claude/opsctl/policy.json")).unwrap())
            .unwrap();
    let inventory = &policy["installation"]["inventory"];
    let count = |key: &str| inventory[key].as_array().unwrap().len();
    assert_eq!((count("hosts"), count("services")), (8, 25));
    let guests: Vec<&Value> =
        inventory["services"].as_array().unwrap().iter().map(|one| &one["guests"]).collect();
    assert!(guests.contains(&&json!(["qm/101"])), "{guests:?}");
    // The rendered policy has every name.
    std::fs::remove_file(sandbox.path("hosts.yaml")).unwrap();
    assert_eq!(services(&sandbox, "ssh root@pve qm reboot 101"), "home-assistant");
    assert_eq!(services(&sandbox, "kubectl -n shop rollout restart deploy/web"), "shop");
}

#[test]
fn every_kind_of_name_counts_for_its_services() {
    let sandbox = homelab();
    for (command, expected) in [
        // Compose.
        ("docker compose -p media restart", "jellyfin sonarr radarr"),
        ("cd /opt/Media && docker compose restart", "jellyfin sonarr radarr"),
        ("docker compose -f /opt/media/compose.yaml restart", "jellyfin sonarr radarr"),
        ("docker compose --project-directory /opt/media down", "jellyfin sonarr radarr"),
        ("COMPOSE_PROJECT_NAME=media docker compose up -d", "jellyfin sonarr radarr"),
        ("ssh root@media 'cd /srv/downloads; docker compose stop'", "qbittorrent gluetun"),
        ("docker compose -p media restart sonarr", "sonarr"),
        ("ssh root@nas docker restart paperless-webserver-1", "paperless"),
        // Swarm.
        ("docker service update --force media_jellyfin", "jellyfin"),
        ("docker service scale media_sonarr=2 media_radarr=1", "sonarr radarr"),
        ("docker stack deploy -c stack.yaml media", "jellyfin sonarr radarr"),
        ("docker stack rm downloads", "qbittorrent gluetun"),
        // Podman.
        ("ssh ops@lab podman restart gitea", "gitea"),
        ("ssh ops@lab systemctl --user restart container-vaultwarden.service", "vaultwarden"),
        // systemd.
        ("ssh root@gateway systemctl restart wg-quick@wg0", "wireguard"),
        ("ssh root@gateway systemctl restart wg-quick@wg0.service", "wireguard"),
        ("ssh root@gateway systemctl restart wg-quick@wg1", "wg-quick@wg1"),
        ("ssh root@nas systemctl restart smbd nmbd", "samba samba"),
        ("ssh root@nas systemctl stop backup.timer", "backup"),
        ("ssh root@nas systemctl start backup", "backup"),
        // Kubernetes.
        ("kubectl -n photos rollout restart deploy/immich", "immich"),
        ("kubectl rollout restart deployment immich -n photos", "immich"),
        ("kubectl delete pod immich-6d5f7b9c8-x2x7q -n photos", "immich"),
        ("kubectl --namespace=photos scale deploy immich --replicas=0", "immich"),
        ("kubectl delete rs immich-6d5f7b9c8 -n photos", "immich"),
        ("kubectl -n photos delete pods -l app=immich", "immich"),
        // No inventory states all pods.
        ("kubectl -n photos delete pods -l app=other", "?"),
        ("kubectl -n photos delete pods --all", "?"),
        ("kubectl delete pods -A --field-selector status.phase=Failed", "?"),
        ("kubectl -n photos delete pod db-0", "immich-db"),
        ("kubectl -n photos rollout restart sts db", "immich-db"),
        ("kubectl -n shop delete pod import-xk2wq", "shop"),
        ("kubectl -n shop delete job import", "shop"),
        ("kubectl -n monitoring delete pod node-exporter-x7k2p", "node-exporter"),
        ("kubectl -n monitoring rollout restart ds/node-exporter", "node-exporter"),
        ("kubectl -n blog rollout restart deploy/web", "blog"),
        ("kubectl -n shop rollout restart deploy/web", "shop"),
        ("kubectl -n shop delete pod web-6d5f7b9c8-x2x7q", "shop"),
        ("kubectl -n test rollout restart deploy/web", "web"),
        ("kubectl -n blog rollout restart sts/web", "web"),
        ("kubectl rollout restart deploy/web", "blog shop"),
        ("ssh root@k3s-1 k3s kubectl -n blog rollout restart deploy/web", "blog"),
        ("helm upgrade monitoring prometheus/stack -n monitoring", "prometheus grafana"),
        // Guests.
        ("ssh root@pve qm reboot 101", "home-assistant"),
        ("qm shutdown 102 --timeout 60", "build"),
        ("pct reboot 103", "mail"),
        ("pct restart 103", "mail"),
        ("ssh root@pve pct stop 103", "mail"),
        ("pvesh create /nodes/pve/qemu/101/status/reboot", "home-assistant"),
        ("pvesh create /nodes/pve/lxc/103/status/stop", "mail"),
        ("virsh reboot vm1", "vm1"),
        ("qm reboot 104", "104"),
        ("pct reboot 101", "101"),
        ("docker restart 101", "?"),
        ("incus restart mail", "mail"),
        // A unit in a guest.
        ("pct exec 103 -- systemctl restart dovecot", "mail"),
        ("pct exec 103 -- systemctl restart postfix", "mail"),
        ("pct exec 103 -- systemctl restart docker", "mail"),
        ("pct exec 103 -- systemctl restart nginx", "nginx mail"),
        ("ssh root@pve qm guest exec 101 -- systemctl restart mosquitto", "home-assistant"),
        ("pct exec 103 -- docker restart sonarr", "sonarr mail"),
        ("docker exec jellyfin systemctl restart web2", "jellyfin"),
        ("docker exec jellyfin systemctl restart nginx", "nginx jellyfin"),
        ("docker exec jellyfin nsenter -t 1 -m systemctl restart web2", "web2"),
        // Programs that are supervised inside a container.
        ("docker exec jellyfin supervisorctl restart web", "jellyfin"),
        ("docker exec -u root adguardhome s6-svc -r /run/service/web", "adguard"),
        ("docker exec jellyfin s6-rc -d change web", "jellyfin"),
        ("docker exec jellyfin pm2 restart sonarr", "jellyfin"),
        ("docker exec jellyfin sh -c 'sv restart /etc/service/web'", "jellyfin"),
        ("ssh root@nas docker compose exec webserver supervisorctl restart gunicorn", "paperless"),
        ("kubectl -n photos exec deploy/immich -- supervisorctl restart api", "immich"),
        ("kubectl -n photos exec immich-6d5f7b9c8-x2x7q -- supervisorctl restart api", "immich"),
        ("docker exec unknown supervisorctl restart web", "unknown"),
        ("docker exec jellyfin ssh root@gateway systemctl restart nginx", "nginx"),
        ("docker exec jellyfin supervisorctl status", ""),
        // A playbook of two services.
        ("ansible-playbook dns.yml", "adguard unbound"),
        ("ansible-playbook dns.yml --check", ""),
    ] {
        assert_eq!(services(&sandbox, command), expected, "{command}");
    }
}

#[test]
fn a_shared_name_charges_each_service_or_none() {
    for (command, own, all, exhausted) in [
        (
            "docker compose -p media restart",
            "docker restart sonarr",
            "jellyfin 1, radarr 1, sonarr 1",
            "sonarr",
        ),
        ("docker stack rm downloads", "docker restart gluetun", "gluetun 1, qbittorrent 1", "gluetun"),
        (
            "ansible-playbook dns.yml",
            "ansible-playbook dns.yml -e service=unbound",
            "adguard 1, unbound 1",
            "unbound",
        ),
        (
            "helm upgrade monitoring x",
            "ansible-playbook deploy-grafana.yml",
            "grafana 1, prometheus 1",
            "grafana",
        ),
    ] {
        let sandbox = homelab();
        runs(&sandbox, "t1", command);
        assert_eq!(charged(&sandbox), all, "{command}");

        let sandbox = homelab();
        runs(&sandbox, "t1", own);
        if !own.starts_with("ansible") {
            runs(&sandbox, "t2", own);
        }
        let before = charged(&sandbox);
        let reason = denied(&sandbox.before("t3", command));
        assert!(
            reason.starts_with(&format!("Cooldown limit exceeded for {exhausted}: ")),
            "{command}: {reason}"
        );
        assert_eq!(charged(&sandbox), before, "{command}: nothing is charged");
    }
}

#[test]
fn a_project_is_found_by_its_folder() {
    let sandbox = homelab();
    sandbox.write("stacks/media/compose.yaml", "services: {app: {}}\n");
    let folder = sandbox.path("stacks/media").display().to_string();
    for (n, command) in [
        format!("cd {folder} && docker compose restart"),
        format!("docker compose -f {folder}/compose.yaml restart"),
    ]
    .iter()
    .enumerate()
    {
        runs(&sandbox, &format!("t{n}"), command);
    }
    assert_eq!(charged(&sandbox), "jellyfin 2, radarr 2, sonarr 2");
    let mut in_folder = call("t3", "docker compose restart");
    in_folder["cwd"] = json!(folder);
    let reason = denied(&sandbox.hook("pre-tool-use", &in_folder));
    for service in ["jellyfin", "sonarr", "radarr"] {
        assert!(reason.contains(&format!("Cooldown limit exceeded for {service}: 2/2 restarts")), "{reason}");
    }
    let explained = sandbox.opsctl(&["explain", "--cwd", &folder, "docker compose restart"], b"").stdout;
    assert!(explained.contains("restart of radarr"), "{explained}");
}

#[test]
fn pods_of_a_workload_share_its_budget() {
    let sandbox = homelab();
    for (id, pod) in [("t1", "immich-6d5f7b9c8-x2x7q"), ("t2", "immich-6d5f7b9c8-b8k2w")] {
        runs(&sandbox, id, &format!("kubectl -n photos delete pod {pod}"));
    }
    for command in [
        "kubectl -n photos delete pod immich-6d5f7b9c8-zz4qv",
        "kubectl delete pod immich-6d5f7b9c8-zz4qv -n photos",
        "kubectl -n photos rollout restart deployment/immich",
    ] {
        let reason = denied(&sandbox.before("t3", command));
        assert!(
            reason.starts_with("Cooldown limit exceeded for immich: 2/2 restarts in last 4h."),
            "{reason}"
        );
    }
    // The workloads of the same name in two namespaces have a budget each.
    for (id, namespace) in [("t4", "blog"), ("t5", "shop"), ("t6", "blog"), ("t7", "shop")] {
        runs(&sandbox, id, &format!("kubectl -n {namespace} rollout restart deploy/web"));
    }
    let reason = denied(&sandbox.before("t8", "kubectl rollout restart deploy/web"));
    assert!(reason.contains("exceeded for blog: ") && reason.contains("exceeded for shop: "), "{reason}");
}

#[test]
fn guests_units_and_supervised_programs_have_the_budget_of_their_service() {
    for (service, commands, third) in [
        (
            "home-assistant",
            ["ssh root@pve qm reboot 101", "pvesh create /nodes/pve/qemu/101/status/reset"],
            "ssh root@pve qm guest exec 101 -- systemctl restart mosquitto",
        ),
        (
            "mail",
            ["pct reboot 103", "pct exec 103 -- systemctl restart dovecot"],
            "ssh root@pve pct stop 103",
        ),
        (
            "wireguard",
            [
                "ssh root@gateway systemctl restart wg-quick@wg0",
                "ssh root@gateway systemctl restart wg-quick@wg0.service",
            ],
            "systemctl -H root@gateway restart wg-quick@wg0",
        ),
        (
            "jellyfin",
            [
                "docker exec jellyfin supervisorctl restart web",
                "docker exec jellyfin s6-svc -r /run/service/web",
            ],
            "docker restart jellyfin",
        ),
    ] {
        let sandbox = homelab();
        for (id, command) in ["t1", "t2"].into_iter().zip(commands) {
            runs(&sandbox, id, command);
        }
        assert_eq!(charged(&sandbox), format!("{service} 2"));
        let reason = denied(&sandbox.before("t3", third));
        assert!(
            reason.starts_with(&format!("Cooldown limit exceeded for {service}: 2/2 restarts")),
            "{reason}"
        );
    }
}

#[test]
fn a_start_after_a_stop_is_not_counted_again() {
    for (stop, start) in [
        ("qm shutdown 101", "qm start 101"),
        ("pct stop 103", "pct start 103"),
        (
            "docker exec jellyfin s6-svc -d /run/service/web",
            "docker exec jellyfin s6-svc -u /run/service/web",
        ),
        ("docker exec jellyfin s6-rc -d change web", "docker exec jellyfin s6-rc -u change web"),
    ] {
        let sandbox = homelab();
        for id in ["1", "2"] {
            runs(&sandbox, &format!("stop{id}"), stop);
            runs(&sandbox, &format!("start{id}"), start);
        }
        assert!(denied(&sandbox.before("t5", stop)).contains("2/2 restarts"), "{stop}");
    }
}

#[test]
fn a_compose_service_is_that_of_its_project() {
    let sandbox = Sandbox::new().with("CLAUDEOPS_HOSTS", "hosts.yaml");
    let service =
        |name: &str| format!("  {name}-db: {{containers: [{name}-db-1, db], projects: [{name}]}}\n");
    sandbox.write("hosts.yaml", &format!("services:\n{}{}", service("gitea"), service("nextcloud")));
    for (command, expected) in [
        ("docker compose -p nextcloud restart db", "nextcloud-db"),
        ("cd /opt/stacks/nextcloud && docker compose restart db", "nextcloud-db"),
        ("docker compose -f /opt/gitea/compose.yaml restart db", "gitea-db"),
        ("ssh nas COMPOSE_PROJECT_NAME=nextcloud docker-compose stop db", "nextcloud-db"),
        ("docker restart nextcloud-db-1", "nextcloud-db"),
        // Which project is unknown: the first one.
        ("docker compose -p $P restart db", "gitea-db"),
        ("docker compose -p nextcloud restart", "nextcloud-db"),
    ] {
        assert_eq!(services(&sandbox, command), expected, "{command}");
    }
}

#[test]
fn every_way_to_stop_a_guest_a_container_or_a_unit_counts() {
    let sandbox = homelab();
    for (command, expected) in [
        ("qm reboot -timeout 31 101", "home-assistant"),
        ("qm stop --skiplock 1 101", "?"),
        ("qm stop --skiplock 101", "home-assistant"),
        ("qm guest cmd 101 shutdown", "home-assistant"),
        ("qm agent 101 shutdown", "home-assistant"),
        ("qm rollback 101 before", "home-assistant"),
        ("pvesh create /nodes/pve/qemu/101/agent/shutdown", "home-assistant"),
        ("pvesh create --timeout 30 /nodes/pve/qemu/101/status/reboot", "home-assistant"),
        ("pct rollback 103 before", "mail"),
        ("lxc-stop -n 103 -r", "mail"),
        ("machinectl reboot 103", "mail"),
        ("pct exec 103 -- supervisorctl restart web", "mail"),
        ("pct exec 103 -- docker restart x", "mail"),
        ("pct exec 103 -- systemctl restart smbd", "samba mail"),
        ("docker exec jellyfin kill 1", "jellyfin"),
        ("docker exec jellyfin supervisorctl shutdown", "jellyfin"),
        ("docker exec jellyfin supervisorctl signal HUP web", "jellyfin"),
        ("docker exec jellyfin pm2 kill", "jellyfin"),
        ("docker compose -p media pause jellyfin", "jellyfin"),
        ("docker compose -p media scale jellyfin=0", "jellyfin"),
        ("docker service update --replicas 0 media_jellyfin", "jellyfin"),
        ("ssh root@gateway systemctl restart 'wg-quick@*'", "wireguard"),
        ("systemctl stop 'nfs*'", "nfs"),
        ("ssh root@nas systemctl restart '[dn]*'", "samba nfs paperless"),
        ("ssh root@media systemctl stop 'podma?.service'", "jellyfin sonarr radarr qbittorrent gluetun"),
        ("systemctl --dry-run kill smbd", "samba"),
    ] {
        assert_eq!(services(&sandbox, command), expected, "{command}");
    }
}

#[test]
fn a_dry_run_that_runs_something_is_not_allowed_at_tier_1() {
    let sandbox = homelab();
    for command in [
        "systemctl --dry-run mask nginx",
        "helm upgrade monitoring c --dry-run --post-renderer docker --post-renderer-args restart",
        "ansible all -i x, -c local -e ansible_python_interpreter=/tmp/e -m ping",
        "ansible all -i /tmp/inv -m ping",
        "ansible-inventory -i /tmp/x.sh --list",
        "ansible all -m ping --ssh-common-args '-o ProxyCommand=\"touch /x\"'",
        "ansible-playbook /tmp/x.yml --check",
        "CONTAINERS_CONF=/tmp/x podman ps",
        "virsh memtune --domain web 500",
        "virsh vcpupin --domain web 0 1",
        "nginx -t -g 'error_log /app/x;'",
    ] {
        let run = sandbox.opsctl(&["explain", "--tier", "1", "--exit-code", command], b"");
        assert_eq!(run.code, Some(2), "{command}: {}", run.stdout);
    }
    for command in [
        "systemctl restart --dry-run nginx",
        "helm upgrade monitoring c --dry-run",
        "ansible all -i inventory.yml -m ping",
        "ansible-playbook site.yml --check",
        "virsh memtune --domain web",
        "nginx -t",
        "opsctl handoff write <<< {}",
        "opsctl sessions status 'looking at the log'",
    ] {
        let run = sandbox.opsctl(&["explain", "--tier", "1", "--exit-code", command], b"");
        assert_eq!(run.code, Some(0), "{command}: {}", run.stdout);
    }
}

/// `tests/fixtures/homelab.yaml`: 8 hosts that are asked in their own ways, and 29 services.
fn asked_homelab() -> Sandbox {
    let sandbox = Sandbox::new().with("CLAUDEOPS_HOSTS", "hosts.yaml");
    sandbox.write("hosts.yaml", include_str!("../fixtures/homelab.yaml"));
    sandbox
}

#[test]
fn a_homelab_that_states_how_its_hosts_are_asked_renders() {
    let sandbox = asked_homelab();
    let run = sandbox.opsctl(&["render"], b"");
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!(sandbox.opsctl(&["render", "--check"], b"").code, Some(0));
    let policy: Value = serde_json::from_str(&sandbox.read(".claude/opsctl/policy.json")).unwrap();
    let inventory = &policy["installation"]["inventory"];
    let count = |key: &str| inventory[key].as_array().unwrap().len();
    assert_eq!((count("hosts"), count("services")), (8, 29));
    let verifier = sandbox.read(".claude/hooks/verify-remediation.md");
    for line in [
        "ssh admin@nas.lan sudo -n /usr/local/bin/docker ps --filter name=^jellyfin$ --filter name=^jellyfin-app$",
        "ssh ops@k3s.lan sudo -n k3s kubectl get deployment --namespace=cloud",
        "ssh deploy@vps.example.net systemctl --user is-active caddy",
    ] {
        assert!(verifier.contains(line), "{line}\n{verifier}");
    }
    let prompt = sandbox.read(".claude/prompts/tier2-remediate.md");
    assert!(
        prompt.contains("All services of host pve together have a budget, too: restarts, 4 in 4h."),
        "{prompt}"
    );
}

#[test]
fn commands_of_its_operator_get_the_verdicts_and_targets_of_their_rows() {
    let sandbox = asked_homelab();
    let rows: BTreeMap<String, Vec<(u8, String, String, String)>> =
        serde_saphyr::from_str(include_str!("homelab.yaml")).unwrap();
    let mut wrong = Vec::new();
    for (tier, verdict, targets, command) in rows.into_values().flatten() {
        let run = sandbox.opsctl(&["explain", "--json", "--tier", &tier.to_string(), "--", &command], b"");
        let explained: Value = serde_json::from_str(&run.stdout).unwrap();
        let target = |action: &Value| {
            let name = |key: &str| action[key].as_str().unwrap_or("?").to_owned();
            format!("{} on {}", name("service"), name("host"))
        };
        let found: Vec<String> = explained["actions"].as_array().unwrap().iter().map(target).collect();
        let found = (explained["decision"].as_str().unwrap_or_default(), found.join(", "));
        if found != (verdict.as_str(), targets) {
            wrong.push(format!("{tier} {command}: {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A restart on another host is charged, verified and reported under a name of its own.
#[test]
fn a_restart_on_another_host_concerns_no_service_of_others() {
    let sandbox = asked_homelab();
    for (id, command) in [("t1", "docker restart jellyfin"), ("t2", "docker restart jellyfin")] {
        runs(&sandbox, id, &format!("ssh pi@pi.lan {command}"));
    }
    assert_eq!(charged(&sandbox), "jellyfin@pi 2");
    assert_eq!(sandbox.sql("SELECT DISTINCT service FROM events"), "jellyfin@pi");
    let reason = denied(&sandbox.before("t3", "ssh pi@pi.lan docker restart jellyfin"));
    assert!(
        reason.starts_with("Cooldown limit exceeded for jellyfin@pi: 2/2 restarts in last 4h."),
        "{reason}"
    );
    assert!(reason.contains("hosts.yaml lists `jellyfin` for nas, not for pi"), "{reason}");
    passes(&sandbox.before("t4", "ssh admin@nas.lan sudo docker restart jellyfin"));
    let report = sandbox.opsctl(&["report", "--no-hosts", "--html", "-"], b"");
    assert!(report.stdout.contains("jellyfin@pi"), "{report:?}");
}

#[test]
fn a_project_that_a_host_lists_has_its_services() {
    let sandbox = asked_homelab();
    for (command, expected) in [
        ("ssh admin@nas.lan docker compose -p arr restart", "qbittorrent gluetun sonarr radarr prowlarr"),
        ("ssh admin@nas.lan docker compose -p arr restart sonarr", "sonarr"),
        ("ssh admin@nas.lan sudo docker restart prowlarr", "prowlarr"),
        ("ssh deploy@vps.example.net systemctl --user restart caddy", "caddy"),
        ("ssh ops@k3s.lan sudo k3s kubectl -n cloud rollout restart deploy/nextcloud", "nextcloud"),
    ] {
        assert_eq!(services(&sandbox, command), expected, "{command}");
    }
}

#[test]
fn a_host_has_a_budget_beside_those_of_its_services() {
    let sandbox = asked_homelab();
    for (id, guest) in [("t1", "100"), ("t2", "100"), ("t3", "102"), ("t4", "102")] {
        runs(&sandbox, id, &format!("ssh root@pve.lan qm reboot {guest}"));
    }
    let reason = denied(&sandbox.before("t5", "ssh root@pve.lan pct reboot 110"));
    assert!(
        reason.starts_with(
            "Cooldown limit exceeded for the services of host pve together: 4/4 restarts in last 4h. Next allowed at "
        ),
        "{reason}"
    );
    let notices = sandbox.sql("SELECT title FROM notices WHERE key LIKE 'budget/%'");
    assert_eq!(notices, "host pve: no restart left");
    passes(&sandbox.before("t6", "ssh pi@pi.lan systemctl restart unbound"));
    // A command that alone exceeds it, and a start that closes a cycle.
    let project = "ssh admin@nas.lan docker compose -p arr restart";
    runs(&sandbox, "t7", project);
    let reason = denied(&sandbox.before("t8", project));
    assert!(
        reason.contains("of host nas together: 5/8 restarts in last 4h, and this command contains 5 more."),
        "{reason}"
    );
    runs(&sandbox, "t9", "ssh admin@nas.lan docker stop jellyfin");
    runs(&sandbox, "t10", "ssh admin@nas.lan docker start jellyfin");
    let decisions =
        sandbox.sql("SELECT budgets FROM hook_decisions WHERE actions LIKE '%docker stop jellyfin%'");
    assert_eq!(decisions, "jellyfin: 0/2 restarts (4h)", "only its own budget is recorded");
}

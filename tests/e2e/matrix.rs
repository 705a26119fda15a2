//! Tiers × commands and tools × wrappers: every cell is checked against the commands that ran.
//!
//! One session of the real client for each tier, with the arguments of `opsctl tier N --args` and the rendered
//! hooks. Every row acts on a separate service, so that no budget is used up, and the name identifies what ran.

use crate::guard::guarded;
use crate::support::{Finished, Step, bash, text, tool};
use serde_json::json;

/// Whether something runs at tiers 1, 2 and 3.
type Tiers = [bool; 3];

const AT_ALL: Tiers = [true, true, true];
const FROM_TWO: Tiers = [false, true, true];
const AT_THREE: Tiers = [false, false, true];
const AT_NONE: Tiers = [false, false, false];

/// A command in which `SVC` is the service of the row.
struct Row(&'static str, Tiers);

const ROWS: &[Row] = &[
    // What only looks.
    Row("docker ps --filter name=SVC", AT_ALL),
    Row("ssh root@ie01 'docker logs SVC'", AT_ALL),
    Row("bash -c 'systemctl status SVC'", AT_ALL),
    Row("echo SVC | xargs docker inspect", AT_ALL),
    Row("docker ps --filter 'name=SVC' # docker restart SVC", AT_ALL),
    // A restart, through everything that hides it.
    Row("docker restart SVC", FROM_TWO),
    Row("docker --context far restart SVC", FROM_TWO),
    Row("docker container restart SVC", FROM_TWO),
    Row("cd /tmp && docker  restart SVC", FROM_TWO),
    Row("ssh root@ie01 docker restart SVC", FROM_TWO),
    Row("ssh root@ie01 'sudo docker restart SVC'", FROM_TWO),
    Row("ssh -o BatchMode=yes ie01 \"bash -c 'docker restart SVC'\"", FROM_TWO),
    Row("bash -c 'docker restart SVC'", FROM_TWO),
    Row("sh -c \"eval 'docker restart SVC'\"", FROM_TWO),
    Row("env A=b timeout 20 docker restart SVC", FROM_TWO),
    Row("echo SVC | xargs -n1 docker restart", FROM_TWO),
    Row("for s in SVC; do docker restart $s; done", FROM_TWO),
    Row("bash <<'E'\ndocker restart SVC\nE", FROM_TWO),
    Row("python3 -c \"import os; os.system('docker restart SVC')\"", FROM_TWO),
    Row("nice -n 5 nohup docker restart SVC", FROM_TWO),
    Row("f() { docker restart SVC; }; f", FROM_TWO),
    Row("systemctl restart SVC", FROM_TWO),
    Row("docker compose -p SVC up -d", FROM_TWO),
    Row("kubectl rollout restart deployment/SVC", FROM_TWO),
    // What else tier 2 may.
    Row("gh pr create --title SVC --body x", FROM_TWO),
    Row("bash -c 'gh pr create --title SVC --body x'", FROM_TWO),
    Row("apprise -b SVC json://127.0.0.1", FROM_TWO),
    // What only tier 3 may.
    Row("ansible-playbook redeploy-SVC.yml", AT_THREE),
    Row("bash -c 'ansible-playbook redeploy-SVC.yml'", AT_THREE),
    Row("ssh root@ie01 'cd /opt && ansible-playbook redeploy-SVC.yml'", AT_THREE),
    Row("helm upgrade SVC ./chart", AT_THREE),
    // Always denied.
    Row("docker system prune -f --filter label=SVC", AT_NONE),
    Row("ssh root@ie01 'docker volume rm SVC'", AT_NONE),
    Row("bash -c 'docker compose -p SVC down -v'", AT_NONE),
    Row("echo SVC | xargs docker volume rm", AT_NONE),
    Row("gh pr merge SVC", AT_NONE),
    Row("sudo docker restart SVC", AT_NONE),
    Row("ssh root@ie01 'rm -rf /srv/SVC'", AT_NONE),
    Row("ssh root@ie01 'reboot # SVC'", AT_NONE),
    Row("docker restart $(docker ps -q) SVC", AT_NONE),
    // Once for each file that is found: it cannot be counted.
    Row("find /dev/null -exec docker restart SVC \\;", AT_NONE),
    Row("docker exec SVC psql -c 'DROP TABLE x'", AT_NONE),
];

fn service(row: usize) -> String {
    format!("svc{row:02}x")
}

/// The tools of the client that act without a command, after the rows.
fn tools(session: crate::support::Session) -> crate::support::Session {
    let brief = json!({"description": "a job", "prompt": "the job of subagent-x", "subagent_type": "general-purpose"});
    let file = session.workspace().path("project/written-x.txt");
    let monitor = json!({"command": "docker restart monitored-x", "description": "x", "timeout_ms": 3000, "persistent": false});
    session
        .step(tool("Write", &json!({"file_path": file, "content": "x"})))
        .step(tool("Monitor", &monitor))
        .step(tool("Task", &brief))
        .subagent("the job of subagent-x", [bash("ssh root@ie01 docker restart subagent-x"), text("tried")])
        .step(bash("sleep 1"))
}

fn session(tier: u8) -> Finished {
    let steps = ROWS.iter().enumerate().map(|(at, row)| bash(&row.0.replace("SVC", &service(at))));
    let session = steps.fold(guarded().run_at_tier(tier), |session, step: Step| session.step(step));
    tools(session).timeout(std::time::Duration::from_mins(3)).run()
}

fn ran(finished: &Finished, name: &str) -> bool {
    finished.all_marks().iter().any(|mark| mark.arguments.iter().any(|argument| argument.contains(name)))
}

/// Asserts every cell of a tier, and returns how many there were.
#[track_caller]
fn assert_column(tier: u8) -> usize {
    let finished = session(tier);
    let mut wrong = Vec::new();
    let at = usize::from(tier) - 1;
    for (number, Row(command, tiers)) in ROWS.iter().enumerate() {
        if ran(&finished, &service(number)) != tiers[at] {
            wrong.push(format!("tier {tier}: {command}: expected to run: {}", tiers[at]));
        }
    }
    let others = [
        ("Write", finished.path("project/written-x.txt").exists(), FROM_TWO),
        ("Monitor", ran(&finished, "monitored-x"), AT_NONE),
        ("Task", ran(&finished, "subagent-x"), FROM_TWO),
    ];
    for (name, ran, tiers) in others {
        if ran != tiers[at] {
            wrong.push(format!("tier {tier}: {name}: expected to run: {}", tiers[at]));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // What ran and counts was counted, and nothing else.
    let counted = finished.rows("SELECT service FROM cooldown_actions");
    assert_eq!(counted.len(), [0, 20, 24][at], "tier {tier}: {counted:?}");
    ROWS.len() + others.len()
}

#[test]
fn tier_1_only_observes() {
    assert!(assert_column(1) * 3 >= 60);
}

#[test]
fn tier_2_may_restart_propose_and_notify() {
    assert_column(2);
}

#[test]
fn tier_3_may_also_redeploy() {
    assert_column(3);
}

#[test]
fn the_limits_of_a_tier_apply_to_monitor_and_other_command_tools() {
    let monitor = json!({"command": "docker restart jellyfin", "description": "x", "timeout_ms": 2000, "persistent": false});
    let finished = guarded()
        .tools("Bash,Read,Monitor")
        .tier(1)
        .step(tool("Monitor", &monitor))
        .step(bash("docker ps"))
        .run();
    finished.tool_result(0).assert_refused("Tier 1 may not carry out a restart");
    assert_eq!(finished.marks("docker"), ["ps"]);
}

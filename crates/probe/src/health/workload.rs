//! Checks that a Kubernetes workload is rolled out and ready.

use std::time::Duration;

use super::finding::{Finding, Looked, State};
use super::programs::{Rights, Way, ask, no_state};
use opsctl_reader::terms::workload::{Workload, WorkloadKind};

/// What kubectl prints of each workload, in the order in which [`read`] takes the values.
const COLUMNS: &str = "custom-columns=KIND:.kind,\
    GENERATION:.metadata.generation,OBSERVED:.status.observedGeneration,\
    REPLICAS:.spec.replicas,UPDATED:.status.updatedReplicas,READY:.status.readyReplicas,\
    NODES:.status.desiredNumberScheduled,NODES_UPDATED:.status.updatedNumberScheduled,NODES_READY:.status.numberReady,\
    STRATEGY:.spec.updateStrategy.type,PARTITION:.spec.updateStrategy.rollingUpdate.partition,\
    COMPLETE:.status.conditions[?(@.type==\"Complete\")].status,FAILED:.status.conditions[?(@.type==\"Failed\")].status,\
    PODS_READY:.status.ready,SUSPENDED:.spec.suspend";

/// The command that lists a workload on a host: all kinds and namespaces, unless it states them.
pub fn workload_selection(workload: &Workload, way: &Way) -> Vec<String> {
    let kinds = match workload.kind {
        Some(kind) => kind.as_str().to_owned(),
        None => WorkloadKind::ALL.map(WorkloadKind::as_str).join(","),
    };
    let namespace = match &workload.namespace {
        Some(namespace) => format!("--namespace={namespace}"),
        None => "--all-namespaces".to_owned(),
    };
    let name = format!("metadata.name={}", workload.name);
    let words = ["get", &kinds, &namespace, "--field-selector", &name].map(str::to_owned);
    way.kubectl().into_iter().chain(words).collect()
}

/// Asks kubectl for the workload.
pub async fn look(workload: &Workload, way: &Way, limit: Duration) -> Looked {
    let mut words = workload_selection(workload, way);
    words.extend(["--request-timeout=10s", "--no-headers", "--output", COLUMNS].map(str::to_owned));
    let said = ask(&words, Rights::Root, way, limit).await?;
    if !said.success {
        return Err(no_state(&said, "kubectl", way));
    }
    // Of several workloads of this name, one that is not ready decides.
    said.worst(read).ok_or_else(|| Finding::new(State::Missing, "there is no such workload"))
}

/// Parses the values of [`COLUMNS`]; one that is not set is `<none>`.
fn read(line: &str) -> Finding {
    let mut words = line.split_whitespace();
    let mut next = || words.next().filter(|word| *word != "<none>");
    let kind = next().unwrap_or_default();
    let mut count = || next().and_then(|word| word.parse::<u32>().ok());
    let (generation, observed) = (count(), count());
    let replicas = Progress { wanted: count().unwrap_or(1), updated: count(), ready: count() };
    let nodes = Progress { wanted: count().unwrap_or(0), updated: count(), ready: count() };
    let by_hand = next() == Some("OnDelete");
    let partition = next().and_then(|word| word.parse().ok()).unwrap_or(0);
    let (complete, failed, pods_ready, suspended) = (next(), next(), next(), next());
    let starting = |detail: String| Finding::new(State::Starting, detail);
    match kind {
        "CronJob" if suspended == Some("true") => Finding::new(State::NotRunning, "it is suspended"),
        "CronJob" => Finding::new(State::Healthy, "it is scheduled"),
        "Job" if complete == Some("True") => Finding::new(State::Healthy, "it is complete"),
        "Job" if failed == Some("True") => Finding::new(State::NotRunning, "it has failed"),
        "Job" if suspended == Some("true") => Finding::new(State::NotRunning, "it is suspended"),
        "Job" if pods_ready.is_some_and(|ready| ready != "0") => {
            Finding::new(State::Healthy, "it is running")
        }
        "Job" => starting("none of its pods is ready".to_owned()),
        _ if observed < generation => starting("its rollout has not begun".to_owned()),
        "DaemonSet" => nodes.finding("nodes", by_hand, 0),
        _ if replicas.wanted == 0 => Finding::new(State::NotRunning, "it is scaled to 0 replicas"),
        _ => replicas.finding("replicas", by_hand, partition),
    }
}

/// How far a rollout is.
struct Progress {
    wanted: u32,
    updated: Option<u32>,
    ready: Option<u32>,
}

impl Progress {
    /// The finding. `by_hand`: pods are updated when they are deleted; `partition`: the number of pods that need no update.
    fn finding(self, what: &str, by_hand: bool, partition: u32) -> Finding {
        let Self { wanted, updated, ready } = self;
        let (updated, ready) = (updated.unwrap_or(0), ready.unwrap_or(0));
        if !by_hand && updated < wanted.saturating_sub(partition) {
            let detail = format!("{updated} of {wanted} {what} are updated");
            return Finding::new(State::Starting, detail);
        }
        let state = if ready < wanted { State::Starting } else { State::Healthy };
        Finding::new(state, format!("{ready} of {wanted} {what} are ready"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_what_kubectl_prints_of_each_kind() {
        let cases: Vec<(String, String, String)> =
            serde_saphyr::from_str(include_str!("workload.yaml")).unwrap();
        for (line, state, detail) in cases {
            // `-5` stands for five columns that are not set.
            let words = line.split(' ').map(|word| {
                match word.strip_prefix('-').and_then(|count| count.parse().ok()) {
                    Some(count) => vec!["<none>"; count].join(" "),
                    None => word.to_owned(),
                }
            });
            let state = State::named(&state).unwrap();
            assert_eq!(read(&words.collect::<Vec<_>>().join(" ")), Finding::new(state, detail), "{line}");
        }
    }
}

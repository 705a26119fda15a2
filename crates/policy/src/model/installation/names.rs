//! Names that contain the name of a service: of pods, of the containers of compose and swarm, of units.

use crate::lists::{GENERATORS, MANAGER_PREFIXES, UNIT_TYPES};

/// The letters of the suffixes that Kubernetes generates: no vowels, and nothing that looks like one.
const SUFFIX: &str = "bcdfghjklmnpqrstvwxz2456789";

/// The length of the random suffix of a pod.
const POD_SUFFIX: usize = 5;

/// The length of the ID of a swarm task or node.
const SWARM_ID: usize = 25;

/// From this length on, hexadecimal digits are a container ID; engines print this number of them.
const SHORT_ID: usize = 12;

/// The length of a full container ID.
const FULL_ID: usize = 64;

/// A name that is contained in another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NamePart<'a> {
    /// The contained name.
    pub name: &'a str,
    /// True if the form of the whole name leaves no doubt; otherwise, it is one only if `hosts.yaml` lists it.
    pub certain: bool,
}

const fn certain(name: &str) -> NamePart<'_> {
    NamePart { name, certain: true }
}

const fn possible(name: &str) -> NamePart<'_> {
    NamePart { name, certain: false }
}

/// The workloads that a pod, a replica set or a job may belong to, most likely first.
pub fn of_pod(pod: &str) -> Vec<NamePart<'_>> {
    let Some((front, suffix)) = split_last(pod, '-') else { return vec![] };
    let mut parts = Vec::new();
    if is_generated(suffix) {
        parts.push(certain(front));
    } else if is_suffix(suffix) {
        if let Some((name, middle)) = split_last(front, '-') {
            let is_number = middle.chars().all(|c| c.is_ascii_digit());
            let has_digit = middle.contains(|c: char| c.is_ascii_digit());
            let plain = middle.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
            if is_generated(middle) {
                parts.push(certain(name));
            } else if is_number || plain && has_digit && (5..=10).contains(&middle.len()) {
                // The index of a job, or a shorter hash.
                parts.push(possible(name));
            }
        }
        // A daemon set, a job, or a replica set without a deployment.
        let has_digit = suffix.contains(|c: char| c.is_ascii_digit());
        parts.push(if has_digit { certain(front) } else { possible(front) });
    } else if suffix.chars().all(|c| c.is_ascii_digit()) {
        parts.push(possible(front));
    }
    parts
}

/// The compose or swarm services that a container may belong to, most likely first.
pub fn of_container(container: &str) -> Vec<NamePart<'_>> {
    // `STACK_SERVICE.1.TASK`.
    if let Some((front, task)) = split_last(container, '.')
        && let Some((service, replica)) = split_last(front, '.')
    {
        let is_replica = replica.chars().all(|c| c.is_ascii_digit()) || is_swarm_id(replica);
        if is_replica && task.chars().all(|c| c.is_ascii_alphanumeric()) {
            let whole = if is_swarm_id(task) { certain(service) } else { possible(service) };
            return std::iter::once(whole).chain(of_swarm_service(service)).collect();
        }
    }
    // `k8s_CONTAINER_POD_NAMESPACE_UID_ATTEMPT`.
    if let Some(rest) = container.strip_prefix("k8s_") {
        let mut words = rest.split('_');
        let (container, pod) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        return std::iter::once(possible(container)).chain(of_pod(pod)).collect();
    }
    // `PROJECT-SERVICE-1`, `PROJECT_SERVICE_1`.
    for separator in ['-', '_'] {
        if let Some((front, number)) = split_last(container, separator)
            && number.chars().all(|c| c.is_ascii_digit())
        {
            return tails(front, separator).collect();
        }
    }
    vec![]
}

/// The services that a swarm service `STACK_SERVICE` may be, most likely first.
pub fn of_swarm_service(service: &str) -> impl Iterator<Item = NamePart<'_>> {
    tails(service, '_')
}

/// The names that a unit may stand for, most likely first: that of a container for which a program has generated it, of
/// a compose project, of the service that a socket or a timer starts.
pub fn of_unit(unit: &str) -> Vec<NamePart<'_>> {
    let plain = without_type(unit);
    let mut parts = Vec::new();
    if plain != unit {
        parts.push(possible(plain));
    }
    let of_generator = |name: &str| {
        GENERATORS
            .iter()
            .any(|program| name.split(['-', '.']).any(|word| word == *program) || name == *program)
    };
    if let Some((base, instance)) = plain.split_once('@') {
        if of_generator(base) {
            parts.push(possible(instance));
        }
        parts.push(possible(base));
    }
    let generated =
        GENERATORS.iter().filter_map(|program| plain.strip_prefix(program)?.strip_prefix(['-', '.']));
    parts.extend(generated.map(possible));
    parts.retain(|part| !part.name.is_empty());
    parts
}

/// The name without what a manager of services puts before it.
pub fn without_manager(name: &str) -> &str {
    let plain = without_type(name);
    MANAGER_PREFIXES.iter().find_map(|prefix| plain.strip_prefix(prefix)).unwrap_or(plain)
}

/// The container ID in the name of a scope: `docker-ID.scope`.
pub fn id_of_scope(unit: &str) -> Option<&str> {
    let (_, id) = unit.strip_suffix(".scope")?.rsplit_once('-')?;
    (is_hex(id) && id.len() >= SHORT_ID).then_some(id)
}

/// Whether a word may be a container ID, or the beginning of one, as every engine accepts it.
pub fn may_be_id(word: &str) -> bool {
    is_hex(word) && (1..=FULL_ID).contains(&word.len())
}

/// Whether a word that is no known name counts as a container ID where the engine cannot be asked: it has the length of
/// one, begins with a digit, or has a digit and at least four characters. `cafe`, `db` and `db1` are names.
pub fn is_likely_id(word: &str) -> bool {
    let digit = word.find(|c: char| c.is_ascii_digit());
    let has_form = word.len() >= SHORT_ID || digit == Some(0) || (digit.is_some() && word.len() >= 4);
    may_be_id(word) && has_form
}

/// Whether a container ID is shorter than those that engines print.
pub fn is_short_id(word: &str) -> bool {
    word.len() < SHORT_ID
}

/// Whether a word is the ID of a swarm service, task or node.
pub fn is_swarm_id(word: &str) -> bool {
    word.len() == SWARM_ID
        && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
        && word.contains(|c: char| c.is_ascii_digit())
}

fn is_hex(word: &str) -> bool {
    word.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Whether a word is the hash of a replica set, or the time of a cron job in minutes.
fn is_generated(word: &str) -> bool {
    let has_digit = word.contains(|c: char| c.is_ascii_digit());
    let is_hash = word.chars().all(|c| SUFFIX.contains(c)) && has_digit;
    (8..=10).contains(&word.len()) && (is_hash || word.chars().all(|c| c.is_ascii_digit()))
}

fn is_suffix(word: &str) -> bool {
    word.len() == POD_SUFFIX && word.chars().all(|c| SUFFIX.contains(c))
}

/// The two parts around the last separator, if neither is empty.
fn split_last(name: &str, separator: char) -> Option<(&str, &str)> {
    name.rsplit_once(separator).filter(|(front, last)| !front.is_empty() && !last.is_empty())
}

/// Whether two names are of the same compose project. Compose makes lowercase names of folders, of letters, digits, `-` and `_`.
pub fn is_same_project(one: &str, other: &str) -> bool {
    let normal = |name: &str| {
        let plain = name.chars().filter(|c| c.is_alphanumeric() || "-_".contains(*c));
        plain.map(|c| c.to_ascii_lowercase()).collect::<String>()
    };
    one == other || normal(one) == normal(other)
}

/// The name of a unit without its type, such as `.timer`.
pub fn without_type(unit: &str) -> &str {
    UNIT_TYPES.iter().find_map(|suffix| unit.strip_suffix(suffix)).unwrap_or(unit)
}

/// What follows each separator, longest first.
fn tails(name: &str, separator: char) -> impl Iterator<Item = NamePart<'_>> {
    let at = name.match_indices(separator).filter(|(at, _)| *at > 0);
    at.filter_map(move |(at, found)| name.get(at + found.len()..))
        .filter(|tail| !tail.is_empty())
        .map(possible)
}

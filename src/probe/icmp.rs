//! ICMP echo to many hosts at once, over one socket per address family, within one deadline.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::net::IpAddr;
use std::time::Duration;

use surge_ping::{Client, Config, ICMP, PingIdentifier, PingSequence, SurgeError};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

/// Probes per host: a single lost packet must not make a host look dead.
const PROBES: u16 = 2;

/// Hosts that are asked in the same millisecond: a burst of a thousand would overrun the socket's buffer.
const HOSTS_PER_MILLISECOND: usize = 25;

/// What to do where nothing can be said of hosts.
pub const NOT_PERMITTED: &str = "hosts are unknown where ICMP is not permitted; set the sysctl net.ipv4.ping_group_range=\"0 2147483647\"";

const PAYLOAD: [u8; 16] = *b"opsctl-host-echo";

/// What is known of a host after a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reachability {
    /// It answered, after this long.
    Reachable(Duration),
    /// It did not answer within the deadline.
    Unreachable,
    /// Its name has no address, or none was found within the deadline.
    Unresolved,
    /// This process may not send ICMP: nothing can be said of the host.
    Unknown,
}

impl Reachability {
    /// The word that people and JSON use.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Reachable(_) => "reachable",
            Self::Unreachable => "unreachable",
            Self::Unresolved => "unresolved",
            Self::Unknown => "unknown",
        }
    }
}

/// Asks all addresses (IPv4, IPv6 or names) at once and answers in their order, at the deadline at the
/// latest. An error means that no runtime could be had; every host is then unknown.
pub fn ping_all(addresses: &[&str], deadline: Duration) -> io::Result<Vec<Reachability>> {
    if addresses.is_empty() {
        return Ok(vec![]);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let found = runtime.block_on(ping_within(addresses, Instant::now() + deadline));
    // A resolver that hangs does so in a thread of its own, which nobody waits for.
    runtime.shutdown_background();
    Ok(found)
}

async fn ping_within(addresses: &[&str], deadline: Instant) -> Vec<Reachability> {
    let mut found = vec![Reachability::Unresolved; addresses.len()];
    let mut by_ip: BTreeMap<IpAddr, Vec<usize>> = BTreeMap::new();
    let mut lookups = JoinSet::new();
    for (index, address) in addresses.iter().enumerate() {
        if let Ok(ip) = address.parse() {
            by_ip.entry(ip).or_default().push(index);
        } else {
            let name = (*address).to_owned();
            lookups.spawn(async move { (index, resolve(&name).await) });
        }
    }
    let clients = Clients::open();
    let mut pings = JoinSet::new();
    let mut asked: BTreeMap<IpAddr, Vec<usize>> = BTreeMap::new();
    let mut answers: BTreeMap<IpAddr, Reachability> = BTreeMap::new();
    let ask = |ip: IpAddr, pings: &mut JoinSet<_>, turn: usize| {
        let client = clients.of(ip);
        let delay = Duration::from_millis(u64::try_from(turn / HOSTS_PER_MILLISECOND).unwrap_or(0));
        pings.spawn(async move { (ip, ping(client, ip, delay, deadline).await) });
    };
    for (turn, (ip, indexes)) in by_ip.into_iter().enumerate() {
        ask(ip, &mut pings, turn);
        asked.insert(ip, indexes);
    }
    while !(lookups.is_empty() && pings.is_empty()) {
        tokio::select! {
            Some(lookup) = lookups.join_next(), if !lookups.is_empty() => {
                // Two names of one address share its probe: a socket cannot tell their replies apart.
                if let Ok((index, Some(ip))) = lookup {
                    asked.entry(ip).or_insert_with(|| { ask(ip, &mut pings, 0); vec![] }).push(index);
                }
            }
            Some(answer) = pings.join_next(), if !pings.is_empty() => {
                if let Ok((ip, reachability)) = answer {
                    answers.insert(ip, reachability);
                }
            }
            () = tokio::time::sleep_until(deadline) => break,
        }
    }
    for (ip, indexes) in asked {
        for index in indexes {
            if let Some(slot) = found.get_mut(index) {
                *slot = answers.get(&ip).copied().unwrap_or(Reachability::Unreachable);
            }
        }
    }
    found
}

async fn resolve(name: &str) -> Option<IpAddr> {
    tokio::net::lookup_host((name, 0)).await.ok()?.next().map(|address| address.ip())
}

/// One socket per family, opened at first need; `Err` holds why there is none.
struct Clients {
    v4: Result<Client, ErrorKind>,
    v6: Result<Client, ErrorKind>,
}

impl Clients {
    /// Unprivileged datagram sockets first, raw ones if these are refused.
    fn open() -> Self {
        let open = |kind| Client::new(&Config::builder().kind(kind).build()).map_err(|error| error.kind());
        Self { v4: open(ICMP::V4), v6: open(ICMP::V6) }
    }

    fn of(&self, ip: IpAddr) -> Result<Client, ErrorKind> {
        if ip.is_ipv4() { self.v4.clone() } else { self.v6.clone() }
    }
}

async fn ping(
    client: Result<Client, ErrorKind>,
    ip: IpAddr,
    delay: Duration,
    deadline: Instant,
) -> Reachability {
    let client = match client {
        Ok(client) => client,
        Err(ErrorKind::PermissionDenied) => return Reachability::Unknown,
        // Without the protocol family there is no way to any such host.
        Err(_) => return Reachability::Unreachable,
    };
    tokio::time::sleep(delay).await;
    let left = deadline.saturating_duration_since(Instant::now());
    let per_probe = left / u32::from(PROBES);
    let mut pinger = client.pinger(ip, identifier(ip)).await;
    pinger.timeout(per_probe);
    for sequence in 0..PROBES {
        let probe_ends = Instant::now() + per_probe;
        match timeout_at(deadline, pinger.ping(PingSequence(sequence), &PAYLOAD)).await {
            Ok(Ok((_, rtt))) => return Reachability::Reachable(rtt),
            Ok(Err(SurgeError::IOError(error))) if error.kind() == ErrorKind::PermissionDenied => {
                return Reachability::Unknown;
            }
            // No route, for example. It may be there by the next probe.
            Ok(Err(SurgeError::IOError(_))) => tokio::time::sleep_until(probe_ends.min(deadline)).await,
            Ok(Err(_)) => {}
            Err(_) => break,
        }
    }
    Reachability::Unreachable
}

/// Tells the replies of raw sockets apart; the kernel sets its own on datagram ones.
fn identifier(ip: IpAddr) -> PingIdentifier {
    let process = std::process::id();
    let address = match ip {
        IpAddr::V4(ip) => u32::from(ip),
        IpAddr::V6(ip) => {
            ip.segments().iter().fold(0, |sum: u32, part| sum.rotate_left(5) ^ u32::from(*part))
        }
    };
    let [a, b, c, d] = (process ^ address).to_be_bytes();
    PingIdentifier(u16::from_be_bytes([a ^ c, b ^ d]))
}

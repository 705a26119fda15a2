//! Schedules the probes of many hosts and evaluates the replies.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::net::IpAddr;
use std::time::Duration;

use tokio::task::{JoinSet, yield_now};
use tokio::time::{Instant, sleep_until};

use super::reachability::{Effort, Reachability};
use super::sockets::{Echo, Sockets};
use crate::resolve;

/// The maximum number of probes in a burst. The socket's receive buffer has room for the replies to a few times as many.
const BURST: usize = 32;

/// The number of additional probes per [`PACE`]. Every reply allows one more.
const SENT_PER_PACE: usize = 25;
/// The interval between additional probes.
const PACE: Duration = Duration::from_millis(1);

/// Pings all hosts until the effort's deadline, measured from `started`.
pub async fn sweep(
    addresses: &[&str],
    effort: Effort,
    started: Instant,
    progress: &mut dyn FnMut(usize),
) -> Vec<Reachability> {
    let mut sweep = Sweep::new(addresses.len(), effort, started);
    let mut lookups = JoinSet::new();
    for (host, address) in addresses.iter().enumerate() {
        if let Ok(ip) = address.parse() {
            sweep.found(host, &[ip], started);
        } else {
            let name = (*address).to_owned();
            lookups.spawn(async move { (host, resolve::addresses(&name, 0).await) });
        }
    }
    // Half of the deadline, so that a host whose name is resolved late has the other half to answer.
    let names_end = started + effort.deadline / 2;
    let mut reported = 0;
    loop {
        let now = Instant::now();
        sweep.send_due(now);
        if sweep.known > reported {
            reported = sweep.known;
            progress(reported);
        }
        if sweep.known == sweep.hosts.len() {
            break;
        }
        let next = sweep.next_wake(now);
        tokio::select! {
            Some(lookup) = lookups.join_next(), if !lookups.is_empty() => {
                if let Ok((host, found)) = lookup {
                    sweep.found(host, &found.unwrap_or_default(), Instant::now());
                }
            }
            () = sleep_until(names_end), if !lookups.is_empty() => {
                lookups.abort_all();
                lookups.detach_all();
                sweep.give_up_names();
            }
            Some(echo) = sweep.flying.join_next(), if !sweep.flying.is_empty() => {
                let mut echoes = Some(echo);
                while let Some(echo) = echoes {
                    if let Ok((ip, echo)) = echo {
                        sweep.heard(ip, echo);
                    }
                    echoes = sweep.flying.try_join_next();
                }
            }
            () = sleep_until(next) => {
                // If this process was delayed, replies that arrived meanwhile are read first.
                yield_now().await;
                yield_now().await;
                sweep.credit = (sweep.credit + SENT_PER_PACE).min(BURST);
                sweep.paced = Instant::now();
            }
            () = sleep_until(sweep.deadline) => break,
        }
    }
    sweep.hosts.into_iter().map(|host| host.known.unwrap_or(host.so_far)).collect()
}

struct Sweep {
    sockets: Sockets,
    effort: Effort,
    deadline: Instant,
    hosts: Vec<Host>,
    /// The number of finished hosts.
    known: usize,
    targets: BTreeMap<IpAddr, Target>,
    /// Probes to send: time, sequence number and address.
    waiting: BinaryHeap<Reverse<(Instant, u16, IpAddr)>>,
    flying: JoinSet<(IpAddr, Echo)>,
    /// The number of probes that may be sent now.
    credit: usize,
    /// When the last additional probes were allowed.
    paced: Instant,
}

/// A host.
struct Host {
    /// The final result.
    known: Option<Reachability>,
    /// The result if no further reply arrives.
    so_far: Reachability,
    /// The number of addresses without a result.
    open: usize,
}

/// An address. Hosts with the same address share its probes, because a socket cannot distinguish their replies.
#[derive(Default)]
struct Target {
    hosts: Vec<usize>,
    /// The number of probes without a result.
    probes_left: u16,
    known: Option<Reachability>,
}

impl Sweep {
    fn new(hosts: usize, effort: Effort, started: Instant) -> Self {
        let unresolved = || Host { known: None, so_far: Reachability::Unresolved, open: 0 };
        Self {
            sockets: Sockets::default(),
            effort,
            deadline: started + effort.deadline,
            hosts: (0..hosts).map(|_| unresolved()).collect(),
            known: 0,
            targets: BTreeMap::new(),
            waiting: BinaryHeap::new(),
            flying: JoinSet::new(),
            credit: BURST,
            paced: started,
        }
    }

    /// Adds the addresses of a host, which is reachable if one of them answers.
    fn found(&mut self, host: usize, ips: &[IpAddr], now: Instant) {
        let Some(slot) = self.hosts.get_mut(host).filter(|host| host.known.is_none()) else { return };
        if ips.is_empty() {
            slot.known = Some(Reachability::Unresolved);
            self.known += 1;
            return;
        }
        slot.so_far = Reachability::Unreachable;
        slot.open = ips.len();
        for ip in ips {
            let target = self.targets.entry(*ip).or_default();
            if let Some(known) = target.known {
                self.settle(host, known);
                continue;
            }
            if target.hosts.is_empty() {
                target.probes_left = self.effort.probes;
                let every =
                    self.deadline.saturating_duration_since(now) / u32::from(self.effort.probes.max(1));
                for nth in 0..self.effort.probes {
                    self.waiting.push(Reverse((now + every * u32::from(nth), nth, *ip)));
                }
            }
            target.hosts.push(host);
        }
    }

    /// Marks all hosts without an address as unresolved.
    fn give_up_names(&mut self) {
        for host in &mut self.hosts {
            if host.known.is_none() && host.so_far == Reachability::Unresolved {
                host.known = Some(Reachability::Unresolved);
                self.known += 1;
            }
        }
    }

    fn send_due(&mut self, now: Instant) {
        while self.credit > 0
            && let Some(Reverse((due, nth, ip))) = self.waiting.peek().copied()
            && due <= now
        {
            self.waiting.pop();
            // An address that answered needs no further probe.
            if self.targets.get(&ip).is_none_or(|target| target.known.is_some()) {
                continue;
            }
            self.credit -= 1;
            // Each probe waits until the deadline, because a late reply counts.
            let probe = self.sockets.probe(ip, nth, self.deadline.saturating_duration_since(now));
            self.flying.spawn(async move { (ip, probe.await) });
        }
    }

    /// When the next probe is due, if no reply arrives before.
    fn next_wake(&self, now: Instant) -> Instant {
        match self.waiting.peek() {
            None => self.deadline,
            Some(Reverse((due, ..))) if *due > now => *due,
            Some(_) => self.paced + PACE,
        }
    }

    fn heard(&mut self, ip: IpAddr, echo: Echo) {
        let Some(target) = self.targets.get_mut(&ip).filter(|target| target.known.is_none()) else { return };
        target.probes_left = target.probes_left.saturating_sub(1);
        let known = match echo {
            Echo::Reply(rtt) => {
                // A reply that was read no longer occupies the buffer.
                self.credit = (self.credit + 1).min(BURST);
                Reachability::Reachable(rtt)
            }
            Echo::NotPermitted => Reachability::Unknown,
            Echo::Silence if target.probes_left == 0 => Reachability::Unreachable,
            Echo::Silence => return,
        };
        target.known = Some(known);
        for host in std::mem::take(&mut target.hosts) {
            self.settle(host, known);
        }
    }

    /// Updates a host with the result of one address.
    fn settle(&mut self, host: usize, known: Reachability) {
        let Some(host) = self.hosts.get_mut(host).filter(|host| host.known.is_none()) else { return };
        host.open = host.open.saturating_sub(1);
        if known == Reachability::Unknown {
            host.so_far = known;
        }
        if matches!(known, Reachability::Reachable(_)) {
            host.known = Some(known);
        } else if host.open == 0 {
            host.known = Some(host.so_far);
        }
        self.known += usize::from(host.known.is_some());
    }
}

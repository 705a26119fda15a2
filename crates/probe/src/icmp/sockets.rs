//! The ICMP sockets, and single probes.

use std::cell::OnceCell;
use std::io::ErrorKind;
use std::net::IpAddr;
use std::time::Duration;

use surge_ping::{Client, Config, ICMP, IcmpPacket, PingIdentifier, PingSequence, SurgeError};

const PAYLOAD: [u8; 16] = *b"opsctl-host-echo";

const ECHO_REPLY_V4: u8 = 0;
const ECHO_REPLY_V6: u8 = 129;

/// The result of a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Echo {
    /// The host answered, with this round-trip time.
    Reply(Duration),
    /// There was no answer in time, or the packet could not be sent.
    Silence,
    /// This process may not send ICMP.
    NotPermitted,
}

/// One socket per address family, opened on first use; `Err` if it cannot be opened.
#[derive(Default)]
pub struct Sockets {
    v4: OnceCell<Result<Client, ErrorKind>>,
    v6: OnceCell<Result<Client, ErrorKind>>,
}

impl Sockets {
    /// The client for an address: an unprivileged datagram socket, else a raw one.
    fn client(&self, ip: IpAddr) -> Result<Client, ErrorKind> {
        let (cell, kind) = if ip.is_ipv4() { (&self.v4, ICMP::V4) } else { (&self.v6, ICMP::V6) };
        cell.get_or_init(|| Client::new(&Config::builder().kind(kind).build()).map_err(|error| error.kind()))
            .clone()
    }

    /// A probe, which is sent at the first poll.
    pub fn probe(&self, ip: IpAddr, sequence: u16, timeout: Duration) -> impl Future<Output = Echo> + use<> {
        let client = self.client(ip);
        async move {
            let client = match client {
                Ok(client) => client,
                Err(ErrorKind::PermissionDenied) => return Echo::NotPermitted,
                // Without the address family, its hosts are unreachable.
                Err(_) => return Echo::Silence,
            };
            let mut pinger = client.pinger(ip, identifier(ip)).await;
            pinger.timeout(timeout);
            match pinger.ping(PingSequence(sequence), &PAYLOAD).await {
                Ok((packet, rtt)) if is_reply(&packet) => Echo::Reply(rtt),
                Err(SurgeError::IOError(error)) if error.kind() == ErrorKind::PermissionDenied => {
                    Echo::NotPermitted
                }
                // A raw socket also receives errors from routers, which are not replies of the host.
                Ok(_) | Err(_) => Echo::Silence,
            }
        }
    }
}

fn is_reply(packet: &IcmpPacket) -> bool {
    match packet {
        IcmpPacket::V4(packet) => packet.get_icmp_type().0 == ECHO_REPLY_V4,
        IcmpPacket::V6(packet) => packet.get_icmpv6_type().0 == ECHO_REPLY_V6,
    }
}

/// The identifier that distinguishes replies on raw sockets; the kernel sets it on datagram sockets.
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

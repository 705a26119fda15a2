//! TCP connections, for checks of ports and for HTTP.

use std::io::ErrorKind;
use std::net::IpAddr;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout_at};

use super::finding::{Finding, Looked, State};
use crate::resolve;

/// The delay between connection attempts to further addresses of a name (RFC 8305).
const HEAD_START: Duration = Duration::from_millis(250);

/// Checks that the port accepts a connection.
pub async fn look(host: &str, port: u16, ends: Instant) -> Looked {
    let started = Instant::now();
    connect(host, port, ends).await?;
    Ok(Finding::new(State::Healthy, "it accepts connections").after(started.elapsed()))
}

/// Connects to the first address of the host that accepts a connection.
pub async fn connect(host: &str, port: u16, ends: Instant) -> Result<TcpStream, Finding> {
    let addresses = if let Ok(ip) = host.parse::<IpAddr>() {
        vec![ip]
    } else {
        let unresolved = |why: &str| Finding::new(State::Unresolved, format!("{host} {why}"));
        match timeout_at(ends, resolve::addresses(host, port)).await {
            Ok(Ok(addresses)) if !addresses.is_empty() => addresses,
            Ok(_) => return Err(unresolved("has no address")),
            Err(_) => return Err(unresolved("was not resolved in time")),
        }
    };
    let mut tries = JoinSet::new();
    let mut wait = Duration::ZERO;
    for ip in addresses {
        tries.spawn(async move {
            sleep(wait).await;
            TcpStream::connect((ip, port)).await
        });
        wait += HEAD_START;
    }
    let mut worst = Finding::new(State::Timeout, "the connection timed out");
    loop {
        match timeout_at(ends, tries.join_next()).await {
            Ok(Some(Ok(Ok(stream)))) => return Ok(stream),
            Ok(Some(Ok(Err(error)))) => worst = failure(error.kind()),
            Ok(Some(Err(_))) => {}
            Ok(None) | Err(_) => return Err(worst),
        }
    }
}

fn failure(kind: ErrorKind) -> Finding {
    match kind {
        ErrorKind::ConnectionRefused => Finding::new(State::Refused, "it refuses connections"),
        ErrorKind::TimedOut => Finding::new(State::Timeout, "the connection timed out"),
        _ => Finding::new(State::Unreachable, "there is no route to its address"),
    }
}

//! Health checks of services, and verification before a session ends.

use std::net::IpAddr;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

pub use crate::lists::UNASKED;
use crate::model::rights::window::Window;

/// A health endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    /// The URL, `http://` or `https://`.
    pub url: String,
    /// The status codes of a healthy service.
    pub status: Vec<u16>,
    /// The timeout of one request.
    pub timeout: Window,
    /// Whether redirects are followed, except those whose status code is in `status`.
    pub follow: bool,
    /// Whether invalid certificates are accepted.
    pub insecure: bool,
}

impl Health {
    /// An endpoint with the defaults: status 200 within ten seconds, redirects are followed, certificates are checked.
    pub fn at(url: String) -> Self {
        Self { url, status: vec![200], timeout: Window::TEN_SECONDS, follow: true, insecure: false }
    }
}

/// A DNS name that must resolve.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DnsName {
    /// The name.
    pub name: String,
    /// An address that the name must resolve to, if any is required.
    pub address: Option<IpAddr>,
    /// The DNS server, as an address or the name of a host; `None` for the system's resolver.
    pub server: Option<String>,
}

impl DnsName {
    /// A name that must resolve to any address.
    pub const fn any(name: String) -> Self {
        Self { name, address: None, server: None }
    }
}

/// A port that must accept connections.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TcpPort {
    /// A name or an address; `None` for the service's host.
    pub host: Option<String>,
    /// The port.
    pub port: u16,
}

/// A command of the operator's own that checks a service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandCheck {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The exit code that means healthy.
    pub expect: u8,
    /// The machine that runs it.
    pub place: Place,
    /// The timeout of one run.
    pub timeout: Window,
}

/// The machine that runs a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// The service's host, through its ssh destination; this machine, if it has none.
    #[default]
    Host,
    /// This machine.
    Local,
}

opsctl_reader::words! {
    /// A kind of check that follows from the names of a service, and can be switched off.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum CheckKind {
        /// Its containers.
        Container = "container",
        /// Its units.
        Unit = "unit",
        /// Its workloads.
        Workload = "workload",
        /// Its guests.
        Guest = "guest",
    }
}

opsctl_reader::words! {
    /// The program that runs the containers of a service.
    #[derive(Default, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Engine {
        /// `docker`.
        #[default]
        Docker = "docker",
        /// `podman`.
        Podman = "podman",
        /// `nerdctl`.
        Nerdctl = "nerdctl",
    }
}

/// Verification of services before a session ends. A missing key keeps its default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Verification {
    /// Maximum number of times that the end of a session is blocked, 1 to 8. Default: 3.
    #[serde(deserialize_with = "attempts")]
    pub attempts: u32,
    /// Verifier: the hook (`command`), a model with the rendered prompt (`agent`) or `both`. Default: `command` at tier 1, else `both`.
    pub mode: Option<Verifier>,
    /// Time that a service has to become healthy after an action, at most `10m`. Default: `30s`.
    #[serde(deserialize_with = "limited")]
    pub grace: Window,
    /// Timeout of one verification, at most `10m`. Default: `1m`.
    #[serde(deserialize_with = "limited")]
    pub deadline: Window,
}

impl Verification {
    /// The maximum of `attempts`: the client ends a session whose stop is blocked nine times in a row.
    pub const MOST_ATTEMPTS: u32 = 8;
    /// The maximum of `deadline`, in seconds.
    pub const LONGEST_DEADLINE: i64 = 600;
}

impl Default for Verification {
    fn default() -> Self {
        Self { attempts: 3, mode: None, grace: Window::HALF_A_MINUTE, deadline: Window::minutes(1) }
    }
}

fn attempts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let attempts = u32::deserialize(deserializer)?;
    if (1..=Verification::MOST_ATTEMPTS).contains(&attempts) {
        return Ok(attempts);
    }
    Err(D::Error::custom(format!(
        "is not a valid number of attempts; write a number from 1 to {}; the client ends a session at the ninth block in a row",
        Verification::MOST_ATTEMPTS
    )))
}

fn limited<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Window, D::Error> {
    let window = Window::deserialize(deserializer)?;
    let is_valid = window.delta().num_seconds() <= Verification::LONGEST_DEADLINE;
    let problem = "exceeds the maximum duration of `verify`; write at most `10m`";
    if is_valid { Ok(window) } else { Err(D::Error::custom(problem)) }
}

/// Who verifies before a session ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verifier {
    /// The command hook: checks alone, no tokens.
    Command,
    /// The agent hook: a model with the rendered prompt.
    Agent,
    /// Both hooks, in parallel.
    Both,
}

//! Health checks of services, and verification before a session ends.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::window::Window;

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

/// The program that runs the containers of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Engine {
    /// `docker`.
    #[default]
    Docker,
    /// `podman`.
    Podman,
}

impl Engine {
    /// The program.
    pub const fn program(self) -> &'static str {
        match self {
            Self::Docker => "docker",
            Self::Podman => "podman",
        }
    }
}

/// The verification of a session that acted on services.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verification {
    /// How often a stop is blocked while a service is unhealthy.
    pub attempts: u32,
    /// Who verifies; `None` means the command at tier 1, and both at tiers 2 and 3 or without a tier.
    pub mode: Option<Verifier>,
    /// How long a service may take to become healthy after an action.
    pub grace: Window,
    /// The timeout of one verification.
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

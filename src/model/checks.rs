//! How the health of a service is looked at, and what a session has to prove before it ends.

use std::net::IpAddr;

use super::window::Window;

/// A health endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    /// `http://` or `https://`.
    pub url: String,
    /// Status codes that mean healthy.
    pub status: Vec<u16>,
    /// How long one look may take.
    pub timeout: Window,
    /// Whether a redirect is followed whose own code is not among `status`.
    pub follow: bool,
    /// Whether any certificate is taken for the right one.
    pub insecure: bool,
}

impl Health {
    /// An endpoint with the defaults: status 200 within ten seconds, redirects followed, certificates checked.
    pub fn at(url: String) -> Self {
        Self { url, status: vec![200], timeout: Window::TEN_SECONDS, follow: true, insecure: false }
    }
}

/// A DNS name that must resolve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DnsName {
    /// The name.
    pub name: String,
    /// An address that must be among those it resolves to.
    pub address: Option<IpAddr>,
    /// The server that is asked instead of those of this system: an address, or the name of a host.
    pub server: Option<String>,
}

impl DnsName {
    /// A name that must resolve, to whatever address.
    pub const fn any(name: String) -> Self {
        Self { name, address: None, server: None }
    }
}

/// A port that must accept connections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TcpPort {
    /// A name or an address; `None` is the service's host.
    pub host: Option<String>,
    /// The port.
    pub port: u16,
}

/// The program that runs the containers of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
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

/// What a session has to prove that acted on services.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verification {
    /// How often a session is kept from ending while a service is unhealthy.
    pub attempts: u32,
    /// Who verifies; `None` is both from tier 2 on and where no tier is named, and the command at tier 1.
    pub mode: Option<Verifier>,
    /// How long a service may take to come back after it was acted on.
    pub grace: Window,
    /// The time that one verification is given in all.
    pub deadline: Window,
}

impl Verification {
    /// The most attempts that make sense: the client itself ends a session that is held up nine times in a row.
    pub const MOST_ATTEMPTS: u32 = 8;
    /// The longest deadline, in seconds.
    pub const LONGEST_DEADLINE: i64 = 600;
}

impl Default for Verification {
    fn default() -> Self {
        Self { attempts: 3, mode: None, grace: Window::HALF_A_MINUTE, deadline: Window::minutes(1) }
    }
}

/// Who verifies before a session ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verifier {
    /// The command hook: checks alone, no tokens.
    Command,
    /// The agent hook: a model with the rendered prompt.
    Agent,
    /// One beside the other.
    Both,
}

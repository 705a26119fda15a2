//! The part of the compiled policy that says how services are looked at.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::compiled::CompiledError;
use super::words::{EngineWire, VerifierWire};
use crate::model::checks::{DnsName, Health, TcpPort, Verification};
use crate::model::inventory::Service;
use crate::model::policy::Window;

/// The checks of a service.
#[derive(Serialize, Deserialize)]
pub struct ChecksWire {
    health: Option<HealthWire>,
    dns: Option<DnsWire>,
    tcp: Vec<PortWire>,
    engine: EngineWire,
}

#[derive(Serialize, Deserialize)]
struct HealthWire {
    url: String,
    status: Vec<u16>,
    timeout_seconds: i64,
    follow: bool,
    insecure: bool,
}

#[derive(Serialize, Deserialize)]
struct DnsWire {
    name: String,
    address: Option<IpAddr>,
    server: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct PortWire {
    host: Option<String>,
    port: u16,
}

/// What a session has to prove.
#[derive(Serialize, Deserialize)]
pub struct VerifyWire {
    attempts: u32,
    mode: Option<VerifierWire>,
    grace_seconds: i64,
    deadline_seconds: i64,
}

impl From<&Service> for ChecksWire {
    fn from(service: &Service) -> Self {
        let health = service.health.clone().map(|Health { url, status, timeout, follow, insecure }| {
            HealthWire { url, status, timeout_seconds: timeout.delta().num_seconds(), follow, insecure }
        });
        let dns =
            service.dns.clone().map(|DnsName { name, address, server }| DnsWire { name, address, server });
        let port = |TcpPort { host, port }| PortWire { host, port };
        Self {
            health,
            dns,
            tcp: service.tcp.iter().cloned().map(port).collect(),
            engine: service.engine.into(),
        }
    }
}

impl ChecksWire {
    /// The service with these checks.
    pub fn put_into(self, service: Service) -> Result<Service, CompiledError> {
        let health = match self.health {
            None => None,
            Some(HealthWire { url, status, timeout_seconds, follow, insecure }) => {
                let timeout = seconds(timeout_seconds, "timeout_seconds")?;
                Some(Health { url, status, timeout, follow, insecure })
            }
        };
        let dns = self.dns.map(|DnsWire { name, address, server }| DnsName { name, address, server });
        let tcp = self.tcp.into_iter().map(|PortWire { host, port }| TcpPort { host, port }).collect();
        Ok(Service { health, dns, tcp, engine: self.engine.into(), ..service })
    }
}

impl From<Verification> for VerifyWire {
    fn from(verification: Verification) -> Self {
        let Verification { attempts, mode, grace, deadline } = verification;
        Self {
            attempts,
            mode: mode.map(Into::into),
            grace_seconds: grace.delta().num_seconds(),
            deadline_seconds: deadline.delta().num_seconds(),
        }
    }
}

impl VerifyWire {
    /// What was compiled.
    pub fn into_verification(self) -> Result<Verification, CompiledError> {
        Ok(Verification {
            attempts: self.attempts,
            mode: self.mode.map(Into::into),
            grace: seconds(self.grace_seconds, "grace_seconds")?,
            deadline: seconds(self.deadline_seconds, "deadline_seconds")?,
        })
    }
}

fn seconds(seconds: i64, key: &'static str) -> Result<Window, CompiledError> {
    Window::seconds(seconds).ok_or(CompiledError::Range(key))
}

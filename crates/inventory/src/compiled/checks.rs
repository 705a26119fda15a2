//! Health checks and verification in the compiled policy.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::error::{CompiledError, window};
use super::mirrors::mirrors;
use crate::inventory::choices::{PlaceWire, VerifierWire};
use crate::model::checks::{CommandCheck, DnsName, Health, TcpPort, Verification};

mirrors! {
    DnsWire <=> DnsName { name: String, address: Option<IpAddr>, server: Option<String> }
    PortWire <=> TcpPort { host: Option<String>, port: u16 }
}

#[derive(Serialize, Deserialize)]
pub struct HealthWire {
    url: String,
    status: Vec<u16>,
    timeout_seconds: i64,
    follow: bool,
    insecure: bool,
}

impl From<Health> for HealthWire {
    fn from(Health { url, status, timeout, follow, insecure }: Health) -> Self {
        Self { url, status, timeout_seconds: timeout.delta().num_seconds(), follow, insecure }
    }
}

impl HealthWire {
    pub fn into_health(self) -> Result<Health, CompiledError> {
        let Self { url, status, timeout_seconds, follow, insecure } = self;
        Ok(Health { url, status, timeout: window(timeout_seconds, "timeout_seconds")?, follow, insecure })
    }
}

#[derive(Serialize, Deserialize)]
pub struct CommandWire {
    command: Vec<String>,
    expect: u8,
    place: PlaceWire,
    timeout_seconds: i64,
}

impl From<CommandCheck> for CommandWire {
    fn from(CommandCheck { command, expect, place, timeout }: CommandCheck) -> Self {
        Self { command, expect, place: place.into(), timeout_seconds: timeout.delta().num_seconds() }
    }
}

impl CommandWire {
    pub fn into_command(self) -> Result<CommandCheck, CompiledError> {
        let Self { command, expect, place, timeout_seconds } = self;
        let timeout = window(timeout_seconds, "timeout_seconds")?;
        Ok(CommandCheck { command, expect, place: place.into(), timeout })
    }
}

#[derive(Serialize, Deserialize)]
pub struct VerifyWire {
    attempts: u32,
    mode: Option<VerifierWire>,
    grace_seconds: i64,
    deadline_seconds: i64,
}

impl From<Verification> for VerifyWire {
    fn from(Verification { attempts, mode, grace, deadline }: Verification) -> Self {
        Self {
            attempts,
            mode: mode.map(Into::into),
            grace_seconds: grace.delta().num_seconds(),
            deadline_seconds: deadline.delta().num_seconds(),
        }
    }
}

impl VerifyWire {
    pub fn into_verification(self) -> Result<Verification, CompiledError> {
        Ok(Verification {
            attempts: self.attempts,
            mode: self.mode.map(Into::into),
            grace: window(self.grace_seconds, "grace_seconds")?,
            deadline: window(self.deadline_seconds, "deadline_seconds")?,
        })
    }
}

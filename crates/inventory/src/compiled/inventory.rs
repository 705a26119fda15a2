//! The hosts and services in the compiled policy.

use serde::{Deserialize, Serialize};

use super::checks::{CommandWire, DnsWire, HealthWire, PortWire};
use super::error::CompiledError;
use super::mirrors::{each, mirrors};
use crate::inventory::choices::EngineWire;
use crate::model::guest::Guest;
use crate::model::inventory::{Host, Service};
use crate::model::workload::Workload;

mirrors! {
    HostWire <=> Host { name: String, address: String, ssh: Option<String> }
}

#[derive(Serialize, Deserialize)]
pub struct ServiceWire {
    name: String,
    host: Option<String>,
    containers: Vec<String>,
    projects: Vec<String>,
    units: Vec<String>,
    workloads: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    guests: Vec<String>,
    releases: Vec<String>,
    playbooks: Vec<String>,
    health: Option<HealthWire>,
    dns: Option<DnsWire>,
    tcp: Vec<PortWire>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    commands: Vec<CommandWire>,
    engine: EngineWire,
}

impl From<Service> for ServiceWire {
    fn from(service: Service) -> Self {
        Self {
            name: service.name,
            host: service.host,
            containers: service.containers,
            projects: service.projects,
            units: service.units,
            workloads: written(&service.workloads),
            guests: written(&service.guests),
            releases: service.releases,
            playbooks: service.playbooks,
            health: service.health.map(Into::into),
            dns: service.dns.map(Into::into),
            tcp: each(service.tcp),
            commands: each(service.commands),
            engine: service.engine.into(),
        }
    }
}

impl ServiceWire {
    pub fn into_service(self) -> Result<Service, CompiledError> {
        Ok(Service {
            name: self.name,
            host: self.host,
            containers: self.containers,
            projects: self.projects,
            units: self.units,
            workloads: read(self.workloads, Workload::read)?,
            guests: read(self.guests, Guest::read)?,
            releases: self.releases,
            playbooks: self.playbooks,
            health: self.health.map(HealthWire::into_health).transpose()?,
            dns: self.dns.map(Into::into),
            tcp: each(self.tcp),
            commands: self.commands.into_iter().map(CommandWire::into_command).collect::<Result<_, _>>()?,
            engine: self.engine.into(),
        })
    }
}

/// The names as `hosts.yaml` writes them.
fn written(names: &[impl ToString]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}

fn read<T>(names: Vec<String>, one: fn(&str) -> Option<T>) -> Result<Vec<T>, CompiledError> {
    names.into_iter().map(|name| one(&name).ok_or(CompiledError::Name(name))).collect()
}

//! Checks that a DNS name resolves, and to which addresses.

use std::net::IpAddr;
use std::time::Duration;

use hickory_resolver::TokioResolver;
use hickory_resolver::config::{LookupIpStrategy, NameServerConfig, ResolveHosts, ResolverConfig};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use tokio::time::Instant;

use super::finding::{Finding, Looked, State};
use crate::resolve;
use opsctl_policy::model::installation::checks::DnsName;

/// The timeout of one DNS query.
const PER_QUERY: Duration = Duration::from_secs(2);

/// Resolves the name with `server`, else with the system's resolver.
pub async fn look(name: &DnsName, server: Option<&str>) -> Looked {
    let started = Instant::now();
    let found = match server {
        None => resolve::addresses(&name.name, 0).await.unwrap_or_default(),
        Some(server) => at_server(&name.name, server).await?,
    };
    let all: Vec<String> = found.iter().map(IpAddr::to_string).collect();
    let all = all.join(", ");
    Ok(match name.address {
        _ if found.is_empty() => Finding::new(State::Unresolved, "it has no address"),
        Some(address) if !found.contains(&address) => {
            Finding::new(State::WrongAddress, format!("it resolves to {all}, not to {address}"))
        }
        _ => Finding::new(State::Healthy, format!("it resolves to {all}")).after(started.elapsed()),
    })
}

async fn at_server(name: &str, server: &str) -> Result<Vec<IpAddr>, Finding> {
    let ip = if let Ok(ip) = server.parse() {
        ip
    } else {
        let found = resolve::addresses(server, 53).await.unwrap_or_default();
        let missing = || Finding::new(State::Unresolved, format!("its server {server} has no address"));
        *found.first().ok_or_else(missing)?
    };
    let config = ResolverConfig::from_name_servers(vec![NameServerConfig::udp_and_tcp(ip)]);
    let mut builder = TokioResolver::builder_with_config(config, TokioRuntimeProvider::default());
    let options = builder.options_mut();
    options.ip_strategy = LookupIpStrategy::Ipv4AndIpv6;
    options.use_hosts_file = ResolveHosts::Never;
    options.timeout = PER_QUERY;
    options.attempts = 1;
    options.cache_size = 0;
    let resolver = builder.build().map_err(|error| Finding::new(State::Failed, error.to_string()))?;
    // The trailing dot prevents search domains.
    let whole = format!("{}.", name.trim_end_matches('.'));
    match resolver.lookup_ip(whole).await {
        Ok(found) => Ok(found.iter().collect()),
        Err(error) if error.is_no_records_found() => Ok(vec![]),
        Err(_) => Err(Finding::new(State::Timeout, format!("the server {server} gave no answer"))),
    }
}

//! Registries in names of images.

use std::net::IpAddr;

/// The registry in the name of an image, if it is an address of a network, this machine, or has a port.
pub fn by_address(name: &str) -> Option<&str> {
    let (registry, _) = name.strip_prefix("docker://").unwrap_or(name).split_once('/')?;
    let own = host(registry);
    let last = own.rsplit('.').next().unwrap_or_default();
    let is_address = own.parse::<IpAddr>().is_ok()
        || own.contains('.') && last.starts_with(|first: char| first.is_ascii_digit())
        || own.split('.').any(|part| matches!(part, "localhost" | "localdomain"));
    (is_address || registry.contains(':')).then_some(registry)
}

/// The host of a registry, without its port.
pub fn host(registry: &str) -> &str {
    if let Some((host, _)) = registry.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return host;
    }
    registry.split_once(':').map_or(registry, |(host, _)| host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registries_by_name_are_no_addresses() {
        for (name, address) in [
            ("alpine", None),
            ("alpine:3", None),
            ("library/alpine:3", None),
            ("ghcr.io/a/b", None),
            ("127.0.0.1/a", Some("127.0.0.1")),
            ("127.1/a", Some("127.1")),
            ("127.0.0.1:5000/a", Some("127.0.0.1:5000")),
            ("[::1]:5000/a", Some("[::1]:5000")),
            ("docker://ghcr.io/a/b", None),
            ("docker://127.0.0.1:5000/a", Some("127.0.0.1:5000")),
            ("docker-archive:/srv/a", Some("docker-archive:")),
            ("localhost/a", Some("localhost")),
            ("a.localhost/a", Some("a.localhost")),
            ("registry.lan:5000/a", Some("registry.lan:5000")),
        ] {
            assert_eq!(by_address(name), address, "{name}");
        }
        assert_eq!(["[::1]:5000", "nas:5000", "nas"].map(host), ["::1", "nas", "nas"]);
    }
}

//! Host names in addresses.

/// The host in an address such as `user@host`, `ssh://user@host:port` or `[::1]:22`; `None` for a local
/// socket.
pub fn host_of(address: &str) -> Option<String> {
    let (scheme, rest) =
        address.split_once("://").map_or((None, address), |(scheme, rest)| (Some(scheme), rest));
    if matches!(scheme, Some("unix" | "npipe" | "fd")) || rest.starts_with('/') {
        return None;
    }
    let rest = rest.split('/').next().unwrap_or(rest);
    let rest = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
    let host = if let Some(bracketed) = rest.strip_prefix('[') {
        bracketed.split(']').next().unwrap_or(bracketed)
    } else if rest.matches(':').count() == 1 {
        rest.split(':').next().unwrap_or(rest)
    } else {
        rest
    };
    (!host.is_empty()).then(|| host.to_owned())
}

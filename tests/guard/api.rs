//! The proxy of the API: what it forwards, what it adds, and what it counts.

#[path = "api/client.rs"]
mod client;
#[path = "api/forwarding.rs"]
mod forwarding;
#[path = "api/limits.rs"]
mod limits;
#[path = "api/proxy.rs"]
mod proxy;
#[path = "api/upstream.rs"]
mod upstream;

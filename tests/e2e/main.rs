//! End to end: the real client, held to its settings. `tests/setup` installs what this needs.

#[cfg(test)]
mod client_facts;
#[cfg(test)]
mod containment;
#[cfg(test)]
mod context;
#[cfg(test)]
mod guard;
#[cfg(test)]
#[path = "../support/mod.rs"]
mod support;
#[cfg(test)]
mod verification;

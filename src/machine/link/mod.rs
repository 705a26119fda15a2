//! The link between the agent's side and the guard: what is sent through the Unix socket of `opsctl serve`.
//!
//! One connection serves one request. The guard sends its [`message::Greeting`], the caller its request, and the guard
//! asks about the agent's machine ([`lookup`]) until it answers. Each message is a [`frame`].

pub mod address;
pub mod caller;
pub mod frame;
pub mod lookup;
pub mod message;
pub mod pipe;
pub mod stream;
mod timed;

pub use timed::Timed;

/// The version of the messages. Both sides must have the same.
pub const VERSION: u32 = 1;

/// The first argument of this program where a guard runs a verb for a caller on the agent's side.
pub const SERVED: &str = "--served";

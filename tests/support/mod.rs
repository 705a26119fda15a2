//! Drives the real client, headless, against a scripted model, each session in namespaces of its own.
//!
//! A [`Session`] is built, run, and read back as a [`Finished`]:
//!
//! ```ignore
//! let finished = Session::new()
//!     .hosts_yaml("hosts: {…}")          // rendered by the real `opsctl render`
//!     .stub("docker", "exit 1")          // every other dangerous program is a stub already
//!     .step(bash("docker restart jellyfin"))
//!     .verifier(verdict(false, "still down"))
//!     .run();
//! finished.tool_result(0).assert_ran();
//! assert_eq!(finished.marks("docker").len(), 1);
//! ```
//!
//! [`Program`] runs `opsctl` itself in such a place, with the input of a hook, or any other input, on stdin.
//!
//! Nothing can leave the machine: the network namespace contains a loopback interface and the scripted model, the
//! home folder is empty and private, the environment is cleared, and the programs that would reach a service of this
//! machine through a socket file are stubs.
#![allow(dead_code, unused_imports, reason = "each test crate uses its own part of the support")]

mod finished;
mod installed;
mod lan;
mod messages_api;
mod namespace;
mod program;
mod request;
mod script;
mod session;
mod workspace;

pub use finished::{Finished, ToolResult};
pub use installed::{client, codex, earlier_client, gemini};
pub use lan::{Lan, Outcome, lan};
pub use program::{Asked, Program, Ran};
pub use request::{Request, Role};
pub use script::{Step, api_error, bash, text, together, too_long, tool, verdict};
pub use session::Session;
pub use workspace::{Mark, Workspace};

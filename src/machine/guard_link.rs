//! Requests of this process to the guard.

use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use uuid::Uuid;

use super::agent_side::{AgentSide, USUAL_VARIABLES};
use super::client::client_process;
use super::environment::Environment;
use crate::machine::link::VERSION;
use crate::machine::link::address::Address;
use crate::machine::link::caller;
use crate::machine::link::caller::LinkError;
use crate::machine::link::lookup::Lookup;
use crate::machine::link::message::{Call, RecordCall, Reply, Request, SessionFacts};
use opsctl_policy::model::rights::policy::Tier;
use opsctl_reader::terms::mode::Mode;

/// How long the guard has to judge a call or to count it: it waits for other writers, and for container engines.
pub const QUICK: Duration = Duration::from_secs(25);

/// How long the guard has for anything else. The client ends its hooks earlier.
pub const SLOW: Duration = Duration::from_mins(10);

/// The beginning of a variable that holds a function of the shell.
const FUNCTION: &[u8] = b"BASH_FUNC_";

/// What this process knows of its session. `environment` has the limits with which the session was started.
pub fn facts(environment: &Environment) -> SessionFacts {
    let absolute = |path: &Path| {
        std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).to_string_lossy().into_owned()
    };
    let usual = USUAL_VARIABLES.map(|name| (name.to_owned(), std::env::var(name).ok()));
    SessionFacts {
        tier: environment.tier.map(Tier::number),
        is_tier_blank: environment.is_tier_blank,
        mode: environment.mode.map(|mode| Mode::as_str(mode).to_owned()),
        dry_run: environment.dry_run,
        agent: Some(environment.ledger.agent_name()),
        role: environment.role.clone(),
        session: environment.session.clone(),
        client_session: environment.client_session.clone(),
        project_dir: absolute(&environment.project_dir),
        results_dir: absolute(&environment.results_dir()),
        state_dir: absolute(&environment.state_dir),
        variables: usual.into(),
        has_functions: std::env::vars_os().any(|(name, _)| name.as_encoded_bytes().starts_with(FUNCTION)),
        process: client_process::calling(&AgentSide::HERE),
        // From the system: generators that begin with the time repeat themselves in hooks that start at once.
        request: Some(Uuid::new_v4().simple().to_string()),
        secrets: opsctl_redact::own_values().to_vec(),
    }
}

/// Sends a request, and returns the last message of the guard.
pub fn call(
    address: &Address,
    what: Call,
    payload: &[u8],
    environment: &Environment,
    limit: Duration,
    look: &mut dyn FnMut(&Lookup) -> Value,
) -> Result<Reply, LinkError> {
    let request = Request { version: VERSION, call: what, session: facts(environment) };
    caller::call(address, (&request, payload), limit, look)
}

/// Sends a request whose answer is a stream.
pub fn begin(
    address: &Address,
    what: Call,
    payload: &[u8],
    environment: &Environment,
) -> Result<UnixStream, LinkError> {
    let request = Request { version: VERSION, call: what, session: facts(environment) };
    caller::begin(address, &request, payload)
}

/// Sends a record of a session, and returns its value; null for none.
pub fn record(address: &Address, record: RecordCall, environment: &Environment) -> Result<Value, LinkError> {
    match call(address, Call::Record(record), &[], environment, QUICK, &mut |_| Value::Null)? {
        Reply::Value(value) => Ok(value),
        _ => Err(unexpected()),
    }
}

/// The guard answers something else than it was asked.
pub fn unexpected() -> LinkError {
    LinkError::Failed("the guard gave an answer of another kind".to_owned())
}

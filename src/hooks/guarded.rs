//! Hooks as clients of a guard that is a process of its own (`CLAUDEOPS_GUARD`).
//!
//! The guard runs the handlers of this module's siblings on the same input, and answers; this process only delivers the
//! answer. If the guard does not answer, `policy.on_failure` applies before a tool runs, and the report of a finished call is
//! kept (`guard::kept`).

use super::answer::Answer;
use super::forward::{Input, serve};
use super::undelivered;
use super::wire::response::without_secrets;
use crate::guard::kept as lines;
use crate::machine::guard_link::{QUICK, SLOW};
use crate::machine::link::address::Address;
use crate::machine::link::caller::LinkError;
use crate::machine::request::Request;
use crate::machine::started;
use crate::machine::warning::Warning;

/// The request with the limits with which the session was started, if a guard serves this process.
pub fn guarded(request: &Request) -> Option<(Address, Request)> {
    let limited = started::restored(request).unwrap_or_else(|| request.clone());
    limited.guard.clone().map(|guard| (guard, limited))
}

/// Asks the guard about a call that is about to run, or reports one that has run.
pub fn quick(guard: &Address, input: Input<'_>, request: &Request) -> Result<Answer, LinkError> {
    undelivered::deliver(guard, request)?;
    serve(guard, input, request, QUICK)
}

/// Has the guard serve any other event.
pub fn slow(guard: &Address, input: Input<'_>, request: &Request) -> Answer {
    let served = undelivered::deliver(guard, request).and_then(|()| serve(guard, input, request, SLOW));
    served.unwrap_or_else(|error| Answer::allow(vec![Warning::Unserved(error)]))
}

/// The answer about a call that has run and whose report has not arrived: it is kept, without the secrets of the output.
pub fn kept(input: Input<'_>, error: LinkError, request: &Request) -> Answer {
    let stdin = &*without_secrets(input.stdin);
    Answer::allow(vec![match lines::keep_report(input.event, stdin, request) {
        Ok(()) => Warning::ReportKept(error),
        Err(cause) => Warning::ReportLost(error, cause),
    }])
}

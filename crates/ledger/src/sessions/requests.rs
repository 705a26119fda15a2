//! Requests of hooks to the guard that allowed a call, so that a request that is sent again is answered again, and no other one
//! runs on what was allowed.

use chrono::{DateTime, TimeDelta, Utc};

use crate::call_id::CallId;
use crate::engine::{Result, insert, params};
use crate::file::database::Change;
use crate::time;

/// How long a hook may send its request again; it stops much earlier.
pub const REPEATABLE: TimeDelta = TimeDelta::minutes(2);

/// One request of one hook.
#[derive(Debug, Clone, Copy)]
pub struct HookRequest<'a> {
    /// The id that the hook has given it.
    pub id: &'a str,
    /// The call that it asks about.
    pub call: CallId<'a>,
    /// The SHA-256 of the exact call in hexadecimal.
    pub digest: &'a str,
}

impl Change<'_> {
    /// Records that a request has allowed its call.
    pub fn note_allowed(&self, request: &HookRequest<'_>, now: DateTime<Utc>) -> Result<()> {
        let HookRequest { id, call, digest } = request;
        insert!(self.run into allowed_requests {
            request: id, session_id: call.session, tool_use_id: call.tool_use, digest: digest, at: time::write(now)
        }, "ON CONFLICT DO NOTHING")
    }

    /// Whether this request has allowed its call a moment ago, and the call is not reported as run.
    pub fn is_allowed(&self, request: &HookRequest<'_>, now: DateTime<Utc>) -> Result<bool> {
        let HookRequest { id, call, digest } = request;
        let sql = "SELECT 1 FROM allowed_requests WHERE request = ?1 AND session_id IS ?2 AND tool_use_id = ?3 AND digest = ?4
                 AND at > ?5
             AND NOT EXISTS (SELECT 1 FROM hook_settled AS settled
                 WHERE settled.session_id IS ?2 AND settled.tool_use_id = ?3)";
        let values = params![id, call.session, call.tool_use, digest, time::write(now - REPEATABLE)];
        self.exists(sql, values)
    }
}

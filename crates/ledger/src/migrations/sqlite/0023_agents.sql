-- The agent that a row is of: several agents may share a ledger. NULL: written before agents had names. A row of a table that
-- is shared with the session manager of Claude Ops has its agent in `recorded_actions` or `recorded_events`.
ALTER TABLE hook_actions ADD COLUMN agent TEXT;
ALTER TABLE hook_decisions ADD COLUMN agent TEXT;
ALTER TABLE hook_times ADD COLUMN agent TEXT;
ALTER TABLE hook_sessions ADD COLUMN agent TEXT;
ALTER TABLE client_runs ADD COLUMN agent TEXT;
ALTER TABLE questions ADD COLUMN agent TEXT;
ALTER TABLE notices ADD COLUMN agent TEXT;
ALTER TABLE verifications ADD COLUMN agent TEXT;
ALTER TABLE budget_resets ADD COLUMN agent TEXT;
ALTER TABLE api_requests ADD COLUMN agent TEXT;
ALTER TABLE recorded_actions ADD COLUMN agent TEXT;
ALTER TABLE recorded_events ADD COLUMN agent TEXT;

-- Which agent remediates a service now, if the policy lets only one of them do it at a time.
CREATE TABLE leases (
    service    TEXT PRIMARY KEY,
    agent      TEXT NOT NULL,
    session_id TEXT,
    expires_at TEXT NOT NULL
) WITHOUT ROWID;

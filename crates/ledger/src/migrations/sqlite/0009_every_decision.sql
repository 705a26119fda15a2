-- Every decision, those to let a command run included: one row each, with what the budgets held then and how long the
-- hook took until it had decided. The earlier table held a row for each reason of a denial.
ALTER TABLE hook_decisions RENAME TO hook_denials;
CREATE TABLE hook_decisions (
    id          INTEGER PRIMARY KEY,
    at          TEXT NOT NULL,
    session_id  TEXT,
    tool_use_id TEXT,
    tier        INTEGER,
    verdict     TEXT NOT NULL CHECK (verdict IN ('allow', 'deny', 'fail-open', 'fail-closed')),
    rule        TEXT NOT NULL,
    actions     TEXT NOT NULL,
    services    TEXT NOT NULL,
    budgets     TEXT NOT NULL,
    reason      TEXT NOT NULL,
    micros      INTEGER
);
INSERT INTO hook_decisions (id, at, session_id, tool_use_id, verdict, rule, actions, services, budgets, reason)
    SELECT id, at, session_id, tool_use_id, verdict, rule, actions, '', '', reason FROM hook_denials;
DROP TABLE hook_denials;

-- How long the other hooks took that write to the ledger.
CREATE TABLE hook_times (
    id     INTEGER PRIMARY KEY,
    at     TEXT NOT NULL,
    event  TEXT NOT NULL,
    micros INTEGER NOT NULL
);
